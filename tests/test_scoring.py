"""What makes a candidate better: words, their fusion with vectors, and credit."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.retrieval.simulated import SimulatedEmbedder
from tests.builders import TEXTS, WHEN, Meaningful, a_record_of, memory_of
from ufo_experience.embed.hashing import HashingEmbedder
from ufo_experience.index.catalog import Catalog
from ufo_experience.index.manifest import Calibration
from ufo_experience.retrieve.background import REFERENCES, Scale, heard_in_store, measure_embedder, measure_scale
from ufo_experience.retrieve.columns import Column, MaskColumn, Saturation, add_up
from ufo_experience.retrieve.credit import credited, harmful, usage_factor, usefulness
from ufo_experience.retrieve.features import NAMES
from ufo_experience.retrieve.fusion import THRESHOLD, Signals, fusion_for, order, relevance
from ufo_experience.retrieve.lexical import LexicalIndex
from ufo_experience.retrieve.standing import LARGE, Standing, standing
from ufo_experience.schema import MAX_SESSIONS, Usage
from ufo_experience.trust.policy import TrustPolicy

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


def test_the_same_request_has_the_best_shares():
    """Of both views, whatever the store."""
    catalog, words = index_of(TEXTS)
    for part in words.scores(TEXTS[2]):
        share = by_text(catalog, part)
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
    _, (unheard, held) = words.weights_of(["zyxgate", "bluetooth"])
    assert unheard == pytest.approx(held)


def test_untrusted_records_change_no_score_of_trusted_ones():
    """Statistics come from trusted rows only: bit-equal with and without the others."""
    query = "Email Bob about Bluetooth and the budget"
    plain, words = index_of(TEXTS[:4])
    crowded, other = index_of(TEXTS, trusted=range(4))
    for one, many in zip(words.scores(query), other.scores(query), strict=True):
        before, after = by_text(plain, one), by_text(crowded, many)
        assert all(before[text] == after[text] for text in TEXTS[:4])


@given(st.text(max_size=80))
def test_the_shares_lie_between_0_and_1(query):
    """For any query."""
    _, words = index_of(TEXTS)
    for part in words.scores(query):
        assert part.min() >= 0.0
        assert part.max() <= 1.0 + 1e-5


def test_a_word_is_a_value_when_the_records_use_it_as_one():
    """Names stand behind quotes or inside a sentence in capitals; a word the steps click on is none."""
    catalog = Catalog.build([a_record_of("Send a letter to Jane"), a_record_of("Delete the mail of Jane")])
    words = LexicalIndex(catalog, catalog.live)
    assert words.are_values(["jan", "mail"]) == [True, False]


# ---- fusion ----


def signals(*, words=0.5, coverage=0.5, near=np.nan, vector_weight=0.0) -> Signals:
    """Signals of one candidate."""
    pair = np.array([[coverage if name.endswith("coverage") else 0.0 for name in NAMES]])
    one = np.array([words])
    return Signals(one, one, pair, np.array([near]), np.array([near]), vector_weight)


def standing_of(lead: float = 0.0, size: int = 10) -> Standing:
    """The standing of one candidate."""
    return Standing(
        *(np.array([value]) for value in (lead, lead, lead, lead, lead, 0.2, np.log(max(size, 1)), 2.0, 0.0, 0.0))
    )


def test_the_same_values_count_in_the_order_where_no_record_has_the_skeleton():
    """They decide between doubtful candidates."""
    plain, same = signals(), signals()
    same.pair[0, NAMES.index("same_values")] = 1.0
    gains = [float(order(same, best)[0] - order(plain, best)[0]) for best in (0.0, 0.9)]
    assert gains == pytest.approx([0.25, 0.0], abs=0.001)


def test_without_a_voice_a_vector_changes_nothing():
    """The vectors of an embedder that tells nothing apart do not count."""
    assert order(signals(near=0.9), 0.1) == pytest.approx(order(signals(), 0.1))
    assert relevance(signals(near=0.9), standing_of()) == pytest.approx(relevance(signals(), standing_of()))


def test_a_vector_is_heard_less_where_a_record_has_the_skeleton_of_the_query():
    """Where the stored words match, words decide."""
    gains = [order(signals(near=0.9, vector_weight=1.0), best) - order(signals(), best) for best in (0.0, 0.9)]
    assert gains[0] > 10 * gains[1] >= 0


def test_a_record_without_a_vector_is_judged_by_its_words():
    """NaN marks what is not embedded yet."""
    assert relevance(signals(vector_weight=1.0), standing_of()) == pytest.approx(relevance(signals(), standing_of()))


@given(st.floats(0, 1), st.floats(0, 1), st.floats(-0.3, 1), st.integers(0, 10**6))
def test_a_score_is_a_probability_that_grows_with_what_is_covered(words, coverage, lead, size):
    """In (0, 1), for any store."""
    low, high = (
        relevance(signals(words=words, coverage=one), standing_of(lead, size))[0] for one in (coverage / 2, coverage)
    )
    assert 0 < low <= high < 1


def test_an_affine_change_of_all_cosines_changes_nothing():
    """The scale of a query is made from its own background."""
    cosines = np.linspace(-0.1, 0.4, 50)
    for low, width in ((0.75, 0.25), (0.3, 0.7)):
        before, after = measure_scale(cosines), measure_scale(low + width * cosines)
        assert before.near(np.array([0.8])) == pytest.approx(after.near(np.array([low + width * 0.8])))


def test_an_embedder_is_heard_as_far_as_it_tells_reference_tasks_apart():
    """Not when it ignores the text, not when all its vectors are one; in full when it knows the wordings."""
    assert measure_embedder(Meaningful().embed(REFERENCES)).weight == 1.0
    for kind in ("blind", "constant", "low"):
        assert measure_embedder(SimulatedEmbedder(HashingEmbedder(), kind).embed(REFERENCES)).weight == 0.0


def test_another_wording_lies_at_the_same_place_on_the_scale_of_every_embedder():
    """As near as a rewording is one number, whatever range or noise the cosines have."""
    noisy = measure_embedder(SimulatedEmbedder(Meaningful(), "noisy").embed(REFERENCES)).reworded
    assert noisy[0] < 0.6 < measure_embedder(Meaningful().embed(REFERENCES)).reworded[0]
    for reworded in (noisy, (0.581, 10.14), (0.3, 5.0)):
        scale = Scale(0.2, 0.1, reworded)
        assert scale.near(np.array([0.2 + 0.8 * reworded[0], 1.0])) == pytest.approx([0.581, 1.0])
        assert scale.deviations(np.array([0.2 + 0.1 * reworded[1]])) == pytest.approx(10.14)


def test_an_embedder_that_does_not_know_the_matter_of_a_store_is_not_heard_there():
    """Whatever it makes of the references; of few tasks, or of a language without spaces, nothing is concluded."""
    deeds, things = "open close print rename share".split(), "report invoice photo letter budget folder".split()
    texts = [f"{deed} the {thing}" for deed in deeds for thing in things]
    knows = HashingEmbedder()
    ignores = SimulatedEmbedder(knows, "blind")
    assert heard_in_store(knows.embed(texts), texts) == 1.0
    assert heard_in_store(ignores.embed(texts), texts) == 0.0
    assert heard_in_store(ignores.embed(texts[:20]), texts[:20]) == 1.0
    joined = [text.replace(" ", "") for text in texts]
    assert heard_in_store(ignores.embed(joined), joined) == 1.0


def test_a_calibration_sets_both_thresholds_of_its_embedder_only():
    """Another embedder's calibration is not used."""
    found = Calibration(
        embedder="openai:m", threshold=0.61, precision=0.95, recall=0.9, pairs=10, lexical_threshold=0.4
    )
    fusion = fusion_for("openai:m", found)
    assert (fusion.default_threshold(), fusion.degraded().default_threshold(), fusion.ranked_by) == (0.61, 0.4, "fused")
    assert fusion_for("hashing", found).default_threshold() == THRESHOLD


