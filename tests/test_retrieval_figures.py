"""The published figures of retrieval, on data that lies in the repository; each bound can fail by itself."""

from __future__ import annotations

import pytest

from tests.builders import memory_of
from tests.retrieval_sets import Figures, figures, record, rows, served
from ufo_experience.benchmark.retrieval.bm25 import PlainBM25
from ufo_experience.benchmark.retrieval.metrics import ndcg
from ufo_experience.memory import ExperienceMemory

AUTHORS = ("author_a", "author_b")
BOUNDS = {  # at least ndcg, hit, right; at most wrong, strangers
    "author_a": (0.93, 0.885, 0.72, 0.21, 0.04),
    "author_b": (0.86, 0.80, 0.61, 0.29, 0.04),
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


@pytest.mark.parametrize("author", AUTHORS)
@pytest.mark.parametrize("change", [str.upper, str.lower, str.title], ids=["upper", "lower", "title"])
def test_letter_case_never_changes_an_answer(memories, author, change):
    """The same hits, whatever the case a request is written in."""
    tasks = [one["task"] for one in rows(author, "queries") if one["kind"] != "language"][::6]
    plain = [task for task in tasks if change(task).lower() == task.lower() and "'" not in task]
    assert len(plain) > 25
    for task in plain:
        assert served(memories[author], change(task)) == served(memories[author], task)
