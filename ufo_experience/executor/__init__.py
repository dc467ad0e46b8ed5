"""A known way carried out without a model: each step checked before and after, asked for first where it is grave.

    from ufo_experience.executor import PlaywrightDriver
    done = memory.run("Make the user mlopez a member of the group Editors", PlaywrightDriver(page), ask=ask_me)
    print(done.reached, done.stopped, done.calls_saved)

A driver is any object with `controls()` (what is in view, in reading order) and `do(act)`. What the screen does not
confirm is not done: the `agent` is asked, and the way goes on where it is found again; without one the run stops and
says why. A control of a new name in the same place is used once its effect is seen, never for a step to ask for first.
"""

import asyncio
import inspect
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Protocol, TypeVar

from ufo_experience.controls import bare
from ufo_experience.errors import DataError, ExperienceError, ServiceError, UsageError
from ufo_experience.executor.drivers import PlaywrightDriver, SeleniumDriver, UfoDriver
from ufo_experience.procedure.acts import Act, Stop, target_of
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.matching import find
from ufo_experience.procedure.render import phrase
from ufo_experience.procedure.screen import Control, Screen, read_screen
from ufo_experience.procedure.steps import STAYS, Target
from ufo_experience.request import find_whole
from ufo_experience.telemetry import span

__all__ = ["Driver", "Executed", "Execution", "Executor", "PlaywrightDriver", "SeleniumDriver", "Target", "UfoDriver"]

MAX_STEPS = 100
MOST_HANDOVERS = 3  # times the agent is asked for one and the same step
WAIT = 5.0  # seconds an effect may take to be seen
_PAUSE = 0.05
_TOGGLED = ("checkbox", "radiobutton")
_MAY_COME = ("target_missing", "several_targets", "unexpected_screen")  # while a page is still loading
_CHOSEN = ("tabitem", "treeitem", "listitem", "hyperlink")
_TOLD = ("id", "name", "type", "within", "value", "checked", "selected", "expanded", "dialog", "options")  # to agents

Ask = Callable[[Act], Any]
Agent = Callable[[Sequence[Any], Stop], Any]
Check = Callable[[Any], Any] | str
End = tuple[str, str]  # the reason of the end and its detail
T = TypeVar("T")


