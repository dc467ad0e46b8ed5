"""The file store: what it keeps, refuses, finds and mends."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.builders import a_record
from tests.disks import UnsyncedDisk, WindowsDisk, leftovers, tree
from ufo_experience.errors import (
    CorruptError,
    DataError,
    FormatVersionError,
    NotFoundError,
    QuotaError,
    RefusedError,
    StorageError,
    UsageError,
)
from ufo_experience.schema import Provenance, Trust, Usage
from ufo_experience.store import open_store
from ufo_experience.store.base import matches_source
from ufo_experience.store.codec import encode
from ufo_experience.store.folder import layout
from ufo_experience.store.folder.store import FileStore
from ufo_experience.store.kept import KeptRecords

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")


@pytest.fixture
def store(tmp_path) -> FileStore:
    """An empty store."""
    return FileStore.open(tmp_path / "db", disk=UnsyncedDisk())


def record_path(store: FileStore, id: str) -> Path:
    return Path(store.location) / "records" / id[:2] / f"{id}.json"


def status_path(store: FileStore, id: str) -> Path:
    return Path(store.location) / "status" / id[:2] / f"{id}.json"


def test_adding_twice_stores_once(store):
    """The same id is skipped, in one call and in the next; nothing is rewritten."""
    one = a_record(1)
    assert store.add([one, one]) == type(store.add([]))(added=(one.id,), skipped=(one.id,))
    before = tree(Path(store.location))
    assert store.add([one]).skipped == (one.id,)
    assert tree(Path(store.location)) == before


def test_an_author_keeps_no_more_records_than_allowed(tmp_path):
    """The group that would go over is refused whole, with who, how many and the limit; a removal makes room."""
    store = FileStore.open(tmp_path / "db", disk=UnsyncedDisk(), max_per_author=2)
    store.add([a_record(1)])
    with pytest.raises(QuotaError, match="max_records_per_author") as refused:
        store.add([a_record(2), a_record(3)])
    assert (refused.value.count, refused.value.limit, refused.value.author[:4]) == (1, 2, "user")
    assert store.ids() == [a_record(1).id]
    store.add([a_record(1), a_record(2)])
    store.remove([a_record(1).id])
    store.add([a_record(3)])
    assert len(store.ids()) == 2


@posix_only
def test_what_another_user_stored_counts_as_theirs(tmp_path, monkeypatch):
    store = FileStore.open(tmp_path / "db", disk=UnsyncedDisk(), max_per_author=1)
    store.add([a_record(1)])
    monkeypatch.setattr(layout.os, "geteuid", lambda: os.stat(tmp_path).st_uid + 1)
    store.add([a_record(2)])
    assert len(store.ids()) == 2


def test_trust_and_usage_change_without_touching_the_record(store):
    """The status file carries them; the record's bytes stay."""
    one = a_record(1)
    store.add([one])
    before = record_path(store, one.id).read_bytes()
    store.set_status(one.id, trust=Trust.APPROVED)
    store.set_status(one.id, usage=Usage(injected=1, helped=1))
    assert store.update_usage(one.id, lambda old: old.model_copy(update={"hurt": old.hurt + 1})).hurt == 1
    changed = store.get(one.id)
    assert (changed.trust, changed.usage) == (Trust.APPROVED, Usage(injected=1, helped=1, hurt=1))
    assert record_path(store, one.id).read_bytes() == before


