"""What every vector index can do. An index is a cache: losing it loses nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from ufo_experience.errors import DataError
from ufo_experience.text.applications import application_key

DECIMALS = 6  # of a score: engines agree to about 5e-7


def checked(vectors: Vectors, dim: int) -> Vectors:
    """The rows as float32, shape (n, dim). Raises `DataError` for another shape, NaN, or a norm that is not 1."""
    matrix = np.ascontiguousarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or matrix.shape[1] != dim:
        raise DataError(f"vectors of shape {matrix.shape}, expected (n, {dim})", code="E_DIMENSION")
    if not np.isfinite(matrix).all():
        raise DataError("a vector holds NaN or infinity", code="E_NOT_FINITE")
    if len(matrix) and (np.abs(np.linalg.norm(matrix, axis=1) - 1.0) > 0.01).any():
        raise DataError("a vector is not of norm 1", code="E_NORM")
    return matrix


def check_counts(ids: Sequence[str], vectors: Vectors, attributes: Sequence[Attributes]) -> None:
    """Refuse an id that stands twice, and lists of different lengths. Raises `DataError`."""
    if not len(ids) == len(vectors) == len(attributes):
        raise DataError(f"{len(ids)} ids, {len(vectors)} vectors, {len(attributes)} attributes", code="E_COUNT")
    if len(set(ids)) != len(ids):
        raise DataError("the same id twice in one call", code="E_DUPLICATE_ID")


def application_of(name: str | None) -> str:
    """An application as it is compared; zero bytes are no text to a server."""
    return application_key(name).replace("\0", "")


def env_of(name: str | None) -> str:
    """An environment as it is compared."""
    return (name or "").strip().casefold().replace("\0", "")


def ranked(scored: Sequence[tuple[str, float]], k: int) -> list[Neighbour]:
    """The `k` best, by rounded score, then id."""
    rounded = [(identifier, round(float(score), DECIMALS)) for identifier, score in scored]
    return sorted(rounded, key=lambda pair: (-pair[1], pair[0]))[:k]


Vectors = NDArray[np.float32]
Content = bytes | Iterable[bytes]  # of a file: whole, or in pieces that are read once


@dataclass(frozen=True)
class Attributes:
    """What an index may be filtered by. `application` and `env` are compared after `str.casefold`."""

    application: str | None = None
    env: str | None = None
    trust: int = 0
    imported: bool = False
    success: bool | None = None


@dataclass(frozen=True)
class Filter:
    """Which records may answer at all; None means any. Applied before ranking, so a filtered top-k is exact.

    `min_trust` is the lowest rank of own records, `min_trust_imported` that of imported ones.
    """

    application: str | None = None
    env: str | None = None
    min_trust: int = 0
    min_trust_imported: int = 0
    success: bool | None = None


@dataclass(frozen=True)
class Space:
    """What makes vectors comparable: their store, who made them, from which text, and how long they are."""

    store_id: str
    embedder: str
    template: str
    dim: int


Neighbour = tuple[str, float]


class VectorIndex(Protocol):
    """Unit vectors by id, compared by inner product (cosine similarity in [-1, 1], higher is better)."""

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    def __len__(self) -> int:
        """Number of ids."""
        ...

    def __contains__(self, id: object) -> bool:
        """True when this id has a vector here."""
        ...

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Those of `ids` that have no vector here, in their order."""
        ...

    def copy(self) -> Self:
        """An index that may change while this one is searched; one on a server is shared and returns itself."""
        ...

    def save(self) -> dict[str, Content]:
        """Files of the next generation; empty for an engine that keeps its vectors itself."""
        ...

    def vectors_of(self, ids: Sequence[str]) -> tuple[NDArray[np.int32], Vectors]:
        """Places in `ids` of those that have a vector to be kept in the tail, and their vectors, (n, dim).

        None for an engine that keeps its vectors itself.
        """
        ...

    def restore(self, ids: NDArray[np.bytes_], columns: NDArray[Any], vectors: Vectors) -> None:
        """Insert or replace what `vectors_of` gave; `columns` has a field for each of `Attributes`."""
        ...

    def add(self, ids: Sequence[str], vectors: Vectors, attributes: Sequence[Attributes]) -> None:
        """Insert or replace. `vectors` is (len(ids), dim) of finite unit rows, else `DataError`."""
        ...

    def update(self, ids: Sequence[str], attributes: Sequence[Attributes]) -> None:
        """Replace the attributes of ids that are here, keeping their vectors; unknown ids are ignored."""
        ...

    def remove(self, ids: Sequence[str]) -> int:
        """Take ids out; unknown ones are ignored. Returns how many were there."""
        ...

    def retain(self, ids: Sequence[str]) -> int:
        """Take out every id that is not one of these. Returns how many were there."""
        ...

    def search(self, vectors: Vectors, k: int, filter: Filter | None = None) -> list[list[Neighbour]]:
        """For each query row its k best (id, score) inside the filter, by score, then id; fewer if there are fewer."""
        ...

    def similarity(self, vector: Vectors, ids: Sequence[str]) -> NDArray[np.float32]:
        """Cosine similarity of one query (shape (dim,)) with each of `ids`, NaN for an id that is not here."""
        ...


class ServerIndex(ABC):
    """What the indexes of all servers share: they keep their vectors themselves, for all who use the server."""

    def __init__(self, space: Space) -> None:
        """An index of vectors of a space. Raises `DataError` when they have no dimension."""
        if space.dim < 1:
            raise DataError(f"a vector has at least one dimension, not {space.dim}", code="E_DIMENSION")
        self._space = space

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._space.dim

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and not self.missing([id])

    @abstractmethod
    def missing(self, ids: Sequence[str]) -> list[str]:
        """Those that have no vector here; see `VectorIndex.missing`."""

    def copy(self) -> Self:
        """Itself: the vectors are shared by all who use the server."""
        return self

    def vectors_of(self, ids: Sequence[str]) -> tuple[NDArray[np.int32], Vectors]:
        """None: the server keeps them."""
        return np.empty(0, np.int32), np.empty((0, self.dim), np.float32)

    def restore(self, ids: NDArray[np.bytes_], columns: NDArray[Any], vectors: Vectors) -> None:  # noqa: B027
        """Nothing to do: `vectors_of` gives none."""


def columns_of(one: Attributes) -> dict[str, Any]:
    """What a record may be filtered by, as servers compare it."""
    return {**vars(one), "application": application_of(one.application), "env": env_of(one.env)}
