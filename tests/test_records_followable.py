"""Records are the way that was gone: what nobody could follow is never shown as a success, and ingest says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli_runner import invoke
from ufo_experience import ExperienceMemory, Settings
from ufo_experience.schema import UNKNOWN_TASK, Trust

DATA = Path(__file__).parent / "data" / "traces"


def open_memory(folder: Path) -> ExperienceMemory:
    """A memory that needs no service."""
    return ExperienceMemory.open(settings=Settings(db=str(folder), embedder="hashing", summarizer="extractive"))


def write(folder: Path, value: object, name: str = "run.json") -> Path:
    """A log as JSON."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return folder / name


def run_of(*steps: object, **more: object) -> dict[str, object]:
    """A judged success in the plain format."""
    return {"task": "Zoom in on the map", "success": True, "evaluated_by": "evaluator", "steps": list(steps), **more}


def learned(folder: Path, value: object, **options: object):
    """The records of a log, and the report."""
    memory = open_memory(folder / "db")
    report = memory.ingest(write(folder, value), **options)
    return [memory.store.get(identifier) for identifier in report.added], report, memory


def names(record) -> list[str]:
    """The controls of a record in the order of its steps."""
    return [step.target_control.name for step in record.action.steps]


def test_a_success_of_bare_coordinates_is_kept_and_never_shown(tmp_path):
    """Counted at ingest with what it lacks; not even approval makes it followable."""
    memory = open_memory(tmp_path / "db")
    report = memory.ingest(DATA / "osworld" / "bare")
    (identifier,) = report.added
    assert report.incomplete == [(identifier, "no named target")]
    record = memory.store.get(identifier)
    assert record.trust is Trust.OBSERVED
    assert "targets:unnamed:2" in record.provenance.notes
    memory.approve(identifier)
    found = memory.retrieve("Do something unnamed")
    assert (found.hits, found.reason) == (
        (), "nobody could follow what is stored: it lacks a task, steps or the names of controls",
    )  # fmt: skip


def test_a_run_of_unnamed_clicks_that_a_program_hands_in_is_never_shown_either(tmp_path):
    """Observed, and of no use after an approval: a prompt of `click()` and `click()` would help nobody."""
    memory = open_memory(tmp_path / "db")
    record = memory.remember("Zoom in on the map", [{"action": "click"}, {"action": "click"}], True)
    assert (record.trust, record.provenance.notes) == (Trust.OBSERVED, ("targets:unnamed:2",))
    memory.approve(record.id)
    assert memory.retrieve("Zoom in on the map").hits == ()
    assert memory.build_prompt("Zoom in on the map").ids == ()


def test_a_success_without_a_task_is_not_verified_and_never_shown(tmp_path):
    """A run without its task file, judged or not."""
    run = tmp_path / "runs" / "abc"
    run.mkdir(parents=True)
    (run / "traj.jsonl").write_text(
        '{"step_num": 1, "action": "pyautogui.hotkey(\'ctrl\', \'s\')"}\n', encoding="utf-8"
    )
    (run / "result.txt").write_text("1.0\n", encoding="utf-8")
    memory = open_memory(tmp_path / "db")
    report = memory.ingest(run)
    assert [why for _, why in report.incomplete] == ["no task"]
    assert memory.store.get(report.added[0]).trust is Trust.OBSERVED
    assert memory.store.get(report.added[0]).state.request == UNKNOWN_TASK


def test_a_success_without_a_step_is_not_learned(tmp_path):
    """An object of coordinates names no action."""
    for steps in ([{"action": {"x": 1, "y": 2}}], [{"action": {"type": "tool_use"}}]):
        records, report, _ = learned(tmp_path, run_of(*steps))
        assert (records, len(report.skipped) + len(report.failed)) == ([], 1)


def test_actions_that_are_objects_keep_their_names(tmp_path):
    """Tool calls, single keys and typed objects."""
    steps = [
        {"action": {"name": "browser_click", "input": {"element": "Map", "ref": "e1"}}},
        {"action": {"click": {"element": "Layers"}}},
        {"action": {"type": "tool_use", "name": "press", "input": {"key": "Plus"}}},
    ]
    (record,), _, _ = learned(tmp_path, run_of(*steps))
    assert [step.action_type for step in record.action.steps] == ["browser_click", "click", "press"]
    assert names(record) == ["Map", "Layers", ""]


def test_every_repeat_that_worked_is_a_step(tmp_path):
    """Zoom three times, and the digits of 11.00."""
    keys = ["Zoom in"] * 3 + list("11.00")
    (record,), _, _ = learned(tmp_path, run_of(*({"action": "click", "control": key} for key in keys)))
    assert names(record) == keys


@pytest.mark.parametrize(
    ("fields", "success"),
    [
        ({"intent": "Show the map", "is_successful": True, "evaluated_by": "user"}, True),
        ({"title": "Show the map", "reward": 1.0}, True),
        ({"confirmed_task": "Show the map", "reward": 0}, False),
        ({"confirmed_task": "Show the map", "reward": 0.5}, None),
    ],
)
@pytest.mark.parametrize("key", ["op", "type", "action_content"])
def test_the_usual_names_of_the_field_are_known(tmp_path, fields, success, key):
    """For the task, the action and the judgement."""
    log = {**fields, "steps": [{key: "click", "target": "Map"}]}
    (record,), _, _ = learned(tmp_path, log, include_failures=True)
    assert (record.state.request, record.outcome.success) == ("Show the map", success)
    assert (record.action.steps[0].action_type, names(record)) == ("click", ["Map"])


def test_what_a_file_lacks_can_be_given(tmp_path):
    """Task, application and judgement; what the file says stands."""
    memory = open_memory(tmp_path / "db")
    given = {"task": "Check out", "application": "Shop", "success": True}
    report = memory.ingest(DATA / "mcp-session" / "session.md", **given)
    record = memory.store.get(report.added[0])
    assert (record.state.request, record.state.application) == ("Check out", "shop.example")
    assert (record.trust, record.outcome.evaluated_by, report.incomplete) == (Trust.VERIFIED, "user", [])
    said = write(tmp_path, run_of({"action": "click", "control": "Map"}, success=False))
    other = memory.ingest(said, include_failures=True, **given)
    kept = memory.store.get(other.added[0])
    assert (kept.state.request, kept.state.application, kept.outcome.success) == ("Zoom in on the map", "Shop", False)


def test_a_folder_of_which_nothing_was_read_is_an_error(tmp_path):
    """Exit 65, and the reason names the plain format."""
    write(tmp_path / "logs", {"objective": "x", "events": [{"kind": "tap", "widget": "Y"}]})
    done = invoke("ingest", tmp_path / "logs", "--db", tmp_path / "db")
    assert done.exit_code == 65
    assert "in the plain format it would be" in done.output


def test_the_command_line_fills_in_and_counts_what_nobody_could_follow(tmp_path):
    """`--task`, `--app`, `--success`; the count and the reason."""
    done = invoke(
        "ingest", DATA / "mcp-session" / "session.md", "--task", "Check out", "--success", "--db", tmp_path / "a"
    )
    assert done.exit_code == 0
    assert "never shown" not in done.output
    done = invoke("ingest", DATA / "osworld" / "bare", "--db", tmp_path / "b")
    assert (done.exit_code, "1 no named target" in done.output) == (0, True)
