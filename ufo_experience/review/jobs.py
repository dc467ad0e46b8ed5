"""Work that takes longer than a page: it runs beside the page, one job at a time, and tells how far it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from ufo_experience.errors import ExperienceError, UsageError
from ufo_experience.memory import ExperienceMemory


class Jobs:
    """The long jobs of one memory; `name`, steps `done` of all (`total` 0: unknown) and `error` are of the last."""

    def __init__(self, memory: ExperienceMemory) -> None:
        self._lock, self._since = threading.Lock(), 0.0
        self.name, self.error, self.running = "", "", False
        self.done = self.total = 0
        self.results: dict[str, Any] = {}
        self._jobs: dict[str, Callable[[], Any]] = {
            "verify": memory.verify,
            "index": lambda: memory.index(progress=self._step),
            "rebuild": lambda: memory.index(rebuild=True, progress=self._step),
        }

    @property
    def seconds(self) -> int:
        """How long the job that runs has been at it."""
        return int(time.monotonic() - self._since)

    def start(self, name: str) -> None:
        """Begin a job, unless one is under way. Raises `UsageError` for a name that is none."""
        if name not in self._jobs:
            raise UsageError(f"no such job: {name!r}")
        with self._lock:
            if self.running:
                return
            self.name, self.error, self.running = name, "", True
            self.done = self.total = 0
            self._since = time.monotonic()
        threading.Thread(target=self._run, name=f"ufo-experience-{name}", daemon=True).start()

    def _run(self) -> None:
        error = f"{self.name} ended by a fault of the program; its log says more"
        try:
            self.results["verify" if self.name == "verify" else "index"] = self._jobs[self.name]()
            error = ""
        except ExperienceError as known:
            error = str(known)
        finally:  # of any other fault the thread's own message tells
            self.error, self.running = error, False

    def _step(self, what: str, done: int, total: int) -> None:
        self.done, self.total = done, total
