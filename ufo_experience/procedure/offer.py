"""Which of the experiences that were found is offered as a way, and how far it may be followed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.procedure.binding import Binder, bind
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.procedure import Procedure, ProcedureStep, procedure_of
from ufo_experience.procedure.rewording import fits, is_called_so, says_the_same
from ufo_experience.retrieve.contradictions import conflict
from ufo_experience.retrieve.forks import partings, told_apart
from ufo_experience.schema import Experience, Hit, Trust, Usage
from ufo_experience.text.alike import reads_alike, words_beside_values, words_more
from ufo_experience.text.controls import is_fixed
from ufo_experience.trust.values import Agreement, presentable

_COMPARED = "query_coverage"  # of the explanation of a hit: how much of the task its request says
LEAST_LIKELY = 0.006  # score of a way that an agent is given to choose
_NAMED = 0.1  # what a control of its own that the task names adds to it
LOOKED_THROUGH = 50  # of what came near, for those
MAX_CHOICES = 3
PROVEN_AFTER = 2  # times a way has helped, before it is replayed


def offer(
    task: str,
    hits: Iterable[Hit],
    *,
    binder: Binder | None = None,
    proven_after: int = 0,
    agreement: Agreement | None = None,
) -> Guide | None:
    """A guide along the first of `hits` (best first) that may be followed; None when there is none.

    Left out are ways that are no procedure, that contradict the task, that misled since they last helped, and that are
    not `proven_after` so many times. One of a task that reads otherwise comes last and is marked (`reworded`), and only
    where retrieval compared the two and the task has a value for all it takes: nothing on a screen tells a way that
    fits it and leads elsewhere, so that it is for an agent to take, and never replayed. `agreement` is what other runs
    tell too: a name or value that only one record knows is not told ahead.
    """
    served = list(hits)
    found = [hit.experience for hit in served]
    fitting = [hit for hit in _fitting(task, served) if is_proven(hit.experience, proven_after)]
    alike = [hit.experience for hit in fitting if reads_alike(task, _request(hit.experience))]
    reworded = [hit.experience for hit in fitting if hit.experience not in alike and _COMPARED in hit.explanation]
    for experience in (*alike, *reworded):
        procedure = _procedure(experience, found, task, agreement, reworded=experience not in alike)
        if procedure is not None:  # what is no way to follow is shown as an example all the same
            return Guide(bind(procedure, task, binder))
    return None


def choices(
    task: str, hits: Iterable[Hit], *, limit: int = MAX_CHOICES, agreement: Agreement | None = None
) -> tuple[Guide, ...]:
    """Guides along the ways among `hits` that may be meant, at most `limit`, best first, for an agent to choose from.

    They are those for all of whose values the task has one of the same type, and that are likely enough: by the score
    of retrieval, and where the task names controls they go by, the rarer among them the more. One that was asked for in
    just the words of the task, but for values that all stand in its steps, leaves no choice (`said_so`). All are
    `reworded`: not one of them is replayed.
    """
    compared = [hit for hit in hits if _COMPARED in hit.explanation]
    runs = [hit.experience for hit in compared]
    ways = [(hit, way) for hit in _fitting(task, compared) if (way := _as_gone(hit.experience, task)) is not None]
    named = _controls_named([way for _, way in ways], task)
    likely = [(hit.score + _NAMED * said, hit.experience) for (hit, _), said in zip(ways, named, strict=True)]
    found: list[Guide] = []
    for score, experience in sorted(likely, key=lambda one: -one[0]):
        if len(found) == limit or score < LEAST_LIKELY:
            break
        way = _procedure(experience, runs, task, agreement, reworded=True)
        bound = None if way is None else bind(way, task)
        if way is not None and bound is not None and says_the_same(way, task):
            return (Guide(replace(bound, said_so=True)),)
        if bound is not None and not any(_are_alike(bound, one.procedure) for one in found):
            found.append(Guide(bound))
    return tuple(found)


def _as_gone(experience: Experience, task: str) -> Procedure | None:
    """The way of a run with all it held, for comparing; None where it is no way, or the task lacks its values."""
    try:
        way = procedure_of(experience)
    except DataError:
        return None
    return way if fits(way, task) else None


def _controls_named(ways: Sequence[Procedure], task: str) -> list[float]:
    """How much of each way the task names: words of its controls, each worth the less the more ways go by it."""
    spoken = words_beside_values(task)
    names = [{word for step in way.steps for word in words_beside_values(_label(step))} & spoken for way in ways]
    common = Counter(word for words in names for word in words)
    return [sum(1 / common[word] for word in words) for words in names]


def _label(step: ProcedureStep) -> str:
    """The name of a control of the application's own."""
    own = is_fixed(step.role) or step.kind in ("type", "select", "switch")
    return step.target.name.casefold() if step.target is not None and own else ""


def _are_alike(one: Procedure, other: Procedure) -> bool:
    """True for ways of the same steps."""
    return [(step.action, step.target) for step in one.steps] == [(step.action, step.target) for step in other.steps]


def _fitting(task: str, hits: Iterable[Hit]) -> list[Hit]:
    """Those that have not misled and do not contradict the task."""
    kept = (hit for hit in hits if not misled(hit.experience.usage))
    return [hit for hit in kept if not conflict(task, _request(hit.experience))]


def _procedure(
    experience: Experience, found: list[Experience], task: str, agreement: Agreement | None, *, reworded: bool
) -> Procedure | None:
    """The way of a run as far as it may be offered; None where it is no way to follow, or the task lacks its values."""
    try:
        shown = presentable(experience, task, agreement)
        as_far_as = _as_far_as(experience, partings(experience, found), task)
        varying = _varying(experience, agreement) if reworded and agreement is not None else ()
        procedure = procedure_of(experience, shown.experience, shown.constants, **as_far_as, varying=varying)
    except DataError:
        return None
    if reworded and not fits(procedure, task):
        return None
    said = (task, _request(experience))
    more = () if reworded else (word for word in words_more(*said) if not any(is_called_so(word, one) for one in said))
    return replace(procedure, reworded=reworded, more=tuple(more))


def _varying(experience: Experience, agreement: Agreement) -> frozenset[str]:
    """The names a run acted on that are not those of all runs of the same task."""
    names = {step.target_control.name for step in experience.action.steps}
    counted = {name: agreement.share(name, experience) for name in names if name.strip()}
    return frozenset(name for name, (holding, runs) in counted.items() if holding < runs)


def _request(experience: Experience) -> str:
    return experience.state.request or experience.state.task


def _as_far_as(run: Experience, parted: tuple[int, Experience] | None, task: str) -> dict[str, Any]:
    """Where two runs part, and what of their requests tells them apart, for `procedure_of`."""
    if parted is None:
        return {}
    until, other = parted
    apart = told_apart(run, other, task)
    said = "runs of the same words went two ways from here, and both are among the examples"
    return {"until": until, "parts": f"{said}; of the one followed so far, {apart}" if apart else said}


def is_proven(experience: Experience, after: int = PROVEN_AFTER) -> bool:
    """True for a trusted record that has helped `after` times since it last hurt."""
    return experience.trust.rank >= Trust.VERIFIED.rank and streak(experience.usage) >= after


def misled(usage: Usage) -> bool:
    """True when a record has hurt and not helped since."""
    return usage.hurt > 0 and streak(usage) == 0


def streak(usage: Usage) -> int:
    """How often a record has helped since it last hurt."""
    return usage.helped if usage.hurt == 0 else usage.streak
