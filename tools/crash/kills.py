"""Kill a working process at random moments, again and again, and judge what the next one finds."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from ufo_experience.store.folder.store import FileStore

from tools.crash import ufo_model
from tools.crash.judge import Judge
from tools.crash.state import Message, received, start
from tools.crash.worker import record, work
from ufo_experience.store.files import Disk

LONGEST_S = 0.25  # from the first acknowledgement to the kill
LONGEST_EARLY_S = 0.03  # from the beginning of the first operation to the kill
EARLY = 1 / 3  # of the kills come before anything was acknowledged
FRESH_AFTER = 40  # kills of one store


@dataclass
class Tally:
    """Kills after which something acknowledged was lost or unreadable, or the index was not about the records."""

    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    unreadable: int = 0
    mismatched: int = 0
    slowest_open_s: float = 0.0
    first_fault: str = ""

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


def campaign(
    kills: int, seed: int, *, place: Path, records: int = 0, note: Callable[[str], None] = lambda text: None
) -> Tally:
    """Kill a worker of our store `kills` times. Stores begin with `records` records and are replaced now and then."""
    rng, tally = random.Random(seed), Tally()
    for number in range(kills):
        if number % FRESH_AFTER == 0:
            folder = place / f"kill{number}" / "db"
            judge = _prepare(folder, records)
        judge.observe(_run_and_kill(work, folder, seed * 1_000_000 + number + 1, rng))
        operation = judge.operation
        verdict = judge.check(folder)
        tally.kills += 1
        tally.lost += bool(verdict.lost)
        tally.unreadable += bool(verdict.unreadable)
        tally.mismatched += verdict.mismatched
        tally.slowest_open_s = max(tally.slowest_open_s, round(verdict.seconds, 3))
        tally.acknowledged += judge.acknowledged
        judge.acknowledged = 0
        if not tally.first_fault and (verdict.lost or verdict.unreadable or verdict.mismatched):
            kept = Path(tempfile.mkdtemp(prefix="crash-fault-")) / "db"
            shutil.copytree(folder, kept)
            tally.first_fault = f"kill {number} of seed {seed} in {operation!r}: {verdict}; store kept in {kept}"
        if number % 50 == 49:
            note(f"{number + 1} kills: {tally}")
    return tally


def baseline(kills: int, seed: int, *, place: Path) -> Tally:
    """The same with UFO's way of saving."""
    rng, tally = random.Random(seed), Tally()
    for number in range(kills):
        if number % FRESH_AFTER == 0:
            folder = place / f"model{number}"
            expected = _begin_model(folder)
        new = {message[1] for message in _run_and_kill(ufo_model.work, folder, number + 1, rng) if message[0] == "done"}
        expected |= new
        tally.acknowledged += len(new)
        found, agrees = ufo_model.look(folder)
        tally.kills += 1
        tally.unreadable += found is None
        tally.lost += bool(expected - (found or set()))
        tally.mismatched += not agrees
        expected = found or set()
        if found is None:  # as a user would: begin again
            shutil.rmtree(folder)
            expected = _begin_model(folder)
    return tally


def _begin_model(folder: Path) -> set[str]:
    folder.mkdir()
    return set(ufo_model.add_all(folder, range(50), Disk()))


def _prepare(folder: Path, records: int) -> Judge:
    store = FileStore.open(folder)
    store.add(record(-number) for number in range(1, records + 1))
    return Judge(there={one.id: [one.trust.value, 0] for one in store.scan()})


def _run_and_kill(target: Callable[..., None], folder: Path, seed: int, rng: random.Random) -> list[Message]:
    """Let a worker run and kill it: during its first operation, or a random time after its first acknowledgement."""
    early = rng.random() < EARLY
    process, pipe = start(target, str(folder), seed)
    messages: list[Message] = []
    while not messages or messages[-1][0] not in (("begin", "done") if early else ("done",)):
        if not pipe.poll(60):
            raise RuntimeError("the worker says nothing")
        messages.append(tuple(json.loads(pipe.recv_bytes())))
    time.sleep(rng.uniform(0.0, LONGEST_EARLY_S if early else LONGEST_S))
    process.kill()
    process.join()
    messages += received(pipe)
    pipe.close()
    return messages
