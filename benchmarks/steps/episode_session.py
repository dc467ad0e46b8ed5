"""An episode as a session: an environment executes its commands, a program judges it, and its log can be learned from.

Workplace ◀── dispatcher ◀── LinuxSession ──▶ agent ──▶ memory's words in the prompt
    └──────────── controls on the screen ───────▲
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from benchmarks.steps.agents import explorer_agent
from benchmarks.steps.environment import Environment
from benchmarks.steps.episode import MAX_STEPS
from benchmarks.steps.workplace import MakeAgent, Workplace
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.offer import PROVEN_AFTER
from ufo_experience.session import (
    Agent,
    ContextNames,
    Decision,
    LinuxSession,
    RecallMode,
    RecoveryPolicy,
    SavePolicy,
    SessionConfig,
    SessionParts,
    Turn,
)


@dataclass(frozen=True)
class Outcome:
    """How an episode went.

    `steps` are actions, `calls` questions to the agent's model, `tokens` those of all its prompts and `answer_tokens`
    of its answers; `wrong` are actions that changed what the goal does not ask for and were not undone. `success` is
    the program's verdict at the end; `tidy` that nothing else has changed as well. `tokens_to_goal` were spent, both
    ways, when the goal was first reached; None if it never was. `recalled` are the ids that were shown to the agent,
    `followed` those offered as a way, step by step; `error` is what ended the agent before its time.
    """

    steps: int
    success: bool
    tokens: int
    cost: float
    seconds: float
    goal: str = ""
    recalled: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()
    saved: tuple[str, ...] = ()
    calls: int = 0
    answer_tokens: int = 0
    wrong: int = 0
    tidy: bool = False
    tokens_to_goal: int | None = None
    error: str | None = None


@runtime_checkable
class Closable(Protocol):
    """An agent that holds something for the length of an episode."""

    def close(self) -> None:
        """Give it up."""
        ...


class _Counting:
    """Passes turns on to an agent and counts them: an agent that does not use the meter asks its model each time."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.turns = 0

    @property
    def name(self) -> str:
        """The agent's name."""
        return self._agent.name

    async def act(self, turn: Turn) -> Decision:
        """As the agent decides."""
        self.turns += 1
        return await self._agent.act(turn)


def log_folder(environment: str, seed: int) -> str:
    """The name of the log folder of a variant of an environment, such as `desktop/share` or `web/django/gone`."""
    return f"{environment}-{seed}".replace("/", "-")


def run_session(
    environment: Environment,
    seed: int,
    memory: ExperienceMemory | None,
    logs: Path,
    *,
    recall: RecallMode | None = "advise",
    replay_after: int = PROVEN_AFTER,
    save: str = "always_not",
    application: str | None = None,
    make_agent: MakeAgent = explorer_agent,
    max_steps: int = MAX_STEPS,
    agent_timeout: float = RecoveryPolicy.agent_timeout,
) -> Outcome:
    """Run one episode through a session and say how it went.

    Args:
        memory: where experiences come from and go to; None for a session without memory.
        logs: folder below which the session makes its log folder.
        recall: how experiences are used; None saves (by `save`, a mode of `SavePolicy`) and shows nothing.
        replay_after: how often a way must have helped before it is replayed.
        application: where it is known beforehand which application the task is for.
        agent_timeout: seconds an agent may take for one decision.

    Raises:
        StorageError: the log or the store cannot be written.
    """
    workplace = Workplace(environment, seed)
    config = SessionConfig(
        logs,
        max_step=max_steps,
        max_round=1,
        save=SavePolicy(save),
        recovery=RecoveryPolicy(agent_timeout=agent_timeout),
        recall=recall,
        replay_after=replay_after,
        log_to_markdown=False,
    )
    made = make_agent(workplace)
    agent = _Counting(made)
    parts = SessionParts(app_agent=agent, dispatcher=workplace, evaluator=workplace, memory=memory, config=config)
    name = log_folder(environment.name, seed)
    session = LinuxSession(name, True, name, workplace.goal, application_name=application, parts=parts)
    session.application_window_info = None  # nobody looks at a picture of the end state
    started = time.perf_counter()
    try:
        asyncio.run(session.run())
    finally:
        if isinstance(made, Closable):
            made.close()
    seconds = time.perf_counter() - started
    meter, tokens = workplace.meter, int(session.context.get(ContextNames.TOTAL_TOKENS, 0))
    success = environment.score >= 1.0
    return Outcome(
        steps=workplace.steps,
        success=success,
        tokens=meter.prompt_tokens if meter.calls else tokens,
        cost=session.cost,
        seconds=seconds,
        goal=workplace.goal,
        recalled=session.injected,
        followed=session.followed,
        saved=session.saved,
        calls=meter.calls or agent.turns,
        answer_tokens=meter.answer_tokens,
        wrong=workplace.wrong_actions,
        tidy=success and not environment.unasked,
        tokens_to_goal=workplace.tokens_to_goal,
        error=workplace.error,
    )
