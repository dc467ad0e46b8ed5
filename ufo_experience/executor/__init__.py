"""A known way carried out without a model: each step checked before and after, asked for first where it is grave.

    from ufo_experience.executor import PlaywrightDriver
    done = memory.run("Make the user mlopez a member of the group Editors", PlaywrightDriver(page), ask=ask_me)
    print(done.reached, done.stopped, done.calls_saved)

A driver is any object with `controls()` (what is in view, in reading order) and `do(act)`. What the screen does not
confirm is not done: the `agent` is asked, and the way goes on where it is found again; without one the run stops and
says why. A control of a new name in the same place is used once its effect is seen, never for a step to ask for first.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from ufo_experience.actions import kind_of
from ufo_experience.controls import bare
from ufo_experience.errors import DataError, ExperienceError, ServiceError, UsageError
from ufo_experience.executor.drivers import PlaywrightDriver, SeleniumDriver, UfoDriver
from ufo_experience.procedure.acts import Act, Stop, needs_consent, target_of
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.matching import find
from ufo_experience.procedure.render import phrase
from ufo_experience.procedure.screen import Control, Screen, read_screen
from ufo_experience.procedure.steps import ProcedureStep, Target
from ufo_experience.request import find_whole
from ufo_experience.telemetry import span

__all__ = ["Driver", "Executed", "Execution", "Executor", "PlaywrightDriver", "SeleniumDriver", "Target", "UfoDriver"]

MAX_STEPS = 100
MOST_HANDOVERS = 3  # times the agent is asked for one and the same step
WAIT = 5.0  # seconds an effect may take to be seen
_PAUSE = 0.05
_TOGGLED = ("checkbox", "radiobutton")
_MAY_COME = ("target_missing", "several_targets", "unexpected_screen")  # while a page is still loading
_CHOSEN = ("tabitem", "treeitem", "listitem")

Ask = Callable[[Act], Any]
Agent = Callable[[Sequence[Any], Stop], Any]
Check = Callable[[Any], Any] | str
Call = Callable[[], Any]
Work = Generator[Call, Any, tuple[str, str]]


class Driver(Protocol):
    """Carries out actions in an application. Either method may be a coroutine, for `arun`."""

    def controls(self) -> Any:
        """What is in view, in reading order: mappings with id, name, type, and where known value, checked, within …"""
        ...

    def do(self, act: Act) -> Any:
        """Carry out an action on `act.target.id`. Raises when it cannot."""
        ...


@dataclass(frozen=True)
class Executed:
    """One action: what was done, in words; who decided on it; which effect was seen ("" for none); what was healed."""

    text: str
    by: Literal["way", "agent"]
    effect: str
    ok: bool = True
    healed: str = ""
    act: Act | None = field(default=None, repr=False, compare=False)
    view: Screen | None = field(default=None, repr=False, compare=False)  # what was in view before it


@dataclass(frozen=True)
class Execution:
    """How a run went. `reached` is True when the way is at its end and the check, if there is one, agrees.

    `stopped` says why it ended and in detail; `calls` counts questions to the agent, `calls_saved` the steps that took
    none. `learned` is the record of a healed way, which is used from now on. A step during which a run broke off is the
    last of `steps`, not `ok`: nobody saw whether it was done. `error` is what a driver or a callback raised.
    """

    task: str
    procedure: str
    steps: tuple[Executed, ...]
    reached: bool
    reason: str
    detail: str
    calls: int = 0
    checked: bool | None = None
    learned: str = ""
    error: Exception | None = field(default=None, repr=False, compare=False)

    @property
    def stopped(self) -> str:
        """Why it ended: "done", or a reason and its detail."""
        return "done" if self.reached else f"{self.reason}: {self.detail}"

    @property
    def calls_saved(self) -> int:
        """The steps that were carried out without asking anybody's model."""
        return sum(one.by == "way" and one.ok for one in self.steps)

    @property
    def healed(self) -> int:
        """The steps whose control was found under another name, by the way itself or by the agent."""
        return sum(bool(one.healed) for one in self.steps)

    @property
    def heal_failed(self) -> bool:
        """True when a step on a control of another name had no effect, or the check refused a run with one."""
        broke_off = self.reason in ("failed", "interrupted")
        return any(one.healed and (self.checked is False or not (one.ok or broke_off)) for one in self.steps)


