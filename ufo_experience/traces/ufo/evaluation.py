"""UFO's `evaluation.log`: a language model's judgement of a session, one object per evaluated session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ufo_experience.schema import Judge, Problem
from ufo_experience.traces.coerce import as_amount, as_dict, as_list, as_name
from ufo_experience.traces.json_lines import JsonLines

_VERDICTS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Evaluation:
    """One judgement. `complete` is the evaluator's word, None where its line could not be read.

    UFO's evaluator is a language model; a session of ours may say that a program judged.
    """

    complete: str | None = None
    reason: str = ""
    sub_scores: dict[str, str] = field(default_factory=dict)
    judge: Judge = "llm"
    score: float | None = None

    @property
    def success(self) -> bool | None:
        """True for "yes", False for "no", None for "unsure", for any other word and for an unreadable line."""
        return _VERDICTS.get(self.complete or "")


@dataclass
class EvaluationLog:
    """All judgements of a file in order, unreadable lines as judgements that say nothing."""

    evaluations: list[Evaluation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def evaluation_of(record: dict[str, Any]) -> Evaluation:
    """Read one judgement; `sub_scores` is an object before v3 and a list of `{name, evaluation}` since."""
    scores = record.get("sub_scores")
    if not isinstance(scores, dict):
        named = [as_dict(item) for item in as_list(scores)]
        scores = {as_name(item["name"]): item.get("evaluation") for item in named if "name" in item}
    return Evaluation(
        complete=as_name(record.get("complete")).casefold(),
        reason=as_name(record.get("reason")),
        sub_scores={name: as_name(value) for name, value in scores.items()},
        judge="program" if record.get("judge") == "program" else "llm",
        score=_score(record),
    )


def _score(record: dict[str, Any]) -> float | None:
    """The score an evaluator gave, if it lies in [0, 1]."""
    score = as_amount(record.get("score", record.get("evaluation_score")))
    return score if score is not None and score <= 1 else None


def read_evaluations(path: Path) -> EvaluationLog:
    """Read `evaluation.log`. Raises `TraceError` when it cannot be opened."""
    lines = JsonLines(path, several_lines=True)
    found = {number: evaluation_of(record) for number, record in lines}
    numbers = sorted([*found, *lines.bad_lines])
    return EvaluationLog([found.get(number, Evaluation()) for number in numbers], lines.problems)


def assign(evaluations: list[Evaluation], ended_in_error: Sequence[bool]) -> list[Evaluation | None]:
    """Give each session its judgement, in order.

    UFO does not evaluate a session that ended in an error. Where the numbers do not fit either way, only the last
    judgement is given, to the last session; the others stay unknown rather than be guessed.
    """
    given: list[Evaluation | None] = [None] * len(ended_in_error)
    judged = [place for place, failed in enumerate(ended_in_error) if not failed]
    if len(evaluations) == len(ended_in_error):
        return list(evaluations)
    if len(evaluations) == len(judged):
        for place, evaluation in zip(judged, evaluations, strict=True):
            given[place] = evaluation
    elif evaluations and given:
        given[-1] = evaluations[-1]
    return given
