"""Measures of ranked answers, and how sure they are.

Each takes the ids in the order they were ranked and the grades of the relevant ones, and is in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Ranked = Sequence[str]
Grades = Mapping[str, int]
RESAMPLES = 1000


def hit(ranked: Ranked, grades: Grades) -> float:
    """1 when the first answer is relevant."""
    return float(bool(ranked) and ranked[0] in grades)


def reciprocal_rank(ranked: Ranked, grades: Grades) -> float:
    """1 / place of the first relevant answer, 0 without one."""
    return next((1.0 / place for place, one in enumerate(ranked, 1) if one in grades), 0.0)


def recall(ranked: Ranked, grades: Grades, k: int) -> float:
    """Share of the relevant entries among the first k."""
    return sum(one in grades for one in ranked[:k]) / len(grades)


def ndcg(ranked: Ranked, grades: Grades, k: int = 10) -> float:
    """Discounted gain (the grade over log2(place + 1)) of the first k, as a share of the best there could be."""
    best = sorted(grades.values(), reverse=True)
    return _gain([grades.get(one, 0) for one in ranked[:k]]) / _gain(best[:k])


def _gain(grades: Sequence[int]) -> float:
    return math.fsum(grade / math.log2(place + 1) for place, grade in enumerate(grades, 1))


MEASURES: dict[str, Callable[[Ranked, Grades], float]] = {
    "ndcg@10": ndcg,
    "hit@1": hit,
    "mrr": reciprocal_rank,
    "recall@5": lambda ranked, grades: recall(ranked, grades, 5),
    "recall@10": lambda ranked, grades: recall(ranked, grades, 10),
}


@dataclass(frozen=True)
class Estimate:
    """A mean over queries and its 95 % interval."""

    mean: float
    low: float
    high: float


def estimate(values: Sequence[float], resamples: int = RESAMPLES) -> Estimate:
    """Mean with a bootstrap interval: queries drawn again with replacement, always by the same seed."""
    data = np.asarray(values, np.float64)
    if not len(data):
        return Estimate(math.nan, math.nan, math.nan)
    draws = np.random.default_rng(0).integers(0, len(data), (resamples, len(data)))
    low, high = np.quantile(data[draws].mean(axis=1), [0.025, 0.975])
    return Estimate(float(data.mean()), float(low), float(high))


def measure(rankings: Mapping[str, Ranked], relevant: Mapping[str, Grades]) -> dict[str, Estimate]:
    """Every measure over all queries that have relevant entries."""
    return {
        name: estimate([one(rankings[query], grades) for query, grades in relevant.items() if query in rankings])
        for name, one in MEASURES.items()
    }
