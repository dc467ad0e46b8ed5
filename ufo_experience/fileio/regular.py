"""Reading what somebody names: a regular file, of a bounded size. A pipe would hang, a huge file would fill memory.

Some files of `/proc` say that they are regular and hang all the same: nothing here ever waits for bytes to come.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ufo_experience.errors import DataError, StorageError

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
NOT_A_FILE, TOO_LARGE, UNREADABLE = "E_NOT_A_FILE", "E_TOO_LARGE", "E_UNREADABLE"


def open_regular(path: Path, limit: int, *, error: type[DataError] = DataError) -> BinaryIO:
    """Open a regular file of at most `limit` bytes for reading.

    Raises:
        DataError, or `error`: no such file, not a regular file (`E_NOT_A_FILE`), too large (`E_TOO_LARGE`), or the
            system refuses (`E_UNREADABLE`).
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # looked at before it is opened: opening a device may do something
            raise error("not a regular file", file=str(path), code=NOT_A_FILE)
        handle = os.open(path, _READ)
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


def read_regular(path: Path, limit: int, *, error: type[DataError] = DataError) -> bytes:
    """The bytes of a regular file of at most `limit` bytes, also when it grows meanwhile. Raises as `open_regular`."""
    with open_regular(path, limit, error=error) as stream:
        try:
            data = stream.read(limit + 1)
        except OSError as refused:
            raise error(_reason(refused), file=str(path), code=UNREADABLE) from refused
    if data is None:  # type: ignore[unreachable, unused-ignore]
        raise error("gives its bytes only as they come; not a log", file=str(path), code=NOT_A_FILE)
    if len(data) > limit:
        raise error(f"larger than {limit} bytes", file=str(path), code=TOO_LARGE)
    return data


def read_lines(path: Path, limit: int) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of the lines in UTF-8 that are not blank. Raises as `open_regular`."""
    try:
        text = read_regular(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}", file=str(path)) from error
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


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


def _reason(error: OSError) -> str:
    return "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror or error}"