class Executor:
    """Carries out one guide. `work` is driven by `run` or `arun`, which answer each call it yields."""

    def __init__(
        self,
        guide: Guide,
        driver: Driver,
        *,
        ask: Ask | None = None,
        agent: Agent | None = None,
        check: Check | None = None,
        progress: Callable[[Executed], None] | None = None,
        wait: float = WAIT,
    ) -> None:
        self.guide, self.driver = guide, driver
        self._ask, self._agent, self._check = ask, agent, check
        self._progress, self._wait = progress or (lambda one: None), wait
        self._steps: list[Executed] = []
        self._calls = 0
        self._handed_over: dict[int, int] = {}
        self._view = read_screen(())
        self._doing: Executed | None = None  # the step that was begun, and whose effect nobody has seen yet
        self._error: Exception | None = None

    def run(self) -> Execution:
        """Carry it out in this thread.

        Raises:
            UsageError: the driver's methods are coroutines: use `arun`.
        """
        work = self._work()
        with span("execute_procedure") as told:
            try:
                call = next(work)
                while True:
                    call = self._told_on(work, *_answer(call))
            except StopIteration as end:
                return self._ended(told, *end.value)
            except KeyboardInterrupt:
                return self._ended(told, "interrupted", "by hand")

    async def arun(self) -> Execution:
        """The same on an event loop; the methods of the driver may be coroutines."""
        work = self._work()
        with span("execute_procedure") as told:
            try:
                call = next(work)
                while True:
                    call = self._told_on(work, *await _awaited(call))
            except StopIteration as end:
                return self._ended(told, *end.value)

    def _told_on(self, work: Work, answer: Any, fault: Exception | None) -> Call:
        """Tell `work` what came of its call; what it calls next."""
        if fault is None:
            return work.send(answer)
        self._error = fault
        known = isinstance(fault, ExperienceError)
        return work.throw(fault if known else ServiceError(f"{type(fault).__name__}: {fault}", code="E_DRIVER"))

    def _ended(self, told: Any, reason: str, detail: str) -> Execution:
        if self._doing is not None:
            detail += f"; whether this was done nobody saw: {self._doing.text}"
            self._note(self._doing)
        way = self.guide.procedure
        checked = {"done": True if self._check is not None else None, "check_failed": False}.get(reason)
        reached, steps = reason == "done", tuple(self._steps)
        error = None if reached else self._error
        done = Execution(way.request, way.id, steps, reached, reason, detail, self._calls, checked, error=error)
        told.set(checked=done.checked, healed=bool(done.healed))
        return done

    # ---- the loop

    def _work(self) -> Work:
        """Go along the way; yields what is to be called, returns the reason of the end and its detail."""
        try:
            return (yield from self._along())
        except UsageError:
            raise
        except ExperienceError as error:  # the browser is gone: what was done until then is told
            return "failed", str(error)

    def _along(self) -> Work:
        yield from self._look()
        for _ in range(MAX_STEPS):
            said = yield from self._next()
            if isinstance(said, Stop) and said.reason == "done":
                return (yield from self._checked())
            end = yield from (self._hand_over(said) if isinstance(said, Stop) else self._carry_out(said))
            if end is not None:
                return end
        return "failed", f"more than {MAX_STEPS} actions"

    def _look(self) -> Generator[Call, Any, Screen]:
        self._view = read_screen((yield self.driver.controls))
        return self._view

    def _next(self) -> Generator[Call, Any, Act | Stop]:
        """The next step, once its control is in view and, where it is to be asked for, somebody allows it."""
        said = self.guide.next(self._view)
        if isinstance(said, Stop) and said.reason in _MAY_COME and (yield from self._comes()):
            said = self.guide.next(self._view)
        act = said.act if isinstance(said, Stop) and said.reason == "needs_consent" else said
        if not isinstance(act, Act) or not _is_grave(act):
            return said
        if _healed(act):
            return Stop("target_missing", "nothing is healed that is to be asked for first")
        return (
            act if (yield from self._allowed(act)) else Stop("needs_consent", f"nobody allowed it: {_said(act)}", act)
        )

    def _comes(self) -> Generator[Call, Any, bool]:
        """Wait for the control of the next step; False where it does not come into view."""
        due, until = self.guide.due, time.monotonic() + self._wait
        while due is not None and time.monotonic() < until:
            yield lambda: time.sleep(_PAUSE)
            found = self.guide.check(due, (yield from self._look()), consent=True)
            if isinstance(found, Act) or found.reason == "done":
                return True
        return False

    def _allowed(self, act: Act) -> Generator[Call, Any, bool]:
        ask = self._ask
        return ask is not None and (yield lambda: ask(replace(act, confirm=True))) is True

    def _carry_out(self, act: Act) -> Generator[Call, Any, tuple[str, str] | None]:
        """Do one step of the way and see its effect; the reason of the end where it has none, else None."""
        before = self._view
        self._doing = Executed(
            phrase(act.step) if act.step else act.action, "way", "", False, _healed(act), act, before
        )
        failure = yield from self._done(act)
        effect = "" if failure else (yield from self._effect(act, before))
        if not (failure or effect) and self.guide.is_there(act, self._view):
            effect = "it was there"
        self._note(replace(self._doing, effect=effect, ok=bool(effect)))
        self.guide.note(act, ok=bool(effect))
        if effect:
            return None
        stop = Stop(
            "unexpected_screen", failure or f"nothing on the screen shows the effect of: {self._steps[-1].text}"
        )
        if failure:
            yield from self._look()
        return (yield from self._hand_over(stop)) if failure or self._agent else ("no_effect", stop.detail)

    def _done(self, act: Act) -> Generator[Call, Any, str]:
        """Have an action done; "" or what went wrong."""
        try:
            yield lambda: self.driver.do(act)
        except (DataError, ServiceError) as error:
            return str(error)
        return ""

    def _hand_over(self, stop: Stop) -> Generator[Call, Any, tuple[str, str] | None]:
        """Let the agent act where the way does not go on; the reason of the end where there is none, or it gives up."""
        agent, place, due = self._agent, self.guide.place, self.guide.due
        self._handed_over[place] = self._handed_over.get(place, 0) + 1
        if stop.reason == "needs_consent":
            return "refused", stop.detail
        if agent is None or self._handed_over[place] > MOST_HANDOVERS or self.guide.gave_up:
            return stop.reason, stop.detail
        self._calls += 1
        shown, asked = [_as_mapping(one) for one in self._view.controls], replace(stop, act=stop.act or due)
        answers = yield lambda: agent(shown, asked)
        answers = [answers] if isinstance(answers, (Act, Mapping)) else list(answers or ())
        if not answers:
            return stop.reason, f"{stop.detail}; the agent knew nothing either"
        for answer in answers:
            refused = yield from self._do_for_agent(answer, due)
            if refused is not None:
                return refused
        self.guide.resume(self._view)
        last = self._steps[-1]
        if self.guide.place > place and due is not None and last.act is not None:  # it stood in for the step
            self._steps[-1] = replace(last, healed=_healed(replace(due, target=last.act.target)))
        if isinstance(answers[-1], Mapping) and answers[-1].get("finish") is True:
            return (yield from self._checked())
        return None

    def _do_for_agent(self, answer: Any, due: Act | None) -> Generator[Call, Any, tuple[str, str] | None]:
        """Do what the agent answers; the reason of the end where that cannot be, or is not allowed."""
        try:
            act = _as_act(answer, self._view)
        except DataError as error:
            return "unexpected_screen", f"the agent's answer cannot be carried out: {error}"
        if (_is_grave(act) or (due is not None and _is_grave(due))) and not (yield from self._allowed(act)):
            return "refused", f"nobody allowed it: {_said(act)}"
        self._doing = Executed(_said(act), "agent", "", False, act=act, view=self._view)
        failure = yield from self._done(act)
        yield from self._look()
        self._note(replace(self._doing, ok=not failure))
        self.guide.note(act, ok=not failure)
        return None

    def _checked(self) -> Generator[Call, Any, tuple[str, str]]:
        """Ask the check, when the way is at its end."""
        check = self._check
        if isinstance(check, str):
            shown = [*(one.name for one in self._view.controls), (yield lambda: getattr(self.driver, "url", ""))]
            passed = any(check.casefold() in text.casefold() for text in shown)
        else:
            passed = True if check is None else bool((yield lambda: check(self.driver)))
        return ("done", "") if passed else ("check_failed", "the way is at its end, and the check says no")

    def _note(self, one: Executed) -> None:
        self._doing = None
        self._steps.append(one)
        self._progress(one)

    # ---- effects

    def _effect(self, act: Act, before: Screen) -> Generator[Call, Any, str]:
        """Which effect of an action is seen, within `wait` seconds; "" for none."""
        until = time.monotonic() + self._wait
        while True:
            after = yield from self._look()
            seen = _effect_of(act, before, after)
            if seen or time.monotonic() > until:
                return seen
            yield lambda: time.sleep(_PAUSE)


