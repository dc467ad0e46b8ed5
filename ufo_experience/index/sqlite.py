"""The index of a folder: rows, words (FTS5) and vectors in the store's SQLite file, FAISS beside it.

Each row knows the number of the change it was made at: whatever was committed, by whomever, is taken in before the next
question, and a process that died leaves nothing behind but work for the next one.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.embed.base import Embedder, asks_service
from ufo_experience.errors import DataError, ServiceError, StorageError
from ufo_experience.index import base
from ufo_experience.index import sqlite_tables as tables
from ufo_experience.index.base import Candidate, Filter, IndexReport, Progress, Row, Vector, text_key
from ufo_experience.index.vectors import FolderVectors, packed, unpacked
from ufo_experience.request import Request
from ufo_experience.store.folder import FolderStore

WINDOW = 256  # records that become rows, and texts that are embedded, at a time
ENOUGH = 2 * base.SAME_SESSION  # rows that share the rarest words: more common ones are not looked up then
NEWER = 1_000  # vectors that may be missing in the file before it is written again by itself
FILTERS = 32  # whose bitmaps are kept
_AMONG = "IN (SELECT value FROM json_each(?))"
_CHANGED = "SELECT number, id, change, live FROM record WHERE indexed IS NOT change ORDER BY number"


class SqliteIndex:
    """Asks the embedder for vectors: at once where it works on this machine, else when `sync` is called."""

    def __init__(self, store: FolderStore, embedder: Callable[[], Embedder]) -> None:
        self._store, self._catalog, self._embedder = store, store.catalog, embedder
        self._lock = threading.RLock()
        self._vectors = FolderVectors(self._catalog)
        # which vectors are of rows that pass a filter, kept until something changes: agents ask with few filters
        self._allowed = lru_cache(FILTERS)(lambda filter, *state: self._bitmap(filter))

    def candidates(
        self, request: Request, *, vector: Vector | None = None, filter: Filter | None = None, limit: int = base.LIMIT
    ) -> list[Candidate]:
        self._refresh()
        filter, total = filter or Filter(), self._total()
        numbers: set[int] = set()
        weights = {}
        asked = base.words_of(request)
        for column, words in asked.items():
            counts = {table: self._counts(table, column, words) for table in tables.tables_of(filter)}
            for table, known in counts.items():
                numbers |= set(self._by_words(table, column, known, filter, limit))
            weights[column] = base.weights(counts["trusted"], total["trusted", "rows"])
        if vector is not None:
            numbers |= set(self._by_vector(vector, filter, limit))
        averages = {column: total["trusted", column] / max(1, total["trusted", "rows"]) for column in asked}
        return base.ranked(self._near(numbers, vector), asked, weights, averages)

    def rows(
        self, ids: Iterable[str] | None = None, *, filter: Filter | None = None, task_key: str | None = None
    ) -> list[Row]:
        self._refresh()
        filter = filter or Filter()
        where, given = tables.sql_where(filter if ids is None else replace(filter, only=frozenset(ids)), task_key)
        found = self._catalog.read(f"SELECT data FROM row WHERE {where} ORDER BY id", given)
        return [base.row_from_json(data) for (data,) in found]

    def rarity(self, words: Collection[str]) -> dict[str, float]:
        self._refresh()
        return base.weights(self._counts("trusted", "raw", words), self._total()["trusted", "rows"])

    def count(self, filter: Filter | None = None) -> int:
        self._refresh()
        where, given = tables.sql_where(filter or Filter())
        return int(self._catalog.read(f"SELECT count(*) FROM row WHERE {where}", given)[0][0])

    def _total(self) -> Counter[tuple[str, str]]:
        """Of both tables of words: the rows, and the words of their tasks."""
        found = self._catalog.read("SELECT place, word, texts FROM word WHERE place IN ('trusted', 'held')")
        return Counter({(table, what): count for table, what, count in found})

    def _counts(self, table: str, column: str, words: Iterable[str]) -> dict[str, int]:
        """In how many texts each word stands."""
        ask = f"SELECT word, texts FROM word WHERE place = ? AND word {_AMONG}"
        found = self._catalog.read(ask, (f"{table} {column}", json.dumps([*words])))
        return dict.fromkeys(words, 0) | dict(found)

    def _by_words(self, table: str, column: str, counts: Mapping[str, int], filter: Filter, limit: int) -> list[int]:
        where, given = tables.sql_where(filter)
        found: list[int] = []
        for match in tables.matches_of(column, counts):
            if len(found) < ENOUGH:
                ask = tables.BY_WORDS.format(table=table, where=where)
                found = self._of_many_tasks(ask, {**given, "words": match}, limit)
        return found

    def _by_vector(self, vector: Vector, filter: Filter, limit: int) -> list[int]:
        with self._lock:
            length = self._vectors.follow(self._embedder().name)
            if length is None:
                return []
            base.expect_length(self._embedder().name, len(vector), length)
            allowed = self._allowed(filter, self._catalog.meta("change"), *self._vectors.state())
            where, given = tables.sql_where(filter)
            found: list[int] = []
            for k in (2 * limit, base.CROWD):  # more where a few tasks crowd the first places
                near = self._vectors.nearest(vector, allowed, k)
                ask = tables.BY_VECTOR.format(where=where)
                found = self._of_many_tasks(ask, {**given, "near": json.dumps(near)}, limit)
                if len(found) == limit or len(near) < k:
                    break
            return found

    def _bitmap(self, filter: Filter) -> NDArray[np.bool_]:
        where, given = tables.sql_where(filter)
        numbers = self._numbers(f"SELECT DISTINCT vector FROM row WHERE vector NOT NULL AND {where}", given)
        allowed = np.zeros(max(numbers, default=0) + 1, bool)
        allowed[numbers] = True
        return allowed

    def _of_many_tasks(self, ask: str, given: Mapping[str, Any], limit: int) -> list[int]:
        """The numbers of the first rows that a query gives, few of them of one task or session."""

        def few(db: sqlite3.Connection) -> list[int]:
            runs: Counter[tuple[str, int | None]] = Counter()
            sessions: Counter[str] = Counter()
            found: list[int] = []
            for number, task_key, success, session in db.execute(ask, given):
                runs[task_key, success] += 1
                sessions[session] += bool(session)
                if runs[task_key, success] <= base.SAME_TASK and sessions[session] <= base.SAME_SESSION:
                    found.append(number)
                if len(found) == limit:
                    break
            return found

        return self._catalog.run(few)

    def _near(self, numbers: Collection[int], vector: Vector | None) -> list[tuple[Row, float | None]]:
        """Rows by number, and their cosine where there is a vector."""
        ask = f"""SELECT row.data, text_vector.data FROM row LEFT JOIN text_vector ON text_vector.number = row.vector
            AND embedder = ? AND length(text_vector.data) = ? WHERE row.number {_AMONG}"""
        name, size = ("", 0) if vector is None else (self._embedder().name, 2 * len(vector))
        found = self._catalog.read(ask, (name, size, json.dumps([*numbers])))
        return [
            (base.row_from_json(row), None if vector is None or not kept else float((unpacked([kept]) @ vector)[0]))
            for row, kept in found
        ]

    def _numbers(self, ask: str, given: Mapping[str, Any]) -> list[int]:
        return [number for (number,) in self._catalog.read(ask, given)]

    # ---- small values that cost a request ----

    def kept(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        ask = f"SELECT key, data FROM kept WHERE kind = ? AND key {_AMONG}"
        return dict(self._catalog.read(ask, (kind, json.dumps(sorted(set(keys))))))

    def keep(self, kind: str, values: Mapping[str, bytes], *, owner: str = "") -> None:
        rows = [(kind, key, owner, data) for key, data in values.items()]
        self._catalog.write(lambda db: db.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", rows))

    # ---- following the store ----

    def sync(self, progress: Progress | None = None, *, thorough: bool = False) -> IndexReport:
        embedder = self._embedder()
        if thorough:
            self._store.look_everywhere()
        self._refresh()
        try:
            embedded, waited = self._embed_missing(embedder, progress)
        finally:
            self._erase()
        with self._lock:  # the file of vectors is written where it lacks many
            self._vectors.write(embedder.name, 1 if thorough else NEWER)
        if thorough:
            self._catalog.tidy()
        total = self._total()
        rows = sum(total[table, "rows"] for table in tables.TABLES)
        return IndexReport(rows, embedded, rows - waited)

    def rebuild(self, progress: Progress | None = None) -> IndexReport:
        embedder = self._embedder()
        with self._lock:
            if self._catalog.check():
                self._catalog.drop()
            elif self._faults():
                self._catalog.make_anew()
            self._catalog.write(tables.use_embedder, embedder.name, base.length_of(embedder))
            self._vectors.forget()
        return self.sync(progress, thorough=True)

    def missing(self) -> list[str]:
        self._refresh()
        return [row.to_embed for row in self._without_vector()]

    def embedder_name(self) -> str | None:
        name: str | None = self._catalog.meta("embedder")
        return name

    def check(self) -> list[str]:
        wrong = self._catalog.check()
        return [f"{self._catalog.path}: {wrong}"] if wrong else self._faults()

    def close(self) -> None:
        with self._lock:
            self._vectors.forget()

    def _faults(self) -> list[str]:
        """What does not fit together in a file that SQLite can read."""
        self._refresh()
        astray = """SELECT count(*) FROM record LEFT JOIN row USING (number)
            WHERE live != (row.number IS NOT NULL) AND indexed = change"""
        lost = self._catalog.read(astray)[0][0]
        problems = [f"{lost} rows are not those of the records"] if lost else []
        try:
            for table in tables.TABLES:
                self._catalog.read(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
        except StorageError as error:
            problems.append(str(error))
        return problems if self._vectors.is_whole() else [*problems, "the file of vectors is not the one written"]

    def _refresh(self) -> None:
        """Take in what the store has committed since, whoever did; costs microseconds when nothing has changed."""
        self._store.revision()  # the store looks for it first
        if waiting := self._catalog.read(_CHANGED):
            with self._lock:
                for start in range(0, len(waiting), WINDOW):
                    self._follow(waiting[start : start + WINDOW])
                self._embed_at_once()

    def _follow(self, waiting: Sequence[tuple[int, str, int, bool]]) -> None:
        """Make the rows of records that have changed."""
        records = {one.id: one for one in self._store.scan([id for _, id, _, live in waiting if live])}
        made = [
            (number, change, base.row_of(records[id]) if live else None)
            for number, id, change, live in waiting
            if id in records or not live  # what cannot be read now is tried again
        ]
        self._catalog.write(tables.put_rows, made)

    def _embed_at_once(self) -> None:
        """New records where no service is asked; what cannot be embedded now waits for `sync`, which says why."""
        with suppress(ServiceError, DataError):
            if not asks_service(embedder := self._embedder()):
                self._embed_missing(embedder, None)

    def _embed_missing(self, embedder: Embedder, progress: Progress | None) -> tuple[int, int]:
        """Embed what has no vector; returns how many texts, and of how many rows they are."""
        if self.embedder_name() not in (None, embedder.name):
            self._catalog.write(tables.use_embedder, embedder.name)
        waiting = self._without_vector()
        texts = {text_key(row.to_embed): row.to_embed for row in waiting}
        keys, done = [*texts], 0
        while window := keys[done : done + WINDOW]:  # each is kept as soon as it is there
            found = embedder.embed([texts[key] for key in window])
            ask = "SELECT length(data) / 2 FROM text_vector WHERE embedder = :name LIMIT 1"
            kept = self._numbers(ask, {"name": embedder.name})
            base.expect_length(embedder.name, found.shape[1], kept[0] if kept else None)
            data = {key: packed(vector) for key, vector in zip(window, found, strict=True)}
            self._catalog.write(tables.put_vectors, embedder.name, data)
            done += len(found)
            if progress is not None:
                progress("embedded", done, len(texts))
        return len(texts), len(waiting)

    def _without_vector(self) -> list[Row]:
        found = self._catalog.read("SELECT data FROM row WHERE vector IS NULL ORDER BY number")
        return [base.row_from_json(data) for (data,) in found]

    def _erase(self) -> None:
        """After records went: no byte of their words and vectors stays in the files."""
        if not self._catalog.meta("to erase"):
            return
        with self._lock:
            self._vectors.delete()
            self._catalog.write(tables.erase_what_is_unused)
            self._catalog.read("VACUUM")
            self._catalog.tidy()
            self._catalog.note(**{"to erase": None})
