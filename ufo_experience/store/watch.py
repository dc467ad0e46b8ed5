"""What is on the disk, as the catalog knows it: files are read once, and again when they have changed.

Nothing is listed to learn or to ask. The times of the folders of records, and size and time of `events.jsonl`, say
whether anybody else has written: another process of ours (which has told the catalog), `git pull`, an editor.
"""

import json
import logging
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from ufo_experience.errors import DataError
from ufo_experience.schema import Experience, Problem, validate
from ufo_experience.store import files
from ufo_experience.store.base import Event, Status, StoreReport, problem_of
from ufo_experience.store.catalog import Catalog, note, noted
from ufo_experience.store.records import MAX_FILE_BYTES, SUFFIX, decode, unsealed
from ufo_experience.store.strict_json import parse

RECORDS, EVENTS = "records", "events.jsonl"
KEPT = 1_024  # records that stay parsed: what is asked for is asked for again
_MAX_EVENTS = 1 << 40
_SETTLED_NS = 50_000_000  # a folder's time that is younger may stay the same when one more file comes
_TAIL = 64  # bytes before the place up to which events were read: others there mean that lines came in between
_NEXT = "UPDATE meta SET value = value + 1 WHERE name = 'change'"
_NOW = "(SELECT value FROM meta WHERE name = 'change')"
_KEEP = f"""INSERT INTO record (id, path, stamp, change) VALUES (?, ?, ?, {_NOW})
ON CONFLICT (id) DO UPDATE SET path = excluded.path, stamp = excluded.stamp, change = excluded.change"""
_SAY = f"""INSERT INTO record (id, status, removed, change) VALUES (?, ?, ?, {_NOW})
ON CONFLICT (id) DO UPDATE SET status = excluded.status, removed = excluded.removed, change = excluded.change"""
_FORGET_EVENTS = f"UPDATE record SET status = NULL, removed = 0, change = {_NOW}"
_GONE = f"UPDATE record SET path = NULL, change = {_NOW} WHERE path = ? AND id != ?"
LEFT_ALONE = ("E_VERSION", "E_EDITED")  # nothing is lost
_ALL = "`ufo-experience verify` tells of all"
_NO_EVENTS = (
    "deleted since it was read: the trust, verdicts and use that it gave to records count no more, and what was purged "
    "may be learned again; bring it back from a backup"
)
_log = logging.getLogger(__name__)

Read = tuple[Experience, str, bool]  # a record, the digest of its content, whether it is as it was written


