"""Reading what somebody names: a regular file, of a bounded size. A pipe would hang, a huge file would fill memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ufo_experience.errors import DataError

NOT_A_FILE, TOO_LARGE, UNREADABLE = "E_NOT_A_FILE", "E_TOO_LARGE", "E_UNREADABLE"


def open_regular(path: Path, limit: int, *, error: type[DataError] = DataError) -> BinaryIO:
    """Open a regular file of at most `limit` bytes for reading.

    Raises:
        DataError, or `error`: no such file, not a regular file (`E_NOT_A_FILE`), too large (`E_TOO_LARGE`), or the
            system refuses (`E_UNREADABLE`).
    """
    try:
        info = os.stat(path)
        if not stat.S_ISREG(info.st_mode):
            raise error("not a regular file", file=str(path), code=NOT_A_FILE)
        if info.st_size > limit:
            raise error(f"larger than {limit} bytes", file=str(path), code=TOO_LARGE)
        return path.open("rb")
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


def _reason(error: OSError) -> str:
    return "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror or error}"
