"""Files that are whole or not there: temp file, write, fsync, publish, fsync of the folder."""

from __future__ import annotations

import errno
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ufo_experience.errors import StorageError
from ufo_experience.fileio.disk import Disk as Disk

FSYNC_FAILED = "E_FSYNC"
REPLACE_TRIES = 10
REPLACE_PAUSE_S = 0.1

_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK})


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `StorageError` that names the file."""
    try:
        yield
    except OSError as error:
        place = error.filename2 or error.filename or path  # of a move, where to
        raise StorageError(f"{place}: {error.strerror or error}") from error


def write_temp(target: Path, chunks: Iterable[bytes], disk: Disk) -> Path:
    """Write and fsync a temp file beside `target`; on any failure nothing is left behind.

    Raises:
        StorageError: the disk refused (`E_FSYNC`: what was written may not be on the medium).
    """
    temp = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    done = False
    try:
        with storage_errors(target):
            _write(temp, chunks, disk)
        done = True
    finally:
        if not done:
            remove_quietly(temp, disk)
    return temp


def publish_new(temp: Path, target: Path, disk: Disk) -> bool:
    """Give a finished temp file its name without ever overwriting; False (temp removed) when the name is taken.

    File systems without hard links get a check and a rename instead: safe, as only the lock holder publishes.
    """
    with storage_errors(target):
        if (_link if disk.links else _rename_new)(temp, target, disk):
            return True
        disk.unlink(temp)
        return False


def replace(temp: Path, target: Path, disk: Disk) -> None:
    """Put a finished temp file in the place of `target`.

    On Windows a scanner or a reader may hold the target for a moment: tried ten times within a second.
    """
    with storage_errors(target):
        _patiently(lambda: disk.replace(temp, target), disk)


def move_folder(source: Path, target: Path, disk: Disk) -> None:
    """Give a finished folder its name; the caller syncs the folder both are in.

    On Windows a scanner that looks into it may refuse that for a moment: tried as `replace` does.
    """
    with storage_errors(target):
        _patiently(lambda: disk.rename(source, target), disk)


def remove_tree(folder: Path, disk: Disk) -> None:
    """Remove a folder and all that is in it, or what stands in its place; links are removed, not followed.

    Raises `OSError`.
    """
    if not stat.S_ISDIR(disk.lstat(folder).st_mode):
        disk.unlink(folder)
        return
    for name in disk.listdir(folder):
        remove_tree(folder / name, disk)
    disk.rmdir(folder)


def write_new(path: Path, data: bytes | Iterable[bytes], disk: Disk) -> None:
    """Write a file that must not exist yet; the caller syncs the folder. Raises `StorageError`."""
    if not publish_new(write_temp(path, [data] if isinstance(data, bytes) else data, disk), path, disk):
        raise StorageError(f"{path}: exists already")


def replace_file(path: Path, data: bytes | Iterable[bytes], disk: Disk) -> None:
    """Write a file, new or in place of the old one, and sync its folder. After a crash it is the old or the new."""
    temp = write_temp(path, [data] if isinstance(data, bytes) else data, disk)
    done = False
    try:
        replace(temp, path, disk)
        done = True
    finally:
        if not done:
            remove_quietly(temp, disk)
    sync_folder(path.parent, disk)


def make_folder(path: Path, disk: Disk) -> None:
    """Make a folder, durably, and its parent if that is missing: tools that copy a store drop its empty folders.

    Raises:
        StorageError: the disk refused, or a link or file is in its place.
    """
    make_folders([path], disk)


def make_folders(paths: Iterable[Path], disk: Disk) -> None:
    """Make folders as `make_folder` does; those that are new in the same one become durable together."""
    grown: set[Path] = set()
    try:
        for path in paths:
            if _made(path, disk):
                grown.add(path.parent)
    finally:  # after a failure, too: who comes later takes a folder that is there for a durable one
        for folder in sorted(grown):
            sync_folder(folder, disk)


def _made(path: Path, disk: Disk) -> bool:
    """Make a folder; False when it is there already."""
    with storage_errors(path):
        try:
            return disk.mkdir(path)
        except FileNotFoundError:
            if disk.mkdir(path.parent):
                sync_folder(path.parent.parent, disk)
            return disk.mkdir(path)


def sync_folder(path: Path, disk: Disk) -> None:
    """Make the names in a folder durable. Raises `StorageError` (`E_FSYNC`)."""
    try:
        disk.fsync_dir(path)
    except OSError as error:
        raise StorageError(f"{path}: fsync: {error.strerror or error}", code=FSYNC_FAILED) from error


def remove_quietly(path: Path, disk: Disk) -> None:
    """Clean up after a failure that is being raised already; what stays is swept by the next writer."""
    with suppress(OSError):
        disk.unlink(path)


def is_there(path: Path, disk: Disk) -> bool:
    """True when anything, even a broken link, stands at `path`."""
    try:
        disk.lstat(path)
    except FileNotFoundError:
        return False
    return True


def is_temp(name: str) -> bool:
    """True for names that `write_temp` gives."""
    return name.startswith(".") and name.endswith(".tmp")


def _write(temp: Path, chunks: Iterable[bytes], disk: Disk) -> None:
    handle = disk.create(temp)
    try:
        for chunk in chunks:
            _write_all(handle, chunk, disk)
        _sync(handle, temp, disk)
    finally:
        disk.close(handle)


def _write_all(handle: int, chunk: bytes, disk: Disk) -> None:
    rest = memoryview(chunk)
    while rest:
        written = disk.write(handle, rest)
        if written <= 0:
            raise OSError(errno.EIO, "the disk took no bytes")
        rest = rest[written:]


def _sync(handle: int, path: Path, disk: Disk) -> None:
    """No second try: after a failed fsync the kernel may have dropped the bytes and report success."""
    try:
        disk.fsync(handle)
    except OSError as error:
        raise StorageError(f"{path}: fsync: {error.strerror or error}", code=FSYNC_FAILED) from error


def _link(temp: Path, target: Path, disk: Disk) -> bool:
    try:
        disk.link(temp, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        return _rename_new(temp, target, disk)
    disk.unlink(temp)
    return True


def _rename_new(temp: Path, target: Path, disk: Disk) -> bool:
    if is_there(target, disk):
        return False
    try:
        disk.rename(temp, target)
    except FileExistsError:
        return False
    return True


def _patiently(act: Callable[[], None], disk: Disk) -> None:
    """Try again where Windows says that somebody has a file open: ten times within a second."""
    for _ in range(REPLACE_TRIES - 1):
        try:
            return act()
        except PermissionError:
            if not disk.windows:
                raise
        disk.sleep(REPLACE_PAUSE_S)
    return act()
