"""Files: read with care, written whole or not at all, one writer at a time.

Only regular files of a bounded size are read: a pipe would hang, a huge file would fill memory. Writing is temp file,
fsync, rename, fsync of the folder: after a crash there is the old file or the new one.
"""

import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ufo_experience.errors import DataError, LockedError, StorageError

LOCK = ".lock"
TEMP = ".tmp"  # ends the name of a file that is not finished; what is left of a dead writer is swept
_POLL_S = 0.005  # between two tries for the lock: shorter than one learn takes
_WINDOWS = os.name == "nt"
_NO_LINK, _BINARY = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _BINARY
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | _NO_LINK | _BINARY
_TRIES, _PAUSE_S = 10, 0.1  # on Windows, where a reader or a scanner holds a file for a moment
_DEVICE = re.compile(r"(?i)(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³]) *(?:\..*)?")


def is_device(name: str) -> bool:
    """True for a name that Windows keeps for itself, whatever its ending: `CON`, `nul.txt`, `Aux .log`, `COM¹`."""
    return _DEVICE.fullmatch(name) is not None


def open_regular(path: Path, limit: int, *, follow: bool = True) -> BinaryIO:
    """Open a regular file of at most `limit` bytes for reading; with `follow` False no link stands in its place.

    Raises:
        DataError: no such file, not a regular file (`E_NOT_A_FILE`), too large (`E_TOO_LARGE`), or the system refuses
            (`E_UNREADABLE`).
    """
    try:
        if not stat.S_ISREG(os.stat(path, follow_symlinks=follow).st_mode):  # opening a device may do something
            raise DataError("not a regular file", file=str(path), code="E_NOT_A_FILE")
        handle = os.open(path, _READ if follow else _READ | _NO_LINK)
        info = os.fstat(handle)
    except OSError as refused:
        raise DataError(_reason(refused), file=str(path), code="E_UNREADABLE") from refused
    except ValueError as wrong:  # a NUL in the path
        raise DataError("not a file name", file=repr(str(path)), code="E_UNREADABLE") from wrong
    if info.st_size <= limit and stat.S_ISREG(info.st_mode):
        return open(handle, "rb")
    os.close(handle)
    raise DataError(f"larger than {limit} bytes", file=str(path), code="E_TOO_LARGE")


def read_regular(path: Path, limit: int, *, follow: bool = True) -> bytes:
    """The bytes of a regular file of at most `limit` bytes. Raises as `open_regular`."""
    with open_regular(path, limit, follow=follow) as stream:
        try:
            data = stream.read()
        except OSError as refused:
            raise DataError(_reason(refused), file=str(path), code="E_UNREADABLE") from refused
    if len(data) > limit:  # it grew meanwhile
        raise DataError(f"larger than {limit} bytes", file=str(path), code="E_TOO_LARGE")
    return data


def read_utf8(path: Path, limit: int) -> str:
    """The text of a file in UTF-8, with or without a byte order mark. Raises as `open_regular`."""
    try:
        return read_regular(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}", file=str(path)) from error


def read_lines(path: Path, limit: int) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of the lines in UTF-8 that are not blank. Raises as `open_regular`."""
    lines = enumerate(read_utf8(path, limit).split("\n"), 1)
    return ((number, line) for number, line in lines if line.strip())


def stamp_of(path: str | Path) -> str:
    """What tells that a file or folder has changed, its time at the end; "" when there is none."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from error
    return f"{info.st_size} {info.st_mtime_ns}"  # both are kept by who copies a store


def _reason(error: OSError) -> str:
    return "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror or error}"


@contextmanager
def storage_errors(path: str | Path) -> Iterator[None]:
    """Turn an `OSError` into a `StorageError` that names the file."""
    try:
        yield
    except OSError as error:
        place = error.filename2 or error.filename or path  # of a move, where to
        place = path if str(place).endswith(TEMP) else place  # nobody gave that name
        raise StorageError(f"{place}: {error.strerror or error}") from error


def replace_file(path: Path, data: bytes | Iterable[bytes], *, sync: bool = True) -> None:
    """Write a file whole, or leave the old one; without `sync` the caller syncs its folder."""
    temp = path.with_name(f".{secrets.token_hex(8)}{TEMP}")
    with storage_errors(path):
        try:
            handle = os.open(temp, _CREATE, 0o600)
            try:
                for chunk in [data] if isinstance(data, bytes) else data:
                    _write_all(handle, chunk)
                os.fsync(handle)  # no second try: after a failed one the kernel may have dropped the bytes
            finally:
                os.close(handle)
            patiently(os.replace, temp, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temp)
            raise
    if sync:
        sync_folder(path.parent)


def append(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Append lines, all or none; a torn line is closed first. The caller holds a lock."""
    with storage_errors(path):
        handle = os.open(path, _APPEND, 0o600)
        before = os.fstat(handle).st_size
        try:
            os.lseek(handle, max(0, before - 1), os.SEEK_SET)
            is_torn = os.read(handle, 1) not in (b"", b"\n")
            _write_all(handle, b"\n" * is_torn + data)
            if sync:
                os.fsync(handle)
        except OSError:
            with suppress(OSError):
                os.ftruncate(handle, before)
            raise
        finally:
            os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def patiently(act: Callable[..., None], *paths: Path) -> None:
    """Move or delete a file; on Windows, where that is refused while somebody reads it, with some tries."""
    for _ in range(_TRIES - 1 if _WINDOWS else 0):
        with suppress(PermissionError):
            return act(*paths)
        time.sleep(_PAUSE_S)
    return act(*paths)


def make_folder(path: Path) -> None:
    """Make a folder and its parents, durably. Raises `StorageError`: the disk refused, or a file or link is there."""
    with storage_errors(path):
        if not path.parent.exists():
            make_folder(path.parent)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if path.is_symlink() or not path.is_dir():
                raise
        else:
            sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable; Windows has no such call. Raises `StorageError`."""
    if _WINDOWS:
        return
    with storage_errors(path):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def writer_lock(root: Path, timeout: float, name: str = LOCK) -> Iterator[None]:
    """Hold the lock of a folder: the system frees it when its holder dies.

    Each holder opens the file for itself, so threads keep each other out, and a child after a fork holds nothing.
    Raises `LockedError` where others wrote for all of `timeout` seconds, `StorageError`.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(root / name, mode=0o600)
    with storage_errors(root / name):
        try:
            lock.acquire(timeout=timeout, poll_interval=_POLL_S)
        except Timeout as error:
            raise LockedError(f"{root} is being written by another process; try again later") from error
    try:
        yield
    finally:
        lock.release()
