"""Lexical search over a catalog: two numbers per row, both in [0, 1] and comparable across queries.

    share     BM25 over the terms of the requests, as a share of the query's own best score: the order of the hits
    coverage  geometric mean of how much of the query's rare words the row holds, and the reverse: whether a hit is
              worth serving

Statistics (document frequency, mean length) are taken over `trusted` rows only: what is not trusted changes no score
of what is. They are computed once per catalog and set of trusted rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.catalog import Catalog, Mask
from ufo_experience.index.postings import Postings, term_hashes
from ufo_experience.text.terms import request_terms, say

Scores = NDArray[np.float32]
_TINY = 1e-9
_DRIFT = 0.05  # of the trusted rows may differ from those that statistics were kept of


@dataclass(frozen=True)
class BM25:
    """Saturation of repeats `k1`, share of length normalisation `b` (Robertson and Zaragoza 2009), and an exponent
    on the inverse document frequency: requests are short, and full IDF lets one rare name outweigh the procedure.
    Statistics are kept of catalogs with `keep_from` published rows or more."""

    k1: float = 0.6
    b: float = 0.75
    rarity: float = 0.8
    keep_from: int = 5000


_DEFAULT = BM25()


@dataclass(frozen=True)
class _Kept:
    """What was worked out for the published rows: the counted ones that hold each term, and the mass of each row."""

    part: Postings
    settings: BM25
    counted: Mask
    holding: NDArray[np.int64]
    mass: Scores


class LexicalIndex:
    """Scores queries against every row of one catalog.

    A large catalog keeps the statistics of its published rows until a twentieth of the trusted ones is new or gone:
    one more record then costs nothing, and rarities move by less than that.
    """

    _kept: _Kept

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
        holding = kept.holding if kept else self._counts(base)
        self._sums = [(base, holding), *((part, self._counts(part)) for part in others)]
        self._kept = kept or self._keep(base, holding)
        mass = np.concatenate([self._kept.mass, self._masses(others)[catalog.published :]])
        self._mass = np.maximum(mass, _TINY)

    def scores(self, query: str) -> tuple[Scores, Scores]:
        """(share, coverage), each float32 with one entry per row."""
        terms = request_terms(query)[0]
        if not terms:
            return np.zeros(len(self._catalog.rows), np.float32), np.zeros(len(self._catalog.rows), np.float32)
        found = self._catalog.postings(list(terms))
        # A word no record holds is as rare as one that one record holds: in a small store anything is unheard of.
        rarity = self._rarity(np.maximum(self._holding(term_hashes(terms)), 1))
        weight = np.array([term.weight for term in terms.values()]) * rarity
        voice = np.array([say(name) for name in terms]) * rarity
        lengths = np.array([len(rows) for rows, _ in found])
        rows, times = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        gain = times / (times + self._settings.k1 * self._size[rows])
        share = self._sum(rows, np.repeat(weight, lengths) * gain) / np.float32(_TINY + weight.sum())
        heard = np.repeat(voice > 0, lengths)  # most terms are pairs of words, which have no say
        shared = self._sum(rows[heard], np.repeat(voice, lengths)[heard])
        return share, shared / np.sqrt(np.float32(_TINY + voice.sum()) * self._mass)

    def _sum(self, rows: NDArray[np.int32], worth: NDArray[np.float64]) -> Scores:
        return np.bincount(rows, weights=worth, minlength=len(self._catalog.rows)).astype(np.float32)

    def _rarity(self, holding: NDArray[np.int64]) -> NDArray[np.float64]:
        left = np.maximum(self._count - holding, 0)
        return np.asarray(np.log1p((left + 0.5) / (holding + 0.5)) ** self._settings.rarity, np.float64)

    def _still_right(self, kept: _Kept | None) -> _Kept | None:
        """What was kept of an earlier index, if it would come out the same now."""
        mine, others = np.split(self._counted, [self._catalog.published])
        same = kept is not None and kept.part is self._catalog.terms[0] and kept.settings == self._settings
        return kept if kept and same and not others.any() and np.array_equal(kept.counted, mine) else None

    def _keep(self, base: Postings, holding: NDArray[np.int64]) -> _Kept:
        first = self._catalog.published
        return _Kept(base, self._settings, self._counted[:first], holding, self._masses([base])[:first])

    def _counts(self, part: Postings) -> NDArray[np.int64]:
        """How many of the counted rows hold each term of a part, in that part."""
        running = np.concatenate([[0], np.cumsum(self._counted[part.rows])])
        return np.asarray(running[part.ptr[1:]] - running[part.ptr[:-1]], np.int64)

    def _masses(self, parts: Sequence[Postings]) -> Scores:
        """Weight of all rare words of each row of some parts: what a query would have to hold to cover it."""
        mass = np.zeros(len(self._catalog.rows), np.float64)
        for part in parts:
            worth = np.repeat(part.say * self._rarity(self._holding(part.terms)), np.diff(part.ptr))
            mass += np.bincount(part.rows, weights=worth, minlength=len(mass))
        return mass.astype(np.float32)

    def _holding(self, terms: NDArray[np.uint64]) -> NDArray[np.int64]:
        """How many of the counted rows hold each of these terms (hashes), in all parts."""
        total = np.zeros(len(terms), np.int64)
        for part, sums in self._sums:
            if part.terms is terms:
                total += sums
            elif sums.any():
                places = part.places(terms)
                total += np.where(places >= 0, sums[places], 0)
        return total


def _counted(catalog: Catalog, trusted: Mask, published: Mask | None) -> Mask:
    """The rows that statistics are taken over. What is not trusted, now or then, has no say in this choice either."""
    if published is None:
        return trusted
    then = np.zeros(len(trusted), np.bool_)
    then[: len(published)] = published
    changed = np.count_nonzero(then != trusted)
    return then if changed <= _DRIFT * np.count_nonzero(then) else trusted
