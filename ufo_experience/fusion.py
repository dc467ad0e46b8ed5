"""How the cosine of an embedder and the lexical share become one score.

    share = c·(1 - best lexical score)²        score = (1 - share)·lexical + share·max(cosine, 0)

Where the stored words cover the query, words decide; the less they do, the louder the embedder. `c` and the
threshold belong to the embedder. An embedder nobody has calibrated here ranks by its cosine alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.generation import Calibration

Floats = NDArray[np.float32]
SEED_THRESHOLD = 0.75  # of text-embedding-3-small, in the document this package implements


@dataclass(frozen=True)
class Fusion:
    """How one embedder is used. `cosine` 1 means by vectors alone, 0 by words alone."""

    embedder: str
    cosine: float
    threshold: float
    lexical_threshold: float = 0.28

    @property
    def ranked_by(self) -> Literal["vector", "structured", "fused"]:
        """The engine whose score a hit carries."""
        return "vector" if self.cosine == 1 else "structured" if self.cosine == 0 else "fused"

    def degraded(self) -> Fusion:
        """The same without vectors: words alone, with their own threshold."""
        return replace(self, cosine=0.0, threshold=self.lexical_threshold)

    def combine(self, lexical: Floats, cosine: Floats, best_lexical: float) -> Floats:
        """One score in [0, 1] per candidate; a candidate without a vector yet (NaN) is judged by its words."""
        if self.cosine == 1:
            alone: Floats = np.maximum(np.nan_to_num(cosine, nan=0.0), 0).astype(np.float32)
            return alone
        share = np.float32(self.cosine * (1 - min(best_lexical, 1.0)) ** 2)
        near = np.where(np.isnan(cosine), lexical, np.maximum(cosine, 0))
        mixed: Floats = ((1 - share) * lexical + share * near).astype(np.float32)
        return mixed


_DEFAULTS = {
    "hashing": Fusion("hashing", cosine=0.2, threshold=0.28),
    "local": Fusion("local", cosine=0.4, threshold=0.28),
}


def fusion_for(embedder: str, calibration: Calibration | None) -> Fusion:
    """The fusion of the embedder with this spec, with its calibrated threshold where there is one."""
    known = _DEFAULTS.get(embedder.partition(":")[0])
    if calibration is not None and calibration.embedder == embedder:
        base = known or Fusion(embedder, cosine=0.4, threshold=0.0)
        return replace(base, embedder=embedder, threshold=calibration.threshold)
    return replace(known, embedder=embedder) if known else Fusion(embedder, cosine=1.0, threshold=SEED_THRESHOLD)
