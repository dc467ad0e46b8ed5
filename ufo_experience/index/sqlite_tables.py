"""What is written into the tables of the SQLite index: rows, words (FTS5), vectors; and how words are looked for."""

import json
import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from ufo_experience.index.base import (
    CROWD,
    RAREST,
    Filter,
    Row,
    application_of,
    compared,
    env_of,
    row_from_json,
    text_key,
    words_of,
)
from ufo_experience.schema import Trust
from ufo_experience.store.catalog import note, noted

PLACES = 16  # of a record among the words: its task, then its wordings; there a record is number * 16 + place
MATCHES = 1_000  # rows that are looked at for single words
TABLES = ("trusted", "held")  # of words: what is not trusted is looked for, and counts in no weight
_KNOWN = "row.number, task_key, success, session"  # of a row, to see which are runs of one task
BY_WORDS = f"""
    SELECT DISTINCT {_KNOWN} FROM {{table}} JOIN row ON row.number = {{table}}.rowid / {PLACES}
    WHERE {{table}} MATCH :words AND {{where}} ORDER BY {{table}}.rank LIMIT {CROWD}
"""
BY_VECTOR = f"""
    SELECT {_KNOWN} FROM json_each(:near) AS near CROSS JOIN row ON row.vector = near.value
    WHERE {{where}} LIMIT {CROWD}
"""
_CONDITIONS = {name: f"{name} = :{name}" for name in ("application", "env", "task_key")}
_CONDITIONS |= {"session": "session != :session", "only": "row.id IN (SELECT value FROM json_each(:only))"}
_VECTOR = "(SELECT number FROM text_vector WHERE text_key = row.text_key AND embedder = ?)"


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


def tables_of(filter: Filter) -> Sequence[str]:
    """The tables of words that have rows which pass a filter: half of a question is not asked where all are trusted."""
    own, imported = filter.least
    return TABLES[:1] if _is_trusted(own, False) and _is_trusted(imported, True) else TABLES


def sql_where(filter: Filter, task_key: str | None = None) -> tuple[str, dict[str, Any]]:
    """A filter as a condition on rows, and its values."""
    values = compared(filter, task_key)
    parts = ["trust >= CASE WHEN imported THEN :imported ELSE :own END", *(_CONDITIONS[name] for name in values)]
    values |= {name: least.rank for name, least in zip(("own", "imported"), filter.least, strict=True)}
    if filter.only is not None:
        values["only"] = json.dumps([*filter.only])
    return " AND ".join(parts), values


def put_rows(db: sqlite3.Connection, made: Sequence[tuple[int, int, Row | None]]) -> None:
    """Write what records came to: their number, the change that is taken in by it, and the row (None for none)."""
    for number, change, row in made:
        had_row = _drop(db, number)
        if row is not None:
            _insert(db, number, row)
        elif had_row:
            note(db, **{"to erase": 1})
        db.execute("UPDATE record SET indexed = ? WHERE number = ?", (change, number))


def _insert(db: sqlite3.Connection, number: int, row: Row) -> None:
    table, texts = _texts(row)
    places = [(number * PLACES + place, *map(" ".join, text.values())) for place, text in enumerate(texts)]
    db.executemany(f"INSERT INTO {table} (rowid, raw, masked) VALUES (?, ?, ?)", places)
    _count(db, row, 1)
    columns = (
        *(number, row.id, row.to_json(), application_of(row.application), env_of(row.env), row.session),
        *(row.trust.rank, row.imported, row.success, row.task_key, text_key(row.to_embed), None),
    )
    db.execute(f"INSERT INTO row VALUES ({', '.join('?' * len(columns))})", columns)
    db.execute(f"UPDATE row SET vector = {_VECTOR} WHERE number = ?", (noted(db, "embedder"), number))


def _drop(db: sqlite3.Connection, number: int) -> bool:
    """Delete the row of a record, where there is one."""
    found = db.execute("SELECT data FROM row WHERE number = ?", (number,)).fetchone()
    if found:
        row = row_from_json(*found)
        _count(db, row, -1)
        places = (number * PLACES, (number + 1) * PLACES)
        db.execute(f"DELETE FROM {_texts(row)[0]} WHERE rowid >= ? AND rowid < ?", places)
        db.execute("DELETE FROM row WHERE number = ?", (number,))
    return found is not None


def _texts(row: Row) -> tuple[str, list[dict[str, Sequence[str]]]]:
    """The words of a task and its wordings by column, and the table in which they stand."""
    table = TABLES[not _is_trusted(row.trust, row.imported)]
    return table, [words_of(one) for one in (row.request, *row.wordings)][:PLACES]


def _count(db: sqlite3.Connection, row: Row, times: int) -> None:
    """Count a row, the length of its task, and the words of its texts, that comes (`times` 1) or goes (-1)."""
    table, texts = _texts(row)
    counts: Counter[tuple[str, str]] = Counter({(table, "rows"): 1})
    for column, words in texts[0].items():
        counts[table, column] = len(words)
        counts.update((f"{table} {column}", word) for text in texts for word in set(text[column]))
    add = "INSERT INTO word VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET texts = texts + excluded.texts"
    db.executemany(add, [(*place, times * count) for place, count in counts.items()])


def put_vectors(db: sqlite3.Connection, embedder: str, vectors: Mapping[str, bytes]) -> None:
    """Write vectors by the key of their text, for the rows that have such a text."""
    rows = [(key, embedder, data) for key, data in vectors.items()]
    db.executemany("INSERT OR REPLACE INTO text_vector (text_key, embedder, data) VALUES (?, ?, ?)", rows)
    db.executemany(f"UPDATE row SET vector = {_VECTOR} WHERE text_key = ?", [(embedder, key) for key in vectors])
    note(db, embedder=embedder)


def use_embedder(db: sqlite3.Connection, embedder: str, length: int | None = None) -> None:
    """Give each row its vector of an embedder, where there is one; those of another length than it has now go."""
    strange = "DELETE FROM text_vector WHERE embedder = ? AND length(data) != 2 * ?"
    if length is not None and db.execute(strange, (embedder, length)).rowcount:
        note(db, epoch=noted(db, "epoch") + 1)
    db.execute(f"UPDATE row SET vector = {_VECTOR}", (embedder,))
    note(db, embedder=embedder)


def erase_what_is_unused(db: sqlite3.Connection) -> None:
    """Leave no vector, value or word of what is gone."""
    db.execute("DELETE FROM text_vector WHERE text_key NOT IN (SELECT text_key FROM row)")
    note(db, epoch=noted(db, "epoch") + 1)  # no process writes them into a file again
    db.execute("DELETE FROM word WHERE texts = 0")
    db.execute("DELETE FROM kept WHERE owner != '' AND owner NOT IN (SELECT id FROM row)")
    for table in TABLES:
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
