"""Rows of data sets in which people or agents showed how it is done: AndroidControl, Mind2Web, AndroidWorld, AgentNet.

Their steps were carried out. A demonstration is nobody's judgement of itself, so the outcome is unknown, but for
AndroidWorld, where the environment judged.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.actions import calls_in
from ufo_experience.traces.builder import Draft, content_key
from ufo_experience.traces.coerce import as_dict, as_int, as_list, as_name, parse_literal
from ufo_experience.traces.common_keys import nothing_in, records_of
from ufo_experience.traces.json_lines import peek
from ufo_experience.traces.naming import Named, name_of_next
from ufo_experience.traces.reader import ReadReport
from ufo_experience.traces.screen_tree import name_of, named_at, names_of_calls, role_of

_REPR = re.compile(r"\s*\[(?P<role>[\w-]*)\]\s*(?P<name>.*?)->\s*(?P<op>\w+)(?::\s*(?P<value>.*))?", re.DOTALL)
_NO_ACTION = ("wait", "status", "answer", "unknown", "noop")


class RowsReader(ABC):
    """Reads files of rows, one run each."""

    name = ""

    def recognises(self, path: Path) -> bool:
        """True when a row among the first has the fields of this data set."""
        values = [item for value in peek(path) for item in as_list(value)[:3]]
        return any(isinstance(item, dict) and self.is_row(item) for item in values)

    @abstractmethod
    def is_row(self, row: dict[str, Any]) -> bool:
        """True for a row of this data set."""

    @abstractmethod
    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        """Add the steps of a row; returns what `Draft.finish` takes."""

    def task_of(self, row: dict[str, Any]) -> Any:
        """What was to be done."""
        return row.get("goal")

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield one trajectory a row. Raises `TraceError` when no row of it can be used."""
        problems: list[Problem] = []
        number = 0
        for line, row in records_of(path, problems):
            if not self.is_row(row):
                problems.append(
                    Problem(file=str(path), line=line, code="E_UNKNOWN_LINE", message="another kind of row")
                )
                continue
            number += 1
            key = content_key(path.stem, number, content_hash(row))
            draft = Draft(path, format=self.name, session=key, request=self.task_of(row))
            more = self.fill(draft, row)
            yield draft.finish(**{"success": None, "agent": self.name, **more})
        report.problems += problems
        if not number:
            raise nothing_in(path, f"row of {self.name}", problems)


class AndroidControlReader(RowsReader):
    """AndroidControl: a goal, actions with places, and what each step was meant to do."""

    name = "android-control"

    def is_row(self, row: dict[str, Any]) -> bool:
        return "goal" in row and isinstance(row.get("actions"), list) and "step_instructions" in row

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        words = as_list(row.get("step_instructions"))
        trees = as_list(row.get("accessibility_trees"))
        application = None
        for place, action in enumerate(as_list(row.get("actions"))):
            instruction = as_name(words[place]) if place < len(words) else ""
            at = named_at({"accessibility_tree": trees[place]}) if place < len(trees) else None
            for call in calls_in(action):
                if call.name in _NO_ACTION:
                    continue
                application = as_name(call.arguments.get("app_name")) or application
                (named,) = names_of_calls([call], instruction, at)
                draft.step(
                    call.name, parameters=call.arguments, observation=instruction, application=application,
                    mentioned=named or name_of_next(instruction),
                )  # fmt: skip
        return {"env": "android"}


class Mind2WebReader(RowsReader):
    """Mind2Web: a confirmed task, the site, and each action with the element it was on."""

    name = "mind2web"

    def is_row(self, row: dict[str, Any]) -> bool:
        return "confirmed_task" in row and ("action_reprs" in row or "actions" in row)

    def task_of(self, row: dict[str, Any]) -> Any:
        return row.get("confirmed_task")

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        lines = [as_name(one) for one in as_list(row.get("action_reprs"))]
        actions = [as_dict(one) for one in as_list(row.get("actions"))]
        for place in range(max(len(lines), len(actions))):
            match = _REPR.fullmatch(lines[place]) if place < len(lines) else None
            action = actions[place] if place < len(actions) else {}
            operation = as_dict(action.get("operation"))
            label = match["name"].strip() if match else ""
            name, role = (label, match["role"]) if match and label else _of_candidates(action)
            text = as_name(operation.get("value")) or (match["value"] if match else "") or ""
            verb = as_name(operation.get("op")) or (
                match["op"] if match else lines[place] if place < len(lines) else ""
            )
            draft.step(
                verb.lower(), control=name, control_type=role, parameters={"text": text} if text else {},
                application=row.get("website"),
            )  # fmt: skip
        return {"env": "web"}


