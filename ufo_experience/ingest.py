"""Stages 1 to 4 in a row: READ → redact → SUMMARIZE → STORE.

One bad file or one item a model stumbles over never stops the others; the report names each with its reason.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ufo_experience.errors import DataError, ExperienceError, SchemaError, StorageError, UsageError
from ufo_experience.index.base import ExperienceIndex, row_of
from ufo_experience.prompt.block import has_block, strip_blocks
from ufo_experience.redact import KeepObservations, keep_constants, redact, redact_record, shortened
from ufo_experience.request import forget
from ufo_experience.schema import MAX_NAME, SHORTENED, Experience, Problem, State, Trajectory, Trust, validate
from ufo_experience.store.base import ExperienceStore
from ufo_experience.summarize import ExtractiveSummarizer, Summarizer, experience_id
from ufo_experience.summarize.detours import find_detours
from ufo_experience.traces import ReadReport, find_sources, read_source
from ufo_experience.traces.draft import LogDefaults
from ufo_experience.traces.files import Found
from ufo_experience.traces.in_memory import Run, json_values, runs_in
from ufo_experience.trust.completeness import missing
from ufo_experience.trust.policy import rests_on_log

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

COMMIT_EVERY = 64  # records made durable together
SETTLE_SECONDS = 2.0  # a log without an end that changed this recently is still being written
MAX_JOBS = 64
FELL_BACK = "summary:extractive:"  # begins the note of a record that a model should have worded
ALREADY_STORED = "already stored as "
_PER_TASK = 4  # sources read by a process at a time
_AHEAD = 8  # tasks per process that may wait to be stored

Source = str | Path | Mapping[str, Any] | IO[Any]
EarlierVersions = Callable[[Experience], Iterable[Experience]]


@dataclass
class IngestReport:
    """Ids that were added, sources that were skipped or failed (each with why), and what it cost in US dollars.

    `problems` are lines of logs that could not be used although the rest of their file was. `conflicts` are added ids
    whose session is known with other content: they are quarantined. `known` are ids that were stored before, `trusted`
    those of them that got the trust asked for, `judged` those that got the outcome a person gave. `read` counts the
    runs in which there was something to learn; `incomplete` are added ids of successes that are never shown, and what
    each lacks: a task, a step, or the names of the controls it acted on. `on_log_word` are added ids that are trusted
    on nothing but what their log says of how it ended.
    """

    added: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    conflicts: list[tuple[str, str]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)
    incomplete: list[tuple[str, str]] = field(default_factory=list)
    on_log_word: list[str] = field(default_factory=list)
    read: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class _ReadRun:
    """A run and its source: its redacted trajectory, or what a summarizer without a service made of it.

    `others` are ids the same run may be stored under: those of the outcomes a person may have given it.
    """

    source: str
    id: str
    made: Trajectory | Experience | DataError
    has_steps: bool
    failed: bool
    is_over: bool
    others: tuple[str, ...] = ()
    typed: Mapping[str, str] = field(default_factory=dict, repr=False)
    shortened: tuple[Problem, ...] = ()


def ingest(
    sources: Iterable[Source],
    store: ExperienceStore,
    summarizer: Summarizer,
    *,
    format: str = "auto",
    include_failures: bool = False,
    trust: Trust | None = None,
    force: bool = False,
    jobs: int = 1,
    earlier_versions: EarlierVersions | None = None,
    index: ExperienceIndex | None = None,
    keep_observations: KeepObservations = "short",
    progress: Callable[[int, int], None] | None = None,
    task: str | None = None,
    application: str | None = None,
    success: bool | None = None,
) -> IngestReport:
    """Turn logs into stored records. Durable when it returns.

    Args:
        trust: the level of every record (a person's decision) instead of the one the evidence gives.
        include_failures: keep failed runs as negative examples.
        force: also read a log without an end that was written to a moment ago, which is else left for later.
        jobs: processes that read, redact and (without a service) summarize, this one among them; records and their
            order are the same for any number. A program that asks for several must guard its start with
            `if __name__ == "__main__":`.
        earlier_versions: finds stored records of the same source, session and request. A trusted one with other
            content means that a log was changed after it was learned from; its new version is quarantined.
        index: knows what earlier runs of a task typed; a value that a second run typed, too, is kept in clear.
        keep_observations: how much is kept of what was seen in a step (see `redact.redact_record`).
        progress: is told how many runs became records so far, and 0: nobody knows of how many.
        task, application, success: what a person says of logs that do not say it themselves; what they say stands.

    Raises:
        StorageError, LockedError: the store cannot be written; what was committed before is kept.
        UsageError: no such format, or no such number of jobs.
    """
    from concurrent.futures import ThreadPoolExecutor

    if not 1 <= jobs <= MAX_JOBS:
        raise UsageError(f"jobs must be a whole number from 1 to {MAX_JOBS}, not {jobs}")
    report = IngestReport()
    before = summarizer.spending.cost
    reader = _Reader(format, LogDefaults(task, application, success), store.key(), keep_observations)
    constants = Constants(index)
    runs = _runs(sources, reader, jobs, report, offline=isinstance(summarizer, ExtractiveSummarizer))
    with closing(runs), ThreadPoolExecutor(1) as thread:  # which starts when it is first given something
        storing = _Storing(store, thread if jobs > 1 else None, report)
        for run in runs:
            made = None
            report.read += run.has_steps or run.failed
            known = next((one for one in (run.id, *run.others) if one in storing or one in store), None)
            if known:
                report.skipped.append((run.source, f"{ALREADY_STORED}{known}"))
                report.known.append(known)
            else:
                made = _learn(run, summarizer, reader, report, include_failures=include_failures, force=force)
            report.problems += run.shortened
            if made is None:
                continue
            experience = constants.kept(made, run.typed)
            level = trust or experience.trust
            versions = (earlier_versions or _none)(experience)
            if older := next((one for one in versions if _is_revision(experience, one)), None):
                level = Trust.QUARANTINED
                report.conflicts.append((experience.id, f"its session is known with other content, as {older.id}"))
            if level is not experience.trust:
                experience = experience.model_copy(update={"trust": level})
            _tell_of_wording(experience, run.source, report)
            if lack := missing(experience):
                report.incomplete.append((experience.id, lack))
            if trust is None and rests_on_log(experience):
                report.on_log_word.append(experience.id)
            storing.take(experience)
            if progress:
                progress(len(report.added) + len(storing), 0)
        storing.finish()
    report.cost = summarizer.spending.cost - before
    forget()
    return report


def _tell_of_wording(experience: Experience, source: str, report: IngestReport) -> None:
    """Say once for each reason that the model that was asked for worded nothing."""
    for note in experience.provenance.notes:
        if note.startswith(FELL_BACK):
            message = f"worded by rules, the model could not be used: {note.removeprefix(FELL_BACK)}"
            if all(one.message != message for one in report.problems):
                report.problems.append(Problem(file=source, code="E_NOT_WORDED", message=message))


def _learn(
    run: _ReadRun, summarizer: Summarizer, reader: _Reader, report: IngestReport, *, include_failures: bool, force: bool
) -> Experience | None:
    """What is learned from a run that is not stored yet; None (and why, in the report) when nothing is."""
    if not (force or run.is_over):
        reason = "still being written, it seems; --force reads it as incomplete"
    elif run.failed and not include_failures:
        reason = "a failed run; --include-failures keeps it as a negative example"
    else:
        made = reader.summarized(summarizer, run.made) if isinstance(run.made, Trajectory) else run.made
        if isinstance(made, Experience):
            return made
        reason = str(made)
    report.skipped.append((run.source, reason))
    return None


@dataclass(frozen=True)
class _Reader:
    """How logs are read and redacted, in whatever process: their format, what is said of them, the store's key."""

    format: str
    defaults: LogDefaults
    key: bytes
    keep_observations: KeepObservations

    def runs(self, log: Found, report: ReadReport) -> Iterator[_ReadRun]:
        """The redacted runs of one log."""
        for trajectory in read_source(log, format=self.format, report=report):
            yield self.redacted(trajectory)

    def redacted(self, logged: Trajectory) -> _ReadRun:
        """A run without what was typed and what is secret."""
        trajectory = self.defaults.fill(logged)
        clean = _clean(trajectory, self.key)
        own = experience_id(clean)
        others = _ids_by_outcome(clean) - {own} if logged.outcome.success is None else ()
        return _ReadRun(
            source=_name(clean),
            id=own,
            made=clean,
            has_steps=bool(clean.steps),
            failed=clean.outcome.success is False,
            is_over=clean.complete or _is_settled(trajectory),
            others=tuple(sorted(others)),
            typed=clean.typed,
            shortened=tuple(one for one in clean.problems if one.code == SHORTENED),
        )

    def summarized(self, summarizer: Summarizer, trajectory: Trajectory) -> Experience | DataError:
        """The record of a redacted run, as it is stored; why there is none."""
        try:
            return redact_record(summarizer.summarize(trajectory), self.keep_observations)
        except DataError as error:
            return error


class Constants:
    """What the runs of each task typed, by digest; those of this job, which no index has yet, included."""

    def __init__(self, index: ExperienceIndex | None) -> None:
        self._index = index
        self._sessions: dict[str, dict[str, str]] = {}  # task → digest → the session that typed it first

    def kept(self, one: Experience, typed: Mapping[str, str]) -> Experience:
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


def _runs(
    sources: Iterable[Source], reader: _Reader, jobs: int, report: IngestReport, *, offline: bool
) -> Generator[_ReadRun, None, None]:
    """The redacted runs of all sources in their order; what could not be read goes into the report."""
    read = partial(_read_batch, reader=reader, summarize=offline)
    with _processes(jobs - 1) as pool:
        for source in sources:
            reading = ReadReport()
            if not isinstance(source, (str, os.PathLike)):
                for trajectory in _runs_of_value(source, reading):
                    yield reader.redacted(trajectory)
            elif pool is None:
                for log in find_sources(Path(source), format=reader.format, report=reading):
                    yield from reader.runs(log, reading)
            else:
                found = ReadReport()
                noted = ((log, found.take()) for log in find_sources(Path(source), format=reader.format, report=found))
                for runs, notes in _read_in_processes(noted, read, pool, jobs * _AHEAD):
                    reading.extend(notes)
                    yield from runs
                reading.extend(found)
            report.problems += reader.defaults.left(reading.problems)
            report.skipped += reading.skipped
            report.failed += reading.failed


def learn(
    run: Run,
    summarizer: Summarizer,
    *,
    key: bytes,
    constants: Constants,
    trust: Trust | None = None,
    wordings: Sequence[str] = (),
) -> Experience:
    """The record of a run that a program handed in: redacted, summarized, its unknown fields named in a note.

    `key` is the store's, for digests of what was typed; `constants` knows what earlier runs typed.

    Raises:
        SchemaError: too many other wordings, too long or empty ones.
        UsageError: they are one text instead of several.
    """
    if isinstance(wordings, str):
        raise UsageError("wordings is a list of texts, not a text")
    clean = _clean(run.trajectory, key)
    made = constants.kept(summarizer.summarize(clean), clean.typed)
    if wordings:
        state = validate(State, {**made.state.model_dump(), "wordings": tuple(wordings)})
        made = made.model_copy(update={"state": state})
    notes = (f"fields not kept: {', '.join(run.unknown)}"[:MAX_NAME],) if run.unknown else ()
    provenance = made.provenance.model_copy(update={"origin": "api", "notes": (*made.provenance.notes, *notes)})
    return made.model_copy(update={"provenance": provenance, "trust": trust or made.trust})


def _runs_of_value(source: Mapping[str, Any] | IO[Any], reading: ReadReport) -> Iterator[Trajectory]:
    """The runs of an open file, or of a run as a mapping."""
    if isinstance(source, (bytes, int)) or not (isinstance(source, (Mapping, list)) or hasattr(source, "read")):
        raise UsageError(f"a source is a path, an open file or a dict with task and steps, not {type(source).__name__}")
    name = str(getattr(source, "name", "the given value"))
    try:
        values = [source] if isinstance(source, (Mapping, list)) else json_values(source.read(), file=name)
        for value in values:
            yield from (run.trajectory for run in runs_in(value))
    except DataError as error:
        reading.failed.append((name, str(error)))


def _clean(trajectory: Trajectory, key: bytes) -> Trajectory:
    """A run without secrets. Its detours are found before: redaction takes out what was typed and what came of it."""
    trajectory = shortened(trajectory)
    found = find_detours(trajectory) if trajectory.outcome.success is not False else {}
    return redact(_without_our_prompts(trajectory).model_copy(update={"detours": found}), key)


def _ids_by_outcome(clean: Trajectory) -> set[str]:
    """The ids of a run whose log leaves open how it ended, for all that may have been said of it."""
    outcomes = (clean.outcome.model_copy(update={"success": success}) for success in (None, True, False))
    return {experience_id(clean.model_copy(update={"outcome": outcome})) for outcome in outcomes}


_Source = tuple[Found, ReadReport]  # with what was noted on the way to it
_Batch = tuple[list[_ReadRun], ReadReport]


@contextmanager
def _processes(count: int) -> Iterator[ProcessPoolExecutor | None]:
    """So many processes that read; None for none. They start at once, while this one has no other thread."""
    if not count:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(count, get_context(_start_method()), _begin_reading)
    try:
        pool.submit(os.getpid)
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _read_in_processes(
    sources: Iterator[_Source], read: Callable[[list[_Source]], _Batch], pool: ProcessPoolExecutor, most: int
) -> Iterator[_Batch]:
    """Read sources in these processes and this one; what they give comes in the order of the sources, `most` batches
    wait for their turn.
    """
    from concurrent.futures import Future
    from concurrent.futures.process import BrokenProcessPool

    ahead: deque[tuple[list[_Source], Future[_Batch]]] = deque()
    try:
        while True:
            while len(ahead) < most and (batch := list(islice(sources, _PER_TASK))):
                ahead.append((batch, pool.submit(read, batch)))
            if not ahead:
                return
            while not ahead[0][1].done() and (place := _withdrawn(ahead)) is not None:
                done: Future[_Batch] = Future()
                try:
                    done.set_result(read(ahead[place][0]))
                except ExperienceError as error:  # raised when it is its turn: what comes before it is stored
                    done.set_exception(error)
                ahead[place] = ahead[place][0], done
            yield ahead.popleft()[1].result()
    except BrokenProcessPool as error:
        raise StorageError("a process that read logs has died; what was stored before is kept") from error


def _withdrawn(ahead: Iterable[tuple[list[_Source], Future[_Batch]]]) -> int | None:
    """The place of the first batch no other process has taken, which none will take any more; None without one."""
    return next((place for place, (_, future) in enumerate(ahead) if not future.done() and future.cancel()), None)


def _start_method() -> str:
    """How a process that reads is started: a copy of this one takes 3 ms where a new one takes 300, and is safe where
    there is one thread; only Linux tells.
    """
    threads = Path("/proc/self/task")
    return "fork" if threads.is_dir() and len([*threads.iterdir()]) == 1 else "spawn"


def _begin_reading() -> None:
    """A process that only reads seldom looks for garbage, asks for no plug-ins of pydantic and ends with its parent."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """One that was killed tells nobody, and whoever waited for its next word would wait for ever."""
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def _read_batch(sources: list[_Source], *, reader: _Reader, summarize: bool) -> _Batch:
    """What one process does with some sources."""
    report = ReadReport()
    runs: list[_ReadRun] = []
    for log, before in sources:
        report.extend(before)
        runs += reader.runs(log, report)
    if summarize:
        summarizer = ExtractiveSummarizer()
        runs = [
            replace(run, made=reader.summarized(summarizer, run.made))
            for run in runs
            if isinstance(run.made, Trajectory)
        ]
    return runs, report


class _Storing:
    """Stores what was learned, in order; with a thread one group while others read the next one."""

    def __init__(self, store: ExperienceStore, thread: ThreadPoolExecutor | None, report: IngestReport) -> None:
        self._store, self._thread, self._report = store, thread, report
        self._waiting: dict[str, Experience] = {}
        self._under_way: dict[str, Experience] = {}
        self._outcome: Future[_Outcome] | None = None

    def __contains__(self, id: str) -> bool:
        return id in self._waiting or id in self._under_way

    def __len__(self) -> int:
        return len(self._waiting) + len(self._under_way)

    def take(self, made: Experience) -> None:
        """Store a record, together with others when there are enough of them."""
        self._waiting[made.id] = made
        if len(self._waiting) == COMMIT_EVERY:
            self._next()

    def finish(self) -> None:
        """Store what is left; durable when it returns. Raises what the store raises, be it of an earlier group."""
        self._next()
        self._next()

    def _next(self) -> None:
        """Report the group under way when it is stored, and begin with the one that waits."""
        if self._outcome:
            self._tell(self._outcome.result())
        self._under_way, self._waiting = self._waiting, {}
        self._outcome = None
        records = list(self._under_way.values())
        if records and self._thread:
            self._outcome = self._thread.submit(_store, self._store, records)
        elif records:
            self._tell(_store(self._store, records))
            self._under_way = {}

    def _tell(self, done: _Outcome) -> None:
        report = self._report
        report.added += done.added
        report.failed += done.failed
        report.skipped += [(identifier, "was removed from this store before") for identifier in done.skipped]
        report.conflicts = [one for one in report.conflicts if one[0] not in done.skipped]
        report.incomplete = [one for one in report.incomplete if one[0] not in done.skipped]


class _Outcome(NamedTuple):
    """What became of a group: ids that were stored, ids that were removed before, and what was over a limit."""

    added: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


def _store(store: ExperienceStore, records: Sequence[Experience]) -> _Outcome:
    """Store a group; a record over a limit is listed, and the others are stored all the same."""
    try:
        done = store.add(records)
    except SchemaError as error:
        if len(records) > 1:
            alone = [_store(store, [one]) for one in records]
            return _Outcome(*(tuple(chain.from_iterable(part)) for part in zip(*alone, strict=True)))
        only = records[0]
        return _Outcome((), (), ((only.provenance.source or only.id, str(error)),))
    return _Outcome(done.added, done.skipped)


def _none(experience: Experience) -> tuple[Experience, ...]:
    return ()


def _is_revision(new: Experience, old: Experience) -> bool:
    """True when both come from the same place and session, and the older, trusted one says something else."""
    other_content = new.provenance.content_hash != old.provenance.content_hash
    return _run_of(new) == _run_of(old) and other_content and old.trust.rank >= Trust.VERIFIED.rank


def _run_of(experience: Experience) -> tuple[str, str, str]:
    """Source, session (without the digest of its content) and request: what versions of one run have in common."""
    one = experience.provenance
    return one.source, one.session.rpartition("-")[0] or one.session, experience.state.request


def _is_settled(trajectory: Trajectory) -> bool:
    """True when none of the files was changed a moment ago."""
    files = [path for path in map(Path, trajectory.source_files) if path.is_file()]
    return all(abs(time.time() - path.stat().st_mtime) > SETTLE_SECONDS for path in files)


def _without_our_prompts(trajectory: Trajectory) -> Trajectory:
    """What memory put into a prompt is not learned again from the log of that run."""
    if not has_block(trajectory.model_dump_json()):
        return trajectory
    stripped = validate(Trajectory, strip_blocks(trajectory.model_dump()))
    undumped = {name: getattr(trajectory, name) for name, one in Trajectory.model_fields.items() if one.exclude}
    return stripped.model_copy(update=undumped)


def _name(trajectory: Trajectory) -> str:
    file = trajectory.source_files[0] if trajectory.source_files else trajectory.session
    return f"{file} ({trajectory.subtask[:60]})" if trajectory.subtask else file
