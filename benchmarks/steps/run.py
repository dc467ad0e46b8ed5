"""`bench steps`: what is memory worth to an agent? The same tasks with and without, through real sessions.

    learn: own runs, demonstrations ──▶ session logs ──▶ read, redact, summarize, store, index
    test:  held-back variants × conditions ──▶ model calls, actions, tokens, time, success ──▶ paired figures

The tests of a plan run side by side in a browser each; their figures, but for times, do not depend on that.
"""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TypeVar

from benchmarks.steps import child_processes
from benchmarks.steps.agent_registry import RULE_BASED
from benchmarks.steps.agents import Demonstrator, Rescued, explorer_agent
from benchmarks.steps.browser import Browser
from benchmarks.steps.conditions import (
    ADVISE,
    AHEAD,
    BM25,
    CONDITIONS,
    FIRST,
    LABELS,
    MODES,
    OFF,
    ORACLE,
    RANDOM,
    RANDOM_AHEAD,
    RANDOM_REPLAY,
    RAW,
    REPLAY,
    Learned,
    calibrated,
)
from benchmarks.steps.desktop import Desktop, solve
from benchmarks.steps.episode import MAX_STEPS
from benchmarks.steps.episode_session import Outcome, log_folder, run_session
from benchmarks.steps.learning_curve import learning_curve
from benchmarks.steps.plan import (
    CHANGED,
    DEMONSTRATED,
    DESKTOP,
    FAILED,
    MEMORY_OF,
    MENDED,
    MINIWOB,
    NEVER,
    PRACTICE,
    REPAIRED,
    REWORDED_A,
    REWORDED_B,
    REWORDED_C,
    SHOWN,
    SIMILAR,
    UNRELATED,
    Case,
    Plan,
)
from benchmarks.steps.report import PracticePoint, Run, StepReport
from benchmarks.steps.web import WebTask
from benchmarks.steps.workplace import MakeAgent
from ufo_experience.errors import UsageError
from ufo_experience.integrations.memory_article import MemoryComparison, compare_with_without_memory
from ufo_experience.memory import ExperienceMemory
from ufo_experience.session import RecallMode, RecoveryPolicy

T = TypeVar("T")
Progress = Callable[[int, int], None]

_USES, _WRONG, _BASELINES = (ADVISE, AHEAD, REPLAY), (RANDOM, RANDOM_AHEAD, RANDOM_REPLAY), (BM25, RAW, FIRST)
# Which conditions each group is run under.
GROUP_CONDITIONS: Mapping[str, tuple[str, ...]] = {
    SIMILAR: (OFF, *_USES, LABELS, *_WRONG, ORACLE, *_BASELINES),
    REWORDED_A: (OFF, *_USES, LABELS, *_BASELINES),
    REWORDED_B: (OFF, *_USES, LABELS, *_BASELINES),
    REWORDED_C: (OFF, *_USES, LABELS, *_BASELINES),
    CHANGED: (OFF, *_USES),
    NEVER: (OFF, *_USES, LABELS, BM25),
    UNRELATED: (OFF, *_USES, LABELS, BM25),
    SHOWN: (OFF, *_USES, ORACLE),
    MENDED: (OFF, *_USES),
    FAILED: (OFF, ADVISE),
}
_LEAST_ATTEMPT = 2
_MENDED_AFTER = 8  # actions of the explorer before somebody takes over


@dataclass(frozen=True)
class Bench:
    """What all runs share: the agent, who teaches, the folder of logs, the browsers."""

    make_agent: MakeAgent
    root: Path
    browsers: Browsers
    demonstrated: bool = False
    agent_timeout: float = RecoveryPolicy.agent_timeout
    embedder: str = "hashing"

    def run(
        self,
        case: Case,
        memory: ExperienceMemory | None,
        label: str,
        *,
        make_agent: MakeAgent | None = None,
        max_steps: int = MAX_STEPS,
        save: bool = False,
        mode: RecallMode = "advise",
    ) -> Outcome:
        """One session on a case; its log goes below the folder `label`. In `replay` every way is taken for proven."""
        return run_session(
            case.environment(self.browsers.mine()),
            case.seed,
            memory,
            self.root / label,
            application=case.application,
            make_agent=make_agent or self.make_agent,
            max_steps=max_steps,
            save="always" if save else "always_not",
            agent_timeout=self.agent_timeout,
            recall=mode,
            replay_after=0,
        )

    def learn(self, name: str, cases: Sequence[Case]) -> Learned:
        """Record sessions, then make a memory of their logs."""
        label = f"learn-{name}"
        outcomes: dict[Case, Outcome] = {}
        for seed in sorted({one.seed for one in cases}):  # variants in turn: of equals the newest is shown
            wave = [one for one in cases if one.seed == seed]
            ran = self.each(lambda case: self.run(case, None, label, make_agent=self.teacher(name, case)), wave)
            outcomes |= zip(wave, ran, strict=True)
        folders = {log_folder(one.family, one.seed): one.family for one in cases}
        learned = self.remember(name, folders, failures=False)
        # Tasks of MiniWoB++ overlap (four kinds of forwarding a mail): they do not tell what is another task.
        goals = [(case.family, outcomes[case].goal) for case in cases if case.kind != MINIWOB]
        return replace(learned, calibrated=calibrated(learned, goals, self.root / f"labels-{name}", self.embedder))

    def remember(self, name: str, folders: Mapping[str, str], *, failures: bool) -> Learned:
        """The memory of everything recorded under `learn-NAME`."""
        memory = ExperienceMemory.open(self.root / f"db-{name}", embedder=self.embedder)
        if folders:
            memory.ingest(self.root / f"learn-{name}", include_failures=failures)
        return Learned.of(memory, folders)

    def each(self, work: Callable[[T], Result], things: Iterable[T]) -> list[Result]:
        """Do something with each thing, side by side; results in the order of the things."""
        return list(self.browsers.pool.map(work, things))

    def teacher(self, memory: str, case: Case) -> MakeAgent:
        """Who makes the runs a memory learns from."""
        if case.kind == MINIWOB:
            return explorer_agent if self.demonstrated else self.make_agent
        if memory == REPAIRED:
            return partial(Rescued, attempts=_MENDED_AFTER, way=case.way)
        return self._shown(case) if memory == DEMONSTRATED or self.demonstrated else self.make_agent

    def _shown(self, case: Case) -> MakeAgent:
        """Somebody who knows the way of a task of an application."""
        application = case.environment(self.browsers.mine())
        if isinstance(application, Desktop):
            commands = [command for _, command, _ in solve(application, case.seed)]
        elif isinstance(application, WebTask):
            commands = [*application.demonstrate(case.seed)]
        else:
            raise UsageError(f"nobody can show {case.family}")
        return partial(Demonstrator, commands=commands)


