"""What a session and its agents say to each other, and the context they share: turn ──▶ Agent.act ──▶ Decision."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from ufo_experience.errors import ServiceError, UsageError
from ufo_experience.session.blackboard import Blackboard
from ufo_experience.session.commands import Command, CommandDispatcher, Outcomes, Target


class AgentError(ServiceError):
    """An agent could not decide."""

    default_code = "E_AGENT"


class AgentStatus(str, Enum):
    """What an agent says of its work. FINISH is a claim, never success: that is for an evaluator to say."""

    CONTINUE = "CONTINUE"
    SCREENSHOT = "SCREENSHOT"
    CONFIRM = "CONFIRM"
    PENDING = "PENDING"
    ASSIGN = "ASSIGN"
    FINISH = "FINISH"
    FAIL = "FAIL"
    ERROR = "ERROR"


@dataclass(frozen=True)
class Decision:
    """What an agent wants. A host assigns `subtask` in `application`; `result` is what the agent says it achieved.

    `controls` are what was in view, `prompt` is what the model was asked, for `request.log`.
    """

    status: AgentStatus
    commands: tuple[Command, ...] = ()
    observation: str = ""
    thought: str = ""
    plan: tuple[str, ...] = ()
    comment: str = ""
    result: str = ""
    subtask: str = ""
    application: str = ""
    questions: tuple[str, ...] = ()
    controls: tuple[Target, ...] = ()
    cost: float = 0.0
    tokens: int = 0
    prompt: Any = None


class ContextNames(str, Enum):
    """What a context holds."""

    ID = "ID"
    MODE = "MODE"
    LOG_PATH = "LOG_PATH"
    REQUEST = "REQUEST"
    SUBTASK = "SUBTASK"
    PREVIOUS_SUBTASKS = "PREVIOUS_SUBTASKS"
    CURRENT_ROUND_ID = "CURRENT_ROUND_ID"
    ROUND_STEP = "ROUND_STEP"
    ROUND_COST = "ROUND_COST"
    SUBTASK_AMOUNT = "SUBTASK_AMOUNT"
    SESSION_STEP = "SESSION_STEP"
    TOTAL_COST = "TOTAL_COST"
    TOTAL_TOKENS = "TOTAL_TOKENS"
    APPLICATION_WINDOW = "APPLICATION_WINDOW"
    APPLICATION_WINDOW_INFO = "APPLICATION_WINDOW_INFO"
    APPLICATION_PROCESS_NAME = "APPLICATION_PROCESS_NAME"
    APPLICATION_ROOT_NAME = "APPLICATION_ROOT_NAME"
    TRAJECTORY = "TRAJECTORY"
    SESSION_FINISH = "SESSION_FINISH"
    ERROR = "ERROR"
    ERROR_MESSAGE = "ERROR_MESSAGE"


_N = ContextNames
_AT_FIRST: dict[ContextNames, Any] = {
    **dict.fromkeys((_N.REQUEST, _N.SUBTASK, _N.ERROR_MESSAGE), ""),
    **dict.fromkeys((_N.APPLICATION_PROCESS_NAME, _N.APPLICATION_ROOT_NAME), ""),
    **dict.fromkeys((_N.CURRENT_ROUND_ID, _N.SUBTASK_AMOUNT, _N.SESSION_STEP, _N.TOTAL_TOKENS), 0),
    **dict.fromkeys((_N.SESSION_FINISH, _N.ERROR), False),
    **{_N.TOTAL_COST: 0.0, _N.ROUND_STEP: {}, _N.ROUND_COST: {}, _N.PREVIOUS_SUBTASKS: [], _N.TRAJECTORY: []},
}


class Context:
    """Shared by the rounds and agents of one session; no two contexts share a default."""

    def __init__(self) -> None:
        self._values = copy.deepcopy(_AT_FIRST)
        self._dispatcher: CommandDispatcher | None = None

    def get(self, key: ContextNames, default: Any = None) -> Any:
        return self._values.get(key, default)

    def set(self, key: ContextNames, value: Any) -> None:
        self._values[ContextNames(key)] = value

    @property
    def command_dispatcher(self) -> CommandDispatcher:
        """The way commands go. Raises UsageError when none was attached."""
        if self._dispatcher is None:
            raise UsageError("no command dispatcher: give one to the parts, or attach_command_dispatcher")
        return self._dispatcher

    def attach_command_dispatcher(self, command_dispatcher: CommandDispatcher | None) -> None:
        self._dispatcher = command_dispatcher


@dataclass(frozen=True)
class Turn:
    """What an agent is given for one step.

    `experiences` is the few-shot block for the task or sub-task, "" when memory has nothing to say; `ahead` a block of
    the actions a known way has next (`next_actions`), each of which can be answered as it stands; `handed_back` says
    why actions the agent foresaw were not carried out.
    """

    request: str
    subtask: str
    application: str
    step: int
    context: Context
    blackboard: Blackboard
    last: Outcomes = ()
    experiences: str = ""
    ahead: str = ""
    handed_back: str = ""


class Agent(Protocol):
    """Decides on the next step of one session. When `act` raises, that is logged and the agent asked again."""

    @property
    def name(self) -> str: ...
    async def act(self, turn: Turn) -> Decision: ...


class Evaluator(Protocol):
    """Judges a session: `complete` "yes", "no" or "unsure", `sub_scores`, `reason`, maybe `score`; and the cost."""

    def evaluate(
        self, request: str, log_path: str, eva_all_screenshots: bool, context: Context
    ) -> tuple[dict[str, Any], float]: ...
    def print_response(self, result: Mapping[str, Any]) -> None: ...
