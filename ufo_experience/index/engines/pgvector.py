"""Vectors in PostgreSQL with pgvector, shared by all machines that use the database.

A search whose filter leaves at most `EXACT_ROWS` rows is exact: the rows inside the filter are compared one by one.
Only where more are left does an HNSW index put forward candidates, which are then compared exactly. Filtering what an
HNSW index put forward loses most of the true answers (recall 0.20 at 5 % selectivity), so applications that large get
an index of their own, and other filters go through an iterative scan.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.errors import MissingExtraError, ServiceError, StorageError, UsageError
from ufo_experience.fileio.postgres import Connection, Database
from ufo_experience.index.base import (
    DECIMALS,
    Attributes,
    Content,
    Filter,
    Neighbour,
    ServerIndex,
    Space,
    Vectors,
    application_of,
    check_counts,
    checked,
    columns_of,
    env_of,
    ranked,
)
from ufo_experience.index.generations import Generation
from ufo_experience.store.base import ExperienceStore

EXTENSION = "CREATE EXTENSION IF NOT EXISTS vector; CREATE SCHEMA IF NOT EXISTS ufo_vectors"
TABLE = """
CREATE TABLE IF NOT EXISTS {table} (
    id text COLLATE "C" PRIMARY KEY,
    application text NOT NULL,
    env text NOT NULL,
    trust smallint NOT NULL,
    imported boolean NOT NULL,
    success boolean,
    embedding vector({dim}) NOT NULL
);
ALTER TABLE {table} ALTER COLUMN embedding SET STORAGE {storage};
CREATE INDEX IF NOT EXISTS {name}_by_application ON {table} (application, trust)
"""
FIELDS = "application, env, trust, imported, success"
UPSERT = f"""
INSERT INTO {{table}} (id, {FIELDS}, embedding) VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (id) DO UPDATE SET ({FIELDS}, embedding) = (excluded.application, excluded.env, excluded.trust,
    excluded.imported, excluded.success, excluded.embedding)
