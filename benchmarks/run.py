"""`python -m benchmarks run`: procedures learned from one demonstration each, carried out for other values.

Eight applications in a real Chromium, and the desktop of `benchmarks.steps`: Django's administration site, Trac, the
contacts of Flask-AppBuilder, Roundup, Wagtail, Oscar, Canaille and django-helpdesk. A demonstration walks the known way
of a task once. Then `memory.run` does the same task with other values, without a model; the database, or the state of
the page, is the judge. The harm list asks for what the known way does not do. With `--renamed` one control in five has
another name or another place, and a scripted helper stands in for an agent: it sees the screen and the step that is
missing, and knows which words mean the same.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
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
from ufo_experience.actions import kind_of
from ufo_experience.controls import bare
from ufo_experience.errors import ExperienceError, UsageError
from ufo_experience.executor import Executed, Execution, PlaywrightDriver, SeleniumDriver
from ufo_experience.procedure.acts import Act, Stop, target_of
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
VALUES, RENAMED = "other values", "renamed or moved"
_OPENING_S = 2.0  # longer than a menu takes to slide open
RENAMES = 7  # the seed of which controls are changed
_TIMED = 3  # one in so many web procedures is timed beside Playwright's own calls
_ROLES = {"Button": "button", "Hyperlink": "link", "Edit": "textbox", "CheckBox": "checkbox", "ComboBox": "combobox"}
# Before a page's own scripts: the button that saves is called as if it did something else.
_STALE = """document.addEventListener('DOMContentLoaded', () => {
  const saves = /^(save|add|create|submit|delete|yes|publish|lock|unlock|copy|unpublish|retire)/i;
  const stale = () => document.querySelectorAll('input[type=submit], button, a').forEach((one) => {
    if (saves.test(one.tagName == 'INPUT' ? one.value : one.textContent.trim()))
      one[one.tagName == 'INPUT' ? 'value' : 'textContent'] = 'Print everything'; });
  stale(); new MutationObserver(stale).observe(document.body, {childList: true, subtree: true}); });"""

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
    healed: int = 0
    untold: bool = False  # the way of these values leads through a control that neither words nor demonstration name


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print its report (or JSON)."""
    given = _parser().parse_args(arguments)
    names = [name for name in task_names() if not given.task or name.startswith(tuple(given.task))]
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        memory = ExperienceMemory.open(Path(folder) / "db", embedder="hashing")
        trials, learned = _learned(names, memory, browser)
        if given.renamed:
            trials += list(map(_told, _changed(learned, memory, browser)))
            pace = ""
        else:
            trials += list(map(_told, _other_values(learned, memory, browser)))
            pace = _pace([name for name in learned if name.startswith("web")][::_TIMED], memory, browser)
        if not (given.no_harm or given.renamed):
            trials += list(map(_told, _harmful(learned, memory, browser)))
            trials += list(map(_told, _written(learned, memory, browser)))
            trials += list(map(_told, _opposite(learned, Path(folder), browser)))
    text = report_of(trials) + pace
    data = json.dumps([asdict(one) for one in trials], indent=1, ensure_ascii=False)
    if given.output:
        write_files(given.output, {}, {"run.md": text + "\n", "run.json": data + "\n"})
    print(data if given.json else text)


def task_names() -> list[str]:
    """All procedures, by name: those of the web that are ever learned, and of the desktop every other one."""
    own = [f"desktop/{name}" for name, one in templates().items() if not one.is_single][::2]
    web = [f"web/{name}" for name, one in web_families().items() if not one.never_learned]
    return [*web, *own]


def open_task(name: str, browser: Browser) -> Task:
    """The environment of a procedure, its application in front."""
    kind, _, rest = name.partition("/")
    return WebTask(rest, browser) if kind == "web" else Desktop(rest, browser, front=templates()[rest].application)


def _learned(names: Sequence[str], memory: ExperienceMemory, browser: Browser) -> tuple[list[Trial], list[str]]:
    """Learn each procedure from one demonstration; those that cannot be shown, and the names of the others."""
    faults = {name: _learn(memory, open_task(name, browser), browser) for name in names}
    missed = [
        _told(Trial(VALUES, name, "", False, False, f"not learned: {fault}", "", 0, 0, 0.0))
        for name, fault in faults.items()
        if fault
    ]
    return missed, [name for name, fault in faults.items() if not fault]


