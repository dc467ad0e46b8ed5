"""Immutable generations of an index on disk, published whole or not at all, by one process at a time.

    index/CURRENT            the number of the generation in use
    index/<n>/MANIFEST.json  what made it, and size, SHA-256 and CRC-32 of every file
    index/<n>/<file>         never changed once published; the previous generation is kept
    index/tail-<n>           what was learned since (see `index.tail`), appended by those who commit
    index/.building-<n>      a generation being written; that of a dead writer is swept by the next one

FAISS and numpy notice neither flipped bits nor a file of another store, so the manifest does. The CRC-32 of the
smallest files, up to `VERIFY_AT_OPEN` together, is compared whenever a generation is opened (at 10,000 records all but
the vectors): it notices what a disk or a crash does to a file, in a third of the time. The SHA-256 of all is compared
by `verify`, by a program that stays (see `index.live`), and before they are copied into the next generation.
"""

from __future__ import annotations

import io
import re
import struct
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from importlib import import_module
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ufo_experience.errors import CorruptError, StorageError, UsageError
from ufo_experience.fileio.atomic import (
    Disk,
    is_temp,
    make_folder,
    move_folder,
    remove_tree,
    replace_file,
    storage_errors,
    sync_folder,
    write_new,
)
from ufo_experience.fileio.lock import WriterLock
from ufo_experience.fileio.reading import UNSAFE, read_file, unreadable
from ufo_experience.index import manifest as manifests
from ufo_experience.index.base import Content
from ufo_experience.index.manifest import Calibration, FileEntry, Manifest, ids_digest
from ufo_experience.index.tail import (
    MAX_FRAMES,
    MAX_TAIL_BYTES,
    Frame,
    TailPosition,
    after,
    decode,
    encode,
    ends_at,
    merge,
)
from ufo_experience.store import scheme_of
from ufo_experience.store.base import ExperienceStore

AUTO = "auto"

# scheme of the store's location → module and class; the class has `open(store)`
_REGISTRIES = {
    "": ("ufo_experience.index.generations", "Generations"),
    "postgresql": ("ufo_experience.index.postgres_generations", "SharedGenerations"),
}


def open_generations(store: ExperienceStore, engine: str = AUTO, *, lock_timeout: float = 10.0) -> Generations:
    """The generations of a store's index: in its folder, or in its database.

    `engine` "auto" is the one of the last generation; for a new index the one that goes with the store.

    Raises:
        UsageError: no index can be kept beside this kind of store.
    """
    scheme = scheme_of(store.location)
    if scheme not in _REGISTRIES:
        raise UsageError(f"no index can be kept beside a {scheme}:// store")
    module, name = _REGISTRIES[scheme]
    registry: Generations = getattr(import_module(module), name).open(store, engine, lock_timeout=lock_timeout)
    return registry


