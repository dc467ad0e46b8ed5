"""What every embedder can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Kind = Literal["query", "document"]


@dataclass
class Spending:
    """What an embedder has asked of its service since it was made."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class Forecast:
    """What embedding some texts would take. `requests` would be sent, `cached` texts are there already.

    `tokens` and `cost` (US dollars) are ceilings; `cost` is None when the price is unknown. `seconds` is a guess.
    """

    texts: int = 0
    cached: int = 0
    requests: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: Forecast) -> Forecast:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Forecast(
            self.texts + other.texts,
            self.cached + other.cached,
            self.requests + other.requests,
            self.tokens + other.tokens,
            cost,
            self.seconds + other.seconds,
        )


class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def name(self) -> str:
        """The spec that makes this embedder again, such as `hashing` or `openai:text-embedding-3-small`."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    @property
    def spending(self) -> Spending:
        """Requests, tokens and cost so far; zeros for an offline embedder."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`: float32, shape (len(texts), dim), rows of norm 1, in the order of `texts`.

        Raises `ServiceError` when a service cannot answer; never returns a partial or unchecked reply.
        """
        ...


Keep = Callable[[slice, Vectors], None]


@runtime_checkable
class EmbedsPieces(Protocol):
    """An embedder that asks a service: in pieces of one request, several at once, at a price."""

    @property
    def known_dim(self) -> int | None:
        """Length of a vector, None as long as only the service knows."""
        ...

    def embed_pieces(self, texts: Sequence[str], kind: Kind, keep: Keep) -> None:
        """Embed `texts`; `keep` is given each piece when it is done, by several threads and in any order.

        Raises `ServiceError`, at the first fault; what was on the wire by then has been given to `keep`, too.
        """
        ...

    def forecast(self, texts: Sequence[str]) -> Forecast:
        """What embedding these texts would take. Nothing is sent."""
        ...


@runtime_checkable
class Repairable(Protocol):
    """An embedder that keeps a file of its own, which may be damaged."""

    def repair(self) -> None:
        """Put a damaged file out of use."""
        ...
