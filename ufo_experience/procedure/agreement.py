"""What several runs of one task tell together: what all did, what some did, what differs, what is always typed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ufo_experience.controls import bare
from ufo_experience.procedure.pairing import pair
from ufo_experience.procedure.steps import ProcedureStep, read_step
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.request import Request
from ufo_experience.schema import Experience
from ufo_experience.trust.agreement import may_agree

_Key = tuple[str, str, str]


@dataclass(frozen=True)
class Agreed:
    """What other runs of the task tell of a step: how many did it, of how many; whether they acted on something else
    there; whether runs of other requests name the same; and what they typed, where that is kept.
    """

    did: int = 1
    runs: int = 1
    varies: bool = False
    confirmed: bool = False
    constant: str = ""

    @property
    def optional(self) -> tuple[int, int] | None:
        """How many did the step, and of how many; None where all did."""
        return (self.did, self.runs) if self.did < self.runs else None


def agreed_of(run: Experience, others: Sequence[Experience], steps: Sequence[ProcedureStep]) -> list[Agreed]:
    """For each step of a run what the others of the same way tell of it."""
    told = [_told_by(run, other, steps) for other in others]
    return [_joined([one[place] for one in told], 1 + len(others)) for place in range(len(steps))]


def is_same_task(run: Experience, other: Experience) -> bool:
    """True for runs of one application whose requests say the same but for their values."""
    if run.state.application != other.state.application:
        return False
    one, two = _request(run), _request(other)
    if one.masked == two.masked or run.state.task == other.state.task:
        return True
    found = pair(one, two)
    return found.alike and not (found.words or found.dropped)


def is_same_way(run: Experience, other: Experience) -> bool:
    """True for runs that end alike: each ends with a control that the other acts on, too."""
    one, two = _keys(_steps(run)), _keys(_steps(other))
    return not one or not two or one[-1] in two or two[-1] in one


def parting(run: Experience, others: Iterable[Experience]) -> int | None:
    """The number of the first step with which a run leaves the way of another that ends otherwise, or None."""
    found = []
    for other in others:
        if not is_same_way(run, other):
            theirs = set(_keys(_steps(other)))
            found += [n for n, key in enumerate(_keys(_steps(run)), start=1) if key not in theirs][:1]
    return min(found, default=None)


def _told_by(run: Experience, other: Experience, steps: Sequence[ProcedureStep]) -> list[tuple[bool, bool, bool, str]]:
    """Of each step whether another run did it, acted on something else, had other values; and what it typed there."""
    theirs = _steps(other)
    found = [(False, False, False, "")] * len(steps)
    values = pair(_request(run), _request(other)).values
    differs = any(old != new.casefold() for old, new in values.items())
    matcher = SequenceMatcher(None, _keys(steps), _keys(theirs), autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        for own, their in zip(range(i, j), range(k, m), strict=False):
            alike = (steps[own].kind, steps[own].role) == (theirs[their].kind, theirs[their].role)
            if kind == "equal" or (kind == "replace" and j - i == m - k and alike):
                other_text = theirs[their].text != steps[own].text and not PLACEHOLDER.search(steps[own].text)
                varies = kind == "replace" or (other_text and steps[own].kind == "select")
                found[own] = (True, varies, differs, theirs[their].text)
    return found


def _joined(told: Sequence[tuple[bool, bool, bool, str]], runs: int) -> Agreed:
    did = [one for one in told if one[0]]
    varies = any(one[1] for one in did)
    confirmed = any(one[2] for one in did) and not varies
    typed = {one[3] for one in did if one[3] and not PLACEHOLDER.search(one[3])}
    constant = typed.pop() if len(typed) == 1 and not varies else ""
    return Agreed(1 + len(did), runs, varies, confirmed, constant if constant and may_agree(constant) else "")


def _steps(run: Experience) -> list[ProcedureStep]:
    return [read_step(number, step) for number, step in enumerate(run.action.steps, start=1) if step.ok]


def _keys(steps: Sequence[ProcedureStep]) -> list[_Key]:
    return [(step.kind, step.role, bare(step.target.name) if step.target else step.text) for step in steps]


def _request(run: Experience) -> Request:
    return Request.parse(run.state.request or run.state.task, run.state.application)