def npy(array: NDArray[Any]) -> bytes:
    """The bytes of a `.npy` file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def npy_blocks(dtype: DTypeLike, shape: tuple[int, ...], blocks: Iterable[NDArray[Any]]) -> Iterator[bytes]:
    """The bytes of a `.npy` file of this shape, piece by piece, its rows coming in blocks."""
    header = io.BytesIO()
    kind = np.lib.format.dtype_to_descr(np.dtype(dtype))
    np.lib.format.write_array_header_1_0(header, {"descr": kind, "fortran_order": False, "shape": shape})
    yield header.getvalue()
    for block in blocks:
        yield np.ascontiguousarray(block, dtype=dtype).tobytes()


__all__ = ["Calibration", "Generation", "Generations", "Manifest", "Publish", "ids_digest"]

KEEP = 2  # the generation in use and the one before
DUE_SHARE, DUE_LEAST, DUE_MOST = 0.05, 256, 2_048  # changes worth publishing: of all records, and at least, at most
VERIFY_AT_OPEN = 16 * 2**20  # bytes
MANIFEST, CURRENT, BUILDING, TAIL = "MANIFEST.json", "CURRENT", ".building-", "tail-"

_POINTER = re.compile(rb"([0-9]{1,12})\n")
_POINTER_BYTES = 64
_BLOCK = 1 << 17

_MAGIC = b"\x93NUMPY\x01\x00"
_NPY = struct.Struct("<8sH")
_NPY_HEADER = re.compile(
    rb"\{'descr': (.+), 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \}\s*"
)  # `np.load` takes ten times as long to read it


@dataclass(frozen=True)
class Generation:
    """One published generation."""

    folder: Path
    manifest: Manifest
    _compared: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(entry.bytes for entry in self.manifest.files.values())

    def read(self, name: str) -> bytes:
        """The bytes of one file. Raises as `array`."""
        path = self.folder / name
        try:
            return path.read_bytes()
        except OSError as error:
            raise unreadable(error, path) from error

    def array(self, name: str) -> NDArray[Any]:
        """One `.npy` file, read-only, never unpickled: out of the bytes that were compared, else mapped.

        Raises:
            CorruptError: it is not there, or not an array.
            StorageError: no file can be read now.
        """
        path = self.folder / f"{name}.npy"
        try:
            compared = self._compared.get(path.name)
            return _as_array(_mapped(path) if compared is None else compared)
        except OSError as error:
            raise unreadable(error, path) from error
        except (TypeError, ValueError) as error:  # cut short, or no array
            raise CorruptError(str(error), file=str(path)) from error

    def check(self) -> None:
        """Compare sizes and hashes of all files. Raises `CorruptError` naming the file."""
        for name, entry in self.manifest.files.items():
            path = self.folder / name
            try:
                size = path.stat().st_size
                digest = _sha256_of(path) if size == entry.bytes else ""
            except OSError as error:
                raise unreadable(error, path) from error
            _expect(path, entry, size, digest == entry.sha256)

    def compare(self, *names: str) -> None:
        """Compare the smallest files, up to `VERIFY_AT_OPEN` together (or those of these names), with their checksums;
        of the others the sizes. What fits into one block is kept for `array`. Raises as `check`.
        """
        left = VERIFY_AT_OPEN
        for name, entry in sorted(self.manifest.files.items(), key=lambda file: (file[1].bytes, file[0])):
            left -= entry.bytes
            if names and name not in names:
                continue
            path = self.folder / name
            try:
                if left >= 0 and entry.bytes <= _BLOCK:
                    self._compared[name] = data = path.read_bytes()
                    size, same = len(data), crc32(data) == entry.crc32
                else:
                    size = path.stat().st_size
                    same = left < 0 or size != entry.bytes or _crc32_of(path) == entry.crc32
            except OSError as error:
                raise unreadable(error, path) from error
            _expect(path, entry, size, same or entry.crc32 is None)


Publish = Callable[[Mapping[str, Content], Manifest], Generation]


class Generations:
    """The `index/` folder of a store. Reading needs no lock and writes nothing."""

    DEFAULT_ENGINE = "faiss"
    keeps_tails = True  # of what was learned since, on this machine

    @classmethod
    def open(cls, store: ExperienceStore, engine: str = AUTO, *, lock_timeout: float = 10.0) -> Generations:
        """The generations of a store in a folder."""
        return cls(store.cache_folder / "index", lock_timeout=lock_timeout, engine=engine)

    def __init__(
        self, folder: Path, disk: Disk | None = None, *, lock_timeout: float = 10.0, engine: str = AUTO
    ) -> None:
        """The generations in `folder`, with the vectors in `engine`; see `open_generations`."""
        self.folder, self._asked_engine = folder, engine
        self._disk = disk or Disk()
        self._lock = WriterLock(folder, lock_timeout, self._disk)
        self._decoded: tuple[bytes, Manifest] | None = None

    @cached_property
    def engine(self) -> str:
        """The engine that keeps the vectors, see `open_index`."""
        if self._asked_engine != AUTO:
            return self._asked_engine
        last = self.last_manifest()
        return last.engine if last else self.DEFAULT_ENGINE

    def current(self) -> Generation | None:
        """The generation `CURRENT` names, checked; None when there is no index yet.

        Raises:
            CorruptError: it cannot be used. Callers rebuild; nothing is lost.
            FormatVersionError: a newer version wrote it.
            StorageError: no file can be read now.
        """
        generation = self.published()
        if generation is not None:
            generation.compare()
        return generation

    def published(self) -> Generation | None:
        """The generation `CURRENT` names, of which only the manifest is read; None without one. Raises as `current`."""
        number = self.number()
        return None if number is None else self._load(number)

    def of(self, manifest: Manifest) -> Generation:
        """The generation a manifest belongs to, unchecked."""
        return Generation(self.folder / str(manifest.generation), manifest)

    def number(self) -> int | None:
        """What `CURRENT` says; None without one. Raises as `current`."""
        path = self.folder / CURRENT
        data = self._read(path, _POINTER_BYTES)
        if data is None:
            return None
        found = _POINTER.fullmatch(data)
        if found is None:
            raise CorruptError(f"names no generation: {data[:40]!r}", file=str(path))
        return int(found[1])

    def last_manifest(self) -> Manifest | None:
        """The manifest of the current generation, or if it cannot be read, of the newest that can; None without one."""
        with suppress(CorruptError):
            number = self.number()
            if number is None:
                return None
            return self._load(number).manifest
        for number in reversed(self._numbers()):
            with suppress(CorruptError):
                return self._load(number).manifest
        return None

    def should_publish(self, changed: int, records: int) -> bool:
        """True when the `changed` of `records` since the last generation are worth another one: one in twenty, but
        256 at least and 2,048 at most.
        """
        return changed >= min(max(DUE_LEAST, DUE_SHARE * records), DUE_MOST)

    def read_tail(self, generation: int) -> bytes:
        """The bytes of a generation's tail, empty without one; what of them is whole, `tail.decode` says."""
        return self._read(self._tail(generation), MAX_TAIL_BYTES) or b""

    def append_tail(
        self, frame: Frame, position: TailPosition, still: Callable[[], bool] = lambda: True
    ) -> TailPosition | None:
        """Append a frame to the tail of a generation; None (and nothing written) when another process was quicker, or
        what has to hold `still` does not.

        Of too many frames one is made. Nothing here waits for the medium: a tail that is lost is read from the records.

        Raises:
            LockedError: another process is publishing.
            StorageError: the disk refused; the tail is as it was, or ends in a torn frame, which nobody reads.
        """
        path = self._tail(position.generation)
        self._check_folder()
        with storage_errors(path), self._lock.hold():
            self._cleanup()
            if self.number() != position.generation:
                return None
            data = self.read_tail(position.generation)
            if not ends_at(data, position) or not still():
                return None
            if position.frames < MAX_FRAMES:
                new = encode(frame)
                self._append(path, position.length, new)
                return after(position, frame, new)
            frames, _ = decode(data[: position.length], position.generation, {})
            merged = merge([*frames, frame], frame.vectors.shape[1])
            new = encode(merged)
            replace_file(path, new, self._disk)
            return after(TailPosition(position.generation, mtimes=position.mtimes), merged, new)

    def _append(self, path: Path, length: int, data: bytes) -> None:
        handle = self._disk.append(path)
        try:
            self._disk.truncate(handle, length)
            while data:
                data = data[self._disk.write(handle, data) :]
        finally:
            self._disk.close(handle)

    def _tail(self, generation: int) -> Path:
        return self.folder / f"{TAIL}{generation}"

    def exists(self) -> bool:
        """True when there is a folder for generations."""
        return self.folder.is_dir()

    def stamp(self) -> int:
        """Differs after every publish (ns time of `CURRENT`, 0 without one); cheap."""
        try:
            return (self.folder / CURRENT).stat().st_mtime_ns
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StorageError(f"{self.folder / CURRENT}: {error.strerror or error}") from error

    @contextmanager
    def publisher(self, keep: int = KEEP) -> Iterator[Publish]:
        """Hold the lock of the index; the value publishes the next generation and drops all but the last `keep`.

        What a dead writer left behind is swept first.

        Raises:
            LockedError: another process is publishing.
            StorageError: the disk refused; `CURRENT` is the old one or the new one.
        """
        self._check_folder()
        with storage_errors(self.folder):
            make_folder(self.folder, self._disk)
            with self._lock.hold():
                self._cleanup()
                yield lambda files, manifest: self._publish(files, manifest, keep)

    def _check_folder(self) -> None:
        """Raise `StorageError` when the folder is a link: what it leads to is not written into."""
        if self.folder.is_symlink():
            raise StorageError(f"{self.folder}: is a link; the folder of an index must be the store's own")

    def stale_folders(self) -> list[Path]:
        """Folders of other generations than the current one (a reader on Windows may hold one open)."""
        current = self.number()
        return [self.folder / str(number) for number in self._numbers() if number != current]

    def delete_all(self) -> None:
        """Remove every generation: for an index that cannot be used and must not stay.

        Raises:
            StorageError: the disk refused, or a reader holds a file open.
            LockedError: another process is publishing.
        """
        with self.publisher(), storage_errors(self.folder):
            with suppress(FileNotFoundError):
                self._disk.unlink(self.folder / CURRENT)
            sync_folder(self.folder, self._disk)
            for number in self._numbers():
                self._remove(number)

    def _publish(self, files: Mapping[str, Content], manifest: Manifest, keep: int) -> Generation:
        number = max([*self._numbers(), 0]) + 1
        building, final = self.folder / f"{BUILDING}{number}", self.folder / str(number)
        make_folder(building, self._disk)
        entries = {}
        for name, content in files.items():
            pieces = _Measured(content)
            write_new(building / name, pieces, self._disk)
            entries[name] = pieces.entry()
        manifest = manifest.model_copy(update={"generation": number, "files": entries})
        write_new(building / MANIFEST, manifests.encode(manifest), self._disk)
        sync_folder(building, self._disk)
        move_folder(building, final, self._disk)
        sync_folder(self.folder, self._disk)
        replace_file(self.folder / CURRENT, f"{number}\n".encode("ascii"), self._disk)
        self._drop_old(keep)
        return Generation(final, manifest)

    def _load(self, number: int) -> Generation:
        path = self.folder / str(number) / MANIFEST
        if path.parent.is_symlink():
            raise CorruptError("a link", file=str(path.parent), code=UNSAFE)
        data = self._read(path, manifests.MAX_BYTES)
        if data is None:
            raise CorruptError("no such file", file=str(path))
        if self._decoded is None or self._decoded[0] != data:
            self._decoded = data, manifests.decode(data, str(path))
        manifest = self._decoded[1]
        if manifest.generation != number:
            raise CorruptError(f"the manifest of generation {manifest.generation}", file=str(path))
        return Generation(path.parent, manifest)

    def _read(self, path: Path, limit: int) -> bytes | None:
        owner = self.folder.stat().st_uid if self.folder.exists() else 0
        return read_file(path, self._disk, owner=owner, limit=limit)

    def _names(self) -> list[str]:
        with storage_errors(self.folder):
            try:
                return self._disk.listdir(self.folder)
            except (FileNotFoundError, NotADirectoryError):
                return []

    def _numbers(self) -> list[int]:
        return sorted(int(name) for name in self._names() if re.fullmatch("[0-9]{1,12}", name))

    def _cleanup(self) -> None:
        for name in self._names():
            if name.startswith(BUILDING):
                remove_tree(self.folder / name, self._disk)
            elif is_temp(name) or self._is_stray_tail(name):
                self._disk.unlink(self.folder / name)

    def _is_stray_tail(self, name: str) -> bool:
        return name.startswith(TAIL) and not (self.folder / name.removeprefix(TAIL)).is_dir()

    def _remove(self, number: int) -> None:
        with suppress(FileNotFoundError):
            self._disk.unlink(self._tail(number))
        remove_tree(self.folder / str(number), self._disk)

    def _drop_old(self, keep: int) -> None:
        """A reader may still have an old one open; where the system then refuses, a later publish drops it."""
        for number in self._numbers()[:-keep]:
            with suppress(OSError):
                self._remove(number)


