"""Lines of UFO v3 (snake case, nested actions), and of the GUI-360 data set that was made with UFO."""

from __future__ import annotations

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
