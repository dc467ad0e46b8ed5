"""Many sessions one after the other, or some at a time, and how far a batch has come."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, UsageError
from ufo_experience.session.dispatcher import outcome_of, told
from ufo_experience.session.files import StrPath, dump, read_json, write_atomic
from ufo_experience.session.protocols import ContextNames
from ufo_experience.session.session import BaseSession

STATUS_FILE = "tasks_status.json"
RUNNING, DONE, FAILED = "running", "done", "failed"
_MAX_BYTES = 16 * 1024 * 1024  # of a status file

_log = logging.getLogger(__name__)


class TaskStatus:
    """The status file of a batch: `{task: "running" | "done" | "failed"}`. Thread-safe; whole after a crash.

    A task that is running in a file nobody writes any more was killed with its session.
    """

    def __init__(self, path: StrPath) -> None:
        """Take up the file if there is one. Raises DataError when it cannot be read, or is no status file."""
        self.path = Path(path)
        self._lock = threading.Lock()
        self._tasks = read_json(self.path, _MAX_BYTES) if self.path.exists() else {}
        if not isinstance(self._tasks, dict) or not set(self._tasks.values()) <= {RUNNING, DONE, FAILED}:
            raise DataError("not a status file: a mapping of tasks to states", file=str(path), code="E_SCHEMA")

    def set(self, task: str, state: str) -> None:
        """Note that a task is being worked on, done, or failed."""
        with self._lock:
            self._tasks[task] = state
            write_atomic(self.path, dump(self._tasks) + "\n")

    def is_done(self, task: str) -> bool:
        """True when a task needs no further attempt."""
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
    """Runs sessions in the order given, `max_parallel` at a time. One that fails never stops the others."""

    def __init__(
        self, session_list: Iterable[BaseSession] = (), *, max_parallel: int = 1, status: TaskStatus | None = None
    ) -> None:
        """With `status`, how each session ends is kept in that file under its task name."""
        if max_parallel < 1:
            raise UsageError(f"at least one session at a time, not {max_parallel}")
        self.session_list = list(session_list)
        self._max_parallel, self._status = max_parallel, status

    def add_session(self, session: BaseSession) -> None:
        """Add a session at the end."""
        self.session_list.append(session)

    def next_session(self) -> BaseSession | None:
        """Take the first session out of the pool; None when it is empty."""
        return self.session_list.pop(0) if self.session_list else None

    async def run_all(self) -> list[SessionReport]:
        """Run every session; one report each, in order."""
        slots = asyncio.Semaphore(self._max_parallel)
        return list(await asyncio.gather(*(self._run_one(session, slots) for session in self.session_list)))

    async def _run_one(self, session: BaseSession, slots: asyncio.Semaphore) -> SessionReport:
        async with slots:
            if self._status is not None:
                self._status.set(session.task, RUNNING)
            done = await outcome_of(session.run())
            error = told(done) if isinstance(done, Exception) else None
            if error is None and session.is_error():
                error = str(session.context.get(ContextNames.ERROR_MESSAGE) or "in error")
            if error is not None:
                _log.error("session %s failed: %s", session.task, error)
            if self._status is not None:
                self._status.set(session.task, DONE if error is None else FAILED)
            return SessionReport(session.task, session.id, list(session.results), error)
