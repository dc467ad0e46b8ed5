"""Where an agent works in an episode: what is on the screen, what was done, what its model was asked.

Any agent of the `Agent` protocol works here: it is made for one workplace, sees `workplace.observation` (or asks the
dispatcher for `get_controls`), and gives commands named in `environment.FUNCTIONS` whose target carries the id of a
control on the screen. A click on a target of the type Application brings that application to the front.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.steps.environment import Command as ScreenCommand
from benchmarks.steps.environment import Environment, Observation
from ufo_experience.request import estimate_tokens
from ufo_experience.session import ACTION, Agent, Command, Context, Result, ResultStatus

NAMESPACE = "browser"
LOOK = "get_controls"
APPLICATION_TYPE, STATUS_TYPE = "Application", "Text"
_MARK = re.compile(r"\b[0-9a-f]{8}\b")


@dataclass
class Meter:
    """What the agent's model was asked: calls, and the estimated tokens of prompts and of answers."""

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers together."""
        return self.prompt_tokens + self.answer_tokens

    def asked(self, prompt: str, answer: str = "") -> None:
        """Count one call of the model. The random mark of a data block counts as the same in every run."""
        self.calls += 1
        self.prompt_tokens += estimate_tokens(_MARK.sub("0" * 8, prompt))
        self.answer_tokens += estimate_tokens(answer)


class Workplace:
    """An environment between start and verdict. It is the session's `CommandDispatcher` and its `Evaluator`.

    `steps` counts actions, failed ones included. `reached` is True once the task was reached, `tokens_to_goal` what
    had been spent by then. `error` is what ended the agent before its time, None when nothing did.
    """

    def __init__(self, environment: Environment, seed: int) -> None:
        self.environment, self.seed = environment, seed
        self.observation: Observation = environment.reset(seed)
        self.goal = self.observation.goal
        self.steps = 0
        self.meter = Meter()
        self.reached = False
        self.tokens_to_goal: int | None = None
        self.error: str | None = None
        self._changed_by: dict[str, int] = {}

    async def execute_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """Carry the commands out one after the other; what cannot be done is a failed result."""
        return [self._execute(command) for command in commands]

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

    @property
    def wrong_actions(self) -> int:
        """How many actions changed something the goal does not ask for that has not been undone since."""
        return len({step for path, step in self._changed_by.items() if path in self.environment.unasked})

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
        before = self.environment.unasked
        reply = self.environment.step(asked)
        self.observation = reply.observation
        self._changed_by |= dict.fromkeys(self.environment.unasked - before, self.steps)
        if self.environment.score >= 1.0 and not self.reached:
            self.reached, self.tokens_to_goal = True, self.meter.tokens
        status = ResultStatus.SUCCESS if reply.error is None else ResultStatus.FAILURE
        return Result(status, reply.result, reply.error, NAMESPACE, command.call_id)

    def _controls(self) -> list[dict[str, Any]]:
        """What is on the screen, for agents that ask: controls, and the applications that can be brought to front."""
        seen = self.observation
        here = [{**asdict(one), "id": str(one.id), "options": list(one.options)} for one in seen.controls]
        others = [one for one in seen.applications if one != seen.application]
        said = [
            {"id": f"status:{number}", "name": text, "type": STATUS_TYPE} for number, text in enumerate(seen.status)
        ]
        return here + said + [{"id": f"app:{one}", "name": one, "type": APPLICATION_TYPE} for one in others]


MakeAgent = Callable[[Workplace], Agent]
