"""Whether a record says enough to be followed: what was asked, the steps, and the controls they acted on.

A successful run without these teaches an agent nothing, however well it was judged: it is kept, counted at ingest and
never put into a prompt.
"""

from __future__ import annotations

from ufo_experience.actions import is_blind
from ufo_experience.schema import UNKNOWN_TASK, Experience

NO_TASK, NO_STEP, NO_TARGET = "no task", "no step", "no named target"


def missing(experience: Experience) -> str | None:
    """What a record lacks to be shown as a success (`NO_TASK`, `NO_STEP` or `NO_TARGET`); None when it is whole.

    A failed run is a warning and lacks nothing. What a program hands in (`origin` "api") may tell of a strategy or a
    skill instead of steps.
    """
    action, state = experience.action, experience.state
    if experience.is_negative:
        return None
    if UNKNOWN_TASK in (state.task, state.request):
        return NO_TASK
    if not action.steps:
        return None if action.plan or experience.provenance.origin in ("api", "import") else NO_STEP
    named = sum(bool(step.target_control.name) for step in action.steps)
    return NO_TARGET if sum(map(is_blind, action.steps)) > named else None
