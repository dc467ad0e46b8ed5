"""What a session is put together from, and how it is to behave."""

from __future__ import annotations

from dataclasses import dataclass, field

from ufo_experience.errors import UsageError
from ufo_experience.guide.guide import Guide
from ufo_experience.guide.offer import PROVEN_AFTER
from ufo_experience.session.blackboard import Blackboard
from ufo_experience.session.files import StrPath
from ufo_experience.session.following import RecallMode
from ufo_experience.session.interact import AbsentUser
from ufo_experience.session.log_writer import SessionLog
from ufo_experience.session.protocols import Agent, CommandDispatcher, Evaluator, Interactor
from ufo_experience.session.recall import ExperienceSource, Recall
from ufo_experience.session.recovery import RecoveryPolicy
from ufo_experience.session.save_policy import SavePolicy


@dataclass(frozen=True)
class SessionConfig:
    """Limits and behaviour of a session.

    `recall` says how experiences are used: "advise" shows them, "ahead" also shows what comes next and carries out
    several actions of one answer, each checked first, "replay" carries a proven way out without asking the agent; None
    shows none. A way is proven when it has helped `replay_after` times since it last hurt. `look` is the tool that
    tells the controls in view. `top_k` and `max_tokens` None leave that to the memory.
    """

    log_root: StrPath = "logs"
    max_step: int = 50
    max_round: int = 10
    save: SavePolicy = field(default_factory=SavePolicy)
    recovery: RecoveryPolicy = field(default_factory=RecoveryPolicy)
    eva_all_screenshots: bool = True
    save_ui_tree: bool = False
    save_full_screen: bool = False
    log_to_markdown: bool = True
    recall: RecallMode | bool | None = "advise"
    replay_after: int = PROVEN_AFTER
    look: str = "get_controls"
    top_k: int | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.recall_mode not in (None, "advise", "ahead", "replay"):
            raise UsageError(f"recall is advise, ahead, replay or None, not {self.recall!r}")

    @property
    def recall_mode(self) -> RecallMode | None:
        """How experiences are used; True stands for "advise", False for None."""
        if isinstance(self.recall, bool):
            return "advise" if self.recall else None
        return self.recall


@dataclass(frozen=True)
class SessionParts:
    """The parts of one session. Agents and user belong to it alone; memory may be shared by many.

    Windows sessions need `host_agent` and `app_agent`, Linux sessions `app_agent` only, operator modes use
    `operator_agent` in its place. Without `memory` nothing is recalled or saved, without `evaluator` nothing judged.
    """

    app_agent: Agent | None = None
    host_agent: Agent | None = None
    operator_agent: Agent | None = None
    dispatcher: CommandDispatcher | None = None
    evaluator: Evaluator | None = None
    user: Interactor = field(default_factory=AbsentUser)
    memory: ExperienceSource | None = None
    config: SessionConfig = field(default_factory=SessionConfig)


@dataclass
class RoundContext:
    """What the rounds of a session share besides its context. `app_agent` is None where one agent works alone.

    `judged` is True when an evaluator looks at what was done in the end. `guide` leads along a plan that is replayed,
    in place of one memory found.
    """

    log: SessionLog
    config: SessionConfig
    user: Interactor
    blackboard: Blackboard
    app_agent: Agent | None = None
    recall: Recall | None = None
    agent_name: str = "AppAgent"
    judged: bool = False
    guide: Guide | None = None


def need(agent: Agent | None, part: str, session_type: str) -> Agent:
    """`agent`, or a `UsageError` that names the missing part."""
    if agent is None:
        raise UsageError(f"{session_type} needs {part} in its parts")
    return agent
