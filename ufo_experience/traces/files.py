"""Finding logs: in a folder, in its sub-folders, in archives. What each is, and what was met on the way.

No link is followed and only regular files are opened. Of an archive no entry is written outside a folder that is gone
afterwards: names with a drive, a root or `..`, links and devices are refused, and so is what grows beyond the limits.
An archive in an archive stays closed.
"""

import codecs
import gzip
import os
import re
import stat
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.schema import Problem
from ufo_experience.store.files import open_regular
from ufo_experience.traces.lines import first_text, first_values
from ufo_experience.traces.values import Row, as_list

# A folder with one of these files is one source; more files may belong to it.
_FOLDERS: dict[str, tuple[set[str], set[str]]] = {
    "ufo": ({"response.log", "request.log", "evaluation.log"}, {"output.md"}),
    "osworld": ({"traj.jsonl"}, {"result.txt", "runtime.log", "task.json"}),
}
# What is called so is named where no reader knows it; other files of a folder are read where one does, else counted.
_LOGS = frozenset(".json .jsonl .ndjson .log .yaml .yml .side .trace .gz .zip .mht .mhtml .robin .pad".split())
MAX_LEVELS = 40
HEAD_BYTES = 512  # among which a picture or a program has a NUL

HINTS = dict(re.findall(r"^(\.\w+) (.+)$", Path(__file__).with_name("not_read.txt").read_text("utf-8"), re.MULTILINE))
MAX_ARCHIVE = 1 << 30  # bytes on disk
MAX_UNPACKED = 1 << 29  # bytes of all entries together
MAX_ENTRIES = 20_000


@dataclass(frozen=True)
class Found:
    """A source to read: a file or a session folder. `format` is known for folders; `given` when the user named it.

    By its `suffix` in lower case, its first `text` (64 KiB) and its first JSON `values` a reader tells its kind.
    """

    path: Path
    format: str | None = None
    given: bool = False

    @property
    def suffix(self) -> str:
        return self.path.suffix.casefold()

    @cached_property
    def text(self) -> str:
        return first_text(self.path)

    @cached_property
    def values(self) -> tuple[Any, ...]:
        return first_values(self.path)

    @property
    def rows(self) -> list[Row]:
        """The objects among the first values, and in those that are lists."""
        return [Row(row) for value in self.values for row in as_list(value)[:5] if isinstance(row, dict)]

    @property
    def is_archive(self) -> bool:
        return self.suffix in (".zip", ".gz") and self.path.is_file()


@dataclass
class ReadReport:
    """What reading met besides trajectories. Nothing that was found on disk is missing from it.

    `no_log` counts the files of folders and archives in which nothing was recognised, by the endings of their names.
    """

    problems: list[Problem] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    no_log: Counter[str] = field(default_factory=Counter)


def walk(root: Path, report: ReadReport, is_log: Callable[[Found], bool]) -> Iterator[Found]:
    """Yield the sources at `root`, folder by folder, names in order. Raises `DataError` when nothing is there.

    `is_log` is asked of files that are not called like a log; those that are none are counted.
    """
    try:
        mode = os.stat(root).st_mode
    except (OSError, ValueError) as error:
        raise DataError("no such file or folder", file=str(root), code="E_MISSING") from error
    if stat.S_ISREG(mode):
        yield Found(root, given=True)
        return
    if not stat.S_ISDIR(mode):
        raise DataError("not a regular file", file=str(root), code="E_NOT_A_FILE")
    sources = _walk_folder(root, report, is_log, MAX_LEVELS)
    if (first := next(sources, None)) is None:
        raise DataError(f"no trace in this folder{without_log(report.no_log)}", file=str(root), code="E_EMPTY")
    yield first
    yield from sources


def without_log(counted: Mapping[str, int]) -> str:
    """What was counted, in words, after what is said before: `: no log in 3 files (2 .png, 1 .txt)`; "" for nothing."""
    kinds = ", ".join(f"{count} {suffix or 'without an ending'}" for suffix, count in sorted(counted.items()))
    number = sum(counted.values())
    return f": no log in {number} file{'s' * (number > 1)} ({kinds})" if number else ""


