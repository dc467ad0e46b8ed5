"""Commands, what came of them, and where they go: to functions of this process, or over a connection to the machine
that has the screen. A look that timed out is tried once more; an action is not, as it may have been done.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeVar
from uuid import uuid4

from ufo_experience.errors import DataError, ServiceError, UsageError

T = TypeVar("T")
Tool = Callable[..., Any]

DATA_COLLECTION, ACTION = "data_collection", "action"  # types of tools
EARLIER_FAILED = "an earlier action of this step did not work"
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError)  # one and the same since Python 3.11

_log = logging.getLogger(__name__)


class ConnectionLostError(ServiceError):
    default_code = "E_CONNECTION"


class ResultStatus(str, Enum):
    """What became of a command. SKIPPED was never tried."""

    SUCCESS = "success"
    FAILURE = "failure"
    SKIPPED = "skipped"
    NONE = "none"


@dataclass(frozen=True)
class Target:
    """What a command acts on. `id` holds for one step only; `is_password` marks a field whose text is secret.

    `within` names the row, group or dialog around it, `dialog` says whether it stands in a dialog, and `checked` how
    a switch is set (None: not known). A target with a name and no `id` is looked for on the screen.
    """

    name: str = ""
    type: str | None = None
    id: str = ""
    kind: str = "control"
    is_password: bool = False
    within: str = ""
    dialog: bool | None = None
    checked: bool | None = None


@dataclass(frozen=True)
class Command:
    """A call of a tool. `call_id` stays the same when it is sent again, so that it is not executed twice."""

    tool_name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tool_type: str = ACTION
    target: Target | None = None
    call_id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def is_named_only(self) -> bool:
        """True when its target has still to be found on the screen."""
        return self.target is not None and bool(self.target.name) and not self.target.id

    def __str__(self) -> str:
        return f'{self.tool_name} on "{self.target.name}"' if self.target else self.tool_name


@dataclass(frozen=True)
class Result:
    """What a command came to; `ok` when it worked, else `error` says why. `namespace` names what executed it."""

    status: ResultStatus = ResultStatus.SUCCESS
    result: Any = None
    error: str | None = None
    namespace: str = ""
    call_id: str = ""

    @property
    def ok(self) -> bool:
        return self.status is ResultStatus.SUCCESS

    @classmethod
    def skipped(cls, command: Command, reason: str) -> Result:
        return cls(ResultStatus.SKIPPED, error=reason, call_id=command.call_id)


Outcomes = tuple[tuple[Command, Result], ...]


class CommandDispatcher(Protocol):
    """Has commands executed, one result each, in order. One that fails is a result; a lost connection is raised."""

    async def execute_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]: ...


class TaskExecutionProtocol(Protocol):
    """A connection to the client of a service session. With a coroutine `reconnect()` a lost one is taken up again."""

    async def send_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]: ...


async def outcome_of(work: Awaitable[T], timeout: float | None = None) -> T | Exception:
    """What a piece of work gave, or what it raised: an agent or a tool is not ours, and may raise anything."""
    [done] = await asyncio.gather(asyncio.wait_for(work, timeout), return_exceptions=True)
    if isinstance(done, _TIMEOUTS) and timeout is not None:
        return TimeoutError(str(done) or f"no answer within {timeout:g} s")
    if isinstance(done, BaseException) and not isinstance(done, Exception):
        return RuntimeError("was cancelled")
    return done


def told(error: Exception) -> str:
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
    """Executes commands one after the other. A tool is a function, plain (run in a thread) or async, called with the
    command's parameters, and with `target` if it takes one. What it raises is why it failed."""

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
