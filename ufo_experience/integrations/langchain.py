"""LangChain 1.4: `create_agent(model, tools, middleware=[ExperienceMiddleware(recorder)])`, a selector, a retriever."""

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from pydantic import ConfigDict

from ufo_experience.errors import UsageError, needs_extra
from ufo_experience.integrations.recorder import Check, Recorder, Watched
from ufo_experience.memory import ExperienceMemory

with needs_extra("langchain"):
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.documents import Document
    from langchain_core.example_selectors import BaseExampleSelector
    from langchain_core.messages import SystemMessage
    from langchain_core.retrievers import BaseRetriever


class ExperienceMiddleware(AgentMiddleware[Any, Any]):
    """Memory for one agent. `check` looks at the final state and says whether the task was done (None: unknown)."""

    def __init__(self, recorder: Recorder, *, application: str | None = None, check: Check | None = None) -> None:
        super().__init__()
        self._run = Watched(recorder, application, check)
        self._noted: set[str] = set()

    def before_agent(self, state: Any, runtime: Any) -> None:
        """Ask what is known of the last thing a person said."""
        requests = [message for message in state["messages"] if message.type == "human"]
        self._run.begin(requests[-1].text if requests else "")
        self._noted = {call["id"] for call in _calls(state)}

    def before_model(self, state: Any, runtime: Any) -> None:
        self._run.recorder.attempt(lambda: self._note(state))

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(self._told(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        return await handler(self._told(request))

    def after_agent(self, state: Any, runtime: Any) -> None:
        self._run.recorder.attempt(lambda: self._note(state))
        self._run.end(state)

    def _told(self, request: Any) -> Any:
        if not self._run.block:
            return request
        own = request.system_message.text if request.system_message else ""
        return request.override(system_message=SystemMessage(self._run.before(own)))

    def _note(self, state: Any) -> None:
        """Note the calls that were answered, in the order the model made them: they are carried out side by side."""
        answers = {message.tool_call_id: message for message in state["messages"] if message.type == "tool"}
        for call in _calls(state):
            answer = answers.get(call["id"])
            if answer is not None and call["id"] not in self._noted:
                self._noted.add(call["id"])
                result, error = ("", answer.text) if answer.status == "error" else (answer.text, None)
                self._run.recorder.call(call["name"], call["args"], result, error)


def _calls(state: Any) -> list[Any]:
    return [call for message in state["messages"] if message.type == "ai" for call in message.tool_calls]


class ExperienceExampleSelector(BaseExampleSelector):
    """Past runs as few-shot examples: `task` and `steps` of each. `key` is the variable that holds the new task."""

    def __init__(self, memory: ExperienceMemory, *, key: str = "input", application: str | None = None) -> None:
        self._memory, self._key, self._application = memory, key, application

    def add_example(self, example: dict[str, str]) -> Any:
        raise UsageError("examples are learned from runs: use ExperienceMemory.remember")

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        return _examples(self._memory, input_variables[self._key], self._application)


class ExperienceRetriever(BaseRetriever):
    """Past runs as documents: the block of each, with its id and score as metadata."""

    memory: ExperienceMemory
    application: str | None = None
    model_config: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        examples = _examples(self.memory, query, self.application)
        return [Document(page_content=one.pop("steps"), metadata=one) for one in examples]


def _examples(memory: ExperienceMemory, task: str, application: str | None) -> list[dict[str, Any]]:
    return [
        {
            "id": hit.id,
            "task": hit.experience.state.task,
            "steps": memory.build_prompt(task, [hit]).text,
            "score": hit.score,
        }
        for hit in memory.retrieve(task, application=application)
    ]
