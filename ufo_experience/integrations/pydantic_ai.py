"""Pydantic AI: `Agent(model, capabilities=[ExperienceCapability(recorder)])`.

What is known of the prompt is an instruction of the run; every tool call is a step. Tested with `pydantic-ai` 2.68.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ufo_experience.errors import needs_extra
from ufo_experience.integrations.recorder import CallOrder, Recorder, Start

with needs_extra("pydantic-ai"):
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities.abstract import AbstractCapability


@dataclass
class ExperienceCapability(AbstractCapability[Any]):
    """Memory for one agent. `check` looks at the result and says whether the task was done (None: unknown)."""

    recorder: Recorder
    application: str | None = None
    check: Callable[[Any], bool | None] | None = None
    _start: Start = field(default_factory=Start, init=False)
    _order: CallOrder = field(init=False)

    def __post_init__(self) -> None:
        self._order = CallOrder(self.recorder)

    def get_instructions(self) -> Any:
        """The block of the run that is under way."""

        def block(ctx: RunContext[Any]) -> str:
            return self._start.block

        return block

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Ask what is known of the prompt."""
        task = ctx.prompt if isinstance(ctx.prompt, str) else ""
        self._start = await self.recorder.astart(task, self.application)

    async def before_tool_execute(self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any) -> Any:
        """A tool is called, maybe beside others; its arguments go on as they are."""
        self._order.begin(call.tool_call_id)
        return args

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, result: Any
    ) -> Any:
        """Note the call; its result goes on as it is."""
        self._order.end(call.tool_call_id, call.tool_name, call.args_as_dict(), result)
        return result

    async def on_tool_execute_error(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, error: Exception
    ) -> Any:
        """Note the call that failed; its error goes on as it is."""
        self._order.end(call.tool_call_id, call.tool_name, call.args_as_dict(), error=str(error) or "failed")
        raise error

    async def after_run(self, ctx: RunContext[Any], *, result: Any) -> Any:
        """Learn the run; its result goes on as it is."""
        self._order.close()
        success = None if self.check is None else self.check(result)
        await self.recorder.afinish(success, None if success is None else "program")
        return result
