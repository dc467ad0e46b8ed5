"""Runs of one task: which they are, which of them went one way, and what they tell together.

    for known in join(memory.list()):
        print(known.task, f"worked {known.worked} of {known.tried}", known.best.id)

Runs are of one task when their requests are the same but for values, in one application (`retrieve.tasks`). They went
one way when either ends with a step that the other has, too. Nothing of this is stored: a run that is removed, purged
or judged anew is right the next time somebody looks.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

from ufo_experience.controls import bare
from ufo_experience.procedure.steps import ProcedureStep, read_steps
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.request import Request
from ufo_experience.retrieve.tasks import task_key_of
from ufo_experience.schema import Experience

_OF_THE_TASK = "*"  # in place of a name that is a value of the request


@dataclass(frozen=True)
class KnownProcedure:
    """A way that is known for a task, and its runs, the newest first.

    `best` is the run that is taught: the shortest that a judge saw succeed, where another run shows that no step is
    missing. `parts_at` is the number of its first step that another known way of the task does not have, None where
    there is no other way.
    """

    task_key: str
    runs: tuple[Experience, ...]
    best: Experience
    parts_at: int | None = None

    @property
    def task(self) -> str:
        return self.best.state.request or self.best.state.task

    @property
    def worked(self) -> int:
        return sum(one.outcome.success is True for one in self.runs)

    @property
    def tried(self) -> int:
        return sum(one.outcome.success is not None for one in self.runs)

    @property
    def last(self) -> datetime:
        return self.runs[0].created_at

    @property
    def judges(self) -> dict[str, int]:
        """Who said how many of the runs ended, "nobody" where nobody but the log or the agent did."""
        return dict(Counter(one.outcome.judged_by for one in self.runs))

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "application": self.best.state.application,
            "task_key": self.task_key,
            "worked": self.worked,
            "tried": self.tried,
            "last": self.last.isoformat(),
            "judges": self.judges,
            "best": self.best.id,
            "steps": len(self.best.action.steps),
            "parts_at": self.parts_at,
            "runs": [
                {
                    "id": one.id,
                    "success": one.outcome.success,
                    "judge": one.outcome.judged_by,
                    "trust": one.trust.value,
                    "steps": len(one.action.steps),
                    "created_at": one.created_at.isoformat(),
                }
                for one in self.runs
            ],
        }


# ---- one task, one way


def request_of(run: Experience) -> Request:
    return Request.parse(run.state.request or run.state.task, run.state.application)


class Way:
    """The way that one run went, read once for all that is asked of it."""

    def __init__(self, run: Experience) -> None:
        self.run, self.worked = run, run.outcome.success is True

    @cached_property
    def task_key(self) -> str:
        return task_key_of(self.run)

    @cached_property
    def steps(self) -> list[ProcedureStep]:
        return read_steps(self.run)

    @cached_property
    def values(self) -> frozenset[str]:
        return frozenset(bare(value.text) for value in request_of(self.run).values)

    @cached_property
    def keys(self) -> list[tuple[str, str, str]]:
        """What each step does to what; of a value of the request, or what redaction took for one, that it is such."""
        keys: list[tuple[str, str, str]] = []
        for step in self.steps:
            name = step.name if step.target else step.text
            is_value = bare(name) in self.values or PLACEHOLDER.search(name) is not None
            keys.append((step.kind, step.role, _OF_THE_TASK if is_value else bare(name)))
        return keys

    def ends_as(self, other: "Way") -> bool:
        """True for runs of one task that went one way: either ends with a step that the other has, too."""
        one, two = self.keys, other.keys
        return not one or not two or one[-1] in two or two[-1] in one

    def parts_from(self, others: Iterable["Way"]) -> int | None:
        """The number of the first step with which it leaves another way of its task; None where there is none."""
        ways = [set(other.keys) for other in others if not self.ends_as(other)]
        return next(
            (number for number, key in enumerate(self.keys, start=1) if any(key not in way for way in ways)), None
        )

    def is_part_of(self, other: "Way") -> bool:
        """True when all its steps are steps of another, in their order."""
        rest = iter(other.keys)
        return bool(self.keys) and all(key in rest for key in self.keys)

    def steps_with(self, others: Sequence["Way"]) -> list[ProcedureStep]:
        """The steps, each with what other runs of this way tell of it: how many did it, and with what."""
        if not others:
            return self.steps
        theirs = [(self._counterparts(other), other.values != self.values) for other in others]
        return [
            _agreed(step, [(way[place], differs) for way, differs in theirs]) for place, step in enumerate(self.steps)
        ]

    def _counterparts(self, other: "Way") -> list[ProcedureStep | None]:
        """For each step that of another run: the same, or in its place one of its kind on something else."""
        found: list[ProcedureStep | None] = [None] * len(self.steps)
        matcher = SequenceMatcher(None, self.keys, other.keys, autojunk=False)
        for kind, i, j, k, m in matcher.get_opcodes():
            for own, their in zip(range(i, j), range(k, m), strict=False):
                alike = self.keys[own][:2] == other.keys[their][:2]
                if kind == "equal" or (kind == "replace" and j - i == m - k and alike):
                    found[own] = other.steps[their]
        return found


def _agreed(step: ProcedureStep, theirs: Sequence[tuple[ProcedureStep | None, bool]]) -> ProcedureStep:
    """A step with what is told by those of other runs, each with whether its run had other values."""
    told = [(other, differs) for other, differs in theirs if other is not None]
    optional = None if len(told) == len(theirs) else (1 + len(told), 1 + len(theirs))
    varies = any(_is_another(other, step) for other, _ in told)
    return replace(step, optional=optional, varies=varies, confirmed=any(differs for _, differs in told) and not varies)


def _is_another(theirs: ProcedureStep, own: ProcedureStep) -> bool:
    """True for a step on another control, or one that chose another option."""
    is_option = own.kind == "select" and not PLACEHOLDER.search(own.text)
    return bare(theirs.name) != bare(own.name) or (is_option and theirs.text != own.text)


def is_same_task(run: Experience, other: Experience) -> bool:
    """True for runs of one application whose requests say the same but for their values."""
    return task_key_of(run) == task_key_of(other)


def is_same_way(run: Experience, other: Experience) -> bool:
    """True for runs of one task that end alike."""
    return Way(run).ends_as(Way(other))


# ---- runs joined


def join(experiences: Iterable[Experience]) -> list[KnownProcedure]:
    """Records as procedures, that with the newest run first."""
    tasks: dict[str, list[Way]] = {}
    for one in map(Way, sorted(experiences, key=_age, reverse=True)):
        tasks.setdefault(one.task_key, []).append(one)
    found = [known for key, runs in tasks.items() for known in _joined(key, runs)]
    return sorted(found, key=lambda known: known.last, reverse=True)


def _joined(key: str, runs: Sequence[Way]) -> list[KnownProcedure]:
    """The ways of one task. A run that did not succeed is evidence of the way it shares the most steps with."""
    ways: list[list[Way]] = []
    for one in sorted(runs, key=lambda one: not one.worked):
        alike = [way for way in ways if not one.worked or way[0].ends_as(one)]
        if alike:
            max(alike, key=lambda way: len({*way[0].keys} & {*one.keys})).append(one)
        else:
            ways.append([one])
    best = [_best(way) for way in ways]
    return [
        KnownProcedure(
            key, tuple(sorted((one.run for one in way), key=_age, reverse=True)), own.run, own.parts_from(best)
        )
        for way, own in zip(ways, best, strict=True)
    ]


def _best(runs: Sequence[Way]) -> Way:
    """The run to teach. A shorter one wins once a longer one shows that it leaves out nothing but detours."""
    worked = [one for one in runs if one.worked] or list(runs)
    proven = [one for one in worked if any(one.is_part_of(other) for other in worked if other is not one)]
    return min(worked, key=lambda one: (not one.run.outcome.is_judged, one not in proven, len(one.run.action.steps)))


def _age(one: Experience) -> tuple[datetime, str]:
    return one.created_at, one.id
