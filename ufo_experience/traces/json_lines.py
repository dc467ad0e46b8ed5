"""JSON as logs really contain it, read with care: every oddity is named, nothing is passed on that JSON cannot hold."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ufo_experience.errors import TraceError
from ufo_experience.fileio.regular import open_regular
from ufo_experience.fileio.strict_json import SYNTAX, VALUE, Mended, StrictJsonError, read
from ufo_experience.schema import MAX_DEPTH, Problem
from ufo_experience.text.remembered import on_forgetting

CHUNK = 1 << 16
MAX_LINE = 1 << 20
MAX_FILE = 1 << 28
IMAGE_RUN = 1024

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_IMAGE = re.compile(rb"[A-Za-z0-9+/]{%d,}={0,2}" % IMAGE_RUN)
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


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


def _raw_chunks(path: Path, max_bytes: int) -> Iterator[bytes]:
    with open_regular(path, max_bytes, error=TraceError) as stream:
        try:
            while chunk := stream.read(CHUNK):
                yield chunk
        except OSError as error:
            raise TraceError(f"cannot be read: {error.strerror}", file=str(path), code="E_UNREADABLE") from error


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
        raise TraceError("not valid UTF-16", file=str(path), code="E_ENCODING") from error


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


MAX_DOCUMENT = 1 << 26
HEAD = 1 << 16
_PADDING = b" \t\r\n\0"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
_CLOSERS = {"[": "]", "{": "}"}


def parse_json(data: bytes, notes: Mended | None = None) -> Any:
    """Parse UTF-8 JSON. Raises `TraceError` (without a place) for text that is not JSON or passes a limit.

    Mended, and named in `notes` (code → message): a key given twice (the last value counts), NaN and infinities
    (None), halves of surrogate pairs (replaced).
    """
    try:
        return read(data, levels=MAX_DEPTH + 1, mended={} if notes is None else notes)
    except StrictJsonError as error:
        code = SYNTAX if error.code == VALUE else error.code
        raise TraceError(str(error)[:200], code=code) from error


@dataclass
class JsonLines:
    """Iterate over `(line number, object)` of a file with one JSON object a line; what was not one is counted.

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
    blank_lines: int = 0
    torn: bool = False

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        chunks = read_chunks(self.path, images=self.images, max_bytes=self.max_file)
        lines = split_lines(chunks, self.max_line)
        for line in _join_printed(lines, self.max_line) if self.several_lines else lines:
            value = self._value(line)
            if value is not None:
                yield line.number, value

    def _value(self, line: RawLine) -> dict[str, Any] | None:
        if line.too_long:
            self._bad(line, "E_LONG_LINE", f"longer than {self.max_line} bytes")
            return None
        data = line.data.strip(_PADDING)
        if not data:
            if b"\0" in line.data:
                self._bad(line, "E_NUL", "only NUL bytes")
            else:
                self.blank_lines += 1
            return None
        notes: Mended = {}
        try:
            value = parse_json(data, notes)
        except TraceError as error:
            self._bad(line, error.code, error.reason)
            return None
        if not isinstance(value, dict):
            self._bad(line, "E_NOT_OBJECT", "not a JSON object")
            return None
        self.problems += [self._problem(line, code, message) for code, message in notes.items()]
        return value

    def _bad(self, line: RawLine, code: str, message: str) -> None:
        if not line.ended:
            self.torn = True
            message += "; the file ends in the middle of this line"
        self.bad_lines.append(line.number)
        self.problems.append(self._problem(line, code, message))

    def _problem(self, line: RawLine, code: str, message: str) -> Problem:
        return Problem(file=str(self.path), line=line.number, code=code, message=message)


def load_document(path: Path, problems: list[Problem]) -> Any:
    """Read a file that is one JSON value, images dropped. Raises `TraceError`; oddities are added to `problems`."""
    notes: Mended = {}
    try:
        value = parse_json(b"".join(read_chunks(path, images=False, max_bytes=MAX_DOCUMENT)).strip(_PADDING), notes)
    except TraceError as error:
        raise TraceError(error.reason, file=str(path), code=error.code) from error
    problems += [Problem(file=str(path), code=code, message=message) for code, message in notes.items()]
    return value


def peek(path: Path) -> tuple[Any, ...]:
    """Return the first JSON values of a file from its first 64 KiB: up to five lines, or one document cut to size.

    Empty for anything that is not JSON, and for what cannot be opened.
    """
    try:
        info = os.stat(path)
        return _peek(str(path), info.st_mtime_ns, info.st_size)
    except (OSError, TraceError, ValueError):
        return ()


def peek_text(path: Path) -> str:
    """Return the first 64 KiB as text, undecodable bytes replaced. Raises `TraceError` for what cannot be opened."""
    with open_regular(path, MAX_FILE, error=TraceError):  # refuses pipes and folders before anything is read
        head = b""
        for chunk in read_chunks(path, images=False):
            head += chunk
            if len(head) >= HEAD:
                break
    return head[:HEAD].decode("utf-8", "replace")


@lru_cache(maxsize=8)
def _peek(path: str, _modified: int, _size: int) -> tuple[Any, ...]:
    text = peek_text(Path(path)).strip(" \t\r\n\0")
    lines = text.split("\n")
    if _value_or_none(lines[0]) is None:
        document = _value_or_none(text) or _value_or_none(_completed(text))
        if document:
            return (document,)
    values = [value for value in map(_value_or_none, lines[:20]) if isinstance(value, dict | list)]
    return tuple(values[:5])


on_forgetting(_peek.cache_clear)


def _value_or_none(text: str) -> Any:
    try:
        return parse_json(text.strip(" \t\r\0").encode("utf-8", "replace"))
    except TraceError:
        return None


def _completed(text: str) -> str:
    """Close the brackets of a JSON text that was cut off, dropping its last, unfinished item."""
    stack: list[str] = []
    end, closers = 0, ""
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark[0] == '"':
            continue
        if mark in _CLOSERS:
            stack.append(_CLOSERS[mark])
        elif mark != "," and stack:
            stack.pop()
        if len(stack) > MAX_DEPTH:
            return ""
        end = token.start() if mark == "," else token.end()
        closers = "".join(reversed(stack))
    return text[:end] + closers


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
