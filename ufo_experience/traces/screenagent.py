"""ScreenAgent steps: one object per screenshot, in files of their own or as JSON lines, session by session.

The corrected answer (`LLM_response_editer`, `actions`) is read, never the rejected `LLM_response`. `PlanAction`s are
the plan, `EvaluateSubTaskAction`s the agent's opinion; the data set says nothing about success.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.base import ReadReport
from ufo_experience.traces.draft import Draft, content_key, digest_of
from ufo_experience.traces.jsontext import peek
from ufo_experience.traces.rows import nothing_in, records_of
from ufo_experience.traces.values import as_dict, as_lines, as_list, as_name, as_text

_KINDS = {"MouseAction": "mouse_action_type", "KeyboardAction": "keyboard_action_type", "WaitAction": ""}
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKS = ("LLM_response_editer", "LLM_response_editer_en", "saved_image_name")


Row = tuple[int | None, dict[str, Any]]


class ScreenAgentReader:
    """Reads ScreenAgent steps."""

    name = "screenagent"

    def recognises(self, path: Path) -> bool:
        """True when the first object has a session, actions, and one of ScreenAgent's own fields."""
        first = as_dict(next(iter(peek(path)), None))
        return {"session_id", "actions"} <= first.keys() and bool(first.keys() & set(_MARKS))

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield one trajectory per session. Raises `TraceError` when no object is a step of ScreenAgent."""
        problems: list[Problem] = []
        taken = number = 0
        for session, group in groupby(records_of(path, problems), key=lambda row: as_name(row[1].get("session_id"))):
            if not session:
                problems += [_problem(path, line, "a step names no session") for line, _ in group]
                continue
            number += 1
            rows = sorted(group, key=lambda row: as_name(row[1].get("saved_image_name")))
            new, taken = problems[taken:], len(problems)
            yield self._trajectory(path, session, number, rows, new)
        report.problems += problems
        if not number:
            raise nothing_in(path, "step", problems)

    def _trajectory(
        self,
        path: Path,
        session: str,
        number: int,
        rows: list[tuple[int | None, dict[str, Any]]],
        problems: list[Problem],
    ) -> Trajectory:
        head = rows[0][1]
        request = as_name(head.get("task_prompt_en")) or head.get("task_prompt")
        key = content_key(session, number, digest_of(head))
        draft = Draft(path, format=self.name, session=key, request=request)
        plan: list[str] = []
        for line, row in rows:
            for action in map(as_dict, as_list(row.get("actions"))):
                if action.get("action_type") == "PlanAction":
                    plan += as_lines(action.get("element"))
                else:
                    _add_step(draft, line, row, action)
        claims = any("sub_task_success" in as_text(row.get("actions")) for _, row in rows)
        return draft.finish(
            success=None,
            evaluated_by="agent" if claims else "none",
            plan=plan,
            agent=self.name,
            started_at=_moment(head),
            problems=problems,
        )


def _add_step(draft: Draft, line: int | None, row: dict[str, Any], action: dict[str, Any]) -> None:
    kind = as_name(action.get("action_type"))
    if kind not in _KINDS:
        return
    position = as_dict(action.get("mouse_position"))
    parameters = {"x": position.get("width"), "y": position.get("height")} if position else {}
    for key, value in action.items():
        if key not in ("action_type", "mouse_position", _KINDS[kind]):
            parameters[key.removeprefix("mouse_").removeprefix("keyboard_")] = value
    verb = as_name(action.get(_KINDS[kind])) if _KINDS[kind] else ""
    answer = as_name(row.get("LLM_response_editer_en")) or as_name(row.get("LLM_response_editer"))
    draft.step(
        f"{kind.removesuffix('Action').casefold()}_{verb}".rstrip("_"),
        parameters=parameters,
        observation=_CODE.sub(" ", answer).strip(),
        agent=draft.format,
        timestamp=_moment(row),
        line=line,
    )


def _moment(row: dict[str, Any]) -> str:
    """The time stamp in the name of the screenshot."""
    return as_name(row.get("saved_image_name")).rpartition(".")[0]


def _problem(path: Path, line: int | None, message: str) -> Problem:
    return Problem(file=str(path), line=line, code="E_STEP", message=message)
