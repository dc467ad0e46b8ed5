"""Files of a session: written whole or not at all, appended line by line, read with limits."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, StorageError, UsageError
from ufo_experience.fileio.atomic import Disk, replace_file
from ufo_experience.fileio.regular import read_regular
from ufo_experience.fileio.strict_json import parse

StrPath = str | os.PathLike[str]

MAX_LINES_BYTES = 64 * 1024 * 1024

_log = logging.getLogger(__name__)


def write_atomic(path: StrPath, text: str) -> None:
    """Write `text` as UTF-8 to `path`: after a crash the file is the old one or the new one, never a part.

    Raises:
        StorageError: the disk refused; the old file is as it was.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{target}: cannot be written: {error.strerror or error}") from error
    replace_file(target, text.encode("utf-8"), Disk())


def append_line(path: StrPath, line: str) -> None:
    """Append `line` to a JSONL file and hand it to the operating system before returning.

    A line torn by an earlier crash is closed first, so that it spoils only itself.

    Raises:
        StorageError: the disk refused.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "a+b") as file:
            file.write(_missing_newline(file) + line.encode("utf-8") + b"\n")
    except OSError as error:
        raise StorageError(f"{target}: cannot be appended to: {error.strerror or error}") from error


def read_json(path: StrPath, max_bytes: int) -> Any:
    """Read one JSON document in UTF-8.

    Raises:
        CorruptError, SchemaError: as `strict_json.parse`.
        DataError: as `read_regular`.
    """
    return parse(read_regular(Path(path), max_bytes), file=str(path))


def read_json_lines(path: StrPath, last_k: int = -1, max_bytes: int = MAX_LINES_BYTES) -> list[Any]:
    """Read the objects and texts in the last `last_k` (-1: all) lines of a JSONL file, blank lines aside.

    A line that is neither is left out and named in a warning of the log; a file that does not exist has no lines.

    Raises:
        DataError: as `read_regular`.
    """
    if last_k < -1:
        raise UsageError(f"last_k is a number of lines, or -1 for all of them, not {last_k}")
    if not Path(path).exists():
        return []
    lines = enumerate(read_regular(Path(path), max_bytes).split(b"\n"), start=1)
    filled = [(number, line) for number, line in lines if line.strip()]
    wanted = filled if last_k == -1 else filled[max(0, len(filled) - last_k) :]
    values = [_object_or_text(line, path, number) for number, line in wanted]
    return [value for value in values if value is not None]


def _object_or_text(line: bytes, file: StrPath, number: int) -> dict[str, Any] | str | None:
    try:
        value = parse(line)
    except DataError as error:
        _log.warning("%s:%d: left out: %s", file, number, error.reason)
        return None
    if isinstance(value, (dict, str)):
        return value
    _log.warning("%s:%d: left out, neither an object nor a text", file, number)
    return None


def _missing_newline(file: Any) -> bytes:
    if file.seek(0, os.SEEK_END) == 0:
        return b""
    file.seek(-1, os.SEEK_END)
    return b"" if file.read(1) == b"\n" else b"\n"
