"""The user of a session: at a terminal, absent, or played from a list."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

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
        """There is none."""
        return ""

    def new_request(self) -> tuple[str, bool]:
        """Nothing more."""
        return "", True

    def experience_asker(self) -> bool:
        """No."""
        return False

    def confirm(self, question: str) -> bool:
        """No: what needs a person's consent is not done without one."""
        return False

    def answer(self, question: str) -> str:
        """Nobody answers."""
        return ""

    def show(self, text: str) -> None:
        """Nobody reads it."""


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
