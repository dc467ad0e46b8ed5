"""UFO's few-shot example, to and from an experience: an entry of `experience.yaml`, or of UFO's prompt examples.

UFO structures the first action only; the rest of the run is its `Plan`, lines such as "(1) Click the Send button".
All of UFO's spellings are read: PascalCase (v0 to v2), `ActionList`, and the snake_case of v3 with its `action`
object or list. What UFO has and we do not (Thought, Comment, ControlLabel, …) is kept as notes of the provenance, so
that an imported entry is written out as it came in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.ids import content_id
from ufo_experience.schema import Experience, Provenance, Step, Trust, validate

FORMAT = "ufo_example"
FINISHED = "<FINISH>"

_NOTES = ("Thought", "ControlLabel", "Status", "Comment")
_SNAKE = {"Observation": "observation", "Thought": "thought", "Plan": "plan", "Comment": "comment"}
_USUAL = {"button": "left", "double": False}  # how a click is unless the log says otherwise
_EPHEMERAL = frozenset({"id", "name"})  # v3 names the control inside the arguments


def to_ufo_example(experience: Experience) -> dict[str, Any]:
    """An entry of `experience.yaml`: example, Tips, request, Sub-task, app_list; no step gives an empty Function."""
    notes = _read_notes(experience.provenance)
    steps = [step for step in experience.action.steps if step.ok]
    first = steps[0] if steps else Step(step_number=1, result="")
    finished = len(steps) < 2 and not experience.action.plan
    seen, said = first.observation, ""
    if _tells_claims_only(experience):
        seen, said = "; ".join(experience.preconditions), first.observation
    return {
        "example": {
            "Observation": seen,
            "Thought": notes.get("Thought", [""])[0],
            "ControlLabel": notes.get("ControlLabel", [""])[0],
            "ControlText": first.target_control.name,
            "Function": first.action_type,
            "Args": first.model_dump(mode="json", include={"parameters"})["parameters"],
            "Status": notes.get("Status", ["FINISH" if finished else "CONTINUE"])[0],
            "Plan": "\n".join(plan_lines(experience)),
            "Comment": notes.get("Comment", [said])[0],
        },
        "Tips": "\n".join(experience.action.tips),
        "request": experience.state.request or experience.state.task,
        "Sub-task": experience.state.task,
        "app_list": notes.get("app_list") or _applications(experience),
    }


def plan_lines(experience: Experience) -> list[str]:
    """What follows the first step, numbered as UFO does: the remaining steps, else the recorded plan, else <FINISH>."""
    rest = [step for step in experience.action.steps if step.ok][1:]
    if rest:
        return [f"({number}) {_in_words(step)}" for number, step in enumerate(rest, start=1)]
    return list(experience.action.plan) or [FINISHED]


def from_ufo_example(
    entry: Mapping[str, Any],
    *,
    created_at: datetime | None = None,
    trust: Trust = Trust.QUARANTINED,
    success: bool | None = None,
    source: str = "",
) -> Experience:
    """Read one entry. UFO does not say who judged it, so success is unknown unless the caller knows.

    The id is that of the content: the same entry read twice is the same record.

    Raises:
        DataError: the entry holds no example or no request, or a value breaks a limit.
    """
    entry = _plain_entry(entry)
    example = entry.get("example", entry.get("Response"))
    if not isinstance(example, Mapping):
        raise DataError("required", field="example", code="E_SCHEMA")
    request = _text(entry.get("request", entry.get("Request")))
    applications = [_text(name) for name in _as_list(entry.get("app_list"))]
    subtask = _text(entry.get("Sub-task")) or request
    record = {
        "id": content_id({"format": FORMAT, "entry": entry}),
        "state": {"task": subtask, "request": request, "application": next(iter(applications), None)},
        "action": {
            "steps": _read_steps(example),
            "plan": _lines(_pick(example, "Plan")),
            "tips": _lines(entry.get("Tips")),
        },
        "outcome": {"success": success},
        "created_at": created_at or datetime.now(timezone.utc),
        "trust": trust,
        "provenance": {
            "source": source,
            "format": FORMAT,
            "origin": "import",
            "notes": [*_write_notes(example), *(f"app_list: {name}" for name in applications)],
        },
    }
    return validate(Experience, record)


def _tells_claims_only(experience: Experience) -> bool:
    """True for logs of UFO 3: they hold no observation, only what the agent says of a step after it."""
    return (experience.provenance.format or "").startswith("ufo-v3")


def _in_words(step: Step) -> str:
    """A step in words: `set_edit_text on 'To' with {"text": "…"}.`"""
    if not step.action_type:
        return ""
    target = f" on '{step.target_control.name}'" if step.target_control.name else ""
    said = {name: value for name, value in step.parameters.items() if _USUAL.get(name) != value}
    arguments = f" with {json.dumps(said, ensure_ascii=False)}" if said else ""
    return f"{step.action_type}{target}{arguments}."


def _applications(experience: Experience) -> list[str]:
    """The applications in order of first use."""
    used = [experience.state.application, *(step.application for step in experience.action.steps)]
    return list(dict.fromkeys(name for name in used if name))


def _read_steps(example: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The structured actions; none for an example that only speaks (a host's answer, a question)."""
    actions = example.get("ActionList", example.get("action"))
    found = [_read_action(action) for action in (_as_list(actions) if actions else [example])]
    steps = [step for step in found if step["action_type"]]
    for number, step in enumerate(steps, start=1):
        step["step_number"] = number
        step["observation"] = _text(_pick(example, "Observation")) if number == 1 else ""
    return steps