"""
UPDATE = f"""
UPDATE {{table}} SET ({FIELDS}) = (%(application)s, %(env)s, %(trust)s, %(imported)s, %(success)s) WHERE id = %(id)s
AND ({FIELDS}) IS DISTINCT FROM (%(application)s, %(env)s, %(trust)s::smallint, %(imported)s, %(success)s::boolean)
"""
EXACT = """
SELECT id, embedding <#> %(query)s AS distance FROM {table} WHERE {inside} ORDER BY distance, id LIMIT %(k)s
"""
NEAR = """
SELECT id, embedding <#> %(query)s AS distance FROM (
    SELECT id, embedding FROM {table} WHERE {inside}
    ORDER BY embedding::halfvec({dim}) <#> %(query)s::halfvec({dim}) LIMIT %(candidates)s
) AS candidate
"""
HNSW = """
CREATE INDEX CONCURRENTLY IF NOT EXISTS {name}_{key} ON {table}
USING hnsw ((embedding::halfvec({dim})) halfvec_ip_ops) {only}
"""
BROKEN = """
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = %s::regclass AND NOT indisvalid
"""


def where(filter: Filter) -> tuple[str, dict[str, Any]]:
    """The condition of a filter and its values."""
    parts = ["(CASE WHEN imported THEN trust >= %(imported)s ELSE trust >= %(own)s END)"]
    values: dict[str, Any] = {"imported": filter.min_trust_imported, "own": filter.min_trust}
    if filter.min_trust == filter.min_trust_imported == 0:
        parts, values = ["true"], {}
    for name, value in (
        ("application", None if filter.application is None else application_of(filter.application)),
        ("env", None if filter.env is None else env_of(filter.env)),
        ("success", filter.success),
    ):
        if value is not None:
            parts.append(f"{name} = %({name})s")
            values[name] = value
    return " AND ".join(parts), values


try:
    from pgvector.psycopg import register_vector
    from psycopg.errors import InsufficientPrivilege
    from psycopg.sql import Literal
except ModuleNotFoundError as error:
    raise MissingExtraError(error.name or "pgvector", "postgres") from error

EXACT_ROWS = 50_000
MAX_HNSW_DIM = 4_000  # of halfvec
CANDIDATES = 4  # times k, that an HNSW index puts forward
SCAN_WIDTH = 200  # hnsw.ef_search
COUNTED_FOR_S = 60.0  # how long a count of the rows inside a filter is relied on

_OWN = "pgvector"  # the engine's name for the database of the store itself
_LOCK = 0x75666F5F766563  # of the advisory lock for changing tables and indexes


class PgvectorIndex(ServerIndex):
    """One table of vectors. Nothing is asked of the server before the first call."""

    def __init__(self, database: Database, space: Space, *, exact_rows: int = EXACT_ROWS) -> None:
        super().__init__(space)
        self._plain, self._exact_rows = database, exact_rows
        self._database: Database | None = None
        self._filled = False
        self._counts: dict[Filter, tuple[int, float]] = {}
        name = f"v_{sha256(repr(space).encode()).hexdigest()[:16]}"
        storage = "PLAIN" if space.dim <= 1_900 else "EXTERNAL"  # a plain one must fit a page of 8 kB
        self._names = {"name": name, "table": f"ufo_vectors.{name}", "dim": space.dim, "storage": storage}

    @classmethod
    def open(
        cls, engine: str, space: Space, *, store: ExperienceStore, generation: Generation | None = None
    ) -> PgvectorIndex:
        """The table of a space, in the store's database or in the one the URL names; see `open_index`."""
        if engine != _OWN:
            return cls(Database(engine), space)
        if store.database is None:
            raise UsageError("the index pgvector is kept in the store's database; name one: --index postgresql://…")
        return cls(store.database, space)

    def __len__(self) -> int:
        return int(self._select("SELECT count(*) FROM {table}")[0][0])

    def __bool__(self) -> bool:
        if not self._filled:
            self._filled = bool(self._select("SELECT EXISTS (SELECT FROM {table})")[0][0])
        return self._filled

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Those that have no vector here; see `VectorIndex.missing`."""
        if not ids:
            return []
        known = {id for (id,) in self._select("SELECT id FROM {table} WHERE id = ANY(%s)", (list(ids),))}
        return [id for id in ids if id not in known]

    def add(self, ids: Sequence[str], vectors: Vectors, attributes: Sequence[Attributes]) -> None:
        """Insert or replace, in one transaction; see `VectorIndex.add`."""
        matrix = checked(vectors, self.dim)
        check_counts(ids, matrix, attributes)
        kept = [columns_of(one) for one in attributes]
        self._change(UPSERT, [(ids[n], *kept[n].values(), matrix[n]) for n in _in_order(ids)])

    def update(self, ids: Sequence[str], attributes: Sequence[Attributes]) -> None:
        """Replace attributes; rows that have them already are not written. See `VectorIndex.update`."""
        self._change(UPDATE, [{"id": ids[n], **columns_of(attributes[n])} for n in _in_order(ids)])

    def remove(self, ids: Sequence[str]) -> int:
        """Take ids out; see `VectorIndex.remove`."""
        return self._delete("DELETE FROM {table} WHERE id = ANY(%s)", ids) if ids else 0

    def retain(self, ids: Sequence[str]) -> int:
        """Take all others out; see `VectorIndex.retain`."""
        return self._delete("DELETE FROM {table} WHERE id <> ALL(%s)", ids)

    def search(self, vectors: Vectors, k: int, filter: Filter | None = None) -> list[list[Neighbour]]:
        """Top-k inside the filter, exact up to `EXACT_ROWS` rows in it; see `VectorIndex.search`."""
        queries, chosen = checked(vectors, self.dim), filter or Filter()
        if k < 1:
            return [[] for _ in queries]
        few = self._space.dim > MAX_HNSW_DIM or self._count(chosen) <= self._exact_rows

        def ask(connection: Connection) -> list[list[tuple[str, float]]]:
            near = [] if few else self._near(connection, queries, k, chosen)
            return [
                near[n] if near and len(near[n]) >= k else self._exact(connection, query, k, chosen)
                for n, query in enumerate(queries)
            ]

        with _allowed():
            found = self._ready().read(ask)
        return [ranked([(id, -distance) for id, distance in rows], k) for rows in found]

    def similarity(self, vector: Vectors, ids: Sequence[str]) -> NDArray[np.float32]:
        """Cosine similarity with given ids; see `VectorIndex.similarity`."""
        query = checked(np.asarray(vector).reshape(1, -1), self.dim)[0]
        statement = "SELECT id, -(embedding <#> %s) FROM {table} WHERE id = ANY(%s)"
        scores = dict(self._select(statement, (query, list(ids)))) if ids else {}
        return np.array([round(scores.get(id, np.nan), DECIMALS) for id in ids], np.float32)

    def save(self) -> dict[str, Content]:
        """No files; what has grown beyond `EXACT_ROWS` gets an HNSW index, while others go on reading and writing."""
        if self._space.dim <= MAX_HNSW_DIM:
            sizes = dict(self._select("SELECT application, count(*) FROM {table} GROUP BY 1"))
            large = [name for name, rows in sorted(sizes.items()) if rows > self._exact_rows]
            if sum(sizes.values()) > self._exact_rows:
                self._build([None, *(large if len(sizes) > 1 else [])])
        return {}

    def _near(self, connection: Connection, queries: Vectors, k: int, filter: Filter) -> list[list[tuple[str, float]]]:
        """What the HNSW indexes put forward, compared exactly; fewer than `k` when the scan gave up."""
        inside, values = where(filter)
        statement = self._named(NEAR, inside=inside)
        with connection.transaction():
            connection.execute(f"SET LOCAL hnsw.ef_search = {SCAN_WIDTH}")
            connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
            return [
                # not prepared: a plan made for any application would not use the index of this one
                connection.execute(
                    statement, {**values, "query": query, "candidates": CANDIDATES * k}, prepare=False
                ).fetchall()
                for query in queries
            ]

    def _exact(self, connection: Connection, query: Vectors, k: int, filter: Filter) -> list[tuple[str, float]]:
        inside, values = where(filter)
        return connection.execute(self._named(EXACT, inside=inside), {**values, "query": query, "k": k}).fetchall()

    def _count(self, filter: Filter) -> int:
        """Rows inside the filter, counted no further than one above `exact_rows`, and at most once a minute."""
        rows, until = self._counts.get(filter, (0, 0.0))
        if until < time.monotonic():
            inside, values = where(filter)
            statement = "SELECT count(*) FROM (SELECT FROM {table} WHERE {inside} LIMIT %(limit)s) AS counted"
            values["limit"] = self._exact_rows + 1
            rows = int(self._select(statement, values, inside=inside)[0][0])
            self._counts[filter] = rows, time.monotonic() + COUNTED_FOR_S
        return rows

    def _build(self, applications: Sequence[str | None]) -> None:
        """Build the HNSW indexes that are missing, unless another machine is at it."""
        with self._connection() as connection:
            if connection.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone() != (True,):
                return
            patience = connection.execute("SELECT current_setting('lock_timeout')").fetchone()
            try:
                connection.execute("SET lock_timeout = 0")
                for (broken,) in connection.execute(BROKEN, (self._names["table"],)).fetchall():
                    connection.execute(f"DROP INDEX CONCURRENTLY {broken}".encode("ascii"))
                for name in applications:
                    connection.execute(self._hnsw(connection, name))
            finally:
                connection.execute("SELECT set_config('lock_timeout', %s, false)", patience)
                connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))

    def _hnsw(self, connection: Connection, application: str | None) -> bytes:
        """The statement that builds the index over all rows, or over those of one application."""
        if application is None:
            return self._named(HNSW, key="hnsw", only="")
        key = f"hnsw_{sha256(application.encode()).hexdigest()[:8]}"
        return self._named(HNSW, key=key, only=f"WHERE application = {Literal(application).as_string(connection)}")

    def _change(self, statement: str, rows: Sequence[Any]) -> None:
        if rows:
            with self._connection() as connection, connection.transaction():
                connection.cursor().executemany(self._named(statement), rows)
            self._counts.clear()

    def _delete(self, statement: str, ids: Sequence[str]) -> int:
        with self._connection() as connection:
            gone = connection.execute(self._named(statement), (sorted(ids),)).rowcount
        self._filled = False
        self._counts.clear()
        return gone

    def _select(self, statement: str, values: Any = (), **parts: str) -> list[Any]:
        with _allowed():
            named = self._named(statement, **parts)
            return self._ready().read(lambda connection: connection.execute(named, values).fetchall())

    def _named(self, statement: str, **parts: str) -> bytes:
        """A statement of this file with the names of this table put in."""
        return statement.format(**self._names, **parts).encode("utf-8")

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection that knows the type of vectors, to a database that has the table."""
        with _allowed(), self._ready().connection() as connection:
            yield connection

    def _ready(self) -> Database:
        """The database, with the table in it."""
        if self._database is None:
            self._set_up()
            self._database = self._plain.preparing(register_vector)
        return self._database

    def _set_up(self) -> None:
        """Make extension and table where they are missing. Raises `ServiceError` for a pgvector that is too old."""
        with self._plain.connection() as connection:
            there = connection.execute("SELECT to_regclass(%s)", (self._names["table"],)).fetchone()
        if there == (None,):
            with self._plain.transaction() as connection:
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                connection.execute(EXTENSION)
                found = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
                if found is None or tuple(map(int, found[0].split(".")[:2])) < (0, 8):
                    raise ServiceError(f"{self._plain.label}: pgvector 0.8 or newer is needed, not {found}")
                connection.execute(self._named(TABLE))


@contextmanager
def _allowed() -> Iterator[None]:
    """Vectors that a role may not read or write are vectors that are away: words answer."""
    try:
        yield
    except StorageError as error:
        if not isinstance(error.__cause__, InsufficientPrivilege):
            raise
        raise ServiceError(f"{error}; GRANT USAGE, SELECT on the schema ufo_vectors and its tables") from error


def _in_order(ids: Sequence[str]) -> list[int]:
    """Places in the order of ids: two writers that lock rows in one order never wait for each other in a ring."""
    return sorted(range(len(ids)), key=lambda number: ids[number])
