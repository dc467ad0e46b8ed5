"""`Procedure.of(experiences, request)`: the known way of a task, bound to a request. All that is shown is made of it.

way = Procedure.of([run, *other_runs], Request.parse("Make the user mlopez a member of the group Editors"))
way.steps       what to do to what, with the values of the request
way.uncovered   words of the request that no step serves
str(way)        the text that agents and people read (see `render`)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from ufo_experience.errors import UsageError
from ufo_experience.procedure.binding import Binding
from ufo_experience.procedure.pairing import stems_of
from ufo_experience.procedure.runs import agreed_of, is_same_way, parting
from ufo_experience.procedure.steps import ProcedureStep, read_steps
from ufo_experience.procedure.values import Values, replaced
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.request import Request, find_whole, holds, says_something
from ufo_experience.schema import Experience, Trust
from ufo_experience.trust.agreement import constants_of
from ufo_experience.trust.labels import is_label
from ufo_experience.trust.risk import CARRIES_OUT

_SENTENCE = re.compile(r"(?<=[.!?;。！？])\s+|\n+")
_LONGEST_TASK = 160
_OK = re.compile(r"(?i)(?:ok|success|true|done|[\w ]{1,40} has been executed.*|set text has been.*)?\.?")


@dataclass(frozen=True)
class Procedure:
    """The way of a task. `request` is the text of the task at hand, `task` what the way was learned for, values masked.

    `worked` of `runs` succeeded; `success` is False for one that only failed, shown as what not to do. `ends_with` is
    what was seen at the end. `parts` says where another run of the same words went another way. `reworded`: the task at
    hand asks in other words.
    """

    id: str
    request: str
    task: str
    application: str
    steps: tuple[ProcedureStep, ...]
    success: bool | None = True
    worked: int = 1
    runs: int = 1
    ids: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    ends_with: str = ""
    reason: str = ""
    parts: str = ""
    parts_at: int | None = None
    reworded: bool = False
    tips: tuple[str, ...] = ()
    advice: str = ""
    learned_at: datetime | None = None

    @classmethod
    def of(cls, experiences: Iterable[Experience], request: Request | str) -> Procedure:
        """The way of the first of some runs of one task, with the others as evidence, bound to a request.

        Raises:
            UsageError: there is no run.
        """
        runs = list(experiences)
        if not runs:
            raise UsageError("a procedure is made of at least one run")
        run, new = runs[0], Request.parse(request) if isinstance(request, str) else request
        others = [one for one in runs[1:] if one.id != run.id]
        same = [one for one in others if one.outcome.success == run.outcome.success and is_same_way(run, one)]
        failed = [one for one in others if run.outcome.success and one.outcome.success is False]
        approved, recorded = run.trust is Trust.APPROVED, read_steps(run)
        agreed = agreed_of(run, same, recorded)
        values = Values(run, new, constants_of([run, *same]))
        bound = Binding(recorded, values, agreed, approved=approved)
        steps = tuple(
            replace(_shown(step, new, approved=approved), optional=told.optional)
            for step, told in zip(bound.steps, agreed, strict=True)
        )
        apart = parting(run, [one for one in others if one.outcome.success]) if run.outcome.success else None
        return cls(
            id=run.id,
            request=new.text,
            task=_learned_for(values, approved=approved),
            application=run.state.application or "",
            steps=steps,
            success=run.outcome.success,
            worked=sum(one.outcome.success is True for one in (run, *same)),
            runs=1 + len(same) + len(failed),
            ids=(run.id, *(one.id for one in same)),
            uncovered=bound.uncovered,
            ends_with=_end(run, values, steps),
            reason=_readable_or_empty(run.outcome.failure_reason or "", new),
            parts="" if apart is None else f"another run of the same words went another way from step {apart} on",
            parts_at=apart,
            reworded=not values.pairing.alike,
            tips=run.action.tips if approved else (),
            advice="" if run.action.steps else " ".join(filter(None, (run.action.strategy, run.action.skill))),
            learned_at=run.created_at,
        )

    def __str__(self) -> str:
        """The text that is shown."""
        from ufo_experience.procedure.render import render

        return render(self)

    @property
    def is_beyond_doubt(self) -> bool:
        """True when the task asks for the same in the same words, and every word of it is served."""
        return not (self.reworded or self.uncovered or self.parts or any(step.missing for step in self.steps))


def _shown(step: ProcedureStep, request: Request, *, approved: bool) -> ProcedureStep:
    """A step that says whether its name may be read; an item named by the task is as good as a label."""
    target = step.target
    if target is None or not target.name:
        told = step.row_of or step.item_of or step.missing if target else False
        gone = not told and step.kind in ("click", "type", "select")
        return replace(step, missing=("which control", *step.missing)) if gone else step
    said = holds(request.text, target.name)
    readable = approved or said or (step.readable and is_label(target.name))
    return replace(step, readable=readable, asked_for=not step.ask_first or said or _is_named(target.name, request))


def _is_named(label: str, request: Request) -> bool:
    """True when a request says a word of a label; a plain "Save" names nothing itself."""
    return CARRIES_OUT.fullmatch(label) is not None or not stems_of(label).isdisjoint(stems_of(request.text))


def _learned_for(values: Values, *, approved: bool) -> str:
    """What a way was learned for: the sentence that asks, with the kinds of values that the new task does not name."""
    old, new = values.old, values.new
    text = old.text
    spans = [(value.start, value.end, value.kind) for value in old.values if not holds(new.text, value.text)]
    for word in values.pairing.values:
        at = find_whole(word, text.casefold())
        end = at + len(word)
        if at >= 0 and not holds(new.text, word) and not any(start < end and at < stop for start, stop, _ in spans):
            spans.append((at, end, "value"))
    first, last = (0, len(text)) if approved else _asking_sentence(old)
    for start, end, kind in sorted(spans, reverse=True):
        if first <= start and end <= last:
            text, last = f"{text[:start]}[{kind}]{text[end:]}", last + len(kind) + 2 - (end - start)
    return text[first:last][:_LONGEST_TASK].strip(" .。\n")


def _asking_sentence(request: Request) -> tuple[int, int]:
    """Where the sentence that asks begins and ends; of a request in which none asks for anything, the first."""
    ends = [match.start() for match in _SENTENCE.finditer(request.text)]
    asks = max(request.text.find(request.asks), 0)
    sentences = [(start, end) for start, end in pairwise([0, *ends, len(request.text)]) if end > start]
    asking = next(((start, end) for start, end in sentences if end > asks), (0, len(request.text)))
    return asking if says_something(request.text[slice(*asking)]) else sentences[0]


def _end(run: Experience, values: Values, steps: Sequence[ProcedureStep]) -> str:
    """What was seen at the end, with the new values; "" where it holds something else of the run."""
    done = [step for step in run.action.steps if step.ok]
    if not done or run.outcome.success is not True:
        return ""
    said = "" if _OK.fullmatch(done[-1].result.strip()) else done[-1].result
    labels = " ".join(step.target.name for step in steps if step.target)
    return _readable_or_empty(replaced(_SENTENCE.split(said)[0].strip(), values.pairing.values), values.new, labels)


def _readable_or_empty(text: str, new: Request, labels: str = "") -> str:
    """A sentence that may be shown: short, and without a value that neither the task nor a label says."""
    known = all(holds(f"{new.text} {labels}", one.text) for one in Request.parse(text, new.application).values)
    return text if text and known and is_label(text) and not PLACEHOLDER.search(text) else ""
