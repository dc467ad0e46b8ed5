-- What the folder store knows of its files: statements with an empty line between two.

DROP TABLE IF EXISTS record

DROP TABLE IF EXISTS seen

DELETE FROM meta WHERE name IN ('change', 'events')

-- `path` is NULL where the file is gone; `status` is what the events of this id come to, also without a file
CREATE TABLE record (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, path TEXT UNIQUE,
    stamp TEXT, content TEXT, edited INT, status TEXT, removed INT NOT NULL DEFAULT 0, change INT NOT NULL,
    live INT NOT NULL GENERATED ALWAYS AS (NOT removed AND path IS NOT NULL) STORED
)

CREATE INDEX record_change ON record (change)

-- of folders and events
CREATE TABLE seen (path TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID
