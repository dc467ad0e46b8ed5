"""The detours of a run, found without a model: steps that changed nothing, were taken back or went in a circle.

    find_detours(trajectory)        {3: "no effect", 4: "went back", 5: "went back"}

Steps are read in order, as a person would: each either joins the way so far or takes a part of it back. A step is
only left out where the log itself shows that it was not needed; what lasts (typing, a switch, a button that does
something) stays unless it was overwritten or undone. What no single run can tell, several runs can (`procedures.py`).
"""

import json
import re
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ufo_experience.actions import does, plain, typed_leaf
from ufo_experience.controls import LANDMARKS, is_part_of_page
from ufo_experience.request import words
from ufo_experience.schema import Step, Trajectory, Visibility

_DATA: dict[str, Any] = json.loads(Path(__file__).with_name("detours.json").read_text("utf-8"))
_VERBS = {name: frozenset(value.split()) for name, value in _DATA.items() if isinstance(value, str)}
_NAMES = {name: frozenset(value) for name, value in _DATA.items() if isinstance(value, list)}
_NOTHING = re.compile(_DATA["nothing_happened"], re.IGNORECASE)
_CONTROL = frozenset({"ctrl", "control", "cmd", "command", "meta"})

FAILED, LOOKED, NOTHING = "failed", "only looked", "no effect"
AGAIN, OVERWRITTEN, UNDONE = "done again", "overwritten", "undone"
BACK, CIRCLE, ELSEWHERE = "went back", "went in a circle", "went elsewhere"
_UNTOLD = Visibility()


class _Act:
    """A step, and all that the rules ask of it."""

    def __init__(self, step: Step, told: Visibility = _UNTOLD) -> None:
        leaf = typed_leaf(step)
        self.number = number = step.step_number
        self.at = number  # the step before which it is done, once what led there is cut
        self.page, self.screen = told.page_before.get(number), told.screen_before.get(number)
        self.held = told.held_before.get(number)
        self.stands = frozenset(told.standing_before.get(number, ()))  # before these steps it stood there, too
        self.shows = frozenset(told.showing_before.get(number, ()))  # and before these it showed what it sets
        self.seen, self.application = step.observation, step.application
        self.verb, self.name = plain(step.action_type), step.target_control.name.strip()
        self.kind = plain(step.target_control.type or "")
        self.within = step.target_control.within
        self.is_in_menu = is_part_of_page(self.within, LANDMARKS)
        # The values of a control are compared much faster than the control.
        self.control = (*(value for _, value in step.target_control), step.application)
        self.deed = (step.action_type, self.control, step.parameters)
        # What it types, presses or says otherwise; the rest tells, for example, which one of several equal controls.
        self.said = (leaf[1] if leaf else " ".join(map(str, step.parameters.values()))).strip()
        self.details = {name: value for name, value in step.parameters.items() if not leaf or name != leaf[0]}
        self.clicks, self.scrolls = self.verb in _VERBS["clicks"], self.verb in _VERBS["scrolls"]
        self.goes_back = self.verb in _VERBS["goes_back"]
        self.types = does(step.action_type, "type") and not does(step.action_type, "press")
        self.chooses = does(step.action_type, "select")
        self.sets = (self.types or self.chooses) and bool(self.name)  # the text or the option of a named control
        self.keys = [] if self.sets else _keys_in(self.said)
        self.searches = bool(_NAMES["searching"] & set(words(self.name)))
        # Three dots say so, and a heading is clicked for what stands under it.
        self.opens = self.name.endswith(("…", "...")) or number in told.opening or self.kind == "header"
        self.clears = self.keys[:2] == ["ctrl", "a"] or self.keys in (["del"], ["delete"], ["back"], ["backspace"])
        self.moves = does(self.verb, "press") and len(self.keys) == 1 and self.keys[0] in _NAMES["moving_keys"]
        self.undoes = self.keys[:2] == ["ctrl", "z"] or self.is_button("undoing")
        self.leaves = self.keys in (["esc"], ["escape"]) or self.goes_back or self.is_button("leaving")

    def is_button(self, names: str) -> bool:
        """True for a click on a control whose whole name is one of these: "Cancel", not "Cancel my order"."""
        return self.clicks and self.name.casefold() in _NAMES[names]

    def is_of(self, kinds: str) -> bool:
        return self.kind in _VERBS[kinds]


def _keys_in(text: str) -> list[str]:
    """The keys a text presses, by name: `{VK_CONTROL}z`, `ctrl+z` and `^z` are alike."""
    keys = re.findall(r"[^\W_]+", text.casefold().replace("^", "ctrl ").replace("vk_", ""))
    return ["ctrl" if key in _CONTROL else key for key in keys if key not in ("down", "up")]


def is_skipped(step: Step) -> bool:
    """True for a step the agent planned and never tried."""
    return step.status in ("skipped", "not_executed")


def has_effect(step: Step) -> bool:
    """True unless a step only waits, looks, or says something."""
    return bool(step.action_type) and plain(step.action_type) not in _VERBS["looks"]


def tried_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """What was really tried, failed or not: the way a failed run went. The same failure in a row is kept once."""
    kept: list[Step] = []
    for step in steps:
        same = kept and kept[-1].error == step.error and _Act(kept[-1]).deed == _Act(step).deed
        again = same and step.error is not None
        if has_effect(step) and not is_skipped(step) and not again:
            kept.append(step)
    return tuple(kept)


def find_detours(trajectory: Trajectory) -> dict[int, str]:
    """The numbers of steps that were not needed, each with why; never all of those that worked."""
    idle = {step.step_number: why for step in trajectory.steps if (why := _idle(step))}
    acts = [_Act(step, trajectory.visibility) for step in trajectory.steps if step.step_number not in idle]
    way = _Way(trajectory)
    while way.cuts(acts):  # what is cut may show that what led to it was in vain
        acts = way.kept
    way.tell_scrolling_once()
    if not way.kept:
        return {number: why for number, why in idle.items() if why != NOTHING}
    return dict(sorted({**idle, **way.cut}.items()))


def _idle(step: Step) -> str:
    """Why a step was not needed, whatever came before or after it; "" where only these can tell."""
    if not step.ok:
        return FAILED
    if not has_effect(step):
        return LOOKED
    return NOTHING if _NOTHING.search(step.result) else ""


