"""Whom the memory believes: the lowest trust a record must have to be shown to an agent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from ufo_experience.schema import Experience, Trust
from ufo_experience.trust.completeness import missing
from ufo_experience.trust.risk import injectable_rank

INCOMPLETE = -2  # rank of a success nobody could follow: below every risky one, and no approval helps


def shown_rank(experience: Experience) -> int:
    """The trust that decides whether a record is put into a prompt: `INCOMPLETE` for a success that does not say what
    was asked, what was done or to what; else `injectable_rank`.
    """
    return INCOMPLETE if missing(experience) else injectable_rank(experience)


@dataclass(frozen=True)
class TrustPolicy:
    """The lowest trust that may be injected, of own records and of imported ones, and when one needs a new look."""

    own: Trust = Trust.VERIFIED
    imported: Trust = Trust.APPROVED
    stale_after: timedelta | None = None  # since a record was last seen to work

    def admits(self, experience: Experience) -> bool:
        """True for a record that may be injected; what the columns of an index said of it does not count."""
        least = self.imported if experience.provenance.origin == "import" else self.own
        return shown_rank(experience) >= least.rank

    def stale_before(self) -> float | None:
        """The moment (seconds since 1970) before which nothing counts as seen to work; None where nothing expires."""
        return None if self.stale_after is None else (datetime.now(timezone.utc) - self.stale_after).timestamp()

    def look_again(self, one: Experience) -> str | None:
        """Why a person should look at a record again; None where nothing speaks for it.

        The way did not lead on when it was last followed (its controls were not found, or the run failed), or it was
        not seen to work for longer than `stale_after`.
        """
        if one.usage.hurt and not one.usage.streak:
            return "did not work when it was last followed"
        seen, before = max(filter(None, (one.created_at, one.usage.last_success))), self.stale_before()
        return None if before is None or seen.timestamp() >= before else f"not seen to work since {seen:%Y-%m-%d}"
