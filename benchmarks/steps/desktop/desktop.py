"""The desktop as an environment. A task is reached when the state holds what the goal asks for; `unasked` tells what
else has changed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.steps.browser import Browser
from benchmarks.steps.desktop.start import State
from benchmarks.steps.desktop.templates import Template, Variant, rewordings, templates
from benchmarks.steps.environment import Command, ControlView, Observation, Reply
from ufo_experience.errors import UsageError

_TASKBAR = "#taskbar"
_TYPED = ("Edit", "ComboBox")


class Desktop:
    """One task family of the desktop; other applications of ours, built with the same kit, are subclasses.

    Args:
        task: a name in `tasks.yaml`.
        browser: shared with other environments; not closed by this one.
        changed: None, or the seed by which one screen in five has its labels renamed or its controls moved.
        front: the application in front at the start; None lets the seed choose.
        wording: the author in whose words the goal is put ("a" to "c"), "" for the words of the task file.

    Raises:
        UsageError: there is no such task or application.
    """

    kind: ClassVar[str] = "desktop"
    applications: ClassVar[tuple[str, ...]] = ("Settings", "Mail", "Sheet", "Files")
    page: ClassVar[Path] = Path(__file__).parent / "pages" / "index.html"

    def __init__(
        self,
        task: str,
        browser: Browser,
        *,
        changed: int | None = None,
        front: str | None = None,
        wording: str = "",
    ) -> None:
        families = self.families()
        if task not in families:
            raise UsageError(f"{self.kind} has no task {task!r}")
        if front is not None and front not in self.applications:
            raise UsageError(f"{self.kind} has no application {front!r}")
        self.template: Template = families[task]
        self.name = f"{self.kind}/{task}"
        self._browser, self._changed, self._front, self._wording = browser, changed, front, wording
        self._task: Variant = self.template.variant(0)
        self._reached = False
        self._unasked: frozenset[str] = frozenset()

    @classmethod
    def families(cls) -> Mapping[str, Template]:
        """The task families by name."""
        return templates()

    def reset(self, seed: int) -> Observation:
        """Set up the variant of that seed."""
        self._task = self.template.variant(seed, self._reworded(seed))
        front = self._front or random.Random(f"front/{self.name}/{seed}").choice(self.applications)
        if self._browser.url != self.page.as_uri():
            self._browser.open(self.page.as_uri())
        self._browser.run("desktop.reset(...arguments)", json.dumps(self._task.start), front, self._changed)
        return self._observe()

    def step(self, command: Command) -> Reply:
        """Carry out one command; `switch_application` takes the application's name as its parameter `text`."""
        if command.function == "switch_application":
            name = command.parameters.get("text", "")
            error = None if self._browser.run("return desktop.bring(arguments[0])", name) else f"no application {name}"
        else:
            error = self._browser.act(command)
        return Reply(self._observe(), "failure" if error else "success", error)

    @property
    def done(self) -> bool:
        """True when the task is reached."""
        return self._reached

    @property
    def score(self) -> float:
        """1.0 when the state holds everything the goal asks for."""
        return float(self._reached)

    @property
    def over(self) -> bool:
        """The desktop never ends by itself."""
        return False

    @property
    def unasked(self) -> frozenset[str]:
        """Paths of the state that have changed although the goal did not ask for it."""
        return self._unasked

    @property
    def application(self) -> str:
        """Where the task is done."""
        return self.template.application

    @property
    def way(self) -> tuple[str, ...]:
        """One shortest way for the present variant on the unchanged desktop."""
        return self._task.way

    def screenshot(self) -> bytes:
        """The desktop as PNG."""
        return self._browser.screenshot()

    def close(self) -> None:
        """Nothing to give up."""

    def _observe(self) -> Observation:
        page = self._browser.read("desktop.report()", _TASKBAR)
        self._reached = self._task.holds(page.extra["state"])
        self._unasked = unasked_changes(self._task.start, self._task.wanted, page.extra["state"])
        return Observation(
            self._task.goal, page.extra["front"], page.title, page.controls, self.applications, page.status
        )

    def _reworded(self, seed: int) -> str | None:
        if not self._wording:
            return None
        goals = rewordings(self._wording)[self.template.name]
        return goals[seed % len(goals)]


def unasked_changes(start: State, wanted: State, found: State) -> frozenset[str]:
    """Paths whose value is neither the one at the start nor the one wanted."""
    before, after, now = (_flat(one) for one in (start, wanted, found))
    return frozenset(
        path
        for path in before.keys() | now.keys()
        if now.get(path) not in (before.get(path), after.get(path))
        or (path in now) not in (path in before, path in after)
    )


def _flat(state: Any, path: str = "") -> dict[str, Any]:
    """The leaves of a nested state by path; a list is a leaf."""
    if not isinstance(state, dict):
        return {path: state}
    return {key: value for name, part in state.items() for key, value in _flat(part, f"{path}/{name}").items()}


def solve(desktop: Desktop, seed: int) -> Iterator[tuple[Observation, Command, Reply]]:
    """Walk the known way of a variant, yielding each observation, command and reply: a demonstration to record.

    Steps whose effect is already there (the application in front, the page or tab chosen) are left out.

    Raises:
        UsageError: a control of the way is not on the screen.
    """
    observation = desktop.reset(seed)
    for word in desktop.way:
        command = command_of(word, observation)
        if command is not None:
            reply = desktop.step(command)
            yield observation, command, reply
            observation = reply.observation


def command_of(word: str, observation: Observation) -> Command | None:
    """The command for one word of a way, None when its effect is there already.

    Raises:
        UsageError: its control is not on the screen.
    """
    if word in observation.applications:
        switch = Command("switch_application", None, {"text": word})
        return None if word == observation.application else switch
    name, _, value = word.partition("=")
    control = _named(name, bool(value), observation)
    if value:
        return Command("select_item" if control.type == "ComboBox" else "set_edit_text", control, {"text": value})
    return None if control.selected else Command("click_input", control)


def _named(name: str, typed: bool, observation: Observation) -> ControlView:
    able = [one for one in observation.controls if one.enabled and (one.type in _TYPED) == typed]
    exact = [one for one in able if one.name == name]
    found = exact or [one for one in able if name in one.name]
    if not found:
        raise UsageError(f"no control {name!r} in {observation.window!r}")
    return found[-1]
