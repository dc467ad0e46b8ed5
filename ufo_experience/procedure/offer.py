"""Which of the experiences that were found is offered as a way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.request import Request
from ufo_experience.retrieve.opposites import conflict
from ufo_experience.schema import Experience, Hit, Trust, Usage

MAX_CHOICES = 3
LOOKED_THROUGH = 10  # hits near the threshold that choices are made of
PROVEN_AFTER = 2  # times a way has helped, before it is replayed

RunsOf = Callable[[Experience], Iterable[Experience]]


def offer(task: str, hits: Iterable[Hit], *, proven_after: int = 0, runs_of: RunsOf | None = None) -> Guide | None:
    """A guide along the first of `hits` (best first) that may be followed; None when there is none.

    Left out are failures, ways without a step, that contradict the task, that misled since they last helped, and that
    are not `proven_after` so many times.
    """
    return next(_guides(task, [hit for hit in hits if is_proven(hit.experience, proven_after)], runs_of), None)


def choices(
    task: str, hits: Iterable[Hit], *, limit: int = MAX_CHOICES, runs_of: RunsOf | None = None
) -> tuple[Guide, ...]:
    """Guides along different ways among `hits` that may be meant, at most `limit`, for an agent to choose from."""
    found: dict[str, Guide] = {}
    for guide in _guides(task, hits, runs_of):
        found.setdefault(str([(step.action, step.target) for step in guide.procedure.steps]), guide)
        if len(found) == limit:
            break
    return tuple(found.values())


def _guides(task: str, hits: Iterable[Hit], runs_of: RunsOf | None) -> Iterator[Guide]:
    request, served = Request.parse(task), list(hits)
    for hit in served:
        run = hit.experience
        told = run.state.request or run.state.task
        if run.outcome.success is True and not misled(run.usage) and not conflict(request, Request.parse(told)):
            others = [*(one.experience for one in served), *(runs_of(run) if runs_of else ())]
            way = Procedure.of([run, *others], request)
            if way.steps:
                yield Guide(way)


def is_proven(experience: Experience, after: int = PROVEN_AFTER) -> bool:
    """True for a trusted record that has helped `after` times since it last hurt."""
    return after == 0 or (experience.trust.rank >= Trust.VERIFIED.rank and streak(experience.usage) >= after)


def misled(usage: Usage) -> bool:
    """True when a record has hurt and not helped since."""
    return usage.hurt > 0 and streak(usage) == 0


def streak(usage: Usage) -> int:
    """How often a record has helped since it last hurt."""
    return usage.helped if usage.hurt == 0 else usage.streak
