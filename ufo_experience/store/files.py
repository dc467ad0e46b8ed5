"""Files: read with care, written whole or not at all, one writer at a time.

Reading takes regular files of a bounded size only: a pipe would hang, a huge file would fill memory. Writing is temp
file, fsync, rename, fsync of the folder: after a crash there is the old file or the new one.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ufo_experience.errors import DataError, LockedError, StorageError

NOT_A_FILE, TOO_LARGE, UNREADABLE, UNSAFE = "E_NOT_A_FILE", "E_TOO_LARGE", "E_UNREADABLE", "E_UNSAFE"
LOCK = ".lock"
TEMP = ".tmp"  # ends the name of a file that is not finished; what is left of a dead writer is swept
_PIECE = 1 << 20  # bytes read at a time
_POLL_S = 0.005  # between two tries for the lock: shorter than one learn takes
_WINDOWS = os.name == "nt"
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_TRIES, _PAUSE_S = 10, 0.1  # on Windows, where a reader or a scanner holds a file for a moment
_FAR, _TURN_S = 0x7FFFFFFF, 10.0  # on Windows: the byte that stands for the end of a file, and the wait for it


# ---- reading ----


def open_regular(path: Path, limit: int, *, error: type[DataError] = DataError, follow: bool = True) -> BinaryIO:
    """Open a regular file of at most `limit` bytes for reading; with `follow` False no link stands in its place.

    Raises:
        DataError, or `error`: no such file, not a regular file (`E_NOT_A_FILE`), too large (`E_TOO_LARGE`), or the
            system refuses (`E_UNREADABLE`).
    """
    try:
        before = os.stat(path, follow_symlinks=follow)  # before it is opened: opening a device may do something
        if not stat.S_ISREG(before.st_mode):
            raise error("not a regular file", file=str(path), code=NOT_A_FILE)
        handle = os.open(path, _READ | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
        try:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                raise error("not a regular file", file=str(path), code=NOT_A_FILE)
            if info.st_size > limit:
                raise error(f"larger than {limit} bytes", file=str(path), code=TOO_LARGE)
        except DataError:
            os.close(handle)
            raise
        return open(handle, "rb")
    except OSError as refused:
        raise error(_reason(refused), file=str(path), code=UNREADABLE) from refused
    except ValueError as wrong:  # a NUL in the path
        raise error("not a file name", file=repr(str(path)), code=UNREADABLE) from wrong


def read_regular(path: Path, limit: int, *, error: type[DataError] = DataError, follow: bool = True) -> bytes:
    """The bytes of a regular file of at most `limit` bytes, also when it grows meanwhile. Raises as `open_regular`."""
    with open_regular(path, limit, error=error, follow=follow) as stream:
        try:
            data = bytearray()
            while part := stream.read(min(_PIECE, limit + 1 - len(data))):
                data += part
        except OSError as refused:
            raise error(_reason(refused), file=str(path), code=UNREADABLE) from refused
    if part is None:  # type: ignore[unreachable, unused-ignore]
        raise error("gives its bytes only as they come; not a log", file=str(path), code=NOT_A_FILE)
    if len(data) > limit:
        raise error(f"larger than {limit} bytes", file=str(path), code=TOO_LARGE)
    return bytes(data)


def read_lines(path: Path, limit: int) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of the lines in UTF-8 that are not blank. Raises as `open_regular`."""
    try:
        text = read_regular(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}", file=str(path)) from error
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def check_owner(info: os.stat_result, path: Path, owner: int) -> None:
    """Raise `DataError` (`E_UNSAFE`) for a file that others could have written; Windows says nothing of that."""
    if _WINDOWS:
        return
    if info.st_mode & stat.S_IWOTH and stat.S_ISREG(info.st_mode):
        raise DataError("everybody may write to it; chmod o-w it once you trust it", file=str(path), code=UNSAFE)
    if info.st_uid not in (owner, os.geteuid(), 0):
        raise DataError("belongs to another user than the store", file=str(path), code=UNSAFE)


def _reason(error: OSError) -> str:
    return "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror or error}"


