"""Remembered steps, followed on a screen that may have changed: names and values are adapted, missing steps skipped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from benchmarks.steps.demonstration import Hints, HintStep
from benchmarks.steps.environment import Command, ControlView, Observation
from benchmarks.steps.episode_memory import INPUT_TYPES, PLACES, Key, key_of
from benchmarks.steps.goal_parser import RISKY, Goal, align, bare, substitute, words
from benchmarks.steps.value_slotting import best_option, value_for

_PLACEHOLDER = re.compile(r"\{\{[^{}]*?:?(\d+)\}\}")
_LOOK_AHEAD = 4
_PATIENCE = 6
_LEXICAL_MATCH = 0.5
_RETREATS = ("cancel", "close", "back")
_TYPED = ("Edit", "ComboBox")
_NAMED_BY_VALUE = ("ListItem", "DataItem", "TreeItem", "TabItem", "RadioButton", "CheckBox", "ComboBox")
_CLICKED = ("ListItem", "MenuItem", "Button", "Hyperlink", "Text")
_OPENERS = ("Button", "MenuItem", "TabItem", "TreeItem")


class Follower:
    """Walks through remembered steps, one command at a time.

    A step that finds no control on the screen is waited for while the explorer moves on; a later step that fits exactly
    resynchronises; after some vain explorer steps the missing one is given up. What the goal names and the memory never
    had to select is selected first; an item that is not where it was is looked for next door.
    """

    def __init__(self, hints: Hints, goal: Goal) -> None:
        self._steps = hints.steps
        self._home: str | None = hints.application
        self._goal = goal
        self._task = hints.task
        self._pairs = align(hints.task, goal.text) if hints.task else {}
        self._known = {bare(self._name(step)) for step in hints.steps}
        self._unmentioned = self._left_out(hints)
        self._at = 0
        self._before = 0
        self._vain = 0
        self._place: HintStep | None = None
        self._visited: set[str] = set()
        self._strangers: set[Key] | None = None
        self._probed: str | None = None
        self._last = 0

    @property
    def finished(self) -> bool:
        """True when no step is left."""
        return self._at >= len(self._steps)

    def next(self, observation: Observation) -> Command | None:
        """The next remembered command that fits the screen, or None: let the explorer take a step."""
        self._before = self._at
        if not self.finished and (switch := self._go_home(observation)):
            return switch
        while not self.finished:
            found = self._fit(observation)
            if found is not None:
                offset, command = found
                self._at += offset + 1
                self._vain, self._strangers = 0, None
                self._note_place(self._steps[self._at - 1])
                self._probed = None
                if command is not None:
                    self._last = command.control.id if command.control else 0
                    return command
            elif (search := self._look_next_door(observation) or self._probe(observation)) is not None:
                self._probed = observation.window
                return search
            elif self._vain < _PATIENCE:
                self._vain += 1
                return None
            else:
                self._at, self._vain, self._strangers = self._at + 1, 0, None
        return None

    def _go_home(self, observation: Observation) -> Command | None:
        """At the beginning: to the application the memory is about, unless its first step does that."""
        home, self._home = self._home, None
        away = home in observation.applications and home != observation.application
        switches = self._steps[0].function == "switch_application"
        return Command("switch_application", None, {"text": home}) if home and away and not switches else None

    def postpone(self) -> None:
        """Take the last answer back: something has to be done before it."""
        self._at = self._before

    def _note_place(self, step: HintStep) -> None:
        if step.type in PLACES:
            self._place = step
            self._visited.add(bare(self._name(step)))

    def _left_out(self, hints: Hints) -> set[str]:
        """Values of the goal that no remembered step speaks of."""
        told = " ".join(
            substitute(f"{step.control} {' '.join(step.parameters.values())}", self._pairs) for step in hints.steps
        )
        left = {
            bare(one.text) for one in self._goal.values if bare(one.text) not in told.casefold() and "{{" not in told
        }
        # What stood where the goal has a value may be told by a name we cannot know: then nothing was left out.
        strange = {self._name(step) for step in hints.steps if step.type in _NAMED_BY_VALUE}
        return left if len([name for name in strange if not self._goal.value_in(name)]) < len(left) else set()

    def _select_first(self, observation: Observation) -> Command | None:
        """Select a tab or folder the goal names though the memory never did: it stood open when the memory was made."""
        for one in observation.controls:
            if one.type in PLACES and not one.selected and not one.dialog and bare(one.name) in self._unmentioned:
                self._unmentioned.discard(bare(one.name))
                return Command("click_input", one)
        return None

    def _look_next_door(self, observation: Observation) -> Command | None:
        """The item of the next step is not in the place remembered: try the places beside it."""
        step = self._steps[self._at]
        kind = self._place.type if self._place else "TreeItem"
        if step.type not in ("ListItem", "DataItem") or self._goal.value_in(self._name(step)) is None:
            return None
        for one in observation.controls:
            if one.type == kind and not one.dialog and not one.selected and bare(one.name) not in self._visited:
                self._visited.add(bare(one.name))
                return Command("click_input", one)
        return None

    def _probe(self, observation: Observation) -> Command | None:
        """Try controls of the remembered kind that the memory does not know, the nearest first: it may have a new name.

        A dialog that came up in vain is left again.
        """
        step = self._steps[self._at]
        if step.type not in _OPENERS or not self._at or self._is_offered(self._at):
            return None
        if self._probed is not None and self._probed != observation.window:
            leave = [one for one in observation.controls if one.dialog and bare(one.name) in _RETREATS]
            return Command("click_input", leave[0]) if leave else None
        able = {key_of(one, observation): one for one in observation.controls if one.enabled and _compatible(one, step)}
        if self._strangers is None:
            self._strangers = {key for key, one in able.items() if one.type == step.type and self._is_strange(one)}
        strange = [able[key] for key in self._strangers & able.keys()]
        nearest = min(strange, key=lambda one: (one.id < self._last, abs(one.id - self._last)), default=None)
        if nearest is None:
            return None
        self._strangers.discard(key_of(nearest, observation))
        return Command("click_input", nearest)

    def _is_strange(self, control: ControlView) -> bool:
        name = bare(control.name)
        return not control.selected and name not in self._known and name not in _RETREATS and not words(name) & RISKY

    def _fit(self, observation: Observation) -> tuple[int, Command | None] | None:
        """How many steps to skip and the command, which is None when its effect is there already."""
        upcoming = self._steps[self._at : self._at + _LOOK_AHEAD]
        if upcoming[0].function == "switch_application":
            return self._switch(upcoming[0], observation)
        first = self._select_first(observation)
        if first is not None:
            return -1, first
        if (
            len(upcoming) > 1
            and upcoming[0].type in PLACES
            and upcoming[1].type in INPUT_TYPES
            and not self._must_not_skip(1)
        ):
            control = self._find(upcoming[1], observation, False)
            if control is not None:  # the field is on this side of the tab now
                return 1, self._command(upcoming[1], control)
        found = self._named(upcoming, observation) or self._first(upcoming, observation, adapt=False)
        return found or self._first(upcoming[:1], observation, adapt=True)

    def _named(self, upcoming: Sequence[HintStep], observation: Observation) -> tuple[int, Command | None] | None:
        """What the goal names may be on the screen without the way the memory took to it."""
        for offset, step in enumerate(upcoming):
            if self._goal.value_in(self._name(step)) is not None and not self._must_not_skip(offset):
                control = self._find(step, observation, False)
                if control is not None and bare(control.name) == bare(self._name(step)):
                    return offset, self._command(step, control)
        return None

    def _first(
        self, upcoming: Sequence[HintStep], observation: Observation, *, adapt: bool
    ) -> tuple[int, Command | None] | None:
        """The first of the next steps whose control is there, or one that may stand for it."""
        for offset, step in enumerate(upcoming):
            control = None if self._must_not_skip(offset) else self._find(step, observation, adapt)
            if control is not None:
                return offset, self._command(step, control)
        return None

    def _switch(self, step: HintStep, observation: Observation) -> tuple[int, Command | None] | None:
        name = step.parameters.get("text", step.control)
        if name not in observation.applications:
            return None
        return 0, None if name == observation.application else Command(step.function, None, {"text": name})

    def _must_not_skip(self, offset: int) -> bool:
        """True when a step in between selects what the goal names or typing brought up, or fills a field in."""
        places = range(self._at, self._at + offset)
        return any(
            self._steps[at].type in INPUT_TYPES
            or self._goal.value_in(self._name(self._steps[at])) is not None
            or self._is_offered(at)
            for at in places
        )

    def _is_offered(self, at: int) -> bool:
        """True for an item of a list that typing brings up: another text brings up another item."""
        return at > 0 and self._steps[at].type in ("MenuItem", "ListItem") and self._steps[at - 1].type == "Edit"

    def _find(self, step: HintStep, observation: Observation, adapt: bool) -> ControlView | None:
        name = self._name(step)
        able = [one for one in observation.controls if one.enabled and self._is_able(one, step, name)]
        if not self._goal.names(name):
            named = [one for one in able if _is_value(one, self._goal) and bare(one.name) not in self._known]
            if named and step.type not in ("Edit", "ComboBox", "Button", "MenuItem"):
                return named[0]
            same = [one for one in named if step.type == one.type and self._goal.is_value(one.name)]
            if same:
                return same[0]
        exact = [one for one in able if bare(one.name) == bare(name)]
        if exact:
            return self._closest(exact, name)
        if not adapt:
            return None
        return self._adapted(step, name, able)

    def _is_able(self, control: ControlView, step: HintStep, name: str) -> bool:
        """True for a control of the right type, and for one to be clicked that bears a name from the goal."""
        clicked = control.type in _CLICKED and step.type in _CLICKED
        return _compatible(control, step) or (
            clicked and bare(control.name) == bare(name) and self._goal.value_in(name) is not None
        )

    def _closest(self, controls: list[ControlView], name: str) -> ControlView:
        """Of several controls of one name, the one in the row the goal speaks of, else the last: dialogs lie on top."""
        inside = [one for one in controls if one.within and self._goal.value_in(one.within)]
        return (inside or controls)[0 if inside else -1]

    def _adapted(self, step: HintStep, name: str, able: list[ControlView]) -> ControlView | None:
        """A control of the right type that shares words with the remembered name, or the only one nobody knows."""
        strange = [one for one in able if bare(one.name) not in self._known and bare(one.name) not in _RETREATS]
        wanted = words(name)
        scored = [(_share(words(one.name), wanted), one) for one in strange]
        best = max(scored, key=lambda pair: pair[0], default=None)
        if best is not None and best[0] >= _LEXICAL_MATCH and self._goal.value_in(name) is None:
            return best[1]
        if self._vain:
            return None
        valued = [one for one in strange if self._goal.value_in(one.name) and not self._goal.value_in(name)]
        if valued and step.type in ("ListItem", "DataItem", "TreeItem", "RadioButton", "CheckBox", "Text"):
            return valued[0]
        if step.type == "Button" and strange and strange[-1].dialog:
            more = self._at + 1 < len(self._steps) and self._steps[self._at + 1].type == "Button"
            return strange[-2] if more and len(strange) > 1 else strange[-1]
        return strange[0] if len(strange) == 1 and step.type in ("Edit", "ComboBox", "Button", "CheckBox") else None

    def _command(self, step: HintStep, control: ControlView) -> Command | None:
        if step.function == "select_item":
            option = best_option(control, self._goal) or substitute(step.parameters.get("text", ""), self._pairs)
            return None if option == control.value else Command(step.function, control, {"text": option})
        if step.function == "set_edit_text":
            text = self._text(step, control)
            return None if text == control.value else Command(step.function, control, {"text": text})
        done = control.selected or control.expanded or (control.type == "RadioButton" and control.checked)
        return None if done else Command(step.function, control, step.parameters)

    def _text(self, step: HintStep, control: ControlView) -> str:
        told = step.parameters.get("text", "")
        if not told:  # what the goal has no value for
            guess = value_for(control, self._goal)
            return guess.text if guess else ""
        text = substitute(told, self._pairs)
        marks = _PLACEHOLDER.findall(text)
        if not marks and text == told and told in self._task and not self._goal.names(told):  # of the other task
            guess = value_for(control, self._goal)
            return guess.text if guess else text
        guess = value_for(control, self._goal) if marks else None
        for mark in marks:
            numbered = self._goal.values[int(mark) - 1].text if 0 < int(mark) <= len(self._goal.values) else ""
            text = _PLACEHOLDER.sub((guess.text if guess else numbered).replace("\\", r"\\"), text, count=1)
        return text

    def _name(self, step: HintStep) -> str:
        return substitute(step.control, self._pairs)


def _compatible(control: ControlView, step: HintStep) -> bool:
    if not step.type:
        return (control.type in _TYPED) == (step.function in ("set_edit_text", "select_item"))
    clicks = ("Button", "MenuItem", "Hyperlink", "Text")
    return control.type == step.type or (control.type in clicks and step.type in clicks)


def _is_value(control: ControlView, goal: Goal) -> bool:
    value = goal.value_in(control.name)
    return value is not None and (value.quoted or bare(value.text) == bare(control.name))


def _share(one: Iterable[str], other: Iterable[str]) -> float:
    a, b = set(one), set(other)
    return len(a & b) / max(len(a), len(b)) if a and b else 0.0
