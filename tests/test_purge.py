"""After a purge no byte of a source's texts is anywhere below the store folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.disks import DyingDisk, FailingDisk, Killed, UnsyncedDisk
from tools.crash.operations import open_both
from tools.crash.state import EMBEDDER, bytes_below
from tools.crash.worker import record
from ufo_experience.embed.cache import CachedEmbedder, EmbeddingCache
from ufo_experience.errors import CorruptError, ExperienceError
from ufo_experience.index.build import prune, sync
from ufo_experience.maintenance.changes import purge
from ufo_experience.store.exchange import write_view
from ufo_experience.text.frames import readable_intent

SECRET = "Wire 4,711 € to Zoë’s “account”"
SOURCE = "logs/private run/response.log"
WORDS = [SECRET.encode(), b"private run", b"4,711"]


def one(number: int):
    """A record of the source to be purged."""
    provenance = {"source": SOURCE, "session": "private run", "origin": "log"}
    return record(number).model_copy(
        update={
            "state": record(number).state.model_copy(update={"request": f"{SECRET} {number}", "task": SECRET}),
            "provenance": record(number).provenance.model_validate(provenance),
        }
    )


def fill(folder: Path) -> None:
    """Two sources in two generations, a cache, a view, a damaged record and a temp file that hold the texts."""
    store, generations = open_both(folder, UnsyncedDisk())
    embedder = CachedEmbedder(EMBEDDER, EmbeddingCache(folder / "embeddings.sqlite"))
    store.add([*(one(number) for number in range(100, 103)), record(1), record(2)])
    sync(store, generations, embedder)
    store.add([one(103), record(3)])
    sync(store, generations, embedder)
    embedder.close()
    write_view(store, folder / "experience.yaml")
    damaged = folder / "records" / one(100).id[:2] / f"{one(100).id}.json"
    damaged.write_bytes(damaged.read_bytes()[:-2])
    (folder / ".experience.yaml.0123.tmp").write_text(SECRET, encoding="utf-8")


def test_no_byte_of_a_purged_source_stays(tmp_path):
    """Records, both generations, cached vectors, view, damaged copies, temp files; other sources stay."""
    folder = tmp_path / "db"
    fill(folder)
    vector = EMBEDDER.embed([readable_intent(f"{SECRET} 101")])[0].tobytes()
    assert all(word in bytes_below(folder) for word in [*WORDS, vector])
    store, generations = open_both(folder, UnsyncedDisk())
    assert {gone.id for gone in purge(store, generations, SOURCE)} == {one(number).id for number in (101, 102, 103)}
    left = bytes_below(folder)
    assert [word for word in [*WORDS, vector] if word in left] == []
    assert store.ids() == sorted(record(number).id for number in (1, 2, 3))
    assert len(EmbeddingCache(folder / "embeddings.sqlite")) == 1  # three requests, one intent


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_a_purge_cut_short_is_finished_by_the_next_one(share, tmp_path):
    """Killed somewhere: the same purge again leaves nothing."""
    folder = tmp_path / "db"
    fill(folder)
    with suppress(Killed):
        store, generations = open_both(folder, DyingDisk(int(share * 600)))
        purge(store, generations, SOURCE)
    store, generations = open_both(folder, UnsyncedDisk())
    purge(store, generations, SOURCE)
    left = bytes_below(folder)
    assert [word for word in WORDS if word in left] == []


def test_a_record_that_cannot_be_read_is_named_not_passed_over(tmp_path):
    """It may come from the purged source, so the purge is no success."""
    folder = tmp_path / "db"
    store, _ = open_both(folder, UnsyncedDisk())
    store.add([one(1), record(2)])

    class Unreadable(UnsyncedDisk):
        def open(self, path: Path) -> int:
            if path.stem == record(2).id:
                raise PermissionError(13, "no", str(path))
            return super().open(path)

    with pytest.raises(CorruptError, match="may be meant too") as caught:
        purge(*open_both(folder, Unreadable()), SOURCE)
    assert record(2).id in str(caught.value.file)
    assert store.ids() == [record(2).id]


def test_an_old_generation_in_use_is_named(tmp_path):
    """Where the system refuses to delete an open file, the purge says so; run again later, it is clean."""
    folder = tmp_path / "db"
    fill(folder)

    class InUse(UnsyncedDisk):
        busy = True

        def unlink(self, path: Path) -> None:
            if self.busy and path.parent.name == "1":
                raise PermissionError(13, "in use", str(path))
            super().unlink(path)

    disk = InUse()
    store, generations = open_both(folder, disk)
    with pytest.raises(ExperienceError, match="still in use"):
        purge(store, generations, SOURCE)
    disk.busy = False
    purge(store, generations, SOURCE)
    assert SECRET.encode() not in bytes_below(folder)


def test_a_publisher_that_looked_before_the_purge_does_not_bring_it_back(tmp_path):
    """Its snapshot still holds the records; under the lock it looks again."""
    folder = tmp_path / "db"
    store, generations = open_both(folder, UnsyncedDisk())
    store.add([one(1), record(2)])
    sync(store, generations, EMBEDDER)
    for shard in folder.glob("records/*"):
        os.utime(shard, ns=(10**18, 10**18))
    late = open_both(folder, UnsyncedDisk())

    class PurgesFirst:
        name, dim, spending = EMBEDDER.name, EMBEDDER.dim, EMBEDDER.spending

        def embed(self, texts, kind="document"):
            purge(store, generations, SOURCE)
            return EMBEDDER.embed(texts, kind)

    sync(*late, PurgesFirst(), rebuild=True)
    prune(store, generations)
    assert SECRET.encode() not in bytes_below(folder)


@pytest.mark.slow
def test_a_cache_that_cannot_be_purged_is_an_error(tmp_path):
    """Locked by another process: nothing is deleted, nothing is claimed."""
    import sqlite3

    folder = tmp_path / "db"
    fill(folder)
    holder = sqlite3.connect(folder / "embeddings.sqlite")
    holder.execute("BEGIN EXCLUSIVE")
    store, generations = open_both(folder, UnsyncedDisk())
    with pytest.raises(ExperienceError, match="not purged"):
        purge(store, generations, SOURCE)
    assert one(101).id in store.ids()
    holder.close()


def test_failing_calls_make_a_purge_fail(tmp_path):
    """A purge that reports success has left nothing, whichever call failed."""
    for number in range(5, 500, 99):
        folder = tmp_path / str(number)
        fill(folder)
        with suppress(ExperienceError):
            purge(*open_both(folder, FailingDisk(number, 5)), SOURCE)
            assert [word for word in WORDS if word in bytes_below(folder)] == []
