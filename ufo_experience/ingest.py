"""Stages 1 to 4 in a row: read → redact → summarize → store, as each run is read.

One bad file or one item a model stumbles over never stops the others; the report names each with its reason.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ufo_experience import schema
from ufo_experience.errors import DataError, NotFoundError, UsageError
from ufo_experience.index.base import ExperienceIndex, row_of
from ufo_experience.prompt.block import has_block, strip_blocks
from ufo_experience.redact import KeepObservations, keep_constants, redact, redact_record, shortened
from ufo_experience.request import forget
from ufo_experience.schema import Experience, Problem, State, Trajectory, Trust, expect_if_given, validate
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.exchange import ImportReport
from ufo_experience.store.records import encode
from ufo_experience.summarize import Summarizer, experience_id
from ufo_experience.summarize.detours import find_detours
from ufo_experience.traces import ReadReport, find_sources, read_source
from ufo_experience.traces.draft import LogGaps, filled, still_missing
from ufo_experience.traces.lines import LOST
from ufo_experience.traces.plain import A_STEP, UNKNOWN, Run, json_values, runs_in
from ufo_experience.trust.policy import missing, rests_on_log

if TYPE_CHECKING:
    from typing_extensions import Unpack

COMMIT_EVERY, COMMIT_SECONDS = 64, 2.0  # records made durable together, and how long one may wait for the others
SETTLE_SECONDS = 2.0  # a log without an end that changed this recently is still being written
FELL_BACK = "summary:extractive:"  # begins the note of a record that a model should have worded
ALREADY_STORED = "already stored as "
NOT_KEPT = "fields not kept: "

Source = str | Path | Mapping[str, Any] | IO[Any]


@dataclass
class IngestReport(ImportReport):
    """What became of each run, and what it cost in US dollars.

    problems: lines of logs that could not be used although the rest of their file was; such a file is in `failed`, too
    trusted, judged: ids of `known` that got the trust or the outcome now given
    incomplete: added ids of successes that are never shown, and what each lacks
    shortened: sources of runs of which a part is not kept, and why
    on_log_word: added ids that are trusted on nothing but what their log says of how it ended
    no_log: files of folders and archives in which no log was recognised, counted by the endings of their names
    read: runs in which there was something to learn
    """

    problems: list[Problem] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)
    incomplete: list[tuple[str, str]] = field(default_factory=list)
    shortened: list[tuple[str, str]] = field(default_factory=list)
    on_log_word: list[str] = field(default_factory=list)
    no_log: Counter[str] = field(default_factory=Counter)
    read: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class _ReadRun:
    """A run that was read, redacted. `others` are ids it may be stored under: those of the outcomes a person may have
    given it.
    """

    source: str
    id: str
    trajectory: Trajectory
    is_over: bool
    others: tuple[str, ...] = ()


def ingest(
    sources: Sequence[Source | Sequence[str | Path]], store: ExperienceStore, summarizer: Summarizer, *,
    format: str = "auto", include_failures: bool = False, trust: Trust | None = None, force: bool = False,
    index: ExperienceIndex | None = None, keep_observations: KeepObservations = "short",
    progress: Callable[[str, int, int], None] | None = None,
    **gaps: Unpack[LogGaps],
) -> IngestReport:  # fmt: skip
    """Turn logs into stored records. What was read is stored as it is read; all of it is durable when this returns.

    Args:
        trust: the level of every record (a person's decision) instead of the one the evidence gives.
        include_failures: keep failed runs as negative examples.
        force: also read a log without an end that was written to a moment ago, which is else left for later.
        index: knows what earlier runs of a task typed; a value that a second run typed, too, is kept in clear.
        keep_observations: how much is kept of what was seen in a step (see `redact.redact_record`).
        progress: is told what is done, how many runs became records so far, and 0: nobody knows of how many.
        gaps: `task`, `application`, `success`: what a person says of logs that do not say it; what they say stands.

    Raises:
        StorageError, LockedError: the store cannot be written; what was committed before is kept.
        UsageError: no such format, a source or a gap that is none. NotFoundError: nothing is at any of the paths.
    """
    named = expect_sources(sources)
    for name, kind in (("task", str), ("application", str), ("success", bool)):
        expect_if_given(kind, gaps.get(name), name)
    report = IngestReport()
    before = summarizer.spending.cost
    storing, constants = _Storing(store, report), Constants(index)
    try:
        for run in _runs(named, format, report, gaps, store.key()):
            failed = run.trajectory.outcome.success is False
            report.read += bool(run.trajectory.steps) or failed
            known = next((one for one in (run.id, *run.others) if one in storing.waiting or one in store), None)
            if known:
                report.known.append(known)
                report.skipped.append((run.source, f"{ALREADY_STORED}{known}"))
            elif not (force or run.is_over):
                report.skipped.append((run.source, "still being written, it seems; --force reads it as incomplete"))
            elif failed and not include_failures:
                why = "a failed run; --include-failures keeps it as a negative example"
                report.skipped.append((run.source, why))
            elif made := _made(run, summarizer, keep_observations, report):
                made = constants.kept(made, run.trajectory.typed)
                if trust is None and rests_on_log(made):
                    report.on_log_word.append(made.id)
                storing.take(made.model_copy(update={"trust": trust}) if trust else made)
                _tell(made, run, report)
                if progress:
                    progress("learned", len(report.added) + len(storing.waiting), 0)
    finally:
        storing.finish()  # also when reading was interrupted
    report.cost = summarizer.spending.cost - before
    forget()
    return report


def learn(
    run: Run, summarizer: Summarizer, *, key: bytes, constants: Constants, trust: Trust | None = None,
    wordings: Sequence[str] = (), supersedes: str | None = None,
) -> Experience:  # fmt: skip
    """The record of a run that a program handed in: redacted, summarized, its unknown fields named in a note.

    `supersedes` is the id of a record that this one stands in place of; a note names it.

    Raises:
        DataError: too many other wordings, too long or empty ones.
        UsageError: they are one text instead of several.
    """
    if isinstance(wordings, str):
        raise UsageError("wordings is a list of texts, not a text")
    clean = _clean(run.trajectory, key)
    made = constants.kept(summarizer.summarize(clean), clean.typed)
    if wordings:
        state = validate(State, {**made.state.model_dump(), "wordings": tuple(wordings)})
        made = made.model_copy(update={"state": state})
    notes = [*made.provenance.notes]
    notes += [f"{NOT_KEPT}{', '.join(run.unknown)}"[: schema.MAX_NAME]] if run.unknown else []
    notes += [f"{schema.SUPERSEDES}{supersedes}"] if supersedes else []
    provenance = made.provenance.model_copy(update={"origin": "api", "notes": tuple(notes)})
    return made.model_copy(update={"provenance": provenance, "trust": trust or made.trust})


def expect_sources(sources: Sequence[Source | Sequence[str | Path]]) -> list[Source]:
    """The sources one by one, also those of a list of paths.

    Raises `UsageError` where there is none, `NotFoundError` where all are paths, and nothing is at any of them.
    """
    found: list[Any] = []
    for given in sources:
        several = isinstance(given, (list, tuple)) and all(isinstance(one, (str, os.PathLike)) for one in given)
        found.extend(given if several else [given])  # type: ignore[arg-type]
    if not found:
        raise UsageError("ingest takes logs: ingest(path, …)")
    if not any(os.path.exists(one) if isinstance(one, (str, os.PathLike)) else True for one in found):
        raise NotFoundError("there is no such file or folder", file=str(found[0]))
    return found


def _runs(
    sources: Iterable[Source], format: str, report: IngestReport, gaps: LogGaps, key: bytes
) -> Iterator[_ReadRun]:
    """The redacted runs of all sources in their order; what could not be read goes into the report."""
    for source in sources:
        reading, is_log = ReadReport(), False
        for trajectory in _logged(source, format, reading):
            is_log = True
            yield _redacted(trajectory, gaps, key)
        if not is_log:  # a folder of files that nobody knows has failed as one of them does
            unknown = [one for one in reading.skipped if one[1].startswith(UNKNOWN)]
            reading.failed += unknown
            reading.skipped = [one for one in reading.skipped if one not in unknown]
        report.problems += still_missing(reading.problems, gaps)
        report.skipped += reading.skipped
        wholly = dict(reading.failed)
        lost = Counter(one.file for one in reading.problems if one.code in LOST and one.file not in wholly)
        report.failed += reading.failed
        report.failed += [(file, f"left out: {count} of its lines or items") for file, count in lost.items()]
        report.no_log += reading.no_log


def _logged(source: Source, format: str, reading: ReadReport) -> Iterator[Trajectory]:
    """The runs of a path, of an open file, or of a run as a mapping."""
    if isinstance(source, (str, os.PathLike)):
        for log in find_sources(Path(source), format=format, report=reading):
            yield from read_source(log, format=format, report=reading)
        return
    if isinstance(source, (bytes, int)) or not (isinstance(source, (Mapping, list)) or hasattr(source, "read")):
        raise UsageError(f"a source is a path, an open file or a dict with task and steps, not {type(source).__name__}")
    name = str(getattr(source, "name", "the given value"))
    try:
        values = [source] if isinstance(source, (Mapping, list)) else json_values(source.read(), file=name)
        for value in values:
            yield from (run.trajectory for run in runs_in(value))
    except DataError as error:
        reading.failed.append((name, str(error)))


def _redacted(logged: Trajectory, gaps: LogGaps, key: bytes) -> _ReadRun:
    trajectory = filled(logged, gaps)
    clean = _clean(trajectory, key)
    own, others = experience_id(clean), set[str]()
    if logged.outcome.success is None:  # a person may have said since how it ended
        outcomes = (clean.outcome.model_copy(update={"success": success}) for success in (None, True, False))
        others = {experience_id(clean.model_copy(update={"outcome": outcome})) for outcome in outcomes} - {own}
    file = clean.source_files[0] if clean.source_files else clean.session
    name = f"{file} ({clean.subtask[:60]})" if clean.subtask else file
    files = [path for path in map(Path, trajectory.source_files) if path.is_file()]
    is_settled = all(abs(time.time() - path.stat().st_mtime) > SETTLE_SECONDS for path in files)
    return _ReadRun(name, own, clean, clean.complete or is_settled, tuple(sorted(others)))


def _clean(trajectory: Trajectory, key: bytes) -> Trajectory:
    """A run without secrets. Its detours are found before: redaction takes out what was typed and what came of it."""
    trajectory = shortened(trajectory)
    found = find_detours(trajectory) if trajectory.outcome.success is not False else {}
    if has_block(trajectory.model_dump_json()):  # what memory put into a prompt is not learned again from its log
        undumped = {name: getattr(trajectory, name) for name, one in Trajectory.model_fields.items() if one.exclude}
        stripped = validate(Trajectory, strip_blocks(trajectory.model_dump()))
        trajectory = stripped.model_copy(update=undumped)
    return redact(trajectory.model_copy(update={"detours": found}), key)


def _made(run: _ReadRun, summarizer: Summarizer, keep: KeepObservations, report: IngestReport) -> Experience | None:
    """The record of a run; None where nothing can be learned from it."""
    try:
        return redact_record(summarizer.summarize(run.trajectory), keep)
    except DataError as error:
        report.skipped.append((run.source, str(error)))
        return None


def unfollowable(made: Experience) -> str | None:
    """Why a run that was handed in is never shown, and which fields of its steps were not kept; None where it may."""
    if not (lack := missing(made)):
        return None
    unkept = "".join(f"; {note}" for note in made.provenance.notes if note.startswith(NOT_KEPT))
    return f"{made.id[:8]} is never shown, for nobody could follow it: {lack}{unkept}; a step looks like {A_STEP}"


def _tell(made: Experience, run: _ReadRun, report: IngestReport) -> None:
    """Say what a record lacks, what was shortened, and once for each reason that a model worded nothing."""
    if lack := missing(made):
        report.incomplete.append((made.id, lack))
    if run.trajectory.truncated:
        told = [one for one in run.trajectory.problems if one.code == schema.SHORTENED]
        report.problems += told
        reasons = "; ".join(one.message for one in told)
        report.shortened.append((run.source, reasons or "what is over the limits of a record is not kept"))
    for note in made.provenance.notes:
        if note.startswith(FELL_BACK):
            message = f"worded by rules, the model could not be used: {note.removeprefix(FELL_BACK)}"
            if all(one.message != message for one in report.problems):
                report.problems.append(Problem(file=run.source, code="E_NOT_WORDED", message=message))


class Constants:
    """What the runs of each task typed, by digest; those of this job, which no index has yet, included."""

    def __init__(self, index: ExperienceIndex | None) -> None:
        self._index = index
        self._sessions: dict[str, dict[str, str]] = {}  # task → digest → the session that typed it first

    def kept(self, one: Experience, typed: dict[str, str]) -> Experience:
        """The record with the values in clear that a run of another session typed for the same task, too."""
        if not one.digests or not typed or self._index is None:
            return one
        key, session = row_of(one).task_key, one.provenance.session
        if key not in self._sessions:
            rows = self._index.rows(task_key=key)
            self._sessions[key] = {digest: row.session for row in rows for digest in row.digests.values()}
        seen = self._sessions[key]
        made = keep_constants(one, typed, {digest for digest, first in seen.items() if first != session})
        for digest in one.digests.values():
            seen.setdefault(digest, session)
        return made


class _Storing:
    """Stores records in order: as many together as are ready within a moment."""

    def __init__(self, store: ExperienceStore, report: IngestReport) -> None:
        self._store, self._report = store, report
        self.waiting: dict[str, Experience] = {}
        self._since = time.monotonic()

    def take(self, made: Experience) -> None:
        """Store a record, now or soon with others; one over a limit is listed."""
        try:
            encode(made)
        except DataError as error:
            self._report.failed.append((made.provenance.source or made.id, str(error)))
            return
        self.waiting[made.id] = made
        if len(self.waiting) >= COMMIT_EVERY or time.monotonic() - self._since >= COMMIT_SECONDS:
            self.finish()

    def finish(self) -> None:
        """Store what waits; durable when it returns."""
        records, self.waiting, self._since = list(self.waiting.values()), {}, time.monotonic()
        done, report = self._store.add(records), self._report
        report.added += done.added
        report.skipped += [(id, "was removed from this store before") for id in done.skipped]
        report.incomplete = [one for one in report.incomplete if one[0] not in done.skipped]
