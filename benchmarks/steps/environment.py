"""What an agent and a task know of each other: observations, commands, and a verdict by program.

Function names are UFO's, so that a recorded run reads like one of its logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

FUNCTIONS = (
    "click_input",
    "set_edit_text",
    "select_item",
    "keyboard_input",
    "wait",
    "switch_application",
)


@dataclass(frozen=True)
class ControlView:
    """One control on the screen. `id` holds until the next step; `within` names the row, group or dialog around it.

    `checked`, `selected` and `expanded` are None where the control has no such state; `input` is the kind of value an
    edit field takes where the page says so (text, password, date, …); `dialog` tells that it stands in a dialog.
    """

    id: int
    name: str
    type: str
    value: str = ""
    enabled: bool = True
    visible: bool = True
    checked: bool | None = None
    selected: bool | None = None
    expanded: bool | None = None
    options: tuple[str, ...] = ()
    within: str = ""
    input: str = ""
    dialog: bool = False


@dataclass(frozen=True)
class Observation:
    """What the agent sees before a step. `applications` lists what `switch_application` can bring to the front."""

    goal: str
    application: str
    window: str
    controls: tuple[ControlView, ...]
    applications: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    screenshot: bytes | None = field(default=None, repr=False)

    def control(self, number: int) -> ControlView | None:
        """The control with that id, or None."""
        return next((one for one in self.controls if one.id == number), None)


@dataclass(frozen=True)
class Command:
    """One action: a UFO function, the control it acts on (None for the window), its parameters."""

    function: str
    control: ControlView | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What a step led to. `error` is None when the command was carried out."""

    observation: Observation
    result: str
    error: str | None = None


class Environment(Protocol):
    """A task that can be tried again and again. The same seed gives the same task and the same start."""

    name: str

    def reset(self, seed: int) -> Observation:
        """Start the task's variant of that seed and return the first observation."""
        ...

    def step(self, command: Command) -> Reply:
        """Carry out one command. What cannot be done is an `error` in the reply, never an exception."""
        ...

    @property
    def done(self) -> bool:
        """True when the task has ended: reached, or spoiled for good. For the bench's own clock, not for agents."""
        ...

    @property
    def over(self) -> bool:
        """True when the application itself has ended the task, so that nothing more can be done."""
        ...

    @property
    def unasked(self) -> frozenset[str]:
        """What has changed by now although the goal does not ask for it; empty where that is not known."""
        ...

    @property
    def score(self) -> float:
        """The program's verdict on the present state: 1.0 reached, 0.0 not."""
        ...

    def close(self) -> None:
        """Give up what the environment holds; the browser belongs to whoever opened it."""
        ...
