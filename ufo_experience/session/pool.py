"""Many sessions, one after the other or some at a time. One that fails never stops the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ufo_experience.errors import UsageError
from ufo_experience.session.context import ContextNames
from ufo_experience.session.recovery import Failure, attempt
from ufo_experience.session.session import BaseSession
from ufo_experience.session.task_status import TaskStatus

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SessionReport:
    """How one session of a pool ended. `error` None: it ran to its end, whatever was judged of it."""

    task: str
    id: str | int
    results: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None


class SessionPool:
    """Runs sessions in the order given, `max_parallel` at a time."""

    def __init__(
        self, session_list: Iterable[BaseSession] = (), *, max_parallel: int = 1, status: TaskStatus | None = None
    ) -> None:
        """With `status`, how each session ends is kept in that file under its task name."""
        if max_parallel < 1:
            raise UsageError(f"at least one session at a time, not {max_parallel}")
        self._sessions = list(session_list)
        self._max_parallel = max_parallel
        self._status = status

    @property
    def session_list(self) -> list[BaseSession]:
        """The sessions waiting or run, in order."""
        return list(self._sessions)

    def add_session(self, session: BaseSession) -> None:
        """Add a session at the end."""
        self._sessions.append(session)

    def next_session(self) -> BaseSession | None:
        """Take the first session out of the pool; None when it is empty."""
        return self._sessions.pop(0) if self._sessions else None

    async def run_all(self) -> list[SessionReport]:
        """Run every session; one report each, in order."""
        places = asyncio.Semaphore(self._max_parallel)
        return list(await asyncio.gather(*(self._run_one(session, places) for session in self._sessions)))

    async def _run_one(self, session: BaseSession, places: asyncio.Semaphore) -> SessionReport:
        async with places:
            if self._status is not None:
                self._status.begin(session.task)
            done = await attempt(session.run())
            error = done.message if isinstance(done, Failure) else _error_of(session)
            if error is not None:
                _log.error("session %s failed: %s", session.task, error)
            if self._status is not None:
                self._status.end(session.task, error)
            return SessionReport(session.task, session.id, list(session.results), error)


def _error_of(session: BaseSession) -> str | None:
    """Why a session that ran to its end is in error."""
    return str(session.context.get(ContextNames.ERROR_MESSAGE) or "in error") if session.is_error() else None
