"""Experiences in PostgreSQL, for many machines at once: learning inserts rows, and nobody waits for anybody.

What a method has returned from is committed. An index in the same database adds its rows in the same transaction
(`PostgresStore.indexing`): a record is found as soon as it is there. The tables, those of the index among them:

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

import os
import secrets
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from multiprocessing.connection import wait
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import quote

import psycopg
from platformdirs import user_cache_path
from psycopg import conninfo, errors

from ufo_experience.errors import DataError, LockedError, NotFoundError, ServiceError, StorageError, UsageError
from ufo_experience.ids import is_id, new_id
from ufo_experience.schema import Experience, Problem, Trust, Usage, validate
from ufo_experience.store.base import Changing, Event, ExperienceStore, Recorded, Row, Status, StoreReport, event
from ufo_experience.store.records import decode, encode

PAGE = 500  # rows fetched at once
VERSION = 7  # of the tables; those of the first edition had 1 to 5
CLOCKS = 64
CONNECT_S = 10
STATEMENT_S = 60  # of one statement, unless role or URL say another time: a server that hangs must not hang us
MAX_CONNECTIONS = 8  # of one process
MAX_SAID = 500  # characters of what a server says

_TABLES = Path(__file__).with_name("postgres.sql").read_text("ascii").format(clocks=CLOCKS)

_INSERT = """
INSERT INTO ufo_experience.record (id, record, trust, status, indexed)
SELECT id, record::json, trust, status::json, %s
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[]) AS fresh (id, record, trust, status)
WHERE NOT EXISTS (
    SELECT FROM ufo_experience.event gone WHERE gone.id = fresh.id AND gone.kind = 'removed'
)
ON CONFLICT DO NOTHING RETURNING id
"""
_READ = "SELECT id, record::text, status FROM ufo_experience.record WHERE"
_NOTE = "INSERT INTO ufo_experience.event (id, kind, event) VALUES (%s, %s, %s)"
_STATUS = """
UPDATE ufo_experience.record SET (trust, status, removed) = (coalesce(%s, trust), %s::json, %s) WHERE id = %s
"""
_TICK = f"UPDATE ufo_experience.clock SET changes = changes + 1 WHERE slot = pg_backend_pid() % {CLOCKS}"

Connection = psycopg.Connection[Any]
Indexing = Callable[[Connection, Sequence[Experience]], None]


class PostgresStore(ExperienceStore):
    """Experiences in a database, one store in each. Open it with `PostgresStore.open`."""

    shared = True  # whoever may write to the database may add records
    _edited = Trust.QUARANTINED

    def __init__(self, database: Database, store_id: str) -> None:
        self.database, self.location = database, database.label
        self._key = b""
        self.indexing: Indexing | None = None  # of an index in the same database: in the transaction of new records
        place = os.environ.get("UFO_EXPERIENCE_CACHE")
        self.cache_folder = (Path(place) if place else user_cache_path("ufo-experience", appauthor=False)) / store_id
        with suppress(OSError):  # who writes there says what is wrong
            self.cache_folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @classmethod
    def open(cls, url: str, *, create: bool = True, lock_timeout: float = 10.0) -> PostgresStore:
        """Open the store in a database; see `open_store`."""
        database = Database(url, lock_timeout=lock_timeout)
        return cls(database, _open_tables(database, create))

    def key(self) -> bytes:
        self._key = self._key or bytes(self.database.select("SELECT key FROM ufo_experience.secret")[0][0])
        return self._key

    def ids(self, *, removed: bool = False) -> list[str]:
        query = "SELECT id FROM ufo_experience.record WHERE removed = %s ORDER BY id"
        return [id for (id,) in self.database.select(query, (removed,))]

    def events(self, id: str | None = None) -> Iterator[Event]:
        if id is not None and not is_id(id):
            return
        only = "" if id is None else "AND id = %(id)s"
        query = f"SELECT number, event FROM ufo_experience.event WHERE number > %(last)s {only} ORDER BY number"
        for _, data in self._pages(query, 0, {"id": id}):
            yield validate(Event, data, file=self.location)

    def purge(self, ids: Iterable[str]) -> list[Experience]:
        wanted = sorted({id for id in ids if is_id(id)})
        with self.database.transaction() as connection:
            rows = self._locked(connection, wanted, "true")
            connection.execute("DELETE FROM ufo_experience.event WHERE id = ANY(%s)", (wanted,))
            connection.execute("DELETE FROM ufo_experience.record WHERE id = ANY(%s)", (wanted,))
            self._commit(connection, [event("removed", id, reason="purged") for id in wanted])
        return list(self._usable(rows))

    def verify(self) -> StoreReport:
        found = [self._problem(row) for row in self._rows()]
        return StoreReport(found.count(None), [problem for problem in found if problem])

    def _problem(self, row: Row) -> Problem | None:
        try:
            self._load(row)
        except DataError as error:
            return Problem(file=error.file or self.location, code=error.code, message=error.reason)
        return None

    def revision(self) -> str:
        return str(self.database.select("SELECT sum(changes) FROM ufo_experience.clock")[0][0])

    def close(self) -> None:
        self.database.close()

    def _rows(self, ids: Iterable[str] | None = None, *, removed: bool = False) -> Iterator[Row]:
        chosen = "" if ids is None else "AND id = ANY(%(ids)s)"
        which = "removed" if removed else "NOT removed"
        query = f"{_READ} {which} AND id > %(last)s {chosen} ORDER BY id"
        return self._pages(query, "", {"ids": [id for id in ids or () if is_id(id)]})

    def _pages(self, query: str, last: Any, values: dict[str, Any]) -> Iterator[Row]:
        """Rows in the order of their first column, page by page: what is committed meanwhile may be among them."""
        page: list[Row] = [(last,)] * PAGE
        while len(page) == PAGE:
            page = self.database.select(f"{query} LIMIT {PAGE}", {**values, "last": page[-1][0]})
            yield from page

    def _read(self, row: Row) -> Recorded:
        id, record, status = row
        file = f"{self.location} record {id}"
        one, content, whole = decode(record.encode("utf-8"), file)
        if one.id != id:
            raise DataError("the id of the row is not the id inside", file=file, code="E_CORRUPT")
        return one, content, whole, validate(Status, status, file=file)

    def _add_group(self, group: Sequence[Experience]) -> set[str]:
        rows = [
            (one.id, encode(one).decode("utf-8"), one.trust.value, _as_json(Status(usage=one.usage)))
            for one in sorted(group, key=lambda one: one.id)  # so no two wait in a ring
        ]
        with self.database.transaction() as connection:
            columns = map(list, zip(*rows, strict=True))
            inserted = set(connection.execute(_INSERT, (self.indexing is not None, *columns)).fetchall())
            fresh = [one for one in group if (one.id,) in inserted]
            if fresh:
                if self.indexing:
                    self.indexing(connection, fresh)
                used = [event("usage", one.id, usage=one.usage) for one in fresh if one.usage != Usage()]
                self._commit(connection, used)
        return {one.id for one in fresh}

    @contextmanager
    def _changing(self, ids: Iterable[str], *, removed: bool = False) -> Iterator[Changing]:
        with self.database.transaction() as connection:
            rows = self._locked(connection, ids, "removed" if removed else "NOT removed")

            def note(events: Iterable[Event]) -> None:
                about: dict[str, list[Event]] = {}
                for one in events:
                    about.setdefault(one.id, []).append(one)
                changes = [self._changed(row, about[row[0]]) for row in rows if row[0] in about]
                if changes:
                    connection.cursor().executemany(_STATUS, changes)
                self._commit(connection, list(chain(*about.values())))

            yield rows, note

    def _changed(self, row: Row, events: Iterable[Event]) -> tuple[str | None, str, bool, str]:
        """Trust (where it is said), status and removal of a record after events, and its id."""
        id, record, before = row
        status, trust = validate(Status, before, file=self.location), None
        for one in events:
            status = status.after(one)
            if one.kind == "trust":
                trust = self._load((id, record, status.model_dump(mode="json"))).trust.value
        return trust, _as_json(status), status.removed, id

    def _locked(self, connection: Connection, ids: Iterable[str], which: str) -> list[Row]:
        """The rows of these ids, in one order, kept from other writers until the transaction ends."""
        wanted = [id for id in ids if is_id(id)]
        query = f"{_READ} id = ANY(%s) AND {which} ORDER BY id FOR UPDATE"
        return connection.execute(query.encode("ascii"), (wanted,)).fetchall()

    def _commit(self, connection: Connection, events: Sequence[Event]) -> None:
        """Note events, and last of all that something has changed."""
        rows = [(one.id, one.kind, one.model_dump_json(exclude_defaults=True)) for one in events]
        if rows:
            connection.cursor().executemany(_NOTE, rows)
        connection.execute(_TICK.encode("ascii"))


def _as_json(status: Status) -> str:
    return status.model_dump_json(exclude_defaults=True)


def _open_tables(database: Database, create: bool) -> str:
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


# ---- the server: short transactions, errors of this package, no password in any text ----

_PATIENCE = """
SELECT set_config('jit', 'off', false), set_config('lock_timeout', %s, false), set_config('statement_timeout', coalesce(
    nullif(current_setting('statement_timeout'), '0'), %s), false)
