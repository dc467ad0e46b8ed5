"""The user of a session: absent, or at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable

DONE = ("n", "no", "exit", "quit", "")


class Interactor:
    """The user of a session. As it stands nobody is there: nothing is confirmed, saved on request or answered."""

    def first_request(self) -> str:
        """What to do first."""
        return ""

    def new_request(self) -> tuple[str, bool]:
        """What to do next, and whether the user is done instead."""
        return "", True

    def experience_asker(self) -> bool:
        """Whether to save this session as an experience."""
        return False

    def confirm(self, question: str) -> bool:
        """Whether a sensitive action may be executed: what needs a person's consent is not done without one."""
        return False

    def answer(self, question: str) -> str:
        """The answer to an agent's question."""
        return ""

    def show(self, text: str) -> None:
        """Tell the user something."""


class ConsoleInteractor(Interactor):
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
        answer = self.answer("What next? (N to finish)")
        return answer, answer.casefold() in DONE

    def experience_asker(self) -> bool:
        """Ask whether to save this session as an experience."""
        return self.confirm("Save this session as an experience?")

    def confirm(self, question: str) -> bool:
        """Ask whether a sensitive action may be executed; only a clear yes allows it."""
        return self.answer(f"{question} (y/N)").casefold() in ("y", "yes")

    def answer(self, question: str) -> str:
        """Ask a question; the end of input is no answer."""
        try:
            return self._ask(f"{question} ").strip()
        except EOFError:
            return ""

    def show(self, text: str) -> None:
        """Write a line."""
        self._show(text)
