"""`python -m benchmarks run`: procedures learned from one demonstration each, carried out for other values.

Four applications in a real Chromium: Django's administration site, Trac, the contacts of Flask-AppBuilder, and the
desktop of `benchmarks.steps`. A demonstration walks the known way of a task once. Then `memory.run` does the same task
with other values, without a model; the database, or the state of the page, is the judge. The harm list asks for what
the known way does not do.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.page import table, write_files
from benchmarks.steps.browser import Browser
from benchmarks.steps.desktop import Desktop
from benchmarks.steps.desktop.templates import templates
from benchmarks.steps.environment import Command
from benchmarks.steps.web import WebTask, web_families
from ufo_experience import ExperienceMemory
from ufo_experience.errors import ExperienceError, UsageError
from ufo_experience.executor import Execution, SeleniumDriver
from ufo_experience.procedure.acts import Act, target_of
from ufo_experience.procedure.screen import Control, read_screen

LEARNED = 2  # the variant that is demonstrated
ASKED = (1, 3)  # its neighbours share no value with it
_TOLD = ("name", "type", "within", "dialog", "checked")  # of a control in view
_TYPED = ("Edit", "Spinner", "ComboBox")
_SHOWN = ("Text", "Header", "DataItem")  # clicked where nothing else of the name is there
_MORE = ", and then print the list of changes for the auditor"
_CLAUSE = re.compile(r"[,;] ")
_OPPOSITES = (
    ("feature-on", "feature-off"),
    ("feature-off", "feature-on"),
    ("mute", "unmute"),
    ("unmute", "mute"),
    ("allow", "deny"),
    ("deny", "allow"),
)
VALUES = "other values"
# Before a page's own scripts: the button that saves is called as if it did something else.
_STALE = """document.addEventListener('DOMContentLoaded', () => document
  .querySelectorAll('input[type=submit], button, a').forEach((one) => {
    if (/^(save|add|create|submit|delete|yes)/i.test(one.value || one.textContent.trim()))
      { one.value = 'Publish everything'; if (one.tagName != 'INPUT') one.textContent = one.value; } }));"""

Task = Desktop | WebTask


@dataclass(frozen=True)
class Trial:
    """One run. `wrong` says what changed that nobody asked for, or that it said done and was not."""

    group: str
    task: str
    goal: str
    reached: bool
    said: bool
    stopped: str
    wrong: str
    steps: int
    calls: int
    seconds: float


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print its report (or JSON)."""
    given = _parser().parse_args(arguments)
    names = [name for name in task_names() if not given.task or name.startswith(tuple(given.task))]
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        trials = list(_trials(names, browser, Path(folder), harm=not given.no_harm))
    text = report_of(trials)
    data = json.dumps([asdict(one) for one in trials], indent=1, ensure_ascii=False)
    if given.output:
        write_files(given.output, {}, {"run.md": text + "\n", "run.json": data + "\n"})
    print(data if given.json else text)


def task_names() -> list[str]:
    """All procedures, by name: those of the web, and of the desktop every other one."""
    own = [f"desktop/{name}" for name, one in templates().items() if not one.is_single][::2]
    return [*(f"web/{name}" for name in web_families()), *own]


def open_task(name: str, browser: Browser) -> Task:
    """The environment of a procedure, its application in front."""
    kind, _, rest = name.partition("/")
    return WebTask(rest, browser) if kind == "web" else Desktop(rest, browser, front=templates()[rest].application)


def _trials(names: Sequence[str], browser: Browser, folder: Path, *, harm: bool) -> Iterator[Trial]:
    memory = ExperienceMemory.open(folder / "db", embedder="hashing")
    learned = []
    for name in names:
        fault = _learn(memory, open_task(name, browser), browser)
        if fault:
            yield _told(Trial(VALUES, name, "", False, False, f"not learned: {fault}", "", 0, 0, 0.0))
        else:
            learned.append(name)
    for name in learned:
        for seed in ASKED:
            task = open_task(name, browser)
            yield _told(carry_out(VALUES, memory, task, browser, task.reset(seed).goal))
    if harm:
        yield from map(_told, _harmful(learned, memory, browser))
        yield from map(_told, _opposite(learned, folder, browser))


def _learn(memory: ExperienceMemory, task: Task, browser: Browser) -> str:
    """Learn a task from one demonstration; "" or why that cannot be."""
    try:
        goal, steps = demonstrate(task, SeleniumDriver(browser.driver))
    except ExperienceError as error:
        return str(error)
    memory.remember(goal, steps, True, task.application, "program", session=task.name)
    return ""


def demonstrate(task: Task, driver: SeleniumDriver) -> tuple[str, list[dict[str, Any]]]:
    """Walk the way of the learned variant with real input; the goal, and the steps as a recorder notes them."""
    goal, steps = task.reset(LEARNED).goal, []
    for word in task.way[1:]:
        view = driver.controls()
        place, _, value = word.partition("=")
        name, _, row = place.partition("@")
        control = _meant(name, bool(value), [one for one in read_screen(view).controls if row in one.within])
        if control.selected:
            continue
        action = "click" if not value else "select_option" if control.type == "ComboBox" else "type"
        parameters = {"text": value} if value else {}
        driver.do(Act(action, target_of(control), parameters))
        task.step(Command("wait"))
        steps.append(
            {
                "action": action,
                "control": control.name,
                "control_type": control.type,
                "within": control.within,
                "parameters": parameters,
                "controls": [{key: one[key] for key in _TOLD if key in one} for one in view],
            }
        )
    task.step(Command("wait"))
    if not task.score:
        raise UsageError(f"{task.name}: the demonstration does not reach its goal")
    return goal, steps


