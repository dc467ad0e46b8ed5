"""Lexical search over a catalog: two numbers per row, both in [0, 1] and comparable across queries.

    share     BM25 over the terms of the requests, as a share of the query's own best score: the order of the hits
    coverage  geometric mean of how much of the query's rare words the row holds, and the reverse: whether a hit is
              worth serving

Statistics (document frequency, mean length) are taken over `trusted` rows only: what is not trusted changes no score
of what is. They are computed once per catalog and set of trusted rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.catalog import Catalog, Mask
from ufo_experience.text.terms import request_terms, say

Scores = NDArray[np.float32]
_TINY = 1e-9


@dataclass(frozen=True)
class BM25:
    """Saturation of repeats `k1`, share of length normalisation `b` (Robertson and Zaragoza 2009), and an exponent
    on the inverse document frequency: requests are short, and full IDF lets one rare name outweigh the procedure."""

    k1: float = 0.6
    b: float = 0.75
    rarity: float = 0.8


_DEFAULT = BM25()


class LexicalIndex:
    """Scores queries against every row of one catalog."""

    def __init__(self, catalog: Catalog, trusted: Mask, settings: BM25 = _DEFAULT) -> None:
        self._catalog, self._trusted, self._settings = catalog, trusted, settings
        self._count = int(trusted.sum())
        lengths = catalog.column("length").astype(np.float32)
        mean = max(float(lengths[trusted].mean()), 1.0) if self._count else 1.0
        self._size = (1 - settings.b + settings.b * lengths / mean).astype(np.float32)
        self._mass = self._masses()

    def scores(self, query: str) -> tuple[Scores, Scores]:
        """(share, coverage), each float32 with one entry per row."""
        share = np.zeros(len(self._catalog.rows), np.float32)
        shared = np.zeros(len(self._catalog.rows), np.float32)
        best = mass = _TINY
        for name, term in request_terms(query)[0].items():
            rows, times = self._catalog.postings(name)
            # A word no record holds is as rare as one that one record holds: in a small store anything is unheard of.
            rarity, voice = self._rarity(max(int(self._trusted[rows].sum()), 1)), say(name)
            best, mass = best + term.weight * rarity, mass + voice * rarity
            gain = times / (times + self._settings.k1 * self._size[rows])
            share[rows] += np.float32(term.weight * rarity) * gain
            if voice:
                shared[rows] += np.float32(voice * rarity)
        return share / np.float32(best), shared / np.sqrt(np.float32(mass) * np.maximum(self._mass, _TINY))

    def _rarity(self, holding: int) -> float:
        return math.pow(math.log1p((max(self._count - holding, 0) + 0.5) / (holding + 0.5)), self._settings.rarity)

    def _masses(self) -> Scores:
        """Weight of all rare words of each row: what a query would have to hold to cover it."""
        hashes = np.concatenate([part.terms for part in self._catalog.terms])
        terms, place = np.unique(hashes, return_inverse=True)
        per_part = np.split(place, np.cumsum([len(part.terms) for part in self._catalog.terms])[:-1])
        holding = np.zeros(len(terms), np.int64)
        for part, places in zip(self._catalog.terms, per_part, strict=True):
            np.add.at(holding, places, _sum_by(part.ptr, self._trusted[part.rows]))
        rarity = np.log1p((self._count - holding + 0.5) / (holding + 0.5)) ** self._settings.rarity
        mass = np.zeros(len(self._catalog.rows), np.float64)
        for part, places in zip(self._catalog.terms, per_part, strict=True):
            worth = np.repeat(part.say * rarity[places], np.diff(part.ptr))
            mass += np.bincount(part.rows, weights=worth, minlength=len(mass))
        return mass.astype(np.float32)


def _sum_by(ptr: NDArray[np.int64], flags: Mask) -> NDArray[np.int64]:
    """How many flags are set in each stretch `ptr[i]:ptr[i + 1]`."""
    running = np.concatenate([[0], np.cumsum(flags)])
    return np.asarray(running[ptr[1:]] - running[ptr[:-1]], np.int64)
