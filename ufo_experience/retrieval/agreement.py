"""What trusted runs agree on, read from the catalog: names and values that stand in runs of different sessions."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.catalog import Catalog, Mask
from ufo_experience.index.document import fact_term
from ufo_experience.schema import Experience
from ufo_experience.trust.values import fact

RUNS = 2  # different sessions with different requests that must hold a value for it to be a constant
_MOST = 64  # rows looked at for one value
_KEPT = 8_192  # answers kept: the same window titles and buttons come again in every question

Rows = NDArray[np.int64]


class CatalogAgreement:
    """`trust.values.Agreement` over the trusted, successful, own runs of a catalog; opens no record file."""

    def __init__(self, catalog: Catalog, trusted: Mask) -> None:
        self._catalog = catalog
        self._counted = trusted & ~catalog.column("imported") & (catalog.column("success") == 1)
        self._rows = lru_cache(_KEPT)(self._find_rows)
        self._agreed = lru_cache(_KEPT)(self._are_several)
        self._of_task = lru_cache(_KEPT)(self._rows_of_task)

    def agreed(self, text: str, application: str | None) -> bool:
        """True when runs of `RUNS` different sessions and requests hold this name or value in the application."""
        return self._agreed(fact(text, application))

    def share(self, text: str, experience: Experience) -> tuple[int, int]:
        """(sessions that hold the name, sessions) among the runs of the same task."""
        of_task = self._of_task(experience.state.task)
        holding = _among(of_task, self._rows(fact(text, experience.state.application)))
        return len(self._sessions(of_task[holding])), len(self._sessions(of_task))

    def _rows_of_task(self, task: str) -> Rows:
        rows = self._catalog.rows_of_task(task)
        return np.asarray(rows[self._counted[rows]], np.int64)

    def _are_several(self, one: str) -> bool:
        rows = self._rows(one)[:_MOST]
        return len(self._sessions(rows)) >= RUNS and self._hold_several_requests(rows)

    def _hold_several_requests(self, rows: Rows) -> bool:
        seen: set[str] = set()
        for row in rows.tolist():
            seen.add(self._catalog.text(row).strip().casefold())
            if len(seen) >= RUNS:
                return True
        return False

    def _find_rows(self, one: str) -> Rows:
        """The counted rows that hold a name or value, written as `fact`."""
        found: Rows = self._catalog.postings([fact_term(one)])[0][0].astype(np.int64)
        counted: Rows = found[self._counted[found]]
        return counted

    def _sessions(self, rows: Rows) -> set[int]:
        """The sessions of some rows; a record without one is a session of its own."""
        named = self._catalog.column("session")[rows].tolist()
        return {session or -1 - row for session, row in zip(named, rows.tolist(), strict=True)}


def _among(rows: Rows, some: Rows) -> Mask:
    """Which of the rows stand in `some`, both in order."""
    if not len(some):
        return np.zeros(len(rows), np.bool_)
    places = np.minimum(np.searchsorted(some, rows), len(some) - 1)
    return np.asarray(some[places] == rows, np.bool_)
