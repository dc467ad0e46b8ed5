"""Looking at every byte of a folder store, and setting aside what cannot be used."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from ufo_experience.errors import DataError
from ufo_experience.schema import Problem
from ufo_experience.store.base import StoreReport
from ufo_experience.store.files import (
    NOT_A_FILE,
    TEMP,
    make_folder,
    patiently,
    read_regular,
    replace_file,
    storage_errors,
)
from ufo_experience.store.records import SUFFIX
from ufo_experience.store.watch import EVENTS, MAX_EVENTS_BYTES, RECORDS, Watch

CORRUPT = "corrupt"
STRAY, EDITED = "E_STRAY", "E_EDITED"
_OLD_S = 3_600.0  # a temp file of this age has no writer


def examine(root: Path, watch: Watch) -> StoreReport:
    """Read every record and every event."""
    report = StoreReport()
    seen: dict[str, Path] = {}
    for path in _entries(root / RECORDS):
        found = _problem(path, root, watch, seen)
        report.records += found is None
        report.corrupt += [found] if found else []
    report.corrupt += [found for _, found in watch.events_in(_events(root)) if isinstance(found, Problem)]
    return report


def _problem(path: Path, root: Path, watch: Watch, seen: dict[str, Path]) -> Problem | None:
    """What is wrong with a file among the records."""
    try:
        _expect_file(path, root / RECORDS)
        experience, content, whole = watch.read(path)
        if (other := seen.setdefault(experience.id, path)) != path:
            raise DataError(f"the same id as {other}", file=str(path), code="E_CORRUPT")
        if not whole and watch.approved_content(experience.id) != content:
            said = "not as it was written: edited by hand, or damaged; it counts as observed until approved"
            raise DataError(said, file=str(path), code=EDITED)
    except DataError as error:
        return Problem(file=str(path), code=error.code, message=str(error))
    return None


def mend(root: Path, report: StoreReport) -> list[Problem]:
    """Set aside what a report names, the reason beside it; returns what it was. The caller holds the lock."""
    events = {problem.line: problem for problem in report.corrupt if problem.file == str(root / EVENTS)}
    if events:
        _mend_events(root, events)
    mended = [problem for problem in report.corrupt if problem.code not in ("E_VERSION", EDITED)]
    for problem in mended:
        path = Path(problem.file)
        if problem.line is None and os.path.lexists(path):
            target = _explained(root, path.name, f"{path}\n{problem.code}: {problem.message}")
            with storage_errors(path):
                patiently(os.replace, path, target)
    for path in _entries(root / RECORDS, temporary=True):
        with storage_errors(path):
            if time.time() - path.lstat().st_mtime > _OLD_S:
                path.unlink()
    return mended


def _mend_events(root: Path, bad: dict[int | None, Problem]) -> None:
    lines = _events(root).split(b"\n")
    reason = "\n".join(f"line {number}: {problem.message}" for number, problem in bad.items())
    kept = [line for number, line in enumerate(lines, 1) if number not in bad and line.strip()]
    lost = [line for number, line in enumerate(lines, 1) if number in bad]
    replace_file(_explained(root, EVENTS, reason), b"\n".join(lost))
    replace_file(root / EVENTS, b"".join(line + b"\n" for line in kept))


def _events(root: Path) -> bytes:
    path = root / EVENTS
    return read_regular(path, MAX_EVENTS_BYTES, follow=False) if path.exists() else b""


def _entries(folder: Path, *, temporary: bool = False) -> Iterator[Path]:
    """What lies in the folders of the records; with `temporary` the unfinished files of a writer that died."""
    with storage_errors(folder):
        for place in sorted(folder.iterdir()) if folder.is_dir() else ():
            inside = sorted(place.iterdir()) if place.is_dir() and not place.is_symlink() else [place]
            yield from (path for path in inside if path.name.endswith(TEMP) == temporary)


def _expect_file(path: Path, records: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        raise DataError("a folder in the place of a record", file=str(path), code=NOT_A_FILE)
    if path.suffix != SUFFIX or path.parent == records:
        raise DataError("no file of this store has this name", file=str(path), code=STRAY)


def _explained(root: Path, name: str, reason: str) -> Path:
    """A free name in `corrupt/`, the reason already beside it."""
    folder, number = root / CORRUPT, 1
    make_folder(folder)
    while os.path.lexists(target := folder / (name if number == 1 else f"{name}.{number}")):
        number += 1
    when = datetime.now(timezone.utc).isoformat(timespec="seconds")
    text = f"{reason}\nset aside {when}\n"
    replace_file(target.with_name(f"{target.name}.reason.txt"), text.encode("utf-8", "replace"))
    return target
