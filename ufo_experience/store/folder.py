"""The default store: a folder of JSON files that people read, and a file of events that is only appended to.

    records/<application>/<words of the task>-<id8>.json    one experience, written once
    events.jsonl                                            what happened since: trust, verdict, help, harm, removed
    .index/                                                 made from all this, may be deleted (`catalog.py`, `index/`)
    .key                                                    the secret of keyed digests
    experience.yaml                                         the same in UFO's form (`view.py`)

A learn: lock → temp file → fsync → rename → fsync of the folder → events → one SQLite transaction → acknowledged.
A writer that dies leaves a file that the next one finds (`watch.py`). A record that was edited by hand counts as
observed until somebody approves it.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ufo_experience.errors import DataError, NotFoundError, RefusedError, StorageError, quoted
from ufo_experience.ids import is_id
from ufo_experience.schema import Experience, Usage
from ufo_experience.store import files
from ufo_experience.store.base import Changing, Event, ExperienceStore, Recorded, Row, StoreReport, event
from ufo_experience.store.catalog import FOLDER as INDEX
from ufo_experience.store.catalog import Catalog, Rows
from ufo_experience.store.records import SUFFIX, encode, place_of, sealed
from ufo_experience.store.strict_json import parse
from ufo_experience.store.view import View
from ufo_experience.store.watch import EVENTS, RECORDS, Watch, status_of

STORE_FILE, SECRET = "store.json", ".key"
VERSION = 2
_IGNORED = f"""# What belongs to one machine; records, events and the view are kept.
/{INDEX}/
/{SECRET}
/.*lock
/audit.jsonl*
*{files.TEMP}
"""
_COLUMNS = "SELECT id, path, stamp, status FROM record WHERE"
_A_FILE = "it is a file, a store is a folder"
_WHICH = "live", "removed AND path IS NOT NULL"  # the file of what was removed stays until it is purged
_AMONG = "id IN (SELECT value FROM json_each(?))"
_log = logging.getLogger(__name__)


class FolderStore(ExperienceStore):
    """Experiences in a folder. Safe to use from many threads and processes."""

    shared = False  # who may write to a folder is decided by its owner

    def __init__(self, root: Path, location: str, *, lock_timeout: float) -> None:
        self.root = self.cache_folder = root
        self.location = location
        self._timeout = lock_timeout
        self.catalog = Catalog(root)
        self._watch = Watch(root, self.catalog)
        self._view = View(root, self.catalog, self.scan)

    @classmethod
    def open(cls, path: str | Path, *, create: bool = True, lock_timeout: float = 10.0) -> FolderStore:
        """Open the store in a folder; see `open_store`."""
        root = Path(path).absolute()
        if not (root / STORE_FILE).exists() and not (root / RECORDS).is_dir():
            if not create:
                make = f"to make one: ufo-experience ingest PATH --db {quoted(str(path))}"
                raise NotFoundError(f"no experience store; {_A_FILE if root.is_file() else make}", file=str(path))
            _make(root)
        _check_version(root)
        for name in (RECORDS, INDEX, EVENTS):
            if (root / name).is_symlink():
                raise RefusedError(f"{root / name}: a link; a store lies in one folder")
        return cls(root, str(path), lock_timeout=lock_timeout)

    def key(self) -> bytes:
        path = self.root / SECRET
        if not path.exists():
            with self._writing():
                if not path.exists():
                    files.replace_file(path, secrets.token_hex(32).encode())
        return files.read_regular(path, 4_096, follow=False).strip()

    def look_everywhere(self) -> None:
        """Take in what others changed in any file, and bring `experience.yaml` up to date with it."""
        self._watch.refresh(everything=True)
        if not self._view.is_current():
            with self._writing():
                pass  # at its end the view follows

    def events(self, id: str | None = None) -> Iterator[Event]:
        return (one for one in self._watch.events() if isinstance(one, Event) and id in (None, one.id))

    def revision(self) -> str:
        self._watch.refresh()
        return str(self.catalog.meta("change"))

    def ids(self, *, removed: bool = False) -> list[str]:
        self._watch.refresh()
        return [id for (id,) in self.catalog.read(f"SELECT id FROM record WHERE {_WHICH[removed]} ORDER BY id")]

    def _rows(self, ids: Iterable[str] | None = None, *, removed: bool = False) -> Rows:
        self._watch.refresh()
        if ids is None:
            return self.catalog.read(f"{_COLUMNS} {_WHICH[removed]} ORDER BY id")
        return self.catalog.read(f"{_COLUMNS} {_WHICH[removed]} AND {_AMONG} ORDER BY id", [_listed(ids)])

    def _read(self, row: Row) -> Recorded:
        """Of a row of the catalog. A record whose file changed under its name is read again."""
        id, path, stamp, said = row
        if (now := self._watch.stamp(path)) == stamp:
            return *self._watch.parsed(path, stamp), status_of(said)
        self._watch.refresh(everything=True)
        for changed in self.catalog.read(f"{_COLUMNS} id = ? AND path = ?", (id, path)):
            return self._read(changed)
        if now:
            self._watch.read(path)  # which says what is wrong with it
        raise NotFoundError(f"no experience {id!r}", file=self.location)

    def _add_group(self, group: Sequence[Experience]) -> set[str]:
        encoded = [(one, encode(one)) for one in group]
        with self._writing():
            ask = f"SELECT id FROM record WHERE (removed OR path IS NOT NULL) AND {_AMONG}"
            known = {id for (id,) in self.catalog.read(ask, [_listed(one.id for one in group)])}
            fresh = [(one, data) for one, data in encoded if one.id not in known]
            if fresh:
                self._write(fresh)
        return {one.id for one, _ in fresh}

    def _write(self, fresh: Sequence[tuple[Experience, bytes]]) -> None:
        written: dict[str, Experience] = {}
        try:
            for one, data in fresh:
                path = self._free_place(one)
                written[path] = one
                files.replace_file(self.root / path, data, sync=False)
            for folder in {(self.root / path).parent for path in written}:
                files.sync_folder(folder)
            self._append([event("usage", one.id, usage=one.usage) for one, _ in fresh if one.usage != Usage()])
        except StorageError:
            for path in written:  # not acknowledged: none of the group stays
                with suppress(OSError):
                    (self.root / path).unlink()
            raise
        self._watch.take(written)

    def _free_place(self, one: Experience) -> str:
        """Where the file of a record goes; with more of its id where another record's begins the same."""
        folder, words = place_of(one)
        files.make_folder(self.root / RECORDS / folder)
        paths = (f"{RECORDS}/{folder}/{words}-{one.id[:digits]}{SUFFIX}" for digits in (8, 16, 32))
        return next(path for path in paths if not os.path.lexists(self.root / path))

    @contextmanager
    def _changing(self, ids: Iterable[str], *, removed: bool = False) -> Iterator[Changing]:
        with self._writing():
            yield self._rows(ids, removed=removed), self._append

    def purge(self, ids: Iterable[str]) -> list[Experience]:
        wanted = sorted({id for id in ids if is_id(id)})
        with self._writing():
            rows = [*self._rows(wanted), *self._rows(wanted, removed=True)]
            gone = list(self._usable(rows))
            kept = [one for one in self.events() if one.id not in wanted]
            erased = [event("removed", id, reason="purged") for id in wanted]
            files.replace_file(self.root / EVENTS, map(_line, [*kept, *erased]))
            with files.storage_errors(self.root):
                self._erase({self.root / row[1] for row in rows})
            self._watch.parsed.cache_clear()
            self._watch.refresh()
        return gone

    def _erase(self, paths: set[Path]) -> None:
        """Delete files of records, with what writers that died left, and folders that are empty then."""
        paths |= {*(self.root / RECORDS).glob(f"*/.*{files.TEMP}")}
        for path in paths:
            with suppress(FileNotFoundError):
                files.patiently(os.unlink, path)
        for folder in {path.parent for path in paths if path.parent.exists()}:
            files.sync_folder(folder)
            with suppress(OSError):  # not empty
                folder.rmdir()

    def verify(self) -> StoreReport:
        return self._watch.verify()

    def close(self) -> None:
        self.catalog.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock, the catalog in line with the files; in the end the view follows."""
        if not self.root.is_dir():
            raise StorageError(f"{self.location}: not written, the store is not there any more")
        with files.writer_lock(self.root, self._timeout):
            self._watch.refresh()
            yield
            try:
                self._view.follow()
            except StorageError as error:  # what was asked for is done; the next writer tries again
                _log.warning("%s", error)

    def _append(self, events: Iterable[Event]) -> None:
        if lines := b"".join(map(_line, events)):
            files.append(self.root / EVENTS, lines)
            self._watch.refresh()


def _line(one: Event) -> bytes:
    payload = one.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(sealed(payload), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _listed(ids: Iterable[str]) -> str:
    return json.dumps([id for id in ids if is_id(id)])


def _make(root: Path) -> None:
    if os.path.lexists(root) and not root.is_dir():
        raise StorageError(f"{root}: {_A_FILE}")
    files.make_folder(root / RECORDS)
    if not (root / ".gitignore").exists():
        files.replace_file(root / ".gitignore", _IGNORED.encode())
    files.replace_file(root / STORE_FILE, f'{{"format": "ufo_experience", "version": {VERSION}}}\n'.encode())


def _check_version(root: Path) -> None:
    """Raise `DataError` unless this version wrote the folder."""
    path = root / STORE_FILE
    if not path.exists():
        return  # a clone that left it out
    try:
        found = parse(files.read_regular(path, 1 << 20, follow=False), file=str(path))
    except DataError as error:
        cure = "damaged; it says only which version wrote the store: delete this file, and the records are read"
        raise DataError(f"{cure} ({error.reason})", file=str(path), line=error.line, code=error.code) from error
    told = found if isinstance(found, dict) else {}
    if told.get("version") == VERSION:
        return
    message = f"version {told.get('version')!r} is not known here, only {VERSION}"
    if "payload" in told:
        command = "ufo-experience import FOLDER --restore --db NEW_FOLDER"
        message = f"a store of the first edition; take it in with: {command}"
    raise DataError(message, file=str(path), code="E_VERSION")
