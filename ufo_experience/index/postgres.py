"""The index of a store in PostgreSQL: rows beside the records, found by SQL; nothing is shipped to clients.

Words are found through a `tsvector` of our own tokens, vectors through pgvector; what passes the filter is decided
before anything is ranked. The row of a record is inserted with the record, in one transaction. What a question has to
know of all rows (how many, how long, how many have a word) is counted while a store is small, and comes from
PostgreSQL's own statistics later on: learning counts no words, so that no counter makes writers wait.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import Any

from ufo_experience.embed.base import Embedder, EmbedsPieces
from ufo_experience.errors import StorageError
from ufo_experience.index.base import (
    LIMIT,
    RAREST,
    SAME_TASK,
    Candidate,
    Filter,
    IndexReport,
    Progress,
    Row,
    Vector,
    embedded_text,
    masked_words,
    row_of,
    share,
)
from ufo_experience.request import Request, application_key
from ufo_experience.schema import Experience, Trust, validate
from ufo_experience.store.base import Status
from ufo_experience.store.database import Connection
from ufo_experience.store.postgres import GROUP, PostgresStore
from ufo_experience.store.records import without_seal

LARGE = 5_000  # rows from which on PostgreSQL's statistics stand for counting
FRESH_S = 60.0  # how long what is known of all rows of a large store is relied on
WIDER = 3  # times the limit: rows that SQL finds by their distinct words; the best by all their words are kept
PIECE = 256  # texts embedded in one transaction
LONGEST_WORD = 500  # characters; PostgreSQL takes 2,046 bytes

_INSERT = """
INSERT INTO ufo_experience.row (id, row, application, env, session, success, imported, task_key, length, digest, words)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, array_to_tsvector(%s::text[])) ON CONFLICT DO NOTHING
"""
_INSERT_VECTOR = """
INSERT INTO ufo_experience.vector (id, embedder, digest, embedding) VALUES (%s, %s, %s, %s::vector)
ON CONFLICT (id, embedder) DO UPDATE SET (digest, embedding) = (excluded.digest, excluded.embedding)
WHERE vector.digest <> excluded.digest
"""
_LIST = """
INSERT INTO ufo_experience.vector (id, embedder, digest) SELECT id, %s, digest FROM ufo_experience.row
ON CONFLICT DO NOTHING
"""
_FROM = "FROM ufo_experience.row JOIN ufo_experience.record USING (id)"
_READ = "SELECT id, row.row, row.task_key, record.trust, record.status"
_ENDED = "coalesce((record.status->'verdict'->>'success')::boolean, row.success)"  # a later verdict counts
_BY_WORDS = f"""
(SELECT id FROM (
    SELECT id, score, row_number() OVER (PARTITION BY task_key, ended ORDER BY score DESC, id) AS place
    FROM (SELECT id, task_key, {_ENDED} AS ended, (
              SELECT sum(weight) FROM unnest(%({{name}}_words)s::tsquery[], %({{name}}_weights)s::float8[])
              AS asked (word, weight) WHERE words @@ word
          ) / (1 + length / %(average)s::float8) AS score {_FROM}
          WHERE words @@ %({{name}}_rarest)s::tsquery AND {{inside}}) AS found
) AS ranked WHERE place <= {SAME_TASK} ORDER BY score DESC, id LIMIT %(wider)s)
"""
_VECTOR = "ufo_experience.vector WHERE embedder = %(embedder)s AND embedding IS"
_BY_VECTOR = f"""
(SELECT id {_FROM} JOIN (SELECT id, embedding FROM {_VECTOR} NOT NULL) AS vector USING (id) WHERE {{inside}}
 ORDER BY embedding <#> %(vector)s::vector, id LIMIT %(limit)s)
"""
_COSINE = f"(SELECT -(embedding <#> %(vector)s::vector) FROM {_VECTOR} NOT NULL AND vector.id = row.id)"
_COUNT_WORDS = """
SELECT word, (SELECT count(*) FROM ufo_experience.row WHERE words @@ lexeme)
FROM unnest(%s::text[], %s::tsquery[]) AS asked (word, lexeme)
"""
_FREQUENT = """
SELECT most_common_elems::text::text[], most_common_elem_freqs FROM pg_stats
WHERE schemaname = 'ufo_experience' AND tablename = 'row' AND attname = 'words'
"""
_KEEP = """
INSERT INTO ufo_experience.kept (kind, key, value, owner) VALUES (%s, %s, %s, %s)
ON CONFLICT (kind, key) DO UPDATE SET (value, owner) = (excluded.value, excluded.owner)
"""
_NEW = "SELECT id FROM ufo_experience.record WHERE NOT indexed AND NOT removed LIMIT %(limit)s"
_NO_VECTOR = f"SELECT id FROM {_VECTOR} NULL LIMIT %(limit)s"
_SET_VECTOR = "UPDATE ufo_experience.vector SET embedding = %s::vector WHERE id = %s AND embedder = %s"


@dataclass(frozen=True)
class _Known:
    """What is known of all rows: how many, how many words one has, what share of them has a frequent word."""

    rows: int = 0
    average: float = 1.0
    frequent: Mapping[str, float] = field(default_factory=dict)
    until: float = 0.0

    def idf(self, count: int) -> float:
        """The weight of a word that so many rows have."""
        return math.log(1 + (self.rows - count + 0.5) / (count + 0.5))


class PostgresIndex:
    """Rows and vectors in the database of a `PostgresStore`. Without an embedder there are no vectors."""

    def __init__(self, store: PostgresStore, embedder: Embedder | None = None) -> None:
        self._store, self._database, self._embedder = store, store.database, embedder
        self._known, self._listed = _Known(), False
        store.indexing = self._insert

    # ---- asking ----

    def candidates(
        self, request: Request, *, vector: Vector | None = None, filter: Filter | None = None, limit: int = LIMIT
    ) -> list[Candidate]:
        """Rows by words, by masked words and by cosine, with all their shares; see `ExperienceIndex.candidates`."""
        self._catch_up()
        known = self._all_rows()
        asked = list(request.words), masked_words(request)
        counts = self._counts({*asked[0], *asked[1]}, known)
        rarity = {word: known.idf(count) for word, count in counts.items()}
        inside, values = _inside(filter or Filter())
        values |= {"limit": limit, "wider": WIDER * limit, "average": known.average}
        parts = []
        for name, words in zip(("words", "masked"), asked, strict=True):
            there = sorted({word for word in words if counts[word]}, key=lambda word: (counts[word], word))
            if there:
                lexemes = [_lexeme(word) for word in there]
                values |= {f"{name}_words": lexemes, f"{name}_rarest": " | ".join(lexemes[:RAREST])}
                values[f"{name}_weights"] = [rarity[word] for word in there]
                parts.append(_BY_WORDS.format(name=name, inside=inside))
        if vector is not None and self._embedder:
            values |= {"vector": _text(vector), "embedder": self._embedder.name}
            parts.append(_BY_VECTOR.format(inside=inside))
        if not parts:
            return []
        query = f"{_READ}, {_COSINE if vector is not None else 'NULL'} {_FROM} WHERE id IN ({' UNION '.join(parts)})"
        found = []
        for *columns, cosine in self._database.select(query, values):
            row = _row(*columns)
            texts = row.request, *row.wordings
            words = max(share(asked[0], text.words, rarity, known.average) for text in texts)
            masked = max(share(asked[1], masked_words(text), rarity, known.average) for text in texts)
            found.append(Candidate(row, words, masked, cosine))
        return _best(found, limit)

    def rows(
        self, ids: Iterable[str] | None = None, *, filter: Filter | None = None, task_key: str | None = None
    ) -> list[Row]:
        """The rows of these ids, of one task, or all of a filter; ordered by id."""
        self._catch_up()
        inside, values = _inside(filter or Filter(), ids=None if ids is None else list(ids), task_key=task_key)
        return [
            _row(*columns) for columns in self._database.select(f"{_READ} {_FROM} WHERE {inside} ORDER BY id", values)
        ]

    def rarity(self, words: Collection[str]) -> dict[str, float]:
        """The weight of each word among the tasks of the store; see `ExperienceIndex.rarity`."""
        known = self._all_rows()
        return {word: known.idf(count) for word, count in self._counts(words, known).items()}

    def count(self, filter: Filter | None = None) -> int:
        """How many rows pass a filter."""
        self._catch_up()
        inside, values = _inside(filter or Filter())
        return int(self._database.select(f"SELECT count(*) {_FROM} WHERE {inside}", values)[0][0])

    def kept(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """What `keep` was given for these keys, as far as it is there."""
        query = "SELECT key, value FROM ufo_experience.kept WHERE kind = %s AND key = ANY(%s)"
        return {key: bytes(value) for key, value in self._database.select(query, (kind, list(keys)))}

    def keep(self, kind: str, values: Mapping[str, bytes], *, owner: str = "") -> None:
        """Keep small values that cost a request; who may only read keeps none."""
        rows = [(kind, key, value, owner or None) for key, value in sorted(values.items())]
        with suppress(StorageError), self._database.transaction() as connection:
            connection.cursor().executemany(_KEEP, rows)

    # ---- learning ----

    def sync(self, progress: Progress | None = None) -> IndexReport:
        """Make the rows and vectors that are missing; see `ExperienceIndex.sync`."""
        began, report = time.monotonic(), IndexReport(added=self._catch_up())
        report.records = self._all_rows().rows
        if self._embedder:
            self._embed(self._embedder, report, progress)
        report.seconds = time.monotonic() - began
        return report

    def rebuild(self, progress: Progress | None = None) -> IndexReport:
        """Make all rows again, in one transaction; vectors of texts that have not changed are kept."""
        records = self._store.scan()
        with self._database.transaction() as connection:
            connection.execute("SET LOCAL statement_timeout = 0")
            connection.execute("DELETE FROM ufo_experience.row")
            while group := list(islice(records, GROUP)):
                self._insert(connection, group)
        with self._database.connection() as connection:
            connection.execute("ANALYZE ufo_experience.row")
        self._known, self._listed = _Known(), False
        return self.sync(progress)

    def check(self) -> list[str]:
        """What is wrong with the index, in words."""
        missing = len(self._database.select(_NEW, {"limit": None}))
        return [f"{missing} records have no row; run: ufo-experience index"] if missing else []

    def close(self) -> None:
        """Let go of the connections, which are the store's."""
        self._database.close()

    def _insert(self, connection: Connection, records: Sequence[Experience]) -> None:
        """Insert the rows of records, with their vectors unless a service makes them: no commit waits for one."""
        rows = [row_of(one) for one in records]
        connection.cursor().executemany(_INSERT, [_columns(row) for row in rows])
        if self._embedder:
            remote = isinstance(self._embedder, EmbedsPieces)
            texts = [embedded_text(row) for row in rows]
            vectors = [None] * len(rows) if remote else [_text(vector) for vector in self._embedder.embed(texts)]
            values = [(row.id, self._embedder.name, _digest(text), vector)
                      for row, text, vector in zip(rows, texts, vectors, strict=True)]  # fmt: skip
            connection.cursor().executemany(_INSERT_VECTOR, values)

    def _catch_up(self) -> int:
        """Insert the rows of records that came without one: no index was open where they were added."""
        added = 0
        with suppress(StorageError):  # who may only read waits for those who write
            while self._database.select(_NEW, {"limit": 1}) and (done := self._take_in()):
                added += done
        return added

    def _take_in(self) -> int:
        """Insert the rows of some records, kept from others who are at it."""
        with self._database.transaction() as connection:
            ids = _locked(connection, _NEW, {"limit": GROUP})
            self._insert(connection, list(self._store.scan(ids)))
            connection.execute("UPDATE ufo_experience.record SET indexed = true WHERE id = ANY(%s)", (ids,))
        return len(ids)

    def _embed(self, embedder: Embedder, report: IndexReport, progress: Progress | None) -> None:
        """Embed what has no vector yet, in pieces, each kept as soon as it is there."""
        before = replace(embedder.spending)
        if not self._listed:  # records that were learned with another embedder
            with self._database.connection() as connection:
                connection.execute(_LIST, (embedder.name,))
            self._listed = True
        given = {"embedder": embedder.name, "limit": PIECE}
        while self._database.select(_NO_VECTOR, {**given, "limit": 1}) and (done := self._embed_piece(embedder, given)):
            report.embedded += done
            if progress:
                progress("embedding", report.embedded, report.records)
        report.requests = embedder.spending.requests - before.requests
        report.cost = embedder.spending.cost - before.cost

    def _embed_piece(self, embedder: Embedder, given: Mapping[str, Any]) -> int:
        """Embed some rows, kept from others who are at it."""
        with self._database.transaction() as connection:
            ids = _locked(connection, _NO_VECTOR, given)
            query = f"{_READ} {_FROM} WHERE id = ANY(%s)"
            rows = [_row(*columns) for columns in connection.execute(query.encode(), (ids,)).fetchall()]
            vectors = embedder.embed([embedded_text(row) for row in rows]) if rows else []
            values = [(_text(vector), row.id, embedder.name) for row, vector in zip(rows, vectors, strict=True)]
            connection.cursor().executemany(_SET_VECTOR, values)
        return len(rows)

    # ---- what is known of all rows ----

    def _all_rows(self) -> _Known:
        """Counted, or, in a large store, what was known a minute ago."""
        now = time.monotonic()
        if self._known.until < now:
            rows, average = self._database.select("SELECT count(*), avg(length)::float8 FROM ufo_experience.row")[0]
            found = self._database.select(_FREQUENT) if rows >= LARGE else []
            frequent = {word: part for words, parts in found for word, part in zip(words, parts, strict=False)}
            self._known = _Known(rows, average or 1.0, frequent, now + FRESH_S if rows >= LARGE else 0.0)
        return self._known

    def _counts(self, words: Collection[str], known: _Known) -> dict[str, int]:
        """In how many rows each word stands: estimated for frequent ones of a large store, counted for others."""
        counts = {word: round(known.frequent[word] * known.rows) for word in words if word in known.frequent}
        others = sorted(set(words) - counts.keys())
        return counts | dict(self._database.select(_COUNT_WORDS, (others, [_lexeme(word) for word in others])))


def _inside(
    filter: Filter, ids: Sequence[str] | None = None, task_key: str | None = None
) -> tuple[str, dict[str, Any]]:
    """The condition of a filter and its values."""
    parts, values = ["NOT record.removed"], dict[str, Any]()
    own, imported = filter.min_trust, filter.min_trust_imported or filter.min_trust
    if own.rank or imported.rank:
        parts.append("record.trust = ANY(CASE WHEN imported THEN %(imported)s::text[] ELSE %(own)s::text[] END)")
        for name, least in (("own", own), ("imported", imported)):
            values[name] = [level.value for level in Trust if level.rank >= least.rank]
    for condition, name, value in (
        ("application = %(application)s", "application", filter.application and application_key(filter.application)),
        ("env = %(env)s", "env", filter.env),
        ("session <> %(session)s", "session", filter.exclude_session),
        ("task_key = %(task_key)s", "task_key", task_key),
        ("id = ANY(%(only)s)", "only", None if filter.only is None else sorted(filter.only)),
        ("id = ANY(%(ids)s)", "ids", ids),
    ):
        if value is not None:
            parts.append(condition)
            values[name] = _plain(value) if isinstance(value, str) else [_plain(id) for id in value]
    return " AND ".join(parts), values


def _best(found: Sequence[Candidate], limit: int) -> list[Candidate]:
    """The best by words, by masked words and by cosine, each once; best first by the greatest of the shares."""
    kept: dict[str, Candidate] = {}
    for share_of in (lambda one: one.words, lambda one: one.masked, lambda one: one.cosine or 0.0):
        ranked = sorted(found, key=lambda one: (-share_of(one), one.row.id))
        kept |= {one.row.id: one for one in ranked[:limit] if share_of(one) > 0}
    return sorted(kept.values(), key=lambda one: (-max(one.words, one.masked, one.cosine or 0.0), one.row.id))


def _columns(row: Row) -> tuple[Any, ...]:
    """What is kept of a row; trust, usage and a verdict are read from its record."""
    kept = {name: getattr(row, name) for name in _KEPT}
    requests = {"request": row.request.to_json(), "wordings": [one.to_json() for one in row.wordings]}
    data = json.dumps({**kept, **requests, "created_at": row.created_at.isoformat(), "digests": dict(row.digests)})
    texts = row.request, *row.wordings
    words = {word[:LONGEST_WORD] for text in texts for word in (*text.words, *masked_words(text))}
    application = _plain(application_key(row.application))
    digest = _digest(embedded_text(row))
    env = None if row.env is None else _plain(row.env)
    session = _plain(row.session)
    length = len(row.request.words)
    return (
        row.id,
        data,
        application,
        env,
        session,
        row.success,
        row.imported,
        row.task_key,
        length,
        digest,
        sorted(words),
    )


def _row(id: str, data: dict[str, Any], task_key: str, trust: str, status: dict[str, Any]) -> Row:
    """A row as it is now."""
    said = validate(Status, without_seal(status))
    request, usage, verdict = Request.from_json(data["request"]), said.usage, said.verdict
    changed = {
        "wordings": tuple(map(Request.from_json, data["wordings"])),
        "created_at": datetime.fromisoformat(data["created_at"]),
        "success": verdict.success if verdict else data["success"],
        "judged": verdict is not None or data["judged"],
    }
    now = {name: getattr(usage, name) for name in ("helped", "hurt", "streak", "last_success")}
    return Row(id=id, task=request.text, application=request.application, task_key=task_key, trust=Trust(trust),
               **{**data, **changed, **now, "request": request})  # fmt: skip


_KEPT = ("env", "session", "success", "judged", "imported", "followable", "steps")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _locked(connection: Connection, query: str, values: Mapping[str, Any]) -> list[str]:
    """The ids that a query finds and nobody else has locked; they are ours until the transaction ends."""
    found = connection.execute(f"{query} FOR UPDATE SKIP LOCKED".encode("ascii"), values).fetchall()
    return [id for (id,) in found]


def _text(vector: Vector) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(str, vector.tolist()))}]"


def _plain(text: str) -> str:
    """A text as a column takes it: no zero bytes, no half of a surrogate pair."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _lexeme(word: str) -> str:
    """A word as a `tsquery`."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
