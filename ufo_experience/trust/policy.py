"""Whom the memory believes: by whose word a record is shown, when it needs a new look, and when harm hides it."""

from __future__ import annotations

from dataclasses import dataclass

from ufo_experience.schema import Experience, Trust
from ufo_experience.trust.completeness import missing

INCOMPLETE = -2  # rank of a success nobody could follow: no approval helps
HIDE_AFTER = 3  # sessions that report harm until a record is hidden: one lowers its rank, it takes two others


def rests_on_log(experience: Experience) -> bool:
    """True for a record that is shown on nothing but what its own log says of the end; `ingest` names and counts these.

    The owner's word counts, and so does a log's that the owner ingests. Through MCP, `import` and an agent's own report
    a judgement never counts: whoever wrote it may be the one that is remembered.
    """
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

    def least(self, experience: Experience) -> Trust:
        """The lowest trust at which this one may be shown."""
        return self.imported if experience.provenance.origin == "import" else self.own

    def admits(self, experience: Experience) -> bool:
        """True for a record that may be shown; what the columns of an index said of it does not count."""
        return shown_rank(experience) >= self.least(experience).rank

    def look_again(self, one: Experience) -> str | None:
        """Why a person should look at a record again; None where nothing speaks for it: its controls were not found
        when it was last followed, or the run failed.
        """
        broken = one.usage.hurt and not one.usage.streak
        return "did not work when it was last followed" if broken else None
