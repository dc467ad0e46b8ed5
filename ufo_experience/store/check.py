"""Looking at every byte of a folder store, and setting aside what cannot be used."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import count
from pathlib import Path

from ufo_experience.errors import DataError
from ufo_experience.schema import Problem
from ufo_experience.store.base import StoreReport
from ufo_experience.store.files import TEMP, make_folder, patiently, replace_file, storage_errors
from ufo_experience.store.records import SUFFIX
from ufo_experience.store.watch import EVENTS, RECORDS, Watch

CORRUPT = "corrupt"
_LEFT_ALONE = ("E_VERSION", "E_EDITED")  # by a repair
_OLD_S = 3_600.0  # a temp file of this age has no writer


def examine(root: Path, watch: Watch) -> StoreReport:
    """Read every record and every event."""
    seen: dict[str, Path] = {}
    found = [_problem(path, root / RECORDS, watch, seen) for path in _entries(root / RECORDS)]
    events = [problem for _, problem in watch.events_in(watch.event_lines()) if isinstance(problem, Problem)]
    return StoreReport(found.count(None), [*filter(None, found), *events])


def _problem(path: Path, records: Path, watch: Watch, seen: dict[str, Path]) -> Problem | None:
    """What is wrong with a file among the records."""
    try:
        if path.suffix != SUFFIX or path.parent == records:
            raise DataError("no file of this store has this name", file=str(path), code="E_STRAY")
        one, content, whole = watch.read(path)
        if (other := seen.setdefault(one.id, path)) != path:
            raise DataError(f"the same id as {other}", file=str(path), code="E_CORRUPT")
        if not whole and watch.approved(one.id) != content:
            said = (
                "not as it was written: edited by hand, or damaged; it counts as observed, repaired or not. "
                f"Look at it: ufo-experience show {one.id[:8]}, then: ufo-experience approve {one.id[:8]}"
            )
            raise DataError(said, file=str(path), code="E_EDITED")
    except DataError as error:
        return Problem(file=str(path), code=error.code, message=str(error))
    return None


def mend(root: Path, watch: Watch, report: StoreReport) -> list[Problem]:
    """Set aside what a report names, the reason beside it; returns what it was. The caller holds the lock."""
    mended = [problem for problem in report.corrupt if problem.code not in _LEFT_ALONE]
    if bad := {problem.line: problem for problem in mended if problem.line is not None}:
        lines = dict(enumerate(watch.event_lines().split(b"\n"), 1))
        reason = "\n".join(f"line {number}: {problem.message}" for number, problem in bad.items())
        replace_file(_explained(root, EVENTS, reason), b"\n".join(lines[number] for number in lines.keys() & bad))
        kept = (line for number, line in lines.items() if number not in bad and line.strip())
        replace_file(root / EVENTS, b"".join(line + b"\n" for line in kept))
    for path, problem in ((Path(one.file), one) for one in mended if one.line is None):
        with storage_errors(path):
            if os.path.lexists(path):
                patiently(os.replace, path, _explained(root, path.name, f"{path}\n{problem.code}: {problem.message}"))
    for path in _entries(root / RECORDS, temporary=True):
        with storage_errors(path):
            if time.time() - path.lstat().st_mtime > _OLD_S:
                path.unlink()
    return mended


def _entries(folder: Path, *, temporary: bool = False) -> Iterator[Path]:
    """What lies in the folders of the records; with `temporary` the unfinished files of a writer that died."""
    with storage_errors(folder):
        for place in sorted(folder.iterdir()) if folder.is_dir() else ():
            inside = sorted(place.iterdir()) if place.is_dir() and not place.is_symlink() else [place]
            yield from (path for path in inside if path.name.endswith(TEMP) == temporary)


def _explained(root: Path, name: str, reason: str) -> Path:
    """A free name in `corrupt/`, the reason already beside it."""
    make_folder(root / CORRUPT)
    names = (name if number == 1 else f"{name}.{number}" for number in count(1))
    target = next(path for path in map((root / CORRUPT).joinpath, names) if not os.path.lexists(path))
    text = f"{reason}\nset aside {datetime.now(timezone.utc).isoformat(timespec='seconds')}\n"
    replace_file(target.with_name(f"{target.name}.reason.txt"), text.encode("utf-8", "replace"))
    return target
