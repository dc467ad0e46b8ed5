"""Runs of agents' test beds (OSWorld, AndroidWorld, AgentLab), and data sets in which people showed how.

Their steps were carried out. A demonstration is nobody's judgement of itself, so its outcome is unknown; where the
environment judged, its word counts: 1 is success, 0 is failure, anything between is unknown and kept as the score.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ufo_experience.schema import Problem
from ufo_experience.traces.calls import calls_in, control_of
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import ReadReport
from ufo_experience.traces.lines import JsonLines, first_text, load_document, problem
from ufo_experience.traces.rows import RowsReader, add_row, calls_of_row, judged_by_program, steps_of_row
from ufo_experience.traces.values import NAMES, Row, as_dict, as_name, as_text, parse_literal

TRAJECTORY, RESULT = "traj.jsonl", "result.txt"
_CLAIMS = ("DONE", "FAIL")
_LEVELS = 6  # folders above a run in which the task files are looked for

_REPR = re.compile(r"\s*\[(?P<role>[\w-]*)\]\s*(?P<name>.*?)->\s*(?P<op>\w+)(?::\s*(?P<value>.*))?", re.DOTALL)


class OSWorldReader(RowsReader):
    """One OSWorld run folder: `traj.jsonl` (actions as Python source), `result.txt` (one float).

    The folder does not hold the instruction. It is looked for in `task.json` or `<task id>.json` beside the run, in
    `evaluation_examples/examples/<domain>/<task id>.json` of a folder above, and in the first line. `WAIT` is a step,
    `DONE` and `FAIL` are the agent's claims.
    """

    name = "osworld"
    needs = ("step_num", "action")
    tasks = ("instruction", "task", "goal")
    untold = "the run (no task file is beside or above it)"
    wanted = "step"

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        file = path / TRAJECTORY if path.is_dir() else path
        lines = JsonLines(file, problems=report.problems)
        rows = [(line, row) for line, row in lines if row.keys() & {"action", "Error"}]
        if rows:
            task = _task_of(file.absolute().parent, report.problems)
            score = _score(file.with_name(RESULT), report.problems)
            yield Row({**task, "file": file, "rows": rows, "score": score, "torn": lines.torn})

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        rows, score = [one for _, one in row["rows"]], row["score"]
        draft.path, draft.starts_with = row["file"], rows[0]
        folder = draft.path.absolute().parent
        draft.name, draft.request = folder.name, draft.request or rows[0].first(*self.tasks)
        related = next(iter(row.listed("related_apps")), None) or row.name("snapshot") or folder.parent.name
        for line, one in row["rows"]:
            add_row(draft, one, **_said(one), line=line, application=as_name(related) or None, agent=self.name)
        errors = [as_text(one["Error"]) for one in rows if "Error" in one]
        claims = [one.get("action") for one in rows if one.get("action") in _CLAIMS or one.get("done") is True]
        return {
            "evaluated_by": "agent" if claims else "none",
            **judged_by_program(score),
            "failure_reason": errors[-1] if errors else "the agent gave up" if "FAIL" in claims else None,
            "started_at": rows[0].get("action_timestamp"),
            "sources": row.get("sources", ()),
            "complete": not errors and not row["torn"],
        }


def steps_of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of one line of OSWorld's log, as `Draft.step` takes them."""
    return steps_of_row(row, **_said(Row(row)))


def _said(row: Row) -> dict[str, Any]:
    """The actions of one line: Python source, a word, or an object such as a tool call or one of computer_13."""
    calls = calls_of_row(Row(row | {"action": row.first("action", "code")}))
    calls = [call for call in calls if call.name.upper() not in _CLAIMS]
    for call in calls:
        call.name = call.name.lower() if call.name.isupper() else call.name
    words = " ".join(as_name(row[key]) for key in NAMES["osworld_words"] if isinstance(row.get(key), str))
    return {"calls": calls, "thought": row.first(*NAMES["osworld_thought"]) or "", "words": words}


def _score(path: Path, problems: list[Problem]) -> float | None:
    if path.is_file() and not path.is_symlink():
        with suppress(ValueError):
            if 0 <= (score := float(first_text(path))) <= 1.0001:
                return min(score, 1.0)
        problems.append(problem(path, "E_RESULT", "not a number from 0 to 1", 1))
    return None


