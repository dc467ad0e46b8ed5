"""Records read before: quick the second time, and never out of date."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from scoring_helpers import record

from ufo_experience.errors import CorruptError, DataError
from ufo_experience.schema import Trust
from ufo_experience.store import recent
from ufo_experience.store.disk import Disk
from ufo_experience.store.files import FileStore


class Counting(Disk):
    """A disk that counts how many files are opened to be read."""

    opened = 0

    def open(self, path: Path) -> int:
        """See `Disk`."""
        self.opened += 1
        return super().open(path)


@pytest.fixture
def disk():
    """Where the store lies."""
    return Counting()


@pytest.fixture
def store(tmp_path, disk):
    """An empty store."""
    return FileStore.open(tmp_path / "db", disk=disk)


def settle(store) -> None:
    """Make every file of the store a minute old."""
    then = time.time() - 60
    for file in Path(store.location).rglob("*.json"):
        os.utime(file, (then, then))


@pytest.fixture
def one(store):
    """A settled record that has been read once."""
    made = record("Open the mail settings")
    store.add([made])
    settle(store)
    store.get(made.id)
    return made


def file_of(store, one) -> Path:
    """Where a record lies."""
    return Path(store.location) / "records" / one.id[:2] / f"{one.id}.json"


def test_a_record_is_read_from_the_disk_once(store, disk, one):
    """The second answer is equal and opens nothing."""
    before = disk.opened
    assert store.get(one.id) == one
    assert disk.opened == before


def test_what_was_just_written_is_read_again(store, disk):
    """A file may change twice within one tick of its clock."""
    made = record("Turn on Bluetooth")
    store.add([made])
    store.get(made.id)
    before = disk.opened
    store.get(made.id)
    assert disk.opened > before


def test_a_change_of_trust_is_seen_at_once(store, one):
    """By this object and by another one that had read the record, too."""
    other = FileStore.open(store.location)
    other.get(one.id)
    store.set_status(one.id, trust=Trust.QUARANTINED)
    assert [each.get(one.id).trust for each in (store, other)] == [Trust.QUARANTINED] * 2
    settle(store)
    store.get(one.id)
    other.set_status(one.id, trust=Trust.APPROVED)
    assert store.get(one.id).trust is Trust.APPROVED


def test_a_record_that_was_removed_is_gone_at_once(store, one):
    """A purge by another process leaves nothing to answer with."""
    FileStore.open(store.location).remove([one.id])
    with pytest.raises(DataError, match="no experience"):
        store.get(one.id)


def test_a_removal_that_was_cut_short_counts(store, one):
    """A tombstone outranks the record beside it."""
    (Path(store.location) / "tombstones" / f"{one.id}.json").write_bytes(b"{}")
    with pytest.raises(DataError, match="no experience"):
        store.get(one.id)


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no time of such a change")
def test_a_byte_that_changes_is_noticed_though_size_and_time_are_as_before(store, one):
    """Somebody writes into the file and sets its time back."""
    file = file_of(store, one)
    then, data = file.stat().st_mtime_ns, file.read_bytes()
    file.write_bytes(data.replace(b"Open", b"Shut"))
    os.utime(file, ns=(then, then))
    with pytest.raises(CorruptError):
        store.get(one.id)


def test_what_a_caller_changes_inside_an_answer_stays_with_the_caller(store):
    """The next one gets what is on the disk."""
    made = record("Open the mail settings", slots={"input:1": "text"})
    store.add([made])
    settle(store)
    store.get(made.id)
    store.get(made.id).slots["input:1"] = "mine"
    assert store.get(made.id).slots == {"input:1": "text"}


def test_no_more_are_kept_than_said(store, disk):
    """The record that was asked for longest ago is read again."""
    many = [record(f"Task {number}", session=str(number)) for number in range(recent.KEPT + 1)]
    store.add(many)
    settle(store)
    for each in many:
        store.get(each.id)
    before = disk.opened
    store.get(many[-1].id)
    assert disk.opened == before
    store.get(many[0].id)
    assert disk.opened > before
