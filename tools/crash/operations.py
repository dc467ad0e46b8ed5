"""Every operation that writes, each on a small prepared store and through a given disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from ufo_experience.index.append import append
from ufo_experience.index.build import sync, sync_from
from ufo_experience.index.catalog import entry_of
from ufo_experience.index.generations import Generations
from ufo_experience.store.folder.store import FileStore

from tests.disks import Disk, UnsyncedDisk
from tools.crash.state import EMBEDDER, Found, look
from tools.crash.worker import record
from ufo_experience.errors import DataError
from ufo_experience.ingest import ingest
from ufo_experience.maintenance.changes import purge
from ufo_experience.schema import Trust, Usage
from ufo_experience.store.exchange import import_json, write_view
from ufo_experience.summarize import ExtractiveSummarizer

OLD = [record(number) for number in range(6)]  # numbers 0 to 5: sources s0 to s5
DEAD, NEW, OTHER = record(10), record(11), record(12)
USED = record(13).model_copy(update={"usage": Usage(injected=1)})

Operation = Callable[[FileStore, Generations, Disk], object]


def prepare(folder: Path) -> None:
    """Six records, one with a status; a removed one; two generations of an index that lacks the last record; a view."""
    disk = UnsyncedDisk()
    store, generations = open_both(folder, disk)
    store.add([*OLD[:5], DEAD])
    sync(store, generations, EMBEDDER)
    store.remove([DEAD.id])
    store.set_status(OLD[1].id, trust=Trust.VERIFIED)
    sync(store, generations, EMBEDDER)
    store.add([OLD[5]])
    write_view(store, folder / "experience.yaml", disk)
    trace = [{"step": 1, "thought": "", "action_type": "click", "timestamp": "2025-11-12T10:04:28Z"}]
    (folder.parent / "log.json").write_text(json.dumps({"task": "Mute", "execution_trace": trace}), encoding="utf-8")


def damage(folder: Path) -> None:
    """Spoil one record and one status, for `set_aside`."""
    for path in (folder / "records" / OLD[2].id[:2], folder / "status" / OLD[1].id[:2]):
        for file in path.glob("*.json"):
            file.write_bytes(file.read_bytes()[:-9] + b"\0" * 9)


def open_both(folder: Path, disk: Disk) -> tuple[FileStore, Generations]:
    """The store and its index through one disk."""
    store = FileStore.open(folder, disk=disk, lock_timeout=0.0)
    return store, Generations(folder / "index", disk, lock_timeout=0.0)


def _import(store: FileStore, generations: Generations, disk: Disk) -> None:
    rows = [one.model_dump(mode="json") for one in (NEW, OTHER)]
    report = import_json(store, json.dumps({"format": "ufo_experience", "version": 1, "experiences": rows}))
    if report.failed:  # entry by entry, each with its reason: no success
        raise DataError(str(report.failed))


def _ingest(store: FileStore, generations: Generations, disk: Disk) -> None:
    ingest([Path(store.location).parent / "log.json"], store, ExtractiveSummarizer())


def _learn(store: FileStore, generations: Generations, disk: Disk) -> None:
    """As who has not opened the index, and then as who has."""
    store.add([OTHER])
    append(store, generations, EMBEDDER, [entry_of(OTHER)])
    held = sync_from(None, store, generations, EMBEDDER)[1]
    store.add([NEW])
    sync_from(held, store, generations, EMBEDDER, learned={NEW.id: entry_of(NEW)})


def _set_aside(store: FileStore, generations: Generations, disk: Disk) -> None:
    moved = store.set_aside_corrupt()
    if len(moved) < 2:  # what the system would not let us read stays, and is not in the answer
        raise DataError(f"only {moved}")


def _purge(store: FileStore, generations: Generations, disk: Disk) -> None:
    purge(store, generations, "s1")


OPERATIONS: dict[str, Operation] = {
    "add": lambda store, generations, disk: store.add([NEW, USED, OTHER]),
    "revive": lambda store, generations, disk: store.add([DEAD], revive=True),
    "status": lambda store, generations, disk: store.set_status(OLD[0].id, trust=Trust.APPROVED),
    "usage": lambda store, generations, disk: store.update_usage(
        OLD[1].id, lambda usage: usage.model_copy(update={"injected": 5})
    ),
    "remove": lambda store, generations, disk: store.remove([OLD[0].id, OLD[1].id]),
    "purge": _purge,
    "import": _import,
    "ingest": _ingest,
    "learn": _learn,
    "index": lambda store, generations, disk: sync(store, generations, EMBEDDER),
    "rebuild": lambda store, generations, disk: sync(store, generations, EMBEDDER, rebuild=True),
    "drop": lambda store, generations, disk: generations.delete_all(),
    "set_aside": _set_aside,
    "view": lambda store, generations, disk: write_view(store, Path(store.location) / "experience.yaml", disk),
}


class Bench:
    """One operation: a store before it, what is right before and after, and copies to try it on."""

    def __init__(self, name: str, place: Path) -> None:
        self.name, self._place, self._copies = name, place, 0
        self.run: Operation = OPERATIONS[name]
        self.prepared = place / "prepared" / "db"
        self.prepared.parent.mkdir(parents=True)
        prepare(self.prepared)
        if name == "set_aside":
            damage(self.prepared)
        self.old = look(self.prepared)
        folder = self.copy()
        self.perform(folder, UnsyncedDisk())
        self.new = look(folder)

    def copy(self) -> Path:
        """A fresh copy of the prepared store."""
        shutil.rmtree(self._place / str(self._copies), ignore_errors=True)
        self._copies += 1
        return Path(shutil.copytree(self.prepared.parent, self._place / str(self._copies)) / "db")

    def perform(self, folder: Path, disk: Disk) -> None:
        """Open and run, all through `disk`."""
        store, generations = open_both(folder, disk)
        self.run(store, generations, disk)

    def fault(self, folder: Path, *, acknowledged: bool, tidied: bool = True) -> str:
        """What is wrong with a store after the operation was disturbed; empty when each record is old or new.

        The next writer tidies up; after a power failure it may not know of it (`tidied` False), `set_aside` does.
        """
        found = look(folder)
        wrong = self._wrong_records(found, acknowledged) or self._wrong_files(found)
        if wrong:
            return wrong
        store = FileStore.open(folder, disk=UnsyncedDisk())
        store.add([record(99)])
        if not tidied:
            store.set_aside_corrupt()
        Generations(folder / "index", UnsyncedDisk()).exists() and _publish(folder)
        names = [path.name for path in folder.rglob("*")]
        left = [name for name in names if name.endswith(".tmp") or ".building" in name]
        left = [
            name for name in left if "experience.yaml" not in name
        ]  # written without the lock, swept when it is old
        after = look(folder)
        if left or not after.index_agrees:
            return f"after the next writer: left {left}, index agrees: {after.index_agrees}"
        return ""

    def _wrong_records(self, found: Found, acknowledged: bool) -> str:
        for id in found.records.keys() | self.old.records.keys() | self.new.records.keys():
            right = {self.new.records.get(id)} | (set() if acknowledged else {self.old.records.get(id)})
            if not acknowledged and id == USED.id:
                right.add((USED.trust.value, 0))  # use that comes with a record is a file of its own, written after it
            if found.records.get(id) not in right:
                return f"record {id[:8]} is {found.records.get(id)}, acknowledged={acknowledged}, right are {right}"
        return ""

    def _wrong_files(self, found: Found) -> str:
        names = {Path(file).name for file in found.corrupt}
        known = {Path(file).name for file in self.old.corrupt}
        if names - known or (names and self.name != "set_aside"):
            return f"corrupt: {found.corrupt}"
        return ""


def _publish(folder: Path) -> None:
    sync(*open_both(folder, UnsyncedDisk()), EMBEDDER)
