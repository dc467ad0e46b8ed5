"""What goes into the memories of a blackboard: data in its three forms, and trajectories filed under a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ufo_experience.errors import UsageError
from ufo_experience.session.memory import MemoryItem

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
