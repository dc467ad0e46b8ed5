"""What a session does when something does not answer, goes away or fails.

timeout of a look            tried once more, then the step fails
timeout of an action         not repeated, as it may have been done; the step fails and the agent sees why
connection lost              sent once more where the connection comes back, else the session ends in error
agent error                  logged, asked again (`agent_retries` in a row), then the round ends in ERROR
malformed command            skipped, with the rest of its step
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeVar

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

EARLIER_FAILED = "an earlier action of this step did not work"
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError)  # one and the same since Python 3.11

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RecoveryPolicy:
    """How many seconds to wait, and how often in a row an agent that fails is asked again."""

    agent_timeout: float = 300.0
    command_timeout: float = 60.0
    agent_retries: int = 1


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
    """Execute the commands of one step in order; after one that does not work the rest is skipped.

    Raises:
        ConnectionLostError: the connection is gone and could not be got back.
    """
    outcomes: list[tuple[Command, Result]] = []
    for command in commands:
        if outcomes and not outcomes[-1][1].ok:
            result = skipped(command, EARLIER_FAILED)
        else:
            result = await _execute_one(dispatcher, command, timeout)
        outcomes.append((command, result))
    return tuple(outcomes)


def skipped(command: Command, reason: str) -> Result:
    """The result of a command that was not tried."""
    return Result(ResultStatus.SKIPPED, error=reason, call_id=command.call_id)


async def _execute_one(dispatcher: CommandDispatcher, command: Command, timeout: float) -> Result:
    is_look = command.tool_type == DATA_COLLECTION
    done = await outcome_of(_send(dispatcher, command, timeout), timeout)
    if is_look and isinstance(done, _TIMEOUTS):
        done = await outcome_of(_send(dispatcher, command, timeout), timeout)
    if isinstance(done, Result):
        return done
    _log.warning("%s: %s", command.tool_name, told(done))
    if isinstance(done, (ConnectionLostError, ConnectionError)):
        raise ConnectionLostError(f"{command.tool_name}: {done}") from done
    if isinstance(done, (DataError, UsageError, ValueError, TypeError)):
        return skipped(command, told(done))
    unsure = "; it may have been executed all the same" if isinstance(done, _TIMEOUTS) and not is_look else ""
    return Result(ResultStatus.FAILURE, error=told(done) + unsure, call_id=command.call_id)


async def _send(dispatcher: CommandDispatcher, command: Command, timeout: float) -> Result:
    [result] = await dispatcher.execute_commands([command], timeout)
    return result
