"""Tables and statements of the SQLite index: rows, words (FTS5), vectors, and small values that cost a request."""

import json
import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from ufo_experience.index.base import CROWD, RAREST, Filter, Row, application_of, env_of, text_key
from ufo_experience.schema import Trust
from ufo_experience.store.catalog import note, noted, statements

PLACES = 16  # of a record among the words: its task, then its wordings; there a record is number * 16 + place
MATCHES = 1_000  # rows that are looked at for single words
TABLES = ("trusted", "held")  # of words: what is not trusted is looked for, and counts in no weight
COLUMNS = ("raw", "masked")  # of each: the words of a request as they are, and with values masked
SCHEMA = statements(Path(__file__).with_name("sqlite.sql"))
_KNOWN = "row.number, task_key, success, session"  # of a row, to see which are runs of one task
BY_WORDS = f"""
    SELECT DISTINCT {_KNOWN} FROM {{table}} JOIN row ON row.number = {{table}}.rowid / {PLACES}
    WHERE {{table}} MATCH ? AND {{where}} ORDER BY {{table}}.rank LIMIT {CROWD}
"""
BY_VECTOR = f"""
    SELECT {_KNOWN} FROM json_each(?) AS near CROSS JOIN row ON row.vector = near.value WHERE {{where}} LIMIT {CROWD}
"""
_VECTOR = "(SELECT number FROM text_vector WHERE text_key = ? AND embedder = ?)"


def matches_of(column: str, counts: Mapping[str, int]) -> list[str]:
    """What FTS5 is asked for: the rarest words, ranked by the next one, too; where these find too little also that
    one, which is too common by itself, beside one of the others.
    """
    rarest = sorted((word for word, count in counts.items() if count), key=lambda word: (counts[word], word))[:RAREST]
    quoted = ['"' + word.replace('"', '""') + '"' for word in rarest]
    few = bisect_right([*accumulate(counts[word] for word in rarest)], MATCHES)
    alone, common, others = " OR ".join(quoted[:few]), quoted[few : few + 1], " OR ".join(quoted[few + 1 :])
    narrow = [alone, *(f"({alone}) AND {word}" for word in common)] if alone else []
    beside = [f"{word} AND ({others})" if others else word for word in common]
    found = [" OR ".join(f"({part})" for part in parts) for parts in (narrow, [*narrow, *beside])]
    return [f"{{{column}}} : ({words})" for words in dict.fromkeys(found) if words]


def _is_trusted(trust: Trust, imported: bool) -> bool:
    """True for what may be shown by default: own records from verified on, imported ones when approved."""
    return trust.rank >= (Trust.APPROVED if imported else Trust.VERIFIED).rank


def asks_for_trusted(filter: Filter) -> bool:
    """True for a filter that lets nothing else pass: half of a question is not asked."""
    return _is_trusted(filter.min_trust, False) and _is_trusted(filter.min_trust_imported or filter.min_trust, True)


def sql_where(filter: Filter) -> tuple[str, list[Any]]:
    """A filter as a condition on rows, and what it is given."""
    imported = filter.min_trust_imported or filter.min_trust
    parts = ["trust >= CASE WHEN imported THEN ? ELSE ? END"]
    given: list[Any] = [imported.rank, filter.min_trust.rank]
    for name, value in (("application", application_of(filter.application)), ("env", env_of(filter.env))):
        if getattr(filter, name) is not None:
            parts.append(f"{name} = ?")
            given.append(value)
    if filter.exclude_session:
        parts.append("session != ?")
        given.append(filter.exclude_session)
    if filter.only is not None:
        parts.append("row.id IN (SELECT value FROM json_each(?))")
        given.append(json.dumps(sorted(filter.only)))
    return " AND ".join(parts), given


