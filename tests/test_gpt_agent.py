"""The example agent against a local server that speaks the OpenAI API, in the form that ships with it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from benchmarks.gpt_agent.agent import main, make_session
from benchmarks.gpt_agent.form import FormApp
from benchmarks.reading import parse_block
from tests.openai_stub import OK, OpenAIStub, content, rate_limited, refusal
from tests.procedure_world import as_action
from ufo_experience import ExperienceMemory
from ufo_experience.costs import Ledger
from ufo_experience.service import Access, Service

REQUEST = "Put Research in as the department and save the form."


def state_of(body: dict) -> dict:
    """What the agent tells the model of the application."""
    return json.loads(body["messages"][-1]["content"][-1]["text"])


def past_of(body: dict) -> list[dict]:
    """The past experiences in the prompt."""
    texts = [message["content"] for message in body["messages"] if isinstance(message["content"], str)]
    return [record for text in texts for record in parse_block(text)]


def answer(function: str | None, control_id: str | None, status: str = "CONTINUE", **arguments: str) -> dict:
    """A reply in the agent's schema."""
    return {
        "observation": "a form",
        "thought": "go on",
        "status": status,
        "plan": [],
        "function": function,
        "control_id": control_id,
        "arguments": [{"name": name, "value": value} for name, value in arguments.items()],
        "then": [],
        "result": "done" if status == "FINISH" else "",
    }


def foreseen(action: dict) -> dict:
    """One of the next actions as a part of an answer."""
    text = [{"name": "text", "value": action["text"]}] if "text" in action else []
    return {"function": action["function"], "name": action["name"], "type": action["type"], "arguments": text}


def clerk(body: dict) -> dict:
    """A model that looks through the pages for the field, unless an experience says which page to turn to."""
    state = state_of(body)
    ids = {control["name"]: control["id"] for control in state["controls"]}
    tried = " ".join(str(step["action"]) for step in state["your_last_steps"])
    if "Department is filled in" in json.dumps(state["your_last_steps"]):
        return answer("click_input", ids["Save"], "FINISH")
    if "Department" in ids:
        return answer("set_edit_text", ids["Department"], text="Research")
    told = [as_action(one) for record in past_of(body) for one in record.get("next_actions", ())]
    if told:
        first, *rest = told
        return answer(first["function"], ids[first["name"]], "FINISH") | {"then": [foreseen(one) for one in rest]}
    known = [step["control"] for record in past_of(body) for step in record.get("steps", ())]
    page = "Work" if "Work" in known or "Contact" in tried else "Contact"
    return answer("click_input", ids[page])


class World:
    """A stub, a memory and a folder of logs; `run` is one session in a fresh form."""

    def __init__(self, stub: OpenAIStub, folder: Path) -> None:
        self.stub, self.folder = stub, folder
        self.memory = ExperienceMemory.open(folder / "db", embedder="hashing")

    def run(self, request: str = REQUEST, max_cost: float | None = None):
        self.app = FormApp()
        service = Service(Access(api_key="sk-test", base_url=self.stub.url), ledger=Ledger(max_cost))
        session = make_session(
            request, service, self.memory, model="gpt-4.1-mini", log_root=str(self.folder / "logs"), app=self.app
        )
        asyncio.run(session.run())
        return session

    @property
    def bodies(self) -> list[dict]:
        return [request.body for request in self.stub.requests]


@pytest.fixture
def world(tmp_path):
    """A world whose model is the clerk."""
    with OpenAIStub(chat=clerk) as stub:
        yield World(stub, tmp_path)


