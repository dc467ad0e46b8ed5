"""The bytes of one stored file: canonical JSON with its SHA-256, one line.

    {"schema":1,"sha256":"<of the payload's bytes>","payload":{…}}

Reading is strict: every byte counts, and anything JSON readers disagree about (a key twice, NaN, huge numbers, deep
nesting) is refused. Nothing in a payload has a special meaning.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NoReturn

from ufo_experience.errors import CorruptError, DataError, FormatVersionError, SchemaError
from ufo_experience.schema import MAX_DEPTH, MAX_RECORD_BYTES, SCHEMA_VERSION

MAX_DIGITS = 308  # of a number; longer ones cost quadratic time, and no double holds them
MAX_LEVELS = MAX_DEPTH + 8  # the schema allows MAX_DEPTH inside a field; the fields themselves lie this deep

_FILE = re.compile(rb'\{"schema":([0-9]{1,9}),"sha256":"([0-9a-f]{64})","payload":(\{.*\})\}\n', re.DOTALL)
_MARK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)  # a string, even an unended one


def canonical(value: Any) -> bytes:
    """The one way to write a JSON value: sorted keys, no spaces, UTF-8, no NaN.

    Raises:
        SchemaError: it has no such form.
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"not JSON: {error}") from error


def encode(payload: Mapping[str, Any], *, file: str | None = None) -> bytes:
    """The bytes of a file. What could not be read back is refused here, before it is written.

    Raises:
        SchemaError: too large, too deep, or not JSON.
    """
    body = canonical(payload)
    head = f'{{"schema":{SCHEMA_VERSION},"sha256":"{sha256(body).hexdigest()}","payload":'
    data = head.encode("ascii") + body + b"}\n"
    decode(data, file=file)
    return data


def decode(data: bytes, *, file: str | None = None) -> dict[str, Any]:
    """The payload of a file's bytes, hash and limits checked.

    Raises:
        CorruptError: the bytes are not those that were written.
        FormatVersionError: a newer version wrote them.
        SchemaError: over a limit, or of no known schema.
    """
    if len(data) > MAX_RECORD_BYTES:
        raise SchemaError(f"larger than {MAX_RECORD_BYTES} bytes", file=file)
    parts = _FILE.fullmatch(data)
    if parts is None:
        _explain(data, file)
    _check_version(int(parts[1]), file)
    if sha256(parts[3]).hexdigest().encode("ascii") != parts[2]:
        raise CorruptError("bytes differ from their hash", file=file)
    payload: dict[str, Any] = parse(parts[3], file=file)  # an object: it begins and ends as one
    return payload


def hash_in(data: bytes) -> str:
    """The SHA-256 that the bytes of a file (already decoded once) carry."""
    parts = _FILE.fullmatch(data)
    return parts[2].decode("ascii") if parts else ""


def parse(data: bytes | str, *, file: str | None = None) -> Any:
    """Read strict JSON: no key twice, no NaN, no huge numbers, at most `MAX_LEVELS` deep, valid UTF-8.

    Raises:
        SchemaError: it breaks one of these rules.
        CorruptError: it is not JSON at all.
    """
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        _check_depth(text, file)
        return _DECODER.decode(text)
    except UnicodeDecodeError as error:
        raise CorruptError(f"not UTF-8 at byte {error.start}", file=file) from error
    except json.JSONDecodeError as error:
        raise CorruptError(f"not JSON: {error.msg}", file=file, line=error.lineno) from error
    except ValueError as error:
        raise SchemaError(str(error), file=file) from error


def _check_version(schema: int, file: str | None) -> None:
    if schema > SCHEMA_VERSION:
        raise FormatVersionError(f"schema {schema} is newer than {SCHEMA_VERSION}, the newest known here", file=file)
    if schema < SCHEMA_VERSION:
        raise SchemaError(f"unknown schema {schema}", file=file, field="schema")


def _explain(data: bytes, file: str | None) -> NoReturn:
    """Say what is wrong with bytes that are not in our form."""
    if not data.strip(b"\0 \t\r\n"):
        raise CorruptError("empty", file=file)
    try:
        value = parse(data, file=file)
    except DataError as error:
        raise CorruptError(f"torn or damaged: {error.reason}", file=file) from error
    schema = value.get("schema") if isinstance(value, dict) else None
    if isinstance(value, dict) and (schema is None or (type(schema) is int and schema != SCHEMA_VERSION)):
        _check_version(schema or 0, file)
    raise CorruptError("not as it was written; was it edited by hand?", file=file)


def _check_depth(text: str, file: str | None) -> None:
    if text.count("{") + text.count("[") <= MAX_LEVELS:
        return
    depth = 0
    for mark in _MARK.finditer(text):
        first = text[mark.start()]
        depth += (first in "[{") - (first in "]}")
        if depth > MAX_LEVELS:
            raise SchemaError(f"nested deeper than {MAX_LEVELS}", file=file)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if len(digits) > MAX_DIGITS or not math.isfinite(value):
        raise ValueError("a number out of range")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant)
