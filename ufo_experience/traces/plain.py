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
from ufo_experience.traces.draft import Draft, run_key
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import load_document, problem, records_of
from ufo_experience.traces.rows import (
    APPLICATION,
    SESSION,
    STARTED,
    STEPS,
    TASK,
    Row,
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


class GenericReader(RowsReader):
    """Sessions of steps under common names."""

    name = "generic"

    def is_row(self, row: dict[str, Any]) -> bool:
        return _is_session(row) or (is_step(row) and has_any(row, SESSION))

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield one trajectory per session; a run that lacks something has failed."""
        lacking: list[tuple[str, str]] = []
        for line, row in records_of(path, []):
            if not is_step(row) and not _is_session(row) and (lack := lack_of(row)):
                lacking.append((f"{path}:{line}" if line else str(path), lack))
        report.failed += lacking
        if not lacking or any(is_step(row) or _is_session(row) for _, row in records_of(path, [])):
            yield from super().read(path, report)

    def runs(self, path: Path, problems: list[Problem]) -> Iterator[Row]:
        """The sessions: an object with its steps, or the lines that belong together; other rows become problems."""
        for _, group in groupby(records_of(path, problems), key=_session_of):
            rows = []
            for line, row in group:
                if _is_session(row) or is_step(row):
                    rows.append((line, row))
                elif lack_of(row) is None:
                    keys = ", ".join(sorted(row)[:20])[:200]
                    problems.append(
                        problem(path, "E_UNKNOWN_LINE", f"neither a session nor a step; keys: {keys}", line)
                    )
            if rows:
                yield None, {"rows": rows}

    def start(self, path: Path, row: dict[str, Any], number: int) -> Draft:
        """A run is named by its session."""
        head = row["rows"][0][1]
        key = run_key(as_name(first_of(head, SESSION)) or path.stem, number, head)
        return Draft(path, format=self.name, session=key, request=first_of(head, TASK), subtask=head.get("subtask"))

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        (line, head), last = row["rows"][0], row["rows"][-1][1]
        whole, problems = _is_session(head), []
        for number, one in [(line, one) for one in as_list(first_of(head, STEPS))] if whole else row["rows"]:
            if is_item(one):
                add_row(draft, one, line=number, application=first_of(head, APPLICATION))
            else:
                problems.append(problem(draft.path, "E_STEP", "a step names no action", number))
        return {
            **stated_outcome(last if states_outcome(last) else head),
            "cost": head.get("cost") if whole else draft.summed_cost(),
            "plan": as_lines(head.get("plan")),
            "agent": head.get("agent"),
            "env": head.get("env"),
            "started_at": first_of(head, STARTED),
            "problems": problems,
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


class _Document(RowsReader):
    """A file that holds one run; a bare list is its steps."""

    def recognises(self, found: Found) -> bool:
        """True when the first value is a run of this kind."""
        return any(self.is_row(_record(value)) for value in found.values[:1])

    def runs(self, path: Path, problems: list[Problem]) -> Iterator[Row]:
        """The one run."""
        if self.is_row(row := _record(load_document(path, problems))):
            yield None, row


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
        first: dict[str, Any] = {}
        unread = []
        for place, one in enumerate(as_list(first_of(row, ("execution_trace", "steps"))), start=1):
            if is_step(one):
                first = first or one
                add_row(draft, one, application=row.get("application"))
            else:
                unread.append(problem(draft.path, "E_STEP", f"step {place} names no action"))
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
        outcome = stated_outcome(row) | {"score": score} if executed else {}
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
