"""What trusted runs agree on: names and values that stand in runs of different sessions, read from the catalog.

So are the runs that are compared for sealed constants (see `constants`), and for where runs of the same words ended
otherwise (see `forks`): a record is opened only to be shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ufo_experience.errors import DataError
from ufo_experience.index.catalog import Catalog, Mask, key_hash
from ufo_experience.index.document import fact_term, fields_term, own_text
from ufo_experience.index.runs import Run, TypedRun, way_of
from ufo_experience.retrieve.constants import RUNS, Places, by_place, constants_of
from ufo_experience.retrieve.credit import harmful
from ufo_experience.retrieve.forks import leaving
from ufo_experience.schema import Experience
from ufo_experience.text.alike import masked_alike
from ufo_experience.text.applications import application_key
from ufo_experience.text.slots import mask_slots
from ufo_experience.index.document import fact

_MOST = 64  # rows looked at for one value
_MOST_RUNS = 32  # of like fields, the newest, that are compared
_MOST_PARTED = 8  # of runs that ended otherwise, the newest
_NOBODY = -1  # the row of no run
_KEPT = 8_192  # answers kept: the same window titles and buttons come again in every question
_KEPT_RUNS = 2_048  # of which is kept what is compared

Rows = NDArray[np.int64]
_Key = tuple[str, str]  # task and application
_Identity = tuple[bytes, float]  # id of a record, and when it was made
_K = TypeVar("_K")
_V = TypeVar("_V")


class Records(Protocol):
    """Where records are read."""

    def get(self, id: str) -> Experience:
        """The live record with this id, the caller's own. Raises `DataError` where it cannot be read."""
        ...


