"""Ids of records: 32 hex digits, random or made from content. A foreign name never becomes an id."""

import hashlib
import json
import re
import secrets
from datetime import datetime
from typing import Any

from ufo_experience.errors import DataError


def new_id() -> str:
    """A fresh random id."""
    return secrets.token_hex(16)


def is_id(value: object) -> bool:
    """True for text that has the form of an id."""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{32}", value) is not None


def content_id(payload: Any) -> str:
    """The id of a JSON value (times allowed): the same for the same content, whatever the machine or key order."""
    return content_hash(payload)[:32]


def content_hash(payload: Any) -> str:
    """SHA-256 (hex) of a JSON value, whatever its spacing and key order. Raises `DataError` for what is no JSON."""
    try:
        text = json.dumps(payload, sort_keys=True, separators=(",", ":"), allow_nan=False, default=datetime.isoformat)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}", code="E_SCHEMA") from error
    return hashlib.sha256(text.encode("ascii")).hexdigest()
