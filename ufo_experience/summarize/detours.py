"""The detours of a run, found without a model: steps that changed nothing, were taken back or went in a circle.

    find_detours(trajectory)        {3: "no effect", 4: "went back", 5: "went back"}

Steps are read in order, as a person would: each either joins the way so far or takes a part of it back. A step is
only left out where the log itself shows that it was not needed; what lasts (typing, a switch, a button that does
something) stays unless it was overwritten or undone. What no single run can tell, several runs can (`procedures.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ufo_experience.actions import is_press, is_typing, plain, typed_leaf
from ufo_experience.request import words
from ufo_experience.schema import Step, Trajectory

_DATA: dict[str, Any] = json.loads(Path(__file__).with_name("detours.json").read_text("utf-8"))
_VERBS = {name: frozenset(value.split()) for name, value in _DATA.items() if isinstance(value, str)}
_NAMES = {name: frozenset(value) for name, value in _DATA.items() if isinstance(value, list)}
_NOTHING = re.compile(_DATA["nothing_happened"], re.IGNORECASE)
_CONTROL = frozenset({"ctrl", "control", "cmd", "command", "meta"})

FAILED, LOOKED, NOTHING = "failed", "only looked", "no effect"
AGAIN, OVERWRITTEN, UNDONE = "done again", "overwritten", "undone"
BACK, CIRCLE, ELSEWHERE = "went back", "went in a circle", "went elsewhere"


def is_skipped(step: Step) -> bool:
    """True for a step the agent planned and never tried."""
    return step.status in ("skipped", "not_executed")


def has_effect(step: Step) -> bool:
    """True unless a step only waits, looks, or says something."""
    return bool(step.action_type) and plain(step.action_type) not in _VERBS["looks"]


def find_detours(trajectory: Trajectory) -> dict[int, str]:
    """The numbers of steps that were not needed, each with why; never all of those that worked."""
    way = _Way(trajectory)
    last = next((step for step in reversed(trajectory.steps) if not _idle(step)), None)
    for step in trajectory.steps:
        way.take(step, is_last=step is last)
    way.tell_scrolling_once()
    if not way.kept:
        return {number: why for number, why in way.cut.items() if why in (FAILED, LOOKED)}
    return dict(sorted(way.cut.items()))


def tried_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """What was really tried, failed or not: the way a failed run went. The same failure in a row is kept once."""
    kept: list[Step] = []
    for step in steps:
        again = bool(kept) and step.error is not None and _same(kept[-1], step) and kept[-1].error == step.error
        if has_effect(step) and not is_skipped(step) and not again:
            kept.append(step)
    return tuple(kept)


class _Way:
    """The way so far: the steps that are kept, and why others are not."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.kept: list[Step] = []
        self.cut: dict[int, str] = {}
        self._task, self._words = trajectory.task, frozenset(words(trajectory.task))
        self._visible = trajectory.visibility.visible_before
        self._opened = frozenset(trajectory.visibility.menu_opened_after)
        self._numbers = [step.step_number for step in trajectory.steps]
        self._rules: tuple[Callable[[Step], bool], ...] = (
            self._undoes,
            self._leaves,
            self._sets_again,
            self._chooses_another,
            self._comes_round,
            self._was_in_view,
        )

    def take(self, step: Step, *, is_last: bool) -> None:
        """Read one more step. The last that acts is what the run was for: it never only leaves."""
        why = _idle(step)
        if why:
            self.cut[step.step_number] = why
            return
        rules = [rule for rule in self._rules if not (is_last and rule == self._leaves)]
        if not any(rule(step) for rule in rules if self.kept):  # a rule may have dropped the last one
            self.kept.append(step)

    def tell_scrolling_once(self) -> None:
        """How far scrolling goes differs from screen to screen; once tells the direction."""
        for before, step in list(zip(self.kept, self.kept[1:], strict=False)):
            pages = _is(step, "scrolls") or _pressed(step) in (["pagedown"], ["pageup"])
            if pages and _same(before, step):
                self._drop([step], AGAIN)

    # Each rule drops what a step makes needless, and says whether the step itself goes as well. There is always a
    # step before it.

    def _undoes(self, step: Step) -> bool:
        """Undo, the same switch again, scrolling the other way: both steps go."""
        if self._is_asked(step):
            return False
        last = self.kept[-1]
        scrolled = _is(step, "scrolls") and _is(last, "scrolls") and _said(step) != _said(last)
        switched = _is(step, "clicks") and _type(step) in _VERBS["toggles"] and _same(last, step)
        return (_undoes(step) or scrolled or switched) and self._drop([last], UNDONE, step)

    def _leaves(self, step: Step) -> bool:
        """Escape, Cancel, Back: the steps that only led into what is left go, back to the one that opened it."""
        if not _leaves(step) or self._is_asked(step):
            return False
        last = self.kept[-1]
        if step.step_number in self._visible:
            gone = self._since_it_came_up(step)
        else:
            gone = [last] if self._only_led(last) or (_named(step, "clearing") and _types(last)) else []
        return bool(gone) and self._drop(gone, BACK, step)

    def _since_it_came_up(self, step: Step) -> list[Step]:
        """Where the log tells what was in view: all since the step that brought up what is left, if that only led
        there and nothing was sent off meanwhile ("Apply", then "Cancel": what is done is done).
        """
        views, at = self._visible[step.step_number], self._numbers.index(step.step_number)
        if set(self._numbers[at + 1 : at + 2]) & set(views):
            return []  # still there: of two dialogs, or part of the window
        while at and self._numbers[at - 1] in views:
            at -= 1
        opener = self._numbers[at - 1] if at else None
        gone = [one for one in self.kept if opener is not None and one.step_number >= opener]
        sent = any(_is(one, "clicks") and _type(one) == "button" and not _dots(one) for one in gone)
        return gone if gone and gone[0].step_number == opener and self._leads(gone[0]) and not sent else []

    def _sets_again(self, step: Step) -> bool:
        """A field that is set again: the first value goes; the second, where it is the same."""
        if not _sets(step):
            return False
        place = next((at for at in reversed(range(len(self.kept))) if self._is_field(self.kept[at], step)), None)
        if place is None:
            return False
        earlier, between = self.kept[place], self.kept[place + 1 :]
        if not _sets(earlier):  # a click into the field, right before it is set
            return not between and self._drop([earlier], AGAIN)
        if not all(_clears(one) or _types(one) or self._leads(one) for one in between):
            return False  # the first value had an effect, as an entry of a list
        if _said(earlier) == _said(step):
            return self._drop([], AGAIN, step)
        self._drop([earlier, *filter(_clears, between)], OVERWRITTEN)
        return not _said(step) and self._drop([], OVERWRITTEN, step)

    def _chooses_another(self, step: Step) -> bool:
        """Another tab, radio button or option right after one: the first goes, unless the task names it."""
        last, kind = self.kept[-1], _type(step)
        siblings = kind in _VERBS["siblings"] and _type(last) == kind and step.application == last.application
        siblings = siblings and last.step_number in self._visible.get(step.step_number, (last.step_number,))
        if siblings and _is(last, "clicks") and not self._is_named(last):
            self._drop([last], ELSEWHERE)
        elif len(self.kept) > 2 and _type(last) in _VERBS["option_boxes"] and kind == _type(self.kept[-2]):
            box, option = self.kept[-3:-1]
            renamed = last.target_control.name in (option.target_control.name, box.target_control.name)
            if renamed and _type(box) in _VERBS["option_boxes"]:
                self._drop([option, last], OVERWRITTEN)
        return False

    def _comes_round(self, step: Step) -> bool:
        """The same place again: what lies between goes, unless something in between lasts."""
        for place in reversed(range(len(self.kept))):
            earlier, between = self.kept[place], self.kept[place:]
            if _seen_again(step, earlier, between) and self._all_lead(between):
                return self._drop(between, CIRCLE)
            if _same_click(earlier, step) and self._comes_back(earlier, between):
                return self._drop(between, AGAIN if len(between) == 1 else CIRCLE)
            if not (self._leads(earlier) or _leaves(earlier)):
                break  # no circle goes past a step that lasts
        return False

    def _was_in_view(self, step: Step) -> bool:
        """A control that was in view before: a menu or dialog opened in between was opened in vain."""
        while self.kept and self.kept[-1].step_number in self._visible.get(step.step_number, ()):
            last = self.kept[-1]
            opened = _dots(last) or (_type(last) == "menuitem" and last.step_number in self._opened)
            if not opened or self._is_named(last) or not _is(last, "clicks"):
                break
            self._drop([last], ELSEWHERE)
        return False

    def _comes_back(self, earlier: Step, between: Sequence[Step]) -> bool:
        """True when clicking this control again ends a circle that changed nothing. A button twice is two clicks."""
        if len(between) == 2 and _type(earlier) == "button":
            return _leaves(between[1]) and not self._is_asked(between[1])
        acted = any(_type(one) == "menuitem" for one in between[1:])  # a menu that was not left did something
        # The menu is open again, but over another tab or folder.
        moved = _type(earlier) not in _VERBS["places"] and any(_type(one) in _VERBS["places"] for one in between)
        return self._all_lead(between) and not acted and not moved

    def _all_lead(self, steps: Iterable[Step]) -> bool:
        return all(self._leads(step) or _leaves(step) for step in steps)

    def _is_field(self, earlier: Step, step: Step) -> bool:
        if _is(earlier, "clicks") and _type(earlier) in _VERBS["fields"]:
            return _same_control(earlier, step)
        return _types(earlier) and _same_control(earlier, step) and _details(earlier) == _details(step)

    def _leads(self, step: Step) -> bool:
        """True for a step that only leads somewhere: a menu, a page, a dialog; not for an option that is chosen."""
        if plain(step.action_type) in _VERBS["goes"] or _is(step, "scrolls") or _is(step, "goes_back"):
            return True
        if not _is(step, "clicks"):
            return False
        if _type(step) == "listitem":
            place = next((at for at, one in enumerate(self.kept) if one is step), 0)
            return place == 0 or _type(self.kept[place - 1]) not in _VERBS["option_boxes"]
        return _type(step) in _VERBS["leading_types"] or _dots(step)

    def _only_led(self, step: Step) -> bool:
        """True for the step right before a way back that may go with it."""
        if plain(step.action_type) == "rightclick" or _type(step) in _VERBS["links"]:
            return True
        opened = self._leads(step) or (_is(step, "clicks") and _type(step) == "button" and not _leaves(step))
        return opened and not self._is_named(step)

    def _is_asked(self, step: Step) -> bool:
        """True when taking something back is what the task is about: then it is no detour."""
        if step.target_control.name and _is(step, "clicks"):
            return self._is_named(step)
        asked = "undo_words" if _undoes(step) else "back_words" if _is(step, "goes_back") else "escape_words"
        return any(word in self._task.casefold() for word in _NAMES[asked])

    def _is_named(self, step: Step) -> bool:
        name = frozenset(words(step.target_control.name))
        return bool(name) and name <= self._words

    def _drop(self, steps: Sequence[Step], why: str, step: Step | None = None) -> bool:
        for one in [*steps, *([step] if step else [])]:
            self.cut[one.step_number] = why
        gone = {one.step_number for one in steps}
        self.kept = [one for one in self.kept if one.step_number not in gone]
        return step is not None


