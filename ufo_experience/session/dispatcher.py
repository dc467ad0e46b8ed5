"""Where commands go: to functions of this process, or over a connection to the machine that has the screen."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ufo_experience.errors import DataError
from ufo_experience.session.protocols import Command, ConnectionLostError, Result, ResultStatus
from ufo_experience.session.recovery import outcome_of

Tool = Callable[..., Any]


class LocalCommandDispatcher:
    """Executes commands one after the other. A tool is a function, plain (run in a thread) or async.

    It is called with the command's parameters, and with `target` (a `Target` or None) if it takes an argument of that
    name. What it raises is why the command failed.
    """

    def __init__(self, tools: Mapping[str, Tool], *, namespace: str = "LocalExecutor") -> None:
        self._tools, self._namespace = dict(tools), namespace

    async def execute_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """One result per command, in order.

        Raises:
            asyncio.TimeoutError: they took longer than `timeout` seconds together; a plain function runs on.
        """
        return await asyncio.wait_for(self._all(commands), timeout)

    async def _all(self, commands: Sequence[Command]) -> list[Result]:
        return [await self._one(command) for command in commands]

    async def _one(self, command: Command) -> Result:
        tool = self._tools.get(command.tool_name)
        if tool is None:
            return self._result(command, ResultStatus.FAILURE, error=f"no tool {command.tool_name!r}")
        arguments, signature = dict(command.parameters), inspect.signature(tool)
        if "target" in signature.parameters:
            arguments["target"] = command.target
        try:
            signature.bind(**arguments)
        except TypeError as error:
            return self._result(command, ResultStatus.SKIPPED, error=f"wrong parameters: {error}")
        is_async = inspect.iscoroutinefunction(tool)
        value = await outcome_of(tool(**arguments) if is_async else asyncio.to_thread(tool, **arguments))
        if isinstance(value, Exception):
            return self._result(command, ResultStatus.FAILURE, error=str(value) or type(value).__name__)
        return self._result(command, ResultStatus.SUCCESS, value)

    def _result(self, command: Command, status: ResultStatus, value: Any = None, error: str | None = None) -> Result:
        return Result(status, value, error, self._namespace, command.call_id)


class TaskExecutionProtocol(Protocol):
    """A connection to the client that executes the commands of a service session: UFO's own, or any other.

    With a coroutine `reconnect()`, which says whether the connection is back, a lost one is taken up again.
    """

    async def send_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """Have commands executed; one result each. Raises `ConnectionLostError` or `TimeoutError`."""
        ...


class WebSocketCommandDispatcher:
    """Has commands executed by the client of a task."""

    def __init__(self, protocol: TaskExecutionProtocol) -> None:
        self._protocol = protocol

    async def execute_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """Send commands to the client; one result each, in order. After a lost connection they are sent once more,
        under the same ids.
        """
        try:
            results = await self._protocol.send_commands(commands, timeout)
        except (ConnectionLostError, ConnectionError):
            reconnect = getattr(self._protocol, "reconnect", None)
            if reconnect is None or not await reconnect():
                raise
            results = await self._protocol.send_commands(commands, timeout)
        if [result.call_id for result in results] != [command.call_id for command in commands]:
            raise DataError("the results do not fit the commands", field="results")
        return list(results)
