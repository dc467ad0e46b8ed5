"""Reading every format but UFO's session logs, and finding traces on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import link_or_skip
from ufo_experience import read_traces
from ufo_experience.errors import DataError, UsageError
from ufo_experience.schema import UNKNOWN_TASK, Trajectory
from ufo_experience.traces import FORMATS, ReadReport

ROW = {
    "step": 1,
    "thought": "The inbox is open.",
    "action_type": "click",
    "control_text": "New Email",
    "parameters": {"button": "left"},
    "result": "success",
    "application": "Outlook",
    "timestamp": "2025-11-12T10:04:28",
}


def save(path: Path, value: Any) -> Path:
    """Write a value as JSON, or a list of rows as JSON lines when the name asks for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in value) if path.suffix == ".jsonl" else json.dumps(value, indent=1)
    path.write_text(text, encoding="utf-8")
    return path


def only(path: Path, report: ReadReport | None = None) -> Trajectory:
    """The one trajectory of a source."""
    (trajectory,) = read_traces(path, report=report)
    return trajectory


# -- execution traces and saved sessions


def test_an_execution_trace_with_its_task_is_read(tmp_path: Path) -> None:
    """The article's rows under `execution_trace`: thought is the observation, control_text the control."""
    failed = ROW | {"step": 2, "control_text": "Send", "result": "failed"}
    found = only(save(tmp_path / "t.json", {"task": "Send an email", "execution_trace": [ROW, failed]}))
    assert (found.format, found.request, found.applications) == ("execution-trace", "Send an email", ("Outlook",))
    first, second = found.steps
    assert (first.observation, first.action_type, first.target_control.name) == (
        "The inbox is open.",
        "click",
        "New Email",
    )
    assert (first.parameters, first.result, first.error) == ({"button": "left"}, "success", None)
    assert first.timestamp is not None
    assert (first.timestamp.isoformat(), second.error) == ("2025-11-12T10:04:28+00:00", "failed")
    assert found.outcome.success is None


@pytest.mark.parametrize(("stamp", "day"), [(-86_400, "1969-12-31"), (33_000_000_000, "3015-09-24")])
def test_a_moment_outside_what_windows_converts_is_read(tmp_path: Path, stamp: int, day: str) -> None:
    """The same log has the same times on every system."""
    found = only(save(tmp_path / "t.json", {"task": "Send it", "execution_trace": [ROW | {"timestamp": stamp}]}))
    assert found.steps[0].timestamp is not None
    assert found.steps[0].timestamp.date().isoformat() == day


def test_a_bare_execution_trace_says_that_its_task_is_unknown(tmp_path: Path) -> None:
    """A list of rows has no task: the steps are read, the gap is reported."""
    report = ReadReport()
    found = only(save(tmp_path / "t.json", [ROW, {"note": "no action"}]), report)
    assert len(found.steps) == 1
    assert [problem.code for problem in report.problems] == ["E_STEP", "E_NO_TASK"]


def test_a_task_experience_is_read(tmp_path: Path) -> None:
    """`success` is what the file states, judged by nobody; the duration becomes the latency."""
    step = {"step_number": 1, "observation": "o", "action_type": "click", "target_control": "New Email"}
    record = {
        "task_id": "x",
        "task_description": "Send an email",
        "application": "Outlook",
        "steps": [step],
        "total_steps": 1,
        "duration_seconds": 2.5,
        "success": True,
    }
    found = only(save(tmp_path / "t.json", record))
    assert (found.request, found.applications, found.steps[0].target_control.name) == (
        "Send an email",
        ("Outlook",),
        "New Email",
    )
    assert (found.outcome.success, found.outcome.evaluated_by, found.outcome.latency_ms) == (True, "none", 2500.0)


