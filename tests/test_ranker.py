"""The structured ranker: exact formulas, filters, ties, aggregation, advice."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli_runner import Cli
from ufo_experience import ExperienceMemory, Settings
from ufo_experience.errors import UsageError
from ufo_experience.retrieve.structured import outcome_quality, rank, recency, recommend, signature
from ufo_experience.schema import Experience, Outcome, State, Usage

NOW = datetime(2025, 6, 1, tzinfo=timezone.utc)
TASK = "summarize_document"


def record(number: int, *, days: float = 0, success: bool | None = True, score: float | None = None, **changes):
    """A record of TASK, `days` old; `state` and `action` give their fields."""
    state = {"task": TASK} | changes.pop("state", {})
    return Experience(
        id=f"{number:032x}",
        state=State(**state),
        action=changes.pop("action", {}),
        outcome=Outcome(success=success, score=score, failure_reason=changes.pop("reason", None)),
        created_at=NOW - timedelta(days=days),
        trust="verified",
        **changes,
    )


def ranked(records, state=None, **options):
    """(numbers, ranked records) of ranking `records`."""
    found = rank(records, State(task=TASK, **(state or {})), now=NOW, **options)
    return [int(one.experience.id, 16) for one in found], found


def test_the_rank_score_is_the_weighted_sum_of_the_seed():
    """0.55 similarity + 0.25 outcome quality + 0.20 recency, each as documented."""
    one = record(1, days=30, score=0.8, state={"env": "web", "tags": ["nlp"], "constraints": ["concise"]})
    _, result = ranked([one], {"env": "web", "constraints": ["concise", "fast"], "tags": ["x"]})
    similarity = (0.25 * 1 + 0.20 * 0.5 + 0.15 * 0) / (0.25 + 0.20 + 0.15)
    assert result[0].explanation["similarity"] == pytest.approx(similarity, abs=1e-9)
    assert result[0].score == pytest.approx(0.55 * similarity + 0.25 * 0.9 + 0.20 * 0.5, abs=1e-9)


def test_a_state_that_names_only_its_task_matches_it_fully():
    """Weights are normalised over the fields present in the query state."""
    _, result = ranked([record(1, state={"env": "web"})])
    assert [one.explanation["similarity"] for one in result] == [1.0]


def test_signals_overlap_by_key_and_value():
    """Half of the signals equal is half an overlap."""
    stored = record(1, state={"signals": {"domain": "technical", "length": "long"}})
    _, result = ranked([stored], {"signals": {"domain": "technical", "length": "short"}})
    assert result[0].explanation["similarity"] == pytest.approx(0.5, abs=1e-9)


def test_only_the_same_task_takes_part():
    """The task matches exactly, on the canonical intent."""
    other = record(2, state={"task": "summarize_documents"})
    assert ranked([record(1), other])[0] == [1]


def test_values_in_the_task_do_not_matter():
    """A task is matched with its slots masked, too."""
    stored = record(1, state={"task": "email <name> about <text>"})
    assert len(rank([stored], State(task='Email Jane about "lunch"'), now=NOW)) == 1


def test_ties_go_by_salience_then_id():
    """Equal scores have an order that does not depend on the store's."""
    records = [record(3, salience=0.5), record(1, salience=0.5), record(2, salience=0.9)]
    assert ranked(records)[0] == [2, 1, 3]


def test_filters_are_exact_and_come_before_ranking():
    """k best of what passes."""
    records = [record(n, state={"env": "web" if n % 2 else "desktop", "phase": "plan"}) for n in range(1, 9)]
    assert ranked(records, filters={"env": "web"}, k=3)[0] == [1, 3, 5]
    assert ranked(records, filters={"phase": "run"})[0] == []


def test_failed_records_can_be_asked_for():
    """`success` is a filter like any other."""
    assert ranked([record(1), record(2, success=False)], filters={"success": False})[0] == [2]


def test_quarantined_records_take_no_part():
    """What is not trusted gives no advice, unless it is asked for."""
    held = record(1).model_copy(update={"trust": "quarantined"})
    held = Experience.model_validate(held.model_dump(warnings=False))
    assert ranked([held])[0] == []
    assert ranked([held], filters={"min_trust": "quarantined"})[0] == [1]


def test_min_similarity_is_a_lower_bound():
    """Records below it are left out."""
    records = [record(1, state={"env": "web"}), record(2, state={"env": "desktop"})]
    assert ranked(records, {"env": "web"}, min_similarity=0.5)[0] == [1]


@pytest.mark.parametrize("options", [{"k": 0}, {"min_similarity": 1.5}, {"filters": {"colour": "red"}}])
def test_numbers_and_filters_that_make_no_sense_are_usage_errors(options):
    """Nothing is ignored in silence."""
    with pytest.raises(UsageError):
        ranked([record(1)], **options)


