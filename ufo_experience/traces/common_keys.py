"""Steps and outcomes of files that follow no fixed format: the names people commonly give to the same things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ufo_experience.errors import TraceError
from ufo_experience.schema import Problem
from ufo_experience.traces.actions import (
    ARGUMENTS,
    TARGETS,
    Call,
    arguments_of,
    calls_in,
    is_tool_call,
    named_control,
    take_target,
)
from ufo_experience.traces.builder import Draft
from ufo_experience.traces.coerce import as_dict, as_list, as_name
from ufo_experience.traces.json_lines import JsonLines, load_document, peek
from ufo_experience.traces.naming import name_each

TASK = (
    "task", "request", "goal", "instruction", "task_description", "query", "intent", "confirmed_task", "objective",
    "prompt", "user_request", "title",
)  # fmt: skip
STEPS = ("steps", "execution_trace", "trajectory", "actions", "traj", "history")
APPLICATION = ("application", "app", "application_name", "process_name", "app_name", "website", "domain")
SESSION = ("session", "session_id", "run", "run_id", "episode_id", "episode", "trajectory_id", "task_id")

_ACTION = ("action_type", "action", "function", "tool", "skill", "verb", "op", "operation", "tool_name", "action_name")
_LOOSE_ACTION = ("type", "action_content", "name")  # an action only for an item of a list of steps
_BESIDE = tuple("x y coordinate coordinates text value keys key url selector direction index ref app_name".split())
_OBSERVATION = ("observation", "thought", "thinking", "reasoning", "state", "step_instruction", "description")
_TIME = ("timestamp", "time", "created_at")
_FAILED = ("failed", "failure", "error", "fail")
_STEP_KEYS = frozenset(
    [
        *(*_ACTION, *_LOOSE_ACTION, *TARGETS, *ARGUMENTS, *_BESIDE, *_OBSERVATION, *_TIME),
        *(*APPLICATION, *SESSION, *TASK),
        *("control_type", "within", "result", "error", "success", "agent", "cost", "is_password"),
        *("step", "step_number", "index", "number", "source", "evaluated_by"),
    ]
)
_LINES = (".jsonl", ".ndjson")
_OUTCOMES = {"success": True, "succeeded": True, "yes": True, "true": True, "pass": True, "passed": True}
_OUTCOMES |= {"failure": False, "failed": False, "no": False, "false": False, "fail": False}
_SUCCESS = ("success", "outcome", "is_successful", "successful", "is_success", "task_success", "passed")
_JUDGES = ("evaluator", "user", "agent")
_ALMOST_ONE = 0.999


def first_of(row: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first of these keys that has one."""
    return next((row[key] for key in keys if row.get(key) not in (None, "")), None)


def has_any(row: Any, keys: tuple[str, ...]) -> bool:
    """True when a value is an object with one of these keys filled."""
    return isinstance(row, dict) and first_of(row, keys) is not None


def lack_of(row: Any) -> str | None:
    """What a run in the plain format lacks; None for one that is whole, and for what is no run at all."""
    if not isinstance(row, dict):
        return None
    steps = first_of(row, STEPS)
    if isinstance(steps, list) and steps:
        return None if has_any(row, TASK) else "the task is empty" if row.keys() & set(TASK) else "it names no task"
    return "there are no steps" if has_any(row, TASK) and row.keys() & set(STEPS) else None


def is_step(row: Any) -> bool:
    """True for an object that names an action, or that is a call of a tool."""
    return has_any(row, _ACTION) or (has_any(row, ("name",)) and is_tool_call(row))


def is_item(row: Any) -> bool:
    """True for an item of a list of steps that names an action, also as JSON text or under a loose name."""
    found = as_dict(row)
    return bool(calls_in(row)) if not found else is_step(found) or has_any(found, _LOOSE_ACTION)


def unknown_keys(row: Mapping[str, Any]) -> list[str]:
    """Names in a step that `add_row` does not read."""
    return [str(key) for key in row if key not in _STEP_KEYS]


def add_row(
    draft: Draft,
    row: Any,
    *,
    line: int | None = None,
    application: Any = None,
) -> None:
    """Add the steps a row describes: one, or as many as its source has calls.

    `action` may be a name, source, or an object with its own name and arguments, the control a name or `{name, type}`.
    A result that is a bare "failed", or `success: false`, counts as an error.
    """
    found = as_dict(row)
    record = found or {"action": row}
    calls = _calls_of(record)
    thought = first_of(record, _OBSERVATION)
    names = name_each(len(calls), [call.comment for call in calls], as_name(thought))
    for call, mentioned in zip(calls, names, strict=True):
        own = take_target(call.arguments, call.name)
        stated = first_of(record, TARGETS)
        control, role = named_control(stated) if stated is not None else own
        draft.step(
            call.name,
            control=control,
            control_type=role or own[1] or record.get("control_type"),
            parameters=call.arguments,
            observation=thought,
            mentioned=mentioned,
            result=record.get("result"),
            error=_error(record),
            agent=record.get("agent"),
            application=first_of(record, APPLICATION[:4]) or application,
            timestamp=first_of(record, _TIME),
            cost=record.get("cost"),
            line=line,
            within=as_dict(stated).get("within") or record.get("within"),
            secret=as_dict(stated).get("password") is True or record.get("is_password") is True,
        )


def _calls_of(record: dict[str, Any]) -> list[Call]:
    """The actions of a row; arguments beside a bare name are its own."""
    key = next((key for key in (*_ACTION, *_LOOSE_ACTION) if record.get(key) not in (None, "", [], {})), None)
    if key == "type" and is_tool_call(record):
        return calls_in(record)
    calls = calls_in(record[key]) if key else []
    if len(calls) != 1 or calls[0].arguments:
        return calls
    given = next((name for name in ARGUMENTS if name != key and record.get(name) not in (None, "", [], {})), None)
    if given:
        return [replace(calls[0], arguments=arguments_of(record[given]))]
    found = {name: record[name] for name in _BESIDE if name != key and record.get(name) not in (None, "", [], {})}
    return [replace(calls[0], arguments=found)]


def states_outcome(record: dict[str, Any]) -> bool:
    """True for an object that says how the run ended."""
    return first_of(record, (*_SUCCESS, "reward")) is not None


def stated_outcome(record: dict[str, Any]) -> dict[str, Any]:
    """The outcome a file states: `success`, `outcome` or a `reward`, `evaluated_by`, `score`, `failure_reason`.

    Who said so is "none" unless the file names an evaluator or a user; what only the agent says is unknown. A reward
    comes from an environment: 1 is success, 0 or less is failure, anything between is unknown.
    """
    stated = first_of(record, _SUCCESS)
    success = stated if isinstance(stated, bool) else _OUTCOMES.get(as_name(stated).casefold())
    judge = as_name(record.get("evaluated_by")).casefold()
    reward = record.get("reward")
    if stated is None and isinstance(reward, int | float) and not isinstance(reward, bool):
        success = True if reward >= _ALMOST_ONE else False if reward <= 0 else None
        judge = judge or "evaluator"
    return {
        "success": None if judge == "agent" else success,
        "evaluated_by": judge if judge in _JUDGES else "none",
        "score": record.get("score") if record.get("score") is not None else reward,
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
