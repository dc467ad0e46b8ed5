"""Reading the logs of other agents, of recorders and of data sets: small files in the true shape of each."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ufo_experience import ExperienceMemory, read_traces
from ufo_experience.actions import is_blind
from ufo_experience.errors import DataError
from ufo_experience.schema import UNKNOWN_TASK, Seen, Trajectory
from ufo_experience.traces import FORMATS, ReadReport

DATA = Path(__file__).parent / "data" / "traces"

# File → format, task, whether and by whom it was judged, and what was done to what.
EXPECTED = {
    "openai_chat.json": ("chat", "Book 12 hours on project Aurora", None, "none", [
        ("browser_navigate", ""), ("browser_type", "Amount"), ("browser_click", "Book it")]),
    "openai_responses.json": ("chat", "Turn on dark mode", None, "none", [
        ("click", "Appearance"), ("click", "Dark mode")]),
    "anthropic_computer.jsonl": ("chat", "Rename the report to Q3", None, "none", [
        ("right_click", "report.txt"), ("left_click", "Rename"), ("type", "")]),
    "codex.jsonl": ("chat", "List the files of the project", None, "none", [("shell", "")]),
    "langchain.json": ("chat", "Archive the mail of Ann", None, "none", [("archive_mail", "")]),
    "mcp-session/session.md": ("playwright-mcp", UNKNOWN_TASK, None, "none", [
        ("browser_navigate", ""), ("browser_click", "Check out now"), ("browser_type", "E-mail"),
        ("browser_click", "Send")]),
    "chrome_recorder.json": ("chrome-recorder", "Add a customer", None, "none", [
        ("navigate", ""), ("click", "New customer"), ("fill", "Name"), ("press", "")]),
    "edit_user.py": ("playwright-codegen", UNKNOWN_TASK, None, "none", [
        ("goto", ""), ("fill", "User name"), ("fill", "Password"), ("click", "Sign in"), ("click", "Edit"),
        ("click", "Add"), ("select_option", "Group"), ("check", 'Send "welcome" mail'), ("press", "Note"),
        ("click", "#save"), ("click", "User .* updated")]),
    "orders.side": ("selenium-ide", "Cancel an order", None, "none", [
        ("navigate", ""), ("click", "Order 17"), ("type", "reason"), ("click", "Cancel order")]),
    "trace.trace": ("playwright-trace", "Subscribe to the letter", None, "none", [
        ("goto", ""), ("fill", "E-mail"), ("click", "Subscribe")]),
    "android_control.json": ("android-control", "Open Zoho Meet and view the meetings", None, "none", [
        ("open_app", ""), ("click", "Meetings")]),
    "mind2web.jsonl": ("mind2web", "Find a flight from Oslo", None, "none", [("click", "Flights"), ("type", "From")]),
    "android_world.json": ("android-world", "Add a contact named Ann", True, "evaluator", [
        ("click", "Create contact"), ("input_text", "First name")]),
    "miniwob.json": ("miniwob", 'Enter "Ann", tick newsletter and press Submit.', True, "evaluator", [
        ("click", "who"), ("type", "who"), ("click", "newsletter"), ("click", "Submit")]),
    "agentlab.json": ("agentlab", "Show the orders of June", True, "evaluator", [
        ("click", "Sales"), ("fill", "Filter orders"), ("press", "Filter orders")]),
    "steps_recorder.mht": ("steps-recorder", UNKNOWN_TASK, None, "none", [
        ("click", "File"), ("click", "Save As..."), ("type", "File name:"), ("double_click", "Reports & plans"),
        ("click", "Save")]),
    "notepad.robin": ("power-automate", UNKNOWN_TASK, None, "none", [
        ("SelectMenuItem", "Save As…"), ("PopulateTextField", "File name:"), ("PressButton", "Save"), ("navigate", ""),
        ("Click", "Upload")]),
    "agentnet.jsonl": ("agentnet", "Make the title bold", None, "none", [("click", "Home"), ("hotkey", "")]),
    "otel.json": ("spans", "Close ticket 12", None, "none", [("open_ticket", ""), ("click", "Close")]),
    "langsmith.jsonl": ("spans", "Send the invoice", True, "evaluator", [("click", "Send")]),
    "langfuse.json": ("spans", "Mute the channel", False, "evaluator", [("click", "Mute")]),
    "browser_use_013.json": ("browser-use", "Find the opening hours", True, "evaluator", [("click", "Opening hours")]),
    "webarena.json": ("plain", "Show the orders of May", True, "evaluator", [
        ("click", "Orders"), ("type", "Search"), ("stop", "")]),
    "osworld/comments": ("osworld", "Insert a chart", True, "evaluator", [("click", "Insert"), ("click", "Chart…")]),
    "osworld/thoughts": ("osworld", "Save a copy", True, "evaluator", [("click", "Save As"), ("write", "")]),
    "osworld/tool_use": ("osworld", "Make it bold", True, "evaluator", [("left_click", "Bold"), ("press", "")]),
    "osworld/tree": ("osworld", "Open the format menu", True, "evaluator", [("click", "Format")]),
    "osworld/bare": ("osworld", "Do something unnamed", True, "evaluator", [("click", ""), ("click", "")]),
}  # fmt: skip


def only(path: Path, report: ReadReport | None = None) -> Trajectory:
    """The one trajectory of a source."""
    (trajectory,) = read_traces(path, report=report)
    return trajectory


@pytest.mark.parametrize("name", EXPECTED)
def test_a_log_is_told_by_itself_and_gives_task_judge_and_named_steps(name: str) -> None:
    """Every format: found without `--format`, with the task, the judgement, each action and its control."""
    format, task, success, judge, steps = EXPECTED[name]
    found = only(DATA / name)
    assert (found.format, found.request) == (format, task)
    assert (found.outcome.success, found.outcome.evaluated_by) == (success, judge)
    assert [(step.action_type, step.target_control.name) for step in found.steps] == steps


def test_every_format_is_read_here_or_in_the_tests_of_its_own() -> None:
    """A reader nobody tries is no reader."""
    elsewhere = {"ufo", "ufo-dataflow", "ufo-yaml", "ufo-session", "execution-trace"}
    assert {row[0] for row in EXPECTED.values()} | elsewhere == set(FORMATS)


CALLED = {"name": "click", "id": "c"}
TALKS = {
    "bedrock": [
        {"role": "user", "content": [{"text": "Mute the channel"}]},
        {"role": "assistant", "content": [{"toolUse": {**CALLED, "toolUseId": "c", "input": {"element": "Mute"}}}]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c", "status": "error", "content": [{"text": "no"}]}}],
        },
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "Mute the channel"}]},
        {"role": "model", "parts": [{"functionCall": {**CALLED, "args": {"element": "Mute"}}}]},
        {"role": "function", "parts": [{"functionResponse": {"name": "click", "response": {"error": "Error: no"}}}]},
    ],
}


@pytest.mark.parametrize("vendor", TALKS)
def test_a_message_whose_parts_are_named_by_their_only_key_is_read(tmp_path: Path, vendor: str) -> None:
    """The call, and that it failed."""
    key = "messages" if vendor == "bedrock" else "contents"
    (tmp_path / "talk.json").write_text(json.dumps({key: TALKS[vendor]}), encoding="utf-8")
    found = only(tmp_path / "talk.json")
    assert (found.format, found.request) == ("chat", "Mute the channel")
    assert [(step.action_type, step.target_control.name, step.ok) for step in found.steps] == [("click", "Mute", False)]


def test_a_mark_in_the_text_of_a_page_names_the_control(tmp_path: Path) -> None:
    """In any file of steps: `[12] button 'Save'` before `click [12]`; an element's number in a list."""
    page, elements = "[11] link 'Home'\n[12] button 'Save'", [{"text": "Home"}, {"text": "Save", "role": "button"}]
    steps = [
        {"action": "click [12]", "observation": page},
        {"action": {"action_type": "click", "index": 1}, "ui_elements": elements},
    ]
    (tmp_path / "run.json").write_text(json.dumps({"task": "Save it", "steps": steps}), encoding="utf-8")
    named = [(step.target_control.name, step.target_control.type) for step in only(tmp_path / "run.json").steps]
    assert named == [("Save", "button")] * 2


