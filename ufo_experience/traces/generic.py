"""Any agent's steps, as JSON or JSON lines. This is the format to write when no other reader fits.

One session per object (a file may hold one, a list of them, or one per line):

    {"task": "…", "application": "…", "success": true, "evaluated_by": "user",
     "steps": [{"action": "click", "control": "Send", "parameters": {…}, "observation": "…", "result": "…"}]}

or one step per line, the lines of a session one after another:

    {"session": "s1", "task": "…", "application": "…", "action": "click", "control": "Send", …}

Required is an action in each step, and a task: `task`, `request`, `goal`, `instruction`, `intent`, `title`, … An
action is a name, Python source, or an object such as a tool call (see `actions`). Also understood are `subtask`,
`plan`, `score` (0 to 1), `reward`, `failure_reason`, `agent`, `env`, and per step `control_type`, `error`, `success`,
`timestamp`, `cost`; other names that are common for these things are in `common_keys`. `success` counts as judged
only with `evaluated_by` "evaluator" or "user", a `reward` comes from an environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.builder import Draft, content_key
from ufo_experience.traces.coerce import as_lines, as_list, as_name
from ufo_experience.traces.common_keys import (
    APPLICATION,
    SESSION,
    STEPS,
    TASK,
    add_row,
    first_of,
    has_any,
    is_item,
    is_step,
    lack_of,
    nothing_in,
    records_of,
    stated_outcome,
    states_outcome,
)
from ufo_experience.traces.json_lines import peek
from ufo_experience.traces.reader import ReadReport

Row = tuple[int | None, dict[str, Any]]


class GenericReader:
    """Reads sessions of steps under common names."""

    name = "generic"

    def recognises(self, path: Path) -> bool:
        """True for objects with a task and a list of steps, and for rows with a session and an action."""
        values = [item for value in peek(path) for item in as_list(value)[:5]]
        return any(_is_session(item) or (is_step(item) and has_any(item, SESSION)) for item in values)

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield one trajectory per session. Raises `TraceError` when no object in the file is a session or a step."""
        problems: list[Problem] = []
        taken = number = 0
        failed = len(report.failed)
        for _, group in groupby(records_of(path, problems), key=_session_of):
            for session in _sessions(list(group), path, problems, report):
                number += 1
                new, taken = problems[taken:], len(problems)
                yield self._trajectory(path, session, number, new)
        report.problems += problems
        if not number and len(report.failed) == failed:
            raise nothing_in(path, "session with a task and steps", problems)

    def _trajectory(self, path: Path, session: list[Row], number: int, problems: list[Problem]) -> Trajectory:
        head = session[0][1]
        steps = [(session[0][0], row) for row in as_list(first_of(head, STEPS))] if _is_session(head) else session
        key = content_key(as_name(first_of(head, SESSION)) or path.stem, number, content_hash(head))
        draft = Draft(path, format=self.name, session=key, request=first_of(head, TASK), subtask=head.get("subtask"))
        for line, row in steps:
            if is_item(row):
                add_row(draft, row, line=line, application=first_of(head, APPLICATION))
            else:
                problems.append(Problem(file=str(path), line=line, code="E_STEP", message="a step names no action"))
        last = session[-1][1]
        costs = [step.cost for step in draft.steps if step.cost is not None]
        return draft.finish(
            **stated_outcome(last if states_outcome(last) else head),
            cost=head.get("cost") if _is_session(head) else sum(costs) if costs else None,
            plan=as_lines(head.get("plan")),
            agent=head.get("agent"),
            env=head.get("env"),
            started_at=first_of(head, ("timestamp", "start_time", "started_at")),
            problems=problems,
        )


def _is_session(value: Any) -> bool:
    return has_any(value, TASK) and any(isinstance(value.get(key), list) and value[key] for key in STEPS)


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
            message = f"neither a session nor a step; keys: {keys}"
            problems.append(Problem(file=str(path), line=line, code="E_UNKNOWN_LINE", message=message))
    if rows:
        yield rows
