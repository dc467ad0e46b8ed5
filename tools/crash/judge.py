"""What a killed process had been told, and whether the store still agrees with it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tools.crash.state import Message
from tools.crash.worker import settings
from ufo_experience.memory import ExperienceMemory

GONE = {"remove", "purge"}


@dataclass
class Verdict:
    """Acknowledged changes that are lost, files that cannot be read, stores whose index is not about its records."""

    lost: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    mismatched: bool = False
    seconds: float = 0.0


@dataclass
class Judge:
    """Keeps the log of acknowledgements. `open` are ids of the operation that was cut short: old or new is right."""

    there: dict[str, list[object]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    operation: str = ""
    acknowledged: int = 0

    def observe(self, messages: Iterable[Message]) -> None:
        """Follow what a worker said: `begin name ids [value]`, `ingested ids`, `done name`."""
        pending: Message = ()
        for message in messages:
            if message[0] == "begin":
                pending, self.operation, self.open = message, message[1], set(message[2])
            elif message[0] == "ingested":
                pending = (*pending[:2], message[1])
            elif message[0] == "done":
                self._acknowledge(pending)
                pending, self.operation, self.open = (), "", set()

    def _acknowledge(self, begun: Message) -> None:
        if not begun:
            return
        self.acknowledged += 1
        name, ids = begun[1], begun[2]
        for id in ids:
            if name in GONE:
                self.there.pop(id, None)
                self.gone.add(id)
            elif name == "trust":
                self.there[id][0] = begun[3]
            elif name == "credit":
                self.there[id][1] = int(str(self.there[id][1])) + 1
            else:
                self.there[id] = [{"add": "observed", "import": "quarantined"}.get(name), 0]

    def check(self, folder: Path) -> Verdict:
        """Open the store as the next process would, and compare."""
        verdict = Verdict()
        started = time.monotonic()
        memory = ExperienceMemory.open(settings=settings(str(folder)), create=False)
        memory.retrieve("Send report 7")
        verdict.seconds = time.monotonic() - started
        store = memory.store
        verdict.unreadable = [problem.file for problem in store.verify().corrupt]
        found = {one.id: [one.trust.value, one.usage.injected] for one in store.scan()}
        verdict.unreadable += sorted(set(store.ids()) - found.keys())
        catalog = memory.live.snapshot().catalog
        verdict.mismatched = set(catalog.ids()) != found.keys()
        verdict.lost = [id for id, value in self.there.items() if not self._agrees(id, value, found)]
        verdict.lost += sorted((self.gone - self.open) & found.keys())
        unknown = found.keys() - self.there.keys() - self.open - self.gone
        verdict.lost += [] if self.operation == "ingest" else sorted(unknown)
        self.there = found  # what the next process has seen must stay
        self.gone -= found.keys()
        self.open = set()
        return verdict

    def _agrees(self, id: str, value: list[object], found: dict[str, list[object]]) -> bool:
        if id in self.open:
            return id in found or self.operation in GONE
        here = found.get(id)
        return here is not None and here[1] == value[1] and value[0] in (None, here[0])
