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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ufo_experience.traces.values import (
    as_amount,
    as_dict,
    as_dicts,
    as_int,
    as_lines,
    as_list,
    as_name,
    as_text,
    first_name,
    parse_literal,
    short_object,
)

SKIPPED = "skipped: "
HOSTS = ("HostAgent", "ConstellationAgent")
_NO_ACTION = ("", "no_action")
_ERROR_KEYS = {"step", "status", "response", "error"}
_EXECUTION_FAILED = re.compile(r"^An error occurred|doesn't have a method named")


@dataclass
class LoggedAction:
    """An action as logged. `error` None means it worked; it starts with SKIPPED when it was never tried."""

    function: str
    arguments: dict[str, Any] = field(default_factory=dict)
    control: str = ""
    control_type: str = ""
    label: str = ""
    result: str = ""
    error: str | None = None
    status: str | None = None
    secret: bool = False
    within: str = ""

    @property
    def skipped(self) -> bool:
        """True when the action was not tried."""
        return self.error is not None and self.error.startswith(SKIPPED)


@dataclass
class LogEntry:
    """One record of a log. `role` is host, app, error or unknown; `counter` is the step within its round."""

    line: int
    release: str
    role: str
    agent: str = ""
    step: int | None = None
    round: int = 0
    counter: int | None = None
    status: str | None = None
    request: str = ""
    subtask: str | None = None
    subtask_index: int | None = None
    application: str | None = None
    observation: str = ""
    plan: tuple[str, ...] = ()
    actions: list[LoggedAction] = field(default_factory=list)
    error: str | None = None
    cost: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    run: str = ""
    verdict: dict[str, Any] | None = None

    @property
    def failed(self) -> bool:
        """True when the step, or one of its actions, did not work."""
        return bool(self.error) or self.status == "ERROR" or any(action.error is not None for action in self.actions)


def _name_or_none(value: Any) -> str | None:
    return as_name(value) or None


# What a line says → how it is read. Under which key it stands is another table for each family of releases.
_FIELDS: dict[str, Callable[[Any], Any]] = {
    "agent": as_name, "step": as_int, "counter": as_int, "round": lambda value: as_int(value) or 0,
    "request": as_text, "application": _name_or_none, "observation": as_name, "subtask": _name_or_none,
    "subtask_index": as_int, "plan": as_lines, "cost": as_amount, "tokens": as_int, "seconds": as_amount,
    "error": _name_or_none, "run": as_text,
}  # fmt: skip
_PASCAL: dict[str, tuple[str, ...]] = {
    "agent": ("Agent",), "step": ("Step",), "counter": ("Step",), "round": ("Round",), "request": ("Request",),
    "application": ("Application",), "observation": ("Observation", "Thought", "observation", "thought"),
    "subtask": ("Subtask",), "subtask_index": ("SubtaskIndex",), "plan": ("Plan",), "cost": ("Cost",),
    "seconds": ("total_time_cost",),
}  # fmt: skip
# v3 writes neither observation nor thought; `result` is what the agent itself says of the step.
_V3: dict[str, tuple[str, ...]] = {
    "agent": ("agent_name", "agent_type"), "step": ("session_step", "step"), "counter": ("round_step", "session_step"),
    "round": ("round_num",), "request": ("request",), "application": ("app_root", "application"),
    "observation": ("observation", "thought", "comment", "result"), "subtask": ("subtask",), "plan": ("plan",),
    "cost": ("llm_cost", "cost"), "tokens": ("tokens",), "seconds": ("total_time",), "error": ("last_error",),
}  # fmt: skip
_GUI360: dict[str, tuple[str, ...]] = {
    "step": ("step_id",), "counter": ("step_id",), "request": ("request",), "application": ("app_domain",),
    "run": ("execution_id",), "subtask": ("subtask",), "observation": ("observation", "thought"),
}  # fmt: skip


