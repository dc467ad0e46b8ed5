"""Files of a session, and the JSON form of what is written to them.

Files are written whole or not at all, appended line by line, and read with limits. An agent may remember anything: a
result object, a window handle, a path. In memory it stays what it is; in JSON it becomes, by its type:

    str, int, bool, None, finite float    themselves
    Enum                                  its value
    dict, list, tuple, set                object or array (sets sorted), keys as text
    dataclass, pydantic model             object of its fields
    date, time, datetime                  ISO 8601
    bytes                                 "<12 bytes>": files belong on disk, their path belongs here
    anything else, NaN, infinity          its text, `str(value)`
"""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import os
from collections.abc import Iterable, Mapping
from datetime import date, time
from enum import Enum
from functools import singledispatch
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ufo_experience.errors import DataError, StorageError, UsageError
from ufo_experience.fileio.atomic import Disk, replace_file
from ufo_experience.fileio.regular import read_regular
from ufo_experience.fileio.strict_json import parse
from ufo_experience.schema import MAX_DEPTH

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


def plain(value: Any) -> Any:
    """Give `value` as dicts, lists, strings, numbers, booleans and None only, sharing nothing with it.

    Raises:
        DataError: nested deeper than `MAX_DEPTH` (a value that contains itself is), or two keys have the same text.
    """
    return _form(value, 0)


def dump(value: Any) -> str:
    """Write the JSON form of `value` on one line; text stays readable, a lone surrogate is escaped."""
    form = plain(value)
    text = json.dumps(form, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(form)
    return text


@singledispatch
def _form(value: Any, depth: int) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _object(((field.name, getattr(value, field.name)) for field in dataclasses.fields(value)), depth)
    return str(value)


@_form.register(type(None))
def _none(_value: None, _depth: int) -> None:
    return None


@_form.register
def _bool(value: bool, _depth: int) -> bool:
    return value


# The three below also take subclasses (`class Status(str, Enum)`) back to the bare type.
@_form.register
def _str(value: str, _depth: int) -> str:
    return str.__str__(value)


@_form.register
def _int(value: int, _depth: int) -> int:
    return int(value)


@_form.register
def _float(value: float, _depth: int) -> float | str:
    return float(value) if math.isfinite(value) else str(value)


@_form.register
def _enum(value: Enum, depth: int) -> Any:
    return _form(value.value, depth)


@_form.register
def _model(value: BaseModel, depth: int) -> Any:
    return _form(value.model_dump(), depth)


@_form.register(date)
@_form.register(time)
def _moment(value: date | time, _depth: int) -> str:
    return value.isoformat()


@_form.register(bytes)
@_form.register(bytearray)
def _bytes(value: bytes | bytearray, _depth: int) -> str:
    return f"<{len(value)} bytes>"


@_form.register(list)
@_form.register(tuple)
def _array(value: Iterable[Any], depth: int) -> list[Any]:
    below = _deeper(depth)
    return [_form(item, below) for item in value]


@_form.register(set)
@_form.register(frozenset)
def _sorted_array(value: Iterable[Any], depth: int) -> list[Any]:
    return sorted(_array(value, depth), key=json.dumps)


@_form.register(Mapping)
def _mapping(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    return _object(((str(_form(key, depth)), item) for key, item in value.items()), depth)


def _object(pairs: Iterable[tuple[str, Any]], depth: int) -> dict[str, Any]:
    below = _deeper(depth)
    form: dict[str, Any] = {}
    for key, item in pairs:
        if key in form:
            raise DataError("two keys have the same text form", field=key)
        form[key] = _form(item, below)
    return form


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise DataError(f"a value is nested deeper than {MAX_DEPTH} levels, or contains itself")
    return depth + 1
