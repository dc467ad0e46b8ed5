"""The right session for a platform and a mode.

    mode               Windows                  Linux
    normal             Session                  LinuxSession
    normal_operator    Session                  LinuxSession
    service            ServiceSession           LinuxServiceSession
    follower           FollowerSession          –
    batch_normal       FromFileSession          –
    operator           OpenAIOperatorSession    –

Follower and batch take a plan file or a folder of them, one session each.
"""

from __future__ import annotations

import logging
import platform as host
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, UsageError
from ufo_experience.session.files import StrPath
from ufo_experience.session.from_file import FollowerSession, FromFileSession
from ufo_experience.session.linux import LinuxSession
from ufo_experience.session.parts import SessionParts
from ufo_experience.session.service_session import LinuxServiceSession, ServiceSession
from ufo_experience.session.session import BaseSession
from ufo_experience.session.task_status import FILE_NAME, TaskStatus
from ufo_experience.session.windows import OpenAIOperatorSession, Session

WINDOWS, LINUX = "windows", "linux"
PLAN_SUFFIX = ".json"

_log = logging.getLogger(__name__)

MakeParts = Callable[[str], SessionParts]


@dataclass(frozen=True)
class Order:
    """What is asked of the factory, with defaults filled in."""

    task: str
    mode: str
    plan: StrPath
    request: str
    should_evaluate: bool
    id: str | int
    parts: MakeParts
    extra: Mapping[str, Any]


class SessionFactory:
    """Makes sessions. `parts` is called with each task's name, as agents and user belong to one session."""

    def __init__(self, parts: MakeParts, *, should_evaluate: bool = True, status: TaskStatus | None = None) -> None:
        """With `status`, tasks of a batch that are done are left out, and files that cannot be read noted as failed."""
        self._parts = parts
        self._should_evaluate = should_evaluate
        self._status = status

    def create_session(
        self,
        task: str,
        mode: str = "normal",
        plan: StrPath = "",
        request: str = "",
        *,
        platform: str | None = None,
        id: str | int = 0,
        should_evaluate: bool | None = None,
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
        makers = _MAKERS.get(system)
        if makers is None:
            raise UsageError(f"no sessions for platform {system!r}: use one of {', '.join(_MAKERS)}")
        if mode not in makers:
            raise UsageError(f"no mode {mode!r} on {system}: use one of {', '.join(makers)}")
        judge = self._should_evaluate if should_evaluate is None else should_evaluate
        return makers[mode](Order(task, mode, plan, request, judge, id, self._parts, extra), self._status)


Maker = Callable[[Order, "TaskStatus | None"], list[BaseSession]]


def _interactive(kind: Callable[..., BaseSession], *, moded: bool = True) -> Maker:
    def make(order: Order, _status: TaskStatus | None) -> list[BaseSession]:
        mode = {"mode": order.mode} if moded else {}
        extra = {**mode, **order.extra}
        session = kind(
            order.task, order.should_evaluate, order.id, order.request, parts=order.parts(order.task), **extra
        )
        return [session]

    return make


def _service(kind: Callable[..., BaseSession]) -> Maker:
    def make(order: Order, _status: TaskStatus | None) -> list[BaseSession]:
        if "task_protocol" not in order.extra:
            raise UsageError("a service session needs task_protocol")
        session = kind(
            order.task,
            order.should_evaluate,
            order.id,
            order.request,
            order.extra["task_protocol"],
            parts=order.parts(order.task),
        )
        return [session]

    return make


def _from_files(kind: Callable[..., BaseSession]) -> Maker:
    def make(order: Order, status: TaskStatus | None) -> list[BaseSession]:
        files = plan_files(order.plan)
        several = Path(order.plan).is_dir()
        sessions: list[BaseSession] = []
        for file in files:
            task = f"{order.task}/{file.stem}" if several else order.task
            if status is not None and status.is_done(task):
                continue
            try:
                parts = order.parts(task)
                sessions.append(kind(task, file, order.should_evaluate, order.id, parts=parts, **order.extra))
            except DataError as error:
                if not several:
                    raise
                _leave_out(task, error, status)
        return sessions

    return make


def _leave_out(task: str, error: DataError, status: TaskStatus | None) -> None:
    """One bad file in a folder is a failed task and does not stop the batch."""
    _log.error("task %s is left out: %s", task, error)
    if status is not None:
        status.begin(task)
        status.end(task, str(error))


def plan_files(plan: StrPath) -> list[Path]:
    """The plan file itself, or the plan files in a folder, by name.

    Raises:
        UsageError: no plan given, or none there.
    """
    path = Path(plan)
    if not str(plan) or not path.exists():
        raise UsageError(f"no plan at {str(plan)!r}")
    if path.is_file():
        return [path]
    found = sorted(file for file in path.iterdir() if _is_plan(file))
    if not found:
        raise UsageError(f"no {PLAN_SUFFIX} file in {path}")
    return found


def _is_plan(file: Path) -> bool:
    return file.is_file() and file.suffix == PLAN_SUFFIX and file.name != FILE_NAME


_MAKERS: dict[str, dict[str, Maker]] = {
    WINDOWS: {
        "normal": _interactive(Session),
        "normal_operator": _interactive(Session),
        "service": _service(ServiceSession),
        "follower": _from_files(FollowerSession),
        "batch_normal": _from_files(FromFileSession),
        "operator": _interactive(OpenAIOperatorSession, moded=False),
    },
    LINUX: {
        "normal": _interactive(LinuxSession),
        "normal_operator": _interactive(LinuxSession),
        "service": _service(LinuxServiceSession),
    },
}
