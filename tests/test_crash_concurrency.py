"""Many at once: nobody's record is lost, nobody reads half of one, everybody's wait ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.disks import UnsyncedDisk
from tools.crash import writers
from tools.crash.operations import open_both
from tools.crash.state import EMBEDDER, caught_up, start
from tools.crash.worker import record, settings
from ufo_experience.errors import LockedError
from ufo_experience.index.build import load_snapshot, publish, sync
from ufo_experience.index.generations import Generations
from ufo_experience.maintenance.inspection import verify
from ufo_experience.retrieve.retriever import Query
from ufo_experience.schema import Trust
from ufo_experience.wiring import Wiring

WINDOW = 6


@pytest.mark.parametrize(
    ("count", "adds"),
    [(3, 8), pytest.param(8, 25, marks=pytest.mark.slow), pytest.param(32, 200, marks=pytest.mark.slow)],
)
def test_writers_beside_readers_and_killed_holders_lose_nothing(count, adds, tmp_path):
    """Every acknowledged record is there, no reader saw half a file or a record vanish, no writer waited for ever."""
    result = writers.crowd(count, adds, tmp_path, readers=1 if count == 3 else 2, victims=1 if count == 3 else 4)
    assert (result.lost, result.corrupt, result.torn_reads, result.refused) == (0, 0, [], 0)
    assert result.acknowledged >= count * adds
    assert result.reads > 0
    assert result.slowest_add_s < writers.PATIENCE_S


@pytest.mark.slow
def test_without_a_lock_records_are_lost(tmp_path):
    """The baseline: eight processes saving in UFO's way."""
    acknowledged, lost, errors = writers.crowd_as_ufo(8, 25, tmp_path)
    assert lost + errors > 0
    assert acknowledged + errors == 200


def hold(pipe, folder: str) -> None:
    """Hold the lock of a store until killed."""

    class Waiting(UnsyncedDisk):
        def fsync(self, handle: int) -> None:
            pipe.send_bytes(b"holding")
            threading.Event().wait()

    open_both(Path(folder), Waiting())[0].add([record(1)])


def test_a_writer_that_cannot_get_the_lock_exits_75_and_names_the_holder(tmp_path):
    """The command line says which process it waited for; when that is killed, the next writer goes on."""
    store, _ = open_both(tmp_path / "db", UnsyncedDisk())
    store.add([record(2)])
    holder, pipe = start(hold, str(tmp_path / "db"))
    assert pipe.recv_bytes() == b"holding"
    command = [sys.executable, "-m", "ufo_experience", "approve", record(2).id, "--db", str(tmp_path / "db")]
    environment = {**os.environ, "UFO_EXPERIENCE_LOCK_TIMEOUT": "0.1"}
    refused = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (refused.returncode, f"process {holder.pid} on " in refused.stderr) == (75, True)
    holder.kill()
    holder.join()
    store.set_status(record(2).id, trust=Trust.APPROVED)
    assert [path.name for path in (tmp_path / "db").rglob("*.tmp")] == []


def test_a_publisher_that_cannot_get_the_lock_says_so(tmp_path):
    """Two publishers never write at once: the second waits, then names the first."""
    store, generations = open_both(tmp_path / "db", UnsyncedDisk())
    store.add([record(1)])
    with generations.publisher(), pytest.raises(LockedError, match=f"process {os.getpid()} on"):
        sync(store, Generations(tmp_path / "db" / "index", UnsyncedDisk(), lock_timeout=0.05), EMBEDDER)
    sync(store, generations, EMBEDDER)


