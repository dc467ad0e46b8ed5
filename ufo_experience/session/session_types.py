"""The seven session types, on Windows (host and app agent) or Linux (one agent), and the factory that chooses.

Interactive ones ask their user for the requests; service sessions have their commands executed at the other end of a
connection; the others read what to do from a file.
"""

from __future__ import annotations

import logging
import platform as host
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, UsageError
from ufo_experience.session.dispatcher import WebSocketCommandDispatcher
from ufo_experience.session.files import StrPath
from ufo_experience.session.parts import Interactor, SessionParts
from ufo_experience.session.plan import check_replayable, guide_along, load_plan, plan_agents
from ufo_experience.session.pool import FAILED, STATUS_FILE, TaskStatus
from ufo_experience.session.protocols import TaskExecutionProtocol
from ufo_experience.session.session import BaseSession

_log = logging.getLogger(__name__)


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


class Session(WindowsBaseSession):
    """Interactive, with host and app agent."""


class LinuxSession(LinuxBaseSession):
    """Interactive, with one agent."""


class OpenAIOperatorSession(WindowsBaseSession):
    """Interactive, with one agent that has the rights of an operator and works alone.

    The agent is `parts.operator_agent`, or `parts.app_agent` if there is none.
    """

    agent_name = "OpenAIOperatorAgent"
    modes = ("operator", *WindowsBaseSession.modes)

    def _init_agents(self) -> None:
        self.mode = "operator"
        self.app_agent = self._need(self.parts.operator_agent or self.parts.app_agent, "operator_agent")


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
        """True after one round."""
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
        """`values` fills the placeholders of `plan_file`.

        Raises:
            DataError: the file cannot be read or has no request; nothing was executed.
        """
        self.plan_file, self.plan = plan_file, load_plan(plan_file, values)
        self._check_plan()
        super().__init__(task, should_evaluate, id, self.plan.request, parts=replace(parts, user=Interactor()))

    def _check_plan(self) -> None:
        """A request is enough."""


class FollowerSession(FromFileSession):
    """Replays a saved plan: no questions, no model, no memory; the same actions every time.

    Where the dispatcher can tell what is in view, a guide along the plan checks each action before it is carried out.
    The plan's request is the task, for the log and for what is learned from it. A plan without actions, or with a
    placeholder that is left, is a `DataError`.
    """

    modes = ("follower",)

    def _check_plan(self) -> None:
        check_replayable(self.plan, self.plan_file)

    def _init_agents(self) -> None:
        self.host_agent, self.app_agent = plan_agents(self.plan)

    def reset(self) -> None:
        """Begin anew, at the start of the plan."""
        super().reset()
        self.recall, self.guide = None, guide_along(self.plan)


_SESSIONS: dict[tuple[str, str], Callable[..., BaseSession]] = {
    ("windows", "normal"): Session,
    ("windows", "normal_operator"): Session,
    ("windows", "operator"): OpenAIOperatorSession,
    ("windows", "service"): ServiceSession,
    ("windows", "follower"): FollowerSession,
    ("windows", "batch_normal"): FromFileSession,
    ("linux", "normal"): LinuxSession,
    ("linux", "normal_operator"): LinuxSession,
    ("linux", "service"): LinuxServiceSession,
}


class SessionFactory:
    """Makes sessions. `parts` is called with each task's name, as agents and user belong to one session."""

    def __init__(
        self, parts: Callable[[str], SessionParts], *, should_evaluate: bool = True, status: TaskStatus | None = None
    ) -> None:
        """With `status`, tasks of a batch that are done are left out, and files that cannot be read noted as failed."""
        self._parts, self._should_evaluate, self._status = parts, should_evaluate, status

    def create_session(
        self,
        task: str,
        mode: str = "normal",
        plan: StrPath = "",
        request: str = "",
        *,
        platform: str | None = None,
        id: str | int = 0,
        **extra: Any,
    ) -> list[BaseSession]:
        """Make the sessions of a task: one, or one per plan file in the folder `plan`.

        `platform` is "windows" or "linux" (None: this machine's); `extra` are arguments of the session type:
        `task_protocol`, `application_name`, `values`.

        Raises:
            UsageError: no such mode on this platform, or a part or argument is missing.
            DataError: the plan cannot be read (in a folder such a file is logged, noted and left out).
        """
        system = (platform or host.system()).casefold()
        kind = _SESSIONS.get((system, mode))
        if kind is None:
            modes = [mode for platform, mode in _SESSIONS if platform == system]
            known = f"modes are {', '.join(modes)}" if modes else "platforms are windows, linux"
            raise UsageError(f"no mode {mode!r} on {system}: {known}")
        if mode in ("follower", "batch_normal"):
            return list(self._from_files(kind, task, plan, id, extra))
        if mode == "service" and "task_protocol" not in extra:
            raise UsageError("a service session needs task_protocol")
        if mode == "normal_operator":
            extra = {"mode": mode, **extra}
        return [kind(task, self._should_evaluate, id, request, parts=self._parts(task), **extra)]

    def _from_files(
        self, kind: Callable[..., BaseSession], name: str, plan: StrPath, id: str | int, extra: Mapping[str, Any]
    ) -> Iterator[BaseSession]:
        """One session a plan file. One bad file in a folder is a failed task and does not stop the others."""
        several = Path(plan).is_dir()
        for file in _plan_files(plan):
            task = f"{name}/{file.stem}" if several else name
            if self._status is not None and self._status.is_done(task):
                continue
            try:
                yield kind(task, file, self._should_evaluate, id, parts=self._parts(task), **extra)
            except DataError as error:
                if not several:
                    raise
                _log.error("task %s is left out: %s", task, error)
                if self._status is not None:
                    self._status.set(task, FAILED)


def _plan_files(plan: StrPath) -> list[Path]:
    """The plan file itself, or the plan files in a folder, by name. Raises UsageError when there is none."""
    path = Path(plan)
    if not str(plan) or not path.exists():
        raise UsageError(f"no plan at {str(plan)!r}")
    if path.is_file():
        return [path]
    found = sorted(file for file in path.glob("*.json") if file.is_file() and file.name != STATUS_FILE)
    if not found:
        raise UsageError(f"no .json file in {path}")
    return found