def _idle(step: Step) -> str:
    """Why a step was not needed, whatever came before or after it; "" where only these can tell."""
    if not step.ok:
        return FAILED
    if not has_effect(step):
        return LOOKED
    return NOTHING if _NOTHING.search(step.result) else ""


def _is(step: Step, kind: str) -> bool:
    return plain(step.action_type) in _VERBS[kind]


def _type(step: Step) -> str:
    return plain(step.target_control.type or "")


def _said(step: Step) -> str:
    """What a step types, presses or says otherwise, as one text."""
    leaf = typed_leaf(step)
    return (leaf[1] if leaf else " ".join(map(str, step.parameters.values()))).strip()


def _details(step: Step) -> dict[str, Any]:
    """The parameters of a step but what it types, such as which one of several equal controls."""
    leaf = typed_leaf(step)
    return {name: value for name, value in step.parameters.items() if not leaf or name != leaf[0]}


def _types(step: Step) -> bool:
    return is_typing(step.action_type) and not is_press(step.action_type)


def _sets(step: Step) -> bool:
    """True when the text of a named control is set: by one step, or by typing that names its field."""
    return _types(step) and bool(step.target_control.name)


def _pressed(step: Step) -> list[str]:
    """The keys a step presses, by name: `{VK_CONTROL}z`, `ctrl+z` and `^z` are alike. What is typed into no control in
    particular may be keys, too.
    """
    said = "" if _sets(step) else _said(step).casefold().replace("^", "ctrl ").replace("vk_", "")
    keys = [key for key in re.findall(r"[^\W_]+", said) if key not in ("down", "up")]
    return ["ctrl" if key in _CONTROL else key for key in keys]