WRITES = {
    "add": lambda store: store.add([a_record(2)]),
    "trust": lambda store: store.set_status(a_record(1).id, trust=Trust.APPROVED),
    "usage": lambda store: store.update_usage(a_record(1).id, lambda old: old.model_copy(update={"helped": 1})),
    "remove": lambda store: store.remove([a_record(1).id]),
    "set aside": lambda store: store.set_aside_corrupt(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_store_whose_empty_folders_were_dropped_takes_every_write(store, write):
    """Git and many tools that copy keep no empty folder."""
    store.add([a_record(1)])
    for name in ("status", "tombstones"):
        (Path(store.location) / name).rmdir()
    again = FileStore.open(store.location, disk=UnsyncedDisk())
    assert again.verify().corrupt == []
    write(again)
    assert again.verify().corrupt == []


def test_an_empty_store_without_its_folders_takes_a_record(store):
    """Not even `records/` came along."""
    for name in ("records", "status", "tombstones"):
        (Path(store.location) / name).rmdir()
    again = FileStore.open(store.location, create=False, disk=UnsyncedDisk())
    assert again.add([a_record(1)]).added == (a_record(1).id,)


def test_a_store_whose_folder_is_gone_is_not_made_again_by_a_write(store):
    """A folder without a store file would be no store: what is written there would be lost."""
    shutil.rmtree(store.location)
    with pytest.raises(StorageError):
        store.add([a_record(1)])
    assert not Path(store.location).exists()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_store_in_a_clone_takes_every_write(store, tmp_path):
    """A store that went through a real `git clone`."""
    store.add([a_record(number) for number in range(4)])
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "a store"]):
        subprocess.run(["git", *command], cwd=store.location, check=True)
    subprocess.run(["git", "clone", "-q", store.location, str(tmp_path / "clone")], check=True)
    clone = FileStore.open(tmp_path / "clone", create=False, disk=UnsyncedDisk())
    clone.set_status(a_record(1).id, trust=Trust.APPROVED)
    assert clone.remove([a_record(2).id]) == [a_record(2).id]
    assert clone.add([a_record(9)]).added == (a_record(9).id,)
    assert clone.get(a_record(1).id).trust is Trust.APPROVED


def test_a_thousand_records_in_one_call(store):
    """More than one group: all are added, none twice."""
    assert len(store.add(a_record(number) for number in range(1000)).added) == 1000
    assert len(set(store.ids())) == 1000


@pytest.mark.parametrize("source", [".\\logs/x/../s1\\response.log", "logs/s1/response.log", "s1", "C:/LOGS/s1/"])
def test_a_source_or_a_session_is_known_in_any_spelling(source):
    """Slashes, dots and a trailing slash do not matter, nor does case in a path of Windows."""
    places = [Provenance(source=path, session="s1") for path in ("logs/s1/response.log", "c:\\logs\\s1")]
    assert any(matches_source(one, source) for one in places)


@pytest.mark.parametrize("source", ["logs", "logs/", ".\\logs\\s1", "logs/s1/"])
def test_a_folder_is_the_source_of_all_below_it(source):
    """In any spelling."""
    assert matches_source(Provenance(source="logs/s1/response.log", session="s1"), source)


@pytest.mark.parametrize("source", ["log", "logs/s", "s", "", ".", "/", "s0", "Logs/s1/response.log"])
def test_another_source_is_another(source):
    """A name that begins alike, nothing at all, the root of all, another session, another case."""
    assert not matches_source(Provenance(source="logs/s1/response.log", session="s1"), source)


def test_a_status_left_by_a_lost_record_gives_no_trust_to_a_new_one(store):
    """Adding starts from the record's own trust."""
    one = a_record(1)
    store.add([one])
    store.set_status(one.id, trust=Trust.APPROVED)
    record_path(store, one.id).unlink()
    store.add([one])
    assert store.get(one.id).trust is Trust.OBSERVED


def test_a_wrong_request_is_not_taken_for_a_crash(store):
    """After an id that is not found no note stays behind that would make the next writer tidy up."""
    with pytest.raises(DataError):
        store.set_status("0" * 32, trust=Trust.APPROVED)
    assert not (Path(store.location) / ".lock.holder").exists()


def test_the_marker_file_stays_small(store):
    """It starts over after a while, and the revision still moves on."""
    marker = Path(store.location) / "changed"
    marker.write_bytes(b"." * 4096)
    before = store.revision()
    store.add([a_record(1)])
    assert marker.stat().st_size == 1
    assert store.revision() != before


def test_a_clock_that_stands_still_or_runs_back_changes_the_stamps_all_the_same(store):
    """A folder and marker dated far ahead still get a later time."""
    one = a_record(1)
    store.add([one])
    marker, folder = Path(store.location) / "changed", status_path(store, one.id).parent
    folder.mkdir()
    for path in (marker, folder):
        os.utime(path, ns=(4_102_444_800_000_000_000, 4_102_444_800_000_000_000))
    revision = store.revision()
    store.set_status(one.id, trust=Trust.VERIFIED)
    assert store.revision() != revision
    assert marker.stat().st_mtime_ns > 4_102_444_800_000_000_000