class _Way:
    """The way so far: the steps that are kept, and why others are not."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.kept: list[_Act] = []
        self.cut: dict[int, str] = {}
        self._task, self._words = trajectory.task.casefold(), frozenset(words(trajectory.task))
        self._visible = trajectory.visibility.visible_before
        self._opened = frozenset(trajectory.visibility.menu_opened_after)
        self._numbers = [step.step_number for step in trajectory.steps]

    def cuts(self, acts: Sequence[_Act]) -> bool:
        """Take these steps, in their order; True when some of them are not needed."""
        self.kept = []
        for act, after in zip_longest(acts, acts[1:]):
            self._take(act, after)
        self._end()
        return 0 < len(self.kept) < len(acts)

    def _take(self, act: _Act, after: _Act | None) -> None:
        """Take one more step. The last that acts is what the run was for: it never only leaves.

        Each rule drops what a step makes needless, and says whether the step itself goes as well.
        """
        leaves = [] if after is None else [self._leaves]
        rules = [
            self._undoes, *leaves, self._sets_again, self._chooses_another, self._comes_round, self._was_in_view,
            self._stood_there, self._sends_again,
        ]  # fmt: skip
        before = list(self.kept)
        if self._changes_nothing(act, after):
            self._drop([], NOTHING, act)
        elif not any(rule(act) for rule in rules if self.kept):  # a rule may have dropped the last one
            gone = before[len(self.kept) :] if before[: len(self.kept)] == self.kept else []
            if gone:  # without them it is done from where they began
                act.screen, act.at = gone[0].screen, gone[0].at
            self.kept.append(act)

    def _end(self) -> None:
        """Links behind the last step that sent something off, and there before it, lead to nothing that is asked."""
        last = next((one.number for one in reversed(self.kept) if _sends(one)), 0)
        behind = [one for one in self.kept if last and one.number > last]
        links = all(one.clicks and (one.is_of("links") or one.opens) for one in behind)
        if links and all(last in one.stands and not self._is_named(one) for one in behind):
            self._drop(behind, ELSEWHERE)

    def _changes_nothing(self, act: _Act, after: _Act | None) -> bool:
        """True where the log shows a step to change nothing: the value was there, the screen is the same behind it.

        What a click opens may come late, and a button may do what is not shown: only a link or a text that another link
        follows, and keys that move about, are told by the screen. A value that the task names is part of its way.
        """
        other = any(one.sets and _is_field(one, act) and one.said != act.said for one in self.kept)  # made this of it
        if act.sets and act.said and act.held == act.said and not other:
            return act.said.casefold() not in self._task
        same = after is not None and act.screen is not None and act.screen == after.screen and act.deed != after.deed
        if not same or after is None or self._is_named(act):
            return False
        follows = self._leads(after) or (after.sets and bool(after.shows))
        return act.moves or (act.clicks and act.is_of("shown") and follows)

    def _stood_there(self, act: _Act) -> bool:
        """A link or a menu that was there before, in the same place: what only led elsewhere in between goes."""
        if not (act.clicks and (act.is_of("links") or act.opens)):
            return False
        gone: list[_Act] = []
        for one in reversed(self.kept):
            leads = (self._leads(one) or one.leaves or one.moves) and not one.is_of("option_boxes")
            if not (leads or one.searches) or self._is_named(one):
                break
            gone.insert(0, one)
        while gone and (self._leave_more(gone) or not (self._is_beside(act, gone) or self._is_same(act, gone[0]))):
            del gone[0]
        return bool(gone) and self._drop(gone, ELSEWHERE)

    @staticmethod
    def _is_beside(act: _Act, gone: Sequence[_Act]) -> bool:
        """True for what stays where it is from a search or another link of its menu on, on all screens in between."""
        earlier, meanwhile = gone[0], {act.number, *(one.at for one in gone)}
        relative = _NAMES["relative"] & {*words(act.name), *words(earlier.name)}  # to another place from each page
        of_all_pages = not relative and act.is_in_menu and (earlier.opens or earlier.is_in_menu)
        of_one = not relative and act.within == earlier.within and earlier.clicks and earlier.is_of("links")
        if earlier.searches or of_all_pages:
            return meanwhile <= act.stands
        return of_one and meanwhile <= act.stands & earlier.stands

    def _is_same(self, act: _Act, earlier: _Act) -> bool:
        """True where it was there before an earlier step, in the same row or, if the task names it, the same group."""
        in_row = {*words(act.name)} < {*words(act.within)} and not is_part_of_page(act.within)
        known = in_row or (bool(act.within) and self._is_named(act))
        return known and earlier.at in act.stands and act.name != earlier.name  # of two rows both may be asked

    def tell_scrolling_once(self) -> None:
        """How far scrolling goes differs from screen to screen; once tells the direction."""
        for before, act in list(zip(self.kept, self.kept[1:], strict=False)):
            if (act.scrolls or act.keys in (["pagedown"], ["pageup"])) and before.deed == act.deed:
                self._drop([act], AGAIN)

    def _undoes(self, act: _Act) -> bool:
        """Undo, the same switch again, scrolling the other way: both steps go."""
        last, switches = self.kept[-1], act.clicks and act.is_of("toggles")
        scrolled = act.scrolls and last.scrolls and act.said != last.said
        before = [one for one in self._form(self.kept, act) if switches and one.deed == act.deed]
        undone = (act.undoes or scrolled or before) and not self._is_asked(act)
        return bool(undone) and self._drop(before[-1:] or [last], UNDONE, act)

    def _leaves(self, act: _Act) -> bool:
        """Escape, Cancel, Back: the steps that only led into what is left go, back to the one that opened it."""
        if not act.leaves or self._is_asked(act):
            return False
        last = self.kept[-1]
        if act.number in self._visible:
            gone = self._since_it_came_up(act)
        else:
            gone = [last] if self._only_led(last) or (act.is_button("clearing") and last.types) else []
        return bool(gone) and self._drop(gone, BACK, act)

    def _since_it_came_up(self, act: _Act) -> list[_Act]:
        """Where the log tells what was in view: all since the step that brought up what is left, if that only led
        there and nothing was sent off meanwhile ("Apply", then "Cancel": what is done is done).
        """
        views, at = self._visible[act.number], self._numbers.index(act.number)
        if set(self._numbers[at + 1 : at + 2]) & set(views):
            return []  # still there: of two dialogs, or part of the window
        while at and self._numbers[at - 1] in views:
            at -= 1
        gone = [one for one in self.kept if at and one.number >= self._numbers[at - 1]]
        sent = any(one.clicks and one.kind == "button" and not one.opens for one in gone)
        came_up = gone and gone[0].number == self._numbers[at - 1] and self._leads(gone[0])
        return gone if came_up and not sent else []

    def _sets_again(self, act: _Act) -> bool:
        """A field that is set again: the first value goes; the second, where it is the same."""
        place = next((at for at in reversed(range(len(self.kept))) if _is_field(self.kept[at], act)), None)
        if not act.sets or place is None:
            return False
        earlier, between = self.kept[place], self.kept[place + 1 :]
        if not earlier.sets:  # a click into the field, right before it is set
            return not between and self._drop([earlier], AGAIN)
        if not all(one.clears or one.types or self._is_unsent(one) or self._leads(one) for one in between):
            return False  # the first value had an effect, as an entry of a list
        still_there = act.held == act.said if act.held is not None else not any(map(self._leads, between))
        if earlier.said == act.said and still_there:
            return self._drop([], AGAIN, act)
        self._drop([earlier, *(one for one in between if one.clears)], OVERWRITTEN)
        act.held = earlier.held  # before either
        return (not act.said or act.said == act.held) and self._drop([], OVERWRITTEN, act)

    def _sends_again(self, act: _Act) -> bool:
        """The same button again, over a form that still holds all that was set: the first time sent too little.

        And what was typed elsewhere, left there unsent and typed again into this form, was in the wrong place.
        """
        if not _sends(act) or act.screen is None:
            return False
        for place in reversed(range(len(self.kept))):
            earlier, since = self.kept[place], self.kept[place + 1 :]
            shown = earlier.is_button("previewing") and earlier.number in act.stands and not self._is_named(earlier)
            form = self._form(self.kept[:place], act)
            nothing = since and earlier.screen == since[0].screen and earlier.page == act.page  # came of it
            if shown or (earlier.deed == act.deed and (nothing or self._is_still_unsent(form, since, act))):
                self._drop([earlier], AGAIN)
            elif not self._is_unsent(earlier):
                break
        form = self._form(self.kept, act)
        said = {one.said.casefold() for one in form if one.sets}
        for at in reversed(range(len(self.kept) - len(form))):
            one = self.kept[at]
            if _sends(one):
                break
            if one.sets and one.said and one.said.casefold() in said and act.number not in one.shows:
                self._drop([one], ELSEWHERE)
        return False

    @staticmethod
    def _is_still_unsent(form: Sequence[_Act], since: Sequence[_Act], act: _Act) -> bool:
        """True where all that was set on a form shows there still, or has got back the value it had before."""
        fields, later = [one for one in form if one.sets], [one for one in since if one.sets]
        last = {one.control: one.said for one in later}
        held = {one.control: one.held for one in reversed(later)}  # when it was first set again
        shown = [act.number in one.shows or held.get(one.control) == one.said for one in fields]
        back = [one.control in last and last[one.control] in (one.held, any(shown) and one.said) for one in fields]
        return bool(fields) and all(map(max, shown, back))

    def _form(self, acts: Sequence[_Act], sent: _Act) -> list[_Act]:
        """The last of these steps, as far as they set something on one page, which was `sent` in vain meanwhile."""
        is_part = [self._is_unsent(one) or one.deed == sent.deed for one in acts]
        led = next((at for at in reversed(range(len(acts))) if not is_part[at]), -1)
        return list(acts[led + 1 :])

    def _chooses_another(self, act: _Act) -> bool:
        """Another tab, radio button or option right after one: the first goes, unless the task names it."""
        last = self.kept[-1]
        siblings = act.is_of("siblings") and last.kind == act.kind and act.application == last.application
        siblings = siblings and last.number in self._visible.get(act.number, (last.number,))
        if siblings and last.clicks and not self._is_named(last):
            was_chosen = last.at in act.shows and not self._is_named(act)
            return self._drop([last], ELSEWHERE, act if was_chosen else None)
        if len(self.kept) > 2 and last.is_of("option_boxes"):
            box, option = self.kept[-3:-1]
            if act.kind == option.kind and box.is_of("option_boxes") and last.name in (option.name, box.name):
                self._drop([option, last], OVERWRITTEN)
        return False

    def _comes_round(self, act: _Act) -> bool:
        """The same place again: what lies between goes, unless something in between lasts."""
        refused = act.screen is not None and self.kept[-1].is_button("refusing")
        for place in reversed(range(len(self.kept))):
            earlier, between = self.kept[place], self.kept[place:]
            # the view of an earlier step, after another one: an agent may say the same at every step
            left = any(one.seen and one.seen != act.seen for one in between)
            if left and act.seen and act.seen == earlier.seen and self._all_lead(between):
                return self._drop(between, CIRCLE)
            away = any(one.screen not in (None, act.screen) for one in between)
            if away and act.screen is not None and act.screen == earlier.screen and self._left_nothing(between):
                return self._drop(between, CIRCLE)
            same = act.clicks and act.name and (act.verb, act.control) == (earlier.verb, earlier.control)
            if same and self._comes_back(act, earlier, between):
                return self._drop(between, AGAIN if len(between) == 1 else CIRCLE)
            goes_on = self._leads(earlier) or earlier.leaves or refused
            if not (goes_on or (act.screen is not None and self._is_unsent(earlier))):
                break  # no circle goes past a step that lasts
        return False

    def _left_nothing(self, between: Sequence[_Act]) -> bool:
        """True for steps that sent nothing off, where the screen, with all values, is as before them."""
        undone = between[-1].is_button("refusing")  # a dialog that a button opened was refused, a form reset
        return all(
            self._leads(one) or one.leaves or self._is_unsent(one) or (undone and one in (between[0], between[-1]))
            for one in between
        )

    @staticmethod
    def _is_unsent(act: _Act) -> bool:
        """True for a value that shows on the screen until something sends it off."""
        return act.sets or (act.clicks and (act.is_of("toggles") or act.kind == "radiobutton"))

    def _was_in_view(self, act: _Act) -> bool:
        """A control that was in view before: a menu or dialog opened in between was opened in vain."""
        while self.kept and self.kept[-1].at in (act.stands or self._visible.get(act.number, ())):
            last = self.kept[-1]
            opened = last.opens or (last.kind == "menuitem" and last.number in self._opened)
            opened = opened or (act.sets and last.is_of("fields") and not last.is_of("option_boxes"))
            if not opened or self._is_named(last) or not last.clicks:
                break
            self._drop([last], ELSEWHERE)
        return False

    def _comes_back(self, act: _Act, earlier: _Act, between: Sequence[_Act]) -> bool:
        """True when clicking this control again ends a circle that changed nothing. A button twice is two clicks."""
        if len(between) > 1 and earlier.kind == "button" and (act.page is None or act.page != earlier.page):
            left = len(between) == 2 and between[1].leaves and not self._leave_more(between)
            return left and not self._is_asked(between[1])
        acted = any(one.kind == "menuitem" for one in between[1:])  # a menu that was not left did something
        # The menu is open again, but over another tab or folder.
        moved = not earlier.is_of("places") and any(one.is_of("places") for one in between)
        return self._all_lead(between) and not acted and not moved

    def _all_lead(self, acts: Sequence[_Act]) -> bool:
        return all(self._leads(one) or one.leaves for one in acts) and not self._leave_more(acts)

    def _leave_more(self, acts: Sequence[_Act]) -> bool:
        """True where one of these steps leaves a dialog that was there before all of them."""
        return any(one.leaves and acts[0].at in (one.stands or self._visible.get(one.number, ())) for one in acts)

    def _leads(self, act: _Act) -> bool:
        """True for a step that only leads somewhere: a menu, a page, a dialog; not for an option that is chosen."""
        if act.clicks and act.kind == "listitem":
            place = self.kept.index(act) if act in self.kept else 0
            return place == 0 or not self.kept[place - 1].is_of("option_boxes")
        clicked = act.clicks and (act.is_of("leading_types") or act.opens)
        return clicked or act.verb in _VERBS["goes"] or act.scrolls or act.goes_back

    def _only_led(self, act: _Act) -> bool:
        """True for the step right before a way back that may go with it."""
        opened = self._leads(act) or (act.clicks and act.kind == "button" and not act.leaves)
        return act.verb == "rightclick" or act.is_of("links") or (opened and not self._is_named(act))

    def _is_asked(self, act: _Act) -> bool:
        """True when taking something back is what the task is about: then it is no detour."""
        if act.name and act.clicks:
            return self._is_named(act)
        asked = "undo_words" if act.undoes else "back_words" if act.goes_back else "escape_words"
        return any(word in self._task for word in _NAMES[asked])

    def _is_named(self, act: _Act) -> bool:
        return bool(name := frozenset(words(act.name))) and name <= self._words

    def _drop(self, acts: Sequence[_Act], why: str, act: _Act | None = None) -> bool:
        self.cut |= {one.number: why for one in (*acts, act) if one}
        self.kept = [one for one in self.kept if one not in acts]
        return act is not None


def _is_field(earlier: _Act, act: _Act) -> bool:
    """True where an earlier step clicked into, or typed into, the field that a step sets."""
    if earlier.control != act.control:
        return False
    return (earlier.clicks and earlier.is_of("fields")) or (earlier.sets and earlier.details == act.details)


def _sends(act: _Act) -> bool:
    """True for a button or Enter: what was set until then may be sent off."""
    is_button = act.clicks and act.kind == "button" and not act.leaves and not act.opens
    return is_button or act.keys in (["enter"], ["return"])
