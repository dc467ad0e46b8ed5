"""What is on the disk, as the catalog knows it: files are read once, and again when they have changed.

Nothing is listed to learn or to ask. The times of the folders of records, and size and time of `events.jsonl`, say
whether anybody else has written: another process of ours (which has told the catalog), `git pull`, an editor.
"""

import json
import logging
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from ufo_experience.errors import DataError
from ufo_experience.schema import Experience, Problem, validate
from ufo_experience.store import files
from ufo_experience.store.base import Event, Status, StoreReport
from ufo_experience.store.catalog import Catalog, note, noted, statements
from ufo_experience.store.records import MAX_FILE_BYTES, SUFFIX, decode, unsealed
from ufo_experience.store.strict_json import parse

RECORDS, EVENTS = "records", "events.jsonl"
KEPT = 1_024  # records that stay parsed: what is asked for is asked for again
_MAX_EVENTS = 1 << 40
_SETTLED_NS = 50_000_000  # a folder's time that is younger may stay the same when one more file comes
_TAIL = 64  # bytes before the place up to which events were read: others there mean that lines came in between
_KEEP = """INSERT INTO record (id, path, stamp, content, edited, change) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET path = excluded.path, stamp = excluded.stamp, content = excluded.content,
edited = excluded.edited, change = excluded.change"""
_SAY = """INSERT INTO record (id, status, removed, change) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, removed = excluded.removed, change = excluded.change"""
LEFT_ALONE = ("E_VERSION", "E_EDITED")  # nothing is lost
_ALL = "`ufo-experience verify` tells of all"
_GONE = (
    "deleted since it was read: the trust, verdicts and use that it gave to records count no more, and what was purged "
    "may be learned again; bring it back from a backup"
)
_NO_EVENTS = '[0, ""]'  # up to where events were read, what stood before that place; then what was wrong, if anything
_log = logging.getLogger(__name__)

Read = tuple[Experience, str, bool]  # a record, the digest of its content, whether it is as it was written


class Watch:
    """Keeps the tables of records and events in line with the files of a folder. Paths are relative to it."""

    def __init__(self, root: Path, catalog: Catalog) -> None:
        self._root, self._catalog = root, catalog
        self.parsed = lru_cache(KEPT)(lambda path, stamp: self.read(path)[0])  # stamp: as the catalog knows the file
        self._told: set[str] = set()  # what is no record or event, of which a warning was given
        catalog.require("store", "6", statements(Path(__file__).with_name("catalog.sql")))

    def stamp(self, path: str) -> str:
        """What tells that a file has changed."""
        return files.stamp_of(f"{self._root}/{path}")

    def read(self, path: str | Path) -> Read:
        """Read a record file. Raises `DataError`."""
        file = self._root / path
        return decode(files.read_regular(file, MAX_FILE_BYTES, follow=False), str(file))

    def approved(self, id: str) -> str:
        """The digest of the content that a person's trust in a record is about; "" where nobody has said anything."""
        rows = self._catalog.read("SELECT status FROM record WHERE id = ?", (id,))
        return status_of(rows[0][0]).content if rows else ""

    def refresh(self, *, everything: bool = False) -> None:
        """Take in what was changed since; `everything` looks at every file, not only at the times of folders."""
        with files.storage_errors(self._root):
            look = self._look()
            if everything or look != self._catalog.run(_seen):
                self._catalog.write(self._take_in, look, everything)

    def take(self, written: Mapping[str, Read]) -> None:
        """Take in files that were just written: all that is new in their folders."""

        def act(db: sqlite3.Connection) -> None:
            change = _next_change(db)
            for path, found in written.items():
                self._take_file(db, path, change, found)
            for folder in {path.rpartition("/")[0] for path in written}:
                _note_seen(db, folder, self.stamp(folder))

        with files.storage_errors(self._root):
            self._catalog.write(act)

    def _look(self) -> dict[str, str]:
        """The stamps of the events and of the folders with records: no file is opened."""
        names = [EVENTS]
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._root / RECORDS) as entries:
            names += [f"{RECORDS}/{one.name}" for one in entries if one.is_dir(follow_symlinks=False)]
        return {name: stamp for name in names if (stamp := self.stamp(name))}

    def _take_in(self, db: sqlite3.Connection, look: Mapping[str, str], everything: bool) -> None:
        change, known = _next_change(db), _seen(db)
        young = time.time_ns() - _SETTLED_NS
        for folder, stamp in look.items():
            if folder != EVENTS and (everything or known.get(folder) != stamp):
                all_read = self._take_folder(db, folder, change)
                settled = all_read and int(stamp.split()[-1]) < young
                _note_seen(db, folder, stamp if settled else "")  # else it is looked at again
        for folder in known.keys() - look.keys():
            _gone(db, _files_in(db, folder), change)
            db.execute("DELETE FROM seen WHERE path = ?", (folder,))
        if known.get(EVENTS) != look.get(EVENTS):
            all_read = self._take_events(db, change)
            if EVENTS in look:
                _note_seen(db, EVENTS, look[EVENTS] if all_read else "")  # "": it is told again

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
                raise DataError(f"the same id as {other}", file=str(self._root / path), field="id")
        except DataError as error:
            _gone(db, [path], change)
            if stamp:
                self._warn(f"a record is left out, {_ALL}: {error}")
            return False
        _gone(db, [path], change, but=one.id)
        db.execute(_KEEP, (one.id, path, stamp, content, not whole, change))
        return True

    def _warn(self, message: str) -> None:
        """Tell once."""
        if message not in self._told:
            self._told.add(message)
            _log.warning("%s", message)

    def gone_events(self) -> Problem | None:
        """What is wrong where events had been read and their file is gone."""
        self.refresh()
        path, mark = self._root / EVENTS, self._catalog.meta("events") or _NO_EVENTS
        has_gone = len(json.loads(mark)) > len(json.loads(_NO_EVENTS)) and not path.exists()
        return Problem(file=str(path), code="E_MISSING", message=_GONE) if has_gone else None

    def _take_events(self, db: sqlite3.Connection, change: int) -> bool:
        """Read the events that are new, all again where the file is another one. False where something is missing."""
        offset, tail, *damage = json.loads(noted(db, "events") or _NO_EVENTS)
        before, data = bytes.fromhex(tail), b""
        path = self._root / EVENTS
        if path.exists():
            with files.open_regular(path, _MAX_EVENTS, follow=False) as stream:
                stream.seek(offset - len(before))
                if not before or stream.read(len(before)) != before:  # what stood there is another text
                    offset, before, damage = 0, b"", []
                    stream.seek(0)
                data = stream.read()
        elif offset:
            offset, before, damage = 0, b"", [f"{path}: {_GONE}"]
        if not before:
            db.execute("UPDATE record SET status = NULL, removed = 0, change = ?", (change,))
        end = data.rfind(b"\n") + 1  # what comes behind is not finished
        for _, event in self.events_in(data[:end]):
            if isinstance(event, Problem):
                damage = damage or [f"{event.place}: {event.message}"]
            else:
                (said,) = db.execute("SELECT status FROM record WHERE id = ?", (event.id,)).fetchone() or (None,)
                status = status_of(said).after(event)
                kept = status.model_dump_json(exclude_defaults=True)
                db.execute(_SAY, (event.id, kept, status.removed, change))
        note(db, events=json.dumps([offset + end, (before + data[:end])[-_TAIL:].hex(), *damage]))
        if damage:
            self._warn(f"what a line says of a record (trust, verdict, use) is left out, {_ALL}: {damage[0]}")
        return not damage

    def event_lines(self) -> bytes:
        """The file of events as it is."""
        path = self._root / EVENTS
        return files.read_regular(path, _MAX_EVENTS, follow=False) if path.exists() else b""

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
                yield number, _problem_of(error, file)


