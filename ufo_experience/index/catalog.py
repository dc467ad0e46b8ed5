"""What a query needs to know about every record, as columns: filtering and ranking open no record files.

A catalog is a snapshot: `with_changes` returns a new one and leaves the old as it was, so that threads may read it
while another grows. Rows of a saved catalog are sorted by id; later ones follow in the order they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.applications import application_key
from ufo_experience.index.base import Filter
from ufo_experience.index.postings import Postings, term_hash
from ufo_experience.index.texts import Texts
from ufo_experience.schema import Experience

Mask = NDArray[np.bool_]
RowNumbers = NDArray[np.int64]
Features = Callable[[Experience], tuple[Mapping[str, float], int]]
Array = NDArray[Any]

UNKNOWN = -1  # success of a run that nobody has judged
ROW = np.dtype(
    [
        ("id", "S32"),
        ("application", "u8"),
        ("env", "u8"),
        ("phase", "u8"),
        ("task", "u8"),
        ("session", "u8"),
        ("trust", "i1"),
        ("success", "i1"),
        ("imported", "?"),
        ("steps", "i4"),
        ("length", "i4"),
        ("created", "f8"),
        ("score", "f4"),
        ("salience", "f4"),
        ("injected", "i4"),
        ("helped", "i4"),
        ("hurt", "i4"),
        ("last_success", "f8"),
    ]
)


def name_hash(name: str | None) -> int:
    """Hash of a name for comparing; 0 for no name."""
    return term_hash(name.strip().casefold()) if name else 0


def task_text(experience: Experience) -> str:
    """The text an experience is found by: the user's words where there are any, else the canonical intent."""
    return experience.state.request or experience.state.task


def filter_mask(rows: Array, live: Mask, filter: Filter) -> Mask:
    """Which rows are live and pass the filter; `rows` has the fields application, env, trust and success."""
    mask: Mask = live & (rows["trust"] >= filter.min_trust)
    if filter.application is not None:
        mask &= rows["application"] == name_hash(application_key(filter.application))
    if filter.env is not None:
        mask &= rows["env"] == name_hash(filter.env)
    if filter.success is not None:
        mask &= rows["success"] == int(filter.success)
    return mask


