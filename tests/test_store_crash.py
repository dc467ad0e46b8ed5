"""What a crash, a failing call or another writer may leave: every acknowledged change, and files that are whole."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.builders import a_record, open_memory
from tests.disks import CountingDisk, Disk, DyingDisk, FailingDisk, Killed, UnsyncedDisk, leftovers
from ufo_experience.errors import ExperienceError, LockedError, StorageError
from ufo_experience.schema import Trust, Usage
from ufo_experience.store.exchange import write_view
from ufo_experience.store.folder.store import FileStore

CODES = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EMFILE)
OLD, GONE, DEAD, FIRST, SECOND = (a_record(number) for number in range(5))
USED = FIRST.model_copy(update={"usage": Usage(injected=1)})


@dataclass
class Judge:
    """What the caller was told, in order; the state of the store must agree."""

    there: set[str] = field(default_factory=lambda: {OLD.id, GONE.id})
    gone: set[str] = field(default_factory=lambda: {DEAD.id})
    open: set[str] = field(default_factory=set)
    trust: Trust = Trust.OBSERVED

    def steps(self, store: FileStore) -> Iterator[Callable[[], None]]:
        """Every kind of write, each followed by its acknowledgement."""
        yield lambda: self._run({USED.id, SECOND.id}, lambda: store.add([USED, SECOND]), there=True)
        yield lambda: self._trust(store)
        yield lambda: self._run({GONE.id}, lambda: store.remove([GONE.id]), there=False)
        yield lambda: self._run({DEAD.id}, lambda: store.add([DEAD], revive=True), there=True)

    def _run(self, ids: set[str], act: Callable[[], object], *, there: bool) -> None:
        """Between call and acknowledgement either state is right."""
        self.open |= ids
        act()
        self.open -= ids
        self.there, self.gone = (self.there | ids, self.gone - ids) if there else (self.there - ids, self.gone | ids)

    def _trust(self, store: FileStore) -> None:
        store.set_status(OLD.id, trust=Trust.APPROVED)
        self.trust = Trust.APPROVED

    def check(self, folder: Path) -> None:
        """Compare with what a new process finds, before and after the next write tidies up."""
        store = FileStore.open(folder, create=False, disk=UnsyncedDisk())
        for _ in range(2):
            assert store.verify().corrupt == []
            found = set(store.ids())
            assert self.there - self.open <= found
            assert not found & (self.gone - self.open)
            assert found == {one.id for one in store.scan()}
            assert store.get(OLD.id).trust.rank >= self.trust.rank
            if USED.id in self.there - self.open:
                assert store.get(USED.id).usage == USED.usage
            store.add([a_record(99)])
            assert list(leftovers(folder)) == []
            self.there |= {a_record(99).id}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    """A store with two records and a removed one."""
    folder = tmp_path_factory.mktemp("prepared") / "db"
    store = FileStore.open(folder, disk=UnsyncedDisk())
    store.add([OLD, GONE, DEAD])
    store.remove([DEAD.id])
    return folder


@pytest.fixture(scope="module")
def total(prepared, tmp_path_factory) -> int:
    """How many calls opening and all the steps make."""
    disk = CountingDisk()
    run(shutil.copytree(prepared, tmp_path_factory.mktemp("total") / "db"), disk)
    assert {"link", "fsync", "fsync_dir", "replace", "unlink", "mkdir"} <= set(disk.names)
    return disk.calls


def run(folder: Path, disk: Disk) -> Judge:
    """All steps; one that fails with a typed error is left behind, and a new process goes on with the next."""
    judge = Judge()
    count = len(list(judge.steps(FileStore.open(folder, disk=UnsyncedDisk()))))
    for number in range(count):
        with suppress(ExperienceError):
            store = FileStore.open(folder, create=False, disk=disk)
            list(judge.steps(store))[number]()
    return judge


EVERY = [5, pytest.param(1, marks=pytest.mark.slow)]  # the default suite disturbs every fifth call


def each_call(total: int, every: int = 1) -> range:
    """Numbers of calls, from 1, and the last one always."""
    return range(total % every or every, total + 1, every)


@pytest.mark.parametrize("every", EVERY)
def test_dying_after_any_call_loses_nothing_acknowledged(every, prepared, total, tmp_path):
    """The process stops after call 1, 2, …: what was acknowledged is there, every file can be read."""
    for last in each_call(total, every):
        folder = shutil.copytree(prepared, tmp_path / str(last))
        judge = Judge()
        disk = DyingDisk(last)
        with suppress(Killed):
            store = FileStore.open(folder, create=False, disk=disk)
            for step in judge.steps(store):
                step()
        judge.check(folder)


@pytest.mark.parametrize("every", EVERY)
def test_any_call_failing_once_gives_a_typed_error_and_the_old_or_new_state(every, prepared, total, tmp_path):
    """Call 1, 2, … fails: only errors of ours leave, nothing acknowledged is lost, later writes work."""
    for bad in each_call(total, every):
        folder = shutil.copytree(prepared, tmp_path / str(bad))
        run(folder, FailingDisk(bad, CODES[bad % len(CODES)])).check(folder)


def test_dying_while_the_store_is_made_leaves_none_or_a_whole_one(tmp_path):
    """Opened again after a death at any call, the store is made or used."""
    disk = CountingDisk()
    FileStore.open(tmp_path / "whole", disk=disk)
    for last in each_call(disk.calls):
        with suppress(Killed):
            FileStore.open(tmp_path / str(last), disk=DyingDisk(last))
        store = FileStore.open(tmp_path / str(last), disk=UnsyncedDisk())
        store.add([OLD])
        assert store.verify().corrupt == []


def test_nothing_is_acknowledged_before_bytes_and_names_are_synced(prepared, tmp_path):
    """In one add: write, fsync, link, fsync of the folder, in this order, then the new mtimes."""
    disk = CountingDisk()
    store = FileStore.open(shutil.copytree(prepared, tmp_path / "db"), disk=disk)
    disk.names.clear()
    store.add([FIRST])
    order = [name for name in disk.names if name in ("link", "fsync", "fsync_dir", "utime")]
    assert order[-5:] == ["fsync", "link", "fsync_dir", "utime", "utime"]


def test_tombstones_are_durable_before_records_go(prepared, tmp_path):
    """In one removal: sync of the tombstones, unlinking of the record, sync of its folder."""

    class Log(UnsyncedDisk):
        seen: list[str]

        def fsync_dir(self, path: Path) -> None:
            self.seen.append(f"sync {path.name}")

        def unlink(self, path: Path) -> None:
            super().unlink(path)
            self.seen.append(f"unlink {path.parent.parent.name}")

    disk = Log()
    disk.seen = []
    FileStore.open(shutil.copytree(prepared, tmp_path / "db"), disk=disk).remove([OLD.id])
    steps = [disk.seen.index(step) for step in ("sync tombstones", "unlink records", f"sync {OLD.id[:2]}")]
    assert steps == sorted(steps)


def test_a_removal_that_was_cut_short_is_ended_by_the_next_writer(prepared, tmp_path):
    """The record is hidden at once, and its file gone after the next write of anything."""
    folder = shutil.copytree(prepared, tmp_path / "db")
    path = folder / "records" / OLD.id[:2] / f"{OLD.id}.json"
    data = path.read_bytes()
    FileStore.open(folder).remove([OLD.id])
    path.write_bytes(data)
    path.chmod(0o600)
    (folder / ".lock.holder").write_text("{}", encoding="utf-8")
    store = FileStore.open(folder)
    assert OLD.id not in store.ids()
    assert path.exists()
    store.add([FIRST])
    assert not path.exists()


@pytest.mark.parametrize("name", ["fsync", "fsync_dir"])
def test_after_a_failed_fsync_the_store_writes_no_more(prepared, tmp_path, name):
    """No second try: temp files and new names are taken back, the object is closed for writing, a new one works."""

    class Bad(UnsyncedDisk):
        tries = 0

    def fail(self, *_):
        self.tries += 1
        raise OSError(errno.EIO, "no")

    disk = type("Failing", (Bad,), {name: fail})()
    folder = shutil.copytree(prepared, tmp_path / "db")
    store = FileStore.open(folder, disk=disk)
    (folder / "records" / FIRST.id[:2]).mkdir()
    with pytest.raises(StorageError) as caught:
        store.add([FIRST])
    assert (caught.value.code, disk.tries) == ("E_FSYNC", 1)
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(StorageError, match="open the store again"):
        store.add([SECOND])
    assert disk.tries == 1
    assert list(leftovers(folder)) == []
    assert FileStore.open(folder).add([FIRST]).added == (FIRST.id,)


def test_short_writes_are_continued_and_a_disk_that_takes_nothing_is_an_error(prepared, tmp_path):
    """Seven bytes at a time still make a whole record; zero bytes at a time are a storage error."""

    class Slow(UnsyncedDisk):
        size = 7

        def write(self, handle: int, data: bytes | memoryview) -> int:
            return super().write(handle, data[: self.size]) if self.size else 0

    disk = Slow()
    store = FileStore.open(shutil.copytree(prepared, tmp_path / "db"), disk=disk)
    store.add([FIRST])
    assert store.get(FIRST.id) == FIRST
    disk.size = 0
    with pytest.raises(StorageError):
        store.add([SECOND])
    assert store.ids() == sorted([OLD.id, GONE.id, FIRST.id])


def test_a_file_system_without_hard_links_is_written_all_the_same(prepared, tmp_path):
    """When linking is refused, the record is published by renaming."""

    class NoLinks(UnsyncedDisk):
        def link(self, source: Path, target: Path) -> None:
            raise OSError(errno.EPERM, "no hard links")

    store = FileStore.open(shutil.copytree(prepared, tmp_path / "db"), disk=NoLinks())
    assert store.add([FIRST]).added == (FIRST.id,)
    assert store.get(FIRST.id) == FIRST
    assert list(leftovers(tmp_path)) == []


def test_the_view_is_the_old_one_or_the_new_one(prepared, tmp_path):
    """Dying at any call of writing `experience.yaml` leaves one of the two, whole."""
    store = FileStore.open(shutil.copytree(prepared, tmp_path / "db"), disk=UnsyncedDisk())
    path = tmp_path / "experience.yaml"
    write_view(store, path, UnsyncedDisk())
    old = path.read_bytes()
    store.add([FIRST])
    disk = CountingDisk()
    write_view(store, tmp_path / "new.yaml", disk)
    new = (tmp_path / "new.yaml").read_bytes()
    assert old != new
    for last in each_call(disk.calls):
        path.write_bytes(old)
        with suppress(Killed):
            write_view(store, path, DyingDisk(last))
        assert path.read_bytes() in (old, new)


WRITER = """
import sys
from datetime import datetime, timezone
from ufo_experience.schema import Experience, Outcome, State
from ufo_experience.store.folder.store import FileStore

