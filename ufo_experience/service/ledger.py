"""What models cost, and a ledger that refuses to pass a cap.

Prices change and pages contradict each other, so they carry a date and can be replaced (`OpenAISettings.prices`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from ufo_experience.errors import BudgetError
from ufo_experience.service.errors import OpenAICallError

if TYPE_CHECKING:
    from ufo_experience.service.daily_ledger import DailySpending

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float = 0.0

    def of(self, input_tokens: int, output_tokens: int = 0) -> float:
        """US dollars for this many tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


PRICES_DATE = "2026-11-05"
PRICES: Mapping[str, Price] = {
    "text-embedding-3-small": Price(0.02),
    "text-embedding-3-large": Price(0.13),
    "text-embedding-ada-002": Price(0.10),
    "gpt-4o": Price(2.50, 10.00),
    "gpt-4o-mini": Price(0.15, 0.60),
    "gpt-4.1": Price(2.00, 8.00),
    "gpt-4.1-mini": Price(0.40, 1.60),
    "gpt-4.1-nano": Price(0.10, 0.40),
    "gpt-5": Price(1.25, 10.00),
    "gpt-5-mini": Price(0.25, 2.00),
    "gpt-5-nano": Price(0.05, 0.40),
}


class Ledger:
    """What one run has spent and may still spend. Thread-safe; several users of a service may share one.

    `unpriced` names the models used whose price is unknown: their tokens are counted, their cost is not. `daily` counts
    the spending of the day, all processes together, and has a cap of its own.
    """

    def __init__(
        self, max_cost: float | None = None, prices: Mapping[str, Price] = PRICES, daily: DailySpending | None = None
    ) -> None:
        self.max_cost, self.daily = max_cost, daily
        self.requests = self.input_tokens = self.output_tokens = 0
        self.cost = 0.0
        self.unpriced: set[str] = set()
        self._prices = prices
        self._reserved = 0.0
        self._lock = threading.Lock()

    def price(self, model: str) -> Price | None:
        """The price of a model, also under its dated name (`gpt-4o-mini-2024-07-18`); None if unknown."""
        dated = (price for name, price in self._prices.items() if model.startswith(f"{name}-20"))
        return self._prices.get(model) or next(dated, None)

    def reserve(self, model: str, input_tokens: int, output_tokens: int = 0) -> Reservation:
        """Set aside what a call may cost at most, before it is sent; use the reservation as a context manager.

        Raises:
            BudgetError: a cap would be passed, or there is one and nobody knows the price.
        """
        price = self.price(model)
        if price is None and (self.max_cost is not None or self.daily is not None):
            raise BudgetError(
                f"a cost cap is set (max_cost or max_cost_per_day), but the price of {model} is unknown: set no cap, "
                "or name a model whose price is known",
                code="E_NO_PRICE",
            )
        amount = price.of(input_tokens, output_tokens) if price else 0.0
        with self._lock:
            if self.max_cost is not None and self.cost + self._reserved + amount > self.max_cost:
                taken = self.cost + self._reserved
                raise BudgetError(
                    f"a call to {model} may cost ${amount:.6f}, and ${taken:.6f} of ${self.max_cost:.6f} are taken"
                )
            day = self.daily.take(amount) if self.daily else ""
            self._reserved += amount
        return Reservation(self, model, amount, day)

    def count_request(self) -> None:
        """Count one request on the wire; a retry is a request too."""
        with self._lock:
            self.requests += 1

    def _commit(self, reservation: Reservation, input_tokens: int, output_tokens: int) -> float:
        price = self.price(reservation.model)
        cost = price.of(input_tokens, output_tokens) if price else 0.0
        with self._lock:
            self.input_tokens += input_tokens
            self.output_tokens += output_tokens
            self.cost += cost
            if price is None:
                self.unpriced.add(reservation.model)
            covered = min(cost, reservation.left)
            reservation.left -= covered
            self._reserved -= covered
        if self.daily:
            self.daily.correct(reservation.day, cost - covered)
        return cost

    def _release(self, reservation: Reservation) -> None:
        with self._lock:
            unused, reservation.left = reservation.left, 0.0
            self._reserved -= unused
        if self.daily:
            try:
                self.daily.correct(reservation.day, -unused)
            except BudgetError as error:  # a reply that is paid for is worth more than an exact count
                _log.warning(
                    "$%.6f stay counted on %s although they were not spent: %s", unused, reservation.day, error
                )


class Reservation:
    """Money set aside in a ledger. Leaving the `with` block returns it; `commit` replaces it by what a reply used, and
    so does leaving it by an error that tells what was billed.
    """

    def __init__(self, ledger: Ledger, model: str, amount: float, day: str) -> None:
        self._ledger, self.model, self.left, self.day = ledger, model, amount, day
        self._is_booked = False

    def commit(self, input_tokens: int, output_tokens: int = 0) -> float:
        """Book the usage of one reply, also of one that could not be used; returns its cost in US dollars."""
        self._is_booked = True
        return self._ledger._commit(self, input_tokens, output_tokens)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OpenAICallError) and error.tokens and not self._is_booked:
            self.commit(*error.tokens)
        self._ledger._release(self)
