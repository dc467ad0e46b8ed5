"""Lexical search over a catalog: two numbers per row, both in [0, 1] and comparable across queries.

    skeleton  BM25 over the skeleton of the request (values as placeholders), as a share of the query's own best score
    words     the same over its words, and what concepts of the thesaurus and the words of the steps add where the
              words themselves do not match

Statistics (document frequency, mean length) are taken over `trusted` rows only: what is not trusted changes no score
of what is. Of runs of one task one counts: a task that is done often does not make its words common. They are computed
once per catalog and set of trusted rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.catalog import Catalog, Mask
from ufo_experience.index.postings import Postings, term_hashes
from ufo_experience.retrieve.columns import Column, MaskColumn, Posting, Saturation, Scores, Weighted
from ufo_experience.retrieve.matches import Matches, Pruned, Published, Scanned, roots
from ufo_experience.text.frames import request_frame
from ufo_experience.text.index_terms import FEW_MEANT_WORDS, MEANT_WORDS, skeleton_terms, word_terms

_TINY = 1e-9
_DRIFT = 0.05  # of the trusted rows may differ from those that statistics were kept of
_COMMON, _COMMON_FROM = 0.05, 1_000  # share and number of the published rows that hold a common term
_MOST_BYTES = 256  # a row that are kept of common terms
_DENSE = 0.125  # share of the rows that hold a common term, from which on it is added up first
_LOOKED_AT = 4_096  # rows, among which a task that is done often enough to matter is found
_MATTERS = 0.01  # of these, that are of tasks done so often, make it worth reading all postings
_MOSTLY = 0.3  # share of a word's records in which it is a value, from which on it is one in a query


@dataclass(frozen=True)
class BM25:
    """Saturation of repeats `k1`, share of length normalisation `b` (Robertson and Zaragoza 2009), and an exponent
    on the inverse document frequency: requests are short, and full IDF lets one rare name outweigh the procedure.
    Statistics are kept of catalogs with `keep_from` published rows or more; with more than `scan_to` the rows that
    cannot be among the best are passed over."""

    k1: float = 0.6
    b: float = 0.75
    idf_exponent: float = 0.8
    keep_from: int = 5000
    scan_to: int = 65_536


_DEFAULT = BM25()


@dataclass(frozen=True)
class _Kept:
    """What was worked out for the published rows: the counted ones, how many of them hold each term, and how long the
    counted rows are in the mean."""

    part: Postings
    settings: BM25
    counted: Mask
    doc_freq: NDArray[np.int64]
    mean: float
    of_tasks: Mask


class LexicalIndex:
    """Scores queries against every row of one catalog.

    A large catalog keeps the statistics of its published rows until a twentieth of the trusted ones is new or gone:
    one more record then costs nothing, and document frequencies move by less than that.
    """

    _kept: _Kept
    _columns: dict[str, Column]
    _gain: Saturation
    _published: Published

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
        same = before if before and self._is_like(before) else None
        self._of_tasks = self._one_of_each_task(same._kept if same else None)
        self._count = int(np.count_nonzero(self._of_tasks))
        base, *others = catalog.terms
        self._kept = same._kept if same else self._keep(base)
        self._columns = same._columns if same else {}
        lengths = catalog.column("length")
        self._gain = Saturation(settings.k1, settings.b, self._kept.mean, lengths, same._gain if same else None)
        self._published = same._published if same else Published(lengths[: catalog.published], self._gain)
        self._sums = [(base, self._kept.doc_freq), *((part, self._counts(part)) for part in others)]
        self._holds_counted = [bool(self._kept.counted.any()), *(bool(sums.any()) for _, sums in self._sums[1:])]

    def scores(self, query: str, meant_words: int = MEANT_WORDS) -> tuple[Scores, Scores]:
        """(skeleton, words), each float32 with one entry per row; see `word_terms`."""
        exact, loose = word_terms(request_frame(query), meant_words)
        size = len(self._catalog.rows)
        view = self._weighted(exact)
        words, most = view.in_all(size), view.most
        told = words if self._counted.all() else words * self._counted
        best = float(told.max(initial=0.0)) / most
        if best < 1:
            other = self._weighted(loose).in_all(size)
            words += np.multiply(other, np.float32(1 - best), out=other)
        view = self._weighted(skeleton_terms(query, self.are_values))
        skeleton = view.in_all(size)
        skeleton /= view.most
        words /= most
        return skeleton, np.minimum(words, np.float32(1), out=words)

    def matches(self, query: str) -> Matches:
        """What the words of a query say about the rows. In a large catalog most rows are not looked at."""
        if not self._is_large:
            return Scanned(*self.scores(query), self.roots)
        exact, loose = word_terms(request_frame(query), FEW_MEANT_WORDS)
        return Pruned(
            self._weighted(exact),
            lambda: self._weighted(loose),
            self._weighted(skeleton_terms(query, self.are_values)),
            self._counted,
            self._catalog.column("length"),
            self._published,
            lambda: Scanned(*self.scores(query, FEW_MEANT_WORDS), self.roots),
        )

    @cached_property
    def roots(self) -> NDArray[np.float64]:
        """What the scores of every row are divided by; see `matches.roots`."""
        return roots(self._catalog.column("length"))

    def counts_as(self, before: LexicalIndex) -> bool:
        """True when every stem weighs what it weighed in an earlier index."""
        return self._kept is before._kept and self._count == before._count

    def are_values(self, stems: Sequence[str]) -> list[bool]:
        """For each stem whether the records use it as a value: at least `_MOSTLY` of those that hold it."""
        return [share > _MOSTLY for share in self.weights_of(stems)[0]]

    def weights_of(self, stems: Sequence[str]) -> tuple[list[float], list[float]]:
        """Of each stem the share of its records in which it is a value (0 for one that no record holds), and its
        inverse document frequency, as a word or as a value. One that no record holds is as rare as one that one record
        holds: in a small store anything is unheard of."""
        terms = term_hashes(f"{sign}{one}" for sign in ("s=", "s ", "", "=") for one in stems)
        hidden, shown, word, value = self._doc_freq(terms).reshape(4, -1)
        shares: NDArray[np.float64] = hidden / np.maximum(hidden + shown, 1)
        return shares.tolist(), self._idf(np.maximum(word + value, 1)).tolist()

    @property
    def rarest(self) -> float:
        """Inverse document frequency of a word that one record holds."""
        return float(self._idf(np.ones(1, np.int64))[0])

    def _weighted(self, weights: Mapping[str, float]) -> Weighted:
        """The terms of a query, located, and what they are worth where they stand."""
        names, hashes = list(weights), term_hashes(weights)
        located = [part.positions(hashes) for part in self._catalog.terms]
        idf = self._idf(np.maximum(self._doc_freq(hashes, located), 1))
        worth = (np.array(list(weights.values())) * idf).tolist()
        few: list[tuple[float, Posting]] = []
        common: list[tuple[np.float32, Column]] = []
        for place, (part, positions) in enumerate(zip(self._catalog.terms, located, strict=True)):
            for number, held, times in part.held(positions):
                column = None if place else self._column(names[number], held, times)
                if column is None:
                    few.append((worth[number], Posting(held, times, self._gain)))
                else:
                    common.append((np.float32(worth[number]), column))
        common.sort(key=lambda one: len(one[1].held) < _DENSE * self._catalog.published and self._is_large)
        return Weighted(few, common, np.float32(_TINY + sum(worth)), self._gain)

    def _column(self, name: str, held: NDArray[np.int32], times: Scores) -> Column | None:
        """The column of a term of the published rows that so many hold that the next question had better find it
        worked out; None for one that few hold, or more than there is room for."""
        if (known := self._columns.get(name)) is not None:
            return known
        published = self._catalog.published
        if len(held) < max(_COMMON_FROM, _COMMON * published):
            return None
        kind = MaskColumn if self._is_large else Column
        has_room = len(self._columns) * kind.BYTES < _MOST_BYTES
        if not has_room and not self._is_large:
            return None
        column = kind(held, times, self._gain, published)
        if has_room:
            self._columns[name] = column
        return column

    @property
    def _is_large(self) -> bool:
        return self._catalog.published > self._settings.scan_to

    def _idf(self, doc_freq: NDArray[np.int64]) -> NDArray[np.float64]:
        left = np.maximum(self._count - doc_freq, 0)
        return np.asarray(np.log1p((left + 0.5) / (doc_freq + 0.5)) ** self._settings.idf_exponent, np.float64)

    def _is_like(self, before: LexicalIndex) -> bool:
        """True when what an earlier index worked out for the published rows would come out the same now."""
        kept, (mine, others) = before._kept, np.split(self._counted, [self._catalog.published])
        same = kept.part is self._catalog.terms[0] and kept.settings == self._settings
        same = same and not others.any()
        return same and np.array_equal(kept.counted, mine)

    def _keep(self, base: Postings) -> _Kept:
        lengths = self._catalog.column("length")[self._counted].astype(np.float32)
        mean = max(float(lengths.mean()), 1.0) if len(lengths) else 1.0
        counted, of_tasks = (one[: self._catalog.published] for one in (self._counted, self._of_tasks))
        return _Kept(base, self._settings, counted, self._counts(base), mean, of_tasks)

    def _one_of_each_task(self, kept: _Kept | None) -> Mask:
        """The counted rows that document frequencies are taken over: the first one of each task.

        Where the first rows of a large catalog hold few that are not, all are taken as they are: rows are in the order
        of their ids, which are digests, and so no task is done often enough to matter.
        """
        if kept is not None:  # no row behind the published ones is counted
            behind = np.zeros(len(self._counted) - len(kept.of_tasks), np.bool_)
            return np.asarray(np.append(kept.of_tasks, behind), np.bool_)
        rows, tasks = np.flatnonzero(self._counted), self._catalog.column("task")
        beyond = len(_beyond(tasks[rows[:_LOOKED_AT]]))
        if not beyond or (len(rows) > _LOOKED_AT and beyond < _MATTERS * _LOOKED_AT):
            return self._counted
        found: Mask = self._counted.copy()
        found[rows[_beyond(tasks[rows])]] = False
        return found

    def _counts(self, part: Postings) -> NDArray[np.int64]:
        """How many of the counted rows hold each term of a part, in that part."""
        if self._of_tasks.all():
            return np.diff(part.ptr)  # reads no rows
        counted = self._of_tasks[part.rows].view(np.int8)
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


def _beyond(tasks: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The places of runs that are not the first one of their task."""
    order = np.argsort(tasks, kind="stable")
    named = tasks[order]
    return np.asarray(order[1:][named[1:] == named[:-1]], np.int64)


def _counted(catalog: Catalog, trusted: Mask, published: Mask | None) -> Mask:
    """The rows that statistics are taken over. What is not trusted, now or then, has no say in this choice either."""
    if published is None:
        return trusted
    then = np.zeros(len(trusted), np.bool_)
    then[: len(published)] = published
    changed = np.count_nonzero(then != trusted)
    return then if changed <= _DRIFT * np.count_nonzero(then) else trusted
