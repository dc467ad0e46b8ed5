"""One request of the user, worked on step by step until an agent says it is done, fails, or the steps run out.

    host ──ASSIGN──▶ app ──FINISH──▶ host ──FINISH──▶ end        (two tiers)
    agent ──FINISH──▶ end                                        (one tier)

Each step: the agent decides (or a known way does) → commands are executed → the step is written down.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ufo_experience.errors import DataError
from ufo_experience.session.files import plain
from ufo_experience.session.following import REPLAYED, Follower, names_only
from ufo_experience.session.log_writer import APP, HOST
from ufo_experience.session.protocols import (
    Agent,
    AgentError,
    AgentStatus,
    ConnectionLostError,
    Context,
    ContextNames,
    Decision,
    Outcomes,
    Turn,
    describe,
)
from ufo_experience.session.recovery import execute, outcome_of, skipped, told

if TYPE_CHECKING:
    from ufo_experience.session.session import BaseSession

NOT_ALLOWED = "the user did not allow it"

_ENDS = (AgentStatus.FINISH, AgentStatus.FAIL, AgentStatus.ERROR)
_NOTHING_DONE = (AgentStatus.SCREENSHOT, AgentStatus.PENDING)


class BaseRound:
    """One request and what was done for it. `agent` begins: the host, or the only agent."""

    def __init__(self, request: str, agent: Agent, context: Context, id: int, session: BaseSession) -> None:
        self.request, self.agent, self.context, self.id = request, agent, context, id
        self.state = AgentStatus.CONTINUE
        self.subtask = self.result = ""
        self.step, self.cost = 0, 0.0
        self._session, self._config = session, session.parts.config
        self._starter = agent
        self._block = self._task_block = ""
        self.injected: tuple[str, ...] = ()  # shown since the last line of the log
        self._last: Outcomes = ()
        self._agent_steps: Counter[str] = Counter()
        self._errors = 0
        self._follower = Follower(context, self._config.recovery.command_timeout)
        self._ahead = self._handed_back = ""

    @property
    def application(self) -> str:
        """The application being worked in, "" before one was chosen."""
        return str(self.context.get(ContextNames.APPLICATION_ROOT_NAME))

    @property
    def role(self) -> str:
        """What the agent at work is: a host or an app agent."""
        return HOST if self._works_as_host() else APP

    @property
    def agent_name(self) -> str:
        """What the agent at work is called in logs."""
        return HOST if self._works_as_host() else self._session.agent_name

    @property
    def agent_step(self) -> int:
        """How many steps the agent at work has taken in this round."""
        return self._agent_steps[self.agent.name]

    def is_finished(self) -> bool:
        """True when the request is dealt with, or the session has no steps left."""
        return self.state in _ENDS or self.context.get(ContextNames.SESSION_STEP) >= self._config.max_step

    async def run(self) -> str:
        """Work on the request; returns what the agents say they achieved.

        Raises:
            StorageError: the log cannot be written.
        """
        self.context.set(ContextNames.REQUEST, self.request)
        self.context.set(ContextNames.CURRENT_ROUND_ID, self.id)
        self._session.blackboard.add_requests({"request": self.request})
        is_host = self._works_as_host()
        # A host has yet to choose the application; the one of the round before says nothing.
        await self._ask_memory(self.request, "" if is_host else self.application)
        self._task_block = self._block
        if not is_host:
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
            if isinstance(decided, Exception):
                self._agent_failed(told(decided), started)
                return
            decision = await self._begun(decided)
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
        decision = None if why else await follower.next(self.application)
        why, left = why or follower.handed_back, left or follower.left
        replayed = decision is not None and decision.comment == REPLAYED and not decision.commands
        if replayed and not self._session.is_judged:
            decision, why = None, "the known way was followed to its end; is the task done?"
        if decision is None:
            follower.handed_back, follower.left = "", ()
            self._last += left
            self._handed_back, self._ahead = why, await follower.foresee(self.application)
        return decision

    async def _decide(self) -> Decision | Exception:
        """Ask the agent; what cannot be written down is not executed."""
        turn = Turn(
            request=self.request,
            subtask=self.subtask,
            application=self.application,
            step=self.context.get(ContextNames.SESSION_STEP),
            context=self.context,
            blackboard=self._session.blackboard,
            last=self._last,
            experiences=self._block,
            ahead=self._ahead,
            handed_back=self._handed_back,
        )
        decided = await outcome_of(self.agent.act(turn), self._config.recovery.agent_timeout)
        if isinstance(decided, Exception):
            return decided
        if not isinstance(decided, Decision):
            return AgentError(f"the agent gave a {type(decided).__name__}, not a Decision")
        try:
            plain([dict(command.parameters) for command in decided.commands])
        except DataError as error:
            return AgentError(f"the agent gave a command with parameters that have no JSON form: {error}")
        return decided

    async def _begun(self, decision: Decision) -> Decision:
        """An agent's decision, of which one action is carried out at a time in `ahead` and `replay`."""
        self._last = ()
        self._follower.choose(decision.commands)
        several = self._config.recall in ("ahead", "replay") and len(decision.commands) > 1
        asks = decision.status in (AgentStatus.CONFIRM, *_NOTHING_DONE)
        if self._works_as_host() or asks or not (several or names_only(decision.commands)):
            return decision
        return await self._follower.begin(decision, self.application)

    async def _execute(self, decision: Decision) -> Outcomes:
        user = self._session.parts.user
        if decision.status is AgentStatus.PENDING:
            for question in decision.questions:
                answer = await asyncio.to_thread(user.answer, question)
                self._session.blackboard.add_questions({"question": question, "answer": answer})
        if decision.status in _NOTHING_DONE or not decision.commands:
            return ()
        if decision.status is AgentStatus.CONFIRM:
            question = f"Allow {', '.join(map(describe, decision.commands))}?"
            if not await asyncio.to_thread(user.confirm, question):
                return tuple((command, skipped(command, NOT_ALLOWED)) for command in decision.commands)
        timeout = self._config.recovery.command_timeout
        return await execute(self.context.command_dispatcher, decision.commands, timeout)

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
            self.context.get(ContextNames.PREVIOUS_SUBTASKS).append(done)
            self.agent, self._block = self._starter, self._task_block
            self._begin_subtask("")

    async def _assign(self, decision: Decision) -> None:
        self.agent = self._session.app_agent
        self._last = ()
        self._enter(decision.application)
        self._begin_subtask(decision.subtask or self.request)
        self.context.add(ContextNames.SUBTASK_AMOUNT, 1)
        await self._ask_memory(self.subtask, self.application)
        self._block = self._block or self._task_block
        self._follow()

    def _begin_subtask(self, subtask: str) -> None:
        self.subtask = subtask
        self.context.set(ContextNames.SUBTASK, subtask)

    def _enter(self, application: str) -> None:
        if application:
            self.context.set(ContextNames.APPLICATION_ROOT_NAME, application)
            self.context.set(ContextNames.APPLICATION_WINDOW_INFO, {"name": application})

    async def _ask_memory(self, task: str, application: str) -> None:
        """Take what memory knows for the turns to come, and note its ids for the next line of the log."""
        recall = self._session.recall
        block = await recall.before(task, application) if recall is not None else None
        self._block = block.text if block else ""
        self.injected += tuple(block.ids) if block else ()

    def _follow(self) -> None:
        """Go along the way memory has found for the request or sub-task that begins, or along a plan."""
        recall, timeout = self._session.recall, self._config.recovery.command_timeout
        if recall is not None:
            self._follower = recall.follower(self.context, timeout)
        else:
            self._follower = Follower(self.context, timeout, guide=self._session.guide)

    def _agent_failed(self, why: str, started: float) -> None:
        self._write(Decision(AgentStatus.ERROR), (), started, why)
        self._errors += 1
        if self._errors > self._config.recovery.agent_retries:
            self._end_in_error(why)

    def _end_in_error(self, message: str) -> None:
        self.state = AgentStatus.ERROR
        self._session.set_error(message)

    def _works_as_host(self) -> bool:
        return self._session.host_agent is not None and self.agent is self._starter

    def _write(self, decision: Decision, outcomes: Outcomes, started: float, error: str | None = None) -> None:
        """Write the step into the log, the context and the blackboard."""
        context = self.context
        if self._works_as_host():
            self._enter(decision.application)
        line = self._session.log.step(self, decision, outcomes, round(time.perf_counter() - started, 6), error)
        step = {"round": self.id, "agent": line["agent_type"], "observation": line.get("observation", "")}
        step |= {"action": line["function_call"], "status": line["status"], "result": line["result"]}
        context.get(ContextNames.TRAJECTORY).append(step)
        self._session.blackboard.add_trajectories(step)
        self.injected = ()
        self._agent_steps[self.agent.name] += 1
        self.step += 1
        self.cost += decision.cost
        context.add(ContextNames.SESSION_STEP, 1)
        context.add(ContextNames.TOTAL_COST, decision.cost)
        context.add(ContextNames.TOTAL_TOKENS, decision.tokens)
        context.get(ContextNames.ROUND_STEP)[self.id] = self.step
        context.get(ContextNames.ROUND_COST)[self.id] = self.cost
