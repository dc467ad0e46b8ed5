"""Lexical search over a catalog: two numbers per row, both in [0, 1] and comparable across queries.

    skeleton  BM25 over the skeleton of the request (values as placeholders), as a share of the query's own best score
    words     the same over its words, and what concepts of the thesaurus and the words of the steps add where the
              words themselves do not match

Statistics (document frequency, mean length) are taken over `trusted` rows only: what is not trusted changes no score
of what is. They are computed once per catalog and set of trusted rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.catalog import Catalog, Mask
from ufo_experience.index.postings import Postings, term_hashes
from ufo_experience.text.frames import request_frame
from ufo_experience.text.index_terms import skeleton_terms, word_terms

Scores = NDArray[np.float32]
_TINY = 1e-9
_DRIFT = 0.05  # of the trusted rows may differ from those that statistics were kept of
_COMMON, _COMMON_FROM = 0.05, 1_000  # share and number of the published rows that hold a common term
_MOST_COLUMNS = 64  # of common terms, four bytes a row each; as much room for those that are kept by the rows they have
_DENSE = 0.125  # share of the rows that hold a common term, from which on it is a column of all rows
_BLOCK = 65_536  # rows
_MOSTLY = 0.3  # share of a word's records in which it is a value, from which on it is one in a query


@dataclass(frozen=True)
class BM25:
    """Saturation of repeats `k1`, share of length normalisation `b` (Robertson and Zaragoza 2009), and an exponent
    on the inverse document frequency: requests are short, and full IDF lets one rare name outweigh the procedure.
    Statistics are kept of catalogs with `keep_from` published rows or more."""

    k1: float = 0.6
    b: float = 0.75
    idf_exponent: float = 0.8
    keep_from: int = 5000


_DEFAULT = BM25()


@dataclass(frozen=True)
class _Kept:
    """What was worked out for the published rows: the counted ones, and how many of them hold each term."""

    part: Postings
    settings: BM25
    counted: Mask
    doc_freq: NDArray[np.int64]


@dataclass(frozen=True)
class _Column:
    """What a common term is worth in published rows: in these, in order, or (None) in all."""

    rows: NDArray[np.int32] | None
    gain: Scores


class LexicalIndex:
    """Scores queries against every row of one catalog.

    A large catalog keeps the statistics of its published rows until a twentieth of the trusted ones is new or gone:
    one more record then costs nothing, and document frequencies move by less than that.
    """

    _kept: _Kept
    _mean: float

    def __init__(
        self,
        catalog: Catalog,
        trusted: Mask,
        settings: BM25 = _DEFAULT,
        *,
        published: Mask | None = None,
        before: LexicalIndex | None = None,
    ) -> None:
        """Statistics over `trusted` rows.

        Args:
            published: which of the published rows were trusted when they were published.
            before: the index of an earlier catalog of the same generation; what is the same is taken from it.
        """
        self._catalog, self._settings = catalog, settings
        self._counted = _counted(catalog, trusted, published if catalog.published >= settings.keep_from else None)
        self._count = int(self._counted.sum())
        lengths = catalog.column("length").astype(np.float32)
        mean = max(float(lengths[self._counted].mean()), 1.0) if self._count else 1.0
        self._size = (1 - settings.b + settings.b * lengths / mean).astype(np.float32)
        kept = self._still_right(before._kept if before else None)
        base, *others = catalog.terms
        doc_freq = kept.doc_freq if kept else self._counts(base)
        self._sums = [(base, doc_freq), *((part, self._counts(part)) for part in others)]
        self._holds_counted = [bool(sums.any()) for _, sums in self._sums]
        self._kept = kept or _Kept(base, settings, self._counted[: catalog.published], doc_freq)
        self._columns: dict[str, _Column] = {}
        if kept and before and before._mean == mean:
            self._columns = before._columns
        self._mean = mean

    def scores(self, query: str) -> tuple[Scores, Scores]:
        """(skeleton, words), each float32 with one entry per row."""
        exact, loose = word_terms(request_frame(query))
        words, most = self._matched(exact)
        best = float((words * self._counted).max(initial=0.0)) / most
        if best < 1:
            other = self._matched(loose)[0]
            words += np.multiply(other, np.float32(1 - best), out=other)
        skeleton, whole = self._matched(skeleton_terms(query, self.are_values))
        skeleton /= whole
        words /= most
        return skeleton, np.minimum(words, np.float32(1), out=words)

    def counts_as(self, before: LexicalIndex) -> bool:
        """True when every stem weighs what it weighed in an earlier index."""
        return self._kept is before._kept and self._count == before._count

    def are_values(self, stems: Sequence[str]) -> list[bool]:
        """For each stem whether the records use it as a value: at least `_MOSTLY` of those that hold it."""
        return [share > _MOSTLY for share in self.value_shares(stems)]

    def value_shares(self, stems: Sequence[str]) -> list[float]:
        """For each stem the share of its records in which it is a value; 0 for one that no record holds."""
        hidden, shown = (
            self._doc_freq(term_hashes(f"s{sign}{one}" for one in stems)).astype(np.float64) for sign in "= "
        )
        return (hidden / np.maximum(hidden + shown, 1)).tolist()  # type: ignore[no-any-return]

    def idf(self, stems: Sequence[str]) -> NDArray[np.float64]:
        """Inverse document frequency of stems, as words or as values. One that no record holds is as rare as one that
        one record holds: in a small store anything is unheard of."""
        held = sum(self._doc_freq(term_hashes(f"{sign}{one}" for one in stems)) for sign in ("", "="))
        return self._idf(np.maximum(held, 1))

    @property
    def rarest(self) -> float:
        """Inverse document frequency of a word that one record holds."""
        return float(self._idf(np.ones(1, np.int64))[0])

    def _matched(self, weights: Mapping[str, float]) -> tuple[NDArray[np.float32], np.float32]:
        """For each row the weight of the terms it holds, and the most a row could have."""
        if not weights:
            return np.zeros(len(self._catalog.rows), np.float32), np.float32(_TINY)
        names, hashes = list(weights), term_hashes(weights)
        located = [part.positions(hashes) for part in self._catalog.terms]
        idf = self._idf(np.maximum(self._doc_freq(hashes, located), 1))
        worth = dict(zip(weights, (np.array(list(weights.values())) * idf).tolist(), strict=True))
        columns = {one: column for one in weights if (column := self._columns.get(one)) is not None}
        known = columns.copy()
        rows, gains = [np.empty(0, np.int32)], [np.empty(0, np.float64)]
        for place, (part, positions) in enumerate(zip(self._catalog.terms, located, strict=True)):
            few: list[tuple[float, NDArray[np.int32], NDArray[np.float32]]] = []
            for number, held, times in part.held(positions):
                one = names[number]
                if not place and one in known:
                    continue
                if not place and self._is_common(len(held)):
                    columns[one] = self._columns[one] = self._column(held, self._gain(held, times))
                else:
                    few.append((worth[one], held, times))
            if few:
                rows.append(np.concatenate([held for _, held, _ in few]))
                gain = self._gain(rows[-1], np.concatenate([times for *_, times in few]))
                gains.append(np.repeat([each for each, *_ in few], [len(held) for _, held, _ in few]) * gain)
        total = self._sum(np.concatenate(rows), np.concatenate(gains))
        _add_up([(np.float32(worth[one]), column) for one, column in columns.items()], total)
        return total, np.float32(_TINY + sum(worth.values()))

    def _gain(self, rows: NDArray[np.int32], times: NDArray[np.float32]) -> NDArray[np.float32]:
        """What a term is worth in each of these rows, which hold it so many times: saturated, by length."""
        return np.asarray(times / (times + self._settings.k1 * self._size[rows]), np.float32)

    def _is_common(self, held: int) -> bool:
        """True for a term that so many published rows hold that the next question had better add it up as a column."""
        kept = sum(len(column.gain) for column in self._columns.values())
        common = held >= max(_COMMON_FROM, _COMMON * self._catalog.published)
        return common and kept < _MOST_COLUMNS * self._catalog.published

    def _column(self, rows: NDArray[np.int32], gain: Scores) -> _Column:
        published = self._catalog.published
        if published > _BLOCK and len(rows) < _DENSE * published:
            return _Column(rows, gain)
        column = np.zeros(published, np.float32)
        column[rows] = gain
        return _Column(None, column)

    def _sum(self, rows: NDArray[np.int32], worth: NDArray[np.float64]) -> Scores:
        return np.bincount(rows, weights=worth, minlength=len(self._catalog.rows)).astype(np.float32)

    def _idf(self, doc_freq: NDArray[np.int64]) -> NDArray[np.float64]:
        left = np.maximum(self._count - doc_freq, 0)
        return np.asarray(np.log1p((left + 0.5) / (doc_freq + 0.5)) ** self._settings.idf_exponent, np.float64)

    def _still_right(self, kept: _Kept | None) -> _Kept | None:
        """What was kept of an earlier index, if it would come out the same now."""
        mine, others = np.split(self._counted, [self._catalog.published])
        same = kept is not None and kept.part is self._catalog.terms[0] and kept.settings == self._settings
        return kept if kept and same and not others.any() and np.array_equal(kept.counted, mine) else None

    def _counts(self, part: Postings) -> NDArray[np.int64]:
        """How many of the counted rows hold each term of a part, in that part."""
        if self._counted.all():
            return np.diff(part.ptr)  # reads no rows
        counted = self._counted[part.rows].view(np.int8)
        return np.asarray(np.add.reduceat(counted, part.ptr[:-1], dtype=np.int64), np.int64)

    def _doc_freq(
        self, terms: NDArray[np.uint64], located: Sequence[NDArray[np.int64]] | None = None
    ) -> NDArray[np.int64]:
        """How many of the counted rows hold each of these terms (hashes), in all parts; `located` are their positions
        in each part, where they are known."""
        total = np.zeros(len(terms), np.int64)
        for place, (part, sums) in enumerate(self._sums):
            if self._holds_counted[place]:
                positions = located[place] if located else part.positions(terms)
                total += np.where(positions >= 0, sums[positions], 0)
        return total


def _add_up(columns: Sequence[tuple[np.float32, _Column]], total: Scores) -> None:
    """Add columns to `total`, each times its weight; those of all rows by as many rows as the processor keeps."""
    dense = [(weight, column.gain) for weight, column in columns if column.rows is None]
    scaled = np.empty(_BLOCK, np.float32)
    for first in range(0, len(dense[0][1]) if dense else 0, _BLOCK):
        for weight, gain in dense:
            some = gain[first : first + _BLOCK]
            total[first : first + len(some)] += np.multiply(some, weight, out=scaled[: len(some)])
    for weight, column in columns:
        if column.rows is not None:
            total[column.rows] += column.gain * weight


def _counted(catalog: Catalog, trusted: Mask, published: Mask | None) -> Mask:
    """The rows that statistics are taken over. What is not trusted, now or then, has no say in this choice either."""
    if published is None:
        return trusted
    then = np.zeros(len(trusted), np.bool_)
    then[: len(published)] = published
    changed = np.count_nonzero(then != trusted)
    return then if changed <= _DRIFT * np.count_nonzero(then) else trusted
