"""What can be asked of a session: who it is, where it stands, what it cost."""

from __future__ import annotations

from typing import Any

from ufo_experience.session.blackboard import Blackboard
from ufo_experience.session.context import Context, ContextNames
from ufo_experience.session.log_writer import LogFile, SessionLog
from ufo_experience.session.parts import Desk
from ufo_experience.session.protocols import Agent
from ufo_experience.session.round import BaseRound


class SessionState:
    """The state of a session and the properties that show it."""

    _id: str | int
    _context: Context
    _desk: Desk
    _log: SessionLog
    _rounds: dict[int, BaseRound]
    _results: list[dict[str, Any]]
    _host_agent: Agent | None

    @property
    def id(self) -> str | int:
        """The id of the session."""
        return self._id

    @property
    def context(self) -> Context:
        """The state its rounds share."""
        return self._context

    @property
    def blackboard(self) -> Blackboard:
        """The memory its agents share."""
        return self._desk.blackboard

    @property
    def session_type(self) -> str:
        """The name of its class."""
        return type(self).__name__

    @property
    def rounds(self) -> dict[int, BaseRound]:
        """Its rounds, by id."""
        return self._rounds

    @property
    def total_rounds(self) -> int:
        """How many rounds there are."""
        return len(self._rounds)

    @property
    def current_round(self) -> BaseRound | None:
        """The latest round; None before the first."""
        return self._rounds[max(self._rounds)] if self._rounds else None

    @property
    def current_agent_class(self) -> str:
        """The name of the class of the agent at work, "" before the first round."""
        round = self.current_round
        return type(round.agent).__name__ if round else ""

    @property
    def host_agent(self) -> Agent | None:
        """The host agent; None in sessions that have none."""
        return self._host_agent

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return int(self.context.get(ContextNames.SESSION_STEP, 0))

    @property
    def cost(self) -> float:
        """US dollars spent so far."""
        return float(self.context.get(ContextNames.TOTAL_COST, 0.0))

    @cost.setter
    def cost(self, cost: float) -> None:
        self.context.set(ContextNames.TOTAL_COST, cost)

    @property
    def results(self) -> list[dict[str, Any]]:
        """The result of each round, then of the evaluation."""
        return self._results

    @results.setter
    def results(self, results: list[dict[str, Any]]) -> None:
        self._results = results

    @property
    def injected(self) -> tuple[str, ...]:
        """Ids of the experiences that were shown to its agents."""
        return self._desk.recall.injected if self._desk.recall else ()

    @property
    def evaluation_logger(self) -> LogFile:
        """The file of judgements."""
        return self._log.evaluation_logger

    @property
    def application_window(self) -> Any:
        """The window being worked in."""
        return self.context.get(ContextNames.APPLICATION_WINDOW)

    @application_window.setter
    def application_window(self, window: Any) -> None:
        self.context.set(ContextNames.APPLICATION_WINDOW, window)

    @property
    def application_window_info(self) -> Any:
        """What is known of that window."""
        return self.context.get(ContextNames.APPLICATION_WINDOW_INFO)

    @application_window_info.setter
    def application_window_info(self, info: Any) -> None:
        self.context.set(ContextNames.APPLICATION_WINDOW_INFO, info)
