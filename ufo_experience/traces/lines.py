"""Log files as they really are: JSON lines read as a stream, one JSON value, or text. Every oddity is named."""

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ufo_experience.errors import DataError
from ufo_experience.schema import MAX_DEPTH, Problem
from ufo_experience.store.files import open_regular
from ufo_experience.store.strict_json import Mended, read
from ufo_experience.traces.values import Row

MAX_LINE, MAX_DOCUMENT, MAX_FILE = 1 << 23, 1 << 26, 1 << 28  # bytes; of a line without its images
HEAD = 1 << 16  # bytes of a text by which its format is told
FIRST_LINES = 5
# Codes of what is left out whole.
LOST = ("E_JSON", "E_DEPTH", "E_ENCODING", "E_LONG_LINE", "E_NUL", "E_NOT_OBJECT", "E_ENTRY")

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
    return read_bytes(path, max_bytes).decode("utf-8", "replace")


# Number and bytes of a line (a long one without images, None for one too long), and whether an LF ends it.
_RawLine = tuple[int, bytes | None, bool]


def _raw_lines(path: Path, max_file: int = MAX_FILE) -> Iterator[_RawLine]:
    """The lines of a file, ended by LF only."""
    with open_utf8(path, max_file) as stream:
        number = 0
        while data := stream.readline(MAX_DOCUMENT):
            number, whole = number + 1, data
            while len(data) == MAX_DOCUMENT and not data.endswith(b"\n"):
                data = stream.readline(MAX_DOCUMENT)
            kept = whole.removesuffix(b"\n")
            if MAX_LINE < len(kept) < MAX_DOCUMENT:
                kept = _IMAGE.sub(b"", kept)
            yield number, kept if len(kept) <= MAX_LINE else None, data.endswith(b"\n")


def _join_printed(lines: Iterator[_RawLine]) -> Iterator[_RawLine]:
    """Join the lines of objects that were printed with indentation; lines of other files pass unchanged."""
    for line in lines:
        if (line[1] or b"").rstrip() != b"{":
            yield line
            continue
        parts, size, last = [b"{"], 1, b""
        for _, data, _ in lines:
            last = (data or b"").rstrip()
            size += MAX_LINE if data is None else len(data) + 1
            parts = [*parts, last] if size <= MAX_LINE else []
            if last == b"}":
                break
        yield line[0], b"\n".join(parts) if parts else None, last == b"}"


def parse_json(data: bytes, notes: Mended | None = None) -> Any:
    """Parse UTF-8 JSON. Raises `DataError`, without a file, for text that is not JSON or passes a limit.

    `notes` tells what was mended: a key given twice (the last counts), NaN, infinities (None), halves of surrogates.
    """
    try:
        return read(data, levels=MAX_DEPTH + 1, mended={} if notes is None else notes)
    except DataError as error:
        code = "E_JSON" if error.code == "E_VALUE" else error.code
        raise DataError(error.reason[:200], line=error.line, code=code) from error


@dataclass
class JsonLines:
    """Iterate over `(line number, object)` of a file with one JSON object a line; the rest is in `problems`.

    `several_lines` also takes objects printed over many lines (`{` and `}` alone on theirs). `torn` tells afterwards
    whether the last line had no end and could not be read.
    """

    path: Path
    max_file: int = MAX_FILE
    several_lines: bool = False
    problems: list[Problem] = field(default_factory=list)
    bad_lines: list[int] = field(default_factory=list)
    torn: bool = False

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        lines = _raw_lines(self.path, self.max_file)
        for number, data, ended in _join_printed(lines) if self.several_lines else lines:
            notes: Mended = {}
            try:
                found = None if data is not None and not data.strip() else self._object(data, notes)
            except DataError as error:
                self.torn = self.torn or not ended
                where = "" if ended else "; the file ends in the middle of this line"
                self.bad_lines.append(number)
                self.problems.append(problem(self.path, error.code, error.reason + where, number))
                continue
            self.problems += [problem(self.path, code, message, number) for code, message in notes.items()]
            if found is not None:
                yield number, found

    def _object(self, line: bytes | None, notes: Mended) -> Row:
        if line is None:
            raise DataError(f"longer than {MAX_LINE} bytes", code="E_LONG_LINE")
        if not (data := line.strip(_PADDING)):
            raise DataError("only NUL bytes", code="E_NUL")
        value = parse_json(data, notes)
        if not isinstance(value, dict):
            raise DataError("not a JSON object", code="E_NOT_OBJECT")
        return Row(value)


def problem(path: Path, code: str, message: str, line: int | None = None) -> Problem:
    return Problem(file=str(path), line=line, code=code, message=message)


def load_document(path: Path, problems: list[Problem]) -> Any:
    """Read a file that is one JSON value, images dropped. Raises `DataError`; oddities are added to `problems`."""
    notes: Mended = {}
    try:
        value = parse_json(read_bytes(path, MAX_DOCUMENT).rstrip(_PADDING).lstrip(b"\0"), notes)
    except DataError as error:
        raise DataError(error.reason, file=str(path), line=error.line, code=error.code) from error
    problems += [problem(path, code, message) for code, message in notes.items()]
    return value


def records_of(path: Path, problems: list[Problem]) -> Iterator[tuple[int | None, Row]]:
    """Yield `(line, object)` of JSON lines, one object, or a list of them; what is none becomes a problem."""
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
    with suppress(DataError, OSError), open_utf8(path) as stream:
        return _IMAGE.sub(b"", stream.read(4 * HEAD))[:HEAD].decode("utf-8", "replace")
    return ""


def first_values(path: Path) -> tuple[Any, ...]:
    """The first JSON values of a file: of its first lines, or the whole document; empty for other files."""
    values: list[Any] = []
    with suppress(DataError, OSError):
        for number, line, _ in _raw_lines(path):
            value, data = None, (line or b"").strip(_PADDING)
            with suppress(DataError):
                value = parse_json(data)
            if data and value is None and number == 1:
                return (load_document(path, []),) if data[:1] in b"[{" else ()
            values += [value] if isinstance(value, dict | list) else []
            if number >= 4 * FIRST_LINES or len(values) == FIRST_LINES:
                break
    return tuple(values)
