"""`experience.yaml`: the successes of a folder in UFO's own form, for UFO and for reading.

It follows the records as the index does: a new one is appended, one that goes is blanked out where it stands, and only
what somebody else has changed is written anew as a whole.
"""

from __future__ import annotations

import json
import os
import sqlite3
from hashlib import sha256
from typing import Any

from ufo_experience.schema import Experience, Trust
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.files import replace_file, storage_errors
from ufo_experience.store.folder import FolderStore

VIEW = "experience.yaml"
HEAD = (
    "# Made from the records of this store, which bring it up to date: edits here are lost.\n"
    "# `ufo-experience import FILE` reads a file like this one.\n"
)
SCHEMA = """
    DROP TABLE IF EXISTS view; DELETE FROM meta WHERE name IN ('view change', 'view file');
    CREATE TABLE view (id TEXT PRIMARY KEY, digest TEXT, place INT, length INT) WITHOUT ROWID
"""
_MARK = "INSERT OR REPLACE INTO meta VALUES (?, ?)"


def in_view(experience: Experience) -> bool:
    """True for what UFO's `experience.yaml` takes: a success that is observed or better."""
    return bool(experience.outcome.success) and experience.trust.rank >= Trust.OBSERVED.rank


def view_text(store: ExperienceStore) -> str:
    """The whole view as text."""
    entries = [_entry(number, one) for number, one in enumerate(filter(in_view, store.scan()))]
    return HEAD + ("".join(entries) or "{}\n")


class View:
    """Keeps the file of a folder store in line with its records. Raises as the store's `add`."""

    def __init__(self, store: FolderStore) -> None:
        self._store, self._path = store, store.root / VIEW
        store.catalog.require("view", "1", SCHEMA)

    def follow(self) -> None:
        """Bring the file up to date; a look at it when nothing has changed."""
        if self._is_current(self._store.change()):
            return
        with self._store.writing():
            change = self._store.change()
            since = int(self._store.catalog.meta("view change") or 0)
            if self._file() != self._store.catalog.meta("view file") or not self._count():
                since = 0
            ask = "SELECT number, id, live FROM record WHERE change > ? ORDER BY number"
            changed = self._store.catalog.read(ask, (since,))
            records = {one.id: one for one in self._store.scan([id for _, id, live in changed if live])}
            texts = {
                id: _entry(number, records[id]) if id in records and in_view(records[id]) else ""
                for number, id, _ in changed
            }
            self._store.catalog.run(lambda db: self._write(db, texts, anew=not since), write=True)
            marks = [("view change", change), ("view file", self._file())]
            self._store.catalog.run(lambda db: db.executemany(_MARK, marks), write=True)

    def _is_current(self, change: int) -> bool:
        meta = self._store.catalog.meta
        return bool(meta("view change") == change and meta("view file") == self._file())

    def _write(self, db: sqlite3.Connection, texts: dict[str, str], *, anew: bool) -> None:
        if anew:
            db.execute("DELETE FROM view")
        known = {id: row for id, *row in db.execute("SELECT id, digest, place, length FROM view")} if not anew else {}
        new = {id: text for id, text in texts.items() if text and known.get(id, [""])[0] != _digest(text)}
        gone = {id: row for id, row in known.items() if id in texts and (id in new or not texts[id])}
        if anew:
            whole = HEAD + ("".join(new.values()) or "{}\n")
            replace_file(self._path, whole.encode())
            place = len(HEAD.encode())
        else:
            with storage_errors(self._path):
                place = self._path.stat().st_size
                with open(self._path, "r+b") as stream:
                    for _, start, length in gone.values():
                        stream.seek(start)
                        stream.write(b"#" + b" " * (length - 2) + b"\n")
                    stream.seek(0, os.SEEK_END)
                    stream.write("".join(new.values()).encode())
        db.executemany("DELETE FROM view WHERE id = ?", [(id,) for id in gone])
        for id, text in new.items():
            db.execute("INSERT INTO view VALUES (?, ?, ?, ?)", (id, _digest(text), place, len(text.encode())))
            place += len(text.encode())

    def _file(self) -> str:
        """What tells that nobody else has written the file."""
        with storage_errors(self._path):
            if not os.path.lexists(self._path):
                return ""
            info = os.lstat(self._path)
        return json.dumps([info.st_ino, info.st_size, info.st_mtime_ns])

    def _count(self) -> int:
        return int(self._store.catalog.read("SELECT count(*) FROM view")[0][0])


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _entry(number: int, experience: Experience) -> str:
    """One example as UFO writes it, under a key of its own."""
    import yaml

    from ufo_experience.integrations.formats.ufo_example import to_ufo_example

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    entry = json.loads(json.dumps({f"example{number}": to_ufo_example(experience)}))  # no value twice: no aliases
    return str(yaml.dump(entry, Dumper=dumper, sort_keys=False, allow_unicode=True, width=120))
