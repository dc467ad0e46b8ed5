"""The questions of an index on a PostgreSQL server, as SQL, and its words as a `tsvector` holds them.

A question for words looks up the rows that have one of its rarest words and pass the filter, weighs the words they
have, and lets few runs of one task through. `raw` is a text as it is, `masked` with its values as marks.
"""

from __future__ import annotations

from typing import Any

from ufo_experience.ids import is_id
from ufo_experience.index import base
from ufo_experience.index.base import Filter, Vector
from ufo_experience.request import Request
from ufo_experience.schema import Trust

LONGEST_WORD = 500  # characters; PostgreSQL takes 2,046 bytes
MASKED = "~"  # begins a word of a masked text: both kinds stand in one `tsvector`

INSERT = """
INSERT INTO ufo_experience.row
    (id, row, application, env, session, success, imported, task_key, digest, raw, masked, words)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, array_to_tsvector(%s::text[])) ON CONFLICT DO NOTHING
"""
INSERT_VECTOR = """
INSERT INTO ufo_experience.vector (id, embedder, digest, embedding) VALUES (%s, %s, %s, %s::halfvec)
ON CONFLICT (id, embedder) DO UPDATE SET (digest, embedding) = (excluded.digest, excluded.embedding)
WHERE vector.digest <> excluded.digest OR vector.embedding IS NULL
"""
FROM = "FROM ufo_experience.row JOIN ufo_experience.record USING (id)"
READ = "SELECT row.row::text, record.trust, record.status"
_ENDED = "coalesce((record.status->'verdict'->>'success')::boolean, row.success)"  # a later verdict counts
FEW_OF_EACH_TASK = f"""
(SELECT id FROM (
    SELECT id, score, row_number() OVER (PARTITION BY task_key, {_ENDED} ORDER BY score DESC, id) AS place,
        row_number() OVER (PARTITION BY coalesce(nullif(session, ''), id) ORDER BY score DESC, id) AS of_session
    FROM ({{found}} ORDER BY score DESC, id LIMIT {base.CROWD}) AS found
    JOIN ufo_experience.row USING (id) JOIN ufo_experience.record USING (id)
) AS ranked WHERE place <= {base.SAME_TASK} AND of_session <= {base.SAME_SESSION}
ORDER BY score DESC, id LIMIT %(wider)s)
"""
BY_WORDS = f"""
SELECT id, (
    SELECT sum(weight) FROM unnest(%({{name}}_words)s::tsquery[], %({{name}}_weights)s::float8[]) AS one (word, weight)
    WHERE words @@ word
) / (1 + {{name}} / %({{name}}_average)s::float8) AS score
{FROM} WHERE words @@ %({{name}}_rarest)s::tsquery AND {{inside}}
"""
VECTORS = "ufo_experience.vector WHERE embedder = %(embedder)s AND embedding IS NOT NULL"
BY_VECTOR = f"""
SELECT id, cosine AS score
{FROM} JOIN (  -- OFFSET 0: cosines are joined, and not vectors
    SELECT id, -(embedding <#> %(vector)s::halfvec) AS cosine FROM {VECTORS} OFFSET 0
) AS vector USING (id) WHERE {{inside}}
"""
COSINE = f"(SELECT -(embedding <#> %(vector)s::halfvec) FROM {VECTORS} AND vector.id = row.id)"
# what may be shown by default; weights come from these rows alone, so that no flood of others changes a score
_TRUSTED = "NOT removed AND trust = ANY(CASE WHEN imported THEN '{approved}' ELSE '{verified,approved}'::text[] END)"
LENGTHS = f"""
SELECT count(*), count(*) FILTER (WHERE {_TRUSTED}), coalesce(avg(raw) FILTER (WHERE {_TRUSTED}), 1)::float8,
    coalesce(avg(masked) FILTER (WHERE {_TRUSTED}), 1)::float8 {FROM}
"""
COUNT_WORDS = f"""
SELECT word, count(id), count(id) FILTER (WHERE {_TRUSTED})
FROM unnest(%s::text[], %s::tsquery[]) AS asked (word, lexeme) LEFT JOIN (
    SELECT id, words, trust, imported, removed {FROM}
) AS there ON words @@ lexeme GROUP BY word
"""
FREQUENT = """
SELECT most_common_elems::text::text[], most_common_elem_freqs FROM pg_stats
WHERE schemaname = 'ufo_experience' AND tablename = 'row' AND attname = 'words'
"""
LENGTH = f"SELECT vector_dims(embedding) FROM {VECTORS} LIMIT 1"
FORGET_OTHER_LENGTHS = """
UPDATE ufo_experience.vector SET embedding = NULL WHERE embedder = %(embedder)s AND vector_dims(embedding) <> %(length)s
"""
KEEP = """
INSERT INTO ufo_experience.kept (kind, key, value, owner) VALUES (%s, %s, %s, %s)
ON CONFLICT (kind, key) DO UPDATE SET (value, owner) = (excluded.value, excluded.owner)
"""
NEW = "SELECT id FROM ufo_experience.record WHERE NOT indexed AND NOT removed LIMIT %(limit)s"
NO_VECTOR = "SELECT id FROM ufo_experience.vector WHERE embedder = %(embedder)s AND embedding IS NULL LIMIT %(limit)s"
USE_EMBEDDER = (  # records that were learned with another one are listed for this one
    "UPDATE ufo_experience.store SET embedder = %(embedder)s WHERE embedder IS DISTINCT FROM %(embedder)s",
    "INSERT INTO ufo_experience.vector (id, embedder, digest) SELECT id, %(embedder)s, digest FROM ufo_experience.row"
    " ON CONFLICT DO NOTHING",
)
_CONDITIONS = {
    "application": "application = %(application)s",
    "env": "env = %(env)s",
    "session": "session <> %(session)s",
    "only": "id = ANY(%(only)s)",
    "task_key": "task_key = %(task_key)s",
}


def inside(filter: Filter, task_key: str | None = None) -> tuple[str, dict[str, Any]]:
    """The condition of a filter and its values."""
    given = {
        "application": None if filter.application is None else base.application_of(filter.application),
        "env": None if filter.env is None else base.env_of(filter.env),
        "session": plain(filter.exclude_session) if filter.exclude_session else None,
        "only": None if filter.only is None else [id for id in filter.only if is_id(id)],
        "task_key": task_key,
    }
    values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    parts = ["NOT removed", *(_CONDITIONS[name] for name in values)]
    imported = filter.min_trust if filter.min_trust_imported is None else filter.min_trust_imported
    if filter.min_trust.rank or imported.rank:
        parts.append("trust = ANY(CASE WHEN imported THEN %(imported)s::text[] ELSE %(own)s::text[] END)")
        for name, least in (("own", filter.min_trust), ("imported", imported)):
            values[name] = [level.value for level in Trust if level.rank >= least.rank]
    return " AND ".join(parts), values


def words_of(request: Request) -> dict[str, list[str]]:
    """The words of a request, raw and masked, as they stand in a `tsvector`."""
    masked = [MASKED + word[:LONGEST_WORD] for word in request.masked_words]
    return {"raw": [word[:LONGEST_WORD] for word in request.words], "masked": masked}


def lexeme(word: str) -> str:
    """A word as a `tsquery`."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def vector_text(vector: Vector) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(str, vector.tolist()))}]"


def plain(text: str) -> str:
    """A text as a column takes it: no zero bytes, no half of a surrogate pair."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
