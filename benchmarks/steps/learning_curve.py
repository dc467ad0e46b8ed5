"""The learning curve: how many steps the similar tests take when only the first so many tasks have been learned."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.steps.conditions import ADVISE, OFF, Learned, ReadOnly
from benchmarks.steps.episode_session import Outcome
from benchmarks.steps.plan import Case
from benchmarks.steps.report import CurvePoint, Run
from ufo_experience.memory import ExperienceMemory

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)

RunCase = Callable[[Case, ExperienceMemory, str], Outcome]
Each = Callable[[Callable[[Case], Outcome], Iterable[Case]], list[Outcome]]


@dataclass(frozen=True)
class _Stage:
    """What is known after so many tasks."""

    tasks: int
    known: frozenset[str]


def learning_curve(
    cases: Sequence[Case], runs: Sequence[Run], learned: Learned, run: RunCase, each: Each
) -> list[CurvePoint]:
    """One point per share of the learned tasks, which come in a fixed random order.

    An agent that is shown the same as in an earlier run takes the same steps: such runs are not repeated.
    """
    before = {(one.case, one.condition): one.outcome for one in runs}
    order = random.Random(0).sample(sorted(learned.families), len(learned.families))
    points = []
    for tasks in sorted({round(share * len(order)) for share in SHARES}):
        stage = _Stage(tasks, frozenset(one for family in order[:tasks] for one in learned.families[family]))

        def outcome(case: Case, stage: _Stage = stage) -> Outcome:
            return _known(case, stage, before) or run(
                case, ReadOnly(learned.memory, stage.known), f"curve-{stage.tasks}"
            )

        found = each(outcome, cases)
        if found:
            steps = sum(one.steps for one in found) / len(found)
            points.append(CurvePoint(tasks, steps, sum(one.success for one in found) / len(found)))
    return points


def _known(case: Case, stage: _Stage, before: dict[tuple[Case, str], Outcome]) -> Outcome | None:
    """The outcome of an earlier run in which the agent was shown the same; None if there was none."""
    if not stage.tasks:
        return before.get((case, OFF))
    advised = before.get((case, ADVISE))
    return advised if advised is not None and stage.known.issuperset(advised.recalled) else None
