"""READ → redact → SUMMARIZE → STORE as one run: what goes in, what is told, what is never learned."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.cli_runner import invoke
from tests.openai_stub import OpenAIStub, failing, slow
from ufo_experience import ExperienceMemory, Settings, build_prompt
from ufo_experience.cli.serve import SAMPLES
from ufo_experience.schema import Experience, Hit, Trust, validate


def run_file(folder: Path, name: str = "run.json", **fields: object) -> Path:
    """A run in the plain format."""
    step = {"action": "click", "control": "Save", "observation": "The page is open."}
    data = {"task": "Save the page", "application": "Edge", "success": True, "steps": [step], **fields}
    (folder / name).write_text(json.dumps(data), encoding="utf-8")
    return folder / name


def learn(folder: Path, *paths: Path, **options: object):
    """Ingest into a store of the folder; returns (store, report)."""
    memory = ExperienceMemory.open(folder / "db", embedder="hashing")
    return memory.store, memory.ingest(*paths, force=True, **options)


def test_a_very_long_run_is_shortened_and_named_and_the_others_are_learned(tmp_path):
    steps = [{"action": "click", "control": f"Row {n}"} for n in range(1_500)]
    large = run_file(tmp_path, "large.json", task="Read every row", steps=steps)
    done = invoke("ingest", large, run_file(tmp_path, "small.json"), "--force", "--db", tmp_path / "db")
    assert (done.exit_code, len(ExperienceMemory.open(tmp_path / "db"))) == (0, 2)
    assert "shortened: " in done.stderr
    assert "1500 steps" in done.stderr


def test_what_memory_injected_is_not_learned_again(tmp_path):
    """A block of ours in an observation of the log leaves no trace in the record."""
    old = validate(
        Experience,
        {
            "id": "a" * 32,
            "state": {"task": "echo of the past"},
            "action": {"steps": [{"step_number": 1, "action_type": "click", "target_control": {"name": "Old"}}]},
            "outcome": {"success": True},
            "created_at": datetime(2026, 1, 1, tzinfo=timezone.utc),
        },
    )
    block = build_prompt("Save the page", [Hit(experience=old, score=0.9, ranked_by="fused")]).prompt
    step = {"action": "click", "control": "Save", "observation": f"I was told: {block}"}
    store, report = learn(tmp_path, run_file(tmp_path, steps=[step]))
    stored = store.get(report.added[0]).model_dump_json()
    assert "echo of the past" not in stored
    assert "I was told" in stored


@pytest.mark.parametrize("outcome", ["success", None])
def test_a_plan_is_not_learned_as_something_that_happened(tmp_path, outcome):
    """Steps in a record come from executed actions only; a file that tells of none is skipped, and says why."""
    actions = [{"agent": "AppAgent", "action": "click", "parameters": {"label": "Send"}}]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"request": "Send it", "actions": actions, "outcome": outcome}), encoding="utf-8")
    store, report = learn(tmp_path, plan, include_failures=True)
    assert store.ids() == report.added == []
    assert "no executed action" in report.skipped[0][1]


def test_a_run_without_steps_is_skipped_with_the_reason(tmp_path):
    """Nothing to learn is said, not stored."""
    store, report = learn(tmp_path, run_file(tmp_path, steps=[]), run_file(tmp_path, "good.json"))
    assert len(report.added) == len(store.ids()) == 1
    assert len(report.skipped) + len(report.failed) == 1


def test_trust_given_by_a_person_overrides_the_evidence(tmp_path):
    """`--trust` is somebody's word."""
    store, report = learn(tmp_path, run_file(tmp_path), trust=Trust.APPROVED)
    assert store.get(report.added[0]).trust is Trust.APPROVED


def test_a_removed_record_does_not_come_back_and_the_report_says_why(tmp_path):
    """A deletion holds against the same log."""
    store, report = learn(tmp_path, run_file(tmp_path))
    store.remove(report.added)
    _, again = learn(tmp_path, run_file(tmp_path))
    assert again.added == []
    assert "removed" in again.skipped[0][1]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStub]:
    """A service in the place of OpenAI, with a key in the environment, as a user has it."""
    with OpenAIStub(chat=worded) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-not-a-key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("UFO_EXPERIENCE_EMBEDDER", "hashing")
        yield server


def worded(body: dict[str, Any]) -> dict[str, Any]:
    """What a model says of a run."""
    empty = {"slots": [], "tips": [], "preconditions": [], "avoid_when": [], "failure_reason": None}
    return {"intent": "save the page", "wordings": ["keep the page", "save this page"], "steps": [1], **empty}


def test_what_was_read_is_stored_when_reading_is_interrupted(tmp_path):
    """Also what waited for more to be made durable with it."""

    def stop(what: str, done: int, total: int) -> None:
        if done == 70:
            raise KeyboardInterrupt

    files = [run_file(tmp_path, f"{n}.json", task=f"Save page {n} of the book") for n in range(80)]
    with pytest.raises(KeyboardInterrupt):
        learn(tmp_path, *files, progress=stop)
    assert len(ExperienceMemory.open(tmp_path / "db")) == 70


def test_what_a_slow_model_has_worded_is_stored_while_it_words_the_next(tmp_path, stub, monkeypatch):
    monkeypatch.setattr("ufo_experience.ingest.COMMIT_SECONDS", 0.0)
    stored = []

    def count(what: str, done: int, total: int) -> None:
        stored.append(len(ExperienceMemory.open(tmp_path / "db", embedder="hashing")))

    files = [run_file(tmp_path, f"{n}.json", session=f"s{n}") for n in range(3)]
    learn(tmp_path, *files, summarizer="openai", progress=count)
    assert stored == [1, 2, 3]