@pytest.mark.parametrize(
    ("element", "named"),
    [
        ({"name": "Save", "attributes": {"name": "btn1", "role": "button"}, "tag": "div"}, ("Save", "button")),
        ({"name": "", "tag": "input", "attributes": {"aria-label": "User"}}, ("User", "input")),
    ],
)
def test_an_element_is_called_by_its_own_name_before_its_attributes(tmp_path: Path, element: Any, named: Any) -> None:
    """The attribute `name` of a page is a technical one; a role is what the page says it is."""
    run = {"task": "Save it", "steps": [{"action": "click", "element": element}]}
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    control = only(tmp_path / "run.json").steps[0].target_control
    assert (control.name, control.type) == named


CORNERS = {"left": 9, "top": 9, "right": 30, "bottom": 30}
TABLE = "tag\tname\ttext\tposition (x&y)\tsize (w&h)\nlabel\t\tAll\t(0, 0)\t(90, 90)\nbutton\tSave\t\t(10, 20)\t(9, 9)"


@pytest.mark.parametrize(
    "tree",
    [
        TABLE,
        '<a><button name="Save" cp:screencoord="(10, 20)" cp:size="(9, 9)"/><label name="All" bounds="[0,0][90,90]"/>',
        [{"text": "Save", "role": "button", "rect": {"x": 10, "y": 20, "width": 9, "height": 9}}],
        [{"label": "Save", "class": "android.widget.button", "bounds": CORNERS}],
        [{"name": "All", "bbox": "0 0 90 90", "nodes": [{"name": "Save", "tag": "button", "bbox": [10, 20, 19, 29]}]}],
    ],
)  # fmt: skip
def test_the_smallest_element_that_holds_a_place_names_the_control(tmp_path: Path, tree: Any) -> None:
    """Whatever shape the tree beside the step has."""
    step = {"action": "pyautogui.click(15, 25)", "accessibility_tree": tree}
    (tmp_path / "run.json").write_text(json.dumps({"task": "Save it", "steps": [step]}), encoding="utf-8")
    control = only(tmp_path / "run.json").steps[0].target_control
    assert (control.name, control.type, control.named_by) == ("Save", "button", "tree")


