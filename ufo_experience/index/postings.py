"""Which rows hold a term: an inverted index in four arrays, so that it is saved and mapped as it is.

Terms are kept as 64-bit hashes in sorted order (BLAKE2b; a collision among a million terms has odds below 1 in 10^7).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ufo_experience.text.index_terms import term_hash


@dataclass(frozen=True)
class StringColumn:
    """Text `i` is `blob[ends[i - 1]:ends[i]]` in UTF-8."""

    blob: NDArray[np.uint8]
    ends: NDArray[np.int64]

    @classmethod
    def build(cls, texts: Sequence[str]) -> StringColumn:
        """Pack `texts` in order."""
        parts = [text.encode("utf-8", "replace") for text in texts]
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        return cls(np.frombuffer(b"".join(parts), np.uint8), ends)

    @classmethod
    def join(cls, parts: Sequence[StringColumn]) -> StringColumn:
        """All texts of the parts, in order."""
        starts = np.cumsum([0, *(len(part.blob) for part in parts)])
        ends = [part.ends + start for part, start in zip(parts, starts, strict=False)]
        return cls(np.concatenate([part.blob for part in parts]), np.concatenate(ends))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> str:
        start = int(self.ends[number - 1]) if number else 0
        return self.blob[start : int(self.ends[number])].tobytes().decode("utf-8")


Rows = NDArray[np.int32]
Weights = NDArray[np.float32]
_NO_ROWS: tuple[Rows, Weights] = (np.empty(0, np.int32), np.empty(0, np.float32))


def term_hashes(terms: Iterable[str]) -> NDArray[np.uint64]:
    """The hashes of terms, in their order."""
    return np.array([term_hash(term) for term in terms], np.uint64)


@dataclass(frozen=True)
class Postings:
    """`rows[ptr[i]:ptr[i + 1]]` are the rows that hold `terms[i]`, with `weights`."""

    terms: NDArray[np.uint64]
    ptr: NDArray[np.int64]
    rows: Rows
    weights: Weights

    @classmethod
    def build(cls, documents: Sequence[tuple[array[int], array[float]]]) -> Postings:
        """From the hashes of the terms of each row (`Q`), and their weights (`f`)."""
        hashes, weights = array("Q"), array("f")
        for terms, values in documents:
            hashes.extend(terms)
            weights.extend(values)
        rows = np.repeat(np.arange(len(documents), dtype=np.int32), [len(terms) for terms, _ in documents])
        return cls._sort(np.array(hashes, np.uint64), rows, np.array(weights, np.float32))

    @classmethod
    def _sort(cls, hashes: NDArray[np.uint64], rows: Rows, weights: Weights) -> Postings:
        """From parallel arrays, one entry per term and row, in any order."""
        order = np.lexsort((rows, hashes))
        hashes = hashes[order]
        starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
        ptr = np.append(starts, len(hashes)).astype(np.int64)
        return cls(hashes[starts], ptr, rows[order], weights[order])

    def shifted(self, first_row: int) -> Postings:
        """The same with rows counted from `first_row`."""
        return replace(self, rows=self.rows + np.int32(first_row))

    @classmethod
    def join(cls, parts: Sequence[Postings]) -> Postings:
        """One index of all parts, rows as they are."""
        return cls.merge(parts, np.arange(1 + max((int(part.rows.max(initial=-1)) for part in parts), default=-1)))

    @classmethod
    def merge(cls, parts: Sequence[Postings], new_row: NDArray[np.int64]) -> Postings:
        """One index of all parts with row `r` renamed to `new_row[r]`; rows renamed to -1 are dropped."""
        hashes = np.concatenate([np.repeat(part.terms, np.diff(part.ptr)) for part in parts])
        rows = new_row[np.concatenate([part.rows for part in parts])]
        weights = np.concatenate([part.weights for part in parts])
        kept = rows >= 0
        return cls._sort(hashes[kept], rows[kept].astype(np.int32), weights[kept])

    def find(self, terms: Iterable[str]) -> list[tuple[Rows, Weights]]:
        """For each term the rows that hold it (sorted) and its weight in each row."""
        found = [_NO_ROWS] * len(positions := self.positions(term_hashes(terms)))
        for number, rows, weights in self.held(positions):
            found[number] = rows, weights
        return found

    def held(self, positions: NDArray[np.int64]) -> Iterator[tuple[int, Rows, Weights]]:
        """For each of the positions of some terms that is none of -1: its number, the rows and the weight in each."""
        there = np.flatnonzero(positions >= 0)
        at = positions[there]
        for number, first, last in zip(there.tolist(), self.ptr[at].tolist(), self.ptr[at + 1].tolist(), strict=True):
            yield number, self.rows[first:last], self.weights[first:last]

    def rows_of(self, term: str) -> Rows:
        """The rows that hold one term, sorted."""
        hashed = np.uint64(term_hash(term))
        at = int(self.terms.searchsorted(hashed))
        if at == len(self.terms) or self.terms[at] != hashed:
            return _NO_ROWS[0]
        return self.rows[int(self.ptr[at]) : int(self.ptr[at + 1])]

    def positions(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The position of each hash in `terms`; -1 for one that is not there."""
        if not len(self.terms):
            return np.full(len(hashes), -1)
        positions = np.minimum(np.searchsorted(self.terms, hashes), len(self.terms) - 1)
        return np.where(self.terms[positions] == hashes, positions, -1)
