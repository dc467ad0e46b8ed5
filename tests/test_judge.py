"""The judge of the few best hits, asked through the real `openai` client of a local server; it fails closed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.retrieval.beir import read_beir, write_beir
from benchmarks.retrieval.page import report_text
from benchmarks.retrieval.run import run
from tests.builders import a_record_of
from tests.openai_stub import OpenAIStub, content, cut_by_length, failing, out_of_quota
from ufo_experience import ExperienceMemory
from ufo_experience.errors import ServiceError, UsageError
from ufo_experience.settings import Settings
from ufo_experience.store.selection import RecordFilter

KNOWN = ["Mute the channel random", "Change the stage of the opportunity Kessler", "Archive the newsletter of May"]
SAME = {
    ("Do not let the channel random ring, mute it", KNOWN[0]),
    ("Keep the newsletter of May for later", KNOWN[2]),
    ("Change the stage of the opportunity Kessler", KNOWN[1]),
}


def judged(body: dict[str, Any]) -> object:
    """A judge that knows `SAME`."""
    question = json.loads(body["messages"][1]["content"])
    return {"same": [int(number) for number, task in question["known"].items() if (question["task"], task) in SAME]}


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch):
    """A server in the place of OpenAI."""
    with OpenAIStub(chat=judged) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-not-a-key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def open_memory(folder: Path, judge: str = "openai:gpt-4.1-mini") -> ExperienceMemory:
    """A memory of `KNOWN` without vectors."""
    memory = ExperienceMemory.open(settings=Settings(db=str(folder), embedder="hashing", judge=judge))
    memory.store.add([a_record_of(text) for text in KNOWN])
    memory.index()
    return memory


def test_what_the_judge_takes_for_the_task_is_served_below_the_threshold_too(stub, tmp_path):
    plain = open_memory(tmp_path / "plain", "none").retrieve("Keep the newsletter of May for later")
    assert (len(plain), stub.requests) == (0, [])
    found = open_memory(tmp_path / "judged").retrieve("Keep the newsletter of May for later")
    assert [hit.experience.state.request for hit in found] == [KNOWN[2]]
    assert found[0].explanation["before_judge"] < 0.5 <= found[0].score


def test_what_the_judge_takes_for_another_task_is_withheld(stub, tmp_path):
    memory = open_memory(tmp_path / "db")
    assert len(memory.retrieve(KNOWN[1])) == 1
    found = memory.retrieve("Change the stage of the opportunity Miller")
    assert (len(found), found.withheld_why) == (0, ("rejected",))
    assert found.reason == "what fits is withheld: 1 rejected"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (out_of_quota, "the quota of the account is used up"),
        (content("not json"), "could not answer"),
        (content('{"same": [7]}'), "could not answer"),
        (cut_by_length, "name another"),
    ],
)
def test_a_judge_that_cannot_answer_lets_nothing_pass(stub, tmp_path, fault, said):
    """And what is billed for an answer that was cut off is counted."""
    memory = open_memory(tmp_path / "db")
    stub.play(fault)
    found = memory.retrieve(KNOWN[1])
    assert (len(found), found.withheld_why) == (0, ("unjudged",))
    assert found.notes[0].startswith("the judge could not be asked: ")
    assert said in found.notes[0]
    assert fault is not cut_by_length or memory.wiring.service().ledger.output_tokens == 100


@pytest.mark.parametrize(
    ("model", "cap", "said"),
    [("minilm", 1.0, "the price of the model is unknown"), ("gpt-4.1-mini", 0.0, "leaves no room")],
)
def test_why_a_cap_keeps_the_judge_from_being_asked(stub, tmp_path, model, cap, said):
    """Where the price is unknown nobody says that the cap is reached."""
    settings = Settings(db=str(tmp_path / "db"), embedder="hashing", judge=f"openai:{model}", max_cost=cap)
    memory = ExperienceMemory.open(settings=settings)
    memory.store.add([a_record_of(text) for text in KNOWN])
    found = memory.retrieve(KNOWN[1])
    assert (found.withheld_why, said in found.notes[0], stub.requests) == (("unjudged",), True, [])


def test_a_model_that_reasons_has_room_for_its_answer(stub, tmp_path):
    open_memory(tmp_path / "db").retrieve(KNOWN[1])
    assert stub.requests[0].body["max_completion_tokens"] >= 2_000


def test_a_judge_is_sent_the_values_of_a_request_and_no_secret(stub, tmp_path):
    """As `docs/security.md` says."""
    open_memory(tmp_path / "db").retrieve(f"{KNOWN[1]}, the password is Zq3mV8nB1c")
    sent = stub.requests[0].body["messages"][1]["content"]
    assert ("Kessler" in sent, "Zq3mV8nB1c" in sent) == (True, False)


def test_an_equal_question_is_asked_once(stub, tmp_path):
    memory = open_memory(tmp_path / "db")
    assert memory.retrieve(KNOWN[1]).hits == memory.retrieve(KNOWN[1]).hits
    assert len(stub.requests) == 1


def test_a_threshold_holds_for_the_score_that_a_yes_has_raised(stub, tmp_path):
    memory, task = open_memory(tmp_path / "db"), "Keep the newsletter of May for later"
    score = memory.retrieve(task)[0].score
    assert len(memory.retrieve(task, similarity_threshold=score - 0.001)) == 1
    assert len(memory.retrieve(task, similarity_threshold=score + 0.001)) == 0


def test_nobody_is_asked_about_a_stranger(stub, tmp_path):
    assert len(open_memory(tmp_path / "db").retrieve("Kaffee kochen")) == 0
    assert stub.requests == []


def test_an_unknown_judge_is_named(stub, tmp_path):
    with pytest.raises(UsageError, match="known are: none, openai:MODEL"):
        open_memory(tmp_path / "db", "gpt").retrieve(KNOWN[0])


def test_bench_retrieval_measures_a_model_as_the_judge(stub, tmp_path):
    """By the spec of the setting; another word is refused."""
    write_beir(
        tmp_path,
        [{"_id": str(number), "text": text} for number, text in enumerate(KNOWN)],
        [{"_id": "later", "text": "Keep the newsletter of May for later"}],
        [("later", "2", 1)],
    )
    measured = run(read_beir(tmp_path), judge="openai:gpt-4.1-mini").product
    assert (measured.served.right, measured.judged) == (1.0, 1)
    with pytest.raises(UsageError, match="a number from 0 to 1"):
        run(read_beir(tmp_path), judge="1.5")


def test_bench_retrieval_gives_no_figure_for_a_judge_that_never_answers(stub, tmp_path):
    """One that answered some questions is measured, with the number of those it did not."""
    queries = [{"_id": str(number), "text": text} for number, text in enumerate(KNOWN)]
    write_beir(tmp_path, queries, queries, [(one["_id"], one["_id"], 1) for one in queries])
    stub.play(out_of_quota)
    report = run(read_beir(tmp_path), judge="openai:gpt-4.1-mini")
    assert (report.product.judged, report.product.unjudged) == (3, 1)
    assert "1 of them without an answer (the quota of the account is used up (429))" in report_text(report)
    stub.play(*[failing(401, "invalid_api_key")] * 3)
    with pytest.raises(ServiceError, match="401"):
        run(read_beir(tmp_path), judge="openai:gpt-4.1-mini")


def test_a_judge_decides_what_the_rule_takes_for_the_opposite(stub, tmp_path):
    task = "Do not let the channel random ring, mute it"
    plain, judged = (open_memory(tmp_path / name[:4], name) for name in ("none", "openai:gpt-4.1-mini"))
    assert plain.retrieve(task).withheld_why == ("contradicts",)
    judged.store.add([a_record_of(KNOWN[0], session="another")])
    found = judged.retrieve(task)  # another run of the task it serves is not told as the opposite
    assert ([hit.task for hit in found], found.withheld) == ([KNOWN[0]], ())
