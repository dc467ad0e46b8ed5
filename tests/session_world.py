"""A settings application of five pages with four switches each, and an agent that looks for a switch or remembers.

Run as a script it is the show of a session pool: `python session_world.py FOLDER on|off [DELAY]` works on twenty
tasks and prints one JSON line per session.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.reading import parse_block
from tests.session_parts import ScriptedEvaluator
from ufo_experience import ExperienceMemory
from ufo_experience.session import (
    AgentStatus,
    Command,
    Context,
    Decision,
    LinuxSession,
    LocalCommandDispatcher,
    SavePolicy,
    SessionConfig,
    SessionParts,
    SessionPool,
    Target,
    TaskStatus,
    Turn,
)

PAGES = {
    "Network": ("wireless", "bluetooth", "hotspot", "tethering"),
    "Display": ("night light", "magnifier", "grayscale", "autorotate"),
    "Sound": ("mono audio", "captions", "equalizer", "dictation"),
    "Privacy": ("location", "telemetry", "tracking guard", "firewall"),
    "System": ("backups", "indexing", "hibernation", "updates"),
}
FEATURES = [feature for features in PAGES.values() for feature in features]


class SettingsApp:
    """The application: the page in view, and what is switched on."""

    def __init__(self, delay: float = 0.0) -> None:
        self.page, self.on, self.delay = "", set(), delay

    def dispatcher(self) -> LocalCommandDispatcher:
        return LocalCommandDispatcher({"click_input": self.click})

    async def click(self, target: Target, button: str) -> str:
        await asyncio.sleep(self.delay)
        if target.name in PAGES:
            self.page = target.name
            return f"{target.name} is shown"
        if target.name not in PAGES.get(self.page, ()):
            raise LookupError(f"no control {target.name!r} on this page")
        self.on.add(target.name)
        return f"{target.name} is on"


class SwitchAgent:
    """Follows the best remembered run; without one, or when it leads astray, goes through the pages in order."""

    name = "LinuxAgent"

    def __init__(self) -> None:
        self.plan: list[str] | None = None
        self.feature = ""

    async def act(self, turn: Turn) -> Decision:
        if self.plan is None:
            self.feature = turn.request.removeprefix("Switch on the ").removesuffix(" setting")
            self.plan = self.remembered(turn) + [name for page in PAGES for name in (page, self.feature)]
        if any(result.ok and command.target.name == self.feature for command, result in turn.last):
            return Decision(AgentStatus.FINISH, result=f"{self.feature} is on")
        name = self.plan.pop(0)
        target = Target(name, "TabItem" if name in PAGES else "CheckBox", id=str(len(self.plan)))
        command = Command("click_input", {"button": "left"}, target=target)
        prompt = [{"role": "user", "content": f"{turn.experiences}\n\n{turn.request}"}]
        thought = f"I was told: {turn.experiences}"
        return Decision(AgentStatus.CONTINUE, (command,), thought=thought, cost=0.01, prompt=prompt)

    def remembered(self, turn: Turn) -> list[str]:
        for record in parse_block(turn.experiences):
            controls = [step["control"] for step in record.get("steps", ())]
            if self.feature in controls:
                return controls
        return []


def request_for(feature: str) -> str:
    return f"Switch on the {feature} setting"


def make_session(root: Path, memory: ExperienceMemory | None, feature: str, config: SessionConfig, delay: float = 0.0):
    """A Linux session for one feature, judged by what the application says."""
    app = SettingsApp(delay)

    def judge(request: str, context: Context) -> dict[str, object]:
        return {"complete": "yes" if feature in app.on else "no", "reason": "looked at the application"}

    parts = SessionParts(
        app_agent=SwitchAgent(),
        dispatcher=app.dispatcher(),
        evaluator=ScriptedEvaluator(judge),
        memory=memory,
        config=replace(config, log_root=root / "logs", log_to_markdown=False),
    )
    return LinuxSession(feature, True, feature, request_for(feature), parts=parts)


def run_pool(root: Path, recall: bool, features: list[str], delay: float = 0.0, announce=None) -> list[LinuxSession]:
    """Run the tasks that are not done yet in one pool; `announce` is told of each session that has saved."""
    memory = ExperienceMemory.open(root / "db", embedder="hashing")
    status = TaskStatus(root / f"status-{'on' if recall else 'off'}.json")
    config = SessionConfig(save=SavePolicy("auto", 0.5), recall="advise" if recall else None)
    sessions = [make_session(root, memory, one, config, delay) for one in features if not status.is_done(one)]
    for session in sessions if announce else ():
        announce_when_saved(session, announce)
    asyncio.run(SessionPool(sessions, max_parallel=2, status=status).run_all())
    return sessions


def announce_when_saved(session: LinuxSession, announce) -> None:
    """The user of the session, who is told the cost at its very end, passes that on."""

    class Announcer(type(session.parts.user)):
        def show(self, text: str) -> None:
            announce({"task": session.task, "saved": list(session.saved), "steps": session.step})

    session.parts = replace(session.parts, user=Announcer())


if __name__ == "__main__":

    def say(line: dict) -> None:
        sys.stdout.write(json.dumps(line) + "\n")  # in one piece: sessions of a pool speak at the same time
        sys.stdout.flush()

    run_pool(Path(sys.argv[1]), sys.argv[2] == "on", FEATURES, float(sys.argv[3]), say)
