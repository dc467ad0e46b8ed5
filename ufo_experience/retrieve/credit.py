"""Credit: what became of a record after it was shown, and what follows for its score.

Usefulness is the mean of a Beta posterior, (helped + 2) / (helped + hurt + 4): two good and two bad outcomes are
assumed before the first is seen, so a single lucky success moves little. A record that hurts more than it helps loses
score, and is at last withheld; one that helped never beats a better match.
"""

from __future__ import annotations

from datetime import datetime

from ufo_experience.index.base import Row
from ufo_experience.trust.policy import HIDE_AFTER

STALE = 0.8  # factor on the score of what was not seen to work for long
_PRIOR = 2.0


def usefulness(row: Row) -> float:
    """Posterior mean in (0, 1); 0.5 for what was never reported on."""
    return (row.helped + _PRIOR) / (row.helped + row.hurt + 2 * _PRIOR)


def usage_factor(row: Row, stale_before: datetime | None = None) -> float:
    """Factor on the score: 1 unless it hurt more often than it helped, or was last seen to work before that moment."""
    seen = max(filter(None, (row.created_at, row.last_success)))
    stale = stale_before is not None and seen < stale_before
    return min(1.0, 2 * usefulness(row)) * (STALE if stale else 1.0)


def is_harmful(row: Row) -> bool:
    """True for a record that hurt so often that it is not shown any more."""
    return row.hurt >= HIDE_AFTER and row.hurt > row.helped