def test_an_archive_in_an_archive_stays_closed_and_is_named(tmp_path: Path) -> None:
    """It is not opened, and not passed over in silence."""
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.write(DATA / "otel.json", "otel.json")
        archive.writestr("inner.zip", b"PK")
    report = ReadReport()
    assert len(list(read_traces(tmp_path / "logs.zip", report=report))) == 1
    assert report.skipped == [(f"{tmp_path / 'logs.zip'}!inner.zip", "an archive in an archive stays closed")]


@pytest.mark.parametrize("first", [[], [{"role": ["system"], "content": "Be kind"}]])
def test_a_trace_whose_root_has_no_input_takes_the_task_of_its_first_model_call(
    tmp_path: Path, first: list[dict[str, object]]
) -> None:
    """As Pydantic AI writes it; a message whose role is no name is not the user's."""
    asked = json.dumps([*first, {"role": "user", "parts": [{"type": "text", "content": "Insert a table"}]}])
    spans = [
        {"traceId": "t", "name": "invoke_agent", "startTimeUnixNano": "1", "attributes": {"gen_ai.agent.name": "a"}},
        {"traceId": "t", "parentSpanId": "1", "startTimeUnixNano": "2", "attributes": {"gen_ai.input.messages": asked}},
        {
            "traceId": "t",
            "parentSpanId": "1",
            "startTimeUnixNano": "3",
            "attributes": {"gen_ai.tool.name": "click", "gen_ai.tool.call.arguments": '{"control": "Insert"}'},
        },
    ]
    (tmp_path / "otel.jsonl").write_text("\n".join(json.dumps(one) for one in spans), encoding="utf-8")
    found = only(tmp_path / "otel.jsonl")
    assert (found.request, found.steps[0].target_control.name) == ("Insert a table", "Insert")


def test_a_button_that_is_an_input_is_named_by_its_value(tmp_path: Path) -> None:
    """In MiniWoB's pages such a button has no text of its own."""
    button = {"tag": "INPUT_submit", "value": "Find Flights", "classes": "button", "recordingTarget": True}
    event = {"type": "mousedown", "timing": 1, "x": 5, "y": 5}
    state = {"dom": {"tag": "BODY", "children": [button]}, "action": event}
    (tmp_path / "flight.json").write_text(json.dumps({"utterance": "Find a flight", "states": [state]}), "utf-8")
    found = only(tmp_path / "flight.json")
    assert (found.format, found.steps[0].target_control.name) == ("miniwob", "Find Flights")


@pytest.mark.parametrize("key", ["trajectory", "actions", "steps"])
def test_a_run_that_states_its_outcome_is_no_plan(tmp_path: Path, key: str) -> None:
    """Its controls are kept, and its steps were executed, whatever the list of them is called."""
    steps = [{"action": "click", "control": "Call"}, {"action": {"action_type": "click", "target": {"name": "Jo"}}}]
    run = {"task": "Call Jo", "success": True, "evaluated_by": "user", key: steps}
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    found = only(tmp_path / "run.json")
    assert [(step.target_control.name, step.status) for step in found.steps] == [("Call", "ok"), ("Jo", "ok")]
    assert found.outcome.success is True


