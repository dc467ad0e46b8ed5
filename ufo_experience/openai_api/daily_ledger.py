"""What was spent on each day, in a small file that all processes of a store share.

SQLite keeps it whole and lets one process in at a time. Money is taken before a request is sent and what was not used
is given back, so that a process that dies in between has spent too much in the books, never too little.
"""

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
    """Today, as the books name it."""
    return datetime.now(timezone.utc).date().isoformat()


class DailySpending:
    """The books of `path`, with a cap in US dollars per UTC day. Thread- and process-safe.

    A file that cannot be read or written refuses to spend: a cap that nobody can check is no cap.
    """

    def __init__(self, path: Path, cap: float, *, today: Callable[[], str] = utc_day) -> None:
        self.path, self.cap, self._today = path, cap, today

    def take(self, amount: float) -> str:
        """Book what a request may cost; returns the day it was booked on.

        Raises:
            BudgetError: the cap of the day would be passed, or the file cannot be used. Nothing was booked.
        """
        day = self._today()
        with self._books() as books:
            taken = self._read(books, day)
            if taken + amount > self.cap:
                raise BudgetError(
                    f"a request may cost ${amount:.6f}, and ${taken:.6f} of ${self.cap:.6f} for {day} (UTC) are taken"
                )
            self._add(books, day, amount)
        return day

    def correct(self, day: str, amount: float) -> None:
        """Add `amount` to a day's books; negative: give it back. Raises `BudgetError` when the file cannot be used."""
        if round(amount * _NANO):
            with self._books() as books:
                self._add(books, day, amount)

    def spent(self, day: str | None = None) -> float:
        """US dollars booked on a day, today if none is given."""
        with self._books() as books:
            return self._read(books, day or self._today())

    @contextlib.contextmanager
    def _books(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)) as books:
                books.execute("PRAGMA journal_mode=TRUNCATE")  # the quickest of the durable ones
                books.execute("BEGIN IMMEDIATE")
                books.execute(_SCHEMA)
                yield books
                books.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise BudgetError(f"a daily cost cap is set, but {self.path} cannot be used: {error}") from error

    @staticmethod
    def _read(books: sqlite3.Connection, day: str) -> float:
        row = books.execute("SELECT nanodollars FROM spent WHERE day = ?", (day,)).fetchone()
        return int(row[0]) / _NANO if row else 0.0

    @staticmethod
    def _add(books: sqlite3.Connection, day: str, amount: float) -> None:
        change = round(amount * _NANO)
        books.execute(_ADD, (day, change, change))
