"""Any agent's steps, as JSON or JSON lines. This is the format to write when no other reader fits.

One session per object (a file may hold one, a list of them, or one per line), or one step per line, the lines of a
session one after another:

    {"task": "…", "application": "…", "success": true, "steps": [{"action": "click", "control": "Send", …}, …]}
    {"session": "s1", "task": "…", "application": "…", "action": "click", "control": "Send", …}

Also execution traces as UFO's memory article defines them, and the sessions and follower plans of UFO's session
document. A plan is what is to be replayed, not what happened: its steps say "not executed", its outcome is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.schema import NOT_EXECUTED, Problem
from ufo_experience.traces import rows
from ufo_experience.traces.calls import TARGETS
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import load_document, problem, records_of
from ufo_experience.traces.values import Row, as_dict, as_dicts, as_lines, as_name

Numbered = tuple[int | None, Row]  # a row with its line

UNKNOWN = "not a trace of a known format"
_SHOWN = 40
_EXAMPLE = '{"task": "…", "application": "…", "steps": [{"action": "click", "control": "Save", "parameters": {}}]}'
_LIKELY = {  # a field of ours → parts of names under which unknown files may have it
    "task": "task goal instruction intent objective query prompt title question request".split(),
    "action": "action op event command verb tool function type kind".split(),
    "control": "control target element selector widget node label button name".split(),
}
_HINTS = {
    ".har": "a HAR file holds network requests, not what a person did; record with Chrome's Recorder instead",
    ".pkl": "a pickle can run code and is never opened; export it as JSON",
    ".parquet": "convert it to JSON lines first, one row a line",
    ".csv": "convert it to JSON lines first, one step a line",
    ".mht": "a saved web page, and no recording of Steps Recorder",
    ".xml": "convert it to JSON in the plain format",
    ".tar": "unpack it and give the folder",
    ".7z": "unpack it and give the folder",
}
_SUMMARY = (
    "AgentLab's summary of a run; its steps are in pickles, which can run code and are never opened: "
    'export them as JSON, {"goal": …, "steps": [{"action": …, "axtree": …}], "summary_info": …}'
)
_CLOUD_FLOW = (
    "the definition of a cloud flow of Power Automate: calls of connectors, nothing done on a screen; of a desktop "
    "flow copy the actions out of the designer and save them as .robin"
)


class GenericReader(rows.RowsReader):
    """Sessions of steps under common names."""

    name = "generic"
    wanted = "session with a task and steps"

    def is_row(self, row: Row) -> bool:
        return _is_session(row) or (rows.is_step(row) and row.has(*rows.SESSION))

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        for _, group in groupby(records_of(path, report.problems), key=_session_of):
            found = []
            for line, row in group:
                if _is_session(row) or rows.is_step(row):
                    found.append((line, row))
                elif lack := rows.lack_of(row):
                    report.failed.append((f"{path}:{line}" if line else str(path), lack))
                else:
                    told = f"neither a session nor a step; keys: {', '.join(sorted(row)[:20])[:200]}"
                    report.problems.append(problem(path, "E_UNKNOWN_LINE", told, line))
            if found:
                yield Row(rows=found)

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        head, last = row["rows"][0][1], row["rows"][-1][1]
        draft.request, draft.subtask = head.first(*rows.TASK), head.get("subtask")
        draft.name, draft.starts_with = head.name(*rows.SESSION) or draft.name, head
        whole = _is_session(head)
        steps = [(row["rows"][0][0], one) for one in head.listed(*rows.STEPS)] if whole else row["rows"]
        problems = _add_steps(draft, steps, head.first(*rows.APPLICATION), rows.is_item)
        outcome = rows.stated_outcome(last if last.has(*rows.SUCCESS, "reward") else head)
        alone = {} if whole else dict.fromkeys(("cost", "tokens", "latency_ms"))
        return {**rows.stated_ending(head), **outcome, **alone, "problems": problems}


def _add_steps(
    draft: Draft, steps: Iterable[tuple[int | None, Any]], application: Any, is_one: Callable[[Any], bool]
) -> list[Problem]:
    """Add the rows that are steps; returns the problems of the others."""
    problems = []
    for place, (line, one) in enumerate(steps, start=1):
        if is_one(one):
            rows.add_row(draft, one, line=line, application=application)
        else:
            problems.append(problem(draft.path, "E_STEP", f"step {place} names no action", line))
    return problems


def _is_session(value: Row) -> bool:
    """True for an object with steps; one without a field for the task must name actions as nothing but steps does."""
    steps = next((value[key] for key in rows.STEPS if isinstance(value.get(key), list) and value[key]), None)
    return steps is not None and (
        value.has(*rows.TASK) or (value.keys().isdisjoint(rows.TASK) and rows.is_step(as_dict(steps[0])))
    )


def _session_of(row: Numbered) -> tuple[str, str]:
    """Lines belong together while their session stays the same; an object with its own steps stands alone."""
    line, record = row
    if _is_session(record):
        return "object", f"{line} {id(record)}"
    return "row", record.name(*rows.SESSION) or record.name(*rows.TASK)


class _Document(rows.RowsReader):
    """A file that holds one run; a bare list is its steps."""

    def recognises(self, found: Found) -> bool:
        return any(self.is_row(_record(value)) for value in found.values[:1])

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        if self.is_row(row := _record(load_document(path, report.problems))):
            yield row


def _record(value: Any) -> Row:
    return Row(steps=value) if isinstance(value, list) else as_dict(value)


class ExecutionTraceReader(_Document):
    """One execution trace or one `TaskExperience`."""

    name = "execution-trace"
    tasks = ("task", "task_description", "request", "goal")
    untold = "a bare list of steps"

    def is_row(self, row: Row) -> bool:
        steps = row.listed("steps")
        bare = row.keys() == {"steps"} and any(isinstance(one, dict) and "action_type" in one for one in steps)
        return bare or "execution_trace" in row or ("task_description" in row and "steps" in row)

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        steps = row.listed("execution_trace", "steps")
        unread = _add_steps(draft, [(None, one) for one in steps], row.get("application"), rows.is_step)
        first = next(filter(rows.is_step, as_dicts(steps)), Row())
        draft.request = draft.request or first.name(*self.tasks)
        ending = rows.stated_ending(row)
        return {
            **ending,
            "agent": first.get("agent"),
            "started_at": row.get("start_time") or ending["started_at"] or first.get("timestamp"),
            "problems": unread,
        }


class SavedSessionReader(_Document):
    """One session as UFO saves it, or one plan for its follower."""

    name = "ufo-session"
    tasks = ("request", "task")
    agent = "UFO"

    def is_row(self, row: Row) -> bool:
        done, planned = _first_action(row.get("trajectory")), _first_action(row.get("actions"))
        of_ufo = {*done, *planned} & {"agent", "round"}  # which agent acted, in which round; others are plain steps
        steps = row["steps"] if isinstance(row.get("steps"), list) else []
        in_words = bool(steps) and all(isinstance(step, str) for step in steps)
        known = of_ufo or in_words or (planned and not row.has(*rows.SUCCESS, "reward"))
        return row.has("task", "request") and bool(known)

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        executed = isinstance(row.get("trajectory"), list)
        application = row.name("application", "object") or None
        for item in as_dicts(row.get("trajectory" if executed else "actions")):
            parameters, told = item.row("parameters"), {} if executed else {"result": NOT_EXECUTED}
            selected = parameters.name("app_name", "application", "application_name")
            application = item.name("application") or selected or application
            if selected and len(parameters) == 1 and not item.has(*TARGETS):  # the application is what is acted on
                told["control_text"] = selected
            if item:
                rows.add_row(draft, Row(item | told), application=application)
        score = row.amount("evaluation_score")
        outcome = rows.stated_outcome(row) | {"score": score} if executed else {}
        if score is not None and outcome.get("success") is not None:  # a score means that an evaluator judged
            outcome |= {"evaluated_by": "evaluator", "judge": "model"}
        plan = as_lines([step for step in row.listed("steps") if isinstance(step, str)] or row.get("plan"))
        ending = {"cost": row.get("cost"), "tokens": row.whole("tokens"), "started_at": row.get("timestamp")}
        return {**outcome, **ending, "plan": plan}


def _first_action(value: Any) -> Row:
    first = as_dict(value[0]) if isinstance(value, list) and value else Row()
    return first if isinstance(first.get("action"), str) else Row()


def unknown_message(found: Found) -> str:
    """Why a file is not read, and the plain format with an example in its own words."""
    if hint := _HINTS.get(found.suffix):
        return f"{UNKNOWN}: {hint}"
    record = next(iter(found.rows), Row())
    if not record:
        damage = ""
        try:
            load_document(found.path, []) if found.suffix == ".json" else None
        except DataError as error:
            damage = f": {'' if error.line is None else f'line {error.line}: '}{error.reason}"
        if not found.text.strip():
            damage = ": the file is empty"
        return f"{UNKNOWN}{damage}; the plain format is {_EXAMPLE}"
    if record.row("properties").row("definition").get("actions"):
        return f"{UNKNOWN}: {_CLOUD_FLOW}"
    if record.keys() >= {"cum_reward", "n_steps"}:
        return f"{UNKNOWN}: {_SUMMARY}"
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
    return next((text[:_SHOWN] for part in _LIKELY[field] for key, text in texts.items() if part in key and text), "")