def status_of(data: str | None) -> Status:
    """The status that was kept as JSON."""
    return Status.model_validate_json(data) if data else Status()


def _seen(db: sqlite3.Connection) -> dict[str, str]:
    return dict(db.execute("SELECT path, stamp FROM seen"))


def _note_seen(db: sqlite3.Connection, path: str, stamp: str) -> None:
    db.execute("INSERT OR REPLACE INTO seen VALUES (?, ?)", (path, stamp))


def _next_change(db: sqlite3.Connection) -> int:
    """The number of this change: who follows the records asks for those of a later one."""
    change = int(noted(db, "change") or 0) + 1
    note(db, change=change)
    return change


def _files_in(db: sqlite3.Connection, folder: str) -> dict[str, str]:
    """The files of records in a folder: between "folder/" and what sorts right behind everything in it."""
    ask = "SELECT path, stamp FROM record WHERE path > ? AND path < ?"
    return dict(db.execute(ask, (f"{folder}/", f"{folder}0")))


def _gone(db: sqlite3.Connection, paths: Iterable[str], change: int, but: str = "") -> None:
    given = [(change, path, but) for path in paths]
    db.executemany("UPDATE record SET path = NULL, change = ? WHERE path = ? AND id != ?", given)


# ---- every byte ----


def examine(root: Path, watch: Watch) -> StoreReport:
    """Read every record and every event, and say what is wrong."""
    seen: dict[str, Path] = {}
    found = [_problem(path, root / RECORDS, watch, seen) for path in _entries(root / RECORDS)]
    report = StoreReport(found.count(None), [problem for problem in found if problem])
    if gone := watch.gone_events():
        report.corrupt.append(gone)
    report.corrupt += [found for _, found in watch.events_in(watch.event_lines()) if isinstance(found, Problem)]
    return report


def _problem(path: Path, records: Path, watch: Watch, seen: dict[str, Path]) -> Problem | None:
    """What is wrong with a file among the records."""
    try:
        if path.suffix != SUFFIX or path.parent == records:
            raise DataError("no file of this store has this name", file=str(path), code="E_STRAY")
        one, content, whole = watch.read(path)
        if (other := seen.setdefault(one.id, path)) != path:
            raise DataError(f"the same id as {other}", file=str(path), code="E_CORRUPT")
        if not whole and watch.approved(one.id) != content:
            said = (
                "not as it was written: edited by hand, or damaged; it counts as observed. "
                f"Look at it: ufo-experience show {one.id[:8]}, then: ufo-experience approve {one.id[:8]}"
            )
            raise DataError(said, file=str(path), code="E_EDITED")
    except DataError as error:
        return _problem_of(error, str(path))
    return None


def _problem_of(error: DataError, file: str) -> Problem:
    field = f"[{error.field}]: " if error.field else ""
    return Problem(file=file, line=error.line, code=error.code, message=field + error.reason)


def _entries(folder: Path) -> Iterator[Path]:
    """What lies in the folders of the records, and is no unfinished file of a writer."""
    with files.storage_errors(folder):
        for place in sorted(folder.iterdir()) if folder.is_dir() else ():
            inside = sorted(place.iterdir()) if place.is_dir() and not place.is_symlink() else [place]
            yield from (path for path in inside if path.suffix != files.TEMP)