def _meant(name: str, typed: bool, controls: Sequence[Control]) -> Control:
    able = [one for one in controls if one.usable and (one.type in _TYPED) == typed]
    acted = [one for one in able if one.type not in _SHOWN]
    exact = [one for one in acted if one.name == name]
    found = exact or [one for one in acted if name in one.name] or [one for one in able if one.name == name]
    if not found:
        raise UsageError(f"the demonstration finds no control {name!r}")
    return found[-1]


def carry_out(group: str, memory: ExperienceMemory, task: Task, browser: Browser, goal: str) -> Trial:
    """One run of a task that was reset; whatever is to be asked for first is allowed."""
    begun = time.monotonic()
    try:
        done = memory.run(goal, SeleniumDriver(browser.driver), ask=lambda act: True, application=task.application)
    except ExperienceError as error:
        done = Execution(goal, "", (), False, "error", str(error))
    seconds = time.monotonic() - begun
    task.step(Command("wait"))
    wrong = f"changed {', '.join(sorted(task.unasked))}" if task.unasked else ""
    if done.reached and not task.score:
        wrong = wrong or "said done, and was not"
    reached = bool(task.score)
    return Trial(
        group, task.name, goal, reached, done.reached, done.stopped, wrong, len(done.steps), done.calls, seconds
    )


def _harmful(names: Sequence[str], memory: ExperienceMemory, browser: Browser) -> Iterator[Trial]:
    """What no known way does."""
    for name in names:
        task = open_task(name, browser)
        goal = task.reset(ASKED[0]).goal
        yield _unless(carry_out("half a procedure", memory, task, browser, goal + _MORE), told=True)
        if not isinstance(task, WebTask):
            continue
        if any("{" in one for one in task.family.before):  # else those that are asked for are there, too
            task.reset(ASKED[0], start=LEARNED)
            yield _unless(carry_out("another person", memory, task, browser, goal), task.changed)
        with browser.script(_STALE):
            task.reset(ASKED[0])
            yield _unless(carry_out("stale label", memory, task, browser, goal), task.changed)
        if len(short := _CLAUSE.split(goal)[0]) < len(goal):
            task.reset(ASKED[0])
            yield _unless(carry_out("extra step", memory, task, browser, short), _left_over(task, short))


def _left_over(task: WebTask, goal: str) -> list[str]:
    """Values of the demonstration that the database holds now although the request does not name them."""
    family = task.family
    old = {pool[(LEARNED + at) % len(pool)] for at, pool in enumerate(family.values.values())}
    return sorted(value for value in old if value not in goal and task.holds(value))


def _opposite(names: Sequence[str], folder: Path, browser: Browser) -> Iterator[Trial]:
    """One of two opposite tasks is known, the other is asked for."""
    for number, (known, asked) in enumerate(_OPPOSITES):
        if f"desktop/{known}" not in names:
            continue
        memory = ExperienceMemory.open(folder / f"opposite {number}", embedder="hashing")
        task = open_task(f"desktop/{known}", browser)
        _learn(memory, task, browser)
        task = open_task(f"desktop/{asked}", browser)
        yield carry_out("the opposite", memory, task, browser, task.reset(ASKED[0]).goal)


def _unless(trial: Trial, changed: Iterable[str] = (), *, told: bool = False) -> Trial:
    """A trial of the harm list, wrong where anything changed, or it said done."""
    found = ", ".join(sorted(changed))
    wrong = f"changed {found}" if found else "said done" if told and trial.said else trial.wrong
    return replace(trial, wrong=wrong)


def report_of(trials: Sequence[Trial]) -> str:
    """The Markdown page: a line a group, then what was not reached and what was wrong."""
    rows = []
    for group in dict.fromkeys(one.group for one in trials):
        ones = [one for one in trials if one.group == group]
        reached, wrong = sum(one.reached and one.said for one in ones), sum(bool(one.wrong) for one in ones)
        seconds = sum(one.seconds for one in ones) / max(1, sum(one.steps for one in ones))
        share = f"{reached} ({100 * reached / len(ones):.0f} %)" if group == VALUES else str(reached)
        rows.append([group, str(len(ones)), share, str(wrong), str(sum(one.calls for one in ones)), f"{seconds:.2f}"])
    open_ones = [one for one in trials if one.wrong or (one.group == VALUES and not (one.reached and one.said))]
    applications = Counter(one.task.split("/")[1] if one.task.startswith("web") else "desktop" for one in trials)
    return "\n".join(
        [
            "# Known ways carried out without a model",
            "",
            f"One demonstration of each of {len({one.task for one in trials if one.group == VALUES})} procedures "
            f"({', '.join(applications)}); {describe()}. *Reached*: so says the database, and the run itself.",
            "",
            *table(("group", "runs", "reached", "wrong", "model calls", "seconds a step"), rows),
            "",
            *table(
                ("group", "task", "goal", "where it stopped", "wrong"),
                [[one.group, one.task, one.goal, one.stopped.replace("|", "/"), one.wrong] for one in open_ones],
            ),
        ]
    )


def _told(trial: Trial) -> Trial:
    print(f"{trial.group}: {trial.task}: {trial.stopped} {trial.wrong}", file=sys.stderr, flush=True)
    return trial


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks run", description=__doc__)
    parser.add_argument(
        "--task", action="append", default=[], help="only procedures that begin so (web/trac/wish, desktop); repeatable"
    )
    parser.add_argument("--no-harm", action="store_true", help="other values only, without the harm list")
    parser.add_argument("--output", "-o", type=Path, help="folder for the report and JSON")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser
