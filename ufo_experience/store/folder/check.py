"""Reading every file of a store, naming what is wrong, and setting that aside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from ufo_experience.errors import CorruptError, DataError, FormatVersionError
from ufo_experience.fileio.atomic import make_folder, replace_file, storage_errors, sync_folder
from ufo_experience.fileio.reading import UNREADABLE, UNSAFE
from ufo_experience.schema import Problem, Trust
from ufo_experience.store.codec import decode
from ufo_experience.store.folder.layout import CORRUPT, RECORDS, STATUS, STORE_FILE, TOMBSTONES, Layout
from ufo_experience.store.folder.signing import UNSIGNED
from ufo_experience.store.records import (
    Status,
    decode_record,
    decode_status,
    decode_tombstone,
    encode_status,
    encode_tombstone,
    experience_of,
    verify_signature,
)

STRAY = "E_STRAY"
ORPHAN = "E_ORPHAN"
GONE = "removed while it was looked for"


@dataclass(frozen=True)
class Finding:
    """One file that was read. `error` is None when it is whole."""

    path: Path
    kind: str
    id: str = ""
    error: DataError | None = None

    @property
    def is_record(self) -> bool:
        """True for a record file."""
        return self.kind == RECORDS

    def problem(self) -> Problem:
        """What is wrong, for a report."""
        if self.error is None:
            return Problem(file=str(self.path), code="OK", message="whole")
        return Problem(file=str(self.path), line=self.error.line, code=self.error.code, message=self.error.reason)


def examine(layout: Layout) -> Iterator[Finding]:
    """Read every file and yield what was found, good or bad. Temp files of a writer at work are passed over."""
    yield _examine_file(layout, layout.root / STORE_FILE, STORE_FILE, "")
    for kind in (RECORDS, STATUS):
        for folder in layout.shards(kind):
            yield from _examine_folder(layout, folder, kind)
    yield from _examine_folder(layout, layout.root / TOMBSTONES, TOMBSTONES)


def set_aside(layout: Layout) -> list[Problem]:
    """Take every file that cannot be used out of the store. The caller holds the lock.

    Left where they are: files of a newer version, files the system would not let us read, and records that are whole
    but unsigned.
    """
    moved = []
    for finding in list(examine(layout)):
        error = finding.error
        if error is None or isinstance(error, FormatVersionError) or error.code in (UNREADABLE, UNSIGNED):
            continue
        if finding.kind != STORE_FILE:
            _SET_ASIDE[finding.kind](layout, finding)
            moved.append(finding.problem())
    return moved


def _examine_folder(layout: Layout, folder: Path, kind: str) -> Iterator[Finding]:
    if layout.there(folder) and not layout.is_folder(folder):
        yield Finding(folder, STRAY, error=CorruptError("a link or a file", file=str(folder), code=UNSAFE))
        return
    for name in layout.names(folder):
        if name.endswith(".json"):
            id = layout.id_of(folder, name)
            yield _examine_file(layout, folder / name, kind, id) if id else _stray(folder / name)


def _examine_file(layout: Layout, path: Path, kind: str, id: str) -> Finding:
    try:
        _READ[kind](layout, path, id)
    except DataError as error:
        if id and not layout.there(path) and layout.there(layout.tombstone(id)):
            return Finding(path, GONE, id)
        return Finding(path, kind, id, error)
    return Finding(path, kind, id)


def _stray(path: Path) -> Finding:
    return Finding(path, STRAY, error=CorruptError("no file of this store has this name", file=str(path), code=STRAY))


def _read_store_file(layout: Layout, path: Path, id: str) -> None:
    decode(_bytes(layout, path), file=str(path))


def _read_record(layout: Layout, path: Path, id: str) -> None:
    data = _bytes(layout, path)
    payload = decode_record(data, id, str(path))
    experience_of(payload, None, str(path))
    if reason := verify_signature(data, payload, _readable_status(layout, id), layout.signer):
        raise CorruptError(f"{reason}; held as quarantined until approved", file=str(path), code=UNSIGNED)


def _readable_status(layout: Layout, id: str) -> Status | None:
    """The status of a record; one that cannot be read is named for itself."""
    try:
        return layout.load_status(id)
    except DataError:
        return None


def _read_status(layout: Layout, path: Path, id: str) -> None:
    decode_status(_bytes(layout, path), id, str(path))
    if not layout.has_record(id) and not layout.there(layout.tombstone(id)):
        raise CorruptError("its record is missing", file=str(path), code=ORPHAN)


def _read_tombstone(layout: Layout, path: Path, id: str) -> None:
    decode_tombstone(_bytes(layout, path), id, str(path))


def _bytes(layout: Layout, path: Path) -> bytes:
    data = layout.read(path)
    if data is None:
        raise CorruptError("disappeared while it was read", file=str(path), code=UNREADABLE)
    return data


def _set_aside_record(layout: Layout, finding: Finding) -> None:
    _move(layout, finding.path, finding)
    if layout.there(layout.status(finding.id)):
        _move(layout, layout.status(finding.id), finding)


def _set_aside_status(layout: Layout, finding: Finding) -> None:
    """Move the status away and quarantine its record: how far it was trusted is not known any more."""
    if not layout.has_record(finding.id):
        return _move(layout, finding.path, finding)
    return _rewrite(layout, finding, encode_status(Status(id=finding.id, trust=Trust.QUARANTINED)))


def _set_aside_tombstone(layout: Layout, finding: Finding) -> None:
    """What was deleted stays deleted: the name says what it was."""
    now = datetime.now(timezone.utc)
    _rewrite(layout, finding, encode_tombstone(finding.id, "written anew after damage", now))


def _set_aside_stray(layout: Layout, finding: Finding) -> None:
    _move(layout, finding.path, finding)


def _move(layout: Layout, path: Path, finding: Finding) -> None:
    target = _explained_place(layout, path, finding)
    with storage_errors(path):
        layout.disk.rename(path, target)
    sync_folder(target.parent, layout.disk)
    sync_folder(path.parent, layout.disk)


def _rewrite(layout: Layout, finding: Finding, data: bytes) -> None:
    """Keep a copy of the bad bytes, then replace them in one step: at no time is the file missing."""
    try:
        old = layout.read(finding.path) or b""
    except DataError:  # a link or the like: there are no bytes of ours to keep
        old = b""
    replace_file(_explained_place(layout, finding.path, finding), old, layout.disk)
    replace_file(finding.path, data, layout.disk)


def _explained_place(layout: Layout, path: Path, finding: Finding) -> Path:
    """A free name in `corrupt/`, the reason already beside it."""
    folder = layout.root / CORRUPT
    make_folder(folder, layout.disk)
    stem, number = f"{finding.kind}-{path.name}", 1
    while layout.there(target := folder / (stem if number == 1 else f"{stem}.{number}")):
        number += 1
    problem = finding.problem()
    when = datetime.now(timezone.utc).isoformat(timespec="seconds")
    text = f"{path}\n{problem.code}: {problem.message}\nset aside {when}\n"
    replace_file(target.with_name(f"{target.name}.reason.txt"), text.encode("utf-8", "replace"), layout.disk)
    return target


_READ = {
    STORE_FILE: _read_store_file,
    RECORDS: _read_record,
    STATUS: _read_status,
    TOMBSTONES: _read_tombstone,
}
_SET_ASIDE = {
    RECORDS: _set_aside_record,
    STATUS: _set_aside_status,
    TOMBSTONES: _set_aside_tombstone,
    STRAY: _set_aside_stray,
}
