"""Whom the memory believes: by whose word a record is shown, when it needs a new look, and when harm hides it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Literal

from ufo_experience.schema import Experience, Outcome, Trust
from ufo_experience.trust.completeness import missing

Door = Literal["owner", "log", "mcp", "agent", "import"]

INCOMPLETE = -2  # rank of a success nobody could follow: no approval helps
HIDE_AFTER = 3  # sessions that report harm until a record is hidden: one lowers its rank, it takes two others
_BELIEVED = frozenset({"owner", "log"})  # doors through which a judgement counts


def trust_of(outcome: Outcome, door: Door, *, complete: bool = True) -> Trust:
    """The trust of a record by the door it came through.

    The owner's word counts, and so does what a log says of itself when the owner ingests it. Through MCP, `import` and
    an agent's own report a judgement never counts: whoever wrote it may be the one that is remembered.
    """
    if door == "import":
        return Trust.QUARANTINED
    return Trust.VERIFIED if outcome.is_judged and complete and door in _BELIEVED else Trust.OBSERVED


def rests_on_log(experience: Experience) -> bool:
    """True for a record that is shown on nothing but what its own log says; answers count these."""
    from_log = experience.provenance.origin == "log" and experience.outcome.judge != "user"
    return from_log and experience.trust is Trust.VERIFIED and not experience.usage.helped


def shown_rank(experience: Experience) -> int:
    """The trust that decides whether a record is shown: `INCOMPLETE` for a success that does not say what was asked,
    what was done or to what.
    """
    return INCOMPLETE if missing(experience) else experience.trust.rank


@dataclass(frozen=True)
class TrustPolicy:
    """The lowest trust that may be shown, of own records and of imported ones, and when one needs a new look."""

    own: Trust = Trust.VERIFIED
    imported: Trust = Trust.APPROVED
    stale_after: timedelta | None = None  # since a record was last seen to work

    def admits(self, experience: Experience) -> bool:
        """True for a record that may be shown; what the columns of an index said of it does not count."""
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
