"""The JSON form of a blackboard, checked before anything of it is taken over.

    {"format_version": 1,
     "questions": [{…}], "requests": [{…}], "trajectories": [{…}], "screenshots": [{…}],
     "key_values": {"devices/windows/ready": true}}

Every part may be missing. `format_version` is only in files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, TypeAlias

from ufo_experience.errors import DataError, FormatVersionError, SchemaError, UsageError
from ufo_experience.session.files import StrPath, append_line, read_json, write_atomic
from ufo_experience.session.images import ImageMemoryItem, ImageMemoryItemNames, check_data_url
from ufo_experience.session.jsonform import dump
from ufo_experience.session.keyvalues import KeyValues
from ufo_experience.session.memory import MemoryItem, items_from_dicts

Data: TypeAlias = MemoryItem | Mapping[str, Any] | str

ABSENT: Any = object()

# A trajectory filed under a key is an ordinary item that carries the key; a value without fields is one field.
TRAJECTORY_KEY = "trajectory_key"
TRAJECTORY_VALUE = "trajectory_value"


def as_item(data: Any) -> MemoryItem:
    """Give an item as it is, a dict as an item of its fields, a text as an item with the field `text`.

    Raises:
        UsageError: `data` is of another kind.
    """
    if isinstance(data, MemoryItem):
        return data
    if isinstance(data, str):
        return MemoryItem(text=data)
    if isinstance(data, Mapping):
        item = MemoryItem()
        item.add_values_from_dict(data)
        return item
    raise UsageError(f"a blackboard takes a MemoryItem, a dict or a text, not {type(data).__name__}")


def keyed_item(key: Any, value: Any) -> MemoryItem:
    """File `value` under `key`: an item or a dict keeps its fields, anything else becomes one field.

    Raises:
        UsageError: no text as the key, no value, or a value with one of the two fields used for filing.
    """
    if not isinstance(key, str) or not key or value is ABSENT:
        raise UsageError("a trajectory is filed under a text key, with a value")
    structured = isinstance(value, (MemoryItem, Mapping))
    fields = as_item(value).to_dict() if structured else {TRAJECTORY_VALUE: value}
    if TRAJECTORY_KEY in fields or (structured and TRAJECTORY_VALUE in fields):
        raise UsageError(f"the fields {TRAJECTORY_KEY!r} and {TRAJECTORY_VALUE!r} are the blackboard's own")
    return as_item({TRAJECTORY_KEY: key, **fields})


def filed_value(step: Mapping[str, Any]) -> Any:
    """Give back what `keyed_item` filed, an item as a dict."""
    fields = {name: value for name, value in step.items() if name != TRAJECTORY_KEY}
    return fields.get(TRAJECTORY_VALUE, fields)


def append_event(path: StrPath, operation: str, details: Mapping[str, Any]) -> None:
    """Append `{"at": …, "operation": …, details}`; a picture is named by its path and not repeated in the trail.

    Raises:
        StorageError: the disk refused.
    """
    event = {"at": datetime.now(timezone.utc), "operation": operation, **details}
    if "item" in event:
        event["item"] = {key: value for key, value in event["item"].items() if key != ImageMemoryItemNames.IMAGE_STR}
    append_line(path, dump(event))


FORMAT_VERSION = 1
MAX_FILE_BYTES = 512 * 1024 * 1024

KINDS: dict[str, type[MemoryItem]] = {
    "questions": MemoryItem,
    "requests": MemoryItem,
    "trajectories": MemoryItem,
    "screenshots": ImageMemoryItem,
}


@dataclass(frozen=True)
class Content:
    """All a blackboard holds: items by memory, and the key-values."""

    items: dict[str, list[MemoryItem]]
    values: KeyValues


def content_from(data: Any, max_image_bytes: int) -> Content:
    """Build the content of a blackboard from its JSON form.

    Raises:
        DataError: a part has the wrong shape or a picture is none; the message names it.
    """
    if not isinstance(data, Mapping):
        raise SchemaError("must be an object")
    items = {name: items_from_dicts(data.get(name, []), kind, field=name) for name, kind in KINDS.items()}
    for number, shot in enumerate(items["screenshots"]):
        picture_of(shot.to_dict(), number, max_image_bytes)
    return Content(items, _key_values(data.get("key_values", {})))


def picture_of(shot: Mapping[str, Any], number: int, max_bytes: int) -> str:
    """Give the data URL of the screenshot at index `number`, checked, or "" if it has none."""
    url = shot.get(ImageMemoryItemNames.IMAGE_STR) or ""
    field = f"screenshots[{number}].{ImageMemoryItemNames.IMAGE_STR}"
    return check_data_url(url, max_bytes, field=field) if url else ""


def write_content(path: StrPath, form: Mapping[str, Any]) -> None:
    """Write the JSON form of a blackboard to a file, whole or not at all.

    Raises:
        DataError: it is larger than `read_content` reads.
        StorageError: the disk refused; an earlier file is as it was.
    """
    text = dump({"format_version": FORMAT_VERSION, **form})
    if len(text.encode("utf-8")) > MAX_FILE_BYTES:
        raise DataError(f"the blackboard is larger than {MAX_FILE_BYTES} bytes; drop screenshots", file=str(path))
    write_atomic(path, text)


def read_content(path: StrPath, max_image_bytes: int) -> Content:
    """Read what `write_content` wrote.

    Raises:
        DataError: no such file.
        CorruptError: torn, or not JSON.
        FormatVersionError: written by a newer version.
        SchemaError: a part has the wrong shape.
    """
    data = read_json(path, MAX_FILE_BYTES)
    version = data.get("format_version", FORMAT_VERSION) if isinstance(data, dict) else FORMAT_VERSION
    if version != FORMAT_VERSION:
        raise FormatVersionError(f"format version {version!r}, this program reads {FORMAT_VERSION}", file=str(path))
    try:
        return content_from(data, max_image_bytes)
    except DataError as error:
        raise SchemaError(error.reason, file=str(path), field=error.field) from error


def _key_values(data: Any) -> KeyValues:
    if not isinstance(data, Mapping):
        raise SchemaError("must be an object of values by full path", field="key_values")
    try:
        return KeyValues.from_flat(data)
    except UsageError as error:
        raise SchemaError(str(error), field="key_values") from error
