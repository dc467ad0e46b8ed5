"""The MCP server, by the official client: in memory for the rules, over a stdio subprocess for both protocol eras."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

from ufo_experience import ExperienceMemory
from ufo_experience.integrations.mcp_server import build_server

pytestmark = pytest.mark.server

STEPS = [
    {"action": "click", "control": "New Email", "control_type": "Button"},
    {"action": "type", "control": "To", "control_type": "Edit", "text": "jane@example.com"},
    {"action": "click", "control": "Save", "control_type": "Button"},
]
TASK = "Draft an email to Jane about the budget"


@pytest.fixture
def memory(tmp_path: Path) -> ExperienceMemory:
    """A store that knows one task, judged by a person."""
    opened = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    opened.remember(TASK, STEPS, success=True, application="Outlook", judge="user")
    return opened


def talk(
    memory: ExperienceMemory,
    say: Callable[[Client], Awaitable[Any]],
    *,
    mode: str = "auto",
    answer: Any = None,
    **allowed: bool,
) -> Any:
    """Run a conversation with a server in this process."""

    async def run() -> Any:
        async with Client(build_server(memory, **allowed), mode=mode, elicitation_callback=answer) as client:
            return await say(client)

    return asyncio.run(run())


async def tool_names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def test_only_reading_is_offered_by_default(memory):
    """No writing tool is even listed."""
    assert talk(memory, tool_names) == {"find_experience", "experience_prompt"}


def test_writing_and_approving_are_offered_when_they_are_allowed(memory):
    """Each switch adds its own tools."""
    assert talk(memory, tool_names, allow_writes=True) >= {"report_outcome", "record_run"}
    assert talk(memory, tool_names, allow_approve=True) >= {"approve_experience", "quarantine_experience"}
    assert talk(memory, tool_names, allow_run=True) == {"find_experience", "experience_prompt", "run"}


def test_a_task_without_a_known_way_is_not_run(memory):
    """No browser is started, and nothing is an error."""

    async def say(client: Client) -> Any:
        return await client.call_tool(
            "run", {"task": "Rotate the scanned photograph", "browser": "https://example.com"}
        )

    result = talk(memory, say, allow_run=True)
    assert result.structured_content == {"reached": False, "stopped": "no way of this task is known", "steps": []}


def test_an_address_without_its_scheme_is_answered(memory):
    """In our words, before a browser is started."""

    async def say(client: Client) -> Any:
        return await client.call_tool("run", {"task": TASK, "browser": "example.com"})

    result = talk(memory, say, allow_run=True)
    assert (result.is_error, "https://example.com" in result.content[0].text) == (True, True)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_known_task_is_found_and_told_as_a_block(memory, mode):
    """By clients of either protocol era."""

    async def say(client: Client) -> Any:
        found = await client.call_tool("find_experience", {"task": "Draft an email to Bob about the trip"})
        block = await client.call_tool("experience_prompt", {"task": "Draft an email to Bob about the trip"})
        return found.structured_content, block.content[0].text

    found, block = talk(memory, say, mode=mode)
    assert [hit["success"] for hit in found["hits"]] == [True]
    assert "New Email" in block
    assert block.endswith(f"ids for report_outcome: {found['hits'][0]['id']}")


def test_nothing_known_is_a_normal_answer(memory):
    """The agent goes on without; nothing is an error."""

    async def say(client: Client) -> Any:
        return await client.call_tool("find_experience", {"task": "Rotate the scanned photograph by ninety degrees"})

    result = talk(memory, say)
    assert not result.is_error
    assert result.structured_content["hits"] == []
    assert result.structured_content["reason"]


def test_a_recorded_run_lands_observed_and_is_shown_to_nobody(memory):
    """An agent cannot vouch for itself; it is told who can, and how."""

    async def say(client: Client) -> Any:
        steps = [{"action": "click", "control": "Rotate", "control_type": "Button"}]
        kept = await client.call_tool("record_run", {"task": "Rotate the photo", "steps": steps, "success": True})
        assert "to show it: ufo-experience judge" in kept.structured_content["note"]
        return await client.call_tool("find_experience", {"task": "Rotate the photo"})

    result = talk(memory, say, allow_writes=True)
    assert result.structured_content["hits"] == []
    assert result.structured_content["withheld"] == 1
    assert {one.trust.value for one in memory.list()} == {"verified", "observed"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_second_run_is_shown_the_way_of_the_first_once_a_person_said_yes(memory, mode):
    """A run recorded changes nothing; approved by the person behind the client it is shown, and credited."""
    task = "Rotate the scanned photograph by ninety degrees"

    async def yes(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"approve": True})

    async def say(client: Client) -> Any:
        async def ask(name: str, **given: Any) -> Any:
            return (await client.call_tool(name, given)).structured_content

        async def told() -> str:
            return (await client.call_tool("experience_prompt", {"task": task})).content[0].text

        blocks = [await told()]
        steps = [{"action": "click", "control": name, "control_type": "Button"} for name in ("Image", "Rotate")]
        wordings = ["Tilt the sideways picture upright"]
        (kept,) = (await ask("record_run", task=task, steps=steps, success=True, wordings=wordings))["ids"]
        blocks.append(await told())
        await client.call_tool("approve_experience", {"id": kept})
        blocks.append(await told())
        credited = await ask("report_outcome", ids=[kept], success=True, session="s2")
        return kept, blocks, credited["ids"]

    kept, blocks, credited = talk(memory, say, mode=mode, answer=yes, allow_writes=True, allow_approve=True)
    assert [kept in block for block in blocks] == [False, False, True]
    assert "Rotate" in blocks[2]
    assert (credited, memory.get(kept).usage.helped) == ([kept], 1)
    assert memory.get(kept).state.wordings == ("Tilt the sideways picture upright",)


def test_an_outcome_counts_once_for_a_session(memory):
    """Asked twice, credited once."""
    (known,) = memory.list()

    async def say(client: Client) -> Any:
        arguments = {"ids": [known.id], "success": True, "session": "s1"}
        return [(await client.call_tool("report_outcome", arguments)).structured_content for _ in range(2)]

    first, second = talk(memory, say, allow_writes=True)
    assert first == {"ids": [known.id], "note": ""}
    assert second == {"ids": [], "note": "session 's1' was reported before; the first report counts"}


def observed(memory: ExperienceMemory) -> str:
    return memory.remember("Rotate the photo", [{"action": "click", "control": "Rotate"}], application="Photos").id


def test_approval_shows_task_steps_and_hash_and_takes_the_persons_word(memory):
    """The question holds what is decided on."""
    waiting, asked = observed(memory), []

    async def yes(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": True})

    async def say(client: Client) -> Any:
        return await client.call_tool("approve_experience", {"id": waiting})

    told = talk(memory, say, answer=yes, allow_approve=True).content[0].text
    assert waiting in told
    for text in (told, asked[0]):  # nobody judged it: what agents will read, and who can say more
        assert "Nobody has judged this run: agents are shown it as tried, outcome unknown" in text
        assert f"ufo-experience judge {waiting[:8]} --success --db " in text
    assert memory.get(waiting).trust.value == "approved"
    assert all(part in asked[0] for part in ("otate the photo", 'click "Rotate"', "SHA-256"))


@pytest.mark.parametrize(("success", "said"), [(True, ""), (False, "agents are shown it as tried and failed")])
def test_approval_of_a_judged_run_says_no_more_than_has_to_be_said(memory, success, said):
    judged = memory.remember("Rotate the photo", STEPS[:1], success=success, judge="user").id
    asked = []

    async def yes(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": True})

    async def say(client: Client) -> Any:
        return json.loads((await client.call_tool("approve_experience", {"id": judged})).content[0].text)

    note = talk(memory, say, answer=yes, allow_approve=True)["note"]
    assert (said in note, said in asked[0], bool(note)) == (True, True, bool(said))


@pytest.mark.parametrize("action", ["decline", "cancel", "accept"])
def test_without_the_persons_yes_nothing_is_approved(memory, action):
    """Refused, closed, or answered with no."""
    waiting = observed(memory)

    async def no(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action=action, content={"approve": False} if action == "accept" else None)

    async def say(client: Client) -> Any:
        return await client.call_tool("approve_experience", {"id": waiting})

    talk(memory, say, answer=no, allow_approve=True)
    assert memory.get(waiting).trust.value == "observed"


def test_a_client_that_cannot_ask_gets_an_error_and_nothing_is_approved(memory):
    """Approval fails closed."""
    waiting = observed(memory)

    async def say(client: Client) -> Any:
        try:
            return (await client.call_tool("approve_experience", {"id": waiting})).is_error
        except Exception as error:  # noqa: BLE001  whatever the client raises, it is no approval
            return type(error).__name__

    assert talk(memory, say, allow_approve=True)
    assert memory.get(waiting).trust.value == "observed"


def test_an_error_of_ours_keeps_its_message(memory):
    """The model reads what was wrong, and names no command of a shell that it does not have."""

    async def say(client: Client) -> Any:
        return await client.call_tool("report_outcome", {"ids": ["feedfeed"], "success": True, "session": "s"})

    result = talk(memory, say, allow_writes=True)
    assert result.is_error
    where = "ids stand in: the resource experience://list; the code of a past-experience block is no id"
    assert result.content[0].text == f"no record 'feedfeed'; {where}"


@pytest.mark.parametrize("said", ["yes", "no", 0])
def test_an_outcome_that_is_no_truth_value_is_refused(memory, said):
    """A word for it would be taken as it may not have been meant."""

    async def say(client: Client) -> Any:
        return await client.call_tool("report_outcome", {"ids": ["feedfeed"], "success": said, "session": "s"})

    result = talk(memory, say, allow_writes=True)
    assert result.is_error
    assert "success" in result.content[0].text


def test_the_list_of_tools_is_small(memory):
    """Every host pays for it in each conversation: 2,000 tokens (of four letters) with everything, 800 to read."""

    async def say(client: Client) -> Any:
        return [tool.model_dump_json(exclude_none=True, by_alias=True) for tool in (await client.list_tools()).tools]

    assert len("".join(talk(memory, say, allow_writes=True, allow_approve=True, allow_run=True))) <= 8_000
    assert len("".join(talk(memory, say))) <= 3_200


def test_records_can_be_read_as_resources_and_the_task_as_a_prompt(memory):
    """For clients that show resources and prompts to people."""
    (known,) = memory.list()

    async def say(client: Client) -> Any:
        one = await client.read_resource(f"experience://record/{known.id}")
        prompt = await client.get_prompt("with_experience", {"task": TASK})
        return one.contents[0].text, prompt.messages[0].content.text

    one, prompt = talk(memory, say)
    assert json.loads(one)["id"] == known.id
    assert "New Email" in prompt


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        (
            "find_experience",
            {"task": TASK, "limit": 1},
            "takes no limit; did you mean top_k? it takes task, application, top_k",
        ),
        (
            "find_experience",
            {"task": TASK, "top_k": 0},
            "top_k must be greater than or equal to 1, not 0",
        ),
        ("record_run", {"task": TASK, "steps": STEPS, "outcome": "success"}, "takes no outcome"),
        ("record_run", {"task": "", "steps": STEPS}, "task "),
        ("record_run", {"task": TASK, "steps": [{"control": "Save"}]}, "steps.0.action is missing"),
        ("retrieve", {"task": TASK}, "there is no tool retrieve; there are find_experience"),
        (
            "record_run",
            {"task": TASK, "steps": STEPS, "success": "fine"},
            "success must be true or false",
        ),
        ("record_run", {"task": TASK, "steps": STEPS, "success": "yes"}, "success must be true or false, not 'yes'"),
        ("report_outcome", {"ids": ["feedfeed"], "success": 1}, "success must be true or false, not 1"),
        (
            "record_run",
            {"task": TASK, "steps": "click Save"},
            'steps must be a list, not \'click Save\'; The actions, in order: [{"action": "click"',
        ),
        (
            "record_run",
            {"task": TASK, "steps": ["click Save"]},
            "steps.0 must be a valid dictionary, not 'click Save'; The",
        ),
    ],
)
def test_an_argument_that_makes_no_sense_is_an_error(memory, tool, given, said):
    """The model reads what it takes; nothing is dropped in silence."""

    async def say(client: Client) -> Any:
        return await client.call_tool(tool, given)

    result = talk(memory, say, allow_writes=True)
    assert (result.is_error, said in result.content[0].text) == (True, True)
    assert len(memory) == 1


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda client: client.get_prompt("with_experience", {}), "task"),
        (
            lambda client: client.get_prompt("with_experience", {"task": TASK, "app": "Word"}),
            "takes no app; did you mean application? it takes",
        ),
        (lambda client: client.get_prompt("with_experience", {"task": ""}), "task must have at least 1 character"),
        (lambda client: client.get_prompt("experience", {}), "there is no prompt experience; there are"),
        (lambda client: client.read_resource("experience://list?trust=good"), "trust is one of quarantined"),
        (
            lambda client: client.read_resource("experience://records"),
            "there are experience://record/{id}, experience:",
        ),
        (lambda client: client.read_resource("https://example.org"), "experience://list"),
    ],
)
def test_a_prompt_or_a_resource_that_makes_no_sense_is_answered_in_our_words(memory, ask, said):
    """Not as an internal error of the server."""

    async def say(client: Client) -> Any:
        with pytest.raises(MCPError) as caught:
            await ask(client)
        return str(caught.value)

    assert said in talk(memory, say)


def test_a_client_that_cannot_ask_its_user_is_told_where_approval_is_done(memory):
    """As the result of the tool, which the model reads."""
    (known,) = memory.list()

    async def say(client: Client) -> Any:
        return await client.call_tool("approve_experience", {"id": known.id})

    result = talk(memory, say, allow_approve=True)
    assert (result.is_error, f"ufo-experience approve {known.id}" in result.content[0].text) == (True, True)


def test_an_outcome_is_reported_without_a_session_and_no_ids_are_named(memory):
    """As in Python and on the command line."""
    (known,) = memory.list()

    async def say(client: Client) -> Any:
        done = await client.call_tool("report_outcome", {"ids": [known.id], "success": True})
        nothing = await client.call_tool("report_outcome", {"ids": [], "success": True})
        return done.structured_content["ids"], nothing.structured_content["note"]

    assert talk(memory, say, allow_writes=True) == ([known.id], "no ids were given: nothing is credited")


@pytest.mark.parametrize(
    ("tool", "given", "meant"),
    [
        ("find_experience", {"query": TASK}, "task"),
        ("find_experience", {"task": TASK, "aplication": "Outlook"}, "application"),
        ("quarantine_experience", {"ids": "feedfeed"}, "id"),
        ("run", {"task": TASK, "url": "https://example.org"}, "browser"),
    ],
)
def test_an_argument_that_is_called_otherwise_is_answered_with_its_name(memory, tool, given, meant):
    """The nearest name, or the only one that is needed and missing."""

    async def say(client: Client) -> Any:
        return (await client.call_tool(tool, given)).content[0].text

    assert f"; did you mean {meant}? it takes" in talk(memory, say, allow_approve=True, allow_run=True)


def test_what_is_left_out_is_named(memory):
    """A block that does not fit, and fields of a step that nobody reads."""

    async def say(client: Client) -> Any:
        block = await client.call_tool("experience_prompt", {"task": TASK, "max_tokens": 5})
        steps = [{**STEPS[0], "mood": "good"}]
        kept = await client.call_tool("record_run", {"task": "Rotate the photo", "steps": steps})
        return block.content[0].text, kept.structured_content

    block, kept = talk(memory, say, allow_writes=True)
    assert block.endswith("tokens, max_tokens is 5")
    assert kept["note"].startswith("kept as observed; to show it: ufo-experience judge ")
    assert kept["note"].endswith("fields not kept: mood")


def test_an_application_is_listed_by_any_of_its_names(memory):
    """As `list --app` does: process and product names are one."""
    memory.remember("Insert a table", STEPS[:1], success=True, application="WINWORD.EXE")

    async def say(client: Client) -> Any:
        return json.loads((await client.read_resource("experience://list?application=Word")).contents[0].text)

    assert [one["application"] for one in talk(memory, say)] == ["WINWORD.EXE"]


def test_runs_of_one_task_are_listed_as_one_procedure_without_their_values(memory):
    memory.remember(TASK.replace("Jane", "Bob"), STEPS, success=False, application="Outlook", judge="program")

    async def say(client: Client) -> Any:
        return json.loads((await client.read_resource("experience://list")).contents[0].text)

    (known,) = talk(memory, say)
    assert (known["worked"], known["tried"], len(known["runs"])) == (1, 2, 2)
    assert known["judges"] == {"user": 1, "program": 1}
    assert "Jane" not in json.dumps(known)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_command_serves_a_client_over_stdio(memory, mode):
    """The whole way: a process, its pipes, the official client, in both protocol eras."""
    arguments = ["-m", "ufo_experience", "mcp", "--db", memory.store.location]
    process = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))

    async def run() -> Any:
        async with Client(process, mode=mode) as client:
            return (await client.call_tool("find_experience", {"task": TASK})).structured_content

    assert len(asyncio.run(run())["hits"]) == 1


def test_a_server_that_may_write_makes_the_store_its_client_fills(tmp_path):
    """The first line somebody configures names a folder that is not there yet."""
    arguments = ["-m", "ufo_experience", "mcp", "--db", str(tmp_path / "new"), "--allow-writes"]
    process = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))

    async def run() -> Any:
        async with Client(process) as client:
            return (await client.call_tool("find_experience", {"task": TASK})).structured_content

    assert asyncio.run(run())["reason"] == "the store holds no experience yet"


def test_another_path_of_the_http_server_names_its_own(memory, monkeypatch):
    """Whoever opens the address in a browser, or leaves the path out."""
    from starlette.testclient import TestClient

    from ufo_experience.integrations import mcp_server

    apps: list[Any] = []
    monkeypatch.setattr("uvicorn.Config", lambda app, **_: apps.append(app))
    monkeypatch.setattr("uvicorn.Server", lambda _: SimpleNamespace(run=lambda **_: None))
    mcp_server.serve_http(build_server(memory), None, "127.0.0.1")
    answer = TestClient(apps[0]).get("/")
    assert (answer.status_code, "/mcp" in answer.text) == (404, True)


def test_another_address_is_refused(memory, capsys):
    """The server answers this machine only."""
    from ufo_experience.cli import app

    with pytest.raises(SystemExit) as left:
        app(["mcp", "--http", "--host", "0.0.0.0", "--db", memory.store.location])
    assert left.value.code == 77


def test_every_parameter_tells_a_client_what_it_is(memory):
    """Titles and descriptions, and hints of what a tool may change."""

    async def say(client: Client) -> Any:
        return (await client.list_tools()).tools

    for tool in talk(memory, say, allow_writes=True, allow_approve=True, allow_run=True):
        assert tool.title
        assert tool.annotations.open_world_hint is (tool.name == "run")
        assert all(one.get("description") for one in tool.input_schema["properties"].values()), tool.name


def test_approved_experiences_are_listed_as_resources(memory):
    """A client can show a person what agents are told; what waits for approval is not there."""
    (known,) = memory.list()

    async def say(client: Client) -> Any:
        return [str(one.uri) for one in (await client.list_resources()).resources]

    assert talk(memory, say) == []
    memory.approve(known.id)
    assert talk(memory, say) == [f"experience://record/{known.id}"]


def test_the_prompt_takes_an_application(memory):
    """A run in another application is no help."""

    async def say(client: Client) -> Any:
        found = [
            await client.get_prompt("with_experience", {"task": TASK, "application": name})
            for name in ("Outlook", "SAP")
        ]
        return ["New Email" in one.messages[0].content.text for one in found]

    assert talk(memory, say) == [True, False]


def test_a_record_that_is_not_there_is_an_error_in_our_words(memory):
    """Not a traceback."""

    async def say(client: Client) -> Any:
        with pytest.raises(MCPError) as error:
            await client.read_resource("experience://record/feedfeed")
        return str(error.value)

    assert "feedfeed" in talk(memory, say)


def test_half_a_surrogate_pair_in_a_message_is_answered(memory):
    """It is no character; what holds it must not leave the client waiting."""
    command = [sys.executable, "-m", "ufo_experience", "mcp", "--db", memory.store.location]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call"},
    ]
    messages[2]["params"] = {"name": "find_experience", "arguments": {"task": f"{TASK} \ud800"}}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        for message in messages:
            print(json.dumps(message), file=server.stdin, flush=True)
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        assert server.wait(timeout=20) == 0
    assert answers[1]["id"] == 2
    assert len(answers[1]["result"]["structuredContent"]["hits"]) == 1
