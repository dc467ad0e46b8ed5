"""Learning many runs: how many sessions a second, with one process and with several, and runs of one and the same task.

The logs are the bundled samples, which are in UFO's form of version 3, with other requests and times. Two records come
of each session: the whole request and its sub-task. The samples themselves are learned first, so that no figure holds
what a process loads once; then every count is learned in turn, as often as asked for, and the median stands for it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ufo_experience.benchmark.page import table
from ufo_experience.benchmark.speed import machine
from ufo_experience.benchmark.speed.loop import SAMPLES, task_of
from ufo_experience.memory import ExperienceMemory

SESSIONS = 500
JOBS = (1, 2)
SAME = (250, 500, 1_000)
REPEATS = 3


@dataclass(frozen=True)
class Learned:
    """What it took to learn some logs, in the median by the clock: seconds by the clock, and those of all processors;
    `records` came of it, `least` and `most` are the seconds of the fastest and the slowest time.
    """

    what: str
    sessions: int
    jobs: int
    records: int
    seconds: float
    processor_seconds: float
    least: float = 0.0
    most: float = 0.0


@dataclass(frozen=True)
class ManyReport:
    """Every measurement, of how many each is the median, and whether other programs disturbed them."""

    machine: str
    rows: list[Learned]
    repeats: int
    disturbed: list[str] = field(default_factory=list)


def run_many(
    sessions: int = SESSIONS,
    jobs: Sequence[int] = JOBS,
    same: Sequence[int] = SAME,
    progress: Callable[[int, int], None] | None = None,
    repeats: int = REPEATS,
) -> ManyReport:
    """Learn `sessions` of different tasks with each number of processes, then so many runs of one task; all of it
    `repeats` times.
    """
    disturbed = machine.why_busy()
    plan = [("different tasks", sessions, number) for number in jobs] + [("the same task", count, 1) for count in same]
    times: list[list[Learned]] = [[] for _ in plan]
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        _learn("samples", SAMPLES, 0, 1, Path(folder))
    for turn in range(repeats):
        for number, (what, count, processes) in enumerate(plan):
            with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                logs = Path(folder) / "logs"
                _write_sessions(logs, count, same_task=what == "the same task")
                times[number].append(_learn(what, logs, count, processes, Path(folder)))
            if progress:
                progress(turn * len(plan) + number + 1, repeats * len(plan))
        disturbed += machine.why_busy(running=1)
    rows = [_median(runs) for runs in times]
    return ManyReport(machine.describe(), rows, repeats, list(dict.fromkeys(disturbed)))


def _median(runs: Sequence[Learned]) -> Learned:
    ordered = sorted(runs, key=attrgetter("seconds"))
    return replace(ordered[(len(runs) - 1) // 2], least=ordered[0].seconds, most=ordered[-1].seconds)


def many_text(report: ManyReport) -> str:
    """The results as a table."""
    cells = [
        [
            one.what,
            f"{one.sessions:,}",
            str(one.jobs),
            f"{one.records:,}",
            f"{one.seconds:.2f} ({one.least:.2f}-{one.most:.2f})",
            f"{one.sessions / one.seconds:.0f}",
            f"{one.processor_seconds:.2f}",
        ]
        for one in report.rows
    ]
    headers = (
        "runs of",
        "sessions",
        "`--jobs`",
        "records",
        f"s, median of {report.repeats}",
        "sessions/s",
        "processor s",
    )
    busy = [f"**Not publishable**: the machine was busy ({'; '.join(report.disturbed)}).\n"] if report.disturbed else []
    return "\n".join([*busy, *table(headers, cells)])


def many_data(report: ManyReport) -> dict[str, Any]:
    """The report as JSON."""
    return {**asdict(report), "publishable": not report.disturbed}


def _learn(what: str, logs: Path, count: int, jobs: int, folder: Path) -> Learned:
    with ExperienceMemory.open(folder / "db", embedder="hashing") as memory:
        began, spent = time.perf_counter(), _processor_seconds()
        report = memory.ingest(logs, include_failures=True, force=True, jobs=jobs)
        seconds = time.perf_counter() - began
        return Learned(what, count, jobs, len(report.added), seconds, _processor_seconds() - spent)


def _processor_seconds() -> float:
    """Of this process and the children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _write_sessions(folder: Path, count: int, *, same_task: bool) -> None:
    samples = sorted(place for place in SAMPLES.iterdir() if place.is_dir())
    for number in range(count):
        sample = samples[0 if same_task else number % len(samples)]
        session = folder / f"session-{number:05d}"
        session.mkdir(parents=True)
        response = (sample / "response.log").read_text(encoding="utf-8")
        asked = str(json.loads(response.splitlines()[0])["request"])
        wanted = task_of(0 if same_task else number)
        for file in sample.iterdir():
            text = file.read_text(encoding="utf-8").replace(json.dumps(asked)[1:-1], wanted)
            if file.name == "response.log":
                text = text.replace('"total_time": ', f'"total_time": {number + 1}')
            (session / file.name).write_text(text, encoding="utf-8")
