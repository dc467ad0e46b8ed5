"""Work that takes longer than a page: it runs beside the page, one job at a time, and tells how far it is."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ufo_experience.errors import ExperienceError
from ufo_experience.memory import ExperienceMemory

Progress = Callable[[str, int, int], None]
_log = logging.getLogger(__name__)


@dataclass
class JobState:
    """What is known of the last job: its name, seconds so far, steps done of all (0: nobody knows), result or error."""

    name: str = ""
    running: bool = False
    seconds: int = 0
    done: int = 0
    total: int = 0
    error: str = ""
    results: dict[str, Any] = field(default_factory=dict)


class Jobs:
    """The long jobs of one memory: `verify` reads every byte, `index` and `rebuild` bring the index in line."""

    def __init__(self, memory: ExperienceMemory) -> None:
        self._jobs: Mapping[str, Callable[[Progress], Any]] = {
            "verify": lambda progress: memory.verify(),
            "index": lambda progress: memory.index(progress=progress),
            "rebuild": lambda progress: memory.index(rebuild=True, progress=progress),
        }
        self._lock = threading.Lock()
        self._since = 0.0
        self._now = JobState()

    def start(self, name: str) -> None:
        """Begin a job, unless one is under way. Raises KeyError for a name that is none."""
        job = self._jobs[name]
        with self._lock:
            if self._now.running:
                return
            self._now = JobState(name, running=True, results=self._now.results)
            self._since = time.monotonic()
        threading.Thread(target=self._run, args=(name, job), name=f"ufo-experience-{name}", daemon=True).start()

    def state(self) -> JobState:
        """What is known now."""
        with self._lock:
            if self._now.running:
                self._now.seconds = int(time.monotonic() - self._since)
            return self._now

    def _run(self, name: str, job: Callable[[Progress], Any]) -> None:
        error = f"{name} ended by a fault of the program; its log says more"
        try:
            result, error = job(self._step), ""
            self._now.results["verify" if name == "verify" else "index"] = result
        except ExperienceError as known:
            error = str(known)
        finally:  # of any other fault the thread's own message tells
            with self._lock:
                self._now.error, self._now.running = error, False

    def _step(self, what: str, done: int, total: int) -> None:
        self._now.done, self._now.total = done, total
