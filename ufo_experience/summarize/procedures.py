"""Runs joined: what was learned as procedures, each with the runs it rests on.

    for known in join(memory.list()):
        print(known.task, f"worked {known.worked} of {known.tried}", known.best.id)

Runs of one task in one application are one procedure; ways that end otherwise stay apart. Nothing is stored: a run
that is removed, purged or judged anew is right the next time somebody looks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ufo_experience.actions import plain
from ufo_experience.ids import content_id
from ufo_experience.request import Request, application_key
from ufo_experience.schema import Experience

_Key = tuple[str, str, str]


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
        """What it is for, in the words of its best run."""
        return self.best.state.request or self.best.state.task

    @property
    def worked(self) -> int:
        """How many runs succeeded."""
        return sum(one.outcome.success is True for one in self.runs)

    @property
    def tried(self) -> int:
        """How many runs ended in a way that is known."""
        return sum(one.outcome.success is not None for one in self.runs)

    @property
    def last(self) -> datetime:
        """When it was last done."""
        return self.runs[0].created_at

    @property
    def judges(self) -> dict[str, int]:
        """Who said how many of the runs ended, "nobody" where nobody but the log or the agent did."""
        return dict(Counter(_judge(one) for one in self.runs))

    def to_json(self) -> dict[str, Any]:
        """What `list --json` says of it."""
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
                    "judge": _judge(one),
                    "trust": one.trust.value,
                    "steps": len(one.action.steps),
                    "created_at": one.created_at.isoformat(),
                }
                for one in self.runs
            ],
        }


def task_key(request: Request, application: str | None) -> str:
    """What the runs of one task in one application share, whatever its values: a short digest."""
    return content_id([application_key(application), request.masked])[:16]


def join(experiences: Iterable[Experience]) -> list[KnownProcedure]:
    """Records as procedures, that with the newest run first."""
    tasks: dict[str, list[Experience]] = {}
    for one in sorted(experiences, key=lambda one: (one.created_at, one.id), reverse=True):
        request = Request.parse(one.state.request or one.state.task, one.state.application)
        tasks.setdefault(task_key(request, one.state.application), []).append(one)
    found = [known for key, runs in tasks.items() for known in _ways(key, runs)]
    return sorted(found, key=lambda known: known.last, reverse=True)


def _ways(key: str, runs: Sequence[Experience]) -> list[KnownProcedure]:
    """The ways of one task. A run that did not succeed is evidence of the way it shares the most steps with."""
    ways: list[list[Experience]] = []
    for one in sorted(runs, key=lambda one: one.outcome.success is not True):
        alike = [way for way in ways if one.outcome.success is not True or _ends_alike(way[0], one)]
        if alike:
            max(alike, key=lambda way: len(set(_keys(way[0])) & set(_keys(one)))).append(one)
        else:
            ways.append([one])
    newest = [sorted(way, key=lambda one: (one.created_at, one.id), reverse=True) for way in ways]
    known = [KnownProcedure(key, tuple(way), _best(way)) for way in newest]
    return [replace(one, parts_at=_parting(one, known)) for one in known]


def _ends_alike(one: Experience, other: Experience) -> bool:
    """True for runs of one way: each ends with a step that the other has, too."""
    a, b = _keys(one), _keys(other)
    return not a or not b or a[-1] in b or b[-1] in a


def _best(runs: Sequence[Experience]) -> Experience:
    """The run to teach. A shorter one wins once a longer one shows that it leaves out nothing but detours."""
    worked = [one for one in runs if one.outcome.success is True] or list(runs)
    proven = {one.id for one in worked if any(_is_part(one, other) for other in worked if other is not one)}
    return min(worked, key=lambda one: (not one.outcome.is_judged, one.id not in proven, len(one.action.steps)))


def _is_part(short: Experience, long: Experience) -> bool:
    """True when all steps of a run are steps of another, in their order."""
    rest = iter(_keys(long))
    return bool(_keys(short)) and all(key in rest for key in _keys(short))


def _parting(known: KnownProcedure, all_ways: Sequence[KnownProcedure]) -> int | None:
    others = [set(_keys(one.best)) for one in all_ways if one is not known]
    own = enumerate(_keys(known.best), start=1)
    return next((number for number, key in own if any(key not in other for other in others)), None)


def _keys(run: Experience) -> list[_Key]:
    """What each step did to what. A name that holds a value, a placeholder, or is open is the same in all runs."""
    values = {value.text.casefold() for value in Request.parse(run.state.request).values}

    def name(control: str) -> str:
        return "*" if control.casefold() in values or "{{" in control or control.startswith("[") else control.casefold()

    return [
        (plain(step.action_type), plain(step.target_control.type or ""), name(step.target_control.name))
        for step in run.action.steps
    ]


def _judge(one: Experience) -> str:
    return (one.outcome.judge or one.outcome.evaluated_by) if one.outcome.is_judged else "nobody"