class _Measured:
    """Pieces of a file on their way to the disk, counted and hashed as they pass."""

    def __init__(self, content: Content) -> None:
        self._pieces = [content] if isinstance(content, bytes) else content
        self._digest, self._crc32, self._bytes = sha256(), 0, 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._digest.update(piece)
            self._crc32 = crc32(piece, self._crc32)
            self._bytes += len(piece)
            yield piece

    def entry(self) -> FileEntry:
        """Size, SHA-256 and CRC-32 of the bytes read so far."""
        return FileEntry(bytes=self._bytes, sha256=self._digest.hexdigest(), crc32=self._crc32)


def _expect(path: Path, entry: FileEntry, size: int, same: bool) -> None:
    """Raise `CorruptError` unless a file has its size, and the bytes that were written."""
    if size != entry.bytes:
        raise CorruptError(f"{size} bytes instead of {entry.bytes}", file=str(path))
    if not same:
        raise CorruptError("bytes differ from their hash", file=str(path))


def _mapped(path: Path) -> mmap:
    with path.open("rb") as file:
        return mmap(file.fileno(), 0, access=ACCESS_READ)


def _as_array(data: bytes | mmap) -> NDArray[Any]:
    """The array in a `.npy` file (of version 1.0, as `npy` writes it), by no copy. Raises `TypeError`, `ValueError`."""
    first = _NPY.size + (_NPY.unpack_from(data)[1] if len(data) > _NPY.size else 0)
    header = _NPY_HEADER.fullmatch(data[_NPY.size : first])
    if data[: len(_MAGIC)] != _MAGIC or header is None:
        raise ValueError("not an array of ours")
    shape = tuple(map(int, header[3].replace(b",", b" ").split()))
    order: Literal["F", "C"] = "F" if header[2] == b"True" else "C"
    array: NDArray[Any] = np.ndarray(shape, _dtype(header[1]), data, first, order=order)
    return array


@lru_cache(maxsize=64)
def _dtype(literal: bytes) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(literal_eval(literal.decode("latin-1")))
    if dtype.hasobject:
        raise ValueError("not an array of ours")
    return dtype


def _crc32_of(path: Path) -> int:
    checksum = 0
    for piece in _blocks(path):
        checksum = crc32(piece, checksum)
    return checksum


def _sha256_of(path: Path) -> str:
    digest = sha256()
    for piece in _blocks(path):
        digest.update(piece)
    return digest.hexdigest()


def _blocks(path: Path) -> Iterator[memoryview]:
    """The bytes of a file, in one block after the other: it stays in the cache of the processor."""
    block = memoryview(bytearray(_BLOCK))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(block):
            yield block[:size]
