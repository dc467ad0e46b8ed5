"""What a session is put together from, how it is to behave, and when it becomes an experience."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ufo_experience.errors import UsageError
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.offer import PROVEN_AFTER
from ufo_experience.session.commands import CommandDispatcher
from ufo_experience.session.files import StrPath
from ufo_experience.session.protocols import Agent, Evaluator

SAVE_MODES = ("always", "ask", "auto", "always_not")  # of UFO's `SAVE_EXPERIENCE`
RecallMode = Literal["advise", "ahead", "replay"]


class Interactor:
    """The user of a session. As it stands nobody is there: nothing is asked for, confirmed, saved or answered."""

    def answer(self, question: str) -> str:
        """The answer to a question, "" for none."""
        return ""

    def show(self, text: str) -> None:
        """Tell the user something."""

    def first_request(self) -> str:
        """What to do first; "" ends the session."""
        return self.answer("What shall be done?")

    def new_request(self) -> tuple[str, bool]:
        """What to do next, and whether the user is done instead."""
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

    def first_request(self) -> str:
        """Ask until there is an answer; the end of input ends the session."""
        with suppress(EOFError):
            while True:
                if request := self._ask("What shall be done? ").strip():
                    return request
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

    `recall` says how experiences are used: "advise" shows them, "ahead" also shows what comes next and carries out
    several actions of one answer, each checked first, "replay" carries a proven way out without asking the agent; None
    shows none. A way is proven when it has helped `replay_after` times since it last hurt.
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
    """The parts of one session. Agents and user belong to it alone; memory may be shared by many.

    Windows sessions need `host_agent` and `app_agent`, Linux sessions `app_agent` only, operator modes use
    `operator_agent` in its place. Without `memory` nothing is recalled or saved, without `evaluator` nothing judged.
    """

    app_agent: Agent | None = None
    host_agent: Agent | None = None
    operator_agent: Agent | None = None
    dispatcher: CommandDispatcher | None = None
    evaluator: Evaluator | None = None
    user: Interactor = field(default_factory=Interactor)
    memory: ExperienceMemory | None = None
    config: SessionConfig = field(default_factory=SessionConfig)
