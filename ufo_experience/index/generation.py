"""Immutable generations of an index on disk, published whole or not at all.

    index/CURRENT            the number of the generation in use
    index/<n>/MANIFEST.json  what made it, and size and SHA-256 of every file
    index/<n>/<file>         never changed once published; the previous generation is kept

FAISS and numpy notice neither flipped bits nor a file of another store, so the manifest does.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from ufo_experience.errors import CorruptError, FormatVersionError
from ufo_experience.store.atomic import Disk, replace_file, write_new

FORMAT = 1
KEEP = 2  # the generation in use and the one before
VERIFY_AT_OPEN = 64 * 2**20  # bytes; larger generations are hashed by `verify`


class FileEntry(BaseModel):
    """Size in bytes and SHA-256 of one file."""

    model_config = ConfigDict(extra="forbid")

    bytes: int
    sha256: str


class Calibration(BaseModel):
    """The threshold measured for an embedder, and on what."""

    model_config = ConfigDict(extra="forbid")

    embedder: str
    threshold: float
    precision: float
    recall: float
    pairs: int


class Manifest(BaseModel):
    """What a generation is made of; `stamps` says how the store looked when it was read."""

    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    generation: int = 0
    store_id: str
    embedder: str
    dim: int
    template: str
    engine: str
    records: int
    ids_digest: str
    created_at: str
    stamps: dict[str, int]
    versions: dict[str, str]
    calibration: Calibration | None = None
    files: dict[str, FileEntry] = {}


@dataclass(frozen=True)
class Generation:
    """One published generation."""

    folder: Path
    manifest: Manifest

    def read(self, name: str) -> bytes:
        """The bytes of one file."""
        return _read(self.folder / name)

    def array(self, name: str) -> NDArray[Any]:
        """One `.npy` file, mapped read-only; never unpickled."""
        try:
            return np.load(self.folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
        except (OSError, ValueError) as error:
            raise CorruptError(str(error), file=str(self.folder / f"{name}.npy")) from error

    def check(self, *, everything: bool = True) -> None:
        """Compare sizes, and (for small ones, or if `everything`) hashes. Raises `CorruptError` naming the file."""
        total = sum(entry.bytes for entry in self.manifest.files.values())
        for name, entry in self.manifest.files.items():
            path = self.folder / name
            data_size = path.stat().st_size if path.is_file() else -1
            if data_size != entry.bytes:
                raise CorruptError(f"{data_size} bytes instead of {entry.bytes}", file=str(path))
            if (everything or total <= VERIFY_AT_OPEN) and _hash_file(path) != entry.sha256:
                raise CorruptError("bytes differ from their hash", file=str(path))


class Generations:
    """The `index/` folder of a store."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.folder = folder
        self._disk = disk or Disk()

    def current(self) -> Generation | None:
        """The generation `CURRENT` names, checked; None when there is no index yet.

        Raises:
            CorruptError: it cannot be used. Callers rebuild; nothing is lost.
            FormatVersionError: a newer version wrote it.
        """
        number = self._pointer()
        if number is None:
            return None
        generation = self._load(number)
        generation.check(everything=False)
        return generation

    def last_manifest(self) -> Manifest | None:
        """Of the current generation, unchecked; None when there is none or it cannot be read."""
        try:
            number = self._pointer()
            return None if number is None else self._load(number).manifest
        except CorruptError:
            return None

    def stamp(self) -> int:
        """Differs after every publish (ns time of `CURRENT`, 0 without one); cheap."""
        try:
            return (self.folder / "CURRENT").stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def set_aside(self, reason: str) -> None:
        """Take `CURRENT` out of use, so that the next sync builds a new generation; `reason` is kept beside it."""
        aside = self.folder / "CURRENT.corrupt"
        self._disk.replace(self.folder / "CURRENT", aside)
        replace_file(self.folder / "CURRENT.reason", f"{reason}\n".encode(), self._disk)

    def publish(self, files: Mapping[str, bytes], manifest: Manifest) -> Generation:
        """Write the next generation and make it the current one; drop all but the last two."""
        number = max([*self._numbers(), 0]) + 1
        entries = {name: FileEntry(bytes=len(data), sha256=sha256(data).hexdigest()) for name, data in files.items()}
        manifest = manifest.model_copy(update={"generation": number, "files": entries})
        self._disk.mkdir(self.folder)
        building = self.folder / f".building-{number}"
        shutil.rmtree(building, ignore_errors=True)
        self._disk.mkdir(building)
        for name, data in {**files, "MANIFEST.json": _dump(manifest)}.items():
            write_new(building / name, data, self._disk)
        self._disk.fsync_dir(building)
        self._disk.rename(building, self.folder / str(number))
        self._disk.fsync_dir(self.folder)
        replace_file(self.folder / "CURRENT", f"{number}\n".encode("ascii"), self._disk)
        self._drop_old(number)
        return Generation(self.folder / str(number), manifest)

    def _pointer(self) -> int | None:
        path = self.folder / "CURRENT"
        if not path.exists():
            return None
        text = _read(path).decode("ascii", "replace").strip()
        if not text.isdecimal() or len(text) > 12:
            raise CorruptError(f"names no generation: {text[:40]!r}", file=str(path))
        return int(text)

    def _load(self, number: int) -> Generation:
        path = self.folder / str(number) / "MANIFEST.json"
        try:
            data = json.loads(_read(path))
            if isinstance(data, dict) and isinstance(data.get("format"), int) and data["format"] > FORMAT:
                raise FormatVersionError(f"index format {data['format']} is newer than {FORMAT}", file=str(path))
            return Generation(path.parent, Manifest.model_validate(data))
        except (ValueError, ValidationError) as error:
            raise CorruptError("not a readable manifest", file=str(path)) from error

    def _numbers(self) -> list[int]:
        return [int(entry.name) for entry in self.folder.glob("*") if entry.name.isdigit()]

    def _drop_old(self, newest: int) -> None:
        """Old generations may still be mapped by a reader; where the system refuses, a later publish drops them."""
        for number in sorted(self._numbers())[:-KEEP]:
            if number < newest:
                shutil.rmtree(self.folder / str(number), ignore_errors=True)


def npy(array: NDArray[Any]) -> bytes:
    """The bytes of a `.npy` file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def ids_digest(ids: list[str]) -> str:
    """SHA-256 over sorted ids."""
    return sha256("\n".join(sorted(ids)).encode("ascii")).hexdigest()


def _dump(manifest: Manifest) -> bytes:
    return (json.dumps(manifest.model_dump(), sort_keys=True, indent=1) + "\n").encode()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorruptError(error.strerror or str(error), file=str(path)) from error


def _hash_file(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
