"""Each adapter with its real framework and a scripted model: the first run is learned, the second is shown its way."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from ufo_experience import ExperienceMemory
from ufo_experience.integrations.osworld import WithMemory
from ufo_experience.integrations.recorder import Recorder

TASK = "Insert a table into the document"
CALLS = (("click", {"control": "Insert"}), ("click", {"control": "Table"}))
adapters = pytest.mark.adapters


def click(control: str) -> str:
    """Click a control; the first takes longer, so that calls made at once do not end in their order."""
    time.sleep(0.05 if control == "Insert" else 0)
    return f"{control} was clicked"


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(ExperienceMemory.open(tmp_path / "db", embedder="hashing"))


class Script:
    """What a model says: one click a turn; once it is shown the way, all of it in one turn. Then it is done."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self._left = list(CALLS)

    def answer(self, prompt: str) -> list[tuple[str, dict[str, str]]]:
        """The calls of a turn, none when it is done."""
        self.prompts.append(prompt)
        if not self._left:
            self._left = list(CALLS)
            return []
        count = len(self._left) if "past-experience" in prompt else 1
        now, self._left = self._left[:count], self._left[count:]
        return now


def assert_learned(recorder: Recorder, script: Script) -> None:
    """Both runs are stored with their steps, verified; the second was shown the way, and took two turns of three."""
    assert recorder.fault is None
    records = recorder.memory.list()
    assert {one.trust.value for one in records} == {"verified"}
    for record in records:
        assert [step.target_control.name for step in record.action.steps] == ["Insert", "Table"]
    first, second = script.prompts[:3], script.prompts[3:]
    assert len(second) == 2
    assert not any("past-experience" in text for text in first)
    assert all("past-experience" in text and "Table" in text for text in second)


@adapters
def test_openai_agents_sdk(recorder):
    """By `Runner.run`, hooks and the filter of the model's input."""
    pytest.importorskip("agents")
    from agents import Agent, Model, ModelResponse, Usage, function_tool, set_tracing_disabled
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from ufo_experience.integrations.openai_agents import run_with_memory

    set_tracing_disabled(True)
    script = Script()

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, *args: Any, **named: Any) -> ModelResponse:
            calls = [
                ResponseFunctionToolCall(
                    type="function_call", name=name, arguments=json.dumps(given), call_id=given["control"]
                )
                for name, given in script.answer(system_instructions or "")
            ]
            if calls:
                return ModelResponse(calls, Usage(), None)
            said = ResponseOutputText(type="output_text", text="done", annotations=[])
            message = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[said]
            )
            return ModelResponse([message], Usage(), None)

        def stream_response(self, *args: Any, **named: Any) -> Any:
            raise AssertionError("nothing is streamed here")

    agent = Agent(name="word", instructions="You use Word.", model=Scripted(), tools=[function_tool(click)])
    for _ in range(2):
        asyncio.run(run_with_memory(agent, TASK, recorder, check=lambda result: result.final_output == "done"))
    assert all("You use Word." in text for text in script.prompts)
    assert_learned(recorder, script)


