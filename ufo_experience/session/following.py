"""A known way in a session: what the agent foresaw, and what a guide knows, carried out one action at a time.

    ahead     the agent may answer with several actions, also with such whose target is named and not in view yet;
              before each the screen is looked at, and at the first doubt the agent is asked again
    replay    while the guide is sure, its steps are carried out without asking the agent; never one that needs consent

A look is a command of the type data collection (`get_controls`) that answers with a list of controls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ufo_experience.procedure.acts import Act, Stop
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.matching import check_action
from ufo_experience.procedure.steps import Target as Aim
from ufo_experience.prompt.ahead import ahead_block, choice_block
from ufo_experience.session.protocols import (
    DATA_COLLECTION,
    AgentStatus,
    Command,
    Context,
    Decision,
    Outcomes,
    Target,
    describe,
)
from ufo_experience.session.recovery import execute, skipped

RecallMode = Literal["advise", "ahead", "replay"]
Controls = tuple[Mapping[str, Any], ...]

LOOK = "get_controls"
REPLAYED = "a step of a known way, carried out without asking the agent"
FORESEEN = "foreseen by the agent"


@dataclass(frozen=True)
class _Foreseen:
    """An action that waits, with the part of the decision it has; `meant` when it was marked and answered with."""

    command: Command
    decision: Decision
    meant: bool = False


class Follower:
    """What is to be done next in one request or sub-task, without the agent: its own list first, then the guide.

    `handed_back` says why the agent is asked again, "" when nothing was doubted; `left` are the actions dropped by it.
    """

    def __init__(
        self,
        context: Context,
        timeout: float,
        *,
        guide: Guide | None = None,
        replay: bool = False,
        choices: Sequence[Guide] = (),
        chosen: Callable[[Guide], None] = lambda guide: None,
    ) -> None:
        """A look may take `timeout` seconds; `chosen` is told which of the `choices` the agent takes."""
        self._context, self._timeout = context, timeout
        self._guide, self._replay = guide, replay and guide is not None
        self._choices, self._chosen = tuple(choices), chosen
        self._queue: deque[_Foreseen] = deque()
        self._marked: frozenset[tuple[str, str]] = frozenset()
        self._blind = False
        self.handed_back = self._told = ""
        self.left: Outcomes = ()

    async def view(self) -> Controls | None:
        """Look at the screen; None when the dispatcher cannot tell what is in view, and it is not asked again."""
        if self._blind:
            return None
        command = Command(LOOK, tool_type=DATA_COLLECTION)
        ((_, result),) = await execute(self._context.command_dispatcher, [command], self._timeout)
        seen = result.result if result.ok else None
        self._blind = not isinstance(seen, (list, tuple)) or not all(isinstance(one, Mapping) for one in seen)
        return None if self._blind or seen is None else tuple(seen)

    async def next(self, application: str) -> Decision | None:
        """The next decision that needs no agent; None: ask it."""
        self.handed_back, self.left = "", ()
        while self._queue:
            view, waiting = await self.view(), self._queue[0]
            checked = self._checked(waiting.command, view, application, consent=waiting.meant)
            if isinstance(checked, Stop) and checked.reason != "done":
                self.hand_back(checked.detail)
                return None
            self._queue.popleft()
            if isinstance(checked, Command):
                return replace(waiting.decision, commands=(checked,), controls=targets(view))
            if waiting.decision.status is not AgentStatus.CONTINUE:
                return replace(waiting.decision, commands=())
        return await self._guided(application)

    async def foresee(self, application: str) -> str:
        """What comes next by the guide, as a block for the agent's prompt; "" when it knows nothing.

        After a check that failed, nothing is told until the agent has taken a step of the way, or has done something
        else and the way is in view again.
        """
        self._marked = frozenset()
        guide, known = self._guide, application or None
        if (guide is None or guide.gave_up) and not self._choices:
            return ""
        view = await self.view()
        if view is None:
            return ""
        if guide is None:
            ways = {one: one.ahead(view, application=known) for one in self._choices}
            self._choices = tuple(one for one, acts in ways.items() if acts)
            self._mark(act for one in self._choices for act in ways[one])
            return choice_block([(one, ways[one]) for one in self._choices])
        acts = guide.ahead(view, application=known) if guide.sure else ()
        if not acts and not self._replay and guide.resume(view, application=known):
            acts = guide.ahead(view, application=known)
        self._mark(() if self._replay else acts)
        return ahead_block(guide, acts)

    def choose(self, commands: Sequence[Command]) -> None:
        """Of several ways the one whose next steps the agent has answered with is followed from now on. Where it has
        gone no further than several agree, those are left to choose from; where it has done something else, none.
        """
        acts = [as_act(command) for command in commands]
        taken = {one: one.agrees(acts) for one in self._choices}
        most = max(taken.values(), default=0)
        self._choices = tuple(one for one, steps in taken.items() if steps == most > 0)
        if len(self._choices) == 1:
            (self._guide,), self._choices = self._choices, ()
            self._chosen(self._guide)

    async def begin(self, decision: Decision, application: str) -> Decision:
        """The first action of a decision; those that follow it wait, each with the part of the decision it has.

        An action whose target has a name and no id is found on the screen. One that cannot be is handed back.
        """
        first, *rest = decision.commands
        last = replace(decision, commands=(), comment=FORESEEN, cost=0.0, tokens=0, prompt=None, observation="")
        parts = [*(Decision(AgentStatus.CONTINUE, comment=FORESEEN) for _ in rest), last]
        if rest:
            waiting = zip(rest, parts[1:], strict=True)
            self._queue.extend(_Foreseen(one, part, _key(one) in self._marked) for one, part in waiting)
            decision = replace(decision, status=AgentStatus.CONTINUE, result="")
        if not _is_named_only(first):
            return replace(decision, commands=(first,))
        view = await self.view()
        checked = first if view is None else self._checked(first, view, application, consent=True)
        if isinstance(checked, Command):
            return replace(decision, commands=(checked,), controls=decision.controls or targets(view))
        if checked.reason == "done" and not rest:
            return replace(decision, commands=())
        if checked.reason != "done":
            self._queue.appendleft(_Foreseen(first, parts[0], meant=True))
        return replace(decision, status=AgentStatus.CONTINUE, commands=(), result="")

    def note(self, outcomes: Outcomes) -> None:
        """Tell the guide what became of the commands of a step; after one that failed, nothing foreseen is done."""
        for command, result in outcomes:
            for guide in (self._guide, *self._choices):
                if guide is not None:
                    guide.note(as_act(command), result.ok)
            if not result.ok and (self._queue or self._replay):
                self.hand_back(f"{describe(command)} failed")

    def hand_back(self, why: str) -> None:
        """Drop what was foreseen and say why."""
        self.handed_back = why
        self.left = tuple((one.command, skipped(one.command, f"not carried out: {why}")) for one in self._queue)
        self._queue.clear()

    def _mark(self, acts: Iterable[Act]) -> None:
        """What is marked as hard to take back and answered with all the same has been thought of."""
        self._marked = frozenset(_key(as_command(act)) for act in acts if act.confirm)

    def _checked(
        self, command: Command, view: Controls | None, application: str, *, consent: bool = False
    ) -> Command | Stop:
        """The command with its target on the screen, or why not; without a look only one that names an id."""
        if view is None:
            return Stop("target_missing", "the screen cannot be looked at") if _is_named_only(command) else command
        check = self._guide.check if self._guide is not None else check_action
        answer = check(as_act(command), view, application=application or None, consent=consent)
        return answer if isinstance(answer, Stop) else replace(as_command(answer), call_id=command.call_id)

    async def _guided(self, application: str) -> Decision | None:
        """The guide's next step, while it is sure and nobody need be asked."""
        guide = self._guide
        if guide is None or not self._replay or not guide.sure:
            return None
        view = await self.view()
        if view is None:
            return None
        answer = guide.next(view, application=application or None)
        if isinstance(answer, Act):
            return Decision(AgentStatus.CONTINUE, (as_command(answer),), comment=REPLAYED, controls=targets(view))
        if answer.reason == "done" and guide.place:
            return Decision(AgentStatus.FINISH, comment=REPLAYED, result="the known way was followed to its end")
        if answer.detail != self._told:  # said once: the agent sees to it
            self.handed_back = self._told = answer.detail
        return None


