"""The sample experiences that ship in `experience_db/` are what our own pipeline makes of the sample logs."""

from __future__ import annotations

import shutil
from pathlib import Path

from ufo_experience import ExperienceMemory, Settings
from ufo_experience.cli.serve import SAMPLES

SHIPPED = Path(__file__).resolve().parents[1] / "experience_db"


def content(store) -> dict:
    """Records by id, without what depends on where the logs lay."""
    return {
        one.id: one.model_dump(exclude={"provenance", "usage", "created_at", "trust", "digests"}) | {"trust": one.trust}
        for one in store.scan()
    }


def test_the_shipped_experiences_are_made_by_the_pipeline(tmp_path):
    """Same ids, same content: nobody edited them by hand, and no change of the pipeline left them behind."""
    memory = ExperienceMemory.open(
        settings=Settings(db=str(tmp_path / "db"), embedder="hashing", summarizer="extractive")
    )
    memory.ingest(SAMPLES, include_failures=True)
    assert content(
        ExperienceMemory.open(shutil.copytree(SHIPPED, tmp_path / "shipped"), create=False).store
    ) == content(memory.store)


def test_the_shipped_store_answers_as_it_is(tmp_path):
    """A query works before anything was indexed, and verify finds nothing wrong."""
    shutil.copytree(SHIPPED, tmp_path / "db", ignore=shutil.ignore_patterns(".index", ".lock"))
    memory = ExperienceMemory.open(settings=Settings(db=str(tmp_path / "db"), embedder="hashing"))
    assert memory.retrieve("Turn Bluetooth on").hits
    assert memory.store.verify().corrupt == []


def test_the_shipped_records_name_their_logs_from_the_projects_root(tmp_path):
    """No folder of the machine that made them: the log is found in every clone."""
    store = ExperienceMemory.open(shutil.copytree(SHIPPED, tmp_path / "shipped"), create=False).store
    sources = {one.provenance.source for one in store.scan()}
    assert len(sources) > 1
    assert [one for one in sources if Path(one).is_absolute() or not (SHIPPED.parent / one).is_file()] == []
