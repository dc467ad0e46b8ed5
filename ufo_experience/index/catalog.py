"""What a query needs to know about every record, as columns: filtering and ranking open no record files.

A catalog is a snapshot: `with_changes` returns a new one and leaves the old as it was, so that threads may read it
while another grows. Rows of a saved catalog are sorted by id; later ones follow in the order they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ufo_experience.errors import CorruptError
from ufo_experience.index.base import Attributes, Filter
from ufo_experience.index.document import SEPARATOR, Described, Terms, describe, terms_of
from ufo_experience.index.growing import GrowingColumns
from ufo_experience.index.postings import Postings, StringColumn
from ufo_experience.index.runs import Run, read_run
from ufo_experience.schema import Experience
from ufo_experience.text.applications import application_key
from ufo_experience.text.index_terms import term_hash
from ufo_experience.trust.policy import shown_rank

Mask = NDArray[np.bool_]
RowNumbers = NDArray[np.int64]
Array = NDArray[Any]

ARRAYS = ("rows", "texts_blob", "texts_ends", "terms", "terms_ptr", "terms_rows", "terms_weights")  # of a compact one
PARTS = 8  # of a catalog; beyond, all but the first become one
FILTERED = ("application", "env", "trust", "imported", "success")
UNKNOWN = -1  # success of a run that nobody has judged
_SUCCESS = {1: True, 0: False, UNKNOWN: None}
_ID_LENGTH = 32

ROW = np.dtype(
    [
        ("id", f"S{_ID_LENGTH}"),
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


class Entry(NamedTuple):
    """What an index takes in of a record: its row, what it may be filtered by, and what it is found by."""

    id: str
    row: tuple[object, ...]
    attributes: Attributes
    described: Described


def entry_of(experience: Experience, described: Described | None = None) -> Entry:
    """The entry of a record, with what was worked out of it before."""
    described = described or describe(experience)
    return Entry(experience.id, _row(experience, described.terms.length), attributes(experience), described)


def key_hash(name: str | None) -> int:
    """Hash of a name for comparing; 0 for no name."""
    return term_hash(name.strip().casefold()) if name else 0


def attributes(experience: Experience) -> Attributes:
    """What an index may filter this record by."""
    return Attributes(
        experience.state.application,
        experience.state.env,
        shown_rank(experience),
        experience.provenance.origin == "import",
        experience.outcome.success,
    )


def filter_mask(rows: Array | Mapping[str, Array], live: Mask, filter: Filter) -> Mask:
    """Which rows are live and pass the filter; `rows` has the fields `FILTERED`."""
    mask: Mask = live & (rows["trust"] >= min(filter.min_trust, filter.min_trust_imported))
    if filter.min_trust != filter.min_trust_imported:
        is_looser = filter.min_trust_imported < filter.min_trust
        stricter = max(filter.min_trust, filter.min_trust_imported)
        mask &= (rows["imported"] == is_looser) | (rows["trust"] >= stricter)
    if filter.application is not None:
        mask &= rows["application"] == key_hash(application_key(filter.application))
    if filter.env is not None:
        mask &= rows["env"] == key_hash(filter.env)
    if filter.success is not None:
        mask &= rows["success"] == int(filter.success)
    return mask


@dataclass(frozen=True)
class Catalog:
    """Columns of all records; a row whose `live` is False was removed or replaced."""

    rows: Array
    live: Mask
    texts: tuple[StringColumn, ...]
    terms: tuple[Postings, ...]
    _columns: dict[str, Array] = field(default_factory=dict, repr=False, compare=False)
    _ordered: dict[str, tuple[Array, RowNumbers]] = field(default_factory=dict, repr=False, compare=False)
    _growing: GrowingColumns = field(default_factory=GrowingColumns, repr=False, compare=False)

    @classmethod
    def build(cls, experiences: Iterable[Experience]) -> Catalog:
        """Columns of `experiences`, sorted by id."""
        return cls.of([entry_of(one) for one in experiences])

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Catalog:
        """Columns of entries, sorted by id."""
        in_order = sorted(entries, key=attrgetter("id"))
        return cls._pack([(one.row, one.described.text, one.described.terms) for one in in_order])

    @classmethod
    def _pack(cls, records: Sequence[tuple[tuple[object, ...], str, Terms]]) -> Catalog:
        rows = np.array([row for row, _, _ in records], dtype=ROW)
        texts = StringColumn.build([text for _, text, _ in records])
        terms = Postings.build([(terms.hashes, terms.weights) for _, _, terms in records])
        return cls(rows, np.ones(len(rows), np.bool_), (texts,), (terms,))

    def __len__(self) -> int:
        return int(np.count_nonzero(self.live))

    def ids(self, rows: RowNumbers | None = None) -> list[str]:
        """Ids of the given rows, or of all live rows."""
        chosen = np.flatnonzero(self.live) if rows is None else rows
        return [identifier.decode("ascii") for identifier in self.column("id")[chosen].tolist()]

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """Ids of live rows that begin with `prefix` (ASCII), in order."""
        edges = [text.encode("ascii") for text in (prefix, f"{prefix}\x7f")]
        found = np.concatenate(
            [np.empty(0, np.int64), *(rows[slice(*names.searchsorted(edges))] for names, rows in self._by_id())]
        )
        return sorted(self.ids(found[self.live[found]]))

    def is_stale(self, experience: Experience) -> bool:
        """True when the row of this record shows another trust or usage."""
        row = int(self.find([experience.id])[0])
        return (
            row < 0 or self.rows[row].tobytes() != np.array(_row(experience, self.rows["length"][row]), ROW).tobytes()
        )

    def find(self, ids: Sequence[str]) -> RowNumbers:
        """Live row number of each id, -1 where there is none."""
        wanted = np.array([_name(identifier) for identifier in ids], dtype=f"S{_ID_LENGTH}")
        found = np.full(len(ids), -1)
        for names, rows in self._by_id():
            place = np.maximum(names.searchsorted(wanted, side="right") - 1, 0)
            there = (names[place] == wanted) & self.live[rows[place]]
            found[there] = rows[place[there]]
        return found

    def _by_id(self) -> Iterator[tuple[Array, RowNumbers]]:
        """Ids in order and their rows: of the published rows, and of those that were added since, if any. Of several
        rows with one id the newest, alone alive, is last.
        """
        first = self.published
        for name, start, end in (("published", 0, first), ("later", first, len(self.rows))):
            if start < end:
                if name not in self._ordered:
                    ids = self.column("id")[start:end]
                    in_order = bool((ids[1:] > ids[:-1]).all())
                    order = np.arange(len(ids)) if in_order else np.argsort(ids, kind="stable")
                    self._ordered[name] = ids if in_order else ids[order], order + start
                yield self._ordered[name]

    def column(self, name: str) -> Array:
        """One field of all rows, contiguous (a record array is slow to scan)."""
        if name not in self._columns:
            self._columns[name] = np.ascontiguousarray(self.rows[name])
        return self._columns[name]

    def rows_of_task(self, task: str) -> RowNumbers:
        """Live rows of records with this canonical task."""
        rows = np.flatnonzero(self.column("task") == np.uint64(key_hash(task)))
        return rows[self.live[rows]]

    def ids_with_term(self, term: str) -> list[str]:
        """Ids of the live rows that hold a term."""
        rows = self.postings([term])[0][0]
        return self.ids(rows[self.live[rows]].astype(np.int64))

    def text(self, row: int) -> str:
        """The text the record of this row is found by."""
        return self._indexed(row).partition(SEPARATOR)[0]

    def parts(self, row: int) -> tuple[str, str, str, str, str]:
        """The text of this row, what its steps clicked, its frame (`frames.read_frame`), the text without values, and
        the frames of its other wordings."""
        text, clicked, frame, masked, wordings, _ = self._indexed(row).split(SEPARATOR)
        return text, clicked, frame, masked, wordings

    def masked(self, row: int) -> str:
        """The text of this row without its values (`mask_slots`)."""
        return self._indexed(row).rsplit(SEPARATOR, 3)[1]

    def run(self, row: int) -> Run:
        """The run of this row, as it is compared with others."""
        text, *_, run = self._indexed(row).split(SEPARATOR)
        success = _SUCCESS[int(self.column("success")[row])]
        return read_run(run, self.column("id")[row].decode("ascii"), text, success)

    def _indexed(self, row: int) -> str:
        for part in self.texts:
            if row < len(part):
                return part[row]
            row -= len(part)
        raise IndexError(row)

    def postings(self, terms: Sequence[str]) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """For each term the rows that hold it and its weight in each row; rows no longer live are among them."""
        found = [part.find(terms) for part in self.terms]
        if len(found) == 1:
            return found[0]
        columns = [tuple(zip(*same, strict=True)) for same in zip(*found, strict=True)]
        return [(np.concatenate(rows), np.concatenate(weights)) for rows, weights in columns]

    def mask(self, filter: Filter) -> Mask:
        """Which rows are live and pass the filter."""
        return filter_mask({name: self.column(name) for name in FILTERED}, self.live, filter)

    def as_published(self, filter: Filter) -> Mask:
        """Which of the published rows passed the filter then, whatever became of them."""
        first = self.published
        rows = {name: self.column(name)[:first] for name in FILTERED}
        return filter_mask(rows, np.ones(first, np.bool_), filter)

    @property
    def published(self) -> int:
        """How many rows, the first ones, came with the generation; the others were added since."""
        return len(self.texts[0])

    def with_changes(
        self, added: Sequence[Entry], updated: Sequence[Experience] = (), removed: Sequence[str] = ()
    ) -> Catalog:
        """A new catalog with `added` behind, the rows of `updated` replaced (their texts stay), and `removed` gone."""
        records = [(one.row, one.described.text, one.described.terms) for one in added]
        for one, row in zip(updated, self.find([one.id for one in updated]).tolist(), strict=True):
            terms = terms_of(one)
            records.append((_row(one, terms.length), self._indexed(row), terms))
        return self.with_rows(self._pack(records) if records else None, removed)

    def with_rows(self, tail: Catalog | None, removed: Sequence[str] = ()) -> Catalog:
        """A new catalog with the (live) rows of another behind, replacing rows of the same ids, and `removed` gone."""
        ids = [] if tail is None else tail.ids()
        gone = self.find([*removed, *ids])
        live = self.live.copy()
        live[gone[gone >= 0]] = False
        if tail is None or not ids:
            return replace(self, live=live)
        texts = self.texts + tail.texts
        terms = self.terms + tuple(part.shifted(len(self.rows)) for part in tail.terms)
        if len(texts) > PARTS:
            texts, terms = (texts[0], StringColumn.join(texts[1:])), (terms[0], Postings.join(terms[1:]))
        grown, known = self._growing.grown, dict(self._columns)
        columns = {name: grown(name, column, tail.rows[name]) for name, column in known.items()}
        ordered = {name: ids for name, ids in self._ordered.items() if name == "published"}
        rows, live = grown("rows", self.rows, tail.rows), np.concatenate([live, tail.live])
        return Catalog(rows, live, texts, terms, columns, ordered, self._growing)

    def compact(self) -> Catalog:
        """The same live rows, sorted by id, in one piece."""
        if self.live.all() and len(self.terms) == 1:
            return self
        alive = np.flatnonzero(self.live)
        return self._in_order(alive[np.argsort(self.rows["id"][alive], kind="stable")], self.terms)

    def extract(self, ids: Sequence[str]) -> Catalog:
        """The live rows of some ids that were added since the generation, in one piece."""
        rows = np.sort(self.find(ids))
        return self._in_order(rows[rows >= self.published], self.terms[1:] or (Postings.build([]),))

    def _in_order(self, order: RowNumbers, terms: Sequence[Postings]) -> Catalog:
        """The rows of these numbers, in this order, whose terms are all in `terms`."""
        new_row = np.full(len(self.rows), -1, np.int64)
        new_row[order] = np.arange(len(order))
        return Catalog(
            self.rows[order],
            np.ones(len(order), np.bool_),
            (StringColumn.build([self._indexed(int(row)) for row in order]),),
            (Postings.merge(terms, new_row),),
        )

    def arrays(self) -> dict[str, Array]:
        """A compact catalog as named arrays, to be saved."""
        texts, terms = self.texts[0], self.terms[0]
        columns = (self.rows, texts.blob, texts.ends, terms.terms, terms.ptr, terms.rows, terms.weights)
        return dict(zip(ARRAYS, columns, strict=True))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Catalog:
        """The inverse of `arrays`. Raises `CorruptError` for rows of another form."""
        rows = arrays["rows"]
        if rows.dtype != ROW or rows.ndim != 1 or len(arrays["texts_ends"]) != len(rows):
            raise CorruptError("not the columns of this version", file="rows.npy")
        texts = StringColumn(arrays["texts_blob"], arrays["texts_ends"])
        terms = Postings(*(arrays[name] for name in ARRAYS[3:]))
        return cls(rows, np.ones(len(rows), np.bool_), (texts,), (terms,))


def _name(identifier: str) -> bytes:
    """An id as the rows hold it; what is too long or not ASCII, and so no id, as what no row holds."""
    return identifier.encode("ascii", "replace") if len(identifier) <= _ID_LENGTH else b"?"


def _row(experience: Experience, length: int) -> tuple[object, ...]:
    state, outcome, usage = experience.state, experience.outcome, experience.usage
    return (
        experience.id.encode("ascii"),
        key_hash(application_key(state.application)),
        key_hash(state.env),
        key_hash(state.phase),
        key_hash(state.task),
        key_hash(experience.provenance.session),
        shown_rank(experience),
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