def test_recency_halves_every_half_life_and_the_future_is_now():
    """A clock that was ahead does not push a record above 1; never is 0."""
    moments = [NOW, NOW - timedelta(days=30), NOW + timedelta(days=1), None]
    assert [recency(moment, NOW) for moment in moments] == [1.0, 0.5, 1.0, 0.0]


def test_outcome_quality_averages_verdict_and_score():
    """Success 1, unknown 0.5, failure 0."""
    outcomes = [(True, None), (None, None), (False, 0.4), (True, 0.5)]
    quality = [outcome_quality(Outcome(success=success, score=score)) for success, score in outcomes]
    assert quality == pytest.approx([1.0, 0.5, 0.2, 0.75], abs=1e-9)


def test_actions_are_aggregated_by_strategy_skill_and_parameters():
    """Trials, success rate, average quality, failure patterns, last success and the seed's action_score."""
    good = {"strategy": "hierarchical", "skill": "v2", "parameters": {"verbosity": "low"}}
    records = [
        record(1, action=good, score=0.8, days=30),
        record(2, action=good, success=False, reason="too long"),
        record(3, action={"strategy": "flat"}, success=None),
    ]
    best, other = recommend(records, now=NOW)
    assert best.signature == "hierarchical | v2 | verbosity='low'"
    assert (best.trials, best.success_rate, best.failure_patterns) == (2, 0.5, ("too long",))
    assert best.avg_quality == pytest.approx((0.9 + 0.0) / 2)
    assert best.action_score == pytest.approx(0.60 * 0.5 + 0.25 * 0.45 + 0.15 * 0.5)
    assert (other.success_rate, other.last_success, other.action_score) == (0.0, None, pytest.approx(0.25 * 0.5))


def test_a_later_run_that_was_helped_counts_as_last_success():
    """Usage knows of successes after the record's own run."""
    old = record(1, days=300, usage=Usage(injected=1, helped=1, last_success=NOW))
    assert recommend([old], now=NOW)[0].last_success == NOW


def test_an_action_without_a_strategy_is_named_by_its_steps():
    """UI experiences aggregate by what was done."""
    steps = [{"step_number": 1, "action_type": "click_input", "target_control": {"name": "Send"}}]
    assert signature(record(1, action={"steps": steps})) == "click_input(Send) |  | "


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]), st.sampled_from([True, False, None]), st.floats(0, 1), st.floats(-9, 999)
        ),
        min_size=1,
        max_size=12,
    ),
    st.randoms(use_true_random=False),
)
def test_scores_are_bounded_and_independent_of_the_order_of_records(rows, random):
    """All scores lie in [0, 1]; shuffling the records changes nothing."""
    records = [
        record(n, success=success, score=score, days=days, action={"strategy": name})
        for n, (name, success, score, days) in enumerate(rows, 1)
    ]
    numbers, result = ranked(records, k=50)
    assert all(0.0 <= value <= 1.0 + 1e-9 for one in result for value in (one.score, *one.explanation.values()))
    advice = recommend(records, now=NOW)
    assert all(0.0 <= one.action_score <= 1.0 + 1e-9 for one in advice)
    random.shuffle(records)
    assert ranked(records, k=50)[0] == numbers
    assert [(one.signature, one.trials) for one in recommend(records, now=NOW)] == [
        (one.signature, one.trials) for one in advice
    ]


def test_recommend_on_the_command_line_reads_a_state_from_a_file_or_stdin(tmp_path):
    """One object with the actions, best first."""
    db, state = tmp_path / "db", tmp_path / "state.json"
    memory = ExperienceMemory.open(settings=Settings(db=str(db), embedder="hashing"))
    memory.add_experience({"task": TASK}, {"strategy": "good"}, {"success": True})
    memory.add_experience({"task": TASK}, {"strategy": "bad"}, {"success": False, "failure_reason": "too long"})
    state.write_text(json.dumps({"task": TASK}), encoding="utf-8")
    for name, stdin in ((str(state), None), ("-", state.read_text("utf-8"))):
        data = Cli(tmp_path).json("recommend", "--state", name, "--db", db, text=stdin)
        assert [(one["signature"], one["success_rate"]) for one in data["actions"]] == [
            ("good |  | ", 1.0),
            ("bad |  | ", 0.0),
        ]
        assert data["actions"][1]["failure_patterns"] == ["too long"]


@pytest.mark.parametrize("text", ["{", "[]", '{"env": "web"}'])
def test_a_state_that_is_none_exits_65(tmp_path, text):
    """Not JSON, not an object, no task."""
    ExperienceMemory.open(settings=Settings(db=str(tmp_path / "db"), embedder="hashing"))
    Cli(tmp_path).json("recommend", "--state", "-", "--db", tmp_path / "db", text=text, code=65)
