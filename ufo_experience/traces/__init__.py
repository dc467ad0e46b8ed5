"""Stage 1, read: logs of UI agents → `Trajectory`. One small file per format, found by name in `FORMATS`.

for trajectory in read_traces("logs/"):
    print(trajectory.task, trajectory.outcome.success)
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from ufo_experience.errors import SchemaError, TraceError, UsageError
from ufo_experience.schema import Trajectory
from ufo_experience.traces.archives import is_archive, unpacked
from ufo_experience.traces.reader import Found, ReadReport, TraceReader, walk
from ufo_experience.traces.unknown import unknown_message

__all__ = ["FORMATS", "ReadReport", "TraceReader", "find_sources", "read_source", "read_traces"]

T = TypeVar("T")
# Name → where its reader lives. "auto" asks them in this order, the particular before the general.
FORMATS: dict[str, tuple[str, str]] = {
    "ufo": ("ufo_experience.traces.ufo.reader", "UfoReader"),
    "osworld": ("ufo_experience.traces.osworld", "OSWorldReader"),
    "browser-use": ("ufo_experience.traces.browser_use", "BrowserUseReader"),
    "ufo-dataflow": ("ufo_experience.traces.ufo_dataflow", "DataflowReader"),
    "ufo-yaml": ("ufo_experience.traces.ufo_yaml", "UfoYamlReader"),
    "ufo-session": ("ufo_experience.traces.saved_session", "SavedSessionReader"),
    "spans": ("ufo_experience.traces.formats.spans", "SpansReader"),
    "agentnet": ("ufo_experience.traces.formats.demonstrations", "AgentNetReader"),
    "android-control": ("ufo_experience.traces.formats.demonstrations", "AndroidControlReader"),
    "android-world": ("ufo_experience.traces.formats.demonstrations", "AndroidWorldReader"),
    "miniwob": ("ufo_experience.traces.formats.miniwob", "MiniWobReader"),
    "mind2web": ("ufo_experience.traces.formats.demonstrations", "Mind2WebReader"),
    "chrome-recorder": ("ufo_experience.traces.formats.recordings", "ChromeRecorderReader"),
    "selenium-ide": ("ufo_experience.traces.formats.recordings", "SeleniumIdeReader"),
    "playwright-trace": ("ufo_experience.traces.formats.recordings", "PlaywrightTraceReader"),
    "steps-recorder": ("ufo_experience.traces.formats.desktop", "StepsRecorderReader"),
    "power-automate": ("ufo_experience.traces.formats.desktop", "PowerAutomateReader"),
    "agentlab": ("ufo_experience.traces.formats.agentlab", "AgentLabReader"),
    "playwright-mcp": ("ufo_experience.traces.formats.snapshot", "PlaywrightMcpReader"),
    "chat": ("ufo_experience.traces.formats.chat", "ChatReader"),
    "execution-trace": ("ufo_experience.traces.execution_trace", "ExecutionTraceReader"),
    "generic": ("ufo_experience.traces.generic", "GenericReader"),
}


def read_traces(path: str | Path, *, format: str = "auto", report: ReadReport | None = None) -> Iterator[Trajectory]:
    """Yield the trajectories of a file, of a session folder, or of all sessions in a folder tree, in a fixed order.

    Args:
        path: the file or folder. Links inside it are not followed; only regular files are opened.
        format: a name in `FORMATS`, or "auto" to tell each source by its name and first lines.
        report: takes what could not be read. With it, a source without anything usable is listed in
            `report.failed` and reading goes on.

    Raises:
        UsageError: no such format.
        TraceError: without a report: nothing to read at `path`, a single file of unknown format, or a source in
            which nothing can be used.
    """
    _check_format(format)
    return _read_all(Path(path), format, report)


def find_sources(path: str | Path, *, format: str = "auto", report: ReadReport) -> Iterator[Found]:
    """The sources `read_traces` would read at `path`, in its order; each is read by `read_source`.

    Raises:
        UsageError: no such format.
    """
    _check_format(format)
    return _guarded(walk(Path(path), report.skipped), Path(path), report)


def read_source(found: Found, *, format: str = "auto", report: ReadReport) -> Iterator[Trajectory]:
    """The trajectories of one source; a source without anything usable is listed in `report.failed`."""
    return _guarded(_read_one(found, format, report), found.path, report)


def load_reader(name: str) -> TraceReader:
    """Import and build the reader of a format in `FORMATS`."""
    module, reader = FORMATS[name]
    return getattr(import_module(module), reader)()  # type: ignore[no-any-return]


def _check_format(format: str) -> None:
    if format != "auto" and format not in FORMATS:
        raise UsageError(f"no trace format {format!r}; known: auto, {', '.join(FORMATS)}")


def _read_all(root: Path, format: str, report: ReadReport | None) -> Iterator[Trajectory]:
    notes = ReadReport() if report is None else report
    for found in _guarded(walk(root, notes.skipped), root, report):
        yield from _guarded(_read_one(found, format, notes), found.path, report)


def _guarded(items: Iterator[T], path: Path, report: ReadReport | None) -> Iterator[T]:
    """Pass the items on; with a report, an error ends them and is listed instead of raised."""
    try:
        yield from items
    except TraceError as error:
        if report is None:
            raise
        report.failed.append((error.file or str(path), f"{error.code}: {error.reason}"))


def _read_archive(archive: Path, format: str, report: ReadReport) -> Iterator[Trajectory]:
    """The trajectories of the logs in an archive; their files are named by their place in it."""
    with unpacked(archive) as folder:
        inner = ReadReport()
        for found in _guarded(walk(folder, inner.skipped), folder, inner):
            if not is_archive(found.path):
                for trajectory in _guarded(_read_one(found, format, inner), found.path, inner):
                    files = tuple(_inside(archive, folder, file) for file in trajectory.source_files)
                    yield trajectory.model_copy(update={"source_files": files})
    report.skipped += [(_inside(archive, folder, file), why) for file, why in inner.skipped]
    report.failed += [(_inside(archive, folder, file), why) for file, why in inner.failed]
    report.problems += [one.model_copy(update={"file": _inside(archive, folder, one.file)}) for one in inner.problems]


def _inside(archive: Path, folder: Path, file: str) -> str:
    path = Path(file)
    return f"{archive}!{path.relative_to(folder).as_posix()}" if path.is_relative_to(folder) else file


def _read_one(found: Found, format: str, report: ReadReport) -> Iterator[Trajectory]:
    if is_archive(found.path):
        yield from _read_archive(found.path, format, report)
        return
    reader = _reader_for(found, format)
    if reader is None:
        reason = unknown_message(found.path)
        if found.given:
            raise TraceError(reason, file=str(found.path), code="E_UNKNOWN_FORMAT")
        report.skipped.append((str(found.path), reason))
        return
    try:
        yield from reader.read(found.path, report)
    except SchemaError as error:
        raise TraceError(str(error), file=str(found.path), code="E_SCHEMA") from error
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise TraceError(message, file=str(found.path), code="E_UNREADABLE") from error


def _reader_for(found: Found, format: str) -> TraceReader | None:
    if format != "auto":
        reader = load_reader(format)
        return reader if found.given or reader.recognises(found.path) else None
    readers = (load_reader(name) for name in ((found.format,) if found.format else FORMATS))
    return next((reader for reader in readers if reader.recognises(found.path)), None)
