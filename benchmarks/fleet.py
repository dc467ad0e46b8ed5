"""Many processes on one store: some learn all the time, others ask all the time.

    python benchmarks/fleet.py --db postgresql://me@host/bench --records 100k --writers 8 --readers 8 --seconds 30

Fills the store up to `--records` first (an empty database is best: nothing is removed afterwards). Prints throughput,
the median and 95th percentile of each kind of work, and how many acknowledged records were lost.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import count, islice
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from benchmarks.page import table
from benchmarks.speed.loop import records, task_of
from benchmarks.speed.machine import describe, why_busy
from benchmarks.speed.run import parse_sizes
from ufo_experience import ExperienceMemory
from ufo_experience.ids import content_id
from ufo_experience.store import open_store

Work = tuple[str, list[float], list[str]]  # what was done, its milliseconds, ids that were acknowledged


_barrier: list[Barrier] = []


def _take_barrier(barrier: Barrier) -> None:
    _barrier.append(barrier)


def _begin_together(seconds: float) -> float:
    """Wait until every process is ready; returns the time at which to stop."""
    _barrier[0].wait()
    return time.time() + seconds


def write(db: str, number: int, seconds: float) -> Work:
    """Add one record after the other, each a commit of its own."""
    times, done = [], []
    with TemporaryDirectory() as folder:
        one = next(records(1, Path(folder)))
    store = open_store(db)
    until = _begin_together(seconds)
    for turn in count():
        if time.time() >= until:
            break
        new = one.model_copy(update={"id": content_id(["fleet", until, number, turn])})
        began = time.perf_counter()
        added = store.add([new]).added
        times.append((time.perf_counter() - began) * 1000)
        done += added
    store.close()
    return "learn (`add`)", times, done


def read(db: str, number: int, seconds: float) -> Work:
    """Ask one question after the other, each seeing every commit before it."""
    times = []
    with ExperienceMemory.open(db, embedder="hashing", create=False) as memory:
        memory.retrieve(task_of(number))
        until = _begin_together(seconds)
        for turn in count(number * 1_000):
            if time.time() >= until:
                break
            began = time.perf_counter()
            memory.retrieve(task_of(turn))
            times.append((time.perf_counter() - began) * 1000)
    return "ask", times, []


def main() -> None:
    """Fill, run, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", required=True)
    parser.add_argument("--records", default="10k")
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    busy = why_busy()
    before = _fill(given.db, parse_sizes(given.records)[0])
    context, several = get_context("spawn"), given.writers + given.readers
    with context.Pool(several, initializer=_take_barrier, initargs=(context.Barrier(several),)) as pool:
        waiting = [pool.apply_async(write, (given.db, number, given.seconds)) for number in range(given.writers)]
        waiting += [pool.apply_async(read, (given.db, number, given.seconds)) for number in range(given.readers)]
        done = [one.get() for one in waiting]
    store = open_store(given.db)
    there = set(store.ids())
    store.close()
    acknowledged = {id for _, _, ids in done for id in ids}
    rows = [
        _row(kind, [times for what, times, _ in done if what == kind]) for kind in dict.fromkeys(d[0] for d in done)
    ]
    lost = len(acknowledged - there) + max(before - len(there - acknowledged), 0)
    if given.json:
        print(json.dumps({"records": before, "rows": rows, "lost": lost, "disturbed": busy}))
        return
    print(f"{describe()}; {before:,} records before, {len(acknowledged):,} added, {lost} lost.\n")
    print(
        "\n".join(
            [
                *(f"Not publishable: {reason}" for reason in busy),
                *table(list(rows[0]), [list(r.values()) for r in rows]),
            ]
        )
    )


def _fill(db: str, size: int) -> int:
    """Make the store hold at least so many records, indexed; returns how many."""
    with ExperienceMemory.open(db, embedder="hashing") as memory, TemporaryDirectory() as folder:
        there = len(memory)
        if there < size:
            memory.store.add(islice(records(size, Path(folder)), there, size))
        memory.index()
        return len(memory)


def _row(kind: str, of_process: list[list[float]]) -> dict[str, str]:
    times = [one for some in of_process for one in some]
    seconds = max(sum(some) for some in of_process) / 1000
    edge = quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    return {
        "work": kind,
        "processes": str(len(of_process)),
        "done": f"{len(times):,}",
        "a second": f"{len(times) / seconds:,.0f}",
        "p50 ms": f"{median(times):,.1f}",
        "p95 ms": f"{edge:,.1f}",
    }


if __name__ == "__main__":
    main()
