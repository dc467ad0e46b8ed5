"""`experience.yaml`: the successes of a folder in UFO's own form, for UFO and for reading.

It follows the records as the index does: a new one is appended, one that goes is blanked out where it stands, and only
what somebody else has changed is written anew as a whole.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

from ufo_experience.schema import Experience, Trust
from ufo_experience.store.catalog import Catalog
from ufo_experience.store.files import replace_file, stamp_of, storage_errors

VIEW = "experience.yaml"
HEAD = (
    b"# Made from the records of this store, which bring it up to date: edits here are lost.\n"
    b"# `ufo-experience import FILE` reads a file like this one.\n"
)
_EMPTY = HEAD + b"{}\n"
_SCHEMA = (
    "DROP TABLE IF EXISTS view",
    "DELETE FROM meta WHERE name = 'view'",
    "CREATE TABLE view (id TEXT PRIMARY KEY, place INT, length INT) WITHOUT ROWID",
)


def in_view(experience: Experience) -> bool:
    """True for what UFO's `experience.yaml` takes: a success that is observed or better."""
    return bool(experience.outcome.success) and experience.trust.rank >= Trust.OBSERVED.rank


def view_text(records: Iterable[Experience]) -> str:
    """The whole view as text."""
    entries = [_entry(one, number) for number, one in enumerate(filter(in_view, records))]
    return (b"".join([HEAD, *entries]) if entries else _EMPTY).decode()


class View:
    """Keeps the file in line with the records of a catalog. `scan` reads the live ones among some ids."""

    def __init__(self, root: Path, catalog: Catalog, scan: Callable[[list[str]], Iterable[Experience]]) -> None:
        self._path, self._catalog, self._scan = root / VIEW, catalog, scan
        catalog.require("view", "4", _SCHEMA)

    def follow(self, change: int) -> None:
        """Bring the file up to date; the caller holds the lock. Raises `StorageError`."""
        if self.is_current(change):
            return
        since, stamp = self._mark()
        anew = stamp != stamp_of(self._path) or not self._catalog.read("SELECT 1 FROM view LIMIT 1")
        since = 0 if anew else since
        ask = "SELECT number, id, live FROM record WHERE change > ? ORDER BY number"
        changed = self._catalog.read(ask, (since,))
        live = {id: number for number, id, live in changed if live}
        records = list(self._scan(list(live)))
        texts = {
            one.id: _entry(one, live[one.id]) for one in sorted(records, key=lambda one: live[one.id]) if in_view(one)
        }
        reached = change if len(records) == len(live) else since  # what cannot be read now is looked at again

        def act(db: sqlite3.Connection) -> None:
            self._write(db, [id for _, id, _ in changed], dict(texts), anew)
            mark = json.dumps([reached, stamp_of(self._path)])
            db.execute("INSERT OR REPLACE INTO meta VALUES ('view', ?)", (mark,))

        self._catalog.run(act, write=True)

    def is_current(self, change: int) -> bool:
        """True when nothing has changed since it was written."""
        return self._mark() == [change, stamp_of(self._path)]

    def _mark(self) -> list[Any]:
        """The change that the file was brought up to, and its stamp then: another one, and others have written it."""
        return list(json.loads(self._catalog.meta("view") or '[0, "never"]'))

    def _write(self, db: sqlite3.Connection, ids: list[str], texts: dict[str, bytes], anew: bool) -> None:
        if anew:
            db.execute("DELETE FROM view")
            replace_file(self._path, [HEAD, *texts.values()] if texts else _EMPTY)
            place = len(HEAD)
        else:
            with storage_errors(self._path), open(self._path, "r+b") as stream:
                _blank_others(db, stream, ids, texts)
                place = stream.seek(0, os.SEEK_END)
                stream.write(b"".join(texts.values()))
        for id, text in texts.items():
            db.execute("INSERT INTO view VALUES (?, ?, ?)", (id, place, len(text)))
            place += len(text)


def _blank_others(db: sqlite3.Connection, stream: BinaryIO, ids: list[str], texts: dict[str, bytes]) -> None:
    """Make comments of the entries that are not what they should be; those that are go out of `texts`."""
    ask = "SELECT id, place, length FROM view WHERE id IN (SELECT value FROM json_each(?))"
    for id, place, length in db.execute(ask, (json.dumps(ids),)).fetchall():
        stream.seek(place)
        if stream.read(length) == texts.get(id):
            del texts[id]
            continue
        stream.seek(place)
        stream.write(b"#" + b" " * (length - 2) + b"\n")
        db.execute("DELETE FROM view WHERE id = ?", (id,))


def _entry(experience: Experience, number: int) -> bytes:
    """One example as UFO writes it, under a key of its own."""
    from ufo_experience.integrations.formats import to_ufo_example
    from ufo_experience.store.safe_yaml import dump_yaml  # yaml is slow to load

    return dump_yaml({f"example{number}": to_ufo_example(experience)}).encode()