folder, writer = sys.argv[1], int(sys.argv[2])
store = FileStore.open(folder, lock_timeout=60)
for number in range(25):
    one = Experience(id=f"{writer:016x}{number:016x}", state=State(task=f"task {number}"),
                     outcome=Outcome(success=True), created_at=datetime.now(timezone.utc))
    store.add([one])
    store.update_usage("f" * 32, lambda usage: usage.model_copy(update={"injected": usage.injected + 1}))
    print(one.id, flush=True)
"""


def test_four_processes_writing_at_once_lose_nothing(tmp_path):
    """Every record a writer was told of is there, and every count of usage."""
    store = FileStore.open(tmp_path / "db")
    store.add([OLD.model_copy(update={"id": "f" * 32})])
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, store.location, str(number)], stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    told = [id for writer in writers for id in writer.communicate(timeout=60)[0].split()]
    assert [writer.returncode for writer in writers] == [0, 0, 0, 0]
    assert len(told) == 100
    assert set(told) | {"f" * 32} == set(store.ids())
    assert store.get("f" * 32).usage.injected == 100
    assert store.verify().corrupt == []
    assert list(leftovers(tmp_path)) == []


HOLDER = """
import sys
from datetime import datetime, timezone
from ufo_experience.schema import Experience, Outcome, State
from ufo_experience.store.files import Disk
from ufo_experience.store.folder.store import FileStore

