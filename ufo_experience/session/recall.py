"""Memory in the loop of a session: asked before a request and before a sub-task, followed as far as the configuration
says (`SessionConfig.recall`), credited with the outcome. When it cannot answer, the session goes on without.

A look is a command of the type data collection (`get_controls`) that answers with a list of controls.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from ufo_experience.errors import ExperienceError, UsageError
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.acts import Act, Stop
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.matching import check_action
from ufo_experience.procedure.screen import Screen, read_screen
from ufo_experience.procedure.steps import Target as Aim
from ufo_experience.prompt.builder import PromptBlock, ahead_block, choice_block
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.session.commands import DATA_COLLECTION, Command, Outcomes, Result, Target, execute
from ufo_experience.session.parts import AgentStatus, Context, Decision, SessionConfig

LOOK = "get_controls"
REPLAYED = "a step of a known way, carried out without asking the agent"
FORESEEN = "foreseen by the agent"
FOLLOWED = "the known way was followed to its end"

_log = logging.getLogger(__name__)
_DOES_NOTHING = (AgentStatus.CONFIRM, AgentStatus.SCREENSHOT, AgentStatus.PENDING)


class Recall:
    """What memory knows, on behalf of one session: shown, followed, credited. Next comes the agent's own list, then the
    guide's. `handed_back` says why the agent is asked again ("": nothing was doubted), `left` what was dropped by it.
    """

    def __init__(
        self, memory: ExperienceMemory | None, session: str, config: SessionConfig, context: Context, is_judged: bool
    ) -> None:
        self._memory, self._session, self._config, self._context = memory, session, config, context
        self._is_judged, self._blind = is_judged, False
        self._shown: dict[str, None] = {}
        self._lessons: dict[str, None] = {}
        self._guides: list[Guide] = []
        self.follow(None)

    @property
    def followed(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(guide.procedure.id for guide in self._guides))

    @property
    def injected(self) -> tuple[str, ...]:
        return tuple(self._shown | dict.fromkeys(self.followed))

    def follow(self, guide: Guide | None, *, replay: bool = False, choices: Sequence[Guide] = ()) -> None:
        """From now on go along this guide, or find out which of the `choices` the agent takes."""
        self._guide, self._replay, self._choices = guide, replay, tuple(choices)
        self._queue: deque[tuple[Decision, bool]] = deque()  # with one command each, and whether that was marked
        self._marked: set[tuple[str, str]] = set()
        self.handed_back = self._told = ""
        self.left: Outcomes = ()
        if guide is not None:
            self._guides.append(guide)

    async def before(self, task: str, application: str, *, follow: bool) -> PromptBlock | None:
        """The block for a request or sub-task, None when memory has nothing to say; a way is followed if told."""
        self.follow(None)
        if self._memory is None:
            return None
        follow = follow and self._config.recall != "advise"
        return await asyncio.to_thread(self._ask, self._memory, task, application or None, follow)

    def _ask(self, memory: ExperienceMemory, task: str, application: str | None, follow: bool) -> PromptBlock | None:
        try:
            found = memory.retrieve(task, application=application)
            block = memory.build_prompt(task, found) if found or found.negatives else None
            if follow:
                self._find_a_way(memory, task, application, found)
        except ExperienceError as error:
            _log.warning("memory cannot answer, going on without: %s", error)
            return None
        if block is not None:
            self._shown |= dict.fromkeys(block.ids)
            self._lessons |= dict.fromkeys(block.lessons)
        return block

    def _find_a_way(self, memory: ExperienceMemory, task: str, application: str | None, found: Retrieval) -> None:
        """The best way among what was found: a proven one to replay, else one to look ahead on, else choices."""
        guide: Guide | None = None
        if self._config.recall == "replay":
            guide = memory.guide(task, hits=found, proven_after=self._config.replay_after)
        replay = guide is not None and guide.procedure.is_beyond_doubt
        guide = guide or memory.guide(task, hits=found)
        choices = memory.choices(task, application=application) if guide is None else ()
        self.follow(guide, replay=replay, choices=choices)

    def credit(self, success: bool) -> None:
        """Credit or blame all that was shown with the outcome; a way whose guide gave up is blamed in any case."""
        astray = {guide.procedure.id for guide in self._guides if guide.gave_up}
        shown = [*(one for one in self.injected if one not in astray), *self._lessons]
        try:
            for verdict, ids in ((success, shown), (False, sorted(astray))):
                if ids and self._memory is not None:
                    self._memory.report(ids, success=verdict, session=self._session)
        except ExperienceError as error:
            _log.warning("memory cannot take the credit: %s", error)

    async def view(self) -> Screen | None:
        """Look at the screen; None when the dispatcher cannot tell what is in view, and it is not asked again."""
        if self._blind:
            return None
        command = Command(LOOK, tool_type=DATA_COLLECTION)
        timeout = self._config.recovery.command_timeout
        ((_, result),) = await execute(self._context.command_dispatcher, [command], timeout)
        if result.ok and isinstance(result.result, (list, tuple)):
            with suppress(UsageError):
                return read_screen(result.result)
        self._blind = True
        return None

    async def next(self, application: str) -> Decision | None:
        if self.handed_back:
            return None
        while self._queue:
            view, (waiting, was_marked) = await self.view(), self._queue[0]
            checked = self._checked(waiting.commands[0], view, application, consent=was_marked)
            if isinstance(checked, Stop) and checked.reason != "done":
                self.hand_back(checked.detail)
                return None
            self._queue.popleft()
            if isinstance(checked, Command):
                return replace(waiting, commands=(checked,), controls=targets(view))
            if waiting.status is not AgentStatus.CONTINUE:
                return replace(waiting, commands=())
        return await self._guided(application)

    async def foresee(self, application: str) -> str:
        """What the guide has next, as a block for the prompt; "" when it knows nothing, or a check failed."""
        self._marked = set()
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

    async def begin(self, decision: Decision, application: str) -> Decision:
        """What is done at once of an agent's decision: its first action; those that follow wait.

        An action whose target has a name and no id is found on the screen. One that cannot be is handed back.
        """
        self.handed_back, self.left = "", ()
        self._choose(decision.commands)
        several = self._config.recall in ("ahead", "replay") and len(decision.commands) > 1
        looked_for = any(command.is_named_only for command in decision.commands)
        if decision.status in _DOES_NOTHING or not (several or looked_for):
            return decision
        first, *rest = list(decision.commands)
        if rest:
            last = replace(decision, comment=FORESEEN, cost=0.0, tokens=0, prompt=None, observation="")
            for number, command in enumerate(rest, start=1):
                part = last if number == len(rest) else Decision(AgentStatus.CONTINUE, comment=FORESEEN)
                self._queue.append((replace(part, commands=(command,)), _key(command) in self._marked))
            decision = replace(decision, status=AgentStatus.CONTINUE, result="")
        if not first.is_named_only:
            return replace(decision, commands=(first,))
        view = await self.view()
        checked = first if view is None else self._checked(first, view, application, consent=True)
        if isinstance(checked, Command):
            return replace(decision, commands=(checked,), controls=decision.controls or targets(view))
        if checked.reason != "done":
            self._queue.appendleft((replace(decision, commands=(first,)), True))
            self.hand_back(checked.detail)
            decision = replace(decision, status=AgentStatus.CONTINUE, result="")
        return replace(decision, commands=())

    def note(self, outcomes: Outcomes) -> None:
        """Tell the guide what became of the commands of a step; after one that failed, nothing foreseen is done."""
        for command, result in outcomes:
            for guide in (self._guide, *self._choices):
                if guide is not None:
                    guide.note(as_act(command), result.ok)
            if not result.ok and (self._queue or self._replay):
                self.hand_back(f"{command} failed")

    def hand_back(self, why: str) -> None:
        waiting = [one.commands[0] for one, _ in self._queue]
        self.handed_back = why
        self.left = tuple((one, Result.skipped(one, f"not carried out: {why}")) for one in waiting)
        self._queue.clear()

    def _choose(self, commands: Sequence[Command]) -> None:
        """Follow the way whose next steps the agent answered with; where several agree, choose among those."""
        acts = [as_act(command) for command in commands]
        taken = {one: one.agrees(acts) for one in self._choices}
        most = max(taken.values(), default=0)
        self._choices = tuple(one for one, steps in taken.items() if steps == most > 0)
        if len(self._choices) == 1:
            (self._guide,), self._choices = self._choices, ()
            self._guides.append(self._guide)

    def _mark(self, acts: Iterable[Act]) -> None:
        """What is marked as hard to take back and answered with all the same has been thought of."""
        self._marked = {_key(as_command(act)) for act in acts if act.confirm}

    def _checked(self, command: Command, view: Screen | None, application: str, *, consent: bool) -> Command | Stop:
        """The command with its target on the screen, or why not; without a look only one that names an id."""
        if view is None:
            return Stop("target_missing", "the screen cannot be looked at") if command.is_named_only else command
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
            if self._is_judged:
                return Decision(AgentStatus.FINISH, comment=REPLAYED, result=FOLLOWED)
            self.handed_back = f"{FOLLOWED}; is the task done?"
        elif answer.detail != self._told:  # said once: the agent sees to it
            self.handed_back = self._told = answer.detail
        return None


def as_act(command: Command) -> Act:
    target = command.target
    aim = Aim(target.name, target.type or "", target.within, target.id or None) if target else None
    return Act(command.tool_name, aim, dict(command.parameters))


def as_command(act: Act) -> Command:
    aim = act.target
    number = "" if aim is None or aim.id is None else str(aim.id)
    target = Target(aim.name, aim.type or None, number, within=aim.within) if aim else None
    return Command(act.action, dict(act.parameters), target=target)


def targets(view: Screen | None) -> tuple[Target, ...]:
    return tuple(
        Target(one.name, one.type or None, str(one.id or ""), within=one.within, dialog=one.dialog, checked=one.checked)
        for one in (view.controls if view else ())
    )


def _key(command: Command) -> tuple[str, str]:
    return command.tool_name, command.target.name if command.target else ""
