"""OpenAI Agents SDK 0.24: `run_with_memory(agent, task, recorder)` in place of `Runner.run(agent, task)`."""

import asyncio
from dataclasses import replace
from typing import Any

from ufo_experience.errors import needs_extra
from ufo_experience.integrations.recorder import Check, Recorder, Watched

with needs_extra("openai-agents"):
    from agents import Agent, RunConfig, RunHooks, Runner, Tool
    from agents.run_config import CallModelData, ModelInputData
    from agents.tool_context import ToolContext


class ExperienceHooks(RunHooks[Any]):
    """Notes each function tool that was called, with its arguments and its answer."""

    def __init__(self, run: Watched) -> None:
        self._run = run

    async def on_tool_start(self, context: Any, agent: Agent[Any], tool: Tool) -> None:
        if isinstance(context, ToolContext):
            self._run.called(context.tool_call_id)

    async def on_tool_end(self, context: Any, agent: Agent[Any], tool: Tool, result: object) -> None:
        called = isinstance(context, ToolContext)
        identifier, arguments = (context.tool_call_id, context.tool_arguments) if called else ("", None)
        await asyncio.to_thread(self._run.answered, identifier, tool.name, arguments, result)


async def run_with_memory(
    agent: Agent[Any],
    task: str,
    recorder: Recorder,
    *,
    application: str | None = None,
    check: Check | None = None,
    config: RunConfig | None = None,
    **options: Any,
) -> Any:
    """`Runner.run` with memory; `options` go there. `check` looks at the result and says whether the task was done."""
    run = Watched(recorder, application, check)
    await run.abegin(task)

    def told(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData(data.model_data.input, run.before(data.model_data.instructions))

    known = replace(config or RunConfig(), call_model_input_filter=told) if run.block else config
    result = await Runner.run(agent, task, hooks=ExperienceHooks(run), run_config=known, **options)
    await run.aend(result)
    return result