def test_opening_without_create_makes_nothing(tmp_path):
    """A missing store is an error that names the folder, and the folder stays missing."""
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(DataError, match="no experience store"):
            FileStore.open(tmp_path / "typo", **options)
    assert not (tmp_path / "typo").exists()


def test_a_file_is_no_store(tmp_path):
    """A path to a file is refused."""
    (tmp_path / "db").write_text("x", encoding="utf-8")
    with pytest.raises(DataError, match="not a folder"):
        FileStore.open(tmp_path / "db")


def test_a_read_only_store_reads_and_does_not_write(store):
    """Reading works, every write is a storage error, and no byte changes."""
    one = a_record(1)
    store.add([one])
    before = tree(Path(store.location))
    reader = FileStore.open(store.location, read_only=True)
    assert reader.get(one.id) == one
    for write in (
        lambda: reader.add([a_record(2)]),
        lambda: reader.remove([one.id]),
        lambda: reader.set_status(one.id, trust=Trust.VERIFIED),
        reader.set_aside_corrupt,
    ):
        with pytest.raises(StorageError, match="read-only"):
            write()
    assert tree(Path(store.location)) == before


def test_a_newer_store_is_refused_untouched(store):
    """The store file's version decides; not a byte changes."""
    store.add([a_record(1)])
    path = Path(store.location) / "store.json"
    path.write_bytes(encode({"format": 2, "store_id": store.store_id}))
    before = tree(Path(store.location))
    with pytest.raises(FormatVersionError, match="newer"):
        FileStore.open(store.location)
    assert tree(Path(store.location)) == before


def test_a_damaged_store_file_is_an_error_not_a_new_store(store):
    """An empty or foreign store file is corrupt; it is not replaced."""
    path = Path(store.location) / "store.json"
    for data in (b"", encode({"format": 1, "store_id": "x"}), encode({"format": "1"})):
        path.write_bytes(data)
        with pytest.raises(CorruptError, match=r"store\.json"):
            FileStore.open(store.location)
        assert path.read_bytes() == data


def damage_hash(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"Outlook", b"Inlook!"))


def damage_empty(path: Path) -> None:
    path.write_bytes(b"")


def damage_zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def damage_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def damage_other_id(path: Path) -> None:
    path.write_bytes(encode(a_record(77).model_dump(mode="json", exclude={"usage"})))


def damage_huge(path: Path) -> None:
    path.write_bytes(b"x" * 50_000_000)


def damage_usage(path: Path) -> None:
    path.write_bytes(encode(a_record(1).model_dump(mode="json")))


def damage_field(path: Path) -> None:
    path.write_bytes(encode(a_record(1).model_dump(mode="json", exclude={"usage"}) | {"salience": True}))


def damage_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def damage_link(path: Path) -> None:
    other = path.with_name("elsewhere")
    path.rename(other)
    path.symlink_to(other)


def damage_public(path: Path) -> None:
    path.chmod(0o666)


def damage_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "damage",
    [
        damage_hash,
        damage_empty,
        damage_zeros,
        damage_half,
        damage_other_id,
        damage_huge,
        damage_usage,
        damage_field,
        damage_folder,
        pytest.param(damage_link, marks=posix_only),
        pytest.param(damage_public, marks=posix_only),
        pytest.param(damage_pipe, marks=posix_only),
    ],
)
def test_a_bad_record_is_named_isolated_and_set_aside(store, damage):
    """It is left out of scans, named by `verify`, moved away with a reason; the other record goes on."""
    one, two = a_record(1), a_record(2)
    store.add([one, two])
    damage(record_path(store, one.id))
    with pytest.raises(DataError, match=one.id):
        store.get(one.id)
    assert list(store.scan()) == [two]
    report = store.verify()
    assert (report.records, [Path(problem.file).name for problem in report.corrupt]) == (1, [f"{one.id}.json"])
    assert [Path(problem.file).name for problem in store.set_aside_corrupt()] == [f"{one.id}.json"]
    aside = sorted(path.name for path in (Path(store.location) / "corrupt").iterdir())
    assert aside == [f"records-{one.id}.json", f"records-{one.id}.json.reason.txt"]
    assert report.corrupt[0].code in (Path(store.location) / "corrupt" / aside[1]).read_text(encoding="utf-8")
    assert store.verify().corrupt == []
    assert store.add([one]).added == (one.id,)