class AndroidWorldReader(RowsReader):
    """JSON exports of AndroidWorld episodes; an index means an element of the screen of that moment."""

    name = "android-world"

    def is_row(self, row: dict[str, Any]) -> bool:
        return "goal" in row and isinstance(row.get("step_records"), list)

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        application = None
        for record in map(as_dict, as_list(row.get("step_records"))):
            reason, action = _reason_and_action(record.get("action"))
            elements = as_list(as_dict(record.get("state")).get("ui_elements"))
            for call in calls_in(action):
                if call.name in _NO_ACTION:
                    continue
                application = as_name(call.arguments.get("app_name")) or application
                control, role = _of_index(elements, call.arguments.get("index"))
                (mentioned,) = names_of_calls([call], reason, named_at({"ui_elements": elements}))
                draft.step(
                    call.name, control=control, control_type=role, parameters=call.arguments, observation=reason,
                    application=application, mentioned=mentioned or name_of_next(reason),
                    timestamp=record.get("timestamp"),
                )  # fmt: skip
        verdict = row.get("task_actually_successful", row.get("success"))
        judged = isinstance(verdict, bool)
        return {
            "success": verdict if judged else None,
            "evaluated_by": "evaluator" if judged else "none",
            "judge": "program" if judged else None,
            "env": "android",
            "complete": row.get("episode_terminated_early") is not True,
        }


class AgentNetReader(RowsReader):
    """AgentNet (OpenCUA): an instruction, and for each step the code and the words of the person who labelled it."""

    name = "agentnet"

    def is_row(self, row: dict[str, Any]) -> bool:
        traj = as_list(row.get("traj"))
        return "instruction" in row and any("code" in as_dict(as_dict(step).get("value")) for step in traj[:3])

    def task_of(self, row: dict[str, Any]) -> Any:
        return row.get("instruction")

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        for step in as_list(row.get("traj")):
            value = as_dict(as_dict(step).get("value"))
            calls = [call for call in calls_in(value.get("code")) if call.name not in ("terminate", "DONE")]
            for call, mentioned in zip(calls, names_of_calls(calls, as_name(value.get("action")), None), strict=True):
                draft.step(call.name, parameters=call.arguments, observation=value.get("action"), mentioned=mentioned)
        return {"env": as_name(row.get("platform") or row.get("os")) or None}


def _of_candidates(action: dict[str, Any]) -> Named:
    """Name and role of the element an action of Mind2Web was on."""
    for candidate in map(as_dict, as_list(action.get("pos_candidates"))):
        attributes = as_dict(candidate.get("attributes"))
        keys = ("aria_label", "aria-label", "inner_text", "text", "placeholder", "title", "value", "name", "id")
        found = next((text for key in keys if (text := as_name(attributes.get(key) or candidate.get(key)))), "")
        if found:
            return found, as_name(attributes.get("role") or candidate.get("tag"))
    return "", ""


def _of_index(elements: list[Any], index: Any) -> Named:
    place = as_int(index)
    if place is None or not 0 <= place < len(elements):
        return "", ""
    element = as_dict(elements[place])
    return name_of(element), role_of(element)


def _reason_and_action(action: Any) -> tuple[str, Any]:
    """An action as an object, or as text `Reason: … Action: {…}`."""
    if isinstance(action, dict):
        return "", action
    reason, mark, rest = as_name(action).rpartition("Action:")
    return reason.replace("Reason:", "").strip(), parse_literal(rest.strip()) if mark else None
