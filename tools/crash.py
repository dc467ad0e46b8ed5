"""Crash campaigns: what a store folder has acknowledged is there after a kill, a failing call, a fork, a full disk.

    python -m tools.crash kills --count 300     a writer is killed at any moment, then everything is compared
    python -m tools.crash calls                 each call to the system fails once, in each operation
    python -m tools.crash together              threads, processes and forks write at once; a file limit as a full disk

Each prints what it did, what was lost and what else was wrong, and exits 1 unless both are nothing.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.builders import a_record, open_memory
from ufo_experience.errors import ExperienceError
from ufo_experience.ids import content_id
from ufo_experience.memory import ExperienceMemory
from ufo_experience.request import Request
from ufo_experience.schema import Experience, Trust

# What is known of a store: of each record its trust and how often it helped, None for one that is removed.
State = dict[str, tuple[str, int] | None]
CALLS = ("open", "write", "fsync", "rename", "replace", "unlink", "mkdir", "rmdir", "scandir", "lstat", "ftruncate")
FAULTS = (errno.EIO, errno.ENOSPC, errno.EACCES)


def _record(name: str, **fields: Any) -> Experience:
    return a_record(0, id=content_id([name]), trust=Trust.VERIFIED, **fields)


def state_of(memory: ExperienceMemory) -> State:
    """What a store says."""
    there: State = {one.id: (one.trust.value, one.usage.helped) for one in memory.store.scan()}
    return there | dict.fromkeys(memory.store.ids(removed=True))


class Worker:
    """Changes a store at random. Each operation knows what the store may say after it."""

    def __init__(self, memory: ExperienceMemory, seed: int, name: str = "") -> None:
        self.memory, self.random, self.name, self.count = memory, random.Random(seed), name or str(seed), 0
        self.state = state_of(memory)

    def next(self) -> tuple[State, Callable[[], object]]:
        """What will be different after the next operation, and the operation."""
        live = sorted(id for id, what in self.state.items() if what)
        gone = sorted(id for id, what in self.state.items() if not what)
        kinds: list[Callable[..., tuple[State, Callable[[], object]]]] = [self.add, self.add, self.add]
        kinds += [self.approve, self.credit, self.index] if live else []
        kinds += [self.remove] if len(live) > 3 else []
        kinds += [self.restore, self.purge] if gone else []
        return self.random.choice(kinds)(live, gone)

    def add(self, live: list[str], gone: list[str]) -> tuple[State, Callable[[], object]]:
        """One record or several."""
        new = [self.record() for _ in range(self.random.choice((1, 1, 3)))]
        return {one.id: ("verified", 0) for one in new}, lambda: self.memory.take_in(new)

    def record(self) -> Experience:
        """A new record."""
        self.count += 1
        words = f"{self.random.choice(['send', 'open', 'print'])} the report {self.name} number {self.count}"
        state = {"task": words, "request": words, "application": self.random.choice(["Outlook", "Word"])}
        return _record(words, state=state)

    def approve(self, live: list[str], gone: list[str]) -> tuple[State, Callable[[], object]]:
        """Another trust."""
        id, level = self.random.choice(live), self.random.choice(["approved", "observed"])
        helped = (self.state[id] or ("", 0))[1]
        return {id: (level, helped)}, lambda: self.memory.store.set_status(id, trust=Trust(level))

    def credit(self, live: list[str], gone: list[str]) -> tuple[State, Callable[[], object]]:
        """It helped."""
        id = self.random.choice(live)
        trust, helped = self.state[id] or ("", 0)
        return {id: (trust, helped + 1)}, lambda: self.memory.report(id, success=True)

    def index(self, live: list[str], gone: list[str]) -> tuple[State, Callable[[], object]]:
        """The index, anew or not."""
        rebuild = self.random.random() < 0.3
        return {}, lambda: self.memory.index(rebuild=rebuild)

    def remove(self, live: list[str], gone: list[str]) -> tuple[State, Callable[[], object]]:
        """Taken out."""
        id = self.random.choice(live)
        return {id: None}, lambda: self.memory.remove(id)

    def restore(self, live: list[str], gone: list[str]) -> tuple[State, Callable[[], object]]:
        """Brought back. What it was is known to the store alone."""
        id = self.random.choice(gone)
        return {id: ("?", 0)}, lambda: self.memory.undo_remove(id)

    def purge(self, live: list[str], gone: list[str]) -> tuple[State, Callable[[], object]]:
        """Erased."""
        from ufo_experience.store.selection import RecordFilter

        id = self.random.choice(gone)
        return {id: ("-", 0)}, lambda: self.memory.purge(where=RecordFilter(ids=(id,)))

    def done(self, change: State) -> None:
        """Take the change of an operation into what is known."""
        self.state = (
            state_of(self.memory)
            if any(what == ("?", 0) for what in change.values())
            else {id: what for id, what in {**self.state, **change}.items() if what != ("-", 0)}
        )


def compare(folder: Path, known: State, under_way: State) -> list[str]:
    """What is wrong with a store that should say what is known; of what was under way it may say either."""
    wrong = []
    with open_memory(folder) as memory:
        found = state_of(memory)
        settled = (known.keys() | found.keys()) - under_way.keys()
        other = [id for id in settled if known.get(id) != found.get(id)]
        wrong += [f"{id[:8]}: {found.get(id)} instead of {known.get(id)}" for id in other]
        report = memory.verify()
        wrong += [f"damaged: {problem.message}" for problem in report.corrupt]
        live = {id for id, what in found.items() if what}
        rows = {row.id: row.trust.value for row in memory.parts.index.rows()}
        wrong += [f"row of {id[:8]}" for id in live ^ rows.keys()]
        wrong += [f"trust of the row {id[:8]}" for id in live & rows.keys() if (found[id] or "")[0] != rows[id]]
        if live:
            one = memory.get(min(live))
            near = memory.parts.index.candidates(Request.parse(one.state.request))
            wrong += [] if any(candidate.row.id == one.id for candidate in near) else [f"{one.id[:8]} is not found"]
        new = _record(f"after {time.time_ns()}")
        memory.take_in([new])
        wrong += [] if new.id in memory.store else ["nothing can be written any more"]
        memory.store.purge([new.id])
        memory.index()
        wrong += view_faults(memory)
    return wrong


def view_faults(memory: ExperienceMemory) -> list[str]:
    """What is wrong with `experience.yaml`: it holds the successes that may be shown, each once."""
    import yaml

    path = Path(memory.store.location) / "experience.yaml"
    entries = yaml.safe_load(path.read_text("utf-8")) or {}
    expected = sum(bool(one.outcome.success) and one.trust.rank > 0 for one in memory.store.scan())
    return [] if len(entries) == expected else [f"the view has {len(entries)} entries instead of {expected}"]


# ---- kills ----


def kills(folder: Path, count: int, seed: int) -> tuple[int, list[str]]:
    """Kill a writer so many times; each one goes on with the store of the one before."""
    rng, wrong, operations = random.Random(seed), [], 0
    for number in range(count):
        if number % 50 == 0:  # not ever larger
            shutil.rmtree(folder, ignore_errors=True)
            open_memory(folder).close()
        log = folder.with_name("log")
        log.write_bytes(b"")
        with open_memory(folder) as memory:
            known = state_of(memory)
        process = os.fork()
        if not process:
            try:
                _work(folder, log, seed * 1_000_003 + number)
            finally:
                os._exit(3)  # it failed by itself: what is compared will tell
        time.sleep(rng.uniform(0.002, 0.4))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        lines = [json.loads(line) for line in log.read_bytes().split(b"\n")[:-1]]
        operations += sum("state" in line for line in lines)
        for line in lines:
            known = (
                {id: tuple(what) if what else None for id, what in line["state"].items()} if "state" in line else known
            )
        under_way = lines[-1].get("next", {}) if lines else {}
        wrong += [f"kill {number}: {one}" for one in compare(folder, known, under_way)]
    return operations, wrong


def _work(folder: Path, log: Path, seed: int) -> None:
    """Work until killed; what is done is told after it was done. A fault of its own is told as well."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND)
    worker = Worker(open_memory(folder), seed)
    while True:
        change, act = worker.next()
        os.write(handle, json.dumps({"next": change}).encode() + b"\n")
        act()
        worker.done(change)
        os.write(handle, json.dumps({"state": worker.state}).encode() + b"\n")


