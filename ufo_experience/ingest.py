"""Stages 1 to 3 in a row: READ → redact → SUMMARIZE → STORE.

One bad file or one item a model stumbles over never stops the others; the report names each with its reason.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ufo_experience.errors import DataError, UsageError
from ufo_experience.prompt.data_block import has_block, strip_blocks
from ufo_experience.redaction import redact
from ufo_experience.schema import MAX_NAME, Experience, Problem, Trajectory, Trust, validate
from ufo_experience.store.base import ExperienceStore
from ufo_experience.summarizer import Summarizer, experience_id
from ufo_experience.traces import ReadReport, read_traces
from ufo_experience.traces.in_memory import Run, json_values, runs_in

COMMIT_EVERY = 64  # records made durable together
QUIET_S = 2.0  # a log without an end that changed this recently is still being written

Source = str | Path | Mapping[str, Any] | IO[Any]
SameTask = Callable[[Experience], Iterable[Experience]]


@dataclass
class IngestReport:
    """Ids that were added, sources that were skipped or failed (each with why), and what it cost in US dollars.

    `problems` are lines of logs that could not be used although the rest of their file was. `conflicts` are added ids
    whose session is known with other content: they are quarantined. `known` are ids that were stored before, `trusted`
    those of them that got the trust asked for.
    """

    added: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    conflicts: list[tuple[str, str]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    cost: float = 0.0


def ingest(
    sources: Iterable[Source],
    store: ExperienceStore,
    summarizer: Summarizer,
    *,
    format: str = "auto",
    include_failures: bool = False,
    trust: Trust | None = None,
    force: bool = False,
    same_task: SameTask | None = None,
) -> IngestReport:
    """Turn logs into stored records. Durable when it returns.

    `trust` overrides the level the evidence gives (a person's decision). Failed runs are kept as negative examples
    only if `include_failures`. A log without an end that was written to a moment ago is left for later, unless
    `force`. `same_task` finds stored records of the same task: one of the same session, trusted, with other content
    means that a log was changed after it was learned from; its new version is quarantined.

    Raises:
        StorageError, LockedError: the store cannot be written; what was committed before is kept.
    """
    report = IngestReport()
    before = summarizer.spending.cost
    known = set(store.ids())
    waiting: list[Experience] = []
    for experience in _experiences(sources, summarizer, known, report, format, include_failures, force):
        level = trust or experience.trust
        if older := next((one for one in (same_task or _none)(experience) if _is_revision(experience, one)), None):
            level = Trust.QUARANTINED
            report.conflicts.append((experience.id, f"its session is known with other content, as {older.id}"))
        waiting.append(experience.model_copy(update={"trust": level}))
        if len(waiting) == COMMIT_EVERY:
            _commit(store, waiting, report)
    _commit(store, waiting, report)
    report.cost = summarizer.spending.cost - before
    return report


def _experiences(
    sources: Iterable[Source],
    summarizer: Summarizer,
    known: set[str],
    report: IngestReport,
    format: str,
    include_failures: bool,
    force: bool,
) -> Iterator[Experience]:
    for given in sources:
        reading = ReadReport()
        for trajectory in _trajectories(given, format, reading):
            source = _name(trajectory)
            clean = redact(_without_our_prompts(trajectory))
            identifier = experience_id(clean)
            if identifier in known:
                report.skipped.append((source, f"already stored as {identifier}"))
                report.known.append(identifier)
            elif not (force or clean.complete or _is_quiet(trajectory)):
                report.skipped.append((source, "still being written, it seems; --force reads it as incomplete"))
            elif clean.outcome.success is False and not include_failures:
                report.skipped.append((source, "a failed run; --include-failures keeps it as a negative example"))
            else:
                try:
                    yield summarizer.summarize(clean)
                except DataError as error:
                    report.skipped.append((source, str(error)))
                    continue
                known.add(identifier)
        report.problems += reading.problems
        report.skipped += reading.skipped
        report.failed += reading.failed


def learn(run: Run, summarizer: Summarizer, *, trust: Trust | None = None) -> Experience:
    """The record of a run that a program handed in: redacted, summarized, its unknown fields named in a note."""
    made = summarizer.summarize(redact(_without_our_prompts(run.trajectory)))
    notes = (f"fields not kept: {', '.join(run.unknown)}"[:MAX_NAME],) if run.unknown else ()
    provenance = made.provenance.model_copy(update={"origin": "api", "notes": (*made.provenance.notes, *notes)})
    return made.model_copy(update={"provenance": provenance, "trust": trust or made.trust})


def _trajectories(given: Source, format: str, reading: ReadReport) -> Iterator[Trajectory]:
    """The runs of a source: a path, an open file, or a run as a mapping."""
    if isinstance(given, (str, os.PathLike)):
        yield from read_traces(Path(given), format=format, report=reading)
        return
    if isinstance(given, (bytes, int)) or not (isinstance(given, (Mapping, list)) or hasattr(given, "read")):
        raise UsageError(f"a source is a path, an open file or a dict with task and steps, not {type(given).__name__}")
    name = str(getattr(given, "name", "the given value"))
    try:
        values = [given] if isinstance(given, (Mapping, list)) else json_values(given.read(), file=name)
        for value in values:
            yield from (run.trajectory for run in runs_in(value))
    except DataError as error:
        reading.failed.append((name, str(error)))


def _commit(store: ExperienceStore, waiting: list[Experience], report: IngestReport) -> None:
    done = store.add(waiting) if waiting else None
    if done:
        report.added += done.added
        report.skipped += [(identifier, "was removed from this store before") for identifier in done.skipped]
    waiting.clear()


def _none(experience: Experience) -> tuple[Experience, ...]:
    return ()


def _is_revision(new: Experience, old: Experience) -> bool:
    """True when both come from the same place and session, and the older, trusted one says something else."""
    one, other = new.provenance, old.provenance
    same_place = (one.source, _run_of(one.session), new.state.request) == (
        other.source,
        _run_of(other.session),
        old.state.request,
    )
    return same_place and one.content_hash != other.content_hash and old.trust.rank >= Trust.VERIFIED.rank


def _run_of(session: str) -> str:
    """The name of a session without the digest of its content."""
    return session.rpartition("-")[0] or session


def _is_quiet(trajectory: Trajectory) -> bool:
    """True when none of the files was changed a moment ago."""
    files = [path for path in map(Path, trajectory.source_files) if path.is_file()]
    return all(abs(time.time() - path.stat().st_mtime) > QUIET_S for path in files)


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
