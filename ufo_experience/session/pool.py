"""The right session for a platform and a mode, many of them in a pool, and how far a batch has come."""

import asyncio
import logging
import platform as host
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, UsageError
from ufo_experience.session import session as types
from ufo_experience.session.commands import outcome_of, told
from ufo_experience.session.files import StrPath, dump, read_json, write_atomic
from ufo_experience.session.parts import ContextNames, SessionParts
from ufo_experience.session.plan import FollowerSession, FromFileSession

STATUS_FILE = "tasks_status.json"
RUNNING, DONE, FAILED = "running", "done", "failed"
_MAX_BYTES = 16 * 1024 * 1024  # of a status file

_log = logging.getLogger(__name__)


class TaskStatus:
    """The status file of a batch: `{task: "running" | "done" | "failed"}`; one left running was killed. Thread-safe."""

    def __init__(self, path: StrPath) -> None:
        """Take up the file if there is one. Raises DataError when it cannot be read, or is no status file."""
        self.path = Path(path)
        self._lock = threading.Lock()
        self._tasks = read_json(self.path, _MAX_BYTES) if self.path.exists() else {}
        if not isinstance(self._tasks, dict) or not set(self._tasks.values()) <= {RUNNING, DONE, FAILED}:
            raise DataError("not a status file: a mapping of tasks to states", file=str(path), code="E_SCHEMA")

    def set(self, task: str, state: str) -> None:
        with self._lock:
            self._tasks[task] = state
            write_atomic(self.path, dump(self._tasks) + "\n")

    def is_done(self, task: str) -> bool:
        return self._tasks.get(task) == DONE

    def failed(self) -> list[str]:
        """The tasks to try again: failed, or broken off."""
        return [task for task in list(self._tasks) if not self.is_done(task)]


@dataclass(frozen=True)
class SessionReport:
    """How one session of a pool ended. `error` None: it ran to its end, whatever was judged of it."""

    task: str
    id: str | int
    results: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None


class SessionPool:
    """Runs sessions in order, `max_parallel` at a time; how each ends is kept in `status`. None stops the others."""

    def __init__(
        self, session_list: Iterable[types.BaseSession] = (), *, max_parallel: int = 1, status: TaskStatus | None = None
    ) -> None:
        if max_parallel < 1:
            raise UsageError(f"at least one session at a time, not {max_parallel}")
        self.session_list = list(session_list)
        self._max_parallel = max_parallel
        self._note: Callable[[str, str], None] = status.set if status else lambda task, state: None

    def add_session(self, session: types.BaseSession) -> None:
        self.session_list.append(session)

    def next_session(self) -> types.BaseSession | None:
        return self.session_list.pop(0) if self.session_list else None

    async def run_all(self) -> list[SessionReport]:
        slots = asyncio.Semaphore(self._max_parallel)
        return list(await asyncio.gather(*(self._run_one(session, slots) for session in self.session_list)))

    async def _run_one(self, session: types.BaseSession, slots: asyncio.Semaphore) -> SessionReport:
        async with slots:
            self._note(session.task, RUNNING)
            done = await outcome_of(session.run())
            error = told(done) if isinstance(done, Exception) else None
            if error is None and session.is_error():
                error = str(session.context.get(ContextNames.ERROR_MESSAGE) or "in error")
            if error is not None:
                _log.error("session %s failed: %s", session.task, error)
            self._note(session.task, DONE if error is None else FAILED)
            return SessionReport(session.task, session.id, list(session.results), error)


_ON_WINDOWS = (types.Session, types.OpenAIOperatorSession, types.ServiceSession, FollowerSession, FromFileSession)
_SESSIONS: dict[tuple[str, str], Callable[..., types.BaseSession]] = {
    **{("windows", mode): kind for kind in _ON_WINDOWS for mode in kind.modes},
    **{("linux", mode): kind for kind in (types.LinuxSession, types.LinuxServiceSession) for mode in kind.modes},
}


class SessionFactory:
    """Makes sessions; `parts` is called with each task's name. By `status` what is done of a batch is left out."""

    def __init__(
        self, parts: Callable[[str], SessionParts], *, should_evaluate: bool = True, status: TaskStatus | None = None
    ) -> None:
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
    ) -> list[types.BaseSession]:
        """Make the sessions of a task, one for each file in the folder `plan`; `extra` goes to the session type."""
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
        self, kind: Callable[..., types.BaseSession], name: str, plan: StrPath, id: str | int, extra: Mapping[str, Any]
    ) -> Iterator[types.BaseSession]:
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
