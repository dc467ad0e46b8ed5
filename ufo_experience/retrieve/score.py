"""From features to an order and a score; all numbers are fitted by `benchmarks/retrieval/fit.py` and lie in one file.

    order   a weighted sum of features: which candidate is best
    score   boosted trees: how probable it is that the candidate helps, in [0, 1]

The trees also see where a candidate stands: how far it is ahead of the best other procedure. Each feature that has a
direction has it in every tree: more of what speaks for a record never lowers its score. How many records the store
holds counts nothing, so the score of a right one does not fall as others come.
The cosine of an embedder finds candidates; neither order nor score is fitted to it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.base import Candidate
from ufo_experience.request import Request, application_key
from ufo_experience.retrieve.features import COMMON, STORE, prepared, table_of
from ufo_experience.retrieve.opposites import conflict

Floats = NDArray[np.float64]
FILE = Path(__file__).with_name("relevance.json")
THRESHOLD = 0.75  # of the source documents: three of four that are served at the least score help
_ALIKE = 0.7  # of the weight of their words two requests share, to read like runs of one procedure
_BESIDE = 3  # other tasks of an application that tell whether a request is about it
STANDING = (
    "ahead",
    "words_ahead",
    "meaning_ahead",
    "best_masked",
    "log_length",
    "application_ahead",
    "application_named",
)
NAMES = (*STORE, *STANDING)


@dataclass(frozen=True)
class Trees:
    """Boosted trees in one table of nodes. What is at most the threshold of its feature goes left; a leaf is its own
    child. The logit is `base` and the leaves' values of all trees, which begin at `roots`."""

    names: tuple[str, ...]
    base: float
    depth: int
    roots: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: Floats
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: Floats

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Trees:
        """Trees from an object of the file."""
        roots, feature, left, right = (np.array(data[name], np.int64) for name in ("roots", "feature", "left", "right"))
        threshold, value = (np.array(data[name], np.float64) for name in ("threshold", "value"))
        return cls(tuple(data["names"]), data["base"], data["depth"], roots, feature, threshold, left, right, value)

    def logit(self, table: Floats) -> Floats:
        """One number for each row of a table whose columns are `names`."""
        rows = np.arange(len(table))[:, None]
        node = np.broadcast_to(self.roots, (len(table), len(self.roots)))
        for _ in range(self.depth):
            goes_left = table[rows, self.feature[node]] <= self.threshold[node]
            node = np.where(goes_left, self.left[node], self.right[node])
        return np.asarray(self.base + self.value[node].sum(axis=1), np.float64)


@lru_cache(maxsize=1)
def _fitted() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return data


@lru_cache(maxsize=1)
def _trees() -> Trees:
    return Trees.from_data(_fitted()["score"])


@dataclass(frozen=True)
class Scored:
    """Candidates best first, with all that is known of each; `table` has the columns `NAMES`."""

    candidates: tuple[Candidate, ...]
    order: Floats
    score: Floats
    table: Floats


def scored(asked: Request, candidates: Sequence[Candidate], rarity: Mapping[str, float], named: bool) -> Scored:
    """Candidates in order, each with its score. `rarity` is that of all their words and, under "", of an unknown one;
    `named` says that an application was asked for."""
    table = features(asked, candidates, rarity, named)
    place = ordered(table, candidates, order_of(table))
    table, candidates = table[place], tuple(candidates[one] for one in place)
    names = _trees().names
    logit = _trees().logit(table[:, [NAMES.index(name) for name in names]])
    return Scored(candidates, order_of(table), np.asarray(1 / (1 + np.exp(-logit)), np.float64), table)


def features(asked: Request, candidates: Sequence[Candidate], rarity: Mapping[str, float], named: bool) -> Floats:
    """All features of each candidate, columns as in `NAMES`."""
    own = table_of(asked, candidates, rarity, rarity[""])
    return np.hstack([own, standing(asked, candidates, own, named)])


def order_of(table: Floats) -> Floats:
    """Higher is better."""
    weights: Mapping[str, float] = _fitted()["order"]
    total = np.zeros(len(table))
    for name, weight in weights.items():
        total += weight * table[:, NAMES.index(name)]
    return total


def ordered(table: Floats, candidates: Sequence[Candidate], order: Floats) -> list[int]:
    """Places, best first; ties by id."""
    return sorted(range(len(candidates)), key=lambda place: (-order[place], candidates[place].row.id))


def standing(asked: Request, candidates: Sequence[Candidate], table: Floats, named: bool) -> Floats:
    """Where each candidate stands among the others; columns as in `STANDING`."""
    columns = {name: table[:, STORE.index(name)] for name in ("words", "masked", "meaning")}
    together = columns["words"] + columns["masked"] + columns["meaning"]
    best = int(together.argmax())
    same = np.array([_is_run_of(candidates[best], one) for one in candidates], np.bool_)
    whole = np.ones(len(candidates))
    length = sum(word not in COMMON for word in asked.words)
    return np.column_stack(
        [
            *(_ahead(values, same, best) for values in (together, columns["words"], columns["meaning"])),
            whole * columns["masked"].max(initial=0.0),
            whole * np.log(max(length, 1)),
            _application_ahead(together, candidates),
            whole * named,
        ]
    )


def _is_run_of(best: Candidate, other: Candidate) -> bool:
    """True for what reads like another run of the best one's procedure: that is not ahead of it, nor behind."""
    if best.row.task_key == other.row.task_key:
        return True
    one, two = prepared(best.row.request), prepared(other.row.request)
    weight = dict(zip(two.stems, two.lost, strict=True)) | dict(zip(one.stems, one.lost, strict=True))
    shared = math.fsum(weight[word] for word in one.words & two.words)
    alike = shared >= _ALIKE * math.fsum(weight.values())
    return alike and conflict(best.row.request, other.row.request) is None


def _ahead(values: Floats, same: NDArray[np.bool_], best: int) -> Floats:
    """Each value minus the highest of the other procedures; of those that are not of the best one minus the best's."""
    others = float(values[~same].max(initial=0.0))
    return np.asarray(values - np.where(same, others, values[best]), np.float64)


def _application_ahead(values: Floats, candidates: Sequence[Candidate]) -> Floats:
    """How much nearer the best other tasks of its application come than those of other applications."""
    keys = [application_key(one.row.application) for one in candidates]
    tasks = [one.row.task_key for one in candidates]
    best: dict[str, dict[str, float]] = {}
    for key, task, value in zip(keys, tasks, values.tolist(), strict=True):
        known = best.setdefault(key, {})
        known[task] = max(value, known.get(task, 0.0))
    if len(best) < 2:
        return np.zeros(len(candidates))
    others = {key: _mean(value for other in best if other != key for value in best[other].values()) for key in best}
    own = (
        _mean(value for other, value in best[key].items() if other != task) - others[key]
        for key, task in zip(keys, tasks, strict=True)
    )
    return np.fromiter(own, np.float64)


def _mean(values: Iterable[float]) -> float:
    return sum(sorted(values, reverse=True)[:_BESIDE]) / _BESIDE
