"""The enterprise application of `bench steps`: the way cannot be seen, but is there."""

from __future__ import annotations

import re

import pytest

from benchmarks.steps.desktop import solve
from benchmarks.steps.environment import Command, Observation
from benchmarks.steps.erp import Erp


def test_no_goal_names_the_way():
    """No code, field or constant of the way stands in the goal; twenty families and more."""
    families = Erp.families()
    assert len(families) >= 20
    for template in families.values():
        text = re.sub(r"\{\w+\}", "", template.goal).casefold()
        goal = set(re.findall(r"\w+", text))
        for step in template.way[1:]:
            name, _, value = step.partition("=")
            assert name.casefold() not in text, (template.name, step)
            assert "{" in value or value.casefold() not in goal, (template.name, step)


@pytest.mark.browser
def test_every_task_is_reached_by_its_way_and_nothing_else_changes(browser):
    """One shortest way each, in a real browser."""
    for name in Erp.families():
        task = Erp(name, browser)
        list(solve(task, 2))
        assert task.done, name
        assert not task.unasked, name


@pytest.mark.browser
def test_a_refusal_names_the_field_and_what_is_filed_stays(browser):
    """The account is asked for on refusal, the circular tells it, and a document held by mistake cannot be sent."""
    task = Erp("buy", browser)
    seen = task.reset(0)

    def do(name: str, function: str = "click_input", text: str = "") -> Observation:
        control = next(one for one in seen.controls if one.name == name)
        return task.step(Command(function, control, {"text": text} if text else {})).observation

    def fill_in() -> Observation:
        nonlocal seen
        seen = do("Command", "set_edit_text", "me51")
        seen = do("Enter")
        seen = do("Short text", "set_edit_text", "Slim keyboard")
        seen = do("Qty", "set_edit_text", "12")
        seen = do("Transmit")
        return seen

    assert "Account assignment is missing" in fill_in().status
    seen = do("Account assignment", "set_edit_text", "laboratory")
    seen = do("Transmit")
    assert any("circular 14" in one for one in seen.status)
    seen = do("Account assignment", "set_edit_text", "CC-7120")
    seen = do("Hold")
    assert task.unasked
    fill_in()
    seen = do("Account assignment", "set_edit_text", "CC-7120")
    seen = do("Transmit")
    assert not task.done
    assert "The document exists and cannot be changed" in seen.status
