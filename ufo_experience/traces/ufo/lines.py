"""One line of a UFO `response.log`, whatever release wrote it → one `LogEntry`.

The release is decided line by line, as a re-used task name appends to the same file:

    execution_id and an object step            GUI-360 (a data set made with UFO)
    agent_type                                 v3
    only step, status, response, error         error line (v0.0.1 – v1.1.0)
    Agent and FunctionCall or a list Action    v2 (also v1.2.1)
    Agent and error                            v1.2.0
    Agent and AgentStep or RoundStep           v1 (v0.1.1 – v1.1.0)
    Agent                                      v0.0.1
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ufo_experience.traces.coerce import (
    as_amount,
    as_dict,
    as_int,
    as_lines,
    as_list,
    as_name,
    as_text,
    parse_literal,
    short_object,
)
from ufo_experience.traces.ufo.entry import (
    HOSTS,
    NO_ACTION,
    SKIPPED,
    LogEntry,
    LoggedAction,
    first_name,
    is_password,
    status_of,
)

_ERROR_KEYS = {"step", "status", "response", "error"}
_EXECUTION_FAILED = re.compile(r"^An error occurred|doesn't have a method named")


def read_v3(line: int, record: dict[str, Any], release: str) -> LogEntry:
    """v3: keys in snake case; the same keys from every agent but the host."""
    host = record.get("agent_type") in HOSTS
    entry = LogEntry(
        line,
        release,
        "host" if host else "app",
        agent=as_name(record.get("agent_name")) or as_name(record.get("agent_type")),
        step=as_int(record.get("session_step", record.get("step"))),
        counter=as_int(record.get("round_step", record.get("session_step"))),
        round=as_int(record.get("round_num")) or 0,
        status=status_of(record),
        request=as_text(record.get("request")),
        application=first_name(record, "application", "app_root")
        if host
        else first_name(record, "app_root", "application"),
        # v3 writes neither observation nor thought; `result` is what the agent itself says of the step.
        observation=first_name(record, "observation", "thought", "comment", "result"),
        plan=as_lines(record.get("plan")),
        cost=as_amount(record.get("llm_cost", record.get("cost"))),
        tokens=as_int(record.get("tokens")),
        seconds=as_amount(record.get("total_time")),
        error=as_name(record.get("last_error")) or None,
    )
    entry.application = entry.application or None
    listed = record.get("action")
    items = [item for item in map(as_dict, as_list(listed)) if as_name(item.get("function")) not in NO_ACTION]
    entry.actions = [_v3_action(item) for item in items]
    if host:
        entry.target = next((action.control for action in entry.actions if action.control), None)
        return entry
    entry.subtask = as_name(record.get("subtask")) or None
    entry.window = as_name(record.get("application_process_name")) or None
    if isinstance(listed, dict) or record.get("status") is None:
        entry.error = entry.error or "the step failed before its action was done"
        for action in entry.actions:
            action.error = action.error or entry.error
    return entry


def _v3_action(item: dict[str, Any]) -> LoggedAction:
    arguments, target, outcome = (as_dict(item.get(key)) for key in ("arguments", "target", "result"))
    status, failure = as_name(outcome.get("status")), None
    if status in ("failure", "error"):
        failure = as_name(outcome.get("error")) or as_name(outcome.get("result")) or "failed"
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
        status=status_of(item),
        secret=is_password(item) or is_password(target),
        within=as_name(target.get("within")),
    )


def read_gui360(line: int, record: dict[str, Any], release: str) -> LogEntry:
    """A row of the GUI-360 data set; `run` groups the rows of one execution."""
    step = as_dict(record.get("step"))
    number = as_int(record.get("step_id"))
    status = status_of(step)
    item = as_dict(record["step"].get("action"))
    entry = LogEntry(
        line,
        release,
        "app",
        agent="AppAgent",
        step=number,
        counter=number,
        # FINISH ends a sub-task only, OVERALL_FINISH the run.
        status={"FINISH": "CONTINUE", "OVERALL_FINISH": "FINISH"}.get(status or "", status),
        request=as_text(record.get("request")),
        subtask=as_name(step.get("subtask")) or None,
        application=as_name(record.get("app_domain")) or None,
        observation=first_name(step, "observation", "thought"),
        run=as_text(record.get("execution_id")),
        verdict=as_dict(record.get("evaluation")) or None,
    )
    function = as_name(item.get("function"))
    if function not in NO_ACTION:
        control = first_name(item, "control_text", "control_test")
        arguments = parse_literal(item["args"]) if isinstance(item.get("args"), str) else item.get("args")
        entry.actions.append(
            LoggedAction(function, short_object(arguments), control, as_name(item.get("control_type")))
        )
    return entry


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


def read_entry(line: int, record: dict[str, Any]) -> LogEntry:
    """Turn a record into a `LogEntry`; a record of no known release gets the role "unknown"."""
    release = release_of(record)
    return _READERS[release](line, record, release) if release else LogEntry(line, "unknown", "unknown")


def _error_line(line: int, record: dict[str, Any], release: str) -> LogEntry:
    step = as_int(record.get("step"))
    return LogEntry(
        line, release, "error", step=step, counter=step, status=status_of(record), error=as_text(record["error"])
    )


def _pascal(line: int, record: dict[str, Any], release: str) -> LogEntry:
    """v0.0.1 to v2: keys in PascalCase."""
    role = _pascal_role(record, release)
    step = as_int(record.get("Step"))
    entry = LogEntry(
        line,
        release,
        role,
        agent=as_name(record.get("Agent")),
        step=step,
        counter=step,
        round=as_int(record.get("Round")) or 0,
        status=status_of(record),
        request=as_text(record.get("Request")),
        application=as_name(record.get("Application")) or None,
        observation=first_name(record, "Observation", "Thought", "observation", "thought"),
        plan=as_lines(record.get("Plan")),
        cost=as_amount(record.get("Cost")),
        seconds=as_amount(record.get("total_time_cost")),
        error=_phase_error(record),
    )
    if role == "host":
        entry.target = as_name(record.get("ControlText")) or None
    else:
        entry.subtask = as_name(record.get("Subtask")) or None
        entry.subtask_index = as_int(record.get("SubtaskIndex"))
        entry.window = as_name(record.get("AgentName")).partition("/")[2].partition("/")[2] or None
    listed = record.get("Action")
    if isinstance(listed, list) and (listed or not entry.error):
        entry.actions = _listed_actions(record, listed, role)
    else:
        entry.actions = _flat_action(record, entry)
    if entry.status is None and record.get("ActionList"):
        entry.status = _last_status(entry.actions)
    return entry


def _pascal_role(record: dict[str, Any], release: str) -> str:
    agent = record.get("Agent")
    return "host" if agent in HOSTS or (agent == "AppAgent" and release == "v0.0.1") else "app"


def _flat_action(record: dict[str, Any], entry: LogEntry) -> list[LoggedAction]:
    """The one action of a line that has its parts at the top level."""
    if entry.role == "host":
        function, arguments = _host_call(record, entry.target)
    else:
        function, arguments = as_name(record.get("Function")), short_object(record.get("Args"))
    if function in NO_ACTION or entry.status == "SCREENSHOT":
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
        control=as_name(record.get("ControlText")),
        control_type=as_name(record.get("control_type")),
        label=as_name(record.get("ControlLabel")),
        result="" if failure else result,
        error=failure,
        secret=is_password(record),
    )
    return [action]


def _host_call(record: dict[str, Any], window: str | None) -> tuple[str, dict[str, Any]]:
    if record.get("ActionType") == "Bash":
        return "run_shell", {"command": as_text(record.get("Bash"))}
    return ("set_focus" if window else "", {})


def _listed_actions(record: dict[str, Any], listed: list[Any], role: str) -> list[LoggedAction]:
    """v1.2.1 and v2: a list of actions, each with its own result."""
    controls = as_list(record.get("ControlLog"))
    found = []
    for number, item in enumerate(map(as_dict, listed)):
        control = as_dict(controls[number]) if number < len(controls) else {}
        function = as_name(item.get("Function"))
        if function in NO_ACTION:
            continue
        outcome = as_dict(item.get("Results"))
        action = LoggedAction(
            function,
            short_object(item.get("Args")),
            control=as_name(item.get("ControlText")) or as_name(control.get("control_name")),
            control_type=as_name(control.get("control_type")),
            label=as_name(item.get("ControlLabel")),
            result=as_text(outcome.get("return_value")),
            # A host line keeps the agent's status there, which says nothing about the action.
            error=_listed_error(outcome) if role == "app" else None,
            status=status_of(item),
            secret=is_password(item) or is_password(control),
        )
        found.append(action)
    return found


def _listed_error(outcome: dict[str, Any]) -> str | None:
    status, reason = as_name(outcome.get("status")), as_name(outcome.get("error"))
    if status == "error":
        return SKIPPED + reason if reason.startswith("Early stop") else reason or "failed"
    return SKIPPED + "not executed" if status == "" and outcome else None


def _last_status(actions: list[LoggedAction]) -> str | None:
    tried = [action.status for action in actions if not action.skipped]
    return tried[-1] if tried else None


def _phase_error(record: dict[str, Any]) -> str | None:
    """The reason in v1.2's `error` field: `{phase: {type, message, traceback}}`, empty when all went well."""
    found = record.get("error")
    if not isinstance(found, dict):
        return as_name(found) or None
    parts = [f"{phase}: {as_text(as_dict(item).get('message') or item)}" for phase, item in found.items()]
    return "; ".join(parts) or None


_READERS: dict[str, Callable[[int, dict[str, Any], str], LogEntry]] = {
    "error": _error_line,
    "v0.0.1": _pascal,
    "v1": _pascal,
    "v1.2.0": _pascal,
    "v2": _pascal,
    "v3": read_v3,
    "gui360": read_gui360,
}
