"""Log files as they really are, read as a stream: JSON lines, one JSON value, or text. Every oddity is named.

What is read of a file elsewhere in the package comes in here, so that the other readers import it from one place.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.schema import MAX_DEPTH, Problem
from ufo_experience.store.files import open_regular as open_regular
from ufo_experience.store.strict_json import SYNTAX, VALUE, Mended, StrictJsonError, read
from ufo_experience.store.strict_json import parse as parse  # for values that a program hands in

CHUNK = 1 << 16
MAX_LINE, MAX_DOCUMENT, MAX_FILE = 1 << 20, 1 << 26, 1 << 28  # bytes
IMAGE_RUN = 1024  # characters of base64 in a row are an image
HEAD = 1 << 16  # bytes of a text by which its format is told
FIRST_LINES = 5

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_IMAGE = re.compile(rb"[A-Za-z0-9+/]{%d,}={0,2}" % IMAGE_RUN)
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PADDING = b" \t\r\n\0"


@dataclass(frozen=True)
class RawLine:
    """One line without its LF. `data` is empty when the line was `too_long`; `ended` is False without an LF."""

    number: int
    data: bytes
    too_long: bool = False
    ended: bool = True


def read_chunks(path: Path, *, images: bool = True, max_bytes: int = MAX_FILE) -> Iterator[bytes]:
    """Yield the file as UTF-8 without its byte order mark; with `images` False, without long base64 runs."""
    chunks = _as_utf8(_raw_chunks(path, max_bytes), path)
    return chunks if images else _without_images(chunks)


def read_text(path: Path, *, max_bytes: int = MAX_FILE) -> str:
    """A whole file as text without images, undecodable bytes replaced."""
    return b"".join(read_chunks(path, images=False, max_bytes=max_bytes)).decode("utf-8", "replace")


def _raw_chunks(path: Path, max_bytes: int) -> Iterator[bytes]:
    with open_regular(path, max_bytes, error=DataError) as stream:
        try:
            while chunk := stream.read(CHUNK):
                yield chunk
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", file=str(path), code="E_UNREADABLE") from error


def _as_utf8(chunks: Iterator[bytes], path: Path) -> Iterator[bytes]:
    first = next(chunks, b"")
    if not first.startswith(_UTF16_MARKS):
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        yield decoder.decode(first).encode("utf-8")
        for chunk in chunks:
            yield decoder.decode(chunk).encode("utf-8")
    except UnicodeError as error:
        raise DataError("not valid UTF-16", file=str(path), code="E_ENCODING") from error


def _without_images(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Drop base64 runs of IMAGE_RUN characters or more, also across chunk borders; holds back less than one run."""
    held, inside = b"", False
    for chunk in chunks:
        data = held + chunk
        if inside:
            data = data.lstrip(_BASE64)
            inside = not data
        border = len(data.rstrip(_BASE64))
        held = data[border:]
        if len(held) >= IMAGE_RUN:
            held, inside = b"", True
        yield _IMAGE.sub(b"", data[:border])
    yield held


