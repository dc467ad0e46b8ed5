"""Writing under the lock: many new files as one commit, and tidying up after a writer that died."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ufo_experience.errors import StorageError
from ufo_experience.store.atomic import (
    Disk,
    is_temp,
    make_folder,
    publish_new,
    remove_quietly,
    storage_errors,
    sync_folder,
    write_temp,
)
from ufo_experience.store.layout import RECORDS, STATUS, TOMBSTONES, Layout


class NewFiles:
    """New files that become durable together: all bytes first, then all names, then one sync per folder."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._staged: list[tuple[Path, Path]] = []
        self._named: list[Path] = []

    def stage(self, target: Path, data: bytes) -> None:
        """Write the bytes of a file beside its place. Raises `StorageError`."""
        make_folder(target.parent, self._disk)
        self._staged.append((write_temp(target, [data], self._disk), target))

    def publish(self) -> None:
        """Give every file its name and make it durable. Raises `StorageError`."""
        for temp, target in self._staged:
            self._named.append(target)  # before the call: it may fail after the name was given
            if not publish_new(temp, target, self._disk):
                self._named.remove(target)
                raise StorageError(f"{target}: appeared while this process held the lock")
        for folder in sorted({target.parent for target in self._named}):
            sync_folder(folder, self._disk)

    def undo(self) -> None:
        """Take back what was not committed, as far as the disk lets us."""
        for path in [*reversed(self._named), *(temp for temp, _ in self._staged)]:
            remove_quietly(path, self._disk)


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
    for folder in layout.folders():
        for name in layout.names(folder):
            if is_temp(name):
                remove_file(folder / name, layout)
    for id in layout.ids_in(layout.root / TOMBSTONES):
        remove_file(layout.record(id), layout)
        remove_file(layout.status(id), layout)
    for folder in layout.folders():
        if layout.there(folder):
            sync_folder(folder, layout.disk)
    for kind in (RECORDS, STATUS):
        if layout.there(layout.root / kind):
            sync_folder(layout.root / kind, layout.disk)
    layout.mark_changed(folder for folder in layout.folders() if layout.there(folder))