"""

# the first that fits names the error; what is in none of them is the server's refusal of a statement
_MEANING: dict[type[Exception], tuple[type[psycopg.Error], ...]] = {
    LockedError: (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure),
    StorageError: (errors.DiskFull, errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege),
    ServiceError: (psycopg.OperationalError, psycopg.InterfaceError),
}


class Database:
    """A database by its URL. Nothing is opened before the first use; safe to use from many threads and after a fork."""

    def __init__(self, url: str, *, lock_timeout: float = 10.0) -> None:
        try:
            self._parts: dict[str, Any] = dict(conninfo.conninfo_to_dict(url))
        except psycopg.ProgrammingError:
            # not chained: the driver's message holds the URL, and that may hold a password
            raise UsageError("not a PostgreSQL URL; it looks like postgresql://user@host:5432/database") from None
        self.label = _label(**{name: str(value) for name, value in self._parts.items()})
        self._lock_timeout = f"{max(1, int(lock_timeout * 1000))}ms"
        self._idle: list[Connection] = []
        self._start()
        weakref.finalize(self, _close, self._idle)  # also when the interpreter ends

    def _start(self) -> None:
        self._pid = os.getpid()
        self._slots = BoundedSemaphore(MAX_CONNECTIONS)
        self._idle.clear()  # after a fork: psycopg leaves alone what another process has opened

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection on which every statement is a transaction of its own."""
        if self._pid != os.getpid():
            self._start()  # the connections of the parent are the parent's
        with self._errors(), self._slots:
            connection = self._idle_one() or self._connect()
            try:
                yield connection
            finally:
                if connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE:
                    self._idle.append(connection)
                else:
                    connection.close()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection inside one transaction, committed at the end."""
        with self.connection() as connection, connection.transaction():
            yield connection

    def select(self, statement: str, values: Any = ()) -> list[Any]:
        """All rows of a query; on a new connection when one was cut meanwhile."""

        def ask() -> list[Any]:
            with self.connection() as connection:
                return connection.execute(statement.encode("utf-8"), values).fetchall()

        try:
            return ask()
        except ServiceError as error:
            if isinstance(error.__cause__, errors.QueryCanceled):
                raise  # it took too long, and would again
            return ask()

    def close(self) -> None:
        """Close the connections nobody uses just now."""
        _close(self._idle)

    def _idle_one(self) -> Connection | None:
        """One that is still there: a connection that has something to say, asked nothing, was cut."""
        with suppress(IndexError):  # another thread may take the last one
            while True:
                connection = self._idle.pop()
                if not wait([connection.fileno()], 0):
                    return connection
                connection.close()
        return None

    def _connect(self) -> Connection:
        connection: Connection = psycopg.connect(**{"connect_timeout": CONNECT_S, **self._parts}, autocommit=True)
        connection.execute(_PATIENCE, (self._lock_timeout, f"{STATEMENT_S}s"))
        return connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of the driver as ours, with the first line of what it says and without a password."""
        try:
            yield
        except psycopg.Error as error:
            text = (str(error).strip() or type(error).__name__).splitlines()[0][:MAX_SAID]
            if secret := str(self._parts.get("password") or ""):
                text = text.replace(secret, "***")
            text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
            ours = next((ours for ours, foreign in _MEANING.items() if isinstance(error, foreign)), StorageError)
            raise ours(f"{self.label}: {text}") from error


def _close(connections: list[Connection]) -> None:
    while connections:
        connections.pop().close()


def _label(host: str = "", port: str = "", user: str = "", dbname: str = "", **_others: str) -> str:
    """The URL without password and options."""
    before = f"{quote(user, safe='')}@" if user else ""
    name, at_port = quote(dbname, safe=""), f":{port}" if port else ""
    if host.startswith(("/", "@")):  # the folder of a Unix socket
        return f"postgresql://{before}{at_port}/{name}?host={quote(host, safe='/')}"
    return f"postgresql://{before}{host}{at_port}/{name}"
