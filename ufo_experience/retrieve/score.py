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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.base import Candidate
from ufo_experience.request import Request
from ufo_experience.retrieve.features import NAMES, table_of

Floats = NDArray[np.float64]
FILE = Path(__file__).with_name("relevance.json")
THRESHOLD = 0.75  # of the source documents: three of four that are served at the least score help


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
        roots, feature, left, right = (np.array(data[name], np.int64) for name in ("roots", "feature", "left", "right"))
        threshold, value = (np.array(data[name], np.float64) for name in ("threshold", "value"))
        return cls(tuple(data["names"]), data["base"], data["depth"], roots, feature, threshold, left, right, value)

    def logit(self, table: Floats) -> Floats:
        """One number for each row of a table whose columns are `NAMES`."""
        table = table[:, [NAMES.index(name) for name in self.names]]
        rows = np.arange(len(table))[:, None]
        node = np.broadcast_to(self.roots, (len(table), len(self.roots)))
        for _ in range(self.depth):
            goes_left = table[rows, self.feature[node]] <= self.threshold[node]
            node = np.where(goes_left, self.left[node], self.right[node])
        return np.asarray(self.base + self.value[node].sum(axis=1), np.float64)


@lru_cache(maxsize=1)
def _fitted() -> tuple[dict[str, float], Trees]:
    data = json.loads(FILE.read_text(encoding="utf-8"))
    return data["order"], Trees.from_data(data["score"])


def scored(
    asked: Request, candidates: Sequence[Candidate], rarity: Mapping[str, float]
) -> list[tuple[Candidate, float, float, dict[str, float]]]:
    """Candidates in order, each with its place in the order (higher is better), its score and its features. `rarity`
    is that of all their words and, under "", of an unknown one."""
    if not candidates:
        return []
    weights, trees = _fitted()
    table = table_of(asked, candidates, rarity)
    order = table[:, [NAMES.index(name) for name in weights]] @ np.array([*weights.values()])
    score = 1 / (1 + np.exp(-trees.logit(table)))
    told = (dict(zip(NAMES, row, strict=True)) for row in table.tolist())
    found = zip(candidates, order.tolist(), score.tolist(), told, strict=True)
    return sorted(found, key=lambda one: (-one[1], one[0].row.id))
