"""`.index/index.sqlite`: one SQLite file for what can be made again from the records. It may be deleted at any time.

The store keeps there which files it has seen and what their events came to, the index its rows. A process has one
connection, which its threads share; a child after a fork opens its own. Where the disk takes no writing (read-only,
full), a copy in memory goes on: what is acknowledged is in the files anyway.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

from ufo_experience.errors import LockedError, StorageError

FOLDER, FILE = ".index", "index.sqlite"
VERSION = 20  # of the tables
_TABLES = Path(__file__).with_name("catalog.sql").read_text("utf-8").split(";\n")
_ALL_THERE = "SELECT 1 FROM meta, record, row, word, trusted, held, text_vector, kept LIMIT 0"
_BUSY_S = 30.0  # somebody else writes for some milliseconds, after a clone for some seconds
_log = logging.getLogger(__name__)
_inherited: list[sqlite3.Connection] = []  # of the parent of a fork: closing one would let go of the parent's locks
_T = TypeVar("_T")
Rows = list[tuple[Any, ...]]


class Catalog:
    """The SQLite file of a store folder. Safe to use from many threads."""

    def __init__(self, root: Path) -> None:
        self.path = root / FOLDER / FILE
        self._connection: sqlite3.Connection | None = None
        self._process, self._lock = os.getpid(), threading.RLock()
        self.in_memory = False

    def read(self, sql: str, given: Sequence[Any] | Mapping[str, Any] = ()) -> Rows:
        """The rows of a query."""
        return self.run(lambda db: db.execute(sql, given).fetchall())

    def write(self, act: Callable[..., object], *given: Any) -> None:
        """Do something with the connection, and with what is given, in one transaction."""
        self.run(lambda db: act(db, *given), write=True)

    def meta(self, name: str) -> Any:
        """A value that was kept under a name; None when there is none."""
        return self.run(lambda db: noted(db, name))

    def note(self, **values: Any) -> None:
        """Keep values under their names; None keeps none any more."""
        self.write(lambda db: note(db, **values))

    def run(self, act: Callable[[sqlite3.Connection], _T], *, write: bool = False) -> _T:
        """Do something with the connection; with `write` as one transaction. It is done again after a repair."""
        with self._own_lock():
            try:
                return self._do(act, write)
            except sqlite3.Error as error:
                self._mend(error)
            try:
                return self._do(act, write)
            except sqlite3.Error as error:
                raise StorageError(f"{self.path}: {error}") from error

    def make_anew(self) -> None:
        """Make all tables again; what has cost a request stays."""
        self.write(_make)

    def drop(self) -> None:
        """Delete the file; the next use makes it anew."""
        with self._own_lock():
            self.close()
            for ending in ("", "-wal", "-shm"):
                with suppress(OSError):
                    os.unlink(f"{self.path}{ending}")

    def tidy(self) -> None:
        """Write what was committed into the file itself: the log beside it would keep its greatest length."""
        with suppress(LockedError, StorageError):  # somebody reads just now
            self.read("PRAGMA wal_checkpoint(TRUNCATE)")

    def check(self) -> str | None:
        """What SQLite finds wrong with the file; None when it is whole."""
        with self._own_lock():
            try:
                found = str(self._open().execute("PRAGMA quick_check(1)").fetchone()[0])
            except sqlite3.Error as error:
                return str(error)
        return None if found == "ok" else found

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._own_lock():
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _own_lock(self) -> threading.RLock:
        """The lock of this process: a thread of the parent may have held it when this child was made."""
        if self._process != os.getpid():
            if self._connection is not None:
                _inherited.append(self._connection)
            self._process, self._lock, self._connection = os.getpid(), threading.RLock(), None
        return self._lock

    def _do(self, act: Callable[[sqlite3.Connection], _T], write: bool) -> _T:
        db = self._open()
        if not write:
            return act(db)
        db.execute("BEGIN IMMEDIATE")
        with db:
            return act(db)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            with suppress(OSError):  # SQLite says what is wrong
                self.path.parent.mkdir(mode=0o700, exist_ok=True)
            self._connection = self._connected(str(self.path))
        return self._connection

    def _connected(self, place: str, copied: str = "") -> sqlite3.Connection:
        db = sqlite3.connect(place, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            for pragma in ("page_size = 8192", "journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON"):
                db.execute(f"PRAGMA {pragma}")
            if copied:
                with suppress(sqlite3.Error), closing(sqlite3.connect(copied, uri=True)) as other:
                    other.backup(db)
            if not _is_whole(db):
                db.execute("BEGIN IMMEDIATE")
                with db:
                    if not _is_whole(db):  # another process may have been faster
                        _make(db)
        except BaseException:
            db.close()
            raise
        return db

    def _mend(self, error: sqlite3.Error) -> None:
        """After a failure: a damaged file is made anew; where the disk refuses, a copy of it in memory goes on."""
        if "locked" in str(error):
            raise LockedError(f"{self.path}: another process keeps it; try again later") from error
        self.close()
        refused = isinstance(error, sqlite3.OperationalError)
        done = "the index goes on in memory" if refused else "made anew from the records"
        _log.warning("%s: %s; %s", self.path, error, done)
        if not refused:
            self.drop()
            if not os.path.lexists(self.path):
                return  # else another process has it open, and Windows keeps it until that one ends
        copied = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1" if refused else ""
        self._connection, self.in_memory = self._connected(":memory:", copied), True


def _is_whole(db: sqlite3.Connection) -> bool:
    """True when the tables are of this version, and none of them is gone."""
    with suppress(sqlite3.OperationalError):
        db.execute(_ALL_THERE)
        return bool(db.execute("PRAGMA user_version").fetchone()[0] == VERSION)
    return False


def _make(db: sqlite3.Connection) -> None:
    for statement in (*_TABLES, f"PRAGMA user_version = {VERSION}"):
        db.execute(statement)


def noted(db: sqlite3.Connection, name: str) -> Any:
    """The value under a name."""
    return (db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone() or (None,))[0]


def note(db: sqlite3.Connection, **values: Any) -> None:
    """Keep values; inside a transaction."""
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())
    db.execute("DELETE FROM meta WHERE value IS NULL")
