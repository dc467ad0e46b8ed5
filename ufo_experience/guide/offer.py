"""Which of the experiences that were found is offered as a way, and how far it may be followed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.guide.binding import Binder, bind
from ufo_experience.guide.guide import Guide
from ufo_experience.guide.procedure import procedure_of
from ufo_experience.guide.rewording import has_same_values
from ufo_experience.retrieval.contradictions import conflict
from ufo_experience.retrieval.forks import partings, told_apart
from ufo_experience.schema import Experience, Hit, Trust, Usage
from ufo_experience.text.alike import reads_alike
from ufo_experience.trust.values import Agreement, presentable

_COMPARED = "query_coverage"  # of the explanation of a hit: how much of the task its request says
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
    where retrieval compared the two and they hold as many values of each type: nothing on a screen tells a way that
    fits it and leads elsewhere, so that it is for an agent to take, and never replayed. `agreement` is what other runs
    tell too: a name or value that only one record knows is not told ahead.
    """
    served = list(hits)
    found = [hit.experience for hit in served]
    fitting = [hit for hit in served if not misled(hit.experience.usage) and is_proven(hit.experience, proven_after)]
    fitting = [hit for hit in fitting if not conflict(task, _request(hit.experience))]
    alike = [hit.experience for hit in fitting if reads_alike(task, _request(hit.experience))]
    reworded = [hit.experience for hit in fitting if hit.experience not in alike and _is_reworded(task, hit)]
    for experience in (*alike, *reworded):
        try:
            shown = presentable(experience, task, agreement)
            parted = partings(experience, found)
            procedure = procedure_of(
                experience, shown.experience, shown.constants, **_as_far_as(experience, parted, task)
            )
        except DataError:
            continue  # no way to follow; it is shown as an example all the same
        return Guide(bind(replace(procedure, reworded=experience not in alike), task, binder))
    return None


def _is_reworded(task: str, hit: Hit) -> bool:
    """True when retrieval has compared the words of two requests, and their values are of the same types."""
    return _COMPARED in hit.explanation and has_same_values(_request(hit.experience), task)


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
