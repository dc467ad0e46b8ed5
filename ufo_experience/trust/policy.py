"""Whom the memory believes: by whose word a record is shown, when it needs a new look, and when harm hides it."""

from dataclasses import dataclass

from ufo_experience.actions import is_blind
from ufo_experience.schema import UNKNOWN_TASK, Experience, Trust

HIDE_AFTER = 3  # sessions that report harm until a record is hidden: one lowers its rank, it takes two others


def missing(experience: Experience) -> str | None:
    """What a record lacks to be shown as a success: "no task", "no step" or "no named target"; None when it is whole.

    A successful run without these teaches an agent nothing, however well it was judged: it is kept, counted at ingest
    and never put into a prompt. A failed run is a warning and lacks nothing. What a program hands in (`origin` "api")
    may tell of a strategy or a skill instead of steps.
    """
    action, state = experience.action, experience.state
    if experience.is_negative:
        return None
    if UNKNOWN_TASK in (state.task, state.request):
        return "no task"
    if not action.steps:
        return None if action.plan or experience.provenance.origin in ("api", "import") else "no step"
    named = sum(bool(step.target_control.name) for step in action.steps)
    return "no named target" if sum(map(is_blind, action.steps)) > named else None


def rests_on_log(experience: Experience) -> bool:
    """True for a record that is shown on nothing but what its own log says of the end; `ingest` names and counts these.

    The owner's word counts, and so does a log's that the owner ingests. Through MCP, `import` and an agent's own report
    a judgement never counts: whoever wrote it may be the one that is remembered.
    """
    from_log = experience.provenance.origin == "log" and experience.outcome.judge != "user"
    return from_log and experience.trust is Trust.VERIFIED and not experience.usage.helped


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
        return experience.trust.rank >= self.least(experience).rank and missing(experience) is None

    def look_again(self, one: Experience) -> str | None:
        """Why a person should look at a record again: its controls were not found when it was last followed, or the run
        failed; None where nothing speaks for it.
        """
        broken = one.usage.hurt and not one.usage.streak
        return "did not work when it was last followed" if broken else None