class Driver(Protocol):
    """Carries out actions in an application. Either method may be a coroutine, for `arun`."""

    def controls(self) -> Any:
        """What is in view, in reading order: mappings with id, name, type, and where known value, checked, within …"""

    def do(self, act: Act) -> Any:
        """Carry out an action on `act.target.id`. Raises when it cannot."""


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
    """Carries out one guide, in this thread (`run`) or on an event loop (`arun`).

    The loop is written once, as coroutines; in `run` nothing in them waits.
    """

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
        self._is_async = False
        self._steps: list[Executed] = []
        self._calls = 0
        self._handed_over: Counter[int] = Counter()
        self._view = read_screen(())
        self._doing: Executed | None = None  # the step that was begun, and whose effect nobody has seen yet
        self._error: Exception | None = None

    def run(self) -> Execution:
        with span("execute_procedure") as told:
            try:
                self._work().send(None)
            except StopIteration as end:
                return self._ended(told, *end.value)
            except KeyboardInterrupt:
                pass
            return self._ended(told, "interrupted", "by hand")

    async def arun(self) -> Execution:
        self._is_async = True
        with span("execute_procedure") as told:
            return self._ended(told, *await self._work())

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

    async def _work(self) -> End:
        try:
            await self._look()
            for _ in range(MAX_STEPS):
                said = await self._next()
                if isinstance(said, Stop) and said.reason == "done":
                    return await self._checked()
                end = await (self._hand_over(said) if isinstance(said, Stop) else self._carry_out(said))
                if end is not None:
                    return end
        except UsageError:
            raise
        except ExperienceError as error:  # the browser is gone: what was done until then is told
            return "failed", str(error)
        return "failed", f"more than {MAX_STEPS} actions"

    async def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        """What a driver or a callback answers. Whatever it raises is kept, and raised as an error of ours."""
        try:
            answer = function(*given)
            if not inspect.isawaitable(answer):
                return answer
            if self._is_async:
                return await answer
            if inspect.iscoroutine(answer):
                answer.close()
            raise UsageError("this driver is asynchronous: await memory.arun(…)")
        except Exception as fault:
            self._error = fault
            if isinstance(fault, ExperienceError):
                raise
            raise ServiceError(f"{type(fault).__name__}: {fault}", code="E_DRIVER") from fault

    async def _look(self) -> Screen:
        self._view = read_screen(await self._call(self.driver.controls))
        return self._view

    async def _pause(self) -> None:
        await asyncio.sleep(_PAUSE) if self._is_async else time.sleep(_PAUSE)

    async def _next(self) -> Act | Stop:
        """The next step, once its control is in view and, where it is to be asked for, somebody allows it."""
        await self._come_to_rest()
        said, due = self.guide.next(self._view), self.guide.due
        if isinstance(said, Stop) and said.reason in _MAY_COME and due and await self._comes(due):
            said = self.guide.next(self._view)
        act = said.act if isinstance(said, Stop) and said.reason == "needs_consent" else said
        if not isinstance(act, Act) or not act.is_grave:
            return said
        if _healed(act):
            return Stop("target_missing", "nothing is healed that is to be asked for first")
        if await self._allowed(act):
            return act
        return Stop("needs_consent", f"nobody allowed it: {phrase(act.alone)}", act)

    async def _come_to_rest(self) -> None:
        """Before a click behind typing: wait until the page draws itself anew no more, as its driver knows (`rest`)."""
        due, last = self.guide.due, self._steps[-1].act if self._steps else None
        leaves = due is not None and last is not None and (last.kind, due.kind) == ("type", "click")
        begun = since = time.monotonic()
        while leaves and since < begun + self._wait and time.monotonic() - since < getattr(self.driver, "rest", 0.0):
            before = [one.id for one in self._view.controls]
            await self._pause()
            if [one.id for one in (await self._look()).controls] != before:
                since = time.monotonic()

    async def _comes(self, due: Act) -> bool:
        """Wait for the control of the next step; False where it does not come into view."""

        def is_in_view(view: Screen) -> bool:
            found = self.guide.check(due, view, consent=True)
            return isinstance(found, Act) or found.reason == "done"

        await self._pause()
        return await self._until(is_in_view)

    async def _until(self, seen: Callable[[Screen], T]) -> T:
        """What is seen, looked for until it is there or the time is over."""
        until = time.monotonic() + self._wait
        while not (found := seen(await self._look())) and time.monotonic() <= until:
            await self._pause()
        return found

    async def _allowed(self, act: Act) -> bool:
        return self._ask is not None and await self._call(self._ask, replace(act, confirm=True)) is True

    async def _carry_out(self, act: Act) -> End | None:
        """Do one step of the way; the end where no effect of it is seen."""
        failure, done = await self._do(act, "way"), self._steps[-1]
        if done.ok:
            return None
        why = failure or f"nothing on the screen shows the effect of: {done.text}"
        if not (failure or self._agent):
            return "no_effect", why
        await self._look()
        return await self._hand_over(Stop("unexpected_screen", why))

    async def _do(self, act: Act, by: Literal["way", "agent"]) -> str:
        """Have an action done and note what came of it; "" or what went wrong. A step of the way needs an effect."""
        is_step, before = by == "way", self._view
        said = phrase(act.step if is_step and act.step else act.alone)
        self._doing = begun = Executed(said, by, "", False, _healed(act) if is_step else "", act, before)
        failure = effect = ""
        try:
            await self._call(self.driver.do, act)
        except (DataError, ServiceError) as error:
            failure = str(error)
        if not is_step:
            await self._look()
        elif not failure:
            effect = await self._until(partial(_effect_of, act, before))
            effect = effect or ("it was there" if self.guide.is_there(act, self._view) else "")
        ok = bool(effect) if is_step else not failure
        self._note(replace(begun, effect=effect, ok=ok))
        self.guide.note(act, ok=ok)
        return failure

    async def _hand_over(self, stop: Stop) -> End | None:
        """Let the agent act where the way does not go on; the end where there is none, or it gives up."""
        agent, place, due = self._agent, self.guide.place, self.guide.due
        self._handed_over[place] += 1
        if stop.reason == "needs_consent":
            return "refused", stop.detail
        if agent is None or self._handed_over[place] > MOST_HANDOVERS or self.guide.gave_up:
            return stop.reason, stop.detail
        self._calls += 1
        shown = [_as_mapping(one) for one in self._view.controls]
        answers = await self._call(agent, shown, replace(stop, act=stop.act or due))
        answers = [answers] if isinstance(answers, (Act, Mapping)) else list(answers or ())
        if not answers:
            return stop.reason, f"{stop.detail}; the agent knew nothing either"
        for answer in answers:
            refused = await self._do_for_agent(answer, due)
            if refused is not None:
                return refused
        self.guide.resume(self._view)
        last = self._steps[-1]
        if self.guide.place > place and due is not None and last.act is not None:  # it stood in for the step
            self._steps[-1] = replace(last, healed=_healed(replace(due, target=last.act.target)))
        is_end = isinstance(answers[-1], Mapping) and answers[-1].get("finish") is True
        return await self._checked() if is_end else None

    async def _do_for_agent(self, answer: Any, due: Act | None) -> End | None:
        """Do what the agent answers; the end where that cannot be, or is not allowed."""
        try:
            act = _as_act(answer, self._view)
        except DataError as error:
            return "unexpected_screen", f"the agent's answer cannot be carried out: {error}"
        if (act.is_grave or (due is not None and due.is_grave)) and not await self._allowed(act):
            return "refused", f"nobody allowed it: {phrase(act.alone)}"
        await self._do(act, "agent")
        return None

    async def _checked(self) -> End:
        check, passed = self._check, True
        if isinstance(check, str):
            shown = [*(one.name for one in self._view.controls), await self._call(getattr, self.driver, "url", "")]
            passed = any(check.casefold() in text.casefold() for text in shown)
        elif check is not None:
            passed = bool(await self._call(check, self.driver))
        return ("done", "") if passed else ("check_failed", "the way is at its end, and the check says no")

    def _note(self, one: Executed) -> None:
        self._doing = None
        self._steps.append(one)
        self._progress(one)


