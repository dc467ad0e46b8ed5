"""One request of the user, worked on step by step until an agent says it is done, fails, or the steps run out.

    host ──ASSIGN──▶ app ──FINISH──▶ host ──FINISH──▶ end        (two tiers)
    agent ──FINISH──▶ end                                        (one tier)

Each step: the agent decides → memory is asked if the step is risky or repeats a failure → commands are executed →
the step is written down.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ufo_experience.errors import DataError
from ufo_experience.session.files import plain
from ufo_experience.session.following import REPLAYED, Follower, names_only
from ufo_experience.session.log_writer import APP, HOST, StepRecord
from ufo_experience.session.parts import RoundContext
from ufo_experience.session.protocols import (
    Agent,
    AgentStatus,
    ConnectionLostError,
    Context,
    ContextNames,
    Decision,
    Outcomes,
    ResultStatus,
    Target,
    Turn,
    describe,
    signature,
)
from ufo_experience.session.recall import is_risky
from ufo_experience.session.recovery import Done, Failure, attempt, execute, skipped

if TYPE_CHECKING:
    from ufo_experience.prompt.builder import PromptBlock

NOT_ALLOWED = "the user did not allow it"

_ENDS = (AgentStatus.FINISH, AgentStatus.FAIL, AgentStatus.ERROR)
_NOTHING_DONE = (AgentStatus.SCREENSHOT, AgentStatus.PENDING)


class BaseRound:
    """One request and what was done for it. `agent` begins: the host, or the only agent."""

    def __init__(self, request: str, agent: Agent, context: Context, id: int, shared: RoundContext) -> None:
        self.request, self.agent, self.context, self.id = request, agent, context, id
        self.state = AgentStatus.CONTINUE
        self.subtask = ""
        self.result = ""
        self.step = 0
        self.cost = 0.0
        self._shared = shared
        self._starter = agent
        self._block = self._task_block = ""
        self._injected: tuple[str, ...] = ()
        self._last: Outcomes = ()
        self._failed: Counter[tuple[str, str]] = Counter()
        self._done: list[str] = []
        self._agent_steps: Counter[str] = Counter()
        self._errors = 0
        self._follower = Follower(shared.config.look, shared.config.recovery)
        self._ahead = self._handed_back = ""

    @property
    def application(self) -> str:
        """The application being worked in, "" before one was chosen."""
        return str(self.context.get(ContextNames.APPLICATION_ROOT_NAME, ""))

    def is_finished(self) -> bool:
        """True when the request is dealt with, or the session has no steps left."""
        return self.state in _ENDS or self.context.get(ContextNames.SESSION_STEP, 0) >= self._shared.config.max_step

    async def run(self) -> str:
        """Work on the request; returns what the agents say they achieved.

        Raises:
            StorageError: the log cannot be written.
        """
        self.context.set(ContextNames.REQUEST, self.request)
        self.context.set(ContextNames.CURRENT_ROUND_ID, self.id)
        self._shared.blackboard.add_requests({"request": self.request})
        if self._shared.recall is not None:
            # A host has yet to choose the application; the one of the round before says nothing.
            application = self.application if self._shared.app_agent is None else ""
            self._show(await self._shared.recall.before_task(self.request, application))
            self._task_block = self._block
            if self._shared.app_agent is None:
                self._follow()
        while not self.is_finished():
            await self._take_step()
        return self.result

    # ---- one step

    async def _take_step(self) -> None:
        started = time.perf_counter()
        decision = await self._foregone()
        if decision is None:
            decided = await self._decide()
            if isinstance(decided, Failure):
                self._agent_failed(decided, started)
                return
            decision = await self._begun(decided.value)
        try:
            outcomes = await self._execute(decision)
        except ConnectionLostError as error:
            self._write(replace(decision, status=AgentStatus.ERROR, commands=()), (), started, str(error))
            self._end_in_error(str(error))
            return
        self._errors = 0
        self._last += outcomes
        self._follower.note(outcomes)
        self._count_failures(outcomes)
        self._write(decision, outcomes, started)
        await self._advance(decision)

    async def _foregone(self) -> Decision | None:
        """What is to be done without asking the agent: the rest of its own list, or a step of a proven way."""
        if self._works_as_host():
            return None
        follower = self._follower
        why, left = follower.handed_back, follower.left
        decision = None if why else await follower.next(self.context, self.application)
        why, left = why or follower.handed_back, left or follower.left
        replayed = decision is not None and decision.comment == REPLAYED and not decision.commands
        if replayed and not self._shared.judged:
            decision, why = None, "the known way was followed to its end; is the task done?"
        if decision is None:
            follower.handed_back, follower.left = "", ()
            self._last += left
            if why:
                self._shared.log.audit({"moment": "handed back", "why": why, "dropped": len(left)})
            self._handed_back, self._ahead = why, await follower.foresee(self.context, self.application)
        return decision

    async def _begun(self, decision: Decision) -> Decision:
        """An agent's decision, of which one action is carried out at a time in `ahead` and `replay`."""
        self._last = ()
        self._follower.choose(decision.commands)
        several = self._shared.config.recall_mode in ("ahead", "replay") and len(decision.commands) > 1
        asks = decision.status in (AgentStatus.CONFIRM, *_NOTHING_DONE)
        if self._works_as_host() or asks or not (several or names_only(decision.commands)):
            return decision
        return await self._follower.begin(decision, self.context, self.application)

    def _follow(self) -> None:
        """Go along the way memory has found for the request or sub-task that begins."""
        recall, config = self._shared.recall, self._shared.config
        if recall is None:
            self._follower = Follower(config.look, config.recovery, guide=self._shared.guide)
            return
        self._follower = Follower(
            config.look,
            config.recovery,
            guide=recall.guide,
            replay=recall.replays,
            choices=recall.choices,
            chosen=recall.chosen,
        )

    async def _decide(self) -> Done[Decision] | Failure:
        """Ask the agent, and ask it again with what memory knows if the step is risky or repeats a failure."""
        turn = self._turn()
        decided = await self._ask(turn)
        moment = self._moment(decided.value) if isinstance(decided, Done) else None
        if isinstance(decided, Failure) or self._shared.recall is None or moment is None:
            return decided
        first, task = decided.value, self.subtask or self.request
        seen = await self._in_view(first) if moment == "failure" else ()
        block = await self._shared.recall.before_step(
            moment, task, first.commands, self.application, controls=seen, done=self._done
        )
        if block is None:
            return decided
        self._injected += block.ids
        again = await self._ask(replace(turn, warning=block.text, proposed=first))
        if isinstance(again, Failure):
            return again
        both = replace(again.value, cost=again.value.cost + first.cost, tokens=again.value.tokens + first.tokens)
        return Done(both)

    async def _in_view(self, decision: Decision) -> Sequence[Target | Mapping[str, Any]]:
        """The controls an agent saw, else those the dispatcher tells where it can be asked; none when nobody knows."""
        if decision.controls or self._shared.config.recall_mode == "advise":
            return decision.controls
        view = await self._follower.view(self.context)
        return view.controls if view is not None else ()

    async def _ask(self, turn: Turn) -> Done[Decision] | Failure:
        decided = await attempt(self.agent.act(turn), self._shared.config.recovery.agent_timeout)
        fault = _fault(decided.value) if isinstance(decided, Done) else None
        return decided if fault is None else Failure("agent", fault)

    def _moment(self, decision: Decision) -> str | None:
        """Why memory should be asked before this step; None when there is no reason."""
        if any(self._failed[signature(command)] for command in decision.commands):
            return "failure"
        return "risk" if is_risky(decision) else None

    def _turn(self) -> Turn:
        return Turn(
            request=self.request,
            subtask=self.subtask,
            application=self.application,
            step=self.context.get(ContextNames.SESSION_STEP, 0),
            context=self.context,
            blackboard=self._shared.blackboard,
            last=self._last,
            experiences=self._block,
            ahead=self._ahead,
            handed_back=self._handed_back,
        )

    async def _execute(self, decision: Decision) -> Outcomes:
        if decision.status is AgentStatus.PENDING:
            await asyncio.to_thread(self._ask_user, decision.questions)
        if decision.status in _NOTHING_DONE or not decision.commands:
            return ()
        if decision.status is AgentStatus.CONFIRM:
            question = f"Allow {', '.join(map(describe, decision.commands))}?"
            if not await asyncio.to_thread(self._shared.user.confirm, question):
                return tuple((command, skipped(command, NOT_ALLOWED)) for command in decision.commands)
        return await execute(self.context.command_dispatcher, decision.commands, self._shared.config.recovery)

    def _ask_user(self, questions: tuple[str, ...]) -> None:
        for question in questions:
            answer = self._shared.user.answer(question)
            self._shared.blackboard.add_questions({"question": question, "answer": answer})

    # ---- what follows from it

    async def _advance(self, decision: Decision) -> None:
        """Choose who goes on."""
        if decision.result:
            self.result = decision.result
        if decision.status is AgentStatus.ERROR:
            self._end_in_error(decision.result or decision.comment or "the agent gave up with an error")
        elif decision.status is AgentStatus.ASSIGN and self._works_as_host():
            await self._assign(decision)
        elif decision.status in _ENDS:
            self._finish(decision.status)

    async def _assign(self, decision: Decision) -> None:
        app_agent = self._shared.app_agent
        if app_agent is None:  # only a host assigns; `_works_as_host` has seen to it
            return
        self.subtask, self.agent = decision.subtask or self.request, app_agent
        self._last, self._done = (), []
        self._enter(decision.application)
        self.context.set(ContextNames.SUBTASK, self.subtask)
        self.context.add(ContextNames.SUBTASK_AMOUNT, 1)
        if self._shared.recall is not None:
            self._show(await self._shared.recall.before_subtask(self.subtask, self.application))
            self._block = self._block or self._task_block
        self._follow()

    def _finish(self, status: AgentStatus) -> None:
        """End the sub-task, and the round if nobody is left to go on."""
        if self.agent is self._starter:
            self.state = status
            return
        self.context.append(ContextNames.PREVIOUS_SUBTASKS, {"subtask": self.subtask, "status": status.value})
        self.agent, self.subtask, self._block = self._starter, "", self._task_block
        self.context.set(ContextNames.SUBTASK, "")

    def _enter(self, application: str) -> None:
        if application:
            self.context.set(ContextNames.APPLICATION_ROOT_NAME, application)
            self.context.set(ContextNames.APPLICATION_WINDOW_INFO, {"name": application})

    def _agent_failed(self, failure: Failure, started: float) -> None:
        self._write(Decision(AgentStatus.ERROR), (), started, failure.message)
        self._errors += 1
        if self._errors > self._shared.config.recovery.agent_retries:
            self._end_in_error(failure.message)

    def _end_in_error(self, message: str) -> None:
        self.state = AgentStatus.ERROR
        self.context.set(ContextNames.ERROR, True)
        self.context.set(ContextNames.ERROR_MESSAGE, message)

    def _count_failures(self, outcomes: Outcomes) -> None:
        for command, result in outcomes:
            if result.status is ResultStatus.FAILURE:
                self._failed[signature(command)] += 1
            elif result.ok:
                self._failed.pop(signature(command), None)
                self._done += [command.target.name] if command.target is not None else []

    def _works_as_host(self) -> bool:
        return self._shared.app_agent is not None and self.agent is self._starter

    def _show(self, block: PromptBlock | None) -> None:
        """Take a block for the turns to come, and note its ids for the next line of the log."""
        self._block = block.text if block else ""
        self._injected += block.ids if block else ()

    # ---- writing it down

    def _write(self, decision: Decision, outcomes: Outcomes, started: float, error: str | None = None) -> None:
        step = self.context.get(ContextNames.SESSION_STEP, 0)
        host = self._works_as_host()
        if host and decision.application:
            self._enter(decision.application)
        line = self._shared.log.step(
            StepRecord(
                role=HOST if host else APP,
                agent=HOST if host else self._shared.agent_name,
                decision=decision,
                request=self.request,
                subtask=self.subtask,
                application=self.application,
                process=self.context.get(ContextNames.APPLICATION_PROCESS_NAME, ""),
                session_step=step,
                round_step=self.step,
                agent_step=self._agent_steps[self.agent.name],
                round=self.id,
                outcomes=outcomes,
                injected=self._injected,
                seconds=time.perf_counter() - started,
                error=error,
            )
        )
        self._remember(decision, line)

    def _remember(self, decision: Decision, line: dict[str, object]) -> None:
        step = {
            "round": self.id,
            "agent": line["agent_type"],
            "observation": line.get("observation", ""),
            "action": line["function_call"],
            "status": line["status"],
            "result": line["result"],
        }
        self.context.append(ContextNames.TRAJECTORY, step)
        self._shared.blackboard.add_trajectories(step)
        self._injected = ()
        self._agent_steps[self.agent.name] += 1
        self.step += 1
        self.cost += decision.cost
        self.context.add(ContextNames.SESSION_STEP, 1)
        self.context.add(ContextNames.TOTAL_COST, decision.cost)
        self.context.add(ContextNames.TOTAL_TOKENS, decision.tokens)
        self.context.update_dict(ContextNames.ROUND_STEP, {self.id: self.step})
        self.context.update_dict(ContextNames.ROUND_COST, {self.id: self.cost})


def _fault(decision: object) -> str | None:
    """What is wrong with an agent's answer: what cannot be written down is not executed."""
    if not isinstance(decision, Decision):
        return f"the agent gave a {type(decision).__name__}, not a Decision"
    try:
        plain([dict(command.parameters) for command in decision.commands])
    except DataError as error:
        return f"the agent gave a command with parameters that have no JSON form: {error}"
    return None
