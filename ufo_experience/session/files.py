"""Files of a session, and the JSON form of what is written to them.

An agent may remember anything: a result object, a window handle, a path. In memory it stays what it is. In JSON it
becomes what pydantic makes of it (dataclasses and models their fields, times ISO 8601, bytes base64), else its text.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from ufo_experience.errors import DataError, StorageError, UsageError
from ufo_experience.store.files import read_regular, replace_file
from ufo_experience.store.strict_json import parse

StrPath = str | os.PathLike[str]

MAX_LINES_BYTES = 64 * 1024 * 1024

_log = logging.getLogger(__name__)


def plain(value: Any) -> Any:
    """Give `value` as dicts, lists, strings, numbers, booleans and None only, sharing nothing with it.

    Raises:
        DataError: it contains itself, or is nested too deeply.
    """
    try:
        form = to_jsonable_python(value, fallback=str, bytes_mode="base64")
        return json.loads(json.dumps(form), parse_constant=str)  # NaN and infinity have no JSON form: their names
    except (ValueError, RecursionError) as error:
        raise DataError(f"no JSON form: {error}") from error


def dump(value: Any) -> str:
    """Write the JSON form of `value` on one line; text stays readable, a lone surrogate is escaped."""
    form = plain(value)
    text = json.dumps(form, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(form)
    return text


def write_atomic(path: StrPath, text: str) -> None:
    """Write `text` as UTF-8 to `path`: after a crash the file is the old one or the new one, never a part.

    Raises:
        StorageError: the disk refused; the old file is as it was.
    """
    target = Path(path)
    make_folder(target.parent)
    replace_file(target, text.encode("utf-8"))


def make_folder(folder: Path) -> None:
    """Make a folder and those above it. Raises StorageError when the disk refuses."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be made: {error.strerror or error}") from error


def append_line(path: StrPath, line: str) -> None:
    """Append `line` to a JSONL file and hand it to the operating system before returning.

    A line torn by an earlier crash is closed first, so that it spoils only itself.

    Raises:
        StorageError: the disk refused.
    """
    target = Path(path)
    make_folder(target.parent)
    try:
        with open(target, "a+b") as file:
            if file.seek(0, os.SEEK_END) > 0:
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else f"\n{line}"
            file.write(line.encode("utf-8") + b"\n")
    except OSError as error:
        raise StorageError(f"{target}: cannot be appended to: {error.strerror or error}") from error


def read_bytes(path: StrPath, max_bytes: int) -> bytes:
    """Read a file. Raises DataError when there is none, it is no ordinary file, or it is larger than `max_bytes`."""
    return read_regular(Path(path), max_bytes)


def read_json(path: StrPath, max_bytes: int) -> Any:
    """Read one JSON document in UTF-8.

    Raises:
        DataError: no such file, too large, or (as DataError) not JSON.
    """
    return parse(read_bytes(path, max_bytes), file=str(path))


def read_json_lines(path: StrPath, last_k: int = -1, max_bytes: int = MAX_LINES_BYTES) -> list[Any]:
    """Read the objects and texts in the last `last_k` (-1: all) lines of a JSONL file, blank lines aside.

    A line that is neither is left out and named in a warning of the log; a file that does not exist has no lines.
    """
    if last_k < -1:
        raise UsageError(f"last_k is a number of lines, or -1 for all of them, not {last_k}")
    if not Path(path).exists():
        return []
    lines = read_bytes(path, max_bytes).split(b"\n")
    filled = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    values = [_object_or_text(line, path, number) for number, line in filled[-last_k if last_k > 0 else None :]]
    return [] if last_k == 0 else [value for value in values if value is not None]


def _object_or_text(line: bytes, file: StrPath, number: int) -> Any:
    try:
        value = parse(line)
    except DataError as error:
        _log.warning("%s:%d: left out: %s", file, number, error.reason)
        return None
    if isinstance(value, (dict, str)):
        return value
    _log.warning("%s:%d: left out, neither an object nor a text", file, number)
    return None