def test_a_saved_session_with_a_score_was_judged(tmp_path: Path) -> None:
    """The documented structure: the selected application holds for the steps after it, `label` is the control."""
    record = {
        "task": "Send email",
        "request": "Send an email to John about the meeting",
        "trajectory": [
            {"round": 0, "agent": "HostAgent", "action": "select_application", "parameters": {"app_name": "Outlook"}},
            {"round": 0, "agent": "AppAgent", "action": "click_element", "parameters": {"label": "New Email"}},
        ],
        "outcome": "success",
        "evaluation_score": 0.95,
        "cost": 0.0234,
        "tokens": 1542,
    }
    found = only(save(tmp_path / "s.json", record))
    assert (found.format, found.applications) == ("ufo-session", ("Outlook",))
    assert [step.target_control.name for step in found.steps] == ["Outlook", "New Email"]
    outcome = found.outcome
    assert (outcome.success, outcome.evaluated_by, outcome.score, outcome.cost, outcome.tokens) == (
        True,
        "evaluator",
        0.95,
        0.0234,
        1542,
    )


def test_a_follower_plan_is_not_taken_for_something_that_happened(tmp_path: Path) -> None:
    """Steps of a plan say "not executed", its outcome is unknown."""
    plan = {
        "request": "Send it",
        "actions": [{"agent": "AppAgent", "action": "click", "parameters": {"label": "Send"}}],
    }
    found = only(save(tmp_path / "p.json", plan))
    assert (found.steps[0].result, found.outcome.success, found.outcome.evaluated_by) == ("not executed", None, "none")


def test_a_plan_of_sentences_gives_a_plan_and_no_steps(tmp_path: Path) -> None:
    """UFO's own follower file has steps in words."""
    found = only(save(tmp_path / "p.json", {"task": "Send it", "steps": ["1. Click New.", "2. Click Send."]}))
    assert (found.plan, found.steps) == (("1. Click New.", "2. Click Send."), ())


# -- UFO's YAML and dataflow


def test_ufos_real_experience_files_are_read(data_folder: Path) -> None:
    """Both published versions and the demonstration: request, application, control, arguments, tips, plan."""
    found = list(read_traces(data_folder / "ufo_real", format="ufo-yaml"))
    assert [t.request for t in found] == [
        "send email to example@gmail.com and say hello",
        "Create 1 to do for learning LLM.",
        "create a to do for learning LLM.",
    ]
    demonstration, old, _ = found
    assert len(demonstration.plan) == 4
    assert "Hi there,\\nJust" in demonstration.plan[2]
    assert (old.applications, old.steps[0].parameters) == (("ApplicationFrameHost.exe",), {"text": "Learning LLM"})
    assert (old.steps[0].action_type, old.steps[0].target_control.name) == ("set_edit_text", "Add a task in “My Day”")
    assert len(old.tips) == 2
    assert {t.outcome.success for t in found} == {None}


def test_a_list_shared_by_two_yaml_records_is_no_bomb(data_folder: Path) -> None:
    """An anchor with one alias is what YAML writers make of equal lists."""
    first, second = read_traces(data_folder / "ufo_logs" / "broken" / "experience_shared_list")
    assert (first.applications, second.applications) == (("OUTLOOK.EXE",), ("OUTLOOK.EXE",))
    assert (first.subtask, second.subtask) == (None, "Send the email.")


EXAMPLE = """example0:
  example:
    Observation: no
    ControlText: 12:30
    Function: type
    Args: {text: 1.10, raw: "5", on: true, off: no, n: 3}
    Status: FINISH
  request: yes
  app_list: [a.exe]
"""


