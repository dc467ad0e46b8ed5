"""The best rows of a large catalog are found without looking at most of them: bit for bit those of a full scan."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufo_experience.index.catalog import ROW, Catalog
from ufo_experience.index.postings import Postings, StringColumn
from ufo_experience.retrieve import pool
from ufo_experience.retrieve.lexical import BM25, LexicalIndex
from ufo_experience.retrieve.matches import Matches, Scanned
from ufo_experience.text.index_terms import FEW_MEANT_WORDS, record_terms, term_hash

ROWS, TAIL, TEXTS = 4_000, 60, 250
WORDS = "open the report of Jane send mail delete rename folder budget for project chart again photo slide Omar".split()


def texts(rng: np.random.Generator) -> list[str]:
    """Requests of common and rare words, some of them twice."""
    share = 1 / np.arange(1, len(WORDS) + 1)
    chosen = [rng.choice(len(WORDS), rng.integers(1, 9), p=share / share.sum()) for _ in range(TEXTS)]
    return [f"{' '.join(WORDS[word] for word in words)} {number % 40}" for number, words in enumerate(chosen)]


def a_catalog(rng: np.random.Generator, described: list, count: int) -> Catalog:
    """So many rows of the described texts, in lengths of their own; nearly all are trusted."""
    which = rng.integers(0, len(described), count)
    rows = np.zeros(count, ROW)
    rows["id"] = np.sort(rng.permutation(1_000_000)[:count]).astype("S32")
    rows["length"] = rng.integers(1, 15, count)
    rows["trust"] = rng.random(count) < 0.9
    terms = Postings.build([described[number] for number in which])
    return Catalog(rows, np.ones(count, np.bool_), (StringColumn.build([""] * count),), (terms,))


@pytest.fixture(scope="module")
def index() -> LexicalIndex:
    """Of rows that were published and rows that came since, one in ten not trusted."""
    rng = np.random.default_rng(7)
    counted = [record_terms(text)[0] for text in texts(rng)]
    described = [(array("Q", map(term_hash, one)), array("f", one.values())) for one in counted]
    catalog = a_catalog(rng, described, ROWS).with_rows(a_catalog(rng, described, TAIL))
    return LexicalIndex(catalog, catalog.column("trust") > 0, BM25(scan_to=0))


def as_bytes(matches: Matches, inside: np.ndarray, count: int) -> list[bytes]:
    """Everything that candidates are made of."""
    found = [*matches.top(inside, count), *matches.top(inside, count, by_length=True)]
    found += [*matches.at(found[0]), *matches.at(np.flatnonzero(inside)), np.array(matches.best_skeleton(inside))]
    return [one.tobytes() for one in found]


@given(
    st.lists(st.sampled_from([*WORDS, "zebra", "drop", "3", "17", "Ann"]), max_size=8),
    st.integers(1, 300),
    st.sampled_from([1.0, 0.5, 0.02, 0.0]),
    st.integers(0, 9),
)
def test_the_best_rows_are_those_of_a_full_scan(index, words, count, share, seed):
    """Whatever is asked, for however many, inside whatever filter."""
    query = " ".join(words)
    inside = np.random.default_rng(seed).random(len(index.scores(query, FEW_MEANT_WORDS)[0])) < share
    scanned = Scanned(*index.scores(query, FEW_MEANT_WORDS), index.roots)
    assert as_bytes(index.matches(query), inside, count) == as_bytes(scanned, inside, count)


@given(
    st.integers(0, 99), st.sampled_from([1, 3, 60, 3_000]), st.sampled_from([1, 40, 900]), st.sampled_from([1, 30, 900])
)
def test_of_many_rows_that_tie_the_same_are_left_as_if_all_were_looked_at(seed, scores, tasks, runs):
    """However many tasks and runs they are of."""
    rng = np.random.default_rng(seed)
    rows = np.zeros(3_000, ROW)
    rows["task"], rows["session"] = rng.integers(1, tasks + 1, 3_000), rng.integers(0, runs + 1, 3_000)
    catalog = Catalog(rows, np.ones(3_000, np.bool_), (), ())
    some = np.flatnonzero(rng.random(3_000) < 0.9)
    worth = rng.integers(1, scores + 1, len(some)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_HEAD", len(some))
        expected = pool.thinned(catalog, some, worth)
        patch.setattr(pool, "_HEAD", 70)
        assert pool.thinned(catalog, some, worth).tolist() == expected.tolist()


def test_most_rows_are_not_scored(index, monkeypatch):
    """A request of words that some rows hold is answered without a scan."""
    monkeypatch.setattr(index, "scores", None)
    matches = index.matches("delete the chart of Omar 17")
    rows, scores = matches.top(np.ones(len(index.roots), np.bool_), 10)
    assert 10 <= len(rows) < 100
    assert scores.min() > 0


def test_questions_at_the_same_time_do_not_share_their_arrays(index):
    """What one works in is lent to no other before it is gone."""
    inside = np.ones(len(index.roots), np.bool_)
    queries = ["send the mail", "delete the chart of Jane", "rename folder 3"]
    alone = [as_bytes(index.matches(query), inside, 20) for query in queries]
    together = [index.matches(query) for query in queries]
    assert [as_bytes(one, inside, 20) for one in together] == alone
