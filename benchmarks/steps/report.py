"""The results of `bench steps` as data: runs, and paired figures with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from benchmarks.retrieval.metrics import RESAMPLES, Estimate
from benchmarks.steps.conditions import ADVISE, OFF
from benchmarks.steps.episode import MAX_STEPS
from benchmarks.steps.episode_session import Outcome
from benchmarks.steps.plan import SIMILAR, Case
from ufo_experience.integrations.memory_article import MemoryComparison

Measure = Callable[[Outcome], float]


@dataclass(frozen=True)
class Run:
    """One session of the test."""

    case: Case
    condition: str
    outcome: Outcome


@dataclass(frozen=True)
class CurvePoint:
    """Mean steps and success over the similar tests when so many tasks have been learned."""

    tasks: int
    steps: float
    success: float


@dataclass(frozen=True)
class PracticePoint:
    """Means over the practised tasks of their run number `run`, with all runs before it in memory."""

    run: int
    calls: float
    steps: float
    success: float


@dataclass(frozen=True)
class Means:
    """Means over the runs of one condition.

    `steps` are actions; `tokens` those of prompts, `answer_tokens` of answers; `wrong` actions changed what the goal
    does not ask for and were not undone; `tidy` is the share of runs that reached the goal and changed nothing else.
    """

    calls: float
    steps: float
    tokens: float
    answer_tokens: float
    seconds: float
    wrong: float
    success: float
    tidy: float

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Means:
        """The means; NaN where there are no runs."""
        return cls(**{one.name: _mean([float(getattr(run, one.name)) for run in outcomes]) for one in fields(cls)})


@dataclass(frozen=True)
class Paired:
    """One condition against `off`, over the same tasks and variants.

    `fewer_calls`, `fewer_steps` and `fewer_tokens` are 1 - with / without, over the totals, with a 95 % interval over
    tasks; failed runs count with what they took. `solved` are steps over the pairs both of which reached the task.
    `at_equal_tokens` is the share of runs that reached the goal with no more tokens, both ways, than the run without
    memory took in all. `spread` are the least and the most of `fewer_calls` over the variants. `answered` is the
    share of runs in which the agent was shown anything, `followed` of those in which a guide went along a way; `errors`
    the number of runs that ended in an error. `fewer_to_goal` are actions until the goal was reached, where a run that
    did not reach it counts as the most a run may take.
    """

    group: str
    kind: str
    condition: str
    pairs: int
    off: Means
    on: Means
    fewer_calls: Estimate
    fewer_steps: Estimate
    fewer_tokens: Estimate
    solved: Estimate
    at_equal_tokens: float
    spread: tuple[float, float]
    answered: float
    followed: float
    fewer_to_goal: Estimate
    errors: int


@dataclass(frozen=True)
class StepReport:
    """Everything a run of the benchmark found. `rights` are the ids of the experiences of each learned task."""

    agent: str
    runs: tuple[Run, ...]
    families: Mapping[str, int]
    rights: Mapping[str, tuple[str, ...]]
    curve: tuple[CurvePoint, ...]
    practice: tuple[PracticePoint, ...]
    comparison: MemoryComparison | None
    seconds: float
    machine: str
    date: str
    embedder: str = "hashing"

    def paired(self) -> list[Paired]:
        """Each group and condition against `off`: per environment, and together where there are several."""
        found = []
        for group in dict.fromkeys(run.case.group for run in self.runs):
            runs = [run for run in self.runs if run.case.group == group]
            kinds = list(dict.fromkeys(run.case.kind for run in runs))
            for kind in [*kinds, *(["all"] if len(kinds) > 1 else [])]:
                chosen = [run for run in runs if kind in (run.case.kind, "all")]
                others = [one for one in dict.fromkeys(run.condition for run in chosen) if one != OFF]
                found += [compare(chosen, group, kind, one) for one in others]
        return found

    def retrieved_right(self) -> float | None:
        """Share of the similar tests under `advise` whose agent was shown an experience of the same task first."""
        asked = [run for run in self.runs if run.condition == ADVISE and run.case.family in self.rights]
        asked = [run for run in asked if run.case.group == SIMILAR]
        right = [
            bool(run.outcome.recalled) and run.outcome.recalled[0] in self.rights[run.case.family] for run in asked
        ]
        return sum(right) / len(right) if right else None

    def as_data(self) -> dict[str, Any]:
        """The report in its JSON form. Times and the machine stand apart: they alone differ between two runs."""
        comparison = self.comparison
        return {
            "agent": self.agent,
            "embedder": self.embedder,
            "learned": dict(self.families),
            "figures": [_without_times(asdict(one)) for one in self.paired()],
            "retrieved_right": self.retrieved_right(),
            "curve": [asdict(one) for one in self.curve],
            "practice": [asdict(one) for one in self.practice],
            "comparison": None
            if comparison is None
            else {
                "task": comparison.task,
                "without": dict(comparison.without_memory),
                "with": dict(comparison.with_memory),
                "step_reduction": comparison.step_reduction,
            },
            "runs": [_row(run) for run in self.runs],
            "times": {
                "date": self.date,
                "machine": self.machine,
                "seconds": self.seconds,
                "per_run": [run.outcome.seconds for run in self.runs],
            },
        }


def pair(runs: Sequence[Run], condition: str) -> list[tuple[Run, Run]]:
    """The runs of `off` and of `condition` on the same case, as pairs."""
    off = {run.case: run for run in runs if run.condition == OFF}
    return [(off[run.case], run) for run in runs if run.condition == condition and run.case in off]


def compare(runs: Sequence[Run], group: str, kind: str, condition: str) -> Paired:
    """The figures of one condition."""
    pairs = pair(runs, condition)
    solved = [(off, on) for off, on in pairs if off.outcome.success and on.outcome.success]
    off, on = ([two[place].outcome for two in pairs] for place in (0, 1))
    return Paired(
        group,
        kind,
        condition,
        len(pairs),
        Means.of(off),
        Means.of(on),
        reduction(pairs, lambda run: run.calls),
        reduction(pairs, lambda run: run.steps),
        reduction(pairs, _tokens),
        reduction(solved, lambda run: run.steps),
        _mean([_within(with_it, without) for without, with_it in zip(off, on, strict=True)]),
        _spread(pairs),
        _mean([bool(one.recalled) for one in on]),
        _mean([bool(one.followed) for one in on]),
        reduction(pairs, _to_goal),
        sum(one.error is not None for one in on),
    )


def reduction(pairs: Sequence[tuple[Run, Run]], measure: Measure, resamples: int = RESAMPLES) -> Estimate:
    """1 - with / without of a measure over all pairs, with a bootstrap interval.

    Tasks are drawn again, with all their variants, as variants of one task are no independent evidence.
    """
    families = list(dict.fromkeys(off.case.family for off, _ in pairs))
    if not families:
        return Estimate(float("nan"), float("nan"), float("nan"))
    totals = np.zeros((len(families), 2))
    for off, on in pairs:
        totals[families.index(off.case.family)] += (measure(off.outcome), measure(on.outcome))
    draws = np.random.default_rng(0).integers(0, len(families), (resamples, len(families)))
    low, high = np.quantile(_saved(totals[draws].sum(axis=1)), [0.025, 0.975])
    return Estimate(float(_saved(totals.sum(axis=0))), float(low), float(high))


def _saved(totals: Any) -> Any:
    """The share saved; 0 where there was nothing to do."""
    without = np.maximum(totals[..., 0], 1)
    return 1 - np.where(totals[..., 0] > 0, totals[..., 1], without) / without


def _tokens(outcome: Outcome) -> float:
    return outcome.tokens + outcome.answer_tokens


def _to_goal(outcome: Outcome) -> float:
    return outcome.steps if outcome.success else MAX_STEPS


def _within(on: Outcome, off: Outcome) -> bool:
    """True when the goal was reached, and kept, at no more tokens than the other run took in all."""
    return on.success and on.tokens_to_goal is not None and on.tokens_to_goal <= _tokens(off)


def _spread(pairs: Sequence[tuple[Run, Run]]) -> tuple[float, float]:
    """The least and the most calls saved over the variants; both are the whole's where there is one variant."""
    seeds = sorted({off.case.seed for off, _ in pairs})
    saved = []
    for seed in seeds:
        chosen = [two for two in pairs if two[0].case.seed == seed]
        totals = np.array([sum(two[place].outcome.calls for two in chosen) for place in (0, 1)], float)
        saved.append(float(_saved(totals)))
    return (min(saved), max(saved)) if saved else (float("nan"), float("nan"))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _without_times(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _without_times(value) if isinstance(value, dict) else value
        for name, value in figures.items()
        if not name.startswith("seconds")
    }


def _row(run: Run) -> dict[str, Any]:
    outcome = {
        key: value
        for key, value in asdict(run.outcome).items()
        if key not in ("seconds", "saved", "recalled", "followed")
    }
    return {
        **asdict(run.case),
        "condition": run.condition,
        **outcome,
        "shown": len(run.outcome.recalled),
        "followed": len(run.outcome.followed),
    }
