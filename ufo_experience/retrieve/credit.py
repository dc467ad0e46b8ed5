"""Credit: what became of an experience after it was injected, and what follows for its rank.

Usefulness is the mean of a Beta posterior, (helped + 2) / (helped + hurt + 4): two good and two bad outcomes are
assumed before the first is seen, so a single lucky success moves little. An experience that hurts more than it
helps loses score, and is at last withheld; one that helped never beats a better match.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.ids import content_id
from ufo_experience.index.catalog import Catalog, Mask
from ufo_experience.schema import MAX_SESSIONS, Usage

STALE = 0.8  # factor on the score of what was not seen to work for long
PRIOR = 2.0
WITHHOLD_BELOW = 0.3
WITHHOLD_AFTER = 3  # times hurt, before anything is withheld


def usefulness(helped: NDArray[Any], hurt: NDArray[Any]) -> NDArray[np.float32]:
    """Posterior mean in (0, 1); 0.5 for what was never reported on."""
    mean: NDArray[np.float32] = ((helped + PRIOR) / (helped + hurt + 2 * PRIOR)).astype(np.float32)
    return mean


def hurt_factor(catalog: Catalog, rows: NDArray[Any]) -> NDArray[np.float32]:
    """Factor on the score of each row by what became of it: 1 unless it hurt more often than it helped."""
    useful = usefulness(catalog.column("helped")[rows], catalog.column("hurt")[rows])
    factor: NDArray[np.float32] = np.minimum(np.float32(1.0), 2 * useful)
    return factor


def usage_factor(catalog: Catalog, rows: NDArray[Any], stale_before: float | None = None) -> NDArray[np.float32]:
    """Factor on the score of each row: 1 unless it hurt more often than it helped, or was last seen to work before
    `stale_before` (seconds since 1970; None: nothing expires).
    """
    factor = hurt_factor(catalog, rows)
    if stale_before is not None:
        seen = np.fmax(catalog.column("created")[rows], catalog.column("last_success")[rows])
        factor = np.where(seen < stale_before, factor * np.float32(STALE), factor)
    return factor


def harmful(catalog: Catalog, rows: NDArray[Any] | slice = slice(None)) -> Mask:
    """Which of some rows (all by default) have hurt so often that they are not injected any more."""
    helped, hurt = catalog.column("helped")[rows], catalog.column("hurt")[rows]
    mask: Mask = hurt >= WITHHOLD_AFTER
    some = np.flatnonzero(mask)
    mask[some] = usefulness(helped[some], hurt[some]) < WITHHOLD_BELOW
    return mask


def credited(usage: Usage, success: bool, when: datetime, session: str | None = None) -> Usage:
    """Usage after one more run in which the experience was injected; unchanged when this session was reported before.

    The last `MAX_SESSIONS` sessions are remembered, as digests.
    """
    key = content_id([session])[:16] if session else None
    if key in usage.sessions:
        return usage
    return Usage(
        injected=usage.injected + 1,
        helped=usage.helped + int(success),
        hurt=usage.hurt + int(not success),
        streak=usage.streak + 1 if success and usage.hurt else 0,
        last_success=when if success else usage.last_success,
        sessions=(*usage.sessions, key)[-MAX_SESSIONS:] if key else usage.sessions,
    )
