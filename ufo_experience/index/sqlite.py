"""The index of a folder: rows, words (FTS5) and vectors in the store's SQLite file, FAISS beside it.

It follows the store: each row knows the number of the change it was made at, so whatever was committed by whomever is
taken in before the next question, and a process that died leaves nothing behind but work for the next one.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.embed.base import Embedder, EmbedsPieces, Vectors
from ufo_experience.errors import DataError, ServiceError, StorageError
from ufo_experience.index.base import (
    CROWD,
    LIMIT,
    PROBE,
    SAME_SESSION,
    SAME_TASK,
    Candidate,
    Filter,
    IndexReport,
    Progress,
    Row,
    Share,
    Vector,
    another_length,
    embedded_text,
    masked_words,
    row_from_json,
    row_of,
)
from ufo_experience.index.sqlite_tables import (
    NEAREST,
    PLACES,
    SCHEMA,
    TABLES,
    asks_for_trusted,
    drop_dead,
    erase_what_is_unused,
    forget_rows,
    mark,
    match_of,
    put,
    put_vectors,
    sql_where,
    text_key,
)
from ufo_experience.index.vectors import FolderVectors, packed, unpacked
from ufo_experience.request import Request
from ufo_experience.store.folder import FolderStore

WINDOW = 256  # records that become rows, and texts that are embedded, at a time
NEWER = 1_000  # vectors that may be missing in the file before it is written again by itself
KEPT_ROWS = 8_192
_LOOKS, _BETWEEN_LOOKS = 10, 0.02  # of a check at rows that a writer may be adding; seconds


class SqliteIndex:
    """Rows of a folder store by words and vectors; see `ExperienceIndex`."""

    def __init__(self, store: FolderStore, embedder: Callable[[], Embedder]) -> None:
        """An index that asks `embedder()` for vectors: of new records before the next question where it works on this
        machine, else when `sync` is called."""
        self._store, self._catalog, self._embedder = store, store.catalog, embedder
        self._lock = threading.RLock()
        self._kept_rows: dict[int, Row] = {}
        self._allowed: dict[Filter, NDArray[np.bool_]] = {}
        self._vectors = FolderVectors(self._catalog)
        self._seen: tuple[Any, ...] | None = None
        self._epoch, self._sequence = 0, 0  # of deletions, and of rows, up to which memory follows the file
        self._rows, self._trusted, self._lengths = 0, 0, {"raw": 1.0, "masked": 1.0}
        self._catalog.require("index", "6", SCHEMA)

    # ---- questions ----

    def candidates(
        self, request: Request, *, vector: Vector | None = None, filter: Filter | None = None, limit: int = LIMIT
    ) -> list[Candidate]:
        """The rows nearest by words, by masked words and by cosine; see `ExperienceIndex`."""
        self.refresh()
        filter = filter or Filter()
        asked = {"raw": list(request.words), "masked": masked_words(request)}
        counts = {column: self._counts("trusted", column, words) for column, words in asked.items()}
        numbers: set[int] = set()
        for column, words in asked.items():
            numbers |= set(self._by_words("trusted", column, counts[column], filter, limit))
            if not asks_for_trusted(filter):
                held = self._counts("held", column, words)
                numbers |= set(self._by_words("held", column, held, filter, limit))
        if vector is not None:
            numbers |= set(self._by_vector(vector, filter, limit))
        cosines = {} if vector is None else self._cosines(vector, numbers)
        shares = {name: Share(words, self._weights(counts[name]), self._lengths[name]) for name, words in asked.items()}
        found = [
            Candidate(
                row,
                shares["raw"].of(row.request.words),
                shares["masked"].of(masked_words(row.request)),
                cosines.get(number),
            )
            for number, row in self._load(sorted(numbers)).items()
        ]
        return sorted(found, key=lambda one: (-max(one.words, one.masked, one.cosine or 0.0), one.row.id))

    def rows(
        self, ids: Iterable[str] | None = None, *, filter: Filter | None = None, task_key: str | None = None
    ) -> list[Row]:
        """The rows of some ids, of a task, of a filter, by id."""
        self.refresh()
        filter = filter or Filter()
        where, given = sql_where(filter if ids is None else replace(filter, only=frozenset(ids)))
        if task_key is not None:
            where, given = f"{where} AND task_key = ?", [*given, task_key]
        numbers = self._catalog.read(f"SELECT number FROM row WHERE {where} ORDER BY id", given)
        return list(self._load([number for (number,) in numbers]).values())

    def rarity(self, words: Collection[str]) -> dict[str, float]:
        """The weight of each word among the trusted tasks: no flood of others changes a score."""
        self.refresh()
        return self._weights(self._counts("trusted", "raw", words))

    def count(self, filter: Filter | None = None) -> int:
        """How many rows pass a filter."""
        self.refresh()
        where, given = sql_where(filter or Filter())
        return int(self._catalog.read(f"SELECT count(*) FROM row WHERE {where}", given)[0][0])

    def _counts(self, table: str, column: str, words: Iterable[str]) -> dict[str, int]:
        """In how many texts each word stands."""
        ask = f"SELECT term, doc FROM {table}_word WHERE term IN (SELECT value FROM json_each(?)) AND col = ?"
        return dict.fromkeys(words, 0) | dict(self._catalog.read(ask, (json.dumps(sorted(set(words))), column)))

    def _weights(self, counts: Mapping[str, int]) -> dict[str, float]:
        texts = max(self._trusted, 1)
        return {word: math.log(1 + (max(texts - n, 0) + 0.5) / (n + 0.5)) for word, n in counts.items()}

    def _by_words(self, table: str, column: str, counts: Mapping[str, int], filter: Filter, limit: int) -> list[int]:
        match = match_of(column, counts)
        if not match:
            return []
        where, given = sql_where(filter)
        ask = NEAREST.format(table=table, places=PLACES, where=where)

        def nearest(k: int) -> list[int]:
            return [number for (number,) in self._catalog.read(ask, (match, *given, k))]

        return self._of_many_tasks(nearest, limit)

    def _by_vector(self, vector: Vector, filter: Filter, limit: int) -> list[int]:
        with self._lock:
            index = self._vectors.of(self._embedder().name, self._epoch, self._sequence)
            if index is None or not len(index):
                return []
            if len(vector) != index.dim:
                raise another_length(self._embedder().name, len(vector), index.dim)
            allowed = self._mask(filter)

            def nearest(k: int) -> list[int]:
                numbers: list[int] = index.nearest(vector, allowed, k).tolist()
                if len(numbers) > k:  # those of a quantizer
                    cosine = self._cosines(vector, numbers)
                    numbers = sorted(cosine, key=lambda number: -cosine[number])[:k]
                return numbers

            return self._of_many_tasks(nearest, limit)

    def _mask(self, filter: Filter) -> NDArray[np.bool_]:
        """Which numbers pass a filter; kept until something changes, for agents ask with few filters."""
        if filter not in self._allowed:
            where, given = sql_where(filter)
            numbers = [number for (number,) in self._catalog.read(f"SELECT number FROM row WHERE {where}", given)]
            mask = np.zeros(max(numbers, default=0) + 1, bool)
            mask[numbers] = True
            self._allowed[filter] = mask
        return self._allowed[filter]

    def _of_many_tasks(self, nearest: Callable[[int], list[int]], limit: int) -> list[int]:
        """The nearest, few of them of one task or session: where those crowd the first places, more are asked for."""
        k = 2 * limit
        while True:
            near = nearest(k)
            found = self._few_of_each_task(near)[:limit]
            if len(found) == limit or len(near) < k or k >= CROWD:
                return found
            k *= 8

    def _few_of_each_task(self, numbers: list[int]) -> list[int]:
        ask = "SELECT number, task_key, success, session FROM row WHERE number IN (SELECT value FROM json_each(?))"
        there = {number: known for number, *known in self._catalog.read(ask, (json.dumps(numbers),))}
        runs: Counter[Any] = Counter()
        sessions: Counter[str] = Counter()
        found = []
        for number in (one for one in numbers if one in there):
            key, success, session = there[number]
            runs[key, success] += 1
            sessions[session] += bool(session)
            if runs[key, success] <= SAME_TASK and sessions[session] <= SAME_SESSION:
                found.append(number)
        return found

    def _cosines(self, vector: Vector, numbers: Collection[int]) -> dict[int, float]:
        ask = """SELECT number, vector.data FROM row JOIN vector USING (text_key)
            WHERE embedder = ? AND length(vector.data) = ? AND number IN (SELECT value FROM json_each(?))"""
        given = (self._embedder().name, 2 * len(vector), json.dumps(sorted(numbers)))
        found = self._catalog.read(ask, given)
        if not found:
            return {}
        cosines = unpacked([data for _, data in found]) @ np.asarray(vector, np.float32)
        return dict(zip((number for number, _ in found), cosines.tolist(), strict=True))

    def _load(self, numbers: Sequence[int]) -> dict[int, Row]:
        """Rows by number, in this order; those asked for lately are still in memory."""
        missing = [number for number in numbers if number not in self._kept_rows]
        ask = "SELECT number, data FROM row WHERE number IN (SELECT value FROM json_each(?))"
        for number, data in self._catalog.read(ask, (json.dumps(missing),)) if missing else ():
            self._kept_rows[number] = row_from_json(data)
        found = {number: row for number in numbers if (row := self._kept_rows.get(number)) is not None}
        if len(self._kept_rows) > KEPT_ROWS:
            self._kept_rows = {}
        return found

    # ---- small values that cost a request ----

    def kept(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """What was kept for these keys, as far as it is there."""
        ask = "SELECT key, data FROM kept WHERE kind = ? AND key IN (SELECT value FROM json_each(?))"
        return dict(self._catalog.read(ask, (kind, json.dumps(sorted(set(keys))))))

    def keep(self, kind: str, values: Mapping[str, bytes], *, owner: str = "") -> None:
        """Keep small values; they are erased with the record that `owner` names."""
        rows = [(kind, key, owner, data) for key, data in values.items()]
        self._catalog.run(
            lambda db: db.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", rows), write=True
        )

    # ---- following the store ----

    def refresh(self) -> None:
        """Take in what the store has committed since, whoever did; costs microseconds when nothing has changed."""
        change = self._store.change()
        if self._seen == (change, self._catalog.version()):
            return
        with self._lock:
            taken = int(self._catalog.meta("row change") or 0)
            if taken < change:
                self._follow(taken, change)
            self._forget_what_changed()
            self._seen = change, self._catalog.version()

    def sync(self, progress: Progress | None = None, *, thorough: bool = False) -> IndexReport:
        """Bring rows and vectors in line with the store. With `thorough` every file is looked at, and
        `vectors.faiss` is written; else when it lacks many. Raises `ServiceError` when the embedder cannot answer.
        """
        started, embedder = time.perf_counter(), self._embedder()
        before = replace(embedder.spending)
        if thorough:
            self._store.look_everywhere()
        self.refresh()
        try:
            embedded, cached = self._embed_missing(embedder, progress)
        finally:
            self._erase()
        with self._lock:
            self._vectors.write(embedder.name, self._epoch, self._sequence, 1 if thorough else NEWER)
        if thorough:
            self._catalog.tidy()
        spent = embedder.spending
        return IndexReport(
            records=self._rows,
            embedded=embedded,
            cached=cached,
            requests=spent.requests - before.requests,
            cost=spent.cost - before.cost,
            seconds=time.perf_counter() - started,
        )

    def rebuild(self, progress: Progress | None = None) -> IndexReport:
        """Look at every file, take on the embedder in use, and make again what is not whole. What is whole stays, and
        so do vectors of unchanged texts, unless the embedder makes others by now.
        """
        embedder = self._embedder()
        with self._lock:
            if self._catalog.check():
                self._catalog.drop()
            elif self._faults():
                self._catalog.run(forget_rows, write=True)
            self._forget_other_lengths(embedder)
            self._vectors.forget()
            self._seen = None
        return self.sync(progress, thorough=True)

    def _forget_other_lengths(self, embedder: Embedder) -> None:
        """Drop vectors of another length than the embedder gives; one that does not say it is asked for one vector."""
        kept = self._length_kept(embedder.name)
        if kept is not None and kept != (embedder.dim or len(embedder.embed([PROBE])[0])):
            drop = "DELETE FROM vector WHERE embedder = ?"
            self._catalog.run(lambda db: db.execute(drop, (embedder.name,)), write=True)
            self._catalog.unmark(f"embedded by {embedder.name}")
            self._vectors.delete()
        self._catalog.run(lambda db: mark(db, "embedder", embedder.name), write=True)

    def _length_kept(self, embedder: str) -> int | None:
        """The length of the vectors of an embedder that are there."""
        ask = "SELECT length(data) / 2 FROM vector WHERE embedder = ? LIMIT 1"
        return next((dim for (dim,) in self._catalog.read(ask, (embedder,))), None)

    def missing(self) -> list[str]:
        """The texts that have no vector of the embedder in use yet."""
        self.refresh()
        return [embedded_text(row) for row in self._load(self._without_vector()).values()]

    def embedder_name(self) -> str | None:
        """The embedder whose vectors were written last; None as long as there are none."""
        name: str | None = self._catalog.meta("embedder")
        return name

    def check(self) -> list[str]:
        """What is wrong with the index, in words."""
        wrong = self._catalog.check()
        return [f"{self._catalog.path}: {wrong}"] if wrong else self._faults()

    def _faults(self) -> list[str]:
        """What does not fit together in a file that SQLite can read."""
        problems = []
        if lost := self._rows_astray():
            problems.append(f"{lost} rows are not those of the records")
        try:
            for table in TABLES:
                self._catalog.read(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
        except StorageError as error:
            problems.append(str(error))
        return [*problems, *self._vectors.faults()]

    def _rows_astray(self) -> int:
        """How many rows are not those of the records, at each of a few looks: a writer is soon done with its own."""
        for _ in range(_LOOKS):
            self.refresh()
            (lost,) = self._catalog.read(
                "SELECT count(*) FROM record LEFT JOIN row USING (number) WHERE live != (row.number IS NOT NULL)"
            )[0]
            if not lost:
                break
            time.sleep(_BETWEEN_LOOKS)
        return int(lost)

    def close(self) -> None:
        """Let go of what is in memory."""
        with self._lock:
            self._vectors.forget()
            self._seen, self._kept_rows, self._allowed = None, {}, {}

    def _follow(self, taken: int, change: int) -> None:
        """Make the rows of the records that changed after one change."""
        ask = """SELECT record.number, record.id, record.change FROM record LEFT JOIN row USING (number)
            WHERE record.change > ? AND live AND row.change IS NOT record.change ORDER BY record.number"""
        waiting, made_all = self._catalog.read(ask, (taken,)), True
        for start in range(0, len(waiting) or 1, WINDOW):
            window = waiting[start : start + WINDOW]
            records = {one.id: one for one in self._store.scan([id for _, id, _ in window])}
            made_all = made_all and len(records) == len(window)  # else what cannot be read now is tried again
            rows = [(number, made, row_of(records[id])) for number, id, made in window if id in records]
            vectors = self._embedded_at_once([embedded_text(row) for _, _, row in rows])
            up_to = change if made_all and start + WINDOW >= len(waiting) else None
            self._write(taken, rows, vectors, up_to)

    def _write(
        self, taken: int, rows: Sequence[tuple[int, int, Row]], vectors: Mapping[str, bytes], up_to: int | None
    ) -> None:
        """Write rows and vectors in one transaction; `up_to` is the change that all of it reaches."""
        name = self._embedder().name if vectors else ""

        def act(db: sqlite3.Connection) -> None:
            drop_dead(db, taken)
            put(db, rows)
            if vectors:
                put_vectors(db, name, vectors)
            if up_to is not None:
                mark(db, "row change", up_to)

        self._catalog.run(act, write=True)

    def _embedded_at_once(self, texts: Iterable[str]) -> dict[str, bytes]:
        """The vectors of new records by the key of their text, where no service is asked for them. What cannot be
        embedded now waits for `sync`, which says why."""
        with suppress(ServiceError, DataError):
            embedder = self._embedder()
            if not isinstance(embedder, EmbedsPieces):
                ask = "SELECT text_key FROM vector WHERE embedder = ? AND text_key IN (SELECT value FROM json_each(?))"
                new = {text_key(text): text for text in texts}
                for (key,) in self._catalog.read(ask, (embedder.name, json.dumps(list(new)))):
                    del new[key]
                return self._packed(embedder, list(new), embedder.embed(list(new.values()))) if new else {}
        return {}

    def _packed(self, embedder: Embedder, keys: Sequence[str], vectors: Vectors) -> dict[str, bytes]:
        """Vectors as they are kept. Raises `DataError` when those that are kept have another length."""
        kept = self._length_kept(embedder.name)
        if kept not in (None, vectors.shape[1]):
            raise another_length(embedder.name, vectors.shape[1], kept or 0)
        return {key: packed(vector) for key, vector in zip(keys, vectors, strict=True)}

    def _embed_missing(self, embedder: Embedder, progress: Progress | None) -> tuple[int, int]:
        up_to = self._sequence  # what others write meanwhile is looked at by the next
        waiting = self._without_vector()
        texts = {text_key(text): text for text in map(embedded_text, self._load(waiting).values())}
        keys, done = list(texts), 0
        for piece, found in _pieces(embedder, list(texts.values())):  # each is kept as soon as it is there
            vectors = self._packed(embedder, keys[piece], found)
            self._catalog.run(lambda db, vectors=vectors: put_vectors(db, embedder.name, vectors), write=True)  # type: ignore[misc]
            done += len(vectors)
            if progress is not None:
                progress("embedded", done, len(texts))
        if texts:
            self._forget_what_changed()
        if texts or up_to - int(self._catalog.meta(f"embedded by {embedder.name}") or 0) > WINDOW:
            self._catalog.run(lambda db: mark(db, f"embedded by {embedder.name}", up_to), write=True)
        return len(texts), self._rows - len(waiting)

    def _without_vector(self) -> list[int]:
        """Rows without a vector of the embedder in use, among those that are newer than its last whole `sync`."""
        name = self._embedder().name
        ask = """SELECT number FROM row LEFT JOIN vector ON vector.text_key = row.text_key
            AND embedder = ? WHERE sequence > ? AND vector.text_key IS NULL ORDER BY sequence"""
        given = name, int(self._catalog.meta(f"embedded by {name}") or 0)
        return [number for (number,) in self._catalog.read(ask, given)]

    def _forget_what_changed(self) -> None:
        """Take rows out of memory that others or we have written, and learn how many there are."""
        with self._lock:
            epoch, sequence = int(self._catalog.meta("epoch") or 0), int(self._catalog.meta("sequence") or 0)
            if epoch != self._epoch:
                self._kept_rows = {}
            if self._kept_rows:
                for (number,) in self._catalog.read("SELECT number FROM row WHERE sequence > ?", (self._sequence,)):
                    self._kept_rows.pop(number, None)
            self._epoch, self._sequence, self._allowed = epoch, sequence, {}
            self._rows, self._trusted, raw, masked = self._catalog.read("SELECT * FROM total")[0]
            texts = max(self._trusted, 1)
            self._lengths = {"raw": (raw or 1) / texts, "masked": (masked or 1) / texts}

    def _erase(self) -> None:
        """After records went: no byte of their words and vectors stays in the files."""
        if not self._catalog.meta("to erase"):
            return
        with self._lock:
            self._vectors.delete()
            self._catalog.run(erase_what_is_unused, write=True)
            self._catalog.shrink()
            self._catalog.unmark("to erase")


def _pieces(embedder: Embedder, texts: list[str]) -> Iterator[tuple[slice, Vectors]]:
    if isinstance(embedder, EmbedsPieces):
        yield from embedder.pieces(texts)
        return
    for start in range(0, len(texts), WINDOW):
        piece = slice(start, start + WINDOW)
        yield piece, embedder.embed(texts[piece])
