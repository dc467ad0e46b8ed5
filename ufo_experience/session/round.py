"""One request of the user, worked on step by step until an agent says it is done, fails, or the steps run out.

    host ──ASSIGN──▶ app ──FINISH──▶ host ──FINISH──▶ end        (two tiers)
    agent ──FINISH──▶ end                                        (one tier)

Each step: the agent decides (or a known way does) → commands are executed → the step is written down.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, replace

from ufo_experience.errors import DataError
from ufo_experience.procedure.guide import Guide
from ufo_experience.session.blackboard import Blackboard
from ufo_experience.session.files import plain
from ufo_experience.session.following import REPLAYED, Follower, names_only
from ufo_experience.session.interact import Interactor
from ufo_experience.session.log_writer import APP, HOST, SessionLog, StepRecord
from ufo_experience.session.parts import SessionConfig
from ufo_experience.session.protocols import (
    Agent,
    AgentStatus,
    ConnectionLostError,
    Context,
    ContextNames,
    Decision,
    Outcomes,
    Turn,
    describe,
)
from ufo_experience.session.recall import Recall
from ufo_experience.session.recovery import Done, Failure, attempt, execute, skipped

NOT_ALLOWED = "the user did not allow it"

_ENDS = (AgentStatus.FINISH, AgentStatus.FAIL, AgentStatus.ERROR)
_NOTHING_DONE = (AgentStatus.SCREENSHOT, AgentStatus.PENDING)


@dataclass
class RoundContext:
    """What the rounds of a session share besides its context. `app_agent` is None where one agent works alone.

    `judged` is True when an evaluator looks at what was done in the end. `guide` leads along a plan that is replayed,
    in place of one memory found.
    """

    log: SessionLog
    config: SessionConfig
    user: Interactor
    blackboard: Blackboard
    app_agent: Agent | None = None
    recall: Recall | None = None
    agent_name: str = APP
    judged: bool = False
    guide: Guide | None = None


class BaseRound:
    """One request and what was done for it. `agent` begins: the host, or the only agent."""

    def __init__(self, request: str, agent: Agent, context: Context, id: int, shared: RoundContext) -> None:
        self.request, self.agent, self.context, self.id = request, agent, context, id
        self.state = AgentStatus.CONTINUE
        self.subtask = self.result = ""
        self.step, self.cost = 0, 0.0
        self._shared, self._starter = shared, agent
        self._block = self._task_block = ""
        self._injected: tuple[str, ...] = ()
        self._last: Outcomes = ()
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
        works_alone = self._shared.app_agent is None
        # A host has yet to choose the application; the one of the round before says nothing.
        await self._ask_memory("task", self.request, self.application if works_alone else "")
        self._task_block = self._block
        if works_alone:
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

    async def _decide(self) -> Done[Decision] | Failure:
        """Ask the agent; what cannot be written down is not executed."""
        turn = Turn(
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
        decided = await attempt(self.agent.act(turn), self._shared.config.recovery.agent_timeout)
        if isinstance(decided, Failure):
            return decided
        if not isinstance(decided.value, Decision):
            return Failure("agent", f"the agent gave a {type(decided.value).__name__}, not a Decision")
        try:
            plain([dict(command.parameters) for command in decided.value.commands])
        except DataError as error:
            return Failure("agent", f"the agent gave a command with parameters that have no JSON form: {error}")
        return decided

    async def _begun(self, decision: Decision) -> Decision:
        """An agent's decision, of which one action is carried out at a time in `ahead` and `replay`."""
        self._last = ()
        self._follower.choose(decision.commands)
        several = self._shared.config.recall_mode in ("ahead", "replay") and len(decision.commands) > 1
        asks = decision.status in (AgentStatus.CONFIRM, *_NOTHING_DONE)
        if self._works_as_host() or asks or not (several or names_only(decision.commands)):
            return decision
        return await self._follower.begin(decision, self.context, self.application)

    async def _execute(self, decision: Decision) -> Outcomes:
        user = self._shared.user
        if decision.status is AgentStatus.PENDING:
            for question in decision.questions:
                answer = await asyncio.to_thread(user.answer, question)
                self._shared.blackboard.add_questions({"question": question, "answer": answer})
        if decision.status in _NOTHING_DONE or not decision.commands:
            return ()
        if decision.status is AgentStatus.CONFIRM:
            question = f"Allow {', '.join(map(describe, decision.commands))}?"
            if not await asyncio.to_thread(user.confirm, question):
                return tuple((command, skipped(command, NOT_ALLOWED)) for command in decision.commands)
        return await execute(self.context.command_dispatcher, decision.commands, self._shared.config.recovery)

    # ---- what follows from it

    async def _advance(self, decision: Decision) -> None:
        """Choose who goes on."""
        self.result = decision.result or self.result
        if decision.status is AgentStatus.ERROR:
            self._end_in_error(decision.result or decision.comment or "the agent gave up with an error")
        elif decision.status is AgentStatus.ASSIGN and self._works_as_host():
            await self._assign(decision)
        elif decision.status in _ENDS and self.agent is self._starter:
            self.state = decision.status
        elif decision.status in _ENDS:
            done = {"subtask": self.subtask, "status": decision.status.value}
            self.context.append(ContextNames.PREVIOUS_SUBTASKS, done)
            self.agent, self._block = self._starter, self._task_block
            self._begin_subtask("")

    async def _assign(self, decision: Decision) -> None:
        self.agent = self._shared.app_agent or self.agent
        self._last = ()
        self._enter(decision.application)
        self._begin_subtask(decision.subtask or self.request)
        self.context.add(ContextNames.SUBTASK_AMOUNT, 1)
        await self._ask_memory("subtask", self.subtask, self.application)
        self._block = self._block or self._task_block
        self._follow()

    def _begin_subtask(self, subtask: str) -> None:
        self.subtask = subtask
        self.context.set(ContextNames.SUBTASK, subtask)

    def _enter(self, application: str) -> None:
        if application:
            self.context.set(ContextNames.APPLICATION_ROOT_NAME, application)
            self.context.set(ContextNames.APPLICATION_WINDOW_INFO, {"name": application})

    async def _ask_memory(self, moment: str, task: str, application: str) -> None:
        """Take what memory knows for the turns to come, and note its ids for the next line of the log."""
        recall = self._shared.recall
        block = await recall.before(moment, task, application) if recall is not None else None
        self._block = block.text if block else ""
        self._injected += tuple(block.ids) if block else ()

    def _follow(self) -> None:
        """Go along the way memory has found for the request or sub-task that begins, or along a plan."""
        recall, config = self._shared.recall, self._shared.config
        if recall is None:
            self._follower = Follower(config.look, config.recovery, guide=self._shared.guide)
        else:
            way = {"guide": recall.guide, "replay": recall.replays, "choices": recall.choices, "chosen": recall.chosen}
            self._follower = Follower(config.look, config.recovery, **way)  # type: ignore[arg-type]

    def _agent_failed(self, failure: Failure, started: float) -> None:
        self._write(Decision(AgentStatus.ERROR), (), started, failure.message)
        self._errors += 1
        if self._errors > self._shared.config.recovery.agent_retries:
            self._end_in_error(failure.message)

    def _end_in_error(self, message: str) -> None:
        self.state = AgentStatus.ERROR
        self.context.set(ContextNames.ERROR, True)
        self.context.set(ContextNames.ERROR_MESSAGE, message)

    def _works_as_host(self) -> bool:
        return self._shared.app_agent is not None and self.agent is self._starter

    def _write(self, decision: Decision, outcomes: Outcomes, started: float, error: str | None = None) -> None:
        """Write the step into the log, the context and the blackboard."""
        context, host = self.context, self._works_as_host()
        if host:
            self._enter(decision.application)
        record = StepRecord(
            role=HOST if host else APP,
            agent=HOST if host else self._shared.agent_name,
            decision=decision,
            request=self.request,
            subtask=self.subtask,
            application=self.application,
            process=context.get(ContextNames.APPLICATION_PROCESS_NAME, ""),
            session_step=context.get(ContextNames.SESSION_STEP, 0),
            round_step=self.step,
            agent_step=self._agent_steps[self.agent.name],
            round=self.id,
            outcomes=outcomes,
            injected=self._injected,
            seconds=time.perf_counter() - started,
            error=error,
        )
        line = self._shared.log.step(record)
        step = {"round": self.id, "agent": line["agent_type"], "observation": line.get("observation", "")}
        step |= {"action": line["function_call"], "status": line["status"], "result": line["result"]}
        context.append(ContextNames.TRAJECTORY, step)
        self._shared.blackboard.add_trajectories(step)
        self._injected = ()
        self._agent_steps[self.agent.name] += 1
        self.step += 1
        self.cost += decision.cost
        context.add(ContextNames.SESSION_STEP, 1)
        context.add(ContextNames.TOTAL_COST, decision.cost)
        context.add(ContextNames.TOTAL_TOKENS, decision.tokens)
        context.update_dict(ContextNames.ROUND_STEP, {self.id: self.step})
        context.update_dict(ContextNames.ROUND_COST, {self.id: self.cost})
