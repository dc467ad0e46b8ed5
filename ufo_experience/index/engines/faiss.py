"""The vector index of one machine: exact while small, candidates by their signs and exact scores when large.

The first segment is the published generation, mapped and never written to; what was added since lies in a few small
segments behind it. A row that is replaced or removed is masked out and leaves when the next generation is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.errors import CorruptError, DataError
from ufo_experience.index.base import Attributes, Content, Filter, Neighbour, Space, Vectors
from ufo_experience.index.engines.segment import ATTRIBUTES, Segment, binary_quantize, load_faiss, pack, sort_order
from ufo_experience.index.generations import Generation, npy, npy_blocks
from ufo_experience.store.base import ExperienceStore

EXACT_BELOW = 20_000  # rows; below, signs lose recall and win nothing
_MAX_SEGMENTS = 8  # behind the first
_BLOCK = 4096  # rows written at once
_DECIMALS = 6
_PREFIX = "vectors_"


class FaissIndex:
    """Unit vectors by id. Not for concurrent writers: take a `copy` for each snapshot.

    Answers are deterministic; a query by itself and the same query in a batch get the same ones.
    """

    FILES = tuple(f"{_PREFIX}{name}" for name in ("vectors", "ids", "by_id", "attributes"))
    CODES = f"{_PREFIX}codes"

    def __init__(self, dim: int, *, exact_below: int = EXACT_BELOW) -> None:
        """Begin an empty index; `exact_below` is the number of rows up to which every one is looked at."""
        if dim < 1:
            raise DataError(f"a vector has at least one dimension, not {dim}", code="E_DIMENSION")
        self._dim, self._exact_below = dim, exact_below
        self._segments: tuple[Segment, ...] = ()

    @classmethod
    def open(
        cls, engine: str, space: Space, *, store: ExperienceStore, generation: Generation | None = None
    ) -> FaissIndex:
        """The vectors of a generation, or none; see `open_index`."""
        if generation is None:
            return cls(space.dim)
        names = [name for name in (*cls.FILES, cls.CODES) if f"{name}.npy" in generation.manifest.files]
        index = cls.load({name: generation.array(name) for name in names})
        if "rows.npy" in generation.manifest.files and not index.is_within(generation.array("rows")["id"]):
            raise CorruptError("vectors of records that are not in the columns", file=str(generation.folder))
        return index

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim

    def __len__(self) -> int:
        return sum(map(len, self._segments))

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and not self.missing([id])

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Those that have no vector here; see `VectorIndex.missing`."""
        names, there = _names(ids), np.zeros(len(ids), np.bool_)
        for segment in self._segments:
            there |= segment.find(names) >= 0
        return [identifier for identifier, found in zip(ids, there.tolist(), strict=True) if not found]

    def ids(self) -> NDArray[np.bytes_]:
        """All ids that have a vector here, sorted."""
        parts = (segment.sorted_ids() for segment in self._segments)
        return np.sort(np.concatenate([np.empty(0, "S32"), *parts]), kind="stable")  # merges what is in order

    def is_within(self, ids: NDArray[np.bytes_]) -> bool:
        """True when every id that has a vector here is one of `ids`, which are sorted."""
        mine = self.ids()
        same = len(mine) == len(ids) and bool((mine == ids).all())
        return same or bool(np.isin(mine, ids, assume_unique=True).all())

    def copy(self) -> FaissIndex:
        """An index that may grow while this one is searched; no vector is copied."""
        twin = FaissIndex(self._dim, exact_below=self._exact_below)
        twin._segments = self._segments
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
        self._append(Segment.build(_names(ids), pack(attributes), matrix, exact_below=self._exact_below))

    def update(self, ids: Sequence[str], attributes: Sequence[Attributes]) -> None:
        """Replace attributes; see `VectorIndex.update`. A row whose attributes differ moves to the end."""
        names, packed = _names(ids), pack(attributes)
        segments = []
        for number, segment in enumerate(self._segments):
            rows = segment.find(names)
            here = np.flatnonzero(rows >= 0)
            changed = here[segment.attributes[rows[here]] != packed[here]]
            if len(changed):
                gone = rows[changed]
                segments.append((names[changed], packed[changed], segment.vectors[gone]))
                self._replace(number, segment.without(gone))
        for moved in segments:
            self._append(Segment.build(*moved, exact_below=self._exact_below))

    def remove(self, ids: Sequence[str]) -> int:
        """Take ids out; see `VectorIndex.remove`."""
        names, removed = _names(ids), 0
        for number, segment in enumerate(self._segments):
            rows = np.array(sorted({*segment.find(names).tolist()} - {-1}), np.int64)
            if len(rows):
                self._replace(number, segment.without(rows))
                removed += len(rows)
        return removed

    def retain(self, ids: Sequence[str]) -> int:
        """Take all others out; see `VectorIndex.retain`."""
        others = np.setdiff1d(self.ids(), _names(ids), assume_unique=True)
        return self.remove([name.decode("ascii") for name in others.tolist()])

    def search(self, vectors: Vectors, k: int, filter: Filter | None = None) -> list[list[Neighbour]]:
        """The k best inside the filter; see `VectorIndex.search`."""
        queries = self._checked(vectors)
        if k < 1 or not len(queries):
            return [[] for _ in queries]
        self._use_threads(len(queries))
        found: list[list[Neighbour]] = [[] for _ in queries]
        for segment in self._segments:
            nearest = segment.nearest(queries, k, filter or Filter(), self._exact_below)
            for number, rows in enumerate(nearest):
                scores = _rounded(segment.scores(queries[number : number + 1], rows)[0])
                found[number] += _best(segment.ids[rows], scores, k)
        for answers in found:
            answers.sort(key=lambda pair: (-pair[1], pair[0]))
        return [answers[:k] for answers in found]

    def similarity(self, vector: Vectors, ids: Sequence[str]) -> NDArray[np.float32]:
        """Cosine similarity with given ids; see `VectorIndex.similarity`."""
        query, names = self._checked(np.asarray(vector).reshape(1, -1)), _names(ids)
        self._use_threads(1)
        scores = np.full(len(ids), np.nan, np.float32)
        for segment in self._segments:
            rows = segment.find(names)
            here = np.flatnonzero(rows >= 0)
            if len(here):
                scores[here] = _rounded(segment.scores(query, rows[here])[0])
        return scores

    def save(self) -> dict[str, Content]:
        """Files of the next generation, one segment. Vectors are written block by block, not held in memory."""
        empty = Segment.build(_names([]), pack([]), np.empty((0, self._dim), np.float32), exact_below=1)
        segments = [*self._segments, empty]
        alive = [segment.alive() for segment in segments]
        ids = np.concatenate([segment.ids[rows] for segment, rows in zip(segments, alive, strict=True)])
        attributes = np.concatenate([segment.attributes[rows] for segment, rows in zip(segments, alive, strict=True)])
        order = sort_order(ids, attributes)
        whose = np.repeat(np.arange(len(segments)), [len(rows) for rows in alive])[order]
        where, ids = np.concatenate(alive)[order], ids[order]

        def blocks() -> Iterator[Vectors]:
            for start in range(0, len(order), _BLOCK):
                block = slice(start, start + _BLOCK)
                yield _gather(segments, whose[block], where[block], self._dim)

        arrays = (ids, np.argsort(ids, kind="stable").astype(np.int32), attributes[order])
        small: dict[str, Content] = {
            f"{name}.npy": npy(array) for name, array in zip(self.FILES[1:], arrays, strict=True)
        }
        files = {**small, f"{self.FILES[0]}.npy": npy_blocks(np.float32, (len(ids), self._dim), blocks())}
        if len(ids) >= self._exact_below:
            shape = (len(ids), -(-self._dim // 8))
            files[f"{self.CODES}.npy"] = npy_blocks(np.uint8, shape, (binary_quantize(block) for block in blocks()))
        return files

    @classmethod
    def load(cls, arrays: Mapping[str, NDArray[Any]], *, exact_below: int = EXACT_BELOW) -> FaissIndex:
        """The inverse of `save`: arrays by file name, as they were mapped. Raises `CorruptError`."""
        if missing := set(cls.FILES) - arrays.keys():
            raise CorruptError("no such file", file=f"{sorted(missing)[0]}.npy")
        segment = Segment.from_arrays(
            {name.removeprefix(_PREFIX): array for name, array in arrays.items()}, exact_below=exact_below
        )
        index = cls(segment.vectors.shape[1], exact_below=exact_below)
        index._segments = (segment,)
        return index

    def vectors_of(self, ids: Sequence[str]) -> tuple[NDArray[np.int32], Vectors]:
        """Which of `ids` have a vector here, by position in `ids`, and the vectors; see `VectorIndex.vectors_of`."""
        names = _names(ids)
        positions, vectors = [np.empty(0, np.int32)], [np.empty((0, self._dim), np.float32)]
        for segment in self._segments:
            rows = segment.find(names)
            here = np.flatnonzero(rows >= 0)
            positions.append(here.astype(np.int32))
            vectors.append(segment.vectors[rows[here]])
        return np.concatenate(positions), np.concatenate(vectors)

    def restore(self, ids: NDArray[np.bytes_], columns: NDArray[Any], vectors: Vectors) -> None:
        """Take in vectors that `vectors_of` gave; see `VectorIndex.restore`."""
        self.remove([one.decode("ascii") for one in ids.tolist()])
        if len(ids):
            attributes = np.empty(len(ids), ATTRIBUTES)
            for name in ATTRIBUTES.names or ():
                attributes[name] = columns[name]
            self._append(Segment.build(ids, attributes, self._checked(vectors), exact_below=self._exact_below))

    def _use_threads(self, queries: int) -> None:
        """One thread for a single query, all cores for several: on a busy machine a second thread only waits."""
        if not all(segment.is_small for segment in self._segments):
            load_faiss().omp_set_num_threads(1 if queries == 1 else os.cpu_count() or 1)

    def _append(self, segment: Segment) -> None:
        """Put a segment at the end; of too many, the two smallest neighbours become one. The first is left alone."""
        segments = [one for number, one in enumerate(self._segments) if not number or len(one)] + [segment]
        while len(segments) > _MAX_SEGMENTS + 1:
            first = min(range(1, len(segments) - 1), key=lambda n: len(segments[n]) + len(segments[n + 1]))
            segments[first : first + 2] = [self._merged(segments[first : first + 2])]
        self._segments = tuple(segments)

    def _merged(self, segments: Sequence[Segment]) -> Segment:
        pieces = [(segment.ids, segment.attributes, segment.vectors) for segment in segments]
        alive = [segment.alive() for segment in segments]
        columns = (
            np.concatenate([column[rows] for column, rows in zip(same, alive, strict=True)])
            for same in zip(*pieces, strict=True)
        )
        return Segment.build(*columns, exact_below=self._exact_below)

    def _replace(self, number: int, segment: Segment) -> None:
        self._segments = (*self._segments[:number], segment, *self._segments[number + 1 :])

    def _checked(self, vectors: Vectors) -> Vectors:
        """FAISS's kernels trust their callers, so what does not fit is refused here."""
        matrix = np.ascontiguousarray(vectors, dtype=np.float32)
        if matrix.ndim != 2 or matrix.shape[1] != self._dim:
            raise DataError(f"vectors of shape {matrix.shape}, expected (n, {self._dim})", code="E_DIMENSION")
        norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
        if not np.isfinite(norms).all():
            raise DataError("a vector holds NaN or infinity", code="E_NOT_FINITE")
        if (np.abs(norms - 1.0) > 0.01).any():
            raise DataError("a vector is not of norm 1", code="E_NORM")
        return matrix


def _names(ids: Sequence[str]) -> NDArray[np.bytes_]:
    return np.array([identifier.encode("ascii", "replace") for identifier in ids], dtype="S32")


def _rounded(scores: Vectors) -> NDArray[np.float64]:
    return np.asarray(np.round(scores.astype(np.float64), _DECIMALS), np.float64)


def _best(ids: NDArray[np.bytes_], scores: NDArray[np.float64], k: int) -> list[Neighbour]:
    if len(scores) > k:  # names are slow to sort, so only those at the edge and above it are
        inside = scores >= np.partition(scores, -k)[-k]
        ids, scores = ids[inside], scores[inside]
    top = np.lexsort((ids, -scores))[:k]
    return [(name.decode("ascii"), score) for name, score in zip(ids[top].tolist(), scores[top].tolist(), strict=True)]


def _gather(segments: Sequence[Segment], whose: NDArray[np.int64], where: NDArray[np.int64], dim: int) -> Vectors:
    out = np.empty((len(whose), dim), np.float32)
    for number in np.unique(whose):
        mine = whose == number
        out[mine] = segments[number].vectors[where[mine]]
    return out
