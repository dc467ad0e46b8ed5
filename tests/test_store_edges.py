"""Rare turns of the store: names that are taken, disks that cannot link, files that vanish while they are read."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import time
from pathlib import Path

import pytest

from tests.builders import a_record
from tests.disks import UnsyncedDisk, WindowsDisk, leftovers, tree
from ufo_experience.embed import CACHE_FILE
from ufo_experience.embed.cache import CachedEmbedder, EmbeddingCache
from ufo_experience.embed.hashing import HashingEmbedder
from ufo_experience.errors import CorruptError, DataError, LockedError, SchemaError, StorageError
from ufo_experience.store.files import (
    is_there,
    move_folder,
    publish_new,
    remove_quietly,
    remove_tree,
    replace_file,
    write_new,
    write_temp,
)
from ufo_experience.fileio.disk import Disk
from ufo_experience.store.files import HOLDER, WriterLock
from ufo_experience.store.files import UNSAFE, read_file, unreadable
from ufo_experience.ids import new_id
from ufo_experience.index.document import task_text
from ufo_experience.index.generations import Generations
from ufo_experience.maintenance.changes import purge
from ufo_experience.schema import Trust
from ufo_experience.store import postgres as postgres_store
from ufo_experience.store.base import without
from ufo_experience.store.exchange import MAX_IMPORT_CHARS, import_json
from ufo_experience.store.folder.check import Finding
from ufo_experience.store.folder.commit import OLD_S, SEVERAL, new_files, recover
from ufo_experience.store.folder.layout import Layout
from ufo_experience.store.folder.store import FileStore

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")


@pytest.fixture
def store(tmp_path) -> FileStore:
    """A store with one record."""
    made = FileStore.open(tmp_path / "db", disk=UnsyncedDisk())
    made.add([a_record(1)])
    return made


def layout_of(store: FileStore, disk: Disk | None = None) -> Layout:
    """The layout of a store, for the user who runs the tests."""
    root = Path(store.location)
    return Layout(root, disk or UnsyncedDisk(), root.stat().st_uid)


# ---- files that are whole or not there ----


@pytest.mark.parametrize("disk", [UnsyncedDisk(), WindowsDisk()], ids=["links", "renames"])
def test_a_taken_name_is_never_overwritten(tmp_path, disk):
    """Publishing says so and leaves no temp file; `write_new` makes an error of it."""
    target = tmp_path / "x"
    target.write_bytes(b"first")
    assert not publish_new(write_temp(target, [b"second"], disk), target, disk)
    with pytest.raises(StorageError, match="exists already"):
        write_new(target, b"third", disk)
    assert tree(tmp_path) == {"x": b"first"}
    write_new(tmp_path / "y", [b"a", b"b"], disk)
    assert (tmp_path / "y").read_bytes() == b"ab"


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK])
def test_where_links_are_refused_a_rename_publishes_without_overwriting(tmp_path, code):
    """Checked first; and a name that appears in between is not overwritten where renaming refuses."""

    class NoLinks(WindowsDisk):
        links = True

        def link(self, source: Path, target: Path) -> None:
            raise OSError(code, "no links here")

    disk, target = NoLinks(), tmp_path / "x"
    assert publish_new(write_temp(target, [b"first"], disk), target, disk)
    assert not publish_new(write_temp(target, [b"second"], disk), target, disk)
    assert tree(tmp_path) == {"x": b"first"}


def test_another_fault_of_linking_is_an_error(tmp_path):
    """A full disk is not taken for one without links."""

    class Full(UnsyncedDisk):
        def link(self, source: Path, target: Path) -> None:
            raise OSError(errno.ENOSPC, "no space")

    with pytest.raises(StorageError, match="no space"):
        publish_new(write_temp(tmp_path / "x", [b"1"], UnsyncedDisk()), tmp_path / "x", Full())


def test_a_name_that_appears_at_the_last_moment_is_left_alone(tmp_path):
    """Between the look and the rename, where renaming refuses a taken name."""

    class Raced(WindowsDisk):
        def rename(self, source: Path, target: Path) -> None:
            target.write_bytes(b"theirs")
            super().rename(source, target)

    disk = Raced()
    assert not publish_new(write_temp(tmp_path / "x", [b"ours"], disk), tmp_path / "x", disk)
    assert tree(tmp_path) == {"x": b"theirs"}


def test_a_folder_is_removed_with_all_that_is_in_it_and_links_are_not_followed(tmp_path):
    """Folders in folders; what a link leads to stays."""
    kept = tmp_path / "kept.txt"
    kept.write_text("x", encoding="utf-8")
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "b" / "f").write_text("1", encoding="utf-8")
    if os.name != "nt":
        (tmp_path / "a" / "link").symlink_to(tmp_path)
    remove_tree(tmp_path / "a", Disk())
    assert tree(tmp_path) == {"kept.txt": b"x"}
    assert not (tmp_path / "a").exists()


def test_a_failed_write_leaves_no_temp_file_and_the_old_content(tmp_path):
    """Whether the bytes or the name were refused."""

    class NoReplace(UnsyncedDisk):
        def replace(self, source: Path, target: Path) -> None:
            raise OSError(errno.EACCES, "no")

    class NoWrite(UnsyncedDisk):
        def write(self, handle: int, data: bytes | memoryview) -> int:
            raise OSError(errno.ENOSPC, "full")

    (tmp_path / "x").write_bytes(b"old")
    for disk in (NoReplace(), NoWrite()):
        with pytest.raises(StorageError, match="x"):
            replace_file(tmp_path / "x", b"new", disk)
    assert tree(tmp_path) == {"x": b"old"}


@pytest.mark.parametrize("answer", [0, -1])
def test_a_disk_that_takes_no_bytes_is_an_error_not_an_endless_loop(tmp_path, answer):
    """Zero bytes written, again and again, is a fault."""

    class Deaf(UnsyncedDisk):
        def write(self, handle: int, data: bytes | memoryview) -> int:
            return answer

    with pytest.raises(StorageError, match="took no bytes"):
        write_new(tmp_path / "x", b"1", Deaf())


def test_a_refused_move_is_tried_ten_times_only_under_windows(tmp_path):
    """Elsewhere a refusal is a refusal."""

    class Busy(UnsyncedDisk):
        calls, slept = 0, 0.0

        def rename(self, source: Path, target: Path) -> None:
            self.calls += 1
            raise PermissionError(13, "in use")

        def sleep(self, seconds: float) -> None:
            self.slept += seconds

    for windows, calls in ((True, 10), (False, 1)):
        disk = Busy()
        disk.windows = windows
        with pytest.raises(StorageError, match="in use"):
            move_folder(tmp_path / "a", tmp_path / "b", disk)
        assert disk.calls == calls
        assert disk.slept == pytest.approx(0.1 * (calls - 1))


def test_making_a_folder_says_whether_it_was_missing(tmp_path):
    """Only then its name must be made durable; a file or a link in its place is an error."""
    assert Disk().mkdir(tmp_path / "a")
    assert not Disk().mkdir(tmp_path / "a")
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(FileExistsError):
        Disk().mkdir(tmp_path / "f")


def test_the_disk_waits_and_cleaning_up_is_silent(tmp_path):
    """`sleep` takes seconds; removing what is not there is no error; a broken link is there."""
    Disk().sleep(0.001)
    remove_quietly(tmp_path / "nothing", Disk())
    if os.name != "nt":
        (tmp_path / "link").symlink_to(tmp_path / "nothing")
        assert is_there(tmp_path / "link", Disk())


# ---- commits ----


def commit(folder: Path, count: int, data: bytes) -> None:
    """Publish files named 0, 1, … together."""
    with new_files(UnsyncedDisk()) as files:
        for number in range(count):
            files.stage(folder / str(number), data)


def test_a_commit_that_meets_a_taken_name_is_taken_back(tmp_path):
    """All of it, whether few files were written or many; what stood there before stays."""
    for count in (2, SEVERAL + 3):
        folder = tmp_path / str(count)
        folder.mkdir()
        (folder / "1").write_bytes(b"theirs")
        with pytest.raises(StorageError, match="appeared"):
            commit(folder, count, b"ours")
        assert tree(folder) == {"1": b"theirs"}


def test_a_commit_of_many_files_is_whole(tmp_path):
    """Side by side as one after the other."""
    commit(tmp_path / "s", 3 * SEVERAL, b"ours")
    assert tree(tmp_path / "s") == {str(n): b"ours" for n in range(3 * SEVERAL)}


def test_the_next_writer_sweeps_what_a_dead_one_left(store):
    """Temp files at once, those of the view in the root only when they are old."""
    root = Path(store.location)
    shard = next((root / "records").iterdir())
    (shard / ".x.json.0.tmp").write_bytes(b"1")
    for name, age in ((".old.tmp", OLD_S + 60), (".new.tmp", OLD_S - 60)):
        (root / name).write_bytes(b"1")
        os.utime(root / name, (time.time() - age, time.time() - age))
    recover(layout_of(store))
    assert [path.name for path in leftovers(root)] == [".new.tmp"]


def test_sweeping_goes_on_when_folders_or_files_are_gone(store):
    """Another process may have swept too; a folder that is missing is no fault."""

    class Vanishing(UnsyncedDisk):
        def lstat(self, path: Path) -> os.stat_result:
            if path.name == ".gone.tmp":
                raise FileNotFoundError(2, "gone", str(path))
            return super().lstat(path)

        def unlink(self, path: Path) -> None:
            if path.name == ".swept.tmp":
                super().unlink(path)
            super().unlink(path)

    root = Path(store.location)
    (root / ".gone.tmp").write_bytes(b"1")
    (next((root / "records").iterdir()) / ".swept.tmp").write_bytes(b"1")
    for path in (root / "status", root / "tombstones"):
        path.rmdir()
    recover(layout_of(store, Vanishing()))
    assert [path.name for path in leftovers(root)] == [".gone.tmp"]
    assert store.get(a_record(1).id) == a_record(1)


def test_what_was_skipped_is_named_once_for_each_mention():
    """Of two mentions of a new id the second was skipped."""
    assert without(["a", "b", "a", "c"], ["a", "c"]) == ["b", "a"]
    assert without([], []) == []
    assert without(["a"], []) == ["a"]


# ---- reading and checking ----


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [(errno.ENOENT, CorruptError, "no such file"), (errno.ELOOP, CorruptError, "a link"),
     (errno.EACCES, CorruptError, "cannot be read"), (errno.EIO, CorruptError, "cannot be read"),
     (errno.EMFILE, StorageError, "x"), (errno.ENOMEM, StorageError, "x")],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_told_from_a_system_that_cannot_read(code, kind, said):
    """Only the first says something about the file."""
    assert isinstance(unreadable(OSError(code, os.strerror(code)), Path("x")), kind)
    assert said in str(unreadable(OSError(code, os.strerror(code)), Path("x")))


@posix_only
def test_a_link_is_refused_also_where_opening_would_follow_it(tmp_path, monkeypatch):
    """As on Windows, which has no way to open without following."""
    monkeypatch.delattr(os, "O_NOFOLLOW")
    (tmp_path / "real").write_bytes(b"1")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(CorruptError, match="a link") as caught:
        read_file(tmp_path / "link", Disk(), owner=os.getuid())
    assert caught.value.code == UNSAFE
    assert read_file(tmp_path / "real", Disk(), owner=os.getuid()) == b"1"


@pytest.mark.parametrize("size", [9, 10, 11, 50])
def test_a_file_is_read_to_one_byte_over_the_limit(tmp_path, size):
    """So that too long is told from just long enough, and a huge file is never read whole."""
    (tmp_path / "x").write_bytes(b"1" * size)
    assert read_file(tmp_path / "x", Disk(), owner=(tmp_path / "x").stat().st_uid, limit=10) == b"1" * min(size, 11)


def test_a_whole_file_has_no_problem():
    """A finding without an error says so."""
    assert Finding(Path("x"), "records").problem().code == "OK"


def test_a_record_removed_while_it_is_looked_at_is_no_damage(store):
    """A reader has no lock: a file that goes while its tombstone comes was removed, not lost."""

    class Removing(UnsyncedDisk):
        def open(self, path: Path) -> int:
            if path.parent.parent.name == "records":
                FileStore.open(store.location, disk=UnsyncedDisk()).remove([path.stem])
            return super().open(path)

    other = FileStore.open(store.location, disk=Removing())
    assert other.verify().corrupt == []


def test_a_file_that_vanishes_is_named_and_nothing_is_set_aside(store):
    """Without a tombstone it was lost: `verify` says so; there is nothing to move."""

    class Losing(UnsyncedDisk):
        def open(self, path: Path) -> int:
            if path.parent.parent.name == "records":
                path.unlink(missing_ok=True)
            return super().open(path)

    other = FileStore.open(store.location, disk=Losing())
    assert [problem.code for problem in other.verify().corrupt] == ["E_UNREADABLE"]


def test_a_damaged_store_file_is_named_but_stays(store):
    """Without it there is no store: a person must look at it."""
    path = Path(store.location) / "store.json"
    path.write_bytes(path.read_bytes()[:-3])
    assert [Path(problem.file).name for problem in store.verify().corrupt] == ["store.json"]
    assert store.set_aside_corrupt() == []
    assert path.exists()


def test_a_tombstone_that_cannot_be_read_is_written_anew_without_its_bytes(store):
    """A folder in its place was never ours: the deletion still holds."""
    store.remove([a_record(1).id])
    path = Path(store.location) / "tombstones" / f"{a_record(1).id}.json"
    path.unlink()
    if os.name == "nt":
        pytest.skip("needs links")
    path.symlink_to(path.with_name("nothing"))
    assert [problem.code for problem in store.set_aside_corrupt()] == [UNSAFE]
    assert not path.is_symlink()
    assert store.verify().corrupt == []
    assert store.add([a_record(1)]).added == ()


def test_a_store_that_disappears_as_it_is_made_is_an_error(tmp_path):
    """Somebody else empties the folder."""

    class Emptied(UnsyncedDisk):
        def fsync_dir(self, path: Path) -> None:
            (path / "store.json").unlink(missing_ok=True)

    with pytest.raises(CorruptError, match="disappeared"):
        FileStore.open(tmp_path / "db", disk=Emptied())


def test_an_import_longer_than_the_limit_is_refused(store):
    """Before it is parsed."""
    with pytest.raises(SchemaError, match="larger than"):
        import_json(store, " " * (MAX_IMPORT_CHARS + 1))


def test_a_lock_without_a_note_still_holds(tmp_path):
    """The note is a courtesy: where it cannot be written the writer takes it for an unclean end, and goes on."""

    class NoNotes(UnsyncedDisk):
        def create(self, path: Path) -> int:
            raise OSError(errno.EACCES, "no")

    with WriterLock(tmp_path, 1, NoNotes()).hold() as left_behind:
        assert left_behind
    with WriterLock(tmp_path, 1, UnsyncedDisk()).hold() as left_behind:
        assert not left_behind


@pytest.mark.parametrize(
    "note", [b"", b"junk", b"[]", b"\xff", b'{"pid": "x", "host": "h"}', b'{"pid": 5}', b'{"pid": null, "host": "h"}']
)
def test_a_lock_whose_note_says_nothing_is_held_by_another_process(tmp_path, note):
    """Who waits is told as much as is known."""
    with WriterLock(tmp_path, 1, UnsyncedDisk()).hold():
        (tmp_path / HOLDER).write_bytes(note)
        with pytest.raises(LockedError, match="by another process"), WriterLock(tmp_path, 0, UnsyncedDisk()).hold():
            raise AssertionError("two hold it")
        (tmp_path / HOLDER).write_bytes(b'{"pid": 5, "host": "' + b"h" * 90 + b'"}')
        with pytest.raises(LockedError, match=f"by process 5 on {'h' * 64};"), WriterLock(tmp_path, 0, Disk()).hold():
            raise AssertionError("two hold it")


# ---- purge and cache ----


def test_a_cache_that_cannot_be_purged_is_named(store, tmp_path):
    """It may still hold vectors of the source: nobody is told that all is gone. Caches set aside before go whole."""
    folder = Path(store.location)
    with EmbeddingCache(folder / CACHE_FILE) as cache:
        assert cache.warning is None
    (folder / f"{CACHE_FILE}.corrupt-1").write_bytes(b"old vectors")
    holder = sqlite3.connect(folder / CACHE_FILE)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match="not purged"):
        purge(store, Generations(folder / "index", UnsyncedDisk()), "s1")
    holder.close()
    assert not (folder / f"{CACHE_FILE}.corrupt-1").exists()
    assert store.ids()
    assert len(purge(store, Generations(folder / "index", UnsyncedDisk()), "s1")) == 1


def test_a_damaged_copy_that_holds_a_text_of_the_source_goes(store):
    """As it stands in a record, with its escapes, wherever in a text; copies about others stay."""
    one = a_record(1, state={"task": 'say "hi" \\ now', "request": 'say "hi" \\ now'})
    other = FileStore.open(Path(store.location).parent / "db2", disk=UnsyncedDisk())
    other.add([one])
    corrupt = Path(other.location) / "corrupt"
    corrupt.mkdir()
    (corrupt / "a").write_bytes(b'{"x":"well, say \\"hi\\" \\\\ now or later"')
    (corrupt / "b").write_bytes(b'well, say "hi" \\ now or later')
    (corrupt / "c").write_bytes(b"say nothing")
    purge(other, Generations(Path(other.location) / "index", UnsyncedDisk()), "s1")
    assert [path.name for path in corrupt.iterdir()] == ["c"]


def test_a_purge_of_an_unknown_source_deletes_no_damaged_copy(store):
    """A source is a name, not a piece of any text; a copy that names it, or a file below it, goes."""
    corrupt = Path(store.location) / "corrupt"
    corrupt.mkdir()
    (corrupt / "x").write_bytes(b'{"source":"logs/s1/response.log"')
    (corrupt / "y").write_bytes(b'{"source":"data/log","x":"logs"')
    generations = Generations(Path(store.location) / "index", UnsyncedDisk())
    for unknown in ("a", "log", "response.log"):
        assert purge(store, generations, unknown) == []
    assert len(list(corrupt.iterdir())) == 2
    purge(store, generations, "logs/s1")
    assert [path.name for path in corrupt.iterdir()] == ["y"]


class Elsewhere:
    """A store that is no folder: what it does is done by one that is."""

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


def test_a_purge_of_a_store_that_is_no_folder_touches_no_files_of_a_folder(store):
    """View and temp files of a folder are not its business."""
    folder = Path(store.location)
    for name in ("experience.yaml", ".left.tmp"):
        (folder / name).write_bytes(b"not mine")
    assert [one.id for one in purge(Elsewhere(store), Generations(folder / "index"), "s1")] == [a_record(1).id]
    assert store.ids() == []
    assert [(folder / name).read_bytes() for name in ("experience.yaml", ".left.tmp")] == [b"not mine"] * 2


def test_a_purge_of_any_store_takes_its_vectors_out_of_the_cache_of_this_machine(store):
    """A vector is as sensitive as its text, wherever the records are kept."""
    folder = Path(store.location)
    store.add([a_record(2, state={"task": "close the window"})])
    cached = CachedEmbedder(HashingEmbedder(), EmbeddingCache(folder / CACHE_FILE))
    cached.embed([task_text(one) for one in store.scan()])
    cached.close()
    purge(Elsewhere(store), Generations(folder / "index"), "s1")
    with EmbeddingCache(folder / CACHE_FILE) as cache:
        assert len(cache) == len(store.ids()) == 1


def test_the_cache_lies_where_the_system_keeps_such_things(monkeypatch, tmp_path):
    """The variable counts, else each system's own folder."""
    monkeypatch.setenv(postgres_store.VARIABLE, str(tmp_path))
    assert postgres_store.cache_place() == tmp_path
    monkeypatch.delenv(postgres_store.VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    expected = {
        "linux": tmp_path / ".cache" / "ufo-experience",
        "darwin": tmp_path / "Library" / "Caches" / "ufo-experience",
        "win32": tmp_path / "AppData" / "Local" / "ufo-experience" / "cache",
    }
    for system, folder in expected.items():
        monkeypatch.setattr("sys.platform", system)
        assert postgres_store.cache_place() == folder
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "L"))
    assert postgres_store.cache_place() == tmp_path / "L" / "ufo-experience" / "cache"
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "X"))
    assert postgres_store.cache_place() == tmp_path / "X" / "ufo-experience"


def test_a_record_that_cannot_be_read_is_left_out_and_logged(store, caplog):
    """And one that is not there is just not there."""
    path = next((Path(store.location) / "records").rglob("*.json"))
    path.write_bytes(b"{}")
    with caplog.at_level(logging.WARNING):
        assert list(store.scan([a_record(1).id, new_id(), a_record(2).id])) == []
    assert len(caplog.records) == 1
    with pytest.raises(DataError):
        store.set_status(a_record(2).id, trust=Trust.APPROVED)
