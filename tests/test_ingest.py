"""READ → redact → SUMMARIZE → STORE as one run: what goes in, what is told, what is never learned."""

from __future__ import annotations

import gc
import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

import pytest

from tests.builders import a_run, a_step
from tests.disks import UnsyncedDisk
from ufo_experience.cli.serve import SAMPLES
from ufo_experience.errors import UsageError
from ufo_experience.index.catalog import Catalog
from ufo_experience.ingest import _redacted, _without_our_prompts, ingest, seldom_collecting
from ufo_experience.memory import ExperienceMemory
from ufo_experience.prompt.block import frame
from ufo_experience.prompt.builder import build_prompt
from ufo_experience.schema import Experience, Hit, Trust, validate
from ufo_experience.settings import Settings
from ufo_experience.store import open_store
from ufo_experience.store.folder.store import FileStore
from ufo_experience.summarize import ExtractiveSummarizer
from ufo_experience.traces import read_traces
from ufo_experience.traces.draft import LogDefaults


def run_file(folder: Path, name: str = "run.json", **fields: object) -> Path:
    """A run in the plain format."""
    step = {"action": "click", "control": "Save", "observation": "The page is open."}
    data = {"task": "Save the page", "application": "Edge", "success": True, "steps": [step], **fields}
    (folder / name).write_text(json.dumps(data), encoding="utf-8")
    return folder / name


def learn(folder: Path, *paths: Path, **options: object):
    """Ingest into a store of the folder; returns (store, report)."""
    store = open_store(folder / "db")
    return store, ingest(paths, store, ExtractiveSummarizer(), **options)


def test_a_run_too_large_for_a_record_is_listed_and_the_others_are_learned(tmp_path):
    """One long log in a folder costs only itself."""
    wordy = [{"action": "click", "control": f"Row {n}", "observation": "the row; " * 900} for n in range(40)]
    large = run_file(tmp_path, "large.json", task="Read every row", steps=wordy)
    store, report = learn(tmp_path, large, run_file(tmp_path, "small.json"))
    assert [store.get(one).state.task for one in report.added] == ["save the page"]
    ((source, why),) = report.failed
    assert source.endswith("large.json")
    assert "larger than" in why


def test_a_run_is_named_to_the_terminal_without_its_secrets():
    """What was skipped is told with the sub-task, and a person may have said a password in it."""
    run = a_run(a_step(1, "click", "Log in"), subtask="Log in to Jira, password is Zw9!ppR4")
    assert "Zw9!ppR4" not in _redacted(run, LogDefaults()).source
    assert "Log in to Jira" in _redacted(run, LogDefaults()).source


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


def test_a_run_in_which_memory_was_used_keeps_what_was_in_view(tmp_path):
    """Taking our block out of a log loses nothing else: the shortest way and the secrets are still known."""
    bare = next(read_traces(SAMPLES / "excel_filter")).model_copy(update={"sensitive": ("hunter2!",)})
    block = frame(['{"task": "echo of the past"}'], "a" * 32)
    first = bare.steps[0].model_copy(update={"observation": bare.steps[0].observation + block})
    used = _without_our_prompts(bare.model_copy(update={"steps": (first, *bare.steps[1:])}))
    assert len(bare.visibility.visible_before) > 1
    assert used.visibility == bare.visibility
    assert used.sensitive == bare.sensitive
    assert "echo" not in used.model_dump_json()


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


def test_a_summarizer_that_is_interrupted_keeps_what_was_committed(tmp_path):
    """Records are committed in batches; a crash in the middle loses only the last, uncommitted ones."""

    class Stops(ExtractiveSummarizer):
        def __init__(self) -> None:
            super().__init__()
            self.left = 70

        def summarize(self, trajectory):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().summarize(trajectory)

    files = [run_file(tmp_path, f"{n}.json", task=f"Save page {n} of the book") for n in range(80)]
    store = open_store(tmp_path / "db")
    with suppress(KeyboardInterrupt):
        ingest(files, store, Stops())
    assert len(open_store(tmp_path / "db").ids()) == 64


class ReadingDisk(UnsyncedDisk):
    """Counts the record files that are opened."""

    read_records = 0

    def open(self, path: Path) -> int:
        self.read_records += path.parent.parent.name == "records"
        return super().open(path)


def test_one_more_run_of_a_task_costs_the_same_however_many_are_stored(tmp_path):
    """No stored run of the task is read for it: a scheduled task learns in linear time."""
    disk = ReadingDisk()
    settings = Settings(db=str(tmp_path / "db"), embedder="hashing:64", summarizer="extractive")
    memory = ExperienceMemory(FileStore.open(tmp_path / "db", disk=disk), settings)
    costs = []
    for number in range(12):
        before = disk.read_records
        assert len(memory.ingest(run_file(tmp_path, f"run-{number}.json", session=f"s-{number}")).added) == 1
        costs.append(disk.read_records - before)
    assert costs[11] == costs[3]


