"""The seven session types, on Windows (host and app agent) or Linux (one agent).

Interactive ones ask their user for the requests; service sessions have their commands executed at the other end of a
connection; the others read what to do from a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ufo_experience.errors import UsageError
from ufo_experience.session.dispatcher import TaskExecutionProtocol, WebSocketCommandDispatcher
from ufo_experience.session.files import StrPath
from ufo_experience.session.interact import Interactor
from ufo_experience.session.parts import SessionParts
from ufo_experience.session.plan import check_replayable, guide_along, load_plan, plan_agents
from ufo_experience.session.protocols import ContextNames
from ufo_experience.session.session import BaseSession

NORMAL, NORMAL_OPERATOR = "normal", "normal_operator"


class WindowsBaseSession(BaseSession):
    """Two tiers: host agent and app agent."""

    def _init_agents(self) -> None:
        self.host_agent = self._need(self.parts.host_agent, "host_agent")
        self.app_agent = self._need(self.parts.app_agent, "app_agent")


class LinuxBaseSession(BaseSession):
    """One tier: `parts.app_agent` does everything."""

    agent_name = "LinuxAgent"

    def _init_agents(self) -> None:
        self.app_agent = self._need(self.parts.app_agent, "app_agent")


class InteractiveSession(BaseSession):
    """What interactive sessions of all platforms share.

    In mode `normal_operator` the operator agent does the work of the app agent, where there is one.
    """

    def __init__(
        self,
        task: str,
        should_evaluate: bool,
        id: int | str,
        request: str = "",
        mode: str = NORMAL,
        *,
        parts: SessionParts,
    ) -> None:
        """Without a `request` the user is asked for the first one.

        Raises:
            UsageError: `mode` is neither `normal` nor `normal_operator`.
        """
        if mode not in (NORMAL, NORMAL_OPERATOR):
            raise UsageError(f"unknown mode {mode!r}: use one of {NORMAL}, {NORMAL_OPERATOR}")
        if mode == NORMAL_OPERATOR and parts.operator_agent is not None:
            parts = replace(parts, app_agent=parts.operator_agent)
        self._mode, self._init_request = mode, request
        super().__init__(task, should_evaluate, id, parts=parts)

    def next_request(self) -> str:
        """The request given at first, then the user's next one; an empty one, or none, finishes the session."""
        user = self.parts.user
        if self.total_rounds == 0:
            request, done = self._init_request or user.first_request(), False
        else:
            request, done = user.new_request()
        if done or not request.strip():
            self.finish()
        return request


class Session(InteractiveSession, WindowsBaseSession):
    """Interactive, with host and app agent."""


class OpenAIOperatorSession(InteractiveSession, WindowsBaseSession):
    """Interactive, with one agent that has the rights of an operator and works alone.

    The agent is `parts.operator_agent`, or `parts.app_agent` if there is none.
    """

    agent_name = "OpenAIOperatorAgent"

    def _init_agents(self) -> None:
        self._mode = "operator"
        self.app_agent = self._need(self.parts.operator_agent or self.parts.app_agent, "operator_agent")


class LinuxSession(InteractiveSession, LinuxBaseSession):
    """Interactive, with one agent."""

    def __init__(
        self,
        task: str,
        should_evaluate: bool,
        id: int | str,
        request: str = "",
        mode: str = NORMAL,
        application_name: str | None = None,
        *,
        parts: SessionParts,
    ) -> None:
        """`application_name` is the application to work in, where it is known beforehand."""
        self._application_name = application_name
        super().__init__(task, should_evaluate, id, request, mode, parts=parts)

    def _init_context(self) -> None:
        super()._init_context()
        if self._application_name:
            self.context.set(ContextNames.APPLICATION_ROOT_NAME, self._application_name)
            self.application_window_info = {"name": self._application_name}


class _OneRequestSession(BaseSession):
    """Asks nobody: works on the one request it is made with, and ends."""

    def __init__(self, task: str, should_evaluate: bool, id: int | str, request: str, *, parts: SessionParts) -> None:
        self._request = request
        super().__init__(task, should_evaluate, id, parts=replace(parts, user=Interactor()))

    def next_request(self) -> str:
        """The one request, once."""
        if self.total_rounds > 0:
            self.finish()
            return ""
        return self._request


class _RemoteSession(_OneRequestSession):
    """What service sessions of all platforms share."""

    _mode = "service"

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
        """`task_protocol` is the connection to the client that executes the commands."""
        remote = replace(parts, dispatcher=WebSocketCommandDispatcher(task_protocol))
        super().__init__(task, should_evaluate, id, request, parts=remote)

    def is_finished(self) -> bool:
        """True after one round."""
        return self.total_rounds > 0 or super().is_finished()


class ServiceSession(_RemoteSession, WindowsBaseSession):
    """Controlled over a WebSocket, with host and app agent."""


class LinuxServiceSession(_RemoteSession, LinuxBaseSession):
    """Controlled over a WebSocket, with one agent."""


class FollowerSession(_OneRequestSession, WindowsBaseSession):
    """Replays a saved plan: no questions, no model, no memory; the same actions every time.

    Where the dispatcher can tell what is in view, a guide along the plan checks each action before it is carried out.
    The plan's request is the task, for the log and for what is learned from it.
    """

    _mode = "follower"

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
        """`values` fills the plan's placeholders.

        Raises:
            DataError: the plan cannot be read, has no actions, or a placeholder is left; nothing was executed.
        """
        self.plan = load_plan(plan_file, values)
        check_replayable(self.plan, plan_file)
        super().__init__(task, should_evaluate, id, self.plan.request, parts=parts)

    def _init_agents(self) -> None:
        self.host_agent, self.app_agent = plan_agents(self.plan)

    def reset(self) -> None:
        """Begin anew, at the start of the plan."""
        super().reset()
        self.recall, self.guide = None, guide_along(self.plan)


class FromFileSession(_OneRequestSession, WindowsBaseSession):
    """Works on the request in a file: no questions."""

    _mode = "batch_normal"

    def __init__(
        self, task: str, plan_file: StrPath, should_evaluate: bool, id: int | str, *, parts: SessionParts
    ) -> None:
        """Read the request of `plan_file`. Raises DataError: the file cannot be read or has no request."""
        self.plan_file, self.plan = plan_file, load_plan(plan_file)
        super().__init__(task, should_evaluate, id, self.plan.request, parts=parts)
