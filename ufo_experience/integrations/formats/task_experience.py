"""The `TaskExperience` dict of UFO's memory article: task_id, task_description, application, steps, total_steps, …

What comes back in is untrusted: what a dict says of its own trust and usage is not believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.ids import content_id, is_id
from ufo_experience.schema import Experience, Step, Trust, expect, validate

FORMAT = "task_experience"
UNKNOWN_APPLICATION = "Unknown"
SUMMARY_STEPS = 10
_FAILED_RESULTS = frozenset({"error", "fail", "failed", "failure"})
_STEP_VIEW = frozenset({"step_number", "observation", "action_type", "parameters", "result"})
_KEPT = ("salience", "episode_id", "created_at", "provenance", "slots", "preconditions", "avoid_when")


@dataclass(frozen=True)
class TaskExperience:
    """A recorded run under the article's names. `experience` is the record it is a view of."""

    task_id: str
    task_description: str
    application: str
    steps: list[dict[str, Any]]
    total_steps: int
    start_time: datetime
    end_time: datetime
    success: bool | None
    metadata: dict[str, Any] = field(default_factory=dict)
    experience: Experience | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, experience: Experience) -> TaskExperience:
        """The view of a record. Without times in its log it began when the record was made."""
        view = to_task_experience(expect(Experience, experience, "experience"))
        times = [step.timestamp for step in experience.action.steps if step.timestamp]
        start = times[0] if times else experience.created_at
        duration = timedelta(seconds=view.pop("duration_seconds"))
        return cls(**view, start_time=start, end_time=start + duration, experience=experience)

    def to_dict(self) -> dict[str, Any]:
        """The eight keys of the article's JSON."""
        names = ("task_id", "task_description", "application", "steps", "total_steps", "success", "metadata")
        seconds = (self.end_time - self.start_time).total_seconds()
        return {**{name: getattr(self, name) for name in names}, "duration_seconds": seconds}


def to_task_experience(experience: Experience) -> dict[str, Any]:
    """The eight keys of a `TaskExperience`; whatever else we know stands in `metadata`.

    `success` is None where nobody judged the run. `duration_seconds` is 0.0 where no time is known.
    """
    steps = experience.action.steps
    return {
        "task_id": experience.id,
        "task_description": experience.state.request or experience.state.task,
        "application": experience.state.application or UNKNOWN_APPLICATION,
        "steps": [_task_step(step) for step in steps],
        "total_steps": len(steps),
        "duration_seconds": _duration(experience),
        "success": experience.outcome.success,
        "metadata": _metadata(experience),
    }


def from_task_experience(
    data: Mapping[str, Any], *, created_at: datetime | None = None, trust: Trust = Trust.QUARANTINED
) -> Experience:
    """Read a `TaskExperience` dict, ours (loses nothing but trust and usage) or anybody's.

    Takes `start_time` and `end_time` (datetime or ISO text) in place of `duration_seconds`. `created_at` is used
    where the record names no time of its own; without either it is now.

    Raises:
        DataError: a field is missing or wrong.
    """
    description = require(data, "task_description")
    metadata = _mapping(data.get("metadata"), "metadata")
    start, end = _moment(data, "start_time"), _moment(data, "end_time")
    record = {
        "id": _known_id(data, metadata),
        "state": _read_state(data, description, _mapping(metadata.get("state"), "metadata.state")),
        "action": _mapping(metadata.get("action"), "metadata.action") | {"steps": _read_steps(data, metadata)},
        "outcome": _read_outcome(data, _mapping(metadata.get("outcome"), "metadata.outcome"), start, end),
        "created_at": end or created_at or datetime.now(timezone.utc),
        "provenance": {} if _is_ours(metadata) else _foreign_provenance(data),
        "trust": trust,
    }
    return validate(Experience, record | {key: metadata[key] for key in _KEPT if key in metadata})


def build_experience_summary(experience: Mapping[str, Any] | Experience | TaskExperience) -> str:
    """The searchable one-liner "Task: … App: … Steps: a(b) -> …" over the first ten steps."""
    if isinstance(experience, TaskExperience):
        experience = experience.to_dict()
    view = to_task_experience(experience) if isinstance(experience, Experience) else experience
    try:
        steps = " -> ".join(
            f"{step['action_type']}({step['target_control']})" for step in view["steps"][:SUMMARY_STEPS]
        )
        return f"Task: {view['task_description']} App: {view['application']} Steps: {steps}"
    except (KeyError, TypeError) as error:
        raise DataError(f"not a task experience: {error}", code="E_SCHEMA") from error


