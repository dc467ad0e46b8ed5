"""Logs in `.zip` and `.gz` files: unpacked into a folder that is gone afterwards, within limits.

No entry is written outside that folder: names with a drive, a root or `..`, links and devices are refused. What would
unpack to more than the limit is refused before more is written. An archive in an archive stays closed.
"""

from __future__ import annotations

import gzip
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from ufo_experience.errors import TraceError
from ufo_experience.fileio.regular import open_regular

MAX_ARCHIVE = 1 << 30  # bytes on disk
MAX_UNPACKED = 1 << 29  # bytes of all entries together
MAX_ENTRIES = 20_000
_CHUNK = 1 << 20
_KEPT = (".json", ".jsonl", ".ndjson", ".log", ".yaml", ".yml", ".side", ".trace", ".md", ".txt", ".mht", ".robin")


def is_archive(path: Path) -> bool:
    """True for a file whose name says zip or gzip."""
    return path.suffix.casefold() in (".zip", ".gz") and path.is_file()


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A folder with the logs of an archive; it is removed afterwards.

    Raises:
        TraceError: `E_ARCHIVE`, it is damaged, encrypted, too large, or holds a name that leads out of it.
    """
    with tempfile.TemporaryDirectory(prefix="ufo-experience-") as name:
        folder = Path(name).resolve() / "logs"
        folder.mkdir()
        try:
            if path.suffix.casefold() == ".gz":
                _unpack_gzip(path, folder)
            else:
                _unpack_zip(path, folder)
        except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise _refused(path, f"cannot be unpacked: {error}") from error
        yield folder


def _unpack_gzip(path: Path, folder: Path) -> None:
    name = path.name.removesuffix(path.suffix) or "log"
    if name.casefold().endswith(".tar"):
        raise _refused(path, "a tar archive is not read; unpack it and give the folder")
    if name.casefold().endswith((".pkl", ".pickle")):
        raise _refused(path, "a pickle can run code and is never opened; export the episodes as JSON")
    with open_regular(path, MAX_ARCHIVE, error=TraceError) as raw, gzip.open(raw) as stream:
        _copy(stream, folder / (name if Path(name).suffix else f"{name}.json"), MAX_UNPACKED, path)


def _unpack_zip(path: Path, folder: Path) -> None:
    left = MAX_UNPACKED
    with open_regular(path, MAX_ARCHIVE, error=TraceError) as raw, zipfile.ZipFile(raw) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES:
            raise _refused(path, f"more than {MAX_ENTRIES} entries")
        for entry in entries:
            parts = _parts(entry, path)
            if entry.is_dir() or not parts[-1].casefold().endswith(_KEPT):
                continue
            if entry.flag_bits & 1:
                raise _refused(path, "it is encrypted; unpack it and give the folder")
            target = folder.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as stream:
                left -= _copy(stream, target, left, path)


def _parts(entry: zipfile.ZipInfo, path: Path) -> tuple[str, ...]:
    """The parts of an entry's name. Raises `TraceError` for one that leads elsewhere or is no plain file."""
    name = PurePosixPath(entry.filename.replace("\\", "/"))
    kind = (entry.external_attr >> 16) & 0o170000
    odd = name.is_absolute() or not name.parts or any(part == ".." or ":" in part for part in name.parts)
    if odd or kind not in (0, 0o100000, 0o040000):
        raise _refused(path, "an entry has a name that leads out of the archive, or is a link")
    return name.parts


def _copy(stream: IO[bytes] | gzip.GzipFile, target: Path, limit: int, path: Path) -> int:
    """Write what a stream gives; returns the bytes. Raises `TraceError` beyond `limit`."""
    size = 0
    with target.open("wb") as out:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > limit:
                raise _refused(path, f"unpacks to more than {MAX_UNPACKED >> 20} MB; unpack it and give the folder")
            out.write(chunk)
    return size


def _refused(path: Path, why: str) -> TraceError:
    return TraceError(why, file=str(path), code="E_ARCHIVE")