def read_entry(line: int, record: dict[str, Any]) -> LogEntry:
    """Turn a record into a `LogEntry`; a record of no known release gets the role "unknown"."""
    release = release_of(record)
    return _READERS.get(release, _pascal)(line, record, release) if release else LogEntry(line, "unknown", "unknown")


def release_of(record: Any) -> str | None:
    """Tell which release of UFO wrote a record; None when none did."""
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


def _fields(record: Mapping[str, Any], keys: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    return {name: _read(record, name, places) for name, places in keys.items()} | {"status": _status(record)}


def _read(record: Mapping[str, Any], name: str, places: tuple[str, ...]) -> Any:
    """A field of a line: what the first of its keys says that says anything."""
    read = _FIELDS[name]
    return next((value for key in places if (value := read(record.get(key))) not in (None, "", ())), read(None))


def _status(record: Mapping[str, Any]) -> str | None:
    """The status as UFO compares it: trimmed, in capitals; None when there is none."""
    value = record.get("Status", record.get("status"))
    return value.strip().upper() if isinstance(value, str) else None


def _is_password(item: dict[str, Any]) -> bool:
    """True when the log flags a control as a password field."""
    return any(key.replace("_", "").casefold() == "ispassword" and value is True for key, value in item.items())


def _v3(line: int, record: dict[str, Any], release: str) -> LogEntry:
    """v3: keys in snake case; the same keys from every agent but the host."""
    host = record.get("agent_type") in HOSTS
    entry = LogEntry(line, release, "host" if host else "app", **_fields(record, _V3))
    listed = record.get("action")
    entry.actions = [_v3_action(item) for item in as_dicts(listed) if as_name(item.get("function")) not in _NO_ACTION]
    if host:
        entry.application, entry.subtask = first_name(record, "application", "app_root") or None, None
    elif isinstance(listed, dict) or record.get("status") is None:
        entry.error = entry.error or "the step failed before its action was done"
        for action in entry.actions:
            action.error = action.error or entry.error
    return entry


def _v3_action(item: dict[str, Any]) -> LoggedAction:
    arguments, target, outcome = (as_dict(item.get(key)) for key in ("arguments", "target", "result"))
    status, failure = as_name(outcome.get("status")), None
    if status in ("failure", "error"):
        failure = first_name(outcome, "error", "result") or "failed"
    elif status in ("skipped", "none"):
        failure = SKIPPED + (as_name(outcome.get("error")) or "not executed")
    return LoggedAction(
        as_name(item.get("function")),
        short_object(arguments),
        control=as_name(target.get("name")) or as_name(arguments.get("name")),
        control_type=as_name(target.get("type")),
        label=as_name(target.get("id")) or as_name(arguments.get("id")),
        result=as_text(outcome.get("result")),
        error=failure,
        status=_status(item),
        secret=_is_password(item) or _is_password(target),
        within=as_name(target.get("within")),
    )


def _gui360(line: int, record: dict[str, Any], release: str) -> LogEntry:
    """A row of the GUI-360 data set; `run` groups the rows of one execution."""
    step = as_dict(record.get("step"))
    entry = LogEntry(line, release, "app", **_fields({**step, **record}, _GUI360))
    entry.agent, entry.verdict, status = "AppAgent", as_dict(record.get("evaluation")) or None, _status(step)
    # FINISH ends a sub-task only, OVERALL_FINISH the run.
    entry.status = {"FINISH": "CONTINUE", "OVERALL_FINISH": "FINISH"}.get(status or "", status)
    item = as_dict(step.get("action"))
    if (function := as_name(item.get("function"))) not in _NO_ACTION:
        given = item.get("args")
        arguments = short_object(parse_literal(given) if isinstance(given, str) else given)
        control = first_name(item, "control_text", "control_test")
        entry.actions = [LoggedAction(function, arguments, control, as_name(item.get("control_type")))]
    return entry


def _error_line(line: int, record: dict[str, Any], release: str) -> LogEntry:
    step = as_int(record.get("step"))
    error = as_text(record["error"])
    return LogEntry(line, release, "error", step=step, counter=step, status=_status(record), error=error)


def _pascal(line: int, record: dict[str, Any], release: str) -> LogEntry:
    """v0.0.1 to v2: keys in PascalCase."""
    agent = record.get("Agent")
    role = "host" if agent in HOSTS or (agent == "AppAgent" and release == "v0.0.1") else "app"
    entry = LogEntry(line, release, role, **_fields(record, _PASCAL), error=_phase_error(record))
    if role == "host":
        entry.subtask = entry.subtask_index = None
    listed = record.get("Action")
    if isinstance(listed, list) and (listed or not entry.error):
        entry.actions = _listed_actions(record, listed, role)
    else:
        entry.actions = _flat_action(record, entry)
    if entry.status is None and record.get("ActionList"):
        entry.status = next((action.status for action in reversed(entry.actions) if not action.skipped), None)
    return entry


def _flat_action(record: dict[str, Any], entry: LogEntry) -> list[LoggedAction]:
    """The one action of a line that has its parts at the top level."""
    control = as_name(record.get("ControlText"))
    function, arguments = as_name(record.get("Function")), short_object(record.get("Args"))
    if entry.role == "host":
        function, arguments = "set_focus" if control else "", {}
        if record.get("ActionType") == "Bash":
            function, arguments = "run_shell", {"command": as_text(record.get("Bash"))}
    if function in _NO_ACTION or entry.status == "SCREENSHOT":
        return []
    result = as_text(record.get("Results"))
    failure = entry.error or (result if _EXECUTION_FAILED.search(result) else None)
    if failure is None and entry.status == "ERROR":
        failure = "the step ended with status ERROR"
    if as_name(record.get("UserConfirm")).casefold() == "no":
        failure = SKIPPED + "the user did not allow it"
    action = LoggedAction(
        function,
        arguments,
        control,
        control_type=as_name(record.get("control_type")),
        label=as_name(record.get("ControlLabel")),
        result="" if failure else result,
        error=failure,
        secret=_is_password(record),
    )
    return [action]


def _listed_actions(record: dict[str, Any], listed: list[Any], role: str) -> list[LoggedAction]:
    """v1.2.1 and v2: a list of actions, each with its own result."""
    controls = as_list(record.get("ControlLog"))
    found = []
    for number, item in enumerate(map(as_dict, listed)):
        control = as_dict(controls[number]) if number < len(controls) else {}
        outcome = as_dict(item.get("Results"))
        action = LoggedAction(
            as_name(item.get("Function")),
            short_object(item.get("Args")),
            control=as_name(item.get("ControlText")) or as_name(control.get("control_name")),
            control_type=as_name(control.get("control_type")),
            label=as_name(item.get("ControlLabel")),
            result=as_text(outcome.get("return_value")),
            # A host line keeps the agent's status there, which says nothing about the action.
            error=_listed_error(outcome) if role == "app" else None,
            status=_status(item),
            secret=_is_password(item) or _is_password(control),
        )
        found += [action] if action.function not in _NO_ACTION else []
    return found


def _listed_error(outcome: dict[str, Any]) -> str | None:
    status, reason = as_name(outcome.get("status")), as_name(outcome.get("error"))
    if status == "error":
        return SKIPPED + reason if reason.startswith("Early stop") else reason or "failed"
    return SKIPPED + "not executed" if status == "" and outcome else None


def _phase_error(record: dict[str, Any]) -> str | None:
    """The reason in v1.2's `error` field: `{phase: {type, message, traceback}}`, empty when all went well."""
    found = record.get("error")
    if not isinstance(found, dict):
        return as_name(found) or None
    return (
        "; ".join(f"{phase}: {as_text(as_dict(item).get('message') or item)}" for phase, item in found.items()) or None
    )


_READERS: dict[str, Callable[[int, dict[str, Any], str], LogEntry]] = {
    "error": _error_line,
    "v3": _v3,
    "gui360": _gui360,
}
