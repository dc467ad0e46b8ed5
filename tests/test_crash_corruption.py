"""A changed byte or a cut file is named by `verify` or changes nothing; answers come from what is whole."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.disks import UnsyncedDisk, tree
from tools.crash import flips
from tools.crash.operations import open_both
from tools.crash.state import EMBEDDER, caught_up
from tools.crash.worker import record, settings
from ufo_experience.errors import CorruptError, FormatVersionError, IndexMismatchError, StorageError
from ufo_experience.index import generations as generations_module
from ufo_experience.index import manifest as manifests
from ufo_experience.index.build import load_snapshot, sync
from ufo_experience.index.generations import Generation, Generations, npy
from ufo_experience.maintenance.inspection import verify
from ufo_experience.memory import ExperienceMemory
from ufo_experience.schema import Trust
from ufo_experience.store.folder.store import FileStore
from ufo_experience.wiring import Wiring


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store of four trusted records with a published index."""
    store, generations = open_both(tmp_path / "db", UnsyncedDisk())
    store.add(record(number).model_copy(update={"trust": Trust.VERIFIED}) for number in range(4))
    sync(store, generations, EMBEDDER)
    return tmp_path / "db"


@pytest.mark.parametrize("sample", [26, pytest.param(2000, marks=pytest.mark.slow)])
def test_every_changed_byte_and_every_cut_is_named_or_harmless(sample, tmp_path):
    """In records, status, tombstone, store file, index, manifest, CURRENT and cache; a repair leaves nothing behind."""
    damage = flips.damage_all(tmp_path, sample=sample, seed=11)
    assert damage.faults == []
    assert damage.detected > 0.9 * damage.tried


@pytest.mark.parametrize(
    "content", [b"", b"-1\n", b"1000000000\n", b"seven\n", b"1", b"1 \n", "１\n".encode(), b"9" * 40 + b"\n"]
)
def test_a_pointer_to_nothing_costs_no_answer(folder, content, caplog):
    """`CURRENT` names a generation that is not there, or nothing at all: the records answer, `index` repairs."""
    (folder / "index" / "CURRENT").write_bytes(content)
    memory = ExperienceMemory.open(settings=settings(str(folder)))
    memory = ExperienceMemory(memory.store, memory.settings, EMBEDDER)
    assert (
        sorted(hit.experience.id for hit in memory.retrieve("Send report 3", top_k=10, similarity_threshold=0.0))
        == memory.store.ids()
    )
    assert "cannot be used" in caplog.text
    assert verify(memory.store, memory.live.generations).index == "corrupt"
    memory.index()
    assert verify(memory.store, memory.live.generations).index == "ok"


def test_a_damaged_index_on_a_read_only_disk_still_answers(folder):
    """Answering writes nothing: not a file, not a lock, nothing set aside."""
    next(folder.glob("index/1/rows.npy")).write_bytes(b"rot")

    class ReadOnly(UnsyncedDisk):
        def create(self, path: Path) -> int:
            raise OSError(30, "read-only file system", str(path))

        append = mkdir = unlink = rmdir = create

    before = tree(folder)
    store, generations = open_both(folder, ReadOnly())
    wiring = Wiring(store, settings(str(folder)), EMBEDDER, generations)
    assert len(wiring.retriever().retrieve(flips.QUESTION)) == 4
    assert tree(folder) == before
    with pytest.raises(StorageError):
        sync(store, generations, EMBEDDER, rebuild=True)


def test_an_index_of_other_records_is_damage(folder, tmp_path):
    """Columns of one generation beside the manifest of another, hashes made right: refused by the digest of the ids."""
    store, generations = open_both(folder, UnsyncedDisk())
    store.add([record(9)])
    sync(store, generations, EMBEDDER, rebuild=True)
    first, second = (generations._load(number) for number in (1, 2))
    mixed = second.manifest.model_copy(update={"files": first.manifest.files})
    for path in first.folder.iterdir():
        shutil.copy(path, second.folder / path.name)
    (second.folder / "MANIFEST.json").write_bytes(manifests.encode(mixed))
    with pytest.raises(CorruptError, match="not about the records"):
        load_snapshot(store, generations)


def test_an_index_of_records_that_are_gone_answers_without_them(folder):
    """Row 51: a backup of the records was restored beside a newer index; ids it alone knows are masked."""
    store, generations = open_both(folder, UnsyncedDisk())
    gone = store.ids()[0]
    (folder / "records" / gone[:2] / f"{gone}.json").unlink()
    wiring = Wiring(store, settings(str(folder)), EMBEDDER, generations)
    answer = wiring.retriever().retrieve(flips.QUESTION)
    assert sorted(hit.experience.id for hit in answer) == store.ids()
    assert gone not in store.ids()
    assert len(answer) == 3


