"""Plans replayed, requests from files, and the user at a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.session_parts import Desktop, ScriptedUser, parts, run
from ufo_experience.errors import DataError
from ufo_experience.session import (
    ConsoleInteractor,
    ContextNames,
    FollowerSession,
    FromFileSession,
    LocalCommandDispatcher,
)

# ---- plans


def plan(tmp_path: Path, **fields) -> Path:
    actions = [
        {"agent": "HostAgent", "action": "select_application_window", "parameters": {}},
        {"agent": "AppAgent", "action": "click_input", "parameters": {"label": "New"}},
        {"agent": "AppAgent", "action": "set_edit_text", "parameters": {"label": "To", "text": "{{input:1}}"}},
    ]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"request": "Mail {{input:1}}", "actions": actions, **fields}), encoding="utf-8")
    return path


def replay_tools(desktop: Desktop, **more) -> LocalCommandDispatcher:
    return LocalCommandDispatcher(
        {
            "select_application_window": desktop.select,
            "click_input": lambda target, label: desktop.click(target),
            "set_edit_text": lambda target, label, text: desktop.type(target, text),
            **more,
        }
    )


def test_a_follower_replays_its_plan_exactly(tmp_path):
    """Host and app actions in order, placeholders filled, no agent and no user asked; again after a reset."""
    desktop = Desktop()
    made = parts(tmp_path, dispatcher=replay_tools(desktop))
    session = FollowerSession("f", plan(tmp_path), True, 0, parts=made, values={"input:1": "Jane"})
    for _ in range(2):
        run(session)
        session.reset()
    assert desktop.done == ["select", "click New", "type Jane"] * 2
    assert session.plan.request == "Mail Jane"
    assert made.app_agent.turns == made.host_agent.turns == []


def test_a_plan_with_an_open_placeholder_is_not_begun(tmp_path):
    """The action is named, nothing was executed."""
    with pytest.raises(DataError, match=r"actions\.2.*\{\{input:1\}\} is not filled"):
        FollowerSession("f", plan(tmp_path), True, 0, parts=parts(tmp_path))


def test_a_replay_stops_at_the_first_action_that_fails(tmp_path):
    """It does not click on blindly: the session is in error."""
    broken = [{"action": "click_input", "parameters": {"label": name}} for name in ("Broken", "Delete")]
    desktop = Desktop()
    made = parts(tmp_path, dispatcher=replay_tools(desktop))
    session = FollowerSession("f", plan(tmp_path, actions=broken), True, 0, parts=made)
    run(session)
    assert (desktop.done, session.is_error()) == ([], True)
    assert "no such control" in session.context.get(ContextNames.ERROR_MESSAGE)


@pytest.mark.parametrize(
    ("controls", "done"),
    [
        ([("New", "Button"), ("To", "Edit")], ["select", "click New", "type Jane"]),
        ([("New", "Button"), ("New", "Button"), ("To", "Edit")], ["select"]),
        ([("Other", "Button"), ("To", "Edit")], ["select"]),
    ],
)
def test_a_replay_that_can_look_carries_out_nothing_it_doubts(tmp_path, controls, done):
    """Missing, or twice in view: the session ends in error before the action."""
    desktop = Desktop()
    shown = [{"id": str(number), "name": name, "type": kind} for number, (name, kind) in enumerate(controls)]
    tools = replay_tools(desktop, get_controls=lambda: shown)
    session = FollowerSession(
        "f", plan(tmp_path), True, 0, parts=parts(tmp_path, dispatcher=tools), values={"input:1": "Jane"}
    )
    run(session)
    assert (desktop.done, session.is_error()) == (done, len(done) < 3)


def test_a_batch_session_takes_its_request_from_the_file(tmp_path):
    """`request`, or `task`; one round; the user is not asked."""
    path = tmp_path / "task.json"
    path.write_text('{"task": "Make a spreadsheet"}', encoding="utf-8")
    user = ScriptedUser(["more"])
    session = FromFileSession("b", path, True, 0, parts=parts(tmp_path, user=user))
    run(session)
    assert [one.request for one in session.rounds.values()] == ["Make a spreadsheet"]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{}", "request"),
        ('{"request": "x", "actions": 3}', "actions"),
        ('{"request": "x", "actions": [3]}', r"actions\.0"),
        ('{"request": "x", "actions": [{}]}', r"actions\.0\.action"),
        ('{"request": "x", "actions": [{"action": "a", "parameters": 3}]}', r"actions\.0\.parameters"),
        ("[]", "dictionary"),
        ("{", "JSON"),
    ],
)
def test_a_bad_plan_is_named_with_its_field(tmp_path, text, field):
    """File and field are in the message."""
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"bad\.json.*{field}"):
        FollowerSession("f", path, True, 0, parts=parts(tmp_path))


# ---- the user at a terminal


def test_the_console_asks_and_ends_on_n_or_end_of_input():
    """N, nothing and end of input end the session."""
    answers = iter([" Open Word ", "Save it", "N", "y", "maybe"])
    shown: list[str] = []
    user = ConsoleInteractor(lambda prompt: next(answers), shown.append)
    assert user.first_request() == "Open Word"
    assert user.new_request() == ("Save it", False)
    assert user.new_request() == ("N", True)
    assert user.experience_asker()
    assert not user.confirm("Delete?")
    user.show("done")
    assert shown == ["done"]

    def end(prompt: str) -> str:
        raise EOFError

    gone = ConsoleInteractor(end)
    assert gone.first_request() == ""
    assert gone.new_request() == ("", True)
