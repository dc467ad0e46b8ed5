"""How far a batch has come, in a file: which tasks are done, which failed and why, so that it can be taken up again."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Any

from ufo_experience.errors import SchemaError
from ufo_experience.session.files import StrPath, read_json, write_atomic
from ufo_experience.session.jsonform import dump

FILE_NAME = "tasks_status.json"

_MAX_BYTES = 16 * 1024 * 1024


class TaskState(str, Enum):
    """Where a task stands. RUNNING in a file that nobody writes any more means that its session was killed."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class TaskStatus:
    """The status file of a batch: `{task: {"state", "attempts", "at", "error"}}`. Thread-safe; whole after a crash."""

    def __init__(self, path: StrPath) -> None:
        """Take up the file if there is one.

        Raises:
            DataError: it cannot be read, or (as `SchemaError`) is no status file.
        """
        self.path = Path(path)
        self._lock = threading.Lock()
        self._tasks: dict[str, dict[str, Any]] = _load(self.path)

    def begin(self, task: str) -> None:
        """Note that a task is being worked on."""
        attempts = int(self.of(task).get("attempts", 0)) + 1
        self._set(task, TaskState.RUNNING, attempts, None)

    def end(self, task: str, error: str | None = None) -> None:
        """Note that a task is done or, with an error, failed."""
        state = TaskState.DONE if error is None else TaskState.FAILED
        self._set(task, state, int(self.of(task).get("attempts", 1)), error)

    def is_done(self, task: str) -> bool:
        """True when a task needs no further attempt."""
        return self.of(task).get("state") == TaskState.DONE.value

    def of(self, task: str) -> Mapping[str, Any]:
        """What is known of a task; empty when nothing is."""
        with self._lock:
            return dict(self._tasks.get(task, {}))

    def failed(self) -> list[str]:
        """The tasks to try again: failed, or broken off."""
        with self._lock:
            return [task for task, known in self._tasks.items() if known.get("state") != TaskState.DONE.value]

    def _set(self, task: str, state: TaskState, attempts: int, error: str | None) -> None:
        known = {"state": state.value, "attempts": attempts, "at": datetime.now(timezone.utc), "error": error}
        with self._lock:
            self._tasks[task] = known
            write_atomic(self.path, dump(self._tasks) + "\n")


def _load(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    data = read_json(path, _MAX_BYTES)
    if not isinstance(data, dict) or not all(isinstance(known, dict) for known in data.values()):
        raise SchemaError("not a status file: a mapping of tasks to objects", file=str(path))
    return data
