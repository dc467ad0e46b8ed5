"""What goes over the WebSocket of a service session, and the server's end of it.

Messages are JSON objects, told apart by `type`; a connection may be lost and come back.

    client (executes)                          server (decides)
    task {task_name, request}           ──▶
                                        ◀──    accepted {session_id}
                                        ◀──    commands {batch_id, commands}
    results {batch_id, results}         ──▶
    resume {session_id}                 ──▶    after a lost connection; open commands are sent again
                                        ◀──    task_end {status, result, error}
                                        ◀──    error {error}
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import uuid4

from pydantic import Field, RootModel

from ufo_experience.errors import (
    ConnectionLostError,
    CorruptError,
    DataError,
    FormatVersionError,
    MissingExtraError,
    SchemaError,
)
from ufo_experience.fileio.strict_json import parse
from ufo_experience.schema import MAX_TEXT, Model, Name, validate
from ufo_experience.session.files import plain
from ufo_experience.session.protocols import Command, Result

if TYPE_CHECKING:
    from websockets.asyncio.connection import Connection
    from websockets.exceptions import ConnectionClosed as Closed

VERSION = 1
MAX_MESSAGE_BYTES = 32 * 1024 * 1024
MAX_COMMANDS = 100


class Message(Model):
    """The base of all messages: the version of the protocol."""

    version: int = VERSION


class TaskMessage(Message):
    """A client asks for a task to be done on its machine."""

    type: Literal["task"] = "task"
    task_name: Annotated[str, Field(min_length=1, max_length=200)]
    request: Annotated[str, Field(min_length=1, max_length=8192)]


class ResumeMessage(Message):
    """A client is back after its connection was lost."""

    type: Literal["resume"] = "resume"
    session_id: Name


class ResultsMessage(Message):
    """The results of a batch of commands."""

    type: Literal["results"] = "results"
    batch_id: Name
    results: Annotated[tuple[Result, ...], Field(max_length=MAX_COMMANDS)]


class AcceptedMessage(Message):
    """The server has begun; the id is also the right to resume, so it is secret."""

    type: Literal["accepted"] = "accepted"
    session_id: Name


class CommandsMessage(Message):
    """The server wants commands executed."""

    type: Literal["commands"] = "commands"
    batch_id: Name
    commands: Annotated[tuple[Command, ...], Field(max_length=MAX_COMMANDS)]


class TaskEnd(Message):
    """The session is over. `completed` says that it ran to its end, not that the task was done."""

    type: Literal["task_end"] = "task_end"
    status: Literal["completed", "failed"]
    result: str = ""
    error: str | None = None


class ErrorMessage(Message):
    """The server refuses."""

    type: Literal["error"] = "error"
    error: str


AnyMessage = TaskMessage | ResumeMessage | ResultsMessage | AcceptedMessage | CommandsMessage | TaskEnd | ErrorMessage


class _Envelope(RootModel[Annotated[AnyMessage, Field(discriminator="type")]]):
    """Any message, told apart by its `type`."""


def encode(message: Message) -> str:
    """A message as text."""
    return message.model_dump_json()


def decode(data: str | bytes) -> AnyMessage:
    """Text as a message.

    Raises:
        SchemaError: not JSON, no known type, or a field is missing or wrong.
        FormatVersionError: sent by a newer version.
    """
    try:
        fields = parse(data)
    except CorruptError as error:
        raise SchemaError(f"the message is {error.reason}") from error
    version = fields.get("version", VERSION) if isinstance(fields, dict) else VERSION
    if isinstance(version, int) and version > VERSION:
        raise FormatVersionError(f"the other side speaks version {version}, this one {VERSION}")
    return validate(_Envelope, fields).root


def commands_message(batch_id: str, commands: Sequence[Command]) -> CommandsMessage:
    """Commands, ready to be sent; parameters without a JSON form become text."""
    return validate(CommandsMessage, {"batch_id": batch_id, "commands": plain(list(commands))})


def results_message(batch_id: str, results: Sequence[Result]) -> ResultsMessage:
    """Results, ready to be sent; what has no JSON form becomes text, and an error is cut to `MAX_TEXT`."""
    cut = [replace(one, error=one.error and one.error[:MAX_TEXT]) for one in results]
    return validate(ResultsMessage, {"batch_id": batch_id, "results": plain(cut)})


GRACE_S = 30.0

_log = logging.getLogger(__name__)


class TaskExecutionProtocol:
    """One task and the connection to the client that executes its commands.

    `serve` reads a connection until it closes; after a loss, serving another one takes the task up again.
    """

    def __init__(self, websocket: Connection | None = None, *, grace: float = GRACE_S) -> None:
        """Serve `websocket` at once if given (inside a running event loop); wait `grace` seconds for a lost client."""
        self._grace = grace
        self._connection: Connection | None = None
        self._connected = asyncio.Event()
        self._waiting: dict[str, asyncio.Future[ResultsMessage]] = {}
        self._listener = None if websocket is None else asyncio.ensure_future(self.serve(websocket))

    async def serve(self, connection: Connection, greeting: Message | None = None) -> None:
        """Use this connection, and read it until it closes."""
        closed = closed_error()
        if (old := self._connection) is not None:
            self._lose()  # what waits for the old connection is sent again over this one
            await old.close()
        self._connection = connection
        try:
            if greeting is not None:
                await connection.send(encode(greeting))
            self._connected.set()
            async for data in connection:
                self._receive(data)
        except closed as error:
            _log.info("connection closed: %s", error)
        finally:
            if self._connection is connection:
                self._lose()

    async def send_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """Have commands executed; one result each, in order.

        Raises:
            ConnectionLostError: there is no connection, or it closed before the results came.
            asyncio.TimeoutError: no results within `timeout` seconds.
            DataError: the results do not fit the commands.
        """
        connection = self._connection
        if connection is None:
            raise ConnectionLostError("the client is not connected")
        batch_id = uuid4().hex
        answer = asyncio.get_running_loop().create_future()
        self._waiting[batch_id] = answer
        try:
            await connection.send(encode(commands_message(batch_id, commands)))
            message = await asyncio.wait_for(answer, timeout)
        except closed_error() as error:
            raise ConnectionLostError(f"the connection closed: {error}") from error
        finally:
            self._waiting.pop(batch_id, None)
        if [result.call_id for result in message.results] != [command.call_id for command in commands]:
            raise DataError("the results do not fit the commands", field="results")
        return list(message.results)

    async def wait_connected(self) -> bool:
        """Wait until a client is connected; False when none came within the grace."""
        try:
            await asyncio.wait_for(self._connected.wait(), self._grace)
        except asyncio.TimeoutError:
            return False
        return True

    async def send_task_end(self, end: TaskEnd) -> bool:
        """Tell the client how the task ended and close the connection; False when it could not be told."""
        while await self.wait_connected():
            connection = self._connection
            if connection is None:
                continue
            try:
                await connection.send(encode(end))
            except closed_error():
                self._lose()
                continue
            await connection.close()
            return True
        return False

    def _receive(self, data: str | bytes) -> None:
        try:
            message = decode(data)
        except DataError as error:
            _log.warning("a message of the client is left out: %s", error)
            return
        waiting = self._waiting.get(message.batch_id) if isinstance(message, ResultsMessage) else None
        if waiting is None or waiting.done():
            _log.warning("a message nobody waits for: %s", type(message).__name__)
        elif isinstance(message, ResultsMessage):
            waiting.set_result(message)

    def _lose(self) -> None:
        self._connection = None
        self._connected.clear()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionLostError("the connection closed before the results came"))


class WebSocketCommandDispatcher:
    """Has commands executed by the client of a task."""

    def __init__(self, protocol: TaskExecutionProtocol) -> None:
        self._protocol = protocol

    async def execute_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """Send commands to the client; see `TaskExecutionProtocol.send_commands`."""
        return await self._protocol.send_commands(commands, timeout)

    async def reconnect(self) -> bool:
        """Wait for the client to come back. It does not execute twice what is sent again."""
        return await self._protocol.wait_connected()


def closed_error() -> type[Closed]:
    """The exception of a closed WebSocket.

    Raises:
        MissingExtraError: `websockets` is not installed.
    """
    try:
        from websockets.exceptions import ConnectionClosed
    except ImportError as error:
        raise MissingExtraError("websockets", "service") from error
    return ConnectionClosed
