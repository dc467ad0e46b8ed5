"""A folder of UFO logs → its sessions: who did what, what was in view, and how each was judged.

`response.log` has the steps. `evaluation.log` has a language model's judgement of each session. `request.log` is the
only place where v3 keeps the controls in view and the plan; v1.2.1 prints some entries of it over many lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from ufo_experience.controls import ListedControl
from ufo_experience.errors import DataError
from ufo_experience.schema import Judge, Problem
from ufo_experience.traces.lines import JsonLines, problem
from ufo_experience.traces.rows import listed_controls
from ufo_experience.traces.ufo_lines import LogEntry, read_entry
from ufo_experience.traces.values import Row, as_dict

LOGS = RESPONSE, REQUEST, EVALUATION = "response.log", "request.log", "evaluation.log"
MAX_ENTRY = 8 << 20  # bytes of a line
MAX_REQUEST_LOG = 1 << 33  # images are dropped while reading; what is left of a longer one fits no session we keep
MAX_IN_WORDS = 12
_GOING_ON = ("CONTINUE", "ASSIGN", "SWITCH", "SCREENSHOT", "APP_SELECTION")
_VERDICTS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Evaluation:
    """One judgement; `success` is None for "unsure", for any other word and where its line could not be read.

    UFO's evaluator is a language model; a session of ours may say that a program judged.
    """

    success: bool | None = None
    complete: bool = False  # it says something
    reason: str = ""
    judge: Judge = "model"
    score: float | None = None
    request: str = ""


def evaluation_of(record: Row) -> Evaluation:
    word, score = record.name("complete").casefold(), record.amount("score", "evaluation_score")
    judge: Judge = "program" if record.get("judge") == "program" else "model"
    return Evaluation(_VERDICTS.get(word), bool(word), record.name("reason"), judge, score, record.name("request"))


@dataclass
class StepView:
    """What the agent saw and planned before a step: the controls in the order of the log, and the plan so far."""

    listed: tuple[ListedControl, ...] = ()
    plan: tuple[str, ...] = ()

    def type_of(self, label: str, name: str) -> str:
        """The type of a control the log line names only by its label; empty when the names differ."""
        return next((one.kind for one in reversed(self.listed) if one.label == label and one.name == name), "")

    def in_words(self) -> str:
        """The first controls in view as one line, for logs that keep no observation."""
        by_label = {one.label: one for one in self.listed}.values()
        shown = [f"{one.name} ({one.kind})" if one.kind else one.name for one in by_label if one.name]
        more = f" and {len(shown) - MAX_IN_WORDS} more" if len(shown) > MAX_IN_WORDS else ""
        return f"Controls in view: {', '.join(shown[:MAX_IN_WORDS])}{more}" if shown else ""


@dataclass
class UfoSession:
    """One run of UFO. `number` counts the runs of a file from 1; `first` is its first record."""

    number: int
    first: Row
    entries: list[LogEntry] = field(default_factory=list)
    evaluation: Evaluation | None = None
    views: dict[int, StepView] = field(default_factory=dict)
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
            current = current if entry.role == "error" else entry.round
            numbers.append(current)
        pairs = groupby(zip(numbers, self.entries, strict=True), key=lambda pair: pair[0])
        found = [[entry for _, entry in group] for _, group in pairs]
        return [entries for entries in found if any(entry.role != "error" for entry in entries)]


@dataclass
class UfoLog:
    """All that a folder (or one file of lines) holds, and what of it could not be used."""

    path: Path
    sessions: list[UfoSession] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read_log(path: Path) -> UfoLog:
    """Read a session folder, or one file of UFO lines. Raises `DataError` where `response.log` cannot be opened."""
    folder = path.parent if path.name == RESPONSE else path if path.is_dir() else None
    file = folder / RESPONSE if folder else path
    if folder and not file.exists():
        raise DataError(f"{RESPONSE} is missing", file=str(folder), code="E_MISSING")
    if folder and file.is_symlink():
        raise DataError("is a link; links are not followed", file=str(file), code="E_LINK")
    log = UfoLog(file)
    _add_sessions(log)
    for name, add in ((EVALUATION, _add_evaluations), (REQUEST, _add_views)):
        beside = file.with_name(name)
        if folder and beside.is_symlink():  # a log folder must not lead us to read other files
            log.problems.append(problem(beside, "E_LINK", "is a link; links are not followed"))
        elif folder and beside.is_file():
            add(log, beside)
    for session in log.sessions:
        if verdict := session.entries[-1].verdict:  # GUI-360 rows carry the judgement of their run themselves
            session.evaluation = evaluation_of(verdict)
    return log


def _add_sessions(log: UfoLog) -> None:
    lines = JsonLines(log.path, max_line=MAX_ENTRY)
    for number, record in lines:
        entry = read_entry(number, record)
        if entry.role == "unknown":
            told = f"no known UFO release; keys: {', '.join(sorted(record)[:20])[:200]}"
            log.problems.append(problem(log.path, "E_UNKNOWN_LINE", told, number))
            continue
        if not log.sessions or _starts_anew(log.sessions[-1].entries, entry):
            log.sessions.append(UfoSession(len(log.sessions) + 1, record))
        log.sessions[-1].entries.append(entry)
    for session in log.sessions:
        _join_error_lines(session.entries)
        session.torn = lines.torn and session is log.sessions[-1]
    log.problems += lines.problems


def _starts_anew(entries: list[LogEntry], entry: LogEntry) -> bool:
    """Tell whether an entry begins another session: a re-used task name, seen by a step counter that goes back."""
    if entry.run != entries[-1].run:
        return True
    numbered = [known for known in entries[-8:] if known.counter is not None and known.role != "error"]
    if entry.counter is None or entry.role == "error" or not numbered:
        return False
    here, last = (entry.round, entry.counter), (numbered[-1].round, numbered[-1].counter or 0)
    return here == last == (0, 0) or here < last


def _join_error_lines(entries: list[LogEntry]) -> None:
    """Before v1.2 a step that fails while executing has an error line and a normal one: mark the latter as failed."""
    reasons = {entry.step: entry.error for entry in entries if entry.role == "error" and entry.step is not None}
    for entry in entries:
        if entry.role == "app" and entry.step in reasons and not entry.failed:
            entry.error = reasons[entry.step] or "the step has an error line"
            for action in entry.actions:
                action["error"] = entry.error


def _add_evaluations(log: UfoLog, path: Path) -> None:
    """Give each session its judgement, in order; UFO does not evaluate one that ended in an error.

    Where the numbers do not fit either way, only the last session gets one, the last; others stay unknown.
    """
    lines = JsonLines(path, several_lines=True)
    read = {number: evaluation_of(record) for number, record in lines}
    log.problems += lines.problems
    found = [read.get(number, Evaluation()) for number in sorted([*read, *lines.bad_lines])]
    judged = [session for session in log.sessions if not session.ended_in_error]
    takers = next((some for some in (log.sessions, judged) if len(some) == len(found)), log.sessions[-1:])
    for session, evaluation in zip(reversed(takers), reversed(found), strict=False):
        session.evaluation = evaluation
    if left := len(found) - len(takers[: len(found)]):
        told = f"{left} judgement(s) fit none of the {len(log.sessions)} session(s) for certain and were not used"
        log.problems.append(problem(path, "E_EVALUATIONS", told))


def _add_views(log: UfoLog, path: Path) -> None:
    lines = JsonLines(path, max_line=MAX_ENTRY, max_file=MAX_REQUEST_LOG, several_lines=True)
    found: list[dict[int, StepView]] = []
    last = -1
    for _, record in lines:
        if (step := record.whole("step")) is None:
            continue
        # `control_info` since v1.2.1, `control_items` before; in a host entry these are windows
        merged = record.row("control_info_recording").get("merged_controls_info")
        listed = record.first("control_info", "control_items") or merged or record.get("os_info")
        if not found or step < last:
            found.append({})
        last = step
        found[-1][step] = StepView(listed_controls(listed, _named, ("id", "label")), record.lines("plan"))
    log.problems += lines.problems
    if len(found) == len(log.sessions):
        for session, views in zip(log.sessions, found, strict=True):
            session.views = views
    elif found:
        told = f"holds {len(found)} run(s), {RESPONSE} {len(log.sessions)}; its controls and plans were not used"
        log.problems.append(problem(path, "E_REQUEST_LOG", told))


def _named(item: Any) -> tuple[str, str]:
    one = as_dict(item)
    return one.name("name", "control_text"), one.name("type", "control_type")
