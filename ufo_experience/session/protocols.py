"""What a session needs from the outside, as protocols: agents, evaluators, dispatchers of commands, and a user.

turn ──▶ Agent.act ──▶ Decision ──▶ CommandDispatcher.execute_commands ──▶ Result
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from uuid import uuid4

from pydantic import ConfigDict

from ufo_experience.errors import AgentError as AgentError
from ufo_experience.errors import ConnectionLostError as ConnectionLostError
from ufo_experience.schema import Name, Text

if TYPE_CHECKING:
    from ufo_experience.session.blackboard import Blackboard
    from ufo_experience.session.context import Context

DATA_COLLECTION = "data_collection"
ACTION = "action"

_STRICT = ConfigDict(extra="forbid")  # where they are read from a message, nothing unknown is let through


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


class ResultStatus(str, Enum):
    """What became of a command. SKIPPED was never tried."""

    SUCCESS = "success"
    FAILURE = "failure"
    SKIPPED = "skipped"
    NONE = "none"


@dataclass(frozen=True)
class Target:
    """What a command acts on. `id` holds for one step only; `is_password` marks a field whose text is secret.

    `within` names the row, group or dialog around it, `dialog` says whether it stands in a dialog, and `checked` how
    a switch is set (None: not known). A target with a name and no `id` is looked for on the screen.
    """

    name: Text = ""
    type: Name | None = None
    id: Name = ""
    kind: Name = "control"
    is_password: bool = False
    within: Text = ""
    dialog: bool | None = None
    checked: bool | None = None

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True)
class Command:
    """A call of a tool. `call_id` stays the same when it is sent again, so that it is not executed twice."""

    tool_name: Name
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tool_type: Name = ACTION
    target: Target | None = None
    call_id: Name = field(default_factory=lambda: uuid4().hex)

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True)
class Result:
    """What a command came to. `error` is None when it worked; `namespace` names what executed it."""

    status: ResultStatus = ResultStatus.SUCCESS
    result: Any = None
    error: Text | None = None
    namespace: Name = ""
    call_id: Name = ""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    @property
    def ok(self) -> bool:
        """True when it was executed and worked."""
        return self.status is ResultStatus.SUCCESS


Outcomes = tuple[tuple[Command, Result], ...]


@dataclass(frozen=True)
class Decision:
    """What an agent wants. A host assigns `subtask` in `application`; `result` is what the agent says it achieved.

    `controls` are what was in view. `risky` asks for a look at past failures before the commands are executed.
    `prompt` is what the model was asked, for `request.log`.
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
    risky: bool = False
    cost: float = 0.0
    tokens: int = 0
    prompt: Any = None


@dataclass(frozen=True)
class Turn:
    """What an agent is given for one step.

    `experiences` is the few-shot block for the task or sub-task, `warning` one about the step at hand, both "" when
    memory has nothing to say. `ahead` is a block with the actions a known way has next (`next_actions`), each of which
    can be answered as it stands; `handed_back` says why actions the agent foresaw were not carried out. `proposed` is
    the agent's own decision when it is asked to reconsider it.
    """

    request: str
    subtask: str
    application: str
    step: int
    context: Context
    blackboard: Blackboard
    last: Outcomes = ()
    experiences: str = ""
    warning: str = ""
    ahead: str = ""
    handed_back: str = ""
    proposed: Decision | None = None


class Agent(Protocol):
    """Decides on the next step. One object serves one session."""

    @property
    def name(self) -> str:
        """Its name in logs."""
        ...

    async def act(self, turn: Turn) -> Decision:
        """Decide. Raises `AgentError`, or whatever it must: the session logs it and asks again."""
        ...


class Evaluator(Protocol):
    """Judges a session from its logs."""

    def evaluate(
        self, request: str, log_path: str, eva_all_screenshots: bool, context: Context
    ) -> tuple[dict[str, Any], float]:
        """The judgement (`complete` "yes", "no" or "unsure"; `sub_scores`, `reason`, maybe `score`) and its cost."""
        ...

    def print_response(self, result: Mapping[str, Any]) -> None:
        """Show the judgement to the user."""
        ...


class CommandDispatcher(Protocol):
    """Has commands executed, here or elsewhere."""

    async def execute_commands(self, commands: Sequence[Command], timeout: float | None = None) -> list[Result]:
        """One result per command, in order. A command that fails is a result, not an exception.

        Raises `TimeoutError`, `ConnectionLostError` or `ConnectionError`, and `DataError` for a malformed command.
        """
        ...

    async def reconnect(self) -> bool:
        """Try to get a lost connection back; False when there is none to get back."""
        ...


class Interactor(Protocol):
    """The user of a session."""

    def first_request(self) -> str:
        """What to do first."""
        ...

    def new_request(self) -> tuple[str, bool]:
        """What to do next, and whether the user is done instead."""
        ...

    def experience_asker(self) -> bool:
        """Whether to save this session as an experience."""
        ...

    def confirm(self, question: str) -> bool:
        """Whether a sensitive action may be executed."""
        ...

    def answer(self, question: str) -> str:
        """The answer to an agent's question."""
        ...

    def show(self, text: str) -> None:
        """Tell the user something."""
        ...


def signature(command: Command) -> tuple[str, str]:
    """What makes two commands the same attempt: the tool and its target."""
    return command.tool_name, command.target.name if command.target else ""


def describe(command: Command) -> str:
    """The command in words."""
    return f'{command.tool_name} on "{command.target.name}"' if command.target else command.tool_name
