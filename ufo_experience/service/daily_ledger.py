"""What was spent on each day, in a small SQLite file that all processes of a store share."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

from ufo_experience.errors import BudgetError

_SCHEMA = "CREATE TABLE IF NOT EXISTS spent (day TEXT PRIMARY KEY, nanodollars INTEGER NOT NULL) WITHOUT ROWID"
_ADD = """
INSERT INTO spent VALUES (?, max(0, ?)) ON CONFLICT (day) DO UPDATE SET nanodollars = max(0, nanodollars + ?)
"""
_NANO = 1_000_000_000
_WAIT = 5.0  # seconds another process may hold the file


def utc_day() -> str:
    """Today in UTC, as YYYY-MM-DD."""
    return datetime.now(timezone.utc).date().isoformat()


class DailySpending:
    """The SQLite file `path` that all processes of a store share, with a cap in US dollars per UTC day. Thread-safe.

    Money is taken before a request is sent and what was not used is given back, so that a process that dies in between
    has spent too much in the file, never too little. A file that cannot be used refuses to spend.
    """

    def __init__(self, path: Path, cap: float, *, today: Callable[[], str] = utc_day) -> None:
        self.path, self.cap, self._today = path, cap, today

    def take(self, amount: float) -> str:
        """Count what a request may cost; returns the day it was counted on.

        Raises:
            BudgetError: the cap of the day would be passed, or the file cannot be used. Nothing was counted.
        """
        day = self._today()
        with self._open() as database:
            taken = self._read(database, day)
            if taken + amount > self.cap:
                raise BudgetError(
                    f"a request may cost ${amount:.6f}, and ${taken:.6f} of ${self.cap:.6f} for {day} (UTC) are taken"
                )
            self._add(database, day, amount)
        return day

    def correct(self, day: str, amount: float) -> None:
        """Add `amount` to a day; negative: give it back. Raises `BudgetError` when the file cannot be used."""
        if round(amount * _NANO):
            with self._open() as database:
                self._add(database, day, amount)

    def spent(self, day: str | None = None) -> float:
        """US dollars counted on a day, today if none is given."""
        with self._open() as database:
            return self._read(database, day or self._today())

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)) as database:
                database.execute("PRAGMA journal_mode=TRUNCATE")  # the quickest of the durable ones
                database.execute("BEGIN IMMEDIATE")
                database.execute(_SCHEMA)
                yield database
                database.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            message = f"a daily cost cap is set, but {self.path} cannot be used: {error}"
            raise BudgetError(message, code="E_NO_BOOKS") from error

    @staticmethod
    def _read(database: sqlite3.Connection, day: str) -> float:
        row = database.execute("SELECT nanodollars FROM spent WHERE day = ?", (day,)).fetchone()
        return int(row[0]) / _NANO if row else 0.0

    @staticmethod
    def _add(database: sqlite3.Connection, day: str, amount: float) -> None:
        change = round(amount * _NANO)
        database.execute(_ADD, (day, change, change))