class Waiting(Disk):
    def fsync(self, handle):
        print("holding", flush=True)
        sys.stdin.read()

now = datetime.now(timezone.utc)
one = Experience(id="e" * 32, state=State(task="t"), outcome=Outcome(success=True), created_at=now)
FileStore.open(sys.argv[1], disk=Waiting()).add([one])
"""


def test_a_held_lock_is_named_and_a_killed_holder_frees_it(tmp_path):
    """Another writer gets `LockedError` (exit code 75) with the holder's pid; after its death the store is tidy."""
    store = FileStore.open(tmp_path / "db", lock_timeout=0.05)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, store.location], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holding\n"
        with pytest.raises(LockedError, match=f"process {holder.pid} on ") as caught:
            store.add([FIRST])
        assert caught.value.exit_code == 75
        assert list(store.scan()) == []
        assert len(list(leftovers(tmp_path))) == 1
        holder.kill()
    assert store.add([FIRST]).added == (FIRST.id,)
    assert list(leftovers(tmp_path)) == []


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    """A link planted as lock or note is not written through."""
    store = FileStore.open(tmp_path / "db")
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    note = Path(store.location) / ".lock.holder"
    note.symlink_to(victim)
    store.add([FIRST])
    (Path(store.location) / ".lock").unlink()
    (Path(store.location) / ".lock").symlink_to(victim)
    with pytest.raises(StorageError):
        store.add([SECOND])
    assert victim.read_text(encoding="utf-8") == "precious"


def test_a_removal_cut_short_is_seen_in_a_store_that_was_still_for_long(tmp_path):
    """After any call of it, by the next reader: the folders are older than what an index takes for young."""
    one, other = a_record(7), a_record(8)
    still = tmp_path / "still"
    store = FileStore.open(still, disk=UnsyncedDisk())
    store.add([one, other])
    for folder in (still / "records").iterdir():
        os.utime(folder, ns=(10**18, 10**18))
    with open_memory(still) as memory:
        memory.index()
    disk = CountingDisk()
    FileStore.open(shutil.copytree(still, tmp_path / "whole"), disk=disk).remove([one.id])
    for last in each_call(disk.calls):
        folder = shutil.copytree(still, tmp_path / str(last))
        with suppress(Killed):
            FileStore.open(folder, create=False, disk=DyingDisk(last)).remove([one.id])
        with open_memory(folder) as memory:
            assert set(memory.live.snapshot().catalog.ids()) == set(memory.store.ids()), last
