"""The published figures of retrieval, on data that lies in the repository; each bound can fail by itself."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import combinations

import pytest

from benchmarks.retrieval.bm25 import PlainBM25
from benchmarks.retrieval.metrics import ndcg
from tests.builders import a_record_of, memory_of
from tests.retrieval_sets import Figures, figures, record, rows, served
from tools.make_thesaurus import compiled, entry_of, written_lines
from ufo_experience.memory import ExperienceMemory
from ufo_experience.retrieve.contradictions import clash, marks_of
from ufo_experience.retrieve.features import WordWeights, compare
from ufo_experience.text.frames import record_frame, request_frame
from ufo_experience.retrieve.thesaurus import FILE

AUTHORS = ("author_b", "author_c", "author_e", "author_f worded")
BOUNDS = {  # at least ndcg, hit, right; at most wrong, strangers
    "author_b": (0.9, 0.83, 0.68, 0.06, 0.02),
    "author_c": (0.955, 0.935, 0.84, 0.08, 0.04),
    "author_e": (0.963, 0.935, 0.77, 0.13, 0.03),
    "author_f worded": (0.945, 0.885, 0.78, 0.1, 0.05),  # records with the other wordings that a model wrote
}


@pytest.fixture(scope="module")
def memories(tmp_path_factory) -> dict[str, ExperienceMemory]:
    """One memory of the procedures of each author."""
    folder = tmp_path_factory.mktemp("sets")
    return {name: memory_of(folder / name, *map(record, rows(name, "procedures"))) for name in AUTHORS}


@pytest.fixture(scope="module")
def measured(memories) -> dict[str, Figures]:
    """The figures of each author's set."""
    return {name: figures(memories[name], rows(name, "queries"), rows(name, "strangers")) for name in AUTHORS}


@pytest.mark.parametrize("author", AUTHORS)
def test_the_order_of_reworded_tasks_holds(measured, author):
    """Both measures, each by itself."""
    gain, hit, *_ = BOUNDS[author]
    assert measured[author].ndcg >= gain
    assert measured[author].hit >= hit


@pytest.mark.parametrize("author", AUTHORS)
def test_what_the_default_threshold_serves_holds(measured, author):
    """The right record, the wrong twin, anything for a stranger."""
    _, _, right, wrong, strangers = BOUNDS[author]
    assert measured[author].right >= right
    assert measured[author].wrong <= wrong
    assert measured[author].strangers <= strangers


@pytest.mark.parametrize("author", AUTHORS)
def test_the_order_is_no_worse_than_that_of_bm25(measured, author):
    """On the same queries."""
    procedures = rows(author, "procedures")
    index, names = PlainBM25([one["task"] for one in procedures]), [one["id"] for one in procedures]
    gains = []
    for query in (one for one in rows(author, "queries") if one["relevant"]):
        scores = index.scores(query["task"])
        order = [names[place] for place in (-scores).argsort(kind="stable") if scores[place] > 0]
        gains.append(ndcg(order, dict.fromkeys(query["relevant"], 1)))
    assert measured[author].ndcg >= sum(gains) / len(gains)


@pytest.fixture(scope="module")
def plain(memories) -> dict[str, dict[str, list[str]]]:
    """Some requests of each author as they were written, and what is served for them."""
    chosen = {
        author: [one["task"] for one in rows(author, "queries") if one["kind"] != "language"] for author in AUTHORS
    }
    return {author: {task: served(memories[author], task) for task in tasks[::6]} for author, tasks in chosen.items()}


@pytest.mark.parametrize("author", AUTHORS)
@pytest.mark.parametrize("change", [str.upper, str.lower, str.title], ids=["upper", "lower", "title"])
def test_letter_case_never_changes_an_answer(memories, plain, author, change):
    """The same hits, whatever the case a request is written in."""
    tasks = [task for task in plain[author] if change(task).lower() == task.lower() and "'" not in task]
    assert len(tasks) > 20
    for task in tasks:
        assert served(memories[author], change(task)) == plain[author][task]


NAMED = [
    "Send an email to Jane about tomorrow's call",
    "Insert a 3x4 table into the document",
    "Book a meeting room",
    "Turn on Bluetooth in the settings",
    "Export the presentation as a PDF",
    "Delete the last slide",
    "Sort the table by price",
]


