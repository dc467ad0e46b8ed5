"""What models cost, and caps in US dollars: of one run, and of a day for all processes of a store.

Prices change and pages contradict each other, so they carry a date.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ufo_experience.errors import BudgetError

_log = logging.getLogger(__name__)

PRICES_DATE = "2026-11-05"
PRICES: Mapping[str, tuple[float, float]] = {  # US dollars per million tokens in and out
    "text-embedding-3-small": (0.02, 0.0),
    "text-embedding-3-large": (0.13, 0.0),
    "text-embedding-ada-002": (0.10, 0.0),
    "gpt-4o": (2.50, 10.00),
    "gpt-4o-mini": (0.15, 0.60),
    "gpt-4.1": (2.00, 8.00),
    "gpt-4.1-mini": (0.40, 1.60),
    "gpt-4.1-nano": (0.10, 0.40),
    "gpt-5": (1.25, 10.00),
    "gpt-5-mini": (0.25, 2.00),
    "gpt-5-nano": (0.05, 0.40),
}


@dataclass
class Spending:
    """What was asked of a service so far: requests, tokens in and out, US dollars; zeros offline."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass
class Bill:
    """Tokens that replies to one call used: all of them are paid for, also those that could not be used."""

    input: int = 0
    output: int = 0

    def add(self, usage: Any, estimate: int) -> None:
        """Add what a reply says of itself, or the estimate where it says nothing usable."""
        told = usage if isinstance(usage, dict) else {}
        counts = (told.get("prompt_tokens", estimate), told.get("completion_tokens", 0))
        used = [count if isinstance(count, int) and count >= 0 else 0 for count in counts]
        self.input, self.output = self.input + used[0], self.output + used[1]


class Ledger:
    """What was spent, and two caps in US dollars: of this run, and of a UTC day for all processes of a store.

    Money is set aside before a request is sent. Of models whose price is unknown tokens are counted, and no cost.
    Thread-safe; whoever shares a ledger shares its caps.
    """

    def __init__(
        self, max_cost: float | None = None, *, max_cost_per_day: float | None = None, books: Path | None = None
    ) -> None:
        self.max_cost = max_cost
        self.daily = None if max_cost_per_day is None or books is None else DailySpending(books, max_cost_per_day)
        self.requests = self.input_tokens = self.output_tokens = 0
        self.cost = self._reserved = 0.0
        self._lock = threading.Lock()

    @contextmanager
    def reserve(self, model: str, input_tokens: int, output_tokens: int = 0) -> Iterator[Bill]:
        """Set aside what a call may cost at most; in the end only what its replies used is spent.

        Raises:
            BudgetError: a cap would be passed, or there is one and nobody knows the price. Nothing was sent.
        """
        price = price_of(model)
        if price is None and (self.max_cost is not None or self.daily):
            why = f"a cost cap is set (max_cost or max_cost_per_day), but the price of {model} is unknown"
            raise BudgetError(f"{why}: set no cap, or name a model whose price is known", code="E_NO_PRICE")
        amount, bill = _dollars(price, input_tokens, output_tokens), Bill()
        day = self._take(model, amount)
        try:
            yield bill
        finally:
            self._settle(model, amount, _dollars(price, bill.input, bill.output), bill, day)

    @property
    def spending(self) -> Spending:
        """What was spent so far."""
        with self._lock:
            return Spending(self.requests, self.input_tokens + self.output_tokens, self.cost)

    def count_request(self) -> None:
        """Count one request on the wire; another try is a request, too."""
        with self._lock:
            self.requests += 1

    def _take(self, model: str, amount: float) -> str:
        with self._lock:
            taken = self.cost + self._reserved
            if self.max_cost is not None and taken + amount > self.max_cost:
                raise BudgetError(
                    f"a call to {model} may cost ${amount:.6f}, and ${taken:.6f} of ${self.max_cost:.6f} are taken"
                )
            day = self.daily.take(amount) if self.daily else ""
            self._reserved += amount
        return day

    def _settle(self, model: str, reserved: float, cost: float, bill: Bill, day: str) -> None:
        with self._lock:
            self._reserved -= reserved
            self.cost += cost
            self.input_tokens, self.output_tokens = self.input_tokens + bill.input, self.output_tokens + bill.output
        if self.daily:
            try:
                self.daily.add(day, cost - reserved)
            except BudgetError as error:  # a reply that is paid for is worth more than an exact count
                _log.warning("$%.6f too much stay counted on %s: %s", reserved - cost, day, error)


class DailySpending:
    """What each UTC day cost, in an SQLite file that all processes of a store share.

    Money is taken before it is spent, so a process that dies has counted too much, never too little. A file that
    cannot be used refuses to spend.
    """

    def __init__(self, path: Path, cap: float) -> None:
        self.path, self.cap = path, cap

    def take(self, amount: float) -> str:
        """Count what a request may cost; returns the day. Raises `BudgetError` where the cap would be passed."""
        day = datetime.now(timezone.utc).date().isoformat()
        with self._open() as database:
            taken = self._read(database, day)
            if taken + amount > self.cap:
                raise BudgetError(
                    f"a request may cost ${amount:.6f}, and ${taken:.6f} of ${self.cap:.6f} for {day} (UTC) are taken"
                )
            self._write(database, day, taken + amount)
        return day

    def add(self, day: str, amount: float) -> None:
        """Add to a day; a negative amount is given back."""
        with self._open() as database:
            self._write(database, day, max(0.0, self._read(database, day) + amount))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=5.0, isolation_level=None)) as database:
                database.execute("BEGIN IMMEDIATE")
                database.execute("CREATE TABLE IF NOT EXISTS spent (day TEXT PRIMARY KEY, dollars REAL NOT NULL)")
                yield database
                database.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            message = f"a daily cost cap is set, but {self.path} cannot be used: {error}"
            raise BudgetError(message, code="E_NO_BOOKS") from error

    @staticmethod
    def _read(database: sqlite3.Connection, day: str) -> float:
        row = database.execute("SELECT dollars FROM spent WHERE day = ?", (day,)).fetchone()
        return float(row[0]) if row else 0.0

    @staticmethod
    def _write(database: sqlite3.Connection, day: str, dollars: float) -> None:
        database.execute("INSERT OR REPLACE INTO spent VALUES (?, ?)", (day, dollars))


def price_of(model: str) -> tuple[float, float] | None:
    """The price of a model, also under its dated name (`gpt-4o-mini-2024-07-18`); None where it is unknown."""
    dated = (price for name, price in PRICES.items() if model.startswith(f"{name}-20"))
    return PRICES.get(model) or next(dated, None)


def _dollars(price: tuple[float, float] | None, input_tokens: int, output_tokens: int) -> float:
    return (input_tokens * price[0] + output_tokens * price[1]) / 1_000_000 if price else 0.0
