"""Any object with a `name` and `embed(texts)` as an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ufo_experience.embed.base import Embedder, Kind, Length, Spending, Vectors
from ufo_experience.errors import ServiceError, UsageError


class GivesVectors(Protocol):
    """The least an embedder has to be."""

    name: str

    def embed(self, texts: list[str], /) -> Any:
        """One vector per text, as nested lists or an array."""
        ...


class PlainEmbedder:
    """An embedder around an object that only has a `name` and `embed(texts)`; its vectors are scaled to length 1."""

    def __init__(self, behind: GivesVectors) -> None:
        self._behind = behind
        self._length = Length()

    @property
    def name(self) -> str:
        """The object's own name."""
        return self._behind.name

    @property
    def dim(self) -> int:
        """Length of a vector; asks for one, unless an index has told it."""
        return self._length.known or int(self.embed(["length"]).shape[1])

    def expect_dim(self, dim: int) -> None:
        """Take `dim` for the length, which an index knows."""
        self._length.expected = dim

    @property
    def spending(self) -> Spending:
        """Unknown, and so nothing."""
        return Spending()

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`: float32, shape (len(texts), dim), unit rows; queries and documents alike.

        Raises:
            ServiceError: not one finite, non-zero vector per text came back, or not of the length of the others.
        """
        if not texts:
            return np.empty((0, self.dim), np.float32)
        vectors = unit_rows(self._behind.embed(list(texts)), len(texts), self.name)
        self._length.learn(vectors.shape[1], self.name)
        return vectors


def as_embedder(given: Embedder | GivesVectors) -> Embedder:
    """The object itself if it is a whole embedder, else one around it.

    Raises:
        UsageError: it has no name, or no `embed`.
    """
    from inspect import getattr_static

    if not isinstance(getattr(given, "name", None), str) or not callable(getattr(given, "embed", None)):
        raise UsageError(f"an embedder needs a name (text) and embed(texts), which {type(given).__name__} has not")
    whole = all(getattr_static(given, name, None) is not None for name in ("dim", "spending"))  # nobody is asked for it
    return given if whole else PlainEmbedder(given)  # type: ignore[return-value, arg-type]


def unit_rows(values: Any, count: int, name: str) -> Vectors:
    """`values` as `count` rows of norm 1.

    Raises:
        ServiceError: they are not that.
    """
    try:
        vectors = np.asarray(values, np.float32)
    except (TypeError, ValueError) as error:
        raise ServiceError(f"{name} gave no vectors: {error}", code="E_MODEL") from error
    if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:
        raise ServiceError(f"{name} gave {vectors.shape} for {count} texts", code="E_MODEL")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise ServiceError(f"{name} gave a vector that is zero or not finite", code="E_MODEL")
    return np.asarray(vectors / norms, np.float32)
