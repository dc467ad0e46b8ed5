"""Service sessions: decided here, carried out at the other end of a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.session_parts import YES, Desktop, act, assign, click, log, parts
from ufo_experience.session import Command, ConnectionLostError, LinuxServiceSession, Result, ServiceSession


class Connection:
    """A connection to a desktop elsewhere, which may be lost after some commands."""

    def __init__(self, *, lost_after: int = 99, back: bool = False) -> None:
        self.desktop = Desktop()
        self.left, self.back = lost_after, back
        self.calls: list[str] = []

    async def send_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        self.left -= 1
        self.calls += [command.call_id for command in commands]
        if self.left < 0:
            raise ConnectionLostError("the client is gone")
        return await self.desktop.dispatcher().execute_commands(commands)

    async def reconnect(self) -> bool:
        self.left = 99 if self.back else 0
        return self.back


@pytest.mark.parametrize("kind", [ServiceSession, LinuxServiceSession])
def test_a_task_is_decided_here_and_carried_out_there(tmp_path, kind):
    """One request, one round, nobody asked."""
    connection = Connection()
    made = parts(tmp_path, [act(click("Save"))], [assign("Save it")], evaluator=YES)
    session = kind("t", True, "sess_1", "Save the file", connection, parts=made)
    asyncio.run(session.run())
    assert connection.desktop.done[-1] == "click Save"
    assert (session.total_rounds, session.results[-1]["complete"]) == (1, "yes")


@pytest.mark.parametrize("back", [True, False])
def test_a_lost_connection_is_taken_up_again_where_the_protocol_can(tmp_path, back):
    """The same call is sent again, under its id. Else the session is in error, with the reason in its log."""
    connection = Connection(lost_after=0, back=back)
    made = parts(tmp_path, [act(click("Save"))])
    session = LinuxServiceSession("t", False, 1, "Save the file", connection, parts=made)
    asyncio.run(session.run())
    assert (session.is_error(), connection.desktop.done) == (not back, ["click Save"] if back else [])
    assert len(connection.calls) - back == len(set(connection.calls)) == 1
    assert back or "the client is gone" in log(session)[0]["last_error"]


def test_results_of_other_commands_are_not_taken(tmp_path):
    """The step fails, and the agent is told."""

    class Confused(Connection):
        async def send_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
            return [Result(call_id="another") for _ in commands]

    session = LinuxServiceSession("t", False, 1, "Save", Confused(), parts=parts(tmp_path, [act(click("Save"))]))
    asyncio.run(session.run())
    assert "do not fit" in log(session)[0]["action"][0]["result"]["error"]
