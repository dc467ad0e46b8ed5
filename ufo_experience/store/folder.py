"""The default store: a folder of JSON files that people read, and a file of events that is only appended to.

    records/<application>/<words of the task>-<id8>.json    one experience, written once
    events.jsonl                                            what happened since: trust, verdict, help, harm, removed
    removed/<id>.json                                       what `remove` took out, until it is purged
    corrupt/                                                what `verify --repair` set aside, with the reason
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, NotFoundError, RefusedError, StorageError
from ufo_experience.ids import is_id
from ufo_experience.schema import Experience, Trust, Usage
from ufo_experience.store.base import BaseStore, Event, StoreReport, event
from ufo_experience.store.catalog import FOLDER as INDEX
from ufo_experience.store.catalog import Catalog, Rows
from ufo_experience.store.files import (
    TEMP,
    append,
    check_owner,
    make_folder,
    patiently,
    read_regular,
    replace_file,
    storage_errors,
    sync_folder,
    write_new,
    writer_lock,
)
from ufo_experience.store.location import carried_by, check_writable, quoted
from ufo_experience.store.records import SUFFIX, encode, place_of, sealed
from ufo_experience.store.strict_json import parse
from ufo_experience.store.view import View
from ufo_experience.store.watch import EVENTS, MAX_EVENTS_BYTES, RECORDS, Place, Watch, status_of

REMOVED, CORRUPT, STORE_FILE, SECRET = "removed", "corrupt", "store.json", ".key"
VERSION = 2
KEPT = 1_024  # records that stay parsed: what is asked for is asked for again
_IGNORED = (
    f"# What belongs to one machine; records, events and the view are kept.\n/{INDEX}/\n/{REMOVED}/\n/{CORRUPT}/\n"
)
_IGNORED += f"/{SECRET}\n/.lock\n/audit.jsonl*\n/spending.sqlite*\n*{TEMP}\n"
_COLUMNS = "SELECT id, path, inode, size, mtime, content, edited, data FROM record LEFT JOIN status USING (id)"
_log = logging.getLogger(__name__)


class FolderStore(BaseStore):
    """Experiences in a folder. Open it with `FolderStore.open`. Safe to use from many threads and processes."""

    def __init__(self, root: Path, location: str, *, lock_timeout: float, network: bool) -> None:
        self.root, self._location = root, location
        self._timeout, self._network = lock_timeout, network
        self._owner = root.stat().st_uid
        self.catalog = Catalog(root)
        self._watch = Watch(root, self.catalog)
        self._view = View(root, self.catalog, self.scan)
        self._parsed: dict[Place, Experience] = {}

    @classmethod
    def open(
        cls, path: str | Path, *, create: bool = True, lock_timeout: float = 10.0, network: bool = False
    ) -> FolderStore:
        """Open the store in a folder, making it first if allowed. Only making it writes anything.

        Args:
            lock_timeout: seconds a write waits for another writer.
            network: also write to a folder whose files are carried to other machines (`location.py`).

        Raises:
            NotFoundError: no store there, and `create` is False.
            DataError: a newer version made it, or the first edition; nothing was touched.
            StorageError: it cannot be made.
            RefusedError: its folders are links to somewhere else, or it would have to be made on a network drive.
        """
        root = Path(path).absolute()
        if not (root / STORE_FILE).exists() and not (root / RECORDS).is_dir():
            if not create:
                make = f"to make one: ufo-experience ingest PATH --db {quoted(str(path))}"
                cure = "it is a file, a store is a folder" if root.is_file() else make
                raise NotFoundError(f"no experience store; {cure}", file=str(path))
            _make(root, network)
        _check_version(root)
        for name in (RECORDS, REMOVED, CORRUPT, INDEX, EVENTS):
            if (root / name).is_symlink():
                raise RefusedError(f"{root / name}: a link; a store lies in one folder")
        if carried_by(root):
            _log.warning("%s lies on %s", root, carried_by(root))
        return cls(root, str(path), lock_timeout=lock_timeout, network=network)

    @property
    def location(self) -> str:
        """The folder, as it was named."""
        return self._location

    @property
    def cache_folder(self) -> Path:
        """The folder."""
        return self.root

    @property
    def shared(self) -> bool:
        """False: who may write to a folder is decided by its owner."""
        return False

    def key(self) -> bytes:
        """The secret of keyed digests, made when first asked for. Raises `StorageError`."""
        path = self.root / SECRET
        if not path.exists():
            with self._writing():
                if not path.exists():
                    write_new(path, secrets.token_hex(32).encode())
                    sync_folder(self.root)
        return read_regular(path, 4_096, follow=False).strip()

    def look_everywhere(self) -> None:
        """Take in what others changed in any file, and bring `experience.yaml` up to date with it."""
        self._watch.refresh(everything=True)
        if not self._view.is_current(self.change()):
            with self._writing():
                pass  # at its end the view follows

    # ---- reading ----

    def get(self, id: str) -> Experience:
        """The live record with this id, as it is now. Raises `NotFoundError`, `DataError`."""
        found = self._rows("live AND id = ?", (id,)) if is_id(id) else []
        if not found:
            raise NotFoundError(f"no experience {id!r}", file=self.location)
        return self._load(found[0])

    def __contains__(self, id: object) -> bool:
        return is_id(id) and bool(self._rows("live AND id = ?", (id,)))

    def ids(self) -> list[str]:
        """Ids of all live records, sorted."""
        self._watch.refresh()
        return [id for (id,) in self.catalog.read("SELECT id FROM record WHERE live ORDER BY id")]

    def scan(self, ids: Iterable[str] | None = None) -> Iterator[Experience]:
        """Stream live records by id; what cannot be read is logged and left out."""
        for row in self._rows("live", ()) if ids is None else self._rows(*_among("live", ids)):
            found = self._usable(row)
            if found is not None:
                yield found

    def _usable(self, row: tuple[Any, ...]) -> Experience | None:
        try:
            return self._load(row)
        except NotFoundError:  # removed meanwhile
            return None
        except DataError as error:
            _log.warning("left out: %s", error)
            return None

    def events(self, id: str | None = None) -> Iterator[Event]:
        """What happened, oldest first: to one record, or to all."""
        path = self.root / EVENTS
        data = read_regular(path, MAX_EVENTS_BYTES, follow=False) if path.exists() else b""
        for _, found in self._watch.events_in(data):
            if isinstance(found, Event) and id in (None, found.id):
                yield found

    def removed(self) -> list[str]:
        """Ids of what was removed and can be restored, sorted."""
        return sorted(self._removed_files())

    def revision(self) -> str:
        """A token that differs after every committed change."""
        return str(self.change())

    def change(self) -> int:
        """The number of the last change; each record has that of its own."""
        self._watch.refresh()
        return int(self.catalog.meta("change") or 0)

    def _rows(self, where: str, given: Sequence[Any]) -> Rows:
        self._watch.refresh()
        return self.catalog.read(f"{_COLUMNS} WHERE {where} ORDER BY id", given)

    def _load(self, row: tuple[Any, ...]) -> Experience:
        """The record of a row of the catalog. One whose file changed under its name is read again."""
        id, place = row[0], Place(*row[1:5])
        path = self.root / place.path
        with storage_errors(path):
            info = os.lstat(path) if os.path.lexists(path) else None
        if info is None or (info.st_ino, info.st_size, info.st_mtime_ns) != place[1:]:
            self._watch.take_file(place.path)
            rows = self.catalog.read(f"{_COLUMNS} WHERE live AND id = ?", (id,))
            if not rows:
                if info is not None:
                    self._watch.read(path)  # which says what is wrong with it
                raise NotFoundError(f"no experience {id!r}", file=self.location)
            place, row = Place(*rows[0][1:5]), rows[0]
        if info is not None:
            check_owner(info, path, self._owner)
        experience = self._parsed.get(place) or self._watch.read(self.root / place.path)[0]
        self._keep(place, experience)
        return _as_now(experience, *row[5:])

    def _keep(self, place: Place, experience: Experience) -> None:
        if len(self._parsed) >= KEPT:
            self._parsed = {}
        self._parsed[place] = experience

    # ---- writing ----

    def _add_group(self, group: Sequence[Experience]) -> set[str]:
        encoded = [(one, encode(one)) for one in group]
        with self._writing():
            ids = [one.id for one in group]
            known = {row[0] for row in self._rows(*_among("path IS NOT NULL", ids))} | self._removed_ids(ids)
            fresh = [(one, data) for one, data in encoded if one.id not in known]
            return self._write(fresh) if fresh else set()

    def _write(self, fresh: Sequence[tuple[Experience, bytes]]) -> set[str]:
        written: list[tuple[Path, Experience, str]] = []
        try:
            for one, data in fresh:
                path = self._free_place(one)
                written.append((path, one, json.loads(data)["sha256"]))
                write_new(path, data)
            for folder in {path.parent for path, _, _ in written}:
                sync_folder(folder)
            self._append([event("usage", one.id, usage=one.usage) for one, _ in fresh if one.usage != Usage()])
        except StorageError:
            for path, _, _ in written:  # not acknowledged: none of the group stays
                with suppress(OSError):
                    path.unlink()
            raise
        self._watch.wrote(written)
        for path, one, _ in written:
            with storage_errors(path):
                self._keep(self._watch.place(path), one)
        return {one.id for one, _ in fresh}

    def _free_place(self, one: Experience) -> Path:
        """Where the file of a record goes; with more of its id where another record's begins the same."""
        folder, words = place_of(one)
        make_folder(self.root / RECORDS / folder)
        paths = (self.root / RECORDS / folder / f"{words}-{one.id[:digits]}{SUFFIX}" for digits in (8, 16, 32))
        return next(path for path in paths if not os.path.lexists(path))

    def _note(self, id: str, events: Callable[[Experience], Sequence[Event]]) -> Experience:
        with self._writing():
            seen = self.get(id)
            content = self.catalog.read("SELECT content FROM record WHERE id = ?", (id,))[0][0]
            bound = [one.model_copy(update={"content": content}) if one.trust else one for one in events(seen)]
            if not bound:
                return seen
            self._append(bound)
            return self.get(id)

    def remove(self, ids: Iterable[str], *, reason: str = "") -> list[str]:
        """Take records out: a `removed` event, then the file moves to `removed/`. Returns the ids that were there."""
        with self._writing():
            rows = self._rows(*_among("live", ids))
            self._append([event("removed", row[0], reason=reason) for row in rows])
            for id, path, *_ in rows:
                self._move(self.root / path, self.root / REMOVED / f"{id}{SUFFIX}")
            self._watch.refresh()
        return [row[0] for row in rows]

    def restore(self, ids: Iterable[str]) -> list[Experience]:
        """Bring removed records back as they were. Raises `NotFoundError`."""
        wanted = list(ids)
        with self._writing():
            files = self._removed_files()
            for id in wanted:
                if id not in files:
                    raise NotFoundError(f"no removed record {id!r}", file=self.location)
                if files[id].parent.name == REMOVED:
                    self._move(files[id], self._free_place(self._watch.read(files[id])[0]))
            self._append([event("restored", id) for id in wanted])
            self._watch.refresh()
        return [self.get(id) for id in wanted]

    def scan_removed(self, ids: Iterable[str] | None = None) -> Iterator[Experience]:
        """What was removed and can be restored, by id; what cannot be read is left out."""
        files = self._removed_files()
        for id in sorted(files.keys() if ids is None else files.keys() & set(ids)):
            with suppress(DataError):
                yield self._watch.read(files[id])[0]

    def purge(self, ids: Iterable[str]) -> list[Experience]:
        """Erase records, removed ones too, and what was said of them; only `removed` events with their ids stay."""
        wanted = set(ids)
        with self._writing():
            gone = [*self.scan(wanted), *self.scan_removed(wanted)]
            files = {id: path for id, path in self._removed_files().items() if id in wanted}
            rows = self._rows(*_among("path IS NOT NULL", wanted))
            self._rewrite_events(wanted, [event("removed", id, reason="purged") for id in sorted(wanted)])
            paths = {*files.values(), *(self.root / row[1] for row in rows)}
            for path in paths:
                with storage_errors(path), suppress(FileNotFoundError):
                    patiently(os.unlink, path)
            for folder in {path.parent for path in paths}:
                sync_folder(folder)
                with suppress(OSError):  # not empty
                    folder.rmdir()
            self._parsed.clear()
            self._watch.refresh()
        return gone

    def verify(self, *, repair: bool = False) -> StoreReport:
        """Read every byte and say what is wrong; see `check.py`."""
        from ufo_experience.store.check import examine, mend

        if not repair:
            return examine(self.root, self._watch)
        with self._writing():
            repaired = mend(self.root, examine(self.root, self._watch))
            self._watch.refresh(everything=True)
        return StoreReport(**{**vars(examine(self.root, self._watch)), "repaired": repaired})

    def close(self) -> None:
        """Close the catalog; it is opened again when it is needed."""
        self.catalog.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock, the catalog in line with the files; in the end the view follows.

        Raises:
            RefusedError, LockedError, StorageError: not here, somebody else writes, the disk.
        """
        check_writable(self.root, self._network)
        if not self.root.is_dir():
            raise StorageError(f"{self.location}: not written, the store is not there any more")
        with writer_lock(self.root, self._timeout):
            self._watch.refresh()
            yield
            try:
                self._view.follow(self.change())
            except StorageError as error:  # what was asked for is done; the next writer tries again
                _log.warning("%s", error)

    def _append(self, events: Sequence[Event]) -> None:
        """Append events, durably. A line that a writer before left torn is closed first."""
        if not events:
            return
        path = self.root / EVENTS
        torn = path.exists() and not _ends_with_newline(path)
        append(path, b"\n" * torn + b"".join(self._line(one) for one in events))
        self._watch.refresh()

    def _line(self, one: Event) -> bytes:
        payload = one.model_dump(mode="json", exclude_defaults=True)
        return json.dumps(sealed(payload), ensure_ascii=False).encode("utf-8", "replace") + b"\n"

    def _rewrite_events(self, without: set[str], then: Sequence[Event]) -> None:
        """Write the file anew without the lines about some ids: an erasure is the one thing that rewrites it."""
        kept = [one for one in self.events() if one.id not in without]
        replace_file(self.root / EVENTS, (self._line(one) for one in (*kept, *then)))

    def _move(self, path: Path, target: Path) -> None:
        make_folder(target.parent)
        with storage_errors(path):
            patiently(os.replace, path, target)
        sync_folder(target.parent)
        sync_folder(path.parent)

    def _removed_ids(self, ids: Iterable[str]) -> set[str]:
        ask = "SELECT id FROM status WHERE removed AND id IN (SELECT value FROM json_each(?))"
        return {id for (id,) in self.catalog.read(ask, (json.dumps(sorted(ids)),))}

    def _removed_files(self) -> dict[str, Path]:
        """Id → file of what was removed and not purged; a crash may have left it among the records."""
        folder = self.root / REMOVED
        with storage_errors(folder):
            paths = folder.iterdir() if folder.is_dir() else ()
            found = {path.stem: path for path in paths if path.suffix == SUFFIX and is_id(path.stem)}
        rows = self._rows("removed AND path IS NOT NULL", ())
        return found | {row[0]: self.root / row[1] for row in rows}


def _as_now(experience: Experience, content: str, edited: int, data: str | None) -> Experience:
    """The record after its events; trust holds for the content that it was given to."""
    status = status_of(data)
    now = status.over(experience)
    given = status.content if status.trust else ""
    if given != content and (given or edited):
        return now.model_copy(update={"trust": min(now.trust, Trust.OBSERVED, key=lambda level: level.rank)})
    return now


def _among(where: str, ids: Iterable[str]) -> tuple[str, tuple[str]]:
    """A condition and what it is given: rows of some ids."""
    return f"{where} AND id IN (SELECT value FROM json_each(?))", (json.dumps(sorted(set(ids))),)


def _ends_with_newline(path: Path) -> bool:
    with storage_errors(path), open(path, "rb") as stream:
        if not stream.seek(0, 2):
            return True
        stream.seek(-1, 2)
        return stream.read(1) == b"\n"


def _make(root: Path, network: bool) -> None:
    check_writable(root, network)
    if os.path.lexists(root) and not root.is_dir():
        raise StorageError(f"{root}: a file is in the way")
    make_folder(root / RECORDS)
    if not (root / ".gitignore").exists():
        replace_file(root / ".gitignore", _IGNORED.encode())
    replace_file(root / STORE_FILE, f'{{"format": "ufo_experience", "version": {VERSION}}}\n'.encode())


def _check_version(root: Path) -> None:
    """Raise `DataError` unless this version wrote the folder."""
    path = root / STORE_FILE
    if not path.exists():
        return  # a clone that left it out
    found = parse(read_regular(path, 1 << 20, follow=False), file=str(path))
    version = found.get("version") if isinstance(found, dict) else None
    if isinstance(found, dict) and "payload" in found:
        message = (
            "a store of the first edition; take it in with: ufo-experience import FOLDER --restore --db NEW_FOLDER"
        )
        raise DataError(message, file=str(path), code="E_VERSION")
    if version != VERSION:
        raise DataError(f"version {version!r} is not known here, only {VERSION}", file=str(path), code="E_VERSION")
