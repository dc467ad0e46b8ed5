"""The client's end of a service session: asks for a task and executes the commands that come back."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING

from ufo_experience.errors import ConnectionLostError, DataError, MissingExtraError, RefusedError
from ufo_experience.session.protocols import Command, CommandDispatcher, Result, ResultStatus
from ufo_experience.session.recovery import Done, attempt
from ufo_experience.session.service_protocol import (
    MAX_MESSAGE_BYTES,
    AcceptedMessage,
    CommandsMessage,
    ErrorMessage,
    Message,
    ResumeMessage,
    TaskEnd,
    TaskMessage,
    closed_error,
    decode,
    encode,
    results_message,
)

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_REMEMBERED = 1000

_log = logging.getLogger(__name__)


class ServiceClient:
    """Runs tasks on a server and executes their commands here. One task at a time.

    After a lost connection it comes back up to `reconnects` times; a command that is sent again is not executed
    again, its result is.
    """

    def __init__(
        self,
        url: str,
        dispatcher: CommandDispatcher,
        *,
        token: str | None = None,
        command_timeout: float = 60.0,
        reconnects: int = 3,
        pause: float = 0.5,
    ) -> None:
        self._url, self._dispatcher, self._token = url, dispatcher, token
        self._command_timeout, self._reconnects, self._pause = command_timeout, reconnects, pause
        self._results: OrderedDict[str, Result] = OrderedDict()
        self._session_id: str | None = None

    async def run_task(self, request: str, task_name: str = "task") -> TaskEnd:
        """Have the server do `request`; returns how it ended.

        Raises:
            ConnectionLostError: the server cannot be reached, or not any more.
            RefusedError: it refuses the task, or the token.
            DataError: it sends what is no message of ours.
        """
        self._session_id = None
        first: Message = TaskMessage(task_name=task_name, request=request)
        for left in range(self._reconnects, -1, -1):
            end = await self._connect(first)
            if isinstance(end, TaskEnd):
                return end
            if self._session_id is None or left == 0:
                break
            _log.warning("connection lost, coming back: %s", end)
            first = ResumeMessage(session_id=self._session_id)
            await asyncio.sleep(self._pause)
        raise ConnectionLostError(f"{self._url}: {end}")

    async def _connect(self, first: Message) -> TaskEnd | str:
        """Hold one connection until the task ends, or give the reason it was lost."""
        try:
            from websockets.asyncio.client import connect
            from websockets.exceptions import InvalidHandshake
        except ImportError as error:
            raise MissingExtraError("websockets", "service") from error
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            async with connect(self._url, additional_headers=headers, max_size=MAX_MESSAGE_BYTES) as connection:
                await connection.send(encode(first))
                return await self._follow(connection)
        except closed_error() as error:
            return f"the connection closed: {error}"
        except InvalidHandshake as error:
            raise RefusedError(f"{self._url}: {error}") from error
        except (OSError, asyncio.TimeoutError) as error:
            return f"no connection: {error}"

    async def _follow(self, connection: ClientConnection) -> TaskEnd | str:
        async for data in connection:
            message = decode(data)
            if isinstance(message, TaskEnd):
                return message
            if isinstance(message, ErrorMessage):
                raise RefusedError(f"{self._url}: {message.error}")
            if isinstance(message, AcceptedMessage):
                self._session_id = message.session_id
            elif isinstance(message, CommandsMessage):
                results = [await self._execute(command) for command in message.commands]
                await connection.send(encode(results_message(message.batch_id, results)))
            else:
                raise DataError(f"unexpected message {type(message).__name__}")
        return "the server closed the connection"

    async def _execute(self, command: Command) -> Result:
        """The result of a command: the one remembered if it was executed before."""
        if command.call_id not in self._results:
            done = await attempt(self._dispatcher.execute_commands([command], self._command_timeout))
            if isinstance(done, Done) and done.value:
                result = done.value[0]
            else:
                reason = "no result" if isinstance(done, Done) else done.message
                result = Result(ResultStatus.FAILURE, error=reason, call_id=command.call_id)
            self._results[command.call_id] = result
            while len(self._results) > _REMEMBERED:
                self._results.popitem(last=False)
        return self._results[command.call_id]
