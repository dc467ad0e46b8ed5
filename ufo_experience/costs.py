"""What models cost (`prices.json`: US dollars per million tokens in and out, of 2026-11-05), and a cap of one run."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ufo_experience.errors import BudgetError

PRICES: Mapping[str, tuple[float, float]] = json.loads(Path(__file__).with_name("prices.json").read_text("ascii"))


@dataclass
class Spending:
    """What was asked of a service so far: requests, tokens in and out, US dollars; zeros offline."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0


class Ledger:
    """What was spent, and a cap in US dollars. Of models whose price is unknown tokens are counted, and no cost.

    Money is set aside before a request is sent. Thread-safe; whoever shares a ledger shares its cap.
    """

    def __init__(self, max_cost: float | None = None) -> None:
        self.max_cost = max_cost
        self.requests = self.tokens = 0
        self.cost = self._reserved = 0.0
        self._lock = threading.Lock()

    @contextmanager
    def reserve(self, model: str, input_tokens: int, output_tokens: int = 0) -> Iterator[Callable[[Any], None]]:
        """Set aside what a call may cost at most, and give what is told the `usage` of each reply: in the end only
        that is spent.

        Raises:
            BudgetError: the cap would be passed, or there is one and nobody knows the price. Nothing was sent.
        """
        price = price_of(model)
        if price is None and self.max_cost is not None:
            why = f"a cost cap is set (max_cost), but the price of {model} is unknown"
            raise BudgetError(f"{why}: set no cap, or name a model whose price is known", code="E_NO_PRICE")
        used = [0, 0]

        def pay(usage: Any) -> None:
            told = usage if isinstance(usage, dict) else {}
            counts = told.get("prompt_tokens", input_tokens), told.get("completion_tokens", 0)
            for place, count in enumerate(counts):
                used[place] += count if isinstance(count, int) and count >= 0 else 0

        most = _dollars(price, input_tokens, output_tokens)
        with self._lock:
            taken = self.cost + self._reserved
            if self.max_cost is not None and taken + most > self.max_cost:
                raise BudgetError(f"a request may cost ${most:.6f}, and ${taken:.6f} of ${self.max_cost:.6f} are taken")
            self._reserved += most
        try:
            yield pay
        finally:
            cost = _dollars(price, *used)
            with self._lock:
                self._reserved, self.cost = self._reserved - most, self.cost + cost
                self.tokens += sum(used)

    @property
    def spending(self) -> Spending:
        """What was spent so far."""
        with self._lock:
            return Spending(self.requests, self.tokens, self.cost)

    def count_request(self) -> None:
        """Count one request on the wire; another try is a request, too."""
        with self._lock:
            self.requests += 1


def price_of(model: str) -> tuple[float, float] | None:
    """The price of a model, also under its dated name (`gpt-4o-mini-2024-07-18`); None where it is unknown."""
    dated = (price for name, price in PRICES.items() if model.startswith(f"{name}-20"))
    return PRICES.get(model) or next(dated, None)


def _dollars(price: tuple[float, float] | None, input_tokens: int, output_tokens: int) -> float:
    return (input_tokens * price[0] + output_tokens * price[1]) / 1_000_000 if price else 0.0
