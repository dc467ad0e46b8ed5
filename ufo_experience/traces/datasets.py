"""Rows of data sets in which people or agents showed how it is done, and the runs of agents' test beds.

Their steps were carried out. A demonstration is nobody's judgement of itself, so its outcome is unknown; where the
environment judged (AndroidWorld, AgentLab, MiniWoB++), its word counts. AgentLab keeps the steps of a run in pickles,
which are never opened: a `summary_info.json` alone is answered with the advice to export them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.schema import Trajectory
from ufo_experience.traces.calls import Call, calls_in
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import first_values
from ufo_experience.traces.rows import RowsReader, judged_by_program, steps_of_calls
from ufo_experience.traces.tree import name_and_role, named_at
from ufo_experience.traces.values import (
    ALMOST_ONE,
    as_amount,
    as_dict,
    as_dicts,
    as_host,
    as_int,
    as_list,
    as_name,
    first_name,
    parse_literal,
)

_REPR = re.compile(r"\s*\[(?P<role>[\w-]*)\]\s*(?P<name>.*?)->\s*(?P<op>\w+)(?::\s*(?P<value>.*))?", re.DOTALL)
_LABELS = ("aria_label", "aria-label", "inner_text", "text", "placeholder", "title", "value", "name", "id")
_NO_ACTION = frozenset("wait status answer unknown noop terminate done report_infeasible send_msg_to_user".split())
_TREES = ("axtree", "axtree_pruned", "axtree_txt", "observation")
_ELEMENT = re.compile(
    r"\[(?P<id>[\w-]+)\] (?P<role>[A-Za-z][\w ]{0,60}?) (?P<quote>['\"])(?P<name>.{1,500}?)(?P=quote)(?=,|\s*$)", re.M
)


def _acts(action: Any) -> list[Call]:
    return [call for call in calls_in(action) if call.name.casefold() not in _NO_ACTION]


class AndroidControlReader(RowsReader):
    """AndroidControl: a goal, actions with places, and what each step was meant to do."""

    name = "android-control"
    needs = ("goal", "actions", "step_instructions")
    env = "android"

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        words, trees = as_list(row.get("step_instructions")), as_list(row.get("accessibility_trees"))
        application = None
        for place, action in enumerate(as_list(row.get("actions"))):
            instruction = as_name(words[place]) if place < len(words) else ""
            at = named_at({"accessibility_tree": trees[place]}) if place < len(trees) else None
            for step in steps_of_calls(_acts(action), instruction, at):
                application = as_name(step["parameters"].get("app_name")) or application
                draft.step(**step, application=application)
        return {}


class AndroidWorldReader(RowsReader):
    """JSON exports of AndroidWorld episodes; an index means an element of the screen of that moment."""

    name = "android-world"
    needs = ("goal", "step_records")
    env = "android"

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        application = None
        for record in as_dicts(row.get("step_records")):
            reason, action = _reason_and_action(record.get("action"))
            elements = as_list(as_dict(record.get("state")).get("ui_elements"))
            marks = {str(place): name_and_role(as_dict(element)) for place, element in enumerate(elements)}
            for call in _acts(action):
                application = as_name(call.arguments.get("app_name")) or application
                known = marks.get(str(as_int(call.arguments.get("index"))), ("", ""))
                for step in steps_of_calls([call], reason, named_at({"ui_elements": elements})):
                    if known[0]:
                        step |= {"control": known[0], "control_type": known[1]}
                    draft.step(**step, application=application, timestamp=record.get("timestamp"))
        verdict = row.get("task_actually_successful", row.get("success"))
        complete = row.get("episode_terminated_early") is not True
        return judged_by_program(verdict, known=isinstance(verdict, bool)) | {"complete": complete}


class AgentNetReader(RowsReader):
    """AgentNet (OpenCUA): an instruction, and for each step the code and the words of the person who labelled it."""

    name = "agentnet"
    needs = ("instruction", "traj")
    tasks = ("instruction",)

    def is_row(self, row: dict[str, Any]) -> bool:
        first = as_dicts(row.get("traj"))[:3]
        return "instruction" in row and any("code" in as_dict(step.get("value")) for step in first)

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        for value in (as_dict(step.get("value")) for step in as_dicts(row.get("traj"))):
            for step in steps_of_calls(_acts(value.get("code")), as_name(value.get("action"))):
                draft.step(**step)
        return {"env": first_name(row, "platform", "os") or None}


class Mind2WebReader(RowsReader):
    """Mind2Web: a confirmed task, the site, and each action with the element it was on."""

    name = "mind2web"
    tasks = ("confirmed_task",)
    env = "web"

    def is_row(self, row: dict[str, Any]) -> bool:
        return "confirmed_task" in row and bool(row.keys() & {"action_reprs", "actions"})

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        lines = [as_name(one) for one in as_list(row.get("action_reprs"))]
        actions = as_dicts(row.get("actions"))
        for place in range(max(len(lines), len(actions))):
            line = lines[place] if place < len(lines) else ""
            action = actions[place] if place < len(actions) else {}
            match = _REPR.fullmatch(line)
            shown = match.groupdict("") if match else {"name": "", "role": "", "op": line, "value": ""}
            operation = as_dict(action.get("operation"))
            name, role = shown["name"].strip(), shown["role"]
            if not name:
                name, role = _of_candidates(action)
            text = as_name(operation.get("value")) or shown["value"]
            draft.step(
                (as_name(operation.get("op")) or shown["op"]).lower(), control=name, control_type=role,
                parameters={"text": text} if text else {}, application=row.get("website"),
            )  # fmt: skip
        return {}


class AgentLabReader(RowsReader):
    """AgentLab and BrowserGym as JSON: `{"goal", "steps": [{"action", "axtree"}], "summary_info": {"cum_reward"}}`.

    An action names its element by a mark of that page's tree (`click('a51')`); the tree names it.
    """

    name = "agentlab"
    tasks = ("goal", "intent")
    env = "web"

    def is_row(self, row: dict[str, Any]) -> bool:
        return "summary_info" in row and any("action" in step for step in as_dicts(row.get("steps"))[:3])

    def recognises(self, found: Found) -> bool:
        """True for a run with its summary, and for a summary."""
        return super().recognises(found) or _is_summary(found.first)

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the run. Raises `DataError` for a summary alone."""
        if any(map(_is_summary, first_values(path))):
            reason = (
                "AgentLab's summary of a run; its steps are in pickles, which can run code and are never opened: "
                'export them as JSON, {"goal": …, "steps": [{"action": …, "axtree": …}], "summary_info": …}'
            )
            raise DataError(reason, file=str(path), code="E_EMPTY")
        yield from super().read(path, report)

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        for record in as_dicts(row.get("steps")):
            tree = next((text for key in _TREES if (text := record.get(key)) and isinstance(text, str)), "")
            marks = {found["id"]: (found["name"], found["role"]) for found in _ELEMENT.finditer(tree)}
            calls = [_marked(call) for call in _acts(record.get("action"))]
            for step in steps_of_calls(calls, first_name(record, "reasoning", "think"), refs=marks):
                error = as_name(record.get("error")) or None
                draft.step(**step, error=error, application=as_host(record.get("url")))
        summary = as_dict(row.get("summary_info"))
        reward, tokens = (as_amount(summary.get(key)) for key in ("cum_reward", "stats.cum_input_tokens"))
        return {
            **judged_by_program(reward is not None and reward >= ALMOST_ONE, reward, known=reward is not None),
            "failure_reason": as_name(summary.get("err_msg")) or None,
            "tokens": int(tokens) if tokens else None,
            "agent": as_name(row.get("agent")) or self.name,
        }