def test_an_index_of_another_store_is_refused_and_rebuilt(folder, tmp_path):
    """Row 49: copied whole, it is intact and about the same ids; only the store's id tells."""
    other, _ = open_both(tmp_path / "other", UnsyncedDisk())
    other.add(FileStore.open(folder, disk=UnsyncedDisk()).scan())
    shutil.copytree(folder / "index", tmp_path / "other" / "index")
    store, generations = open_both(tmp_path / "other", UnsyncedDisk())
    with pytest.raises(IndexMismatchError, match="belongs to another store"):
        load_snapshot(store, generations)
    found = verify(store, generations)
    assert (found.index, len(found.corrupt)) == ("corrupt", 1)
    sync(store, generations, EMBEDDER, rebuild=True)
    assert verify(store, generations).index == "ok"


@pytest.mark.parametrize(
    "data",
    [
        npy(np.arange(9))[:-8],
        npy(np.arange(9))[:40],
        npy(np.arange(9)).replace(b"<i8", b"|O8"),
        npy(np.arange(9)).replace(b"NUMPY\1", b"NUMPY\2"),
        npy(np.arange(9)).replace(b"(9,), ", b"(-9,),"),
        b"no array",
        b"",
    ],
)
def test_what_is_no_array_of_ours_is_damage(data, tmp_path):
    """Never read past its end, and never as objects."""
    (tmp_path / "rows.npy").write_bytes(data)
    with pytest.raises(CorruptError):
        Generation(tmp_path, None).array("rows")


def test_a_manifest_in_the_wrong_folder_is_damage(folder):
    """A generation copied under another number is not taken for that one."""
    shutil.copytree(folder / "index" / "1", folder / "index" / "7")
    (folder / "index" / "CURRENT").write_bytes(b"7\n")
    with pytest.raises(CorruptError, match="the manifest of generation 1"):
        Generations(folder / "index").current()


def test_an_index_of_a_newer_version_is_refused_untouched(folder):
    """Not read, not replaced, not even by a rebuild."""
    path = folder / "index" / "1" / "MANIFEST.json"
    values = json.loads(path.read_bytes())
    del values["sha256"]
    path.write_bytes(manifests._signed({**values, "format": manifests.FORMAT + 1, "new": True}))
    before = tree(folder / "index")
    store, generations = open_both(folder, UnsyncedDisk())
    for rebuild in (False, True):
        with pytest.raises(FormatVersionError):
            sync(store, generations, EMBEDDER, rebuild=rebuild)
    after = {name: data for name, data in tree(folder / "index").items() if not name.startswith(".lock")}
    assert after == {name: data for name, data in before.items() if not name.startswith(".lock")}


def test_a_generation_dropped_while_it_is_read_is_read_again(folder):
    """Two newer ones appear between pointer and files: the reader takes the newest, and calls nothing damaged."""
    store, generations = open_both(folder, UnsyncedDisk())

    class Slow(Generations):
        late = True

        def _load(self, number: int):
            if self.late:
                self.late = False
                for number in range(8, 10):
                    store.add([record(number)])
                    sync(store, generations, EMBEDDER, rebuild=True)
            return super()._load(number)

    snapshot = load_snapshot(store, Slow(folder / "index", UnsyncedDisk()))
    assert snapshot is not None
    assert snapshot.manifest is not None
    assert snapshot.manifest.generation == 3


def test_a_large_generation_is_hashed_in_the_background(folder, monkeypatch, caplog):
    """Damage in one too large to hash at open is found by a program that stays; then the records answer."""
    monkeypatch.setattr(generations_module, "VERIFY_AT_OPEN", 0)
    monkeypatch.setattr("ufo_experience.index.live.VERIFY_AT_OPEN", 0)
    monkeypatch.setattr("ufo_experience.index.live.CHECK_AFTER_S", 0.0)
    path = folder / "index" / "1" / "terms_weights.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    store, generations = open_both(folder, UnsyncedDisk())
    live = Wiring(store, settings(str(folder)), EMBEDDER, generations).live
    first = live.snapshot()
    assert first.manifest is not None
    for thread in [one for one in live_threads() if one.name == "ufo-experience-verify"]:
        thread.join(10)
    second = live.snapshot()
    assert second.manifest is None
    assert sorted(second.catalog.ids()) == store.ids()
    assert "damaged" in caplog.text


def live_threads():
    """Threads that run now."""
    import threading

    return threading.enumerate()


def test_a_record_that_could_not_be_read_once_is_indexed_later(folder):
    """An error of the moment while indexing leaves no hole: the next run looks at that folder again."""
    new = record(50)

    class Flaky(UnsyncedDisk):
        bad = True

        def open(self, path: Path) -> int:
            if self.bad and path.stem == new.id:
                raise OSError(5, "input/output error", str(path))
            return super().open(path)

    store, generations = open_both(folder, Flaky())
    store.add([new])
    sync(store, generations, EMBEDDER)
    for shard in folder.glob("records/*"):  # old enough that their times count
        import os

        os.utime(shard, ns=(10**18, 10**18))
    sync(store, generations, EMBEDDER, rebuild=True)
    store._layout.disk.bad = False
    assert new.id in caught_up(store, generations).catalog.ids()
