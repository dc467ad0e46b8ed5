"""Retrieval: the right experience or none, one per group and session, credit where it is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from tests.builders import TEXTS, WHEN, Meaningful, a_record, a_record_of, a_step, memory_of
from ufo_experience.errors import ServiceError, UsageError
from ufo_experience.retrieve.background import REFERENCES, measure_embedder
from ufo_experience.retrieve.candidates import CandidateFinder
from ufo_experience.retrieve.filled_in import fills_in, has_other_values
from ufo_experience.retrieve.fusion import fusion_for
from ufo_experience.retrieve.retriever import EQUAL, Query, Retriever
from ufo_experience.schema import Action, Trust
from ufo_experience.text.frames import record_frame, request_frame
from ufo_experience.trust.policy import TrustPolicy

QUERY = "Send an email to Tom about the travel plan"


@pytest.fixture
def memory(tmp_path):
    """Eight records of eight tasks."""
    return memory_of(tmp_path / "db", *(a_record_of(text) for text in TEXTS))


def requests(found):
    """The texts of the hits, in order."""
    return [hit.experience.state.request for hit in found]


def test_the_same_task_with_other_values_comes_first(memory):
    """A task with new values finds its procedure."""
    assert requests(memory.retrieve(QUERY))[0] == TEXTS[0]


@pytest.mark.parametrize("task", ["Book a flight to Paris", "Water the plants", "Resize the logo"])
def test_an_unrelated_task_gets_no_hit_and_a_reason(memory, task):
    """Nothing under the threshold is ever returned; the reason names the score of the nearest."""
    found = memory.retrieve(task, near=1)
    assert len(found) == 0
    assert f"scores {found.near[0].score:.2f}, below the threshold of 0.75" in (found.reason or "")


def test_the_opposite_of_a_task_is_not_an_answer(memory):
    """Not even with a threshold of zero."""
    assert TEXTS[1] not in requests(memory.retrieve("Turn off Bluetooth in the settings", similarity_threshold=0.0))


@pytest.mark.parametrize(
    ("on", "off", "other"),
    [
        ("Turn on Bluetooth", "Turn off Bluetooth", ("Enable Bluetooth", "Disable Bluetooth")),
        ("Turn on Bluetooth", "Turn off Bluetooth", ("Switch Bluetooth on", "Switch off Bluetooth")),
        ("Enable dark mode", "Disable dark mode", ("Turn on dark mode", "Deactivate dark mode")),
    ],
)
def test_switching_on_and_off_are_each_served_for_their_own_request(tmp_path, on, off, other):
    """The same clicks, the same name of the switch: neither is withheld for the other's sake, nor shown instead."""
    memory = memory_of(tmp_path / "db")
    for task in (on, off):
        steps = [{"action": "click", "control": name} for name in ("Devices", "Main switch")]
        memory.remember(task, steps, application="Settings", success=True)
    asked = zip((on, off, *other), (on, off, on, off), strict=True)
    assert [[hit.task for hit in memory.retrieve(task)] == [served] for task, served in asked] == [True] * 4


def test_the_reason_and_the_nearest_tell_of_the_same_record(tmp_path):
    """Not of a failed run or of the opposite of the task, which are no answer."""
    failed = a_record_of("Water the plants on the balcony", success=False)
    memory = memory_of(
        tmp_path / "db", failed, *map(a_record_of, ("Unpin the window", "Pin the report to the start menu"))
    )
    found = memory.retrieve("Pin the window to something else", near=3, similarity_threshold=0.999)
    assert [hit.experience.state.request for hit in found.near] == ["Pin the report to the start menu"]
    assert f"scores {found.near[0].score:.2f}" in (found.reason or "") or found.withheld


@pytest.mark.parametrize(
    ("task", "is_served"),
    [
        ("在浏览器中打开新的窗口", True),
        ("请打开一个新窗口", True),
        ("关闭窗口", False),
        ("ブラウザで窓を閉じる", False),
    ],
)
def test_scripts_without_blanks_are_compared_by_pairs_of_characters(tmp_path, task, is_served):
    """A reworded request finds its record, the opposite of it does not."""
    memory = memory_of(tmp_path / "db", *map(a_record_of, ("打开一个新的浏览器窗口", "复制文件到文件夹")))
    assert bool(memory.retrieve(task).hits) is is_served


