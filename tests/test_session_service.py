"""Service sessions over a real WebSocket: commands out, results in, lost connections, and who may connect."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.session_parts import Desktop, act, assign, click, fill, parts
from ufo_experience.errors import (
    AgentError,
    ConnectionLostError,
    DataError,
    FormatVersionError,
    RefusedError,
    SchemaError,
)
from ufo_experience.session.factory import SessionFactory
from ufo_experience.session.protocols import Command, Result, ResultStatus, Target
from ufo_experience.session.recovery import RecoveryPolicy
from ufo_experience.session.service import ServiceClient, SessionServer
from ufo_experience.session.service_protocol import (
    CommandsMessage,
    ResultsMessage,
    TaskEnd,
    TaskExecutionProtocol,
    TaskMessage,
    commands_message,
    decode,
    encode,
    results_message,
)

websockets = pytest.importorskip("websockets")
server = pytest.mark.server


@asynccontextmanager
async def serving(tmp_path: Path, app=(), host=(), platform: str = "windows", **more):
    """A server whose sessions are all scripted alike; yields it and the sessions it made."""
    made = []

    def make(task: TaskMessage, session_id: str, protocol: TaskExecutionProtocol):
        ready = replace(parts(tmp_path, list(app), list(host)), dispatcher=None)
        ready = replace(ready, config=replace(ready.config, recovery=RecoveryPolicy(command_timeout=2.0)))
        factory = SessionFactory(lambda name: ready)
        made.extend(
            factory.create_session(
                task.task_name,
                "service",
                request=task.request,
                platform=platform,
                id=session_id,
                task_protocol=protocol,
            )
        )
        return made[-1]

    async with SessionServer(make, **{"grace": 1.0, **more}) as running:
        yield running, made


async def connect(url: str, **more):
    from websockets.asyncio.client import connect as open_connection

    return await open_connection(url, **more)


@server
@pytest.mark.parametrize("platform", ["windows", "linux"])
def test_a_task_is_decided_there_and_executed_here(tmp_path, platform):
    """The client's tools are called in order, the server's log has their results, both learn how it ended."""
    desktop = Desktop()

    async def play():
        app = [act(click("New")), act(fill("To", "Jane", is_password=False), result="written")]
        async with serving(tmp_path, app, [assign("Write")], platform) as (running, made):
            end = await ServiceClient(running.url, desktop.dispatcher()).run_task("Write to Jane", "mail")
        return end, made[0]

    end, session = asyncio.run(play())
    assert end == TaskEnd(status="completed", result="written")
    assert desktop.done == ["select"] * (platform == "windows") + ["click New", "type Jane"]
    lines = [json.loads(line) for line in (Path(session.log_path) / "response.log").read_text("utf-8").splitlines()]
    results = [action["result"]["result"] for line in lines for action in line["action"]]
    assert results[-2:] == ["clicked", "typed Jane"]
    assert session.total_rounds == 1


@server
def test_a_session_in_error_tells_the_client(tmp_path):
    """With the reason."""

    async def play():
        async with serving(tmp_path, [AgentError("model down")] * 3, platform="linux") as (running, _):
            return await ServiceClient(running.url, Desktop().dispatcher()).run_task("x")

    end = asyncio.run(play())
    assert end.status == "failed"
    assert "model down" in end.error


@server
def test_a_lost_connection_is_taken_up_again_and_nothing_is_done_twice(tmp_path):
    """The connection breaks after the click was made and before its result is sent: the click is not repeated."""
    desktop, broken = Desktop(), []

    class Breaking(Desktop):
        def click(self, target: Target) -> str:
            if not broken:
                broken.append(True)
                asyncio.run_coroutine_threadsafe(drop(), loop).result()
            return desktop.click(target)

    async def drop():
        for connection in list(running._server.connections):
            connection.transport.abort()

    async def play():
        nonlocal loop, running
        loop = asyncio.get_running_loop()
        async with serving(tmp_path, [act(click("Send")), act(click("Next"))], platform="linux") as (running, made):
            client = ServiceClient(running.url, Breaking().dispatcher(), pause=0.05)
            return await client.run_task("Send it"), made[0]

    loop = running = None
    end, session = asyncio.run(play())
    assert broken
    assert end.status == "completed"
    assert desktop.done == ["click Send", "click Next"]
    assert session.step == 3


@server
def test_a_client_that_stays_away_ends_the_session_in_error(tmp_path):
    """After the grace; what was done until then is in the log."""

    async def play():
        async with serving(tmp_path, [act(click("A"))] * 5, platform="linux", grace=0.1) as (running, made):
            connection = await connect(running.url)
            await connection.send(encode(TaskMessage(task_name="t", request="x")))
            await connection.recv()
            commands = decode(await connection.recv())
            done = [Result(result="ok", call_id=one.call_id) for one in commands.commands]
            await connection.send(encode(results_message(commands.batch_id, done)))
            await connection.recv()
            await connection.close()
            while not made[0].is_error():
                await asyncio.sleep(0.02)
            return made[0]

    session = asyncio.run(asyncio.wait_for(play(), 10))
    lines = (Path(session.log_path) / "response.log").read_text("utf-8").splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["CONTINUE", "ERROR"]


@server
def test_results_of_other_commands_are_not_taken(tmp_path):
    """A client that answers with foreign call ids: the command is skipped, the session goes on."""

    async def play():
        async with serving(tmp_path, [act(click("A"))], platform="linux") as (running, made):
            connection = await connect(running.url)
            await connection.send(encode(TaskMessage(task_name="t", request="x")))
            await connection.recv()
            commands = decode(await connection.recv())
            await connection.send("not JSON")
            await connection.send(encode(results_message("another batch", [])))
            await connection.send(encode(results_message(commands.batch_id, [Result(call_id="foreign")])))
            end = decode(await connection.recv())
            await connection.close()
            return end, made[0]

    end, session = asyncio.run(play())
    [action] = json.loads((Path(session.log_path) / "response.log").read_text("utf-8").splitlines()[0])["action"]
    assert (action["result"]["status"], end.status) == ("skipped", "completed")
    assert "do not fit" in action["result"]["error"]


@server
def test_many_clients_are_served_at_once(tmp_path):
    """Each has its own session; one more than allowed is refused."""

    async def play():
        class Slow(Desktop):
            def click(self, target):
                import time

                time.sleep(0.1)
                return "ok"

        async with serving(tmp_path, [act(click("A"))], platform="linux", max_sessions=2) as (running, made):
            clients = [ServiceClient(running.url, Slow().dispatcher()).run_task(f"r{n}") for n in range(3)]
            return await asyncio.gather(*clients, return_exceptions=True), made

    ends, made = asyncio.run(play())
    assert sum(isinstance(end, RefusedError) for end in ends) == 1
    assert [end.status for end in ends if isinstance(end, TaskEnd)] == ["completed"] * 2
    assert len({session.id for session in made}) == 2


@server
def test_without_the_token_nobody_gets_in(tmp_path):
    """A wrong one, none, and the right one."""

    async def play():
        answers = []
        async with serving(tmp_path, [], platform="linux", token="s3cret") as (running, _):
            for token in ("wrong", None, "s3cret"):
                client = ServiceClient(running.url, Desktop().dispatcher(), token=token, reconnects=0)
                answers += await asyncio.gather(client.run_task("x"), return_exceptions=True)
        return answers

    wrong, none, right = asyncio.run(play())
    assert isinstance(wrong, RefusedError)
    assert isinstance(none, RefusedError)
    assert right.status == "completed"


@server
def test_a_web_page_cannot_connect(tmp_path):
    """A browser sends an Origin; such a handshake is refused."""

    async def play():
        async with serving(tmp_path) as (running, _):
            await connect(running.url, origin="http://evil.example")

    with pytest.raises(websockets.exceptions.InvalidStatus):
        asyncio.run(play())


@server
def test_a_session_is_resumed_only_by_its_id(tmp_path):
    """An unknown id, or a first message that is neither task nor resume, is refused."""

    async def ask(url: str, message: str) -> str:
        connection = await connect(url)
        await connection.send(message)
        answer = json.loads(await connection.recv())
        await connection.close()
        return answer["error"]

    async def play():
        async with serving(tmp_path) as (running, _):
            resume = await ask(running.url, '{"type": "resume", "session_id": "0"}')
            other = await ask(running.url, encode(TaskEnd(status="completed")))
            return resume, other, await ask(running.url, "{")

    resume, other, torn = asyncio.run(play())
    assert resume == "no such session"
    assert "begins with a task" in other
    assert "not JSON" in torn


def test_listening_to_the_network_needs_a_token():
    """Other machines are not let in by accident."""
    with pytest.raises(RefusedError, match="without a token"):
        SessionServer(lambda *_: None, host="0.0.0.0")


@server
def test_a_server_that_is_not_there_is_a_lost_connection():
    """Named by its address."""
    client = ServiceClient("ws://127.0.0.1:9", Desktop().dispatcher(), reconnects=0)
    with pytest.raises(ConnectionLostError, match=r"127\.0\.0\.1:9"):
        asyncio.run(client.run_task("x"))


def test_commands_and_results_come_over_as_they_were():
    """Target, parameters, status and error; what has no JSON form becomes text."""
    command = fill("Name", "你好")
    sent = decode(encode(commands_message("b", [command])))
    assert isinstance(sent, CommandsMessage)
    assert sent.commands[0] == command
    result = Result(ResultStatus.FAILURE, {"at": Path("a")}, "no", "ns", "c")
    back = decode(encode(results_message("b", [result])))
    assert isinstance(back, ResultsMessage)
    assert back.results[0] == replace(result, result={"at": "a"})


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", SchemaError),
        ("[]", SchemaError),
        ('{"type": "magic"}', SchemaError),
        ('{"type": "task", "task_name": "t"}', SchemaError),
        ('{"type": "task", "task_name": "t", "request": "x", "more": 1}', SchemaError),
        ('{"type": "task_end", "status": "success"}', SchemaError),
        ('{"type": "error", "error": "x", "version": 99}', FormatVersionError),
    ],
)
def test_what_is_no_message_is_refused(text, error):
    """With a typed error; nothing unknown is let through."""
    with pytest.raises(error):
        decode(text)


def test_a_command_too_deep_for_json_is_a_data_error():
    """It never leaves."""
    deep: list = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(DataError):
        commands_message("b", [Command("x", {"a": deep})])
