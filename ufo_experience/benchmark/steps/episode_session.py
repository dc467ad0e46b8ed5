"""An episode as a session: an environment executes its commands, a program judges it, and its log can be learned from.

    Workplace ◀── dispatcher ◀── LinuxSession ──▶ agent ──▶ memory's words in the prompt
        └──────────── controls on the screen ───────▲

Any agent of the `Agent` protocol works here: it is made for one workplace, sees `workplace.observation` (or asks the
dispatcher for `get_controls`), and gives commands named in `environment.FUNCTIONS` whose target carries the id of a
control on the screen. A click on a target of the type Application brings that application to the front.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ufo_experience.benchmark.steps.demonstration import Hints
from ufo_experience.benchmark.steps.environment import Command as ScreenCommand
from ufo_experience.benchmark.steps.environment import ControlView, Environment, Observation
from ufo_experience.benchmark.steps.episode import MAX_STEPS, CommandAgent
from ufo_experience.benchmark.steps.explorer import Explorer
from ufo_experience.benchmark.steps.prompt_reading import read_hints
from ufo_experience.session.context import Context, ContextNames
from ufo_experience.session.linux import LinuxSession
from ufo_experience.session.parts import SessionConfig, SessionParts
from ufo_experience.session.protocols import (
    ACTION,
    Agent,
    AgentStatus,
    Command,
    Decision,
    Result,
    ResultStatus,
    Target,
    Turn,
)
from ufo_experience.session.recall import ExperienceSource
from ufo_experience.session.save_policy import SavePolicy
from ufo_experience.text.tokens import estimate_tokens

NAMESPACE = "browser"
LOOK = "get_controls"
APPLICATION_TYPE = "Application"


class Workplace:
    """An environment between start and verdict: what is on the screen now, and how many commands were given.

    It is the session's `CommandDispatcher` and its `Evaluator`.
    """

    def __init__(self, environment: Environment, seed: int) -> None:
        self.environment, self.seed = environment, seed
        self.observation: Observation = environment.reset(seed)
        self.goal = self.observation.goal
        self.steps = 0

    async def execute_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """Carry the commands out one after the other; what cannot be done is a failed result."""
        return [self._execute(command) for command in commands]

    async def reconnect(self) -> bool:
        """A browser that is gone does not come back."""
        return False

    def evaluate(
        self, request: str, log_path: str, eva_all_screenshots: bool, context: Context
    ) -> tuple[dict[str, Any], float]:
        """The environment's own verdict on the state that was reached, free of charge."""
        score = self.environment.score
        word = "yes" if score >= 1.0 else "no"
        reason = f"the program of {self.environment.name} says so"
        return {"complete": word, "score": score, "reason": reason, "judge": "program", "sub_scores": []}, 0.0

    def print_response(self, result: Mapping[str, Any]) -> None:
        """Nobody is watching."""

    def _execute(self, command: Command) -> Result:
        if command.tool_name == LOOK:
            return Result(ResultStatus.SUCCESS, self._controls(), None, NAMESPACE, command.call_id)
        if command.tool_type != ACTION:
            return Result(ResultStatus.SKIPPED, None, "a benchmark takes no pictures", NAMESPACE, command.call_id)
        self.steps += 1
        wanted = command.target
        if wanted is not None and wanted.type == APPLICATION_TYPE:
            return self._carry_out(command, ScreenCommand("switch_application", None, {"text": wanted.name}))
        control = self.observation.control(int(wanted.id)) if wanted is not None and wanted.id.isdigit() else None
        if wanted is not None and control is None:
            return Result(ResultStatus.FAILURE, None, f"no control {wanted.name!r}", NAMESPACE, command.call_id)
        parameters = {key: str(value) for key, value in command.parameters.items()}
        return self._carry_out(command, ScreenCommand(command.tool_name, control, parameters))

    def _carry_out(self, command: Command, asked: ScreenCommand) -> Result:
        reply = self.environment.step(asked)
        self.observation = reply.observation
        status = ResultStatus.SUCCESS if reply.error is None else ResultStatus.FAILURE
        return Result(status, reply.result, reply.error, NAMESPACE, command.call_id)

    def _controls(self) -> list[dict[str, Any]]:
        """What is on the screen, for agents that ask: controls, and the applications that can be brought to front."""
        seen = self.observation
        here = [{"id": str(one.id), "name": one.name, "type": one.type, "value": one.value} for one in seen.controls]
        others = [one for one in seen.applications if one != seen.application]
        return here + [{"id": f"app:{one}", "name": one, "type": APPLICATION_TYPE} for one in others]


MakeAgent = Callable[[Workplace], Agent]


