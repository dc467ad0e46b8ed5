"""What is on the disk, as the catalog knows it: files are read once, and again when they have changed.

Nothing is listed to learn or to ask. The times of the folders of records, and size and time of `events.jsonl`, say
whether anybody else has written: another process of ours (which has told the catalog), `git pull`, an editor.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ufo_experience.errors import DataError
from ufo_experience.schema import Experience, Problem, validate
from ufo_experience.store.base import Event, Status
from ufo_experience.store.catalog import Catalog
from ufo_experience.store.files import check_owner, open_regular, read_regular, storage_errors
from ufo_experience.store.records import MAX_FILE_BYTES, SUFFIX, decode, unsealed
from ufo_experience.store.strict_json import parse

RECORDS, REMOVED, EVENTS = "records", "removed", "events.jsonl"
KEPT = 1_024  # records that stay parsed: what is asked for is asked for again
_MAX_EVENTS = 1 << 40
_SETTLED_NS = 50_000_000  # a folder's time that is younger may stay the same when one more file comes
_TAIL = 64  # bytes before the place up to which events were read: others there mean that lines came in between
_SCHEMA = (
    "DROP TABLE IF EXISTS record",
    "DROP TABLE IF EXISTS folder",
    "DROP TABLE IF EXISTS status",
    "DELETE FROM meta WHERE name IN ('change', 'events')",
    # `path` is NULL where the file is gone; `status` is what the events of this id came to, also without a file
    """CREATE TABLE record (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, path TEXT UNIQUE,
    inode INT, size INT, mtime INT, content TEXT, edited INT, status TEXT, removed INT NOT NULL DEFAULT 0,
    change INT NOT NULL, live INT NOT NULL GENERATED ALWAYS AS (
        NOT removed AND path IS NOT NULL AND substr(path, 1, 8) = 'records/') STORED)""",
    "CREATE INDEX record_change ON record (change)",
    "CREATE TABLE folder (path TEXT PRIMARY KEY, mtime INT) WITHOUT ROWID",
)
_KEEP = """INSERT INTO record (id, path, inode, size, mtime, content, edited, change) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET path = excluded.path, inode = excluded.inode, size = excluded.size,
mtime = excluded.mtime, content = excluded.content, edited = excluded.edited, change = excluded.change"""
_log = logging.getLogger(__name__)

Read = tuple[Experience, str, bool]  # a record, the digest of its content, whether it is as it was written


class Stamp(NamedTuple):
    """What tells that a file has changed."""

    inode: int
    size: int
    mtime: int


class Look(NamedTuple):
    """What the disk says without a file being opened: that of the events, and the times of the folders."""

    events: Stamp | None
    folders: dict[str, int]


class Watch:
    """Keeps the tables of records and events in line with the files of a folder."""

    def __init__(self, root: Path, catalog: Catalog) -> None:
        self._root, self._catalog = root, catalog
        self._last: Look | None = None
        self._parsed: dict[tuple[str, Stamp], Experience] = {}
        self._named: set[tuple[str, Stamp]] = set()  # files that are no records, of which a warning was given
        catalog.require("store", "3", _SCHEMA)

    def refresh(self, *, everything: bool = False) -> None:
        """Take in what was changed since; `everything` looks at every file, not only at the times of folders."""
        with storage_errors(self._root):
            look = self._look()
            if everything or (look != self._last and not self._catalog.run(lambda db: _is_known(db, look))):
                self._catalog.run(lambda db: self._take_in(db, look, everything), write=True)
        newest = max(look.folders.values(), default=0)
        self._last = look if newest < time.time_ns() - _SETTLED_NS else None

    def wrote(self, written: Mapping[str, Read]) -> None:
        """Take in records that the holder of the lock has just written, by path."""

        def act(db: sqlite3.Connection) -> None:
            change = _next_change(db)
            for path, found in written.items():
                self._take_file(db, path, change, found)
            for folder in {path.rpartition("/")[0] for path in written}:
                db.execute("INSERT OR REPLACE INTO folder VALUES (?, ?)", (folder, self._stamp(folder).mtime))

        with storage_errors(self._root):
            self._catalog.run(act, write=True)
            self._last = self._look()

    def take(self, path: str) -> None:
        """Read a file again that was seen to have changed; one that is no record any more is told of from then on."""

        def act(db: sqlite3.Connection) -> None:
            if not self._take_file(db, path, _next_change(db)):
                db.execute("UPDATE folder SET mtime = 0 WHERE path = ?", (path.rpartition("/")[0],))

        with storage_errors(self._root):
            self._catalog.run(act, write=True)
            self._last = None

    def stamp(self, path: str) -> Stamp | None:
        """What tells that a file has changed; None when there is none."""
        with storage_errors(self._root), suppress(FileNotFoundError):
            return self._stamp(path)
        return None

    def read(self, path: str | Path) -> Read:
        """Read a record file. Raises `DataError`."""
        file = self._root / path
        with storage_errors(file), suppress(FileNotFoundError):
            check_owner(os.lstat(file), file, self._root.stat().st_uid)
        return decode(read_regular(file, MAX_FILE_BYTES, follow=False), str(file))

    def parsed(self, path: str, stamp: Stamp) -> Experience:
        """The record of a file that is as the catalog knows it. Raises `DataError`."""
        return self._parsed.get((path, stamp)) or self._remember(path, stamp, self.read(path)[0])

    def approved(self, id: str) -> str:
        """The digest of the content that a person's trust in a record is about; "" where nobody has said anything."""
        rows = self._catalog.read("SELECT status FROM record WHERE id = ?", (id,))
        return status_of(rows[0][0]).content if rows else ""

    def forget(self) -> None:
        """Keep no record parsed any more."""
        self._parsed = {}

    def _remember(self, path: str, stamp: Stamp, one: Experience) -> Experience:
        if len(self._parsed) >= KEPT:
            self._parsed = {}
        self._parsed[path, stamp] = one
        return one

    def _stamp(self, path: str) -> Stamp:
        info = os.lstat(self._root / path)
        return Stamp(info.st_ino, info.st_size, info.st_mtime_ns)

    def _look(self) -> Look:
        records, names = self._root / RECORDS, [REMOVED]
        if records.is_dir():
            with os.scandir(records) as entries:
                names += [f"{RECORDS}/{one.name}" for one in entries if one.is_dir(follow_symlinks=False)]
        stamps = {name: self.stamp(name) for name in names}
        return Look(self.stamp(EVENTS), {name: stamp.mtime for name, stamp in stamps.items() if stamp})

    def _take_in(self, db: sqlite3.Connection, look: Look, everything: bool) -> None:
        change = _next_change(db)
        known = dict(db.execute("SELECT path, mtime FROM folder"))
        young = time.time_ns() - _SETTLED_NS
        for folder, mtime in look.folders.items():
            if everything or known.get(folder) != mtime:
                all_read = self._take_folder(db, folder, change)
                seen = mtime if all_read and mtime < young else 0  # 0: it is looked at again
                db.execute("INSERT OR REPLACE INTO folder VALUES (?, ?)", (folder, seen))
        for folder in known.keys() - look.folders.keys():
            _gone(db, _files_in(db, folder), change)
            db.execute("DELETE FROM folder WHERE path = ?", (folder,))
        self._take_events(db, look.events, change)

    def _take_folder(self, db: sqlite3.Connection, folder: str, change: int) -> bool:
        """Read the files of a folder that are new, or others than before. False when one of them cannot be read."""
        with os.scandir(self._root / folder) as entries:
            names = [f"{folder}/{one.name}" for one in entries if one.name.endswith(SUFFIX)]
        there = {name: stamp for name in sorted(names) if (stamp := self.stamp(name))}
        known = _files_in(db, folder)
        _gone(db, known.keys() - there.keys(), change)
        return all([self._take_file(db, name, change) for name in there if known.get(name) != there[name]])

    def _take_file(self, db: sqlite3.Connection, path: str, change: int, found: Read | None = None) -> bool:
        """Take in a file; False for one that is no record, of which a warning tells once."""
        stamp = self.stamp(path)
        try:
            one, content, whole = found or self.read(path)
            (other,) = db.execute("SELECT path FROM record WHERE id = ?", (one.id,)).fetchone() or (None,)
            if other not in (None, path) and os.path.lexists(self._root / other):
                if path.startswith(REMOVED):
                    return True  # it was brought back by other hands: what is among the records counts
                if not other.startswith(REMOVED):
                    raise DataError(f"the same id as {other}", file=str(self._root / path), field="id")
        except DataError as error:
            _gone(db, [path], change)
            if stamp and (path, stamp) not in self._named:
                self._named.add((path, stamp))
                _log.warning("a record is left out, `ufo-experience verify` tells of all: %s", error)
            return False
        if stamp is None:
            return False
        _gone(db, [path], change, but=one.id)
        db.execute(_KEEP, (one.id, path, *stamp, content, not whole, change))
        self._remember(path, stamp, one)
        return True

    # ---- events ----

    def _take_events(self, db: sqlite3.Connection, seen: Stamp | None, change: int) -> None:
        """Read the events that are new; all of them again where the file is not the one that was read before."""
        _, offset, tail = _events_mark(db)
        data, from_start = self._events_from(offset, tail)
        if from_start and offset:
            offset, tail = 0, b""
            db.execute("UPDATE record SET status = NULL, removed = 0, change = ?", (change,))
        end = data.rfind(b"\n") + 1  # what comes behind is not finished
        for _, event in self.events_in(data[:end]):
            if isinstance(event, Event):
                _apply(db, event, change)
        mark = json.dumps([seen, offset + end, (tail + data[:end])[-_TAIL:].hex()])
        db.execute("INSERT OR REPLACE INTO meta VALUES ('events', ?)", (mark,))

    def _events_from(self, offset: int, tail: bytes) -> tuple[bytes, bool]:
        """The bytes of the file from an offset on, or (with True) all of them: what stood before it is another text."""
        path = self._root / EVENTS
        if not path.exists():
            return b"", True
        with open_regular(path, _MAX_EVENTS, follow=False) as stream:
            stream.seek(offset - len(tail))
            if stream.read(len(tail)) == tail:
                return stream.read(), offset == 0
            stream.seek(0)
            return stream.read(), True

    def event_lines(self) -> bytes:
        """The file of events as it is."""
        path = self._root / EVENTS
        return read_regular(path, _MAX_EVENTS, follow=False) if path.exists() else b""

    def events_in(self, data: bytes) -> Iterator[tuple[int, Event | Problem]]:
        """The lines of a file of events, numbered from 1: an event, or what is wrong with it."""
        file = str(self._root / EVENTS)
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                payload = parse(line, file=file, line=number)
                bare, _, whole = unsealed(payload) if isinstance(payload, dict) else ({}, "", False)
                if not whole:
                    raise DataError("not as it was written", file=file, line=number, code="E_SCHEMA")
                yield number, validate(Event, bare, file=file, line=number)
            except DataError as error:
                yield number, Problem(file=file, line=number, code=error.code, message=str(error))


