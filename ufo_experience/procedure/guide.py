"""The guide: a place in a known way, and the next step as far as the screen agrees.

    guide.next(controls)    Act(action, target, parameters, confirm) | Stop(reason, detail)
    guide.note(act, ok)     what became of it, whoever carried it out
    guide.ahead(controls)   the rest of the way as far as it can be foreseen
    guide.notes             what to know beside it: what the way does not cover, that it goes on, that it was reworded

A guide is advice with a place marker: it acts on nothing, and the agent decides. While words of the task are covered by
no step, it passes no step that is asked for first, and does not say `done`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Literal

from ufo_experience.actions import kind_of
from ufo_experience.controls import bare, role_of
from ufo_experience.errors import UsageError
from ufo_experience.procedure.acts import Act, Stop, carries_out, for_a_person, target_of
from ufo_experience.procedure.looking import called, named_in_task, option_meant, read_value, where_seen
from ufo_experience.procedure.matching import Miss, check_action, effect_is_there, find, find_application, stood_beside
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.screen import Control, Screen, read_screen
from ufo_experience.procedure.steps import STAYS, TEXT_KEYS, ProcedureStep, Target
from ufo_experience.request import holds
from ufo_experience.schema import expect

MAX_DETOURS = 3
MAX_LOOKS = 8
_LOOK_AHEAD = 4
_MOST_AHEAD = 16
_MARK = re.compile("‹.*›", re.DOTALL)  # the name of a field in place of a value that is open
# Controls that lead somewhere and change nothing: their step may be passed over when what follows it is in view.
_LEADS = frozenset(("tabitem", "treeitem", "menuitem", "hyperlink", "menubar", "splitbutton", "application"))
_LEADING = ("click", "switch", "open")

REWORDED = "Learned for a task in other words: take these steps only if yours is the same."
RESUMED = "The way was left; it goes on here."


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
        if procedure.parts_at is not None:
            self._steps = tuple(one for one in self._steps if one.number < procedure.parts_at)
        self._known = frozenset(bare(one.target.name) for one in self._steps if one.target and one.target.name)
        self._at = self._looks = 0
        self._failed: dict[int, int] = {}
        self._uncovered = list(procedure.uncovered)
        self._strayed = False  # the agent did something else since the last step of the way
        self._resumed = False
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
    def due(self) -> Act | None:
        """The next step of the way, whether or not its control is in view; None at the end."""
        return self._act(self._at, None) if self._at < len(self._steps) else None

    @property
    def gave_up(self) -> bool:
        """True when it will not speak again."""
        return bool(self._given_up)

    @property
    def uncovered(self) -> tuple[str, ...]:
        """Words of the task that no step serves, and nothing the agent did since."""
        return tuple(self._uncovered)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of the way from here on, beside its steps."""
        waits = next((one for one in self._steps[self._at :] if one.missing and not one.can_be_filled), None)
        hidden = sum(not one.readable for one in self._steps[self._at :])
        told = {
            REWORDED: self.procedure.reworded,
            RESUMED: self._resumed,
            f"No step does this, do it before what is asked for first: {', '.join(self._uncovered)}.": self._uncovered,
            f"The way goes on: {self.remaining} steps.": self.remaining > 1,
            f"Step {waits.number} is yours to decide: {', '.join(waits.missing)}." if waits else "": waits,
            f"{hidden} names are hidden.": hidden,
            self.procedure.parts: self.procedure.parts,
        }
        return tuple(note for note, holds in told.items() if holds)

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
        has no `id` yet. Empty when there is no next step; `stopped` then says why. `notes` say what it does not.
        """
        screen = self._observed(controls)
        first = Stop("gave_up", self._given_up) if self._given_up else self._look(screen, application, True, fill=True)
        self.stopped = first if isinstance(first, Stop) else None
        if isinstance(first, Stop) or limit < 1:
            return ()
        acts = [first]
        begun = self._at if self._leads_home(first) else self._at + 1
        for place, step in enumerate(self._steps[begun:], start=begun):
            open_ = (step.missing and not step.can_be_filled) or not step.readable
            if len(acts) >= limit or open_ or (step.ask_first and self._uncovered):
                break
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
        step = self._steps[place]
        if step.value_from == "open" and (not act.text or _MARK.fullmatch(act.text)):
            if place not in self._read:
                return Stop("unbound_slot", f"put the value in place of {act.text}{self._where(place)}")
            act = replace(act, parameters=self._parameters(place))
        found = self._check(place, screen, application)
        if found is True:
            self.note(act)
            return Stop("done", "what it brings about is there already")
        if isinstance(found, Miss):
            return Stop(found.reason, found.detail)
        ready = replace(act, target=target_of(found)) if found is not None else act
        return for_a_person(ready) if step.ask_first and not consent else ready

    def is_there(self, act: Act, controls: Screen | Iterable[Any]) -> bool:
        """True when the next step only leads somewhere, and what the step after it acts on is in view."""
        step = self._steps[self._at] if self._at + 1 < len(self._steps) else None
        if step is None or act.step is not step or step.ask_first or step.role not in _LEADS:
            return False
        return isinstance(self._find(self._at + 1, self._observed(controls)), Control)

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
        self._go_on(place)
        self._resumed = True
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
        if ok:
            said = f"{act.target.name if act.target else ''} {act.text}"
            self._uncovered = [one for one in self._uncovered if not holds(said, one)]
        if ok and place is not None:
            self._left_out += range(self._at, place)
            self._go_on(place + 1)
        elif ok:
            self._strayed = True
            self._take_for_stand_in(act)
        elif place is not None and place == self._at:
            self._failed[place] = self._failed.get(place, 0) + 1
            self._lose_the_way(f"step {place + 1} was tried and failed")
            if self._failed[place] > 1:
                self._given_up = f"step {place + 1} failed twice"

    # ---- within

    def _go_on(self, place: int) -> None:
        self._at, self._looks, self.sure, self._missed, self._strayed = place, 0, True, None, False
        self._resumed = False

    def _observed(self, controls: Screen | Iterable[Any]) -> Screen:
        """The screen, off which values were read that the run of the way had looked up there, or that it tells."""
        screen = read_screen(controls)
        for place, step in enumerate(self._steps[self._at :], start=self._at):
            seen = step.seen if place not in self._read else None
            if seen is not None and seen.place <= self._at and (value := read_value(seen, screen)):
                self._read[place] = value
        if self._at < len(self._steps) and self._at not in self._read:
            self._told_by(self._steps[self._at], screen)
        return screen

    def _told_by(self, step: ProcedureStep, screen: Screen) -> None:
        """Settle what the next step means where the words of the task leave it open and the screen does not."""
        if step.kind == "select":
            self._choose_by(step, screen)
        elif not step.missing:
            return
        elif step.kind == "click" and step.role and not step.role.endswith("button"):
            meant = named_in_task(step, screen, self.procedure.request, self._known)
            if meant is not None:
                self._steps = (*self._steps[: self._at], called(step, meant), *self._steps[self._at + 1 :])
                self._uncovered = [one for one in self._uncovered if bare(one) not in meant.bare]

    def _choose_by(self, step: ProcedureStep, screen: Screen) -> None:
        """Take the option that the task means, where the one that was told is not offered."""
        control = self._find(self._at, screen)
        offered = control.options if isinstance(control, Control) else ()
        if not offered or step.text in offered:
            return
        option = option_meant(offered, self.procedure.request, step.item_of)
        if option and step.value_from != "open":
            parameters = {key: option if key in TEXT_KEYS else value for key, value in step.parameters.items()}
            now = replace(step, parameters=parameters)
            self._steps = (*self._steps[: self._at], now, *self._steps[self._at + 1 :])
        elif option:
            self._read[self._at] = option

    def _parameters(self, place: int) -> dict[str, Any]:
        """What a step is done with: the value of an open slot once it was read, until then the name of its field."""
        step = self._steps[place]
        if step.value_from != "open" or step.target is None:
            return dict(step.parameters)
        value = self._read.get(place, f"‹{step.target.name}›")
        return {key: value if key in TEXT_KEYS else given for key, given in step.parameters.items()}

    def _where(self, place: int) -> str:
        seen = self._steps[place].seen
        return f": it was seen {where_seen(seen, self._steps)}" if seen is not None else ""

    def _look(self, screen: Screen, application: str | None, consent: bool, *, fill: bool = False) -> Act | Stop:
        while self._at < len(self._steps):
            step = self._steps[self._at]
            if step.kind == "open" and step.missing and (passed := self._passed_over(screen)) is not None:
                self._at = passed
                continue
            stop = self._held_back(step, fill and step.can_be_filled, consent and not fill)
            if stop is not None:
                return stop
            home = self._way_home(step, screen, application)
            if home is not None:
                return home
            checked = self._check(self._at, screen, application)
            if checked is True:
                self._at += 1
            elif isinstance(checked, Miss):
                passed = None if checked.in_view else self._passed_over(screen)
                if passed is None:
                    return self._doubt(checked)
                self._at = passed
            else:
                self._looks = 0
                act = self._act(self._at, checked)
                return act if consent or not act.confirm else for_a_person(act)
        return self._at_the_end()

    def _held_back(self, step: ProcedureStep, may_be_filled: bool, consent: bool) -> Stop | None:
        """Why a step is not taken whatever is on the screen: something in it is open, or not all is done before it."""
        is_open = bool(step.missing) or (step.kind == "select" and step.value_from == "open")
        if is_open and self._at not in self._read and not may_be_filled:
            what = ", ".join(step.missing) or f"the option of {step.item_of}"
            return Stop(
                "unbound_slot", f"step {step.number} needs {what}, which the task does not give{self._where(self._at)}"
            )
        if step.ask_first and self._uncovered and not consent:
            return self._not_covered()
        return None

    def _not_covered(self) -> Stop:
        return Stop("not_covered", f"no step of the way serves {', '.join(map(repr, self._uncovered))}")

    def _at_the_end(self) -> Stop:
        if self.procedure.parts:
            self.sure = False
            return Stop("ways_part", self.procedure.parts)
        if self._uncovered:
            return self._not_covered()
        return Stop("done", f"all {len(self._steps)} steps of the way are behind")

    def _act(self, place: int, control: Control | None) -> Act:
        step = self._steps[place]
        target = step.target if control is None else target_of(control)
        is_open = step.value_from == "open" and place not in self._read
        read = is_open and step.seen is not None and step.seen.can_be_read and step.seen.place > self._at
        seen = where_seen(step.seen, self._steps) if is_open and step.seen is not None else ""
        fill = is_open and not read
        return Act(step.action, target, self._parameters(place), step.ask_first, fill, read, seen, step)

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
        return find(step, screen, known)

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
            grave = before.ask_first or before.item_of
            if before.kind not in _LEADING or grave or step.missing or step.target is None:
                return None
            passed = self._steps[self._at : place]
            if any(one.around is not None and stood_beside(step, one.around) for one in passed):
                return None  # it was in view before a step that is missing, too
            leads = before.kind in ("switch", "open") or before.role in _LEADS or before.optional
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
            if self._steps[place].ask_first:
                break
            if self._is_due(place, screen, application):
                found = place
            elif found is not None:
                break
        return found

    def _is_due(self, place: int, screen: Screen, application: str | None) -> bool:
        """True when the control of a step is in view and what the step brings about is not."""
        return self._steps[place].kind != "switch" and isinstance(self._check(place, screen, application), Control)

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
        if alike and act.text == step.text and step.kind in ("type", "select"):
            self._at, self._missed = self._at + 1, None
        elif alike and step.kind == "click":
            self._stood_in = self._at


def _is_behind(step: ProcedureStep, screen: Screen) -> bool:
    """True when the control of a step is in view and none like it stands in the dialog that is open."""
    named = screen.named(step.target.name) if step.target else ()
    return bool(named) and not any(one.dialog for one in named)
