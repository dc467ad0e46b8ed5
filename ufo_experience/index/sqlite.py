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
_AMONG = "IN (SELECT value FROM json_each(?))"


class SqliteIndex:
    """Asks the embedder for vectors: at once where it works on this machine, else when `sync` is called."""

    def __init__(self, store: FolderStore, embedder: Callable[[], Embedder]) -> None:
        self._store, self._catalog, self._embedder = store, store.catalog, embedder
        self._lock = threading.RLock()
        self._vectors = FolderVectors(self._catalog)
        self._allowed: dict[Filter, NDArray[np.bool_]] = {}
        self._seen: tuple[Any, ...] | None = None
        self._total: dict[tuple[str, str], int] = {}  # of both tables: rows, and words of their tasks

    def candidates(
        self, request: Request, *, vector: Vector | None = None, filter: Filter | None = None, limit: int = base.LIMIT
    ) -> list[Candidate]:
        self._refresh()
        filter = filter or Filter()
        numbers: set[int] = set()
        shares = {}
        for column, words in (("raw", request.words), ("masked", request.masked_words)):
            counts = {table: self._counts(table, column, words) for table in tables.tables_of(filter)}
            for table, known in counts.items():
                numbers |= set(self._by_words(table, column, known, filter, limit))
            length = self._total.get(("trusted", column), 1) / self._trusted
            shares[column] = base.Share(words, self._weights(counts["trusted"]), length)
        cosines: dict[int, float] = {}
        if vector is not None:
            numbers |= set(self._by_vector(vector, filter, limit))
            cosines = self._cosines(vector, numbers)
        found = []
        for number, row in self._load(numbers).items():
            raw, masked = shares["raw"].of(row.request.words), shares["masked"].of(row.request.masked_words)
            found.append(Candidate(row, raw, masked, cosines.get(number)))
        return sorted(found, key=lambda one: one.order)

    def rows(
        self, ids: Iterable[str] | None = None, *, filter: Filter | None = None, task_key: str | None = None
    ) -> list[Row]:
        self._refresh()
        filter = filter or Filter()
        where, given = tables.sql_where(filter if ids is None else replace(filter, only=frozenset(ids)))
        if task_key is not None:
            where, given = f"{where} AND task_key = ?", [*given, task_key]
        found = self._catalog.read(f"SELECT data FROM row WHERE {where} ORDER BY id", given)
        return [base.row_from_json(data) for (data,) in found]

    def rarity(self, words: Collection[str]) -> dict[str, float]:
        if self._seen is None:  # else as the candidates were found
            self._refresh()
        return self._weights(self._counts("trusted", "raw", words))

    def count(self, filter: Filter | None = None) -> int:
        self._refresh()
        where, given = tables.sql_where(filter or Filter())
        return int(self._catalog.read(f"SELECT count(*) FROM row WHERE {where}", given)[0][0])

    @property
    def _trusted(self) -> int:
        """How many rows are trusted; one where none is."""
        return self._total.get(("trusted", "rows"), 0) or 1

    def _counts(self, table: str, column: str, words: Iterable[str]) -> dict[str, int]:
        """In how many texts each word stands."""
        ask = f"SELECT word, texts FROM word WHERE place = ? AND word {_AMONG}"
        found = self._catalog.read(ask, (f"{table} {column}", json.dumps(sorted(set(words)))))
        return dict.fromkeys(words, 0) | dict(found)

    def _weights(self, counts: Mapping[str, int]) -> dict[str, float]:
        return {word: base.weight(count, self._trusted) for word, count in counts.items()}

    def _by_words(self, table: str, column: str, counts: Mapping[str, int], filter: Filter, limit: int) -> list[int]:
        where, given = tables.sql_where(filter)
        found: list[int] = []
        for match in tables.matches_of(column, counts):
            if len(found) < ENOUGH:
                found = self._of_many_tasks(tables.BY_WORDS.format(table=table, where=where), [match, *given], limit)
        return found

    def _by_vector(self, vector: Vector, filter: Filter, limit: int) -> list[int]:
        with self._lock:
            length = self._vectors.follow(self._embedder().name)
            if length is None:
                return []
            base.expect_length(self._embedder().name, len(vector), length)
            where, given = tables.sql_where(filter)
            found: list[int] = []
            for k in (2 * limit, base.CROWD):  # more where a few tasks crowd the first places
                near = self._vectors.nearest(vector, self._allowed_by(filter), k)
                found = self._of_many_tasks(tables.BY_VECTOR.format(where=where), [json.dumps(near), *given], limit)
                if len(found) == limit or len(near) < k:
                    break
            return found

    def _allowed_by(self, filter: Filter) -> NDArray[np.bool_]:
        """Which vectors are of rows that pass a filter; kept until something changes: agents ask with few filters."""
        if filter not in self._allowed:
            where, given = tables.sql_where(filter)
            numbers = self._numbers(f"SELECT DISTINCT vector FROM row WHERE vector NOT NULL AND {where}", given)
            self._allowed[filter] = np.zeros(max(numbers, default=0) + 1, bool)
            self._allowed[filter][numbers] = True
        return self._allowed[filter]

    def _of_many_tasks(self, ask: str, given: Sequence[Any], limit: int) -> list[int]:
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

    def _cosines(self, vector: Vector, numbers: Collection[int]) -> dict[int, float]:
        ask = f"""SELECT row.number, text_vector.data FROM row JOIN text_vector ON text_vector.number = row.vector
            WHERE embedder = ? AND length(text_vector.data) = ? AND row.number {_AMONG}"""
        found = self._catalog.read(ask, (self._embedder().name, 2 * len(vector), json.dumps(sorted(numbers))))
        if not found:
            return {}
        cosines = unpacked([data for _, data in found]) @ np.asarray(vector, np.float32)
        return dict(zip((number for number, _ in found), cosines.tolist(), strict=True))

    def _load(self, numbers: Collection[int]) -> dict[int, Row]:
        found = self._catalog.read(f"SELECT number, data FROM row WHERE number {_AMONG}", (json.dumps([*numbers]),))
        return {number: base.row_from_json(data) for number, data in found}

    def _numbers(self, ask: str, given: Iterable[Any]) -> list[int]:
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
        rows = sum(self._total.get((table, "rows"), 0) for table in tables.TABLES)
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
            self._seen = None
        return self.sync(progress, thorough=True)

    def missing(self) -> list[str]:
        self._refresh()
        return [row.to_embed for row in self._load(self._without_vector()).values()]

    def embedder_name(self) -> str | None:
        name: str | None = self._catalog.meta("embedder")
        return name

    def check(self) -> list[str]:
        wrong = self._catalog.check()
        return [f"{self._catalog.path}: {wrong}"] if wrong else self._faults()

    def close(self) -> None:
        with self._lock:
            self._vectors.forget()
            self._seen, self._allowed = None, {}

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
        revision = self._store.revision()
        if self._seen == (revision, *self._vectors.state()):
            return
        with self._lock:
            if self._follow():
                self._embed_at_once()
            self._allowed = {}
            ask = "SELECT place, word, texts FROM word WHERE place IN ('trusted', 'held')"
            self._total = {(place, what): count for place, what, count in self._catalog.read(ask)}
            self._seen = revision, *self._vectors.state()

    def _follow(self) -> bool:
        """Make the rows of the records that have changed since; False where none has."""
        ask = "SELECT number, id, change, live FROM record WHERE indexed IS NOT change ORDER BY number"
        waiting = self._catalog.read(ask)
        for start in range(0, len(waiting), WINDOW):
            window = waiting[start : start + WINDOW]
            records = {one.id: one for one in self._store.scan([id for _, id, _, live in window if live])}
            made = [
                (number, change, base.row_of(records[id]) if live else None)
                for number, id, change, live in window
                if id in records or not live  # what cannot be read now is tried again
            ]
            self._catalog.write(tables.put_rows, made)
        return bool(waiting)

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
        texts = {text_key(row.to_embed): row.to_embed for row in self._load(waiting).values()}
        keys, done = [*texts], 0
        while window := keys[done : done + WINDOW]:  # each is kept as soon as it is there
            found = embedder.embed([texts[key] for key in window])
            ask = "SELECT length(data) / 2 FROM text_vector WHERE embedder = ? LIMIT 1"
            kept = self._numbers(ask, (embedder.name,))
            base.expect_length(embedder.name, found.shape[1], kept[0] if kept else None)
            data = {key: packed(vector) for key, vector in zip(window, found, strict=True)}
            self._catalog.write(tables.put_vectors, embedder.name, data)
            done += len(found)
            if progress is not None:
                progress("embedded", done, len(texts))
        return len(texts), len(waiting)

    def _without_vector(self) -> list[int]:
        return self._numbers("SELECT number FROM row WHERE vector IS NULL ORDER BY number", ())

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
