"""What is on the disk, as the catalog knows it: files are read once, and again when they have changed.

Nothing is listed to learn or to ask. The times of the folders in `records/`, and size and time of `events.jsonl`, say
whether anybody else has written: another process of ours (which has told the catalog), `git pull`, an editor.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

from ufo_experience.errors import DataError
from ufo_experience.schema import Experience, Problem, validate
from ufo_experience.store.base import Event, Status
from ufo_experience.store.catalog import Catalog
from ufo_experience.store.files import check_owner, open_regular, read_regular, storage_errors
from ufo_experience.store.records import MAX_FILE_BYTES, SUFFIX, decode, unsealed
from ufo_experience.store.strict_json import parse

RECORDS, EVENTS = "records", "events.jsonl"
MAX_EVENTS_BYTES = 1 << 40
_SETTLED_NS = 50_000_000  # a folder's time that is younger may stay the same when one more file comes
_log = logging.getLogger(__name__)
_TAIL = 64  # bytes before the place up to which events were read: others there mean that lines came in between
_SCHEMA = (
    "DROP TABLE IF EXISTS record",
    "DROP TABLE IF EXISTS status",
    "DROP TABLE IF EXISTS folder",
    "DELETE FROM meta WHERE name IN ('change', 'events')",
    """CREATE TABLE record (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, path TEXT UNIQUE,
    inode INT, size INT, mtime INT, content TEXT, edited INT, live INT NOT NULL, change INT NOT NULL)""",
    "CREATE INDEX record_change ON record (change)",
    "CREATE TABLE status (id TEXT PRIMARY KEY, data TEXT NOT NULL, removed INT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE folder (path TEXT PRIMARY KEY, mtime INT) WITHOUT ROWID",
)


class Place(NamedTuple):
    """Where the file of a record is, and what tells that it has changed."""

    path: str
    inode: int
    size: int
    mtime: int


class Look(NamedTuple):
    """What the disk says without a file being opened: size and time of the events, times of the folders."""

    events: tuple[int, int]
    folders: dict[str, int]


class Watch:
    """Keeps the tables of records and events in line with the files of a folder."""

    def __init__(self, root: Path, catalog: Catalog) -> None:
        self._root, self._catalog = root, catalog
        self._last: Look | None = None
        self._named: set[Place] = set()  # files that are no records, of which a warning was given
        catalog.require("store", "2", _SCHEMA)

    def refresh(self, *, everything: bool = False) -> None:
        """Take in what was changed since; `everything` looks at every file, not only at the times of folders."""
        with storage_errors(self._root):
            look = self._look()
            if everything or (look != self._last and not self._catalog.run(lambda db: _is_known(db, look))):
                self._catalog.run(lambda db: self._take_in(db, look, everything), write=True)
        newest = max(look.folders.values(), default=0)
        self._last = look if newest < time.time_ns() - _SETTLED_NS else None

    def wrote(self, written: Iterable[tuple[Path, Experience, str]]) -> None:
        """Take in records that the holder of the lock has just written: path, record, digest of its content."""

        def act(db: sqlite3.Connection) -> None:
            change = _next_change(db)
            for path, experience, content in written:
                _keep(db, self.place(path), experience.id, content, False, change)
            folders = {path.parent for path, _, _ in written}
            times = [(self._relative(path), path.stat().st_mtime_ns) for path in folders]
            db.executemany("INSERT OR REPLACE INTO folder VALUES (?, ?)", times)

        with storage_errors(self._root):
            self._catalog.run(act, write=True)
            self._last = self._look()

    def take_file(self, path: str) -> None:
        """Read a file again that was seen to have changed; one that is no record any more is told of from then on."""

        def act(db: sqlite3.Connection) -> None:
            if not self._take_file(db, path, _next_change(db)):
                db.execute("UPDATE folder SET mtime = 0 WHERE path = ?", (path.rpartition("/")[0],))

        with storage_errors(self._root):
            self._catalog.run(act, write=True)
            self._last = None

    def read(self, path: Path) -> tuple[Experience, str, bool]:
        """A record file: the record, the digest of its content, whether it is as it was written. Raises `DataError`."""
        with storage_errors(path), suppress(FileNotFoundError):
            check_owner(os.lstat(path), path, self._root.stat().st_uid)
        return decode(read_regular(path, MAX_FILE_BYTES, follow=False), str(path))

    def place(self, path: Path) -> Place:
        """Where a file is, and what tells that it has changed. Raises `OSError`."""
        return _place(self._relative(path), os.lstat(path))

    def approved_content(self, id: str) -> str:
        """The digest of the content that a person's trust in a record is about; "" where nobody has said anything."""
        rows = self._catalog.read("SELECT data FROM status WHERE id = ?", (id,))
        return status_of(rows[0][0]).content if rows else ""

    def _relative(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _look(self) -> Look:
        records, events, folders = self._root / RECORDS, (0, 0), {}
        with suppress(FileNotFoundError):
            info = os.lstat(self._root / EVENTS)
            events = info.st_size, info.st_mtime_ns
        with os.scandir(records) if records.is_dir() else nullcontext(()) as entries:
            for one in entries:
                if one.is_dir(follow_symlinks=False):
                    folders[f"{RECORDS}/{one.name}"] = os.lstat(one).st_mtime_ns
        return Look(events, folders)

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
            _gone(db, _places_in(db, folder), change)
            db.execute("DELETE FROM folder WHERE path = ?", (folder,))
        self._take_events(db, look.events, change)

    def _take_folder(self, db: sqlite3.Connection, folder: str, change: int) -> bool:
        """Read the files of a folder that are new, or others than before. False when one of them cannot be read."""
        with os.scandir(self._root / folder) as entries:
            files = {f"{folder}/{one.name}": one for one in entries if one.name.endswith(SUFFIX)}
            there = {path: _place(path, os.lstat(one)) for path, one in files.items()}
        known = _places_in(db, folder)
        _gone(db, known.keys() - there.keys(), change)
        new = sorted(path for path, place in there.items() if known.get(path) != place)
        return all([self._take_file(db, path, change) for path in new])

    def _take_file(self, db: sqlite3.Connection, path: str, change: int) -> bool:
        """Read a file; False for one that is no record, of which a warning tells once."""
        place: Place | None = None
        try:
            place = self.place(self._root / path)
            experience, content, whole = self.read(self._root / path)
            other = db.execute("SELECT path FROM record WHERE id = ?", (experience.id,)).fetchone()
            if other and other[0] not in (None, path) and os.path.lexists(self._root / other[0]):
                raise DataError(f"the same id as {other[0]}", file=str(self._root / path), field="id")
        except (DataError, FileNotFoundError) as error:
            _gone(db, [path], change)
            if isinstance(error, DataError) and place and place not in self._named:
                self._named.add(place)
                _log.warning("a record is left out, `ufo-experience verify` tells of all: %s", error)
            return False
        _gone(db, [path], change, but=experience.id)
        _keep(db, place, experience.id, content, not whole, change)
        return True

    # ---- events ----

    def _take_events(self, db: sqlite3.Connection, seen: tuple[int, int], change: int) -> None:
        """Read the events that are new; all of them again where the file is not the one that was read before."""
        _, offset, tail = _events_mark(db)
        data, from_start = self._events_from(offset, tail)
        if from_start and offset:
            offset, tail = 0, b""
            db.execute("DELETE FROM status")
            db.execute("UPDATE record SET live = path IS NOT NULL, change = ?", (change,))
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
        with open_regular(path, MAX_EVENTS_BYTES, follow=False) as stream:
            stream.seek(offset - len(tail))
            if stream.read(len(tail)) == tail:
                return stream.read(), offset == 0
            stream.seek(0)
            return stream.read(), True

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


def _events_mark(db: sqlite3.Connection) -> tuple[tuple[int, int], int, bytes]:
    """Size and time of the events when they were last read, up to where, and the bytes that stand before that."""
    mark = db.execute("SELECT value FROM meta WHERE name = 'events'").fetchone()
    (size, mtime), offset, tail = json.loads(mark[0]) if mark else ((0, 0), 0, "")
    return (size, mtime), offset, bytes.fromhex(tail)


def _next_change(db: sqlite3.Connection) -> int:
    """The number of this change: who follows the records asks for those of a later one."""
    found = db.execute("SELECT value FROM meta WHERE name = 'change'").fetchone()
    number = (found[0] if found else 0) + 1
    db.execute("INSERT OR REPLACE INTO meta VALUES ('change', ?)", (number,))
    return int(number)


def _place(path: str, info: os.stat_result) -> Place:
    return Place(path, info.st_ino, info.st_size, info.st_mtime_ns)


def _places_in(db: sqlite3.Connection, folder: str) -> dict[str, Place]:
    """The files of records in a folder: between "folder/" and what sorts right behind everything in it."""
    ask = "SELECT path, inode, size, mtime FROM record WHERE path > ? AND path < ?"
    return {row[0]: Place(*row) for row in db.execute(ask, (f"{folder}/", f"{folder}0"))}


def _keep(db: sqlite3.Connection, place: Place, id: str, content: str, edited: bool, change: int) -> None:
    removed = db.execute("SELECT 1 FROM status WHERE id = ? AND removed", (id,)).fetchone()
    db.execute(
        """INSERT INTO record (id, path, inode, size, mtime, content, edited, live, change)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET path = excluded.path, inode = excluded.inode,
        size = excluded.size, mtime = excluded.mtime, content = excluded.content, edited = excluded.edited,
        live = excluded.live, change = excluded.change""",
        (id, *place, content, edited, removed is None, change),
    )


def _gone(db: sqlite3.Connection, paths: Iterable[str], change: int, but: str = "") -> None:
    given = [(change, path, but) for path in paths]
    db.executemany("UPDATE record SET path = NULL, live = 0, change = ? WHERE path = ? AND id != ?", given)


def _apply(db: sqlite3.Connection, event: Event, change: int) -> None:
    before = db.execute("SELECT data FROM status WHERE id = ?", (event.id,)).fetchone()
    status = (status_of(before[0]) if before else Status()).after(event)
    data = status.model_dump_json(exclude_defaults=True)
    db.execute("INSERT OR REPLACE INTO status VALUES (?, ?, ?)", (event.id, data, status.removed))
    live = "live = path IS NOT NULL AND NOT ?, change = ?"
    db.execute(f"UPDATE record SET {live} WHERE id = ?", (status.removed, change, event.id))


def status_of(data: str | None) -> Status:
    """The status that was kept as JSON."""
    return Status.model_validate_json(data) if data else Status()
