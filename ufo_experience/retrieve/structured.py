"""The structured ranker: advice from STATE → ACTION → OUTCOME records, with no embeddings.

The task must match exactly (on the canonical intent); what else the query state names is compared field by field:

    similarity   = Σ weight·overlap / Σ weight, over the fields present in the query state
    rank_score   = 0.55·similarity + 0.25·outcome_quality + 0.20·recency
    action_score = 0.60·success_rate + 0.25·avg_quality + 0.15·recency_of_last_success

It advises; the planner decides. Formulas are those of the experience-memory design this package implements; weights
of the fields, the half-life and the measure of quality are ours (see `FieldWeights`, `outcome_quality`, `recency`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.errors import UsageError
from ufo_experience.index.base import Filter
from ufo_experience.index.catalog import Catalog, key_hash
from ufo_experience.index.document import canonical_tasks, state_terms
from ufo_experience.schema import Experience, State, Trust

HALF_LIFE_DAYS = 30.0
RANK_WEIGHTS = (0.55, 0.25, 0.20)
ACTION_WEIGHTS = (0.60, 0.25, 0.15)
_DAY = 86_400.0
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FieldWeights:
    """What each field of the state is worth; only the fields a query state names count, so any scale will do."""

    env: float = 0.25
    phase: float = 0.15
    constraints: float = 0.20
    signals: float = 0.25
    tags: float = 0.15

    def __post_init__(self) -> None:
        values = list(asdict(self).values())
        if not all(np.isfinite(value) and value >= 0 for value in values) or not sum(values):
            raise UsageError(f"field weights must be finite, not negative, and not all zero: {self}")


@dataclass(frozen=True)
class Ranked:
    """Row numbers of a catalog, best first, with the parts of their score (all in [0, 1])."""

    rows: NDArray[np.int64]
    score: Floats
    similarity: Floats
    quality: Floats
    recency: Floats


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


def recency(age_seconds: Floats, half_life_days: float = HALF_LIFE_DAYS) -> Floats:
    """0.5^(age / half-life): 1 now, 0.5 after the half-life. A time in the future counts as now, NaN (never) as 0."""
    age = np.maximum(age_seconds, 0.0)
    return np.nan_to_num(np.power(0.5, age / (half_life_days * _DAY)), nan=0.0)


def outcome_quality(success: NDArray[Any], score: NDArray[Any]) -> Floats:
    """Quality in [0, 1]: 1 for success, 0.5 for unknown, 0 for failure; averaged with the score where there is one.

    `success` holds 1, 0 or -1 (unknown), `score` is NaN where there is none.
    """
    verdict = np.where(success < 0, 0.5, success).astype(np.float64)
    return np.where(np.isnan(score), verdict, (verdict + score) / 2)


def rank(
    catalog: Catalog,
    state: State,
    *,
    k: int = 10,
    min_similarity: float = 0.0,
    filters: Mapping[str, Any] | None = None,
    weights: FieldWeights | None = None,
    now: datetime | None = None,
) -> Ranked:
    """Rank the records whose task is that of `state`; best first, ties by salience, then id.

    `filters` may name application, env, phase, success, min_trust; they are exact. Records that are quarantined do
    not take part.

    Raises:
        UsageError: an unknown filter, or a number that makes no sense.
    """
    if not (isinstance(k, int) and isinstance(min_similarity, (int, float)) and k > 0 and 0 <= min_similarity <= 1):
        raise UsageError(f"k must be at least 1 and min_similarity in [0, 1], not {k} and {min_similarity}")
    rows = _same_task(catalog, state, dict(filters or {}))
    similarity = _similarity(catalog, state, rows, weights or FieldWeights())
    rows, similarity = rows[similarity >= min_similarity], similarity[similarity >= min_similarity]
    quality = outcome_quality(catalog.column("success")[rows], catalog.column("score")[rows])
    fresh = recency(_timestamp(now) - catalog.column("created")[rows])
    score = RANK_WEIGHTS[0] * similarity + RANK_WEIGHTS[1] * quality + RANK_WEIGHTS[2] * fresh
    best = _top(score, catalog.column("salience")[rows], catalog.column("id")[rows], k)
    return Ranked(rows[best], score[best], similarity[best], quality[best], fresh[best])


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
    advice = [_advice(name, group, _timestamp(now)) for name, group in groups.items()]
    return sorted(advice, key=lambda one: (-one.action_score, one.signature))[:k_actions]


def signature(experience: Experience) -> str:
    """`strategy | skill | parameters`; a UI experience without a strategy is named by its steps."""
    action = experience.action
    strategy = action.strategy or " → ".join(f"{step.action_type}({step.target_control.name})" for step in action.steps)
    parameters = ", ".join(f"{key}={action.parameters[key]!r}" for key in sorted(action.parameters))
    return f"{strategy} | {action.skill} | {parameters}"


def _same_task(catalog: Catalog, state: State, filters: dict[str, Any]) -> NDArray[np.int64]:
    phase = filters.pop("phase", None)
    min_trust = Trust(filters.pop("min_trust", Trust.OBSERVED)).rank
    unknown = set(filters) - {"application", "env", "success"}
    if unknown:
        raise UsageError(f"unknown filter {sorted(unknown)[0]!r}; known: application, env, phase, success, min_trust")
    tasks = [np.uint64(key_hash(task)) for task in canonical_tasks(state.task)]
    mask = np.isin(catalog.column("task"), tasks) & catalog.mask(
        Filter(min_trust=min_trust, min_trust_imported=min_trust, **filters)
    )
    if phase is not None:
        mask &= catalog.column("phase") == key_hash(phase)
    return np.flatnonzero(mask)


def _similarity(catalog: Catalog, state: State, rows: NDArray[np.int64], weights: FieldWeights) -> Floats:
    """Weighted overlap with each row; 1 for all when the query state names nothing but its task."""
    total = np.zeros(len(rows))
    present = 0.0
    for name, value in (("env", state.env), ("phase", state.phase)):
        if value is not None:
            weight = getattr(weights, name)
            total += weight * (catalog.column(name)[rows] == key_hash(value))
            present += weight
    for name, terms in state_terms(state).items():
        weight = getattr(weights, name)
        if terms and weight:
            shared = np.zeros(len(catalog.rows))
            for rows_with, _ in catalog.postings(terms):
                shared[rows_with] += 1.0
            total += weight * shared[rows] / len(terms)
            present += weight
    return total / present if present else np.ones(len(rows))


def _top(score: Floats, salience: NDArray[Any], ids: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Places of the k best: by score, then salience, then id; no full sort of a large set."""
    places = np.arange(len(score))
    if len(score) > 4 * k:
        edge = np.partition(score, -k)[-k]
        places = np.flatnonzero(score >= edge)
    return places[np.lexsort((ids[places], -salience[places], -score[places]))][:k]


