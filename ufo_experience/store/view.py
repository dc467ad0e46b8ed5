"""`experience.yaml`: the successes of a folder in UFO's own form, for UFO and for reading.

It follows the records as the index does: a new one is appended, one that goes is blanked out where it stands, and only
what somebody else has changed is written anew as a whole.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from ufo_experience.schema import Experience, Trust
from ufo_experience.store.catalog import Catalog
from ufo_experience.store.files import replace_file, storage_errors

VIEW = "experience.yaml"
HEAD = (
    "# Made from the records of this store, which bring it up to date: edits here are lost.\n"
    "# `ufo-experience import FILE` reads a file like this one.\n"
)
_SCHEMA = (
    "DROP TABLE IF EXISTS view",
    "DELETE FROM meta WHERE name IN ('view change', 'view file')",
    "CREATE TABLE view (id TEXT PRIMARY KEY, digest TEXT, place INT, length INT) WITHOUT ROWID",
)
_EMPTY = HEAD + "{}\n"


def in_view(experience: Experience) -> bool:
    """True for what UFO's `experience.yaml` takes: a success that is observed or better."""
    return bool(experience.outcome.success) and experience.trust.rank >= Trust.OBSERVED.rank


def view_text(records: Iterable[Experience]) -> str:
    """The whole view as text."""
    entries = [_entry(one, number) for number, one in enumerate(filter(in_view, records))]
    return HEAD + "".join(entries) if entries else _EMPTY


class View:
    """Keeps the file in line with the records of a catalog. `scan` reads the live ones among some ids."""

    def __init__(self, root: Path, catalog: Catalog, scan: Callable[[list[str]], Iterable[Experience]]) -> None:
        self._path, self._catalog, self._scan = root / VIEW, catalog, scan
        catalog.require("view", "2", _SCHEMA)

    def is_current(self, change: int) -> bool:
        """True when nothing has changed since it was written."""
        return (self._catalog.meta("view change"), self._catalog.meta("view file")) == (change, self._file())

    def follow(self, change: int) -> None:
        """Bring the file up to date; the caller holds the lock. Raises `StorageError`."""
        if self.is_current(change):
            return
        since = int(self._catalog.meta("view change") or 0)
        if self._file() != self._catalog.meta("view file") or self._path.stat().st_size <= len(_EMPTY):
            since = 0
        ask = "SELECT number, id, live FROM record WHERE change > ? ORDER BY number"
        changed = self._catalog.read(ask, (since,))
        records = {one.id: one for one in self._scan([id for _, id, live in changed if live])}
        shown = {id: one for id, one in records.items() if in_view(one)}
        texts = {id: _entry(shown[id], number) if id in shown else "" for number, id, _ in changed}

        def act(db: sqlite3.Connection) -> None:
            self._write(db, texts, anew=not since)
            marks = [("view change", change), ("view file", self._file())]
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", marks)

        self._catalog.run(act, write=True)

    def _write(self, db: sqlite3.Connection, texts: dict[str, str], *, anew: bool) -> None:
        if anew:
            db.execute("DELETE FROM view")
        ask = "SELECT id, digest, place, length FROM view WHERE id IN (SELECT value FROM json_each(?))"
        known = {id: row for id, *row in db.execute(ask, (json.dumps(list(texts)),))}
        new = {id: text for id, text in texts.items() if text and known.get(id, [""])[0] != _digest(text)}
        gone = {id: row for id, row in known.items() if id in new or not texts[id]}
        if anew:
            replace_file(self._path, (HEAD + "".join(new.values()) if new else _EMPTY).encode())
            place = len(HEAD.encode())
        else:
            blank = [(start, length) for _, start, length in gone.values()]
            place = self._blank_and_append(blank, "".join(new.values()))
        db.executemany("DELETE FROM view WHERE id = ?", [(id,) for id in gone])
        for id, text in new.items():
            db.execute("INSERT INTO view VALUES (?, ?, ?, ?)", (id, _digest(text), place, len(text.encode())))
            place += len(text.encode())

    def _blank_and_append(self, gone: Iterable[tuple[int, int]], text: str) -> int:
        """Make comments of some places and write a text behind the others; returns where it begins."""
        with storage_errors(self._path), open(self._path, "r+b") as stream:
            for start, length in gone:
                stream.seek(start)
                stream.write(b"#" + b" " * (length - 2) + b"\n")
            end = stream.seek(0, os.SEEK_END)
            stream.write(text.encode())
        return end

    def _file(self) -> str:
        """What tells that nobody else has written the file."""
        with storage_errors(self._path):
            if not os.path.lexists(self._path):
                return ""
            info = os.lstat(self._path)
        return json.dumps([info.st_ino, info.st_size, info.st_mtime_ns])


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _entry(experience: Experience, number: int) -> str:
    """One example as UFO writes it, under a key of its own."""
    import yaml

    from ufo_experience.integrations.formats import to_ufo_example

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    entry = json.loads(json.dumps({f"example{number}": to_ufo_example(experience)}))  # no value twice: no aliases
    return str(yaml.dump(entry, Dumper=dumper, sort_keys=False, allow_unicode=True, width=120))