@pytest.mark.parametrize(
    ("task", "is_served"),
    [
        ("Mute the group Allotment Neighbours for one week", True),
        ("mute the group ALLOTMENT neighbours for one week", True),
        ("Pin the group Book Club Tuesday for one week", False),
        ("Leave the group Allotment Neighbours for one week", False),
    ],
)
def test_a_request_that_differs_in_values_alone_is_served(tmp_path, task, is_served):
    """Though the steps click on the name that is another one here."""
    memory = memory_of(tmp_path / "db", a_record_of("Sort the table by Due date"))
    steps = [
        {"action": "click", "control": name} for name in ("Book Club Tuesday", "Menu", "Mute notifications", "1 week")
    ]
    memory.remember("Mute the group Book Club Tuesday for one week", steps, application="Chat", success=True)
    assert bool(memory.retrieve(task).hits) is is_served


def test_hits_are_sorted_bounded_and_above_the_threshold(memory):
    """Scores in [threshold, 1], best first; the explanation has each signal's part."""
    found = memory.retrieve("Insert a table of the sales data", similarity_threshold=0.1, top_k=5)
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0.1 <= score <= 1.0 for score in scores)
    assert {"skeleton", "words", "query_coverage", "order", "usefulness", "recency"} <= found[0].explanation.keys()


def test_near_duplicates_give_one_hit(tmp_path):
    """Runs of one intent in one application are one answer."""
    twins = [a_record_of(f'Email "{word}" to Jane', session=word) for word in ("hi", "bye", "lunch")]
    found = memory_of(tmp_path / "db", *twins, a_record_of(TEXTS[1])).retrieve('Email "news" to Bob', top_k=5)
    assert len(found) == 1


def test_a_session_gives_one_hit(tmp_path):
    """A sub-task and its whole request do not both fill the prompt."""
    part, whole = (
        a_record_of("Open the mail settings", session="s"),
        a_record_of("Open the mail settings page", session="s"),
    )
    found = memory_of(tmp_path / "db", part, whole, a_record_of(TEXTS[1])).retrieve("Open the mail settings", top_k=5)
    assert requests(found) == ["Open the mail settings"]


def test_of_equals_the_shortest_success_stands_for_the_group(tmp_path):
    """Fewer steps win when nothing else tells them apart."""
    runs = [a_record_of("Open the mail settings", session=str(steps), steps=steps) for steps in (6, 2, 4)]
    found = memory_of(tmp_path / "db", *runs).retrieve("Open the mail settings")
    assert [len(hit.experience.action.steps) for hit in found] == [2]


def test_of_equals_a_useful_one_goes_before_a_short_one(tmp_path):
    """What helped when it was injected is preferred to what is merely short."""
    short = a_record_of("Open the mail settings", session="a", steps=1)
    useful = a_record_of("Open the mail settings", session="b", steps=5, usage={"injected": 3, "helped": 3})
    found = memory_of(tmp_path / "db", short, useful).retrieve("Open the mail settings")
    assert found[0].experience.id == useful.id


def test_one_hit_may_be_asked_for_and_none_may_not(memory):
    """From 1 to 50; three when nothing is said."""
    assert len(memory.retrieve(TEXTS[0], similarity_threshold=0.0, top_k=1)) == 1
    assert Query("x").k == 3
    for k in (0, 51, True, 2.5, "3"):
        with pytest.raises(UsageError, match="k must be"):
            Query("x", k=k)


def test_of_equals_in_all_else_the_newest_stands_for_the_group(tmp_path):
    """The application may have changed since."""
    old, new = (a_record_of("Open the mail settings", session=name) for name in "ab")
    new = new.model_copy(update={"created_at": WHEN + timedelta(days=9)})
    for name, records in (("x", (old, new)), ("y", (new, old))):
        found = memory_of(tmp_path / name, *records).retrieve("Open the mail settings")
        assert [hit.experience.id for hit in found] == [new.id]


