"""ScreenAgent's steps as sessions: python benchmarks/convert_screenagent.py STEPS.jsonl OUT.jsonl [--tasks TASKS.txt]

One line a screenshot, the lines of a session one after another. The corrected answer (`LLM_response_editer`,
`actions`) is read, never the rejected `LLM_response`. `PlanAction`s are the plan, `EvaluateSubTaskAction`s the agent's
opinion; the data set says nothing about success.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from sessions import Session, convert, json_lines

_KINDS = {"MouseAction": "mouse_action_type", "KeyboardAction": "keyboard_action_type", "WaitAction": ""}
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def read(path: Path) -> Iterator[Session]:
    """A session per `session_id`, its steps in the order of the screenshots."""
    for session, group in groupby(json_lines(path), key=lambda row: row["session_id"]):
        rows = sorted(group, key=_moment)
        actions = [(row, action) for row in rows for action in row["actions"]]
        plan = [action["element"] for _, action in actions if action["action_type"] == "PlanAction"]
        steps = [_step(row, action) for row, action in actions if action["action_type"] in _KINDS]
        task = rows[0].get("task_prompt_en") or rows[0]["task_prompt"]
        yield {"session": session, "task": task, "agent": "screenagent", "plan": plan, "steps": steps}


def _step(row: dict[str, Any], action: dict[str, Any]) -> dict[str, Any]:
    kind = action["action_type"]
    position = action.get("mouse_position")
    parameters = {"x": position["width"], "y": position["height"]} if position else {}
    for key, value in action.items():
        if key not in ("action_type", "mouse_position", _KINDS[kind]):
            parameters[key.removeprefix("mouse_").removeprefix("keyboard_")] = value
    verb = action.get(_KINDS[kind]) or ""
    answer = row.get("LLM_response_editer_en") or row.get("LLM_response_editer") or ""
    return {
        "action": f"{kind.removesuffix('Action').casefold()}_{verb}".rstrip("_"),
        "parameters": parameters,
        "observation": _CODE.sub(" ", answer).strip(),
        "timestamp": _moment(row),
    }


def _moment(row: dict[str, Any]) -> str:
    """The time stamp in the name of the screenshot."""
    return str(row.get("saved_image_name") or "").rpartition(".")[0]


if __name__ == "__main__":
    convert(read, __doc__)
