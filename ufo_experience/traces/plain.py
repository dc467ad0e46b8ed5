"""Any agent's steps, as JSON or JSON lines. This is the format to write when no other reader fits.

One session per object (a file may hold one, a list of them, or one per line):

    {"task": "…", "application": "…", "success": true, "evaluated_by": "user",
     "steps": [{"action": "click", "control": "Send", "parameters": {…}, "observation": "…", "result": "…"}]}

or one step per line, the lines of a session one after another:

    {"session": "s1", "task": "…", "application": "…", "action": "click", "control": "Send", …}

Two relatives are read here too: execution traces as UFO's memory article defines them (a bare list of rows, or
`{"task", "execution_trace"}`, or its `TaskExperience`), and the sessions and follower plans of UFO's session document.
A plan is what is to be replayed, not what happened: its steps say "not executed" and its outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from ufo_experience.schema import NOT_EXECUTED, Problem, Trajectory
from ufo_experience.traces.draft import Draft, no_task, nothing_in, run_key
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import load_document, problem, records_of
from ufo_experience.traces.rows import (
    APPLICATION,
    SESSION,
    STARTED,
    STEPS,
    TASK,
    RowsReader,
    add_row,
    has_any,
    is_item,
    is_step,
    lack_of,
    stated_outcome,
    states_outcome,
)
from ufo_experience.traces.values import (
    as_amount,
    as_dict,
    as_dicts,
    as_int,
    as_lines,
    as_list,
    as_name,
    first_name,
    first_of,
)

_SELECTED = ("app_name", "application", "application_name")
_CONTROL = ("label", "control_text", "control_name", "name")

Row = tuple[int | None, dict[str, Any]]


class GenericReader:
    """Reads sessions of steps under common names."""

    name = "generic"

    def recognises(self, found: Found) -> bool:
        """True for objects with a task and a list of steps, and for rows with a session and an action."""
        values = [item for value in found.values for item in as_list(value)[:5] if isinstance(item, dict)]
        return any(_is_session(item) or (is_step(item) and has_any(item, SESSION)) for item in values)

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield one trajectory per session. Raises `DataError` when no object in the file is a session or a step."""
        problems: list[Problem] = []
        taken = number = 0
        failed = len(report.failed)
        for _, group in groupby(records_of(path, problems), key=_session_of):
            for session in _sessions(list(group), path, problems, report):
                number += 1
                draft, ending = _told(path, session, number, problems)
                new, taken = problems[taken:], len(problems)
                yield draft.finish(**ending, problems=new)
        report.problems += problems
        if not number and len(report.failed) == failed:
            raise nothing_in(path, "session with a task and steps", problems)


def _told(path: Path, session: list[Row], number: int, problems: list[Problem]) -> tuple[Draft, dict[str, Any]]:
    """A session as a draft, and how it ended."""
    head, last = session[0][1], session[-1][1]
    whole = _is_session(head)
    steps = [(session[0][0], row) for row in as_list(first_of(head, STEPS))] if whole else session
    key = run_key(as_name(first_of(head, SESSION)) or path.stem, number, head)
    draft = Draft(path, format="generic", session=key, request=first_of(head, TASK), subtask=head.get("subtask"))
    if not has_any(head, TASK):
        problems.append(no_task(path, "the run"))
    for line, row in steps:
        if is_item(row):
            add_row(draft, row, line=line, application=first_of(head, APPLICATION))
        else:
            problems.append(problem(path, "E_STEP", "a step names no action", line))
    return draft, {
        **stated_outcome(last if states_outcome(last) else head),
        "cost": head.get("cost") if whole else draft.summed_cost(),
        "plan": as_lines(head.get("plan")),
        "agent": head.get("agent"),
        "env": head.get("env"),
        "started_at": first_of(head, STARTED),
    }


def _is_session(value: Any) -> bool:
    """True for an object with steps; one without a field for the task must name actions as nothing but steps does."""
    steps = next((value[key] for key in STEPS if isinstance(value.get(key), list) and value[key]), None)
    return steps is not None and (
        has_any(value, TASK) or (value.keys().isdisjoint(TASK) and is_step(as_dict(steps[0])))
    )


def _session_of(row: Row) -> tuple[str, str]:
    """Lines belong together while their session stays the same; an object with its own steps stands alone."""
    line, record = row
    if _is_session(record):
        return "object", f"{line} {id(record)}"
    return "row", as_name(first_of(record, SESSION)) or as_name(first_of(record, TASK))


def _sessions(group: list[Row], path: Path, problems: list[Problem], report: ReadReport) -> Iterator[list[Row]]:
    """A group as a session; a run that lacks something has failed, other rows that are no step become problems."""
    if _is_session(group[0][1]):
        yield group
        return
    rows = [(line, row) for line, row in group if is_step(row)]
    for line, row in group:
        if is_step(row):
            continue
        if lack := lack_of(row):
            report.failed.append((f"{path}:{line}" if line else str(path), lack))
        else:
            keys = ", ".join(sorted(row)[:20])[:200]
            problems.append(problem(path, "E_UNKNOWN_LINE", f"neither a session nor a step; keys: {keys}", line))
    if rows:
        yield rows