def scripted_chat(script: Script) -> Any:
    """A LangChain chat model that says what the script says."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **named: Any) -> Any:
            return self

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **named: Any) -> ChatResult:
            shown = "\n".join(message.text for message in messages if message.type == "system")
            calls = [{"name": name, "args": given, "id": given["control"]} for name, given in script.answer(shown)]
            return ChatResult(
                generations=[ChatGeneration(message=AIMessage("" if calls else "done", tool_calls=calls))]
            )

    return Scripted()


@adapters
@pytest.mark.parametrize("awaited", [False, True])
def test_langchain_middleware(recorder, awaited):
    """By `create_agent`; calls made at once are carried out side by side, and noted in their order."""
    pytest.importorskip("langchain")
    from langchain.agents import create_agent

    from ufo_experience.integrations.langchain import ExperienceMiddleware

    script = Script()
    middleware = ExperienceMiddleware(recorder, check=lambda state: state["messages"][-1].text == "done")
    agent = create_agent(scripted_chat(script), [click], system_prompt="You use Word.", middleware=[middleware])
    for _ in range(2):
        said = {"messages": [{"role": "user", "content": TASK}]}
        asyncio.run(agent.ainvoke(said)) if awaited else agent.invoke(said)
    assert_learned(recorder, script)


@adapters
def test_langchain_selector_and_retriever(recorder):
    """The known run as an example and as a document."""
    pytest.importorskip("langchain_core")
    from ufo_experience.integrations.langchain import ExperienceExampleSelector, ExperienceRetriever

    steps = [{"action": name, **arguments} for name, arguments in CALLS]
    kept = recorder.memory.remember(TASK, steps, success=True, judge="user")
    (example,) = ExperienceExampleSelector(recorder.memory).select_examples({"input": TASK})
    (document,) = ExperienceRetriever(memory=recorder.memory).invoke(TASK)
    assert example["id"] == document.metadata["id"] == kept.id
    assert "Table" in example["steps"]
    assert "Table" in document.page_content


@adapters
def test_pydantic_ai_capability(recorder):
    """By a capability of the agent."""
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from ufo_experience.integrations.pydantic_ai import ExperienceCapability

    script = Script()

    def scripted(messages: Any, info: Any) -> ModelResponse:
        calls = script.answer(info.instructions or "")
        return ModelResponse([ToolCallPart(*call) for call in calls] or [TextPart("done")])

    capability = ExperienceCapability(recorder, check=lambda result: result.output == "done")
    agent = Agent(FunctionModel(scripted), tools=[click], capabilities=[capability])
    for _ in range(2):
        agent.run_sync(TASK)
    assert_learned(recorder, script)


@adapters
def test_agent_framework_provider(recorder):
    """By a context provider."""
    pytest.importorskip("agent_framework")
    from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message

    from ufo_experience.integrations.agent_framework import ExperienceProvider

    script = Script()

    class Scripted(FunctionInvocationLayer, BaseChatClient):
        async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **named: Any) -> ChatResponse:
            said = [message.text for message in messages if message.role == "system"]
            calls = [
                Content.from_function_call(call_id=given["control"], name=name, arguments=given)
                for name, given in script.answer("\n".join([*said, str(options.get("instructions") or "")]))
            ]
            if calls:
                return ChatResponse(messages=[Message("assistant", calls)])
            return ChatResponse(messages=[Message("assistant", ["done"])])

    provider = ExperienceProvider(recorder, check=lambda response: response.text.endswith("done"))
    agent = Agent(Scripted(), instructions="You use Word.", tools=[click], context_providers=[provider])
    for _ in range(2):
        asyncio.run(agent.run(TASK))
    assert_learned(recorder, script)


TREE = """<desktop-frame xmlns:cp="u"><push-button name="Insert" cp:screencoord="(0, 0)" cp:size="(40, 50)"/>
<push-button name="Table" cp:screencoord="(40, 0)" cp:size="(60, 50)"/></desktop-frame>"""
AT = {"Insert": "(20, 20)", "Table": "(60, 20)"}


def osworld_run(recorder: Recorder, script: Script, tree: str) -> None:
    """A run of the harness: predict until DONE, then the evaluator's score."""

    class Scripted:
        def reset(self) -> None:
            return None

        def predict(self, instruction: str, obs: Any) -> Any:
            calls = script.answer(instruction)
            return "", [f"import pyautogui; pyautogui.click{AT[given['control']]}" for _, given in calls] or ["DONE"]

    agent = WithMemory(Scripted(), recorder)
    agent.reset()
    while agent.predict(TASK, {"accessibility_tree": tree})[1] != ["DONE"]:
        pass
    agent.judge(1.0)


def test_an_osworld_agent_is_judged_by_its_environment_and_its_clicks_are_named_by_the_tree(recorder):
    """The second run has the way before its instruction, and goes it in one prediction."""
    script = Script()
    for _ in range(2):
        osworld_run(recorder, script, TREE)
    assert_learned(recorder, script)


def test_an_osworld_run_of_bare_coordinates_is_kept_and_shown_to_nobody(recorder):
    """Its evaluator says yes, and nobody could follow it."""
    script = Script()
    for _ in range(2):
        osworld_run(recorder, script, "")
    assert recorder.fault is None
    assert len(script.prompts) == 6
    assert {one.trust.value for one in recorder.memory.list()} == {"observed"}


PAGE = (Path(__file__).resolve().parents[1] / "docs" / "integrations.md").read_text(encoding="utf-8")
EXAMPLES = {
    block.partition("ufo_experience.integrations.")[2].partition(" ")[0]: block
    for block in re.findall(r"```python\n(# needs a framework.*?)```", PAGE, re.DOTALL)
}


def defined_by(adapter: str) -> dict[str, Any]:
    """What the example of an adapter defines; running it imports everything it needs."""
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(EXAMPLES[adapter], adapter, "exec"), names)
    return names


def test_the_page_has_an_example_for_each_adapter():
    """Six, and that of OSWorld needs no package."""
    assert sorted(EXAMPLES) == sorted(
        ["openai_agents", "langchain", "pydantic_ai", "agent_framework", "browser_use", "osworld"]
    )
    assert callable(defined_by("osworld")["with_memory"])


@adapters
@pytest.mark.parametrize(
    ("adapter", "package"),
    [("openai_agents", "agents"), ("langchain", "langchain"), ("pydantic_ai", "pydantic_ai")],
)
def test_the_example_of_the_page_is_whole(adapter, package):
    """Everything it imports and defines is there."""
    pytest.importorskip(package)
    assert callable(defined_by(adapter)["main"])


@adapters
def test_the_example_of_the_page_learns(tmp_path, monkeypatch):
    """Run as it stands, with a scripted chat client in place of one with a key."""
    pytest.importorskip("agent_framework")
    from agent_framework import BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message

    class Scripted(FunctionInvocationLayer, BaseChatClient):
        said = False

        async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **named: Any) -> ChatResponse:
            if self.said:
                return ChatResponse(messages=[Message("assistant", ["done"])])
            self.said = True
            given = {"name": "todo.txt", "text": "buy milk"}
            call = Content.from_function_call(call_id="c1", name="write_note", arguments=given)
            return ChatResponse(messages=[Message("assistant", [call])])

    monkeypatch.chdir(tmp_path)
    asyncio.run(defined_by("agent_framework")["main"](Scripted()))
    (record,) = ExperienceMemory.open("my_memory", embedder="hashing").list()
    assert (record.trust.value, record.action.steps[0].action_type) == ("verified", "write_note")