Result = TypeVar("Result")


class Browsers:
    """A pool of threads, and one browser for each of them."""

    def __init__(self, count: int, closing: ExitStack) -> None:
        self.pool = ThreadPoolExecutor(count, thread_name_prefix="bench")
        self._closing, self._own, self._lock = closing, threading.local(), threading.Lock()
        closing.callback(self.pool.shutdown, cancel_futures=True)
        closing.push(_end_children)

    def mine(self) -> Browser:
        """The browser of this thread."""
        if not hasattr(self._own, "browser"):
            with self._lock:
                self._own.browser = self._closing.enter_context(Browser())
        browser: Browser = self._own.browser
        return browser


def _end_children(kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
    """When the bench is stopped, nothing waits for an answer any more."""
    if kind is not None:
        child_processes.end_all()


def run_steps(
    plan: Plan,
    *,
    make_agent: MakeAgent = explorer_agent,
    agent: str = RULE_BASED,
    conditions: Sequence[str] = (),
    demonstrated: bool = False,
    agent_timeout: float = RecoveryPolicy.agent_timeout,
    folder: Path | None = None,
    jobs: int = 2,
    embedder: str = "hashing",
    progress: Progress = lambda done, total: None,
) -> StepReport:
    """Run a plan.

    Args:
        make_agent: makes the agent of one episode from its workplace: any agent of the `Agent` protocol.
        agent: what to call it in the report.
        conditions: only these of each group's, and `off`; all when empty.
        demonstrated: whether memories are made of demonstrations (MiniWoB++: of the explorer's runs) instead of the
            agent's own runs.
        agent_timeout: seconds an agent may take for one decision.
        folder: where logs and stores are kept; None for a folder that is removed.
        jobs: how many browsers run at a time.
        embedder: what finds the experiences; see `open_embedder`.
        progress: called with the number of tests done and of all tests.

    Raises:
        UsageError: an unknown condition.
        ServiceError: there is no browser.
        ServiceError: the extra `bench` is not installed.
    """
    chosen = _conditions(conditions)
    started = time.perf_counter()
    with child_processes.stop_on_sigterm(), _folder_and_browsers(folder, jobs) as (root, browsers):
        bench = Bench(make_agent, root, browsers, demonstrated, agent_timeout, embedder)
        memories = {name: bench.learn(name, cases) for name, cases in plan.lessons.items()}
        tests = _Tests(bench, memories, chosen, _Counter(sum(len(chosen[one.group]) for one in plan.tests), progress))
        runs = [run for found in bench.each(tests.run, plan.tests) for run in found]
        main = memories.get(MEMORY_OF[SIMILAR])
        whole = main is not None and not conditions
        return StepReport(
            agent=agent,
            runs=tuple(runs),
            families={name: len(ids) for one in memories.values() for name, ids in one.families.items()},
            rights={} if main is None else main.families,
            curve=tuple(learning_curve(plan.of(SIMILAR), runs, main, bench.run, bench.each)) if main and whole else (),
            practice=_practice(bench, plan.practice) if whole else (),
            comparison=_comparison(bench, runs, main) if main and whole else None,
            seconds=time.perf_counter() - started,
            machine=f"{platform.machine()}, Python {platform.python_version()}, {platform.system()}",
            date=date.today().isoformat(),
            embedder=_without_folder(embedder),
        )


def _without_folder(spec: str) -> str:
    """The spec of an embedder without the path of a model's folder: a report says nothing of the machine."""
    provider, colon, model = spec.partition(":")
    return f"{provider}{colon}{Path(model).name}"


def _temporary_folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="ufo-experience-", ignore_cleanup_errors=True)


