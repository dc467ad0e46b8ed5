"""The tables of a store in PostgreSQL, those of its index among them. They are made by whoever opens it first.

store    one row: id and version of the tables
secret   one row: the key of digests; it is in no export
record   one experience as it was learned, beside it its status: what its events come to, and its trust
event    what happened since, one row each, in the transaction that changes the status
clock    how many changes were committed, in 64 rows: each connection counts in one of them, so that writers do
         not wait for each other, and their sum differs after every commit, in whatever order they come
row      what ranking needs of a record, its words as a `tsvector`
vector   its embedding, where the server has pgvector
kept     small values that cost a request, such as the verdicts of a judge
"""

from __future__ import annotations

import secrets

from ufo_experience.errors import DataError, NotFoundError, StorageError
from ufo_experience.ids import is_id, new_id
from ufo_experience.store.postgres_server import Connection, Database

VERSION = 6  # of the tables; those of the first edition had 1 to 5
CLOCKS = 64

_TABLES = f"""
CREATE SCHEMA IF NOT EXISTS ufo_experience;
CREATE TABLE ufo_experience.store (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    version integer NOT NULL,
    store_id text NOT NULL,
    embedder text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE ufo_experience.secret (single boolean PRIMARY KEY DEFAULT true CHECK (single), key bytea NOT NULL);
CREATE TABLE ufo_experience.record (
    id text COLLATE "C" PRIMARY KEY,
    record json NOT NULL, -- not jsonb: it comes back letter by letter, numbers and zero bytes included
    trust text NOT NULL,
    status json NOT NULL,
    removed boolean NOT NULL DEFAULT false,
    indexed boolean NOT NULL DEFAULT false,
    author text NOT NULL DEFAULT session_user,
    learned_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX record_not_indexed ON ufo_experience.record (id) WHERE NOT indexed;
CREATE TABLE ufo_experience.event (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    event json NOT NULL,
    author text NOT NULL DEFAULT session_user
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
INSERT INTO ufo_experience.clock SELECT generate_series(0, {CLOCKS - 1});
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
"""


def open_tables(database: Database, create: bool) -> str:
    """Make the tables where there are none and that is allowed; returns the id of the store."""
    with database.connection() as connection:
        store_id = _store_id(connection, database.label)
    if store_id:
        return store_id
    if not create:
        raise NotFoundError("no experience store here", file=database.label)
    with database.transaction() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('ufo_experience'))")
        if connection.execute("SELECT getdatabaseencoding()").fetchone() != ("UTF8",):
            raise StorageError(f"{database.label}: the texts of this database are not UTF-8")
        store_id = _store_id(connection, database.label)  # another process may have been quicker
        if not store_id:
            store_id = new_id()
            connection.execute(_TABLES.encode("ascii"))
            made = "INSERT INTO ufo_experience.store (version, store_id) VALUES (%s, %s)"
            connection.execute(made, (VERSION, store_id))
            connection.execute("INSERT INTO ufo_experience.secret (key) VALUES (%s)", (secrets.token_bytes(32),))
    return store_id


def _store_id(connection: Connection, label: str) -> str:
    """The id of the store; empty where there are no tables."""
    if connection.execute("SELECT to_regclass('ufo_experience.store')").fetchone() == (None,):
        return ""
    row = connection.execute("SELECT version, store_id FROM ufo_experience.store").fetchone()
    if row is None or type(row[0]) is not int or not is_id(row[1]):  # the id names a folder on this machine
        raise DataError("the table of the store holds no id of a store", file=label, code="E_CORRUPT")
    if row[0] != VERSION:
        raise DataError(
            f"tables of version {row[0]}, this package reads {VERSION}; nothing changed", file=label, code="E_VERSION"
        )
    return str(row[1])
