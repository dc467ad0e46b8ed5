"""`bench steps`: does memory save an agent steps? The same tasks with and without, through real sessions.

    learn: demonstrations and own runs ──▶ session logs ──▶ read, redact, summarize, store, index
    test:  held-back variants × conditions ──▶ steps, success, tokens, time ──▶ paired figures

The tests of a plan run side by side in a browser each; their figures, but for times, do not depend on that.
"""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from ufo_experience.benchmark.steps.agents import RULE_BASED
from ufo_experience.benchmark.steps.browser import Browser
from ufo_experience.benchmark.steps.conditions import CONDITIONS, OFF, ON, ORACLE, RANDOM, Learned, calibrate
from ufo_experience.benchmark.steps.desktop import Desktop, solve
from ufo_experience.benchmark.steps.episode import MAX_STEPS
from ufo_experience.benchmark.steps.episode_session import Demonstrator, MakeAgent, Outcome, explorer_agent, run_session
from ufo_experience.benchmark.steps.learning_curve import learning_curve
from ufo_experience.benchmark.steps.plan import CHANGED, FAILED, MINIWOB, OWN, SIMILAR, UNRELATED, Case, Plan
from ufo_experience.benchmark.steps.report import Run, StepReport
from ufo_experience.integrations.memory_article import MemoryComparison, compare_with_without_memory
from ufo_experience.memory import ExperienceMemory
from ufo_experience.session.recall import ExperienceSource

T = TypeVar("T")
Progress = Callable[[int, int], None]

# Which conditions each group is run under.
_CONDITIONS: Mapping[str, tuple[str, ...]] = {
    SIMILAR: (OFF, ON, RANDOM, ORACLE),
    CHANGED: (OFF, ON),
    UNRELATED: (OFF, ON),
    OWN: (OFF, ON),
    FAILED: (OFF, ON),
}
_LEAST_ATTEMPT = 2


@dataclass(frozen=True)
class Bench:
    """What all runs share: the agent, the folder of logs, the browsers."""

    make_agent: MakeAgent
    root: Path
    browsers: Browsers

    def run(
        self,
        case: Case,
        memory: ExperienceSource | None,
        label: str,
        *,
        make_agent: MakeAgent | None = None,
        max_steps: int = MAX_STEPS,
    ) -> Outcome:
        """One session on a case; its log goes below the folder `label`."""
        return run_session(
            case.environment(self.browsers.mine()),
            case.seed,
            memory,
            self.root / label,
            application=case.application,
            make_agent=make_agent or self.make_agent,
            max_steps=max_steps,
        )

    def learn(self, cases: Iterable[Case], name: str, make_agents: Callable[[Case], MakeAgent]) -> Learned:
        """Record sessions, then make a memory of their logs."""
        cases = tuple(cases)
        label = f"learn-{name}"
        outcomes: dict[Case, Outcome] = {}
        for seed in sorted({one.seed for one in cases}):  # variants in turn: of equals the newest is shown
            wave = [one for one in cases if one.seed == seed]
            ran = self.each(lambda case: self.run(case, None, label, make_agent=make_agents(case)), wave)
            outcomes |= zip(wave, ran, strict=True)
        folders = {f"{one.kind}-{one.task}-{one.seed}": one.family for one in cases}
        learned = self.remember(name, folders, failures=False)
        # Tasks of MiniWoB++ overlap (four kinds of forwarding a mail): they do not tell what is another task.
        goals = [(case.family, outcomes[case].goal) for case in cases if case.kind != MINIWOB]
        calibrate(learned.memory, goals, self.root / f"labels-{name}.jsonl")
        return learned

    def remember(self, name: str, folders: Mapping[str, str], *, failures: bool) -> Learned:
        """The memory of everything recorded under `learn-NAME`."""
        memory = ExperienceMemory.open(self.root / f"db-{name}", embedder="hashing")
        if folders:
            memory.ingest(self.root / f"learn-{name}", include_failures=failures)
        return Learned.of(memory, folders)

    def each(self, work: Callable[[Case], T], cases: Iterable[Case]) -> list[T]:
        """Do something with each case, side by side; results in the order of the cases."""
        return list(self.browsers.pool.map(work, cases))

    def shown(self, case: Case) -> MakeAgent:
        """Somebody who knows the way of a task of the desktop."""
        desktop = Desktop(case.task, self.browsers.mine())
        commands = [command for _, command, _ in solve(desktop, case.seed)]
        return partial(Demonstrator, commands=commands)


