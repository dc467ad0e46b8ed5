"""Plan files: actions to replay, or a request to work on; and the sessions that do so.

    {"request": "Send an email to John",
     "actions": [{"agent": "HostAgent", "action": "select_application", "parameters": {"app_name": "Outlook"}},
                 {"agent": "AppAgent", "action": "click_element", "parameters": {"label": "New Email"}}]}

`export_plan` writes one of an experience; its placeholders ({{input:1}}) must be filled first.
"""

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, Field

from ufo_experience.errors import DataError
from ufo_experience.integrations.formats import to_plan_file
from ufo_experience.schema import Experience, mapped, validate
from ufo_experience.session.commands import Command, Target
from ufo_experience.session.files import StrPath, dump, read_json, write_atomic
from ufo_experience.session.log import APP, HOST
from ufo_experience.session.parts import AgentStatus, Decision, Interactor, SessionParts, Turn
from ufo_experience.session.session import WindowsBaseSession

MAX_PLAN_BYTES = 4 * 1024 * 1024

_PLACEHOLDER = re.compile(r"\{\{((?:input|secret):\d+)\}\}|<secret>")
_APPLICATION_KEYS = ("app_name", "application", "application_name")


class PlanAction(BaseModel):
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
    given = values or {}

    def filled(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return _PLACEHOLDER.sub(lambda match: given.get(match[1] or "", match[0]), value)

    return validate(Plan, mapped(read_json(path, MAX_PLAN_BYTES), filled), file=str(path))


def export_plan(experience: Experience, path: StrPath) -> Path:
    write_atomic(path, dump(to_plan_file(experience)) + "\n")
    return Path(path)


class PlanAgent:
    """Replays its part of the actions `left`, exactly as written. Stops the run when one does not work, or may not."""

    def __init__(self, left: deque[PlanAction], name: str) -> None:
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


class FromFileSession(WindowsBaseSession):
    """Works on the request in a file: no questions. `values` fills the placeholders of `plan_file`."""

    modes = ("batch_normal",)

    def __init__(
        self,
        task: str,
        plan_file: StrPath,
        should_evaluate: bool,
        id: int | str,
        *,
        parts: SessionParts,
        values: Mapping[str, str] | None = None,
    ) -> None:
        self.plan_file, self.plan = plan_file, load_plan(plan_file, values)
        super().__init__(task, should_evaluate, id, self.plan.request, parts=replace(parts, user=Interactor()))


class FollowerSession(FromFileSession):
    """Replays a saved plan: no questions, no model, no memory; the same actions every time, each checked before it is
    carried out where the dispatcher can tell what is in view. A plan without actions, or with a placeholder that is
    left, is a `DataError`, and nothing of it is executed.
    """

    modes, asks_memory = ("follower",), False

    def _init_agents(self) -> None:
        if not self.plan.actions:
            message = "no actions to replay; run it as a batch instead"
            raise DataError(message, file=str(self.plan_file), field="actions")
        for number, action in enumerate(self.plan.actions):
            if left := _PLACEHOLDER.search(dump(action.parameters)):
                field = f"actions.{number}.parameters"
                raise DataError(f"{left[0]} is not filled: give its value", file=str(self.plan_file), field=field)
        remaining = deque(self.plan.actions)
        self.host_agent, self.app_agent = PlanAgent(remaining, HOST), PlanAgent(remaining, APP)
