"""Commands executed in this process, by functions registered under the names of tools."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ufo_experience.errors import ExperienceError
from ufo_experience.session.protocols import Command, Result, ResultStatus

Tool = Callable[..., Any]


class LocalCommandDispatcher:
    """Executes commands one after the other. A tool is a function, plain (run in a thread) or async.

    It is called with the command's parameters, and with `target` (a `Target` or None) if it takes an argument of that
    name.
    A tool tells of a failure by raising one of `failures`; any other exception is a fault of the tool and passes.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        *,
        namespace: str = "LocalExecutor",
        failures: tuple[type[Exception], ...] = (ExperienceError, LookupError, ValueError, RuntimeError),
    ) -> None:
        self._tools = dict(tools)
        self._namespace = namespace
        self._failures = failures

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
        try:
            if inspect.iscoroutinefunction(tool):
                value = await tool(**arguments)
            else:
                value = await asyncio.to_thread(tool, **arguments)
        except self._failures as error:
            return self._result(command, ResultStatus.FAILURE, error=str(error) or type(error).__name__)
        return self._result(command, ResultStatus.SUCCESS, result=value)

    def _result(self, command: Command, status: ResultStatus, result: Any = None, error: str | None = None) -> Result:
        return Result(status, result, error, self._namespace, command.call_id)