def _healed(act: Act) -> str:
    """ "Save → Store" where the control in view is called otherwise than the way knows it, else ""."""
    step, target = act.step, act.target
    if step is None or target is None or step.item_of or target.id is None:
        return ""
    is_new = bool(step.name) and bare(step.name) not in bare(target.name)
    return f"{step.name} → {target.name}" if is_new else ""


def _effect_of(act: Act, before: Screen, after: Screen) -> str:
    """What of an action is to be seen: the value, the state of a switch, another screen."""
    kind, old, now = act.kind, _again(act, before), _again(act, after)
    if kind in STAYS and now is not None and now.value is not None:
        is_there = _holds(str(now.value), act.text, kind) or (
            now.role == "spinner" and _same_number(now.value, act.text)
        )
        return "the value is there" if is_there else ""
    if kind == "click" and now is not None and old is not None and now.role in _TOGGLED and now.checked is not None:
        is_switched = now.checked is not old.checked or (now.role == "radiobutton" and now.checked)
        return "it was switched" if is_switched else ""
    if kind == "click" and now is not None and now.role in _CHOSEN and now.selected:
        return "it is selected"
    return "the screen changed" if _signs(before) != _signs(after) else ""


def _holds(value: str, text: str, kind: str) -> bool:
    """True where a text was typed or chosen, also one that its field masks, or that a list shows with a sign."""
    is_masked = len(value) == len(text) and len(set(value)) == 1 and not value[0].isalnum()
    return value == text or is_masked or (kind == "select" and find_whole(text, value) >= 0)


def _same_number(value: Any, text: str) -> bool:
    """True where a field of numbers tells what was typed in its own way: 13.6 for "13.60"."""
    try:
        return math.isclose(float(value), float(text), rel_tol=1e-6)  # a browser tells 13.600000381469727
    except ValueError:
        return False


def _again(act: Act, screen: Screen) -> Control | None:
    """The control of an action in another view: by its name and place, else as the only one of its name."""
    target = act.target
    if target is None:
        return None
    placed = [one for one in screen.named(target.name) if (one.type, one.within) == (target.type, target.within)]
    return next((one for one in placed if one.id == target.id), None) or (placed[0] if len(placed) == 1 else None)


def _signs(screen: Screen) -> list[tuple[str, str, str, object, object]]:
    return [(one.name, one.type, str(one.value), one.checked, one.selected or one.expanded) for one in screen.controls]


def _as_act(answer: Any, view: Screen) -> Act:
    """What the agent answers: an action, or the mapping of a model (`function`, `id` or `name`, parameters)."""
    if not isinstance(answer, (Act, Mapping)):
        raise UsageError(f"an agent answers with actions or mappings, not {answer!r:.60}")
    try:
        act = answer if isinstance(answer, Act) else Act.of(answer, view.controls)
    except UsageError as error:
        raise DataError(str(error), code="E_TARGET") from error
    if act.target is None or act.target.id is not None:
        return act
    found = find(act.alone, view, {one.bare for one in view.controls})
    if isinstance(found, Stop):
        raise DataError(found.detail, code="E_TARGET")
    return replace(act, target=target_of(found))


def _as_mapping(control: Control) -> dict[str, Any]:
    told = {part: getattr(control, part) for part in _TOLD}
    return {part: value for part, value in told.items() if value not in (None, "", ())}


def steps_done(execution: Execution) -> list[dict[str, Any]]:
    """The actions of an execution as steps that can be remembered, each with what was in view."""
    done = [(one.act, one.view) for one in execution.steps if one.ok and one.act is not None]
    return [
        {
            "action_type": act.action,
            "target_control": {"name": act.target.name, "type": act.target.type or None, "within": act.target.within}
            if act.target
            else {},
            "parameters": dict(act.parameters),
            "controls": [_as_mapping(one) for one in view.controls] if view else [],
        }
        for act, view in done
    ]