def test_what_words_alone_rank_is_structured():
    """Hashed words say nothing that the words do not say."""
    assert fusion_for("hashing", None).ranked_by == "structured"
    assert fusion_for("openai:m", None).degraded().ranked_by == "structured"


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
    """Helping never lifts above a better match, hurting costs score step by step."""
    usages = [{"helped": 5}, {}, {"hurt": 1}, {"hurt": 3}, {"hurt": 5}]
    records = [a_record_of(text, usage=usage) for text, usage in zip(TEXTS, usages, strict=False)]
    catalog = Catalog.build(records)
    rows = catalog.find([one.id for one in records])
    factors = usage_factor(catalog, rows).tolist()
    assert factors == pytest.approx([1.0, 1.0, 0.8, 4 / 7, 4 / 9])
    assert harmful(catalog)[rows].tolist() == [False, False, False, True, True]


def test_what_was_not_seen_to_work_for_long_loses_rank_and_asks_for_a_new_look():
    """By the day it was made or last helped; without the setting nothing expires."""
    old, now = datetime(2024, 1, 2, tzinfo=timezone.utc), datetime.now(timezone.utc)
    uses = [{}, {"last_success": now}, {"hurt": 1}, {"hurt": 1, "streak": 1, "last_success": now}]
    records = [a_record_of(text, usage=use, created_at=old) for text, use in zip(TEXTS, uses, strict=False)]
    catalog, policy = Catalog.build(records), TrustPolicy(stale_after=timedelta(days=90))
    rows = catalog.find([one.id for one in records])
    assert usage_factor(catalog, rows, policy.stale_before()).tolist() == pytest.approx([0.8, 1.0, 0.64, 0.8])
    assert usage_factor(catalog, rows, TrustPolicy().stale_before()).tolist() == pytest.approx([1.0, 1.0, 0.8, 0.8])
    stale, failed = "not seen to work since 2024-01-02", "did not work when it was last followed"
    assert [policy.look_again(one) for one in records] == [stale, None, failed, None]
    assert [TrustPolicy().look_again(one) for one in records] == [None, None, failed, None]


