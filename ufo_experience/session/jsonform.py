"""The JSON form of whatever an agent puts into its memory.

An agent may remember anything: a result object, a window handle, a path. In memory it stays what it is; in JSON it
becomes, by its type:

    str, int, bool, None, finite float    themselves
    Enum                                  its value
    dict, list, tuple, set                object or array (sets sorted), keys as text
    dataclass, pydantic model             object of its fields
    date, time, datetime                  ISO 8601
    bytes                                 "<12 bytes>": files belong on disk, their path belongs here
    anything else, NaN, infinity          its text, `str(value)`
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from datetime import date, time
from enum import Enum
from functools import singledispatch
from typing import Any

from pydantic import BaseModel

from ufo_experience.errors import DataError
from ufo_experience.schema import MAX_DEPTH


def plain(value: Any) -> Any:
    """Give `value` as dicts, lists, strings, numbers, booleans and None only, sharing nothing with it.

    Raises:
        DataError: nested deeper than `MAX_DEPTH` (a value that contains itself is), or two keys have the same text.
    """
    return _form(value, 0)


def dump(value: Any) -> str:
    """Write the JSON form of `value` on one line; text stays readable, a lone surrogate is escaped."""
    form = plain(value)
    text = json.dumps(form, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(form)
    return text


@singledispatch
def _form(value: Any, depth: int) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _object(((field.name, getattr(value, field.name)) for field in dataclasses.fields(value)), depth)
    return str(value)


@_form.register(type(None))
def _none(_value: None, _depth: int) -> None:
    return None


@_form.register
def _bool(value: bool, _depth: int) -> bool:
    return value


# The three below also take subclasses (`class Status(str, Enum)`) back to the bare type.
@_form.register
def _str(value: str, _depth: int) -> str:
    return str.__str__(value)


@_form.register
def _int(value: int, _depth: int) -> int:
    return int(value)


@_form.register
def _float(value: float, _depth: int) -> float | str:
    return float(value) if math.isfinite(value) else str(value)


@_form.register
def _enum(value: Enum, depth: int) -> Any:
    return _form(value.value, depth)


@_form.register
def _model(value: BaseModel, depth: int) -> Any:
    return _form(value.model_dump(), depth)


@_form.register(date)
@_form.register(time)
def _moment(value: date | time, _depth: int) -> str:
    return value.isoformat()


@_form.register(bytes)
@_form.register(bytearray)
def _bytes(value: bytes | bytearray, _depth: int) -> str:
    return f"<{len(value)} bytes>"


@_form.register(list)
@_form.register(tuple)
def _array(value: Iterable[Any], depth: int) -> list[Any]:
    below = _deeper(depth)
    return [_form(item, below) for item in value]


@_form.register(set)
@_form.register(frozenset)
def _sorted_array(value: Iterable[Any], depth: int) -> list[Any]:
    return sorted(_array(value, depth), key=json.dumps)


@_form.register(Mapping)
def _mapping(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    return _object(((str(_form(key, depth)), item) for key, item in value.items()), depth)


def _object(pairs: Iterable[tuple[str, Any]], depth: int) -> dict[str, Any]:
    below = _deeper(depth)
    form: dict[str, Any] = {}
    for key, item in pairs:
        if key in form:
            raise DataError("two keys have the same text form", field=key)
        form[key] = _form(item, below)
    return form


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise DataError(f"a value is nested deeper than {MAX_DEPTH} levels, or contains itself")
    return depth + 1
