"""What tests of sessions share: a desktop of tools, decisions in short, sessions from scripted parts, logs read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from ufo_experience.session.dispatcher import LocalCommandDispatcher
from ufo_experience.session.interact import ScriptedAgent, ScriptedEvaluator
from ufo_experience.session.parts import SessionConfig, SessionParts
from ufo_experience.session.protocols import (
    AgentStatus,
    Command,
    Decision,
    Target,
)
from ufo_experience.session.recovery import RecoveryPolicy
from ufo_experience.session.session_types import LinuxSession

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
