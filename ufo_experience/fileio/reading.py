"""Reading a file of the store: a regular file of a trusted owner, within its limit, whole."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from ufo_experience.errors import CorruptError, StorageError
from ufo_experience.fileio.atomic import REPLACE_PAUSE_S, REPLACE_TRIES, Disk
from ufo_experience.schema import MAX_RECORD_BYTES

UNREADABLE = "E_UNREADABLE"
UNSAFE = "E_UNSAFE"

_LINK = errno.ELOOP
_OF_THIS_FILE = frozenset({errno.EACCES, errno.EPERM, errno.EIO, errno.EISDIR, errno.ENOTDIR, errno.ENXIO})


def read_file(path: Path, disk: Disk, *, owner: int = 0, limit: int = MAX_RECORD_BYTES) -> bytes | None:
    """The bytes of a file, one more than `limit` at most; None when there is no such file.

    Raises:
        CorruptError: this file cannot be used: a link, a pipe, writable by everybody, of another owner, unreadable.
        StorageError: no file can be read now (too many are open, no memory).
    """
    try:
        handle = _open(path, disk)
        try:
            _check(disk.fstat(handle), path, disk, owner)
            return _read_all(handle, disk, limit)
        finally:
            disk.close(handle)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(error, path) from error


def unreadable(error: OSError, path: Path) -> CorruptError | StorageError:
    """What it means that a file could not be read: something about this file, or about the whole system."""
    if isinstance(error, FileNotFoundError):
        return CorruptError("no such file", file=str(path))
    if error.errno == _LINK:
        return CorruptError("a link", file=str(path), code=UNSAFE)
    if error.errno in _OF_THIS_FILE:
        return CorruptError(f"cannot be read: {error.strerror}", file=str(path), code=UNREADABLE)
    return StorageError(f"{path}: {error.strerror or error}")


def _open(path: Path, disk: Disk) -> int:
    """Open without following links. On Windows a file that is being replaced is refused for a moment."""
    tries = REPLACE_TRIES if disk.windows else 1
    while True:
        tries -= 1
        try:
            return _open_once(path, disk)
        except PermissionError:
            if not tries:
                raise
            disk.sleep(REPLACE_PAUSE_S / 10)


def _open_once(path: Path, disk: Disk) -> int:
    if not hasattr(os, "O_NOFOLLOW") and stat.S_ISLNK(disk.lstat(path).st_mode):
        raise OSError(_LINK, "a link", str(path))
    return disk.open(path)


def _check(info: os.stat_result, path: Path, disk: Disk, owner: int) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise CorruptError("not a regular file", file=str(path), code=UNSAFE)
    if disk.windows:
        return
    if info.st_mode & stat.S_IWOTH:
        raise CorruptError("everybody may write to it; chmod o-w it once you trust it", file=str(path), code=UNSAFE)
    if info.st_uid not in (owner, os.geteuid(), 0):
        raise CorruptError("belongs to another user than the store", file=str(path), code=UNSAFE)


def _read_all(handle: int, disk: Disk, limit: int) -> bytes:
    parts = []
    left = limit + 1
    while left and (part := disk.read(handle, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
