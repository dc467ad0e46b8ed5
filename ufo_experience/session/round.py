"""One request of the user, worked on step by step until an agent says it is done, fails, or the steps run out.

host ──ASSIGN──▶ app ──FINISH──▶ host ──FINISH──▶ end, or with one tier agent ──FINISH──▶ end
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ufo_experience.errors import DataError
from ufo_experience.session.commands import ConnectionLostError, Outcomes, Result, execute, outcome_of, told
from ufo_experience.session.files import plain
from ufo_experience.session.log import APP, HOST
from ufo_experience.session.parts import Agent, AgentError, AgentStatus, Context, ContextNames, Decision, Turn

if TYPE_CHECKING:
    from ufo_experience.session.session import BaseSession

NOT_ALLOWED = "the user did not allow it"

_ENDS = (AgentStatus.FINISH, AgentStatus.FAIL, AgentStatus.ERROR)


class BaseRound:
    """One request and what was done for it. `agent` begins: the host, or the only agent."""

    def __init__(self, request: str, agent: Agent, context: Context, id: int, session: BaseSession) -> None:
        self.request, self.agent, self.context, self.id = request, agent, context, id
        self.state = AgentStatus.CONTINUE
        self.subtask = self.result = ""
        self.step, self.cost = 0, 0.0
        self._session, self._config, self._starter = session, session.parts.config, agent
        self._block = self._task_block = ""
        self._shown: tuple[str, ...] = ()  # by memory, since the last line of the log
        self._last: Outcomes = ()
        self._agent_steps: Counter[str] = Counter()
        self._errors = 0

    @property
    def application(self) -> str:
        return str(self.context.get(ContextNames.APPLICATION_ROOT_NAME))

    @property
    def _is_host(self) -> bool:
        return self._session.host_agent is not None and self.agent is self._starter

    def is_finished(self) -> bool:
        return self.state in _ENDS or self.context.get(ContextNames.SESSION_STEP) >= self._config.max_step

    async def run(self) -> str:
        """Work on the request; returns what the agents say they achieved. Raises StorageError: no log is written."""
        self.context.set(ContextNames.REQUEST, self.request)
        self.context.set(ContextNames.CURRENT_ROUND_ID, self.id)
        self._session.blackboard.add_requests({"request": self.request})
        # A host has yet to choose the application; the one of the round before says nothing.
        self._task_block = self._block = await self._ask_memory(self.request, "" if self._is_host else self.application)
        while not self.is_finished():
            await self._take_step()
        return self.result

    async def _take_step(self) -> None:
        started, recall, decision = time.perf_counter(), self._session.recall, None
        try:
            decision = await recall.next(self.application) or await self._decide()
            outcomes = await self._execute(decision)
        except (AgentError, ConnectionLostError) as fault:
            decision = replace(decision or Decision(AgentStatus.ERROR), status=AgentStatus.ERROR, commands=())
            self._write(decision, (), started, str(fault))
            self._errors += 1
            if isinstance(fault, ConnectionLostError) or self._errors > self._config.recovery.agent_retries:
                self._end_in_error(str(fault))
            return
        self._errors = 0
        self._last += outcomes
        recall.note(outcomes)
        self._write(decision, outcomes, started)
        await self._advance(decision)

    async def _decide(self) -> Decision:
        """Ask the agent; what cannot be written down is not executed. Raises AgentError."""
        recall = self._session.recall
        turn = Turn(
            request=self.request,
            subtask=self.subtask,
            application=self.application,
            step=self.context.get(ContextNames.SESSION_STEP),
            context=self.context,
            blackboard=self._session.blackboard,
            last=self._last + recall.left,
            experiences=self._block,
            ahead=await recall.foresee(self.application),
            handed_back=recall.handed_back,
        )
        decided = await outcome_of(self.agent.act(turn), self._config.recovery.agent_timeout)
        if isinstance(decided, Exception):
            raise AgentError(told(decided)) from decided
        if not isinstance(decided, Decision):
            raise AgentError(f"the agent gave a {type(decided).__name__}, not a Decision")
        try:
            plain([dict(command.parameters) for command in decided.commands])
        except DataError as error:
            raise AgentError(f"the agent gave a command with parameters that have no JSON form: {error}") from error
        self._last = ()
        return decided if self._is_host else await recall.begin(decided, self.application)

    async def _execute(self, decision: Decision) -> Outcomes:
        user, commands = self._session.parts.user, decision.commands
        if decision.status is AgentStatus.PENDING:
            for question in decision.questions:
                answer = await asyncio.to_thread(user.answer, question)
                self._session.blackboard.add_questions({"question": question, "answer": answer})
        if decision.status in (AgentStatus.SCREENSHOT, AgentStatus.PENDING) or not commands:
            return ()
        if decision.status is AgentStatus.CONFIRM:
            question = f"Allow {', '.join(map(str, commands))}?"
            if not await asyncio.to_thread(user.confirm, question):
                return tuple((command, Result.skipped(command, NOT_ALLOWED)) for command in commands)
        return await execute(self.context.command_dispatcher, commands, self._config.recovery.command_timeout)

    async def _advance(self, decision: Decision) -> None:
        self.result = decision.result or self.result
        if decision.status is AgentStatus.ERROR:
            self._end_in_error(decision.result or decision.comment or "the agent gave up with an error")
        elif decision.status is AgentStatus.ASSIGN and self._is_host:
            self.agent, self._last = self._session.app_agent, ()
            self._enter(decision.application)
            self._begin_subtask(decision.subtask or self.request)
            self._count(ContextNames.SUBTASK_AMOUNT, 1)
            self._block = await self._ask_memory(self.subtask, self.application) or self._task_block
        elif decision.status in _ENDS and self.agent is self._starter:
            self.state = decision.status
        elif decision.status in _ENDS:
            done = {"subtask": self.subtask, "status": decision.status.value}
            self.context.get(ContextNames.PREVIOUS_SUBTASKS).append(done)
            self.agent, self._block = self._starter, self._task_block
            self._session.recall.follow(None)
            self._begin_subtask("")

    def _begin_subtask(self, subtask: str) -> None:
        self.subtask = subtask
        self.context.set(ContextNames.SUBTASK, subtask)

    def _count(self, name: ContextNames, amount: float) -> None:
        self.context.set(name, self.context.get(name) + amount)

    def _enter(self, application: str) -> None:
        if application:
            self.context.set(ContextNames.APPLICATION_ROOT_NAME, application)
            self.context.set(ContextNames.APPLICATION_WINDOW_INFO, {"name": application})

    async def _ask_memory(self, task: str, application: str) -> str:
        """What memory knows, as a block for the turns to come; a way it knows is followed from now on."""
        block = await self._session.recall.before(task, application, follow=not self._is_host)
        self._shown += tuple(block.ids) if block else ()
        return block.text if block else ""

    def _end_in_error(self, message: str) -> None:
        self.state = AgentStatus.ERROR
        self._session.set_error(message)

    def _write(self, decision: Decision, outcomes: Outcomes, started: float, error: str | None = None) -> None:
        context, agent = self.context, self.agent.name
        if self._is_host:
            self._enter(decision.application)
        head = {
            "agent_type": HOST if self._is_host else APP,
            "agent_name": HOST if self._is_host else self._session.agent_name,
            "session_step": context.get(ContextNames.SESSION_STEP),
            "round_step": self.step,
            "agent_step": self._agent_steps[agent],
            "round_num": self.id,
            "request": self.request,
            "total_time": round(time.perf_counter() - started, 6),
        }
        if self._is_host:
            head["application"] = self.application
        else:
            process = context.get(ContextNames.APPLICATION_PROCESS_NAME)
            head |= {"subtask": self.subtask, "app_root": self.application, "application_process_name": process}
        line = self._session.log.step(head, decision, outcomes, self._shown, error)
        step = {"round": self.id, "agent": line["agent_type"], "observation": line.get("observation", "")}
        step |= {"action": line["function_call"], "status": line["status"], "result": line["result"]}
        context.get(ContextNames.TRAJECTORY).append(step)
        self._session.blackboard.add_trajectories(step)
        self._shown = ()
        self._agent_steps[agent] += 1
        self.step += 1
        self.cost += decision.cost
        self._count(ContextNames.SESSION_STEP, 1)
        self._count(ContextNames.TOTAL_COST, decision.cost)
        self._count(ContextNames.TOTAL_TOKENS, decision.tokens)
        context.get(ContextNames.ROUND_STEP)[self.id] = self.step
        context.get(ContextNames.ROUND_COST)[self.id] = self.cost
