"""A store that version a2b2564 wrote, before the package was laid out anew: `tests/data/old_store`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ufo_experience.index.manifest import FORMAT
from ufo_experience.memory import ExperienceMemory

DATA = Path(__file__).parent / "data" / "old_store"
EXPECTED = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def memory(tmp_path: Path) -> ExperienceMemory:
    """A copy of the old store."""
    shutil.copytree(DATA, tmp_path / "db")
    return ExperienceMemory.open(tmp_path / "db", create=False)


def answers(memory: ExperienceMemory) -> dict[str, list[str]]:
    """The best hit of each of the recorded questions, whatever the threshold of today."""
    best = {task: memory.retrieve(task, similarity_threshold=0.0)[0] for task in EXPECTED["answers"]}
    return {task: [hit.experience.id] for task, hit in best.items()}


def test_its_records_are_read_as_they_were(memory):
    """Ids, trust, usage and steps; what was removed stays removed; nothing is damaged."""
    store = memory.store
    assert store.ids() == EXPECTED["ids"]
    assert {id: store.get(id).trust.value for id in store.ids()} == EXPECTED["trust"]
    assert {id: store.get(id).usage.helped for id in store.ids()} == EXPECTED["helped"]
    assert {id: len(store.get(id).action.steps) for id in store.ids()} == EXPECTED["steps"]
    assert store.verify().corrupt == []


def test_it_is_said_once_that_every_process_makes_its_index_anew(memory, caplog):
    """With the command that ends it; afterwards nothing is said."""
    for _ in range(2):
        memory.live.forget()
        memory.live.snapshot()
    assert [one.getMessage().partition("run: ")[2] for one in caplog.records] == [
        f"ufo-experience index --db {memory.store.location}"
    ]
    memory.index()
    caplog.clear()
    memory.live.forget()
    memory.live.snapshot()
    assert not caplog.records


def test_its_index_answers_as_it_did(memory):
    """Before anything is written, and again when the job has brought it to the form of today."""
    before = memory.live.generations.last_manifest()
    assert before is not None
    assert before.format == 1
    assert answers(memory) == EXPECTED["answers"]
    memory.index()
    after = memory.live.snapshot().manifest
    assert after is not None
    assert after.format == FORMAT
    assert answers(memory) == EXPECTED["answers"]
