"""What most formats share: a file of objects, one run each, in which the same things stand under other keys.

A format is a class (`RowsReader`) that says how a row becomes steps. A step in one of the usual shapes, under the names
people commonly give its parts (`names.txt`), is read by `steps_of_row`, whatever format it is from.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

from ufo_experience.controls import NAME_LENGTH, ListedControl, around, is_known_role
from ufo_experience.errors import DataError
from ufo_experience.schema import Around, Trajectory
from ufo_experience.traces import calls as tools
from ufo_experience.traces.calls import ACTION, ARGUMENTS, TARGETS, Call, calls_in, named_control
from ufo_experience.traces.draft import NO_TASK, Draft
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import problem, read_text, records_of
from ufo_experience.traces.tree import Marks, NameAt, marks_in, named_at, names_of_calls
from ufo_experience.traces.values import NAMES, Row, as_dict, as_dicts, as_list, as_name, is_number

TASK, STEPS, APPLICATION, SESSION = (NAMES[thing] for thing in ("task", "steps", "application", "session"))
_PARTS = "action loose_action control arguments beside observation time application session task of_step".split()
STEP_KEYS = {name for part in _PARTS for name in NAMES[part]}  # all that `steps_of_row` reads
_READ = sorted(STEP_KEYS.union(NAMES["steps"], NAMES["success"], ["evaluated_by", "failure_reason"]))
OUTCOMES = dict.fromkeys(NAMES["worked"], True) | dict.fromkeys(NAMES["failed"], False)
_JUDGES = ("evaluator", "user", "agent")
ALMOST_ONE = 0.999  # a score of 1 that was computed
MAX_TEXT_FILE = 1 << 24  # bytes
MAX_IN_VIEW, _KIND_LENGTH = 300, 60  # controls of a step, characters of their kinds
_STATES = ("dialog", "checked", "selected", "expanded")


class RowsReader:
    """Reads files of objects, one run each. A format is a table of keys, or says itself what the steps are (`fill`).

    Files of rows are told by their keys: `needs` are those a row has (`steps/action` is one of a step of it, `a|b`
    either), `tasks` those that may hold the task. Other files are told by their endings (`suffixes`) and by what
    stands in them (`sign`), and are one `text` to a reader that does not say what their `runs` are.
    `steps` is where the steps stand in a row (a path, as in `needs`), `action` and `thoughts` are keys of a step, which
    may hold the screen as well, and `verdict` are paths to a reward of the environment, or to its yes or no.
    `agent` and `env` are those of every run. `untold` begins the sentence for files that do not say their task
    ("a recording"), and runs of such a format without a step are none; `wanted` says what such a file lacks.
    """

    name = ""
    needs: ClassVar[tuple[str, ...]] = ()
    tasks: ClassVar[tuple[str, ...]] = ("goal",)
    suffixes: ClassVar[tuple[str, ...]] = ()
    sign: ClassVar[re.Pattern[str] | None] = None
    steps = "steps"
    action = "action"
    thoughts: ClassVar[tuple[str, ...]] = ("reasoning", "think")
    verdict: ClassVar[tuple[str, ...]] = ()
    agent = ""
    env = ""
    untold = ""
    wanted = ""

    def items(self, row: Row) -> Iterable[Row]:
        """The steps of a row."""
        return (item for found in row.at(self.steps) for item in as_dicts(found))

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        """Add the steps of a row; returns what else `Draft.finish` takes."""
        application = None
        for item in self.items(row):
            action = item.get(self.action)
            calls = [call for call in calls_in(action) if call.name.casefold() not in NAMES["no_action"]]
            application = item.host("url") or as_dict(action).name("app_name") or application
            add_row(draft, item, calls=calls, thought=item.name(*self.thoughts), application=application)
        rewards = (found for path in self.verdict for found in row.at(path))
        reward = next((found for found in rewards if found is not None), None)
        return {**judged_by_program(reward), "env": row.name("platform", "os") or self.env or None}

    def is_row(self, row: Row) -> bool:
        return all(any(True for path in one.split("|") for _ in row.at(path)) for one in self.needs)

    def recognises(self, found: Found) -> bool:
        """True for a folder of this format, and a file with what tells it among its first rows or in its first text."""
        if found.format:
            return found.format == self.name
        if self.sign is not None:
            return found.suffix in self.suffixes and self.sign.search(found.text) is not None
        return any(map(self.is_row, found.rows))

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        """The rows of a file, or its whole text."""
        if self.sign is not None:
            yield Row(text=read_text(path, MAX_TEXT_FILE))
            return
        for line, row in records_of(path, report.problems):
            if self.is_row(row):
                yield row
            else:
                report.problems.append(problem(path, "E_UNKNOWN_LINE", "another kind of row", line))

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        own, taken, number = ReadReport(), 0, 0
        problems = own.problems
        for row in self.runs(path, own):
            request = row.first(*self.tasks)
            draft = Draft(path, format=self.name, request=request, number=number + 1, starts_with=row)
            ending = {"agent": self.agent or self.name, "env": self.env or None, **self.fill(draft, row)}
            problems += ending.pop("problems", ())
            if draft.steps or ending.get("plan") or ending.get("success") is not None or not self.untold:
                number += 1
                if not draft.request:
                    told = f"{self.untold or 'the run'} does not say what the task was; --task gives it"
                    problems.append(problem(draft.path, NO_TASK, told))
                new, taken = problems[taken:], len(problems)
                yield draft.finish(**ending, problems=new)
        report.problems += problems
        report.failed += own.failed
        if not number and not own.failed:
            seen = f"; {len(problems)} problem(s), the first: {problems[0].message}" if problems else ""
            what = self.wanted or f"run of {self.name}"
            raise DataError(f"no {what} in it{seen}", file=str(path), code="E_EMPTY")


def lack_of(row: Row) -> str | None:
    """What a run in the plain format lacks; None for one that is whole, and for what is no run at all."""
    if isinstance(row.first(*STEPS), list):
        return None if row.has(*TASK) else "the task is empty" if row.keys() & set(TASK) else "it names no task"
    if not row.has(*TASK) or row.keys().isdisjoint(STEPS):
        return None
    named = row.key(*STEPS)
    return f"{named} is a list of steps, not {row[named]!r:.60}" if named else "there are no steps"


def is_step(one: Any) -> bool:
    """True for an object that names an action, or that is a call of a tool."""
    row = as_dict(one)
    return row.has(*ACTION) or (row.has("name") and tools.is_tool_call(row))


def number_for_name(one: Any) -> str:
    """The field in which a step has a number where the label of a control belongs; "" where there is none."""
    field = as_dict(one).key(*TARGETS) or ""
    return field if field and is_number(one[field]) else ""


def kind_key(row: Row) -> str:
    """Where a step says of what kind its control is; "" where it does not."""
    loose = (key for key in NAMES["loose_kind"] if row.has(*ACTION) and is_known_role(row.name(key)))
    return row.key("control_type") or next(loose, "")


def is_item(one: Any) -> bool:
    """True for an item of a list of steps that names an action, also as JSON text or under a loose name."""
    row = as_dict(one)
    return is_step(row) or row.has(*NAMES["loose_action"]) if row else bool(calls_in(one))


def add_row(
    draft: Draft, row: Any, *, line: int | None = None, application: Any = None, agent: Any = None, **said: Any
) -> None:
    for step in steps_of_row(row, **said):
        named = {"application": step["application"] or application, "agent": step["agent"] or agent}
        draft.step(**step | named, line=line)


def steps_of_row(
    row: Any, *, calls: Sequence[Call] | None = None, thought: Any = None, words: str = ""
) -> Iterator[dict[str, Any]]:
    """The steps a row describes as `Draft.step` takes them: one, or as many as its source has calls.

    `action` may be a name, source, or an object with its own name and arguments, the control a name or `{name, type,
    within}`; `controls` are those in view before the step, a tree or a list of elements names places and marks. A
    result that is a bare "failed", or `success: false`, counts as an error. What a format keeps elsewhere is given:
    the `calls`, the `thought`, and the `words` that may name a control where they are more than the thought.
    """
    record = as_dict(row) or Row(action=row)
    calls = calls_of_row(record) if calls is None else calls
    thought = record.first(*NAMES["observation"]) if thought is None else thought
    stated = None if number_for_name(record) else record.first(*TARGETS)
    beside = as_dict(stated)
    within = beside.get("within") or record.get("within")
    listed = listed_controls(record.get("controls"), named_control)
    marks = marks_in(record) if any(call.ref for call in calls) else {}
    for step in steps_of_calls(calls, words or as_name(thought), named_at(record), marks):
        name, role = named_control(stated) if stated is not None else (step["control"], "")
        kind = role or step["control_type"] or record.get(kind_key(record))
        yield step | {
            "control": name,
            "control_type": kind,
            "observation": thought,
            "result": record.get("result"),
            "error": _error(record),
            "agent": record.get("agent"),
            "application": record.first(*APPLICATION[:4]),
            "timestamp": record.first(*NAMES["time"]),
            "cost": record.get("cost"),
            "screen": listed,
            "within": within,
            "around": _around(listed, as_name(name), as_name(kind), as_name(within)),
            "secret": beside.get("password") is True or record.get("is_password") is True,
        }


def steps_of_calls(
    calls: Sequence[Call], words: str, at: NameAt | None = None, marks: Marks | None = None
) -> Iterator[dict[str, Any]]:
    """The steps of calls as `Draft.step` takes them: each control named by the call itself, or by a table of marks.

    Where neither names it, the tree (`at`), the code's comments or the agent's words do, each with its confidence.
    """
    for call, mentioned in zip(calls, names_of_calls(calls, words, at), strict=True):
        known = (marks or {}).get(call.ref, ("", ""))
        control, role = tools.take_target(call.arguments, call.name)
        yield {
            "action_type": call.name.rpartition("__")[2] or call.name,  # `mcp__browser__click`
            "control": known[0] or control,
            "control_type": known[1] if known[0] else role,
            "parameters": call.arguments,
            "observation": words,
            "mentioned": mentioned,
        }


def listed_controls(
    controls: Any, named: Callable[[Any], tuple[str, str]], label: tuple[str, ...] = ()
) -> tuple[ListedControl, ...]:
    """The controls a log lists for a step, `named` telling name and kind; without a label they are numbered."""
    found = []
    for number, item in enumerate(as_list(controls)[:MAX_IN_VIEW]):
        one, (name, kind) = as_dict(item), named(item)
        mark = next((as_name(one[key]) for key in label if key in one), "" if label else str(number))
        states = {key: one[key] for key in _STATES if isinstance(one.get(key), bool)}
        value = as_name(one["value"])[:NAME_LENGTH] if one.has("value") else None
        place = mark, name[:NAME_LENGTH], kind[:_KIND_LENGTH], one.name("within") or None
        found.append(ListedControl(*place, **states, value=value))
    return tuple(found)


def _around(listed: Sequence[ListedControl], name: str, kind: str, within: str) -> Around | None:
    """What stood around a control, where it is just one of those in view."""
    own = [one for one in listed if name and one.name == name and (not kind or one.kind in (kind, ""))]
    own = [one for one in own if not within or one.within in (within, None)]
    found = around(listed, own[0].label, name) if len(own) == 1 else None
    return found[1] if found else None


def calls_of_row(record: Row) -> list[Call]:
    """The actions of a row; arguments beside a bare name are its own."""
    key = record.key(*ACTION, *NAMES["loose_action"])
    if key == "type" and tools.is_tool_call(record):
        return calls_in(record)
    calls = calls_in(record[key]) if key else []
    if len(calls) != 1 or calls[0].arguments:
        return calls
    if given := record.key(*(name for name in ARGUMENTS if name != key)):
        return [replace(calls[0], arguments=tools.arguments_of(record[given]))]
    found = {name: record[name] for name in NAMES["beside"] if name != key and record.has(name)}
    return [replace(calls[0], arguments=found)]


def _error(row: Row) -> str | None:
    if error := row.name("error"):
        return error
    result = row.get("result")
    if row.get("success") is False or (isinstance(result, str) and result.strip().casefold() in NAMES["step_failed"]):
        return as_name(result) or "failed"
    return None


def stated_outcome(record: Row) -> dict[str, Any]:
    """The outcome a file states: `success`, `outcome` or a `reward`, `evaluated_by`, `score`, `failure_reason`.

    Who said so is "none" unless the file names an evaluator or a user; what only the agent says is unknown.
    """
    stated = record.first(*NAMES["success"])
    success = OUTCOMES.get(as_name(stated).casefold())
    judge = record.name("evaluated_by").casefold()
    reward = record.get("reward")
    if stated is None and is_number(reward):
        success, judge = rewarded(reward), judge or "evaluator"
    return {
        "success": None if judge == "agent" else success,
        "evaluated_by": judge if judge in _JUDGES else "none",
        "score": record.get("score") if record.get("score") is not None else reward,
        "failure_reason": record.name("failure_reason", "error") or None,
    }


def unread_of(record: Row) -> Iterator[str]:
    """What a run says of its outcome and `stated_outcome` cannot read."""
    stated, judge = record.name(*NAMES["success"]), record.name("evaluated_by")
    if stated.casefold() not in ("", "unknown", "none", *OUTCOMES):
        yield f"{record.key(*NAMES['success'])} is true or false, not {stated!r:.60}: not judged"
    if judge.casefold() not in ("", "none", *_JUDGES):
        yield f"evaluated_by is {', '.join(_JUDGES)} or none, not {judge!r:.60}"


def misspelled_in(records: Iterable[Row]) -> Iterator[str]:
    """Fields that nothing reads and that are spelled almost as one that is read ("succes")."""
    for key in dict.fromkeys(str(key) for record in records for key in record if str(key) not in _READ):
        for near in get_close_matches(key, _READ, n=1, cutoff=0.84):
            yield f"{key} is no field that is read; did you mean {near}?"


def stated_ending(record: Row) -> dict[str, Any]:
    """All a run in the plain format says of itself besides its steps, as `Draft.finish` takes it."""
    seconds = record.amount("duration_seconds")
    return {
        **stated_outcome(record),
        "cost": record.get("cost"),
        "tokens": record.whole("tokens"),
        "latency_ms": seconds * 1000 if seconds else None,
        "plan": record.lines("plan"),
        "agent": record.get("agent"),
        "env": record.get("env"),
        "started_at": record.first(*NAMES["started"]),
    }


def judged_by_program(reward: Any) -> dict[str, Any]:
    """What `Draft.finish` takes of the reward, or the verdict, of an environment; nothing where there is none."""
    is_verdict = isinstance(reward, bool)
    if not is_verdict and not is_number(reward):
        return {}
    told = {"success": reward} if is_verdict else {"success": rewarded(reward), "score": reward}
    return {**told, "evaluated_by": "evaluator", "judge": "program"}


def rewarded(reward: Any) -> bool | None:
    """A reward comes from an environment: 1 is success, 0 or less is failure, anything else is unknown."""
    return None if not is_number(reward) else True if reward >= ALMOST_ONE else False if reward <= 0 else None
