"""The loop of an agent, as a user pays for it: ask, run, learn, ask. On disk, with a store of real records.

Every time is wall-clock time. The records are those of the samples with other requests, applications and sessions; all
of them are verified, so that a question goes through everything.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ufo_experience.benchmark.speed import machine
from ufo_experience.errors import StorageError
from ufo_experience.ids import content_id
from ufo_experience.memory import ExperienceMemory
from ufo_experience.schema import Experience, Trust

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
SIZES = (100, 1_000, 10_000)
REPEATS = 20  # of what is quick; of what starts a process a quarter
WORK = {
    "empty": "start of python, numpy and pydantic, which the next two rows hold",
    "cold": "command line `retrieve`, cold",
    "first": "first question of a process: start of python to prompt",
    "inside": "of that, from open to prompt",
    "question": "question",
    "prompt": "question and prompt",
    "learn": "learn one run",
    "found": "learn one run, until another process finds it",
    "after_learn": "question after learning one run",
    "report": "report",
    "after_report": "question after a report",
    "rebuild": "`index --rebuild`, nothing changed",
}
_VERBS = "open send filter export rename delete move copy insert format sort print share archive compare".split()
_NOUNS = "report budget invoice mail sheet slide table chart folder photo contact meeting task note draft".split()
_PEOPLE = "Jane Omar Lin Ada Ivo Mia Noah Zoe Sam Kai Uma Eva".split()
_APPLICATIONS = "OUTLOOK.EXE EXCEL.EXE WINWORD.EXE POWERPNT.EXE msedge.exe explorer.exe".split()
_FIRST = """
import sys, time
from ufo_experience import ExperienceMemory
import ufo_experience.prompt.builder, ufo_experience.store.folder.store, ufo_experience.embed.hashing
started = time.perf_counter()
memory = ExperienceMemory.open(sys.argv[1], embedder=sys.argv[2], create=False)
memory.build_prompt(sys.argv[3], memory.retrieve(sys.argv[3]))
print((time.perf_counter() - started) * 1000, time.time())
"""
_READER = """
import sys
from ufo_experience import ExperienceMemory
memory = ExperienceMemory.open(sys.argv[1], embedder=sys.argv[2], create=False)
memory.retrieve("begin")
print("ready", flush=True)
for line in sys.stdin:
    task, wanted = line.rstrip("\\n").split("\\t")
    while wanted not in {hit.experience.id for hit in memory.retrieve(task, top_k=50)}:
        pass
    print("found", flush=True)
