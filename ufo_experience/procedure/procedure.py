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

from ufo_experience.controls import role_of
from ufo_experience.errors import UsageError
from ufo_experience.procedure.agreement import agreed_of, is_same_way, parting
from ufo_experience.procedure.binding import Binding
from ufo_experience.procedure.pairing import pair, stems_of
from ufo_experience.procedure.steps import STAYS, LookedUp, ProcedureStep, read_step
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.request import Request, find_whole
from ufo_experience.schema import Experience, Step, Trust
from ufo_experience.trust.agreement import constants_of
from ufo_experience.trust.labels import is_label
from ufo_experience.trust.risk import CARRIES_OUT, asks_first

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
        old = request_of(run)
        pairing = pair(old, new)
        same = [one for one in others if one.outcome.success == run.outcome.success and is_same_way(run, one)]
        recorded = _recorded(run)
        approved = run.trust is Trust.APPROVED
        agreed, constants = agreed_of(run, same, recorded), constants_of([run, *same])
        bound = Binding(recorded, run, pairing, (old, new), agreed, approved, constants)
        apart = parting(run, [one for one in others if one.outcome.success]) if run.outcome.success else None
        steps = tuple(
            replace(_shown(step, approved, new), optional=other.optional)
            for step, other in zip(bound.steps, agreed, strict=True)
        )
        return cls(
            id=run.id,
            request=new.text,
            task=_masked(old, pairing.values, new, approved),
            application=run.state.application or "",
            steps=steps,
            success=run.outcome.success,
            worked=sum(one.outcome.success is True for one in (run, *others) if one is run or one in same),
            runs=1 + len(same) + sum(one.outcome.success is False for one in others if run.outcome.success),
            ids=(run.id, *(one.id for one in same)),
            uncovered=bound.uncovered,
            ends_with=_end(run, pairing.values, new, steps),
            reason=_readable_or(run.outcome.failure_reason or "", new, ""),
            parts="" if apart is None else f"another run of the same words went another way from step {apart} on",
            parts_at=apart,
            reworded=not pairing.alike,
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


def request_of(run: Experience) -> Request:
    """What a run was asked for, in the user's words."""
    return Request.parse(run.state.request or run.state.task, run.state.application)


def _recorded(run: Experience) -> list[ProcedureStep]:
    """The steps that were done, numbered anew; of a failed run those that failed, too."""
    done = [step for step in run.action.steps if step.ok or (step.status == "failed" and not run.outcome.success)]
    recorded = []
    for number, step in enumerate(done, start=1):
        leads_on = _leads_on(step, next(iter(done[number : number + 1]), None))
        asks = asks_first(step, done[: number - 1]) and not leads_on
        recorded.append(replace(read_step(number, step), ask_first=asks, seen=_looked_up(step, done)))
    return _after_fields(recorded)


def _leads_on(step: Step, after: Step | None) -> bool:
    """True for what only opens something further: "Share…" asks with whom, and a menu item before another is a menu."""
    if step.target_control.name.rstrip().endswith(("…", "...")):
        return True
    return after is not None and all(role_of(one.target_control.type) == "menuitem" for one in (step, after))


def _after_fields(steps: Sequence[ProcedureStep]) -> list[ProcedureStep]:
    """Each step with the field that was filled right before it: of several equal controls it is the one behind."""
    found = list(steps[:1])
    for before, step in pairwise(steps):
        filled = before.target.name if before.kind in STAYS and before.target else ""
        found.append(replace(step, after=filled))
    return found


def _looked_up(step: Step, done: Sequence[Step]) -> LookedUp | None:
    seen = step.seen
    if seen is None:
        return None
    place = sum(one.step_number <= seen.after for one in done)
    return LookedUp(place, seen.type, seen.whole, key=str(seen.beside or ""))


def _shown(step: ProcedureStep, approved: bool, request: Request) -> ProcedureStep:
    """A step that says whether its name may be read; an item named by the task is as good as a label."""
    target = step.target
    if target is None or not target.name:
        gone = target is None and step.kind in ("click", "type", "select")
        return replace(step, missing=("which control", *step.missing)) if gone else step
    said = find_whole(target.name.casefold(), request.text.casefold()) >= 0
    readable = approved or said or (step.readable and is_label(target.name))
    return replace(step, readable=readable, asked_for=not step.ask_first or said or _is_named(target.name, request))


def _is_named(label: str, request: Request) -> bool:
    """True when a request says a word of a label; a plain "Save" names nothing itself."""
    return CARRIES_OUT.fullmatch(label) is not None or not stems_of(label).isdisjoint(stems_of(request.text))


def _masked(old: Request, values: dict[str, str] | object, new: Request, approved: bool) -> str:
    """What a way was learned for: its first sentence, with the kind of each value that the new task does not name."""
    text, pairs = old.text, dict(values) if isinstance(values, dict) else {}
    spans = [(value.start, value.end, value.kind) for value in old.values if not _names(new, value.text)]
    for word in pairs:
        at = find_whole(word, text.casefold())
        if (
            at >= 0
            and not _names(new, word)
            and not any(start < at + len(word) and at < end for start, end, _ in spans)
        ):
            spans.append((at, at + len(word), "value"))
    for start, end, kind in sorted(spans, reverse=True):
        text = f"{text[:start]}[{kind}]{text[end:]}"
    if approved:
        return text[:_LONGEST_TASK]
    return next((one for one in _SENTENCE.split(text) if one.strip()), "")[:_LONGEST_TASK].strip()


def _names(request: Request, value: str) -> bool:
    return find_whole(value.casefold(), request.text.casefold()) >= 0


def _end(run: Experience, values: object, new: Request, steps: Sequence[ProcedureStep]) -> str:
    """What was seen at the end, with the new values; "" where it holds something else of the run."""
    done = [step for step in run.action.steps if step.ok]
    if not done or run.outcome.success is not True:
        return ""
    said = next((text for text in (done[-1].result, done[-1].observation) if not _OK.fullmatch(text.strip())), "")
    from ufo_experience.procedure.binding import replaced

    text = replaced(_SENTENCE.split(said)[0].strip(), dict(values)) if isinstance(values, dict) else said
    labels = " ".join(step.target.name for step in steps if step.target)
    return _readable_or(text, new, labels)


def _readable_or(text: str, new: Request, labels: str) -> str:
    """A sentence that may be shown: short, and without a value that neither the task nor a label says."""
    own = [value.text.casefold() for value in Request.parse(text, new.application).values]
    told = f"{new.text} {labels}".casefold()
    known = all(find_whole(value, told) >= 0 for value in own)
    return text if text and known and is_label(text) and not PLACEHOLDER.search(text) else ""