def test_a_record_that_lost_rank_is_the_reason_why_nothing_is_served(tmp_path):
    """And `list` and `stats` name it."""
    task = "Turn on Bluetooth in the settings"
    one = a_record_of(task, created_at=datetime(2024, 1, 2, tzinfo=timezone.utc))
    with memory_of(tmp_path / "a", one) as memory:
        score = memory.retrieve(task, similarity_threshold=0.0)[0].score
    with memory_of(tmp_path / "b", one, stale_after_days=30) as memory:
        assert memory.retrieve(task, similarity_threshold=0.0)[0].score == pytest.approx(0.8 * score)
        reason = memory.retrieve(task, similarity_threshold=0.9 * score).reason
        assert reason is not None
        assert reason.startswith(f"{one.id[:8]} not seen to work since 2024-01-02 and lost rank")
        assert memory.stats().look_again == 1


def test_a_column_of_bytes_adds_what_a_column_of_numbers_does():
    """Over more rows than are added up at a time, terms that stand several times among them."""
    rng = np.random.default_rng(5)
    rows = np.flatnonzero(rng.random(140_000) < 0.05).astype(np.int32)
    times = rng.integers(1, 4, len(rows)).astype(np.float32)
    gain = Saturation(0.6, 0.75, 8.0, rng.integers(0, 40, 140_001).astype(np.int32))
    some = rng.random(140_001, np.float32)
    others = some.copy()
    add_up([(np.float32(0.5), MaskColumn(rows, times, gain, 140_000))] * 2, some)
    add_up([(np.float32(0.5), Column(rows, times, gain, 140_000))] * 2, others)
    np.testing.assert_array_equal(some, others)


def two_of(applications: tuple[int, int], size: int) -> Standing:
    """The standing of two candidates of these applications."""
    order, words, none = np.array([0.9, 0.2]), np.array([0.8, 0.1]), np.array([np.nan, np.nan])
    first = np.array([True, False])
    keys = np.array(applications, np.uint64)
    return standing(order, words, words, none, first, 0.9, size, 5, np.array([7, 8], np.uint64), keys)


def test_a_store_that_grows_beyond_those_of_the_fit_says_nothing_more_of_a_score():
    """What is stored of large sets alone would else be taken for what large stores are like."""
    found = [two_of((1, 2), n) for n in (LARGE, 100 * LARGE)]
    assert (found[0].table() == found[1].table()).all()


@pytest.mark.parametrize(("applications", "ahead"), [((1, 1), [0, 0]), ((1, 2), [-0.2 / 3, -0.3])], ids=["one", "two"])
def test_other_tasks_of_an_application_speak_for_it(applications, ahead):
    """One by itself has nobody beside it; where all are of one application it says nothing."""
    assert two_of(applications, 10).application_ahead == pytest.approx(ahead)
