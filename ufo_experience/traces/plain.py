"""Any agent's steps, as JSON or JSON lines. This is the format to write when no other reader fits.

One session per object (a file may hold one, a list of them, or one per line), or one step per line, the lines of a
session one after another:

    {"task": "…", "application": "…", "success": true, "steps": [{"action": "click", "control": "Send", …}, …]}
    {"session": "s1", "task": "…", "application": "…", "action": "click", "control": "Send", …}

Also execution traces as UFO's memory article defines them, and the sessions and follower plans of UFO's session
document. A plan is what is to be replayed, not what happened: its steps say "not executed", its outcome is unknown.
"""

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from ufo_experience.errors import DataError
from ufo_experience.schema import NOT_EXECUTED
from ufo_experience.store.exchange import is_export
from ufo_experience.traces import rows
from ufo_experience.traces.calls import TARGETS
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import HINTS, Found, ReadReport
from ufo_experience.traces.lines import load_document, problem, records_of
from ufo_experience.traces.values import NAMES, Row, as_dict, as_lines, as_name

UNKNOWN = "not a trace of a known format"
_SHOWN = 40
_EXAMPLE = '{"task": "…", "application": "…", "steps": [{"action": "click", "control": "Save", "parameters": {}}]}'


class PlainReader(rows.RowsReader):
    """Sessions of steps under common names."""

    name = "plain"
    tasks = rows.TASK
    wanted = "session with a task and steps"

    def is_row(self, row: Row) -> bool:
        return _is_session(row) or (rows.is_step(row) and row.has(*rows.SESSION))

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        """Each object with steps, and each row of steps of one session."""
        for _, group in groupby(records_of(path, report.problems), key=lambda found: _session_of(found[1])):
            steps = []
            for line, row in group:
                if _is_session(row):
                    yield _whole(row, line)
                elif rows.is_step(row):
                    steps.append((line, row))
                elif lack := rows.lack_of(row):
                    report.failed.append((f"{path}:{line}" if line else str(path), lack))
                else:
                    told = f"neither a session nor a step; keys: {', '.join(sorted(row)[:20])[:200]}"
                    report.problems.append(problem(path, "E_UNKNOWN_LINE", told, line))
            if steps:
                alone = dict.fromkeys(("cost", "tokens", "latency_ms"))  # what the first row says of itself
                yield Row(head=steps[0][1], last=steps[-1][1], steps=steps, ending=alone)

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        head, last, problems = row["head"], row["last"], []
        first = next((as_dict(one) for _, one in row["steps"] if rows.is_item(one)), Row())
        draft.request, draft.subtask = head.first(*self.tasks) or first.first(*self.tasks), head.get("subtask")
        draft.name, draft.starts_with = head.name(*rows.SESSION) or draft.name, head
        for place, (line, one) in enumerate(row["steps"], start=1):
            if rows.is_item(one):
                rows.add_row(draft, one, line=line, application=head.first(*rows.APPLICATION))
                if field := rows.number_for_name(one):
                    told = f"step {place}: {field} is the label of a control, not {one[field]}: not kept"
                    problems.append(problem(draft.path, "E_STEP", told, line))
            else:
                problems.append(problem(draft.path, "E_STEP", f"step {place} names no action", line))
        ending = rows.stated_ending(head)
        ending["agent"] = head.get("agent") or first.get("agent") or self.agent or None
        ending["started_at"] = ending["started_at"] or first.first(*NAMES["time"])
        stated = last if last.has(*NAMES["success"], "reward") else head
        problems += [problem(draft.path, "E_OUTCOME", told) for told in rows.unread_of(stated)]
        outcome = rows.stated_outcome(stated)
        return {**ending, **outcome, **row["ending"], "problems": problems}


def _whole(row: Row, line: int | None = None) -> Row:
    """A run that is one object."""
    return Row(head=row, last=row, steps=[(line, one) for one in row.listed(*rows.STEPS)], ending={})


def _session_of(row: Row) -> str:
    """Lines belong together while this stays the same."""
    return row.name(*rows.SESSION) or row.name(*rows.TASK)


def _is_session(value: Row) -> bool:
    """True for an object with steps; one without a field for the task must name actions as nothing but steps does."""
    steps = next((value[key] for key in rows.STEPS if isinstance(value.get(key), list) and value[key]), None)
    return steps is not None and (
        value.has(*rows.TASK) or (value.keys().isdisjoint(rows.TASK) and rows.is_step(as_dict(steps[0])))
    )