# ---- writing ----


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `StorageError` that names the file."""
    try:
        yield
    except OSError as error:
        place = error.filename2 or error.filename or path  # of a move, where to
        raise StorageError(f"{place}: {error.strerror or error}") from error


def write_new(path: Path, data: bytes) -> None:
    """Write a file that must not exist yet; the caller syncs the folder. Only who holds the lock may call this.

    Raises:
        StorageError: the disk refused, or there is such a file; nothing is left behind.
    """
    with storage_errors(path):
        if os.path.lexists(path):
            raise FileExistsError(17, "exists already", str(path))
        with _temp(path, [data]) as temp:
            patiently(os.rename, temp, path)


def replace_file(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file, new or in place of the old one, and sync its folder. Raises `StorageError`."""
    with storage_errors(path), _temp(path, [data] if isinstance(data, bytes) else data) as temp:
        patiently(os.replace, temp, path)
    sync_folder(path.parent)


def append(path: Path, data: bytes) -> None:
    """Append lines to a file, durably; the caller holds the lock. After a failure the file is as it was.

    Raises:
        StorageError: the disk refused.
    """
    with storage_errors(path):
        handle = os.open(path, _APPEND, 0o600)
        before = os.fstat(handle).st_size
        try:
            _write_all(handle, data)
            os.fsync(handle)
        except OSError:
            with suppress(OSError):
                os.ftruncate(handle, before)
            raise
        finally:
            os.close(handle)


def append_at_once(path: Path, data: bytes) -> None:
    """Append bytes in one step, without a lock of the folder: what others append meanwhile is before or behind them.

    Raises:
        OSError: the disk refused.
    """
    handle = os.open(path, _APPEND, 0o600)
    try:
        with _at_the_end(handle):
            os.write(handle, data)
    finally:
        os.close(handle)


@contextmanager
def _at_the_end(handle: int) -> Iterator[None]:
    """Be the only one at the end of a file: an append of Windows is a seek and then a write."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, _FAR, os.SEEK_SET)
        until = time.monotonic() + _TURN_S
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                break
            except OSError:
                if time.monotonic() > until:
                    raise
            time.sleep(0.001)
        try:
            yield
        finally:
            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:
        yield


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


def check_output(path: Path) -> None:
    """Raise `StorageError` unless `path` is a regular file or free, in a folder there is.

    A link, pipe or device is refused: a file written whole takes the place of what has its name.
    """
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        if path.parent.is_dir():
            return
        raise StorageError(f"{path}: there is no folder {str(path.parent)!r}") from None
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if stat.S_ISDIR(info.st_mode):
        raise StorageError(f"{path}: is a folder; name a file in it")
    if not stat.S_ISREG(info.st_mode):
        raise StorageError(f"{path}: is a link, pipe or device; name a regular file")


@contextmanager
def _temp(target: Path, chunks: Iterable[bytes]) -> Iterator[Path]:
    """A finished temp file beside `target`, for the caller to give its name; gone if that fails."""
    temp = target.with_name(f".{secrets.token_hex(8)}{TEMP}")
    try:
        handle = os.open(temp, _CREATE, 0o600)
        try:
            for chunk in chunks:
                _write_all(handle, chunk)
            os.fsync(handle)  # no second try: after a failed one the kernel may have dropped the bytes
        finally:
            os.close(handle)
        yield temp
    except BaseException:
        with suppress(OSError):
            os.unlink(temp)
        raise


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


# ---- one writer ----


@contextmanager
def writer_lock(root: Path, timeout: float) -> Iterator[None]:
    """Hold the lock of a folder: the system frees it when its holder dies.

    Each holder opens the file for itself, so threads keep each other out, and a child after a fork holds nothing.

    Raises:
        LockedError: others wrote for all of `timeout` seconds.
        StorageError: the lock file cannot be written, or is somebody else's.
    """
    from filelock import FileLock, Timeout

    path = root / LOCK
    with storage_errors(path):
        with suppress(OSError):  # not there: on Windows its holder deletes it; any other reason stops `acquire`
            info = os.lstat(path)
            if info.st_nlink > 1 or not stat.S_ISREG(info.st_mode):
                raise StorageError(f"{path}: not a regular file of its own")
        lock = FileLock(path, mode=0o600)
        try:
            lock.acquire(timeout=timeout, poll_interval=_POLL_S)
        except Timeout as error:
            raise LockedError(f"{root} is being written by another process; try again later") from error
    try:
        yield
    finally:
        lock.release()
