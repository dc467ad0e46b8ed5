"""How the words of a request and the cosine of an embedder become two numbers per candidate.

    order   (1 - p)·share + p·cosine, with p = c·(1 - best share)²: which candidates are best. Where the stored words
            match the query, words decide; the less they do, the louder the embedder.
    score   (1 - b)·coverage + b·cosine: whether a candidate is worth serving. The threshold is a bar on this.

`c`, `b` and the threshold belong to the embedder. An embedder nobody has calibrated here is ranked and judged by its
cosine alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.generation import Calibration

Floats = NDArray[np.float32]
SEED_THRESHOLD = 0.75  # for text-embedding-3-small, from the document this package implements
LEXICAL_THRESHOLD = 0.44


@dataclass(frozen=True)
class Fusion:
    """How one embedder is used: its voice in the order (`c`) and in the score (`b`), both in [0, 1], and the bar."""

    embedder: str
    order_voice: float
    score_voice: float
    threshold: float
    lexical_threshold: float = LEXICAL_THRESHOLD

    @property
    def ranked_by(self) -> Literal["vector", "structured", "fused"]:
        """The engine a hit names."""
        if self.order_voice == self.score_voice == 1:
            return "vector"
        return "fused" if self.order_voice else "structured"

    def degraded(self) -> Fusion:
        """The same without vectors: words alone, with their own threshold."""
        return replace(self, order_voice=0.0, score_voice=0.0, threshold=self.lexical_threshold)

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
    "hashing": Fusion("hashing", order_voice=0.15, score_voice=0.0, threshold=LEXICAL_THRESHOLD),
    "local": Fusion("local", order_voice=0.3, score_voice=0.5, threshold=LEXICAL_THRESHOLD),
}


def fusion_for(embedder: str, calibration: Calibration | None) -> Fusion:
    """The fusion of the embedder with this spec, with its calibrated threshold where there is one."""
    known = _KNOWN.get(embedder.partition(":")[0])
    if calibration is not None and calibration.embedder == embedder:
        return replace(known or _KNOWN["local"], embedder=embedder, threshold=calibration.threshold)
    if known is not None:
        return replace(known, embedder=embedder)
    return Fusion(embedder, order_voice=1.0, score_voice=1.0, threshold=SEED_THRESHOLD)