def test_a_log_that_was_changed_after_it_was_learned_from_is_quarantined(tmp_path):
    """The same source and session with other content: the trusted version stands, the new one waits."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing:64")
    first = memory.ingest(run_file(tmp_path, session="s-1"), force=True)
    memory.store.set_status(first.added[0], trust=Trust.VERIFIED)
    step = {"action": "click", "control": "Delete", "observation": "The page is open."}
    second = memory.ingest(run_file(tmp_path, session="s-1", steps=[step]), force=True)
    assert [id for id, _ in second.conflicts] == second.added
    assert memory.store.get(second.added[0]).trust is Trust.QUARANTINED


@pytest.mark.slow
def test_several_processes_learn_the_same_in_the_same_order(tmp_path):
    """Ids, order, records, what is told of each log, and what the index holds, for any number of jobs."""
    logs = Path(__file__).parent / "data"
    found = []
    for jobs in (1, 2):
        with ExperienceMemory.open(tmp_path / f"db{jobs}", embedder="hashing:64") as memory:
            report = memory.ingest(SAMPLES, logs, include_failures=True, force=True, jobs=jobs)
            records = [one.model_dump(exclude={"created_at"}) for one in map(memory.store.get, report.added)]
            catalog = memory.live.snapshot().catalog
            found.append((asdict(report), records, [catalog.parts(row) for row in range(len(catalog))]))
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a signal of POSIX")
@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_process_that_reads_ends_with_the_one_that_asked(tmp_path, threads):
    """Whoever is killed leaves no process behind; what was stored is whole, and the rest is learned afterwards."""
    for number in range(300):
        run_file(tmp_path, f"run-{number}.json", task=f"Save page {number}")
    (tmp_path / "learn.py").write_text(
        "from ufo_experience.memory import ExperienceMemory\n"
        "if __name__ == '__main__':\n"
        f"    memory = ExperienceMemory.open({str(tmp_path / 'db')!r}, embedder='hashing:64')\n"
        f"    memory.ingest({str(tmp_path)!r}, force=True, jobs=2)\n",
        encoding="utf-8",
    )
    read, write = os.pipe()  # closed when the last process that has it ends
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": threads}  # with one thread a process is forked
    child = subprocess.Popen([sys.executable, tmp_path / "learn.py"], stdout=write, env=alone)
    os.close(write)
    while not list(tmp_path.glob("db/records/*/*.json")) and child.poll() is None:
        time.sleep(0.01)
    child.kill()
    child.wait()
    assert select.select([read], [], [], 30)[0]
    assert os.read(read, 1) == b""
    os.close(read)
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing:64") as memory:
        before = len(memory.store.verify().corrupt), len(memory)
        report = memory.ingest(tmp_path, force=True, jobs=2)
        assert (before[0], before[1] + len(report.added)) == (0, 300)


def test_what_is_indexed_while_runs_are_learned_is_what_their_records_say(tmp_path):
    """The index takes what was worked out then, and reads no record but one whose status was changed since."""
    disk = ReadingDisk()
    settings = Settings(db=str(tmp_path / "db"), embedder="hashing:64", summarizer="extractive")
    memory = ExperienceMemory(FileStore.open(tmp_path / "db", disk=disk), settings)
    memory.ingest(SAMPLES, include_failures=True, force=True)
    assert disk.read_records == 0
    told, read = memory.live.snapshot().catalog.arrays(), Catalog.build(memory.store.scan()).arrays()
    assert {name: array.tobytes() for name, array in told.items()} == {
        name: array.tobytes() for name, array in read.items()
    }


def test_a_record_whose_status_was_changed_before_it_is_indexed_is_read(tmp_path):
    """What was worked out of it does not know of its new trust."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing:64")
    store, report = memory.store, ingest([SAMPLES], memory.store, ExtractiveSummarizer(), learned=memory.live.expect)
    store.set_status(report.added[0], trust=Trust.QUARANTINED)
    memory.index_if_possible()
    told, read = memory.live.snapshot().catalog.arrays(), Catalog.build(store.scan()).arrays()
    assert told["rows"].tobytes() == read["rows"].tobytes()


@pytest.mark.parametrize("jobs", [0, -1, 65])
def test_a_number_of_jobs_that_makes_no_sense_is_refused(jobs, tmp_path):
    """Before anything is read."""
    with pytest.raises(UsageError, match="jobs"):
        learn(tmp_path, run_file(tmp_path), jobs=jobs)


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
    assert (stored.outcome.success, stored.outcome.judge, stored.trust) == (True, "person", Trust.VERIFIED)


def test_who_says_the_contrary_of_a_log_does_not_judge_it(tmp_path):
    """A failure the log admits is not made a success by `success=True` for a whole folder."""
    _, report = learn(tmp_path, run_file(tmp_path, success=False), include_failures=True, success=True)
    store, again = learn(tmp_path, run_file(tmp_path, success=False), include_failures=True, success=True)
    assert (again.known, store.get(report.added[0]).outcome.success) == (report.added, False)
    assert not store.get(report.added[0]).outcome.is_judged


def test_a_record_that_was_removed_is_no_conflict_when_its_log_is_read_again(tmp_path):
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
    assert (report.added, report.conflicts) == ([], [])
    assert "was removed from this store before" in dict(report.skipped)[added[0]]


@pytest.mark.parametrize(("before", "meanwhile"), [(700, True), (0, False), (10**6, False)])
def test_the_interpreter_collects_as_often_afterwards_as_before(before, meanwhile):
    """Whoever learns last gives back what the first one found; who collects more seldom, or never, still does."""
    ours = gc.get_threshold()
    try:
        gc.set_threshold(before, 10, 10)
        with seldom_collecting, seldom_collecting:
            assert (gc.get_threshold()[0] > before) is meanwhile
        assert gc.get_threshold()[0] == before
    finally:
        gc.set_threshold(*ours)
