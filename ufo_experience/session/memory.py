"""What one agent remembers of its own run: `MemoryItem` (a step with any fields) and `Memory` (the list of them)."""

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from types import SimpleNamespace
from typing import Any, ClassVar

from ufo_experience.errors import DataError, UsageError
from ufo_experience.session.files import dump


class MemoryItem(SimpleNamespace):
    """One step of an agent, with whatever fields it keeps: given to the constructor, set, or simply assigned."""

    def set_value(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise UsageError(f"a field of a memory item is named by a string, not by {type(key).__name__}")
        vars(self)[key] = value

    def add_values_from_dict(self, values: Mapping[str, Any]) -> None:
        for key, value in values.items():
            MemoryItem.set_value(self, key, value)  # by its class: an item may have a field of this name

    def from_dict(self, data: Mapping[str, Any]) -> None:
        """Add or replace the fields that `to_dict` gave."""
        MemoryItem.add_values_from_dict(self, data)

    def get_value(self, key: str) -> Any:
        return vars(self).get(key)

    def get_values(self, keys: Iterable[str]) -> dict[str, Any]:
        return {key: vars(self).get(key) for key in keys}

    def filter(self, keys: Iterable[str] = ()) -> dict[str, Any]:
        """Give those of the named fields that exist, in the item's order."""
        wanted = set(keys)
        return {key: value for key, value in vars(self).items() if key in wanted}

    @property
    def attributes(self) -> list[str]:
        return list(vars(self))

    def to_dict(self) -> dict[str, Any]:
        """Give all fields; the values are the remembered objects themselves."""
        return dict(vars(self))

    def to_json(self) -> str:
        return dump(vars(self))


class Memory:
    """The steps of one agent, the newest `max_items` of them. Thread-safe; every list given out is a copy."""

    MAX_ITEMS: ClassVar[int] = 10_000

    def __init__(self, max_items: int | None = None, *, lock: AbstractContextManager[Any] | None = None) -> None:
        """None takes the class's `MAX_ITEMS`; memories that share a re-entrant `lock` can change as one."""
        self._max_items = self.MAX_ITEMS if max_items is None else max_items
        if self._max_items < 1:
            raise UsageError(f"a memory holds at least one item, not {self._max_items}")
        self._lock: AbstractContextManager[Any] = lock or threading.RLock()
        self._content: list[MemoryItem] = []
        self._dropped_cost = 0.0

    def add_memory_item(self, memory_item: MemoryItem) -> None:
        """Append a step; beyond the limit the oldest is dropped."""
        if not isinstance(memory_item, MemoryItem):
            raise UsageError(f"a memory holds MemoryItem objects, not {type(memory_item).__name__}")
        with self._lock:
            self._content.append(memory_item)
            if len(self._content) > self._max_items:
                self._dropped_cost += _cost(self._content.pop(0))

    def load(self, content: Sequence[MemoryItem]) -> None:
        """Replace the content by `content`, of which the newest are kept if there are more than the limit."""
        fresh = Memory(self._max_items)
        for item in content:
            fresh.add_memory_item(item)
        with self._lock:
            self._content, self._dropped_cost = fresh._content, fresh._dropped_cost

    def from_list_of_dicts(self, data: Sequence[Mapping[str, Any]]) -> None:
        """Replace the content by what `to_list_of_dicts` gave. On a `DataError` for anything else the content stays."""
        self.load(items_from_dicts(data))

    def delete_memory_item(self, step: int) -> None:
        with self._lock:
            self._content = [item for item in self._content if vars(item).get("step") != step]

    def clear(self) -> None:
        """Forget everything, the cost of dropped items included."""
        self.load([])

    @property
    def content(self) -> list[MemoryItem]:
        with self._lock:
            return list(self._content)

    @property
    def list_content(self) -> list[dict[str, Any]]:
        return [dict(vars(item)) for item in self.content]

    @property
    def length(self) -> int:
        return len(self._content)

    def is_empty(self) -> bool:
        return self.length == 0

    def get_all(self) -> list[MemoryItem]:
        return self.content

    def get_latest(self, n: int = 1) -> list[MemoryItem]:
        """Give the newest `n` items, oldest first; all of them if there are fewer."""
        if n < 0:
            raise UsageError(f"the number of latest items cannot be negative: {n}")
        return self.content[-n:] if n else []

    def get_latest_item(self) -> MemoryItem | None:
        return next(iter(self.get_latest()), None)

    def get_total_cost(self) -> float:
        """Sum the `cost` of all steps, those pushed out by the size limit included: the money is spent."""
        with self._lock:
            return self._dropped_cost + sum(map(_cost, self._content))

    def filter_by_status(self, status: str | Enum) -> list[MemoryItem]:
        """Give the items whose `status`, or the status of any of their `results`, is `status`, letter case aside."""
        return [item for item in self.content if _status_text(status) in _statuses(item)]

    def filter_memory_from_keys(self, keys: Iterable[str]) -> list[dict[str, Any]]:
        """Give every item reduced to the named fields; a field an item lacks is left out."""
        wanted = list(keys)
        return [MemoryItem.filter(item, wanted) for item in self.content]

    def filter_memory_from_steps(self, steps: Iterable[int]) -> list[dict[str, Any]]:
        wanted = list(steps)
        return [fields for fields in self.list_content if fields.get("step") in wanted]

    def to_list_of_dicts(self) -> list[dict[str, Any]]:
        return self.list_content

    def to_json(self) -> str:
        return dump(self.list_content)


def items_from_dicts(data: Any, kind: type[MemoryItem] = MemoryItem, *, field: str = "") -> list[MemoryItem]:
    """Make items of `kind` from a list of dicts; `field` names the list in the `DataError` for anything else."""
    if not isinstance(data, (list, tuple)):
        raise DataError("must be a list of objects", field=field or None, code="E_SCHEMA")
    for number, fields in enumerate(data):
        if not isinstance(fields, Mapping) or not all(isinstance(key, str) for key in fields):
            raise DataError("must be an object with text keys", field=f"{field}[{number}]", code="E_SCHEMA")
    return [kind(**fields) for fields in data]


def _cost(item: MemoryItem) -> float:
    cost: Any = vars(item).get("cost")
    return float(cost) if type(cost) in (int, float) and math.isfinite(cost) else 0.0


def _statuses(item: MemoryItem) -> set[str]:
    """The status of an item and those of its `results`, which are objects or mappings, one or a list."""
    results = vars(item).get("results")
    listed = results if isinstance(results, (list, tuple)) else [results]
    found = [one.get("status") if isinstance(one, Mapping) else getattr(one, "status", None) for one in listed]
    return {_status_text(status) for status in [vars(item).get("status"), *found] if status is not None}


def _status_text(status: Any) -> str:
    return str(status.value if isinstance(status, Enum) else status).casefold()
