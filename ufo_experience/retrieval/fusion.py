"""How the words of a request and the cosine of an embedder become two numbers per candidate.

    order   (1 - p)·share + p·cosine, with p = c·(1 - best share)²: which candidates are best. Where the stored words
            match the query, words decide; the less they do, the louder the embedder.
    score   (1 - b)·coverage + b·cosine: whether a candidate is worth serving. The threshold is a bar on this.

`c` and `b` belong to the embedder. So does the bar, once it is calibrated; until then it grows with the size of
the store (see `bar_for`). An embedder nobody has measured here is ranked and judged by its cosine alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.manifest import Calibration

Floats = NDArray[np.float32]
SEED_THRESHOLD = 0.75  # for text-embedding-3-small, from the document this package implements
FEWEST, MOST = 1, 1000  # the sizes between which the bar was measured


def bar_for(size: int) -> float:
    """The bar that keeps strangers out of a store of this many runs: 0.20 + 0.035·ln(size), 0.20 to 0.44.

    Of more strangers the best one comes nearer. Measured on samples of three task sets: at every size at most 5 % of
    unrelated requests reach it, and 93 % or more of related ones do (`docs/retrieval.md`).
    """
    return round(0.20 + 0.035 * math.log(min(max(size, FEWEST), MOST)), 4)


@dataclass(frozen=True)
class Fusion:
    """How one embedder is used: its voice in the order (`c`) and in the score (`b`), both in [0, 1], and the bar.

    `threshold` and `lexical_threshold` (of words alone) are calibrated; None means `bar_for` the size of the store.
    """

    embedder: str
    order_voice: float
    score_voice: float
    threshold: float | None = None
    lexical_threshold: float | None = None

    @property
    def ranked_by(self) -> Literal["vector", "structured", "fused"]:
        """The engine a hit names."""
        if self.order_voice == self.score_voice == 1:
            return "vector"
        return "fused" if self.order_voice else "structured"

    def degraded(self) -> Fusion:
        """The same without vectors: words alone, with their own threshold."""
        return replace(self, order_voice=0.0, score_voice=0.0, threshold=self.lexical_threshold)

    def bar(self, size: int) -> float:
        """The lowest score that is served from a store of this many runs."""
        return bar_for(size) if self.threshold is None else self.threshold

    def order(self, share: Floats, cosine: Floats, best_share: float) -> Floats:
        """Higher is better; a candidate without a vector yet (NaN) is placed by its words."""
        voice = 1.0 if self.ranked_by == "vector" else self.order_voice * (1 - min(best_share, 1.0)) ** 2
        return _mix(share, cosine, voice)

    def score(self, coverage: Floats, cosine: Floats) -> Floats:
        """In [0, 1]; comparable across queries of the same embedder."""
        return _mix(coverage, cosine, self.score_voice)


def _mix(words: Floats, cosine: Floats, voice: float) -> Floats:
    near = np.where(np.isnan(cosine), words, np.maximum(cosine, 0))
    mixed: Floats = ((1 - voice) * words + voice * near).astype(np.float32)
    return mixed


_KNOWN = {
    "hashing": Fusion("hashing", order_voice=0.01, score_voice=0.0),  # the same words again: it decides ties
    "local": Fusion("local", order_voice=0.3, score_voice=0.5),
}


def measured_fusion(embedder: str) -> Fusion:
    """How an embedder is used once there are measurements of it; one that is not known here like a local model."""
    return replace(_KNOWN.get(embedder.partition(":")[0], _KNOWN["local"]), embedder=embedder)


def fusion_for(embedder: str, calibration: Calibration | None) -> Fusion:
    """The fusion of the embedder with this spec, with its calibrated thresholds where there are some."""
    if calibration is not None and calibration.embedder == embedder:
        fused, words = calibration.threshold, calibration.lexical_threshold
        return replace(measured_fusion(embedder), threshold=fused, lexical_threshold=words)
    if embedder.partition(":")[0] in _KNOWN:
        return measured_fusion(embedder)
    return Fusion(embedder, order_voice=1.0, score_voice=1.0, threshold=SEED_THRESHOLD)
