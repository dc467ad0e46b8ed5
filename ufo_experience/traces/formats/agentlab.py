"""AgentLab and BrowserGym: a run as JSON, `{"goal", "steps": [{"action", "axtree"}], "summary_info": {"cum_reward"}}`.

AgentLab itself keeps the steps of a run in pickles, which are never opened: its `summary_info.json` is answered with
the advice to export them. An action names its element by an id of that page's tree (`click('a51')`); the tree names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.errors import TraceError
from ufo_experience.schema import Trajectory
from ufo_experience.traces.actions import Call, calls_in
from ufo_experience.traces.builder import Draft
from ufo_experience.traces.coerce import as_amount, as_dict, as_host, as_list, as_name
from ufo_experience.traces.formats.demonstrations import RowsReader
from ufo_experience.traces.json_lines import peek
from ufo_experience.traces.naming import Named
from ufo_experience.traces.reader import ReadReport

_TREES = ("axtree", "axtree_pruned", "axtree_txt", "observation")
_ELEMENT = re.compile(
    r"\[(?P<id>[\w-]+)\] (?P<role>[A-Za-z][\w ]{0,60}?) (?P<quote>['\"])(?P<name>.{1,500}?)(?P=quote)(?=,|\s*$)", re.M
)
_NO_ACTION = ("noop", "report_infeasible", "send_msg_to_user")
_ALMOST_ONE = 0.999


class AgentLabReader(RowsReader):
    """One run a file; a `summary_info.json` alone says how a run ended and not what was done."""

    name = "agentlab"

    def recognises(self, path: Path) -> bool:
        """True for a run with its summary, and for a summary."""
        return super().recognises(path) or any(_is_summary(value) for value in peek(path))

    def is_row(self, row: dict[str, Any]) -> bool:
        steps = as_list(row.get("steps"))
        return "summary_info" in row and any("action" in as_dict(step) for step in steps[:3])

    def task_of(self, row: dict[str, Any]) -> Any:
        return row.get("goal") or row.get("intent")

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the run. Raises `TraceError` for a summary alone."""
        if any(_is_summary(value) for value in peek(path)) and not super().recognises(path):
            reason = (
                "AgentLab's summary of a run; its steps are in pickles, which can run code and are never opened: "
                'export them as JSON, {"goal": …, "steps": [{"action": …, "axtree": …}], "summary_info": …}'
            )
            raise TraceError(reason, file=str(path), code="E_EMPTY")
        yield from super().read(path, report)

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        for step in map(as_dict, as_list(row.get("steps"))):
            tree = next((text for key in _TREES if (text := step.get(key)) and isinstance(text, str)), "")
            names = {found["id"]: (found["name"], found["role"]) for found in _ELEMENT.finditer(tree)}
            for call in calls_in(step.get("action")):
                if call.name not in _NO_ACTION:
                    _add(draft, call, names, step)
        summary = as_dict(row.get("summary_info"))
        reward = as_amount(summary.get("cum_reward"))
        tokens = as_amount(summary.get("stats.cum_input_tokens"))
        return {
            "success": None if reward is None else reward >= _ALMOST_ONE,
            "evaluated_by": "none" if reward is None else "evaluator",
            "judge": None if reward is None else "program",
            "score": reward,
            "failure_reason": as_name(summary.get("err_msg")) or None,
            "tokens": int(tokens) if tokens else None,
            "agent": as_name(row.get("agent")) or self.name,
            "env": "web",
        }


def _is_summary(value: Any) -> bool:
    found = as_dict(value)
    return "cum_reward" in found and "n_steps" in found and "steps" not in found


def _add(draft: Draft, call: Call, names: dict[str, Named], step: dict[str, Any]) -> None:
    """Add an action, its element named by the tree of its page."""
    given = dict(call.arguments)
    if call.name == "press" and isinstance(given.get("presses"), str):  # press(element, key)
        given = {"ref": given["keys"], "keys": given["presses"]}
    key = next((key for key in ("ref", "target") if key in given), None)
    reference = as_name(given.get(key)) if key else ""
    name, role = names.get(reference, ("", ""))
    if key == "target":
        given["ref"] = given.pop("target")
    draft.step(
        call.name, control=name, control_type=role, parameters=given,
        observation=step.get("reasoning") or step.get("think"), error=as_name(step.get("error")) or None,
        application=as_host(step.get("url")),
    )  # fmt: skip
