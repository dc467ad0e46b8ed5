"""Where commands go: to functions of this process, or over a connection to the machine that has the screen."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ufo_experience.errors import DataError, ExperienceError
from ufo_experience.session.protocols import Command, Result, ResultStatus

Tool = Callable[..., Any]


class LocalCommandDispatcher:
    """Executes commands one after the other. A tool is a function, plain (run in a thread) or async.

    It is called with the command's parameters, and with `target` (a `Target` or None) if it takes an argument of that
    name. A tool tells of a failure by raising one of `failures`; any other exception is a fault of the tool and passes.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        *,
        namespace: str = "LocalExecutor",
        failures: tuple[type[Exception], ...] = (ExperienceError, LookupError, ValueError, RuntimeError),
    ) -> None:
        self._tools, self._namespace, self._failures = dict(tools), namespace, failures

    async def execute_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """One result per command, in order.

        Raises:
            asyncio.TimeoutError: they took longer than `timeout` seconds together; a plain function runs on.
        """
        return await asyncio.wait_for(self._all(commands), timeout)

    async def reconnect(self) -> bool:
        """There is no connection that could be lost."""
        return False

    async def _all(self, commands: Sequence[Command]) -> list[Result]:
        found = [await self._one(command) for command in commands]
        pairs = zip(found, commands, strict=True)
        return [replace(result, namespace=self._namespace, call_id=command.call_id) for result, command in pairs]

    async def _one(self, command: Command) -> Result:
        tool = self._tools.get(command.tool_name)
        if tool is None:
            return Result(ResultStatus.FAILURE, error=f"no tool {command.tool_name!r}")
        arguments, signature = dict(command.parameters), inspect.signature(tool)
        if "target" in signature.parameters:
            arguments["target"] = command.target
        try:
            signature.bind(**arguments)
        except TypeError as error:
            return Result(ResultStatus.SKIPPED, error=f"wrong parameters: {error}")
        try:
            is_async = inspect.iscoroutinefunction(tool)
            value = await (tool(**arguments) if is_async else asyncio.to_thread(tool, **arguments))
        except self._failures as error:
            return Result(ResultStatus.FAILURE, error=str(error) or type(error).__name__)
        return Result(result=value)


class TaskExecutionProtocol(Protocol):
    """A connection to the client that executes the commands of a service session: UFO's own, or any other."""

    async def send_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """Have commands executed; one result each. Raises `ConnectionLostError` or `TimeoutError`."""
        ...


class WebSocketCommandDispatcher:
    """Has commands executed by the client of a task."""

    def __init__(self, protocol: TaskExecutionProtocol) -> None:
        self._protocol = protocol

    async def execute_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """Send commands to the client; one result each, in order."""
        results = await self._protocol.send_commands(commands, timeout)
        if [result.call_id for result in results] != [command.call_id for command in commands]:
            raise DataError("the results do not fit the commands", field="results")
        return list(results)

    async def reconnect(self) -> bool:
        """True when the connection has come back by itself: where the protocol can, it says so."""
        again = getattr(self._protocol, "reconnect", None)
        return bool(await again()) if again is not None else False
