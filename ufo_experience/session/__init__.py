"""The agent's side of the loop: what an agent remembers while it runs, what agents share, and sessions around them.

from ufo_experience.session import Blackboard, LinuxSession, Memory, SessionConfig, SessionParts
"""

from ufo_experience.session.blackboard import Blackboard
from ufo_experience.session.dispatcher import LocalCommandDispatcher, TaskExecutionProtocol, WebSocketCommandDispatcher
from ufo_experience.session.factory import SessionFactory, SessionPool, SessionReport, TaskState, TaskStatus
from ufo_experience.session.images import ImageMemoryItem, ImageMemoryItemNames
from ufo_experience.session.interact import ConsoleInteractor, Interactor
from ufo_experience.session.memory import Memory, MemoryItem
from ufo_experience.session.parts import SaveMode, SavePolicy, SessionConfig, SessionParts
from ufo_experience.session.plan import export_plan
from ufo_experience.session.protocols import (
    AgentError,
    AgentStatus,
    Command,
    ConnectionLostError,
    Context,
    ContextNames,
    Decision,
    Result,
    ResultStatus,
    Target,
    Turn,
)
from ufo_experience.session.recovery import RecoveryPolicy
from ufo_experience.session.round import BaseRound
from ufo_experience.session.session import BaseSession
from ufo_experience.session.session_types import (
    FollowerSession,
    FromFileSession,
    LinuxServiceSession,
    LinuxSession,
    OpenAIOperatorSession,
    ServiceSession,
    Session,
)

__all__ = [
    "AgentError",
    "AgentStatus",
    "BaseRound",
    "BaseSession",
    "Blackboard",
    "Command",
    "ConnectionLostError",
    "ConsoleInteractor",
    "Context",
    "ContextNames",
    "Decision",
    "FollowerSession",
    "FromFileSession",
    "ImageMemoryItem",
    "ImageMemoryItemNames",
    "Interactor",
    "LinuxServiceSession",
    "LinuxSession",
    "LocalCommandDispatcher",
    "Memory",
    "MemoryItem",
    "OpenAIOperatorSession",
    "RecoveryPolicy",
    "Result",
    "ResultStatus",
    "SaveMode",
    "SavePolicy",
    "ServiceSession",
    "Session",
    "SessionConfig",
    "SessionFactory",
    "SessionParts",
    "SessionPool",
    "SessionReport",
    "Target",
    "TaskExecutionProtocol",
    "TaskState",
    "TaskStatus",
    "Turn",
    "WebSocketCommandDispatcher",
    "export_plan",
]