def _other_values(names: Sequence[str], memory: ExperienceMemory, browser: Browser) -> Iterator[Trial]:
    for name in names:
        for seed in ASKED:
            task = open_task(name, browser)
            yield carry_out(VALUES, memory, task, browser, task.reset(seed).goal)


def _changed(names: Sequence[str], memory: ExperienceMemory, browser: Browser) -> Iterator[Trial]:
    """The same on pages where one control in five has another name or place, with a helper and a check."""
    for name in names:
        for seed in ASKED:
            with browser.script(_renaming()):
                browser.open("about:blank")
                task = open_task(name, browser)
                yield carry_out(RENAMED, memory, task, browser, task.reset(seed).goal, agent=help_out)
    browser.open("about:blank")


def _renaming() -> str:
    script = Path(__file__).with_name("renamed.js").read_text("utf-8")
    return f"const SEED = {RENAMES}, NAMES = {json.dumps(_renames())};\n{script}"


@cache
def _renames() -> dict[str, str]:
    return dict(json.loads(Path(__file__).with_name("renamed.json").read_text("utf-8")))


def help_out(controls: Sequence[Any], stop: Stop) -> list[Act]:
    """What a scripted agent does: the missing step, on the one control in view that is called so, or means the same.

    Where there is none, it opens what is closed in the page.
    """
    act = stop.act
    if act is None or act.target is None or act.step is None:
        return []
    wanted = bare(act.target.name)
    names = {wanted} | {bare(now) for old, now in _renames().items() if bare(old) == wanted}
    view = read_screen(controls).controls
    seen = [one for one in view if one.bare in names and one.role == act.step.role]
    found = [one for one in seen if act.step.row_of in one.within]
    placed = [one for one in found if bare(one.within) == bare(act.target.within)]
    exact = placed if len(placed) == 1 else found
    if len(exact) == 1:
        return [replace(act, target=target_of(exact[0]))]
    closed = [one for one in view if one.expanded is False and one.role != "combobox" and one.within != "navigation"]
    return [Act("click", target_of(one)) for one in closed[:1]]


def _pace(names: Sequence[str], memory: ExperienceMemory, browser: Browser) -> str:
    """Seconds a step beside those of Playwright's own calls for the same steps, on the same pages."""
    from playwright.sync_api import Error, sync_playwright

    times: list[tuple[float, float, int]] = []
    with sync_playwright() as playwright:
        address = browser.driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
        page = playwright.chromium.connect_over_cdp(f"http://{address}").contexts[0].pages[0]
        page.set_default_timeout(5_000)
        for name in names:
            task = open_task(name, browser)
            goal = task.reset(ASKED[0]).goal
            begun = time.monotonic()
            done = memory.run(goal, PlaywrightDriver(page), ask=lambda act: True, application=task.application)
            own = time.monotonic() - begun
            task.reset(ASKED[0])
            begun = time.monotonic()
            try:
                for one in done.steps:
                    _with_playwright(page, one)
            except Error as error:
                print(f"pace: {name}: {error.message[:200]}", file=sys.stderr)
                continue
            times.append((own, time.monotonic() - begun, len(done.steps)))
    steps = sum(one[2] for one in times)
    if not steps:
        return ""
    ours, theirs = (sum(one[at] for one in times) / steps for at in (0, 1))
    return (
        f"\n\nSeconds a step, {steps} steps of {len(times)} procedures: {ours:.2f} with effects seen, {theirs:.2f} by "
        f"Playwright's own calls, which look for none: {ours / theirs:.1f} times."
    )