def test_yaml_texts_stay_as_they_are_written(tmp_path: Path) -> None:
    """`no`, `12:30` and `yes` are texts; only bare arguments get types, and only unmistakable ones."""
    file = tmp_path / "experience.yaml"
    file.write_text(EXAMPLE, encoding="utf-8")
    found = only(file)
    step = found.steps[0]
    assert (found.request, step.observation, step.target_control.name) == ("yes", "no", "12:30")
    assert step.parameters == {"text": 1.1, "raw": "5", "on": True, "off": "no", "n": 3}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("request: yes", "request: yes\n  request: no"), "stands twice"),
        (("no\n", "!!python/name:os.system x\n"), "is not allowed"),
        (("no\n", "!mine x\n"), "is not allowed"),
        (("[a.exe]", "&a [*a]"), "stands for itself"),
        (("[a.exe]", "[" * 90 + "]" * 90), "nested deeper"),
        (("[a.exe]", "[" * 1000 + "]" * 1000), "nested"),
        (("app_list", "\tapp_list"), "not YAML"),
        (("example0", "---\na: 1\n---\nexample0"), "not YAML"),
    ],
)
def test_yaml_that_is_not_safe_is_refused_with_its_place(tmp_path: Path, change: tuple[str, str], reason: str) -> None:
    """Duplicate keys, tags, self-reference, depth, tabs and several documents: one error type, with the file."""
    file = tmp_path / "experience.yaml"
    file.write_text(EXAMPLE.replace(*change, 1), encoding="utf-8")
    with pytest.raises(DataError, match=reason) as caught:
        list(read_traces(file, format="ufo-yaml"))
    assert caught.value.file == str(file)


def test_an_alias_bomb_is_refused_in_little_time_and_memory(data_folder: Path) -> None:
    """In a process of its own: two seconds of processor time and 100 MB beyond the imports are its limits."""
    pytest.importorskip("resource", reason="POSIX counts of memory")
    code = (
        "import resource, sys, time\n"
        "from ufo_experience.traces import read_traces, ReadReport\n"
        "import ufo_experience.store.safe_yaml\n"
        "before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()\n"
        "report = ReadReport(); list(read_traces(sys.argv[1], report=report))\n"
        "grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before\n"
        "assert report.failed and time.process_time() - start < 2 and grown < 100_000, (grown, report)\n"
    )
    file = data_folder / "ufo_logs" / "broken" / "experience_alias_bomb" / "experience.yaml"
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_dataflow_results_are_read_before_and_after_execution(data_folder: Path) -> None:
    """Executed records carry their judgement; the one before execution is a plan with an unknown outcome."""
    found = {Path(t.source_files[0]).stem: t for t in read_traces(data_folder / "ufo_real", format="ufo-dataflow")}
    assert {name: (t.outcome.success, [step.result for step in t.steps]) for name, t in found.items()} == {
        "README_2_102": (True, ["success"]),
        "README_3_5": (True, ["success", "success"]),
        "result_0_5": (None, ["not executed", "not executed"]),
    }
    done = found["README_3_5"]
    assert (done.request, done.steps[1].target_control.name, len(done.plan)) == (
        "Turn the line of text 'text to edit' into a bulleted list in Word.",
        "Bullets",
        2,
    )


# -- OSWorld and browser-use


def osworld_run(folder: Path, score: str | None = "1.0") -> Path:
    """An OSWorld run folder, with the task file where OSWorld keeps it."""
    run = folder / "results" / "os" / "abc-1"
    rows = [
        {"step_num": 1, "action_timestamp": "20250102@030405", "action": "pyautogui.click(10.5, 20, button='left')"},
        {
            "step_num": 2,
            "action_timestamp": "20250102@030409",
            "action": "import pyautogui\npyautogui.hotkey('ctrl', 's')\npyautogui.write(message='hi')",
            "response": "I save.",
        },
        {"step_num": 3, "action_timestamp": "20250102@030410", "action": "WAIT"},
        {"step_num": 4, "action": {"action_type": "CLICK", "parameters": {"x": 1, "y": 2}}, "done": False},
        {"step_num": 5, "action": "DONE", "done": True},
    ]
    save(run / "traj.jsonl", rows)
    if score is not None:
        (run / "result.txt").write_text(score, encoding="utf-8")
    task = {"instruction": "Save the file.", "related_apps": ["gimp", "os"]}
    save(folder / "evaluation_examples" / "examples" / "os" / "abc-1.json", task)
    return run


def test_an_osworld_run_is_read_with_its_task_and_score(tmp_path: Path) -> None:
    """Actions are taken apart, several of one line are several steps, the score is a program's judgement."""
    found = only(osworld_run(tmp_path))
    assert (found.request, found.applications, found.complete) == ("Save the file.", ("gimp",), True)
    assert [(step.action_type, step.parameters) for step in found.steps] == [
        ("click", {"x": 10.5, "y": 20, "button": "left"}),
        ("hotkey", {"keys": ["ctrl", "s"]}),
        ("write", {"text": "hi"}),
        ("wait", {}),
        ("click", {"x": 1, "y": 2}),
    ]
    assert (found.steps[1].observation, found.outcome.evaluated_by, found.outcome.judge) == (
        "I save.",
        "evaluator",
        "program",
    )
    assert found.started_at is not None
    assert found.started_at.isoformat() == "2025-01-02T03:04:05+00:00"


@pytest.mark.parametrize(
    ("text", "success", "score"),
    [
        ("1.0", True, 1.0),
        ("0.9999999999922918\n", True, 0.9999999999922918),
        ("0.0", False, 0.0),
        ("0.4", None, 0.4),
        ("nan", None, None),
        ("broken", None, None),
        (None, None, None),
    ],
)
def test_an_osworld_score_between_no_and_yes_is_unknown(
    tmp_path: Path, text: str | None, success: bool | None, score: float | None
) -> None:
    """1 is success, 0 is failure; anything between, absent or unreadable is unknown, DONE or not."""
    outcome = only(osworld_run(tmp_path, text)).outcome
    assert (outcome.success, outcome.score) == (success, score)


def test_an_osworld_line_may_hold_the_task_and_the_place_beside_a_bare_action(tmp_path: Path) -> None:
    """Without a task file the first line is asked; a word names the control."""
    row = {"step_num": 1, "action": "click", "coordinate": [3, 4], "thought": "Click 'File'", "instruction": "Print it"}
    save(tmp_path / "traj.jsonl", [row])
    found = only(tmp_path)
    assert (found.request, found.steps[0].parameters) == ("Print it", {"coordinate": [3, 4]})
    assert found.steps[0].target_control.name == "File"


def test_an_osworld_run_that_crashed_is_incomplete(tmp_path: Path) -> None:
    """A crash appends an Error line."""
    run = osworld_run(tmp_path, None)
    with (run / "traj.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"Error": "Connection lost"}) + "\n")
    found = only(run)
    assert (found.complete, found.outcome.failure_reason) == (False, "Connection lost")


@pytest.mark.parametrize(
    ("source", "steps"),
    [
        ("open('made', 'w').write(x + 1)", [("write", {"text": "x + 1"})]),
        ("pyautogui.dragTo(3, y=4, duration=1.0)", [("dragTo", {"x": 3, "y": 4, "duration": 1.0})]),
        ("pyautogui.click(", [("code", {"source": "pyautogui.click("})]),
        ("tap(10, 20", [("code", {"source": "tap(10, 20"})]),
        ("done = pyautogui.press('f5')", [("press", {"keys": "f5"})]),
        ("# nothing", []),
    ],
)
def test_python_actions_are_read_and_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, steps: list[tuple[str, dict[str, Any]]]
) -> None:
    """Calls are data: nothing happens, values that are no plain data keep their source, broken code is no call."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "run" / "traj.jsonl", [{"step_num": 1, "action": source}, {"step_num": 2, "action": "WAIT"}])
    found = only(tmp_path / "run").steps
    assert [(step.action_type, step.parameters) for step in found] == [*steps, ("wait", {})]
    assert not (tmp_path / "made").exists()


def browser_history() -> dict[str, Any]:
    """A browser-use history of two steps and a done."""
    password = {"node_name": "INPUT", "attributes": {"type": "password", "name": "pw"}}
    return {
        "history": [
            {
                "model_output": {
                    "current_state": {"memory": "On the login page.", "next_goal": "Log in."},
                    "action": [{"input_text": {"index": 1, "text": "s3cret-pw"}}, {"click_element": {"index": 2}}],
                },
                "result": [{"extracted_content": "Typed.", "is_done": False}, {"error": "No such element"}],
                "state": {
                    "url": "https://shop.example.com/login?x=1",
                    "interacted_element": [password, None],
                    "screenshot": "iVBORw0KGgoA" * 20_000,
                },
                "metadata": {"step_start_time": 1700000000.0, "step_end_time": 1700000004.0, "input_tokens": 900},
            },
            {"model_output": None, "result": [{"error": "model failed"}], "state": {"url": "about:blank"}},
            {
                "model_output": {"next_goal": "Done.", "action": [{"done": {"text": "ok", "success": True}}]},
                "result": [{"is_done": True, "success": True}],
                "state": {"url": "https://shop.example.com/"},
                "metadata": {"step_start_time": 1700000005.0, "step_end_time": 1700000006.0, "input_tokens": 100},
            },
        ]
    }


def test_a_browser_use_history_is_read_without_its_screenshots(tmp_path: Path) -> None:
    """Actions, results and elements are parallel; the task is not in the file; success is the agent's claim."""
    report = ReadReport()
    found = only(save(tmp_path / "history.json", browser_history()), report)
    typed, clicked = found.steps
    assert (typed.action_type, typed.target_control.name, typed.target_control.type) == ("input_text", "pw", "INPUT")
    assert (typed.application, typed.observation) == ("shop.example.com", "On the login page.")
    assert (clicked.error, found.outcome.success, found.outcome.evaluated_by) == ("No such element", None, "agent")
    assert (found.request, found.outcome.tokens, found.outcome.latency_ms) == (UNKNOWN_TASK, 1000, 6000.0)
    assert found.sensitive == ("s3cret-pw",)
    assert [problem.code for problem in report.problems] == ["E_NO_TASK"]
    assert "iVBOR" not in found.model_dump_json()


def test_a_task_beside_a_browser_history_is_used(tmp_path: Path) -> None:
    """Whoever saves a history may add what it was for."""
    assert only(save(tmp_path / "h.json", browser_history() | {"task": "Log me in"})).request == "Log me in"


# -- the plain format and data sets


def test_plain_sessions_are_read_from_one_object_a_list_and_lines(tmp_path: Path) -> None:
    """The three ways a file may hold sessions give the same steps."""
    session = {
        "task": "Send it",
        "application": "Outlook",
        "success": True,
        "evaluated_by": "user",
        "steps": [{"action": "click", "control": {"name": "Send", "type": "Button"}, "parameters": {"double": False}}],
    }
    one = only(save(tmp_path / "one.json", session))
    (listed,) = read_traces(save(tmp_path / "list.json", [session]))
    first, second = read_traces(save(tmp_path / "lines.jsonl", [session, session]))
    assert one.steps[0].model_dump(exclude={"source"}) == listed.steps[0].model_dump(exclude={"source"})
    assert [t.steps[0].source.line for t in (first, second) if t.steps[0].source] == [1, 2]
    assert (one.outcome.success, one.outcome.evaluated_by) == (True, "user")
    step = one.steps[0]
    assert (step.target_control.name, step.target_control.type, step.application) == ("Send", "Button", "Outlook")


def test_rows_of_steps_are_grouped_by_their_session(tmp_path: Path) -> None:
    """Rows with one session after another; a row without an action is reported."""
    rows = [{"session": s, "task": f"Task {s}", "action": "click", "control": c} for s, c in ("aX", "aY", "bZ")]
    report = ReadReport()
    found = list(read_traces(save(tmp_path / "rows.jsonl", [*rows, {"session": "b", "note": "?"}]), report=report))
    assert [(t.request, [step.target_control.name for step in t.steps]) for t in found] == [
        ("Task a", ["X", "Y"]),
        ("Task b", ["Z"]),
    ]
    assert [problem.code for problem in report.problems] == ["E_UNKNOWN_LINE"]


def test_an_agents_own_success_is_unknown(tmp_path: Path) -> None:
    """`evaluated_by` "agent" is a claim."""
    session = {"task": "T", "success": True, "evaluated_by": "agent", "steps": [{"action": "click"}]}
    assert only(save(tmp_path / "s.json", session)).outcome.success is None


# -- finding traces


def test_an_unknown_format_name_is_refused_at_once(tmp_path: Path) -> None:
    """Before anything is read, and with the names that exist."""
    with pytest.raises(UsageError, match="browser-use"):
        read_traces(tmp_path, format="nonsense")


def test_a_single_file_of_no_known_format_is_an_error(tmp_path: Path) -> None:
    """Naming one file means it must be a trace."""
    with pytest.raises(DataError, match="known format"):
        list(read_traces(save(tmp_path / "x.json", {"a": 1})))


def test_in_a_tree_what_looks_like_a_trace_and_is_none_is_listed(tmp_path: Path) -> None:
    """JSON, logs and YAML are listed as skipped; pictures are not."""
    save(tmp_path / "b" / "config.json", {"a": 1})
    save(tmp_path / "a" / "trace.json", {"task": "T", "steps": [{"action": "click"}]})
    (tmp_path / "b" / "shot.png").write_bytes(b"\x89PNG")
    report = ReadReport()
    assert [t.request for t in read_traces(tmp_path, report=report)] == ["T"]
    assert [Path(source).name for source, _ in report.skipped] == ["config.json"]


def test_nothing_at_the_path_is_an_error_and_an_empty_folder_too(tmp_path: Path) -> None:
    """Both say so, and with a report both are listed."""
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(DataError):
            list(read_traces(path))
        report = ReadReport()
        assert list(read_traces(path, report=report)) == []
        assert [source for source, _ in report.failed] == [str(path)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_never_hangs(tmp_path: Path) -> None:
    """Given itself it is refused; in a tree, or in a log folder, it is listed and passed over."""
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(DataError, match="regular"):
        list(read_traces(tmp_path / "pipe.json"))
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / "response.log")
    (tmp_path / "run" / "evaluation.log").write_text("", encoding="utf-8")
    report = ReadReport()
    assert list(read_traces(tmp_path, report=report)) == []
    assert {Path(source).name for source, _ in report.skipped} == {"pipe.json", "response.log"}
    assert [Path(source).name for source, _ in report.failed] == ["response.log"]


def test_links_in_a_tree_are_not_followed(tmp_path: Path) -> None:
    """Neither a link to a file nor one to a folder; both are listed."""
    outside = save(tmp_path / "outside" / "t.json", {"task": "T", "steps": [{"action": "click"}]})
    inside = tmp_path / "inside"
    inside.mkdir()
    link_or_skip(inside / "file.json", outside)
    link_or_skip(inside / "folder", outside.parent)
    report = ReadReport()
    assert list(read_traces(inside, report=report)) == []
    assert [Path(source).name for source, _ in report.skipped] == ["file.json", "folder"]


NO_TRACES = [b"", b"\0" * 100, b"[" * 20_000, b'{"task":', b"\xff\xfe\x00", b"null", b"{}", b"[1]"]


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "ufo"])
def test_no_reader_lets_anything_but_a_trace_error_out(tmp_path: Path, name: str) -> None:
    """Every reader, forced onto files that are none of its own."""
    file = tmp_path / ("t.yaml" if name == "ufo-yaml" else "traj.jsonl" if name == "osworld" else "t.json")
    for content in NO_TRACES:
        file.write_bytes(content)
        with pytest.raises(DataError):
            list(read_traces(file, format=name))
        report = ReadReport()
        assert list(read_traces(tmp_path, report=report)) == [], content
        assert report.failed or report.skipped
