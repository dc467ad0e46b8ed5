"""The published figures of retrieval, on data that lies in the repository; each bound can fail by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import ufo_experience
from benchmarks.retrieval import sets
from benchmarks.retrieval.by_file import answering
from benchmarks.retrieval.run import ErringJudge, measure
from tests.builders import a_record_of, memory_of
from tools.make_thesaurus import compiled, written_lines

LEAST_RIGHT = {"c": 0.60, "e": 0.60, "j": 0.45}


@pytest.mark.slow
@pytest.mark.parametrize("author", LEAST_RIGHT)
def test_what_the_default_threshold_serves_holds(author):
    """The right record; seldom the wrong twin, or anything for a stranger; in an order no worse than BM25's."""
    found = measure(sets.author(author))
    assert found.mean("right") >= LEAST_RIGHT[author]
    assert found.mean("twins") <= 0.14
    assert found.mean("strangers") <= 0.04
    assert found.mean("order") >= found.mean("bm25") - 0.01


@pytest.mark.parametrize(("author", "right"), [("c", 0.6), ("j", 0.4)])
def test_what_the_default_threshold_serves_holds_for_some_requests(author, right):
    """The same of 30 requests of each kind; the whole sets are slow."""
    found = measure(sets.sampled(sets.author(author), 30))
    assert found.mean("right") >= right
    assert found.mean("twins") <= 0.14
    assert found.mean("strangers") <= 0.04
    assert found.mean("order") >= found.mean("bm25") - 0.01


def test_a_judge_that_is_right_finds_nearly_all_and_answers_no_stranger():
    tasks = sets.sampled(sets.author("c"), 30)
    found = measure(tasks, judge=ErringJudge(tasks, 0.0))
    assert (found.mean("right") >= 0.9, found.mean("twins"), found.mean("strangers")) == (True, 0.0, 0.0)


VERDICTS = Path(__file__).parents[1] / "benchmarks" / "retrieval" / "model_verdicts.jsonl"


@pytest.mark.slow
@pytest.mark.parametrize(("author", "right"), [("i", 29), ("j", 28), ("k", 30), ("m", 28), ("n", 30)])
def test_what_a_language_model_judged_is_what_is_published(author, right):
    """Its answers to the questions as the product sends them, through the real client."""
    with answering(VERDICTS) as judge:
        found = measure(sets.sampled(sets.author(author), 30), judge=judge)
    assert (found.mean("right"), found.mean("twins"), found.mean("strangers")) == (pytest.approx(right / 30), 0.0, 0.0)


NAMED = [
    "Send an email to Jane about tomorrow's call",
    "Insert a 3x4 table into the document",
    "Book a meeting room",
    "Turn on Bluetooth in the settings",
    "Export the presentation as a PDF",
    "Delete the last slide",
    "Sort the table by price",
]


@pytest.mark.parametrize(
    ("task", "place"),
    [
        ("reserve a conference room", 2),
        ("Remove the final page", 5),
        ("Turn off Bluetooth in the settings", None),
        ("Book a flight to Rome", None),
        ("Book a table at a restaurant", None),
        ("Water the plants", None),
    ],
)
def test_everyday_rewordings_are_served_without_a_model(tmp_path, task, place):
    """At the default threshold; opposites and strangers are not."""
    found = [hit.task for hit in memory_of(tmp_path / "db", *map(a_record_of, NAMED)).retrieve(task)]
    assert found == ([] if place is None else [NAMED[place]])


def test_the_thesaurus_that_is_searched_is_the_one_that_is_written():
    """`tools/make_thesaurus.py` was run."""
    searched = Path(ufo_experience.__file__).parent / "retrieve" / "thesaurus.tsv"
    assert compiled(written_lines()) == searched.read_text(encoding="utf-8")
