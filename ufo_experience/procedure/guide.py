"""The guide: a place in a known way, and the next step as far as the screen agrees.

    guide.next(controls)    Act(action, target, parameters, confirm) | Stop(reason, detail)
    guide.note(act, ok)     what became of it, whoever carried it out
    guide.ahead(controls)   the rest of the way as far as it can be foreseen

A guide is advice with a place marker: it acts on nothing, and the agent decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Literal

from ufo_experience.errors import UsageError
from ufo_experience.procedure.acts import (
    STAYS,
    TEXTS,
    Act,
    Stop,
    carries_out,
    check_action,
    find_application,
    for_a_person,
    target_of,
    text_of,
)
from ufo_experience.procedure.looking_up import read_value, where_seen
from ufo_experience.procedure.matching import Miss, effect_is_there, find, is_plain_click, stood_beside
from ufo_experience.procedure.procedure import Procedure, ProcedureStep, Target, kind_of
from ufo_experience.procedure.screen import Control, Screen, read_screen
from ufo_experience.procedure.screen_binding import named_in_task, option_in_task, renamed
from ufo_experience.schema import expect
from ufo_experience.text.controls import bare, is_fixed, role_of

MAX_DETOURS = 3
MAX_LOOKS = 8
_LOOK_AHEAD = 4
_MOST_AHEAD = 16
_MARK = re.compile("‹.*›", re.DOTALL)  # the name of a field in place of a value that is open
_PLACES = ("treeitem", "tabitem")  # folders, tabs: what a value of the task is in may be the one beside
# Controls that lead somewhere and change nothing: their step may be passed over when what follows it is in view.
_LEADS = frozenset(("tabitem", "treeitem", "menuitem", "hyperlink", "menubar", "splitbutton", "application"))


class Guide:
    """Walks along one procedure. Made for one task, used by one thread.

    `sure` is False from the first check that fails until the agent itself has taken a step of the way, or the guide's
    own next step was carried out. More than `max_detours` failed checks, or `max_looks` in a row, and it gives up.
    """

    def __init__(self, procedure: Procedure, *, max_detours: int = MAX_DETOURS, max_looks: int = MAX_LOOKS) -> None:
        """Begin at the first step.

        Raises:
            UsageError: a limit is negative.
        """
        if max_detours < 0 or max_looks < 1:
            raise UsageError("max_detours is at least 0 and max_looks at least 1")
        self.procedure = procedure
        self.sure = True
        self.detours = 0
        self.stopped: Stop | None = None  # why the last `ahead` was empty
        self._max_detours, self._max_looks = max_detours, max_looks
        self._steps = procedure.steps
        plain = (one.action for one in self._steps if one.kind == "click" and is_plain_click(one))
        self._click = next(plain, "")  # how something is opened here
        self._known = frozenset(bare(one.target.name) for one in self._steps if one.target)
        self._at = self._looks = 0
        self._failed: dict[int, int] = {}
        self._searched: set[str] = set()
        self._door: Control | None = None
        self._unspoken = dict(procedure.unspoken)
        self._agreed = False  # to a grave choice, which what carries it out need not ask for again
        self._strayed = False  # the agent did something else since the last step of the way
        self._read: dict[int, str] = {}  # values of open slots, read off the screen
        self._left_out: list[int] = []  # steps that were passed over by one that was done
        self._missed: Miss | None = None
        self._stood_in = -1  # the place of a step that was missing when the agent acted on another control of its kind
        self._given_up = ""

    @property
    def place(self) -> int:
        """How many steps of the way are behind."""
        return self._at

    @property
    def remaining(self) -> int:
        """How many steps of the way are left."""
        return len(self._steps) - self._at

    @property
    def gave_up(self) -> bool:
        """True when it will not speak again."""
        return bool(self._given_up)

    # ---- the next step

    def next(
        self, controls: Screen | Iterable[Any], *, application: str | None = None, consent: bool = False
    ) -> Act | Stop:
        """The next step, checked against `controls`, or why there is none.

        Args:
            controls: what is in view, in reading order: mappings or objects with `id`, `name`, `type`, and where known
                `value`, `enabled`, `checked`, `selected`, `expanded`, `dialog`, `state`, `within`; or `read_screen` of
                them, where several things are asked of one view.
            application: the one in front, where that is known.
            consent: a person has allowed the step that was asked for.
        """
        if self._given_up:
            return Stop("gave_up", self._given_up)
        return self._look(self._observed(controls), application, consent)

    def ahead(
        self, controls: Screen | Iterable[Any], limit: int = _MOST_AHEAD, *, application: str | None = None
    ) -> tuple[Act, ...]:
        """The next step and those that follow it, at most `limit`; where the task does not give a value, it is to be
        filled in (`Act.fill`), and what should be asked for is said (`Act.confirm`).

        Only the first is checked against the screen, and what follows on the same screen; a target of a later screen
        has no `id` yet. Empty when there is no next step; `stopped` then says why.
        """
        screen = self._observed(controls)
        first = Stop("gave_up", self._given_up) if self._given_up else self._look(screen, application, True, fill=True)
        self.stopped = first if isinstance(first, Stop) else None
        if isinstance(first, Stop) or limit < 1:
            return ()
        acts = [first]
        begun = self._at if self._leads_home(first) or self._door is not None else self._at + 1
        for place, step in enumerate(self._steps[begun:], start=begun):
            if len(acts) >= limit or (step.unbound and not step.can_be_filled):
                break
            if not (step.told or step.value or (step.target and screen.named(step.target.name))):
                break  # a name that only this record knows is told to nobody
            stays = all(kind_of(one.action) in STAYS for one in acts)
            found = self._check(place, screen, application) if stays else None
            if found is not True:  # filled in as it should be
                acts.append(self._act(place, found if isinstance(found, Control) else None))
        return tuple(acts)

    def check(
        self, act: Act, controls: Screen | Iterable[Any], *, application: str | None = None, consent: bool = False
    ) -> Act | Stop:
        """An action the agent foresaw, checked against the screen before it is carried out.

        A step of the way is checked as `next` checks it, any other by its target alone. The answer is the action with
        its target on the screen, `Stop` for `done` when its effect is there already, or why it cannot be done. What is
        hard to take back needs `consent`: that of a person, or of an agent that decides with the screen in view.
        """
        screen = self._observed(controls)
        place = None if self._given_up else self._place_of(act)
        if place is None:
            return check_action(act, screen, application=application, consent=consent)
        if self._steps[place].left_open and _MARK.fullmatch(text_of(act)):
            if place not in self._read:
                return Stop("unbound_slot", f"put the value in place of {text_of(act)}{self._where(place)}")
            act = replace(act, parameters=self._parameters(place))
        elif place in self._read and text_of(act) == self._steps[place].text:
            act = replace(act, parameters=self._parameters(place))
        apart = self._place_unsaid(self._steps[place], screen)
        if apart is not None and not apart.selected:
            return Stop("target_missing", f"{apart.name!r}, which the task names, is to be opened first")
        found = self._check(place, screen, application)
        if found is True:
            self.note(act)
            return Stop("done", "what it brings about is there already")
        if isinstance(found, Miss):
            return Stop(found.reason, found.detail)
        ready = replace(act, target=target_of(found)) if found is not None else act
        return for_a_person(ready) if self._asks(self._steps[place]) and not consent else ready

    def repair(
        self, acts: Sequence[Act], controls: Screen | Iterable[Any], *, application: str | None = None
    ) -> Act | int:
        """What `next` would do where the first of `acts`, the next step of the way, has no target in view.

        How many of `acts` are passed over, since what they lead to is in view; or an action that looks for the target
        next door, after which they are tried again; 0 when neither helps.
        """
        screen = read_screen(controls)
        if self._given_up or not acts or self._place_of(acts[0]) != self._at:
            return 0
        if self._place_unsaid(self._steps[self._at], screen) is not None:
            return self._opened_first(self._steps[self._at], screen) or 0
        missed = self._check(self._at, screen, application)
        if not isinstance(missed, Miss) or missed.in_view:
            return 0
        passed = self._passed_over(screen)
        if passed is None:
            return self._next_door(screen) or 0
        behind = min(self.agrees(acts), passed - self._at)
        self._at = passed
        return behind

    def agrees(self, acts: Sequence[Act]) -> int:
        """How many of `acts`, from the first on, are the next steps of the way, or bring its application in front."""
        home = [act for act in acts[:1] if self._leads_home(act) and self._is_home(act)]
        both = zip(self._steps[self._at :], acts[len(home) :], strict=False)
        return len(home) + sum(1 for _ in takewhile(lambda one: carries_out(*one), both))

    def resume(self, controls: Screen | Iterable[Any], *, application: str | None = None) -> bool:
        """Find the way again after a detour: True when it goes on from this screen, from a place that may lie behind.

        The place is where the way was left, when its control is in view again; else, once the agent has done something
        else, the step after it, if it took another control of that kind and what follows is in view; or the first of
        the steps in view that lead up to there, none of which is grave; at the end a step that was passed over,
        whose control is still in view.
        """
        screen = read_screen(controls)
        if self._given_up or not (self._strayed or self._at == len(self._steps)):
            return False
        place = self._found_again(screen, application)
        if place is None:
            return False
        self._at, self._looks, self.sure, self._missed, self._strayed = place, 0, True, None, False
        self._left_out = [one for one in self._left_out if one < place]
        return True

    def note(self, act: Act, ok: bool = True) -> None:
        """Say what became of an action: the guide's own, or one the agent took by itself.

        A step of the way moves the place behind it. A failed one is a detour; failed twice, the guide gives up.
        """
        expect(Act, act, "what is noted")
        if self._given_up or self._leads_home(act):
            return
        place = self._place_of(act)
        if ok and place is not None:
            step = self._steps[place]
            self._agreed = step.confirm and not step.pending if step.confirm else self._agreed
            self._left_out += range(self._at, place)
            self._at, self._looks, self.sure, self._missed, self._strayed = place + 1, 0, True, None, False
        elif ok:
            self._strayed = True
            self._take_for_stand_in(act)
        elif place == self._at:
            self._failed[place] = self._failed.get(place, 0) + 1
            self._lose_the_way(f"step {place + 1} was tried and failed")
            if self._failed[place] > 1:
                self._given_up = f"step {place + 1} failed twice"

    # ---- within

    def _observed(self, controls: Screen | Iterable[Any]) -> Screen:
        """The screen, off which values were read that the run of the way had looked up there, or that it tells."""
        screen = read_screen(controls)
        self._told_by(screen)
        for place, step in enumerate(self._steps[self._at :], start=self._at):
            seen = step.seen if place not in self._read else None
            if seen is not None and seen.place <= self._at and (value := read_value(seen, screen)):
                self._read[place] = value
        return screen

    def _told_by(self, screen: Screen) -> None:
        """Settle what the next step means where the words of the task leave it open and the screen does not."""
        step = self._steps[self._at] if self._at < len(self._steps) else None
        if step is None or step.target is None or self._at in self._read:
            return
        task = self.procedure.request
        if step.can_be_filled or (step.kind == "select" and self.procedure.reworded):
            control = self._find(self._at, screen)
            offered = control.options if isinstance(control, Control) else ()
            option = option_in_task(offered, task) if step.can_be_filled or step.text not in offered else ""
            self._read |= {self._at: option} if option else {}
        elif step.kind == "click" and (step.unbound or (self.procedure.reworded and step.value)):
            meant = named_in_task(step, screen, task, self._known - {bare(step.target.name)})
            if meant is not None and (step.unbound or isinstance(self._find(self._at, screen), Miss)):
                self._steps = renamed(self._steps, self._at, meant.name)
                self._unspoken = {one: other for one, other in self._unspoken.items() if bare(one) != meant.bare}

    def _parameters(self, place: int) -> dict[str, Any]:
        """What a step is done with: the value of an open slot once it was read, until then the name of its field."""
        step = self._steps[place]
        read = self._read.get(place)
        open_ = step.left_open or {key: "" for key in step.parameters if key in TEXTS}
        return dict(step.parameters) | (dict.fromkeys(open_, read) if read is not None else step.left_open)

    def _where(self, place: int) -> str:
        seen = self._steps[place].seen
        return f": it was seen {where_seen(seen, self._steps)}" if seen is not None else ""

    def _look(self, screen: Screen, application: str | None, consent: bool, *, fill: bool = False) -> Act | Stop:
        self._door = None
        while self._at < len(self._steps):
            step = self._steps[self._at]
            if step.unbound and self._at not in self._read and not (fill and step.can_be_filled):
                what = f"step {step.number} needs {', '.join(step.unbound)}, which the task does not give"
                return Stop("unbound_slot", what + self._where(self._at))
            home = self._way_home(step, screen, application)
            if home is not None:
                return home
            apart = self._opened_first(step, screen) or self._left_unsaid(step, told=fill and self.procedure.reworded)
            if apart is not None:
                return apart
            checked = self._check(self._at, screen, application)
            if checked is True:
                self._at += 1
            elif isinstance(checked, Miss):
                passed = None if checked.in_view else self._passed_over(screen)
                if passed is None:
                    return self._next_door(screen) or self._doubt(checked)
                self._at = passed
            else:
                self._looks = 0
                act = self._act(self._at, checked)
                return act if consent or not act.confirm else for_a_person(act)
        if self.procedure.parts:
            self.sure = False
            return Stop("ways_part", self.procedure.parts)
        return Stop("done", f"all {len(self._steps)} steps of the way are behind")

    def _act(self, place: int, control: Control | None) -> Act:
        step = self._steps[place]
        target = step.target if control is None else target_of(control)
        is_open = bool(step.left_open) and place not in self._read
        read = is_open and step.seen is not None and step.seen.can_be_read and step.seen.place > self._at
        seen = where_seen(step.seen, self._steps) if is_open and step.seen is not None else ""
        return Act(step.action, target, self._parameters(place), self._asks(step), is_open and not read, read, seen)

    def _asks(self, step: ProcedureStep) -> bool:
        return step.confirm and not (step.pending and self._agreed)

    def _check(self, place: int, screen: Screen, application: str | None) -> Control | Miss | Literal[True] | None:
        """The control to act on (None: the window), True when there is nothing left to do, or a miss."""
        step = self._steps[place]
        if step.kind == "switch":
            return find_application(step, screen, application)
        if step.target is None:
            return None
        found = self._find(place, screen)
        if isinstance(found, Miss):
            return found
        return effect_is_there(step, found, self.procedure.request) or found

    def _find(self, place: int, screen: Screen) -> Control | Miss:
        step = self._steps[place]
        known = self._known - {bare(step.target.name)} if step.target else self._known
        beside = (self._steps[place - 1] if place else None, next(iter(self._steps[place + 1 : place + 2]), None))
        return find(step, screen, known, beside)

    def _way_home(self, step: ProcedureStep, screen: Screen, application: str | None) -> Act | None:
        """The application the step belongs to is open, and another is in front: bring it there."""
        home = screen.applications.get(bare(step.application)) if step.application else None
        if home is None or step.kind == "switch" or (application and bare(application) == home.bare):
            return None
        return Act("switch_application", Target(home.name, home.type, home.within, home.id), {"text": home.name})

    def _leads_home(self, act: Act) -> bool:
        current = self._steps[self._at] if self._at < len(self._steps) else None
        return kind_of(act.action) == "switch" and current is not None and current.kind != "switch"

    def _is_home(self, act: Act) -> bool:
        return act.target is not None and bare(act.target.name) == bare(self._steps[self._at].application)

    def _passed_over(self, screen: Screen) -> int | None:
        """The place of the next step when only steps that lead there lie before it and it is in view already."""
        for place in range(self._at + 1, min(self._at + _LOOK_AHEAD, len(self._steps))):
            before = self._steps[place - 1]
            step = self._steps[place]
            if before.kind not in ("click", "switch") or step.unbound or step.target is None:
                return None
            passed = self._steps[self._at : place]
            if any(one.around is not None and stood_beside(step, one.around) for one in passed):
                return None  # it was in view before a step that is missing, too
            leads = before.kind == "switch" or before.role in _LEADS
            if not leads and not (screen.dialog and _is_behind(before, screen)):
                return None
            if isinstance(self._find(place, screen), Control):
                return place
        return None

    def _found_again(self, screen: Screen, application: str | None) -> int | None:
        """Where the way goes on from this screen; see `resume`."""
        if self._at == len(self._steps):
            return next((one for one in self._left_out if self._is_due(one, screen, application)), None)
        if self._is_due(self._at, screen, application):
            return self._at
        if self._stood_in == self._at < len(self._steps) - 1 and self._is_due(self._at + 1, screen, application):
            return self._at + 1
        found = None
        for place in range(self._at - 1, -1, -1):
            if self._steps[place].confirm:
                break
            if self._is_due(place, screen, application):
                found = place
            elif found is not None:
                break
        return found

    def _is_due(self, place: int, screen: Screen, application: str | None) -> bool:
        """True when the control of a step is in view and what the step brings about is not."""
        return self._steps[place].kind != "switch" and isinstance(self._check(place, screen, application), Control)

    def _opened_first(self, step: ProcedureStep, screen: Screen) -> Act | None:
        """Open a folder or tab in view that is a value of the task and no step's: it was open when the run began."""
        while (place := self._place_unsaid(step, screen)) is not None:
            self._unspoken = {value: other for value, other in self._unspoken.items() if bare(value) != place.bare}
            if not place.selected:
                self._door = place
                return Act(self._click, target_of(place))
        return None

    def _left_unsaid(self, step: ProcedureStep, *, told: bool) -> Stop | None:
        """Say what other values no step speaks of, before the way does what cannot be seen as mere looking; nothing
        where the agent is `told` so with the way, and is to see whether it fits at all.
        """
        if told:
            return None
        changed = [value for value, is_other in self._unspoken.items() if is_other]
        if not self._may_look_around(step) or not changed or step.role in _LEADS:
            return None
        if any(one.unbound for one in self._steps[self._at :]):
            return None
        self._unspoken.clear()
        return Stop("unbound_slot", f"the way says nothing of {', '.join(map(repr, changed))}, which the task names")

    def _may_look_around(self, step: ProcedureStep) -> bool:
        """True while there are values left unsaid, and nothing was typed or chosen yet."""
        return bool(self._unspoken) and step.kind != "switch" and not self._has_input()

    def _has_input(self) -> bool:
        return any(one.kind in STAYS for one in self._steps[: self._at])

    def _place_unsaid(self, step: ProcedureStep, screen: Screen) -> Control | None:
        """The folder or tab in view that is a value of the task and no step's."""
        if not self._click or screen.dialog or not self._may_look_around(step):
            return None
        named = ([one for one in screen.named(value) if one.role in _PLACES] for value in self._unspoken)
        return next((ones[0] for ones in named if len(ones) == 1 and ones[0].usable), None)

    @property
    def unspoken(self) -> tuple[str, ...]:
        """Values of the task that no step speaks of: a folder or tab of that name is opened first."""
        return tuple(self._unspoken)

    def _next_door(self, screen: Screen) -> Act | None:
        """Look for the item that bears a value of the task in the folder or tab beside the one that is open, each once.

        Only while nothing was typed or chosen that leaving the place could lose.
        """
        step = self._steps[self._at]
        plain = step.kind == "click" and is_plain_click(step)
        if not (step.value and plain) or is_fixed(step.role) or screen.dialog:
            return None
        if self._has_input():
            return None
        here = next((ones for role in _PLACES if (ones := screen.chosen(role))), ())
        if len(here) != 1:
            return None
        self._searched.add(here[0].bare)
        beside = (one for one in screen.controls if (one.role, one.within) == (here[0].role, here[0].within))
        self._door = next((one for one in beside if one.usable and one.bare not in self._searched), None)
        if self._door is None:
            return None
        self._searched.add(self._door.bare)
        return Act(step.action, target_of(self._door))

    def _doubt(self, miss: Miss) -> Stop:
        self._lose_the_way(miss.detail)
        self._missed = miss
        if self._given_up:
            return Stop("gave_up", self._given_up)
        return Stop(miss.reason, miss.detail)

    def _lose_the_way(self, why: str) -> None:
        if self._looks == 0:
            self.detours += 1
        self._looks += 1
        self.sure = False
        if self.detours > self._max_detours:
            self._given_up = f"{self.detours} detours: {why}"
        elif self._looks > self._max_looks:
            self._given_up = f"{self._looks} looks in vain: {why}"

    def _place_of(self, act: Act) -> int | None:
        """The place of the step an action carries out: the next, or one of the few after it."""
        upcoming = self._steps[self._at : self._at + _LOOK_AHEAD]
        return next((self._at + away for away, step in enumerate(upcoming) if carries_out(step, act)), None)

    def _take_for_stand_in(self, act: Act) -> None:
        """The agent did, with a control of another name, just what the next step does: the step is behind."""
        step = self._steps[self._at] if self._at < len(self._steps) else None
        missing = self._missed is not None and self._missed.reason == "target_missing"
        if step is None or not missing or step.target is None or act.target is None:
            return
        alike = kind_of(act.action) == step.kind and role_of(act.target.type) == step.role
        if alike and text_of(act) == step.text and step.kind in ("type", "select"):
            self._at, self._missed = self._at + 1, None
        elif alike and step.kind == "click":
            self._stood_in = self._at


def _is_behind(step: ProcedureStep, screen: Screen) -> bool:
    """True when the control of a step is in view and none like it stands in the dialog that is open."""
    named = screen.named(step.target.name) if step.target else ()
    return bool(named) and not any(one.dialog for one in named)
