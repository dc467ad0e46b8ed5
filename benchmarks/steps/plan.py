"""What `bench steps` runs: which tasks are learned from which variants, and which held-back variants are tested.

Learning and testing never share a variant: for up to four seeds no value of a slot recurs, and the start differs.
Every fifth task of the desktop, and its tasks of a single click, are never learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.steps.browser import Browser
from benchmarks.steps.desktop import Desktop
from benchmarks.steps.desktop.templates import templates
from benchmarks.steps.environment import Environment
from benchmarks.steps.erp import Erp
from benchmarks.steps.miniwob import APPLICATION, MULTI_STEP, SINGLE_STEP, MiniWob
from benchmarks.steps.web import WebTask, web_families
from ufo_experience.errors import UsageError

DESKTOP, ERP, WEB, MINIWOB = "desktop", "erp", "web", "miniwob"
ENVIRONMENTS = (MINIWOB, DESKTOP, ERP, WEB, "all")  # all but the web, which needs an extra

# Groups of tests, in the order of the report.
SIMILAR, REWORDED_A, REWORDED_B, REWORDED_C = "similar", "reworded-a", "reworded-b", "reworded-c"
CHANGED = "changed"
NEVER, UNRELATED, SHOWN, MENDED, FAILED = "never", "unrelated", "shown", "mended", "failed"
GROUPS = (SIMILAR, REWORDED_A, REWORDED_B, REWORDED_C, CHANGED, NEVER, UNRELATED, SHOWN, MENDED, FAILED)

# Memories: what the agent did by itself, what it was shown, its failures that somebody brought to a good end.
OWN, DEMONSTRATED, REPAIRED = "own", "demonstrated", "repaired"

_LEARNED = (2, 3)  # variants of the desktop; its pools hold about five values, so 7 and 8 would repeat them
_ROUND = 5
_LEARNED_MINIWOB = (100, 101)
_EACH = 5
_QUICK = 4  # of every so many tasks one is run
PRACTICE = (2, 3, 0, 1, 4)  # variants of one task, one after the other


@dataclass(frozen=True)
class Case:
    """One variant of a task in one group of the report.

    `changed` is the seed of the changed UI, None for the plain; `wording` names the author in whose words the goal
    is put, "" for the words of the task file.
    """

    group: str
    kind: str
    task: str
    seed: int
    changed: int | None = None
    wording: str = ""

    @property
    def family(self) -> str:
        """The task in its environment, whatever the variant."""
        return f"{self.kind}/{self.task}"

    @property
    def trial(self) -> Case:
        """The same variant, whatever the group: without memory it is the same run."""
        return replace(self, group="")

    @property
    def application(self) -> str | None:
        """The application, where it is known before the task has begun."""
        return APPLICATION if self.kind == MINIWOB else None

    def environment(self, browser: Browser) -> Environment:
        """The environment, ready to be reset to `seed`."""
        if self.kind == MINIWOB:
            return MiniWob(self.task, browser)
        if self.kind == ERP:
            return Erp(self.task, browser)
        if self.kind == WEB:
            return WebTask(self.task, browser)
        return Desktop(self.task, browser, changed=self.changed, wording=self.wording)

    @property
    def way(self) -> tuple[str, ...]:
        """One shortest way, for tasks of our own applications.

        Raises:
            UsageError: it is no task of those.
        """
        families = Erp.families() if self.kind == ERP else templates()
        if self.task not in families:
            raise UsageError(f"no way of {self.family} is known")
        return families[self.task].variant(self.seed).way


@dataclass(frozen=True)
class Plan:
    """`lessons` are what each memory is made of, `tests` what is run under all conditions of its group, `practice`
    the tasks that are tried again and again with a memory that grows.
    """

    lessons: Mapping[str, tuple[Case, ...]]
    tests: tuple[Case, ...]
    practice: tuple[str, ...] = ()

    def of(self, group: str) -> tuple[Case, ...]:
        """The tests of one group."""
        return tuple(one for one in self.tests if one.group == group)

    def only(self, groups: Sequence[str] = (), tasks: Sequence[str] = ()) -> Plan:
        """The part of the plan that concerns these groups and tasks; all where none are named.

        Raises:
            UsageError: the plan has no such group or task.
        """
        _check("group", groups, {one.group for one in self.tests})
        _check("task", tasks, {one.task for one in self.tests})
        tests = tuple(one for one in self.tests if one.group in (groups or GROUPS) and (not tasks or one.task in tasks))
        lessons = {
            name: cases for name, cases in self.lessons.items() if any(name == MEMORY_OF[one.group] for one in tests)
        }
        return Plan(lessons, tests, self.practice if not groups and not tasks else ())


# The memory each group is tested with.
MEMORY_OF: Mapping[str, str] = {
    **dict.fromkeys((SIMILAR, REWORDED_A, REWORDED_B, REWORDED_C, CHANGED, NEVER, UNRELATED, FAILED), OWN),
    SHOWN: DEMONSTRATED,
    MENDED: REPAIRED,
}


@dataclass(frozen=True)
class _Tasks:
    """The tasks of a plan by what is done with them."""

    learned: Sequence[str] = ()
    sisters: Sequence[str] = ()
    miniwob: Sequence[str] = ()
    erp: Sequence[str] = ()
    web: Sequence[str] = ()
    test: Sequence[int] = field(default=(0,))

    @property
    def desktop(self) -> list[Case]:
        """The learned tasks of the desktop in their held-back variants."""
        return [Case(SIMILAR, DESKTOP, name, seed) for name in self.learned for seed in self.test]

    def learn(self, group: str) -> tuple[Case, ...]:
        """The learned tasks of the desktop in the variants they are learned from."""
        return tuple(Case(group, DESKTOP, name, seed) for name in self.learned for seed in _LEARNED)

    def hidden(self, seeds: Sequence[int]) -> tuple[Case, ...]:
        """Tasks of the enterprise and the web applications; they are learned from demonstrations only."""
        names = [*((ERP, name) for name in self.erp), *((WEB, name) for name in self.web)]
        return tuple(Case(SHOWN, kind, name, seed) for kind, name in names for seed in seeds)


def make_plan(environment: str = "all", seeds: int = 1, *, quick: bool = False) -> Plan:
    """Plan a run with `seeds` held-back variants of each task.

    Raises:
        UsageError: no such environment, or no seeds.
    """
    if environment not in ENVIRONMENTS:
        raise UsageError(f"unknown environment {environment!r}: use one of {', '.join(ENVIRONMENTS)}")
    if seeds < 1:
        raise UsageError("the number of seeds is at least 1")
    tasks = _choose(environment, seeds, quick)
    desktop = tasks.desktop
    first = [one for one in desktop if one.seed == tasks.test[0]]
    miniwob = [Case(SIMILAR, MINIWOB, name, seed) for name in tasks.miniwob for seed in range(seeds)]
    tests = [
        *desktop,
        *miniwob,
        *(replace(one, group=REWORDED_A, wording="a") for one in desktop),
        *(replace(one, group=REWORDED_B, wording="b") for one in desktop),
        *(replace(one, group=REWORDED_C, wording="c") for one in desktop),
        *(replace(one, group=CHANGED, changed=one.seed) for one in desktop),
        *(Case(NEVER, DESKTOP, name, seed) for name in tasks.sisters for seed in tasks.test),
        *(replace(one, group=UNRELATED) for one in miniwob),
        *(replace(one, group=SHOWN) for one in first),
        *tasks.hidden(tasks.test),
        *(replace(one, group=MENDED) for one in first),
        *(replace(one, group=FAILED) for one in first),
    ]
    explored = tuple(Case(SIMILAR, MINIWOB, name, seed) for name in tasks.miniwob for seed in _LEARNED_MINIWOB)
    lessons = {
        OWN: (*tasks.learn(SIMILAR), *explored),
        DEMONSTRATED: (*tasks.learn(SHOWN), *tasks.hidden(_LEARNED)),
        REPAIRED: tasks.learn(MENDED),
    }
    return Plan(lessons, tuple(tests), tuple(tasks.learned[:: 1 if quick else _QUICK]))


def _choose(environment: str, seeds: int, quick: bool) -> _Tasks:
    several = [name for name, one in templates().items() if not one.is_single]
    single = [name for name, one in templates().items() if one.is_single]
    learned = [name for at, name in enumerate(several) if at % _EACH]
    sisters = several[::_EACH]
    miniwob = [*MULTI_STEP, *SINGLE_STEP]
    if quick:
        learned, sisters, miniwob = learned[::_QUICK], sisters[::_QUICK], miniwob[::_QUICK]
    erp = [*Erp.families()][:: _QUICK if quick else 1]
    tasks = _Tasks(learned, [*sisters, *single], miniwob, erp, test=_test_seeds(seeds))
    if environment == MINIWOB:
        return replace(tasks, learned=(), sisters=(), erp=())
    if environment == ERP:
        return replace(tasks, learned=(), sisters=(), miniwob=())
    if environment == WEB:
        by_row = ("canaille/", "fab/", "helpdesk/", "oscar/", "roundup/")  # whose ways name rows
        plain = [name for name in web_families() if not name.startswith(by_row)]
        web = plain[:: _QUICK if quick else 1]
        return _Tasks(web=web, test=_test_seeds(seeds))
    return replace(tasks, miniwob=(), erp=()) if environment == DESKTOP else tasks


def _test_seeds(count: int) -> list[int]:
    """The first so many variants that share no round of values with the learned ones."""
    free = [seed for seed in range(3 * count + _ROUND) if seed % _ROUND not in _LEARNED]
    return free[:count]


def _check(what: str, named: Sequence[str], known: set[str]) -> None:
    unknown = [one for one in named if one not in known]
    if unknown:
        raise UsageError(f"the plan has no {what} {unknown[0]!r}: it has {', '.join(sorted(known))}")