def _is_summary(value: Any) -> bool:
    found = as_dict(value)
    return "cum_reward" in found and "n_steps" in found and "steps" not in found


def _marked(call: Call) -> Call:
    """The call with the mark of its element under `ref`: `fill('a5', …)` and `press('a5', key)` have it elsewhere."""
    given = dict(call.arguments)
    if call.name == "press" and isinstance(given.get("presses"), str):
        given = {"ref": given["keys"], "keys": given["presses"]}
    elif "target" in given:
        given["ref"] = given.pop("target")
    return Call(call.name, given, call.comment)


def _of_candidates(action: dict[str, Any]) -> tuple[str, str]:
    """Name and role of the element an action of Mind2Web was on."""
    for candidate in as_dicts(action.get("pos_candidates")):
        found = {**candidate, **as_dict(candidate.get("attributes"))}
        if name := first_name(found, *_LABELS):
            return name, first_name(found, "role", "tag")
    return "", ""


def _reason_and_action(action: Any) -> tuple[str, Any]:
    """An action as an object, or as text `Reason: … Action: {…}`."""
    if isinstance(action, dict):
        return "", action
    reason, mark, rest = as_name(action).rpartition("Action:")
    return reason.replace("Reason:", "").strip(), parse_literal(rest.strip()) if mark else None