def test_a_much_worse_match_of_the_group_is_no_equal(tmp_path):
    """A run at the same task in other words does not stand for the group, however often it helped."""
    query = "Open the mail settings"
    close = a_record_of(query, session="a", steps=4)
    far = a_record_of("Show me the window of the mail settings please", session="b", usage={"injected": 9, "helped": 9})
    far = far.model_copy(update={"state": far.state.model_copy(update={"task": close.state.task})})
    memory = memory_of(tmp_path / "far", far, *(a_record_of(text) for text in TEXTS))
    [score] = [hit.score for hit in memory.retrieve(query, similarity_threshold=0.1) if hit.experience.id == far.id]
    assert score < 1.0 - EQUAL / 2
    both = memory_of(tmp_path / "both", close, far, *(a_record_of(text) for text in TEXTS))
    assert both.retrieve(query, similarity_threshold=0.1)[0].experience.id == close.id


def test_one_lucky_success_does_not_lift_a_worse_match(tmp_path):
    """Credit never beats a better match."""
    match = a_record_of("Open the mail settings")
    lucky = a_record_of("Open the printer settings", usage={"injected": 1, "helped": 1})
    found = memory_of(tmp_path / "db", match, lucky).retrieve("Open the mail settings", similarity_threshold=0.1)
    assert found[0].experience.id == match.id


def test_an_experience_that_hurts_sinks_and_is_withheld_at_last(memory):
    """Each report of a failure costs; after enough of them it is counted as withheld instead of served."""
    scores = []
    for number in range(3):
        hit = next(hit for hit in memory.retrieve(TEXTS[0], similarity_threshold=0.1))
        scores.append(hit.score)
        memory.report([hit], success=False, session=f"s-{number}")
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3
    found = memory.retrieve(TEXTS[0], similarity_threshold=0.1)
    assert TEXTS[0] not in requests(found)
    assert a_record_of(TEXTS[0]).id in found.withheld_ids


def test_a_session_reported_twice_counts_once(memory):
    """The second report changes nothing and says so, also from another process."""
    identifier = a_record_of(TEXTS[0]).id
    assert memory.report([identifier], success=True, session="s-17") == [identifier]
    again = type(memory).open(memory.store.location, create=False)
    assert again.report([identifier], success=True, session="s-17") == []
    assert memory.store.get(identifier).usage.injected == 1


def test_what_was_injected_gets_the_credit(memory):
    """Of the hits, those the prompt had room for."""
    found = memory.retrieve(QUERY)
    block = memory.build_prompt(QUERY, found)
    memory.report(block, success=True)
    assert [memory.store.get(identifier).usage.helped for identifier in block.ids] == [1]


def test_the_own_session_is_excluded_when_asked_for(memory):
    """Leave-one-out: a run never answers itself."""
    found = memory.retrieve(TEXTS[0], exclude_session=TEXTS[0], similarity_threshold=0.0, top_k=8)
    assert TEXTS[0] not in requests(found)


def test_failed_runs_come_apart(tmp_path):
    """A failure is never a pattern to follow."""
    failed = a_record_of("Open the mail settings", success=False)
    found = memory_of(tmp_path / "db", failed, a_record_of(TEXTS[1])).retrieve("Open the mail settings")
    assert (len(found), [hit.experience.id for hit in found.negatives]) == (0, [failed.id])


def test_what_stays_below_the_threshold_crowds_nothing_out(tmp_path):
    """A hundred and twenty long requests hold more of the words, and one short one is all about them."""
    endings = [" ".join(f"word{number}x{place}" for place in range(12)) for number in range(120)]
    long = [a_record_of(f"Open the mail settings window to {ending}", session=ending) for ending in endings]
    short = a_record_of("Open the mail window", session="short", steps=2)
    found = memory_of(tmp_path / "db", *long, short).retrieve("Open the mail settings", similarity_threshold=0.1)
    assert requests(found)[0] == short.state.request


