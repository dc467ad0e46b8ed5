"""The bytes of one stored file: canonical JSON with its SHA-256, one line.

    {"schema":1,"sha256":"<of the payload's bytes>","payload":{…}}

Reading is strict: every byte counts, and what `strict_json` refuses is refused. Nothing in a payload has a special
meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NoReturn

from ufo_experience.errors import CorruptError, DataError, FormatVersionError, SchemaError
from ufo_experience.fileio.strict_json import MAX_DIGITS, is_deep, parse
from ufo_experience.schema import MAX_RECORD_BYTES, SCHEMA_VERSION

_FILE = re.compile(rb'\{"schema":([0-9]{1,9}),"sha256":"([0-9a-f]{64})","payload":(\{.*\})\}\n', re.DOTALL)


_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % MAX_DIGITS)


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
    if len(data) > MAX_RECORD_BYTES or _LONG_NUMBER.search(body) or is_deep(body, payload):
        decode(data, file=file)  # names what is wrong; digits in a text are not
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
