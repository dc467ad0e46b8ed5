"""Where commands go: to functions of this process, or over a connection to the machine that has the screen.

A look that timed out is tried once more; an action is not, as it may have been done. `docs/agents.md` has the table.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from ufo_experience.errors import DataError, UsageError
from ufo_experience.session.protocols import (
    DATA_COLLECTION,
    Command,
    CommandDispatcher,
    ConnectionLostError,
    Outcomes,
    Result,
    ResultStatus,
    TaskExecutionProtocol,
)

T = TypeVar("T")
Tool = Callable[..., Any]

EARLIER_FAILED = "an earlier action of this step did not work"
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError)  # one and the same since Python 3.11

_log = logging.getLogger(__name__)


async def outcome_of(work: Awaitable[T], timeout: float | None = None) -> T | Exception:
    """What a piece of work gave, or what it raised: an agent or a tool is not ours, and may raise anything."""
    [done] = await asyncio.gather(asyncio.wait_for(work, timeout), return_exceptions=True)
    if isinstance(done, _TIMEOUTS) and timeout is not None:
        return TimeoutError(str(done) or f"no answer within {timeout:g} s")
    if isinstance(done, BaseException) and not isinstance(done, Exception):
        return RuntimeError("was cancelled")
    return done


def told(error: Exception) -> str:
    """An exception in words."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


async def execute(dispatcher: CommandDispatcher, commands: Sequence[Command], timeout: float) -> Outcomes:
    """Execute the commands of one step in order; after one that does not work the rest is skipped."""
    outcomes: list[tuple[Command, Result]] = []
    for command in commands:
        works = all(result.ok for _, result in outcomes)
        result = await _execute_one(dispatcher, command, timeout) if works else Result.skipped(command, EARLIER_FAILED)
        outcomes.append((command, result))
    return tuple(outcomes)


async def _execute_one(dispatcher: CommandDispatcher, command: Command, timeout: float) -> Result:
    async def send() -> Result:
        [result] = await dispatcher.execute_commands([command], timeout)
        return result

    is_look = command.tool_type == DATA_COLLECTION
    done = await outcome_of(send(), timeout)
    if is_look and isinstance(done, _TIMEOUTS):
        done = await outcome_of(send(), timeout)
    if isinstance(done, Result):
        return done
    _log.warning("%s: %s", command.tool_name, told(done))
    if isinstance(done, (ConnectionLostError, ConnectionError)):
        raise ConnectionLostError(f"{command.tool_name}: {done}") from done
    if isinstance(done, (DataError, UsageError, ValueError, TypeError)):
        return Result.skipped(command, told(done))
    unsure = "; it may have been executed all the same" if isinstance(done, _TIMEOUTS) and not is_look else ""
    return Result(ResultStatus.FAILURE, error=told(done) + unsure, call_id=command.call_id)


class LocalCommandDispatcher:
    """Executes commands one after the other. A tool is a function, plain (run in a thread) or async.

    It is called with the command's parameters, and with `target` (a `Target` or None) if it takes an argument of that
    name. What it raises is why the command failed.
    """

    def __init__(self, tools: Mapping[str, Tool], *, namespace: str = "LocalExecutor") -> None:
        self._tools, self._namespace = dict(tools), namespace

    async def execute_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """One result per command, in order. After a time-out of all together a plain function runs on."""

        async def one_by_one() -> list[Result]:
            return [Result(*await self._one(one), self._namespace, one.call_id) for one in commands]

        return await asyncio.wait_for(one_by_one(), timeout)

    async def _one(self, command: Command) -> tuple[ResultStatus, Any, str | None]:
        tool = self._tools.get(command.tool_name)
        if tool is None:
            return ResultStatus.FAILURE, None, f"no tool {command.tool_name!r}"
        arguments, signature = dict(command.parameters), inspect.signature(tool)
        if "target" in signature.parameters:
            arguments["target"] = command.target
        try:
            signature.bind(**arguments)
        except TypeError as error:
            return ResultStatus.SKIPPED, None, f"wrong parameters: {error}"
        is_async = inspect.iscoroutinefunction(tool)
        value = await outcome_of(tool(**arguments) if is_async else asyncio.to_thread(tool, **arguments))
        if isinstance(value, Exception):
            return ResultStatus.FAILURE, None, str(value) or type(value).__name__
        return ResultStatus.SUCCESS, value, None


class WebSocketCommandDispatcher:
    """Has commands executed by the client of a task."""

    def __init__(self, protocol: TaskExecutionProtocol) -> None:
        self._protocol = protocol

    async def execute_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """One result per command, in order. After a lost connection they are sent once more, under the same ids."""
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
