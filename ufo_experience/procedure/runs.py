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


@dataclass(frozen=True)
class Agreed:
    """What the runs of one way tell of a step: how many of how many did it, None where all; whether they acted on
    something else there; whether runs of other values name the same.
    """

    optional: tuple[int, int] | None = None
    varies: bool = False
    confirmed: bool = False


# ---- one task, one way


def request_of(run: Experience) -> Request:
    return Request.parse(run.state.request or run.state.task, run.state.application)


def is_same_task(run: Experience, other: Experience) -> bool:
    """True for runs of one application whose requests say the same but for their values."""
    return task_key_of(run) == task_key_of(other)


def is_same_way(run: Experience, other: Experience) -> bool:
    """True for runs of one task that end alike: either ends with a step that the other has, too."""
    one, two = _keys(run), _keys(other)
    return not one or not two or one[-1] in two or two[-1] in one


def parting(run: Experience, others: Iterable[Experience]) -> int | None:
    """The number of the first step with which a run leaves another way of its task, or None where there is none."""
    ways = [set(_keys(other)) for other in others if not is_same_way(run, other)]
    own = enumerate(_keys(run), start=1)
    return next((number for number, key in own if any(key not in way for way in ways)), None)


def _keys(run: Experience, steps: Sequence[ProcedureStep] | None = None) -> list[tuple[str, str, str]]:
    """What each step does to what; of a value of the request, or what redaction took for one, that it is such."""
    values = _values(run)
    keys: list[tuple[str, str, str]] = []
    for step in read_steps(run) if steps is None else steps:
        name = step.name if step.target else step.text
        is_value = bare(name) in values or PLACEHOLDER.search(name) is not None
        keys.append((step.kind, step.role, _OF_THE_TASK if is_value else bare(name)))
    return keys


def _values(run: Experience) -> frozenset[str]:
    return frozenset(bare(value.text) for value in request_of(run).values)


# ---- runs joined


def join(experiences: Iterable[Experience]) -> list[KnownProcedure]:
    """Records as procedures, that with the newest run first."""
    tasks: dict[str, list[Experience]] = {}
    for one in sorted(experiences, key=_age, reverse=True):
        tasks.setdefault(task_key_of(one), []).append(one)
    found = [known for key, runs in tasks.items() for known in _ways(key, runs)]
    return sorted(found, key=lambda known: known.last, reverse=True)


def _ways(key: str, runs: Sequence[Experience]) -> list[KnownProcedure]:
    """The ways of one task. A run that did not succeed is evidence of the way it shares the most steps with."""
    ways: list[list[Experience]] = []
    for one in sorted(runs, key=lambda one: one.outcome.success is not True):
        alike = [way for way in ways if one.outcome.success is not True or is_same_way(way[0], one)]
        if alike:
            max(alike, key=lambda way: len(set(_keys(way[0])) & set(_keys(one)))).append(one)
        else:
            ways.append([one])
    known = [KnownProcedure(key, tuple(sorted(way, key=_age, reverse=True)), _best(way)) for way in ways]
    return [replace(one, parts_at=parting(one.best, [other.best for other in known])) for one in known]


def _best(runs: Sequence[Experience]) -> Experience:
    """The run to teach. A shorter one wins once a longer one shows that it leaves out nothing but detours."""
    worked = [one for one in runs if one.outcome.success is True] or list(runs)
    proven = {one.id for one in worked if any(_is_part(one, other) for other in worked if other is not one)}
    return min(worked, key=lambda one: (not one.outcome.is_judged, one.id not in proven, len(one.action.steps)))


def _is_part(short: Experience, long: Experience) -> bool:
    """True when all steps of a run are steps of another, in their order."""
    rest = iter(_keys(long))
    return bool(_keys(short)) and all(key in rest for key in _keys(short))


def _age(one: Experience) -> tuple[datetime, str]:
    return one.created_at, one.id


# ---- what they tell together


def agreed_of(run: Experience, others: Sequence[Experience], steps: Sequence[ProcedureStep]) -> list[Agreed]:
    """For each of the `steps` of a run what other runs of its way tell of it."""
    ways = [(_counterparts(run, other, steps), _values(other) != _values(run)) for other in others]
    found = []
    for place, step in enumerate(steps):
        told = [(theirs, differs) for way, differs in ways if (theirs := way[place]) is not None]
        optional = None if len(told) == len(others) else (1 + len(told), 1 + len(others))
        varies = any(_is_another(theirs, step) for theirs, _ in told)
        found.append(Agreed(optional, varies, any(differs for _, differs in told) and not varies))
    return found


def _counterparts(run: Experience, other: Experience, steps: Sequence[ProcedureStep]) -> list[ProcedureStep | None]:
    """For each step that of another run: the same, or in its place one of its kind on something else."""
    theirs = read_steps(other)
    found: list[ProcedureStep | None] = [None] * len(steps)
    matcher = SequenceMatcher(None, _keys(run, steps), _keys(other, theirs), autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        for own, their in zip(range(i, j), range(k, m), strict=False):
            alike = (steps[own].kind, steps[own].role) == (theirs[their].kind, theirs[their].role)
            if kind == "equal" or (kind == "replace" and j - i == m - k and alike):
                found[own] = theirs[their]
    return found


def _is_another(theirs: ProcedureStep, own: ProcedureStep) -> bool:
    """True for a step on another control, or one that chose another option."""
    is_option = own.kind == "select" and not PLACEHOLDER.search(own.text)
    return bare(theirs.name) != bare(own.name) or (is_option and theirs.text != own.text)