def _walk_folder(folder: Path, report: ReadReport, is_log: Callable[[Found], bool], levels: int) -> Iterator[Found]:
    skipped = report.skipped
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        skipped.append((str(folder), f"cannot be listed: {error.strerror}"))
        return
    files = {entry.name for entry in listed if entry.is_file(follow_symlinks=False)}
    if "store.json" in files and any(entry.name == "records" for entry in listed):
        skipped.append((str(folder), "an experience store: to take it in, export it and import the file"))
        return
    claimed: set[str] = set()
    for name, (markers, beside) in _FOLDERS.items():
        if files & markers:
            claimed |= markers | beside | {f"{folder.name}.json"}  # the task of a run is called by its id
            yield Found(folder, format=name)
    for entry in listed:
        if entry.is_dir(follow_symlinks=False) and not levels:
            skipped.append((entry.path, f"more than {MAX_LEVELS} folders deep"))
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk_folder(Path(entry.path), report, is_log, levels - 1)
        elif entry.name not in files:
            skipped.append((entry.path, "not a regular file; links are not followed"))
        elif entry.name not in claimed:
            yield from _file(Found(Path(entry.path)), report, is_log)


def _file(found: Found, report: ReadReport, is_log: Callable[[Found], bool]) -> Iterator[Found]:
    if found.suffix in _LOGS or (_is_text(found.path) and is_log(found)):
        yield found
    else:
        report.no_log[found.suffix] += 1


def _is_text(path: Path) -> bool:
    with suppress(DataError), open_regular(path, MAX_ARCHIVE) as stream:
        return not _is_binary(stream.read(HEAD_BYTES))
    return False


def _is_binary(head: bytes) -> bool:
    return b"\0" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


@contextmanager
def unpacked(path: Path, report: ReadReport) -> Iterator[Path]:
    """A folder, later removed, with an archive's files but pictures and programs. Raises `DataError`, `E_ARCHIVE`."""
    with tempfile.TemporaryDirectory(prefix="ufo-experience-") as name:
        folder = Path(name).resolve() / "logs"
        folder.mkdir()
        try:
            if path.suffix.casefold() == ".gz":
                _unpack_gzip(path, folder)
            else:
                _unpack_zip(path, folder, report)
        except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise _refused(path, f"cannot be unpacked: {error}") from error
        yield folder


def _unpack_gzip(path: Path, folder: Path) -> None:
    name = path.name.removesuffix(path.suffix) or "log"
    if refused := HINTS.get(Path(name).suffix.casefold()):
        raise _refused(path, refused)
    target = folder / (name if Path(name).suffix else f"{name}.json")
    with open_regular(path, MAX_ARCHIVE) as raw, gzip.open(raw) as stream, target.open("wb") as out:
        while chunk := stream.read(1 << 20):
            out.write(chunk)
            _expect_size(out.tell(), path)


def _unpack_zip(path: Path, folder: Path, report: ReadReport) -> None:
    with open_regular(path, MAX_ARCHIVE) as raw, zipfile.ZipFile(raw) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES:
            raise _refused(path, f"more than {MAX_ENTRIES} entries")
        _expect_size(sum(entry.file_size for entry in entries), path)  # no more than that is read of one
        for entry in entries:
            entry.filename, is_folder = "/".join(_parts(entry, path)), entry.is_dir()
            if is_folder:
                continue
            if entry.flag_bits & 1:
                raise _refused(path, "it is encrypted; unpack it and give the folder")
            with archive.open(entry) as stream:
                head = stream.read(HEAD_BYTES)
            suffix = Path(entry.filename).suffix.casefold()
            if suffix not in _LOGS and _is_binary(head):
                report.no_log[suffix] += 1
            else:
                archive.extract(entry, folder)


def _parts(entry: zipfile.ZipInfo, path: Path) -> tuple[str, ...]:
    name = PurePosixPath(entry.filename.replace("\\", "/"))
    kind = (entry.external_attr >> 16) & 0o170000
    odd = name.is_absolute() or not name.parts or any(part == ".." or ":" in part for part in name.parts)
    if odd or kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _refused(path, "an entry has a name that leads out of the archive, or is a link")
    return name.parts


def _expect_size(size: int, path: Path) -> None:
    if size > MAX_UNPACKED:
        raise _refused(path, f"unpacks to more than {MAX_UNPACKED >> 20} MB; unpack it and give the folder")


def _refused(path: Path, why: str) -> DataError:
    return DataError(why, file=str(path), code="E_ARCHIVE")
