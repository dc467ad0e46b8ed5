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
from ufo_experience.procedure.acts import Act, Stop, for_a_person
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.matching import check_action
from ufo_experience.procedure.render import phrase
from ufo_experience.procedure.screen import Control, Screen, read_screen
from ufo_experience.procedure.steps import ProcedureStep, Target
from ufo_experience.request import find_whole

__all__ = ["Driver", "Executed", "Execution", "Executor", "PlaywrightDriver", "SeleniumDriver", "Target", "UfoDriver"]

MAX_STEPS = 100
MOST_HANDOVERS = 3  # times the agent is asked for one and the same step
WAIT = 5.0  # seconds an effect may take to be seen
_PAUSE = 0.05
_TOGGLED = ("checkbox", "radiobutton")
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


@dataclass(frozen=True)
class Execution:
    """How a run went. `reached` is True when the way is at its end and the check, if there is one, agrees.

    `stopped` says why it ended and in detail; `calls` counts questions to the agent, `calls_saved` the steps that took
    none. `learned` is the record of a healed way, which is used from now on.
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
        """The steps whose control was found under another name."""
        return sum(bool(one.healed) for one in self.steps)

    @property
    def heal_failed(self) -> bool:
        """True when a step on a control of another name had no effect, or the check refused a run with one."""
        return any(one.healed and (not one.ok or self.checked is False) for one in self.steps)


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

    def run(self) -> Execution:
        """Carry it out in this thread.

        Raises:
            UsageError: the driver's methods are coroutines: use `arun`.
        """
        work = self._work()
        try:
            call = next(work)
            while True:
                call = _told_on(work, *_answer(call))
        except StopIteration as end:
            return self._ended(end.value)
        except KeyboardInterrupt:
            return self._ended(("interrupted", "by hand"))

    async def arun(self) -> Execution:
        """The same on an event loop; the methods of the driver may be coroutines."""
        work = self._work()
        try:
            call = next(work)
            while True:
                call = _told_on(work, *await _awaited(call))
        except StopIteration as end:
            return self._ended(end.value)

    def _ended(self, end: tuple[str, str]) -> Execution:
        reason, detail = end
        way = self.guide.procedure
        checked = {"done": True if self._check is not None else None, "check_failed": False}.get(reason)
        reached = reason == "done"
        return Execution(way.request, way.id, tuple(self._steps), reached, reason, detail, self._calls, checked)

    # ---- the loop

    def _work(self) -> Work:
        """Go along the way; yields what is to be called, returns the reason of the end and its detail."""
        try:
            return (yield from self._along())
        except ServiceError as error:  # the browser is gone: what was done until then is told
            return "failed", str(error)

    def _along(self) -> Work:
        view = yield from self._look()
        for _ in range(MAX_STEPS):
            said = self.guide.next(view)
            if isinstance(said, Stop) and said.reason == "needs_consent" and said.act is not None:
                said = yield from self._allowed(said)
            elif isinstance(said, Act) and self._healed(said) and self._asks_first(said):
                said = Stop("target_missing", "nothing is healed that is to be asked for first")
            if isinstance(said, Stop) and said.reason == "done":
                return (yield from self._checked())
            if isinstance(said, Stop):
                end = yield from self._hand_over(said, view)
            else:
                end = yield from self._carry_out(said, view)
            if end is not None:
                return end
            view = yield from self._look()
        return "failed", f"more than {MAX_STEPS} actions"

    def _look(self) -> Generator[Call, Any, Screen]:
        return read_screen((yield self.driver.controls))

    def _allowed(self, stop: Stop) -> Generator[Call, Any, Act | Stop]:
        """The action to ask for first, if it is the very one the way knows and somebody allows it."""
        act = stop.act
        if act is None or self._healed(act):
            return Stop("target_missing", "nothing is healed that is to be asked for first")
        ask = self._ask
        allowed = False if ask is None else (yield lambda: ask(act))
        return act if allowed is True else Stop("needs_consent", f"nobody allowed it: {stop.detail}")

    def _carry_out(self, act: Act, view: Screen) -> Generator[Call, Any, tuple[str, str] | None]:
        """Do one step of the way and see its effect; the reason of the end where it has none, else None."""
        text = phrase(act.step) if act.step else act.action
        healed = self._healed(act)
        failure = yield from self._done(act)
        effect = "" if failure else (yield from self._effect(act, view))
        if not (failure or effect) and self.guide.is_there(act, (yield from self._look())):
            effect = "it was there"
        self._note(Executed(text, "way", effect, not failure and bool(effect), healed, act))
        self.guide.note(act, ok=bool(effect))
        if effect:
            return None
        stop = Stop("unexpected_screen", failure or f"nothing on the screen shows the effect of: {text}")
        if failure or self._agent is not None:
            after = yield from self._look()
            return (yield from self._hand_over(stop, after))
        return "no_effect", stop.detail

    def _done(self, act: Act) -> Generator[Call, Any, str]:
        """Have an action done; "" or what went wrong."""
        try:
            yield lambda: self.driver.do(act)
        except (DataError, ServiceError) as error:
            return str(error)
        return ""

    def _hand_over(self, stop: Stop, view: Screen) -> Generator[Call, Any, tuple[str, str] | None]:
        """Let the agent act where the way does not go on; the reason of the end where there is none, or it gives up."""
        agent, place = self._agent, self.guide.place
        self._handed_over[place] = self._handed_over.get(place, 0) + 1
        grave = stop.reason == "needs_consent"
        if agent is None or grave or self._handed_over[place] > MOST_HANDOVERS or self.guide.gave_up:
            return ("refused" if grave else stop.reason), stop.detail
        self._calls += 1
        answers = yield lambda: agent([_as_mapping(one) for one in view.controls], stop)
        acts = [_as_act(one, view) for one in answers or ()]
        if not acts:
            return stop.reason, f"{stop.detail}; the agent knew nothing either"
        for act in acts:
            checked = check_action(act, view)
            if isinstance(checked, Stop) and checked.reason == "needs_consent":
                checked = yield from self._allowed(for_a_person(act))
            if isinstance(checked, Stop):
                return ("refused" if checked.reason == "needs_consent" else checked.reason), checked.detail
            failure = yield from self._done(checked)
            self._note(Executed(_said(checked), "agent", "", not failure, act=checked))
            self.guide.note(checked, ok=not failure)
            view = yield from self._look()
        self.guide.resume(view)
        return None

    def _checked(self) -> Generator[Call, Any, tuple[str, str]]:
        """Ask the check, when the way is at its end."""
        check = self._check
        if isinstance(check, str):
            view = yield from self._look()
            shown = [*(one.name for one in view.controls), (yield lambda: getattr(self.driver, "url", ""))]
            passed = any(check.casefold() in text.casefold() for text in shown)
        else:
            passed = True if check is None else bool((yield lambda: check(self.driver)))
        return ("done", "") if passed else ("check_failed", "the way is at its end, and the check says no")

    def _note(self, one: Executed) -> None:
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

    def _healed(self, act: Act) -> str:
        """ "Save → Store" where the control in view is called otherwise than the way knows it, else ""."""
        step, target = act.step, act.target
        if step is None or step.target is None or target is None or step.item_of or target.id is None:
            return ""
        is_new = bool(step.target.name) and bare(step.target.name) not in bare(target.name)
        return f"{step.target.name} → {target.name}" if is_new else ""

    @staticmethod
    def _asks_first(act: Act) -> bool:
        return act.confirm or bool(act.step and act.step.ask_first)


def _told_on(work: Work, answer: Any, fault: ExperienceError | None) -> Call:
    """Tell `work` what came of its call, also a fault of ours; what it calls next."""
    return work.send(answer) if fault is None else work.throw(fault)


def _answer(call: Call) -> tuple[Any, ExperienceError | None]:
    try:
        return _not_awaited(call()), None
    except ExperienceError as fault:
        return None, fault


async def _awaited(call: Call) -> tuple[Any, ExperienceError | None]:
    try:
        answer = call()
        return (await answer if isinstance(answer, Awaitable) else answer), None
    except ExperienceError as fault:
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
    """What the agent answers: an action, or the mapping of a model (`function`, `id` or `name`, parameters)."""
    if isinstance(answer, Act):
        return answer
    if not isinstance(answer, Mapping):
        raise UsageError(f"an agent answers with actions or mappings, not {answer!r:.60}")
    return Act.of(answer, [_as_mapping(one) for one in view.controls])


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
    """The actions of an execution as steps that can be remembered."""
    done = [one for one in execution.steps if one.ok and one.act is not None]
    return [_as_step(one.act) for one in done if one.act is not None]


def _as_step(act: Act) -> dict[str, Any]:
    target = act.target
    control = {"name": target.name, "type": target.type or None, "within": target.within} if target else {}
    return {"action_type": act.action, "target_control": control, "parameters": dict(act.parameters)}


def nothing_known(task: str, why: str) -> Execution:
    """The execution of a task for which there is no way."""
    return Execution(task, "", (), False, "no_way", why)


def with_record(execution: Execution, learned: str) -> Execution:
    """An execution whose healed way was stored under this id."""
    return replace(execution, learned=learned)
