-- The tables of a store in PostgreSQL; `postgres.py` says what each is for, and gives the number of `clocks`.

CREATE SCHEMA IF NOT EXISTS ufo_experience;
CREATE TABLE ufo_experience.store (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    version integer NOT NULL,
    store_id text NOT NULL,
    embedder text
);
CREATE TABLE ufo_experience.secret (single boolean PRIMARY KEY DEFAULT true CHECK (single), key bytea NOT NULL);
CREATE TABLE ufo_experience.record (
    id text COLLATE "C" PRIMARY KEY,
    record json NOT NULL, -- not jsonb: it comes back letter by letter, numbers and zero bytes included
    trust text NOT NULL,
    status json NOT NULL,
    removed boolean NOT NULL DEFAULT false,
    indexed boolean NOT NULL DEFAULT false
);
CREATE INDEX record_not_indexed ON ufo_experience.record (id) WHERE NOT indexed;
CREATE TABLE ufo_experience.event (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    event json NOT NULL
);
CREATE INDEX event_by_id ON ufo_experience.event (id);
CREATE TABLE ufo_experience.row (
    id text COLLATE "C" PRIMARY KEY REFERENCES ufo_experience.record ON DELETE CASCADE,
    row json NOT NULL,
    application text NOT NULL,
    env text NOT NULL,
    session text NOT NULL,
    success boolean,
    imported boolean NOT NULL,
    task_key text NOT NULL,
    digest text NOT NULL,
    raw integer NOT NULL,
    masked integer NOT NULL,
    words tsvector NOT NULL
);
CREATE INDEX row_by_words ON ufo_experience.row USING gin (words);
CREATE INDEX row_by_task ON ufo_experience.row (task_key);
CREATE TABLE ufo_experience.kept (
    kind text,
    key text,
    value bytea NOT NULL,
    owner text COLLATE "C" REFERENCES ufo_experience.record ON DELETE CASCADE,
    PRIMARY KEY (kind, key)
);
CREATE INDEX kept_by_owner ON ufo_experience.kept (owner);
CREATE TABLE ufo_experience.clock (slot integer PRIMARY KEY, changes bigint NOT NULL DEFAULT 0) WITH (fillfactor = 10);
INSERT INTO ufo_experience.clock SELECT generate_series(0, {clocks} - 1);
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE ufo_experience.vector (
    id text COLLATE "C" REFERENCES ufo_experience.record ON DELETE CASCADE,
    embedder text COLLATE "C",
    digest text NOT NULL,
    embedding halfvec, -- a cosine changes by some 1e-5
    PRIMARY KEY (id, embedder)
);
ALTER TABLE ufo_experience.vector ALTER COLUMN embedding SET STORAGE PLAIN; -- all are compared
CREATE INDEX vector_missing ON ufo_experience.vector (embedder) WHERE embedding IS NULL;
