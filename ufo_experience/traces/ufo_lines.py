"""One line of a UFO `response.log`, whatever release wrote it → one `LogEntry`.

The release is told line by line, as a re-used task name appends to the same file:

    execution_id and an object step            GUI-360 (a data set made with UFO)
    agent_type                                 v3
    only step, status, response, error         error line (v0.0.1 to v1.1.0)
    Agent and FunctionCall or a list Action    v2 (also v1.2.1)
    Agent and error                            v1.2.0
    Agent and AgentStep or RoundStep           v1 (v0.1.1 to v1.1.0)
    Agent                                      v0.0.1
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from typing import Any

from ufo_experience.traces.values import Row, as_dict, as_dicts, as_name, as_text, short_object

SKIPPED = "skipped: "
HOSTS = ("HostAgent", "ConstellationAgent")
_CLAIMS = ("FINISH", "ALLFINISH")
_NO_ACTION = ("", "no_action")
_OBSERVATION = ("Observation", "Thought", "observation", "thought", "comment", "result")
_ERROR_KEYS = {"step", "status", "response", "error"}
_EXECUTION_FAILED = re.compile(r"^An error occurred|doesn't have a method named")


Action = dict[str, Any]  # what `Draft.step` takes; beside it the `label` of its control, and the action's own `status`


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
    step: int | None = _said(Row.whole, "Step", "session_step", "step_id", "step")
    round: int = _said(Row.whole, "Round", "round_num", default=0)
    counter: int | None = _said(Row.whole, "Step", "round_step", "session_step", "step_id")
    request: str = _said(Row.text, "Request", "request", default="")
    subtask: str | None = _said(Row.name, "Subtask", "subtask")
    subtask_index: int | None = _said(Row.whole, "SubtaskIndex")
    application: str | None = _said(Row.name, "Application", "app_root", "application", "app_domain")
    observation: str = _said(Row.name, *_OBSERVATION, default="")
    plan: tuple[str, ...] = _said(Row.lines, "Plan", "plan", default=())
    error: str | None = _said(Row.name, "last_error")
    cost: float | None = _said(Row.amount, "Cost", "llm_cost", "cost")
    tokens: int | None = _said(Row.whole, "tokens")
    seconds: float | None = _said(Row.amount, "total_time_cost", "total_time")
    run: str = _said(Row.text, "execution_id", default="")
    actions: list[Action] = field(default_factory=list)
    verdict: Row | None = None

    @property
    def failed(self) -> bool:
        """True when the step, or one of its actions, did not work."""
        return bool(self.error) or self.status == "ERROR" or any(one["error"] is not None for one in self.actions)

    @property
    def claims_end(self) -> bool:
        return self.status in _CLAIMS


def read_entry(line: int, record: Row) -> LogEntry:
    release = release_of(record)
    if release is None:
        return LogEntry(line, "unknown", "unknown")
    if release == "error":
        step = record.whole("step")
        return LogEntry(line, release, "error", _status(record), step=step, error=as_text(record["error"]))
    entry = LogEntry(line, release, "app", _status(record))
    flat = Row({**as_dict(record["step"]), **record}) if release == "gui360" else record
    for one in fields(LogEntry):
        value = one.metadata["read"](flat, *one.metadata["keys"]) if one.metadata else None
        if value not in (None, "", ()):
            setattr(entry, one.name, value)
    {"v3": _add_v3, "gui360": _add_gui360}.get(release, _add_pascal)(entry, record)
    return entry


def release_of(record: Any) -> str | None:
    if not isinstance(record, dict):
        return None
    if "execution_id" in record and isinstance(record.get("step"), dict):
        return "gui360"
    if "agent_type" in record:
        return "v3"
    if "error" in record and set(record) <= _ERROR_KEYS:
        return "error"
    if "Agent" not in record:
        return None
    if "FunctionCall" in record or isinstance(record.get("Action"), list):
        return "v2"
    if "error" in record:
        return "v1.2.0"
    return "v1" if "AgentStep" in record or "RoundStep" in record else "v0.0.1"


def _status(record: Row) -> str | None:
    """The status as UFO compares it: trimmed, in capitals; None when there is none."""
    value = record.get("Status", record.get("status"))
    return value.strip().upper() if isinstance(value, str) else None


def _add_v3(entry: LogEntry, record: Row) -> None:
    """Keys in snake case; the same keys from every agent but the host."""
    listed = record.get("action")
    entry.actions = _actions(as_dicts(listed))
    if record.get("agent_type") in HOSTS:
        entry.role, entry.subtask = "host", None
        entry.application = record.name("application", "app_root") or None
    elif isinstance(listed, dict) or record.get("status") is None:
        entry.error = entry.error or "the step failed before its action was done"
        for action in entry.actions:
            action["error"] = action["error"] or entry.error


def _add_gui360(entry: LogEntry, record: Row) -> None:
    """A row of the GUI-360 data set; `run` groups the rows of one execution. FINISH ends a sub-task only."""
    step = as_dict(record["step"])
    status = _status(step) or ""
    entry.agent, entry.verdict = "AppAgent", record.row("evaluation") or None
    entry.status = {"FINISH": "CONTINUE", "OVERALL_FINISH": "FINISH"}.get(status, status or None)
    entry.actions = _actions([step.row("action")])


def _add_pascal(entry: LogEntry, record: Row) -> None:
    """v0.0.1 to v2: keys in PascalCase. The host's own results say nothing of the action."""
    entry.error = _phase_error(record)
    if entry.agent in HOSTS or (entry.agent == "AppAgent" and entry.release == "v0.0.1"):
        entry.role, entry.subtask, entry.subtask_index = "host", None, None
    listed = record.get("Action")
    if isinstance(listed, list) and (listed or not entry.error):
        entry.actions = _actions(as_dicts(listed), record.rows("ControlLog"))
        for action in entry.actions if entry.role == "host" else []:
            action["error"] = None
    else:
        entry.actions = _flat_action(record, entry)
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
    name = item.name("ControlText", "control_text", "control_test") or target.name("name", "control_name")
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


def _phase_error(record: Row) -> str | None:
    """The reason in v1.2's `error` field: `{phase: {type, message, traceback}}`, empty when all went well."""
    found = record.get("error")
    if not isinstance(found, dict):
        return as_name(found) or None
    told = (f"{phase}: {as_text(as_dict(item).get('message') or item)}" for phase, item in found.items())
    return "; ".join(told) or None


def _is_password(item: Row) -> bool:
    return any(key.replace("_", "").casefold() == "ispassword" and value is True for key, value in item.items())
