"""How what is known of a query and its candidates becomes an order and one score.

    order   g·skeleton + (1 - g)·(words, coverage, head; and near, if there are vectors), where g is near 1 when some
            record has the skeleton of the query: then its words decide, else every signal counts
    score   the estimated probability that the experience helps: boosted trees over all signals and the standing of the
            candidate among the others, one set of words alone and one with vectors (`trees.py`)

The numbers are fitted once (`docs/retrieval.md` says on what, and how they hold on sets they were not fitted on) and
are the same for every embedder and store. `near` is the cosine on a scale that is made anew for every query from its
cosines with tasks it has nothing to do with: an affine change of all cosines changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.manifest import Calibration
from ufo_experience.retrieve.features import NAMES
from ufo_experience.retrieve.standing import STANDING, Standing
from ufo_experience.retrieve.trees import trees

Floats = NDArray[np.float64]
Engine = Literal["vector", "structured", "fused"]
THRESHOLD = 0.75  # the default of the source documents: three of four that are served at the least score help
_GATE, _STEEP = 0.33, 20.0  # the share of the skeleton at which it counts as much as the rest, and how sharply
_ORDER = {
    "words": 1.2, "query_coverage": 0.42, "record_coverage": 0.23, "missing": -0.2, "surplus": -0.14, "clicked": 0.2,
    "inversions": -0.05, "same_values": 0.25, "meaning": 0.8,
}  # fmt: skip
_NEAR = 1.3


@dataclass(frozen=True)
class Signals:
    """Of each candidate: shares of skeleton and words, the features of the pair, `near` in [0, 1] (NaN without a
    vector), and how many standard deviations of the background the cosine lies above it. `vector_weight` is that of the
    embedder, in [0, 1] (see `background`)."""

    skeleton: Floats
    words: Floats
    pair: Floats
    near: Floats
    deviations: Floats
    vector_weight: float = 0.0

    def taken(self, places: NDArray[np.int64]) -> Signals:
        """The signals of the candidates at these places."""
        skeleton, words, pair, near, deviations = (
            part[places] for part in (self.skeleton, self.words, self.pair, self.near, self.deviations)
        )
        return Signals(skeleton, words, pair, near, deviations, self.vector_weight)

    @property
    def meaning(self) -> Floats:
        """The cosine of the meaning of query and record."""
        return np.asarray(self.pair[:, NAMES.index("meaning")])

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns of `table` are called."""
        return "skeleton", "words", *NAMES, "near", "deviations"

    def table(self) -> Floats:
        """Every signal as a column, one row a candidate."""
        return np.column_stack([self.skeleton, self.words, self.pair, self.near, self.deviations])

    def named(self) -> dict[str, Floats]:
        """Every signal by its name."""
        pair = dict(zip(NAMES, self.pair.T, strict=True))
        vector = {"near": self.near, "deviations": self.deviations}
        return {"skeleton": self.skeleton, "words": self.words, **pair, **vector}


@dataclass(frozen=True)
class Fusion:
    """How the embedder of a store is used: `uses_vectors` or not, and thresholds that were calibrated."""

    embedder: str
    uses_vectors: bool = True
    threshold: float | None = None
    lexical_threshold: float | None = None

    @property
    def ranked_by(self) -> Engine:
        """The engine a hit names."""
        return "fused" if self.uses_vectors else "structured"

    def degraded(self) -> Fusion:
        """The same without vectors: words alone, with their own threshold."""
        return replace(self, uses_vectors=False, threshold=self.lexical_threshold)

    def default_threshold(self) -> float:
        """The lowest score that is served."""
        return THRESHOLD if self.threshold is None else self.threshold


def order(signals: Signals, best_skeleton: float) -> Floats:
    """Higher is better; what has no vector is placed by its words."""
    gate = 1 / (1 + np.exp(-_STEEP * (best_skeleton - _GATE)))
    known = signals.named()
    rest = sum((weight * known[name] for name, weight in _ORDER.items()), np.zeros(len(signals.skeleton)))
    rest = rest + _NEAR * signals.vector_weight * np.where(np.isnan(signals.near), 0.0, signals.near)
    return np.asarray(gate * signals.skeleton + (1 - gate) * rest, np.float64)


def relevance(signals: Signals, standing: Standing) -> Floats:
    """The estimated probability that each candidate helps with the query: by words alone and with vectors, mixed by the
    weight of the vectors. What has no vector yet is judged by its words."""
    table, names = np.hstack([signals.table(), standing.table()]), (*signals.names, *STANDING)
    logit = _logit("words", table, names)
    if signals.vector_weight > 0:
        vector_weight = np.where(np.isnan(signals.near), 0.0, signals.vector_weight)
        logit = (1 - vector_weight) * logit + vector_weight * _logit("vectors", table, names)
    return np.asarray(1 / (1 + np.exp(-logit)), np.float64)


def _logit(model: str, table: Floats, names: Sequence[str]) -> Floats:
    known = trees(model)
    return known.logit(table[:, [names.index(name) for name in known.names]])


def fusion_for(embedder: str, calibration: Calibration | None) -> Fusion:
    """The fusion of the embedder with this spec, with its calibrated thresholds where there are some.

    Vectors of hashed words add nothing to the words themselves: they are not used.
    """
    uses_vectors = embedder.partition(":")[0] != "hashing"
    if calibration is not None and calibration.embedder == embedder:
        return Fusion(embedder, uses_vectors, calibration.threshold, calibration.lexical_threshold)
    return Fusion(embedder, uses_vectors)