def test_each_text_of_the_user_in_a_session_file_is_a_task() -> None:
    """Claude Code: two requests, the second after the steps of the first; what the host says is none."""
    first, second = read_traces(DATA / "claude_code.jsonl")
    assert (first.request, second.request) == ("Export the orders as CSV", "Now delete the first order")
    assert [step.target_control.name for step in first.steps] == ["Export menu", "Export as CSV"]
    assert first.steps[1].target_control.type == "menuitem"


def test_code_of_codegen_tells_each_test_and_within_what_its_controls_stand() -> None:
    """JavaScript: the title of a test is the task; a dialog, a row or a filter in front of a control is around it."""
    cancel, export = read_traces(DATA / "orders.spec.ts")
    assert (cancel.request, export.request) == ("Cancel an order", "Export the orders")
    assert [(step.action_type, step.target_control.name, step.target_control.within) for step in cancel.steps] == [
        ("goto", "", ""),
        ("click", "More", "1017 Ann Lee"),
        ("click", "Cancel order…", ""),
        ("fill", "Reason", "Cancel order"),
        ("click", "Yes", "dialog"),
    ]
    assert cancel.steps[3].parameters == {"text": "It's late"}
    assert [(step.action_type, step.parameters) for step in export.steps] == [
        ("goto", {"url": "https://shop.example/orders"}),
        ("select_option", {"option": "csv"}),
        ("click", {}),
        ("press", {"key": "Enter"}),
    ]
    edited = only(DATA / "edit_user.py")
    assert [step.target_control.within for step in edited.steps][4:6] == ["mlopez Maria Lopez", "Languages"]
    assert edited.steps[5].around is not None
    assert edited.steps[5].around.place == 2
    assert edited.sensitive == ("hunter2-Secret!",)


def test_source_code_and_notes_beside_logs_are_counted(tmp_path: Path) -> None:
    """Only those in which something is done on a page are logs."""
    shutil.copy(DATA / "orders.spec.ts", tmp_path)
    (tmp_path / "agent.py").write_text("print('page')", encoding="utf-8")
    (tmp_path / "README.md").write_text("# Notes", encoding="utf-8")
    report = ReadReport()
    assert len(list(read_traces(tmp_path, report=report))) == 2
    assert (report.skipped, report.failed, report.no_log) == ([], [], {".md": 1, ".py": 1})
    (tmp_path / "orders.spec.ts").unlink()
    with pytest.raises(DataError, match="no trace in this folder"):
        list(read_traces(tmp_path))


def test_chrome_recorder_says_within_what_a_control_stands(tmp_path: Path) -> None:
    """A selector of several parts leads through what is around the control."""
    record = json.loads((DATA / "chrome_recorder.json").read_text(encoding="utf-8"))
    record["steps"][2]["selectors"] = [['aria/Customers[role="dialog"]', 'aria/New customer[role="button"]']]
    (tmp_path / "r.json").write_text(json.dumps(record), encoding="utf-8")
    control = only(tmp_path / "r.json").steps[1].target_control
    assert (control.name, control.type, control.within) == ("New customer", "button", "Customers")


def test_a_torn_recording_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Steps Recorder: the steps before the end are there, and the run says that it is not complete."""
    text = (DATA / "steps_recorder.mht").read_text(encoding="utf-8")
    (tmp_path / "torn.mht").write_text(text[: text.index('ActionNumber="4"')], encoding="utf-8")
    torn = only(tmp_path / "torn.mht")
    assert [step.target_control.name for step in torn.steps] == ["File", "Save As...", "File name:"]
    assert (torn.complete, only(DATA / "steps_recorder.mht").complete) == (False, True)


def test_errors_of_tools_are_errors_of_steps() -> None:
    """Said by `is_error`, by the text of the result, or by the status of a span."""
    assert [step.error for step in only(DATA / "openai_chat.json").steps][2] == "Error: the button is disabled"
    assert only(DATA / "anthropic_computer.jsonl").steps[2].error == "focus was lost"
    assert only(DATA / "otel.json").steps[1].error == "gone"
    assert only(DATA / "trace.trace").steps[2].error == "Timeout 1000ms exceeded"


def test_a_captcha_or_an_impossible_task_is_no_judgement(tmp_path: Path) -> None:
    """What stopped the run was not the agent's doing."""
    record = json.loads((DATA / "browser_use_013.json").read_text(encoding="utf-8"))
    judgement = record["history"][-1]["result"][-1]["judgement"]
    for reason in ("reached_captcha", "impossible_task"):
        record["history"][-1]["result"][-1]["judgement"] = judgement | {"verdict": False, reason: True}
        (tmp_path / "h.json").write_text(json.dumps(record), encoding="utf-8")
        found = only(tmp_path / "h.json")
        assert (found.outcome.success, found.outcome.evaluated_by) == (None, "agent")


