"""OpenAI Agents SDK: `run_with_memory(agent, task, recorder)` in place of `Runner.run(agent, task)`.

What is known goes before the instructions of every model call (`call_model_input_filter`); every function tool that was
called is a step (`RunHooks`). Tested with `openai-agents` 0.24.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ufo_experience.errors import needs_extra
from ufo_experience.integrations.recorder import CallOrder, Recorder

with needs_extra("openai-agents"):
    from agents import Agent, RunConfig, RunHooks, Runner, Tool
    from agents.run_config import CallModelData, ModelInputData
    from agents.tool_context import ToolContext


class ExperienceHooks(RunHooks[Any]):
    """Notes each function tool that was called, with its arguments and its answer."""

    def __init__(self, recorder: Recorder) -> None:
        self.order = CallOrder(recorder)

    async def on_tool_start(self, context: Any, agent: Agent[Any], tool: Tool) -> None:
        """A tool is called, maybe beside others."""
        if isinstance(context, ToolContext):
            self.order.begin(context.tool_call_id)

    async def on_tool_end(self, context: Any, agent: Agent[Any], tool: Tool, result: object) -> None:
        """A tool has answered."""
        called = isinstance(context, ToolContext)
        identifier, arguments = (context.tool_call_id, context.tool_arguments) if called else ("", None)
        await asyncio.to_thread(self.order.end, identifier, tool.name, arguments, result)


def with_block(block: str, config: RunConfig | None = None) -> RunConfig:
    """A run configuration that puts `block` before the instructions of every model call."""

    def add(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        return ModelInputData(given.input, "\n\n".join(part for part in (block, given.instructions) if part))

    base = config or RunConfig()
    return replace(base, call_model_input_filter=add) if block else base


async def run_with_memory(
    agent: Agent[Any],
    task: str,
    recorder: Recorder,
    *,
    application: str | None = None,
    check: Callable[[Any], bool | None] | None = None,
    config: RunConfig | None = None,
    **options: Any,
) -> Any:
    """`Runner.run` with memory. `check` looks at the result and says whether the task was done; without it the run is
    kept as observed. `options` go to `Runner.run`.
    """
    start = await recorder.astart(task, application)
    hooks = ExperienceHooks(recorder)
    result = await Runner.run(agent, task, hooks=hooks, run_config=with_block(start.block, config), **options)
    hooks.order.close()
    success = None if check is None else check(result)
    await recorder.afinish(success, None if success is None else "program")
    return result