def _task_of(folder: Path, problems: list[Problem]) -> dict[str, Any]:
    name = f"{folder.name}.json"
    above = (parent / "evaluation_examples" / "examples" / folder.parent.name for parent in folder.parents[:_LEVELS])
    for place in (folder / "task.json", *(where / name for where in (folder, folder.parent, *above))):
        if place.is_file() and not place.is_symlink():
            task = as_dict(load_document(place, problems))
            if task.get("instruction"):
                return {**task, "sources": [place]}
    return {}


class AndroidControlReader(RowsReader):
    """AndroidControl: a goal, actions with places, and what each step was meant to do."""

    name = "android-control"
    needs = ("goal", "actions", "step_instructions")
    env = "android"

    def items(self, row: Row) -> Iterable[Row]:
        lists = zip_longest(*map(row.listed, ("actions", "step_instructions", "accessibility_trees")))
        return (Row(action=action, reasoning=words, ui_elements=tree) for action, words, tree in lists)


class AndroidWorldReader(RowsReader):
    """JSON exports of AndroidWorld episodes; an index means an element of the screen of that moment."""

    name = "android-world"
    needs = ("goal", "step_records")
    verdict = ("task_actually_successful", "is_successful", "success")
    env = "android"

    def items(self, row: Row) -> Iterable[Row]:
        for record in row.rows("step_records"):
            thought, action = "", record.get("action")
            if not isinstance(action, dict):  # `Reason: … Action: {…}`
                reason, mark, rest = as_name(action).rpartition("Action:")
                thought, action = reason.replace("Reason:", "").strip(), parse_literal(rest.strip()) if mark else None
            said = {"action": action, "reasoning": thought, "timestamp": record.get("timestamp")}
            yield Row(record.row("state") | said)

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        return {**super().fill(draft, row), "complete": row.get("episode_terminated_early") is not True}


class AgentNetReader(RowsReader):
    """AgentNet (OpenCUA): an instruction, and for each step the code and the words of the person who labelled it."""

    name = "agentnet"
    needs = ("instruction", "traj/value/code")
    tasks = ("instruction",)
    steps, action, thoughts = "traj/value", "code", ("action",)


class AgentLabReader(RowsReader):
    """AgentLab and BrowserGym as JSON: `{"goal", "steps": [{"action", "axtree"}], "summary_info": {"cum_reward"}}`.

    An action names its element by a mark of that page's tree (`click('a51')`).
    """

    name = "agentlab"
    needs = ("summary_info", "steps/action")
    tasks = ("goal", "intent")
    verdict = ("summary_info/cum_reward",)
    env = "web"

    def items(self, row: Row) -> Iterable[Row]:
        for record in super().items(row):
            calls = calls_in(record.get("action"))
            for given in (call.arguments for call in calls if "target" in call.arguments):
                given["ref"] = given.pop("target")
            yield Row(record | {"action": calls})

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        summary = row.row("summary_info")
        return {
            **super().fill(draft, row),
            "failure_reason": summary.name("err_msg") or None,
            "tokens": int(summary.amount("stats.cum_input_tokens") or 0) or None,
            "agent": row.name("agent") or self.name,
        }


class Mind2WebReader(RowsReader):
    """Mind2Web: a confirmed task, the site, and each action with the element it was on."""

    name = "mind2web"
    needs = ("confirmed_task", "action_reprs|actions")
    tasks = ("confirmed_task",)
    env = "web"

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        for line, given in zip_longest(map(as_name, row.listed("action_reprs")), row.rows("actions")):
            action, match = as_dict(given), _REPR.fullmatch(line or "")
            shown = Row(match.groupdict("") if match else {"op": line or ""})
            elements = (control_of(one) for one in action.rows("pos_candidates"))
            named = [(shown.name("name"), shown.get("role")), *elements]
            name, role = next((one for one in named if one[0]), ("", ""))
            operation = action.row("operation")
            text = operation.name("value") or shown.get("value")
            draft.step(
                (operation.name("op") or shown["op"]).lower(), control=name, control_type=role,
                parameters={"text": text} if text else {}, application=row.get("website"),
            )  # fmt: skip
        return {}
