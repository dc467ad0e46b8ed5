"""The structured ranker: advice from STATE → ACTION → OUTCOME records, with no embeddings.

    similarity   = Σ weight·overlap / Σ weight, over the fields that the query state names
    rank_score   = 0.55·similarity + 0.25·outcome_quality + 0.20·recency
    action_score = 0.60·success_rate + 0.25·avg_quality + 0.15·recency_of_last_success

The formulas are those of the source documents, in double precision; weights of the fields, the half-life and the
measure of quality are ours. `query` and `recommend` compare records of the same task; where no vectors are there,
`retrieve` ranks by it too, with the score of the words as the overlap of the task.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from ufo_experience.errors import UsageError
from ufo_experience.request import Request, application_key
from ufo_experience.schema import Experience, Hit, Outcome, State, Trust

HALF_LIFE_DAYS = 30.0
RANK_WEIGHTS = (0.55, 0.25, 0.20)
ACTION_WEIGHTS = (0.60, 0.25, 0.15)
_DAY = 86_400.0
_FAILURE_PATTERNS = 3


# What each field of the state is worth; only the fields a query state names count, so any scale will do.
_FIELDS = {"task": 0.50, "env": 0.25, "phase": 0.15, "constraints": 0.20, "signals": 0.25, "tags": 0.15}


@dataclass(frozen=True)
class ActionAdvice:
    """What is known about one way of acting; see the module's formulas."""

    signature: str
    trials: int
    success_rate: float
    avg_quality: float
    failure_patterns: tuple[str, ...]
    last_success: datetime | None
    action_score: float


def recency(moment: datetime | None, now: datetime | None = None) -> float:
    """0.5^(age / half-life): 1 now, 0.5 after the half-life. A time in the future counts as now, None (never) as 0."""
    if moment is None:
        return 0.0
    age = max(((now or datetime.now(timezone.utc)) - moment).total_seconds(), 0.0)
    return float(0.5 ** (age / (HALF_LIFE_DAYS * _DAY)))


def outcome_quality(outcome: Outcome) -> float:
    """Quality in [0, 1]: 1 for success, 0.5 for unknown, 0 for failure; averaged with the score where there is one."""
    verdict = 0.5 if outcome.success is None else float(outcome.success)
    return verdict if outcome.score is None else (verdict + outcome.score) / 2


def rank_score(similarity: float, quality: float, fresh: float) -> float:
    return RANK_WEIGHTS[0] * similarity + RANK_WEIGHTS[1] * quality + RANK_WEIGHTS[2] * fresh


def similarity(asked: State, stored: State, task: float | None = None) -> float:
    """Weighted overlap of the fields that the query state names; `task` is the overlap of the task, where it counts.
    1 when nothing but the task is named.
    """
    parts = [] if task is None else [(_FIELDS["task"], task)]
    parts += [
        (_FIELDS[name], float(getattr(asked, name) == getattr(stored, name)))
        for name in ("env", "phase")
        if getattr(asked, name) is not None
    ]
    for name in ("constraints", "signals", "tags"):
        terms = _terms(getattr(asked, name))
        if terms:
            parts.append((_FIELDS[name], len(terms & _terms(getattr(stored, name))) / len(terms)))
    present = sum(weight for weight, _ in parts)
    return sum(weight * overlap for weight, overlap in parts) / present if present else 1.0


