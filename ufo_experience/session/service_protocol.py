"""The server's end of a service session: commands go out, results come in, over a connection that may come and go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from ufo_experience.errors import ConnectionLostError, DataError, MissingExtraError
from ufo_experience.session.protocols import Command, Result
from ufo_experience.session.wire import (
    Message,
    ResultsMessage,
    TaskEnd,
    commands_message,
    decode,
    encode,
)

if TYPE_CHECKING:
    from websockets.asyncio.connection import Connection
    from websockets.exceptions import ConnectionClosed as Closed

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
