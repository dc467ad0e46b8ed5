"""Log files as they really are: JSON lines read as a stream, one JSON value, or text. Every oddity is named."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ufo_experience.errors import DataError
from ufo_experience.schema import MAX_DEPTH, Problem
from ufo_experience.store.files import open_regular as open_regular  # what reads files elsewhere comes in here
from ufo_experience.store.strict_json import SYNTAX, VALUE, Mended, StrictJsonError, read
from ufo_experience.store.strict_json import parse as parse
from ufo_experience.traces.values import Row

MAX_LINE, MAX_DOCUMENT, MAX_FILE = 1 << 20, 1 << 26, 1 << 28  # bytes; of a line without its images
HEAD = 1 << 16  # bytes of a text by which its format is told
FIRST_LINES = 5

_IMAGE = re.compile(rb"[A-Za-z0-9+/]{1024,}={0,2}")  # so much base64 in a row is an image
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PADDING = b" \t\r\n\0"


def open_utf8(path: Path, max_bytes: int = MAX_FILE) -> BinaryIO:
    """A regular file as UTF-8 without its byte order mark. Raises `DataError`."""
    stream = open_regular(path, max_bytes)
    mark = stream.read(len(codecs.BOM_UTF8))
    stream.seek(len(mark) if mark == codecs.BOM_UTF8 else 0)
    if not mark.startswith(_UTF16_MARKS):
        return stream
    with stream:
        try:  # what is torn in the middle of a character is left out
            return io.BytesIO(codecs.getincrementaldecoder("utf-16")().decode(stream.read(MAX_FILE)).encode())
        except UnicodeError as error:
            raise DataError("not valid UTF-16", file=str(path), code="E_ENCODING") from error


def read_bytes(path: Path, max_bytes: int = MAX_FILE) -> bytes:
    """A whole file as UTF-8 without images."""
    with open_utf8(path, max_bytes) as stream:
        return _IMAGE.sub(b"", stream.read(max_bytes))


def read_text(path: Path, max_bytes: int = MAX_FILE) -> str:
    """A whole file as text without images, undecodable bytes replaced."""
    return read_bytes(path, max_bytes).decode("utf-8", "replace")


@dataclass(frozen=True)
class RawLine:
    """One line, a long one without images. `data` is empty when it was `too_long`; `ended` is False without an LF."""

    number: int
    data: bytes
    too_long: bool = False
    ended: bool = True


def raw_lines(path: Path, limit: int = MAX_LINE, max_file: int = MAX_FILE) -> Iterator[RawLine]:
    """Yield the lines of a file, ended by LF only. One that is too long is passed over."""
    with open_utf8(path, max_file) as stream:
        number = 0
        while data := stream.readline(MAX_DOCUMENT):
            number, whole = number + 1, data
            while len(data) == MAX_DOCUMENT and not data.endswith(b"\n"):
                data = stream.readline(MAX_DOCUMENT)
            kept = whole.removesuffix(b"\n")
            if limit < len(kept) < MAX_DOCUMENT:
                kept = _IMAGE.sub(b"", kept)
            too_long = len(kept) > limit
            yield RawLine(number, b"" if too_long else kept, too_long, ended=data.endswith(b"\n"))


def _join_printed(lines: Iterator[RawLine], limit: int) -> Iterator[RawLine]:
    """Join the lines of objects that were printed with indentation; lines of other files pass unchanged."""
    for line in lines:
        if line.data.rstrip() != b"{":
            yield line
            continue
        parts, size, last = [line.data], 1, line
        for last in lines:
            size += len(last.data) + 1
            parts = [*parts, last.data] if size <= limit and not last.too_long else []
            if last.data.rstrip() == b"}":
                break
        yield RawLine(line.number, b"\n".join(parts), too_long=not parts, ended=last.data.rstrip() == b"}")


def parse_json(data: bytes, notes: Mended | None = None) -> Any:
    """Parse UTF-8 JSON. Raises `DataError` (without a place) for text that is not JSON or passes a limit.

    Mended, and named in `notes` (code → message): a key given twice (the last value counts), NaN and infinities
    (None), halves of surrogate pairs (replaced).
    """
    try:
        return read(data, levels=MAX_DEPTH + 1, mended={} if notes is None else notes)
    except StrictJsonError as error:
        code = SYNTAX if error.code == VALUE else error.code
        raise DataError(str(error)[:200], code=code) from error


@dataclass
class JsonLines:
    """Iterate over `(line number, object)` of a file with one JSON object a line; the rest is in `problems`.

    `several_lines` also takes objects printed over many lines (`{` and `}` alone on theirs). After the iteration
    `torn` tells whether the last line had no end and could not be read.
    """

    path: Path
    max_line: int = MAX_LINE
    max_file: int = MAX_FILE
    several_lines: bool = False
    problems: list[Problem] = field(default_factory=list)
    bad_lines: list[int] = field(default_factory=list)
    torn: bool = False

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        lines = raw_lines(self.path, self.max_line, self.max_file)
        for line in _join_printed(lines, self.max_line) if self.several_lines else lines:
            if not line.too_long and not line.data.strip():
                continue
            notes: Mended = {}
            try:
                value = self._object(line, notes)
            except DataError as error:
                self.torn = self.torn or not line.ended
                where = "" if line.ended else "; the file ends in the middle of this line"
                self.bad_lines.append(line.number)
                self.problems.append(problem(self.path, error.code, error.reason + where, line.number))
                continue
            self.problems += [problem(self.path, code, message, line.number) for code, message in notes.items()]
            yield line.number, value

    def _object(self, line: RawLine, notes: Mended) -> Row:
        data = line.data.strip(_PADDING)
        if line.too_long:
            raise DataError(f"longer than {self.max_line} bytes", code="E_LONG_LINE")
        if not data:
            raise DataError("only NUL bytes", code="E_NUL")
        value = parse_json(data, notes)
        if not isinstance(value, dict):
            raise DataError("not a JSON object", code="E_NOT_OBJECT")
        return Row(value)


def problem(path: Path, code: str, message: str, line: int | None = None) -> Problem:
    """What could not be used, and where it stands."""
    return Problem(file=str(path), line=line, code=code, message=message)


def load_document(path: Path, problems: list[Problem]) -> Any:
    """Read a file that is one JSON value, images dropped. Raises `DataError`; oddities are added to `problems`."""
    notes: Mended = {}
    try:
        value = parse_json(read_bytes(path, MAX_DOCUMENT).strip(_PADDING), notes)
    except DataError as error:
        raise DataError(error.reason, file=str(path), code=error.code) from error
    problems += [problem(path, code, message) for code, message in notes.items()]
    return value


def records_of(path: Path, problems: list[Problem]) -> Iterator[tuple[int | None, Row]]:
    """Yield `(line, object)` of a file that holds JSON lines, one object, or a list of objects.

    Raises `DataError` when the file cannot be read; what is no object becomes a problem.
    """
    if path.suffix.casefold() in (".jsonl", ".ndjson") or len(first_values(path)) > 1:
        yield from JsonLines(path, problems=problems)
        return
    document = load_document(path, problems)
    for place, item in enumerate(document if isinstance(document, list) else [document], start=1):
        if isinstance(item, dict):
            yield None, Row(item)
        elif item is not None:
            problems.append(problem(path, "E_NOT_OBJECT", f"item {place} is not an object"))


def first_text(path: Path) -> str:
    """The first 64 KiB as text, undecodable bytes replaced; empty for what cannot be opened."""
    try:
        with open_utf8(path) as stream:
            head = _IMAGE.sub(b"", stream.read(4 * HEAD))
    except (DataError, OSError):
        return ""
    return head[:HEAD].decode("utf-8", "replace")


def first_values(path: Path) -> tuple[Any, ...]:
    """The first JSON values of a file: those of its first lines, or all of it where it is one document.

    Empty for anything that is not JSON, and for what cannot be opened.
    """
    values: list[Any] = []
    try:
        for line in raw_lines(path):
            if data := line.data.strip(_PADDING):
                value = _value_or_none(data)
                if value is None and not values and line.number == 1:
                    return (load_document(path, []),) if data[:1] in b"[{" else ()
                values += [value] if isinstance(value, dict | list) else []
            if line.number >= 4 * FIRST_LINES or len(values) == FIRST_LINES:
                break
    except (DataError, OSError):
        return ()
    return tuple(values)


def _value_or_none(data: bytes) -> Any:
    try:
        return parse_json(data)
    except DataError:
        return None