class Watch:
    """Keeps the table of records in line with the files of a folder. Paths are relative to it."""

    def __init__(self, root: Path, catalog: Catalog) -> None:
        self._root, self._catalog = root, catalog
        self.parsed = lru_cache(KEPT)(lambda path, stamp: self.read(path))  # stamp: as the catalog knows the file
        self._told: set[str] = set()  # what is no record or event, of which a warning was given

    def stamp(self, path: str) -> str:
        """What tells that a file has changed."""
        return files.stamp_of(f"{self._root}/{path}")

    def read(self, path: str | Path) -> Read:
        """Read a record file. Raises `DataError`."""
        file = self._root / path
        return decode(files.read_regular(file, MAX_FILE_BYTES, follow=False), str(file))

    def refresh(self, *, everything: bool = False) -> None:
        """Take in what was changed since; `everything` looks at every file, not only at the times of folders."""
        with files.storage_errors(self._root):
            look = self._look()
            if everything or look != self._catalog.run(_seen):
                self._catalog.write(self._take_in, look, everything)

    def take(self, written: Mapping[str, Experience]) -> None:
        """Take in files that were just written: all that is new in their folders."""

        def act(db: sqlite3.Connection) -> None:
            db.execute(_NEXT)
            for path, one in written.items():
                self._take_file(db, path, one)
            folders = {path.rpartition("/")[0] for path in written}
            note(db, seen=json.dumps(_seen(db) | {folder: self.stamp(folder) for folder in folders}))

        self._catalog.write(act)

    def events(self) -> Iterator[Event | Problem]:
        """The events that happened, oldest first, and what is wrong with lines that hold none."""
        path = self._root / EVENTS
        data = files.read_regular(path, _MAX_EVENTS, follow=False) if path.exists() else b""
        return self._events_in(data)

    def verify(self) -> StoreReport:
        """Read every record and every event, and say what is wrong."""
        self.refresh()
        seen: dict[str, Path] = {}
        found = [self._problem(path, seen) for path in _entries(self._root / RECORDS)]
        report = StoreReport(found.count(None), [problem for problem in found if problem])
        path = self._root / EVENTS
        if json.loads(self._catalog.meta("events") or "[]")[2:] and not path.exists():
            report.corrupt.append(Problem(file=str(path), code="E_MISSING", message=_NO_EVENTS))
        report.corrupt += [event for event in self.events() if isinstance(event, Problem)]
        return report

    def _look(self) -> dict[str, str]:
        """The stamps of the folders with records and of the events: no file is opened."""
        names = [EVENTS]
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._root / RECORDS) as entries:
            names += [f"{RECORDS}/{one.name}" for one in entries if one.is_dir(follow_symlinks=False)]
        return {name: stamp for name in names if (stamp := self.stamp(name))}

    def _take_in(self, db: sqlite3.Connection, look: Mapping[str, str], everything: bool) -> None:
        db.execute(_NEXT)
        seen, young = _seen(db), time.time_ns() - _SETTLED_NS
        again = []  # what is looked at, and told of, again
        for name in {**look, **seen}:  # also what is gone
            stamp = look.get(name)
            if stamp == seen.get(name) and (name == EVENTS or not everything):
                continue
            is_whole = self._take_events(db) if name == EVENTS else self._take_folder(db, name)
            if stamp and not (is_whole and (name == EVENTS or int(stamp.split()[-1]) < young)):
                again.append(name)
        note(db, seen=json.dumps({**look, **dict.fromkeys(again, "")}))

    def _take_folder(self, db: sqlite3.Connection, folder: str) -> bool:
        """Read the files of a folder that are new, or others than before. False when one of them cannot be read."""
        names: list[str] = []
        with suppress(FileNotFoundError), os.scandir(self._root / folder) as entries:
            names = sorted(f"{folder}/{one.name}" for one in entries if one.name.endswith(SUFFIX))
        there = {name: stamp for name in names if (stamp := self.stamp(name))}
        ask = "SELECT path, stamp FROM record WHERE path > ? AND path < ?"
        known = dict(db.execute(ask, (f"{folder}/", f"{folder}0")))  # "0" sorts right behind "/"
        db.executemany(_GONE, [(path, "") for path in known.keys() - there.keys()])
        return all([self._take_file(db, name) for name in there if known.get(name) != there[name]])

    def _take_file(self, db: sqlite3.Connection, path: str, written: Experience | None = None) -> bool:
        """Take in a file; False for one that is no record, of which a warning tells once."""
        stamp = self.stamp(path)
        try:
            one = written or self.read(path)[0]
            (other,) = db.execute("SELECT path FROM record WHERE id = ?", (one.id,)).fetchone() or (None,)
            if other not in (None, path) and os.path.lexists(self._root / other):
                raise DataError(f"the same id as {other}", file=str(self._root / path), field="id")
        except DataError as error:
            db.execute(_GONE, (path, ""))
            if stamp:
                self._warn(f"a record is left out, {_ALL}: {error}")
            return False
        db.execute(_GONE, (path, one.id))
        db.execute(_KEEP, (one.id, path, stamp))
        return True

    def _take_events(self, db: sqlite3.Connection) -> bool:
        """Read the events that are new, all again where the file is another one. False where something is missing.

        The catalog keeps up to where they were read, what stood before that place, and what was wrong, if anything.
        """
        offset, tail, *damage = json.loads(noted(db, "events") or '[0, ""]')
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
            offset, before, damage = 0, b"", [f"{path}: {_NO_EVENTS}"]
        if not before:
            db.execute(_FORGET_EVENTS)
        end = data.rfind(b"\n") + 1  # what comes behind is not finished
        for event in self._events_in(data[:end]):
            if isinstance(event, Problem):
                damage = damage or [f"{event.place}: {event.message}"]
            else:
                (said,) = db.execute("SELECT status FROM record WHERE id = ?", (event.id,)).fetchone() or (None,)
                status = status_of(said).after(event)
                db.execute(_SAY, (event.id, status.model_dump_json(exclude_defaults=True), status.removed))
        note(db, events=json.dumps([offset + end, (before + data[:end])[-_TAIL:].hex(), *damage]))
        if damage:
            self._warn(f"what a line says of a record (trust, verdict, use) is left out, {_ALL}: {damage[0]}")
        return not damage

    def _events_in(self, data: bytes) -> Iterator[Event | Problem]:
        file = str(self._root / EVENTS)
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                payload = parse(line, file=file, line=number)
                bare, _, whole = unsealed(payload) if isinstance(payload, dict) else ({}, "", False)
                if not whole:
                    raise DataError("not as it was written", file=file, line=number, code="E_SCHEMA")
                yield validate(Event, bare, file=file, line=number)
            except DataError as error:
                yield problem_of(error, file)

    def _warn(self, message: str) -> None:
        """Tell once."""
        if message not in self._told:
            self._told.add(message)
            _log.warning("%s", message)

    def _problem(self, path: Path, seen: dict[str, Path]) -> Problem | None:
        """What is wrong with a file among the records."""
        try:
            if path.suffix != SUFFIX or path.parent == self._root / RECORDS:
                raise DataError("no file of this store has this name", file=str(path), code="E_STRAY")
            one, content, whole = self.read(path)
            if (other := seen.setdefault(one.id, path)) != path:
                raise DataError(f"the same id as {other}", file=str(path), code="E_CORRUPT")
            if not whole and content != self._approved(one.id):
                said = (
                    "not as it was written: edited by hand, or damaged; it counts as observed. "
                    f"Look at it: ufo-experience show {one.id[:8]}, then: ufo-experience approve {one.id[:8]}"
                )
                raise DataError(said, file=str(path), code="E_EDITED")
        except DataError as error:
            return problem_of(error, str(path))
        return None

    def _approved(self, id: str) -> str:
        """The digest of the content that a person's trust in a record is about; "" where nobody has said anything."""
        rows = self._catalog.read("SELECT status FROM record WHERE id = ?", (id,))
        return status_of(rows[0][0]).content if rows else ""


def status_of(data: str | None) -> Status:
    """The status that was kept as JSON."""
    return Status.model_validate_json(data) if data else Status()


def _seen(db: sqlite3.Connection) -> dict[str, str]:
    """The stamps that folders and events had when they were read."""
    seen: dict[str, str] = json.loads(noted(db, "seen") or "{}")
    return seen


def _entries(folder: Path) -> Iterator[Path]:
    """What lies in the folders of the records, and is no unfinished file of a writer."""
    with files.storage_errors(folder):
        for place in sorted(folder.iterdir()) if folder.is_dir() else ():
            inside = sorted(place.iterdir()) if place.is_dir() and not place.is_symlink() else [place]
            yield from (path for path in inside if path.suffix != files.TEMP)
