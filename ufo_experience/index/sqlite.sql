-- What the index of a folder keeps: statements with an empty line between two. They are executed for a new index and to
-- make all rows again; what has cost a request (`text_vector`, `kept`) is left as it is.

DROP TABLE IF EXISTS row

DROP TABLE IF EXISTS total

DROP TABLE IF EXISTS word

DROP TABLE IF EXISTS trusted

DROP TABLE IF EXISTS held

DELETE FROM meta WHERE name IN ('row change', 'faiss', 'sequence') OR name LIKE 'embedded by %'

-- what is in memory is of one epoch, and of no other file
INSERT OR REPLACE INTO meta VALUES ('epoch', random())

CREATE TABLE row (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, change INT, data TEXT NOT NULL,
    application TEXT, env TEXT, session TEXT, trust INT, imported INT, success INT, task_key TEXT, text_key TEXT,
    counted INT, raw INT, masked INT, vector INT
)

CREATE INDEX row_task_key ON row (task_key)

CREATE INDEX row_text_key ON row (text_key)

CREATE INDEX row_vector ON row (vector)

-- how many rows there are, how many are trusted, and the words of these
CREATE TABLE total (rows INT, trusted INT, raw INT, masked INT)

INSERT INTO total VALUES (0, 0, 0, 0)

CREATE TRIGGER row_added AFTER INSERT ON row BEGIN
    UPDATE total SET rows = rows + 1, trusted = trusted + new.counted,
        raw = raw + new.counted * new.raw, masked = masked + new.counted * new.masked;
END

CREATE TRIGGER row_dropped AFTER DELETE ON row BEGIN
    UPDATE total SET rows = rows - 1, trusted = trusted - old.counted,
        raw = raw - old.counted * old.raw, masked = masked - old.counted * old.masked;
END

CREATE VIRTUAL TABLE trusted USING fts5 (
    raw, masked, tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
)

CREATE VIRTUAL TABLE held USING fts5 (
    raw, masked, tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
)

-- in how many texts of a column ("trusted raw") a word stands
CREATE TABLE word (place TEXT, word TEXT, texts INT, PRIMARY KEY (place, word)) WITHOUT ROWID

-- a text has one vector of an embedder, however many rows have that text
CREATE TABLE IF NOT EXISTS text_vector (
    number INTEGER PRIMARY KEY AUTOINCREMENT, text_key TEXT, embedder TEXT, data BLOB, UNIQUE (text_key, embedder)
)

CREATE TABLE IF NOT EXISTS kept (
    kind TEXT, key TEXT, owner TEXT, data BLOB, PRIMARY KEY (kind, key)
) WITHOUT ROWID
