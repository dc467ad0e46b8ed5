"""Files of a session. In JSON a value becomes what pydantic makes of it, bytes base64, else its text."""

import json
import logging
import os
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from ufo_experience.errors import DataError, UsageError
from ufo_experience.store.files import read_regular, replace_file, storage_errors
from ufo_experience.store.strict_json import parse

StrPath = str | os.PathLike[str]

MAX_LINES_BYTES = 64 * 1024 * 1024

_log = logging.getLogger(__name__)


def plain(value: Any) -> Any:
    """Give `value` as JSON can hold it, sharing nothing with it. Raises DataError: it contains itself."""
    try:
        form = to_jsonable_python(value, fallback=str, bytes_mode="base64")
        return json.loads(json.dumps(form), parse_constant=str)  # NaN and infinity have no JSON form: their names
    except (ValueError, RecursionError) as error:
        raise DataError(f"no JSON form: {error}") from error


def dump(value: Any) -> str:
    """Write the JSON form of `value` on one line; text stays readable, a lone surrogate is escaped."""
    form = plain(value)
    text = json.dumps(form, ensure_ascii=False)
    return text if text.isascii() or text.encode("utf-8", "ignore").decode() == text else json.dumps(form)


def write_atomic(path: StrPath, data: str | bytes) -> None:
    """Write a file and the folders above it: after a crash it is the old one or the new one. Raises StorageError."""
    with storage_errors(Path(path)):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    replace_file(Path(path), data.encode("utf-8") if isinstance(data, str) else data)


def append_line(path: StrPath, line: str) -> None:
    """Append `line` to a JSONL file; a line torn by an earlier crash is closed first. Raises StorageError."""
    with storage_errors(Path(path)):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a+b") as file:
            if file.seek(0, os.SEEK_END) > 0:
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else f"\n{line}"
            file.write(line.encode("utf-8") + b"\n")


def read_json(path: StrPath, max_bytes: int) -> Any:
    return parse(read_regular(Path(path), max_bytes), file=str(path))


def read_jsonl(file_path: StrPath, last_k: int = -1) -> list[Any]:
    """The objects and texts in the last `last_k` (-1: all) lines of a JSONL file; other lines are logged."""
    if last_k < -1:
        raise UsageError(f"last_k is a number of lines, or -1 for all of them, not {last_k}")
    if last_k == 0 or not Path(file_path).exists():
        return []
    lines = enumerate(read_regular(Path(file_path), MAX_LINES_BYTES).split(b"\n"), start=1)
    filled = [(number, line) for number, line in lines if line.strip()]
    values = []
    for number, line in filled if last_k == -1 else filled[-last_k:]:
        try:
            value, why = parse(line), "neither an object nor a text"
        except DataError as error:
            value, why = None, error.reason
        if isinstance(value, (dict, str)):
            values.append(value)
        else:
            _log.warning("%s:%d: left out: %s", file_path, number, why)
    return values
