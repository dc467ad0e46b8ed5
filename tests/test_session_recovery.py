"""What a session survives, and what its log holds of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.session_parts import YES, Desktop, ScriptedAgent, act, assign, click, config, fill, linux, log, parts, run
from ufo_experience.errors import DataError
from ufo_experience.session import (
    DATA_COLLECTION,
    AgentError,
    Command,
    ConnectionLostError,
    ContextNames,
    LinuxSession,
    RecoveryPolicy,
    Result,
    Session,
    Target,
)

# ---- recovery


def test_an_agent_error_is_logged_and_asked_again(tmp_path):
    """Of any type; the line says ERROR, and the round goes on."""
    desktop = Desktop()
    session = linux(
        tmp_path, [AgentError("overloaded"), act(click("A")), KeyError("x"), act(click("B"))], desktop=desktop
    )
    run(session)
    assert desktop.done == ["click A", "click B"]
    assert [line["status"] for line in log(session)] == ["ERROR", "CONTINUE", "ERROR", "CONTINUE", "FINISH"]
    assert "overloaded" in log(session)[0]["last_error"]
    assert not session.is_error()


def test_agent_errors_in_a_row_end_the_round_in_error(tmp_path):
    """One more than agent_retries; the session is in error, with the reason."""
    session = linux(tmp_path, [AgentError("down")] * 5)
    run(session)
    assert (session.step, session.is_error()) == (2, True)
    assert "down" in session.context.get(ContextNames.ERROR_MESSAGE)


def test_an_agent_that_does_not_answer_is_not_waited_for(tmp_path):
    """It counts as an agent error."""

    class Asleep(ScriptedAgent):
        async def act(self, turn):
            await asyncio.sleep(60)

    settings = replace(config(tmp_path), recovery=RecoveryPolicy(agent_timeout=0.05))
    made = replace(parts(tmp_path, config=settings), app_agent=Asleep())
    session = LinuxSession("t", True, 0, "Do it", parts=made)
    run(session)
    assert session.is_error()
    assert "no answer within 0.05 s" in log(session)[0]["last_error"]


class Unreliable:
    """A dispatcher that plays faults before it answers, and keeps the ids of calls."""

    def __init__(self, *faults: BaseException) -> None:
        self.faults, self.calls = list(faults), []

    async def execute_commands(self, commands, timeout=None):
        self.calls += [command.call_id for command in commands]
        if self.faults:
            raise self.faults.pop(0)
        return [Result(result="done", call_id=command.call_id) for command in commands]


def result_of(tmp_path: Path, dispatcher, command: Command) -> dict:
    """What the log says became of a command."""
    session = linux(tmp_path, [act(command)], dispatcher=dispatcher)
    run(session)
    return log(session)[0]["action"][0]["result"]


def test_a_look_that_timed_out_is_repeated_and_an_action_is_not(tmp_path):
    """An action may have been done: the result says so instead."""
    look, action = Unreliable(TimeoutError()), Unreliable(asyncio.TimeoutError())
    assert result_of(tmp_path, look, Command("get_ui_tree", tool_type=DATA_COLLECTION))["status"] == "success"
    result = result_of(tmp_path, action, click("Send"))
    assert (len(look.calls), len(action.calls), result["status"]) == (2, 1, "failure")
    assert "may have been executed" in result["error"]


def test_a_dispatcher_that_does_not_answer_is_not_waited_for(tmp_path):
    """The step fails as one that timed out."""

    class Asleep(Unreliable):
        async def execute_commands(self, commands, timeout=None):
            await asyncio.sleep(60)

    assert "no answer within 0.2 s" in result_of(tmp_path, Asleep(), click("Send"))["error"]


def test_a_connection_that_is_lost_aborts_the_session(tmp_path):
    """The step is in the log, the session in error, and nothing is evaluated."""
    for fault in (ConnectionLostError("gone"), ConnectionResetError("gone")):
        session = linux(tmp_path, [act(click("Send"))], dispatcher=Unreliable(fault), evaluator=YES)
        run(session)
        assert session.is_error()
        assert [line["status"] for line in log(session)] == ["ERROR"]
        assert "gone" in log(session)[0]["last_error"]
        assert log(session, "evaluation.log") == []


def test_a_malformed_command_is_skipped(tmp_path):
    """Unknown parameters never reach the tool; an unknown tool, and one that raises, is a failure."""
    desktop = Desktop()
    tools = desktop.dispatcher(divide=lambda: 1 / 0)
    wrong = result_of(tmp_path, tools, Command("set_edit_text", {"txt": "x"}))
    assert (wrong["status"], desktop.done) == ("skipped", [])
    assert "wrong parameters" in wrong["error"]
    assert result_of(tmp_path, Unreliable(DataError("bad")), click("A"))["status"] == "skipped"
    assert result_of(tmp_path, tools, Command("fly"))["error"] == "no tool 'fly'"
    assert result_of(tmp_path, tools, Command("divide"))["error"] == "division by zero"


def test_a_dispatcher_that_gives_no_result_or_raises_anything_fails_the_step(tmp_path):
    """The session goes on, and the agent is told."""

    class Silent(Unreliable):
        async def execute_commands(self, commands, timeout=None):
            return []

    assert result_of(tmp_path, Silent(), click("A"))["status"] == "skipped"
    assert "ZeroDivisionError" in result_of(tmp_path, Unreliable(ZeroDivisionError()), click("A"))["error"]


def test_a_command_that_cannot_be_written_down_is_not_executed(tmp_path):
    """Parameters that contain themselves are an agent error; such a result of a tool becomes text."""
    loop: list = []
    loop.append(loop)
    desktop = Desktop()
    tools = desktop.dispatcher(look=lambda: loop)
    bad, look = act(Command("set_edit_text", {"text": loop})), act(Command("look"))
    session = linux(tmp_path, [bad, look], dispatcher=tools)
    run(session)
    assert desktop.done == []
    assert "no JSON form" in log(session)[0]["last_error"]
    assert log(session)[1]["action"][0]["result"]["result"] == "[[...]]"


def test_half_a_character_does_not_stop_the_log(tmp_path):
    """A lone surrogate in typed text is written escaped, and read back."""
    session = linux(tmp_path, [act(fill("Name", "a\ud83d"))])
    run(session)
    assert log(session)[0]["action"][0]["arguments"]["text"] == "a\ud83d"


def test_lines_have_the_keys_of_ufo_v3(tmp_path):
    """For host and app agent; the locator stands among the arguments, as UFO mixes them."""
    session = Session("t", True, 0, "x", parts=parts(tmp_path, [act(fill("To", "Jane"))], [assign("Write")]))
    run(session)
    host, app, *_ = log(session)
    assert (host["agent_type"], app["agent_type"]) == ("HostAgent", "AppAgent")
    assert (host["function_call"], host["application"]) == ("select_application_window()", "olk.exe")
    assert app["action"][0]["arguments"] == {"id": "9", "name": "To", "text": "Jane"}
    assert app["function_call"] == ["set_edit_text(id='9', name='To', text='Jane')"]
    assert app["action"][0]["result"]["status"] == "success"
    assert (app["subtask"], app["session_step"], app["round_step"]) == ("Write", 1, 1)


def test_what_the_agent_said_follows_after_ufos_keys(tmp_path):
    """Observation, thought, plan and comment are kept; controls in view and the plan are in request.log too."""
    said = {"observation": "a form", "thought": "fill it", "plan": ("one",), "comment": "easy"}
    view = (Target("To", "Edit", "9"),)
    session = linux(tmp_path, [act(click("A"), controls=view, prompt="Look: data:image/png;base64,iVBO", **said)])
    run(session)
    line, asked = log(session)[0], log(session, "request.log")[0]
    assert list(line)[-4:] == list(said)
    assert asked["control_info"] == [{"kind": "control", "name": "To", "id": "9", "type": "Edit"}]
    assert (asked["plan"], asked["prompt"]) == (["one"], "Look: <image>")


# ---- secrets


@pytest.mark.parametrize("command", [fill("Password", "hunter22"), fill("Field", "hunter22", is_password=True)])
def test_a_typed_password_reaches_no_log(tmp_path, command):
    """Not where it was typed, not in results, and not in the request that was written before it was typed."""
    session = linux(
        tmp_path, [act(click("Log in")), act(command)], request="Log in, the word is hunter22", evaluator=YES
    )
    run(session)
    text = "".join(file.read_text("utf-8") for file in Path(session.log_path).iterdir())
    assert "hunter22" not in text
    assert "<secret>" in log(session)[0]["request"]
    assert log(session)[1]["action"][0]["arguments"]["text"] == "<secret>"


def test_a_short_secret_is_hidden_where_it_is_typed_only(tmp_path):
    """A PIN of three digits occurs in other texts; those stay as they are."""
    session = linux(tmp_path, [act(fill("PIN code", "123", is_password=True))], request="Pay invoice 123")
    run(session)
    assert log(session)[0]["action"][0]["arguments"]["text"] == "<secret>"
    assert log(session)[0]["request"] == "Pay invoice 123"


def test_ordinary_text_is_written_as_it_was_typed(tmp_path):
    """The log is the record; slots are made when it is learned from."""
    session = linux(tmp_path, [act(fill("Subject", "Ünïcode “x” 你好"))])
    run(session)
    assert log(session)[0]["action"][0]["arguments"]["text"] == "Ünïcode “x” 你好"
