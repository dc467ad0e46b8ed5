"""Pydantic AI: `Agent(model, capabilities=[ExperienceCapability(recorder)])`. Tested with `pydantic-ai` 2.68."""

from typing import Any

from ufo_experience.errors import needs_extra
from ufo_experience.integrations.recorder import Check, Recorder, Watched

with needs_extra("pydantic-ai"):
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities.abstract import AbstractCapability


class ExperienceCapability(AbstractCapability[Any]):
    """Memory for one agent. `check` looks at the result and says whether the task was done (None: unknown)."""

    def __init__(self, recorder: Recorder, application: str | None = None, check: Check | None = None) -> None:
        self._run = Watched(recorder, application, check)

    def get_instructions(self) -> Any:
        return lambda ctx: self._run.block

    async def before_run(self, ctx: RunContext[Any]) -> None:
        await self._run.abegin(ctx.prompt if isinstance(ctx.prompt, str) else "")

    async def before_tool_execute(self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any) -> Any:
        self._run.called(call.tool_call_id)
        return args

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, result: Any
    ) -> Any:
        self._run.answered(call.tool_call_id, call.tool_name, call.args_as_dict(), result)
        return result

    async def on_tool_execute_error(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, error: Exception
    ) -> Any:
        self._run.answered(call.tool_call_id, call.tool_name, call.args_as_dict(), error=str(error) or "failed")
        raise error

    async def after_run(self, ctx: RunContext[Any], *, result: Any) -> Any:
        await self._run.aend(result)
        return result