def _with_playwright(page: Any, one: Executed) -> None:
    act, view = one.act, one.view
    if act is None or act.target is None or view is None:
        return
    alike = [same.id for same in view.named(act.target.name) if same.type == act.target.type]
    name = re.compile(
        rf"^\W*{re.escape(act.target.name).replace('/', '.')}\W*$", re.IGNORECASE
    )  # the page may show it in capitals
    found = page.get_by_role(_ROLES.get(act.target.type, "generic"), name=name)
    locator = found.nth(alike.index(act.target.id))
    kind = kind_of(act.action)
    if kind == "select":
        locator.select_option(label=act.text)
    elif kind == "type":
        locator.fill(act.text)
    else:
        locator.click()
    page.wait_for_load_state()


def _learn(memory: ExperienceMemory, task: Task, browser: Browser) -> str:
    """Learn a task from one demonstration; "" or why that cannot be."""
    try:
        goal, steps = demonstrate(task, SeleniumDriver(browser.driver))
    except ExperienceError as error:
        return str(error)
    memory.remember(goal, steps, True, task.application, "program", session=task.name)
    return ""


def demonstrate(task: Task, driver: SeleniumDriver, seed: int = LEARNED) -> tuple[str, list[dict[str, Any]]]:
    """Walk the way of a variant with real input; the goal, and the steps as a recorder notes them."""
    goal, steps = task.reset(seed).goal, []
    for word, following in zip(task.way[1:], [*task.way[2:], ""], strict=True):
        place, _, value = word.partition("=")
        view, control = _looked_for(place, bool(value), driver)
        if control.selected and (not following or _is_there(following, view)):
            continue  # else a link to the page itself, which opens something
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


def _looked_for(place: str, typed: bool, driver: SeleniumDriver) -> tuple[list[dict[str, Any]], Control]:
    """The screen and the control that a word of a way means; a menu that is just opening is waited for."""
    name, _, row = place.partition("@")
    end = time.monotonic() + _OPENING_S
    while True:
        view = driver.controls()
        try:
            return view, _seen(name, row, typed, view)
        except UsageError:
            if time.monotonic() > end:
                raise
        time.sleep(0.1)


def _is_there(word: str, view: Sequence[Mapping[str, Any]]) -> bool:
    """Whether what a word of a way means is on a screen."""
    place, _, value = word.partition("=")
    name, _, row = place.partition("@")
    try:
        return bool(_seen(name, row, bool(value), view))
    except UsageError:
        return False


def _seen(name: str, row: str, typed: bool, view: Sequence[Mapping[str, Any]]) -> Control:
    return _meant(name, typed, [one for one in read_screen(view).controls if row in one.within])


def _meant(name: str, typed: bool, controls: Sequence[Control]) -> Control:
    able = [one for one in controls if one.usable and (one.type in _TYPED) == typed]
    acted = [one for one in able if one.type not in _SHOWN]
    exact = [one for one in acted if one.name == name]
    found = exact or [one for one in acted if name in one.name] or [one for one in able if one.name == name]
    if not found:
        raise UsageError(f"the demonstration finds no control {name!r}")
    return found[-1]


def carry_out(
    group: str,
    memory: ExperienceMemory,
    task: Task,
    browser: Browser,
    goal: str,
    agent: Callable[..., Any] | None = None,
) -> Trial:
    """One run of a task that was reset; whatever is to be asked for first is allowed. With an agent it is checked."""

    def is_reached(_: Any = None) -> bool:
        task.step(Command("wait"))
        return bool(task.score)

    begun = time.monotonic()
    options = {"agent": agent, "check": is_reached} if agent else {}
    try:
        done = memory.run(
            goal, SeleniumDriver(browser.driver), ask=lambda act: True, application=task.application, **options
        )
    except ExperienceError as error:
        done = Execution(goal, "", (), False, "error", str(error))
    seconds = time.monotonic() - begun
    reached = is_reached()
    wrong = f"changed {', '.join(sorted(task.unasked))}" if task.unasked else ""
    if done.reached and not reached:
        wrong = wrong or "said done, and was not"
    return Trial(
        group,
        task.name,
        goal,
        reached,
        done.reached,
        done.stopped,
        wrong,
        len(done.steps),
        done.calls,
        seconds,
        done.healed,
        _is_untold(task, goal),
    )


def _is_untold(task: Task, goal: str) -> bool:
    """True where the way needs a control that neither the words of the goal nor the demonstration name."""
    shown = {_place(word) for word in _demonstrated(task)}
    return any(_place(word) not in shown and _place(word) not in bare(goal) for word in task.way[1:])


