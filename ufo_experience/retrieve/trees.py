"""Boosted trees: from named features to a logit (Friedman 2001), all trees of one depth, so that a few look-ups do.

Every feature that has a direction has it in every tree: more of what speaks for a record never lowers its score.
`benchmarks/fit_relevance.py` makes the file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FILE = Path(__file__).with_name("relevance.json")


@dataclass(frozen=True)
class Trees:
    """Full binary trees: of each its `depth`-level splits by level (`feature`, `threshold`), and the `value` of its
    leaves. What is greater than the threshold goes right. The logit is `base` and the values of all trees."""

    names: tuple[str, ...]
    base: float
    feature: NDArray[np.int64]
    threshold: Floats
    value: Floats

    @property
    def depth(self) -> int:
        """How many splits lie between root and leaf."""
        return int(self.value.shape[1]).bit_length() - 1

    def logit(self, table: Floats) -> Floats:
        """One number for each row of a table whose columns are `names`."""
        (count, inner), rows = self.feature.shape, len(table)
        asked = np.ascontiguousarray(table.T).take(self.feature.ravel(), axis=0)
        is_right = (asked > self.threshold.reshape(-1, 1)).ravel()  # of each split and row
        first = np.arange(0, count * inner * rows, inner * rows)[:, None] + np.arange(rows)
        node = np.zeros((count, rows), np.int64)
        for level in range(self.depth):
            node = 2 * node + is_right.take(first + rows * (node + (2**level - 1)))
        leaves = self.value.take((node + np.arange(0, self.value.size, inner + 1)[:, None]).T)
        return np.asarray(self.base + np.ascontiguousarray(leaves).sum(axis=1), np.float64)


@lru_cache(maxsize=2)
def trees(name: str) -> Trees:
    """The trees of this name that come with the package: `words` or `vectors`."""
    return from_data(json.loads(FILE.read_text(encoding="utf-8"))[name])


def from_data(data: dict[str, Any]) -> Trees:
    """Trees from an object of the file."""
    return Trees(
        tuple(data["names"]),
        float(data["base"]),
        np.array(data["feature"], np.int64),
        np.array(data["threshold"], np.float64),
        np.array(data["value"], np.float64),
    )
