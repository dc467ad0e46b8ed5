"""The guide beside a model: the loop of docs/guide.md as it stands, and slots that only a model can bind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from tests.guide_world import experience, fill
from tests.openai_stub import OpenAIStub, failing
from ufo_experience import Act, ExperienceMemory
from ufo_experience.errors import UsageError
from ufo_experience.examples.form import FormApp
from ufo_experience.procedure.model_binding import model_binder
from ufo_experience.procedure.offer import offer
from ufo_experience.schema import Hit
from ufo_experience.service import Access, Service
from ufo_experience.session.protocols import Target

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guide.md"
TASK = 'Put "Research" in as the department and save the form'


class App:
    """The form of the examples, as the page's loop wants it; notes the steps for the memory."""

    def __init__(self) -> None:
        self.form = FormApp()
        self.steps: list[dict[str, Any]] = []

    def controls(self) -> list[dict[str, Any]]:
        return self.form.controls()

    def do(self, action: str, id: str, parameters: dict[str, str]) -> bool:
        seen = next(one for one in self.controls() if one["id"] == id)
        self.steps.append(
            {
                "step_number": len(self.steps) + 1,
                "action_type": action,
                "target_control": {"name": seen["name"], "type": seen["type"]},
                "parameters": parameters,
            }
        )
        target = Target(seen["name"], seen["type"], id)
        getattr(self.form, {"click_input": "click", "set_edit_text": "type"}[action])(target, **parameters)
        return True


def model(body: dict[str, Any]) -> dict[str, Any]:
    """Knows the form."""
    state = json.loads(body["messages"][0]["content"].partition("finish. ")[2])
    ids = {one["name"]: one for one in state["controls"]}
    if state["guide"] and state["guide"].startswith("done"):
        return {"finish": True}
    if "Department" not in ids:
        return {"function": "click_input", "id": ids["Work"]["id"]}
    if not ids["Department"]["value"]:
        return {"function": "set_edit_text", "id": ids["Department"]["id"], "text": "Research"}

    return {"function": "click_input", "id": ids["Save"]["id"]}


def loop() -> Any:
    """`work` of the page."""
    (code,) = [
        one for one in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL) if "def " in one
    ]
    assert len([line for line in code.partition("def ")[2].splitlines() if line.strip()]) == 15
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names["work"]


def test_the_loop_of_the_page_asks_the_model_once_when_the_way_is_known(tmp_path):
    """Three steps by the guide; the model is asked whether it is done."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    with OpenAIStub(chat=model) as stub, OpenAI(api_key="sk-test", base_url=stub.url) as client:
        first = App()
        for action, name, text in (
            ("click_input", "Work", {}),
            ("set_edit_text", "Department", {"text": "Research"}),
            ("click_input", "Save", {}),
        ):
            first.do(action, next(one["id"] for one in first.controls() if one["name"] == name), text)
        memory.add_experience(
            {"task": TASK, "request": TASK, "application": "Staff form"}, {"steps": first.steps}, {"success": True}
        )
        memory.index()
        second = App()
        loop()(TASK.replace("Research", "Sales"), second, client, memory)
    assert second.form.saved == {"Department": "Sales"}
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    "answer", [{}, {"function": "click_input", "id": "9"}, {"function": "click_input", "name": "Twin"}]
)
def test_an_answer_that_names_no_one_control_is_refused(answer):
    """No function, no such control, or two of the name."""
    twins = [{"id": str(number), "name": "Twin", "type": "Button"} for number in (1, 2)]
    with pytest.raises(UsageError):
        Act.of(answer, twins)


def test_a_model_binds_an_open_slot_in_one_question_and_invents_nothing():
    """Two times then, one now: the model may say which it is, in the words of the task."""
    hit = Hit(
        experience=experience(fill("Start", "10:00"), fill("End", "11:00"), task="Meet from 10:00 to 11:00"),
        score=1.0,
        ranked_by="fused",
    )
    answers = iter(
        [{"slots": [{"slot": "input:1", "value": "14:00"}]}, {"slots": [{"slot": "input:1", "value": "15:00"}]}]
    )
    with OpenAIStub(chat=lambda body: next(answers)) as stub:
        service = Service(Access(api_key="sk-test", base_url=stub.url))
        guides = [offer("Meet at 14:00", [hit], binder=model_binder(service)) for _ in range(2)]
    assert [guide.procedure.steps[0].unbound for guide in guides if guide] == [(), ("input:1",)]
    assert len(stub.requests) == 2


def test_slots_stay_open_when_the_model_cannot_be_asked():
    """The guide is there all the same, and stops where a value is missing."""
    hit = Hit(
        experience=experience(fill("Start", "10:00"), fill("End", "11:00"), task="Meet from 10:00 to 11:00"),
        score=1.0,
        ranked_by="fused",
    )
    with OpenAIStub() as stub:
        stub.play(failing(401))
        service = Service(Access(api_key="sk-test", base_url=stub.url))
        guide = offer("Meet at 14:00", [hit], binder=model_binder(service))
    assert guide is not None
    assert guide.procedure.steps[0].unbound == ("input:1",)
