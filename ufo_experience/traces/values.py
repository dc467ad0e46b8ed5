"""Values of foreign logs, taken for what they should be: a wrong type gives an empty value, never an exception."""

from __future__ import annotations

import ast
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeGuard, TypeVar
from urllib.parse import urlsplit

from ufo_experience.errors import DataError
from ufo_experience.schema import MAX_DEPTH, MAX_TEXT
from ufo_experience.store.strict_json import read

# One more than a field may hold: what is cut here is seen to be too long, and reported, where the record is built.
KEEP = MAX_TEXT + 1
MAX_ITEMS = 1_000
_NO_IMAGE = 1024  # characters
_IMAGE = re.compile(r"(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/]{1024,}={0,2}")
T = TypeVar("T")
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)  # `fromtimestamp` refuses what is before it on Windows
_STAMP = re.compile(r"\d{4}-?\d\d-?\d\d[@_-]\d\d-?\d\d-?\d\d-?\d*")  # in names of files


def _names() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = defaultdict(tuple)
    for line in Path(__file__).with_name("names.txt").read_text(encoding="utf-8").splitlines():
        things, _, words = line.partition(":")
        for thing in things.split() if not line.startswith("#") else ():
            found[thing] += tuple(words.split())
    return {**found}


NAMES = _names()  # the names under which logs keep a thing, or the words they have for it


def as_text(value: Any) -> str:
    """Text of a value: a string as it is, None as "", anything else as JSON; at most KEEP characters, no images."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(_short(value), ensure_ascii=False, default=str)
    return text if len(text) <= _NO_IMAGE else _IMAGE.sub("<image>", text[: 64 * KEEP])[:KEEP]


def as_name(value: Any) -> str:
    """Text of a value in which UFO writes the string "None" for nothing."""
    text = (value if isinstance(value, str) and len(value) <= _NO_IMAGE else as_text(value)).strip()
    return "" if text in ("None", "null") else text


def as_dict(value: Any) -> Row:
    """A mapping, also one that was stored as JSON text or as a Python literal; else an empty one."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = parse_literal(value)
    return value if isinstance(value, Row) else Row(value) if isinstance(value, dict) else Row()


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def as_dicts(value: Any) -> list[Row]:
    """The items of a list as mappings; those that are none are empty ones."""
    return [as_dict(item) for item in as_list(value)]


def as_lines(value: Any) -> tuple[str, ...]:
    """Lines of a plan or of tips, given as one text or as a list; empty lines and the `<FINISH>` mark left out."""
    lines = [line.strip() for item in as_list(value) for line in as_text(item).split("\n")]
    return tuple(line for line in lines if line and line != "<FINISH>")


def as_host(value: Any) -> str | None:
    """The host of a web address; None for anything else."""
    address = as_name(value)[:2000]
    with suppress(ValueError):  # half an IPv6 address
        return urlsplit(address).hostname if address.startswith(("http://", "https://")) else None
    return None


def as_int(value: Any) -> int | None:
    """A whole number, also as text; None for anything else, booleans included."""
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal() and len(value) < 19:
        return int(value)
    return int(value) if is_number(value) and abs(value) < 1e15 and int(value) == value else None


def as_amount(value: Any) -> float | None:
    with suppress(OverflowError):
        if is_number(value) and math.isfinite(value) and value >= 0:
            return float(value)
    return None


def is_number(value: Any) -> TypeGuard[float]:
    """True for a number, which a boolean is not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def as_time(value: Any) -> datetime | None:
    """A moment: ISO 8601, seconds since 1970, or the stamps agents put into file names; naive ones are UTC."""
    with suppress(ValueError, OverflowError):
        if is_number(value):
            return _EPOCH + timedelta(seconds=value / 1000 if value > 1e11 else value)
        moment = _time_of_text(value.strip()) if isinstance(value, str) else value
        if isinstance(moment, datetime):
            return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return None


def _time_of_text(text: str) -> datetime | None:
    with suppress(ValueError):
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    digits = re.sub(r"\D", "", text) if _STAMP.fullmatch(text) else ""
    return datetime.strptime(digits, "%Y%m%d%H%M%S%f" if digits[14:] else "%Y%m%d%H%M%S") if digits else None


def _of(read: Callable[[Any], T]) -> Callable[..., T]:
    return lambda row, *keys: read(row.first(*keys))


class Row(dict[str, Any]):
    """An object of a log. A method takes the first of some keys that has a value, and gives it as what it should be:
    `row.name(…)` is `as_name(row.first(…))`, and so on.

    >>> Row({"goal": "", "task": "Save it", "steps": [{"x": "7"}]}).name("goal", "task")
    'Save it'
    """

    def key(self, *keys: str) -> str | None:
        return next((key for key in keys if self.get(key) not in _EMPTY), None)

    def has(self, *keys: str) -> bool:
        return self.key(*keys) is not None

    def first(self, *keys: str) -> Any:
        return next((value for key in keys if (value := self.get(key)) not in _EMPTY), None)

    def name(self, *keys: str) -> str:
        """Keys under which "None" stands are passed over, too."""
        return next((text for key in keys if (text := as_name(self.get(key)))), "")

    def at(self, path: str) -> Iterator[Any]:
        """What stands at `steps/action`: of each of the steps, where `steps` is a list."""
        key, _, rest = path.partition("/")
        if rest:
            yield from (found for inner in self.rows(key) for found in inner.at(rest))
        elif key in self:
            yield self[key]

    text, row, rows, listed, lines = _of(as_text), _of(as_dict), _of(as_dicts), _of(as_list), _of(as_lines)
    whole, amount, host = _of(as_int), _of(as_amount), _of(as_host)


def parse_literal(text: str) -> Any:
    """The value of a text that is JSON or a Python literal; None when it is neither. Nothing is run."""
    with suppress(DataError):
        return read(text.encode("utf-8", "replace"), levels=MAX_DEPTH + 1, mended={})
    with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return json.loads(json.dumps(ast.literal_eval(text), default=str, allow_nan=False))
    return None


def short_object(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = _short(as_dict(value))
    return found


def _short(value: Any) -> Any:
    """The value with long texts and long lists cut, so that turning it into text stays cheap."""
    if isinstance(value, str):
        return value[:KEEP]
    if isinstance(value, list):
        return [_short(item) for item in value[:MAX_ITEMS]]
    if isinstance(value, dict):
        return {key: _short(item) for key, item in list(value.items())[:MAX_ITEMS]}
    return value