def _advice(name: str, group: Sequence[Experience], now: float) -> ActionAdvice:
    success = np.array([-1 if one.outcome.success is None else int(one.outcome.success) for one in group])
    score = np.array([np.nan if one.outcome.score is None else one.outcome.score for one in group])
    judged = success >= 0
    rate = float((success[judged] == 1).mean()) if judged.any() else 0.0
    quality = float(outcome_quality(success, score).mean())
    reasons = Counter(one.outcome.failure_reason for one in group if one.is_negative and one.outcome.failure_reason)
    last = max(filter(None, map(_last_success, group)), default=None)
    fresh = float(recency(np.array([now - last.timestamp()]))[0]) if last else 0.0
    total = ACTION_WEIGHTS[0] * rate + ACTION_WEIGHTS[1] * quality + ACTION_WEIGHTS[2] * fresh
    patterns = tuple(str(reason) for reason, _ in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:3])
    return ActionAdvice(name, len(group), rate, quality, patterns, last, total)


def _last_success(one: Experience) -> datetime | None:
    """When it worked last: in its own run, or injected into a later one."""
    own = one.created_at if one.outcome.success else None
    return max(filter(None, (own, one.usage.last_success)), default=None)


def _timestamp(now: datetime | None) -> float:
    return (now or datetime.now(timezone.utc)).timestamp()