"""


@dataclass(frozen=True)
class Timing:
    """Median and 95th percentile in milliseconds of `n` times."""

    p50: float
    p95: float
    n: int


@dataclass(frozen=True)
class LoopReport:
    """Times by size and kind of work (keys of `WORK`), and whether other programs disturbed them."""

    machine: str
    date: str
    embedder: str
    times: dict[int, dict[str, Timing]]
    disturbed: list[str] = field(default_factory=list)

    @property
    def is_publishable(self) -> bool:
        """True when the machine was quiet before, between and after."""
        return not self.disturbed


def run_loop(
    sizes: Sequence[int] = SIZES,
    *,
    embedder: str = "hashing",
    repeats: int = REPEATS,
    progress: Callable[[int, int], None] | None = None,
) -> LoopReport:
    """Fill a store of each size and measure the loop in it.

    Raises:
        StorageError: a process that was started to ask did not answer.
    """
    disturbed = machine.why_busy()
    times: dict[int, dict[str, Timing]] = {}
    for done, size in enumerate(sizes, 1):
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            times[size] = _Loop(Path(folder), size, embedder, repeats).measure()
        disturbed += machine.why_busy(running=1)
        if progress:
            progress(done, len(sizes))
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    return LoopReport(machine.describe(), date, embedder, times, list(dict.fromkeys(disturbed)))


def as_data(report: LoopReport) -> dict[str, Any]:
    """The report as JSON."""
    return {**asdict(report), "publishable": report.is_publishable}


class _Loop:
    """One store of one size, and the times that were taken in it."""

    def __init__(self, folder: Path, size: int, embedder: str, repeats: int) -> None:
        self._folder, self._embedder, self._repeats = folder, embedder, repeats
        self._db = str(folder / "db")
        self._memory = ExperienceMemory.open(self._db, embedder=embedder)
        self._memory.store.add(records(size, folder))
        self._memory.index(rebuild=True)
        self._times: dict[str, list[float]] = {name: [] for name in WORK}

    def measure(self) -> dict[str, Timing]:
        """The times of each kind of work, by its name: it is done `repeats` times."""
        for number in range(1 + max(2, self._repeats // 4)):
            self._start_processes(task_of(number))
        for name in ("empty", "cold", "first", "inside"):  # the first of each compiled the modules
            del self._times[name][0]
        self._memory.retrieve(task_of(0))
        for number in range(self._repeats):
            self._time("question", partial(self._memory.retrieve, task_of(100 + number)))
            self._time("prompt", partial(self._memory.build_prompt, task_of(200 + number)))
        with _Reader(self._db, self._embedder) as reader:
            for number in range(self._repeats):
                self._learn(number, reader)
        for number in range(self._repeats):
            hits = self._memory.retrieve(task_of(300 + number))
            self._time("report", partial(self._memory.report, hits, success=True, session=f"bench-{number}"))
            self._time("after_report", partial(self._memory.retrieve, task_of(400 + number)))
        self._memory.index(rebuild=True)
        self._time("rebuild", partial(self._memory.index, rebuild=True))
        self._memory.close()
        return {name: _timing(times) for name, times in self._times.items()}

    def _start_processes(self, task: str) -> None:
        ask = ["-m", "ufo_experience", "retrieve", task, "--db", self._db, "--json"]
        self._time("empty", partial(_run, ["-c", "import numpy, pydantic.main"]))
        self._time("cold", partial(_run, ask))
        started = time.time()  # one clock for both processes; how long the other takes to end is no part of it
        inside, answered = (float(one) for one in _run(["-c", _FIRST, self._db, self._embedder, task]).split())
        self._times["first"].append((answered - started) * 1000)
        self._times["inside"].append(inside)

    def _learn(self, number: int, reader: _Reader) -> None:
        """Learn a log that was just written; the other process, which is running, asks until it finds it."""
        task = f"Reconcile the ledger of branch {number} with statement {number * 7}"
        log = write_log(self._folder / f"log-{number}", task)
        started = time.perf_counter()
        report = self._memory.ingest(log, force=True)
        self._times["learn"].append(_since(started))
        reader.find(task, report.added[0])
        self._times["found"].append(_since(started))
        self._time("after_learn", partial(self._memory.retrieve, task_of(500 + number)))

    def _time(self, name: str, act: Callable[[], object]) -> None:
        started = time.perf_counter()
        act()
        self._times[name].append(_since(started))


class _Reader:
    """Another process that has the store open and asks for what it is told."""

    def __init__(self, db: str, embedder: str) -> None:
        command = [sys.executable, "-c", _READER, db, embedder]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._expect("ready")

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def find(self, task: str, id: str) -> None:
        """Return when the other process has found a record. Raises `StorageError` when it has died."""
        if self._process.stdin is not None:
            self._process.stdin.write(f"{task}\t{id}\n")
            self._process.stdin.flush()
        self._expect("found")

    def _expect(self, word: str) -> None:
        answer = self._process.stdout.readline() if self._process.stdout is not None else ""
        if answer.strip() != word:
            raise StorageError(f"the process that asks beside this one said {answer!r} instead of {word!r}")


def records(size: int, folder: Path, first: int = 0) -> Iterator[Experience]:
    """`size` verified records with the steps of the samples, each of a request, application and session of its own;
    counted from `first`.
    """
    from ufo_experience.ingest import ingest
    from ufo_experience.store import open_store
    from ufo_experience.summarize import ExtractiveSummarizer

    store = open_store(folder / "samples")
    ingest([SAMPLES], store, ExtractiveSummarizer())
    made = list(store.scan())
    for number in range(first, first + size):
        one, task = made[number % len(made)], task_of(number)
        state = {"request": task, "task": task, "application": _APPLICATIONS[number % len(_APPLICATIONS)]}
        origin = {"session": f"session-{number}", "source": f"log-{number}", "content_hash": f"{number:064x}"}
        yield one.model_copy(
            update={
                "id": content_id(["bench", number]),
                "trust": Trust.VERIFIED,
                "state": one.state.model_copy(update=state),
                "provenance": one.provenance.model_copy(update=origin),
            }
        )


def task_of(number: int) -> str:
    """A request of its own for each number."""
    words = (one[number // step % len(one)] for one, step in ((_VERBS, 1), (_NOUNS, 15), (_PEOPLE, 7)))
    verb, noun, person = words
    return f"{verb.capitalize()} the {noun} of {person} for project {number}"


def write_log(folder: Path, task: str) -> Path:
    """A log of a run of this task, in a new folder."""
    folder.mkdir()
    step = {"action": "click_input", "control": "Reconcile", "observation": "The ledger is open.", "result": "ok"}
    run = {"task": task, "application": "EXCEL.EXE", "success": True, "evaluated_by": "evaluator", "steps": [step] * 6}
    path = folder / "run.json"
    path.write_text(json.dumps(run), encoding="utf-8")
    return path


def _run(arguments: list[str]) -> str:
    """Run python to its end; returns what it printed. Raises `StorageError` when it fails."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as installed
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise StorageError(f"a process of the benchmark failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _timing(times: Sequence[float]) -> Timing:
    return Timing(round(float(np.median(times)), 2), round(float(np.percentile(times, 95)), 2), len(times))
