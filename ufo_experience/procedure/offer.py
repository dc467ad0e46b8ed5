"""What is offered for a task: a way among the experiences that were found, several to choose from, or a beginning.

For a task of an application of which no procedure is known, the steps that several others begin with are told: sign in,
open the settings page. Only labels of fixed controls, no value, and nothing that a person is asked before.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from ufo_experience.controls import bare, is_fixed, is_part_of_page
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.render import step_line, word
from ufo_experience.procedure.runs import request_of
from ufo_experience.procedure.steps import ProcedureStep, read_steps
from ufo_experience.request import Request, holds
from ufo_experience.retrieve.opposites import conflict
from ufo_experience.schema import Experience, Hit, Trust, Usage
from ufo_experience.trust.labels import is_label

MAX_CHOICES = 3
LOOKED_THROUGH = 10  # hits near the threshold that choices are made of
PROVEN_AFTER = 2  # times a way has helped, before it is replayed
_TASKS, _STEPS = 3, 2  # fewer tasks may share steps by chance, and one step says nothing
_TOLD = frozenset({"click", "type", "select", "switch"})

RunsOf = Callable[[Experience], Iterable[Experience]]


def offer(task: str, hits: Iterable[Hit], *, proven_after: int = 0, runs_of: RunsOf | None = None) -> Guide | None:
    """A guide along the first of `hits` (best first) that may be followed, or None. Left out are failures, ways without
    a step, that contradict the task, misled since they last helped, or did not help `proven_after` times."""
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


def why_none(hits: Sequence[Hit]) -> str:
    """Why no way among some hits is offered, by the best of them; "" where there is none."""
    if not hits:
        return ""
    one, why = hits[0].experience, "it is no success, or has no steps to follow"
    if misled(one.usage):
        why = f"last report: failed. Once it worked again: ufo-experience report {one.id[:8]} --success"
    return f"the way of {hits[0].task!r} is known and not followed; {why}"


def is_proven(experience: Experience, after: int = PROVEN_AFTER) -> bool:
    """True for a trusted record that has helped `after` times since it last hurt."""
    usage = experience.usage
    helped = usage.streak if usage.hurt else usage.helped
    return after == 0 or (experience.trust.rank >= Trust.VERIFIED.rank and helped >= after)


def misled(usage: Usage) -> bool:
    """True when a record has hurt and not helped since."""
    return usage.hurt > 0 and usage.streak == 0


def beginning_text(application: str, runs: Iterable[Experience]) -> str:
    """What most of some runs (one of each task) begin with, as long as three tasks share it; "" below two steps."""
    found = _shared_beginning([_fixed_steps(one) for one in runs])
    lines = (step_line(step, application) for step in found)
    return "\n".join([f"Several tasks in {word(application)} begin with:", *lines]) if len(found) >= _STEPS else ""


def _shared_beginning(ways: list[list[ProcedureStep]]) -> list[ProcedureStep]:
    """The first steps that most ways share; what is typed is left open."""
    found: list[ProcedureStep] = []
    while True:
        ways = [way for way in ways if len(way) > len(found)]
        keys = [(way[len(found)].kind, bare(way[len(found)].name), way[len(found)].role) for way in ways]
        key, tasks = Counter(keys).most_common(1)[0] if keys else (None, 0)
        if tasks < _TASKS:
            return found
        ways = [way for way, own in zip(ways, keys, strict=True) if own == key]
        found.append(replace(ways[0][len(found)], parameters={}, after=""))


def _fixed_steps(run: Experience) -> list[ProcedureStep]:
    """The first steps of a run, up to one that is its own or is asked before."""
    values = [value.text for value in request_of(run).values]

    def may_be_told(step: ProcedureStep) -> bool:
        fixed = step.kind in _TOLD and (not step.role or is_fixed(step.role)) and not step.ask_first
        within = step.target.within if step.target and step.role == "hyperlink" else ""
        fixed &= not within or is_part_of_page(within)  # else it is what its user keeps there
        return fixed and is_label(step.name) and not any(holds(step.name, value) for value in values)

    return list(takewhile(may_be_told, read_steps(run)))
