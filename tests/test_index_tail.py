"""What is learned between two generations: appended, found by the next process, never the truth."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest

from tests.builders import a_record
from tests.disks import UnsyncedDisk
from ufo_experience.embed.hashing import HashingEmbedder
from ufo_experience.index import append as append_module
from ufo_experience.index import generations as generations_module
from ufo_experience.index import manifest as manifests
from ufo_experience.index import snapshot as snapshot_module
from ufo_experience.index import tail as tails
from ufo_experience.index.append import append
from ufo_experience.index.build import load_snapshot, sync, sync_from
from ufo_experience.index.catalog import entry_of
from ufo_experience.index.generations import Generations
from ufo_experience.index.snapshot import Snapshot, apply, find_changes, own_changes
from ufo_experience.schema import Trust, Verdict
from ufo_experience.store.folder.store import FileStore

EMBEDDER = HashingEmbedder(64)
VERDICT = Verdict(success=False, judged_at=datetime(2026, 1, 1, tzinfo=timezone.utc))


class ReadingDisk(UnsyncedDisk):
    """Counts the record files that are opened, and the looks at all folders."""

    def __init__(self) -> None:
        super().__init__()
        self.read_records = self.looks = 0

    def folder_mtimes(self, path: Path) -> dict[str, int]:
        self.looks += 1
        return super().folder_mtimes(path)

    def open(self, path: Path) -> int:
        self.read_records += path.parent.parent.name == "records"
        return super().open(path)


def open_all(folder: Path, disk: UnsyncedDisk | None = None) -> tuple[FileStore, Generations]:
    """What a new process opens."""
    disk = disk or UnsyncedDisk()
    return FileStore.open(folder, disk=disk), Generations(folder / "index", disk, lock_timeout=0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three records and a published generation."""
    store, generations = open_all(tmp_path / "db")
    store.add([a_record(number) for number in range(3)])
    sync(store, generations, EMBEDDER)
    return tmp_path / "db"


def loaded(folder: Path, disk: UnsyncedDisk | None = None) -> Snapshot:
    """The snapshot that a new process begins with."""
    snapshot = load_snapshot(*open_all(folder, disk))
    assert snapshot is not None
    return snapshot


def test_one_more_record_publishes_no_generation_and_is_there_for_the_next_process(folder):
    """Its columns and its vector come from the tail; its file is not read."""
    store, generations = open_all(folder)
    store.add([a_record(7)])
    report = sync(store, generations, EMBEDDER)
    assert (report.generation, report.records, report.embedded) == (1, 4, 1)
    disk = ReadingDisk()
    snapshot = loaded(folder, disk)
    assert sorted(snapshot.catalog.ids()) == store.ids()
    assert snapshot.index.missing(store.ids()) == []
    assert find_changes(FileStore.open(folder, disk=disk), snapshot).added == []
    assert disk.read_records == 0


def appended(folder: Path, number: int, then: Callable[[], object] = lambda: None) -> bool:
    """Add a record as a new process does; `then` comes before the index hears of it."""
    store, generations = open_all(folder)
    store.add([a_record(number)])
    then()
    return append(store, generations, EMBEDDER, [entry_of(a_record(number))])


def test_what_was_learned_is_appended_without_opening_the_index(folder):
    """Its columns and its vector are there for the next process, which lists the folder and does not read the file."""
    rows = folder / "index" / "1" / "rows.npy"
    kept = rows.read_bytes()
    rows.unlink()
    assert all([appended(folder, number) for number in (7, 8)])
    rows.write_bytes(kept)
    disk = ReadingDisk()
    snapshot, store = loaded(folder, disk), FileStore.open(folder, disk=disk)
    assert sorted(snapshot.catalog.ids()) == store.ids()
    assert snapshot.index.missing(store.ids()) == []
    assert not find_changes(store, snapshot)
    assert disk.read_records == 0
    sync(*open_all(folder), EMBEDDER)
    assert loaded(folder).tail.frames == 2  # nothing was left to be said
    sync(*open_all(folder), EMBEDDER, rebuild=True)
    rebuilt = loaded(folder).catalog
    assert snapshot.catalog.compact().rows.tobytes() == rebuilt.rows.tobytes()
    assert snapshot.catalog.compact().terms[0].rows.tolist() == rebuilt.terms[0].rows.tolist()