def rank(
    experiences: Iterable[Experience],
    state: State,
    *,
    k: int = 10,
    min_similarity: float = 0.0,
    filters: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> list[Hit]:
    """Rank the records whose task is that of `state`; best first, ties by salience, then id.

    `filters` may name application, env, phase, success, min_trust; they are exact. Records that are quarantined do
    not take part.

    Raises:
        UsageError: an unknown filter, or a number that makes no sense.
    """
    if not (isinstance(k, int) and isinstance(min_similarity, (int, float)) and k > 0 and 0 <= min_similarity <= 1):
        raise UsageError(f"k must be at least 1 and min_similarity in [0, 1], not {k} and {min_similarity}")
    admits = _admission(dict(filters or {}))
    found = (_hit(one, state, now) for one in experiences if is_task_of(one, state) and admits(one))
    best = (one for one in found if one.explanation["similarity"] >= min_similarity)
    return sorted(best, key=lambda one: (-one.score, -one.experience.salience, one.id))[:k]


def is_task_of(experience: Experience, state: State) -> bool:
    """True for a record of the same task, whatever its values."""
    own = experience.state
    return state.task in (own.task, own.request) or Request.parse(state.task).masked in {
        Request.parse(text).masked for text in (own.task, own.request) if text
    }


def _admission(filters: dict[str, Any]) -> Callable[[Experience], bool]:
    unknown = filters.keys() - {"application", "env", "phase", "success", "min_trust"}
    if unknown:
        raise UsageError(f"unknown filter {min(unknown)!r}; known: application, env, phase, success, min_trust")
    least = Trust(filters.pop("min_trust", Trust.OBSERVED)).rank
    application = filters.pop("application", None)

    def admits(one: Experience) -> bool:
        same = application is None or application_key(one.state.application) == application_key(application)
        named = {"env": one.state.env, "phase": one.state.phase, "success": one.outcome.success}
        wanted = all(value is None or named[name] == value for name, value in filters.items())
        return same and wanted and one.trust.rank >= least

    return admits


def _hit(one: Experience, state: State, now: datetime | None) -> Hit:
    alike, quality, fresh = similarity(state, one.state), outcome_quality(one.outcome), recency(one.created_at, now)
    parts = {"similarity": alike, "outcome_quality": quality, "recency": fresh}
    return Hit(experience=one, score=rank_score(alike, quality, fresh), ranked_by="structured", explanation=parts)


def _terms(value: Mapping[str, Any] | Sequence[str] | None) -> set[str]:
    """The parts of a field that can be shared: names with their values, or words."""
    if isinstance(value, Mapping):
        return {f"{key}={json.dumps(given, sort_keys=True)}" for key, given in value.items()}
    return {one.strip().casefold() for one in value or ()}


def recommend(
    experiences: Sequence[Experience], *, k_actions: int = 5, now: datetime | None = None
) -> list[ActionAdvice]:
    """Aggregate records by `strategy | skill | parameters` and rank the actions, best first, ties by signature.

    `success_rate` is over the trials somebody judged (0 when nobody did); `failure_patterns` are the most common
    reasons of failure.
    """
    if not isinstance(k_actions, int) or k_actions < 1:
        raise UsageError(f"k_actions must be at least 1, not {k_actions!r}")
    groups: dict[str, list[Experience]] = {}
    for experience in experiences:
        groups.setdefault(signature(experience), []).append(experience)
    advice = [_advice(name, group, now) for name, group in groups.items()]
    return sorted(advice, key=lambda one: (-one.action_score, one.signature))[:k_actions]


def signature(experience: Experience) -> str:
    """`strategy | skill | parameters`; a UI experience without a strategy is named by its steps."""
    action = experience.action
    strategy = action.strategy or " → ".join(f"{step.action_type}({step.target_control.name})" for step in action.steps)
    parameters = ", ".join(f"{key}={action.parameters[key]!r}" for key in sorted(action.parameters))
    return f"{strategy} | {action.skill} | {parameters}"


def _advice(name: str, group: Sequence[Experience], now: datetime | None) -> ActionAdvice:
    judged = [one.outcome.success for one in group if one.outcome.success is not None]
    rate = sum(judged) / len(judged) if judged else 0.0
    quality = math.fsum(outcome_quality(one.outcome) for one in group) / len(group)
    reasons = Counter(one.outcome.failure_reason for one in group if one.is_negative and one.outcome.failure_reason)
    last = max(filter(None, map(_last_success, group)), default=None)
    total = ACTION_WEIGHTS[0] * rate + ACTION_WEIGHTS[1] * quality + ACTION_WEIGHTS[2] * recency(last, now)
    patterns = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:_FAILURE_PATTERNS]
    return ActionAdvice(name, len(group), rate, quality, tuple(str(reason) for reason, _ in patterns), last, total)


def _last_success(one: Experience) -> datetime | None:
    """When it worked last: in its own run, or shown in a later one."""
    own = one.created_at if one.outcome.success else None
    return max(filter(None, (own, one.usage.last_success)), default=None)
