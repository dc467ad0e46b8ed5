"""What tests of sessions share: a desktop of tools, decisions in short, sessions from scripted parts, logs read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ufo_experience.session import (
    AgentStatus,
    Command,
    Context,
    Decision,
    Interactor,
    LinuxSession,
    LocalCommandDispatcher,
    RecoveryPolicy,
    SessionConfig,
    SessionParts,
    Target,
    Turn,
)


class ScriptedUser(Interactor):
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
        """The next decision of the list."""
        self.turns.append(turn)
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


CONTINUE, FINISH, FAIL = AgentStatus.CONTINUE, AgentStatus.FINISH, AgentStatus.FAIL
YES = ScriptedEvaluator(lambda request, context: {"complete": "yes", "reason": "seen", "sub_scores": []})
FAST = RecoveryPolicy(agent_timeout=0.2, command_timeout=0.2)


class Desktop:
    """Tools that note what was done."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def dispatcher(self, **more) -> LocalCommandDispatcher:
        tools = {"click_input": self.click, "set_edit_text": self.type, "select_application_window": self.select}
        return LocalCommandDispatcher({**tools, **more})

    def click(self, target: Target) -> str:
        if target.name == "Broken":
            raise LookupError("no such control")
        self.done.append(f"click {target.name}")
        return "clicked"

    def type(self, target: Target, text: str) -> str:
        self.done.append(f"type {text}")
        return f"typed {text}"

    def select(self) -> str:
        self.done.append("select")
        return "selected"


def click(name: str, **more) -> Command:
    return Command("click_input", target=Target(name, "Button", id="7"), **more)


def fill(name: str, text: str, **more) -> Command:
    return Command("set_edit_text", {"text": text}, target=Target(name, "Edit", id="9", **more))


def act(*commands: Command, status: AgentStatus = CONTINUE, **more) -> Decision:
    return Decision(status, commands, **more)


def assign(subtask: str, application: str = "olk.exe") -> Decision:
    return act(
        Command("select_application_window"), status=AgentStatus.ASSIGN, subtask=subtask, application=application
    )


def config(tmp_path: Path, **more) -> SessionConfig:
    return SessionConfig(log_root=tmp_path / "logs", recovery=FAST, **more)


def parts(tmp_path: Path, app=(), host=(), desktop: Desktop | None = None, **more) -> SessionParts:
    settings = more.pop("config", config(tmp_path))
    return SessionParts(
        app_agent=ScriptedAgent(app),
        host_agent=ScriptedAgent(host, "HostAgent"),
        dispatcher=more.pop("dispatcher", None) or (desktop or Desktop()).dispatcher(),
        config=settings,
        **more,
    )


def linux(tmp_path: Path, app, request: str = "Do it", **more) -> LinuxSession:
    return LinuxSession("task", more.pop("should_evaluate", True), 0, request, parts=parts(tmp_path, app, **more))


def run(session):
    return asyncio.run(session.run())


def log(session, name: str = "response.log") -> list[dict]:
    path = Path(session.log_path) / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
