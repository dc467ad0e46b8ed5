"""When a session becomes an experience.

always       every session, as what it was: a failure becomes a negative example, never a success
ask          the user says
auto         when the evaluation's score is above the threshold
always_not   never
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ufo_experience.errors import UsageError

_VERDICTS = {"yes": True, "no": False}
_SCORE_KEYS = ("score", "evaluation_score")


class SaveMode(str, Enum):
    """The four ways of UFO's `SAVE_EXPERIENCE`."""

    ALWAYS = "always"
    ASK = "ask"
    AUTO = "auto"
    ALWAYS_NOT = "always_not"


@dataclass(frozen=True)
class SavePolicy:
    """A mode, and the score in [0, 1] that `auto` wants to see passed."""

    mode: SaveMode = SaveMode.ALWAYS_NOT
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= 1.0:
            raise UsageError(f"the threshold of a save policy lies in [0, 1], not {self.threshold!r}")

    @classmethod
    def of(cls, mode: SaveMode | str, threshold: float = 0.5) -> SavePolicy:
        """Make a policy of a mode's name.

        Raises:
            UsageError: there is no such mode.
        """
        try:
            return cls(SaveMode(mode), threshold)
        except ValueError as error:
            names = ", ".join(one.value for one in SaveMode)
            raise UsageError(f"unknown save mode {mode!r}: use one of {names}") from error

    def wants(self, evaluation: Mapping[str, Any] | None, ask: Callable[[], bool]) -> bool:
        """Tell whether to save a session with this judgement (None: nobody judged); asks only in mode `ask`."""
        return _RULES[self.mode](self, evaluation, ask)

    def passes(self, evaluation: Mapping[str, Any] | None) -> bool:
        """Tell whether the score is above the threshold; no score, no pass, and a "no" never passes."""
        score = score_of(evaluation)
        return score is not None and verdict_of(evaluation) is not False and score > self.threshold


def verdict_of(evaluation: Mapping[str, Any] | None) -> bool | None:
    """True for "yes", False for "no", None for anything else."""
    word = str((evaluation or {}).get("complete", "")).strip().casefold()
    return _VERDICTS.get(word)


def score_of(evaluation: Mapping[str, Any] | None) -> float | None:
    """The score in [0, 1]: the one given, else 1 for "yes" and 0 for "no", else the share of sub-scores with "yes"."""
    if evaluation is None:
        return None
    for key in _SCORE_KEYS:
        value = evaluation.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            return min(1.0, max(0.0, float(value)))
    verdict = verdict_of(evaluation)
    return _share(evaluation.get("sub_scores")) if verdict is None else float(verdict)


def _share(scores: Any) -> float | None:
    """UFO writes sub-scores as `{name: "yes"}`, since v3 as `[{"name", "evaluation"}]`."""
    if isinstance(scores, Mapping):
        words = list(scores.values())
    else:
        listed = scores if isinstance(scores, (list, tuple)) else ()
        words = [item.get("evaluation") for item in listed if isinstance(item, Mapping)]
    said = [str(word).strip().casefold() for word in words]
    return said.count("yes") / len(said) if said else None


_Rule = Callable[[SavePolicy, "Mapping[str, Any] | None", Callable[[], bool]], bool]
_RULES: dict[SaveMode, _Rule] = {
    SaveMode.ALWAYS: lambda policy, evaluation, ask: True,
    SaveMode.ASK: lambda policy, evaluation, ask: ask(),
    SaveMode.AUTO: lambda policy, evaluation, ask: policy.passes(evaluation),
    SaveMode.ALWAYS_NOT: lambda policy, evaluation, ask: False,
}