@pytest.mark.parametrize(
    ("action", "calls"),
    [
        ("click", [("click", {})]),
        ({"click": {"index": 3}}, [("click", {"index": 3})]),
        ({"type": "tool_use", "name": "save", "input": {"a": 1}, "id": "x"}, [("save", {"a": 1})]),
        ({"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}, [("f", {"a": 1})]),
        ({"name": "computer", "input": {"action": "key", "text": "ctrl+s"}}, [("key", {"text": "ctrl+s"})]),
        ({"name": "mobile_use_20250728", "input": {"action": "tap", "id": 4}}, [("tap", {"id": 4})]),
        ('{"action_type": "click", "x": 1}', [("click", {"x": 1})]),
        ("pyautogui.click(1, 2); pyautogui.press('a')", [("click", {"x": 1, "y": 2}), ("press", {"keys": "a"})]),
        ("click('a51')", [("click", {"ref": "a51"})]),
        ("Type [7]; shoes", [("type", {"ref": "7", "text": "shoes"})]),
        ({"type": "tool_use"}, []),
        ({"x": 1, "y": 2}, []),
        (None, []),
    ],
)
def test_an_action_is_read_in_every_shape(
    tmp_path: Path, action: object, calls: list[tuple[str, dict[str, object]]]
) -> None:
    """Names, source, objects of tool calls, and none where there is none."""
    run = {"task": "Do it", "steps": [{"action": action}, {"action": "wait"}]}
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    steps = only(tmp_path / "run.json").steps
    assert [(step.action_type, step.parameters) for step in steps] == [*calls, ("wait", {})]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"type": "tool_use", "name": "click_element", "input": {"name": "News", "role": "Link"}}, ("News", "Link")),
        ({"action": {"type": "tool_use", "name": "tap", "input": {"title": "News"}}}, ("News", None)),
        ({"action": {"function": "left_click", "arguments": '{"label": "News"}'}}, ("News", None)),
        ({"action": {"tool_call": {"name": "tap", "arguments": {"label": "News"}}}}, ("News", None)),
        ({"action": "click_element", "arguments": {"index": 3, "text": "News"}}, ("News", None)),
        ({"action": {"name": "type", "arguments": {"text": "News"}}}, ("", None)),
        ({"action": {"name": "click", "arguments": {"label": 7, "button": "left"}}}, ("", None)),
        ({"action": {"name": "create_sheet", "arguments": {"name": "News"}}}, ("", None)),
    ],
)
def test_the_argument_that_names_a_control_is_the_target(
    tmp_path: Path, step: dict[str, object], told: tuple[str, str | None]
) -> None:
    """A number, a button of the mouse, and what another kind of tool is about are none."""
    (tmp_path / "run.json").write_text(json.dumps({"task": "Read the news", "steps": [step]}), encoding="utf-8")
    (read,) = only(tmp_path / "run.json").steps
    assert read.action_type != "tool_use"
    assert (read.target_control.name, read.target_control.type) == told


def thought_run(folder: Path, *thoughts: str) -> Trajectory:
    """A run of clicks at places, each with what the agent thought before it."""
    folder.mkdir()
    rows = [{"step_num": n, "action": f"pyautogui.click({n}, 9)", "response": text} for n, text in enumerate(thoughts)]
    (folder / "traj.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return only(folder)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I'll click the 'File' menu.", "File"),
        ("I clicked 'File' and the menu is open. Next I'll click 'Export'.", "Export"),
        ("Click on 'File' to open the menu, then select 'Export'.", "File"),
        ("I'll click the 'File' menu. Then I'll select 'Open'.", "File"),
        ("Clicking on Privacy and security tab", "Privacy and security"),
        ("select the cell B2:B5", "B2:B5"),
        ("I need to double-click on report.txt to open it.", "report.txt"),
        ("Ich klicke auf die Schaltfläche „Speichern“.", "Speichern"),
        ("Jetzt auf „Speichern“ klicken.", "Speichern"),
        ("Öffne das Menü Datei", "Datei"),
        ("点击“文件”菜单", "文件"),
        ("首先点击File菜单，然后选择Open。", "File"),
        ("点击“文件”菜单下的“导出”选项。", "导出"),
        ("“VLC”选项已经显示。所以点击这个选项，完成设置。", "VLC"),
        ("先点击B4单元格，然后输入内容。", "B4"),
        ("刚才点击File菜单没反应。重新点击Edit菜单。", "Edit"),
        ("press 'Enter' to confirm", ""),
        ("Click the first link", ""),
        ("The page shows 'Welcome'.", ""),
        ("要选中这个图像，点击图像使其被选中。", ""),
        ("click the " * 20_000, ""),
    ],
)
def test_a_name_is_taken_from_words_only_where_they_say_it_plainly(tmp_path: Path, text: str, name: str) -> None:
    """In English, German and Chinese; a wrong name is worse than none."""
    (step,) = thought_run(tmp_path / "run", text).steps
    assert step.target_control.name == name
    assert step.target_control.named_by == ("thought" if name else None)