# ---- failing calls ----


class Failing:
    """Counts the calls about a folder, and lets one of them fail."""

    def __init__(self, folder: Path, at: int = 0, fault: int = 0) -> None:
        self.folder, self.at, self.fault, self.calls = str(folder), at, fault, 0
        self._mine: set[int] = set()
        self.names: list[str] = []

    def wrapped(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, counted."""

        def counted(*given: Any, **more: Any) -> Any:
            about = given[0] in self._mine if isinstance(given[0], int) else str(given[0]).startswith(self.folder)
            if about:
                self.calls += 1
                self.names.append(f"{name} {given[0]}")
                if self.calls == self.at:
                    raise OSError(self.fault, os.strerror(self.fault), self.folder)
            result = call(*given, **more)
            if about and name == "open":
                self._mine.add(result)
            return result

        return counted


@contextmanager
def failing(folder: Path, at: int = 0, fault: int = 0) -> Iterator[Failing]:
    """Within it the call of this number fails."""
    counter = Failing(folder, at, fault)
    before = {name: getattr(os, name) for name in CALLS}
    for name, call in before.items():
        setattr(os, name, counter.wrapped(name, call))
    try:
        yield counter
    finally:
        for name, call in before.items():
            setattr(os, name, call)


def calls(folder: Path, limit: int | None = None) -> tuple[int, list[str]]:
    """Let each call of each operation fail once: a typed error or the work is done, and nothing else is lost."""
    base, wrong, tried = folder.with_name("base"), [], 0
    with open_memory(base) as memory:
        worker = Worker(memory, 1)
        for _ in range(4):
            worker.done(_done(worker.add([], [])))
        worker.done(_done(worker.remove([min(worker.state)], [])))
        known = dict(worker.state)
    for name in ("add", "approve", "credit", "index", "remove", "restore", "purge"):
        at = 1
        while at:
            for fault in FAULTS:
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(base, folder)
                with open_memory(folder) as memory:
                    worker = Worker(memory, 7, name)
                    live, gone = (
                        sorted(id for id, what in known.items() if bool(what) is is_live) for is_live in (True, False)
                    )
                    change, act = getattr(worker, name)(live, gone)
                    with failing(folder, at, fault) as counter:
                        done = _typed(act, wrong, f"{name}, call {at}, {errno.errorcode[fault]}")
                tried += counter.calls >= at
                state = {**known, **change} if done and name not in ("restore", "purge") else known
                wrong += [
                    f"{name}, call {at}, {errno.errorcode[fault]}: {one}"
                    for one in compare(folder, state, {} if done and name not in ("restore", "purge") else change)
                ]
            at = at + 1 if counter.calls >= at and (limit is None or at < limit) else 0
    return tried, wrong


def _done(operation: tuple[State, Callable[[], object]]) -> State:
    operation[1]()
    return operation[0]


def _typed(act: Callable[[], object], wrong: list[str], what: str) -> bool:
    """True when it was done; a fault has to be one of ours."""
    try:
        act()
    except ExperienceError:
        return False
    except Exception as error:  # noqa: BLE001 - the finding itself
        wrong.append(f"{what}: {type(error).__name__}: {error}")
        return False
    return True


# ---- at once ----


def together(folder: Path, each: int) -> tuple[int, list[str]]:
    """Threads, processes and forks of a process that has the store open write at once; then a disk that is full."""
    memory = open_memory(folder)
    memory.take_in([_record("first")])

    def write(name: str) -> None:
        worker = Worker(memory, 1, name)
        for _ in range(each):
            worker.add([], [])[1]()

    children = [_forked(lambda number=number: write(f"fork {number}")) for number in range(3)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, [f"thread {number}" for number in range(4)]))
    codes = [os.waitpid(child, 0)[1] for child in children]
    wrong = [f"a fork ended with {code}" for code in codes if code]
    kept = state_of(memory)
    child = _forked(lambda: _on_a_full_disk(folder))
    code = os.waitpid(child, 0)[1]
    wrong += [f"on a full disk it ended with {code}"] if code else []
    memory.close()
    return len(kept), wrong + compare(folder, kept, {id: what for id, what in _found(folder).items() if id not in kept})


def _found(folder: Path) -> State:
    with open_memory(folder) as memory:
        return state_of(memory)


def _forked(act: Callable[[], object]) -> int:
    process = os.fork()
    if not process:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return process


def _on_a_full_disk(folder: Path) -> None:
    """No file may grow beyond some bytes: learning ends with a typed error, questions are answered."""
    import resource  # not there on Windows, where the rest of this module can be imported

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
    with open_memory(folder) as memory:
        before = len(memory)
        try:
            memory.take_in([_record("too much")])
        except ExperienceError:
            memory.retrieve("send the report")
            if len(memory) == before:
                return
    sys.exit(3)


def main() -> None:
    """Run one campaign in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", choices=("kills", "calls", "together"))
    parser.add_argument("--count", type=int, default=300, help="kills; or records of each writer")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="crash-") as place:
        folder = Path(place) / "db"
        if given.campaign == "kills":
            number, wrong = kills(folder, given.count, given.seed)
            print(f"{given.count} kills, {number} operations acknowledged, {len(wrong)} lost or wrong")
        elif given.campaign == "calls":
            number, wrong = calls(folder)
            print(f"{number} failing calls, {len(wrong)} lost or wrong")
        else:
            number, wrong = together(folder, min(given.count, 40))
            print(f"{number} records by 4 threads and 3 forks, {len(wrong)} lost or wrong")
    print("\n".join(wrong[:40]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
