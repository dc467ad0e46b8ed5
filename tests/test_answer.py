"""What a query is answered with when there is no hit: why, what is withheld, and what came near."""

from __future__ import annotations

import re

import pytest

from tests.builders import TEXTS, a_record_of, memory_of
from ufo_experience.errors import UsageError
from ufo_experience.memory import ExperienceMemory
from ufo_experience.retrieve.answer import Considered, Retrieval
from ufo_experience.retrieve.retriever import Query
from ufo_experience.schema import Trust


def ask(memory: ExperienceMemory, task: str, **query) -> Retrieval:
    return memory.wiring.retriever().retrieve(Query(task, **query))


def test_the_reason_names_an_empty_store(tmp_path):
    assert ask(memory_of(tmp_path / "db"), "rename a sheet").reason == "the store holds no experience yet"


def test_the_reason_says_that_nothing_passes_the_filters(tmp_path):
    memory = memory_of(tmp_path / "db", a_record_of(TEXTS[0]))
    assert ask(memory, TEXTS[0], env="nowhere").reason == "no experience passes the filters"


def test_the_reason_says_that_nothing_reaches_the_threshold(tmp_path):
    memory = memory_of(tmp_path / "db", a_record_of(TEXTS[0]))
    assert "no experience reaches the threshold of" in ask(memory, "zzgl qqxy").reason


def test_the_reason_names_the_best_score_and_the_threshold(tmp_path):
    found = ask(memory_of(tmp_path / "db", a_record_of(TEXTS[0])), TEXTS[0], threshold=1.0)
    assert list(found) == []
    score, threshold = re.fullmatch(
        r"the best experience scores (\S+), below the threshold of (\S+)", found.reason
    ).groups()
    assert float(score) < float(threshold) == 1.0


def test_scores_that_round_to_the_same_are_told_with_more_digits():
    considered = Considered(records=1, inside=1, best=0.9996, threshold=1.0, negatives=0, withheld=())
    assert considered.explain() == "the best experience scores 0.9996, below the threshold of 1.0000"


def test_the_reason_counts_what_is_withheld_by_why(tmp_path):
    memory = memory_of(tmp_path / "db", a_record_of(TEXTS[0]).model_copy(update={"trust": Trust.OBSERVED}))
    assert ask(memory, TEXTS[0]).reason == "what fits is withheld: 1 unproven"


def test_there_is_no_reason_when_there_is_a_hit(tmp_path):
    found = ask(memory_of(tmp_path / "db", a_record_of(TEXTS[0])), TEXTS[0])
    assert (len(found), found.reason) == (1, None)


def test_a_record_that_was_set_aside_is_not_told_as_unproven(tmp_path):
    aside = a_record_of(TEXTS[0]).model_copy(update={"trust": Trust.QUARANTINED})
    withheld = ask(memory_of(tmp_path / "db", aside), TEXTS[0]).withheld[0]
    assert (withheld.why, withheld.release) == ("quarantined", f"ufo-experience approve {aside.id[:8]}")


def test_a_withheld_record_names_the_command_that_releases_it(tmp_path):
    one = a_record_of(TEXTS[0]).model_copy(update={"trust": Trust.OBSERVED})
    withheld = ask(memory_of(tmp_path / "db", one), TEXTS[0]).withheld[0]
    assert (withheld.id, withheld.why, withheld.release) == (one.id, "unproven", f"ufo-experience approve {one.id[:8]}")
    assert withheld.task == TEXTS[0]
    assert 0 < withheld.score <= 1


def test_the_opposite_of_the_task_is_withheld_as_contradicting(tmp_path):
    memory = memory_of(tmp_path / "db", a_record_of("Turn on Bluetooth in the settings"))
    found = ask(memory, "Turn off Bluetooth in the settings")
    assert [one.why for one in found.withheld] == ["contradicts"]
    assert (found.withheld[0].release, found.withheld[0].remedy) == (None, "another task: nothing to release")
    assert found.reason == "what fits is withheld: 1 contradicts"


def test_what_lies_in_another_application_is_named_when_nothing_else_fits(tmp_path):
    one = a_record_of(TEXTS[0])
    one = one.model_copy(update={"state": one.state.model_copy(update={"application": "Outlook"})})
    found = ask(memory_of(tmp_path / "db", one), TEXTS[0], application="Excel")
    assert [(item.why, item.application) for item in found.withheld] == [("other application", "Outlook")]
    assert found.reason == "what fits is of another application: Outlook"


def test_near_hits_come_only_on_request_and_lie_below_the_threshold(tmp_path):
    memory = memory_of(tmp_path / "db", a_record_of(TEXTS[0]))
    task = f"{TEXTS[0]} and then do something else entirely with other words"
    assert ask(memory, task, threshold=1.0).near == ()
    near = ask(memory, task, threshold=1.0, near=3).near
    assert [hit.experience.id for hit in near] == [a_record_of(TEXTS[0]).id]
    assert near[0].score < 1.0


def test_a_number_of_near_hits_that_is_none_is_refused():
    with pytest.raises(UsageError, match="near"):
        Query("x", near=-1)
