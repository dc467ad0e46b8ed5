"""Runs of agents that click by coordinates, as OSWorld keeps them: what such agents say and do, shown to the next one.

The rows were written for these tests, in the manner of two agents whose thoughts are Chinese.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.builders import open_memory
from ufo_experience import ExperienceMemory

CLICK = "pyautogui.click(1893.1, 87.4, button='left')"
DARK = "I work late into the night. Please switch VS Code to the dark theme for me."


def learn(
    folder: Path, task: str, *rows: tuple[str, str], application: str = "vs_code", score: str = "1.0", name: str = "r1"
):
    """A store that has read one run of an OSWorld agent: what it thought, and its code."""
    run = folder / "runs" / application / name
    run.mkdir(parents=True, exist_ok=True)
    lines = [{"step_num": at, "response": thought, "action": code} for at, (thought, code) in enumerate(rows, start=1)]
    (run / "traj.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (run / "result.txt").write_text(score, encoding="utf-8")
    (run / "task.json").write_text(json.dumps({"instruction": task, "snapshot": application}), encoding="utf-8")
    memory = open_memory(folder / "db")
    memory.ingest(run, include_failures=True)
    return memory


def shown(memory: ExperienceMemory, task: str) -> list[str]:
    """The numbered steps of the first way that a prompt shows."""
    block = memory.build_prompt(task, memory.retrieve(task)).prompt.split("\n\n")[1]
    return [re.sub(r"^\d+\. ", "", line) for line in block.splitlines() if re.match(r"\d+\. ", line)]


def test_a_text_that_is_copied_and_pasted_is_typed(tmp_path):
    """Agents paste what they cannot type; the text is bound to the new task as any other."""
    code = "import pyperclip\npyperclip.copy('Blue whale')\npyautogui.hotkey('ctrl', 'v')"
    rows = [("点击“Search”输入框。", CLICK), ("输入名称。", code), ("按下回车。", "pyautogui.press(['enter'])")]
    memory = learn(tmp_path, 'Search for "Blue whale"', *rows)
    assert shown(memory, 'Search for "Grey seal"') == [
        'click "Search" (text box)',
        'type "Grey seal" in "Search" (text box)',
        'press "enter"',
    ]


def test_keys_that_are_pressed_together_read_as_one_chord(tmp_path):
    """A list of keys is no text."""
    memory = learn(tmp_path, "Save the file", ("保存。", "pyautogui.hotkey('ctrl', 's')"))
    assert shown(memory, "Save the file") == ['press "ctrl+s"']


def test_scrolling_on_is_told_once(tmp_path):
    """How far it goes differs from screen to screen; paging down is the same."""
    rows = [("向下滚动。", "pyautogui.scroll(-5)")] * 4 + [("翻页。", "pyautogui.press(['pagedown'])")] * 3
    memory = learn(tmp_path, DARK, *rows, ("点击“Dark theme”按钮。", CLICK))
    assert shown(memory, DARK) == ["scroll-down", 'press "pagedown"', 'click "Dark theme" (button)']


@pytest.mark.parametrize(
    ("thought", "step"),
    [
        ("点击“Preferences”菜单项。", 'click "Preferences" (menu item)'),
        ("Ich klicke auf die Schaltfläche „Speichern“.", 'click "Speichern" (button)'),
        ("下一步是点击右上角的菜单按钮。", 'click "菜单按钮" (button)'),
        ("点击出发地输入框。", 'click "输入框"'),  # not "地输入框": half of a word names nothing
    ],
)
def test_the_kind_of_a_control_is_told_in_english(tmp_path, thought, step):
    """Whatever the agent thinks in; and half of a word is no name."""
    rows = [(thought, CLICK), ("点击“Dark theme”按钮。", CLICK), ("保存。", "pyautogui.hotkey('ctrl', 's')")]
    memory = learn(tmp_path, DARK, *rows)
    assert shown(memory, DARK)[0] == step


def test_a_task_file_beside_a_run_is_no_log_that_was_skipped(tmp_path):
    """OSWorld calls it by the id of the task, as the folder is called."""
    run = tmp_path / "runs" / "abc-1"
    run.mkdir(parents=True)
    line = {"step_num": 1, "response": "点击“Dark theme”按钮。", "action": CLICK}
    (run / "traj.jsonl").write_text(json.dumps(line), encoding="utf-8")
    (run / "abc-1.json").write_text(json.dumps({"instruction": DARK, "snapshot": "vs_code"}), encoding="utf-8")
    report = open_memory(tmp_path / "db").ingest(run.parent)
    assert (len(report.added), report.skipped) == (1, [])


def test_the_way_is_named_by_the_sentence_that_asks(tmp_path):
    """Real requests begin with a story. An application is called by its name."""
    memory = learn(tmp_path, DARK, ("点击“Dark theme”按钮。", CLICK))
    block = memory.build_prompt(DARK, memory.retrieve(DARK)).prompt
    assert 'in vs_code: "Please switch VS Code to the dark theme for me". For this task:' in re.sub(
        r" \(.*? ago\)", "", block
    )


def test_a_demand_that_says_nothing_does_not_name_the_way(tmp_path):
    """Then the first sentence does."""
    task = "The status bar of the editor covers the last line. Please help me to do this."
    memory = learn(tmp_path, task, ("点击“Status Bar”菜单项。", CLICK))
    assert (
        '"The status bar of the editor covers the last line"' in memory.build_prompt(task, memory.retrieve(task)).prompt
    )


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("Warn me of harmful websites, please", ("Settings", "Security", "Enhanced protection")),
        ("Keep the headers of the sheet in view", ("View", "Freeze Rows and Columns")),
    ],
)
def test_the_same_request_is_told_the_same_entries(tmp_path, task, names):
    """Nothing of the task has changed, so no entry is another one now; that "harmful" is a rare word says nothing."""
    memory = learn(tmp_path, task, *[(f"点击“{name}”选项。", CLICK) for name in names], application="chrome")
    assert shown(memory, task) == [f'click "{name}" (option)' for name in names]


def test_what_an_agent_thought_last_is_not_told_as_the_end(tmp_path):
    """It thought so before it acted."""
    memory = learn(tmp_path, DARK, ("现在点击“Dark theme”按钮来应用。", CLICK))
    assert "Ends with" not in memory.build_prompt(DARK, memory.retrieve(DARK)).prompt


def test_a_failure_is_shown_by_how_it_began(tmp_path):
    """A long wrong way costs the reader more than it tells."""
    wrong = [
        (f"点击“Entry {word}”按钮。", CLICK) for word in "one two three four five six seven eight nine ten".split()
    ]
    learn(tmp_path, DARK, *wrong, score="0.0", name="bad")
    memory = learn(tmp_path, DARK, ("点击“Dark theme”按钮。", CLICK), name="good")
    failed = memory.build_prompt(DARK, memory.retrieve(DARK)).prompt.split("Failed")[1]
    assert "8. click" in failed
    assert "9. click" not in failed
    assert "(2 more steps)" in failed
