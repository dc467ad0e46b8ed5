"""The index of a store in PostgreSQL: rows beside the records, found by SQL; nothing is shipped to clients.

The row of a record is inserted with the record, in one transaction. What a question has to know of all rows (how many,
how long, how many have a word) is counted while a store is small, and comes from PostgreSQL's own statistics later on:
no counter makes writers wait.

A question for words looks up the rows that have one of its rarest words and pass the filter, weighs the words they
have, and lets few runs of one task through. `raw` is a text as it is, `masked` with its values as marks.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import Any

from ufo_experience.embed.base import Embedder, asks_service
from ufo_experience.errors import StorageError
from ufo_experience.ids import is_id
from ufo_experience.index import base
from ufo_experience.index.base import Candidate, Filter, IndexReport, Progress, Row, Vector, text_key
from ufo_experience.request import Request
from ufo_experience.schema import Experience, Trust, validate
from ufo_experience.store.base import GROUP, Status
from ufo_experience.store.postgres import Connection, PostgresStore

LARGE = 1_000  # rows from which on PostgreSQL's statistics stand for counting
FRESH_S = 60.0  # how long what is known of all rows of a large store is relied on
WIDER = 3  # times the limit: rows that SQL finds by their distinct words; the best by all their words are kept
MATCHES = 1_000  # rows that are looked at for a word that is not the rarest
PIECE = 256  # texts embedded in one transaction
_LONGEST_WORD = 500  # characters; PostgreSQL takes 2,046 bytes
_MASKED = "~"  # begins a word of a masked text: both kinds stand in one `tsvector`

_INSERT = """
INSERT INTO ufo_experience.row
    (id, row, application, env, session, success, imported, task_key, digest, raw, masked, words)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, array_to_tsvector(%s::text[])) ON CONFLICT DO NOTHING