class ExecutionTraceReader(PlainReader):
    """A file that is one execution trace or one `TaskExperience`; a bare list is its steps."""

    name = "execution-trace"
    tasks: ClassVar[tuple[str, ...]] = ("task", "task_description", "request", "goal")
    untold = "a bare list of steps"

    def is_row(self, row: Row) -> bool:
        steps = row.listed("steps")
        bare = row.keys() == {"steps"} and any(isinstance(one, dict) and "action_type" in one for one in steps)
        return bare or "execution_trace" in row or ("task_description" in row and "steps" in row)

    def recognises(self, found: Found) -> bool:
        return any(self.is_row(_record(value)) for value in found.values[:1])

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        if self.is_row(row := _record(load_document(path, report.problems))):
            yield _whole(row)


def _record(value: Any) -> Row:
    return Row(steps=value) if isinstance(value, list) else as_dict(value)


class SavedSessionReader(ExecutionTraceReader):
    """One session as UFO saves it, or one plan for its follower."""

    name = "ufo-session"
    tasks = ("request", "task")
    untold = ""
    agent = "UFO"

    def is_row(self, row: Row) -> bool:
        done, planned = _first_action(row.get("trajectory")), _first_action(row.get("actions"))
        of_ufo = {*done, *planned} & {"agent", "round"}  # which agent acted, in which round; others are plain steps
        steps = row["steps"] if isinstance(row.get("steps"), list) else []
        in_words = bool(steps) and all(isinstance(step, str) for step in steps)
        known = of_ufo or in_words or (planned and not row.has(*NAMES["success"], "reward"))
        return row.has("task", "request") and bool(known)

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        head, row["steps"] = row["head"], []
        executed, application = isinstance(head.get("trajectory"), list), head.name("application", "object")
        for item in filter(None, head.rows("trajectory" if executed else "actions")):
            parameters = item.row("parameters")
            selected = parameters.name("app_name", "application", "application_name")
            application = item.name("application") or selected or application
            told = {"application": application or None} | ({} if executed else {"result": NOT_EXECUTED})
            if selected and len(parameters) == 1 and not item.has(*TARGETS):  # the application is what is acted on
                told["control_text"] = selected
            row["steps"].append((None, item | told))
        score = head.amount("evaluation_score")
        if not executed:
            row["ending"] = {"success": None, "evaluated_by": "none"}
        elif score is not None and rows.stated_outcome(head)["success"] is not None:  # then an evaluator judged
            row["ending"] = {"evaluated_by": "evaluator", "judge": "model", "score": score}
        ending = super().fill(draft, row)
        in_words = [step for step in head.listed("steps") if isinstance(step, str)]
        return {**ending, "plan": as_lines(in_words) or ending["plan"]}


def _first_action(value: Any) -> Row:
    first = as_dict(value[0]) if isinstance(value, list) and value else Row()
    return first if isinstance(first.get("action"), str) else Row()


def unknown_message(found: Found) -> str:
    """Why a file is not read, and the plain format with an example in its own words."""
    if hint := HINTS.get(found.suffix):
        return f"{UNKNOWN}: {hint}"
    if is_export(found.text):
        return "records of this package, no log: ufo-experience import FILE"
    record = next(iter(found.rows), Row())
    if not record:
        damage = UNKNOWN
        try:
            load_document(found.path, []) if found.suffix == ".json" else None
        except DataError as error:
            damage = f"{'' if error.line is None else f'line {error.line}: '}{error.reason}"
        if not found.text.strip():
            damage = "the file is empty"
        return f"{damage}; the plain format is {_EXAMPLE}"
    if record.row("properties").row("definition").get("actions"):
        return f"{UNKNOWN}: {HINTS['.cloud_flow']}"
    if record.keys() >= {"cum_reward", "n_steps"}:
        return f"{UNKNOWN}: {HINTS['.summary']}"
    if lack := rows.lack_of(record):
        return f"{UNKNOWN}: {lack}"
    keys = ", ".join(list(map(str, record))[:12])[:200]
    listed = next((value for value in record.values() if isinstance(value, list) and as_dict((value or [0])[0])), [])
    step = as_dict(listed[0]) if listed else record
    made = {"action": _value(step, "action") or "click", "control": _value(step, "control") or "Save"}
    example = {"task": _value(record, "task") or "what was to be done", "steps": [made, "…"]}
    told = json.dumps(example, ensure_ascii=False)
    return f"{UNKNOWN}: it holds {keys}; in the plain format it would be {told}"


def _value(record: Row, field: str) -> str:
    texts = {str(key).casefold(): as_name(value) for key, value in record.items() if isinstance(value, str)}
    likely = (text for part in NAMES[f"likely_{field}"] for key, text in texts.items() if part in key and text)
    return next(likely, "")[:_SHOWN]
