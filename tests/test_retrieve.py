"""What is found for a task, what is not, and why: through the façade."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from tests.builders import TEXTS, a_record_of, memory_of
from ufo_experience import ExperienceMemory
from ufo_experience.errors import ServiceError, UsageError
from ufo_experience.schema import Trust

NOW = datetime(2025, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def memory(tmp_path) -> ExperienceMemory:
    """Eight tasks of everyday offices."""
    return memory_of(tmp_path / "db", *map(a_record_of, TEXTS))


def tasks(found) -> list[str]:
    """What the hits are for."""
    return [hit.task for hit in found]


# ---- what is served ----


@pytest.mark.parametrize(
    ("task", "place"),
    [
        (TEXTS[0], 0),
        ("Please switch the Bluetooth on", 1),
        ("Export my presentation to PDF", 4),
        ("Create a folder named Invoices", 6),
        ("Could you help me export the presentation as a PDF? I need it for a meeting tomorrow.", 4),
    ],
)
def test_the_same_task_in_other_words_or_with_other_values_is_served(memory, task, place):
    assert tasks(memory.retrieve(task)) == [TEXTS[place]]


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("查看订单物流", "申请退款"),
        ("Lösche den Kundenstamm", "Drucke den Kundenstamm"),
        ("Lock tkent out", "Lock everything out"),
    ],
)
def test_words_of_a_language_that_is_not_known_are_no_values(tmp_path, stored, asked):
    memory = memory_of(tmp_path / "db", a_record_of(stored))
    assert tasks(memory.retrieve(asked, threshold=0.97)) == []


@pytest.mark.parametrize(
    ("task", "served"),
    [
        ("Give the user mlopez the role manager", True),
        ("Take the user mlopez the role manager", False),
        ("Give the user mlopez the task manager", False),
        ("Give the user mlopez the role of a manager", False),
    ],
)
def test_words_that_the_run_chose_may_be_others(tmp_path, task, served):
    """They were the values of that time, even where nothing marks them as such."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing", threshold=0.97)
    steps = [{"action_type": "select_option", "target_control": {"name": "Role"}, "parameters": {"option": "editor"}}]
    memory.remember("Give the user tkent the role editor", steps, True, "Helpdesk", "program")
    assert bool(memory.retrieve(task)) == served


