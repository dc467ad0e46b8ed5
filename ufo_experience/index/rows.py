"""What an index on a server keeps of a record beside its vector, and how it looks at vectors before it sends them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ufo_experience.errors import DataError
from ufo_experience.index.base import Attributes, Neighbour, Vectors
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
