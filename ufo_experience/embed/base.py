"""What every embedder can do, and any object with a `name` and `embed(texts)` as one."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from ufo_experience.costs import Spending as Spending
from ufo_experience.errors import ServiceError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"  # a process that reads logs does without numpy
Kind = Literal["query", "document"]


class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def name(self) -> str:
        """The spec that makes this embedder again, such as `hashing` or `openai:text-embedding-3-small`."""
        ...

    @property
    def dim(self) -> int | None:
        """Length of a vector; None as long as nobody has been asked."""

    @property
    def spending(self) -> Spending:
        """Requests, tokens and cost so far of the service it asks; zeros offline."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`: float32, rows of norm 1, in the order of `texts`.

        Raises `ServiceError` when a service or a model cannot answer; never returns a partial or unchecked reply.
        """
        ...


def asks_service(embedder: Embedder) -> bool:
    """True for one that asks a service, at a price and in its time: nothing that is stored waits for it."""
    return bool(getattr(embedder, "asks_service", False))


class PlainEmbedder:
    """An embedder around an object that only has a `name` and `embed(texts)`; its vectors are scaled to length 1."""

    def __init__(self, behind: Any) -> None:
        self._behind, self.name = behind, str(behind.name)
        self.dim: int | None = None
        self.spending = Spending()

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`, queries and documents alike. Raises `ServiceError` for anything but a vector a text."""
        vectors = unit_rows(self._behind.embed(list(texts)), len(texts), self.name, self.dim)
        self.dim = vectors.shape[1]
        return vectors


def as_embedder(given: Any) -> Embedder:
    """The object itself if it is a whole embedder, else one around it; `UsageError` without a name or `embed`."""
    if not isinstance(getattr(given, "name", None), str) or not callable(getattr(given, "embed", None)):
        raise UsageError(f"an embedder needs a name (text) and embed(texts), which {type(given).__name__} has not")
    whole = all(getattr_static(given, name, None) is not None for name in ("dim", "spending"))
    embedder: Embedder = given if whole else PlainEmbedder(given)
    return embedder


def unit_rows(values: Any, count: int, name: str, dim: int | None = None) -> Vectors:
    """`values` as `count` rows of norm 1. Raises `ServiceError` where they are not that, or not `dim` long."""
    import numpy as np

    try:
        vectors = np.asarray(values, np.float32)
    except (TypeError, ValueError) as error:
        raise ServiceError(f"{name} gave no vectors: {error}", code="E_MODEL") from error
    if vectors.ndim != 2 or len(vectors) != count or vectors.shape[1] != (dim or vectors.shape[1] or None):
        raise ServiceError(f"{name} gave {vectors.shape} for {count} texts", code="E_MODEL")
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not (norms > 1e-6).all():
        raise ServiceError(f"{name} gave a vector that is zero or not finite", code="E_MODEL")
    return np.asarray(vectors / norms, np.float32)
