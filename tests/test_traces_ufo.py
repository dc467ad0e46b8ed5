"""Reading UFO's logs: every synthetic session against its expected.json, and damaged logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED

from ufo_experience.traces.ufo_session import Session, SessionLog, read_entries

SYNTHETIC = SHARED / "ufo_logs_synthetic"
SESSIONS = sorted(path.parent for path in SYNTHETIC.glob("v*/*/expected.json"))


def name_of(folder: Path) -> str:
    """The fixture's name as its README writes it."""
    return f"{folder.parent.name}/{folder.name}"


def expected_of(folder: Path) -> dict[str, Any]:
    """What the fixture says a reader must find."""
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def facts_of(log: SessionLog) -> dict[str, Any]:
    """The counts of `expected.json`, taken from our entries."""
    entries = list(log.entries())
    app = [entry for entry in entries if entry.role == "app"]
    subtasks = [subtask for session in log.sessions for subtask in session.subtasks()]
    missing = [step for session in log.sessions for step in session.missing_steps()]
    return {
        "records": log.records,
        "bad_lines": len(log.bad_lines),
        "bad_line_numbers": log.bad_lines,
        "blank_lines": log.blank_lines,
        "sessions": len(log.sessions),
        "rounds": sum(len(session.rounds()) for session in log.sessions),
        "host_steps": sum(entry.role == "host" for entry in entries),
        "app_steps": len(app),
        "error_records": sum(entry.role == "error" for entry in entries),
        "actions": sum(len(entry.actions) for entry in app),
        "failed_app_steps": sum(entry.failed for entry in app),
        "repeated_app_steps": sum(repeats(log)),
        "n_subtasks": len(subtasks),
        "requests": list(dict.fromkeys(entry.request for entry in entries if entry.request)),
        "apps": sorted({entry.application for entry in app if entry.application}),
        "last_status": entries[-1].status if entries else None,
        "missing_step_numbers": missing,
        "subtasks": [subtask_facts(session, subtask) for session in log.sessions for subtask in session.subtasks()],
        "steps": [step_facts(session, entry, again) for session, entry, again in stepwise(log)],
    }


def calls(entry: Any) -> list[Any]:
    """What decides whether a step repeats the one before it."""
    return [(action.function, action.arguments, action.control) for action in entry.actions]


def repeats(log: SessionLog) -> list[bool]:
    """For each app step in order, whether it repeats the step before it in its sub-task."""
    found = []
    for session in log.sessions:
        for subtask in session.subtasks():
            pairs = zip([None, *subtask.entries], subtask.entries, strict=False)
            found += [bool(entry.actions and last and calls(last) == calls(entry)) for last, entry in pairs]
    return found


def stepwise(log: SessionLog) -> list[tuple[Session, Any, bool]]:
    """Each entry with its session and whether it is a repeat."""
    again = iter(repeats(log))
    return [
        (session, entry, next(again) if entry.role == "app" else False)
        for session in log.sessions
        for entry in session.entries
    ]


def subtask_facts(session: Session, subtask: Any) -> dict[str, Any]:
    """One entry of `parse.subtasks`."""
    return {
        "session": session.number,
        "round": subtask.round,
        "index": subtask.index,
        "text": subtask.text,
        "app": subtask.application,
        "window": subtask.entries[0].window,
        "app_steps": len(subtask.entries),
        "last_status": subtask.entries[-1].status,
    }


def step_facts(session: Session, entry: Any, again: bool) -> dict[str, Any]:
    """One entry of `parse.steps`."""
    facts = {
        "line": entry.line,
        "session": session.number,
        "role": entry.role,
        "agent": entry.agent,
        "step": entry.step,
        "round": entry.round,
        "target": entry.target,
        "status": entry.status,
        "subtask_index": entry.subtask_index,
        "subtask": entry.subtask,
        "app": entry.application,
        "window": entry.window,
        "ok": not entry.failed,
        "repeat": again,
        "error": entry.error,
    }
    actions = [action for action in entry.actions if entry.role == "app" or action.function != "set_focus"]
    facts["actions"] = [
        {"function": a.function, "args": a.arguments, "control": a.control, "ok": a.ok} for a in actions
    ]
    return facts


def check(folder: Path) -> None:
    """Compare a log with its expected.json; keys an `accept` names may have any of its values."""
    expected = expected_of(folder)
    log = read_entries(folder)
    found, accept = facts_of(log), expected.get("accept", {})
    secrets = [item["value"] for item in expected["redactions"]]
    for key, value in expected["parse"].items():
        if key == "steps":
            steps = json.loads(hide(json.dumps(found["steps"], ensure_ascii=False), secrets))
            assert [{name: step[name] for name in want} for want, step in zip(value, steps, strict=True)] == value
        elif key in accept:
            assert found[key] in accept[key], key
        else:
            assert found[key] == value, key
    judged = log.evaluation
    last = judged.evaluations[-1] if judged.evaluations else None
    assert {
        "file": judged.state,
        "records": judged.records,
        "complete": last.complete if last else None,
        "sub_scores": last.sub_scores if last else {},
    } == expected["evaluation"]
    assert (last.success if last else None) is expected["success"]


def hide(text: str, secrets: list[str]) -> str:
    """Put the fixture's marker in place of its secrets."""
    for secret in secrets:
        text = text.replace(secret, "<redacted>")
    return text


@pytest.mark.parametrize("folder", SESSIONS, ids=name_of)
def test_every_session_is_read_as_expected(folder: Path) -> None:
    """Counts, sub-tasks, evaluation, success and every single line agree with expected.json."""
    check(folder)


BROKEN = sorted(path.parent for path in SYNTHETIC.glob("broken/*/expected.json"))
BROKEN_LOGS = [folder for folder in BROKEN if (folder / "response.log").exists()]


@pytest.mark.parametrize("folder", BROKEN_LOGS, ids=name_of)
def test_every_damaged_log_is_read_as_expected(folder: Path) -> None:
    """What is usable is kept, what is not is counted, as expected.json says."""
    check(folder)
