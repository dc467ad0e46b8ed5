"""The results of `bench steps` as data: runs, and paired figures with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ufo_experience.benchmark.retrieval.metrics import RESAMPLES, Estimate
from ufo_experience.benchmark.steps.conditions import OFF, ON
from ufo_experience.benchmark.steps.episode_session import Outcome
from ufo_experience.benchmark.steps.plan import Case
from ufo_experience.integrations.memory_article import MemoryComparison


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
class Paired:
    """One condition against `off`, over the same tasks and variants.

    `reduction` is 1 - steps with / steps without, over the totals, with a 95 % interval over tasks; failed runs count
    with the steps they took. `solved` is the same over the pairs both of which reached the task.
    """

    group: str
    kind: str
    condition: str
    pairs: int
    steps_off: float
    steps: float
    success_off: float
    success: float
    tokens_off: float
    tokens: float
    seconds_off: float
    seconds: float
    reduction: Estimate
    solved: Estimate
    answered: float


@dataclass(frozen=True)
class StepReport:
    """Everything `bench steps` found out. `rights` are the experiences of each task, `families` how many they are."""

    agent: str
    runs: tuple[Run, ...]
    families: Mapping[str, int]
    rights: Mapping[str, tuple[str, ...]]
    curve: tuple[CurvePoint, ...]
    comparison: MemoryComparison | None
    seconds: float
    machine: str
    date: str

    def paired(self) -> list[Paired]:
        """Each group and condition against `off`: per environment, and together where there are both."""
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
        """Share of the similar tests under `on` whose agent was shown an experience of the same task first."""
        asked = [run for run in self.runs if run.condition == ON and run.case.family in self.rights]
        asked = [run for run in asked if run.case.group == "similar"]
        right = [
            bool(run.outcome.recalled) and run.outcome.recalled[0] in self.rights[run.case.family] for run in asked
        ]
        return sum(right) / len(right) if right else None

    def as_data(self) -> dict[str, Any]:
        """The report in its JSON form. Times and the machine stand apart: they alone differ between two runs."""
        comparison = self.comparison
        return {
            "agent": self.agent,
            "learned": dict(self.families),
            "figures": [_without_times(asdict(one)) for one in self.paired()],
            "retrieved_right": self.retrieved_right(),
            "curve": [asdict(one) for one in self.curve],
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
        _mean([one.steps for one in off]),
        _mean([one.steps for one in on]),
        _mean([one.success for one in off]),
        _mean([one.success for one in on]),
        _mean([one.tokens for one in off]),
        _mean([one.tokens for one in on]),
        _mean([one.seconds for one in off]),
        _mean([one.seconds for one in on]),
        reduction(pairs),
        reduction(solved),
        _mean([bool(one.recalled) for one in on]),
    )


def reduction(pairs: Sequence[tuple[Run, Run]], resamples: int = RESAMPLES) -> Estimate:
    """1 - steps with / steps without over all pairs, with a bootstrap interval.

    Tasks are drawn again, with all their variants, as variants of one task are no independent evidence.
    """
    families = list(dict.fromkeys(off.case.family for off, _ in pairs))
    if not families:
        return Estimate(float("nan"), float("nan"), float("nan"))
    totals = np.zeros((len(families), 2))
    for off, on in pairs:
        totals[families.index(off.case.family)] += (off.outcome.steps, on.outcome.steps)
    draws = np.random.default_rng(0).integers(0, len(families), (resamples, len(families)))
    low, high = np.quantile(_saved(totals[draws].sum(axis=1)), [0.025, 0.975])
    return Estimate(float(_saved(totals.sum(axis=0))), float(low), float(high))


def _saved(totals: Any) -> Any:
    """The share saved; 0 where there was nothing to do."""
    without = np.maximum(totals[..., 0], 1)
    return 1 - np.where(totals[..., 0] > 0, totals[..., 1], without) / without


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _without_times(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if not name.startswith("seconds")}


def _row(run: Run) -> dict[str, Any]:
    outcome = {key: value for key, value in asdict(run.outcome).items() if key not in ("seconds", "saved", "recalled")}
    return {**asdict(run.case), "condition": run.condition, **outcome, "shown": len(run.outcome.recalled)}