def as_act(command: Command) -> Act:
    """A command as a guide reads it."""
    target = command.target
    aim = Aim(target.name, target.type or "", target.within, target.id or None) if target else None
    return Act(command.tool_name, aim, dict(command.parameters))


def as_command(act: Act) -> Command:
    """An action of a guide as a command."""
    aim = act.target
    number = "" if aim is None or aim.id is None else str(aim.id)
    target = Target(aim.name, aim.type or None, number, within=aim.within) if aim else None
    return Command(act.action, dict(act.parameters), target=target)


def targets(view: Controls | None) -> tuple[Target, ...]:
    """Controls in view as a decision keeps them."""
    return tuple(
        Target(
            str(one.get("name") or ""),
            str(one.get("type") or "") or None,
            str(one.get("id") or ""),
            within=str(one.get("within") or ""),
            dialog=_known(one.get("dialog")),
            checked=_known(one.get("checked")),
        )
        for one in view or ()
    )


def names_only(commands: Sequence[Command]) -> bool:
    """True when one of the commands has a target that has still to be found on the screen."""
    return any(_is_named_only(command) for command in commands)


def _known(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _is_named_only(command: Command) -> bool:
    return command.target is not None and bool(command.target.name) and not command.target.id


def _key(command: Command) -> tuple[str, str]:
    return command.tool_name, command.target.name if command.target else ""
