"""The tables of a store in PostgreSQL, made and brought up to date step by step.

    store        one row: id, version of the tables, and the revision: the number of the last commit
    records      a record as it is written to a file, its hash and signature included; trust, usage and verdict, and
                 the same once more as a signed status, where there is a key; the role that added it; columns for
                 people's SQL
    tombstones   deletions
    shards       the revision in which each shard (`records/ab`, `status/ab`) changed last
    generations  published generations of the index, their files in pieces

Every commit that changes something first locks the row of `store`: revisions are committed in their order, none is
missed by a reader who asks for what came after the last one he saw, and writers cannot wait for each other in a ring.
"""

from __future__ import annotations

from ufo_experience.errors import CorruptError, FormatVersionError, NotFoundError, StorageError
from ufo_experience.fileio.postgres import Connection, Database
from ufo_experience.ids import is_id, new_id

_RECORDS = """
CREATE SCHEMA ufo_experience;
CREATE TABLE ufo_experience.store (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    version integer NOT NULL,
    store_id text NOT NULL,
    revision bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE ufo_experience.records (
    id text COLLATE "C" PRIMARY KEY,
    record text NOT NULL,
    trust text NOT NULL,
    usage json NOT NULL,
    changed boolean NOT NULL,
    application text,
    env text,
    source text NOT NULL,
    session text NOT NULL,
    success boolean,
    created_at timestamptz NOT NULL
);
CREATE INDEX records_by_source ON ufo_experience.records (source, session);
CREATE TABLE ufo_experience.tombstones (
    id text COLLATE "C" PRIMARY KEY,
    removed_at timestamptz NOT NULL DEFAULT now(),
    reason text NOT NULL
);
CREATE TABLE ufo_experience.shards (
    name text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL
);
"""
_GENERATIONS = """
CREATE TABLE ufo_experience.generations (
    number bigint PRIMARY KEY,
    manifest bytea NOT NULL,
    published_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE ufo_experience.generation_files (
    number bigint REFERENCES ufo_experience.generations ON DELETE CASCADE,
    name text,
    piece integer,
    data bytea NOT NULL,
    PRIMARY KEY (number, name, piece)
);
ALTER TABLE ufo_experience.generation_files ALTER COLUMN data SET STORAGE EXTERNAL;
"""
_VERDICTS = "ALTER TABLE ufo_experience.records ADD COLUMN verdict json;"
_SEALS = "ALTER TABLE ufo_experience.records ADD COLUMN signed_status text;"
_AUTHORS = """
ALTER TABLE ufo_experience.records ADD COLUMN author text NOT NULL DEFAULT '';
ALTER TABLE ufo_experience.records ALTER COLUMN author SET DEFAULT session_user;
CREATE INDEX records_by_author ON ufo_experience.records (author);
"""
MIGRATIONS = (_RECORDS, _GENERATIONS, _VERDICTS, _SEALS, _AUTHORS)
_LOCK = 0x75666F5F657870  # of the advisory lock that lets one process at a time change the tables


def open_tables(database: Database, *, create: bool) -> str:
    """Make or update the tables where needed (and allowed); returns the id of the store.

    Raises:
        NotFoundError: there is no store, and `create` is False.
        FormatVersionError: a newer version made the tables; nothing was touched.
        StorageError: the server refused, or its texts are not UTF-8.
    """
    with database.connection() as connection:
        version, store_id = _state(connection, database.label)
    if version == len(MIGRATIONS):
        return store_id
    if not version and not create:
        raise NotFoundError("no experience store here", file=database.label)
    return _migrate(database)


def _migrate(database: Database) -> str:
    with database.transaction() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        encoding = connection.execute("SELECT getdatabaseencoding()").fetchone()
        if encoding != ("UTF8",):
            raise StorageError(f"{database.label}: the texts of this database are not UTF-8")
        version, store_id = _state(connection, database.label)  # another process may have been quicker
        for step in MIGRATIONS[version:]:
            connection.execute(step.encode("ascii"))
        if version:
            connection.execute("UPDATE ufo_experience.store SET version = %s", (len(MIGRATIONS),))
        else:
            store_id = new_id()
            connection.execute(
                "INSERT INTO ufo_experience.store (version, store_id) VALUES (%s, %s)", (len(MIGRATIONS), store_id)
            )
    return store_id


def _state(connection: Connection, label: str) -> tuple[int, str]:
    """Version and id; 0 and nothing where there are no tables."""
    if connection.execute("SELECT to_regclass('ufo_experience.store')").fetchone() == (None,):
        return 0, ""
    row = connection.execute("SELECT version, store_id FROM ufo_experience.store").fetchone()
    if row is None:
        raise CorruptError("the table of the store is empty", file=label)
    if type(row[0]) is not int or row[0] < 1 or not is_id(row[1]):  # it names a folder on this machine
        raise CorruptError("the table of the store holds no id of a store", file=label)
    if row[0] > len(MIGRATIONS):
        raise FormatVersionError(f"tables of version {row[0]} are newer than {len(MIGRATIONS)}", file=label)
    return row[0], row[1]