@dataclass(frozen=True)
class Catalog:
    """Columns of all records; a row whose `live` is False was removed or replaced."""

    rows: Array
    live: Mask
    texts: tuple[Texts, ...]
    terms: tuple[Postings, ...]
    features: Features

    @classmethod
    def build(cls, experiences: Iterable[Experience], features: Features) -> Catalog:
        """Columns of `experiences`, sorted by id; `features` gives a record's weighted terms and its length."""
        return cls._pack(sorted(experiences, key=lambda experience: experience.id), features, first_row=0)

    @classmethod
    def _pack(cls, experiences: Sequence[Experience], features: Features, first_row: int) -> Catalog:
        described = [features(experience) for experience in experiences]
        rows = np.array(
            [_row(one, length) for one, (_, length) in zip(experiences, described, strict=True)], dtype=ROW
        ).reshape(-1)
        texts = Texts.build([task_text(experience) for experience in experiences])
        terms = Postings.build((terms for terms, _ in described), first_row)
        return cls(rows, np.ones(len(rows), np.bool_), (texts,), (terms,), features)

    def __len__(self) -> int:
        return int(self.live.sum())

    def ids(self, rows: RowNumbers | None = None) -> list[str]:
        """Ids of the given rows, or of all live rows."""
        chosen = np.flatnonzero(self.live) if rows is None else rows
        return [identifier.decode("ascii") for identifier in self.rows["id"][chosen]]

    def find(self, ids: Sequence[str]) -> RowNumbers:
        """Live row number of each id, -1 where there is none."""
        wanted = np.array([identifier.encode("ascii") for identifier in ids], dtype="S32")
        order = np.argsort(self.rows["id"], kind="stable")
        names = self.rows["id"][order]
        last = np.searchsorted(names, wanted, side="right") - 1
        candidate = order[np.maximum(last, 0)] if len(order) else np.full(len(ids), -1)
        found = (last >= 0) & (self.rows["id"][candidate] == wanted) if len(order) else np.zeros(len(ids), np.bool_)
        return np.where(found & (self.live[candidate] if len(order) else False), candidate, -1)

    def text(self, row: int) -> str:
        """The text the record of this row is found by."""
        for part in self.texts:
            if row < len(part):
                return part[row]
            row -= len(part)
        raise IndexError(row)

    def postings(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Rows that hold `term` and its weight in each; rows no longer live are among them."""
        found = [part.find(term) for part in self.terms]
        if len(found) == 1:
            return found[0]
        return np.concatenate([rows for rows, _ in found]), np.concatenate([weights for _, weights in found])

    def mask(self, filter: Filter) -> Mask:
        """Which rows are live and pass the filter."""
        return filter_mask(self.rows, self.live, filter)

    def with_changes(self, added: Sequence[Experience], removed: Sequence[str] = ()) -> Catalog:
        """A new catalog with `added` inserted (replacing rows of the same id) and `removed` gone."""
        gone = self.find([*removed, *(experience.id for experience in added)])
        live = self.live.copy()
        live[gone[gone >= 0]] = False
        if not added:
            return replace(self, live=live)
        tail = self._pack(added, self.features, first_row=len(self.rows))
        return Catalog(
            np.concatenate([self.rows, tail.rows]),
            np.concatenate([live, tail.live]),
            self.texts + tail.texts,
            self.terms + tail.terms,
            self.features,
        )

    def compact(self) -> Catalog:
        """The same live rows, sorted by id, in one piece."""
        if self.live.all() and len(self.terms) == 1:
            return self
        alive = np.flatnonzero(self.live)
        order = alive[np.argsort(self.rows["id"][alive], kind="stable")]
        new_row = np.full(len(self.rows), -1, np.int64)
        new_row[order] = np.arange(len(order))
        return Catalog(
            self.rows[order],
            np.ones(len(order), np.bool_),
            (Texts.build([self.text(int(row)) for row in order]),),
            (Postings.merge(self.terms, new_row),),
            self.features,
        )

    def arrays(self) -> dict[str, Array]:
        """A compact catalog as named arrays, to be saved."""
        texts, terms = self.texts[0], self.terms[0]
        return {
            "rows": self.rows,
            "texts_blob": texts.blob,
            "texts_ends": texts.ends,
            "terms": terms.terms,
            "terms_ptr": terms.ptr,
            "terms_rows": terms.rows,
            "terms_weights": terms.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], features: Features) -> Catalog:
        """The inverse of `arrays`."""
        rows = arrays["rows"]
        texts = Texts(arrays["texts_blob"], arrays["texts_ends"])
        terms = Postings(*(arrays[name] for name in ("terms", "terms_ptr", "terms_rows", "terms_weights")))
        return cls(rows, np.ones(len(rows), np.bool_), (texts,), (terms,), features)


def _row(experience: Experience, length: int) -> tuple[object, ...]:
    state, outcome, usage = experience.state, experience.outcome, experience.usage
    return (
        experience.id.encode("ascii"),
        name_hash(application_key(state.application)),
        name_hash(state.env),
        name_hash(state.phase),
        name_hash(state.task),
        name_hash(experience.provenance.session),
        experience.trust.rank,
        UNKNOWN if outcome.success is None else int(outcome.success),
        experience.provenance.origin == "import",
        len(experience.action.steps),
        length,
        experience.created_at.timestamp(),
        np.nan if outcome.score is None else outcome.score,
        experience.salience,
        usage.injected,
        usage.helped,
        usage.hurt,
        usage.last_success.timestamp() if usage.last_success else np.nan,
    )