def _clears(step: Step) -> bool:
    keys = _pressed(step)
    return keys[:2] == ["ctrl", "a"] or keys in (["del"], ["delete"], ["back"], ["backspace"])


def _undoes(step: Step) -> bool:
    return _pressed(step)[:2] == ["ctrl", "z"] or (_is(step, "clicks") and _named(step, "undoing"))


def _leaves(step: Step) -> bool:
    escapes = _pressed(step) in (["esc"], ["escape"])
    return escapes or _is(step, "goes_back") or (_is(step, "clicks") and _named(step, "leaving"))


def _dots(step: Step) -> bool:
    """True for a control that opens something, as the three dots behind its name say."""
    return step.target_control.name.rstrip().endswith(("…", "..."))


def _named(step: Step, names: str) -> bool:
    """True when the control's whole name is one of these: "Cancel", not "Cancel my order"."""
    return step.target_control.name.strip().casefold() in _NAMES[names]


def _same_control(one: Step, other: Step) -> bool:
    return one.target_control == other.target_control and one.application == other.application


def _seen_again(step: Step, earlier: Step, between: Sequence[Step]) -> bool:
    """True when the view is that of an earlier step after another one: an agent may say the same at every step."""
    left = any(one.observation and one.observation != step.observation for one in between)
    return left and bool(step.observation) and step.observation == earlier.observation


def _same_click(one: Step, other: Step) -> bool:
    named = bool(one.target_control.name) and _is(one, "clicks") and _is(other, "clicks")
    return named and one.action_type == other.action_type and _same_control(one, other)


def _same(one: Step, other: Step) -> bool:
    """True for the same action with the same arguments on the same control."""
    return one.action_type == other.action_type and _same_control(one, other) and one.parameters == other.parameters
