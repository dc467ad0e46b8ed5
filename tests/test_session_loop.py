"""Record → ingest → retrieve → prompt → next session: the loop closed over the real memory, and what a kill leaves."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.session_world import FEATURES, make_session, request_for, run_pool
from ufo_experience import ExperienceMemory, read_traces
from ufo_experience.session import SavePolicy, SessionConfig, export_plan, load_plan

ROOT = Path(__file__).parents[1]


@pytest.fixture
def memory(tmp_path):
    return ExperienceMemory.open(tmp_path / "db", embedder="hashing")


def run(session):
    return asyncio.run(session.run())


def test_what_a_session_did_is_what_the_reader_reads_back(tmp_path):
    """Every executed command comes back as a step: action, control, parameters, result and error."""
    session = make_session(tmp_path, None, "bluetooth", SessionConfig())
    run(session)
    [trajectory] = read_traces(session.log_path)
    steps = [(s.action_type, s.target_control.name, s.target_control.type, s.ok) for s in trajectory.steps]
    assert steps == [
        ("click_input", "Network", "TabItem", True),
        ("click_input", "bluetooth", "CheckBox", True),
    ]
    assert trajectory.steps[0].parameters == {"button": "left"}
    assert trajectory.request == request_for("bluetooth")
    assert (trajectory.outcome.success, trajectory.outcome.evaluated_by, trajectory.env) == (True, "evaluator", "linux")
    assert trajectory.outcome.cost == pytest.approx(0.02)
    assert trajectory.complete


def test_failed_steps_come_back_as_failed(tmp_path):
    """A switch looked for on the wrong page is a failed step with its reason."""
    session = make_session(tmp_path, None, "updates", SessionConfig())
    run(session)
    [trajectory] = read_traces(session.log_path)
    errors = [step.error for step in trajectory.steps if not step.ok]
    assert len(errors) == 4
    assert all("no control 'updates'" in error for error in errors)


def test_tasks_are_done_in_fewer_steps_once_remembered(tmp_path, memory):
    """Off: searched and saved by policy. On: retrieved, injected, followed, credited. Two switches of every page."""
    off = run_pool(tmp_path, False, FEATURES[::2])
    on = run_pool(tmp_path, True, FEATURES[::2])
    assert all(len(session.saved) == 1 for session in off)
    assert not any(session.injected for session in off)
    assert all(session.injected for session in on)
    assert (sum(session.step for session in off), sum(session.step for session in on)) == (70, 30)
    assert not any(not step.ok for session in on for run in read_traces(session.log_path) for step in run.steps)
    helped = [memory.store.get(session.saved[0]).usage.helped for session in off]
    assert sum(helped) >= 10


def test_what_was_injected_is_in_the_log_and_not_in_what_is_learned(tmp_path, memory):
    """request.log names the ids; the block itself is in no log."""
    config = SessionConfig(save=SavePolicy("always"))
    run(make_session(tmp_path, memory, "firewall", config))
    second = make_session(tmp_path, memory, "firewall", config)
    run(second)
    lines = (Path(second.log_path) / "request.log").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["experience_examples"] == list(second.injected) != []
    logs = "".join(file.read_text(encoding="utf-8") for file in Path(second.log_path).iterdir())
    assert "past-experience" not in logs
    assert json.loads(lines[0])["prompt"][0]["content"].strip() == request_for("firewall")
    assert "firewall" in memory.retrieve(request_for("firewall"))[0].experience.state.request


def test_an_exported_experience_is_a_plan_the_follower_reads(tmp_path, memory):
    """Store → plan file → the same actions on the same controls."""
    session = make_session(tmp_path, memory, "captions", SessionConfig(save=SavePolicy("always")))
    run(session)
    experience = memory.store.get(session.saved[0])
    plan = load_plan(export_plan(experience, tmp_path / "plans" / "captions.json"))
    assert plan.request == request_for("captions")
    assert [action.label for action in plan.actions] == [step.target_control.name for step in experience.action.steps]


def test_a_killed_pool_loses_nothing_it_had_recorded(tmp_path):
    """After a kill in the middle every announced experience is stored, every log readable, and the rest is taken up."""
    command = [sys.executable, "-m", "tests.session_world", str(tmp_path), "off", "0.02"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    announced = [json.loads(process.stdout.readline()) for _ in range(5)]
    process.kill()
    announced += [json.loads(line) for line in process.stdout.read().splitlines() if line.endswith("}")]
    process.stdout.close()
    assert process.wait() != 0

    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    saved = [identifier for line in announced for identifier in line["saved"]]
    assert len(saved) == len(announced) >= 5
    for identifier in saved:
        assert memory.store.get(identifier).outcome.success
    assert memory.store.verify().corrupt == []
    begun = [folder for folder in (tmp_path / "logs").iterdir() if (folder / "response.log").exists()]
    assert len(begun) < len(FEATURES)
    elsewhere = ExperienceMemory.open(tmp_path / "elsewhere", embedder="hashing")
    report = elsewhere.ingest(*begun, include_failures=True)
    assert (report.read, report.problems, report.failed) == (len(begun), [], [])

    rest = run_pool(tmp_path, False, FEATURES)
    assert {session.task for session in rest}.isdisjoint({line["task"] for line in announced[:4]})
    known = {memory.store.get(identifier).state.request for identifier in memory.store.ids()}
    assert known == {request_for(feature) for feature in FEATURES}
