"""Lexical search over a catalog: BM25 on the terms of requests, as a share of the query's own best score.

The share lies in [0, 1] and means the same for every query, so one threshold holds. Statistics (document frequency,
mean length) are taken over `trusted` rows only: what is not trusted changes no score of what is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.catalog import Catalog, Mask
from ufo_experience.terms import request_terms

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class BM25:
    """Saturation of repeats `k1`, share of length normalisation `b` (Robertson and Zaragoza 2009), and an exponent
    on the inverse document frequency: requests are short, and full IDF lets one rare name outweigh the procedure."""

    k1: float = 0.6
    b: float = 0.75
    rarity: float = 0.8


_DEFAULT = BM25()


def lexical_scores(catalog: Catalog, query: str, trusted: Mask, settings: BM25 = _DEFAULT) -> Scores:
    """Score every row of `catalog` for `query`: float32, one per row, in [0, 1]."""
    scores = np.zeros(len(catalog.rows), np.float32)
    count = int(trusted.sum())
    lengths = catalog.column("length")
    mean_length = max(float(lengths[trusted].mean()), 1.0) if count else 1.0
    best = 0.0
    for name, term in request_terms(query)[0].items():
        rows, times = catalog.postings(name)
        holding = int(trusted[rows].sum())
        rarity = np.log1p((count - holding + 0.5) / (holding + 0.5)) ** settings.rarity
        worth = np.float32(term.weight * rarity)
        best += float(worth)
        norm = settings.k1 * (1 - settings.b + settings.b * lengths[rows] / mean_length)
        scores[rows] += worth * (times / (times + norm)).astype(np.float32)
    share: Scores = scores / np.float32(max(best, 1e-9))
    return share