@contextmanager
def _folder_and_browsers(folder: Path | None, jobs: int) -> Iterator[tuple[Path, Browsers]]:
    with ExitStack() as closing:
        root = folder or Path(closing.enter_context(_temporary_folder()))
        yield root, Browsers(jobs, closing)


def _conditions(named: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    unknown = [one for one in named if one not in CONDITIONS]
    if unknown:
        raise UsageError(f"unknown condition {unknown[0]!r}: use some of {', '.join(CONDITIONS)}")
    if not named:
        return GROUP_CONDITIONS
    wanted = (OFF, *(one for one in CONDITIONS if one in named and one != OFF))
    return dict.fromkeys(GROUP_CONDITIONS, wanted)


class _Tests:
    """Runs the tests of a plan. What is run without memory is run once, whatever groups it is in."""

    def __init__(
        self, bench: Bench, memories: Mapping[str, Learned], conditions: Mapping[str, tuple[str, ...]], done: _Counter
    ) -> None:
        self._bench, self._memories, self._conditions, self._done = bench, memories, conditions, done
        self._off: dict[Case, Outcome] = {}
        self._locks: dict[Case, threading.Lock] = {}

    def run(self, case: Case) -> list[Run]:
        """A case under all conditions of its group."""
        if case.group == FAILED:
            return self._after_failure(case)
        learned = self._memory(case)
        return [self._one(case, condition, learned) for condition in self._conditions[case.group]]

    def _memory(self, case: Case) -> Learned:
        """The memory of the group; what is unrelated has not learned that environment."""
        learned = self._memories[MEMORY_OF[case.group]]
        return learned if case.group != UNRELATED else learned.without(case.kind)

    def _one(self, case: Case, condition: str, learned: Learned) -> Run:
        if condition == OFF:
            outcome = self._without(case)
        else:
            memory, mode = CONDITIONS[condition](learned, case), MODES.get(condition, "advise")
            outcome = self._bench.run(case, memory, f"{case.group}-{condition}", mode=mode)
        self._done.one()
        return Run(case, condition, outcome)

    def _without(self, case: Case) -> Outcome:
        with self._locks.setdefault(case.trial, threading.Lock()):
            if case.trial not in self._off:
                self._off[case.trial] = self._bench.run(case, None, OFF)
            return self._off[case.trial]

    def _after_failure(self, case: Case) -> list[Run]:
        """An attempt that is cut off after three quarters of its way is a failure; the next knows what did not work."""
        off = self._without(case)
        name = f"{FAILED}-{case.task}"
        limit = max(_LEAST_ATTEMPT, off.steps * 3 // 4)
        self._bench.run(case, None, f"learn-{name}", max_steps=limit)
        learned = self._bench.remember(name, {log_folder(case.family, case.seed): case.family}, failures=True)
        self._done.one()
        return [Run(case, OFF, off), self._one(case, ADVISE, learned)]


def _practice(bench: Bench, tasks: Sequence[str]) -> tuple[PracticePoint, ...]:
    """Each task again and again, in other variants, with a memory that keeps and credits every run."""

    def runs_of(task: str) -> list[Outcome]:
        memory = ExperienceMemory.open(bench.root / f"db-practice-{task}", embedder=bench.embedder)
        cases = [Case("practice", DESKTOP, task, seed) for seed in PRACTICE]
        return [bench.run(case, memory, f"practice-{task}", save=True) for case in cases]

    found = list(zip(*bench.each(runs_of, tasks), strict=True))
    return tuple(
        PracticePoint(number, *(sum(getattr(run, what) for run in runs) / len(runs) for what in _PRACTISED))
        for number, runs in enumerate(found, 1)
    )


_PRACTISED = ("calls", "steps", "success")


def _comparison(bench: Bench, runs: Sequence[Run], learned: Learned) -> MemoryComparison | None:
    """The comparison of UFO's article, on the similar task that takes a middling number of steps without memory."""
    off = sorted(
        (run for run in runs if run.case.group == SIMILAR and run.condition == OFF), key=lambda run: run.outcome.steps
    )
    if not off:
        return None
    case = off[len(off) // 2].case

    def run_task(task: str, use_memory: bool) -> Mapping[str, object]:
        condition = ADVISE if use_memory else OFF
        outcome = bench.browsers.pool.submit(
            bench.run, case, CONDITIONS[condition](learned, case), f"compare-{condition}"
        ).result()
        return {"steps": outcome.steps, "cost": outcome.cost, "success": outcome.success}

    return compare_with_without_memory(f"{case.family}, variant {case.seed}", run_task)


class _Counter:
    """Counts tests that are done, from several threads."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._total, self._progress, self._done, self._lock = total, progress, 0, threading.Lock()

    def one(self) -> None:
        """One more is done."""
        with self._lock:
            self._done += 1
            self._progress(self._done, self._total)
