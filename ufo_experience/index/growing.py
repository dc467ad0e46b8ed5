"""Columns that rows are appended to: a hundred times cheaper than making a long one again for each new row."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class GrowingColumns:
    """Columns by name, each in memory with room for more rows. What was handed out is never changed: whoever has a
    column sees its first rows, as many as it had. Safe to use from many threads.
    """

    def __init__(self) -> None:
        self._columns: dict[str, _Growing] = {}

    def grown(self, name: str, column: Array, more: Array) -> Array:
        """A column with more behind: in the room left for it, if nobody else has taken that, else copied."""
        growing = self._columns.get(name)
        grown = growing.append(len(column), more) if growing else None
        if grown is None:
            growing = self._columns[name] = _Growing(column, more)
            grown = growing.array[: growing.used]
        return grown


class _Growing:
    def __init__(self, column: Array, more: Array) -> None:
        self.used = len(column) + len(more)
        self.array = np.empty(self.used + max(self.used // 8, 256), column.dtype)
        self.array[: len(column)], self.array[len(column) : self.used] = column, more
        self._lock = threading.Lock()

    def append(self, length: int, more: Array) -> Array | None:
        """The first `length` rows with more behind; None where other rows stand there, or there is no room."""
        with self._lock:
            if length != self.used or length + len(more) > len(self.array):
                return None
            self.used += len(more)
            self.array[length : self.used] = more
            return self.array[: self.used]
