"""A folder of UFO logs → its sessions: who did what, what was in view, and how each was judged.

`response.log` has the steps. `evaluation.log` has a language model's judgement of each session. `request.log` is the
only place where v3 keeps the controls in view and the plan; v1.2.1 prints some entries of it over many lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.schema import Judge, Problem
from ufo_experience.traces.in_view import ListedControl, VisibleControls
from ufo_experience.traces.lines import JsonLines, problem
from ufo_experience.traces.ufo_lines import LogEntry, read_entry
from ufo_experience.traces.values import as_amount, as_dict, as_dicts, as_int, as_lines, as_list, as_name, first_name

RESPONSE, REQUEST, EVALUATION = "response.log", "request.log", "evaluation.log"
MAX_ENTRY = 8 << 20  # bytes of a line
MAX_REQUEST_LOG = 1 << 33  # images are dropped while reading; what is left of a longer one fits no session we keep
MAX_ENTRIES = 50_000
MAX_CONTROLS = 300
MAX_IN_WORDS = 12
CLAIMS = ("FINISH", "ALLFINISH")
_GOING_ON = ("CONTINUE", "ASSIGN", "SWITCH", "SCREENSHOT", "APP_SELECTION")
_VERDICTS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Evaluation:
    """One judgement. `complete` is the evaluator's word, None where its line could not be read.

    UFO's evaluator is a language model; a session of ours may say that a program judged.
    """

    complete: str | None = None
    reason: str = ""
    judge: Judge = "model"
    score: float | None = None
    request: str = ""

    @property
    def success(self) -> bool | None:
        """True for "yes", False for "no", None for "unsure", for any other word and for an unreadable line."""
        return _VERDICTS.get(self.complete or "")


def evaluation_of(record: dict[str, Any]) -> Evaluation:
    """Read one judgement."""
    score = as_amount(record.get("score", record.get("evaluation_score")))
    return Evaluation(
        complete=as_name(record.get("complete")).casefold(),
        reason=as_name(record.get("reason")),
        judge="program" if record.get("judge") == "program" else "model",
        score=score if score is not None and score <= 1 else None,
        request=as_name(record.get("request")),
    )


@dataclass
class StepView:
    """What the agent saw and planned before a step: the controls in the order of the log, and the plan so far."""

    listed: tuple[ListedControl, ...] = ()
    plan: tuple[str, ...] = ()

    def type_of(self, label: str, name: str) -> str:
        """The type of a control the log line names only by its label; empty when the names differ."""
        return next((one.kind for one in reversed(self.listed) if one.label == label and one.name == name), "")

    def seen(self) -> VisibleControls:
        """Name and type of each control in view."""
        return frozenset((one.name, one.kind) for one in self.listed)

    def in_words(self) -> str:
        """The first controls in view as one line, for logs that keep no observation."""
        by_label = {one.label: one for one in self.listed}.values()
        shown = [f"{one.name} ({one.kind})" if one.kind else one.name for one in by_label if one.name]
        more = f" and {len(shown) - MAX_IN_WORDS} more" if len(shown) > MAX_IN_WORDS else ""
        return f"Controls in view: {', '.join(shown[:MAX_IN_WORDS])}{more}" if shown else ""


Views = dict[int, StepView]


@dataclass
class SubTask:
    """A run of actor entries of one sub-task in one application, up to the next host entry."""

    text: str | None
    entries: list[LogEntry] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        """True when its last entry worked and says FINISH: the agent's claim, no more."""
        return not self.entries[-1].failed and self.entries[-1].status in CLAIMS