def test_a_service_that_hangs_costs_a_few_time_outs_and_no_record(tmp_path, stub, monkeypatch):
    monkeypatch.setattr("ufo_experience.service.Service.chat.__kwdefaults__", {"timeout": 0.1})
    stub.play(*[slow(30)] * 99)
    files = [run_file(tmp_path, f"{n}.json", session=f"s{n}") for n in range(20)]
    _, report = learn(tmp_path, *files, summarizer="openai")
    assert (len(report.added), len(stub.requests) < 10) == (20, True)
    assert {one.message.rpartition(": ")[2] for one in report.problems} == {"timeout", "circuit_open"}


def test_a_job_that_may_wait_outlasts_an_outage(tmp_path, stub, monkeypatch):
    """`--wait` in minutes; without it the record is worded by rules."""
    monkeypatch.setattr("ufo_experience.service.LONGEST_PAUSE", 0.01)
    monkeypatch.setattr("ufo_experience.service.REST", 0.05)
    stub.play(*[failing(503)] * 6)
    log = run_file(tmp_path)
    done = invoke("ingest", log, "--force", "--summarizer", "openai", "--wait", "5", "--db", tmp_path / "db", "--json")
    assert done.exit_code == 0
    (one,) = ExperienceMemory.open(tmp_path / "db").list()
    assert (one.provenance.summarizer, len(stub.requests)) == ("openai:gpt-4.1-mini", 7)


def test_progress_is_told_where_there_is_no_terminal(tmp_path, stub, monkeypatch):
    monkeypatch.setattr("ufo_experience.cli.console.SECONDS_BETWEEN_LINES", 0.0)
    done = invoke("ingest", run_file(tmp_path), "--force", "--db", tmp_path / "db")
    assert "learned: 1\n" in done.stderr


@pytest.mark.parametrize("given", ["nothing", "file", "variable", "option", "argument"])
def test_who_words_the_records_is_what_the_setting_says(tmp_path, stub, monkeypatch, given):
    """A key in the environment alone sends no log; each way to choose a model does."""
    monkeypatch.chdir(tmp_path)
    log = run_file(tmp_path)
    if given == "file":
        (tmp_path / "ufo_experience.yaml").write_text("summarizer: openai\n", encoding="utf-8")
    if given == "variable":
        monkeypatch.setenv("UFO_EXPERIENCE_SUMMARIZER", "openai")
    if given == "argument":
        learn(tmp_path, log, summarizer="openai")
    else:
        option = ["--summarizer", "openai"] if given == "option" else []
        done = invoke("ingest", log, "--force", *option, "--db", tmp_path / "db")
        assert done.exit_code == 0
    sent = [request for request in stub.requests if "chat" in request.path]
    assert len(sent) == (0 if given == "nothing" else 1)


def test_a_setting_that_forbids_a_model_holds(tmp_path, stub, monkeypatch):
    monkeypatch.setenv("UFO_EXPERIENCE_SUMMARIZER", "extractive")
    assert invoke("ingest", run_file(tmp_path), "--force", "--db", tmp_path / "db").exit_code == 0
    assert [request for request in stub.requests if "chat" in request.path] == []


@pytest.mark.parametrize("stated", [{"success": True}, {"success": None}])
@pytest.mark.parametrize("again", [False, True])
def test_the_owner_judges_what_a_log_says_of_itself(tmp_path, stated, again):
    """`success=True` makes it a person's judgement, at once or when the same log is read again; nothing is doubled."""
    log = run_file(tmp_path, **stated)
    memory = ExperienceMemory.open(settings=Settings(db=str(tmp_path / "db"), embedder="hashing"))
    if again:
        assert [one.trust for one in map(memory.get, memory.ingest(log).added)] == [Trust.OBSERVED]
    memory.ingest(log, success=True)
    memory.ingest(log)
    (stored,) = memory.list()
    assert (stored.outcome.success, stored.outcome.judge, stored.trust) == (True, "user", Trust.VERIFIED)


def test_who_says_the_contrary_of_a_log_does_not_judge_it(tmp_path):
    """A failure the log admits is not made a success by `success=True` for a whole folder."""
    _, report = learn(tmp_path, run_file(tmp_path, success=False), include_failures=True, success=True)
    store, again = learn(tmp_path, run_file(tmp_path, success=False), include_failures=True, success=True)
    assert (again.known, store.get(report.added[0]).outcome.success) == (report.added, False)
    assert not store.get(report.added[0]).outcome.is_judged


def test_a_record_that_was_removed_stays_removed_when_its_log_is_read_again(tmp_path):
    """Its sibling of the same session and words is still there, and the log has not changed."""
    log = (SAMPLES / "settings_bluetooth" / "response.log").read_text(encoding="utf-8")
    alike = log.replace(
        "Open the Bluetooth & devices page and turn Bluetooth on.", "Turn on Bluetooth in the settings."
    )
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "response.log").write_text(alike, encoding="utf-8")
    (folder / "evaluation.log").write_bytes((SAMPLES / "settings_bluetooth" / "evaluation.log").read_bytes())
    memory = ExperienceMemory.open(settings=Settings(db=str(tmp_path / "db"), embedder="hashing"))
    added = memory.ingest(folder, force=True).added
    memory.remove(added[0])
    report = memory.ingest(folder, force=True)
    assert report.added == []
    assert "was removed from this store before" in dict(report.skipped)[added[0]]
