-- The tables of `.index/index.sqlite`: what the store knows of its files, and what the index makes of the records. All is
-- made again from the files, and only what has cost a request (`text_vector`, `kept`) stays as it is.

DROP TABLE IF EXISTS record;
DROP TABLE IF EXISTS seen;
DROP TABLE IF EXISTS row;
DROP TABLE IF EXISTS total;
DROP TABLE IF EXISTS word;
DROP TABLE IF EXISTS trusted;
DROP TABLE IF EXISTS held;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
DELETE FROM meta WHERE name != 'embedder';

-- each change has a number, and what is in memory is of one epoch, and of no other file
INSERT INTO meta VALUES ('change', 0), ('epoch', random());

-- `path` is NULL where the file is gone, `status` is what the events of this id come to, also without a file, `change` is
-- the number of the change it was last changed in; its row in the index, and its entry in the view, are of the one there
CREATE TABLE record (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, path TEXT UNIQUE,
    stamp TEXT, status TEXT, removed INT NOT NULL DEFAULT 0,
    change INT NOT NULL, indexed INT, viewed INT,
    live INT NOT NULL GENERATED ALWAYS AS (NOT removed AND path IS NOT NULL) STORED
);
CREATE INDEX record_to_index ON record (number) WHERE indexed IS NOT change;
CREATE INDEX record_to_view ON record (number) WHERE viewed IS NOT change;

CREATE TABLE row (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, data TEXT NOT NULL,
    application TEXT, env TEXT, session TEXT, trust INT, imported INT, success INT, task_key TEXT, text_key TEXT,
    vector INT
);
CREATE INDEX row_task_key ON row (task_key);
CREATE INDEX row_text_key ON row (text_key);
CREATE INDEX row_vector ON row (vector);
CREATE VIRTUAL TABLE trusted USING fts5 (
    raw, masked, tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
);
CREATE VIRTUAL TABLE held USING fts5 (
    raw, masked, tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
);

-- in how many texts of a column ("trusted raw") a word stands; in place of "rows", how many of a kind there are
CREATE TABLE word (place TEXT, word TEXT, texts INT, PRIMARY KEY (place, word)) WITHOUT ROWID;

-- a text has one vector of an embedder, however many rows have that text
CREATE TABLE IF NOT EXISTS text_vector (
    number INTEGER PRIMARY KEY AUTOINCREMENT, text_key TEXT, embedder TEXT, data BLOB, UNIQUE (text_key, embedder)
);
CREATE TABLE IF NOT EXISTS kept (
    kind TEXT, key TEXT, owner TEXT, data BLOB, PRIMARY KEY (kind, key)
) WITHOUT ROWID;
