"""One immutable run of rows of a vector index: ids, attributes, vectors, and from a size on their signs.

Rows are sorted by application, then id: those of one application are neighbours on disk and in memory, so that a
query for it reads nothing else. A segment may lie on disk and be mapped; nothing here writes to one.

Scores come from FAISS's own kernels (`fvec_inner_products_*`, `hammings_knn_hc`), which read any memory, copy nothing
and keep a single query on a single thread. Their index classes would copy, or hold a file open by themselves. Of a few
rows numpy makes them: a command that answers from a small store is done before FAISS is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.errors import CorruptError, ServiceError
from ufo_experience.index.base import Attributes, Filter, Vectors
from ufo_experience.index.catalog import UNKNOWN, Mask, filter_mask, key_hash
from ufo_experience.text.applications import application_key


@cache
def load_faiss() -> Any:
    """The package; its import takes 40 ms. Raises `ServiceError` where it is missing."""
    try:
        return import_module("faiss")
    except ImportError as error:
        raise ServiceError("faiss is not installed: pip install faiss-cpu", code="E_MISSING_EXTRA") from error


ATTRIBUTES = np.dtype([("application", "u8"), ("env", "u8"), ("trust", "i1"), ("imported", "?"), ("success", "i1")])
Rows = NDArray[np.int64]

SAME = 2e-6  # kernels agree to 5e-7, answers are rounded to 1e-6: what is this close to the edge may be inside
_SCATTERED = 4  # reading rows here and there costs about four times as much as reading them in a row
_CANDIDATES = 400  # rows that signs put forward, at least; one more for every _SHARE rows looked at
_SHARE = 500
_FEW = 2_000  # rows of a segment that numpy takes care of
_FILTERS = 64  # selections remembered


@dataclass(frozen=True)
class FilterMask:
    """The rows of a segment that pass a filter: `mask` over rows first..last (None: all of them), and their number."""

    first: int
    last: int
    count: int
    mask: Mask | None
    bits: NDArray[np.uint8] | None = None

    def rows(self) -> Rows:
        """Row numbers, int64, ascending."""
        if self.mask is None:
            return np.arange(self.first, self.last)
        return self.first + np.flatnonzero(self.mask)


@dataclass(frozen=True)
class Segment:
    """Rows sorted by (application, id); `by_id` is their order by id, `codes` one bit per dimension: its sign."""

    ids: NDArray[np.bytes_]
    by_id: NDArray[np.int32]
    attributes: NDArray[Any]
    vectors: Vectors
    codes: NDArray[np.uint8] | None
    live: Mask | None = None
    _selections: dict[Filter, FilterMask] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def build(cls, ids: NDArray[np.bytes_], attributes: NDArray[Any], vectors: Vectors, *, exact_below: int) -> Segment:
        """A segment of these rows, given in any order; signs are kept of `exact_below` rows or more."""
        order = sort_order(ids, attributes)
        ids, matrix = ids[order], np.ascontiguousarray(vectors[order])
        codes = binary_quantize(matrix) if len(ids) >= exact_below else None
        return cls(ids, np.argsort(ids, kind="stable").astype(np.int32), attributes[order], matrix, codes)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], *, exact_below: int) -> Segment:
        """The segment that `FaissIndex.save` wrote. Raises `CorruptError` when the arrays do not fit together."""
        ids, by_id, attributes, vectors = (arrays[name] for name in ("ids", "by_id", "attributes", "vectors"))
        n, codes = len(ids), arrays.get("codes")
        if vectors.ndim != 2 or vectors.dtype != np.float32 or not vectors.flags.c_contiguous or len(vectors) != n:
            raise CorruptError(f"no matrix of {n} rows", file="vectors.npy")
        if attributes.dtype != ATTRIBUTES or len(attributes) != n:
            raise CorruptError("not the columns of this version", file="attributes.npy")
        if ids.dtype != np.dtype("S32") or by_id.shape != (n,) or not _rising(ids[by_id]):
            raise CorruptError("not every id once", file="ids.npy")
        if codes is not None and (codes.dtype != np.uint8 or codes.shape != (n, -(-vectors.shape[1] // 8))):
            raise CorruptError("not the signs of the vectors", file="codes.npy")
        if codes is None and n >= exact_below:
            codes = binary_quantize(vectors)
        return cls(ids, by_id, attributes, vectors, codes)

    def __len__(self) -> int:
        return len(self.ids) if self.live is None else int(self.live.sum())

    @property
    def is_small(self) -> bool:
        """True when FAISS is not needed to look through these rows."""
        return len(self.ids) < _FEW

    def alive(self) -> Rows:
        """Numbers of the rows that were not taken out."""
        return np.arange(len(self.ids)) if self.live is None else np.flatnonzero(self.live)

    def sorted_ids(self) -> NDArray[np.bytes_]:
        """The ids of the rows that were not taken out, in order."""
        return self.ids[self.by_id if self.live is None else self.by_id[self.live[self.by_id]]]

    def find(self, ids: NDArray[np.bytes_]) -> Rows:
        """The live row of each id, -1 where there is none."""
        if not len(self.ids):
            return np.full(len(ids), -1)
        positions = np.minimum(np.searchsorted(self.ids, ids, sorter=self.by_id), len(self.ids) - 1)
        rows = self.by_id[positions].astype(np.int64)
        there = self.ids[rows] == ids
        return np.where(there if self.live is None else there & self.live[rows], rows, -1)

    def without(self, rows: Rows) -> Segment:
        """This segment with some rows masked out; the arrays are shared."""
        live = np.ones(len(self.ids), np.bool_) if self.live is None else self.live.copy()
        live[rows] = False
        return replace(self, live=live, _selections={})

    def select(self, filter: Filter) -> FilterMask:
        """The rows that pass a filter, remembered: a filter is worked out once for each state of a segment."""
        if filter not in self._selections:
            if len(self._selections) >= _FILTERS:
                self._selections.clear()
            self._selections[filter] = self._select(filter)
        return self._selections[filter]

    def _select(self, filter: Filter) -> FilterMask:
        first, last = 0, len(self.ids)
        if filter.application is not None:
            key = np.uint64(key_hash(application_key(filter.application)))
            column = self.attributes["application"]
            first, last = (int(np.searchsorted(column, key, side=side)) for side in ("left", "right"))
        live = np.ones(last - first, np.bool_) if self.live is None else self.live[first:last]
        mask = filter_mask(self.attributes[first:last], live, filter)
        count = int(mask.sum())
        if count == last - first:
            return FilterMask(first, last, count, None)
        return FilterMask(first, last, count, mask, np.packbits(mask, bitorder="little"))

    def nearest(self, queries: Vectors, k: int, filter: Filter, exact_below: int) -> list[Rows]:
        """For each query, rows among which are its k best inside the filter.

        Exact while fewer than `exact_below` rows are to be looked at (a quarter of that when they are scattered);
        beyond, the candidates are the rows whose signs differ least.
        """
        chosen = self.select(filter)
        span = chosen.last - chosen.first
        scattered = chosen.count * _SCATTERED < span
        if chosen.count <= k:
            return [chosen.rows()] * len(queries)
        if self.codes is None or (span < exact_below and not scattered):
            return _edge(self._scan(queries, chosen), chosen, k)
        if scattered and chosen.count * _SCATTERED < exact_below:
            rows = chosen.rows()
            return [rows[found] for found in _edge(self.scores(queries, rows), None, k)]
        return self._by_signs(queries, k, chosen)

    def scores(self, queries: Vectors, rows: Rows) -> Vectors:
        """Inner products of queries (q, d) and rows (n), or rows (q, n) of their own for each query."""
        wanted = np.ascontiguousarray(np.broadcast_to(rows, (len(queries), rows.shape[-1])))
        if self.is_small:
            return np.stack([_products(query, self.vectors[few]) for query, few in zip(queries, wanted, strict=True)])
        faiss, out = load_faiss(), np.empty(wanted.shape, np.float32)
        at = faiss.swig_ptr
        faiss.fvec_inner_products_by_idx(
            at(out), at(queries), at(self.vectors), at(wanted), queries.shape[1], len(queries), wanted.shape[1]
        )
        return out

    def _scan(self, queries: Vectors, chosen: FilterMask) -> Vectors:
        """Inner products with every row from the first to the last of a selection."""
        block = self.vectors[chosen.first : chosen.last]
        if len(queries) > 1:
            product: Vectors = queries @ block.T
            return product
        if self.is_small:
            return _products(queries[0], block)[None]
        faiss, out = load_faiss(), np.empty((1, len(block)), np.float32)
        faiss.fvec_inner_products_ny(
            faiss.swig_ptr(out), faiss.swig_ptr(queries), faiss.swig_ptr(block), queries.shape[1], len(block)
        )
        return out

    def _by_signs(self, queries: Vectors, k: int, chosen: FilterMask) -> list[Rows]:
        span = chosen.last - chosen.first
        wanted = min(max(_CANDIDATES, 10 * k, span // _SHARE), chosen.count)
        asked, codes = binary_quantize(queries), self.codes[chosen.first : chosen.last]  # type: ignore[index]
        faiss = load_faiss()
        apart, rows = np.empty((len(queries), wanted), np.int32), np.empty((len(queries), wanted), np.int64)
        heap = faiss.int_maxheap_array_t()
        heap.nh, heap.k, heap.val, heap.ids = len(queries), wanted, faiss.swig_ptr(apart), faiss.swig_ptr(rows)
        at = faiss.swig_ptr
        if chosen.bits is None:
            faiss.hammings_knn_hc(heap, at(asked), at(codes), span, codes.shape[1], 0)
            return list(rows + chosen.first)
        if not _takes_a_selector(faiss):
            inside = chosen.rows()
            codes = codes[inside - chosen.first]
            faiss.hammings_knn_hc(heap, at(asked), at(codes), len(codes), codes.shape[1], 0)
            return list(inside[rows])
        selector = faiss.IDSelectorBitmap(chosen.bits)
        faiss.hammings_knn_hc(heap, at(asked), at(codes), span, codes.shape[1], 0, faiss.EXACT_TOPK, selector)
        return list(rows + chosen.first)


def _takes_a_selector(faiss: Any) -> bool:
    """False before FAISS 1.9: there the rows inside a filter are copied apart instead."""
    major, minor = faiss.__version__.split(".")[:2]
    return (int(major), int(minor)) >= (1, 9)


def _products(query: Vectors, rows: Vectors) -> Vectors:
    """Inner products, each summed up in the same way however many there are, on one thread: BLAS promises neither."""
    products: Vectors = np.einsum("nd,d->n", rows, query)
    return products


def binary_quantize(vectors: Vectors) -> NDArray[np.uint8]:
    """One bit per dimension, packed: all that a thirty-second of the memory can keep of a direction."""
    codes = np.empty((len(vectors), -(-vectors.shape[1] // 8)), np.uint8)
    for start in range(0, len(vectors), 4096):
        codes[start : start + 4096] = np.packbits(vectors[start : start + 4096] > 0, axis=1)
    return codes


def sort_order(ids: NDArray[np.bytes_], attributes: NDArray[Any]) -> Rows:
    """Row numbers in the order of a segment."""
    return np.lexsort((ids, attributes["application"]))


def pack(attributes: Sequence[Attributes]) -> NDArray[Any]:
    """Attributes as columns."""
    return np.array([_pack(one) for one in attributes], dtype=ATTRIBUTES)


def _pack(one: Attributes) -> tuple[object, ...]:
    success = UNKNOWN if one.success is None else int(one.success)
    return (key_hash(application_key(one.application)), key_hash(one.env), one.trust, one.imported, success)


def _edge(scores: Vectors, chosen: FilterMask | None, k: int) -> list[Rows]:
    """For each query the columns that may be among its k best: those at the k-th score, and a little below."""
    first = 0
    if chosen is not None:
        first = chosen.first
        if chosen.mask is not None:
            scores[:, ~chosen.mask] = -np.inf
    if scores.shape[1] <= k:
        return [np.arange(first, first + scores.shape[1])] * len(scores)
    edges = np.partition(scores, -k, axis=1)[:, -k]
    return [first + np.flatnonzero(row >= edge - SAME) for row, edge in zip(scores, edges, strict=True)]


def _rising(ids: NDArray[np.bytes_]) -> bool:
    return bool((ids[1:] > ids[:-1]).all())
