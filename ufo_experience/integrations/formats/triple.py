"""The state/action/outcome triple of the experience-memory interface."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ufo_experience.ids import new_id
from ufo_experience.integrations.formats.task_experience import require
from ufo_experience.schema import Experience, Trust, validate


def from_triple(
    state: Mapping[str, Any],
    action: Mapping[str, Any],
    outcome: Mapping[str, Any],
    salience: float = 0.5,
    episode_id: str | None = None,
    created_at: datetime | None = None,
    *,
    id: str | None = None,
    trust: Trust = Trust.QUARANTINED,
) -> Experience:
    """Make a record of a triple; `state.task` and `outcome.success` are required. Each call is a trial of its own.

    Raises:
        DataError: a field is missing, unknown or wrong; its name is in the message.
    """
    require(state, "task", "state")
    require(outcome, "success", "outcome")
    record = {
        "id": id or new_id(),
        "state": state,
        "action": action,
        "outcome": outcome,
        "salience": salience,
        "episode_id": episode_id,
        "created_at": created_at or datetime.now(timezone.utc),
        "trust": trust,
    }
    return validate(Experience, record)
