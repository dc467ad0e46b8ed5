"""The user of a session: at a terminal, absent, or played from a list; an agent and an evaluator played likewise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ufo_experience.session.protocols import AgentStatus, Context, Decision, Turn

DONE = ("n", "no", "exit", "quit", "")
_YES = ("y", "yes")


class ConsoleInteractor:
    """Asks at the terminal. Everything shown goes to standard error, so that standard output stays the program's."""

    def __init__(self, ask: Callable[[str], str] = input, show: Callable[[str], object] | None = None) -> None:
        self._ask = ask
        self._show = show or (lambda text: sys.stderr.write(text + "\n"))

    def first_request(self) -> str:
        """Ask what to do; an empty answer is asked again, end of input ends the session."""
        while True:
            try:
                request = self._ask("What shall be done? ").strip()
            except EOFError:
                return ""
            if request:
                return request

    def new_request(self) -> tuple[str, bool]:
        """Ask what to do next; N or nothing ends the session."""
        answer = self._read("What next? (N to finish) ")
        return (answer, answer.casefold() in DONE)

    def experience_asker(self) -> bool:
        """Ask whether to save this session as an experience."""
        return self._yes("Save this session as an experience? (y/N) ")

    def confirm(self, question: str) -> bool:
        """Ask whether a sensitive action may be executed; only a clear yes allows it."""
        return self._yes(f"{question} (y/N) ")

    def answer(self, question: str) -> str:
        """Ask an agent's question."""
        return self._read(f"{question} ")

    def show(self, text: str) -> None:
        """Write a line."""
        self._show(text)

    def _read(self, prompt: str) -> str:
        try:
            return self._ask(prompt).strip()
        except EOFError:
            return ""

    def _yes(self, prompt: str) -> bool:
        return self._read(prompt).casefold() in _YES


class AbsentUser:
    """Nobody to ask: for service and batch sessions. Nothing is confirmed, saved on request or answered."""

    def first_request(self) -> str:
        """Always ""."""
        return ""

    def new_request(self) -> tuple[str, bool]:
        """Always ("", True): nothing more is asked for."""
        return "", True

    def experience_asker(self) -> bool:
        """Always False."""
        return False

    def confirm(self, question: str) -> bool:
        """Always False: what needs a person's consent is not done without one."""
        return False

    def answer(self, question: str) -> str:
        """Always ""."""
        return ""

    def show(self, text: str) -> None:
        """Does nothing."""


class ScriptedUser(AbsentUser):
    """A user played from a list of requests, with fixed answers. Keeps what it was `shown` and `asked`."""

    def __init__(self, requests: Iterable[str] = (), *, yes: bool = False, reply: str = "") -> None:
        self._requests = list(requests)
        self._yes, self._reply = yes, reply
        self.shown: list[str] = []
        self.asked: list[str] = []

    def first_request(self) -> str:
        """The next request of the list."""
        return self._requests.pop(0) if self._requests else ""

    def new_request(self) -> tuple[str, bool]:
        """The next request of the list, or done."""
        done = not self._requests
        return self.first_request(), done

    def experience_asker(self) -> bool:
        """The fixed answer."""
        self.asked.append("experience")
        return self._yes

    def confirm(self, question: str) -> bool:
        """The fixed answer."""
        self.asked.append(question)
        return self._yes

    def answer(self, question: str) -> str:
        """The fixed reply."""
        self.asked.append(question)
        return self._reply

    def show(self, text: str) -> None:
        """Keep the text."""
        self.shown.append(text)


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
        """Keep the judgement in `shown`."""
        self.shown.append(result)
