"""The façade with the real `openai` client against a local server: summarize, embed, retrieve, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from shlex import quote

import pytest

from tests.openai_stub import OpenAIStub, failing, out_of_quota
from ufo_experience import ExperienceMemory, Settings
from ufo_experience.cli.serve import SAMPLES
from ufo_experience.errors import DataError

LOGS = SAMPLES / "settings_bluetooth"
TASK = "Open the Bluetooth & devices page and turn Bluetooth on."
EMBEDDER = "openai:text-embedding-3-small"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch):
    """A server in the place of OpenAI, named by the environment as a user would name it."""
    with OpenAIStub(dim=1536) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-not-a-key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def open_memory(folder: Path, **settings: object) -> ExperienceMemory:
    """A memory as a user with a key gets it."""
    return ExperienceMemory.open(
        settings=Settings(db=str(folder), **{"summarizer": "extractive", "judge": "off", **settings})
    )


def embeddings(stub: OpenAIStub) -> list[str]:
    """All texts that were sent to be embedded."""
    return [text for request in stub.requests if "embeddings" in request.path for text in request.body["input"]]


def test_a_key_makes_openai_the_embedder_of_a_new_store(stub, tmp_path):
    """One variable gives the full thing; the same task comes back."""
    memory = open_memory(tmp_path / "db")
    memory.ingest(LOGS)
    found = memory.retrieve(TASK)
    assert (found.embedder, found.threshold, found.degraded) == (EMBEDDER, 0.75, None)
    assert found[0].score > 0.9


def test_a_question_over_vectors_is_answered_by_faiss(stub, tmp_path, monkeypatch):
    """By the library, in a process that only asks; and the library opens the file that `index` wrote."""
    faiss = pytest.importorskip("faiss")
    memory = open_memory(tmp_path / "db")
    memory.ingest(SAMPLES)
    memory.index()
    index = faiss.read_index(str(tmp_path / "db" / ".index" / "vectors.faiss"))
    assert (index.ntotal, index.d) == (len(memory.list()), 1536)
    monkeypatch.setenv("UFO_EXPERIENCE_JUDGE", "off")
    code = (
        "import openai, sys  # loaded first: on a busy machine that may take the five seconds of a question\n"
        "from ufo_experience import ExperienceMemory\n"
        "found = ExperienceMemory.open(sys.argv[1]).retrieve(sys.argv[2])\n"
        "print(found.degraded, 'faiss' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "db"), TASK], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["None", "True"]


def test_an_unchanged_text_is_never_embedded_twice(stub, tmp_path):
    """A rebuild asks for nothing: the cache has it all, also in a new process."""
    open_memory(tmp_path / "db").ingest(LOGS)
    before = len(stub.requests)
    report = open_memory(tmp_path / "db").index(rebuild=True)
    assert (report.requests, report.embedded, report.cached) == (0, 0, report.records)
    assert len(stub.requests) == before


@pytest.mark.parametrize("embedder", ["auto", "openai:minilm"])
def test_without_the_service_words_answer_and_say_so(stub, tmp_path, embedder):
    """Degraded, never empty-handed and never an error, whether or not the length of the vectors is known by heart."""
    memory = open_memory(tmp_path / "db", embedder=embedder)
    memory.ingest(LOGS)
    stub.play(*[out_of_quota] * 10)
    found = open_memory(tmp_path / "db", embedder=embedder).retrieve("Turn on Bluetooth in the settings, please")
    assert found.degraded
    assert "Bluetooth" in found[0].experience.state.request


@pytest.mark.parametrize("embedder", ["auto", "openai:minilm"])
def test_a_question_is_one_request_in_a_new_process_too(stub, tmp_path, embedder):
    """Nobody asks for the length of the vectors: the index knows it, whoever chose the embedder."""
    open_memory(tmp_path / "db", embedder="openai:minilm").ingest(LOGS)
    before = len(stub.requests)
    found = open_memory(tmp_path / "db", embedder=embedder).retrieve("Turn on Bluetooth in the settings, please")
    assert (found.degraded, len(stub.requests) - before) == (None, 1)


def test_a_service_whose_vectors_have_another_length_now_is_told_with_the_cure(stub, tmp_path):
    """Words answer until the index is built anew."""
    open_memory(tmp_path / "db", embedder="openai:minilm").ingest(LOGS)
    stub.dim = 8
    memory = open_memory(tmp_path / "db", embedder="openai:minilm")
    found = memory.retrieve("Turn on Bluetooth in the settings, please")
    assert (len(found) > 0, "index --rebuild" in (found.degraded or "")) == (True, True)
    memory.index(rebuild=True)
    assert memory.retrieve("Turn on Bluetooth in the settings, please").degraded is None


def test_records_wait_for_their_vectors_when_the_service_is_down(stub, tmp_path):
    """Ingest commits all the same; the next index run embeds what waits."""
    memory = open_memory(tmp_path / "db")
    stub.play(*[failing(401, "invalid_api_key")] * 10)
    assert memory.ingest(LOGS).added
    assert memory.retrieve("Turn on Bluetooth in the settings").degraded
    stub.recover()
    assert memory.index().embedded == len(memory.store.ids())
    assert memory.retrieve(TASK).degraded is None


def test_what_a_new_process_learned_while_the_service_was_down_is_embedded_by_the_next(stub, tmp_path):
    """Who appends to the index does not pass over what waits for its vector."""
    open_memory(tmp_path / "db", embedder="openai:minilm").ingest(SAMPLES / "word_table")
    stub.play(*[failing(401, "invalid_api_key")] * 10)
    memory = open_memory(tmp_path / "db")
    memory.remember("Send it", [{"action": "click", "control": "Send"}], True)
    assert "401" in (memory.waiting_for_index or "")
    stub.recover()
    memory = open_memory(tmp_path / "db")
    memory.remember("Mute it", [{"action": "click", "control": "Mute"}], True)
    assert memory.waiting_for_index is None
    assert memory.index().embedded == 0
    assert memory.stats().indexed == len(memory)


def test_a_key_that_is_refused_is_told_when_learning_and_when_asking(stub, tmp_path, caplog):
    """Once, with the reason and the command that mends it; also by another process, and no more once it is mended."""
    memory = open_memory(tmp_path / "db")
    stub.play(*[failing(401, "invalid_api_key")] * 10)
    command = f"ufo-experience index --db {quote(memory.store.location)}"
    (problem,) = memory.ingest(SAMPLES / "word_table").problems
    assert (problem.code, "401" in problem.message, command in problem.message) == ("E_NOT_INDEXED", True, True)
    memory.remember("Send it", [{"action": "click", "control": "Send"}], True)
    assert [command in record.message for record in caplog.records] == [True]
    why = open_memory(tmp_path / "db").retrieve("Insert a table").degraded
    assert "401" in why
    stub.recover()
    memory.index()
    assert memory.waiting_for_index is None


def test_what_a_model_could_not_word_is_told_once_for_each_reason(stub, tmp_path):
    """The records are worded by rules all the same."""
    stub.play(*[failing(401, "invalid_api_key")] * 20)
    report = open_memory(tmp_path / "db", summarizer="openai", embedder="hashing").ingest(SAMPLES / "word_table")
    assert [(one.code, one.message) for one in report.problems] == [
        ("E_NOT_WORDED", "worded by rules, the model could not be used: auth")
    ]
    assert len(report.added) == 2


def test_without_the_key_the_index_of_openai_is_not_mixed_with_another(stub, tmp_path, monkeypatch):
    """A store embedded by OpenAI stays so: no key means words, and another embedder is refused."""
    open_memory(tmp_path / "db").ingest(LOGS)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    found = open_memory(tmp_path / "db").retrieve("Turn on Bluetooth in the settings")
    assert found.degraded
    assert found.embedder == EMBEDDER
    with pytest.raises(DataError, match="index was made with openai"):
        open_memory(tmp_path / "db", embedder="hashing").retrieve(TASK)


def test_nothing_secret_reaches_the_service(stub, tmp_path):
    """A key in the task is redacted before it is embedded, and in the logs before they are summarized."""
    memory = open_memory(tmp_path / "db")
    memory.ingest(LOGS)
    memory.retrieve("Log in with the key sk-proj-Zq3mV8nB1cX7kL5pR2tY9wD4fG6hJ0aS")
    assert "Zq3mV8nB1cX7kL5pR2tY9wD4fG6hJ0aS" not in json.dumps([request.body for request in stub.requests])
    assert embeddings(stub)


def test_a_model_that_says_nothing_useful_costs_no_record(stub, tmp_path):
    """Invalid answers: the offline summary is used for each item and flagged, and the batch goes through."""
    memory = open_memory(tmp_path / "db", summarizer="openai")
    report = memory.ingest(LOGS)
    assert len(report.added) == 2
    notes = [note for one in memory.store.scan() for note in one.provenance.notes]
    assert any(note.startswith("summary:extractive:") for note in notes)


def test_a_cap_lets_words_answer(stub, tmp_path):
    """Queries are answered without the service, and say why."""
    open_memory(tmp_path / "db", max_cost=1.0).ingest(LOGS)
    before = len(stub.requests)
    found = open_memory(tmp_path / "db", max_cost=1e-9).retrieve("Turn on Bluetooth in the settings, please")
    assert "are taken" in (found.degraded or "")
    assert found
    assert len(stub.requests) == before


def test_the_cap_of_a_run_is_one_for_all_its_stages(stub, tmp_path):
    """Summaries and embeddings share a ledger: with too little money records are stored all the same."""
    memory = open_memory(tmp_path / "db", summarizer="openai", max_cost=1e-9)
    report = memory.ingest(LOGS)
    assert len(report.added) == 2
    assert stub.requests == []


def test_caps_are_read_from_the_environment(stub, tmp_path, monkeypatch):
    """`UFO_EXPERIENCE_MAX_COST`, as every setting."""
    monkeypatch.setenv("UFO_EXPERIENCE_MAX_COST", "0")
    memory = ExperienceMemory.open(tmp_path / "db")
    assert memory.settings.max_cost == 0.0
    memory.ingest(LOGS, summarizer="extractive")
    assert memory.retrieve(TASK).degraded
    assert stub.requests == []


@pytest.mark.parametrize(("judge", "asked"), [("auto", 1), ("off", 0)])
def test_with_a_key_a_model_judges_unless_it_is_switched_off(stub, tmp_path, judge, asked):
    """`auto` is the default; a question is one more request, to the chat model."""
    assert Settings().judge == "auto"
    memory = open_memory(tmp_path / "db", judge=judge)
    memory.ingest(LOGS)
    memory.retrieve("Turn on Bluetooth in the settings, please")
    assert len([request for request in stub.requests if "chat" in request.path]) == asked
