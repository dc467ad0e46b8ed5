"""The façade: logs in, experiences out; what was injected gets the credit; nothing is mixed or lost."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.reading import parse_block
from tests.builders import open_memory
from ufo_experience import ExperienceMemory
from ufo_experience.cli.serve import SAMPLES
from ufo_experience.errors import DataError, UsageError
from ufo_experience.schema import Trust

STATE = {
    "task": "summarize_document",
    "env": "web_chat",
    "constraints": ["concise"],
    "signals": {"domain": "technical"},
}
ACTION = {"strategy": "hierarchical_summary", "skill": "summarizer_v2", "parameters": {"verbosity": "low"}}
GOOD = {"success": True, "score": 0.82, "latency_ms": 1200}


@pytest.fixture
def memory(learned: Path) -> ExperienceMemory:
    """A memory that has read the bundled sample sessions, failures included."""
    return open_memory(learned)


def test_a_log_becomes_the_steps_of_a_prompt(memory):
    """The main job: what one session did stands in the prompt of a similar task."""
    hits = memory.retrieve("Turn Bluetooth on", application="Settings")
    block = memory.build_prompt("Turn Bluetooth on", hits)
    assert hits[0].experience.state.application == "SystemSettings.exe"
    assert block.ids == (hits[0].experience.id,)
    assert block.prompt.startswith("Turn Bluetooth on\n")
    shown = parse_block(block.text)[0]["steps"]
    logged = hits[0].experience.action.steps
    assert len(shown) == len(logged) > 1
    assert [line["control"] for line in shown] == [step.target_control.name for step in logged]


def test_reading_the_same_logs_again_adds_nothing(memory):
    """Same content, same id."""
    again = memory.ingest(SAMPLES, include_failures=True)
    assert again.added == []
    assert len(again.skipped) == len(memory.store.ids())


def test_the_same_logs_elsewhere_are_the_same_experiences(memory, tmp_path):
    """Ids come from content, not from where a log lies."""
    import shutil

    shutil.copytree(SAMPLES, tmp_path / "moved" / "logs")
    assert memory.ingest(tmp_path / "moved", include_failures=True).added == []


def test_failed_runs_are_kept_only_when_asked_for(tmp_path):
    """By default only what worked is learned; the report says what was left out and how to keep it."""
    report = open_memory(tmp_path / "db").ingest(SAMPLES)
    assert any("--include-failures" in reason for _, reason in report.skipped)


def test_a_failed_run_comes_back_apart_as_a_negative_example(memory):
    """Never among the hits to follow, but shown as tried and failed."""
    found = memory.retrieve("Save the presentation roadmap.pptx as a PDF on the desktop.")
    assert [hit.experience.outcome.success for hit in found.negatives] == [False]
    assert all(hit.experience.outcome.success for hit in found)
    record = parse_block(memory.build_prompt("Save the deck as PDF", found).text)[-1]
    assert (record["outcome"], "tried_and_failed" in record, "successful_steps" in record) == ("failure", True, False)


def test_an_unrelated_task_gets_no_experience_and_an_unchanged_prompt(memory):
    """Abstention is an answer."""
    task = "Book a one-way flight to Rome"
    found = memory.retrieve(task)
    assert list(found) == []
    assert found.reason
    assert memory.build_prompt(task, found).prompt == task


def test_the_application_filter_is_exact_and_comes_before_ranking(memory):
    """Nothing of another application, not even the best match; process and product names are one."""
    assert list(memory.retrieve("Turn Bluetooth on", application="Excel")) == []
    assert memory.retrieve("Turn Bluetooth on", application="systemsettings.EXE").hits


def test_a_given_threshold_is_the_threshold_used(memory):
    """Nothing under it is returned."""
    assert list(memory.retrieve("Turn Bluetooth on", threshold=0.999)) == []
    assert all(hit.score >= 0.2 for hit in memory.retrieve("Turn Bluetooth on", threshold=0.2))


def test_records_without_a_judged_outcome_are_withheld_until_approved(tmp_path):
    """They are counted, named, and come back after approval."""
    memory = open_memory(tmp_path / "db")
    memory.ingest(SAMPLES, trust=Trust.OBSERVED)
    before = memory.retrieve("Turn Bluetooth on")
    assert not before.hits
    assert before.withheld
    for identifier in before.withheld_ids:
        memory.store.set_status(identifier, trust=Trust.APPROVED)
    assert memory.retrieve("Turn Bluetooth on").hits


def test_a_commit_of_another_process_is_seen_by_the_next_query(memory, tmp_path):
    """An open memory catches up with the store, without being told."""
    task = "Rename the sheet to Totals"
    assert not memory.retrieve(task).hits
    other = open_memory(tmp_path / "db")
    other.add_experience({"task": task, "request": task}, {"strategy": "double click the tab"}, {"success": True})
    assert memory.retrieve(task).hits
    removed = memory.retrieve(task)[0].experience.id
    other.store.remove([removed])
    assert not memory.retrieve(task).hits


def test_an_index_of_another_embedder_is_refused_with_its_cure(memory, tmp_path):
    """Vectors of two embedders are never mixed."""
    other = ExperienceMemory.open(tmp_path / "db", embedder="hashing:512")
    with pytest.raises(DataError, match="--rebuild --embedder hashing:512"):
        other.retrieve("Turn Bluetooth on")
    assert other.index(rebuild=True).records == len(memory.store.ids())
    assert (len(other.retrieve("Turn Bluetooth on")), other.stats().embedder) == (1, "hashing:512")


def test_indexing_again_with_nothing_changed_does_nothing(memory):
    """Nothing embedded, no request."""
    first, second = memory.index(), memory.index()
    assert (second.records, second.embedded, second.requests) == (first.records, 0, 0)


def test_a_damaged_index_costs_no_answer(memory, tmp_path):
    """The records are the truth: hits are the same after the index is destroyed."""
    before = [hit.experience.id for hit in memory.retrieve("Turn Bluetooth on")]
    for file in (tmp_path / "db" / ".index").iterdir():
        with suppress(OSError):  # Windows guards what a process has mapped
            file.write_bytes(b"rot")
    after = open_memory(tmp_path / "db").retrieve("Turn Bluetooth on")
    assert [hit.experience.id for hit in after] == before


def test_a_report_credits_what_the_prompt_had_room_for_when_it_is_given_the_block(memory):
    """Credit goes to what was really injected."""
    task = "Insert a table of 3 columns and 4 rows at the cursor and send it"
    found = memory.retrieve(task, top_k=3, threshold=0.0)
    block = memory.build_prompt(task, found, max_tokens=200)
    assert 0 < len(block.ids) < len(found)
    assert memory.report(block, success=True) == list(block.ids)
    assert memory.store.get(block.ids[0]).usage.helped == 1


def test_a_report_credits_exactly_what_it_is_given(memory, tmp_path):
    """Whatever prompts this process has built before: in every process the same call does the same."""
    task = "Insert a table of 3 columns and send it in an email"
    found = memory.retrieve(task, top_k=3, threshold=0.0)
    memory.build_prompt(task, found, max_tokens=550)
    ids = [hit.experience.id for hit in found]
    assert memory.report(found, success=True, session="one") == ids
    assert open_memory(tmp_path / "db").report(ids, success=False, session="two") == ids
    assert memory.report([*ids, ids[0]], success=False, session="three") == ids


def test_a_budget_of_nothing_adds_nothing(memory):
    """0 is not the absence of a budget, and as little one here as on the command line."""
    found = memory.retrieve("Turn Bluetooth on")
    block = memory.build_prompt("Turn Bluetooth on", found, max_tokens=1)
    assert (block.prompt, block.ids, block.tokens) == ("Turn Bluetooth on", (), 0)
    with pytest.raises(UsageError, match="from 1, not 0"):
        memory.build_prompt("Turn Bluetooth on", found, max_tokens=0)


@pytest.mark.parametrize(("k", "threshold"), [(0, None), (51, None), (True, None), (3, 2.0), (3, float("nan"))])
def test_numbers_that_make_no_sense_are_usage_errors(memory, k, threshold):
    """Before anything is asked."""
    with pytest.raises(UsageError):
        memory.retrieve("Turn Bluetooth on", top_k=k, threshold=threshold)


@pytest.mark.parametrize("task", ["", "   ", "!?", "🙂🙂"])
def test_a_task_without_words_gets_an_empty_answer_with_the_reason(memory, task):
    """No request, no error."""
    assert memory.retrieve(task).reason == "the task holds no words"


def test_a_triple_is_stored_queried_and_recommended(tmp_path):
    """The state-action-outcome interface, over the same records."""
    memory = open_memory(tmp_path / "db")
    memory.add_experience(STATE, ACTION, GOOD)
    memory.add_experience(STATE, {"strategy": "flat"}, {"success": False, "failure_reason": "too long"})
    hits = memory.query(STATE)
    assert [hit.experience.action.strategy for hit in hits] == ["hierarchical_summary", "flat"]
    advice = memory.recommend(STATE)
    assert advice[0].signature.startswith("hierarchical_summary | summarizer_v2 |")
    assert (advice[0].trials, advice[0].success_rate) == (1, 1.0)
    assert advice[1].failure_patterns == ("too long",)


def test_two_trials_of_one_action_count_as_two(tmp_path):
    """A triple added twice is two experiences, not one."""
    memory = open_memory(tmp_path / "db")
    assert memory.add_experience(STATE, ACTION, GOOD) != memory.add_experience(STATE, ACTION, GOOD)
    assert memory.recommend(STATE)[0].trials == 2


@pytest.mark.parametrize(
    ("state", "outcome", "field"),
    [({}, GOOD, "task"), (STATE, {}, "success"), (STATE, {"success": True, "score": 2}, "score")],
)
def test_a_triple_that_lacks_something_names_the_field(tmp_path, state, outcome, field):
    """Bad input is a typed error."""
    with pytest.raises(DataError, match=field):
        open_memory(tmp_path / "db").add_experience(state, ACTION, outcome)


def test_an_export_imports_elsewhere_in_quarantine(memory, tmp_path):
    """Whole stores travel; trust does not."""
    elsewhere = open_memory(tmp_path / "other")
    report = elsewhere.import_json(memory.export_json())
    assert sorted(report.added) == memory.store.ids()
    assert {one.trust for one in elsewhere.store.scan()} == {Trust.QUARANTINED}
    assert elsewhere.retrieve("Turn Bluetooth on").withheld


def test_a_store_that_is_not_there_is_an_error_for_a_reader(tmp_path):
    """Not an empty answer."""
    with pytest.raises((DataError, UsageError)):
        ExperienceMemory.open(tmp_path / "nowhere", create=False)


def test_typed_secrets_of_a_triple_are_not_stored(tmp_path):
    """What the owner's program adds is redacted too."""
    memory = open_memory(tmp_path / "db")
    memory.add_experience(
        {"task": "log in", "request": "log in with key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"}, ACTION, GOOD
    )
    stored = b"".join(path.read_bytes() for path in (tmp_path / "db").rglob("*") if path.is_file())
    assert b"abcdefghijklmnopqrstuvwxyz0123456789" not in stored


def test_a_folder_keeps_a_view_for_ufo_and_people(memory, tmp_path):
    """`experience.yaml` is made by `index`: rewritten when records have changed, left alone when they have not."""
    view = tmp_path / "db" / "experience.yaml"
    memory.index()
    assert "Bluetooth" in view.read_text(encoding="utf-8")
    written = view.stat().st_mtime_ns
    memory.index()
    assert view.stat().st_mtime_ns == written
    memory.store.remove(memory.store.ids())
    memory.index()
    assert "Bluetooth" not in view.read_text(encoding="utf-8")
