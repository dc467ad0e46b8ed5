"""Steps and outcomes of files that follow no fixed format: the names people commonly give to the same things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ufo_experience.errors import TraceError
from ufo_experience.schema import Problem
from ufo_experience.traces.builder import Draft
from ufo_experience.traces.coerce import as_dict, as_list, as_name
from ufo_experience.traces.json_lines import JsonLines, load_document, peek

TASK = ("task", "request", "goal", "instruction", "task_description", "query")
STEPS = ("steps", "execution_trace", "trajectory", "actions")
APPLICATION = ("application", "app", "application_name", "process_name")
SESSION = ("session", "session_id", "run", "run_id", "episode_id", "episode", "trajectory_id", "task_id")

_ACTION = ("action_type", "action", "function", "tool", "skill", "verb")
_CONTROL = ("target_control", "control_text", "control", "target", "element", "control_name")
_PARAMETERS = ("parameters", "args", "arguments", "params", "inputs")
_OBSERVATION = ("observation", "thought", "thinking", "reasoning", "state")
_TIME = ("timestamp", "time", "created_at")
_FAILED = ("failed", "failure", "error", "fail")
_STEP_KEYS = frozenset(
    [
        *(*_ACTION, *_CONTROL, *_PARAMETERS, *_OBSERVATION, *_TIME, *APPLICATION, *SESSION, *TASK),
        *("control_type", "result", "error", "success", "agent", "cost", "is_password"),
        *("step", "step_number", "index", "number", "source", "evaluated_by"),
    ]
)
_LINES = (".jsonl", ".ndjson")
_OUTCOMES = {"success": True, "succeeded": True, "yes": True, "failure": False, "failed": False, "no": False}
_JUDGES = ("evaluator", "user", "agent")


def first_of(row: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first of these keys that has one."""
    return next((row[key] for key in keys if row.get(key) not in (None, "")), None)


def has_any(row: Any, keys: tuple[str, ...]) -> bool:
    """True when a value is an object with one of these keys filled."""
    return isinstance(row, dict) and first_of(row, keys) is not None


def is_step(row: Any) -> bool:
    """True for an object that names an action."""
    return has_any(row, _ACTION)


def unknown_keys(row: Mapping[str, Any]) -> list[str]:
    """Names in a step that `add_row` does not read."""
    return [str(key) for key in row if key not in _STEP_KEYS]


def add_row(draft: Draft, row: dict[str, Any], *, line: int | None = None, application: Any = None) -> None:
    """Add the step a row describes.

    `action` may be a name or an object with its own name and arguments, the control a name or `{name, type}`. A
    result that is a bare "failed", or `success: false`, counts as an error.
    """
    action = first_of(row, _ACTION)
    inner = as_dict(action)
    control = first_of(row, _CONTROL) or first_of(inner, _CONTROL)
    named = as_dict(control)
    draft.step(
        (first_of(inner, (*_ACTION, "name")) if inner else action),
        control=(first_of(named, ("name", "text", "label")) if named else control),
        control_type=named.get("type") or named.get("role") or row.get("control_type"),
        parameters=first_of(row, _PARAMETERS) or first_of(inner, _PARAMETERS),
        observation=first_of(row, _OBSERVATION),
        result=row.get("result"),
        error=_error(row),
        agent=row.get("agent"),
        application=first_of(row, APPLICATION) or application,
        timestamp=first_of(row, _TIME),
        cost=row.get("cost"),
        line=line,
        secret=named.get("password") is True or row.get("is_password") is True,
    )


def stated_outcome(record: dict[str, Any]) -> dict[str, Any]:
    """The outcome a file states: `success` or `outcome`, `evaluated_by`, `score`, `failure_reason`.

    Who said so is "none" unless the file names an evaluator or a user; what only the agent says is unknown.
    """
    said = record.get("success", record.get("outcome"))
    success = said if isinstance(said, bool) else _OUTCOMES.get(as_name(said).casefold())
    judge = as_name(record.get("evaluated_by")).casefold()
    return {
        "success": None if judge == "agent" else success,
        "evaluated_by": judge if judge in _JUDGES else "none",
        "score": record.get("score"),
        "failure_reason": as_name(record.get("failure_reason") or record.get("error")) or None,
    }


def records_of(path: Path, problems: list[Problem]) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield `(line, object)` of a file that holds JSON lines, one object, or a list of objects.

    Raises `TraceError` when the file cannot be read; what is no object becomes a problem.
    """
    if path.suffix.casefold() in _LINES or len(peek(path)) > 1:
        yield from JsonLines(path, problems=problems)
        return
    document = load_document(path, problems)
    for place, item in enumerate(as_list(document)):
        if isinstance(item, dict):
            yield None, item
        else:
            message = f"item {place + 1} is not an object"
            problems.append(Problem(file=str(path), code="E_NOT_OBJECT", message=message))


def nothing_in(path: Path, what: str, problems: list[Problem]) -> TraceError:
    """The error for a source in which nothing can be used."""
    seen = f"; {len(problems)} problem(s), the first: {problems[0].message}" if problems else ""
    return TraceError(f"no {what} in it{seen}", file=str(path), code="E_EMPTY")


def _error(row: dict[str, Any]) -> str | None:
    if error := as_name(row.get("error")):
        return error
    result = row.get("result")
    if row.get("success") is False or (isinstance(result, str) and result.strip().casefold() in _FAILED):
        return as_name(result) or "failed"
    return None
