"""Files that are whole or not there: temp file, write, fsync, publish, fsync of the folder.

`Disk` is the one place that calls the operating system. Tests wrap it to make calls fail, to stop after any of them,
or to behave like Windows on another system.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ufo_experience.errors import StorageError

FSYNC_FAILED = "E_FSYNC"
REPLACE_TRIES = 10
REPLACE_PAUSE_S = 0.1

_CREATE = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)  # fmt: skip
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK})


class Disk:
    """File-system calls as the operating system has them; each raises `OSError`."""

    windows: bool = os.name == "nt"
    links: bool = os.name != "nt"

    def create(self, path: Path) -> int:
        """Open a new file (0600) for writing; refuses one that exists, and links."""
        return os.open(path, _CREATE, 0o600)

    def open(self, path: Path) -> int:
        """Open for reading; refuses links where the platform can, never waits on a pipe."""
        return os.open(path, _READ)

    def append(self, path: Path) -> int:
        """Open for writing at the end, creating the file (0600)."""
        return os.open(path, _APPEND, 0o600)

    def read(self, handle: int, size: int) -> bytes:
        """Up to `size` bytes; empty at the end."""
        return os.read(handle, size)

    def write(self, handle: int, data: bytes | memoryview) -> int:
        """Write some of `data`; returns how many bytes."""
        return os.write(handle, data)

    def truncate(self, handle: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        os.ftruncate(handle, size)

    def fsync(self, handle: int) -> None:
        """Return when the bytes are on the medium."""
        os.fsync(handle)

    def close(self, handle: int) -> None:
        """Close a handle."""
        os.close(handle)

    def fstat(self, handle: int) -> os.stat_result:
        """What the file behind a handle is."""
        return os.fstat(handle)

    def lstat(self, path: Path) -> os.stat_result:
        """What stands at `path`; a link is not followed."""
        return os.lstat(path)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name; refuses a name that is taken."""
        os.link(source, target)

    def rename(self, source: Path, target: Path) -> None:
        """Move; Windows refuses a name that is taken, others overwrite files."""
        os.rename(source, target)

    def replace(self, source: Path, target: Path) -> None:
        """Move over whatever stands at `target`."""
        os.replace(source, target)

    def unlink(self, path: Path) -> None:
        """Remove a file or a link."""
        os.unlink(path)

    def rmdir(self, path: Path) -> None:
        """Remove an empty folder."""
        os.rmdir(path)

    def mkdir(self, path: Path) -> bool:
        """Make a folder (0700); False when it is there already. A file or link in its place raises."""
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                raise
            return False
        return True

    def listdir(self, path: Path) -> list[str]:
        """Names in a folder, in no order."""
        return os.listdir(path)

    def fsync_dir(self, path: Path) -> None:
        """Return when the names in a folder are on the medium. Windows has no such call: NTFS journals names."""
        if self.windows:
            return
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def utime(self, path: Path, ns: int) -> None:
        """Set the time of last change, in nanoseconds."""
        os.utime(path, ns=(ns, ns))

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `StorageError` that names the file."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{error.filename or path}: {error.strerror or error}") from error


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
    """Remove a folder and all that is in it; links in it are removed, not followed. Raises `OSError`."""
    for name in disk.listdir(folder):
        path = folder / name
        if stat.S_ISDIR(disk.lstat(path).st_mode):
            remove_tree(path, disk)
        else:
            disk.unlink(path)
    disk.rmdir(folder)


def write_new(path: Path, data: bytes, disk: Disk) -> None:
    """Write a file that must not exist yet; the caller syncs the folder. Raises `StorageError`."""
    if not publish_new(write_temp(path, [data], disk), path, disk):
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
    """Make a folder whose parent exists, durably. Raises `StorageError`, also for a link in its place."""
    with storage_errors(path):
        created = disk.mkdir(path)
    if created:
        sync_folder(path.parent, disk)


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
