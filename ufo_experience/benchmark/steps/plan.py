"""What `bench steps` runs: which tasks are learned from which variants, and which held-back variants are tested.

Learning and testing never share a variant: values, names and the state at the start differ. Every fifth task of the
desktop, and its tasks of a single click, are never learned: for those memory has nothing to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ufo_experience.benchmark.steps.browser import Browser
from ufo_experience.benchmark.steps.desktop import Desktop
from ufo_experience.benchmark.steps.desktop.templates import templates
from ufo_experience.benchmark.steps.environment import Environment
from ufo_experience.benchmark.steps.miniwob import APPLICATION, MULTI_STEP, SINGLE_STEP, MiniWob
from ufo_experience.errors import UsageError

DESKTOP, MINIWOB = "desktop", "miniwob"
SIMILAR, CHANGED, UNRELATED, OWN, FAILED = "similar", "changed", "unrelated", "own", "failed"
ENVIRONMENTS = (MINIWOB, DESKTOP, "all")

_LEARNED = (2, 3)  # variants of the desktop; its pools hold about five values, so 7 and 8 would repeat them
_ROUND = 5
_LEARNED_MINIWOB = (100, 101)
_EACH = 5
_QUICK = 4  # of every so many tasks one is run


@dataclass(frozen=True)
class Case:
    """One variant of a task in one group of the report. `changed` is the seed of the changed UI, None for the plain."""

    group: str
    kind: str
    task: str
    seed: int
    changed: int | None = None

    @property
    def family(self) -> str:
        """The task in its environment, whatever the variant."""
        return f"{self.kind}/{self.task}"

    @property
    def application(self) -> str | None:
        """The application, where it is known before the task has begun."""
        return APPLICATION if self.kind == MINIWOB else None

    def environment(self, browser: Browser) -> Environment:
        """The environment, ready to be reset to `seed`."""
        if self.kind == MINIWOB:
            return MiniWob(self.task, browser)
        return Desktop(self.task, browser, changed=self.changed)


@dataclass(frozen=True)
class Plan:
    """`shown` are learned from demonstrations, `explored` from the agent's own runs, `own` from its runs into a memory
    apart; `tests` are run under all conditions of their group.
    """

    shown: tuple[Case, ...]
    explored: tuple[Case, ...]
    own: tuple[Case, ...]
    tests: tuple[Case, ...]

    def of(self, group: str) -> tuple[Case, ...]:
        """The tests of one group."""
        return tuple(one for one in self.tests if one.group == group)


def make_plan(environment: str = "all", seeds: int = 1, *, quick: bool = False) -> Plan:
    """Plan a run with `seeds` held-back variants of each task.

    Raises:
        UsageError: no such environment, or no seeds.
    """
    if environment not in ENVIRONMENTS:
        raise UsageError(f"unknown environment {environment!r}: use one of {', '.join(ENVIRONMENTS)}")
    if seeds < 1:
        raise UsageError("the number of seeds is at least 1")
    several = [name for name, one in templates().items() if not one.is_single]
    single = [name for name, one in templates().items() if one.is_single]
    learned = [name for at, name in enumerate(several) if at % _EACH]
    unknown = several[::_EACH]
    tasks: Sequence[str] = (*MULTI_STEP, *SINGLE_STEP)
    if quick:
        learned, unknown, tasks = learned[::_QUICK], unknown[::_QUICK], tasks[::_QUICK]
    if environment == MINIWOB:
        learned, unknown, single = [], [], []
    elif environment == DESKTOP:
        tasks = ()
    test = _test_seeds(seeds)
    similar = [Case(SIMILAR, DESKTOP, name, seed) for name in learned for seed in test]
    first = [one for one in similar if one.seed == test[0]]
    tests = [
        *similar,
        *(Case(SIMILAR, MINIWOB, name, seed) for name in tasks for seed in range(seeds)),
        *(replace(one, group=CHANGED, changed=one.seed) for one in similar),
        *(Case(UNRELATED, DESKTOP, name, seed) for name in (*unknown, *single) for seed in test),
        *(replace(one, group=OWN) for one in first),
        *(replace(one, group=FAILED) for one in first),
    ]
    return Plan(
        shown=tuple(Case(SIMILAR, DESKTOP, name, seed) for name in learned for seed in _LEARNED),
        explored=tuple(Case(SIMILAR, MINIWOB, name, seed) for name in tasks for seed in _LEARNED_MINIWOB),
        own=tuple(Case(OWN, DESKTOP, one.task, seed) for one in first for seed in _LEARNED),
        tests=tuple(tests),
    )


def _test_seeds(count: int) -> list[int]:
    """The first so many variants that share no round of values with the learned ones."""
    free = [seed for seed in range(3 * count + _ROUND) if seed % _ROUND not in _LEARNED]
    return free[:count]
