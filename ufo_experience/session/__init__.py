"""The agent's side of the loop: what an agent remembers while it runs, what agents share, and sessions around them.

    from ufo_experience.session import Blackboard, LinuxSession, Memory, SessionConfig, SessionParts

Everything a program needs of sessions is imported from here; the modules inside may change.
"""

from ufo_experience.session.blackboard import Blackboard
from ufo_experience.session.dispatcher import (
    LocalCommandDispatcher,
    TaskExecutionProtocol,
    Tool,
    WebSocketCommandDispatcher,
)
from ufo_experience.session.factory import SessionFactory, SessionPool, SessionReport, TaskStatus
from ufo_experience.session.following import RecallMode
from ufo_experience.session.images import ImageMemoryItem, ImageMemoryItemNames
from ufo_experience.session.interact import ConsoleInteractor, Interactor
from ufo_experience.session.memory import Memory, MemoryItem
from ufo_experience.session.parts import SavePolicy, SessionConfig, SessionParts
from ufo_experience.session.plan import Plan, export_plan, load_plan
from ufo_experience.session.protocols import (
    ACTION,
    DATA_COLLECTION,
    Agent,
    AgentError,
    AgentStatus,
    Command,
    CommandDispatcher,
    ConnectionLostError,
    Context,
    ContextNames,
    Decision,
    Evaluator,
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
    LinuxBaseSession,
    LinuxServiceSession,
    LinuxSession,
    OpenAIOperatorSession,
    ServiceSession,
    Session,
    WindowsBaseSession,
)

__all__ = [
    "ACTION",
    "DATA_COLLECTION",
    "Agent",
    "AgentError",
    "AgentStatus",
    "BaseRound",
    "BaseSession",
    "Blackboard",
    "Command",
    "CommandDispatcher",
    "ConnectionLostError",
    "ConsoleInteractor",
    "Context",
    "ContextNames",
    "Decision",
    "Evaluator",
    "FollowerSession",
    "FromFileSession",
    "ImageMemoryItem",
    "ImageMemoryItemNames",
    "Interactor",
    "LinuxBaseSession",
    "LinuxServiceSession",
    "LinuxSession",
    "LocalCommandDispatcher",
    "Memory",
    "MemoryItem",
    "OpenAIOperatorSession",
    "Plan",
    "RecallMode",
    "RecoveryPolicy",
    "Result",
    "ResultStatus",
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
    "TaskStatus",
    "Tool",
    "Turn",
    "WebSocketCommandDispatcher",
    "WindowsBaseSession",
    "export_plan",
    "load_plan",
]