class _Document(RowsReader):
    """A file that holds one run."""

    def recognises(self, found: Found) -> bool:
        """True when the first value is a run of this kind."""
        return any(self.is_row(_record(value)) for value in found.values[:1])

    def runs(self, path: Path, problems: list[Problem]) -> Iterator[Row]:
        """The one run; a bare list is its steps."""
        yield None, _record(load_document(path, problems))


def _record(value: Any) -> dict[str, Any]:
    return {"steps": value} if isinstance(value, list) else as_dict(value)


class ExecutionTraceReader(_Document):
    """One execution trace or one `TaskExperience`."""

    name = "execution-trace"
    tasks = ("task", "task_description", "request", "goal")
    untold = "a bare list of steps"

    def is_row(self, row: dict[str, Any]) -> bool:
        steps = as_list(row.get("steps"))
        bare = row.keys() == {"steps"} and any(isinstance(one, dict) and "action_type" in one for one in steps)
        return bare or "execution_trace" in row or ("task_description" in row and "steps" in row)

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        rows = as_list(first_of(row, ("execution_trace", "steps")))
        unread = [
            problem(draft.path, "E_STEP", f"step {place} names no action")
            for place, one in enumerate(rows, start=1)
            if not is_step(one)
        ]
        steps = [one for one in rows if is_step(one)]
        for one in steps:
            add_row(draft, one, application=row.get("application"))
        first = steps[0] if steps else {}
        draft.request = draft.request or as_name(first_of(first, self.tasks))
        seconds, cost = as_amount(row.get("duration_seconds")), as_amount(row.get("cost"))
        return {
            **stated_outcome(row),
            "cost": cost if cost is not None else draft.summed_cost(),
            "latency_ms": seconds * 1000 if seconds else None,
            "agent": first.get("agent"),
            "started_at": row.get("start_time") or first.get("timestamp"),
            "problems": unread,
        }


class SavedSessionReader(_Document):
    """One session as UFO saves it, or one plan for its follower."""

    name = "ufo-session"
    tasks = ("request", "task")
    agent = "UFO"

    def is_row(self, row: dict[str, Any]) -> bool:
        steps, actions = as_list(row.get("steps")), row.get("actions")
        return bool(row.keys() & {"task", "request"}) and (
            _are_of_ufo(row.get("trajectory"))
            or _are_of_ufo(actions)
            or (_are_objects(actions) and not states_outcome(row))
            or (bool(steps) and all(isinstance(step, str) for step in steps))
        )

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        executed = isinstance(row.get("trajectory"), list)
        application = first_name(row, "application", "object") or None
        for item in as_dicts(row.get("trajectory" if executed else "actions")):
            application = _add_saved_step(draft, item, executed, application) if item else application
        score = as_amount(row.get("evaluation_score"))
        outcome = stated_outcome(row) | {"score": row.get("evaluation_score")} if executed else {}
        if score is not None and outcome.get("success") is not None:  # a score means that an evaluator judged
            outcome |= {"evaluated_by": "evaluator", "judge": "model"}
        return {
            **outcome,
            "cost": row.get("cost"),
            "tokens": as_int(row.get("tokens")),
            "plan": as_lines([step for step in as_list(row.get("steps")) if isinstance(step, str)] or row.get("plan")),
            "started_at": row.get("timestamp"),
        }


def _add_saved_step(draft: Draft, item: dict[str, Any], executed: bool, application: str | None) -> str | None:
    """Add an action and return the application in use after it: one that selects an application names it."""
    parameters = dict(as_dict(item.get("parameters")))
    selected = first_name(parameters, *_SELECTED) or None
    application = as_name(item.get("application")) or selected or application
    control = item.get("control_text") or item.get("target_control")
    if not control:
        key = next((key for key in _CONTROL if isinstance(parameters.get(key), str)), None)
        control = parameters.pop(key) if key else selected
    draft.step(
        item.get("action") or item.get("action_type"),
        control=control,
        parameters=parameters,
        observation=item.get("observation") or item.get("thought"),
        result=item.get("result") if executed else NOT_EXECUTED,
        error=as_name(item.get("error")) or None,
        agent=item.get("agent"),
        application=application,
        timestamp=item.get("timestamp"),
        cost=item.get("cost"),
    )
    return application


def _are_objects(value: Any) -> bool:
    """True for a list of objects that name an action each, as far as the first tells."""
    first = as_dict(value[0]) if isinstance(value, list) and value else {}
    return isinstance(first.get("action"), str)


def _are_of_ufo(value: Any) -> bool:
    """True for steps as UFO saves them: which agent acted, in which round. Others are the plain format's."""
    return _are_objects(value) and bool(as_dict(value[0]).keys() & {"agent", "round"})
