"""Connections to a PostgreSQL server: short transactions, errors of this package, no password in any text."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import conninfo, errors

from ufo_experience.errors import ExperienceError, LockedError, ServiceError, StorageError, UsageError

Connection = psycopg.Connection[Any]

CONNECT_S = 10
STATEMENT_S = 60  # of one statement, unless role or URL say another time: a server that hangs must not hang us
MAX_CONNECTIONS = 8  # of one process
MAX_SAID = 500  # characters of what a server says

_PATIENCE = """
SELECT set_config('jit', 'off', false), set_config('lock_timeout', %s, false), set_config('statement_timeout', coalesce(
    nullif(current_setting('statement_timeout'), '0'), %s), false)
"""

# the first that fits names the error; what is in none of them is the server's refusal of a statement
_MEANING: tuple[tuple[tuple[type[psycopg.Error], ...], type[ExperienceError]], ...] = (
    ((errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure), LockedError),
    ((errors.DiskFull, errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege), StorageError),
    ((psycopg.OperationalError, psycopg.InterfaceError), ServiceError),
    ((psycopg.Error,), StorageError),
)


class Database:
    """A database by its URL. Nothing is opened before the first use; safe to use from many threads and after a fork.

    `url` is as libpq reads it; the password may stand in `PGPASSWORD` or `~/.pgpass` instead. `lock_timeout` are
    seconds a statement waits for another writer. Raises `UsageError`: libpq cannot read the URL.
    """

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
        """A connection on which every statement is a transaction of its own.

        Raises:
            ServiceError: the server cannot be reached, has gone, or took too long.
            LockedError: another writer holds what is needed.
            StorageError: the server refused.
        """
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
        """A connection inside one transaction, committed at the end. Raises as `connection`."""
        with self.connection() as connection, connection.transaction():
            yield connection

    def select(self, statement: str, values: Any = ()) -> list[Any]:
        """All rows of a query; on a new connection when one was cut meanwhile. Raises as `connection`."""
        try:
            return self._select(statement, values)
        except ServiceError as error:
            if isinstance(error.__cause__, errors.QueryCanceled):
                raise  # it took too long, and would again
            return self._select(statement, values)

    def _select(self, statement: str, values: Any) -> list[Any]:
        with self.connection() as connection:
            return connection.execute(statement.encode("utf-8"), values).fetchall()

    def close(self) -> None:
        """Close the connections nobody uses just now."""
        _close(self._idle)

    def _idle_one(self) -> Connection | None:
        """A connection that is still there. One that has something to say was cut: nobody has asked it anything."""
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
        """Turn errors of the driver into ours, with the first line of what it says and without a password."""
        try:
            yield
        except psycopg.Error as error:
            text = (str(error).strip() or type(error).__name__).splitlines()[0][:MAX_SAID]
            if secret := str(self._parts.get("password") or ""):
                text = text.replace(secret, "***")
            text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
            ours = next(ours for foreign, ours in _MEANING if isinstance(error, foreign))
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
