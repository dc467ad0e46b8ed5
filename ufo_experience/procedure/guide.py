"""The guide: a place in a known way, and the next step as far as the screen agrees.

    guide.next(controls)    Act(action, target, parameters, confirm) | Stop(reason, detail)
    guide.note(act, ok)     what became of it, whoever carried it out
    guide.ahead(controls)   the rest of the way as far as it can be foreseen
    guide.notes             what to know beside it: what the way does not cover, that it goes on, that it was reworded

A guide is advice with a place marker: it acts on nothing, and the agent decides. While words of the task are covered by
no step, it passes no step that is asked for first, and does not say `done`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Literal

from ufo_experience.controls import bare
from ufo_experience.errors import names_methods
from ufo_experience.procedure.acts import Act, Stop, carries_out, on_screen, target_of
from ufo_experience.procedure.matching import (
    check_action,
    effect_is_there,
    find,
    find_application,
    named_in_task,
    option_meant,
    read_value,
    stood_beside,
    where_seen,
)
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.screen import Control, Controls, Screen, read_screen
from ufo_experience.procedure.steps import STAYS, ProcedureStep, with_text
from ufo_experience.request import holds
from ufo_experience.schema import expect

_MAX_DETOURS = 3  # checks that fail, before it gives up
_MAX_LOOKS = 8  # and so many in a row
_LOOK_AHEAD = 4
_MOST_AHEAD = 16
_MARK = re.compile("‹.*›", re.DOTALL)  # the name of a field in place of a value that is open
# Controls that lead somewhere and change nothing: their step may be passed over when what follows it is in view.
_LEADS = frozenset(("tabitem", "treeitem", "menuitem", "hyperlink", "menubar", "splitbutton", "application"))
_LEADING = ("click", "switch", "open")

REWORDED = "Learned for a task in other words: take these steps only if yours is the same."
RESUMED = "The way was left; it goes on here."


@names_methods
class Guide:
    """Walks along one procedure. Made for one task, used by one thread.

    `place` is how many steps of the way are behind. `sure` is False from the first check that fails until the agent
    itself has taken a step of the way, or the guide's own next step was carried out. After too many failed checks it
    gives up. `uncovered` are words of the task that no step serves, and nothing the agent did since.
    """

    place: int
    sure: bool

    def __init__(self, procedure: Procedure) -> None:
        self.procedure = procedure
        self.detours = 0
        self.uncovered = procedure.uncovered
        end = procedure.parts_at or len(procedure.steps) + 1
        self._steps = [one for one in procedure.steps if one.number < end]
        self._known = frozenset(bare(one.name) for one in self._steps if one.name)
        self._given_up = ""
        self._left_out: list[int] = []  # steps that were passed over by one that was done
        self._go_on(0)

    @property
    def due(self) -> Act | None:
        """The next step of the way, whether or not its control is in view; None at the end."""
        return self._act(self.place) if self._next else None

    @property
    def gave_up(self) -> bool:
        """True when it will not speak again."""
        return bool(self._given_up)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of the way from here on, beside its steps."""
        left = self._steps[self.place :]
        waits = next((one for one in left if one.missing and not one.can_be_filled), None)
        hidden = sum(one.hidden for one in left)
        told = {
            REWORDED: self.procedure.reworded,
            RESUMED: self._resumed,
            f"No step does this, do it before what is asked for first: {', '.join(self.uncovered)}.": self.uncovered,
            f"The way goes on: {len(left)} steps.": len(left) > 1,
            f"Step {waits.number} is yours to decide: {', '.join(waits.missing)}." if waits else "": waits,
            f"{hidden} names are hidden.": hidden,
            self.procedure.parts: self.procedure.parts,
        }
        return tuple(note for note, holds in told.items() if holds)

    # ---- the next step

    def next(self, controls: Controls, *, application: str | None = None, consent: bool = False) -> Act | Stop:
        """The next step, checked against `controls` (as `read_screen` takes them), or why there is none.

        `application` is the one in front. With `consent` a person has allowed the step that was asked for.
        """
        return self._look(self._observed(controls), application, consent)

    def ahead(self, controls: Controls, limit: int = _MOST_AHEAD, *, application: str | None = None) -> tuple[Act, ...]:
        """The next step and those that follow it, at most `limit`; empty when there is none: `next` says why.

        Only what is done on this screen is checked; a target of a later one has no `id` yet.
        """
        screen = self._observed(controls)
        first = self._look(screen, application, True, fill=True)
        if isinstance(first, Stop) or limit < 1:
            return ()
        acts = [first]
        for place in range(self.place + (not self._leads_home(first)), len(self._steps)):
            step = self._steps[place]
            is_open = (step.missing and not step.can_be_filled) or step.hidden
            if len(acts) >= limit or is_open or (step.ask_first and self.uncovered):
                break
            stays = all(one.kind in STAYS for one in acts)
            found = self._check(place, screen, application) if stays else None
            if found is not True:  # filled in as it should be
                act, control = self._act(place), found if isinstance(found, Control) else None
                acts.append(replace(act, target=target_of(control)) if control else act)
        return tuple(acts)

    def check(
        self, act: Act, controls: Controls, *, application: str | None = None, consent: bool = False
    ) -> Act | Stop:
        """An action the agent foresaw, with its target on the screen, or why it cannot be done.

        A step of the way is checked as `next` does, any other by its target alone. What is hard to take back needs
        `consent`: that of a person, or of an agent that decides with the screen in view.
        """
        screen = self._observed(controls)
        place = None if self._given_up else self._place_of(act)
        if place is None:
            return check_action(act, screen, application=application, consent=consent)
        step = self._steps[place]
        if step.value_from in ("open", "screen") and (not act.text or _MARK.fullmatch(act.text)):
            if step.value_from == "open":
                return Stop("unbound_slot", f"put the value in place of {act.text}{self._where(step)}")
            act = replace(act, parameters=step.parameters)
        found = self._check(place, screen, application)
        if found is True:
            self.note(act)
        return on_screen(replace(act, step=step), found, consent=consent)

    def is_there(self, act: Act, controls: Controls) -> bool:
        """True when the next step only leads somewhere, and what a step after it acts on is in view."""
        return act.step is self._next and self._passed_over(self._observed(controls)) is not None

    def agrees(self, acts: Sequence[Act]) -> int:
        """How many of `acts`, from the first on, are the next steps of the way, or bring its application in front."""
        home = [act for act in acts[:1] if self._leads_home(act) and act.target and self._next]
        home = [act for act in home if bare(act.alone.name) == bare(self._steps[self.place].application)]
        both = zip(self._steps[self.place :], acts[len(home) :], strict=False)
        return len(home) + sum(1 for _ in takewhile(lambda one: carries_out(*one), both))

    def resume(self, controls: Controls, *, application: str | None = None) -> bool:
        """Find the way again after a detour: True when it goes on from this screen, maybe from a place behind."""
        screen = read_screen(controls)
        if self._given_up or (self._next and not self._strayed):
            return False
        place = next((one for one in self._to_go_on_from(screen, application)), None)
        if place is None:
            return False
        self._go_on(place)
        self._resumed = True
        self._left_out = [one for one in self._left_out if one < place]
        return True

    def note(self, act: Act, ok: bool = True) -> None:
        """Say what became of an action, the guide's own or the agent's. A step of the way moves the place behind it; a
        failed one is a detour; failed twice, the guide gives up."""
        expect(Act, act, "what is noted")
        if self._given_up or self._leads_home(act):
            return
        place = self._place_of(act)
        if ok:
            said = f"{act.alone.name} {act.text}"
            self.uncovered = tuple(one for one in self.uncovered if not holds(said, one))
        if ok and place is not None:
            self._left_out += range(self.place, place)
            self._go_on(place + 1)
        elif ok:
            self._strayed = True
            if self._stands_in(act):
                self._stood_in = True
        elif place is not None and place == self.place:
            self._failures += 1
            self._lose_the_way(f"step {place + 1} was tried and failed")
            if self._failures > 1:
                self._given_up = f"step {place + 1} failed twice"

    # ---- what the screen tells

    @property
    def _next(self) -> ProcedureStep | None:
        return self._steps[self.place] if self.place < len(self._steps) else None

    def _observed(self, controls: Controls) -> Screen:
        """The screen, off which was read what the run of the way had looked up there, and what the next step means."""
        screen = read_screen(controls)
        for place in range(self.place, len(self._steps)):
            step = self._steps[place]
            was_seen = step.seen is not None and step.seen.after <= self.place
            if was_seen and step.value_from == "open" and (value := read_value(step, screen)):
                self._steps[place] = step.told(value)
        if self._next:
            self._steps[self.place] = self._told_by(self._next, screen)
        return screen

    def _told_by(self, step: ProcedureStep, screen: Screen) -> ProcedureStep:
        """The step with the option or item that it means here, where the words of the task leave it open."""
        if step.kind == "select":
            control = self._find(self.place, screen)
            offered = control.options if isinstance(control, Control) else ()
            option = "" if step.text in offered else option_meant(offered, self.procedure.request, step.item_of)
            return step.told(option) if option else step
        if step.missing and step.kind == "click" and not step.role.endswith("button"):
            meant = named_in_task(step, screen, self.procedure.request, self._known)
            if meant is not None:
                self.uncovered = tuple(one for one in self.uncovered if bare(one) not in meant.bare)
                return replace(step.aimed_at(name=meant.name), missing=(), shown=None)
        return step

    def _check(self, place: int, screen: Screen, application: str | None) -> Control | Stop | Literal[True] | None:
        """The control to act on (None: the window), True when there is nothing left to do, or why it cannot be done."""
        step = self._steps[place]
        if step.kind == "switch":
            return find_application(step, screen, application)
        if step.target is None:
            return None
        found = self._find(place, screen)
        if isinstance(found, Stop):
            return found
        may_open = step.role == "hyperlink" and place + 1 < len(self._steps)  # also a link to the page itself
        if may_open and not isinstance(self._find(place + 1, screen), Control):
            return found
        return effect_is_there(step, found, self.procedure.request) or found

    def _find(self, place: int, screen: Screen) -> Control | Stop:
        step = self._steps[place]
        return find(step, screen, self._known - {bare(step.name)})

    # ---- what is told

    def _look(self, screen: Screen, application: str | None, consent: bool, *, fill: bool = False) -> Act | Stop:
        if self._given_up:
            return Stop("gave_up", self._given_up)
        while step := self._next:
            passed = self._passed_over(screen) if step.kind == "open" and step.missing else None
            if passed is None:
                stop = self._held_back(step, fill and step.can_be_filled, consent and not fill)
                if first := stop or self._way_home(step, screen, application):
                    return first
                found = self._check(self.place, screen, application)
                if found is True:
                    passed = self.place + 1
                elif isinstance(found, Stop):
                    passed = None if found.in_view else self._passed_over(screen)
                    if passed is None:
                        return self._doubt(found)
                else:
                    self._looks = 0
                    return on_screen(self._act(self.place), found, consent=consent)
            self.place = passed
        if self.procedure.parts:
            self.sure = False
            return Stop("ways_part", self.procedure.parts)
        return self._not_covered() if self.uncovered else Stop("done", f"all {self.place} steps of the way are behind")

    def _held_back(self, step: ProcedureStep, may_be_filled: bool, consent: bool) -> Stop | None:
        """Why a step is not taken whatever is on the screen: something in it is open, or not all is done before it."""
        if step.is_open and not may_be_filled:
            what = ", ".join(step.missing) or f"the option of {step.item_of}"
            detail = f"step {step.number} needs {what}, which the task does not give{self._where(step)}"
            return Stop("unbound_slot", detail)
        return self._not_covered() if step.ask_first and self.uncovered and not consent else None

    def _not_covered(self) -> Stop:
        return Stop("not_covered", f"no step of the way serves {', '.join(map(repr, self.uncovered))}")

    def _where(self, step: ProcedureStep) -> str:
        return f": it was seen {where_seen(step, self.procedure.steps)}" if step.seen else ""

    def _act(self, place: int) -> Act:
        """What a step is done with; in place of a value that is open the name of its field."""
        step = self._steps[place]
        if step.value_from != "open" or step.target is None:
            return Act(step.action, step.target, dict(step.parameters), step.ask_first, step=step)
        read = step.seen is not None and step.can_be_read and step.seen.after > self.place
        parameters, seen = with_text(step.parameters, f"‹{step.name}›"), where_seen(step, self.procedure.steps)
        return Act(step.action, step.target, parameters, step.ask_first, not read, read, seen, step)

    def _way_home(self, step: ProcedureStep, screen: Screen, application: str | None) -> Act | None:
        """The application the step belongs to is open, and another is in front: bring it there."""
        home = screen.applications.get(bare(step.application)) if step.application else None
        if home is None or step.kind == "switch" or (application and bare(application) == home.bare):
            return None
        return Act("switch_application", target_of(home), {"text": home.name})

    def _leads_home(self, act: Act) -> bool:
        return act.kind == "switch" and self._next is not None and self._next.kind != "switch"

    # ---- off the way, and back

    def _passed_over(self, screen: Screen) -> int | None:
        """The place of the next step when only steps that lead there lie before it and it is in view already."""
        for place in range(self.place + 1, min(self.place + _LOOK_AHEAD, len(self._steps))):
            before, step = self._steps[place - 1 : place + 1]
            is_of_task = before.item_of or before.value_from == "task"
            if before.kind not in _LEADING or before.ask_first or is_of_task or step.missing or not step.target:
                return None
            if any(one.around and stood_beside(step, one.around) for one in self._steps[self.place : place]):
                return None  # it was in view before a step that is missing, too
            leads = before.kind in ("switch", "open") or before.role in _LEADS or before.optional
            opened = [one.dialog for one in screen.named(before.name)]  # it opened the dialog it is behind now
            if not leads and (not screen.dialog or not opened or any(opened)):
                return None
            if isinstance(self._find(place, screen), Control):
                return place
        return None

    def _to_go_on_from(self, screen: Screen, application: str | None) -> Iterable[int]:
        """Where the way may go on from this screen, the best first: where it was left; the step after it, if the agent
        took another control of that kind; the first of the steps in view that lead up to there, none of which is grave;
        at the end a step that was passed over.
        """

        def is_due(place: int) -> bool:
            """True when the control of a step is in view and what the step brings about is not."""
            return self._steps[place].kind != "switch" and isinstance(self._check(place, screen, application), Control)

        if self._next is None:
            yield from filter(is_due, self._left_out)
            return
        own = [self.place, *([self.place + 1] if self._stood_in and self.place + 1 < len(self._steps) else [])]
        yield from filter(is_due, own)
        harmless = takewhile(lambda place: not self._steps[place].ask_first, range(self.place - 1, -1, -1))
        found = None
        for place in harmless:
            if is_due(place):
                found = place
            elif found is not None:
                break
        if found is not None:
            yield found

    def _go_on(self, place: int) -> None:
        """Be at a place, at which nothing has been done yet."""
        self.place, self.sure = place, True
        self._looks = self._failures = 0
        self._missing = False  # nothing in view was the control of the next step
        self._strayed = False  # the agent did something else since the last step of the way
        self._stood_in = False  # it acted on another control of the kind that was missing
        self._resumed = False

    def _doubt(self, stop: Stop) -> Stop:
        self._lose_the_way(stop.detail)
        self._missing = stop.reason == "target_missing"
        return Stop("gave_up", self._given_up) if self._given_up else stop

    def _lose_the_way(self, why: str) -> None:
        self.detours += self._looks == 0
        self._looks += 1
        self.sure = False
        if self.detours > _MAX_DETOURS:
            self._given_up = f"{self.detours} detours: {why}"
        elif self._looks > _MAX_LOOKS:
            self._given_up = f"{self._looks} looks in vain: {why}"

    def _place_of(self, act: Act) -> int | None:
        """The place of the step an action carries out: the next, or one of the few after it."""
        places = range(self.place, min(self.place + _LOOK_AHEAD, len(self._steps)))
        return next((place for place in places if carries_out(self._steps[place], act)), None)

    def _stands_in(self, act: Act) -> bool:
        """True when the agent did, with a control of another name, just what the next step does."""
        step, other = self._next, act.alone
        if step is None or not self._missing or (other.kind, other.role) != (step.kind, step.role):
            return False
        return step.kind == "click" or (step.kind in STAYS and act.text == step.text)