@dataclass
class UfoSession:
    """One run of UFO. `number` counts the runs of a file from 1; `first` is its first record."""

    number: int
    first: dict[str, Any]
    entries: list[LogEntry] = field(default_factory=list)
    evaluation: Evaluation | None = None
    views: Views = field(default_factory=dict)
    torn: bool = False

    @property
    def ended_in_error(self) -> bool:
        """True when the last step has an error line or says ERROR: UFO then stops and does not evaluate."""
        last = self.entries[-1]
        failed = any(entry.role == "error" and entry.step == last.step for entry in self.entries)
        return failed or last.status == "ERROR"

    @property
    def complete(self) -> bool:
        """False when the log stops before the agent did."""
        if self.torn or self.ended_in_error:
            return False
        return self.entries[-1].status not in _GOING_ON or self.evaluation is not None

    def rounds(self) -> list[list[LogEntry]]:
        """The entries of each round that has a step; error lines, which name no round, stay with the one before."""
        numbers, current = [], 0
        for entry in self.entries:
            current = entry.round if entry.role in ("host", "app") else current
            numbers.append(current)
        pairs = groupby(zip(numbers, self.entries, strict=True), key=lambda pair: pair[0])
        found = [[entry for _, entry in group] for _, group in pairs]
        return [entries for entries in found if any(entry.role != "error" for entry in entries)]


@dataclass
class UfoLog:
    """All that a folder (or one file of lines) holds."""

    path: Path
    sessions: list[UfoSession] = field(default_factory=list)
    bad_lines: int = 0
    problems: list[Problem] = field(default_factory=list)
    truncated: bool = False


def read_log(path: Path) -> UfoLog:
    """Read a session folder, or one file of UFO lines, without judging it.

    Raises `DataError` when there is no `response.log`, or it cannot be opened. Lines that are no record, sessions
    that overlap and judgements that fit no session are problems, not errors.
    """
    folder = path.parent if path.name == RESPONSE else path if path.is_dir() else None
    file = folder / RESPONSE if folder else path
    if folder and not file.exists():
        raise DataError(f"{RESPONSE} is missing", file=str(folder), code="E_MISSING")
    if folder and file.is_symlink():
        raise DataError("is a link; links are not followed", file=str(file), code="E_LINK")
    log = UfoLog(file)
    lines = JsonLines(file, max_line=MAX_ENTRY)
    _add_sessions(log, lines)
    log.problems += lines.problems
    log.bad_lines = len(lines.bad_lines)
    if log.sessions:
        log.sessions[-1].torn = lines.torn
    if folder and _is_own(folder / EVALUATION, log):
        _add_evaluations(log, folder / EVALUATION)
    if folder and _is_own(folder / REQUEST, log):
        _add_views(log, folder / REQUEST)
    for session in log.sessions:
        if verdict := session.entries[-1].verdict:  # GUI-360 rows carry the judgement of their run themselves
            session.evaluation = evaluation_of(verdict)
    return log


def subtasks_of(entries: list[LogEntry]) -> list[SubTask]:
    """Group the actor entries of one round: a host entry, or another text, index or application starts a new group."""
    found: list[SubTask] = []
    last: object = None
    for entry in entries:
        last = None if entry.role == "host" else last
        if entry.role == "app":
            key = (entry.subtask, entry.subtask_index, entry.application)
            if key != last:
                found.append(SubTask(entry.subtask))
                last = key
            found[-1].entries.append(entry)
    return found


def _add_sessions(log: UfoLog, lines: JsonLines) -> None:
    count = 0
    for number, record in lines:
        count += 1
        if count > MAX_ENTRIES:
            continue
        entry = read_entry(number, record)
        if entry.role == "unknown":
            keys = ", ".join(sorted(record)[:20])[:200]
            message = f"no known UFO release; keys: {keys}"
            log.problems.append(problem(lines.path, "E_UNKNOWN_LINE", message, number))
            continue
        if not log.sessions or _starts_anew(log.sessions[-1].entries, entry):
            log.sessions.append(UfoSession(len(log.sessions) + 1, record))
        log.sessions[-1].entries.append(entry)
    for session in log.sessions:
        _join_error_lines(session.entries)
    if count > MAX_ENTRIES:
        log.truncated = True
        message = f"{count} records; those after the first {MAX_ENTRIES} were left out"
        log.problems.append(problem(lines.path, "E_TOO_MANY", message))


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
        if entry.role == "app" and entry.step in reasons and not entry.failed:
            entry.error = reasons[entry.step] or "the step has an error line"
            for action in entry.actions:
                action.error = entry.error


