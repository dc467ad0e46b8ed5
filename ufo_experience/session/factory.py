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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, UsageError
from ufo_experience.session.files import StrPath
from ufo_experience.session.from_file import FollowerSession, FromFileSession
from ufo_experience.session.linux import LinuxSession
from ufo_experience.session.parts import SessionParts
from ufo_experience.session.pool import FILE_NAME, TaskStatus
from ufo_experience.session.service_session import LinuxServiceSession, ServiceSession
from ufo_experience.session.session import BaseSession
from ufo_experience.session.windows import OpenAIOperatorSession, Session

PLAN_SUFFIX = ".json"

MakeParts = Callable[[str], SessionParts]

_INTERACTIVE: dict[tuple[str, str], type[BaseSession]] = {
    ("windows", "normal"): Session,
    ("windows", "normal_operator"): Session,
    ("windows", "operator"): OpenAIOperatorSession,
    ("linux", "normal"): LinuxSession,
    ("linux", "normal_operator"): LinuxSession,
}
_SERVICE: dict[tuple[str, str], type[BaseSession]] = {
    ("windows", "service"): ServiceSession,
    ("linux", "service"): LinuxServiceSession,
}
_FROM_FILE: dict[tuple[str, str], type[BaseSession]] = {
    ("windows", "follower"): FollowerSession,
    ("windows", "batch_normal"): FromFileSession,
}
_KINDS = _INTERACTIVE | _SERVICE | _FROM_FILE

_log = logging.getLogger(__name__)


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
        _check(system, mode)
        judge = self._should_evaluate if should_evaluate is None else should_evaluate
        kind: Callable[..., BaseSession] = _KINDS[system, mode]
        if (system, mode) in _FROM_FILE:
            return list(self._from_files(kind, task, plan, judge, id, extra))
        if (system, mode) in _SERVICE and "task_protocol" not in extra:
            raise UsageError("a service session needs task_protocol")
        if mode == "normal_operator":
            extra = {"mode": mode, **extra}
        return [kind(task, judge, id, request, parts=self._parts(task), **extra)]

    def _from_files(
        self,
        kind: Callable[..., BaseSession],
        name: str,
        plan: StrPath,
        judge: bool,
        id: str | int,
        extra: Mapping[str, Any],
    ) -> Iterator[BaseSession]:
        """One session a plan file. One bad file in a folder is a failed task and does not stop the others."""
        several = Path(plan).is_dir()
        for file in plan_files(plan):
            task = f"{name}/{file.stem}" if several else name
            if self._status is not None and self._status.is_done(task):
                continue
            try:
                yield kind(task, file, judge, id, parts=self._parts(task), **extra)
            except DataError as error:
                if not several:
                    raise
                _log.error("task %s is left out: %s", task, error)
                if self._status is not None:
                    self._status.begin(task)
                    self._status.end(task, str(error))


def _check(system: str, mode: str) -> None:
    modes = [mode for platform, mode in _KINDS if platform == system]
    if not modes:
        names = dict.fromkeys(platform for platform, _ in _KINDS)
        raise UsageError(f"no sessions for platform {system!r}: use one of {', '.join(names)}")
    if mode not in modes:
        raise UsageError(f"no mode {mode!r} on {system}: use one of {', '.join(modes)}")


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
