"""What is on the disk, as the catalog knows it: files are read once, and again when they have changed.

Nothing is listed to learn or to ask. The times of `records/` and its folders, and the size of `events.jsonl`, say
whether anybody else has written: another process of ours (which has told the catalog), `git pull`, an editor.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ufo_experience.errors import DataError
from ufo_experience.schema import Experience, Problem, validate
from ufo_experience.store.base import Event, Status
from ufo_experience.store.catalog import Catalog
from ufo_experience.store.files import check_owner, open_regular, read_regular, storage_errors
from ufo_experience.store.records import MAX_FILE_BYTES, SUFFIX, decode, digest, is_sealed, without_seal
from ufo_experience.store.strict_json import parse

RECORDS, EVENTS = "records", "events.jsonl"
SETTLED_NS = 50_000_000  # a folder's time that is younger may stay the same when one more file comes
MAX_EVENTS_BYTES = 1 << 40
_TAIL = 64  # bytes before the place up to which events were read: others there mean that lines came in between
SCHEMA = """
    DROP TABLE IF EXISTS record; DROP TABLE IF EXISTS status; DROP TABLE IF EXISTS folder;
    DROP TABLE IF EXISTS damaged; DELETE FROM meta WHERE name IN ('change', 'events');
    CREATE TABLE record (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, path TEXT UNIQUE,
        inode INT, size INT, mtime INT, content TEXT, edited INT, live INT NOT NULL, change INT NOT NULL);
    CREATE INDEX record_change ON record (change);
    CREATE TABLE status (id TEXT PRIMARY KEY, data TEXT NOT NULL, removed INT NOT NULL) WITHOUT ROWID;
    CREATE TABLE folder (path TEXT PRIMARY KEY, mtime INT) WITHOUT ROWID;
    CREATE TABLE damaged (path TEXT PRIMARY KEY, size INT, mtime INT, code TEXT, message TEXT) WITHOUT ROWID
