"""What every trace reader shares: the protocol, and the report of what could not be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ufo_experience.errors import TraceError
from ufo_experience.schema import Problem, Trajectory

# A folder with one of these files is one source, and these files belong to it.
_FOLDERS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "ufo": (
        frozenset({"response.log", "request.log", "evaluation.log"}),
        frozenset({"response.log", "request.log", "evaluation.log", "output.md"}),
    ),
    "osworld": (frozenset({"traj.jsonl"}), frozenset({"traj.jsonl", "result.txt", "runtime.log", "task.json"})),
}
_LOOKS_LIKE_A_TRACE = frozenset(
    ".json .jsonl .ndjson .log .yaml .yml .side .trace .gz .zip .mht .mhtml .robin .pad".split()
)
_LOGS_BY_NAME = frozenset({"session.md"})
MAX_LEVELS = 40
FINISHED = ".finished"  # what the recorder puts behind the log of a run that ended
LEARNED = "a finished run: it was learned when it ended"


@dataclass(frozen=True)
class Found:
    """A source to read: a file or a session folder. `format` is known for folders; `given` when the user named it."""

    path: Path
    format: str | None = None
    given: bool = False


def walk(root: Path, skipped: list[tuple[str, str]]) -> Iterator[Found]:
    """Yield the sources at `root`, folder by folder, names in order. Raises `TraceError` when nothing is there."""
    try:
        mode = os.stat(root).st_mode
    except (OSError, ValueError) as error:
        raise TraceError("no such file or folder", file=str(root), code="E_MISSING") from error
    if stat.S_ISDIR(mode):
        empty = True
        for found in _walk_folder(root, skipped, MAX_LEVELS):
            empty = False
            yield found
        if empty and not any(why == LEARNED for _, why in skipped):
            raise TraceError("no trace in this folder", file=str(root), code="E_EMPTY")
    elif stat.S_ISREG(mode):
        yield Found(root, given=True)
    else:
        raise TraceError("not a regular file", file=str(root), code="E_NOT_A_FILE")


def _walk_folder(folder: Path, skipped: list[tuple[str, str]], levels: int) -> Iterator[Found]:
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
    skipped += [(entry.path, LEARNED) for entry in listed if entry.name in files and entry.name.endswith(FINISHED)]
    claimed: frozenset[str] = frozenset()
    for name, (markers, own) in _FOLDERS.items():
        if files & markers:
            claimed |= own
            yield Found(folder, format=name)
    for entry in listed:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if levels:
                yield from _walk_folder(path, skipped, levels - 1)
            else:
                skipped.append((entry.path, f"more than {MAX_LEVELS} folders deep"))
        elif entry.name in files:
            looks_so = path.suffix.casefold() in _LOOKS_LIKE_A_TRACE or entry.name in _LOGS_BY_NAME
            if looks_so and entry.name not in claimed:
                yield Found(path)
        else:
            skipped.append((entry.path, "not a regular file; links are not followed"))


@dataclass
class ReadReport:
    """What reading met besides trajectories. Nothing that was found on disk is missing from it."""

    problems: list[Problem] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    def extend(self, other: ReadReport) -> None:
        """Take in what another report holds."""
        self.problems += other.problems
        self.skipped += other.skipped
        self.failed += other.failed

    def take(self) -> ReadReport:
        """What this report holds, which it holds no more."""
        taken = ReadReport([*self.problems], [*self.skipped], [*self.failed])
        for kept in (self.problems, self.skipped, self.failed):
            kept.clear()
        return taken


class TraceReader(Protocol):
    """Reads one family of log formats."""

    name: str

    def recognises(self, path: Path) -> bool:
        """True when `path` (a file or a session folder) is of this family; looks at no more than its first lines."""
        ...

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the trajectories of one source, adding what it could not use to `report.problems`.

        Raises `TraceError` when nothing in the source can be used.
        """
        ...