def test_a_record_of_a_newer_version_is_left_in_peace(store):
    """It cannot be read, `verify` names it, and setting aside does not move it."""
    one = a_record(1)
    store.add([one])
    path = record_path(store, one.id)
    path.write_bytes(path.read_bytes().replace(b'{"schema":1,', b'{"schema":2,'))
    with pytest.raises(FormatVersionError):
        store.get(one.id)
    assert [problem.code for problem in store.verify().corrupt] == ["E_VERSION"]
    assert store.set_aside_corrupt() == []
    assert path.exists()


def test_a_damaged_status_takes_the_trust_away(store):
    """The record is out of use until set aside, and then quarantined, not back at its first trust."""
    one = a_record(1)
    store.add([one])
    store.set_status(one.id, trust=Trust.QUARANTINED)
    path = status_path(store, one.id)
    path.write_bytes(path.read_bytes().replace(b"quarantined", b"approved"))
    with pytest.raises(CorruptError, match="hash"):
        store.get(one.id)
    assert [problem.file for problem in store.set_aside_corrupt()] == [str(path)]
    assert store.get(one.id).trust is Trust.QUARANTINED
    assert store.verify().corrupt == []


def test_a_status_of_another_record_is_not_taken_for_its_own(store):
    """A status file copied to another name is corrupt."""
    one, two = a_record(1), a_record(2)
    store.add([one, two])
    store.set_status(one.id, trust=Trust.APPROVED)
    status_path(store, two.id).parent.mkdir(exist_ok=True)
    shutil.copy(status_path(store, one.id), status_path(store, two.id))
    with pytest.raises(CorruptError, match="id inside"):
        store.get(two.id)


def test_a_damaged_tombstone_still_holds(store):
    """The record stays out; the tombstone is written anew."""
    one = a_record(1)
    store.add([one])
    store.remove([one.id])
    path = Path(store.location) / "tombstones" / f"{one.id}.json"
    path.write_bytes(b"")
    assert store.add([one]).skipped == (one.id,)
    assert [problem.file for problem in store.verify().corrupt] == [str(path)]
    store.set_aside_corrupt()
    assert store.verify().corrupt == []
    assert store.add([one]).skipped == (one.id,)


def test_a_vanished_record_and_foreign_files_are_named(store):
    """A status without its record is named, so are strange JSON files; a desktop's droppings are not."""
    one = a_record(1)
    store.add([one])
    store.set_status(one.id, trust=Trust.VERIFIED)
    record_path(store, one.id).unlink()
    folder = record_path(store, one.id).parent
    wrong_shard = f"{'0' if one.id[0] != '0' else '1'}{one.id[1:]}.json"
    for name in ("copy of x.json", wrong_shard, ".DS_Store", "desktop.ini"):
        (folder / name).write_bytes(b"x")
    codes = sorted(problem.code for problem in store.verify().corrupt)
    assert codes == ["E_ORPHAN", "E_STRAY", "E_STRAY"]
    assert len(store.set_aside_corrupt()) == 3
    assert store.verify().corrupt == []
    assert sorted(path.name for path in folder.iterdir()) == [".DS_Store", "desktop.ini"]


def test_a_second_bad_file_does_not_replace_the_first(store):
    """Both are kept in `corrupt/`."""
    one = a_record(1)
    for _ in range(2):
        store.add([one])
        damage_empty(record_path(store, one.id))
        store.set_aside_corrupt()
    assert len(list((Path(store.location) / "corrupt").iterdir())) == 4