@pytest.mark.parametrize(
    "between",
    [
        lambda folder: open_all(folder)[0].remove([a_record(7).id]),
        lambda folder: open_all(folder)[0].set_status(a_record(7).id, trust=Trust.QUARANTINED),
        lambda folder: (
            sync(*open_all(folder), HashingEmbedder(64), rebuild=True) and open_all(folder)[0].add([a_record(9)])
        ),
        lambda folder: (folder / "index" / "CURRENT").unlink(),
        lambda folder: (folder / "index" / "1" / "MANIFEST.json").write_bytes(b"{}"),
    ],
    ids=["removed", "judged", "rebuilt", "no index", "damaged"],
)
def test_nothing_is_appended_where_more_has_to_be_looked_at(folder, between):
    """Somebody committed since, or there is no generation whose tail it could be."""
    assert not appended(folder, 7, lambda: between(folder))
    sync(*open_all(folder), EMBEDDER)
    assert sorted(loaded(folder).catalog.ids()) == open_all(folder)[0].ids()
    assert not find_changes(open_all(folder)[0], loaded(folder))


def test_nothing_is_appended_where_a_server_keeps_the_vectors(folder):
    """It has to be told of them."""
    store, generations = FileStore.open(folder), Generations(folder / "index", engine="milvus://nowhere")
    manifest = generations.last_manifest().model_copy(update={"engine": "milvus://nowhere"})
    (folder / "index" / "1" / "MANIFEST.json").write_bytes(manifests.encode(manifest))
    store.add([a_record(7)])
    assert not append(store, generations, EMBEDDER, [entry_of(a_record(7))])


def test_somebody_looks_at_all_that_changed_before_it_is_much(folder, monkeypatch):
    """Each reader lists the folders of what was appended: after some, their times are written down."""
    monkeypatch.setattr(append_module, "MOST_UNSEEN", 3)
    assert [appended(folder, number) for number in range(10, 15)] == [True, True, True, False, False]
    monkeypatch.setattr(snapshot_module, "MTIME_GRANULARITY_NS", 0)
    sync(*open_all(folder), EMBEDDER)
    assert appended(folder, 15)


@pytest.mark.parametrize(
    ("then", "looks"),
    [
        (lambda store, folder: None, 0),
        (lambda store, folder: store.set_status(a_record(7).id, trust=Trust.QUARANTINED), 2),
        (lambda store, folder: open_all(folder)[0].set_status(a_record(7).id, trust=Trust.QUARANTINED), 2),
        (lambda store, folder: store.remove([a_record(7).id]), 2),
    ],
    ids=["nothing", "changed", "changed elsewhere", "removed"],
)
def test_who_has_the_index_open_learns_without_a_look_at_the_folders(folder, then, looks):
    """Unless more came than what was learned; the index holds the record as it is."""
    disk = ReadingDisk()
    store, generations = open_all(folder, disk)
    held = sync_from(None, store, generations, EMBEDDER)[1]
    store.add([a_record(7)])
    then(store, folder)
    disk.looks = 0
    entries = {a_record(7).id: entry_of(a_record(7))}
    saved = sync_from(held, store, generations, EMBEDDER, learned=entries)[1]
    assert disk.looks == looks
    assert saved.catalog.ids() == loaded(folder).catalog.ids()
    assert sorted(saved.catalog.ids()) == store.ids()
    assert not any(saved.catalog.is_stale(one) for one in store.scan())


def test_the_tail_says_the_same_as_a_new_generation(folder):
    """Added, changed, removed and added again: columns and vectors are those of a rebuild."""
    store, generations = open_all(folder)
    for number in range(10, 16):
        store.add([a_record(number)])
        sync(store, generations, EMBEDDER)
    store.set_status(a_record(10).id, trust=Trust.APPROVED)
    store.remove([a_record(11).id, a_record(0).id])
    sync(store, generations, EMBEDDER)
    store.add([a_record(11)], revive=True)
    sync(store, generations, EMBEDDER)
    grown = loaded(folder).catalog.compact()
    sync(store, generations, EMBEDDER, rebuild=True)
    rebuilt = loaded(folder).catalog
    assert grown.rows.tobytes() == rebuilt.rows.tobytes()
    assert [grown.text(row) for row in range(len(grown))] == [rebuilt.text(row) for row in range(len(rebuilt))]
    assert grown.terms[0].rows.tolist() == rebuilt.terms[0].rows.tolist()


