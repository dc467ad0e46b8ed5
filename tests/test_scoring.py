"""What makes a candidate better: words, their fusion with vectors, credit, and the bar."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import TEXTS, WHEN, a_record_of
from ufo_experience.index.catalog import Catalog
from ufo_experience.index.manifest import Calibration
from ufo_experience.retrieval.fusion import Fusion, bar_for, fusion_for
from ufo_experience.retrieval.lexical import LexicalIndex
from ufo_experience.retrieval.signals import credited, drag, harmful, usefulness
from ufo_experience.schema import MAX_SESSIONS, Usage

# ---- words ----


def index_of(texts, trusted=None):
    """(catalog, lexical index); `trusted` are the numbers of the texts that count."""
    records = sorted((a_record_of(text) for text in texts), key=lambda one: one.id)
    catalog = Catalog.build(records)
    names = None if trusted is None else {a_record_of(texts[n]).id for n in trusted}
    mask = np.array([names is None or one.id in names for one in records])
    return catalog, LexicalIndex(catalog, mask)


def by_text(catalog, scores):
    """Scores by the text they belong to."""
    return {catalog.text(row): float(score) for row, score in enumerate(scores)}


def test_the_same_request_has_full_coverage_and_the_best_share():
    """Coverage is 1 for a text and itself, whatever the store."""
    catalog, words = index_of(TEXTS)
    share, coverage = (by_text(catalog, part) for part in words.scores(TEXTS[2]))
    assert coverage[TEXTS[2]] == pytest.approx(1.0, abs=1e-5)
    assert max(share, key=share.get) == TEXTS[2]


def test_a_value_weighs_less_than_the_action():
    """ "Jane" does not make a task an email."""
    texts = ["Email Jane Doe about lunch", "Delete the contact Jane Doe"]
    catalog, words = index_of(texts)
    share = by_text(catalog, words.scores("Email Tom Ray about dinner")[0])
    assert share[texts[0]] > share[texts[1]]


def test_a_word_nobody_holds_is_as_rare_as_one_that_one_record_holds():
    """In a small store almost any word of a request is unheard of; that must not sink the match."""
    _, words = index_of(TEXTS)
    coverage = words.scores("Turn on Bluetooth zyxgate")[1].max()
    held_once = words.scores("Turn on Bluetooth library")[1].max()
    assert coverage == pytest.approx(held_once)


def test_untrusted_records_change_no_score_of_trusted_ones():
    """Statistics come from trusted rows only: bit-equal with and without the others."""
    query = "Email Bob about Bluetooth and the budget"
    plain, words = index_of(TEXTS[:4])
    crowded, other = index_of(TEXTS, trusted=range(4))
    for one, many in zip(words.scores(query), other.scores(query), strict=True):
        before, after = by_text(plain, one), by_text(crowded, many)
        assert all(before[text] == after[text] for text in TEXTS[:4])


@given(st.text(max_size=80))
def test_share_and_coverage_lie_between_0_and_1(query):
    """For any query."""
    _, words = index_of(TEXTS)
    for part in words.scores(query):
        assert part.min() >= 0.0
        assert part.max() <= 1.0 + 1e-5


# ---- fusion ----


def test_the_vector_is_heard_the_less_the_words_match():
    """order = (1 - p)·share + p·cosine with p = c·(1 - best share)²."""
    fusion = Fusion("local:x", order_voice=0.4, score_voice=0.5)
    share, cosine = np.array([0.5], np.float32), np.array([1.0], np.float32)
    assert fusion.order(share, cosine, 1.0)[0] == pytest.approx(0.5)
    assert fusion.order(share, cosine, 0.5)[0] == pytest.approx(0.9 * 0.5 + 0.1 * 1.0)
    assert fusion.score(share, cosine)[0] == pytest.approx(0.75)


def test_a_record_without_a_vector_is_placed_by_its_words():
    """NaN marks what is not embedded yet."""
    fusion = Fusion("local:x", order_voice=0.4, score_voice=0.5)
    assert fusion.score(np.array([0.3], np.float32), np.array([np.nan], np.float32))[0] == pytest.approx(0.3)


def test_an_unmeasured_embedder_is_judged_by_its_cosine_at_the_seeds_bar():
    """0.75 on the plain cosine until it is calibrated; words alone have their own bar."""
    fusion = fusion_for("openai:text-embedding-3-small", None)
    assert (fusion.bar(500), fusion.ranked_by) == (0.75, "vector")
    assert fusion.degraded().bar(500) == bar_for(500)


def test_a_calibration_sets_both_bars_of_its_embedder_only():
    """Another embedder's calibration is not used."""
    found = Calibration(
        embedder="openai:m", threshold=0.61, precision=0.95, recall=0.9, pairs=10, lexical_threshold=0.4
    )
    fusion = fusion_for("openai:m", found)
    assert (fusion.bar(9), fusion.degraded().bar(9), fusion.ranked_by) == (0.61, 0.4, "fused")
    assert fusion_for("hashing", found).bar(9) == bar_for(9)


def test_the_bar_grows_with_the_store_within_its_measured_range():
    """Of more strangers the best comes nearer."""
    bars = [bar_for(size) for size in (0, 1, 6, 100, 1000, 10**6)]
    assert bars == sorted(bars)
    assert (bars[0], bars[1], bars[-1]) == (0.2, 0.2, bar_for(1000))
    assert 0.43 < bars[-1] < 0.45


# ---- credit ----


def test_credit_counts_and_remembers_the_session():
    """A session reported twice counts once, also when it says something else the second time."""
    once = credited(Usage(), True, WHEN, "s-1")
    assert (once.injected, once.helped, once.hurt, once.last_success) == (1, 1, 0, WHEN)
    assert credited(once, False, WHEN, "s-1") is once
    assert credited(once, False, WHEN, "s-2").hurt == 1


def test_reports_without_a_session_all_count():
    """Nothing tells them apart."""
    assert credited(credited(Usage(), True, WHEN), True, WHEN).helped == 2


def test_only_the_last_sessions_are_remembered():
    """A record does not grow without end."""
    usage = Usage()
    for number in range(MAX_SESSIONS + 5):
        usage = credited(usage, True, WHEN, f"s-{number}")
    assert len(usage.sessions) == MAX_SESSIONS
    assert credited(usage, True, WHEN, f"s-{MAX_SESSIONS + 4}") is usage


def test_usefulness_is_beta_smoothed():
    """One lucky success moves little; 0.5 without any report."""
    values = usefulness(np.array([0, 1, 8]), np.array([0, 0, 0]))
    assert values.tolist() == pytest.approx([0.5, 0.6, 10 / 12])


def test_what_hurts_sinks_and_is_finally_harmful():
    """Helping never lifts above a better match, hurting drags down step by step."""
    usages = [{"helped": 5}, {}, {"hurt": 1}, {"hurt": 3}, {"hurt": 5}]
    records = [a_record_of(text, usage=usage) for text, usage in zip(TEXTS, usages, strict=False)]
    catalog = Catalog.build(records)
    rows = catalog.find([one.id for one in records])
    factors = drag(catalog, rows).tolist()
    assert factors == pytest.approx([1.0, 1.0, 0.8, 4 / 7, 4 / 9])
    assert harmful(catalog)[rows].tolist() == [False, False, False, True, True]
