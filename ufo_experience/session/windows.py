"""Sessions on Windows: a host agent chooses the application and the sub-task, an app agent works in it."""

from __future__ import annotations

from ufo_experience.errors import UsageError
from ufo_experience.session.parts import SessionParts
from ufo_experience.session.protocols import Agent
from ufo_experience.session.session import BaseSession

MODES = ("normal", "normal_operator")


class WindowsBaseSession(BaseSession):
    """Two tiers: host agent and app agent."""

    def _init_agents(self) -> None:
        self._host_agent = need(self.parts.host_agent, "host_agent", self.session_type)
        self._app_agent = need(self.parts.app_agent, "app_agent", self.session_type)

    def request_to_evaluate(self) -> str:
        """All requests of the session, as JSON."""
        return self.blackboard.requests_to_json()


class Session(WindowsBaseSession):
    """Interactive: the first request is given or asked for, then the user is asked what comes next."""

    def __init__(
        self,
        task: str,
        should_evaluate: bool,
        id: int | str,
        request: str = "",
        mode: str = "normal",
        *,
        parts: SessionParts,
    ) -> None:
        """In mode `normal_operator` the operator agent does the work of the app agent, where there is one."""
        self._mode = one_of(mode, MODES)
        self._init_request = request
        super().__init__(task, should_evaluate, id, parts=parts)

    def _init_agents(self) -> None:
        super()._init_agents()
        if self._mode == "normal_operator" and self.parts.operator_agent is not None:
            self._app_agent = self.parts.operator_agent

    def next_request(self) -> str:
        """The request given at first, then what the user says; none ends the session."""
        return next_from_user(self, self._init_request)


class OpenAIOperatorSession(WindowsBaseSession):
    """Pure operator mode: one agent with the rights of an operator, asked like in normal mode."""

    _mode = "operator"
    agent_name = "OpenAIOperatorAgent"

    def __init__(
        self, task: str, should_evaluate: bool, id: int | str, request: str = "", *, parts: SessionParts
    ) -> None:
        """`parts.operator_agent` works alone (`parts.app_agent` if there is none)."""
        self._init_request = request
        super().__init__(task, should_evaluate, id, parts=parts)

    def _init_agents(self) -> None:
        operator = self.parts.operator_agent or self.parts.app_agent
        self._app_agent = need(operator, "operator_agent", self.session_type)

    def next_request(self) -> str:
        """The request given at first, then what the user says; none ends the session."""
        return next_from_user(self, self._init_request)


def next_from_user(session: BaseSession, init_request: str) -> str:
    """The first request (`init_request` if not empty), then the user's next; ends the session when there is none."""
    user = session.parts.user
    if session.total_rounds == 0:
        request, done = init_request or user.first_request(), False
    else:
        request, done = user.new_request()
    if done or not request.strip():
        session.finish()
    return request


def need(agent: Agent | None, part: str, session_type: str) -> Agent:
    """`agent`, or a `UsageError` that names the missing part."""
    if agent is None:
        raise UsageError(f"{session_type} needs {part} in its parts")
    return agent


def one_of(mode: str, modes: tuple[str, ...]) -> str:
    """`mode`, or a `UsageError` that names the known ones."""
    if mode not in modes:
        raise UsageError(f"unknown mode {mode!r}: use one of {', '.join(modes)}")
    return mode