def _is_own(path: Path, log: UfoLog) -> bool:
    """Tell whether a file is there and no link: a log folder must not lead us to read other files."""
    if path.is_symlink():
        log.problems.append(problem(path, "E_LINK", "is a link; links are not followed"))
        return False
    return path.is_file()


def _add_evaluations(log: UfoLog, path: Path) -> None:
    lines = JsonLines(path, several_lines=True)
    found = {number: evaluation_of(record) for number, record in lines}
    log.problems += lines.problems
    evaluations = [found.get(number, Evaluation()) for number in sorted([*found, *lines.bad_lines])]
    given = _assign(evaluations, [session.ended_in_error for session in log.sessions])
    for session, evaluation in zip(log.sessions, given, strict=True):
        session.evaluation = evaluation
    if left := len(evaluations) - sum(evaluation is not None for evaluation in given):
        message = f"{left} judgement(s) fit none of the {len(given)} session(s) for certain and were not used"
        log.problems.append(problem(path, "E_EVALUATIONS", message))


def _assign(evaluations: list[Evaluation], ended_in_error: Sequence[bool]) -> list[Evaluation | None]:
    """Give each session its judgement, in order.

    UFO does not evaluate a session that ended in an error. Where the numbers do not fit either way, only the last
    judgement is given, to the last session; the others stay unknown rather than be guessed.
    """
    given: list[Evaluation | None] = [None] * len(ended_in_error)
    judged = [place for place, failed in enumerate(ended_in_error) if not failed]
    if len(evaluations) == len(ended_in_error):
        return [*evaluations]
    if len(evaluations) == len(judged):
        for place, evaluation in zip(judged, evaluations, strict=True):
            given[place] = evaluation
    elif evaluations and given:
        given[-1] = evaluations[-1]
    return given


def _add_views(log: UfoLog, path: Path) -> None:
    lines = JsonLines(path, max_line=MAX_ENTRY, max_file=MAX_REQUEST_LOG, several_lines=True, images=False)
    found: list[Views] = []
    last = -1
    for step, view in _views(lines):
        if not found or step < last:
            found.append({})
        last = step
        found[-1][step] = view
    log.problems += lines.problems
    if len(found) == len(log.sessions):
        for session, views in zip(log.sessions, found, strict=True):
            session.views = views
    elif found:
        message = f"holds {len(found)} run(s), {RESPONSE} {len(log.sessions)}; its controls and plans were not used"
        log.problems.append(problem(path, "E_REQUEST_LOG", message))


def _views(lines: JsonLines) -> Iterator[tuple[int, StepView]]:
    for _, record in lines:
        step = as_int(record.get("step"))
        if step is not None:  # `control_info` since v1.2.1, `control_items` before; in a host entry these are windows
            merged = as_dict(record.get("control_info_recording")).get("merged_controls_info")
            listed = record.get("control_info") or record.get("control_items") or merged or record.get("os_info")
            controls = as_dicts(as_list(listed)[:MAX_CONTROLS])
            yield step, StepView(tuple(map(listed_control, controls)), as_lines(record.get("plan")))


def listed_control(item: dict[str, Any]) -> ListedControl:
    """A control in view as a mapping says it."""
    dialog, checked = item.get("dialog"), item.get("checked")
    return ListedControl(
        label=as_name(item.get("id", item.get("label"))),
        name=first_name(item, "name", "control_text")[:200],
        kind=first_name(item, "type", "control_type")[:60],
        within=as_name(item.get("within")) or None,
        dialog=dialog if isinstance(dialog, bool) else None,
        checked=checked if isinstance(checked, bool) else None,
    )
