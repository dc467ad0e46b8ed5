"""Records that are kept for as long as their files do not change: the same few answer question after question.

They are kept as bytes that were decoded and judged once: the garbage collector need not look through them, and what is
given out is the caller's own, so that nobody who changes a dictionary in it changes the next answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from ufo_experience.schema import Experience, validate
from ufo_experience.store.base import ExperienceStore, Stamp, Stamped

MAX_BYTES = 4 << 20  # of the records that are kept


@dataclass(frozen=True)
class _Kept:
    """A record as JSON, trust and usage included, and what the system said of its files before they were read."""

    stamp: Stamp
    data: str


class KeptRecords:
    """Reads the records of a store. Safe to use from many threads: at worst a record is read twice."""

    def __init__(self, store: ExperienceStore) -> None:
        """A store that cannot stamp its records is read every time."""
        self._store = store
        self._stamped = store if isinstance(store, Stamped) else None
        self._kept: dict[str, _Kept] = {}
        self._bytes = 0

    def get(self, id: str) -> Experience:
        """The live record with this id, as it is now. Raises as `ExperienceStore.get`."""
        stamp = self._stamped.stamp(id) if self._stamped else None
        if stamp is None:
            return self._store.get(id)
        kept = self._kept.get(id)
        if kept is not None and kept.stamp == stamp:
            return _experience(kept)
        experience = self._store.get(id)
        self._keep(id, _Kept(stamp, experience.model_dump_json(exclude_unset=True)))
        return experience

    def _keep(self, id: str, one: _Kept) -> None:
        if self._bytes > MAX_BYTES:
            self.forget()
        self._bytes += len(one.data)
        self._kept[id] = one

    def forget(self) -> None:
        """Let all go."""
        self._kept, self._bytes = {}, 0


def _experience(kept: _Kept) -> Experience:
    return validate(Experience, kept.data, json_text=True)