def test_publishing_at_once_leaves_one_whole_newest_generation(tmp_path):
    """Eight threads write the index of one store, each with objects of its own."""
    store, first = open_both(tmp_path / "db", UnsyncedDisk())
    store.add(record(number) for number in range(6))
    sync(store, first, EMBEDDER)
    snapshot = load_snapshot(store, first)
    assert snapshot is not None
    failures: list[BaseException] = []

    def write() -> None:
        one, generations = open_both(tmp_path / "db", UnsyncedDisk())
        generations = Generations(generations.folder, UnsyncedDisk(), lock_timeout=30)
        try:
            for _ in range(2):
                publish(one, generations, snapshot, EMBEDDER)
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            failures.append(error)

    run_all([threading.Thread(target=write) for _ in range(8)])
    assert failures == []
    generations = Generations(tmp_path / "db" / "index")
    assert verify(store, generations).index == "ok"
    assert generations.number() == 17
    assert sorted(path.name for path in generations.folder.iterdir() if path.is_dir()) == ["16", "17"]


def test_what_a_dead_publisher_left_is_swept_by_the_next(tmp_path):
    """Half a generation and temp files go; a reader never saw them."""
    store, generations = open_both(tmp_path / "db", UnsyncedDisk())
    store.add([record(1)])
    sync(store, generations, EMBEDDER)
    (generations.folder / ".building-2").mkdir()
    (generations.folder / ".building-2" / ".rows.npy.0123.tmp").write_bytes(b"half")
    (generations.folder / ".CURRENT.0123.tmp").write_bytes(b"9")
    assert caught_up(store, generations).catalog.ids() == store.ids()
    sync(store, generations, EMBEDDER, rebuild=True)
    assert sorted(path.name for path in generations.folder.iterdir()) == [".lock", "1", "2", "CURRENT"]


def test_an_older_view_published_late_misses_nothing(tmp_path):
    """A slow publisher puts an older generation on top; catching up with the store gives all records."""
    store, generations = open_both(tmp_path / "db", UnsyncedDisk())
    store.add([record(1)])

    class Slow:
        name, dim, spending = EMBEDDER.name, EMBEDDER.dim, EMBEDDER.spending

        def embed(self, texts, kind="document"):
            if len(store.ids()) == 1:
                store.add([record(2)])
                sync(store, generations, EMBEDDER)
            return EMBEDDER.embed(texts, kind)

    sync(*open_both(tmp_path / "db", UnsyncedDisk()), Slow())
    snapshot = load_snapshot(store, generations)
    assert snapshot is not None
    assert snapshot.catalog.ids() == [record(1).id]
    assert sorted(caught_up(store, generations).catalog.ids()) == store.ids()


@pytest.mark.parametrize("threads", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_each_answer_comes_from_one_whole_generation(threads, tmp_path):
    """While records come and go and generations change, the ids of an answer were all there at one moment."""
    store, generations = open_both(tmp_path / "db", UnsyncedDisk())
    order = [record(number).model_copy(update={"trust": Trust.VERIFIED}) for number in range(60)]
    place = {one.id: number for number, one in enumerate(order)}
    store.add(order[:WINDOW])
    sync(store, generations, EMBEDDER)
    registry = Generations(generations.folder, UnsyncedDisk())
    wiring = Wiring(store, settings(str(tmp_path / "db")), EMBEDDER, registry)
    stop, answers, failures = threading.Event(), [], []

    def ask() -> None:
        try:
            while not stop.is_set():
                found = wiring.retriever().retrieve(Query("Send report", k=50, threshold=0.0))
                catalog = [hit.experience.id for hit in found]
                answers.append([place[id] for id in catalog])
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            failures.append(error)

    asking = [threading.Thread(target=ask) for _ in range(threads)]
    for thread in asking:
        thread.start()
    for number in range(8):
        store.add([order[WINDOW + number]])
        sync(store, generations, EMBEDDER)
        store.remove([order[number].id])
    stop.set()
    run_all(asking, begin=False)
    assert failures == []
    assert len(answers) >= threads
    assert max(max(numbers) - min(numbers) for numbers in answers if numbers) <= WINDOW


def run_all(threads: list[threading.Thread], *, begin: bool = True) -> None:
    """Run threads to their end."""
    for thread in threads:
        if begin:
            thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
