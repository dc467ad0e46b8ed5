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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufo_experience.actions import kind_of
from ufo_experience.errors import DataError
from ufo_experience.integrations.formats.plan import to_plan_file
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.steps import ProcedureStep
from ufo_experience.procedure.steps import Target as Aim
from ufo_experience.session.files import StrPath, dump, read_json, write_atomic
from ufo_experience.session.log_writer import APP, HOST
from ufo_experience.session.protocols import AgentStatus, Command, Decision, Target, Turn

if TYPE_CHECKING:
    from ufo_experience.schema import Experience

MAX_PLAN_BYTES = 4 * 1024 * 1024

_PLACEHOLDER = re.compile(r"\{\{((?:input|secret):\d+)\}\}|<secret>")
_APPLICATION_KEYS = ("app_name", "application", "application_name")


@dataclass(frozen=True)
class PlanAction:
    """One action of a plan, and who does it."""

    agent: str
    command: Command


@dataclass(frozen=True)
class Plan:
    """What to do, and the actions that do it (none: only the request is given)."""

    request: str
    actions: tuple[PlanAction, ...] = ()


def load_plan(path: StrPath, values: Mapping[str, str] | None = None) -> Plan:
    """Read a plan file, filling placeholders: `{"input:1": "Jane"}` stands for `{{input:1}}`.

    Raises:
        DataError: no such file, too large, or (`E_CORRUPT`) not JSON.
        DataError: no request, or an action without a name; the message names the field.
    """
    data = read_json(path, MAX_PLAN_BYTES)
    if not isinstance(data, Mapping):
        raise DataError("a plan is a JSON object", file=str(path), code="E_SCHEMA")
    requests = [data.get(key) for key in ("request", "task")]
    request = next((one for one in requests if isinstance(one, str) and one.strip()), None)
    if request is None:
        raise DataError("required: what is to be done", file=str(path), field="request", code="E_SCHEMA")
    actions = data.get("actions", [])
    if not isinstance(actions, list):
        raise DataError("not a list", file=str(path), field="actions", code="E_SCHEMA")
    known = dict(values or {})
    return Plan(_fill(request, known), tuple(_action(item, n, path, known) for n, item in enumerate(actions)))


def check_replayable(plan: Plan, path: StrPath) -> None:
    """Raise `DataError` for a plan without actions, or with a placeholder nobody filled: nothing may be executed."""
    if not plan.actions:
        raise DataError("no actions to replay; run it as a batch instead", file=str(path), field="actions")
    for number, action in enumerate(plan.actions):
        left = _PLACEHOLDER.search(dump([action.command.parameters, action.command.target]))
        if left:
            field = f"actions[{number}].parameters"
            raise DataError(f"{left[0]} is not filled: give its value", file=str(path), field=field)


def export_plan(experience: Experience, path: StrPath) -> Path:
    """Write an experience as a plan file. Raises StorageError when the disk refuses."""
    write_atomic(path, dump(to_plan_file(experience)) + "\n")
    return Path(path)


def guide_along(plan: Plan) -> Guide:
    """A guide along the actions of a plan that name a control. Whoever wrote the plan has allowed what is in it."""
    commands = [action.command for action in plan.actions]
    named = [(one, Aim(one.target.name)) for one in commands if one.target is not None]
    steps = tuple(
        ProcedureStep(number, one.tool_name, kind_of(one.tool_name), aim, dict(one.parameters))
        for number, (one, aim) in enumerate(named, start=1)
    )
    return Guide(Procedure("", plan.request, plan.request, "", steps), max_detours=len(steps))


class PlanAgent:
    """Replays its part of a plan, exactly as written. Stops the run when an action does not work, or may not.

    `left` are the actions still to be done, shared by the two agents that replay a plan.
    """

    def __init__(self, left: deque[PlanAction], name: str) -> None:
        self.name, self._left = name, left

    async def act(self, turn: Turn) -> Decision:
        """The next action of the plan."""
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
        command = self._left.popleft().command
        opened = [str(command.parameters[key]) for key in _APPLICATION_KEYS if is_host and command.parameters.get(key)]
        return Decision(AgentStatus.CONTINUE, (command,), application=opened[0] if opened else "")


def plan_agents(plan: Plan) -> tuple[PlanAgent, PlanAgent]:
    """The host and the app agent that replay a plan together."""
    left = deque(plan.actions)
    return PlanAgent(left, HOST), PlanAgent(left, APP)


def _action(item: Any, number: int, path: StrPath, values: Mapping[str, str]) -> PlanAction:
    field = f"actions[{number}]"
    if not isinstance(item, Mapping):
        raise DataError("not an object", file=str(path), field=field, code="E_SCHEMA")
    name, parameters = item.get("action"), item.get("parameters", {})
    if not isinstance(name, str) or not name:
        raise DataError("required", file=str(path), field=f"{field}.action", code="E_SCHEMA")
    if not isinstance(parameters, Mapping):
        raise DataError("not an object", file=str(path), field=f"{field}.parameters", code="E_SCHEMA")
    filled = {str(key): _fill(value, values) for key, value in parameters.items()}
    label = filled.get("label")
    target = Target(name=label) if isinstance(label, str) else None
    return PlanAction(str(item.get("agent") or APP), Command(name, filled, target=target))


def _fill(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: values.get(match[1] or "", match[0]), value)
    if isinstance(value, Mapping):
        return {key: _fill(item, values) for key, item in value.items()}
    return [_fill(item, values) for item in value] if isinstance(value, list) else value
