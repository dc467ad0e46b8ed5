"""OSWorld: `WithMemory(agent, recorder)` in place of an agent of its harness; at the end `judge(env.evaluate())`.

Actions are code with coordinates: a control is named by the accessibility tree of the observation, or by the agent's
own words; a run in which most stay unnamed is kept and counted, and shown to nobody.
"""

from typing import Any

from ufo_experience.actions import is_blind
from ufo_experience.integrations.recorder import Recorder, Watched
from ufo_experience.schema import Experience, Step
from ufo_experience.traces.datasets import steps_of

MAX_RESPONSE = 2_000  # characters of what the agent said
DONE = 1.0  # what `env.evaluate` answers when the task is done


class WithMemory:
    """An agent with `predict(instruction, obs)` and `reset()`, and a memory."""

    def __init__(self, agent: Any, recorder: Recorder, *, application: str | None = None) -> None:
        self._agent, self._recorder, self._run = agent, recorder, Watched(recorder, application)
        self._instruction = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    def reset(self, *args: Any, **named: Any) -> Any:
        self._instruction = ""
        return self._agent.reset(*args, **named)

    def predict(self, instruction: str, obs: Any, *args: Any, **named: Any) -> Any:
        """The agent's prediction for the instruction with what is known of it; its actions are noted."""
        if instruction != self._instruction:
            self._run.begin(instruction)
            self._instruction = instruction
        prediction = self._agent.predict(self._run.before(instruction), obs, *args, **named)
        response, actions = prediction[0], prediction[1]
        self._recorder.attempt(lambda: self._note(str(response), list(actions), obs))
        return prediction

    def _note(self, response: str, actions: list[Any], obs: Any) -> None:
        row = {"response": response[:MAX_RESPONSE], "action": actions, "obs": obs if isinstance(obs, dict) else {}}
        for step in steps_of(row):
            name, role = step["control"], step["control_type"]
            bare = Step(step_number=1, action_type=step["action_type"], parameters=step["parameters"])
            if step["mentioned"] and not name and is_blind(bare):
                name, role = step["mentioned"].name, step["mentioned"].role
            self._recorder.step(step["action_type"], name, step["parameters"], response, control_type=role or None)

    def judge(self, score: float) -> Experience | None:
        """Learn the run with the score of `env.evaluate()`, from 0 to 1."""
        self._instruction = ""
        bounded = min(max(float(score), 0.0), 1.0)
        return self._recorder.finish(bounded >= DONE, "program", score=bounded)
