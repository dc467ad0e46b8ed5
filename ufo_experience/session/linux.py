"""Sessions on Linux: one agent works alone, without a host."""

from __future__ import annotations

from ufo_experience.session.context import ContextNames
from ufo_experience.session.interactive import NORMAL, InteractiveSession
from ufo_experience.session.parts import SessionParts, need
from ufo_experience.session.session import BaseSession


class LinuxBaseSession(BaseSession):
    """One tier: `parts.app_agent` does everything."""

    agent_name = "LinuxAgent"

    def _init_agents(self) -> None:
        self._app_agent = need(self.parts.app_agent, "app_agent", self.session_type)


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

    def request_to_evaluate(self) -> str:
        """The requests of all rounds as JSON; before the first round, the one given."""
        return self.blackboard.requests_to_json() if self.current_round else self._init_request