class CatalogAgreement:
    """What runs agree on, over the trusted, successful, own runs of a catalog; `records` gives them by id."""

    def __init__(
        self, catalog: Catalog, trusted: Mask, records: Records | None = None, before: CatalogAgreement | None = None
    ) -> None:
        """What was read of the runs of an earlier catalog of the same generation is taken from `before`."""
        self._catalog, self._records = catalog, records
        self._counted = trusted & ~catalog.column("imported") & (catalog.column("success") == 1)
        self._rows = lru_cache(_KEPT)(self._find_rows)
        self._agreed = lru_cache(_KEPT)(self._are_several)
        self._of_task = lru_cache(_KEPT)(self._rows_of_task)
        self._of_fields = lru_cache(_KEPT)(self._newest_of_fields)
        self._masked_of = lru_cache(_KEPT)(catalog.masked)
        same = before is not None and before._catalog.terms[0] is catalog.terms[0]  # published rows keep their numbers
        self._published: dict[str, Rows] = before._published if before and same else {}
        self._runs: dict[_Identity, Run] = before._runs if before and same else {}
        self._places_before: dict[_Key, tuple[list[_Identity], str, Places]] = (
            before._places_before if before and same else {}
        )
        self._places: dict[_Key, Places] = {}
        self._parted: dict[str, int] = {}

    def agreed(self, text: str, application: str | None) -> bool:
        """True when runs of `RUNS` different sessions and requests hold this name or value in the application."""
        return self._agreed(fact(text, application))

    def share(self, text: str, experience: Experience) -> tuple[int, int]:
        """(sessions that hold the name, sessions) among the runs of the same task."""
        of_task = self._of_task(experience.state.task)
        holding = _among(of_task, self._rows(fact(text, experience.state.application)))
        return len(self._sessions(of_task[holding])), len(self._sessions(of_task))

    def constants(self, experience: Experience, task: str) -> Mapping[str, str]:
        """Placeholder → value, for what the runs of a record's task typed alike and is due for `task`, too."""
        if not experience.slots:
            return {}
        key = (experience.state.task, experience.state.application or "")
        known = self._places.get(key)
        if known is None:
            known = _keep(self._places, key, self._find_places(key, experience))
        return constants_of(experience, known, task)

    def _find_places(self, key: _Key, experience: Experience) -> Places:
        """What the newest runs of the task typed; what an earlier catalog was told of the same runs stands."""
        rows, request = self._newest_alike(experience, "", _MOST_RUNS), _request(experience)
        runs, before = list(map(self._identity, rows)), self._places_before.get(key)
        if before is not None and before[:2] == (runs, request):
            return before[2]
        return _keep(self._places_before, key, (runs, request, by_place(self._typed(experience, rows))))[2]

    def parted(self, experience: Experience) -> Experience | None:
        """The newest counted run of the same words that went another way in the end; None where all went alike.

        What is found is kept by the id of the record, which is one of the store.
        """
        known = self._parted.get(experience.id)
        row = _keep(self._parted, experience.id, self._find_parted(experience)) if known is None else known
        return None if row == _NOBODY else self._open(row)

    def same_steps(self, row: int, others: Rows) -> list[bool]:
        """For each of some rows whether it and `row` are counted runs that took the same steps in one application, in
        different sessions."""
        session, application = (self._catalog.column(name) for name in ("session", "application"))
        comparable = (session[others] != session[row]) & (application[others] == application[row])
        comparable &= self._counted[others] & self._counted[row]
        steps = self._run(row).way.steps if comparable.any() else ()
        pairs = zip(others.tolist(), comparable.tolist(), strict=True)
        return [bool(steps) and same and self._run(other).way.steps == steps for other, same in pairs]

    def _find_parted(self, experience: Experience) -> int:
        (row,) = self._catalog.find([experience.id]).tolist()
        own = self._run(row).way if row >= 0 else way_of(experience)
        if not own.end:
            return _NOBODY
        others = self._newest_alike(experience, fact(own.end, experience.state.application), _MOST_PARTED)
        for other in self._alike(others, experience, self._masked(experience, row)):
            if leaving(experience, own, self._run(other).way) is not None:
                return other
        return _NOBODY

    def _typed(self, experience: Experience, rows: Sequence[int]) -> Iterator[TypedRun]:
        """What runs of the same task in the same application typed, of those in some rows.

        Of the same task are those of its canonical name, and those that typed into the same fields for a request that
        reads alike: a name at the beginning of a request looks like a word.
        """
        state = experience.state
        (own,) = self._catalog.find([experience.id]).tolist()
        wanted = self._masked(experience, own)
        for row in self._alike(rows, experience, wanted):
            way, typed = self._run(row)
            same = way.task == state.task or masked_alike(wanted, self._masked_of(row))
            if same and way.application == state.application:
                yield typed

    def _newest_alike(self, experience: Experience, end: str, most: int) -> list[int]:
        """The newest counted rows of the same task, and of those that typed into the same fields; with an `end`, a
        `fact`, those that hold it and what has hurt left out.
        """
        of_task = self._beside(self._of_task(experience.state.task), end)
        rows = np.sort(np.concatenate([of_task, self._of_fields(fields_term(experience), end)]))
        newest: list[int] = self._newest(rows[np.append(True, rows[1:] != rows[:-1])[: len(rows)]], most).tolist()
        return newest

    def _newest_of_fields(self, term: str, end: str) -> Rows:
        return self._newest(self._beside(self._with_term(term), end), _MOST_RUNS)

    def _beside(self, rows: Rows, end: str) -> Rows:
        """The rows without those that hold `end`, and without what has hurt; all where there is none."""
        return rows[~_among(rows, self._rows(end)) & ~harmful(self._catalog, rows)] if end else rows

    def _masked(self, experience: Experience, row: int) -> str:
        """The request of a record without its values; the catalog has that of its rows."""
        return self._masked_of(row) if row >= 0 else mask_slots(own_text(experience))

    def _alike(self, rows: Sequence[int], experience: Experience, wanted: str) -> Iterator[int]:
        """Of some rows those that are of the same task and application, as far as the catalog tells; `wanted` is the
        request without its values.
        """
        state = experience.state
        applications, tasks = (self._catalog.column(name)[rows].tolist() for name in ("application", "task"))
        application, task = key_hash(application_key(state.application)), key_hash(state.task)
        for row, its_application, its_task in zip(rows, applications, tasks, strict=True):
            same = its_task == task
            if its_application == application and (same or masked_alike(wanted, self._masked_of(row))):
                yield row

    def _newest(self, rows: Rows, most: int) -> Rows:
        """The newest of some rows, newest first."""
        created = self._catalog.column("created")[rows]
        if len(rows) > most:
            edge = np.partition(created, -most)[-most]
            some = np.concatenate([np.flatnonzero(created > edge), np.flatnonzero(created == edge)[:most]])
            rows, created = rows[some], created[some]
        return np.asarray(rows[np.argsort(-created, kind="stable")][:most], np.int64)

    def _run(self, row: int) -> Run:
        """The run of this row."""
        found = self._runs.get(one := self._identity(row))
        return _keep(self._runs, one, self._catalog.run(row)) if found is None else found

    def _identity(self, row: int) -> _Identity:
        """What tells the run of a row from others, whatever becomes of its number."""
        return self._catalog.column("id")[row], float(self._catalog.column("created")[row])

    def _open(self, row: int) -> Experience | None:
        """The record of a row; one that cannot be read is not shown, and is named by `verify`."""
        try:
            return self._records.get(self._catalog.ids(np.array([row]))[0]) if self._records else None
        except DataError:
            return None

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
        return self._with_term(fact_term(one))

    def _with_term(self, term: str) -> Rows:
        found = self._published.get(term)
        if found is None:
            found = _keep(self._published, term, self._catalog.terms[0].rows_of(term).astype(np.int64), _KEPT)
        behind = [rows for part in self._catalog.terms[1:] if len(rows := part.rows_of(term))]
        found = np.concatenate([found, *behind]).astype(np.int64) if behind else found
        counted: Rows = found[self._counted[found]]
        return counted

    def _sessions(self, rows: Rows) -> set[int]:
        """The sessions of some rows; a record without one is a session of its own."""
        named = self._catalog.column("session")[rows].tolist()
        return {session or -1 - row for session, row in zip(named, rows.tolist(), strict=True)}


def _keep(kept: dict[_K, _V], key: _K, value: _V, most: int = _KEPT_RUNS) -> _V:
    """Keep a value; all that are kept go first where there are too many."""
    if len(kept) >= most:
        kept.clear()
    kept[key] = value
    return value


def _request(run: Experience) -> str:
    return run.state.request or run.state.task


def _among(rows: Rows, some: Rows) -> Mask:
    """Which of the rows stand in `some`, both in order."""
    if not len(some):
        return np.zeros(len(rows), np.bool_)
    places = np.minimum(np.searchsorted(some, rows), len(some) - 1)
    return np.asarray(some[places] == rows, np.bool_)
