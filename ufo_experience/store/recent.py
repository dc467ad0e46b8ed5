"""Records that were read before: read again only when their files are no longer the ones that were checked.

What is kept is the payload, hash and all checked, not the experience made of it: a caller may change what lies inside.
"""

from __future__ import annotations

import os
import threading
import time

from ufo_experience.schema import Experience
from ufo_experience.store.layout import Layout
from ufo_experience.store.records import Checked

KEPT = 512
LARGEST = 16 * 1024  # bytes of a record that is kept
SETTLED_NS = 2_000_000_000  # a file this young may change again within one tick of its clock

Marks = tuple[tuple[int, ...] | None, ...]


class Recent:
    """The last records that were asked for by id. Safe to use from many threads."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._kept: dict[str, tuple[Marks, Checked | None]] = {}  # the oldest first
        self._lock = threading.Lock()

    def load(self, id: str) -> Experience | None:
        """As `Layout.load`: a change by anybody is seen at the next call."""
        layout, marks = self._layout, self._marks(id)
        kept = self._take(id, marks)
        found = kept or layout.checked(id)
        if found and (kept or self._may_keep(id, marks)):
            self._keep(id, marks, found)
        return None if found is None or layout.there(layout.tombstone(id)) else found.experience()

    def _take(self, id: str, marks: Marks) -> Checked | None:
        """What is kept of files of these marks; it is kept no longer."""
        with self._lock:
            then, found = self._kept.pop(id, ((), None))
        return found if then == marks else None

    def _may_keep(self, id: str, marks: Marks) -> bool:
        """True when files of these marks are small, have settled, and were not exchanged while they were read."""
        there = [mark for mark in marks if mark is not None]
        edge = time.time_ns() - SETTLED_NS
        return all(size <= LARGEST and changed < edge for size, changed, *_ in there) and marks == self._marks(id)

    def _keep(self, id: str, marks: Marks, found: Checked) -> None:
        with self._lock:
            self._kept[id] = marks, found
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]

    def _marks(self, id: str) -> Marks:
        """What tells a record and its status from any other: size, times, place on the disk, rights."""
        infos = (self._layout.info(path) for path in (self._layout.record(id), self._layout.status(id)))
        return tuple(None if info is None else _mark(info) for info in infos)


def _mark(info: os.stat_result) -> tuple[int, ...]:
    return (
        info.st_size,
        info.st_mtime_ns,
        info.st_ctime_ns,
        info.st_ino,
        info.st_dev,
        info.st_mode,
        info.st_uid,
    )
