"""Bytes of a log file on their way to a parser: regular files only, one encoding, no images, bounded lines."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ufo_experience.errors import TraceError
from ufo_experience.fileio.regular import open_regular

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
