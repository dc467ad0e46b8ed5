"""Records that are kept decoded for as long as their files do not change: the same few answer question after question.

What is given out is the caller's own: nobody who changes a dictionary in it changes the next answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from ufo_experience.schema import Experience
from ufo_experience.store.base import ExperienceStore, Stamp, Stamped

MAX_BYTES = 2 << 20  # of the files whose records are kept; decoded they take about eight times as much
_M = TypeVar("_M", bound=BaseModel)


@dataclass(frozen=True)
class _Kept:
    """A record, and what the system said of its files before they were read."""

    stamp: Stamp
    experience: Experience


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
        if kept is None or kept.stamp != stamp:
            kept = self._keep(id, _Kept(stamp, self._store.get(id)))
        return own_copy(kept.experience)

    def look(self, id: str) -> Experience:
        """The same, to be looked at and let go: not a copy, and not kept. Raises as `get`."""
        kept = self._kept.get(id)
        same = kept is not None and self._stamped is not None and self._stamped.stamp(id) == kept.stamp
        return kept.experience if kept and same else self._store.get(id)

    def _keep(self, id: str, one: _Kept) -> _Kept:
        if self._bytes > MAX_BYTES:
            self.forget()
        self._bytes += one.stamp.size
        self._kept[id] = one
        return one

    def forget(self) -> None:
        """Let all go."""
        self._kept, self._bytes = {}, 0


def own_copy(one: Experience) -> Experience:
    """A copy that shares nothing with the record that could be changed."""
    steps = tuple(_with_own(step, parameters=step.parameters) for step in one.action.steps)
    action = _with_own(one.action, parameters=one.action.parameters)
    action.__dict__["steps"] = steps
    copy = _with_own(one, slots=one.slots, sealed=one.sealed)
    copy.__dict__["action"] = action
    copy.__dict__["state"] = _with_own(one.state, signals=one.state.signals)
    return copy


def _with_own(model: _M, **values: Mapping[str, Any]) -> _M:
    """A copy of a frozen model with copies of these dictionaries: `model_copy` for what is known to be valid."""
    copy = model.__copy__()
    copy.__dict__.update({name: {key: _own(item) for key, item in value.items()} for name, value in values.items()})
    return copy


def _own(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _own(item) for key, item in value.items()}
    return [_own(item) for item in value] if isinstance(value, list) else value