"""


class Place(NamedTuple):
    """Where the file of a record is, and what tells that it has changed."""

    path: str
    inode: int
    size: int
    mtime: int


@dataclass(frozen=True)
class Look:
    """What the disk says without a file being opened."""

    events: tuple[int, int]
    folders: dict[str, int]
    damaged: tuple[Place | None, ...]


class Watch:
    """Keeps the tables of records and events in line with the files of a folder."""

    def __init__(self, root: Path, catalog: Catalog, key: bytes | None) -> None:
        self._root, self._catalog, self._key = root, catalog, key
        self._last: Look | None = None
        self._damaged: list[str] = []
        signed = digest({"key": key.hex()}) if key else ""  # with another key other files are as they were written
        catalog.require("store", f"1 {signed}", SCHEMA)

    def refresh(self, *, everything: bool = False) -> None:
        """Take in what was changed since; `everything` looks at every file, not only at the times of folders."""
        with storage_errors(self._root):
            look = self._look()
            if look == self._last and not everything:
                return
            self._catalog.run(lambda db: self._take_in(db, look, everything), write=True)
        newest = max(look.folders.values(), default=0)
        self._last = look if newest < time.time_ns() - SETTLED_NS else None

    def wrote(self, written: Iterable[tuple[Path, Experience, str]]) -> None:
        """Take in records that the holder of the lock has just written: path, record, digest of its content."""

        def act(db: sqlite3.Connection) -> None:
            change = _next_change(db)
            for path, experience, content in written:
                _keep(db, self._place(path), experience.id, content, False, change)
            folders = {path.parent for path, _, _ in written}
            times = [(self._relative(path), path.stat().st_mtime_ns) for path in folders]
            db.executemany("INSERT OR REPLACE INTO folder VALUES (?, ?)", times)

        written = list(written)
        with storage_errors(self._root):
            self._catalog.run(act, write=True)
            self._last = self._look()

    def _look(self) -> Look:
        folders = self._root / RECORDS
        events = _stat(self._root / EVENTS)
        found = {}
        with os.scandir(folders) if folders.is_dir() else nullcontext(()) as entries:
            for one in entries:
                if one.is_dir(follow_symlinks=False):
                    found[f"{RECORDS}/{one.name}"] = one.stat(follow_symlinks=False).st_mtime_ns
        damaged = tuple(self._there(self._root / path) for path in self._damaged)
        return Look((events.st_size, events.st_mtime_ns) if events else (0, 0), found, damaged)

    def _take_in(self, db: sqlite3.Connection, look: Look, everything: bool) -> None:
        change = _next_change(db)
        known = dict(db.execute("SELECT path, mtime FROM folder"))
        young = time.time_ns() - SETTLED_NS
        for folder, mtime in look.folders.items():
            if everything or known.get(folder) != mtime:
                self._take_folder(db, folder, change, everything)
                db.execute("INSERT OR REPLACE INTO folder VALUES (?, ?)", (folder, mtime if mtime < young else 0))
        for folder in known.keys() - look.folders.keys():
            _gone(db, [path for path, _, _, _ in _places_in(db, folder)], change)
            db.execute("DELETE FROM folder WHERE path = ?", (folder,))
        for path, size, mtime in db.execute("SELECT path, size, mtime FROM damaged").fetchall():
            there = self._there(self._root / path)
            if there is None or (there.size, there.mtime) != (size, mtime):
                self._take_file(db, path, change)
        self._damaged = [path for (path,) in db.execute("SELECT path FROM damaged")]
        self._take_events(db, change)

    def _take_folder(self, db: sqlite3.Connection, folder: str, change: int, everything: bool) -> None:
        """Read the files of a folder that are new, or others than before: a file that takes another's place is a new
        one for the system. What an editor wrote into a file is found by its time, when everything is looked at."""
        with os.scandir(self._root / folder) as entries:
            names = {f"{folder}/{one.name}": one.inode() for one in entries if one.name.endswith(SUFFIX)}
        known = {place.path: place for place in _places_in(db, folder)}
        damaged = {path for (path,) in db.execute("SELECT path FROM damaged")}
        _gone(db, known.keys() - names.keys(), change)
        for path in sorted(names.keys() - damaged):
            before = known.get(path)
            if (
                before is None
                or before.inode != names[path]
                or (everything and before != self._there(self._root / path))
            ):
                self._take_file(db, path, change)

    def take_file(self, path: str) -> None:
        """Read a file again that was seen to have changed."""
        self._catalog.run(lambda db: self._take_file(db, path, _next_change(db)), write=True)

    def _take_file(self, db: sqlite3.Connection, path: str, change: int) -> None:
        db.execute("DELETE FROM damaged WHERE path = ?", (path,))
        place = self._there(self._root / path)
        try:
            experience, content, whole = self.read(self._root / path)
            other = db.execute("SELECT path FROM record WHERE id = ?", (experience.id,)).fetchone()
            if other and other[0] not in (None, path) and self._there(self._root / other[0]):
                raise DataError(f"the same id as {other[0]}", file=str(self._root / path), field="id", code="E_SCHEMA")
        except DataError as error:
            _gone(db, [path], change)
            if place is not None:
                row = (path, place.size, place.mtime, error.code, str(error))
                db.execute("INSERT INTO damaged VALUES (?, ?, ?, ?, ?)", row)
            return
        if place is not None:
            _gone(db, [path], change, but=experience.id)
            _keep(db, place, experience.id, content, not whole, change)

    def read(self, path: Path) -> tuple[Experience, str, bool]:
        """A record file: the record, the digest of its content, whether it is as it was written. Raises `DataError`."""
        with storage_errors(path):
            if os.path.lexists(path):
                check_owner(os.lstat(path), path, self._root.stat().st_uid)
        return decode(read_regular(path, MAX_FILE_BYTES, follow=False), str(path), self._key)

    def approved_content(self, id: str) -> str:
        """The digest of the content that a person's trust in a record is about; "" where nobody has said anything."""
        rows = self._catalog.read("SELECT data FROM status WHERE id = ?", (id,))
        return status_of(rows[0][0]).content if rows else ""

    # ---- events ----

    def _take_events(self, db: sqlite3.Connection, change: int) -> None:
        """Read the events that are new; all of them again where the file is not the one that was read before."""
        mark = db.execute("SELECT value FROM meta WHERE name = 'events'").fetchone()
        offset, tail = json.loads(mark[0]) if mark else (0, "")
        data, whole = self._events_from(offset, bytes.fromhex(tail))
        if whole and offset:
            offset = 0
            db.execute("DELETE FROM status")
            db.execute("UPDATE record SET live = path IS NOT NULL, change = ?", (change,))
        end = data.rfind(b"\n") + 1
        for _, event in self.events_in(data[:end]):
            if isinstance(event, Event):
                _apply(db, event, change)
        if end or whole:
            kept = (bytes.fromhex(tail) if not whole else b"") + data[:end]
            mark = (json.dumps([offset + end, kept[-_TAIL:].hex()]),)
            db.execute("INSERT OR REPLACE INTO meta VALUES ('events', ?)", mark)

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

    def events_in(self, data: bytes) -> Iterable[tuple[int, Event | Problem]]:
        """The lines of a file of events, numbered from 1: an event, or what is wrong with it."""
        file = str(self._root / EVENTS)
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                payload = parse(line, file=file, line=number)
                if not isinstance(payload, dict) or not is_sealed(payload, self._key):
                    raise DataError("not as it was written, or not signed", file=file, line=number, code="E_SCHEMA")
                yield number, validate(Event, without_seal(payload), file=file, line=number)
            except DataError as error:
                yield number, Problem(file=file, line=number, code=error.code, message=str(error))

    # ---- paths ----

    def _relative(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _place(self, path: Path) -> Place:
        info = os.lstat(path)
        return Place(self._relative(path), info.st_ino, info.st_size, info.st_mtime_ns)

    def _there(self, path: Path) -> Place | None:
        return self._place(path) if os.path.lexists(path) else None


def _stat(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _next_change(db: sqlite3.Connection) -> int:
    """The number of this change: who follows the records asks for those of a later one."""
    found = db.execute("SELECT value FROM meta WHERE name = 'change'").fetchone()
    number = (found[0] if found else 0) + 1
    db.execute("INSERT OR REPLACE INTO meta VALUES ('change', ?)", (number,))
    return int(number)


def _places_in(db: sqlite3.Connection, folder: str) -> list[Place]:
    """The files of records in a folder: between "folder/" and what sorts right behind everything in it."""
    ask = "SELECT path, inode, size, mtime FROM record WHERE path > ? AND path < ?"
    return [Place(*row) for row in db.execute(ask, (f"{folder}/", f"{folder}0"))]


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
