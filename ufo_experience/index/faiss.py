"""Exact inner-product search with FAISS, filtered by an id selector before ranking.

Rows are never moved while an index lives: a replaced or removed row is masked out and leaves when the next
generation is written. `add` goes to a second, small index (the tail), so a saved and mapped base stays untouched.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from ufo_experience.errors import CorruptError, DataError
from ufo_experience.index.base import Attributes, Filter, Neighbour, Space, Vectors
from ufo_experience.index.catalog import UNKNOWN, Mask, filter_mask, name_hash
from ufo_experience.index.generation import Generation
from ufo_experience.store.base import ExperienceStore
from ufo_experience.text.applications import application_key

_ROW = np.dtype(
    [("id", "S32"), ("application", "u8"), ("env", "u8"), ("trust", "i1"), ("imported", "?"), ("success", "i1")]
)
_TIES = 32  # how many more rows are asked for, so that equal scores at the edge are ordered by id
_SAME = 2e-6
_DECIMALS = 6  # float32 inner products agree between one query and a batch to about 5e-7


class FaissIndex:
    """Unit vectors by id in memory, exact. Not for concurrent writers: take a `copy` for each snapshot."""

    FILES = ("vectors.faiss", "vectors.rows")

    def __init__(self, dim: int) -> None:
        if dim < 1:
            raise DataError(f"a vector has at least one dimension, not {dim}", code="E_DIMENSION")
        self._dim = dim
        self._rows = np.empty(0, _ROW)
        self._live = np.empty(0, np.bool_)
        self._row_of: dict[bytes, int] = {}
        self._parts: list[Any] = [faiss.IndexFlatIP(dim)]

    @classmethod
    def open(
        cls, engine: str, space: Space, *, store: ExperienceStore, generation: Generation | None = None
    ) -> FaissIndex:
        """The vectors of a generation, or none; see `open_index`."""
        return cls.load({name: generation.read(name) for name in cls.FILES}) if generation else cls(space.dim)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim

    def __len__(self) -> int:
        return int(self._live.sum())

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and id.encode() in self._row_of

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Those that have no vector here; see `VectorIndex.missing`."""
        return [identifier for identifier in ids if identifier not in self]

    def ids(self) -> set[str]:
        """All ids that have a vector here."""
        return {identifier.decode("ascii") for identifier in self._row_of}

    def copy(self) -> FaissIndex:
        """An index that may grow while this one is searched; vectors of the base are shared."""
        twin = FaissIndex(self._dim)
        twin._rows, twin._live = self._rows.copy(), self._live.copy()
        twin._row_of = dict(self._row_of)
        twin._parts = [self._parts[0], *(faiss.clone_index(part) for part in self._parts[1:])]
        return twin

    def add(self, ids: Sequence[str], vectors: Vectors, attributes: Sequence[Attributes]) -> None:
        """Insert or replace; see `VectorIndex.add`."""
        matrix = self._checked(vectors)
        if not len(ids) == len(matrix) == len(attributes):
            raise DataError(f"{len(ids)} ids, {len(matrix)} vectors, {len(attributes)} attributes", code="E_COUNT")
        if len(set(ids)) != len(ids):
            raise DataError("the same id twice in one call", code="E_DUPLICATE_ID")
        if not ids:
            return
        self.remove(ids)
        first = len(self._rows)
        rows = np.array([_row(i, one) for i, one in zip(ids, attributes, strict=True)], dtype=_ROW)
        self._rows = np.concatenate([self._rows, rows])
        self._live = np.concatenate([self._live, np.ones(len(rows), np.bool_)])
        self._row_of.update({i.encode("ascii"): first + n for n, i in enumerate(ids)})
        if first and len(self._parts) == 1:
            self._parts.append(faiss.IndexFlatIP(self._dim))
        self._parts[-1].add(matrix)

    def update(self, ids: Sequence[str], attributes: Sequence[Attributes]) -> None:
        """Replace attributes; see `VectorIndex.update`."""
        for identifier, one in zip(ids, attributes, strict=True):
            row = self._row_of.get(identifier.encode("ascii"))
            if row is not None:
                self._rows[row] = _row(identifier, one)

    def remove(self, ids: Sequence[str]) -> int:
        """Take ids out; see `VectorIndex.remove`."""
        rows = [row for i in ids if (row := self._row_of.pop(i.encode("ascii"), None)) is not None]
        self._live[rows] = False
        return len(rows)

    def retain(self, ids: Sequence[str]) -> int:
        """Take all others out; see `VectorIndex.retain`."""
        return self.remove(sorted(self.ids().difference(ids)))

    def search(self, vectors: Vectors, k: int, filter: Filter | None = None) -> list[list[Neighbour]]:
        """Exact top-k inside the filter; see `VectorIndex.search`."""
        queries = self._checked(vectors)
        mask = filter_mask(self._rows, self._live, filter or Filter())
        wanted = min(k, int(mask.sum()))
        if wanted < 1:
            return [[] for _ in queries]
        faiss.omp_set_num_threads(1 if len(queries) == 1 else os.cpu_count() or 1)
        found: list[list[tuple[float, int]]] = [[] for _ in queries]
        first = 0
        for part in self._parts:
            share = mask[first : first + part.ntotal]
            for answers, best in zip(found, _best(part, share, queries, wanted), strict=True):
                answers.extend((score, row + first) for score, row in best)
            first += part.ntotal
        return [self._named(answers, wanted) for answers in found]

    def similarity(self, vector: Vectors, ids: Sequence[str]) -> NDArray[np.float32]:
        """Cosine similarity with given ids; see `VectorIndex.similarity`."""
        query = self._checked(np.asarray(vector).reshape(1, -1))[0]
        scores = np.full(len(ids), np.nan, np.float32)
        rows = [self._row_of.get(identifier.encode("ascii"), -1) for identifier in ids]
        known = [(place, row) for place, row in enumerate(rows) if row >= 0]
        if known:
            places, numbers = zip(*known, strict=True)
            scores[list(places)] = np.round(self.vectors(np.array(numbers)) @ query, _DECIMALS)
        return scores

    def vectors(self, rows: NDArray[np.int64]) -> Vectors:
        """The vectors of the given row numbers, in that order."""
        out = np.empty((len(rows), self._dim), np.float32)
        first = 0
        for part in self._parts:
            inside = np.flatnonzero((rows >= first) & (rows < first + part.ntotal))
            if len(inside):
                stored = faiss.rev_swig_ptr(part.get_xb(), part.ntotal * self._dim).reshape(-1, self._dim)
                out[inside] = stored[rows[inside] - first]
            first += part.ntotal
        return out

    def save(self) -> dict[str, bytes]:
        """File names and contents of this index, to be published by a generation. Rows are sorted by id."""
        alive = np.flatnonzero(self._live)
        order = alive[np.argsort(self._rows["id"][alive], kind="stable")]
        flat = faiss.IndexFlatIP(self._dim)
        flat.add(self.vectors(order))
        return dict(zip(self.FILES, (faiss.serialize_index(flat).tobytes(), self._rows[order].tobytes()), strict=True))

    @classmethod
    def load(cls, files: dict[str, bytes]) -> FaissIndex:
        """The inverse of `save`. Raises `CorruptError`."""
        try:
            flat = faiss.deserialize_index(np.frombuffer(files[cls.FILES[0]], np.uint8))
        except RuntimeError as error:
            raise CorruptError("FAISS cannot read it", file="vectors.faiss") from error
        if len(files[cls.FILES[1]]) % _ROW.itemsize:
            raise CorruptError("not a whole number of rows", file="vectors.rows")
        rows = np.frombuffer(files[cls.FILES[1]], _ROW).copy()
        if flat.ntotal != len(rows):
            raise CorruptError(f"{flat.ntotal} vectors for {len(rows)} ids", file="vectors.faiss")
        index = cls(flat.d)
        index._parts, index._rows, index._live = [flat], rows, np.ones(len(rows), np.bool_)
        index._row_of = {identifier: row for row, identifier in enumerate(rows["id"].tolist())}
        if len(index._row_of) != len(rows):
            raise CorruptError("the same id twice", file="vectors.rows")
        return index

    def _checked(self, vectors: Vectors) -> Vectors:
        """FAISS answers a wrong shape with a bare assertion and hides NaN rows, so both are refused here."""
        matrix = np.ascontiguousarray(vectors, dtype=np.float32)
        if matrix.ndim != 2 or matrix.shape[1] != self._dim:
            raise DataError(f"vectors of shape {matrix.shape}, expected (n, {self._dim})", code="E_DIMENSION")
        if not np.isfinite(matrix).all():
            raise DataError("a vector holds NaN or infinity", code="E_NOT_FINITE")
        if len(matrix) and (np.abs(np.linalg.norm(matrix, axis=1) - 1.0) > 0.01).any():
            raise DataError("a vector is not of norm 1", code="E_NORM")
        return matrix

    def _named(self, answers: list[tuple[float, int]], k: int) -> list[Neighbour]:
        named = [(round(score, _DECIMALS), self._rows["id"][row].decode("ascii")) for score, row in answers]
        named.sort(key=lambda pair: (-pair[0], pair[1]))
        return [(identifier, score) for score, identifier in named[:k]]


def _best(part: Any, share: Mask, queries: Vectors, k: int) -> list[list[tuple[float, int]]]:
    """Best rows of one part for each query; more than `k` where scores tie at the edge."""
    count = int(share.sum())
    if not count:
        return [[] for _ in queries]
    wanted = min(count, k + _TIES)
    selector = None if count == part.ntotal else faiss.IDSelectorBitmap(np.packbits(share, bitorder="little"))
    params = selector and faiss.SearchParameters(sel=selector)
    scores, rows = part.search(queries, wanted, params=params)
    answers = []
    for query, some_scores, some_rows in zip(queries, scores, rows, strict=True):
        if wanted < count and some_scores[k - 1] - some_scores[-1] < _SAME:
            _, some_scores, some_rows = part.range_search(query[None], float(some_scores[k - 1]) - _SAME, params=params)
        answers.append([(float(score), int(row)) for score, row in zip(some_scores, some_rows, strict=True)])
    return answers


def _row(identifier: str, one: Attributes) -> tuple[object, ...]:
    success = UNKNOWN if one.success is None else int(one.success)
    application = name_hash(application_key(one.application))
    return (identifier.encode("ascii"), application, name_hash(one.env), one.trust, one.imported, success)
