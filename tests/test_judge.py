"""The judge of the best candidates, asked through the real `openai` client of a local server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_record_of
from tests.openai_stub import OpenAIStub, content, out_of_quota
from ufo_experience import ExperienceMemory, RecordFilter, Settings
from ufo_experience.errors import UsageError

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


def memory_at(folder: Path, judge: str = "openai:gpt-4.1-mini") -> ExperienceMemory:
    """A memory of `KNOWN` without vectors."""
    memory = ExperienceMemory.open(settings=Settings(db=str(folder), embedder="hashing", judge=judge))
    memory.store.add([a_record_of(text) for text in KNOWN])
    memory.index()
    return memory


def tasks(found) -> list[str]:
    return [hit.task for hit in found]


@pytest.mark.parametrize("judge", ["auto", "openai:gpt-4.1-mini"])
def test_a_yes_is_served_whatever_the_score(stub, tmp_path, judge):
    """With a key that is so by default, and one setting turns it off."""
    task = "Keep the newsletter of May for later"
    assert (tasks(memory_at(tmp_path / "off", "off").retrieve(task)), stub.requests) == ([], [])
    found = memory_at(tmp_path / "on", judge).retrieve(task)
    assert tasks(found) == [KNOWN[2]]
    assert found[0].score >= found.threshold > found[0].explanation["before_use"]


def test_a_no_is_withheld(stub, tmp_path):
    found = memory_at(tmp_path).retrieve("Change the stage of the opportunity Miller")
    assert (tasks(found), found.withheld_why) == ([], ("rejected",))


def test_a_judge_decides_what_the_rule_takes_for_the_opposite(stub, tmp_path):
    task = "Do not let the channel random ring, mute it"
    assert KNOWN[0] not in tasks(memory_at(tmp_path / "off", "off").retrieve(task, threshold=0.0))
    assert tasks(memory_at(tmp_path / "on").retrieve(task)) == [KNOWN[0]]


@pytest.mark.parametrize("fault", [out_of_quota, content("not json"), content('{"same": [70]}')])
def test_where_the_judge_gives_no_answer_the_score_does_and_says_so(stub, tmp_path, fault):
    memory = memory_at(tmp_path)
    stub.play(fault)
    found = memory.retrieve(KNOWN[1])
    assert tasks(found) == [KNOWN[1]]
    assert "the judge could not be asked" in str(found.degraded)


def test_one_question_holds_the_request_and_twenty_tasks_at_most_and_no_secret(stub, tmp_path):
    memory = memory_at(tmp_path)
    things = "notes owner colour budget agenda invoice margin source label history photo summary deadline region "
    others = "contract currency territory forecast warranty discount shipment survey ticket"
    memory.store.add([a_record_of(f"Print the {thing} of the opportunity") for thing in (things + others).split()])
    memory.retrieve(f"{KNOWN[1]}, the password is Zq3mV8nB1c")
    (request,) = stub.requests
    sent = request.body["messages"][1]["content"]
    assert len(json.loads(sent)["known"]) == 20
    assert ("Kessler" in sent, "Zq3mV8nB1c" in sent) == (True, False)


def test_an_equal_question_is_asked_once_also_by_another_process(stub, tmp_path):
    memory = memory_at(tmp_path)
    assert tasks(memory.retrieve(KNOWN[1])) == tasks(memory.retrieve(KNOWN[1])) == [KNOWN[1]]
    assert tasks(memory_at(tmp_path).retrieve(KNOWN[1])) == [KNOWN[1]]
    assert len(stub.requests) == 1


def test_verdicts_go_with_their_record(stub, tmp_path):
    memory = memory_at(tmp_path)
    (hit,) = memory.retrieve(KNOWN[1])
    memory.purge(where=RecordFilter(ids=(hit.id,)))
    memory.store.add([a_record_of(KNOWN[1], session="again")])
    memory.retrieve(KNOWN[1])
    assert len(stub.requests) == 2


def test_a_judge_of_a_small_store_is_asked_of_tasks_that_share_no_word_with_the_request(stub, tmp_path):
    assert tasks(memory_at(tmp_path).retrieve("Kaffee kochen")) == []
    (request,) = stub.requests
    assert len(json.loads(request.body["messages"][1]["content"])["known"]) == len(KNOWN)


def test_nobody_is_asked_where_nothing_is_stored(stub, tmp_path):
    memory = ExperienceMemory.open(settings=Settings(db=str(tmp_path), embedder="hashing", judge="openai:gpt-4.1-mini"))
    assert tasks(memory.retrieve("Kaffee kochen")) == []
    assert stub.requests == []


def test_an_unknown_judge_is_named(stub, tmp_path):
    """At once, not with the first question."""
    with pytest.raises(UsageError, match="auto, off, or openai:MODEL, not 'gpt'"):
        memory_at(tmp_path, "gpt")
