"""Stage 1, read: logs of UI agents → `Trajectory`. One file a family of formats, each told by itself.

for trajectory in read_traces("logs/"):
    print(trajectory.task, trajectory.outcome.success)

Another package adds a format with one class (`TraceReader`), named in its entry points under `ufo_experience.traces`.
"""

from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, TypeVar

from ufo_experience.errors import DataError, UsageError
from ufo_experience.schema import Trajectory, expect
from ufo_experience.store.exchange import is_export
from ufo_experience.traces import browser, chat, datasets, plain, playwright, recordings, ufo
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import Found, ReadReport, unpacked, walk
from ufo_experience.traces.rows import RowsReader

__all__ = [
    "FORMATS", "Draft", "ReadReport", "RowsReader", "TraceReader", "find_sources", "read_source", "read_traces",
]  # fmt: skip

T = TypeVar("T")


class TraceReader(Protocol):
    """Reads one family of log formats: a class without arguments, `name` is what `--format` calls it."""

    name: str

    def recognises(self, found: Found) -> bool:
        """True when a file or session folder is of this family; looks at no more than `found.text` and `.values`."""
        ...

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the trajectories of one source, adding what it could not use to `report.problems`.

        Raises `DataError` when nothing in the source can be used.
        """
        ...


# "auto" asks them in this order, the particular before the general.
_OWN: tuple[type[TraceReader], ...] = (
    ufo.UfoReader, datasets.OSWorldReader, browser.BrowserUseReader, ufo.DataflowReader, ufo.UfoYamlReader,
    plain.SavedSessionReader, chat.SpansReader, datasets.AgentNetReader, datasets.AndroidControlReader,
    datasets.AndroidWorldReader, browser.MiniWobReader, datasets.Mind2WebReader, recordings.ChromeRecorderReader,
    recordings.SeleniumIdeReader, playwright.PlaywrightTraceReader, playwright.PlaywrightCodegenReader,
    recordings.StepsRecorderReader, recordings.PowerAutomateReader, datasets.AgentLabReader,
    playwright.PlaywrightMcpReader, chat.ChatReader, plain.ExecutionTraceReader, plain.PlainReader,
)  # fmt: skip
_FAULTS = (LookupError, TypeError, ValueError, AttributeError)  # what a reader of another package may stumble over
FORMATS: tuple[str, ...] = tuple(reader.name for reader in _OWN)


@lru_cache(maxsize=1)
def readers() -> dict[str, TraceReader]:
    """All readers by name, those of other packages first. Raises `UsageError` where one of them is no reader."""
    others: dict[str, TraceReader] = {}
    for entry in entry_points(group="ufo_experience.traces"):
        named = f"the reader {entry.name!r} of an installed package"
        try:
            others[entry.name] = entry.load()()
        except (ImportError, AttributeError, TypeError) as error:
            raise UsageError(f"{named} cannot be used: {error}") from error
        if not all(callable(getattr(others[entry.name], method, None)) for method in ("recognises", "read")):
            raise UsageError(f"{named} has no `recognises` and `read`")
    return {**others, **{one.name: one() for one in _OWN if one.name not in others}}


def read_traces(path: str | Path, *, format: str = "auto", report: ReadReport | None = None) -> Iterator[Trajectory]:
    """Yield the trajectories of a file, of a session folder, or of all sessions in a folder tree, in a fixed order.

    Args:
        path: the file or folder. Links inside it are not followed; only regular files are opened.
        format: a name in `FORMATS` or of another package's reader, or "auto" to tell each source by itself.
        report: a `ufo_experience.traces.ReadReport` takes what could not be read. With it, a source without anything
            usable is listed in `report.failed` and reading goes on.

    Raises:
        UsageError: no such format.
        DataError: without a report: nothing to read at `path`, a single file of unknown format, or a source in
            which nothing can be used.
    """
    found = find_sources(path, format=format, report=report)
    return (one for source in found for one in read_source(source, format=format, report=report))


def find_sources(path: str | Path, *, format: str = "auto", report: ReadReport | None) -> Iterator[Found]:
    """The sources `read_traces` would read at `path`, in its order; each is read by `read_source`."""
    expect_format(format)

    root = Path(expect((str, Path), path, "path"))
    found = walk(root, report or ReadReport(), lambda one: _reader_for(one, "auto") is not None)
    return _guarded(found, root, report)


def read_source(found: Found, *, format: str = "auto", report: ReadReport | None) -> Iterator[Trajectory]:
    """The trajectories of one source; a source without anything usable is listed in `report.failed`."""
    return _guarded(_read_one(found, format, report or ReadReport()), found.path, report)


def _guarded(items: Iterator[T], path: Path, report: ReadReport | None) -> Iterator[T]:
    """Pass the items on; with a report, an error ends them and is listed instead of raised."""
    try:
        yield from items
    except DataError as error:
        if report is None:
            raise
        place = "" if error.line is None else f"line {error.line}: "
        report.failed.append((error.file or str(path), f"{error.code}: {place}{error.reason}"))


def _read_archive(archive: Path, format: str, report: ReadReport) -> Iterator[Trajectory]:
    """The trajectories of the logs in an archive; their files are named by their place in it."""
    inner = ReadReport(no_log=report.no_log)
    with unpacked(archive, inner) as folder:

        def place(file: str) -> str:
            path = Path(file)
            return f"{archive}!{path.relative_to(folder).as_posix()}" if path.is_relative_to(folder) else file

        for found in find_sources(folder, report=inner):
            if found.is_archive:
                inner.skipped.append((str(found.path), "an archive in an archive stays closed"))
                continue
            for read in read_source(found, format=format, report=inner):
                yield read.model_copy(update={"source_files": tuple(map(place, read.source_files))})
    report.skipped += [(place(file), why) for file, why in inner.skipped]
    report.failed += [(place(file), why) for file, why in inner.failed]
    report.problems += [one.model_copy(update={"file": place(one.file)}) for one in inner.problems]


def _read_one(found: Found, format: str, report: ReadReport) -> Iterator[Trajectory]:
    if found.is_archive:
        yield from _read_archive(found.path, format, report)
        return
    file = str(found.path)
    reader = _reader_for(found, format)
    if reader is None:
        if found.given:
            raise DataError(plain.unknown_message(found), file=file, code="E_UNKNOWN_FORMAT")
        report.skipped.append((file, plain.unknown_message(found)))
        return
    try:
        yield from reader.read(found.path, report)
    except DataError as error:
        if error.file:
            raise
        raise DataError(str(error), file=file, code=error.code) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=file, code="E_UNREADABLE") from error
    except _FAULTS as error:
        if isinstance(reader, _OWN):
            raise
        message = f"the reader {reader.name!r} failed: {type(error).__name__}: {error}"
        raise DataError(message, file=file, code="E_READER") from error


def expect_format(format: str) -> TraceReader | None:
    """The reader of this name, in any case; None for "auto". Raises `UsageError`."""
    if format == "auto":
        return None
    for name, reader in readers().items():
        if name.casefold() == format.casefold():
            return reader
    raise UsageError(f"no trace format {format!r}; known: auto, {', '.join(readers())}")


def _reader_for(found: Found, format: str) -> TraceReader | None:
    if reader := expect_format(format):
        return reader if found.given or reader.recognises(found) else None
    if not found.format and is_export(found.text):
        return None
    known = [readers()[found.format]] if found.format else readers().values()
    return next((reader for reader in known if reader.recognises(found)), None)
