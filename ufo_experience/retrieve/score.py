"""From features to an order and a score, fitted by `benchmarks/retrieval/fit.py`; and what moves the score afterwards.

    order   a weighted sum of features: which candidate is best
    score   boosted trees: how probable it is that the candidate helps, in [0, 1]
    lifted  by other wordings of the task, which help to find it and do not vouch for it
    usage_factor, usefulness  what became of the record after it was shown

The trees also see where a candidate stands: how far it is ahead of the best other procedure. Each feature that has a
direction has it in every tree: more of what speaks for a record never lowers its score. How many records the store
holds counts nothing, so the score of a right one does not fall as others come.
The cosine of an embedder finds candidates; neither order nor score is fitted to it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.base import Candidate, Row
from ufo_experience.request import Request
from ufo_experience.retrieve.features import COMMON, NAMES, prepared, table_of
from ufo_experience.retrieve.opposites import conflict
from ufo_experience.trust.policy import HIDE_AFTER

Floats = NDArray[np.float64]
FILE = Path(__file__).with_name("relevance.json")
MOST = 2.0  # in the logit, that a wording lifts: from .3 to .76, from .1 to .45
_NEAR = 0.5  # of the words of both, from which on a wording is near
_PRIOR = 2.0  # good outcomes, and bad ones, that are assumed before the first is seen
_NODES = frozenset({"roots", "feature", "threshold", "left", "right", "value"})
THRESHOLD = 0.75  # of the source documents: three of four that are served at the least score help


@lru_cache(maxsize=1)
def _fitted() -> tuple[dict[str, float], dict[str, Any]]:
    """The weights of the order, and the trees: one table of nodes, the columns of which are arrays."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    trees = {name: np.array(told) if name in _NODES else told for name, told in data["score"].items()}
    return data["order"], trees


def _logit(table: Floats) -> Floats:
    """One number for each row of a table whose columns are `NAMES`: `base` and the leaves' values of all trees, which
    begin at `roots`. What is at most the threshold of its feature goes left; a leaf is its own child.
    """
    _, trees = _fitted()
    table = table[:, [NAMES.index(name) for name in trees["names"]]]
    rows = np.arange(len(table))[:, None]
    node = np.broadcast_to(trees["roots"], (len(table), len(trees["roots"])))
    for _ in range(trees["depth"]):
        goes_left = table[rows, trees["feature"][node]] <= trees["threshold"][node]
        node = np.where(goes_left, trees["left"][node], trees["right"][node])
    return np.asarray(trees["base"] + trees["value"][node].sum(axis=1), np.float64)


def scored(
    asked: Request, candidates: Sequence[Candidate], rarity: Mapping[str, float]
) -> list[tuple[Candidate, float, float, dict[str, float]]]:
    """Candidates in order, each with its place in the order (higher is better), its score and its features. `rarity`
    is that of all their words and, under "", of an unknown one."""
    if not candidates:
        return []
    weights, _ = _fitted()
    table = table_of(asked, candidates, rarity)
    order = table[:, [NAMES.index(name) for name in weights]] @ np.array([*weights.values()])
    score = 1 / (1 + np.exp(-_logit(table)))
    told = (dict(zip(NAMES, row, strict=True)) for row in table.tolist())
    found = zip(candidates, order.tolist(), score.tolist(), told, strict=True)
    return sorted(found, key=lambda one: (-one[1], one[0].row.id))


def lifted(request: Request, row: Row, score: float) -> float:
    """The score of a record of which a wording comes close to the request: more by at most so much, and only where the
    request does not contradict the task itself. A wording that says something else than its task ("Turn off the
    firewall" on "Check the firewall") is never served by its own word alone.
    """
    near = max((_likeness(request, one) for one in row.wordings), default=0.0)
    if near <= _NEAR or not _does(request, row.request) or conflict(request, row.request) is not None:
        return score
    logit = math.log(max(score, 1e-6) / max(1 - score, 1e-6)) + MOST * (near - _NEAR) / (1 - _NEAR)
    return 1 / (1 + math.exp(-logit))


def _does(request: Request, task: Request) -> bool:
    """True where the task says what the request asks to do, in the same word or a related one."""
    asked, told = prepared(request), prepared(task)
    verb = asked.words[asked.verb] if asked.verb >= 0 else None
    return verb is None or verb.stem in told.stems or not verb.related.isdisjoint(told.own)


def _likeness(request: Request, wording: Request) -> float:
    """The share of words that say something which both have, of those of either."""
    if conflict(request, wording) is not None:
        return 0.0
    asked, said = (
        {word for word, kind in zip(side.words, side.kinds, strict=True) if word not in COMMON and not kind}
        for side in (request, wording)
    )
    return len(asked & said) / len(asked | said) if asked | said else 0.0


def usefulness(row: Row) -> float:
    """The mean of a Beta posterior, in (0, 1): a single lucky success moves little. 0.5 where nothing was reported."""
    return (row.helped + _PRIOR) / (row.helped + row.hurt + 2 * _PRIOR)


def usage_factor(row: Row) -> float:
    """Factor on the score: 1 unless it hurt more often than it helped."""
    return min(1.0, 2 * usefulness(row))


def is_harmful(row: Row) -> bool:
    """True for a record that hurt so often that it is not shown any more."""
    return row.hurt >= HIDE_AFTER and row.hurt > row.helped
