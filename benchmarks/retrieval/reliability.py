"""What scores stand for, and what was served by kind of query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.retrieval.beir import TaskSet

BINS = 10


@dataclass(frozen=True)
class Bin:
    """The best hits whose score lies in [low, low + 0.1): how many, their mean score, the share that is relevant."""

    low: float
    count: int
    score: float
    right: float


@dataclass(frozen=True)
class Reliability:
    """The bins that hold something, and the expected calibration error: the mean of |score - right| over the hits."""

    bins: tuple[Bin, ...]
    error: float


@dataclass(frozen=True)
class KindServed:
    """Of the queries of one kind: shares that were served a relevant entry, a wrong one, and anything though there is
    no relevant one. None where there are no such queries."""

    kind: str
    queries: int
    right: float | None
    wrong: float | None
    answered: float | None


def reliability(pairs: Sequence[tuple[float, bool]]) -> Reliability:
    """From the score of the best hit of each query, and whether it is relevant."""
    if not pairs:
        return Reliability((), 0.0)
    score, right = (np.array(part, np.float64) for part in zip(*pairs, strict=True))
    place = np.minimum((score * BINS).astype(np.int64), BINS - 1)
    bins = tuple(
        Bin(number / BINS, int(here.sum()), round(float(score[here].mean()), 4), round(float(right[here].mean()), 4))
        for number in range(BINS)
        if (here := place == number).any()
    )
    return Reliability(bins, round(sum(one.count * abs(one.score - one.right) for one in bins) / len(pairs), 4))


def by_kind(task_set: TaskSet, answers: Mapping[str, Sequence[str]]) -> tuple[KindServed, ...]:
    """What was served, by kind of query; nothing for a set that names no kinds."""
    kinds = sorted({query.kind for query in task_set.queries if query.kind})
    return tuple(_of_kind(kind, task_set, answers) for kind in kinds)


def _of_kind(kind: str, task_set: TaskSet, answers: Mapping[str, Sequence[str]]) -> KindServed:
    queries = [query for query in task_set.queries if query.kind == kind]
    relevant = task_set.relevant
    return KindServed(
        kind,
        len(queries),
        share([not relevant[one.id].keys().isdisjoint(answers[one.id]) for one in queries if one.id in relevant]),
        share([not set(one.wrong).isdisjoint(answers[one.id]) for one in queries if one.wrong]),
        share([bool(answers[one.id]) for one in queries if one.id not in relevant]),
    )


def share(flags: Sequence[bool]) -> float | None:
    """The share that is true; None of nothing."""
    return round(float(np.mean(flags)), 4) if flags else None
