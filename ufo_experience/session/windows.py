"""Sessions on Windows: a host agent chooses the application and the sub-task, an app agent works in it."""

from __future__ import annotations

from ufo_experience.session.parts import SessionParts, need
from ufo_experience.session.requests import MODES, next_from_user, one_of
from ufo_experience.session.session import BaseSession


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