def lines(session, name: str) -> list[dict]:
    """A log of the session."""
    text = (Path(session.log_path) / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_a_request_is_worked_off_step_by_step(world):
    """The form is filled in and saved, each step is in the log, and the tokens have their price."""
    session = world.run()
    assert world.app.saved == {"Department": "Research"}
    calls = [line["function_call"][0] for line in lines(session, "response.log")]
    assert [call.partition("(")[0] for call in calls] == ["click_input", "click_input", "set_edit_text", "click_input"]
    assert lines(session, "evaluation.log")[0]["complete"] == "yes"
    assert session.cost == pytest.approx(4 * (1000 * 0.40 + 100 * 1.60) / 1e6)


def test_the_model_is_held_to_a_strict_schema(world):
    """Every question asks for JSON of one form, nothing else."""
    world.run()
    for body in world.bodies:
        form = body["response_format"]["json_schema"]
        assert form["strict"] is True
        assert form["schema"]["additionalProperties"] is False
        assert set(form["schema"]["required"]) == set(form["schema"]["properties"])


def test_the_second_run_is_helped_by_the_first_and_the_memory_is_credited(world):
    """Recorded, judged, saved, found again, shown, fewer steps, one question instead of four, credited."""
    first = world.run()
    (learned,) = first.saved
    world.memory.approve(learned)  # the name of a tab that one run alone has seen is shown once a person vouches for it
    asked = len(world.bodies)
    second = world.run("Put Research in as the department, please, and save the form.")
    assert past_of(world.bodies[0]) == []
    assert [len(past_of(body)) for body in world.bodies[asked:]] == [2]  # what worked, and what comes next
    assert (first.step, second.step) == (4, 3)
    usage = world.memory.store.get(learned).usage
    assert (usage.injected, usage.helped, usage.hurt) == (1, 1, 0)


def test_past_experiences_are_a_users_message_and_never_the_systems(world):
    """The system prompt is the same with and without memory, byte for byte."""
    world.run()
    world.run()
    assert len({body["messages"][0]["content"] for body in world.bodies}) == 1
    shown = [message for message in world.bodies[-1]["messages"] if "past-experience" in str(message["content"])]
    assert [message["role"] for message in shown] == ["user", "user"]


def test_the_agent_is_told_what_its_last_action_came_to(tmp_path):
    """A failed action is in the next question, with the reason; the blackboard holds the request."""
    replies = iter([answer("click_input", "5"), answer(None, None, "FAIL")])
    with OpenAIStub(chat=lambda body: next(replies)) as stub:
        world = World(stub, tmp_path)
        world.run()
        (step,) = state_of(world.bodies[1])["your_last_steps"]
    assert step["results"] == ["failed: the form is empty"]
    assert REQUEST in world.bodies[0]["messages"][-1]["content"][2]["text"]
    assert world.app.saved is None


def test_faults_that_pass_are_tried_again(world):
    """A rate limit costs a moment, not the session."""
    world.stub.play(rate_limited(retry_after=0.01), OK)
    session = world.run()
    assert world.app.saved == {"Department": "Research"}
    assert len(world.bodies) == session.step + 1


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (refusal("no"), "gave no answer, it refused"),
        (content("{not json"), "answered in another form than asked"),
        (content(json.dumps(answer("click_input", "99"))), "no control with the id '99'"),
        (content(json.dumps(answer("format_disk", "1"))), "no tool 'format_disk'"),
    ],
)
def test_an_answer_that_makes_no_sense_is_asked_for_again_and_then_ends_the_session(world, fault, reason):
    """Nothing is executed for it; the log says why."""
    world.stub.play(fault, fault)
    session = world.run()
    assert session.is_error()
    assert len(world.bodies) == 2
    assert (world.app.values, world.app.page) == ({}, "Contact")
    assert all(reason in json.dumps(line) for line in lines(session, "response.log"))


def test_a_cost_cap_is_kept(world):
    """What may cost too much is not sent."""
    session = world.run(max_cost=0.000001)
    assert session.is_error()
    assert world.bodies == []


def test_an_untrue_claim_to_be_done_is_no_success(tmp_path):
    """FINISH is what the agent says; the judge looks into the form, and nothing is learned."""
    with OpenAIStub(chat=lambda body: answer(None, None, "FINISH")) as stub:
        world = World(stub, tmp_path)
        session = world.run()
    assert lines(session, "evaluation.log")[0]["complete"] == "no"
    assert world.memory.store.ids() == []


def test_it_runs_from_the_command_line_against_any_endpoint(world, tmp_path, monkeypatch, capsys):
    """No key is needed for a server on this machine; the answer is one JSON object."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert main([REQUEST, "--base-url", world.stub.url, "--no-memory"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["saved"], said["steps"]) == ({"Department": "Research"}, 4)
    assert (tmp_path / said["log"] / "response.log").is_file()


def test_help_needs_no_key(capsys):
    """`--help` explains itself."""
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "OpenAI-compatible endpoint" in capsys.readouterr().out


def test_without_a_key_the_error_says_so(monkeypatch, tmp_path, capsys):
    """Exit code 69, a sentence, no traceback."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert main([REQUEST, "--no-memory"]) == 69
    said = capsys.readouterr().err
    assert "OPENAI_API_KEY" in said
    assert "embedder" not in said, "that is another part"
