"""Many processes writing one store at once, while others read it and some writers are killed."""

from __future__ import annotations

import random
import time
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from ufo_experience.fileio.disk import Disk
from ufo_experience.store.folder.store import FileStore

from tools.crash import ufo_model
from tools.crash.state import received, send, start
from tools.crash.worker import record
from ufo_experience.errors import LockedError

PATIENCE_S = 120.0


@dataclass
class Crowd:
    """What became of it. `slowest_add_s` is the longest any add waited and worked."""

    writers: int
    acknowledged: int = 0
    lost: int = 0
    corrupt: int = 0
    reads: int = 0
    refused: int = 0
    killed: int = 0
    slowest_add_s: float = 0.0
    torn_reads: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


def write(pipe: Connection, folder: str, first: int, count: int) -> None:
    """Add `count` records one by one, each acknowledged with the time it took."""
    store = FileStore.open(folder, lock_timeout=PATIENCE_S)
    send(pipe, "ready")
    for number in range(first, first + count):
        began, one = time.monotonic(), record(number)
        try:
            store.add([one])
        except LockedError:
            send(pipe, "refused")
            continue
        send(pipe, "added", one.id, time.monotonic() - began)
    send(pipe, "end")


def read(pipe: Connection, folder: str) -> None:
    """Read all records over and over until killed; a record once seen must be whole ever after."""
    store, seen = FileStore.open(folder, create=False), set[str]()
    send(pipe, "ready")
    while True:
        here = {one.id for one in store.scan()}
        torn = [problem.message for problem in store.verify().corrupt] + sorted(seen - here)
        seen |= here
        send(pipe, "read", torn)


def crowd(writers: int, adds: int, place: Path, *, readers: int = 2, victims: int = 4, seed: int = 0) -> Crowd:
    """`writers` processes × `adds` records, `readers` looping beside them, `victims` more writers that get killed."""
    folder, result, rng = str(place / "db"), Crowd(writers), random.Random(seed)
    FileStore.open(folder)
    began = time.monotonic()
    reading = [start(read, folder) for _ in range(readers)]
    writing = [start(write, folder, number * 100_000, adds) for number in range(writers)]
    messages = []
    for number in range(victims):
        process, pipe = start(write, folder, (writers + number) * 100_000, 100_000)
        pipe.recv_bytes()
        time.sleep(rng.uniform(0.0, 0.2))
        process.kill()
        process.join()
        result.killed += 1
        messages += received(pipe)
    for process, pipe in writing:
        messages += received(pipe)
        process.join()
    result.seconds = round(time.monotonic() - began, 1)
    for process, pipe in reading:
        process.kill()
        process.join()
        reads = [message[1] for message in received(pipe) if message[0] == "read"]
        result.reads += len(reads)
        result.torn_reads += [torn for read in reads for torn in read]
    _judge(folder, messages, result)
    return result


def _judge(folder: str, messages: list[tuple[object, ...]], result: Crowd) -> None:
    added = [message for message in messages if message[0] == "added"]
    result.acknowledged = len(added)
    result.refused = sum(message[0] == "refused" for message in messages)
    result.slowest_add_s = round(max((float(str(message[2])) for message in added), default=0.0), 3)
    store = FileStore.open(folder)
    whole = {one.id for one in store.scan()}
    result.lost = len({message[1] for message in added} - whole)
    result.corrupt = len(store.verify().corrupt)


def write_as_ufo(pipe: Connection, folder: str, first: int, count: int) -> None:
    """The baseline: load, append, save in place, without a lock."""
    for number in range(first, first + count):
        send(pipe, *_try_as_ufo(folder, number))


def _try_as_ufo(folder: str, number: int) -> tuple[str, str]:
    try:
        return "added", ufo_model.add(Path(folder), number, Disk())
    except (ValueError, AttributeError, TypeError, KeyError, ufo_model.yaml.YAMLError) as error:
        return "error", type(error).__name__


def crowd_as_ufo(writers: int, adds: int, place: Path) -> tuple[int, int, int]:
    """(acknowledged, lost, errors) of the baseline."""
    writing = [start(write_as_ufo, str(place), number * 100_000, adds) for number in range(writers)]
    messages = []
    for process, pipe in writing:
        messages += received(pipe)
        process.join()
    added = {message[1] for message in messages if message[0] == "added"}
    found, _ = ufo_model.look(place)
    return len(added), len(added - (found or set())), sum(message[0] == "error" for message in messages)