def test_quarantined_records_change_no_score_of_a_trusted_one(tmp_path):
    """Bit-equal: poison cannot move what is trusted."""
    good = [a_record_of(text) for text in TEXTS[:4]]
    poison = [
        a_record_of(f"Email Jane about budget Bluetooth {n}", trust=Trust.QUARANTINED, origin="import")
        for n in range(20)
    ]
    plain = memory_of(tmp_path / "a", *good).retrieve(QUERY, similarity_threshold=0.0, top_k=8)
    crowded = memory_of(tmp_path / "b", *good, *poison).retrieve(QUERY, similarity_threshold=0.0, top_k=8)
    assert [(hit.experience.id, hit.score, hit.explanation["order"]) for hit in plain] == [
        (hit.experience.id, hit.score, hit.explanation["order"]) for hit in crowded
    ]
    assert (
        memory_of(tmp_path / "c", *good, *poison).retrieve(QUERY).threshold
        == memory_of(tmp_path / "d", *good).retrieve(QUERY).threshold
    )


def test_filters_come_before_ranking(tmp_path):
    """Exact after case folding; the best inside the filter is found behind any number of others."""
    others = [a_record_of(f"Open the mail settings {n}", application="Word") for n in range(30)]
    wanted = a_record_of("Show the mail settings", application="OUTLOOK.EXE")
    found = memory_of(tmp_path / "db", wanted, *others).retrieve("Open the mail settings", application="Outlook")
    assert [hit.experience.id for hit in found] == [wanted.id]


