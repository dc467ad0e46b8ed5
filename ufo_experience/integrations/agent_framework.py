"""Microsoft Agent Framework 1.23: `Agent(client, context_providers=[ExperienceProvider(recorder)])`."""

from typing import Any

from ufo_experience.errors import needs_extra
from ufo_experience.integrations.recorder import Check, Recorder, Watched

with needs_extra("agent-framework"):
    from agent_framework import ContextProvider, SessionContext


class ExperienceProvider(ContextProvider):
    """Memory for one agent. `check` looks at the response and says whether the task was done (None: unknown)."""

    def __init__(self, recorder: Recorder, *, application: str | None = None, check: Check | None = None) -> None:
        super().__init__("ufo_experience")
        self._run = Watched(recorder, application, check)

    async def before_run(self, *, agent: Any, session: Any, context: SessionContext, state: dict[str, Any]) -> None:
        requests = [message.text for message in context.input_messages if message.role == "user"]
        await self._run.abegin(requests[-1] if requests else "")
        if self._run.block:
            context.extend_instructions(self.source_id, self._run.block)

    async def after_run(self, *, agent: Any, session: Any, context: SessionContext, state: dict[str, Any]) -> None:
        contents = [content for message in context.response.messages for content in message.contents]
        answers = {one.call_id: one for one in contents if one.type == "function_result"}
        for call in (one for one in contents if one.type == "function_call"):
            answer = answers.get(call.call_id)
            error = getattr(answer, "exception", None)
            result, failed = getattr(answer, "result", ""), str(error) if error else None
            self._run.recorder.call(call.name, call.parse_arguments(), result, failed)
        await self._run.aend(context.response)
