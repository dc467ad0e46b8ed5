"""A folder of UFO logs → its sessions: who did what, what was in view, and how each was judged.

`response.log` has the steps. `evaluation.log` has a language model's judgement of each session. `request.log` is the
only place where v3 keeps the controls in view and the plan; v1.2.1 prints some entries of it over many lines. The
release is told line by line, as a re-used task name appends to the same file:

    agent_type                                 v3
    only step, status, response, error         error line (v0.0.1 to v1.1.0)
    Agent and FunctionCall or a list Action    v2 (also v1.2.1)
    Agent and error                            v1.2.0
    Agent and AgentStep or RoundStep           v1 (v0.1.1 to v1.1.0)
    Agent                                      v0.0.1
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ufo_experience.controls import ListedControl
from ufo_experience.errors import DataError
from ufo_experience.schema import Judge, Problem
from ufo_experience.traces.lines import JsonLines, problem
from ufo_experience.traces.rows import listed_controls
from ufo_experience.traces.values import Row, as_dict, as_dicts, as_text, short_object

RESPONSE, REQUEST, EVALUATION = "response.log", "request.log", "evaluation.log"
MAX_REQUEST_LOG = 1 << 33  # images are dropped while reading; what is left of a longer one fits no session we keep
_GOING_ON = ("CONTINUE", "ASSIGN", "SWITCH", "SCREENSHOT", "APP_SELECTION")
_VERDICTS = {"yes": True, "no": False}
SKIPPED = "skipped: "
HOSTS = ("HostAgent", "ConstellationAgent")
_CLAIMS = ("FINISH", "ALLFINISH")
_NO_ACTION = ("", "no_action")
_OBSERVATION = ("Observation", "Thought", "observation", "thought", "comment", "result")
_ERROR_KEYS = {"step", "status", "response", "error"}
_EXECUTION_FAILED = re.compile(r"^An error occurred|doesn't have a method named")

Action = dict[str, Any]  # what `Draft.step` takes; beside it the `label` of its control, and the action's own `status`


def _phases(record: Row, *keys: str) -> str:
    """What went wrong: a text, or `{phase: {type, message, traceback}}` (v1.2), empty when all went well."""
    phases = record.get(keys[0])
    if isinstance(phases, dict):
        return "; ".join(f"{phase}: {as_text(as_dict(item).get('message') or item)}" for phase, item in phases.items())
    return record.name(*keys)


def _said(read: Callable[..., Any], *keys: str, default: Any = None) -> Any:
    """A field that a line says: the method of `Row` that reads it, and its keys in all releases."""
    return field(default=default, metadata={"read": read, "keys": keys})


@dataclass
class LogEntry:
    """One record of a log. `role` is host, app, error or unknown; `counter` is the step within its round.

    v3 writes neither observation nor thought: `result` is what the agent itself says of the step.
    """

    line: int
    release: str
    role: str
    status: str | None = None
    agent: str = _said(Row.name, "Agent", "agent_name", "agent_type", default="")
    step: int | None = _said(Row.whole, "Step", "session_step", "step")
    round: int = _said(Row.whole, "Round", "round_num", default=0)
    counter: int | None = _said(Row.whole, "Step", "round_step", "session_step")
    request: str = _said(Row.text, "Request", "request", default="")
    subtask: str | None = _said(Row.name, "Subtask", "subtask")
    subtask_index: int | None = _said(Row.whole, "SubtaskIndex")
    application: str | None = _said(Row.name, "Application", "application", "app_root")
    observation: str = _said(Row.name, *_OBSERVATION, default="")
    plan: tuple[str, ...] = _said(Row.lines, "Plan", "plan", default=())
    error: str | None = _said(_phases, "error", "last_error")
    cost: float | None = _said(Row.amount, "Cost", "llm_cost", "cost")
    tokens: int | None = _said(Row.whole, "tokens")
    seconds: float | None = _said(Row.amount, "total_time_cost", "total_time")
    actions: list[Action] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """True when the step, or one of its actions, did not work."""
        return bool(self.error) or self.status == "ERROR" or any(one["error"] is not None for one in self.actions)

    @property
    def claims_end(self) -> bool:
        return self.status in _CLAIMS


def read_entry(line: int, record: Row) -> LogEntry:
    release = release_of(record) or "unknown"
    entry = LogEntry(line, release, release if release in ("error", "unknown") else "app", _status(record))
    for one in fields(LogEntry):
        value = one.metadata["read"](record, *one.metadata["keys"]) if one.metadata else None
        if value not in (None, "", ()):
            setattr(entry, one.name, value)
    if entry.role != "app":
        return entry
    is_host = entry.agent in HOSTS or record.get("agent_type") in HOSTS
    if is_host or (entry.agent == "AppAgent" and release == "v0.0.1"):
        entry.role, entry.subtask, entry.subtask_index = "host", None, None
    _add_actions(entry, record)
    return entry


def release_of(record: Any) -> str | None:
    if not isinstance(record, dict):
        return None
    signs = {
        "v3": "agent_type" in record,
        "error": "error" in record and set(record) <= _ERROR_KEYS,
        None: "Agent" not in record,
        "v2": "FunctionCall" in record or isinstance(record.get("Action"), list),
        "v1.2.0": "error" in record,
        "v1": "AgentStep" in record or "RoundStep" in record,
    }
    return next((release for release, told in signs.items() if told), "v0.0.1")


def _status(record: Row) -> str | None:
    """The status as UFO compares it: trimmed, in capitals; None when there is none."""
    value = record.get("Status", record.get("status"))
    return value.strip().upper() if isinstance(value, str) else None


def _add_actions(entry: LogEntry, record: Row) -> None:
    """What was done, and what the line as a whole says of whether it worked.

    v3 writes a single action for a step that failed before it was done. In v0.0.1 to v1.2.0, and where v2 failed before
    its actions, the line itself is the action; a host of v2 has its own status where the result of an action belongs.
    """
    is_v3 = entry.release == "v3"
    listed = record.get("action" if is_v3 else "Action")
    if is_v3 or (isinstance(listed, list) and (listed or not entry.error)):
        entry.actions = _actions(as_dicts(listed), record.rows("ControlLog"))
        for action in entry.actions if entry.role == "host" and not is_v3 else ():
            action["error"] = None
    else:
        entry.actions = _flat_action(record, entry)
    if is_v3 and entry.role == "app" and (isinstance(listed, dict) or record.get("status") is None):
        entry.error = entry.error or "the step failed before its action was done"
        for action in entry.actions:
            action["error"] = action["error"] or entry.error
    if entry.status is None and record.get("ActionList"):
        tried = (one["status"] for one in reversed(entry.actions) if not (one["error"] or "").startswith(SKIPPED))
        entry.status = next(tried, None)


def _actions(items: list[Row], controls: Sequence[Row] = ()) -> list[Action]:
    """The actions of a line, each with its control, which v2 keeps in a list beside them."""
    found = [_action(item, control or Row()) for item, control in zip_longest(items, controls[: len(items)])]
    return [action for action in found if action["action_type"] not in _NO_ACTION]


def _action(item: Row, control: Row) -> Action:
    target, outcome = item.row("target") or control, item.row("result", "Results")
    given = short_object(item.first("arguments", "Args", "args"))
    # v3 mixes the locator into the arguments; without an id, a name is a real argument.
    located = Row(given) if "arguments" in item else Row()
    name = item.name("ControlText", "control_text") or target.name("name", "control_name")
    return {
        "action_type": item.name("function", "Function"),
        "parameters": {key: value for key, value in given.items() if "id" not in located or key not in ("id", "name")},
        "control": name or located.name("name"),
        "control_type": target.name("type", "control_type") or item.name("control_type"),
        "within": target.name("within"),
        "result": outcome.text("result", "return_value"),
        "error": _error(outcome),
        "secret": _is_password(item) or _is_password(target),
        "label": item.name("ControlLabel") or target.name("id") or located.name("id"),
        "status": _status(item),
    }


def _error(outcome: Row) -> str | None:
    status, reason = outcome.name("status"), outcome.name("error")
    if status in ("failure", "error"):
        reason = reason or outcome.name("result") or "failed"
        return SKIPPED + reason if reason.startswith("Early stop") else reason
    skipped = status in ("skipped", "none") or ("status" in outcome and not status)
    return SKIPPED + (reason or "not executed") if skipped else None


def _flat_action(record: Row, entry: LogEntry) -> list[Action]:
    action = _action(record, Row())
    if entry.role == "host":
        action |= {"action_type": "set_focus" if action["control"] else "", "parameters": {}}
        if record.get("ActionType") == "Bash":
            action |= {"action_type": "run_shell", "parameters": {"command": record.text("Bash")}}
    if action["action_type"] in _NO_ACTION or entry.status == "SCREENSHOT":
        return []
    result = record.text("Results")
    error = entry.error or (result if _EXECUTION_FAILED.search(result) else None)
    if error is None and entry.status == "ERROR":
        error = "the step ended with status ERROR"
    if record.name("UserConfirm").casefold() == "no":
        error = SKIPPED + "the user did not allow it"
    return [action | {"error": error, "result": "" if error else result}]


def _is_password(item: Row) -> bool:
    return any(key.replace("_", "").casefold() == "ispassword" and value is True for key, value in item.items())


# ---- sessions ----


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


@dataclass
class UfoSession:
    """One run of UFO in the file `path`. `number` counts the runs of a file from 1; `first` is its first record."""

    path: Path
    number: int
    first: Row
    entries: list[LogEntry] = field(default_factory=list)
    evaluation: Evaluation | None = None
    views: dict[int, StepView] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
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
        found: list[list[LogEntry]] = [[]]
        current = 0
        for entry in self.entries:
            if entry.role != "error" and entry.round != current:
                current = entry.round
                found.append([])
            found[-1].append(entry)
        return [entries for entries in found if any(entry.role != "error" for entry in entries)]


def read_log(path: Path, problems: list[Problem]) -> list[UfoSession]:
    """The sessions of a folder, or of one file of UFO lines. Raises `DataError` where `response.log` cannot be opened.

    A session has the problems of its own lines; those of the folder as a whole go to the last.
    """
    folder = path.parent if path.name == RESPONSE else path if path.is_dir() else None
    file = folder / RESPONSE if folder else path
    if folder and not file.exists():
        raise DataError(f"{RESPONSE} is missing", file=str(folder), code="E_MISSING")
    if folder and file.is_symlink():
        raise DataError("is a link; links are not followed", file=str(file), code="E_LINK")
    sessions = _sessions_in(file, problems)
    for name, add in ((EVALUATION, _add_evaluations), (REQUEST, _add_views)):
        beside = file.with_name(name)
        if folder and beside.is_symlink():  # a log folder must not lead us to read other files
            problems.append(problem(beside, "E_LINK", "is a link; links are not followed"))
        elif folder and beside.is_file():
            add(sessions, beside, problems)
    for one in problems if sessions else ():
        line = one.line if one.file == str(file) else None
        begun = sum(session.entries[0].line <= line for session in sessions[1:]) if line is not None else -1
        sessions[begun].problems.append(one)
    return sessions


def _sessions_in(path: Path, problems: list[Problem]) -> list[UfoSession]:
    sessions: list[UfoSession] = []
    lines = JsonLines(path, problems=problems)
    for number, record in lines:
        entry = read_entry(number, record)
        if entry.role == "unknown":
            told = f"no known UFO release; keys: {', '.join(sorted(record)[:20])[:200]}"
            problems.append(problem(path, "E_UNKNOWN_LINE", told, number))
            continue
        if not sessions or _starts_anew(sessions[-1].entries, entry):
            sessions.append(UfoSession(path, len(sessions) + 1, record))
        sessions[-1].entries.append(entry)
    for session in sessions:
        _join_error_lines(session.entries)
        session.torn = lines.torn and session is sessions[-1]
    return sessions


def _starts_anew(entries: list[LogEntry], entry: LogEntry) -> bool:
    """Tell whether an entry begins another session: a re-used task name, seen by a step counter that goes back."""
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


def _add_evaluations(sessions: list[UfoSession], path: Path, problems: list[Problem]) -> None:
    """Give each session its judgement, in order; UFO does not evaluate one that ended in an error.

    Where the numbers do not fit either way, only the last session gets one, the last; others stay unknown.
    """
    lines = JsonLines(path, several_lines=True, problems=problems)
    read = {number: evaluation_of(record) for number, record in lines}
    found = [read.get(number, Evaluation()) for number in sorted([*read, *lines.bad_lines])]
    judged = [session for session in sessions if not session.ended_in_error]
    takers = next((some for some in (sessions, judged) if len(some) == len(found)), sessions[-1:])
    for session, evaluation in zip(reversed(takers), reversed(found), strict=False):
        session.evaluation = evaluation
    if left := len(found) - len(takers[: len(found)]):
        told = f"{left} judgement(s) fit none of the {len(sessions)} session(s) for certain and were not used"
        problems.append(problem(path, "E_EVALUATIONS", told))


def _add_views(sessions: list[UfoSession], path: Path, problems: list[Problem]) -> None:
    lines = JsonLines(path, max_file=MAX_REQUEST_LOG, several_lines=True, problems=problems)
    found: list[dict[int, StepView]] = []
    for _, record in lines:
        if (step := record.whole("step")) is None:
            continue
        # `control_info` since v1.2.1, `control_items` before; in a host entry these are windows
        merged = record.row("control_info_recording").get("merged_controls_info")
        listed = record.first("control_info", "control_items") or merged or record.get("os_info")
        if not found or step < max(found[-1]):
            found.append({})
        found[-1][step] = StepView(listed_controls(listed, _named, ("id", "label")), record.lines("plan"))
    if len(found) == len(sessions):
        for session, views in zip(sessions, found, strict=True):
            session.views = views
    elif found:
        told = f"holds {len(found)} run(s), {RESPONSE} {len(sessions)}; its controls and plans were not used"
        problems.append(problem(path, "E_REQUEST_LOG", told))


def _named(item: Any) -> tuple[str, str]:
    one = as_dict(item)
    return one.name("name", "control_text"), one.name("type", "control_type")
