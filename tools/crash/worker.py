"""The process that is killed: random operations on one store, each announced before and acknowledged after."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from tests.builders import WHEN, a_record
from tools.crash.state import send
from ufo_experience.maintenance.changes import purge
from ufo_experience.memory import ExperienceMemory
from ufo_experience.schema import Experience, Trust
from ufo_experience.settings import Settings
from ufo_experience.store.base import matches_source

SOURCES = 6
Announce = Callable[..., None]


def settings(folder: str) -> Settings:
    """Settings of a store that needs no service."""
    return Settings(db=folder, embedder="hashing:64", summarizer="extractive", lock_timeout=30.0)


def record(number: int) -> Experience:
    """The record of a number; each has a request of its own."""
    source = f"logs/s{number % SOURCES}/response.log"
    return a_record(
        number,
        state={"task": f"send report {number} to <recipient>", "request": f"Send report {number}", "application": "A"},
        provenance={"source": source, "session": f"s{number % SOURCES}", "origin": "log"},
    )


def work(pipe: Connection, folder: str, seed: int) -> None:
    """Operate on the store in `folder` until killed; numbers of new records begin at `seed` × 10,000."""
    rng = random.Random(seed)
    memory = ExperienceMemory.open(settings=settings(folder))
    worker = Worker(memory, rng, seed * 10_000, lambda *message: send(pipe, *message))
    send(pipe, "ready")
    while True:
        name = rng.choices(list(OPERATIONS), [weight for weight, _ in OPERATIONS.values()])[0]
        OPERATIONS[name][1](worker, lambda *message, name=name: send(pipe, "begin", name, *message))
        send(pipe, "done", name)


class Worker:
    """What an operation needs."""

    def __init__(self, memory: ExperienceMemory, rng: random.Random, number: int, send: Announce) -> None:
        self.memory, self.rng, self.number, self.send = memory, rng, number, send

    def fresh(self, most: int) -> list[Experience]:
        """One to `most` new records."""
        count = self.rng.randint(1, most)
        self.number += count
        return [record(self.number - place) for place in range(count)]

    def some(self, most: int) -> list[str]:
        """Up to `most` ids of the store."""
        ids = self.memory.store.ids()
        return self.rng.sample(ids, min(len(ids), most))


def _add(worker: Worker, begin: Announce) -> None:
    new = worker.fresh(4)
    begin([one.id for one in new])
    worker.memory.store.add(new)


def _ingest(worker: Worker, begin: Announce) -> None:
    worker.number += 1
    log = Path(worker.memory.store.location).with_name("logs") / f"{worker.number}.json"
    log.parent.mkdir(exist_ok=True)
    step = {"step": 1, "thought": "", "action_type": "click", "control_text": "Send", "timestamp": WHEN.isoformat()}
    log.write_text(json.dumps({"task": f"Send report {worker.number}", "execution_trace": [step]}), encoding="utf-8")
    begin([], log.name)
    added = worker.memory.ingest(log).added
    worker.send("ingested", added)


def _remove(worker: Worker, begin: Announce) -> None:
    ids = worker.some(3)
    begin(ids)
    worker.memory.store.remove(ids)


def _trust(worker: Worker, begin: Announce) -> None:
    trust = worker.rng.choice(list(Trust))
    for id in worker.some(1):
        begin([id], trust.value)
        worker.memory.store.set_status(id, trust=trust)


def _credit(worker: Worker, begin: Announce) -> None:
    for id in worker.some(1):
        begin([id])
        worker.memory.store.update_usage(id, lambda usage: usage.model_copy(update={"injected": usage.injected + 1}))


def _index(worker: Worker, begin: Announce) -> None:
    begin([])
    worker.memory.index()


def _rebuild(worker: Worker, begin: Announce) -> None:
    begin([])
    worker.memory.index(rebuild=True)


def _import(worker: Worker, begin: Announce) -> None:
    new = worker.fresh(3)
    begin([one.id for one in new])
    rows = [one.model_dump(mode="json", exclude_defaults=True) for one in new]
    worker.memory.import_json(json.dumps({"format": "ufo_experience", "version": 1, "experiences": rows}))


def _purge(worker: Worker, begin: Announce) -> None:
    source = f"s{worker.rng.randrange(SOURCES)}"
    begin([one.id for one in worker.memory.store.scan() if matches_source(one.provenance, source)])
    purge(worker.memory.store, worker.memory.live.generations, source)


OPERATIONS: dict[str, tuple[int, Callable[[Worker, Announce], None]]] = {
    "add": (6, _add),
    "ingest": (3, _ingest),
    "remove": (3, _remove),
    "trust": (3, _trust),
    "credit": (3, _credit),
    "index": (3, _index),
    "rebuild": (2, _rebuild),
    "import": (3, _import),
    "purge": (1, _purge),
}
