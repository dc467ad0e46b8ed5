"""Connections to a PostgreSQL server: a pool, short transactions, errors of this package, no password in any text."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import quote

from ufo_experience.errors import (
    ExperienceError,
    LockedError,
    MissingExtraError,
    ServiceError,
    StorageError,
    UsageError,
)

try:
    import psycopg
    from psycopg import conninfo, errors
    from psycopg_pool import ConnectionPool
except ModuleNotFoundError as error:
    raise MissingExtraError(error.name or "psycopg", "postgres") from error

Connection = psycopg.Connection[Any]
T = TypeVar("T")

CONNECT_S = 10
MAX_CONNECTIONS = 8  # of one process
MAX_SAID = 500  # characters of what a server says

# the first that fits names the error; what is in none of them is the server's refusal of a statement
_MEANING: tuple[tuple[tuple[type[psycopg.Error], ...], type[ExperienceError]], ...] = (
    ((errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure), LockedError),
    ((errors.DiskFull, errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege), StorageError),
    ((psycopg.OperationalError, psycopg.InterfaceError), ServiceError),
    ((psycopg.Error,), StorageError),
)


class Database:
    """A database by its URL. Nothing is opened before the first use; safe to use from many threads.

    Args:
        url: as libpq reads it; the password may stand in `PGPASSWORD` or `~/.pgpass` instead.
        lock_timeout: seconds a statement waits for another writer.
        prepare: called with each new connection.

    Raises:
        UsageError: libpq cannot read the URL.
    """

    def __init__(
        self,
        url: str,
        *,
        lock_timeout: float = 10.0,
        read_only: bool = False,
        prepare: Callable[[Connection], None] | None = None,
    ) -> None:
        self._parts = _read(url)
        self.label = _label(self._parts)
        self._lock_timeout, self._read_only, self._prepare = lock_timeout, read_only, prepare
        self._wait = lock_timeout + CONNECT_S
        self._reached = False
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            conninfo.make_conninfo(**{"connect_timeout": CONNECT_S, **self._parts}),
            kwargs={"autocommit": True},
            min_size=0,
            max_size=MAX_CONNECTIONS,
            open=False,
            configure=self._configure,
        )
        weakref.finalize(self, self._pool.close)  # also when the interpreter ends

    def preparing(self, prepare: Callable[[Connection], None]) -> Database:
        """The same database over connections that `prepare` has seen first."""
        url = conninfo.make_conninfo(**self._parts)
        return Database(url, lock_timeout=self._lock_timeout, read_only=self._read_only, prepare=prepare)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection on which every statement is a transaction of its own.

        Raises:
            ServiceError: the server cannot be reached, or has gone.
            LockedError: another writer holds what is needed.
            StorageError: the server refused.
        """
        with self.errors():
            if not self._reached:
                self._reach()
            with self._pool.connection(self._wait) as connection:
                yield connection

    def read(self, work: Callable[[Connection], T]) -> T:
        """What reading gives; when the connection was cut meanwhile, it is done once more on a new one.

        Only for what may be done twice. Raises as `connection`.
        """
        try:
            with self.connection() as connection:
                return work(connection)
        except ServiceError:
            with self.connection() as connection:  # dead ones are weeded out first
                return work(connection)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection inside one transaction, committed at the end. Raises as `connection`."""
        with self.connection() as connection, connection.transaction():
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the driver into ours."""
        try:
            yield
        except psycopg.Error as error:
            ours = next(ours for foreign, ours in _MEANING if isinstance(error, foreign))
            self._reached = self._reached and ours is not ServiceError
            raise ours(f"{self.label}: {self._clean(error)}") from error

    def _reach(self) -> None:
        """Connect once without the pool, which would try again and again in silence; then weed out its dead ones."""
        psycopg.connect(**{"connect_timeout": CONNECT_S, **self._parts}).close()
        self._pool.open()  # does nothing when it is open
        self._pool.check()
        self._reached = True

    def _configure(self, connection: Connection) -> None:
        connection.execute(f"SET lock_timeout = {max(1, int(self._lock_timeout * 1000))}")
        if self._read_only:
            connection.execute("SET default_transaction_read_only = on")
        if self._prepare:
            self._prepare(connection)

    def _clean(self, error: psycopg.Error) -> str:
        """The first line of what the driver says; it names hosts and users, and is kept from naming a password."""
        text = (str(error).strip() or type(error).__name__).splitlines()[0][:MAX_SAID]
        secret = str(self._parts.get("password") or "")
        text = text.replace(secret, "***") if secret else text
        return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _read(url: str) -> dict[str, Any]:
    try:
        return dict(conninfo.conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        # not chained: the driver's message holds the URL, and that may hold a password
        raise UsageError("not a PostgreSQL URL; it looks like postgresql://user@host:5432/database") from None


def _label(parts: dict[str, Any]) -> str:
    """The URL without password and options."""
    host, port = str(parts.get("host") or ""), str(parts.get("port") or "")
    user = f"{quote(str(parts['user']), safe='')}@" if parts.get("user") else ""
    name = quote(str(parts.get("dbname") or ""), safe="")
    at_port = f":{port}" if port else ""
    if host.startswith(("/", "@")):  # the folder of a Unix socket
        return f"postgresql://{user}{at_port}/{name}?host={quote(host, safe='/')}"
    return f"postgresql://{user}{host}{at_port}/{name}"