def _read_action(action: Any) -> dict[str, Any]:
    if not isinstance(action, Mapping):
        raise DataError("not an object", field="example.action", code="E_SCHEMA")
    arguments = action.get("Args", action.get("arguments"))
    if not isinstance(arguments, Mapping):
        arguments = {"value": arguments} if arguments else {}
    control = action.get("ControlText", arguments.get("name") if "arguments" in action else None)
    dropped = _EPHEMERAL if "arguments" in action else frozenset()
    return {
        "action_type": _text(action.get("Function", action.get("function"))),
        "target_control": {"name": _text(control)},
        "parameters": {str(key): value for key, value in arguments.items() if key not in dropped},
    }


def _pick(example: Mapping[str, Any], key: str) -> Any:
    """A field under its PascalCase name, else under UFO v3's."""
    return example.get(key, example.get(_SNAKE.get(key, key)))


def _write_notes(example: Mapping[str, Any]) -> list[str]:
    values = {key: _pick(example, key) for key in _NOTES}
    return [f"{key}: {_text(value)}" for key, value in values.items() if value is not None]


def _read_notes(provenance: Provenance) -> dict[str, list[str]]:
    """The notes `from_ufo_example` wrote, by name."""
    found: dict[str, list[str]] = {}
    for note in provenance.notes if provenance.format == FORMAT else ():
        name, _, value = note.partition(": ")
        found.setdefault(name, []).append(value)
    return found


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _lines(value: Any) -> list[str]:
    """Plan or tips as lines, from UFO's one string or list of strings."""
    if isinstance(value, str):
        return value.split("\n") if value else []
    return [_text(line) for line in _as_list(value)]


def _plain_entry(entry: Any) -> dict[str, Any]:
    """A YAML value as JSON holds it: other scalars (dates) as text."""
    if not isinstance(entry, Mapping):
        raise DataError("not an object", field="example", code="E_SCHEMA")
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(entry), default=str))
    except (RecursionError, ValueError) as error:
        raise DataError("nested too deep", field="example", code="E_SCHEMA") from error
    except TypeError as error:
        raise DataError(f"a key is no text: {error}", field="example", code="E_SCHEMA") from error
    return plain
