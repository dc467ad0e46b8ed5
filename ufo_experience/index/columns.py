"""What an index may be filtered by, in memory, by the number of a row: a filter for FAISS is made in microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.base import Filter, application_of, env_of
from ufo_experience.schema import Trust

_FIELDS = [("application", "i4"), ("env", "i4"), ("session", "i4"), ("trust", "i1"), ("imported", "?")]
_FIELDS += [("raw", "i4"), ("masked", "i4")]
_TRUSTED = Filter(min_trust=Trust.VERIFIED, min_trust_imported=Trust.APPROVED)
_ABSENT = -1  # trust of a number that no row has
Mask = NDArray[np.bool_]


class Columns:
    """Columns of all rows up to a place in their sequence. After a deletion (another `epoch`) they are read anew."""

    def __init__(self, epoch: int = 0) -> None:
        self.epoch, self.sequence = epoch, 0
        self._names: dict[Any, int] = {}
        self._data = np.zeros(0, _FIELDS)

    def put(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Take in (number, application, env, session, trust, imported, raw, masked, sequence), by sequence."""
        if not rows:
            return
        most = max(row[0] for row in rows) + 1
        if most > len(self._data):
            grown = np.zeros(max(most, 2 * len(self._data)), _FIELDS)
            grown["trust"] = _ABSENT
            grown[: len(self._data)] = self._data
            self._data = grown
        for number, application, env, session, *others in rows:
            named = (self._name(application), self._name(env), self._name(session))
            self._data[number] = (*named, *others[:-1])
        self.sequence = rows[-1][-1]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(np.count_nonzero(self._data["trust"] > _ABSENT))

    def lengths(self) -> dict[str, float]:
        """The mean length of a trusted text in words, as it is and masked."""
        there = self._data[self.mask(_TRUSTED, None)]
        return {name: float(there[name].mean()) if len(there) else 1.0 for name in ("raw", "masked")}

    def trusted(self) -> int:
        """How many rows may be shown by default: statistics come from these."""
        return int(np.count_nonzero(self.mask(_TRUSTED, None)))

    def mask(self, filter: Filter, only: Sequence[int] | None) -> Mask:
        """Which numbers pass a filter; `only` are the numbers of its ids."""
        data = self._data
        own, foreign = filter.min_trust, filter.min_trust_imported or filter.min_trust
        found: Mask = data["trust"] >= np.where(data["imported"], foreign.rank, own.rank)
        if filter.application is not None:
            found &= data["application"] == self._names.get(application_of(filter.application), -1)
        if filter.env is not None:
            found &= data["env"] == self._names.get(env_of(filter.env), -1)
        if filter.exclude_session:
            found &= data["session"] != self._names.get(filter.exclude_session, -1)
        if only is not None:
            among = np.zeros(len(found), bool)
            among[list(only)] = True
            found &= among
        return found

    def _name(self, text: Any) -> int:
        return self._names.setdefault(text, len(self._names))
