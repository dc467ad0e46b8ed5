"""Another embedder takes over without a gap: who asks meanwhile is answered by what was there before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import a_record
from tests.openai_stub import OpenAIStub, failing
from ufo_experience import ExperienceMemory, Settings
from ufo_experience.errors import ServiceError

DIM = 32
SPEC = f"openai:text-embedding-3-small:{DIM}"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStub]:
    """A server in the place of OpenAI, as the environment names it."""
    with OpenAIStub(dim=DIM) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-not-a-key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def open_with(folder: Path, embedder: str) -> ExperienceMemory:
    return ExperienceMemory.open(settings=Settings(db=str(folder), embedder=embedder, summarizer="extractive"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store of three records whose tasks are one text, indexed by hashing."""
    with open_with(tmp_path / "db", "hashing") as memory:
        memory.store.add([a_record(number) for number in range(3)])
        memory.index()
    return tmp_path / "db"


def test_the_old_index_answers_until_the_new_one_is_complete(stub, folder):
    """A rebuild for another embedder that fails in the middle changes nothing for those who ask."""
    before = open_with(folder, "hashing").retrieve("Email Zoë № 1", similarity_threshold=0.0)
    stub.play(*[failing(401, "invalid_api_key")] * 10)
    with pytest.raises(ServiceError):
        open_with(folder, SPEC).index(rebuild=True)
    during = open_with(folder, "hashing").retrieve("Email Zoë № 1", similarity_threshold=0.0)
    assert (during.embedder, during.degraded) == ("hashing", None)
    assert [(hit.id, hit.score) for hit in during] == [(hit.id, hit.score) for hit in before]
    stub.recover()
    open_with(folder, SPEC).index(rebuild=True)
    after = open_with(folder, SPEC).retrieve("Email Zoë № 1", similarity_threshold=0.0)
    assert (after.embedder, after.degraded) == (SPEC, None)
