"""What trusted runs agree on, read from the catalog: names and values that stand in runs of different sessions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.catalog import Catalog, Mask
from ufo_experience.index.document import fact_term
from ufo_experience.schema import Experience
from ufo_experience.trust.values import fact

RUNS = 2  # different sessions with different requests that must hold a value for it to be a constant
_MOST = 64  # rows looked at for one value

Rows = NDArray[np.int64]


class CatalogAgreement:
    """`trust.values.Agreement` over the trusted, successful, own runs of a catalog; opens no record file."""

    def __init__(self, catalog: Catalog, trusted: Mask) -> None:
        self._catalog = catalog
        self._counted = trusted & ~catalog.column("imported") & (catalog.column("success") == 1)

    def agreed(self, text: str, application: str | None) -> bool:
        """True when runs of `RUNS` different sessions and requests hold this name or value in the application."""
        rows = self._rows(text, application)[:_MOST]
        if len(rows) < RUNS:
            return False
        requests = {self._catalog.text(int(row)).strip().casefold() for row in rows}
        return len(requests) >= RUNS and len(self._sessions(rows)) >= RUNS

    def share(self, text: str, experience: Experience) -> tuple[int, int]:
        """(sessions that hold the name, sessions) among the runs of the same task."""
        of_task = self._catalog.rows_of_task(experience.state.task)
        of_task = of_task[self._counted[of_task]]
        rows = self._rows(text, experience.state.application)
        return len(self._sessions(np.intersect1d(rows, of_task))), len(self._sessions(of_task))

    def _rows(self, text: str, application: str | None) -> Rows:
        """The counted rows that hold a name or value."""
        found: Rows = self._catalog.postings([fact_term(fact(text, application))])[0][0].astype(np.int64)
        counted: Rows = found[self._counted[found]]
        return counted

    def _sessions(self, rows: Rows) -> set[int]:
        """The sessions of some rows; a record without one is a session of its own."""
        named = self._catalog.column("session")[rows].tolist()
        return {session or -1 - row for session, row in zip(named, rows.tolist(), strict=True)}
