"""The statements of `pgvector.py`: the table of one space, its upkeep, and the two ways to search it.

The distance is the negative inner product. It stands once in each: a second mention would be computed a second time.
`{table}`, `{name}`, `{dim}` and `{storage}` are put in by us, `{inside}` is what `where` gives; values go beside.
"""

from __future__ import annotations

from typing import Any

from ufo_experience.index.base import Attributes, Filter
from ufo_experience.index.rows import application_of, env_of

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


def columns(one: Attributes) -> dict[str, Any]:
    """The columns a record may be filtered by, in the order of `FIELDS`."""
    return {
        "application": application_of(one.application),
        "env": env_of(one.env),
        "trust": one.trust,
        "imported": one.imported,
        "success": one.success,
    }


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