@posix_only
def test_links_in_place_of_folders_are_never_followed(store, tmp_path):
    """A linked shard is not read, written or removed through; a linked `records` is refused at opening."""
    one = a_record(1)
    store.add([one])
    shard, outside = record_path(store, one.id).parent, tmp_path / "outside"
    shard.rename(outside)
    shard.symlink_to(outside)
    before = tree(outside)
    with pytest.raises(CorruptError, match="link"):
        store.get(one.id)
    assert store.remove([one.id]) == store.ids() == []
    sibling = a_record(2).model_copy(update={"id": one.id[:2] + "0" * 30})
    with pytest.raises(StorageError):
        store.add([sibling])
    assert [problem.file for problem in store.verify().corrupt] == [str(shard)]
    assert tree(outside) == before
    records = shard.parent
    records.rename(tmp_path / "records")
    records.symlink_to(tmp_path / "records")
    with pytest.raises(RefusedError, match="link"):
        FileStore.open(store.location)


@posix_only
def test_files_and_folders_are_private(store):
    """Folders are 0700 and files 0600."""
    store.add([a_record(1)])
    modes = {path.is_dir(): path.stat().st_mode & 0o777 for path in Path(store.location).rglob("[.a-z0-9]*")}
    assert modes == {True: 0o700, False: 0o600}
    assert Path(store.location).stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_a_folder_without_write_permission_can_be_read(store):
    """Reading goes on; writing is a storage error."""
    store.add([a_record(1)])
    Path(store.location).chmod(0o500)
    reader = FileStore.open(store.location)
    assert len(list(reader.scan())) == 1
    with pytest.raises(StorageError):
        reader.add([a_record(2)])
    Path(store.location).chmod(0o700)


def test_folder_names_may_hold_any_characters(tmp_path):
    """Non-ASCII names, spaces and depth are no obstacle."""
    path = tmp_path / "Überblick № 7" / "经验" / "a b"
    store = FileStore.open(path)
    store.add([a_record(1)])
    assert FileStore.open(path, create=False).ids() == store.ids()


def test_the_store_works_under_windows_rules(tmp_path):
    """No hard links, no overwriting rename, and a target that is in use twice: every operation still succeeds."""
    disk = WindowsDisk()
    store = FileStore.open(tmp_path / "db", disk=disk)
    one = a_record(1)
    store.add([one])
    disk.busy = 2
    store.set_status(one.id, trust=Trust.VERIFIED)
    assert store.get(one.id).trust is Trust.VERIFIED
    assert store.remove([one.id]) == [one.id]
    assert store.add([one], revive=True).added == (one.id,)
    assert store.verify().corrupt == []
    assert list(leftovers(tmp_path)) == []
    assert 0 < disk.slept <= 1


def test_a_target_that_stays_in_use_is_given_up_within_a_second(tmp_path):
    """Ten tries, then a storage error; the old status stays."""
    disk = WindowsDisk()
    store = FileStore.open(tmp_path / "db", disk=disk)
    one = a_record(1)
    store.add([one])
    disk.busy = 1000
    with pytest.raises(StorageError, match="in use"):
        store.set_status(one.id, trust=Trust.VERIFIED)
    assert 1000 - disk.busy == 10
    assert disk.slept <= 1
    assert store.get(one.id).trust is Trust.OBSERVED
    assert list(leftovers(tmp_path)) == []


def test_open_store_picks_by_scheme(tmp_path):
    """A path and a file URL open the same folder; an unknown scheme is a usage error naming the known ones."""
    path = tmp_path / "my db"
    store = open_store(path)
    assert open_store(str(path)).store_id == store.store_id
    assert open_store(path.as_uri(), create=False).store_id == store.store_id
    with pytest.raises(UsageError, match=r"gopher://.*file://"):
        open_store("gopher://host/db")


def test_a_kept_record_is_as_its_files_are_and_the_callers_own(store, monkeypatch):
    """What was changed in one answer does not stand in the next one; what was changed on the disk does."""
    monkeypatch.setattr(layout, "_SETTLED_NS", 0)
    (id,) = store.add([a_record(1)]).added
    assert store.stamp(id) is not None
    kept = KeptRecords(store)
    first = kept.get(id)
    assert first == store.get(id)
    first.slots["input:9"] = "mine"
    for step in first.action.steps:
        step.parameters["mine"] = [1]
    assert kept.get(id) == store.get(id)
    assert kept.get(id).action.steps[0].parameters is not kept.get(id).action.steps[0].parameters
    store.set_status(id, trust=Trust.APPROVED)
    assert kept.get(id).trust is Trust.APPROVED
    store.remove([id])
    with pytest.raises(NotFoundError):
        kept.get(id)