"""
_INSERT_VECTOR = """
INSERT INTO ufo_experience.vector (id, embedder, digest, embedding) VALUES (%s, %s, %s, %s::halfvec)
ON CONFLICT (id, embedder) DO UPDATE SET (digest, embedding) = (excluded.digest, excluded.embedding)
WHERE vector.digest <> excluded.digest OR vector.embedding IS NULL
"""
_FROM = "FROM ufo_experience.row JOIN ufo_experience.record USING (id)"
_READ = "SELECT row.row::text, record.trust, record.status"
_ENDED = "coalesce((record.status->'verdict'->>'success')::boolean, row.success)"  # a later verdict counts
_FEW_OF_EACH_TASK = f"""
(SELECT id FROM (
    SELECT id, score, row_number() OVER (PARTITION BY task_key, {_ENDED} ORDER BY score DESC, id) AS place,
        row_number() OVER (PARTITION BY coalesce(nullif(session, ''), id) ORDER BY score DESC, id) AS of_session
    FROM ({{found}} ORDER BY score DESC, id LIMIT {base.CROWD}) AS found
    JOIN ufo_experience.row USING (id) JOIN ufo_experience.record USING (id)
) AS ranked WHERE place <= {base.SAME_TASK} AND of_session <= {base.SAME_SESSION}
ORDER BY score DESC, id LIMIT %(wider)s)
"""
_BY_WORDS = f"""
SELECT id, (
    SELECT sum(weight) FROM unnest(%({{name}}_words)s::tsquery[], %({{name}}_weights)s::float8[]) AS one (word, weight)
    WHERE words @@ word
) / (1 + {{name}} / %({{name}}_average)s::float8) AS score
{_FROM} WHERE words @@ %({{name}}_rarest)s::tsquery AND {{inside}}
"""
_VECTORS = "ufo_experience.vector WHERE embedder = %(embedder)s AND embedding IS NOT NULL"
_BY_VECTOR = f"""
SELECT id, cosine AS score
{_FROM} JOIN (  -- OFFSET 0: cosines are joined, and not vectors
    SELECT id, -(embedding <#> %(vector)s::halfvec) AS cosine FROM {_VECTORS} OFFSET 0
) AS vector USING (id) WHERE {{inside}}
"""
_COSINE = f"(SELECT -(embedding <#> %(vector)s::halfvec) FROM {_VECTORS} AND vector.id = row.id)"
# what may be shown by default; weights come from these rows alone, so that no flood of others changes a score
_TRUSTED = "NOT removed AND trust = ANY(CASE WHEN imported THEN '{approved}' ELSE '{verified,approved}'::text[] END)"
_LENGTHS = f"""
SELECT count(*), count(*) FILTER (WHERE {_TRUSTED}), coalesce(avg(raw) FILTER (WHERE {_TRUSTED}), 1)::float8,
    coalesce(avg(masked) FILTER (WHERE {_TRUSTED}), 1)::float8 {_FROM}
"""
_COUNT_WORDS = f"""
SELECT word, count(id), count(id) FILTER (WHERE {_TRUSTED})
FROM unnest(%s::text[], %s::tsquery[]) AS asked (word, lexeme) LEFT JOIN (
    SELECT id, words, trust, imported, removed {_FROM}
) AS there ON words @@ lexeme GROUP BY word
"""
_FREQUENT = """
SELECT most_common_elems::text::text[], most_common_elem_freqs FROM pg_stats
WHERE schemaname = 'ufo_experience' AND tablename = 'row' AND attname = 'words'
"""
_LENGTH = f"SELECT vector_dims(embedding) FROM {_VECTORS} LIMIT 1"
_FORGET_OTHER_LENGTHS = """
UPDATE ufo_experience.vector SET embedding = NULL WHERE embedder = %(embedder)s AND vector_dims(embedding) <> %(length)s
"""
_KEEP = """
INSERT INTO ufo_experience.kept (kind, key, value, owner) VALUES (%s, %s, %s, %s)
ON CONFLICT (kind, key) DO UPDATE SET (value, owner) = (excluded.value, excluded.owner)
"""
_NEW = "SELECT id FROM ufo_experience.record WHERE NOT indexed AND NOT removed LIMIT %(limit)s"
_NO_VECTOR = "SELECT id FROM ufo_experience.vector WHERE embedder = %(embedder)s AND embedding IS NULL LIMIT %(limit)s"
_USE_EMBEDDER = (  # records that were learned with another one are listed for this one
    "UPDATE ufo_experience.store SET embedder = %(embedder)s WHERE embedder IS DISTINCT FROM %(embedder)s",
    "INSERT INTO ufo_experience.vector (id, embedder, digest) SELECT id, %(embedder)s, digest FROM ufo_experience.row"
    " ON CONFLICT DO NOTHING",
)
_CONDITIONS = {name: f"{name} = %({name})s" for name in ("application", "env", "task_key")}
_CONDITIONS |= {"session": "session <> %(session)s", "only": "id = ANY(%(only)s)"}


@dataclass(frozen=True)
class _Known:
    """What is known of all rows."""

    rows: int = 0
    trusted: int = 0
    average: Mapping[str, float] = field(default_factory=dict)  # length of a trusted text
    frequent: Mapping[str, float] = field(default_factory=dict)  # share of the rows that have a word
    until: float = 0.0


class PostgresIndex:
    """`embedder()` is asked for vectors: while learning where it works on this machine, else when `sync` is called."""

    def __init__(self, store: PostgresStore, embedder: Callable[[], Embedder]) -> None:
        self._store, self._database, self._embedder = store, store.database, embedder
        self._known = _Known()
        self._in_use = ""  # the embedder for which all rows are listed
        self._lengths: dict[str, int] = {}  # of vectors that are there, by embedder
        store.indexing = self._insert

    def candidates(
        self, request: Request, *, vector: Vector | None = None, filter: Filter | None = None, limit: int = base.LIMIT
    ) -> list[Candidate]:
        self._catch_up()
        known, asked = self._all_rows(), base.words_of(request)
        inside, values = _inside(filter or Filter())
        values["wider"] = WIDER * limit
        weights, parts = {}, []
        for name, words in asked.items():
            counts = self._counts(name, words, known)
            weights[name] = base.weights({word: trusted for word, (_, trusted) in counts.items()}, known.trusted)
            there = sorted((word for word in counts if counts[word][0]), key=lambda word: (counts[word], word))
            if there:
                lexemes = [_lexeme(_kept_as(name, word)) for word in there]
                few = bisect_right(list(accumulate(counts[word][0] for word in there[: base.RAREST])), MATCHES)
                values |= {f"{name}_words": lexemes, f"{name}_weights": [weights[name][word] for word in there]}
                values |= {f"{name}_rarest": " | ".join(lexemes[: max(1, few)]), f"{name}_average": known.average[name]}
                parts.append(_BY_WORDS.format(name=name, inside=inside))
        if vector is not None:
            with self._database.connection() as connection:
                self._expect_length(connection, len(vector))
            values |= {"vector": _vector_text(vector), "embedder": self._embedder().name}
            parts.append(_BY_VECTOR.format(inside=inside))
        if not parts:
            return []
        near = " UNION ".join(_FEW_OF_EACH_TASK.format(found=part) for part in parts)
        cosine = "NULL" if vector is None else _COSINE
        found = self._database.select(f"{_READ}, {cosine} {_FROM} WHERE id IN ({near})", values)
        rows = [(_row(*columns), near_by) for *columns, near_by in found]
        return _best(base.ranked(rows, asked, weights, known.average), limit)

    def rows(
        self, ids: Iterable[str] | None = None, *, filter: Filter | None = None, task_key: str | None = None
    ) -> list[Row]:
        self._catch_up()
        filter = filter or Filter()
        inside, values = _inside(filter if ids is None else replace(filter, only=frozenset(ids)), task_key)
        return self._read(f"{inside} ORDER BY id", values)

    def rarity(self, words: Collection[str]) -> dict[str, float]:
        known = self._all_rows()
        counts = self._counts("raw", words, known)
        return base.weights({word: trusted for word, (_, trusted) in counts.items()}, known.trusted)

    def count(self, filter: Filter | None = None) -> int:
        self._catch_up()
        inside, values = _inside(filter or Filter())
        return int(self._database.select(f"SELECT count(*) {_FROM} WHERE {inside}", values)[0][0])

    def _read(self, where: str, values: Mapping[str, Any]) -> list[Row]:
        found = self._database.select(f"{_READ} {_FROM} WHERE {where}", values)
        return [_row(*columns) for columns in found]

    # ---- small values that cost a request ----

    def kept(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        query = "SELECT key, value FROM ufo_experience.kept WHERE kind = %s AND key = ANY(%s)"
        return {key: bytes(value) for key, value in self._database.select(query, (kind, list(keys)))}

    def keep(self, kind: str, values: Mapping[str, bytes], *, owner: str = "") -> None:
        rows = [(kind, key, value, owner or None) for key, value in sorted(values.items())]
        with suppress(StorageError), self._database.transaction() as connection:  # who may only read keeps none
            connection.cursor().executemany(_KEEP, rows)

    # ---- following the store ----

    def sync(self, progress: Progress | None = None, *, thorough: bool = False) -> IndexReport:
        embedder = self._embedder()
        self._catch_up()
        self._use(embedder)
        records = embedded = 0
        if thorough:  # nobody counts all rows to learn one run
            with self._database.connection() as connection:
                connection.execute("ANALYZE ufo_experience.row")
            self._known = _Known()
            records = self._all_rows().rows
        while done := self._embed_piece(embedder):
            embedded += done
            if progress is not None:
                progress("embedded", embedded, max(records, embedded))
        return IndexReport(records, embedded, max(0, records - embedded))

    def rebuild(self, progress: Progress | None = None) -> IndexReport:
        embedder, records = self._embedder(), self._store.scan()
        given = {"embedder": embedder.name, "length": base.length_of(embedder)}
        with self._database.transaction() as connection:
            connection.execute("SET LOCAL statement_timeout = 0")
            connection.execute(_FORGET_OTHER_LENGTHS, given)
            self._lengths = {}
            connection.execute("DELETE FROM ufo_experience.row")
            connection.execute("UPDATE ufo_experience.record SET indexed = NOT removed WHERE indexed = removed")
            while group := list(islice(records, GROUP)):
                self._insert(connection, group, embed=False)
        return self.sync(progress, thorough=True)

    def missing(self) -> list[str]:
        self._catch_up()
        without = f"NOT removed AND id NOT IN (SELECT id FROM {_VECTORS}) ORDER BY id"
        return [row.to_embed for row in self._read(without, {"embedder": self._embedder().name})]

    def embedder_name(self) -> str | None:
        name: str | None = self._database.select("SELECT embedder FROM ufo_experience.store")[0][0]
        return name

    def check(self) -> list[str]:
        missing = len(self._database.select(_NEW, {"limit": None}))
        return [f"{missing} records have no row; run: ufo-experience index"] if missing else []

    def close(self) -> None:
        """Nothing to let go of: the connections are the store's."""

    def _insert(self, connection: Connection, records: Sequence[Experience], embed: bool = True) -> None:
        """The rows of records, with their vectors unless a service makes them: no commit waits for one."""
        rows = [base.row_of(one) for one in records]
        connection.cursor().executemany(_INSERT, [_columns(row) for row in rows])
        embedder = self._embedder()
        vectors: Iterable[Vector | None] = [None] * len(rows)
        if embed and not asks_service(embedder):
            vectors = iter(embedder.embed([row.to_embed for row in rows]))
        self._put_vectors(connection, embedder.name, zip(rows, vectors, strict=True))

    def _put_vectors(self, connection: Connection, embedder: str, found: Iterable[tuple[Row, Vector | None]]) -> None:
        values = []
        for row, vector in found:
            if vector is not None:
                self._expect_length(connection, len(vector))
            written = None if vector is None else _vector_text(vector)
            values.append((row.id, embedder, text_key(row.to_embed), written))
        connection.cursor().executemany(_INSERT_VECTOR, values)

    def _expect_length(self, connection: Connection, length: int) -> None:
        """Raise `DataError` when the vectors of the embedder that are there have another length."""
        name = self._embedder().name
        if name not in self._lengths:
            found = connection.execute(_LENGTH, {"embedder": name}).fetchone()
            self._lengths |= {name: found[0]} if found else {}
        base.expect_length(name, length, self._lengths.get(name))

    def _catch_up(self) -> None:
        """Insert the rows of records that came without one: no index was open where they were added."""
        with suppress(StorageError):  # who may only read waits for those who write
            while self._database.select(_NEW, {"limit": 1}):
                with self._database.transaction() as connection:
                    ids = _unlocked(connection, _NEW, {"limit": GROUP})
                    self._insert(connection, list(self._store.scan(ids)))
                    connection.execute("UPDATE ufo_experience.record SET indexed = true WHERE id = ANY(%s)", (ids,))
                if not ids:  # another is at it
                    return

    def _use(self, embedder: Embedder) -> None:
        """See to it that all rows are listed for an embedder."""
        if self._in_use != embedder.name:
            with self._database.transaction() as connection:
                for statement in _USE_EMBEDDER:
                    connection.execute(statement, {"embedder": embedder.name})
            self._in_use = embedder.name

    def _embed_piece(self, embedder: Embedder) -> int:
        """Embed some rows that have no vector, kept from others who are at it; each piece stays."""
        given = {"embedder": embedder.name, "limit": PIECE}
        if not self._database.select(_NO_VECTOR, {**given, "limit": 1}):
            return 0
        with self._database.transaction() as connection:
            ids = _unlocked(connection, _NO_VECTOR, given)
            query = f"{_READ} {_FROM} WHERE id = ANY(%s)"
            rows = [_row(*columns) for columns in connection.execute(query.encode("ascii"), (ids,)).fetchall()]
            if rows:
                vectors = embedder.embed([row.to_embed for row in rows])
                self._put_vectors(connection, embedder.name, zip(rows, vectors, strict=True))
        return len(rows)

    # ---- what is known of all rows ----

    def _all_rows(self) -> _Known:
        """Counted, or, in a large store, what was known a minute ago."""
        now = time.monotonic()
        if self._known.until < now:
            rows, trusted, raw, masked = self._database.select(_LENGTHS)[0]
            found = self._database.select(_FREQUENT) if rows >= LARGE else []
            frequent = {word: part for words, parts in found for word, part in zip(words, parts, strict=False)}
            until = now + FRESH_S if rows >= LARGE else 0.0
            self._known = _Known(rows, trusted, {"raw": raw, "masked": masked}, frequent, until)
        return self._known

    def _counts(self, name: str, words: Collection[str], known: _Known) -> dict[str, tuple[int, int]]:
        """In how many rows, and in how many trusted ones, each word stands; estimated for frequent words."""
        shares = {word: known.frequent.get(_kept_as(name, word), 0.0) for word in words}
        counts = {word: (round(share * known.rows), round(share * known.trusted)) for word, share in shares.items()}
        others = sorted(word for word, share in shares.items() if word and not share)
        found = self._database.select(_COUNT_WORDS, (others, [_lexeme(_kept_as(name, word)) for word in others]))
        return counts | {word: (rows, trusted) for word, rows, trusted in found}


def _best(found: Sequence[Candidate], limit: int) -> list[Candidate]:
    """The best by words, by masked words and by cosine, and what a wording found; in the order they have."""
    kept = {one.row.id for one in found if one.row.wordings}
    for share in ("words", "masked", "cosine"):
        near = [(-(getattr(one, share) or 0.0), one.row.id) for one in found]
        kept |= {id for away, id in sorted(near)[:limit] if away < 0}
    return [one for one in found if one.row.id in kept]


def _columns(row: Row) -> tuple[Any, ...]:
    texts = [base.words_of(one) for one in (row.request, *row.wordings)]
    words = sorted({_kept_as(name, word) for text in texts for name, words in text.items() for word in words})
    names = base.application_of(row.application), base.env_of(row.env), _plain(row.session)
    told = row.success, row.imported, row.task_key, text_key(row.to_embed)
    return row.id, row.to_json(), *names, *told, len(texts[0]["raw"]), len(texts[0]["masked"]), words


def _row(kept: str, trust: str, status: dict[str, Any]) -> Row:
    """A row as it is now: trust, usage and a later verdict are those of its record."""
    said = validate(Status, status)
    now: dict[str, Any] = {name: getattr(said.usage, name) for name in ("helped", "hurt", "streak", "last_success")}
    if said.verdict:
        now["success"] = said.verdict.success
    return replace(base.row_from_json(kept), trust=Trust(trust), **now)


def _unlocked(connection: Connection, query: str, values: Mapping[str, Any]) -> list[str]:
    """The ids that a query finds and nobody else is at; they are ours until the transaction ends."""
    found = connection.execute(f"{query} FOR UPDATE SKIP LOCKED".encode("ascii"), values).fetchall()
    return [id for (id,) in found]


def _inside(filter: Filter, task_key: str | None = None) -> tuple[str, dict[str, Any]]:
    """The condition of a filter and its values."""
    values = base.compared(filter, task_key)
    parts = ["NOT removed", *(_CONDITIONS[name] for name in values)]
    if filter.exclude_session:
        values["session"] = _plain(filter.exclude_session)
    if filter.only is not None:
        values["only"] = [id for id in filter.only if is_id(id)]
    if any(least.rank for least in filter.least):
        parts.append("trust = ANY(CASE WHEN imported THEN %(imported)s::text[] ELSE %(own)s::text[] END)")
        for name, least in zip(("own", "imported"), filter.least, strict=True):
            values[name] = [level.value for level in Trust if level.rank >= least.rank]
    return " AND ".join(parts), values


def _kept_as(name: str, word: str) -> str:
    """A word of a raw or masked text as it stands in a `tsvector`."""
    return _MASKED * (name == "masked") + word[:_LONGEST_WORD]


def _lexeme(word: str) -> str:
    """A word as a `tsquery`."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _vector_text(vector: Vector) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(str, vector.tolist()))}]"


def _plain(text: str) -> str:
    """A text as a column takes it: no zero bytes, no half of a surrogate pair."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