@pytest.mark.parametrize(
    ("text", "served"),
    [("Moved upstairs", True), ("Ask for the key", True), ("Moved and then close the page", False)],
)
def test_a_text_that_the_run_typed_may_be_longer_or_shorter(tmp_path, text, served):
    """Words that begin another demand are no text."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing", threshold=0.97)
    task = "The description of the group {} is out of date. It should say: {}"
    steps = [
        {"action": "click", "control": "Canteen", "control_type": "ListItem"},
        {"action": "type", "control": "Description", "control_type": "Edit", "text": "Opens at noon"},
    ]
    memory.remember(task.format("Canteen", "Opens at noon"), steps, True, "Helpdesk", "program")
    assert bool(memory.retrieve(task.format("Library", text))) == served


@pytest.mark.parametrize(
    "task", ["Water the plants", "Book a flight to Rome", "Turn off the lights in the hall", "Fold the laundry"]
)
def test_an_unrelated_task_gets_nothing_and_the_reason(memory, task):
    found = memory.retrieve(task)
    assert tasks(found) == []
    assert "threshold" in str(found.reason)


def test_the_opposite_of_a_task_is_withheld(memory):
    found = memory.retrieve("Turn off Bluetooth in the settings")
    assert (tasks(found), found.withheld_why) == ([], ("contradicts",))
    assert found.reason == "what fits is withheld: 1 contradicts"


@pytest.mark.parametrize(("task", "served"), [("打开蓝牙设置", True), ("关闭蓝牙设置", False), ("预订会议室", False)])
def test_scripts_without_blanks_are_compared_by_pairs_of_characters(tmp_path, task, served):
    memory = memory_of(tmp_path / "db", a_record_of("打开蓝牙设置"), *map(a_record_of, TEXTS))
    assert (tasks(memory.retrieve(task)) == ["打开蓝牙设置"]) is served


def test_hits_are_best_first_at_or_above_the_threshold_and_at_most_k(memory):
    found = memory.retrieve(TEXTS[0], threshold=0.0, top_k=3)
    assert len(found) <= 3
    assert found[0].task == TEXTS[0]
    assert all(hit.score >= 0.75 for hit in memory.retrieve(TEXTS[0]))


@pytest.mark.parametrize("wrong", [{"top_k": 0}, {"top_k": 51}, {"near": -1}, {"threshold": 1.5}])
def test_numbers_that_make_no_sense_are_refused(memory, wrong):
    with pytest.raises(UsageError):
        memory.retrieve(TEXTS[0], **wrong)


# ---- one per procedure ----


def test_runs_of_one_task_are_one_hit_that_names_them(tmp_path):
    runs = [a_record_of("Create a folder named Reports", session=f"s{number}") for number in range(3)]
    found = memory_of(tmp_path / "db", *runs).retrieve("Create a folder named Notes")
    assert len(found) == 1
    assert set(found[0].runs) == {run.id for run in runs}
    assert found[0].runs[0] == found[0].id


def test_of_equal_runs_the_useful_then_the_shortest_then_the_newest_stands_for_all(tmp_path):
    long = a_record_of(TEXTS[1], session="long", steps=5)
    short = a_record_of(TEXTS[1], session="short", steps=2)
    newer = a_record_of(TEXTS[1], session="newer", steps=2, created_at=NOW + timedelta(days=1))
    memory = memory_of(tmp_path / "db", long, short, newer)
    assert memory.retrieve(TEXTS[1])[0].id == newer.id
    memory.report(long.id, success=True, session="elsewhere")
    assert memory.retrieve(TEXTS[1])[0].id == long.id


def test_a_session_gives_one_hit(tmp_path):
    both = [a_record_of(text, session="one") for text in ("Export the presentation as a PDF", "Export a presentation")]
    assert len(memory_of(tmp_path / "db", *both).retrieve("Export the presentation", threshold=0.1)) == 1


def test_other_tasks_of_the_same_kind_take_nothing_from_the_score(tmp_path):
    """A store with 180 records of like tasks serves what a store with one does."""
    known = a_record_of("Export the presentation as a PDF", session="own")
    others = [a_record_of(f"Rename the slide {n} of the presentation", session=f"s{n}") for n in range(180)]
    asked = "Could you save my slides as a PDF file?"
    alone, among = (memory_of(tmp_path / name, known, *more) for name, more in (("a", []), ("b", others)))
    assert among.retrieve(asked)[0].id == known.id
    assert among.retrieve(asked)[0].score >= alone.retrieve(asked)[0].score - 0.05


def test_failed_runs_come_apart(tmp_path):
    failed = a_record_of(TEXTS[1], session="failed", success=False)
    found = memory_of(tmp_path / "db", failed).retrieve(TEXTS[1])
    assert (tasks(found), [hit.id for hit in found.negatives]) == ([], [failed.id])
    assert found.reason == "only failed runs of this task are known"


# ---- filters and trust ----


def test_filters_come_before_ranking(tmp_path):
    """A flood of records that may not answer hides none that may."""
    own = a_record_of(TEXTS[3], application="Excel")
    others = [
        a_record_of(f"{TEXTS[3]} of {place}", application="Calc", trust=trust, session=f"{place} {trust}")
        for place in range(60)
        for trust in (Trust.QUARANTINED, Trust.VERIFIED)
    ]
    found = memory_of(tmp_path / "db", own, *others).retrieve(TEXTS[3], application="Excel")
    assert tasks(found) == [TEXTS[3]]


def test_what_lies_in_another_application_is_named_when_nothing_else_fits(tmp_path):
    found = memory_of(tmp_path / "db", a_record_of(TEXTS[1], application="Settings")).retrieve(
        TEXTS[1], application="Word"
    )
    assert found.withheld_why == ("other application",)
    assert found.reason == "what fits is of another application: Settings"


def test_a_record_nobody_vouched_for_is_withheld_with_the_command_that_releases_it(tmp_path):
    one = a_record_of(TEXTS[1], trust=Trust.OBSERVED)
    memory = memory_of(tmp_path / "db", one)
    (withheld,) = memory.retrieve(TEXTS[1]).withheld
    assert (withheld.why, withheld.release) == ("unproven", f"ufo-experience approve {one.id[:8]}")
    memory.approve(one.id)
    assert tasks(memory.retrieve(TEXTS[1])) == [TEXTS[1]]


def test_a_run_nobody_judged_is_released_by_a_verdict(tmp_path):
    """Approved without one, it would be shown as tried, its outcome unknown."""
    memory = ExperienceMemory(tmp_path / "db", embedder="hashing")
    one = memory.remember(TEXTS[1], [{"action": "click", "control": "Send"}])
    (withheld,) = memory.retrieve(TEXTS[1]).withheld
    assert withheld.release == f"ufo-experience judge {one.id[:8]} --success"
    memory.judge(one.id, success=True)
    assert "Worked once" in str(memory.build_prompt(TEXTS[1]))


def test_the_own_session_and_all_but_some_ids_can_be_left_out(memory):
    assert tasks(memory.retrieve(TEXTS[1], exclude_session=TEXTS[1])) == []
    assert tasks(memory.retrieve(TEXTS[1], only=[a_record_of(TEXTS[0]).id])) == []


def test_a_record_that_hurts_loses_score_and_is_hidden_at_last(memory):
    (hit,) = memory.retrieve(TEXTS[1])
    memory.report(hit, success=False, session="first")
    assert memory.retrieve(TEXTS[1], threshold=0.1)[0].score < hit.score
    for session in ("second", "third"):
        memory.report(hit.id, success=False, session=session)
    found = memory.retrieve(TEXTS[1], threshold=0.1)
    assert (tasks(found), found.withheld_why) == ([], ("harmful",))


# ---- what the answer says ----


def test_an_empty_store_says_so(tmp_path):
    assert memory_of(tmp_path / "db").retrieve("Anything at all").reason == "the store holds no experience yet"


def test_the_nearest_below_the_threshold_come_on_request(memory):
    found = memory.retrieve("Turn the lights of the settings blue", near=2)
    assert 1 <= len(found.near) <= 2
    assert all(hit.score < found.threshold for hit in found.near)
    assert memory.retrieve("Turn the lights of the settings blue").near == ()


def test_a_record_that_answers_many_different_requests_is_warned_of(memory):
    """It may be one way that reads like the way of everything."""
    colours = "red blue green white black grey pink brown".split()
    found = [memory.retrieve(f"Export the presentation as a PDF {colour}", threshold=0.01) for colour in colours]
    assert any("different requests" in note for note in found[-1].notes)
    assert found[0].notes == ()


def test_words_alone_are_ranked_by_the_formula_of_the_source_documents(memory):
    """0.55 similarity + 0.25 quality + 0.20 recency, the score being the overlap of the task."""
    (hit,) = memory.retrieve(TEXTS[1])
    told = hit.explanation
    assert hit.ranked_by == "structured"
    assert told["similarity"] == pytest.approx(hit.score, abs=1e-6)
    expected = 0.55 * told["similarity"] + 0.25 * told["outcome_quality"] + 0.20 * told["recency"]
    assert told["rank_score"] == pytest.approx(expected, abs=1e-9)


class Broken:
    """An embedder whose service is down when a question is asked."""

    name = "broken"

    def __init__(self) -> None:
        from ufo_experience import open_embedder

        self._inner = open_embedder("hashing")
        self.spending, self.dim = self._inner.spending, self._inner.dim
        self.is_down = False

    def embed(self, texts, kind="document"):
        if self.is_down:
            raise ServiceError("nobody answers", code="E_UNREACHABLE")
        return self._inner.embed(texts, kind)


def test_words_answer_when_the_embedder_does_not(tmp_path):
    from ufo_experience import Settings

    embedder = Broken()
    memory = ExperienceMemory.open(settings=Settings(db=str(tmp_path / "db")), embedder=embedder)
    memory.store.add(map(a_record_of, TEXTS))
    memory.index()
    assert memory.retrieve(TEXTS[1]).degraded is None
    embedder.is_down = True
    found = memory.retrieve(TEXTS[1])
    assert tasks(found) == [TEXTS[1]]
    assert "embeddings unavailable" in str(found.degraded)


# ---- other wordings ----


def worded(text: str, *wordings: str):
    """A record with other wordings."""
    record = a_record_of(text)
    return record.model_copy(update={"state": record.state.model_copy(update={"wordings": wordings})})


HIJACKS = [
    ("Check the firewall", "Turn off the firewall"),
    ("Show the invoice", "Pay the invoice"),
    ("Open the user list", "Delete all users"),
    ("Export the report", "Send the report to everybody"),
    ("View the backup settings", "Remove the last backup"),
    ("Preview the newsletter", "Publish the newsletter"),
]


@pytest.mark.parametrize(("task", "wording"), HIJACKS)
def test_a_wording_of_another_task_does_not_vouch_for_its_record(tmp_path, task, wording):
    memory = memory_of(tmp_path / "db", worded(task, wording), *map(a_record_of, TEXTS))
    assert tasks(memory.retrieve(wording)) == []


def test_a_wording_lifts_a_record_that_nearly_fits(tmp_path):
    task, wording = "Silence the notifications of Teams", "Make Teams stop pinging"
    request = "Make Teams stop pinging me"
    others = [*map(a_record_of, TEXTS)]
    plain = memory_of(tmp_path / "plain", a_record_of(task), *others).retrieve(request, threshold=0.0)
    lifted = memory_of(tmp_path / "worded", worded(task, wording), *others).retrieve(request, threshold=0.0)
    assert lifted[0].score > plain[0].score
