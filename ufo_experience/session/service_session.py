"""Sessions whose commands are executed by a client at the other end of a WebSocket: one request, no questions."""

from __future__ import annotations

from dataclasses import replace

from ufo_experience.session.interact import AbsentUser
from ufo_experience.session.linux import LinuxBaseSession
from ufo_experience.session.parts import SessionParts
from ufo_experience.session.service_protocol import TaskExecutionProtocol, WebSocketCommandDispatcher
from ufo_experience.session.session import BaseSession
from ufo_experience.session.windows import WindowsBaseSession


class _RemoteSession(BaseSession):
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
        self._init_request = request
        dispatcher = WebSocketCommandDispatcher(task_protocol)
        super().__init__(task, should_evaluate, id, parts=replace(parts, dispatcher=dispatcher, user=AbsentUser()))

    def is_finished(self) -> bool:
        """True after one round."""
        return self.total_rounds > 0 or super().is_finished()

    def next_request(self) -> str:
        """The one request."""
        return self._init_request


class ServiceSession(_RemoteSession, WindowsBaseSession):
    """Controlled over a WebSocket, with host and app agent."""


class LinuxServiceSession(_RemoteSession, LinuxBaseSession):
    """Controlled over a WebSocket, with one agent."""

    def request_to_evaluate(self) -> str:
        """The one request."""
        return self._init_request
