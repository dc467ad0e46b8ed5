"""The seven session types, on Windows (host and app agent) or Linux (one agent).

Interactive ones ask their user for the requests; service sessions have their commands executed at the other end of a
connection; the others read what to do from a file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from ufo_experience.session.dispatcher import WebSocketCommandDispatcher
from ufo_experience.session.files import StrPath
from ufo_experience.session.log import APP, HOST
from ufo_experience.session.parts import Interactor, SessionParts
from ufo_experience.session.plan import PlanAgent, check_replayable, load_plan
from ufo_experience.session.protocols import TaskExecutionProtocol
from ufo_experience.session.session import BaseSession


class WindowsBaseSession(BaseSession):
    """Two tiers: host agent and app agent."""

    agents: ClassVar[tuple[str, ...]] = ("host_agent", "app_agent")


class LinuxBaseSession(BaseSession):
    """One tier: `parts.app_agent` does everything."""

    agent_name, agents = "LinuxAgent", ("app_agent",)


class Session(WindowsBaseSession):
    """Interactive, with host and app agent."""


class LinuxSession(LinuxBaseSession):
    """Interactive, with one agent."""


class OpenAIOperatorSession(WindowsBaseSession):
    """Interactive, with one agent that works alone: `parts.operator_agent`, or `parts.app_agent` if there is none."""

    agent_name, agents, modes = "OpenAIOperatorAgent", ("app_agent",), ("operator",)


class _RemoteSession(BaseSession):
    """One request, whose commands the client at the other end of `task_protocol` executes; nobody is asked."""

    modes = ("service",)

    def __init__(
        self,
        task: str,
        should_evaluate: bool,
        id: int | str,
        request: str,
        task_protocol: TaskExecutionProtocol,
        *,
        parts: SessionParts,
    ) -> None:
        remote = replace(parts, dispatcher=WebSocketCommandDispatcher(task_protocol), user=Interactor())
        super().__init__(task, should_evaluate, id, request, parts=remote)

    def is_finished(self) -> bool:
        return self.total_rounds > 0 or super().is_finished()


class ServiceSession(_RemoteSession, WindowsBaseSession):
    """Controlled over a WebSocket, with host and app agent."""


class LinuxServiceSession(_RemoteSession, LinuxBaseSession):
    """Controlled over a WebSocket, with one agent."""


class FromFileSession(WindowsBaseSession):
    """Works on the request in a file: no questions."""

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
        """`values` fills the placeholders of `plan_file`. Raises DataError: it cannot be read or has no request."""
        self.plan_file, self.plan = plan_file, load_plan(plan_file, values)
        super().__init__(task, should_evaluate, id, self.plan.request, parts=replace(parts, user=Interactor()))


class FollowerSession(FromFileSession):
    """Replays a saved plan: no questions, no model, no memory; the same actions every time.

    Where the dispatcher can tell what is in view, each action is checked before it is carried out. The plan's request
    is the task, for the log and for what is learned from it. A plan without actions, or with a placeholder that is
    left, is a `DataError`.
    """

    modes, asks_memory = ("follower",), False

    def _init_agents(self) -> None:
        check_replayable(self.plan, self.plan_file)
        left = deque(self.plan.actions)
        self.host_agent, self.app_agent = PlanAgent(left, HOST), PlanAgent(left, APP)
