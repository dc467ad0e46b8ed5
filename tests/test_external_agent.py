"""`--agent exec:'COMMAND'`: a process for each episode, asked in JSON lines."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.steps.agent_registry import open_agent
from benchmarks.steps.environment import ControlView, Observation
from benchmarks.steps.episode_session import Outcome, run_session
from benchmarks.steps.external_agent import Action, ToldAhead, read_answer, screen_as_data
from tests.test_bench_steps import Renaming
from ufo_experience import Act, Guide, Procedure
from ufo_experience.errors import DataError, UsageError
from ufo_experience.executor import Target
from ufo_experience.prompt.builder import ahead_block

WAY = Guide(Procedure("", "Save it", "Save it", "", ()))
SCREEN = Observation(
    "goal",
    "Mail",
    "Inbox",
    (
        ControlView(1, "Delete", "Button", within="Row 1"),
        ControlView(2, "Delete", "Button", within="Row 2"),
        ControlView(3, "Name", "Edit", value="x"),
        ControlView(4, "Name", "Text"),
    ),
)


def episode(tmp_path: Path, script: str, timeout: float = 20.0) -> Outcome:
    """One episode of renaming a to b, with a Python script as the agent."""
    file = tmp_path / "agent.py"
    file.write_text(script, encoding="utf-8")
    _, make_agent = open_agent(f"exec:'{sys.executable}' '{file}'", timeout=timeout)
    return run_session(Renaming("a", "b"), 0, None, tmp_path / "logs", make_agent=make_agent)


def test_several_actions_in_one_answer_are_one_call(tmp_path):
    """Targets are looked up by name on the screen of their time; `finish` with the actions saves a call."""
    script = """
import json, sys
click = lambda name: {"function": "click_input", "name": name}
sys.stdin.readline()
text = {"function": "set_edit_text", "name": "Name", "text": "b"}
print(json.dumps({"actions": [click("Change…"), text, click("OK")], "finish": True}), flush=True)
sys.stdin.read()
"""
    outcome = episode(tmp_path, script)
    assert (outcome.success, outcome.steps, outcome.calls, outcome.error) == (True, 3, 1, None)


def test_the_first_action_that_is_not_possible_drops_the_rest(tmp_path):
    """The process is asked again and told what was done and why it stopped."""
    script = """
import json, sys
click = lambda name: {"function": "click_input", "name": name}
sys.stdin.readline()
print(json.dumps({"actions": [click("Change…"), click("Nowhere"), click("OK")]}), flush=True)
last = json.loads(sys.stdin.readline())["last"]
assert [one["name"] for one in last["done"]] == ["Change…", "Nowhere"], last
assert "Nowhere" in last["error"] and [one["name"] for one in last["dropped"]] == ["OK"], last
print(json.dumps({"finish": True}), flush=True)
"""
    outcome = episode(tmp_path, script)
    assert (outcome.success, outcome.steps, outcome.calls, outcome.error) == (False, 1, 2, None)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("raise SystemExit(3)", "ended"),
        ("import time; time.sleep(60)", "silent for 0.5 s"),
        ("input(); print('hello', flush=True); input()", "answer of the agent"),
        ("input(); print('{}', flush=True); input()", "no action"),
    ],
)
def test_a_process_that_fails_ends_its_episode_with_an_error(tmp_path, script, error):
    """The episode counts as failed and says why; nothing is raised."""
    outcome = episode(tmp_path, script, 0.5 if "silent" in error else 20.0)
    assert not outcome.success
    assert error in str(outcome.error)


def test_a_command_that_does_not_exist_is_an_error_of_the_episode(tmp_path):
    """It is found out when the first process is started."""
    _, make_agent = open_agent("exec:no-such-program-anywhere")
    outcome = run_session(Renaming("a", "b"), 0, None, tmp_path, make_agent=make_agent)
    assert "did not start" in str(outcome.error)


@pytest.mark.parametrize("command", ["exec:", "exec:'unfinished"])
def test_a_command_must_be_one(command):
    """Empty, or with a quote left open."""
    with pytest.raises(UsageError, match="exec:"):
        open_agent(command)


def test_a_target_is_found_by_name_type_and_place():
    """One that fits is taken; several are not guessed among; typing goes to fields only."""
    by_place = Action("click_input", "delete", within="Row 2").command(SCREEN)
    typed = Action("set_edit_text", "Name", parameters={"text": "y"}).command(SCREEN)
    assert not isinstance(by_place, str)
    assert not isinstance(typed, str)
    assert (by_place.control, typed.control) == (SCREEN.controls[1], SCREEN.controls[2])
    assert "2 controls fit" in str(Action("click_input", "Delete").command(SCREEN))
    assert "no control 'Send'" in str(Action("click_input", "Send").command(SCREEN))


def test_an_id_stands_for_the_control_of_the_screen_it_was_seen_on():
    """Ids change with every screen, so what is kept is name, type and place."""
    (action,), finish = read_answer('{"actions": [{"function": "click_input", "control": 2}]}', SCREEN)
    assert (action, finish) == (Action("click_input", "Delete", "Button", "Row 2"), False)


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        '{"actions": 1}',
        '{"actions": [{}]}',
        '{"actions": [{"function": "click_input", "control": 9}]}',
        "no JSON",
    ],
)
def test_an_answer_of_another_form_is_refused(line):
    """With what is wrong about it."""
    with pytest.raises(DataError):
        read_answer(line, SCREEN)


def test_a_screen_is_told_without_states_a_control_does_not_have():
    """A check box tells whether it is ticked, a button does not."""
    box = replace(SCREEN, controls=(ControlView(1, "On", "CheckBox", checked=False), ControlView(2, "Go", "Button")))
    assert screen_as_data(box)["controls"] == [
        {"id": 1, "name": "On", "type": "CheckBox", "checked": False},
        {"id": 2, "name": "Go", "type": "Button"},
    ]


def test_an_answer_may_take_what_was_foreseen_and_fill_in_what_it_leaves_open():
    """A value that is not given ends what is taken; actions of the answer follow."""
    foreseen = [
        {"function": "click_input", "name": "Delete", "within": "Row 1"},
        {"function": "set_edit_text", "name": "Name", "text": "<Name>", "fill": True},
        {"function": "click_input", "name": "OK"},
    ]
    filled, _ = read_answer('{"take": 3, "fill": {"Name": "b"}}', SCREEN, foreseen)
    assert [(one.name, one.parameters.get("text")) for one in filled] == [("Delete", None), ("Name", "b"), ("OK", None)]
    open_, _ = read_answer('{"take": 3}', SCREEN, foreseen)
    assert [one.name for one in open_] == ["Delete"]
    chosen, _ = read_answer('{"way": 2, "take": 1}', SCREEN, (), {1: foreseen[1:], 2: foreseen})
    assert [one.name for one in chosen] == ["Delete"]
    for wrong in ('{"take": "all"}', '{"take": 1, "way": "first"}'):
        with pytest.raises(DataError):
            read_answer(wrong, SCREEN, foreseen)


def test_the_way_is_told_once_and_then_only_its_place():
    """From which action it goes on, with notes that are new; in full again where it is not as it was told."""
    acts = [Act("click_input", Target(name, "Button")) for name in ("Open", "Fill", "Save")]
    told = ToldAhead()
    assert told.place(ahead_block(WAY, acts)) is None
    assert told.place(ahead_block(WAY, acts[1:])) == {"from": 2}
    assert told.place(ahead_block(WAY, [*acts[1:], acts[0]])) is None
