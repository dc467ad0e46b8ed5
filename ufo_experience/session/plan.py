"""Plan files: actions to replay, or a request to work on.

    {"request": "Send an email to John",
     "actions": [{"agent": "HostAgent", "action": "select_application", "parameters": {"app_name": "Outlook"}},
                 {"agent": "AppAgent", "action": "click_element", "parameters": {"label": "New Email"}}]}

`export_plan` writes one of an experience; its placeholders ({{input:1}}) must be filled first.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, Field

from ufo_experience.errors import DataError
from ufo_experience.integrations.formats import to_plan_file
from ufo_experience.schema import Experience, validate
from ufo_experience.session.files import StrPath, dump, read_json, write_atomic
from ufo_experience.session.log import APP, HOST
from ufo_experience.session.protocols import AgentStatus, Command, Decision, Target, Turn

MAX_PLAN_BYTES = 4 * 1024 * 1024

_PLACEHOLDER = re.compile(r"\{\{((?:input|secret):\d+)\}\}|<secret>")
_APPLICATION_KEYS = ("app_name", "application", "application_name")


class PlanAction(BaseModel):
    """One action of a plan, and who does it."""

    agent: str = APP
    action: str = Field(min_length=1)
    parameters: dict[str, Any] = {}

    @property
    def label(self) -> str:
        return str(self.parameters.get("label") or "")


class Plan(BaseModel):
    """What to do, and the actions that do it (none: only the request is given)."""

    request: str = Field(min_length=1, validation_alias=AliasChoices("request", "task"))
    actions: list[PlanAction] = []


def load_plan(path: StrPath, values: Mapping[str, str] | None = None) -> Plan:
    """Read a plan file; `{"input:1": "Jane"}` fills `{{input:1}}`. Raises DataError, which names file and field."""
    return validate(Plan, _fill(read_json(path, MAX_PLAN_BYTES), values or {}), file=str(path))


def check_replayable(plan: Plan, path: StrPath) -> None:
    """Raise `DataError` for a plan without actions, or with a placeholder nobody filled: nothing may be executed."""
    if not plan.actions:
        raise DataError("no actions to replay; run it as a batch instead", file=str(path), field="actions")
    for number, action in enumerate(plan.actions):
        left = _PLACEHOLDER.search(dump(action.parameters))
        if left:
            field = f"actions.{number}.parameters"
            raise DataError(f"{left[0]} is not filled: give its value", file=str(path), field=field)


def export_plan(experience: Experience, path: StrPath) -> Path:
    """Write an experience as a plan file. Raises StorageError when the disk refuses."""
    write_atomic(path, dump(to_plan_file(experience)) + "\n")
    return Path(path)


class PlanAgent:
    """Replays its part of a plan, exactly as written. Stops the run when an action does not work, or may not."""

    def __init__(self, left: deque[PlanAction], name: str) -> None:
        """`left` are the actions still to be done, shared by the two agents that replay a plan."""
        self.name, self._left = name, left

    async def act(self, turn: Turn) -> Decision:
        failed = next((result for _, result in turn.last if not result.ok), None)
        if failed is not None:
            return Decision(AgentStatus.ERROR, result=f"the plan cannot go on: {failed.error}")
        is_host = self.name == HOST
        if not self._left:
            return Decision(AgentStatus.FINISH, result="the plan was replayed" if is_host else "")
        if is_host != (self._left[0].agent == HOST):
            if is_host:
                return Decision(AgentStatus.ASSIGN, subtask=turn.request, application=turn.application)
            return Decision(AgentStatus.FINISH)
        action = self._left.popleft()
        target = Target(action.label) if action.label else None
        command = Command(action.action, action.parameters, target=target)
        opened = [str(action.parameters[key]) for key in _APPLICATION_KEYS if is_host and action.parameters.get(key)]
        return Decision(AgentStatus.CONTINUE, (command,), application=opened[0] if opened else "")


def _fill(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: values.get(match[1] or "", match[0]), value)
    if isinstance(value, Mapping):
        return {key: _fill(item, values) for key, item in value.items()}
    return [_fill(item, values) for item in value] if isinstance(value, list) else value