class Away:
    """Vectors on a server that goes away; one of size 0 before it says how many it has."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size or self.search()

    def search(self, *arguments: object, **options: object) -> int:
        raise ServiceError("no server answers")

    similarity = search

    def vectors_of(self, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """None, as every server."""
        return np.empty(0, np.int32), np.empty((0, 8), np.float32)


@pytest.mark.parametrize("size", [8, 0])
def test_words_answer_when_the_server_of_the_vectors_goes_while_it_is_asked(tmp_path, size):
    """The answer is whole and says that it is degraded."""
    memory = memory_of(tmp_path / "db", *(a_record_of(text) for text in TEXTS))
    snapshot = memory.live.snapshot()
    away = Away(size)
    finder = CandidateFinder(replace(snapshot, index=away), TrustPolicy())
    finder.embedder_quality = measure_embedder(Meaningful().embed(REFERENCES))
    retriever = Retriever(finder, memory.store, memory.live.embedder, fusion_for("local:any", None))
    assert retriever.finder is finder
    found = retriever.retrieve(Query(TEXTS[0]))
    assert "no server answers" in (found.degraded or "")
    assert requests(found)[0] == TEXTS[0]


def bills(*ways):
    """Runs of the same words, each of a session of its own: an amount, and the button it ended with."""
    return [
        a_record_of(f"Record the bill over {amount}", session=f"{amount}").model_copy(
            update={
                "action": Action(
                    steps=(
                        a_step(1, "click_input", "Bills", "TabItem"),
                        a_step(2, "click_input", "Layout", "Button"),
                        a_step(3, "click_input", end, "Button"),
                    )
                )
            }
        )
        for amount, end in ways
    ]


def test_runs_of_the_same_words_that_ended_otherwise_are_both_shown_and_followed_as_far_as_they_agree(tmp_path):
    """Of like bills one was posted and one was parked: which is due, no word of the task says."""
    memory = memory_of(tmp_path / "db", *bills((120, "Post"), (310, "Post"), (9400, "Park")))
    found = memory.retrieve("Record the bill over 8800", top_k=1)
    assert {hit.steps[-1].target_control.name for hit in found} == {"Post", "Park"}
    text = str(memory.build_prompt("Record the bill over 8800", found))
    assert text.count("Differs: asked in the same words, another run went another way from step 3 on") == 2
    assert "its request names a larger number than theirs; that of your task lies between them" in text
    way = memory.guide("Record the bill over 8800", hits=found)
    assert (len(way.procedure.steps), way.procedure.parts[:34]) == (2, "runs of the same words went two wa")
    controls = [
        {"id": "1", "name": "Bills", "type": "TabItem", "selected": True},
        {"id": "2", "name": "Layout", "type": "Button"},
    ]
    way.next(controls)  # no step of this way speaks of the amount
    way.note(way.next(controls))
    assert way.next(controls).reason == "ways_part"


def hides(column: str, sheet: str, menu: str = "Hide"):
    """A run that hid a column, its values neither quoted nor capitalised in a request that is asked."""
    text = f"{menu} {column} on sheet {sheet}"
    one = a_record_of(text, application="Calc")
    controls = [(sheet, "TabItem"), ("Format", "MenuItem"), (menu, "MenuItem"), (column, "CheckBox"), ("OK", "Button")]
    steps = [a_step(number, "click_input", *control) for number, control in enumerate(controls, 1)]
    return one.model_copy(update={"action": one.action.model_copy(update={"steps": tuple(steps)})})


def test_a_request_that_fills_in_what_two_runs_of_the_same_steps_leave_open_is_their_task(tmp_path):
    memory = memory_of(tmp_path / "db", hides("Price", "Staff"), hides("Margin", "Stock"))
    assert memory.retrieve("hide product on sheet sales")[0].score >= 0.9


def test_of_runs_that_differ_in_their_values_the_one_in_the_very_words_is_served(tmp_path):
    """All the others are likely, too, and newer ones among them."""
    memory = memory_of(tmp_path / "db", *(a_record(number, trust=Trust.APPROVED) for number in range(20)))
    assert [hit.experience.state.request for hit in memory.retrieve("email zoë № 7")] == ["Email Zoë № 7"]


@pytest.mark.parametrize(
    ("asked", "one", "other", "is_filled_in"),
    [
        ("hide product on sheet sales", "hide price on sheet staff", "hide margin on sheet stock", True),
        ("hide unit price on sheet sales", "hide price on sheet staff", "hide margin on sheet stock", True),
        ("hide all on sheet sales", "hide price on sheet staff", "hide margin on sheet stock", False),
        ("show product on sheet sales", "hide price on sheet staff", "hide margin on sheet stock", False),
        ("hide product on page sales", "hide price on sheet staff", "hide margin on sheet stock", False),
        ("do not hide product on sheet sales", "hide price on sheet staff", "hide margin on sheet stock", False),
        ("turn on sticky keys", "turn on bluetooth", "turn on bluetooth again", False),
        ("mute it", "mute mail", "open news", False),
    ],
)
def test_only_what_two_runs_leave_open_may_differ(asked, one, other, is_filled_in):
    assert fills_in(asked.split(), one.split(), other.split()) is is_filled_in


@pytest.mark.parametrize(
    ("asked", "run", "is_same"),
    [
        ("decline the meeting Paint Selection", "Decline the meeting Friday Drinks", True),
        (
            "Mail Pieter Claes with the subject Parking permits",
            "Mail Karin Holm with the subject Budget draft Q3",
            True,
        ),
        ("accept the meeting Paint Selection", "Decline the meeting Friday Drinks", False),
        ("decline all the meetings", "Decline the meeting Friday Drinks", False),
        ("copy the plan from Rome", "Copy the plan to Oslo", False),
    ],
)
def test_a_request_that_says_what_a_run_says_but_for_its_values_is_its_task(asked, run, is_same):
    record = record_frame(run)
    assert has_other_values(request_frame(asked).stems, record.stems, record.open_places) is is_same


WORDED = "Invite a colleague to the budget talk"
WORDINGS = ("Rope somebody in on the money chat", "Get somebody into the budget discussion", "add attendee")


def worded(*wordings):
    """A record with other wordings."""
    record = a_record_of(WORDED)
    return record.model_copy(update={"state": record.state.model_copy(update={"wordings": wordings})})


@pytest.mark.parametrize("task", ["Rope Kim in on the money chat", "Please get somebody into the budget discussion"])
def test_a_task_is_found_by_its_other_wordings(tmp_path, task):
    """Reworded beyond what the thesaurus knows, it is served with them and not without."""
    others = [a_record_of(text) for text in TEXTS]
    assert requests(memory_of(tmp_path / "a", *others, worded(*WORDINGS)).retrieve(task)) == [WORDED]
    assert requests(memory_of(tmp_path / "b", *others, worded()).retrieve(task)) == []


def test_other_wordings_are_redacted_and_kept(tmp_path):
    """They pass the gate before the store as every text does."""
    memory = memory_of(tmp_path / "db", worded("Log in with the password hunter2-Xy77", WORDINGS[0]))
    (record,) = [memory.store.get(one) for one in memory.store.ids()]
    secret, plain = record.state.wordings
    assert "hunter2" not in secret
    assert plain == WORDINGS[0]