def follow(db: sqlite3.Connection, taken: int, rows: Sequence[tuple[int, int, Row]], marks: Mapping[str, int]) -> None:
    """Write what came after a change: rows (number, change, row) with their words, up to where it is."""
    _drop_dead(db, taken)
    embedder = noted(db, "embedder")
    for number, change, row in rows:
        _drop(db, number)
        requests = [row.request, *row.wordings][:PLACES]
        texts = [
            (place, " ".join(one.words), " ".join(one.masked_words))
            for place, one in enumerate(requests, start=number * PLACES)
        ]
        trusted = _is_trusted(row.trust, row.imported)
        table = TABLES[not trusted]
        db.executemany(f"INSERT INTO {table} (rowid, raw, masked) VALUES (?, ?, ?)", texts)
        _count(db, table, texts, 1)
        columns = (
            *(number, row.id, change, row.to_json(), application_of(row.application), env_of(row.env)),
            *(row.session, row.trust.rank, row.imported, row.success, row.task_key, key := text_key(row.to_embed)),
            *(trusted, len(row.request.words), len(row.request.masked_words)),
        )
        insert = f"INSERT INTO row VALUES ({', '.join('?' * len(columns))}, {_VECTOR})"
        db.execute(insert, (*columns, key, embedder))
    note(db, **marks)


def _count(db: sqlite3.Connection, table: str, texts: Iterable[tuple[int, str, str]], times: int) -> None:
    """Count the words of texts that come (`times` 1) or go (-1)."""
    counts: Counter[tuple[str, str]] = Counter()
    for _, *columns in texts:
        for column, text in zip(COLUMNS, columns, strict=True):
            counts.update((f"{table} {column}", word) for word in set(text.split()))
    add = "INSERT INTO word VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET texts = texts + excluded.texts"
    db.executemany(add, [(*place, times * count) for place, count in counts.items()])


def put_vectors(db: sqlite3.Connection, embedder: str, vectors: Mapping[str, bytes]) -> None:
    """Write vectors by the key of their text, for the rows that have such a text."""
    rows = [(key, embedder, data) for key, data in vectors.items()]
    db.executemany("INSERT OR REPLACE INTO text_vector (text_key, embedder, data) VALUES (?, ?, ?)", rows)
    db.executemany(f"UPDATE row SET vector = {_VECTOR} WHERE text_key = ?", [(key, embedder, key) for key in vectors])
    note(db, embedder=embedder)


def use_embedder(db: sqlite3.Connection, embedder: str) -> None:
    """Give each row its vector of an embedder, where there is one."""
    db.execute(f"UPDATE row SET vector = {_VECTOR.replace('?', 'row.text_key', 1)}", (embedder,))
    note(db, embedder=embedder)


def forget_vectors(db: sqlite3.Connection, embedder: str) -> None:
    """Delete the vectors of an embedder, which gives others now."""
    db.execute("DELETE FROM text_vector WHERE embedder = ?", (embedder,))
    use_embedder(db, embedder)


def _drop(db: sqlite3.Connection, number: int) -> None:
    db.execute("DELETE FROM row WHERE number = ?", (number,))
    for table in TABLES:
        where, given = "WHERE rowid >= ? AND rowid < ?", (number * PLACES, (number + 1) * PLACES)
        if texts := db.execute(f"SELECT rowid, raw, masked FROM {table} {where}", given).fetchall():
            _count(db, table, texts, -1)
            db.execute(f"DELETE FROM {table} {where}", given)


def _drop_dead(db: sqlite3.Connection, taken: int) -> None:
    """Delete the rows of records that went after a change."""
    ask = "SELECT number FROM row JOIN record USING (number) WHERE record.change > ? AND NOT live"
    dead = [number for (number,) in db.execute(ask, (taken,))]
    for number in dead:
        _drop(db, number)
    if dead:
        note(db, **{"to erase": 1})


def erase_what_is_unused(db: sqlite3.Connection) -> None:
    """Leave no vector, value or word of what is gone."""
    db.execute("DELETE FROM text_vector WHERE text_key NOT IN (SELECT text_key FROM row)")
    note(db, epoch=noted(db, "epoch") + 1)  # no process writes them into a file again
    db.execute("DELETE FROM word WHERE texts = 0")
    db.execute("DELETE FROM kept WHERE owner != '' AND owner NOT IN (SELECT id FROM row)")
    for table in TABLES:
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def forget_rows(db: sqlite3.Connection) -> None:
    """Drop what is made from the records; vectors and kept values, which may have cost a request, stay."""
    for statement in SCHEMA:
        db.execute(statement)