@pytest.fixture(scope="module")
def office(tmp_path_factory) -> ExperienceMemory:
    """A few everyday tasks."""
    return memory_of(tmp_path_factory.mktemp("office") / "db", *map(a_record_of, NAMED))


@pytest.mark.parametrize(
    ("task", "place"),
    [
        ("Email Bob about the budget review", 0),
        ("Write a message to the HR team", 0),
        ("add a table with 2 rows and 5 columns", 1),
        ("Insert a table into the Word document", 1),
        ("reserve a conference room", 2),
        ("Remove the final page", 5),
        ("Turn off Bluetooth in the settings", None),
        ("Book a flight to Rome", None),
        ("Book a table at a restaurant", None),
        ("Water the plants", None),
    ],
)
def test_everyday_rewordings_are_served_without_a_model(office, task, place):
    """At the default threshold; opposites and strangers are not."""
    found = [hit.experience.state.request for hit in office.retrieve(task)]
    assert found == ([] if place is None else [NAMED[place]])


def test_opposites_are_not_related_in_the_thesaurus():
    """No line relates words or phrases that contradict each other, negated ones aside."""
    marks = cache(marks_of)
    pairs = [pair for line in written_lines() for pair in related_in(line)]
    plain = [
        pair for pair in pairs if {"not", "undo", "without", "no", "never", "keep"}.isdisjoint(" ".join(pair).split())
    ]
    assert len(plain) > 10_000
    assert [pair for pair in plain if clash(marks(pair[0]), marks(pair[1]))] == []


def related_in(line: str) -> list[tuple[str, str]]:
    """What a line of the thesaurus relates."""
    head, _, others = line.replace("_", " ").rpartition(":") if line[:1] not in "#!=" else ("", "", "")
    words = [one.replace("_", " ") for one in line.rpartition(":")[2].split()] if others else []
    return [(head, one) for one in words] if head else list(combinations(words, 2))


def test_the_thesaurus_that_is_searched_is_the_one_that_is_written():
    """`tools/make_thesaurus.py` was run."""
    assert FILE.read_text(encoding="utf-8") == compiled(written_lines())


@pytest.mark.parametrize(("one", "other"), [("a_to_z", "z_to_a"), ("zoom_in", "zoom_out"), ("sign_in", "sign")])
def test_filling_words_tell_phrases_apart(one, other):
    """Where one word would be left, they stay."""
    assert entry_of(one) != entry_of(other)


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> ExperienceMemory:
    """Runs of one procedure that differ in a word, and of two that read as much alike."""
    tasks = [f"Create a {kind} report from May to June" for kind in ("coupons", "tax", "shipping")]
    return memory_of(tmp_path_factory.mktemp("reports") / "db", *map(a_record_of, [*tasks, "Mute the chat Lunch crew"]))


@pytest.mark.parametrize(
    ("task", "is_served"),
    [
        ("Create an invoice report from March to April", True),  # other runs differ there
        ("Create a coupons template from May to June", False),  # none does
        ("Pin the chat Lunch crew", False),
    ],
)
def test_a_word_is_a_value_where_other_runs_differ(reports, task, is_served):
    """What is swapped elsewhere is another procedure."""
    assert bool(reports.retrieve(task).hits) is is_served


@pytest.mark.parametrize(
    ("one", "other", "scope", "swapped"),
    [
        ("Apply the transition Fade to slide 2 only", "Apply the transition Fade to all slides", 1.0, 0.0),
        ("Hide all slides", "Hide slide 7", 1.0, 0.0),
        ("Share my contacts with Ann", "Share my calendar with Bob", 0.0, 1.0),
        ("Email Ann about lunch", "Email Bob about dinner", 0.0, 0.0),
    ],
)
def test_a_difference_is_told_by_its_kind(one, other, scope, swapped):
    """All against some, and one known word for another between the same neighbours."""
    query, record = request_frame(one), record_frame(other)
    found = compare(query, record, WordWeights(defaultdict(lambda: 1.0), defaultdict(float)))
    assert (found.scope, found.swapped) == (scope, swapped)