def _healed(act: Act) -> str:
    """ "Save → Store" where the control in view is called otherwise than the way knows it, else ""."""
    step, target = act.step, act.target
    if step is None or step.target is None or target is None or step.item_of or target.id is None:
        return ""
    is_new = bool(step.target.name) and bare(step.target.name) not in bare(target.name)
    return f"{step.target.name} → {target.name}" if is_new else ""


def _is_grave(act: Act) -> bool:
    """True for what is to be asked for first, as the way or the agent wants it."""
    asked = act.confirm or bool(act.step and act.step.ask_first)
    name, kind = (act.target.name, act.target.type) if act.target else ("", "")
    return asked or (act.step is None and needs_consent(act.action, name, kind, act.parameters))


def _answer(call: Call) -> tuple[Any, Exception | None]:
    try:
        return _not_awaited(call()), None
    except Exception as fault:  # noqa: BLE001 - of anybody's driver or callback: the execution tells it
        return None, fault


async def _awaited(call: Call) -> tuple[Any, Exception | None]:
    try:
        answer = call()
        return (await answer if isinstance(answer, Awaitable) else answer), None
    except Exception as fault:  # noqa: BLE001 - as in `_answer`
        return None, fault


def _effect_of(act: Act, before: Screen, after: Screen) -> str:
    """What of an action is to be seen: the value, the state of a switch, another screen."""
    kind, target = kind_of(act.action), act.target
    now = _again(act, after)
    if kind in ("type", "select") and now is not None and now.value is not None:
        return "the value is there" if _holds(str(now.value), act.text, kind) else ""
    if target is not None and kind == "click" and now is not None:
        old = _again(act, before)
        if now.role in _TOGGLED and now.checked is not None and old is not None:
            return (
                "it was switched"
                if now.checked is not old.checked or (now.role == "radiobutton" and now.checked)
                else ""
            )
        if now.role in _CHOSEN and now.selected:
            return "it is selected"
    return "the screen changed" if _signs(before) != _signs(after) else ""


