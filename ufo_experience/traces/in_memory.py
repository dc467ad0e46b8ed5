"""Runs handed in by a program as values instead of log files: the same names for the same things as in files.

    run_of("Send the report", [{"action": "click", "control": "Send"}], success=True)
    runs_in({"task": "…", "steps": [...], "success": True})

A step is a mapping (or a `Step`) in any of three vocabularies: `action` and `control` of a plain file, `action_type`
and `control_text` of UFO's memory article, `action_type` and `target_control: {name, type}` of our schema. Beside it
`within` names the row, group or dialog around the control, and `controls` lists what was in view before the step.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from typing_extensions import TypedDict

from ufo_experience import schema
from ufo_experience.errors import DataError, UsageError, nearest
from ufo_experience.ids import content_hash, new_id
from ufo_experience.schema import Judge, Outcome, Step, Trajectory, expect, expect_if_given, validate
from ufo_experience.store.strict_json import parse
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.rows import STEP_KEYS, add_row, is_step, kind_key, lack_of, number_for_name, stated_ending
from ufo_experience.traces.values import NAMES, Row, as_list

FORMAT = "api"
A_STEP = '{"action": "click", "control": "Send", "control_type": "Button", "parameters": {}, "observation": "…"}'
A_RUN = '{"task": "…", "application": "…", "success": true, "evaluated_by": "user", "steps": [...]}'

Steps = Sequence[Mapping[str, Any] | Step]
JudgedBy = Literal["user", "program", "model", "agent", "person", "llm", "evaluator"]  # the last three as logs say
_JUDGES: dict[str, tuple[str, Judge | None]] = {  # who says so → `evaluated_by` and `judge` of the outcome
    "caller": ("user", "program"),
    "agent": ("agent", None),
    **dict.fromkeys(("user", "person"), ("user", "user")),
    **dict.fromkeys(("program", "evaluator"), ("evaluator", "program")),
    **dict.fromkeys(("model", "llm"), ("evaluator", "model")),
}


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
        row = given.model_dump(mode="json", exclude_defaults=True) if isinstance(given, Step) else given
        if not isinstance(row, Mapping) or not is_step(Row(row)):
            raise _wrong(f"names no action; a step looks like {A_STEP}", f"steps.{place}")
        if field := number_for_name(row):
            raise _wrong(f"is the label of a control, a text, not {row[field]}", f"steps.{place}.{field}")
        add_row(draft, Row(row), application=application)
        unknown |= dict.fromkeys(str(key) for key in row if key not in STEP_KEYS and key != kind_key(Row(row)))
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
            keys = ", ".join(map(str, record)) if isinstance(one, Mapping) else type(one).__name__
            if lack := lack_of(record):
                raise _wrong(lack)
            raise _wrong(f"no run with a task and steps, but: {keys[:200]}; a run looks like {A_RUN}")
        task, steps = record.first(*NAMES["task"]), record.first(*NAMES["steps"])
        if not isinstance(task, str):
            raise _wrong("not text", "task")
        session = record.name(*NAMES["session"]) or f"{FORMAT}#{place}-{content_hash(record)[:8]}"
        application = record.name(*NAMES["application"]) or None
        yield run_of(task, steps, session=session, application=application, **stated_ending(record))


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
