"""Writing under the lock: many new files as one commit, and tidying up after a writer that died."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from ufo_experience.errors import LockedError, StorageError
from ufo_experience.fileio.atomic import (
    Disk,
    is_temp,
    make_folders,
    publish_new,
    remove_quietly,
    storage_errors,
    sync_folder,
    write_temp,
)
from ufo_experience.fileio.lock import WriterLock
from ufo_experience.store.folder.layout import (
    COPIES_LOCK,
    CORRUPT,
    RECORDS,
    REMOVED,
    STATUS,
    TOMBSTONES,
    VIEW,
    Layout,
)

SEVERAL = 8  # files from which their bytes are made durable side by side
_THREADS = 8
OLD_S = 3600.0  # a temp file of this age has no writer
_T = TypeVar("_T")


class NewFiles:
    """New files that become durable together: all bytes first, then all names, then one sync per folder.

    What must not be there without other files is staged after those were published; `undo` takes back all of them.

    A disk commits what several threads wait for in one go: many files side by side take a quarter of the time.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._staged: list[tuple[Path, bytes]] = []
        self._written: dict[Path, Path] = {}
        self._named: list[Path] = []

    def stage(self, target: Path, data: bytes) -> None:
        """Take in a file that is to appear at `target`."""
        self._staged.append((target, data))

    def publish(self) -> None:
        """Write every staged file beside its place, then give all of them their names. Raises `StorageError`."""
        staged, self._staged = self._staged, []
        folders = sorted({target.parent for target, _ in staged})
        make_folders(folders, self._disk)
        _for_each(self._write, staged)
        for target, _ in staged:
            self._named.append(target)  # before the call: it may fail after the name was given
            if not publish_new(self._written[target], target, self._disk):
                self._named.pop()
                raise StorageError(f"{target}: appeared while this process held the lock")
        _for_each(lambda folder: sync_folder(folder, self._disk), folders)

    def undo(self) -> None:
        """Take back what was not committed, as far as the disk lets us."""
        for path in [*reversed(self._named), *self._written.values()]:
            remove_quietly(path, self._disk)

    def _write(self, file: tuple[Path, bytes]) -> None:
        target, data = file
        self._written[target] = write_temp(target, [data], self._disk)


def _for_each(act: Callable[[_T], None], items: Sequence[_T]) -> None:
    """Do something with every item, side by side when there are several; the first error is raised when all ended."""
    if len(items) < SEVERAL:
        for item in items:
            act(item)
        return
    from concurrent.futures import ThreadPoolExecutor

    def act_on(some: Sequence[_T]) -> None:
        for item in some:
            act(item)

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="ufo-experience-commit") as threads:
        waiting = [threads.submit(act_on, items[first::_THREADS]) for first in range(_THREADS)]
    for one in waiting:
        one.result()


@contextmanager
def new_files(disk: Disk) -> Iterator[NewFiles]:
    """Stage files inside; they are published at the end, or all taken back on any failure."""
    files = NewFiles(disk)
    done = False
    try:
        yield files
        files.publish()
        done = True
    finally:
        if not done:
            files.undo()


def remove_file(path: Path, layout: Layout) -> None:
    """Remove a file if it is there; the caller syncs the folder. Raises `StorageError`."""
    with storage_errors(path):
        try:
            layout.disk.unlink(path)
        except FileNotFoundError:
            return


def recover(layout: Layout) -> None:
    """Finish what a dead writer began: sweep its temp files, end its removals, make its names durable.

    Only the holder of the lock may call this.
    """
    for folder in (*layout.folders(), layout.root / CORRUPT, layout.root):
        for name in layout.names(folder):
            if is_temp(name) and (folder != layout.root or _is_old(folder / name, layout)):
                remove_file(folder / name, layout)
    for id in layout.ids_in(layout.root / TOMBSTONES):
        remove_file(layout.record(id), layout)
        remove_file(layout.status(id), layout)
    for folder in layout.folders():
        if layout.is_folder(folder):
            sync_folder(folder, layout.disk)
    for kind in (RECORDS, STATUS):
        if layout.is_folder(layout.root / kind):
            sync_folder(layout.root / kind, layout.disk)
    layout.mark_changed(folder for folder in layout.folders() if layout.is_folder(folder))


@contextmanager
def writing_copies(folder: Path, timeout: float, disk: Disk) -> Iterator[None]:
    """Hold the lock of what is made of the records: the view, and what `remove` keeps. One process at a time has it.

    Temp files of one that died are swept first. Raises `LockedError`, `StorageError`.
    """
    with WriterLock(folder, timeout, disk, COPIES_LOCK).hold():
        for place, beginning in ((folder, f".{VIEW}."), (folder / REMOVED, ".")):
            with storage_errors(place):
                for name in disk.listdir(place) if place.is_dir() and not place.is_symlink() else ():
                    if is_temp(name) and name.startswith(beginning):
                        disk.unlink(place / name)
        yield


def sweep_copies(layout: Layout) -> None:
    """Tidy up after a process that died while it wrote such a copy: its note is there, and nobody holds the lock."""
    if layout.there(layout.root / f"{COPIES_LOCK}.holder"):
        with suppress(LockedError), writing_copies(layout.root, 0, layout.disk):
            pass


def _is_old(path: Path, layout: Layout) -> bool:
    """True for a file nobody can be writing any more: the view in the root is written without the lock."""
    with storage_errors(path):
        try:
            return time.time() - layout.disk.lstat(path).st_mtime > OLD_S
        except FileNotFoundError:
            return False
