"""What a session does when something does not answer, goes away or fails.

timeout of a look            tried again (`timeout_retries`), then the step fails
timeout of an action         not repeated, as it may have been done; the step fails and the agent sees why
connection lost              reconnect (`reconnects`) and send again under the same call id, else abort
agent error                  logged, asked again (`agent_retries` in a row), then the round ends in ERROR
malformed command            skipped, with the rest of its step
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from ufo_experience.errors import DataError, UsageError
from ufo_experience.session.protocols import (
    DATA_COLLECTION,
    Command,
    CommandDispatcher,
    ConnectionLostError,
    Outcomes,
    Result,
    ResultStatus,
)

T = TypeVar("T")
Kind = Literal["timeout", "connection", "invalid", "agent"]

EARLIER_FAILED = "an earlier action of this step did not work"

_GRACE_S = 1.0  # for a cancelled piece of work to tidy up
# asyncio's TimeoutError is not the built-in one before Python 3.11; the built-in one is an OSError, so it comes first.
_KINDS: dict[Kind, tuple[type[BaseException], ...]] = {
    "timeout": (asyncio.TimeoutError, TimeoutError),
    "connection": (ConnectionLostError, ConnectionError),
    "invalid": (DataError, UsageError, ValueError, TypeError),
}

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RecoveryPolicy:
    """How long to wait and how often to try again. `retry_actions` also repeats actions whose effect is unknown."""

    agent_timeout: float = 300.0
    command_timeout: float = 60.0
    agent_retries: int = 1
    timeout_retries: int = 1
    retry_actions: bool = False
    reconnects: int = 1


@dataclass(frozen=True)
class Failure:
    """Why a piece of work gave nothing."""

    kind: Kind
    message: str


@dataclass(frozen=True)
class Done(Generic[T]):
    """The result of a piece of work that succeeded."""

    value: T


async def attempt(work: Coroutine[Any, Any, T], timeout: float | None = None) -> Done[T] | Failure:
    """Run `work` in a task of its own and tell how it ended; nothing it raises passes, except what ends the program."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=timeout)
    finally:
        late = not task.done()
        if late:
            task.cancel()
    if late:
        await asyncio.wait({task}, timeout=_GRACE_S)
        return Failure("timeout", f"no answer within {timeout:g} s")
    if task.cancelled():
        return Failure("agent", "was cancelled")
    error = task.exception()
    if error is None:
        return Done(task.result())
    kinds: list[Kind] = [kind for kind, types in _KINDS.items() if isinstance(error, types)]
    return Failure(
        kinds[0] if kinds else "agent", f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    )


async def execute(dispatcher: CommandDispatcher, commands: Sequence[Command], policy: RecoveryPolicy) -> Outcomes:
    """Execute the commands of one step in order; after one that does not work the rest is skipped.

    Raises:
        ConnectionLostError: the connection is gone and could not be got back.
    """
    outcomes: list[tuple[Command, Result]] = []
    for command in commands:
        if outcomes and not outcomes[-1][1].ok:
            result = skipped(command, EARLIER_FAILED)
        else:
            result = await _execute_one(dispatcher, command, policy)
        outcomes.append((command, result))
    return tuple(outcomes)


def skipped(command: Command, reason: str) -> Result:
    """The result of a command that was not tried."""
    return Result(ResultStatus.SKIPPED, error=reason, call_id=command.call_id)


async def _execute_one(dispatcher: CommandDispatcher, command: Command, policy: RecoveryPolicy) -> Result:
    is_look = command.tool_type == DATA_COLLECTION
    retries = policy.timeout_retries if policy.retry_actions or is_look else 0
    reconnects = policy.reconnects
    while True:
        sent = dispatcher.execute_commands([command], policy.command_timeout)
        done = await attempt(sent, policy.command_timeout + _GRACE_S)
        if isinstance(done, Done):
            return done.value[0] if done.value else _failed(command, "the dispatcher gave no result")
        _log.warning("%s: %s: %s", command.tool_name, done.kind, done.message)
        if done.kind == "timeout" and retries > 0:
            retries -= 1
        elif done.kind == "connection":
            if reconnects <= 0 or not await dispatcher.reconnect():
                raise ConnectionLostError(f"{command.tool_name}: {done.message}")
            reconnects -= 1
        elif done.kind == "invalid":
            return skipped(command, done.message)
        else:
            unsure = "; it may have been executed all the same" if done.kind == "timeout" and not is_look else ""
            return _failed(command, done.message + unsure)


def _failed(command: Command, message: str) -> Result:
    return Result(ResultStatus.FAILURE, error=message, call_id=command.call_id)
