"""What a session and its agents say to each other, what a session is put together from, and when it is kept.

turn ──▶ Agent.act ──▶ Decision ──▶ CommandDispatcher.execute_commands ──▶ Result
"""

import copy
import math
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Protocol, get_args

from ufo_experience.errors import ServiceError, UsageError
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.offer import PROVEN_AFTER
from ufo_experience.session.blackboard import Blackboard
from ufo_experience.session.commands import Command, CommandDispatcher, Outcomes, Target
from ufo_experience.session.files import StrPath

SAVE_MODES = ("always", "ask", "auto", "always_not")  # of UFO's `SAVE_EXPERIENCE`
RecallMode = Literal["advise", "ahead", "replay"]


class AgentError(ServiceError):
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
    """What an agent wants. A host assigns `subtask` in `application`; `result` is what the agent says it achieved. For
    the log, `controls` are what was in view, `prompt` is what the model was asked."""

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
    """What an agent is given for one step. `experiences` is the few-shot block, `ahead` one of the actions a known way
    has next, to be answered as they stand; `handed_back` says why what the agent foresaw was not carried out."""

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


class Interactor:
    """The user of a session. As it stands nobody is there: nothing is asked for, confirmed, saved or answered."""

    def answer(self, question: str) -> str:
        return ""

    def show(self, text: str) -> None:
        """Tell the user something."""

    def first_request(self) -> str:
        """What to do first; "" ends the session."""
        return self.answer("What shall be done?")

    def new_request(self) -> tuple[str, bool]:
        answer = self.answer("What next? (N to finish)")
        return answer, answer.casefold() in ("n", "no", "exit", "quit", "")

    def experience_asker(self) -> bool:
        return self.confirm("Save this session as an experience?")

    def confirm(self, question: str) -> bool:
        """Whether a sensitive action may be executed; only a clear yes allows it."""
        return self.answer(f"{question} (y/N)").casefold() in ("y", "yes")


class ConsoleInteractor(Interactor):
    """Asks at the terminal, and writes to standard error, so that standard output stays the program's."""

    def __init__(self, ask: Callable[[str], str] = input, show: Callable[[str], object] | None = None) -> None:
        self._ask = ask
        self._show = show or (lambda text: sys.stderr.write(text + "\n"))

    def answer(self, question: str) -> str:
        with suppress(EOFError):
            return self._ask(f"{question} ").strip()
        return ""

    def show(self, text: str) -> None:
        self._show(text)


@dataclass(frozen=True)
class SavePolicy:
    """Which sessions are kept as experiences: a mode, and the score in [0, 1] that `auto` wants to see passed."""

    mode: str = "always_not"
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if self.mode not in SAVE_MODES:
            raise UsageError(f"unknown save mode {self.mode!r}: use one of {', '.join(SAVE_MODES)}")
        if not 0.0 <= self.threshold <= 1.0:
            raise UsageError(f"the threshold of a save policy lies in [0, 1], not {self.threshold!r}")

    def wants(self, evaluation: Mapping[str, Any] | None, ask: Callable[[], bool]) -> bool:
        """Tell whether to save a session with this judgement (None: nobody judged); asks only in mode `ask`."""
        if self.mode == "ask":
            return ask()
        return self.mode == "always" or (self.mode == "auto" and self.passes(evaluation))

    def passes(self, evaluation: Mapping[str, Any] | None) -> bool:
        """Tell whether the score is above the threshold; no score, no pass, and a "no" never passes."""
        score = score_of(evaluation or {})
        return score is not None and verdict_of(evaluation) is not False and score > self.threshold


def verdict_of(evaluation: Mapping[str, Any] | None) -> bool | None:
    """True for "yes", False for "no", None for anything else."""
    return {"yes": True, "no": False}.get(_word((evaluation or {}).get("complete")))


def score_of(evaluation: Mapping[str, Any]) -> float | None:
    """The score in [0, 1]: the one given, else 1 for "yes" and 0 for "no", else the share of sub-scores with "yes"."""
    given, verdict = evaluation.get("score", evaluation.get("evaluation_score")), verdict_of(evaluation)
    if type(given) in (int, float) and math.isfinite(given):
        return min(1.0, max(0.0, float(given)))
    if verdict is not None:
        return float(verdict)
    scores = evaluation.get("sub_scores")  # UFO writes `{name: "yes"}`, since v3 `[{"name", "evaluation"}]`
    listed = list(scores.values()) if isinstance(scores, Mapping) else scores if isinstance(scores, list) else []
    words = [_word(one.get("evaluation") if isinstance(one, Mapping) else one) for one in listed]
    return words.count("yes") / len(words) if words else None


def _word(value: Any) -> str:
    return str(value).strip().casefold()


@dataclass(frozen=True)
class RecoveryPolicy:
    """How many seconds to wait, and how often in a row an agent that fails is asked again."""

    agent_timeout: float = 300.0
    command_timeout: float = 60.0
    agent_retries: int = 1


@dataclass(frozen=True)
class SessionConfig:
    """Limits and behaviour of a session.

    `recall`: None shows no experiences, "advise" shows them, "ahead" also what comes next, and carries out several
    actions of one answer, each checked first, "replay" follows a way that helped `replay_after` times since it hurt.
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
    recall: RecallMode | None = "advise"
    replay_after: int = PROVEN_AFTER

    def __post_init__(self) -> None:
        if self.recall is not None and self.recall not in get_args(RecallMode):
            raise UsageError(f"recall is advise, ahead, replay or None, not {self.recall!r}")


@dataclass(frozen=True)
class SessionParts:
    """The parts of one session; only memory may be shared by many. Windows sessions need `host_agent` and `app_agent`,
    Linux sessions `app_agent` only."""

    app_agent: Agent | None = None
    host_agent: Agent | None = None
    operator_agent: Agent | None = None
    dispatcher: CommandDispatcher | None = None
    evaluator: Evaluator | None = None
    user: Interactor = field(default_factory=Interactor)
    memory: ExperienceMemory | None = None
    config: SessionConfig = field(default_factory=SessionConfig)