def _is_known(db: sqlite3.Connection, look: Look) -> bool:
    """True when the catalog has all of this already: another process, or an earlier look, has taken it in."""
    return _events_mark(db)[0] == look.events and dict(db.execute("SELECT path, mtime FROM folder")) == look.folders


def _events_mark(db: sqlite3.Connection) -> tuple[Stamp | None, int, bytes]:
    """What told of the events when they were last read, up to where, and the bytes that stand before that."""
    mark = db.execute("SELECT value FROM meta WHERE name = 'events'").fetchone()
    stamp, offset, tail = json.loads(mark[0]) if mark else (None, 0, "")
    return Stamp(*stamp) if stamp else None, offset, bytes.fromhex(tail)


def _next_change(db: sqlite3.Connection) -> int:
    """The number of this change: who follows the records asks for those of a later one."""
    found = db.execute("SELECT value FROM meta WHERE name = 'change'").fetchone()
    number = (found[0] if found else 0) + 1
    db.execute("INSERT OR REPLACE INTO meta VALUES ('change', ?)", (number,))
    return int(number)


def _files_in(db: sqlite3.Connection, folder: str) -> dict[str, Stamp]:
    """The files of records in a folder: between "folder/" and what sorts right behind everything in it."""
    ask = "SELECT path, inode, size, mtime FROM record WHERE path > ? AND path < ?"
    return {path: Stamp(*stamp) for path, *stamp in db.execute(ask, (f"{folder}/", f"{folder}0"))}


def _gone(db: sqlite3.Connection, paths: Iterable[str], change: int, but: str = "") -> None:
    given = [(change, path, but) for path in paths]
    db.executemany("UPDATE record SET path = NULL, change = ? WHERE path = ? AND id != ?", given)


def _apply(db: sqlite3.Connection, event: Event, change: int) -> None:
    (before,) = db.execute("SELECT status FROM record WHERE id = ?", (event.id,)).fetchone() or (None,)
    status = status_of(before).after(event)
    keep = """INSERT INTO record (id, status, removed, change) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
    status = excluded.status, removed = excluded.removed, change = excluded.change"""
    db.execute(keep, (event.id, status.model_dump_json(exclude_defaults=True), status.removed, change))


def status_of(data: str | None) -> Status:
    """The status that was kept as JSON."""
    return Status.model_validate_json(data) if data else Status()
