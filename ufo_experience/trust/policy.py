"""Whom the memory believes: by whose word a record is shown, when it needs a new look, and when harm hides it."""

from __future__ import annotations

from dataclasses import dataclass
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
    """The lowest trust that may be shown, of own records and of imported ones."""

    own: Trust = Trust.VERIFIED
    imported: Trust = Trust.APPROVED

    def admits(self, experience: Experience) -> bool:
        """True for a record that may be shown; what the columns of an index said of it does not count."""
        least = self.imported if experience.provenance.origin == "import" else self.own
        return shown_rank(experience) >= least.rank

    def look_again(self, one: Experience) -> str | None:
        """Why a person should look at a record again; None where nothing speaks for it: its controls were not found
        when it was last followed, or the run failed.
        """
        broken = one.usage.hurt and not one.usage.streak
        return "did not work when it was last followed" if broken else None