class ReadingAgent:
    """The rule-based explorer as an agent of sessions. Of the past it knows what stands in its prompt, nothing else."""

    name = "LinuxAgent"

    def __init__(self, workplace: Workplace, explorer: CommandAgent) -> None:
        self._workplace, self._explorer = workplace, explorer
        self._hints: Hints | None = None
        self._begun = False

    async def act(self, turn: Turn) -> Decision:
        """The explorer's next command; FINISH when the task has ended, FAIL when nothing is left to try."""
        if turn.proposed is not None:
            return self._stand_by(turn, turn.proposed)
        observation = self._workplace.observation
        turn.context.set(ContextNames.APPLICATION_ROOT_NAME, observation.application)
        prompt = prompt_for(turn.experiences, turn.request, observation)
        if not self._begun:
            self._hints, self._begun = read_hints(prompt, turn.request), True
        if self._workplace.environment.done:
            return Decision(AgentStatus.FINISH, result="the task has ended")
        command = self._explorer.next_command(observation, turn.request, self._hints)
        if command is None:
            return Decision(AgentStatus.FAIL, result="nothing is left to try")
        return replace(_decision(command, observation), tokens=estimate_tokens(prompt))

    def _stand_by(self, turn: Turn, proposed: Decision) -> Decision:
        """A warning about a step is read (it costs tokens), but the explorer has no second thoughts."""
        return replace(proposed, tokens=estimate_tokens(turn.warning))


class Demonstrator:
    """Shows a way that is known: gives its commands one after the other, then says that it is done."""

    name = "Demonstrator"

    def __init__(self, workplace: Workplace, commands: Iterable[ScreenCommand]) -> None:
        self._workplace, self._commands = workplace, iter(commands)

    async def act(self, turn: Turn) -> Decision:
        """The next command of the way."""
        observation = self._workplace.observation
        turn.context.set(ContextNames.APPLICATION_ROOT_NAME, observation.application)
        command = next(self._commands, None)
        return Decision(AgentStatus.FINISH) if command is None else _decision(command, observation)


def explorer_agent(workplace: Workplace) -> Agent:
    """The rule-based agent; its seed is that of the variant."""
    return ReadingAgent(workplace, Explorer(workplace.seed))


def prompt_for(experiences: str, request: str, observation: Observation) -> str:
    """What a model would be asked for one step: past experiences, the goal, the controls on the screen."""
    lines = [
        f"{one.id} {one.type} {one.name!r}{f' = {one.value!r}' if one.value else ''}" for one in observation.controls
    ]
    asked = f"Goal: {request}\nWindow: {observation.window}\nControls:\n" + "\n".join(lines)
    return f"{experiences}\n\n{asked}" if experiences else asked


@dataclass(frozen=True)
class Outcome:
    """How an episode went. `tokens` are those of all its prompts, `recalled` the ids that were shown to the agent."""

    steps: int
    success: bool
    tokens: int
    cost: float
    seconds: float
    goal: str = ""
    recalled: tuple[str, ...] = ()
    saved: tuple[str, ...] = ()


def run_session(
    environment: Environment,
    seed: int,
    memory: ExperienceSource | None,
    logs: Path,
    *,
    recall: bool = True,
    save: str = "always_not",
    application: str | None = None,
    make_agent: MakeAgent = explorer_agent,
    max_steps: int = MAX_STEPS,
) -> Outcome:
    """Run one episode through a session and say how it went.

    Args:
        memory: where experiences come from and go to; None for a session without memory.
        logs: folder below which the session makes its log folder.
        recall: False saves (by `save`, a mode of `SavePolicy`) without showing anything to the agent.
        application: where it is known beforehand which application the task is for.

    Raises:
        StorageError: the log or the store cannot be written.
    """
    workplace = Workplace(environment, seed)
    config = SessionConfig(
        logs, max_step=max_steps, max_round=1, save=SavePolicy.of(save), recall=recall, log_to_markdown=False
    )
    agent = make_agent(workplace)
    parts = SessionParts(app_agent=agent, dispatcher=workplace, evaluator=workplace, memory=memory, config=config)
    name = f"{environment.name}-{seed}".replace("/", "-")
    session = LinuxSession(name, True, name, workplace.goal, application_name=application, parts=parts)
    session.application_window_info = None  # nobody looks at a picture of the end state
    started = time.perf_counter()
    asyncio.run(session.run())
    return Outcome(
        steps=workplace.steps,
        success=environment.score >= 1.0,
        tokens=int(session.context.get(ContextNames.TOTAL_TOKENS, 0)),
        cost=session.cost,
        seconds=time.perf_counter() - started,
        goal=workplace.goal,
        recalled=session.injected,
        saved=session.saved,
    )


def _decision(command: ScreenCommand, observation: Observation) -> Decision:
    target = _target(command.control) if command.control is not None else None
    asked = Command(command.function, dict(command.parameters), target=target)
    controls = tuple(_target(one) for one in observation.controls)
    return Decision(AgentStatus.CONTINUE, (asked,), observation.window, controls=controls)


def _target(control: ControlView) -> Target:
    return Target(control.name, control.type, str(control.id), is_password=control.input == "password")
