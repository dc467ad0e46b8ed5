"""Any agent's steps, as JSON or JSON lines or handed in by a program: the format to write when no other reader fits.

One session per object (a file may hold one, a list of them, or one per line), or one step per line, the lines of a
session one after another:

    {"task": "…", "application": "…", "success": true, "steps": [{"action": "click", "control": "Send", …}, …]}
    {"session": "s1", "task": "…", "application": "…", "action": "click", "control": "Send", …}

Also execution traces as UFO's memory article defines them (`action_type` and `control_text`), steps of our own schema
(`target_control: {name, type}`), and the sessions and follower plans of UFO's session document. A plan is what is to be
replayed, not what happened: its steps say "not executed", its outcome is unknown.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from typing_extensions import TypedDict

from ufo_experience import schema
from ufo_experience.errors import DataError, UsageError, nearest
from ufo_experience.ids import content_hash, new_id
from ufo_experience.schema import NOT_EXECUTED, Judge, Outcome, Step, Trajectory, expect, expect_if_given, validate
from ufo_experience.store.exchange import is_export
from ufo_experience.store.strict_json import parse
from ufo_experience.traces import rows
from ufo_experience.traces.calls import TARGETS
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import HINTS, Found, ReadReport
from ufo_experience.traces.lines import load_document, problem, records_of
from ufo_experience.traces.values import NAMES, Row, as_dict, as_lines, as_list, as_name

UNKNOWN = "not a trace of a known format"
_SHOWN = 40
A_RUN = '{"task": "…", "application": "…", "steps": [{"action": "click", "control": "Save", "parameters": {}}]}'
FORMAT = "api"
A_STEP = '{"action": "click", "control": "Send", "control_type": "Button", "parameters": {}, "observation": "…"}'

Steps = Sequence[Mapping[str, Any] | Step]
JudgedBy = Literal["user", "program", "model", "agent", "person", "llm", "evaluator"]  # the last three as logs say
_JUDGES: dict[str, tuple[str, Judge | None]] = {  # who says so → `evaluated_by` and `judge` of the outcome
    "caller": ("user", "program"),
    "agent": ("agent", None),
    **dict.fromkeys(("user", "person"), ("user", "user")),
    **dict.fromkeys(("program", "evaluator"), ("evaluator", "program")),
    **dict.fromkeys(("model", "llm"), ("evaluator", "model")),
}


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
                yield Row(head=steps[0][1], last=steps[-1][1], steps=steps, ending=alone, line=steps[0][0])

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
        records = [head, *(as_dict(one) for _, one in row["steps"])]
        problems += [problem(draft.path, "E_UNKNOWN_FIELD", told, row["line"]) for told in rows.misspelled_in(records)]
        outcome = rows.stated_outcome(stated)
        return {**ending, **outcome, **row["ending"], "problems": problems}


def _whole(row: Row, line: int | None = None) -> Row:
    """A run that is one object."""
    return Row(head=row, last=row, steps=[(line, one) for one in row.listed(*rows.STEPS)], ending={}, line=line)


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
        steps = row.get("steps")
        in_words = bool(steps) and isinstance(steps, list) and all(isinstance(step, str) for step in steps)
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
        return f"{_damage(found)}; the plain format is {A_RUN}"
    cloud = record.row("properties").row("definition").get("actions") and HINTS[".cloud_flow"]
    summary = record.keys() >= {"cum_reward", "n_steps"} and HINTS[".summary"]
    if why := cloud or summary or rows.lack_of(record):
        return f"{UNKNOWN}: {why}"
    firsts = (as_dict(value[0]) for value in record.values() if isinstance(value, list) and value)
    step = next(filter(None, firsts), record)
    made = {"action": _value(step, "action") or "click", "control": _value(step, "control") or "Save"}
    example = {"task": _value(record, "task") or "what was to be done", "steps": [made, "…"]}
    keys, told = ", ".join(list(map(str, record))[:12])[:200], json.dumps(example, ensure_ascii=False)
    return f"{UNKNOWN}: it holds {keys}; in the plain format it would be {told}"


def _damage(found: Found) -> str:
    if not found.text.strip():
        return "the file is empty"
    try:
        load_document(found.path, []) if found.suffix == ".json" else None
    except DataError as error:
        return error.reason if error.line is None else f"line {error.line}: {error.reason}"
    return UNKNOWN


def _value(record: Row, field: str) -> str:
    texts = {str(key).casefold(): as_name(value) for key, value in record.items() if isinstance(value, str)}
    likely = (text for part in NAMES[f"likely_{field}"] for key, text in texts.items() if part in key and text)
    return next(likely, "")[:_SHOWN]


# ---- runs handed in as values ----


class RunDetails(TypedDict, total=False):
    """What else may be known of a run: `session` is its name (handed in again under it, it is stored once); `score`
    is from 0 to 1, `cost` in US dollars, `started_at` a datetime, seconds since 1970 or ISO text.
    """

    session: str | None
    env: str | None
    agent: str | None
    score: float | None
    failure_reason: str | None
    cost: float | None
    tokens: int | None
    latency_ms: float | None
    plan: Sequence[str]
    started_at: datetime | str | float | None


@dataclass(frozen=True)
class Run:
    """A run as it was handed in. `unknown` are names of fields of its steps that were not kept."""

    trajectory: Trajectory
    unknown: tuple[str, ...] = ()


def expect_ending(success: bool | None, judge: JudgedBy | None, **numbers: Any) -> None:
    """Raise where what a program says of the end of a run cannot be kept as it is given."""
    expect_if_given(bool, success, "success")
    if judge is not None and judge not in get_args(JudgedBy):
        raise UsageError(f"judge is one of user, program, model, agent, not {judge!r}")
    validate(Outcome, {"success": success, **numbers})


def judged_run(
    task: str, steps: Steps, success: bool | None, judge: JudgedBy | None, *, application: str | None, **details: Any
) -> Run:
    """A run and who judged it; without a `session` of its own it gets a random one.

    Raises `UsageError` for no task, an unknown judge or detail, `DataError` for no steps or one that names no action.
    """
    if not expect(str, task, "task").strip():
        raise UsageError("the task is empty")
    for name in ("session", "env", "agent"):
        expect_if_given(str, details.get(name), name)
    expect_if_given(str, application, "application")
    expect_ending(success, judge, **{name: details.get(name) for name in ("score", "cost", "tokens", "latency_ms")})
    if unknown := details.keys() - RunDetails.__annotations__:
        known_names = ["success", "application", "judge", *RunDetails.__annotations__]
        meant = f"did you mean {near}? " if (near := nearest(min(unknown), known_names)) else ""
        raise UsageError(f"unknown: {', '.join(sorted(unknown))}; {meant}known are {', '.join(known_names)}")
    by, said_by = _JUDGES[judge or "caller"] if success is not None else ("none", None)
    session = details.pop("session", None) or new_id()[:16]
    known = {"evaluated_by": by, "judge": said_by, "session": session, "application": application, **details}
    return run_of(task, steps, success=None if by == "agent" else success, **known)


def run_of(
    task: str, steps: Steps, *, success: bool | None, session: str, application: str | None = None, **more: Any
) -> Run:
    """A run of these steps; `more` goes to `Draft.finish` (evaluated_by, score, failure_reason, cost, tokens, …)."""
    draft = Draft(Path(FORMAT), format=FORMAT, session=session, request=task)
    draft.application(application)
    unknown: dict[str, None] = {}
    draft.left_out = max(0, len(given_steps := _sequence(steps)) - schema.LONGEST_RUN)
    for place, given in enumerate(given_steps[: schema.LONGEST_RUN]):
        step = given.model_dump(mode="json", exclude_defaults=True) if isinstance(given, Step) else given
        row = Row(step) if isinstance(step, Mapping) else Row()
        if not rows.is_step(row):
            raise _wrong(f"names no action; a step looks like {A_STEP}", f"steps.{place}")
        if field := rows.number_for_name(row):
            raise _wrong(f"is the label of a control, a text, not {row[field]}", f"steps.{place}.{field}")
        rows.add_row(draft, row, application=application)
        known = {*rows.STEP_KEYS, rows.kind_key(row)}
        unknown |= dict.fromkeys(str(key) for key in row if key not in known)
    if not draft.steps:
        raise _wrong("there are none: what did the run do?", "steps")
    read = draft.finish(success=success, **more)
    alone = tuple(step.model_copy(update={"source": None}) for step in read.steps)
    return Run(read.model_copy(update={"steps": alone, "source_files": ()}), tuple(unknown))


def runs_in(value: Any) -> Iterator[Run]:
    """The runs of a JSON value: one with a task and steps, or a list of them; of others `DataError` says the keys."""
    for place, one in enumerate(as_list(value), start=1):
        if isinstance(one, (str, Path)):
            raise _wrong(f"a list of runs holds {one!r:.60}; logs are named by themselves: ingest(*paths)")
        record = Row(one) if isinstance(one, Mapping) else Row()
        if not record.has(*NAMES["task"]) or not record.has(*NAMES["steps"]):
            keys = ", ".join(map(str, record)) or type(one).__name__
            told = f"no run with a task and steps, but: {keys[:200]}; a run looks like {A_RUN}"
            raise _wrong(rows.lack_of(record) or told)
        task, steps = record.first(*NAMES["task"]), record.first(*NAMES["steps"])
        if not isinstance(task, str):
            raise _wrong("not text", "task")
        session = record.name(*NAMES["session"]) or f"{FORMAT}#{place}-{content_hash(record)[:8]}"
        application = record.name(*NAMES["application"]) or None
        yield run_of(task, steps, session=session, application=application, **rows.stated_ending(record))


def schema_steps(steps: Any) -> list[Any]:
    """Steps as our schema writes them; those that are so already stay as they are. Raises as `run_of`."""
    given = list(_sequence(steps))
    if all(isinstance(one, Mapping) and "step_number" in one and "action_type" in one for one in given):
        return given
    run = run_of("-", given, success=None, session="-")
    return [step.model_dump(mode="json", exclude_defaults=True) for step in run.trajectory.steps]


def json_values(data: str | bytes, *, file: str) -> Iterator[Any]:
    """The values of JSON text: one document, or one object a line. Raises `DataError`, with file and line."""
    lines = [line for line in data.splitlines() if line.strip()]
    try:
        yield parse(data, file=file)
    except DataError:
        if len(lines) < 2:
            raise
        yield from (parse(line, file=file) for line in lines)


def _sequence(steps: Any) -> Sequence[Any]:
    if isinstance(steps, (str, bytes, Mapping)) or not isinstance(steps, Iterable):
        raise _wrong(f"is a list of steps such as {A_STEP}, not {type(steps).__name__}", "steps")
    return steps if isinstance(steps, Sequence) else list(islice(steps, schema.MAX_STEPS))


def _wrong(reason: str, field: str | None = None) -> DataError:
    return DataError(reason, field=field, code="E_SCHEMA")
