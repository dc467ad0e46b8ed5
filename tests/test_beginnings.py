"""What several tasks of an application begin with is told to one for which no procedure is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.reading import parse_block
from tests.builders import open_memory
from ufo_experience import ExperienceMemory, PromptBlock

TASKS = {
    "Close the old accounts of the shop": ("Accounts", "Archive"),
    "Print the list of orders": ("Orders", "Print"),
    "Change the colour of the banner": ("Theme", "Colour"),
}
NEW = "Translate the welcome page"


def learn(memory: ExperienceMemory, task: str, *controls: str, **more: Any) -> None:
    """A run that signs in before it does anything else; a field is typed into, all else clicked."""
    steps = [
        {"action": "type", "control": "User name", "control_type": "Edit", "text": f"somebody-{len(task)}"},
        {"action": "click", "control": "Sign in", "control_type": "Button"},
        *({"action": "click", "control": name, "control_type": "Button"} for name in controls),
    ]
    memory.remember(task, steps, **{"success": True, "application": "Admin", "session": task, **more})


@pytest.fixture
def memory(tmp_path: Path) -> ExperienceMemory:
    """Three tasks that begin alike, and one that does not."""
    opened = open_memory(tmp_path / "db")
    for task, controls in TASKS.items():
        learn(opened, task, *controls)
    opened.remember("Look at the log", [{"action": "click", "control": "Log"}], success=True, application="Admin")
    return opened


def told(memory: ExperienceMemory, task: str = NEW, application: str | None = "Admin", **options: Any) -> PromptBlock:
    return memory.build_prompt(task, memory.retrieve(task, application=application), **options)


def test_a_task_without_a_procedure_is_told_how_several_begin(memory):
    block = told(memory)
    assert block.text.splitlines()[1:-1] == [
        "Several tasks in Admin begin with:",
        '1. type … in "User name" (Edit)',
        '2. click "Sign in" (Button)',
    ]
    assert (block.ids, block.tokens <= 62) == ((), True)  # 55 to 61, as the digits of its nonce fall
    (known,) = parse_block(str(block.prompt))
    assert [step["control"] for step in known["begins_with"]] == ["User name", "Sign in"]


def test_a_task_with_a_procedure_is_told_that_alone(memory):
    block = told(memory, "Print the list of orders")
    assert block.ids
    assert "Several tasks" not in block.text


def test_it_is_told_of_the_application_that_was_asked_for_and_within_the_budget(memory):
    for block in (
        told(memory, application=None),
        told(memory, application="Mail"),
        told(memory, max_tokens=10),
        told(memory, format="ufo"),
    ):
        assert (block.text, block.tokens) == ("", 0)


def test_two_tasks_or_failed_runs_or_runs_of_one_task_are_too_few(tmp_path):
    memory = open_memory(tmp_path / "few")
    first, second, third = TASKS
    for number in range(3):
        learn(memory, first, *TASKS[first], session=f"again {number}")
    learn(memory, second, *TASKS[second])
    learn(memory, third, *TASKS[third], success=False)
    assert told(memory).text == ""


def test_what_belongs_to_one_task_or_is_asked_before_ends_it(tmp_path):
    memory = open_memory(tmp_path / "own")
    for task, controls in TASKS.items():
        learn(memory, task, "Settings", "Delete account", *controls)
    assert told(memory).text.count("\n") == 5
    assert "Delete" not in told(memory).text


def test_no_item_of_a_user_is_among_them(tmp_path):
    """The link in the row of one is nobody else's."""
    memory = open_memory(tmp_path / "db")
    users = {"action": "click", "control": "Users", "control_type": "Hyperlink", "within": "navigation"}
    row = {"action": "click", "control": "akim", "control_type": "Hyperlink", "within": "akim An Kim"}
    for task in TASKS:
        last = {"action": "click", "control": task.split()[-1], "control_type": "Button"}
        steps = [users, {**users, "control": "All"}, row, last]
        memory.remember(task, steps, success=True, application="Admin", session=task)
    text = told(memory).text
    assert '2. click "All" (Hyperlink)' in text
    assert "akim" not in text
