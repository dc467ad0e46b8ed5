"""One run of an agent on a task, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from benchmarks.steps.demonstration import Hints
from benchmarks.steps.environment import Command, Environment, Observation, Reply

MAX_STEPS = 60


class CommandAgent(Protocol):
    """Whatever decides on the next command. One object serves one episode."""

    def next_command(self, observation: Observation, goal: str, hints: Hints | None = None) -> Command | None:
        """The next command, or None when the agent has nothing more to do."""
        ...


@dataclass(frozen=True)
class Taken:
    """One step: what was seen, what was done, what came of it."""

    observation: Observation
    command: Command
    reply: Reply


@dataclass
class Episode:
    """A whole run. `steps` counts commands, failed ones included."""

    environment: str
    seed: int
    goal: str
    taken: list[Taken] = field(default_factory=list)
    score: float = 0.0

    @property
    def steps(self) -> int:
        """How many commands were given."""
        return len(self.taken)

    @property
    def success(self) -> bool:
        """True when the program says the task is reached."""
        return self.score >= 1.0


def run_episode(
    environment: Environment, agent: CommandAgent, seed: int, hints: Hints | None = None, max_steps: int = MAX_STEPS
) -> Episode:
    """Let a fresh agent work on the variant of that seed until the task ends, it gives up, or the steps run out."""
    observation = environment.reset(seed)
    episode = Episode(environment.name, seed, observation.goal)
    while not environment.done and episode.steps < max_steps:
        command = agent.next_command(observation, observation.goal, hints)
        if command is None:
            break
        reply = environment.step(command)
        episode.taken.append(Taken(observation, command, reply))
        observation = reply.observation
    episode.score = environment.score
    return episode
