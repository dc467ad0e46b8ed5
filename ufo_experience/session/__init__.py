"""The agent's side of the loop: what an agent remembers while it runs, what agents share, and sessions around them.

Everything a program needs of sessions is imported from here; the modules inside may change.
"""

from ufo_experience.session.blackboard import Blackboard, ImageMemoryItem, ImageMemoryItemNames
from ufo_experience.session.commands import (
    ACTION,
    DATA_COLLECTION,
    Command,
    CommandDispatcher,
    ConnectionLostError,
    LocalCommandDispatcher,
    Result,
    ResultStatus,
    Target,
    TaskExecutionProtocol,
    Tool,
    WebSocketCommandDispatcher,
)
from ufo_experience.session.memory import Memory, MemoryItem
from ufo_experience.session.parts import (
    Agent,
    AgentError,
    AgentStatus,
    ConsoleInteractor,
    Context,
    ContextNames,
    Decision,
    Evaluator,
    Interactor,
    RecallMode,
    RecoveryPolicy,
    SavePolicy,
    SessionConfig,
    SessionParts,
    Turn,
)
from ufo_experience.session.plan import FollowerSession, FromFileSession, Plan, export_plan, load_plan
from ufo_experience.session.pool import SessionFactory, SessionPool, SessionReport, TaskStatus
from ufo_experience.session.round import BaseRound
from ufo_experience.session.session import (
    BaseSession,
    LinuxBaseSession,
    LinuxServiceSession,
    LinuxSession,
    OpenAIOperatorSession,
    ServiceSession,
    Session,
    WindowsBaseSession,
)

__all__ = ["ACTION", "DATA_COLLECTION", "Agent", "AgentError", "AgentStatus", "BaseRound", "BaseSession", "Blackboard"]
__all__ += ["Command", "CommandDispatcher", "ConnectionLostError", "ConsoleInteractor", "Context", "ContextNames"]
__all__ += ["Decision", "Evaluator", "FollowerSession", "FromFileSession", "ImageMemoryItem", "ImageMemoryItemNames"]
__all__ += ["Interactor", "LinuxBaseSession", "LinuxServiceSession", "LinuxSession", "LocalCommandDispatcher"]
__all__ += ["Memory", "MemoryItem", "OpenAIOperatorSession", "Plan", "RecallMode", "RecoveryPolicy", "Result"]
__all__ += ["ResultStatus", "SavePolicy", "ServiceSession", "Session", "SessionConfig", "SessionFactory"]
__all__ += ["SessionParts", "SessionPool", "SessionReport", "Target", "TaskExecutionProtocol", "TaskStatus", "Tool"]
__all__ += ["Turn", "WebSocketCommandDispatcher", "WindowsBaseSession", "export_plan", "load_plan"]