def split_lines(chunks: Iterable[bytes], limit: int = MAX_LINE) -> Iterator[RawLine]:
    """Yield lines, ended by LF only. A line longer than `limit` bytes is passed over in constant memory."""
    number, size = 1, 0
    parts: list[bytes] = []
    for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            size += end - start
            parts.append(chunk[start:end])
            yield RawLine(number, b"".join(parts) if size <= limit else b"", too_long=size > limit)
            number, size, start, parts = number + 1, 0, end + 1, []
        size += len(chunk) - start
        parts = [*parts, chunk[start:]] if size <= limit else []
    if size:
        yield RawLine(number, b"".join(parts), too_long=size > limit, ended=False)


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

    `several_lines` also takes objects printed over many lines (`{` and `}` alone on theirs); `images` False drops
    base64 while reading. After the iteration `torn` tells whether the last line had no end and could not be read.
    """

    path: Path
    max_line: int = MAX_LINE
    max_file: int = MAX_FILE
    several_lines: bool = False
    images: bool = True
    problems: list[Problem] = field(default_factory=list)
    bad_lines: list[int] = field(default_factory=list)
    torn: bool = False

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        chunks = read_chunks(self.path, images=self.images, max_bytes=self.max_file)
        lines = split_lines(chunks, self.max_line)
        for line in _join_printed(lines, self.max_line) if self.several_lines else lines:
            value = self._value(line)
            if value is not None:
                yield line.number, value

    def _value(self, line: RawLine) -> dict[str, Any] | None:
        """The object of a line; None for a blank one, and (with a problem) for one that is none."""
        if not line.too_long and not line.data.strip():
            return None
        notes: Mended = {}
        try:
            value = _object_of(line, self.max_line, notes)
        except DataError as error:
            self.torn = self.torn or not line.ended
            where = "" if line.ended else "; the file ends in the middle of this line"
            self.bad_lines.append(line.number)
            self.problems.append(problem(self.path, error.code, error.reason + where, line.number))
            return None
        self.problems += [problem(self.path, code, message, line.number) for code, message in notes.items()]
        return value


def _object_of(line: RawLine, limit: int, notes: Mended) -> dict[str, Any]:
    data = line.data.strip(_PADDING)
    if line.too_long:
        raise DataError(f"longer than {limit} bytes", code="E_LONG_LINE")
    if not data:
        raise DataError("only NUL bytes", code="E_NUL")
    value = parse_json(data, notes)
    if not isinstance(value, dict):
        raise DataError("not a JSON object", code="E_NOT_OBJECT")
    return value


def problem(path: Path, code: str, message: str, line: int | None = None) -> Problem:
    """What could not be used, and where it stands."""
    return Problem(file=str(path), line=line, code=code, message=message)


def load_document(path: Path, problems: list[Problem]) -> Any:
    """Read a file that is one JSON value, images dropped. Raises `DataError`; oddities are added to `problems`."""
    notes: Mended = {}
    try:
        value = parse_json(b"".join(read_chunks(path, images=False, max_bytes=MAX_DOCUMENT)).strip(_PADDING), notes)
    except DataError as error:
        raise DataError(error.reason, file=str(path), code=error.code) from error
    problems += [problem(path, code, message) for code, message in notes.items()]
    return value


def records_of(path: Path, problems: list[Problem]) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield `(line, object)` of a file that holds JSON lines, one object, or a list of objects.

    Raises `DataError` when the file cannot be read; what is no object becomes a problem.
    """
    if path.suffix.casefold() in (".jsonl", ".ndjson") or len(first_values(path)) > 1:
        yield from JsonLines(path, problems=problems)
        return
    document = load_document(path, problems)
    for place, item in enumerate(document if isinstance(document, list) else [document], start=1):
        if isinstance(item, dict):
            yield None, item
        elif item is not None:
            problems.append(problem(path, "E_NOT_OBJECT", f"item {place} is not an object"))


def first_text(path: Path) -> str:
    """The first 64 KiB as text, undecodable bytes replaced; empty for what cannot be opened."""
    head = b""
    try:
        for chunk in read_chunks(path, images=False):
            head += chunk
            if len(head) >= HEAD:
                break
    except DataError:
        return ""
    return head[:HEAD].decode("utf-8", "replace")


def first_values(path: Path) -> tuple[Any, ...]:
    """The first JSON values of a file: those of its first lines, or all of it where it is one document.

    Empty for anything that is not JSON, and for what cannot be opened.
    """
    values: list[Any] = []
    try:
        for line in split_lines(read_chunks(path, images=False)):
            if data := line.data.strip(_PADDING):
                value = _value_or_none(data)
                if value is None and not values and line.number == 1:
                    return (load_document(path, []),) if data[:1] in b"[{" else ()
                values += [value] if isinstance(value, dict | list) else []
            if line.number >= 4 * FIRST_LINES or len(values) == FIRST_LINES:
                break
    except DataError:
        return ()
    return tuple(values)


def _value_or_none(data: bytes) -> Any:
    try:
        return parse_json(data)
    except DataError:
        return None
