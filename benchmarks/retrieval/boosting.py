"""Fit boosted trees of one depth with directions of features (gradient boosting of the logistic loss)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NOWHERE = 1e6  # the threshold of a node that is not split: nothing goes right


@dataclass(frozen=True)
class Boosting:
    """Number and depth of the trees, shrinkage, L2 penalty of a leaf, least weight in one, and bins of a feature."""

    trees: int = 200
    depth: int = 3
    rate: float = 0.09
    penalty: float = 15.0
    least: float = 30.0
    bins: int = 32


def fit(table: Floats, labels: Floats, weights: Floats, signs: Sequence[int], how: Boosting) -> dict[str, Any]:
    """Trees as `retrieval/trees.py` reads them (without names). `signs` are the directions of the columns: 1 for one
    that never lowers the logit, -1 for one that never raises it, 0 for either.
    """
    edges = [_edges(column, how.bins) for column in table.T]
    binned = np.stack([np.searchsorted(edge, column) for edge, column in zip(edges, table.T, strict=True)], axis=1)
    base = round(float(np.log((weights * labels).sum() / (weights * (1 - labels)).sum())), 4)
    logit, found = np.full(len(table), base), {"feature": [], "threshold": [], "value": []}  # type: ignore[var-annotated]
    for _ in range(how.trees):
        right = 1 / (1 + np.exp(-logit))
        pull, pace = weights * (labels - right), weights * right * (1 - right)
        features, thresholds, values, leaf = _tree(binned, edges, pull, pace, weights, np.array(signs), how)
        logit += values[leaf]
        for name, part in (("feature", features), ("threshold", thresholds), ("value", values.tolist())):
            found[name].append(part)
    return {"base": base, **found}


def _edges(column: Floats, bins: int) -> Floats:
    """Between which values a feature may be split: all, or the quantiles of many."""
    values = np.unique(column)
    if len(values) <= bins:
        return np.asarray(np.round((values[1:] + values[:-1]) / 2, 4), np.float64)
    return np.asarray(np.round(np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)[1:-1])), 4), np.float64)


def _tree(
    binned: Ints, edges: Sequence[Floats], pull: Floats, pace: Floats, weights: Floats, signs: Ints, how: Boosting
) -> tuple[list[int], list[float], Floats, Ints]:
    """Splits by level, values of the leaves, and the leaf of each row."""
    rows, columns = binned.shape
    node, low, high = np.zeros(rows, np.int64), np.array([-np.inf]), np.array([np.inf])
    features: list[int] = []
    thresholds: list[float] = []
    width = how.bins + 1
    for _ in range(how.depth):
        places = (node[:, None] * (columns * width) + binned + np.arange(columns) * width).ravel()
        sums = [_running(places, part, len(low), columns, width) for part in (pull, pace, weights)]
        place, left, right = _best(sums, low, high, signs, how)
        feature, split = place // (width - 1), place % (width - 1)
        none = place < 0
        low, high = _bounds(low, high, left, right, np.where(none, 0, signs[feature]))
        features += np.where(none, 0, feature).tolist()
        thresholds += [
            NOWHERE if nothing or at >= len(edges[one]) else float(edges[one][at])
            for one, at, nothing in zip(feature, split, none, strict=True)
        ]
        limit = np.where(none, width, split)
        node = 2 * node + (binned[np.arange(rows), np.where(none, 0, feature)[node]] > limit[node])
    pulls, paces = (np.bincount(node, part, len(low)) for part in (pull, pace))
    return features, thresholds, np.round(how.rate * np.clip(pulls / (paces + how.penalty), low, high), 4), node


def _running(places: Ints, part: Floats, nodes: int, columns: int, width: int) -> Floats:
    """Of each node and feature the sums of a part up to each bin."""
    summed = np.bincount(places, np.repeat(part, columns), nodes * columns * width)
    return np.asarray(summed.reshape(nodes, columns, width).cumsum(axis=2), np.float64)


def _best(sums: Sequence[Floats], low: Floats, high: Floats, signs: Ints, how: Boosting) -> tuple[Ints, Floats, Floats]:
    """Of each node the place of the best split (feature times bins, -1 where none gains), and its two values."""
    floor, roof = low[:, None, None], high[:, None, None]
    pull, pace, weight = sums
    sides = [(pull, pace, weight), tuple(part[:, :, -1:] - part for part in sums)]
    values = [np.clip(some / (fast + how.penalty), floor, roof) for some, fast, _ in sides]
    whole = np.clip(pull[:, :, -1:] / (pace[:, :, -1:] + how.penalty), floor, roof)
    gain = -_gain(whole, pull[:, :, -1:], pace[:, :, -1:], how)
    for value, (some, fast, _) in zip(values, sides, strict=True):
        gain = gain + _gain(value, some, fast, how)
    light = (sides[0][2] < how.least) | (sides[1][2] < how.least)
    against = (values[1] - values[0]) * signs[None, :, None] < 0
    flat = np.where(light | against, -np.inf, gain)[:, :, :-1].reshape(len(low), -1)
    place, nodes = flat.argmax(axis=1), np.arange(len(low))
    left, right = (value[:, :, :-1].reshape(len(low), -1)[nodes, place] for value in values)
    return np.where(flat[nodes, place] > 1e-6, place, -1), left, right


def _gain(value: Floats, pull: Floats, pace: Floats, how: Boosting) -> Floats:
    return np.asarray(2 * value * pull - value * value * (pace + how.penalty), np.float64)


def _bounds(low: Floats, high: Floats, left: Floats, right: Floats, signs: Ints) -> tuple[Floats, Floats]:
    """The bounds of both children: on either side of the middle, where the feature has a direction."""
    lows, highs, middle = np.repeat(low, 2), np.repeat(high, 2), (left + right) / 2
    for node, sign in enumerate(signs):
        lower, upper = (2 * node, 2 * node + 1) if sign > 0 else (2 * node + 1, 2 * node)
        if sign:
            highs[lower], lows[upper] = min(highs[lower], middle[node]), max(lows[upper], middle[node])
    return lows, highs
