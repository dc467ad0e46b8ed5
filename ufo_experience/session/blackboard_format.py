"""The JSON form of a blackboard, checked before anything of it is taken over.

    {"format_version": 1,
     "questions": [{…}], "requests": [{…}], "trajectories": [{…}], "screenshots": [{…}],
     "key_values": {"devices/windows/ready": true}}

Every part may be missing. `format_version` is only in files. Other names become key-values, object by object:
`{"agents": {"AppAgent": {"task_progress": 0.6}}}` is the value 0.6 at `agents/AppAgent/task_progress`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, TypeAlias

from ufo_experience.errors import DataError, FormatVersionError, SchemaError, UsageError
from ufo_experience.schema import MAX_DEPTH
from ufo_experience.session.files import StrPath, append_line, dump, read_json, write_atomic
from ufo_experience.session.images import ImageMemoryItem, ImageMemoryItemNames, check_data_url
from ufo_experience.session.memory import MemoryItem, items_from_dicts

_MISSING = object()


class _Namespace(dict[str, Any]):
    """A level of the tree. A plain dict in the tree is a value somebody stored, though paths reach into it as well."""


class KeyValues:
    """A tree of values under `/`-separated paths. A path is a value or a namespace, never both. Not thread-safe.

    Dicts and lists are copied on the way in and out; other objects are kept as they are.
    """

    def __init__(self) -> None:
        self._root = _Namespace()

    def set(self, path: str, value: Any) -> None:
        """Add the value at `path`, or replace the value there.

        Raises:
            UsageError: `path` is malformed, is a namespace, or leads through a value that is not a dict.
        """
        copied, (*parents, name) = _copied(value), _parts(path)
        node: dict[str, Any] = self._root
        for depth, part in enumerate(parents, start=1):
            node = node.setdefault(part, type(node)())
            if not isinstance(node, dict):
                raise UsageError(f"{'/'.join(parents[:depth])!r} holds a value, so there can be no {path!r} below it")
        if isinstance(node.get(name), _Namespace):
            raise UsageError(f"{path!r} is a namespace with keys of its own; delete it first to put a value there")
        node[name] = copied

    def get(self, path: str, default: Any = None) -> Any:
        """Give the value at `path`, a dict of all that is in it if it is a namespace, or `default`."""
        found = self._find(_parts(path))
        return default if found is _MISSING else _copied(found)

    def update(self, path: str, value: Any) -> None:
        """Replace the value at `path`.

        Raises:
            UsageError: there is none, or as `set`.
        """
        if self._find(_parts(path)) is _MISSING:
            raise UsageError(f"there is no key {path!r} to update; add it first")
        self.set(path, value)

    def delete(self, path: str) -> bool:
        """Remove the value or namespace at `path`, and namespaces left empty by that; False if there is none."""
        parts = _parts(path)
        if self._find(parts) is _MISSING:
            return False
        for end in range(len(parts), 0, -1):
            node = self._find(parts[: end - 1])
            del node[parts[end - 1]]
            if node or not isinstance(node, _Namespace):
                break
        return True

    def flat(self) -> dict[str, Any]:
        """Give every value under its full path; `from_flat` restores the tree from it exactly."""
        values: dict[str, Any] = {}
        _flatten(self._root, "", values)
        return values

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> KeyValues:
        """Build a tree from full paths.

        Raises:
            UsageError: as `set`.
        """
        tree = cls()
        for path, value in values.items():
            tree.set(path, value)
        return tree

    def is_empty(self) -> bool:
        """Tell whether there is no value."""
        return not self._root

    def _find(self, parts: list[str]) -> Any:
        node: Any = self._root
        for part in parts:
            if not isinstance(node, dict) or part not in node:
                return _MISSING
            node = node[part]
        return node


def _parts(path: str) -> list[str]:
    parts = path.split("/") if isinstance(path, str) else []
    if not all(parts) or not 0 < len(parts) <= MAX_DEPTH:
        raise UsageError(
            f"a key is 1 to {MAX_DEPTH} names joined by '/', none of them empty; this is not one: {path!r}"
        )
    return parts


def _copied(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise DataError(f"a value is nested deeper than {MAX_DEPTH} levels, or contains itself")
    if isinstance(value, dict):
        return {key: _copied(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item, depth + 1) for item in value]
    return value


def _flatten(node: _Namespace, prefix: str, values: dict[str, Any]) -> None:
    for name, value in node.items():
        if isinstance(value, _Namespace):
            _flatten(value, f"{prefix}{name}/", values)
        else:
            values[prefix + name] = _copied(value)


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
    values = _key_values(data.get("key_values", {}))
    for name in data.keys() - {*KINDS, "key_values", "format_version"}:  # the structure the documents draw
        _plant(values, str(name), data[name])
    return Content(items, values)


def _plant(values: KeyValues, path: str, value: Any) -> None:
    """Put a nested object below a path: each object a namespace, everything else a value."""
    named = isinstance(value, Mapping) and all(isinstance(key, str) and key and "/" not in key for key in value)
    if named and value:
        for key, item in value.items():
            _plant(values, f"{path}/{key}", item)
        return
    try:
        values.set(path, value)
    except UsageError as error:
        raise SchemaError(str(error), field=path.partition("/")[0]) from error


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