def test_what_was_changed_through_a_store_is_known_without_looking_into_folders(folder):
    """Unless another store changed something between: then the folders are looked into, and nothing is missed."""
    (store, _), (other, _) = open_all(folder), open_all(folder)
    first, second, third = (a_record(number).id for number in range(3))
    snapshot = apply(loaded(folder), find_changes(store, loaded(folder)), EMBEDDER)
    store.set_status(first, trust=Trust.APPROVED)
    store.update_usage(first, lambda usage: usage.model_copy(update={"helped": 2}))
    mine = own_changes(store, snapshot)
    assert [one.model_dump() for one in mine.updated] == [store.get(first).model_dump()]
    snapshot = apply(snapshot, mine, EMBEDDER)
    assert snapshot.revision == store.revision()
    for writer, changed in ((store, second), (other, third), (store, first)):
        writer.set_status(changed, trust=Trust.QUARANTINED)
    assert own_changes(store, snapshot) is None
    assert {one.id for one in find_changes(store, snapshot).updated} == {first, second, third}


def test_a_verdict_and_what_is_removed_are_looked_for_in_the_folders(folder):
    """A store tells of its changes of trust and usage alone."""
    store, _ = open_all(folder)
    changes = (lambda id: store.set_status(id, verdict=VERDICT), lambda id: store.remove([id]))
    for number, change in enumerate(changes):
        snapshot = apply(loaded(folder), find_changes(store, loaded(folder)), EMBEDDER)
        change(a_record(number).id)
        assert own_changes(store, snapshot) is None
        assert find_changes(store, snapshot)


def test_a_torn_tail_costs_no_record(folder):
    """Cut anywhere: what is whole counts, the rest is read from the records, and the next frame is readable."""
    store, generations = open_all(folder)
    store.add([a_record(7)])
    sync(store, generations, EMBEDDER)
    path = folder / "index" / "tail-1"
    whole = path.read_bytes()
    store.add([a_record(8)])
    sync(store, generations, EMBEDDER)
    path.write_bytes(path.read_bytes()[: len(whole) + 100])
    snapshot = loaded(folder)
    assert len(snapshot.catalog) == 4
    assert [one.id for one in find_changes(store, snapshot).added] == [a_record(8).id]
    sync(*open_all(folder), EMBEDDER)
    assert sorted(loaded(folder).catalog.ids()) == store.ids()


def test_two_processes_that_append_lose_nothing(folder):
    """The slower one sees that the tail has grown and begins again."""
    (one, first), (other, second) = open_all(folder), open_all(folder)
    start = load_snapshot(other, second)
    assert start is not None
    one.add([a_record(7)])
    sync(one, first, EMBEDDER)
    assert start.tail is not None
    assert second.append_tail(tails.Frame(start.catalog.extract([]), *start.index.vectors_of([])), start.tail) is None
    other.add([a_record(8)])
    sync(other, second, EMBEDDER)
    assert sorted(loaded(folder).catalog.ids()) == one.ids()


def test_many_frames_become_one(folder, monkeypatch):
    """So that opening does not take longer and longer."""
    monkeypatch.setattr(generations_module, "MAX_FRAMES", 4)
    store, generations = open_all(folder)
    for number in range(10, 20):
        store.add([a_record(number)])
        sync(store, generations, EMBEDDER)
    position = loaded(folder).tail
    assert position is not None
    assert position.frames <= 4
    assert sorted(loaded(folder).catalog.ids()) == store.ids()


def test_a_long_tail_becomes_a_generation(folder, monkeypatch):
    """By the writer that crosses the line; the tail of the generation before goes with it, two generations later."""
    monkeypatch.setattr(generations_module, "DUE_LEAST", 3)
    store, generations = open_all(folder)
    for number in range(10, 13):
        store.add([a_record(number)])
        report = sync(store, generations, EMBEDDER)
    assert report.generation == 2
    sync(store, generations, EMBEDDER, rebuild=True)
    assert not (folder / "index" / "tail-1").exists()