def _holds(value: str, text: str, kind: str) -> bool:
    """True where a text was typed or chosen, also one that its field masks, or that a list shows with a sign."""
    is_masked = len(value) == len(text) and len(set(value)) == 1 and not value[0].isalnum()
    return value == text or is_masked or (kind == "select" and find_whole(text, value) >= 0)


def _again(act: Act, screen: Screen) -> Control | None:
    """The control of an action in another view: by its name and place, else as the only one of its name."""
    if act.target is None:
        return None
    same = [one for one in screen.named(act.target.name) if one.type == act.target.type]
    placed = [one for one in same if one.within == act.target.within]
    return next((one for one in placed if one.id == act.target.id), None) or (placed[0] if len(placed) == 1 else None)


def _signs(screen: Screen) -> list[tuple[str, str, str, object, object]]:
    return [(one.name, one.type, str(one.value), one.checked, one.selected or one.expanded) for one in screen.controls]


def _as_act(answer: Any, view: Screen) -> Act:
    """What the agent answers: an action, or the mapping of a model (`function`, `id` or `name`, parameters).

    Raises:
        DataError: it names no control in view, or several.
        UsageError: it is neither.
    """
    if not isinstance(answer, (Act, Mapping)):
        raise UsageError(f"an agent answers with actions or mappings, not {answer!r:.60}")
    try:
        act = answer if isinstance(answer, Act) else Act.of(answer, view.controls)
    except UsageError as error:
        raise DataError(str(error), code="E_TARGET") from error
    if act.target is None or act.target.id is not None:
        return act
    step = ProcedureStep(0, act.action, kind_of(act.action), act.target, act.parameters)
    found = find(step, view, {one.bare for one in view.controls})
    if isinstance(found, Stop):
        raise DataError(found.detail, code="E_TARGET")
    return replace(act, target=target_of(found))


def _as_mapping(control: Control) -> dict[str, Any]:
    """A control as agents and `read_screen` take it."""
    told = {"id": control.id, "name": control.name, "type": control.type, "within": control.within}
    told |= {"value": control.value, "checked": control.checked, "selected": control.selected}
    told |= {"expanded": control.expanded, "dialog": control.dialog, "options": control.options}
    return {key: value for key, value in told.items() if value not in (None, "", ())}


def _said(act: Act) -> str:
    return phrase(ProcedureStep(1, act.action, kind_of(act.action), act.target, act.parameters))


def _not_awaited(answer: Any) -> Any:
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise UsageError("this driver is asynchronous: await memory.arun(…)")
    return answer


def steps_done(execution: Execution) -> list[dict[str, Any]]:
    """The actions of an execution as steps that can be remembered, each with what was in view."""
    return [_as_step(one.act, one.view) for one in execution.steps if one.ok and one.act is not None]


def _as_step(act: Act, view: Screen | None) -> dict[str, Any]:
    target = act.target
    control = {"name": target.name, "type": target.type or None, "within": target.within} if target else {}
    shown = [_as_mapping(one) for one in view.controls] if view else []
    return {
        "action_type": act.action,
        "target_control": control,
        "parameters": dict(act.parameters),
        "controls": shown,
    }