@pytest.mark.parametrize(("dialect", "by"), [("tree", "tree"), ("comments", "code"), ("thoughts", "thought")])
def test_a_name_that_the_log_does_not_state_says_where_it_is_from(dialect: str, by: str) -> None:
    """The accessibility tree is sure, a comment of the code a promise, a thought what the agent believed."""
    assert {step.target_control.named_by for step in only(DATA / "osworld" / dialect).steps} - {None} == {by}


def test_a_drag_is_named_by_the_cells_it_goes_over_and_by_nothing_else(tmp_path: Path) -> None:
    """Where it begins the pointer moved before."""
    drag = "pyautogui.moveTo(10, 20)\npyautogui.dragTo(10, 90)"
    rows = [
        {"step_num": 1, "action": drag, "response": "Drag from cell A2 to cell A20."},
        {"step_num": 2, "action": drag, "response": "Drag the picture to the right."},
    ]
    (tmp_path / "traj.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert [step.target_control.name for step in only(tmp_path).steps] == ["A2", "A20", "", ""]


def test_a_step_on_bare_coordinates_is_blind() -> None:
    """Such steps are marked, so that nobody is sent to a place on another screen."""
    assert [is_blind(step) for step in only(DATA / "osworld" / "bare").steps] == [True, True]
    assert [is_blind(step) for step in only(DATA / "osworld" / "thoughts").steps] == [False, False]


ODD = (None, True, -1, 1e300, "", [], [[None]], {"a": [1]}, "https://[", ["a"])


def damaged(value: Any, chance: random.Random) -> Any:
    """The value with one part in twenty of another type, or gone."""
    if chance.random() < 0.05:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: damaged(item, chance) for key, item in value.items() if chance.random() > 0.02}
    return [damaged(item, chance) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.endswith((".json", ".jsonl", ".side", ".trace"))])
def test_a_value_of_another_type_never_ends_in_anything_but_a_trajectory_or_a_report(tmp_path: Path, name: str) -> None:
    """Of every format of objects, its sample damaged in forty ways."""
    text = (DATA / name).read_text(encoding="utf-8")
    lines = [text] if name.endswith((".json", ".side")) else text.splitlines()
    for seed in range(40):
        chance = random.Random(seed)
        rows = [json.dumps(damaged(json.loads(line), chance)) for line in lines]
        (tmp_path / name).write_text("\n".join(rows), encoding="utf-8")
        for found in read_traces(tmp_path, report=ReadReport()):
            assert Trajectory.model_validate_json(found.model_dump_json())


# -- archives


def test_logs_in_archives_are_read_and_named_by_their_place(tmp_path: Path) -> None:
    """A zip of a folder of runs, and a single file in gzip."""
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as archive:
        for path in sorted((DATA / "osworld" / "comments").iterdir()):
            archive.write(path, f"a/{path.name}")
        archive.write(DATA / "mind2web.jsonl", "mind2web.jsonl")
    found = list(read_traces(tmp_path / "runs.zip"))
    assert [one.format for one in found] == ["osworld", "mind2web"]
    assert found[1].source_files == (f"{tmp_path / 'runs.zip'}!mind2web.jsonl",)
    (tmp_path / "one.jsonl.gz").write_bytes(gzip.compress((DATA / "mind2web.jsonl").read_bytes()))
    assert only(tmp_path / "one.jsonl.gz").request == "Find a flight from Oslo"


