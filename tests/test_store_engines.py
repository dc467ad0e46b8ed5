"""Every store keeps the same promises: these tests run on the file store and on a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.builders import a_record
from tests.disks import UnsyncedDisk
from tests.postgres_server import Server, running
from ufo_experience.errors import DataError, SchemaError, StorageError
from ufo_experience.ids import is_id
from ufo_experience.index.snapshot import MTIME_GRANULARITY_NS
from ufo_experience.schema import Trust, Usage
from ufo_experience.store import open_store
from ufo_experience.store.base import Added, ExperienceStore
from ufo_experience.store.exchange import export_json, import_json
from ufo_experience.store.folder.store import FileStore

Opener = Callable[..., ExperienceStore]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL server for this module."""
    yield from running()


@pytest.fixture(params=["files", pytest.param("postgres", marks=pytest.mark.server)])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens one and the same store, empty at first, as often as it is called."""
    if request.param == "files":
        return lambda **options: FileStore.open(tmp_path / "db", disk=UnsyncedDisk(), **options)
    url = request.getfixturevalue("server").database()
    return lambda **options: open_store(url, **options)


@pytest.fixture
def store(reopen: Opener) -> ExperienceStore:
    """An empty store."""
    return reopen()


def test_a_record_comes_back_as_it_was(store):
    """Get and scan return what was added, usage included."""
    one = a_record(1, usage={"injected": 3, "helped": 2, "hurt": 1})
    assert store.add([one]).added == (one.id,)
    assert store.get(one.id) == one
    assert list(store.scan()) == [one]


def test_any_text_comes_back_as_it_was(store):
    """Zero bytes, quotes, backslashes and characters beyond the first plane, in every text that has a column."""
    text = "a\0b'c\\d\"e\u2028 🙂"
    one = a_record(1, state={"task": f"t {text}", "application": text, "env": text})
    one = one.model_copy(update={"provenance": one.provenance.model_copy(update={"source": text, "session": text})})
    store.add([one])
    assert store.get(one.id) == one
    assert store.remove([one.id], reason=text) == [one.id]


def test_a_store_opened_again_is_the_same_store(store, reopen):
    """Id and records outlive the object."""
    store.add([a_record(1)])
    again = reopen(create=False)
    assert is_id(store.store_id)
    assert (again.store_id, again.ids()) == (store.store_id, store.ids())


def test_opening_without_create_makes_nothing(reopen):
    """A store that is not there is an error of its own kind, twice in a row."""
    for _ in range(2):
        with pytest.raises(DataError) as caught:
            reopen(create=False)
        assert caught.value.code == "E_NOT_FOUND"


def test_adding_twice_stores_once(store):
    """The same id is skipped, in one call and in the next."""
    one = a_record(1)
    assert store.add([one, one]) == Added((one.id,), (one.id,))
    assert store.add([one]) == Added((), (one.id,))
    assert store.ids() == [one.id]


def test_of_two_with_one_id_the_first_is_kept(store):
    """A later record of the same id does not replace it, in one call or in two."""
    one = a_record(1)
    other = one.model_copy(update={"salience": 0.9})
    store.add([one, other])
    store.add([other])
    assert store.get(one.id) == one


def test_a_removed_record_stays_out_until_it_is_revived(store):
    """The tombstone outlives a new add; `revive` lifts it and brings no old status back."""
    one = a_record(1)
    store.add([one])
    store.set_status(one.id, trust=Trust.APPROVED)
    assert store.remove([one.id, "0" * 32, "../store"], reason="wrong") == [one.id]
    assert store.remove([one.id]) == []
    assert store.add([one]).skipped == (one.id,)
    assert store.ids() == list(store.scan()) == []
    with pytest.raises(DataError) as caught:
        store.get(one.id)
    assert caught.value.code == "E_NOT_FOUND"
    assert store.add([one], revive=True).added == (one.id,)
    assert store.get(one.id).trust is Trust.OBSERVED


def test_trust_and_usage_change_one_without_the_other(store):
    """What is not given stays."""
    one = a_record(1)
    store.add([one])
    store.set_status(one.id, trust=Trust.APPROVED)
    store.set_status(one.id, usage=Usage(injected=1, helped=1))
    assert store.update_usage(one.id, lambda old: old.model_copy(update={"hurt": old.hurt + 1})).hurt == 1
    changed = store.get(one.id)
    assert (changed.trust, changed.usage) == (Trust.APPROVED, Usage(injected=1, helped=1, hurt=1))
    assert changed.model_copy(update={"trust": one.trust, "usage": one.usage}) == one


@pytest.mark.parametrize(
    "id", ["", "../../etc/passwd", "CON", "A" * 32, "0" * 31, "0" * 32 + "\n", "' OR true --", "\0", "0" * 32]
)
def test_an_id_that_is_none_finds_nothing(store, id):
    """Not found, whatever it holds."""
    store.add([a_record(1)])
    for use in (
        lambda: store.get(id),
        lambda: store.set_status(id, trust=Trust.APPROVED),
        lambda: store.update_usage(id, lambda old: old),
    ):
        with pytest.raises(DataError) as caught:
            use()
        assert caught.value.code == "E_NOT_FOUND"
    assert store.remove([id]) == list(store.scan([id])) == []


def test_ids_and_scan_are_sorted(store):
    """Both go in id order; a chosen list is streamed in id order without doubles and without strangers."""
    many = [a_record(number) for number in range(40)]
    store.add(many)
    ids = sorted(one.id for one in many)
    assert store.ids() == ids == [one.id for one in store.scan()]
    assert [one.id for one in store.scan([ids[7], ids[3], ids[7], "x"])] == [ids[3], ids[7]]


def test_more_than_one_group_in_one_call(store):
    """All are added, none twice, and a scan over several pages gives each once."""
    assert len(store.add(a_record(number) for number in range(1100)).added) == 1100
    assert len(set(store.ids())) == 1100
    assert [one.id for one in store.scan()] == store.ids()


def test_a_record_over_a_limit_is_refused_and_nothing_of_its_group_stored(store):
    """A record above 256 KiB is a schema error."""
    steps = [{"step_number": number + 1, "observation": "x" * 8000} for number in range(40)]
    with pytest.raises(SchemaError, match="larger than"):
        store.add([a_record(1), a_record(2, action={"steps": steps})])
    assert store.ids() == []


def test_the_revision_differs_after_every_change_and_only_then(store, reopen):
    """Add, status, removal each give a new token, which other readers see; reading and skipping give none."""
    reader = reopen()
    seen = [store.revision()]
    one = a_record(1)
    for change in (
        lambda: store.add([one]),
        lambda: store.set_status(one.id, trust=Trust.VERIFIED),
        lambda: store.remove([one.id]),
        lambda: store.add([one], revive=True),
    ):
        change()
        seen.append(store.revision())
        assert reader.revision() == seen[-1]
    assert len(set(seen)) == len(seen)
    store.add([one])
    store.set_status(one.id)
    store.set_status(one.id, trust=one.trust)
    store.remove(["0" * 32])
    with pytest.raises(DataError):
        store.set_status("0" * 32, trust=Trust.APPROVED)
    list(store.scan())
    assert store.revision() == seen[-1]


def test_stamps_name_the_shards_that_changed(store):
    """Exactly the shard written to has another stamp, however fast changes follow; its listing shows the change."""
    one, two = a_record(1), a_record(2)
    store.add([one, two])
    before = store.shard_mtimes()
    store.set_status(one.id, trust=Trust.VERIFIED)
    after = store.shard_mtimes()
    assert {shard for shard in after if after[shard] != before.get(shard)} == {f"status/{one.id[:2]}"}
    store.remove([two.id])
    last = store.shard_mtimes()
    assert {shard for shard in last if last[shard] != after.get(shard)} == {f"records/{two.id[:2]}"}
    assert store.ids_in(f"records/{one.id[:2]}") == store.ids_in(f"status/{one.id[:2]}") == [one.id]
    assert store.ids_in(f"records/{two.id[:2]}") == store.ids_in("tombstones") == store.ids_in("../..") == []


def test_a_stamp_is_a_time_or_a_number_far_below_any_time(store):
    """Never zero, and never a number that would be taken for a time just now."""
    store.add([a_record(1)])
    mtimes = store.shard_mtimes().values()
    assert all(stamp > 0 for stamp in mtimes)
    assert not store.shared or all(stamp < MTIME_GRANULARITY_NS for stamp in mtimes)


def test_a_read_only_store_reads_and_does_not_write(store, reopen):
    """Reading works, every write is a storage error, and nothing changes."""
    one = a_record(1)
    store.add([one])
    before = store.revision()
    reader = reopen(read_only=True)
    assert reader.get(one.id) == one
    for write in (
        lambda: reader.add([a_record(2)]),
        lambda: reader.remove([one.id]),
        lambda: reader.set_status(one.id, trust=Trust.VERIFIED),
    ):
        with pytest.raises(StorageError, match="read-only"):
            write()
    assert (store.revision(), store.ids()) == (before, [one.id])


def test_no_credit_is_lost_between_threads(store, reopen):
    """Eight threads on two objects credit one record; every one of them counts."""
    one = a_record(1)
    store.add([one])
    stores = [store, reopen()]

    def credit(number: int) -> None:
        stores[number % 2].update_usage(one.id, lambda old: old.model_copy(update={"injected": old.injected + 1}))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(credit, range(40)))
    assert store.get(one.id).usage.injected == 40


def test_verify_counts_what_is_whole(store):
    """Nothing is wrong with what was just written."""
    store.add(a_record(number) for number in range(5))
    found = store.verify()
    assert (found.records, found.corrupt) == (5, [])


def test_an_export_goes_into_any_store_and_back(store, tmp_path):
    """Restored as a backup the records are equal, whichever kind of store they went through."""
    records = [a_record(number, trust=Trust.APPROVED, usage={"injected": number}) for number in range(20)]
    first = FileStore.open(tmp_path / "first", disk=UnsyncedDisk())
    first.add(records)
    assert len(import_json(store, export_json(first), restore=True).added) == 20
    last = FileStore.open(tmp_path / "last", disk=UnsyncedDisk())
    import_json(last, export_json(store), restore=True)
    assert list(last.scan()) == list(store.scan()) == list(first.scan())
    assert export_json(last) == export_json(first)


def test_what_comes_from_elsewhere_is_quarantined(store, tmp_path):
    """Without `restore` nobody's word is taken for its trust."""
    first = FileStore.open(tmp_path / "first", disk=UnsyncedDisk())
    first.add([a_record(1, trust=Trust.APPROVED)])
    import_json(store, export_json(first))
    assert [one.trust for one in store.scan()] == [Trust.QUARANTINED]
