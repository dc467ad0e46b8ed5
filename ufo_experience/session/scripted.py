"""An agent and an evaluator that do as they are told: for trying a session out, and for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ufo_experience.session.context import Context
from ufo_experience.session.protocols import AgentStatus, Decision, Turn

Judge = Callable[[str, Context], Mapping[str, Any]]


class ScriptedAgent:
    """Gives its decisions one after the other, then FINISH. An exception among them is raised in its turn."""

    def __init__(self, decisions: Iterable[Decision | Exception] = (), name: str = "AppAgent") -> None:
        self.name = name
        self.turns: list[Turn] = []
        self._decisions: Iterator[Decision | Exception] = iter(decisions)

    async def act(self, turn: Turn) -> Decision:
        """The next decision of the list; when asked to reconsider one, the same again."""
        self.turns.append(turn)
        if turn.proposed is not None:
            return turn.proposed
        decision = next(self._decisions, Decision(AgentStatus.FINISH))
        if isinstance(decision, Exception):
            raise decision
        return decision


class ScriptedEvaluator:
    """Judges by a function of the request and the context, at a fixed price."""

    def __init__(self, judge: Judge, cost: float = 0.0) -> None:
        self._judge, self._cost = judge, cost
        self.shown: list[Mapping[str, Any]] = []
        self.asked_for_screenshots: list[bool] = []

    def evaluate(
        self, request: str, log_path: str, eva_all_screenshots: bool, context: Context
    ) -> tuple[dict[str, Any], float]:
        """What the function says."""
        self.asked_for_screenshots.append(eva_all_screenshots)
        return dict(self._judge(request, context)), self._cost

    def print_response(self, result: Mapping[str, Any]) -> None:
        """Keep it."""
        self.shown.append(result)
