"""Credit: what became of a record after it was shown, and what follows for its score.

Usefulness is the mean of a Beta posterior, (helped + 2) / (helped + hurt + 4): two good and two bad outcomes are
assumed before the first is seen, so a single lucky success moves little. A record that hurts more than it helps loses
score, and is at last withheld; one that helped never beats a better match.
"""

from ufo_experience.index.base import Row
from ufo_experience.trust.policy import HIDE_AFTER

_PRIOR = 2.0


def usefulness(row: Row) -> float:
    """Posterior mean in (0, 1); 0.5 for what was never reported on."""
    return (row.helped + _PRIOR) / (row.helped + row.hurt + 2 * _PRIOR)


def usage_factor(row: Row) -> float:
    """Factor on the score: 1 unless it hurt more often than it helped."""
    return min(1.0, 2 * usefulness(row))


def is_harmful(row: Row) -> bool:
    """True for a record that hurt so often that it is not shown any more."""
    return row.hurt >= HIDE_AFTER and row.hurt > row.helped
