"""A folder of UFO logs → its sessions: who did what, in which sub-task, and how it was judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from ufo_experience.errors import TraceError
from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem
from ufo_experience.traces.json_lines import JsonLines
from ufo_experience.traces.ufo.entry import LogEntry
from ufo_experience.traces.ufo.evaluation import Evaluation, EvaluationLog, assign, evaluation_of, read_evaluations
from ufo_experience.traces.ufo.lines import read_entry
from ufo_experience.traces.ufo.requests import Views, read_views

RESPONSE, REQUEST, EVALUATION = "response.log", "request.log", "evaluation.log"
MAX_RESPONSE = 8 << 20
MAX_ENTRIES = 50_000
_GOING_ON = ("CONTINUE", "ASSIGN", "SWITCH", "SCREENSHOT", "APP_SELECTION")


@dataclass
class SubTask:
    """A run of actor entries of one sub-task in one application, up to the next host entry."""

    text: str | None
    index: int | None
    round: int
    entries: list[LogEntry] = field(default_factory=list)

    @property
    def application(self) -> str | None:
        """The process the sub-task ran in."""
        return self.entries[0].application

    @property
    def finished(self) -> bool:
        """True when its last entry worked and says FINISH: the agent's claim, no more."""
        return not self.entries[-1].failed and self.entries[-1].status in ("FINISH", "ALLFINISH")


@dataclass
class UfoSession:
    """One run of UFO. `number` counts the runs of a file from 1; `digest` is that of its first record."""

    number: int
    digest: str
    entries: list[LogEntry] = field(default_factory=list)
    evaluation: Evaluation | None = None
    views: Views = field(default_factory=dict)
    torn: bool = False

    @property
    def ended_in_error(self) -> bool:
        """True when the last step has an error line or says ERROR: UFO then stops and does not evaluate."""
        last = self.entries[-1]
        lines = [entry for entry in self.entries if entry.role == "error" and entry.step == last.step]
        return bool(lines) or last.status == "ERROR"

    @property
    def complete(self) -> bool:
        """False when the log stops before the agent did."""
        if self.torn or self.ended_in_error:
            return False
        return self.entries[-1].status not in _GOING_ON or self.evaluation is not None

    def rounds(self) -> list[list[LogEntry]]:
        """Return the entries of each round; error lines, which name no round, stay with the one they follow."""
        numbers, current = [], 0
        for entry in self.entries:
            current = entry.round if entry.role in ("host", "app") else current
            numbers.append(current)
        pairs = zip(numbers, self.entries, strict=True)
        return [[entry for _, entry in group] for _, group in groupby(pairs, key=lambda pair: pair[0])]


@dataclass
class UfoLog:
    """All that a folder (or one file of lines) holds. `bad_lines` are the numbers of lines that are no record."""

    path: Path
    sessions: list[UfoSession] = field(default_factory=list)
    records: int = 0
    bad_lines: list[int] = field(default_factory=list)
    blank_lines: int = 0
    evaluation: EvaluationLog = field(default_factory=EvaluationLog)
    problems: list[Problem] = field(default_factory=list)
    truncated: bool = False

    def entries(self) -> Iterator[LogEntry]:
        """Yield the entries of all sessions."""
        for session in self.sessions:
            yield from session.entries


def read_entries(path: Path) -> UfoLog:
    """Read a session folder, or one file of UFO lines, without judging it.

    Raises `TraceError` when there is no `response.log`, or it cannot be opened. Lines that are no record, sessions
    that overlap and judgements that fit no session are problems, not errors.
    """
    path = Path(path)
    folder = path.parent if path.name == RESPONSE else path if path.is_dir() else None
    file = folder / RESPONSE if folder else path
    if folder and not file.exists():
        raise TraceError(f"{RESPONSE} is missing", file=str(folder), code="E_MISSING")
    if folder and file.is_symlink():
        raise TraceError("is a link; links are not followed", file=str(file), code="E_LINK")
    log = UfoLog(file)
    lines = JsonLines(file, max_line=MAX_RESPONSE)
    log.sessions = _sessions(lines, log)
    log.problems += lines.problems
    log.bad_lines, log.blank_lines = lines.bad_lines, lines.blank_lines
    if log.sessions:
        log.sessions[-1].torn = lines.torn
    if folder and _is_own(folder / EVALUATION, log):
        _add_evaluations(log, folder / EVALUATION)
    if folder and _is_own(folder / REQUEST, log):
        _add_views(log, folder / REQUEST)
    _add_verdicts(log.sessions)
    return log