class Browsers:
    """A pool of threads, and one browser for each of them."""

    def __init__(self, count: int, closing: ExitStack) -> None:
        self.pool = ThreadPoolExecutor(count, thread_name_prefix="bench")
        self._closing, self._own, self._lock = closing, threading.local(), threading.Lock()
        closing.callback(self.pool.shutdown)

    def mine(self) -> Browser:
        """The browser of this thread."""
        if not hasattr(self._own, "browser"):
            with self._lock:
                self._own.browser = self._closing.enter_context(Browser())
        browser: Browser = self._own.browser
        return browser


def run_steps(
    plan: Plan,
    *,
    make_agent: MakeAgent = explorer_agent,
    agent: str = RULE_BASED,
    folder: Path | None = None,
    jobs: int = 2,
    progress: Progress = lambda done, total: None,
) -> StepReport:
    """Run a plan.

    Args:
        make_agent: makes the agent of one episode from its workplace: any agent of the `Agent` protocol.
        agent: what to call it in the report.
        folder: where logs and stores are kept; None for a folder that is removed.
        jobs: how many browsers run at a time.
        progress: called with the number of tests done and of all tests.

    Raises:
        ServiceError: there is no browser.
        MissingExtraError: the extra `bench` is not installed.
    """
    started = time.perf_counter()
    with _bench(make_agent, folder, jobs) as bench:
        shown = bench.learn((*plan.shown, *plan.explored), "main", lambda case: _teacher(bench, case))
        own = bench.learn(plan.own, "own", lambda case: make_agent)
        total = sum(len(_CONDITIONS[one.group]) for one in plan.tests)
        done = _Counter(total, progress)

        def test(case: Case) -> list[Run]:
            if case.group == FAILED:
                return _after_failure(bench, case, done)
            return _tested(bench, case, own if case.group == OWN else shown, done)

        runs = [run for found in bench.each(test, plan.tests) for run in found]
        curve = learning_curve(plan.of(SIMILAR), runs, shown, bench.run, bench.each)
        return StepReport(
            agent=agent,
            runs=tuple(runs),
            families={name: len(ids) for name, ids in shown.families.items()},
            rights=shown.families,
            curve=tuple(curve),
            comparison=_comparison(bench, runs, shown),
            seconds=time.perf_counter() - started,
            machine=f"{platform.machine()}, Python {platform.python_version()}, {platform.system()}",
            date=date.today().isoformat(),
        )


@contextmanager
def _bench(make_agent: MakeAgent, folder: Path | None, jobs: int) -> Iterator[Bench]:
    with ExitStack() as closing:
        root = folder or Path(closing.enter_context(TemporaryDirectory(prefix="ufo-experience-")))
        yield Bench(make_agent, root, Browsers(jobs, closing))


def _teacher(bench: Bench, case: Case) -> MakeAgent:
    """Tasks of the desktop are shown by somebody who knows the way; on MiniWoB++ the agent learns from its own runs."""
    return bench.make_agent if case.application else bench.shown(case)


def _tested(bench: Bench, case: Case, learned: Learned, done: _Counter) -> list[Run]:
    runs = []
    for condition in _CONDITIONS[case.group]:
        memory = CONDITIONS[condition](learned, case)
        runs.append(Run(case, condition, bench.run(case, memory, condition)))
        done.one()
    return runs


def _after_failure(bench: Bench, case: Case, done: _Counter) -> list[Run]:
    """An attempt that is cut off after three quarters of its way is a failure; the next knows what did not work."""
    off = Run(case, OFF, bench.run(case, None, f"{FAILED}-{OFF}"))
    done.one()
    name = f"{FAILED}-{case.task}"
    limit = max(_LEAST_ATTEMPT, off.outcome.steps * 3 // 4)
    bench.run(case, None, f"learn-{name}", max_steps=limit)
    memory = bench.remember(name, {f"{case.kind}-{case.task}-{case.seed}": case.family}, failures=True)
    on = Run(case, ON, bench.run(case, CONDITIONS[ON](memory, case), f"{FAILED}-{ON}"))
    done.one()
    return [off, on]


def _comparison(bench: Bench, runs: Sequence[Run], learned: Learned) -> MemoryComparison | None:
    """The comparison of UFO's article, on the similar task that takes a middling number of steps without memory."""
    off = sorted(
        (run for run in runs if run.case.group == SIMILAR and run.condition == OFF), key=lambda run: run.outcome.steps
    )
    if not off:
        return None
    case = off[len(off) // 2].case

    def run_task(task: str, use_memory: bool) -> Mapping[str, object]:
        condition = ON if use_memory else OFF
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
