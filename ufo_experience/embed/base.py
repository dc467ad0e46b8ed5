"""What every embedder can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from ufo_experience.errors import ServiceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"  # a process that reads logs does without numpy
Kind = Literal["query", "document"]


@dataclass
class Spending:
    """What an embedder has asked of its service since it was made."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0


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

    def batches(self, texts: Sequence[str]) -> Iterator[slice]:
        """The slices of `texts` that would be sent, one request each. Nothing is sent."""
        ...


@runtime_checkable
class TakesLength(Protocol):
    """An embedder that has to work to know the length of its vectors, and can be told it."""

    def expect_dim(self, dim: int) -> None:
        """Take `dim` for the length, which an index knows, unless a reply has said it: nobody need be asked."""
        ...


class Length:
    """The length of an embedder's vectors: what a reply has said, else what an index expects, else nothing."""

    def __init__(self, said: int | None = None) -> None:
        self.said, self.expected = said, said

    @property
    def known(self) -> int | None:
        """The length, None as long as nobody has said it."""
        return self.said or self.expected

    def learn(self, found: int, name: str) -> None:
        """Keep the length of a reply of the embedder `name`. Raises `ServiceError` where an index expects another."""
        before, self.said = self.known, found
        if before not in (None, found):
            message = f"{name} gives vectors of {found} numbers, and the index was made with {before}"
            raise ServiceError(f"{message}; run: ufo-experience index --rebuild", code="E_EMBEDDER")


@runtime_checkable
class Repairable(Protocol):
    """An embedder that keeps a file of its own, which may be damaged."""

    def repair(self) -> None:
        """Put a damaged file out of use."""
        ...

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        ...