@pytest.mark.parametrize("name", ["../out.json", "/out.json", "C:/out.json", "a/../../out.json", "..\\out.json"])
def test_an_archive_writes_nowhere_else(tmp_path: Path, name: str) -> None:
    """Row "archive that leads out": refused whole."""
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr(name, "{}")
    with pytest.raises(DataError, match="leads out") as caught:
        list(read_traces(tmp_path / "bad.zip"))
    assert caught.value.code == "E_ARCHIVE"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.zip"]


def test_an_archive_that_grows_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what it gives, not by what it says; and by the number of its entries."""
    monkeypatch.setattr("ufo_experience.traces.files.MAX_UNPACKED", 1 << 20)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b"0" * (3 << 20)))
    with pytest.raises(DataError, match="unpacks to more"):
        list(read_traces(tmp_path / "bomb.json.gz"))


@pytest.mark.parametrize("name", ["broken.zip", "broken.json.gz", "episode.pkl.gz", "runs.tar.gz"])
def test_an_archive_that_cannot_be_read_says_what_to_do(tmp_path: Path, name: str) -> None:
    """Damaged, a pickle, a tar: one error with the file."""
    (tmp_path / name).write_bytes(b"no archive")
    with pytest.raises(DataError) as caught:
        list(read_traces(tmp_path / name))
    assert (caught.value.code, caught.value.file) == ("E_ARCHIVE", str(tmp_path / name))


# -- files nobody knows


def test_an_unknown_file_is_answered_with_an_example_of_its_own(tmp_path: Path) -> None:
    """The plain format, with the values the file has under other names."""
    record = {"objective": "Pay the bill", "events": [{"kind": "tapped", "widget": "Pay now"}]}
    (tmp_path / "x.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(read_traces(tmp_path / "x.json"))
    assert caught.value.code == "E_UNKNOWN_FORMAT"
    assert '{"task": "Pay the bill", "steps": [{"action": "tapped", "control": "Pay now"}, "…"]}' in caught.value.reason


@pytest.mark.parametrize(("name", "hint"), [("a.har", "Chrome's Recorder"), ("a.pkl", "never opened")])
def test_a_file_of_a_kind_that_cannot_be_read_says_what_to_do(tmp_path: Path, name: str, hint: str) -> None:
    """HAR holds no actions, a pickle is a program."""
    (tmp_path / name).write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match=hint):
        list(read_traces(tmp_path / name))


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({"n_steps": 3, "cum_reward": 1.0, "err_msg": None}, "never opened"),
        (
            {"name": "f", "properties": {"definition": {"actions": {"Send": {"type": "OpenApiConnection"}}}}},
            "cloud flow",
        ),
    ],
)
def test_what_holds_no_action_on_a_screen_says_what_to_do(tmp_path: Path, value: object, hint: str) -> None:
    """A summary of AgentLab, whose steps are pickles, and a flow that runs on a server."""
    (tmp_path / "summary_info.json").write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(DataError, match=hint):
        list(read_traces(tmp_path / "summary_info.json"))


def test_typed_text_is_put_together_and_a_reward_in_between_judges_nothing(tmp_path: Path) -> None:
    """A backspace takes a character back; a demonstration that half worked is unknown."""
    assert only(DATA / "miniwob.json").steps[1].parameters == {"text": "Ann"}
    row = json.loads((DATA / "miniwob.json").read_text(encoding="utf-8")) | {"rawReward": 0.5}
    (tmp_path / "subscribe_1.json").write_text(json.dumps(row), encoding="utf-8")
    assert only(tmp_path / "subscribe_1.json").outcome.success is None


def test_a_folder_of_all_formats_is_read_without_a_problem(tmp_path: Path) -> None:
    """Nothing in it is passed over or failed but the snapshot, which belongs to its session."""
    shutil.copytree(DATA, tmp_path / "logs")
    report = ReadReport()
    found = list(read_traces(tmp_path / "logs", report=report))
    assert len(found) == len(EXPECTED) + 4  # two files hold two runs, and are tried on their own
    assert report.failed == []
    assert [Path(path).name for path, _ in report.skipped] == ["001.snapshot.yml"]


def test_a_title_the_recorder_made_by_itself_is_no_task(tmp_path: Path) -> None:
    """ "Recording 01/01/2025 at 19:04:54" says when, not what."""
    record = json.loads((DATA / "chrome_recorder.json").read_text(encoding="utf-8"))
    record["title"] = "Recording 01/01/2025 at 19:04:54"
    (tmp_path / "r.json").write_text(json.dumps(record), encoding="utf-8")
    assert only(tmp_path / "r.json").request == UNKNOWN_TASK


# -- formats of other packages


DOCS = Path(__file__).parents[1] / "docs" / "formats.md"


@pytest.fixture(scope="module")
def by_acme(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The package of docs/formats.md, installed in a folder: what a process that has it answers to four commands."""
    folder = tmp_path_factory.mktemp("acme")
    (code,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (entry,) = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    points = entry.replace('[project.entry-points."ufo_experience.traces"]', "[ufo_experience.traces]").replace('"', "")
    package = folder / "site"
    (package / "acme_traces-1.0.dist-info").mkdir(parents=True)
    (package / "acme_traces-1.0.dist-info" / "METADATA").write_text(
        "Name: acme_traces\nVersion: 1.0\n", encoding="utf-8"
    )
    (package / "acme_traces-1.0.dist-info" / "entry_points.txt").write_text(points, encoding="utf-8")
    (package / "acme_traces.py").write_text(code, encoding="utf-8")
    run = {"acme": 1, "order": "Send it", "moves": [["click", "Send", "Button"]], "ok": True}
    good = {"task": "Call Jo", "success": True, "evaluated_by": "user", "steps": [{"action": "click", "control": "Jo"}]}
    (folder / "logs").mkdir()
    for name, content in (("runs.jsonl", run), ("logs/a.json", run | {"moves": [["click"]]}), ("logs/b.json", good)):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    asked = {"itself": ["runs.jsonl"], "stumbles": ["logs"]}
    asked |= {name: ["runs.jsonl", "--format", name] for name in ("acme", "nonsense")}
    code = (
        "import json, pathlib, sys; from tests.cli_runner import Cli; run = Cli(pathlib.Path('.')).try_\n"
        "done = {name: run('ingest', *given, '--db', name) for name, given in json.loads(sys.argv[1]).items()}\n"
        "print(json.dumps({name: [one.exit_code, one.output] for name, one in done.items()}))"
    )
    path = os.pathsep.join([str(package), *sys.path])
    command = [sys.executable, "-c", code, json.dumps(asked)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, cwd=folder, env={**os.environ, "PYTHONPATH": path}, check=True
    )
    return json.loads(done.stdout)


def test_another_package_adds_a_format_with_one_class(by_acme: dict[str, Any]) -> None:
    """As docs/formats.md writes it: told by itself, by `--format`, and named among the formats."""
    assert (by_acme["itself"][0], by_acme["acme"][0], by_acme["nonsense"][0]) == (0, 0, 2)
    assert "acme" in by_acme["nonsense"][1]


def test_a_reader_of_another_package_that_stumbles_fails_its_file_and_nothing_else(by_acme: dict[str, Any]) -> None:
    """The file is named, the others are read, and there is no traceback."""
    code, said = by_acme["stumbles"]
    assert (code, "E_READER" in said, "a.json" in said, "Traceback" in said) == (0, True, True, False)


def test_a_run_that_is_handed_in_may_say_where_controls_stood_and_what_was_in_view(tmp_path: Path) -> None:
    """`within` is kept with the control; of what was in view only where a text had stood that was typed later."""
    steps = [
        {"action": "click", "control": "Edit", "control_type": "Button", "within": "row 1017", "controls": ["Edit"]},
        {
            "action": "set_edit_text",
            "control": "Object",
            "parameters": {"text": "CC-7300"},
            "controls": [{"name": "CC-7300", "type": "Text"}, {"name": "Object", "type": "Edit"}],
        },
    ]
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
        made = memory.remember("Plan a day for the laboratory", steps, success=True, judge="program")
    clicked, typed = made.action.steps
    assert clicked.target_control.within == "row 1017"
    assert typed.seen == Seen(after=1, type="Text", whole=True)
    assert not [note for note in made.provenance.notes if "not kept" in note]


def test_a_task_that_is_given_is_that_of_every_log_that_says_none(tmp_path: Path) -> None:
    """Of the plain format and of recordings; what was given is not complained of."""
    (tmp_path / "logs").mkdir()
    shutil.copy(DATA / "edit_user.py", tmp_path / "logs")
    (tmp_path / "logs" / "a.json").write_text('{"steps": [{"action": "click", "control": "Save"}]}', encoding="utf-8")
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
        told = memory.ingest(tmp_path / "logs", task="Save it", success=True)
        (tmp_path / "logs" / "edit_user.py").unlink()
        untold = memory.ingest(tmp_path / "logs")
    assert (len(told.added), told.incomplete, told.failed, told.problems) == (2, [], [], [])
    assert "E_NO_TASK" in {problem.code for problem in untold.problems}