def _task_step(step: Step) -> dict[str, Any]:
    return {
        "step_number": step.step_number,
        "observation": step.observation,
        "action_type": step.action_type,
        "target_control": step.target_control.name,
        "parameters": step.model_dump(mode="json", include={"parameters"})["parameters"],
        "result": step.result,
    }


def _metadata(experience: Experience) -> dict[str, Any]:
    """What the eight keys leave out, as plain JSON; `steps` holds per step what `_task_step` does not."""
    metadata = experience.model_dump(mode="json", exclude_defaults=True, exclude={"id", "action"})
    metadata["action"] = experience.action.model_dump(mode="json", exclude_defaults=True, exclude={"steps"})
    metadata["steps"] = [
        step.model_dump(mode="json", exclude_defaults=True, exclude=set(_STEP_VIEW)) for step in experience.action.steps
    ]
    metadata["schema_version"] = experience.schema_version
    return metadata


def _duration(experience: Experience) -> float:
    if experience.outcome.latency_ms is not None:
        return experience.outcome.latency_ms / 1000
    times = [step.timestamp for step in experience.action.steps if step.timestamp is not None]
    return max(0.0, (times[-1] - times[0]).total_seconds()) if times else 0.0


def _is_ours(metadata: Mapping[str, Any]) -> bool:
    return "schema_version" in metadata


def _foreign_provenance(data: Mapping[str, Any]) -> dict[str, str]:
    return {"format": FORMAT, "origin": "import", "session": str(data.get("task_id", ""))}


def _known_id(data: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """Our own id when the record is one of ours; a foreign name never becomes an id."""
    task_id = data.get("task_id")
    return str(task_id) if _is_ours(metadata) and is_id(task_id) else content_id(dict(data))


def _read_steps(data: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    steps, extras = data.get("steps", []), metadata.get("steps")
    if not isinstance(steps, list):
        raise DataError("not a list", field="steps", code="E_SCHEMA")
    if not isinstance(extras, list) or len(extras) != len(steps):
        extras = [None] * len(steps)
    return [_read_step(step, extra, position) for position, (step, extra) in enumerate(zip(steps, extras, strict=True))]


def _read_step(step: Any, extra: Any, position: int) -> dict[str, Any]:
    """One step of the view. Without our `extra` a bare result such as "failed" is all that tells of an error."""
    view = _mapping(step, f"steps.{position}")
    kept = _mapping(extra, f"metadata.steps.{position}")
    control = view.get("target_control")
    named = dict(control) if isinstance(control, Mapping) else {"name": control or ""}
    record = {"step_number": position + 1} | {key: view[key] for key in _STEP_VIEW if key in view} | kept
    record["target_control"] = _mapping(kept.get("target_control"), f"metadata.steps.{position}") | named
    if extra is None and str(view.get("result")).casefold() in _FAILED_RESULTS:
        record["error"] = view["result"]
    return record


def _read_state(data: Mapping[str, Any], description: Any, kept: dict[str, Any]) -> dict[str, Any]:
    """The state we wrote, if any; the view's own words win where somebody edited them."""
    state = kept or {"task": description, "request": description}
    if description != (state.get("request") or state.get("task")):
        state["request"] = description
    application = data.get("application")
    if application not in (None, "", UNKNOWN_APPLICATION):
        state["application"] = application
    return state


def _read_outcome(
    data: Mapping[str, Any], kept: dict[str, Any], start: datetime | None, end: datetime | None
) -> dict[str, Any]:
    seconds = (end - start).total_seconds() if start and end else data.get("duration_seconds")
    outcome = {"success": require(data, "success")}
    if not kept and isinstance(seconds, (int, float)) and seconds > 0:
        outcome["latency_ms"] = seconds * 1000
    return kept | outcome


def _moment(data: Mapping[str, Any], key: str) -> datetime | None:
    value = data.get(key)
    if value is None:
        return None
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value.replace("Z", "+00:00"))
    except (AttributeError, ValueError) as error:
        raise DataError("not a time", field=key, code="E_SCHEMA") from error
    return moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment


def require(data: Mapping[str, Any], key: str, parent: str = "") -> Any:
    """The value of a required key; `DataError` names the field where it is missing."""
    if not isinstance(data, Mapping) or key not in data:
        raise DataError("required", field=f"{parent}.{key}" if parent else key, code="E_SCHEMA")
    return data[key]


def _mapping(value: Any, field: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DataError("not an object", field=field, code="E_SCHEMA")
    return dict(value)