def subtasks_of(entries: list[LogEntry]) -> list[SubTask]:
    """Group the actor entries of one round: a host entry, or another text, index or application starts a new group."""
    found: list[SubTask] = []
    last: object = None
    for entry in entries:
        if entry.role == "host":
            last = None
        if entry.role != "app":
            continue
        key = (entry.subtask, entry.subtask_index, entry.application)
        if key != last:
            found.append(SubTask(entry.subtask, entry.subtask_index, entry.round))
            last = key
        found[-1].entries.append(entry)
    return found


def _sessions(lines: JsonLines, log: UfoLog) -> list[UfoSession]:
    sessions: list[UfoSession] = []
    for number, record in lines:
        log.records += 1
        if log.records > MAX_ENTRIES:
            log.truncated = True
            continue
        entry = read_entry(number, record)
        if entry.role == "unknown":
            keys = ", ".join(sorted(record)[:20])[:200]
            log.problems.append(_problem(lines.path, number, "E_UNKNOWN_LINE", f"no known UFO release; keys: {keys}"))
            continue
        if not sessions or _starts_anew(sessions[-1].entries, entry):
            sessions.append(UfoSession(len(sessions) + 1, content_hash(record)))
        sessions[-1].entries.append(entry)
    for session in sessions:
        _join_error_lines(session.entries)
    if log.truncated:
        message = f"{log.records} records; those after the first {MAX_ENTRIES} were left out"
        log.problems.append(_problem(lines.path, None, "E_TOO_MANY", message))
    return sessions


def _starts_anew(entries: list[LogEntry], entry: LogEntry) -> bool:
    """Tell whether an entry begins another session: a re-used task name, seen by a step counter that goes back."""
    if entry.run != entries[-1].run:
        return True
    numbered = [known for known in entries[-8:] if known.counter is not None and known.role != "error"]
    if entry.counter is None or entry.role == "error" or not numbered:
        return False
    last = numbered[-1]
    if (entry.round, entry.counter) == (0, 0) == (last.round, last.counter):
        return True
    return entry.round < last.round or (entry.round == last.round and entry.counter < (last.counter or 0))


def _join_error_lines(entries: list[LogEntry]) -> None:
    """Before v1.2 a step that fails while executing has an error line and a normal one: mark the latter as failed."""
    reasons = {entry.step: entry.error for entry in entries if entry.role == "error" and entry.step is not None}
    for entry in entries:
        if entry.role != "app" or entry.step not in reasons or entry.failed:
            continue
        entry.error = reasons[entry.step] or "the step has an error line"
        for action in entry.actions:
            action.error = entry.error


def _is_own(path: Path, log: UfoLog) -> bool:
    """Tell whether a file is there and no link: a log folder must not lead us to read other files."""
    if path.is_symlink():
        log.problems.append(_problem(path, None, "E_LINK", "is a link; links are not followed"))
        return False
    return path.is_file()


def _add_evaluations(log: UfoLog, path: Path) -> None:
    log.evaluation = read_evaluations(path)
    log.problems += log.evaluation.problems
    given = assign(log.evaluation.evaluations, [session.ended_in_error for session in log.sessions])
    for session, evaluation in zip(log.sessions, given, strict=True):
        session.evaluation = evaluation
    left = len(log.evaluation.evaluations) - sum(evaluation is not None for evaluation in given)
    if left:
        message = f"{left} judgement(s) fit none of the {len(given)} session(s) for certain and were not used"
        log.problems.append(_problem(path, None, "E_EVALUATIONS", message))


def _add_views(log: UfoLog, path: Path) -> None:
    views = read_views(path, log.problems)
    if len(views) == len(log.sessions):
        for session, found in zip(log.sessions, views, strict=True):
            session.views = found
    elif views:
        message = f"holds {len(views)} run(s), {RESPONSE} {len(log.sessions)}; its controls and plans were not used"
        log.problems.append(_problem(path, None, "E_REQUEST_LOG", message))


def _add_verdicts(sessions: list[UfoSession]) -> None:
    """GUI-360 rows carry the judgement of their run themselves."""
    for session in sessions:
        if verdict := session.entries[-1].verdict:
            session.evaluation = evaluation_of(verdict)


def _problem(path: Path, line: int | None, code: str, message: str) -> Problem:
    return Problem(file=str(path), line=line, code=code, message=message)
