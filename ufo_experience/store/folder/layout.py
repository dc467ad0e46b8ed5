"""Where things are in a store folder, and the mtimes that tell what changed.

store.json  records/ab/<id>.json  status/ab/<id>.json  tombstones/<id>.json  corrupt/  changed
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from ufo_experience.errors import (
    CorruptError,
    DataError,
    FormatVersionError,
    NotFoundError,
    RefusedError,
    StorageError,
)
from ufo_experience.fileio.atomic import Disk, make_folder, publish_new, storage_errors, sync_folder, write_temp
from ufo_experience.fileio.reading import UNSAFE, read_file
from ufo_experience.ids import is_id, new_id
from ufo_experience.schema import Experience, Trust, Usage
from ufo_experience.store.base import Stamp
from ufo_experience.store.codec import decode, encode
from ufo_experience.store.folder.location import LOCAL, StorageLocation
from ufo_experience.store.folder.signing import Signer
from ufo_experience.store.records import Status, decode_record, decode_status, experience_of, verify_signature

STORE_FORMAT = 1


def open_layout(
    root: Path, disk: Disk, *, create: bool, signer: Signer | None = None, storage: StorageLocation = LOCAL
) -> tuple[Layout, str]:
    """The layout and id of the store in `root`. Raises as `FileStore.open`."""
    with storage_errors(root):
        if root.exists() and not root.is_dir():
            raise DataError("not a folder", file=str(root))
    layout = Layout(root, disk, _owner(root), signer)
    store_id = _read_id(layout)
    if store_id is None:
        if not create:
            raise NotFoundError("no experience store here", file=str(root))
        storage.check()
        _create(root, disk)
        layout = Layout(root, disk, _owner(root), signer)
        store_id = _read_id(layout)
    if store_id is None:
        raise CorruptError("disappeared as soon as it was written", file=str(root / STORE_FILE))
    for name in (RECORDS, STATUS, TOMBSTONES):
        if layout.there(root / name) and not layout.is_folder(root / name):
            raise RefusedError(f"{root / name} is a link or a file; the folders of a store must be its own")
    return layout, store_id


def _create(root: Path, disk: Disk) -> None:
    """Make the folders, then the store file: without it there is no store. Of two makers the first one counts."""
    for folder in reversed([root, *root.parents]):
        with storage_errors(folder):
            missing = not folder.exists()
        if missing:
            make_folder(folder, disk)
    for name in (RECORDS, STATUS, TOMBSTONES):
        make_folder(root / name, disk)
    now = datetime.now(timezone.utc).isoformat()
    data = encode({"format": STORE_FORMAT, "store_id": new_id(), "created_at": now})
    publish_new(write_temp(root / STORE_FILE, [data], disk), root / STORE_FILE, disk)
    sync_folder(root, disk)


def _read_id(layout: Layout) -> str | None:
    """The id in the store file, None when there is no such file."""
    path = layout.root / STORE_FILE
    data = layout.read(path)
    if data is None:
        return None
    payload = decode(data, file=str(path))
    version = payload.get("format")
    if isinstance(version, int) and version > STORE_FORMAT:
        raise FormatVersionError(f"store format {version} is newer than {STORE_FORMAT}", file=str(path))
    if version != STORE_FORMAT or not is_id(payload.get("store_id")):
        raise CorruptError("not a store file", file=str(path))
    return str(payload["store_id"])


def _begin_of(folder: Path) -> str:
    """What the ids in a shard folder (or in `tombstones`) begin with."""
    return "" if folder.name == TOMBSTONES else folder.name


def _owner(root: Path) -> int:
    """The user the folder belongs to; 0 while it does not exist."""
    return os.stat(root).st_uid if root.exists() else 0


RECORDS, STATUS, TOMBSTONES, CORRUPT = "records", "status", "tombstones", "corrupt"
STORE_FILE, MARKER = "store.json", "changed"
COPIES_LOCK, VIEW, REMOVED = ".lock.copies", "experience.yaml", "removed"  # what is made of the records, and its lock

_SETTLED_NS = 2_000_000_000
_STEP_NS = 1_000  # NTFS counts in 100 ns
_MARKER_BYTES = 4096
_SHARD = re.compile(r"[0-9a-f]{2}")
_SHARDS = frozenset(f"{number:02x}" for number in range(256))
_NAME = re.compile(r"([0-9a-f]{32})\.json")


@dataclass(frozen=True)
class Layout:
    """Paths, listings and reads of one store folder. `owner` is the user the folder belongs to."""

    root: Path
    disk: Disk
    owner: int = 0
    signer: Signer | None = None
    _removed: dict[int, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)

    def record(self, id: str) -> Path:
        """The record file of an id. Raises `NotFoundError` for what is no id: a foreign name never becomes a path."""
        if not is_id(id):
            raise NotFoundError(f"no experience {str(id)[:64]!r}", file=str(self.root))
        return self.shard(RECORDS, id[:2]) / f"{id}.json"

    def status(self, id: str) -> Path:
        """The status file of an id."""
        return self.shard(STATUS, id[:2]) / f"{id}.json"

    def tombstone(self, id: str) -> Path:
        """The tombstone of an id."""
        return _folder(self.root, TOMBSTONES) / f"{id}.json"

    def shard(self, kind: str, name: str) -> Path:
        """The folder of `records` or `status` for ids that begin with `name`."""
        return _folder(self.root, f"{kind}/{name}")

    def read(self, path: Path) -> bytes | None:
        """The bytes of a file of this store, None when there is none. Raises as `read_file`."""
        return read_file(path, self.disk, owner=self.owner)

    def there(self, path: Path) -> bool:
        """True when anything stands at `path`."""
        return self._info(path) is not None

    def names(self, folder: Path) -> list[str]:
        """Names in a folder, sorted; none when there is no such folder, or a link or file in its place."""
        with storage_errors(folder):
            try:
                return sorted(self.disk.listdir(folder)) if self.is_folder(folder) else []
            except (FileNotFoundError, NotADirectoryError):
                return []

    def is_folder(self, path: Path) -> bool:
        """True for a folder; a link to one is none."""
        info = self._info(path)
        return info is not None and stat.S_ISDIR(info.st_mode)

    def has_record(self, id: str) -> bool:
        """True when there is a record file, readable or not."""
        path = self.record(id)
        return self.there(path) and self.is_folder(path.parent)

    def shards(self, kind: str) -> list[Path]:
        """The shard folders of `records` or `status`, sorted."""
        return [self.shard(kind, name) for name in self.names(self.root / kind) if _SHARD.fullmatch(name)]

    def ids_in(self, folder: Path) -> list[str]:
        """Ids of the files in a shard folder (or in `tombstones`), sorted; files in the wrong shard are left out."""
        begin = _begin_of(folder)
        return [match[1] for name in self.names(folder) if name.startswith(begin) and (match := _NAME.fullmatch(name))]

    def records_of_user(self) -> tuple[str, int]:
        """The user of this process, and how many records are in files of theirs; on Windows nobody is told apart."""
        mine = os.geteuid() if hasattr(os, "geteuid") else 0
        with storage_errors(self.root):
            files = (self.disk.stats_in(folder) for folder in self.shards(RECORDS))
            count = sum(
                info.st_uid == mine and _NAME.fullmatch(name) is not None for one in files for name, info in one.items()
            )
        return f"user {mine}", count

    def removed(self) -> frozenset[str]:
        """Ids that have a tombstone; the list is kept while their folder does not change."""
        info = self._info(self.root / TOMBSTONES)
        changed = info.st_mtime_ns if info else 0
        if changed not in self._removed:
            ids = frozenset(self.ids_in(self.root / TOMBSTONES))
            if abs(time.time_ns() - changed) < _SETTLED_NS:
                return ids  # the folder may change again within the same tick of its clock
            self._removed.clear()
            self._removed[changed] = ids
        return self._removed[changed]

    def versions_in(self, folder: Path, since: int) -> dict[str, str]:
        """The ids of the files in a shard folder that were written or named `since` a time (ns), each with a token.

        A copy may keep the time its original was written at, so the later of both times counts.
        """
        with storage_errors(folder):
            try:
                found = self.disk.stats_in(folder) if self.is_folder(folder) else {}
            except (FileNotFoundError, NotADirectoryError):
                return {}
        return {
            id: _version(info)
            for name, info in sorted(found.items())
            if max(info.st_mtime_ns, info.st_ctime_ns) >= since and (id := self.id_of(folder, name))
        }

    def version(self, path: Path) -> str:
        """The token of one file, "" when there is none."""
        info = self._info(path)
        return _version(info) if info else ""

    def digests_in(self, prefix: str) -> dict[str, bytes]:
        """128 bits of the SHA-256 over key, record and status of each live record whose id begins so, by id."""
        records, statuses = self.shard(RECORDS, prefix), self.shard(STATUS, prefix)
        judged, gone = set(self.ids_in(statuses)), self.removed()
        key = self.signer.identity if self.signer else b""
        found: dict[str, bytes] = {}
        for id in self.ids_in(records):
            try:
                record = None if id in gone else self.read(records / f"{id}.json")
                status = self.read(statuses / f"{id}.json") if id in judged else None
            except CorruptError:  # read again, and named, by whoever wants the record itself
                continue
            if record is not None:
                found[id] = sha256(b"\0".join((key, record, status or b""))).digest()[:16]
        return found

    def id_of(self, folder: Path, name: str) -> str | None:
        """The id a file of this name in this folder is about; None for a name that does not belong there."""
        match = _NAME.fullmatch(name)
        return match[1] if match and name.startswith(_begin_of(folder)) else None

    def load(self, id: str) -> Experience | None:
        """A live experience, None when there is none. Raises `CorruptError`, `SchemaError`, `FormatVersionError`.

        A tombstone is looked for last: a reader without a lock may see a removal half done.
        """
        path = self.record(id)
        shard = self.shard(RECORDS, id[:2])
        if not self.is_folder(shard) and self.there(shard):
            raise CorruptError("its folder is a link or a file", file=str(path), code=UNSAFE)
        data = self.read(path)
        if data is None:
            return None
        payload = decode_record(data, id, str(path))
        status = self.load_status(id)
        experience = experience_of(payload, status, str(path))
        if verify_signature(data, payload, status, self.signer):
            alone = experience_of(payload, None, str(path))
            experience = alone.model_copy(update={"trust": Trust.QUARANTINED, "usage": Usage()})
        return None if self.there(self.tombstone(id)) else experience

    def stamp(self, id: str) -> Stamp | None:
        """What the system knows of the files of an id; None where `load` has to tell what is there.

        A file changed this recently may change again within the same tick of its clock.
        """
        record = self.record(id)
        files = self._info(record), self._info(self.status(id))
        edge = time.time_ns() - _SETTLED_NS
        known: list[int] = []
        for info in files:
            if info is not None:
                if max(info.st_mtime_ns, info.st_ctime_ns) >= edge or not stat.S_ISREG(info.st_mode):
                    return None
                known += (info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_size, info.st_mode, info.st_uid)
        if files[0] is None or self.there(self.tombstone(id)):
            return None
        return Stamp(sum(info.st_size for info in files if info), tuple(known))

    def load_status(self, id: str) -> Status | None:
        """The status of an id, None when it has the one it was created with. Raises as `load`."""
        path = self.status(id)
        data = self.read(path)
        return None if data is None else decode_status(data, id, str(path))

    def folders(self) -> Iterator[Path]:
        """Every folder that holds files of the store."""
        yield from self.shards(RECORDS)
        yield from self.shards(STATUS)
        yield self.root / TOMBSTONES

    def revision(self) -> str:
        """Time and size of the marker file."""
        info = self._info(self.root / MARKER)
        return f"{info.st_mtime_ns}-{info.st_size}" if info else "0-0"

    def mark_changed(self, folders: Iterable[Path]) -> None:
        """Give marker and folders a time no one has seen on them before."""
        marker = self.root / MARKER
        before = self._info(marker)
        with storage_errors(marker):
            handle = self.disk.append(marker)
            try:
                if before and before.st_size >= _MARKER_BYTES:
                    self.disk.truncate(handle, 0)
                self.disk.write(handle, b".")
            finally:
                self.disk.close(handle)
        self._advance(marker, before)
        for folder in folders:
            self._advance(folder, self._info(folder))

    def mtimes(self) -> dict[str, int]:
        """Time of last change (ns) of every shard folder there is, by its name (`records/ab`): 512 looks at most."""
        found: dict[str, int] = {}
        for kind in (RECORDS, STATUS):
            folder = self.root / kind
            with storage_errors(folder), suppress(FileNotFoundError, NotADirectoryError):
                times = self.disk.folder_mtimes(folder) if self.is_folder(folder) else {}
                found |= {f"{kind}/{name}": time for name, time in times.items() if name in _SHARDS}
        return found

    def _advance(self, path: Path, before: os.stat_result | None) -> None:
        with storage_errors(path):
            self.disk.utime(path, max(time.time_ns(), before.st_mtime_ns + _STEP_NS if before else 0))

    def _info(self, path: Path) -> os.stat_result | None:
        try:
            return self.disk.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror or error}") from error


def _version(info: os.stat_result) -> str:
    return f"{info.st_mtime_ns}-{info.st_ctime_ns}-{info.st_ino}-{info.st_size}"


@lru_cache(maxsize=2048)  # asked for at every read and after every commit; making a path costs more than looking at it
def _folder(root: Path, name: str) -> Path:
    return root / name
