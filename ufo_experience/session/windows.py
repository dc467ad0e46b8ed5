"""Sessions on Windows: a host agent chooses the application and the sub-task, an app agent works in it."""

from __future__ import annotations

from ufo_experience.session.interactive import InteractiveSession
from ufo_experience.session.parts import SessionParts, need
from ufo_experience.session.session import BaseSession


class WindowsBaseSession(BaseSession):
    """Two tiers: host agent and app agent."""

    def _init_agents(self) -> None:
        self._host_agent = need(self.parts.host_agent, "host_agent", self.session_type)
        self._app_agent = need(self.parts.app_agent, "app_agent", self.session_type)

    def request_to_evaluate(self) -> str:
        """All requests of the session, as JSON."""
        return self.blackboard.requests_to_json()


class Session(InteractiveSession, WindowsBaseSession):
    """Interactive, with host and app agent."""


class OpenAIOperatorSession(InteractiveSession, WindowsBaseSession):
    """Interactive, with one agent that has the rights of an operator and works alone."""

    agent_name = "OpenAIOperatorAgent"

    def __init__(
        self, task: str, should_evaluate: bool, id: int | str, request: str = "", *, parts: SessionParts
    ) -> None:
        """The agent is `parts.operator_agent`, or `parts.app_agent` if there is none."""
        super().__init__(task, should_evaluate, id, request, parts=parts)
        self._mode = "operator"

    def _init_agents(self) -> None:
        operator = self.parts.operator_agent or self.parts.app_agent
        self._app_agent = need(operator, "operator_agent", self.session_type)