def _place(word: str) -> str:
    """The name of the control in a word of a way; what stands behind "@" tells its row."""
    return bare(re.split("[=@]", word, maxsplit=1)[0])


def _demonstrated(task: Task) -> Sequence[str]:
    if isinstance(task, WebTask):
        return [task.family.filled(one, LEARNED) for one in task.family.way]
    return task.template.variant(LEARNED).way


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
            stale = carry_out("stale label", memory, task, browser, goal)
            if stale.healed or not stale.reached:  # else every label of the way was there as it had been learned
                yield _unless(stale, task.changed)
        if len(short := _CLAUSE.split(goal)[0]) < len(goal):
            task.reset(ASKED[0])
            yield _unless(carry_out("extra step", memory, task, browser, short), _left_over(task, short))


def _written(names: Sequence[str], memory: ExperienceMemory, browser: Browser) -> Iterator[Trial]:
    """The requests that somebody wrote down for an application, on the start of the task they are next to."""
    for one in written_harm():
        if one["task"] not in names:
            continue
        task = open_task(one["task"], browser)
        task.reset(one["seed"])
        trial = carry_out(one["group"], memory, task, browser, one["goal"])
        if one["group"] == "half a procedure":
            yield _unless(trial, told=True)
        else:
            found = _left_over(task, one["goal"]) if one["group"] == "extra step" else task.changed
            yield _unless(trial, found)


def written_harm() -> list[dict[str, Any]]:
    """Requests of what no known way does: a group of the harm list, a task with a seed, the words."""
    files = sorted((Path(__file__).parent / "steps" / "web").glob("*_harm.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


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
        asks = group in (VALUES, RENAMED)
        share = f"{reached} ({100 * reached / len(ones):.0f} %)" if asks else str(reached)
        untold = sum(one.untold and not one.said and not one.wrong for one in ones) if asks else ""
        calls, healed = sum(one.calls for one in ones), sum(one.healed for one in ones)
        told = f"{calls} ({calls / len(ones):.2f} a task)"
        rows.append([group, str(len(ones)), share, str(untold), str(wrong), told, str(healed), f"{seconds:.2f}"])
    open_ones = [one for one in trials if one.wrong or (_is_asked(one) and not (one.reached and one.said))]
    harm = [one for one in trials if not _is_asked(one)]
    applications = Counter(one.task.split("/")[1] if one.task.startswith("web") else "desktop" for one in trials)
    return "\n".join(
        [
            "# Known ways carried out without a model",
            "",
            f"One demonstration of each of {len({one.task for one in trials if _is_asked(one)})} procedures "
            f"({', '.join(applications)}); {describe()}. *Reached*: so says the database, and the run itself. "
            "*Untold*: stopped, rightly, at a control that neither the request nor the demonstration names.",
            "",
            *table(("group", "runs", "reached", "untold", "wrong", "model calls", "healed", "seconds a step"), rows),
            "",
            f"Harm list: {len(harm)} requests, {sum(bool(one.wrong) for one in harm)} wrong objects.",
            "",
            *table(
                ("group", "task", "goal", "where it stopped", "wrong"),
                [[one.group, one.task, one.goal, one.stopped.replace("|", "/"), one.wrong] for one in open_ones],
            ),
        ]
    )


def _is_asked(one: Trial) -> bool:
    return one.group in (VALUES, RENAMED)


def _told(trial: Trial) -> Trial:
    print(f"{trial.group}: {trial.task}: {trial.stopped} {trial.wrong}", file=sys.stderr, flush=True)
    return trial


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks run", description=__doc__)
    parser.add_argument(
        "--task", action="append", default=[], help="only procedures that begin so (web/trac/wish, desktop); repeatable"
    )
    parser.add_argument("--no-harm", action="store_true", help="other values only, without the harm list")
    parser.add_argument("--renamed", action="store_true", help="on changed pages, with a helper; no harm list")
    parser.add_argument("--output", "-o", type=Path, help="folder for the report and JSON")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser
