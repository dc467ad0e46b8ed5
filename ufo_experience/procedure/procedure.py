"""`Procedure.of(experiences, request)`: the known way of a task, bound to a request. All that is shown is made of it.

Worked 3 of 3 times in Admin: "Make the user [value] a member of the group [name]". For this task:
1. click "Settings" (Button)
2. click the row of mlopez
3. tick "Translators" (CheckBox)
4. click "Save" (Button) [ask first]
On one screen: 3-4
Ends with: User 'mlopez' updated.   Not covered: –
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise, zip_longest

from ufo_experience.errors import UsageError
from ufo_experience.procedure.binding import Binding
from ufo_experience.procedure.render import is_name, prose, quoted, step_line, tip_line, word
from ufo_experience.procedure.runs import Way
from ufo_experience.procedure.steps import NAMED, ProcedureStep
from ufo_experience.procedure.values import Values, replaced
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.request import Request, find_whole, holds, says_something
from ufo_experience.retrieve.pairing import stems_of
from ufo_experience.schema import Experience, Trust
from ufo_experience.trust.agreement import constants_of
from ufo_experience.trust.labels import is_label, told_of
from ufo_experience.trust.risk import CARRIES_OUT, telling_words

OLD_MONTHS = 6  # from this age on a reader should know it: programs change
_MOST_TIPS = 5
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
    parts_at: int | None = None
    reworded: bool = False
    tips: tuple[str, ...] = ()
    advice: str = ""
    learned_at: datetime | None = None

    @classmethod
    def of(cls, experiences: Iterable[Experience], request: Request | str) -> Procedure:
        """The way of the first of some runs, with the others of its task as evidence, bound to a request."""
        runs = list(experiences)
        if not runs:
            raise UsageError("a procedure is made of at least one run")
        run = runs[0]
        new = (Request.parse(request) if isinstance(request, str) else request).within(run.state.application)
        own, known = Way(run), {one.id: Way(one) for one in runs if one.id != run.id}
        others = [one for one in known.values() if one.task_key == own.task_key]
        same = [one for one in others if one.run.outcome.success == run.outcome.success and own.ends_as(one)]
        failed = [one for one in others if own.worked and one.run.outcome.success is False]
        values = Values(run, new, constants_of(one.run for one in (own, *same)))
        approved = run.trust is Trust.APPROVED
        bound = Binding(own.steps_with(same), values, approved=approved)
        steps = tuple(_shown(step, values, approved=approved) for step in bound.steps)
        return cls(
            id=run.id,
            request=new.text,
            task=_learned_for(values, approved=approved),
            application=run.state.application or "",
            steps=steps,
            success=run.outcome.success,
            worked=sum(one.worked for one in (own, *same)),
            runs=1 + len(same) + len(failed),
            ids=tuple(one.run.id for one in (own, *same)),
            uncovered=bound.uncovered,
            ends_with=_end(run, values, steps),
            reason=_readable_or_empty(run.outcome.failure_reason or "", new),
            parts_at=own.parts_from(one for one in others if one.worked) if own.worked else None,
            reworded=not values.pairing.alike,
            tips=run.action.tips if approved else (),
            advice="" if run.action.steps else " ".join(filter(None, (run.action.strategy, run.action.skill))),
            learned_at=run.created_at,
        )

    @property
    def parts(self) -> str:
        """Where another run of the same words went another way, in words; "" where none did."""
        told = f"another run of the same words went another way from step {self.parts_at} on"
        return "" if self.parts_at is None else told

    @property
    def is_beyond_doubt(self) -> bool:
        """True when the task asks for the same in the same words, and every word of it is served."""
        return not (self.reworded or self.uncovered or self.parts or any(step.missing for step in self.steps))

    def __str__(self) -> str:
        return self.text()

    def text(self, steps: int | None = None, now: datetime | None = None) -> str:
        """The same with at most so many `steps`, the rest counted, and the age of the way."""
        shown = self.steps[:steps]
        lines = [self._head(now), *(step_line(step, self.application) for step in shown)]
        if len(shown) < len(self.steps):
            lines.append(f"({len(self.steps) - len(shown)} more steps)")
        return "\n".join([*lines, *self._closing(shown)])

    def _head(self, now: datetime | None) -> str:
        times = f"{self.worked} of {self.runs} times" if self.runs > 1 else "once"
        said = {True: f"Worked {times}", False: "Failed", None: "Tried, outcome unknown"}[self.success]
        place = f" in {word(self.application)}" if is_name(self.application) else ""
        months = (now - self.learned_at).days // 30 if self.learned_at and now else 0
        age = f" ({months} months ago)" if months >= OLD_MONTHS else ""
        leads = "" if not self.steps else " For this task:" if self.success else " What was done:"
        return f"{said}{place}{age}: {quoted(self.task, 200)}.{leads}"

    def _closing(self, shown: Sequence[ProcedureStep]) -> Iterator[str]:
        together = ", ".join(f"{first}-{last}" for first, last in _on_one_screen(shown)) if self.success else ""
        told = {
            "What was done": prose(self.advice),
            "Reason": prose(self.reason),
            "On one screen": together,
            "Parts": self.parts,
        }
        yield from (f"{name}: {text}" for name, text in told.items() if text)
        yield from map(tip_line, self.tips[:_MOST_TIPS])
        if self.success and self.steps:
            ends = f"Ends with: {prose(self.ends_with)}   " if self.ends_with else ""
            yield f"{ends}Not covered: {', '.join(map(word, self.uncovered)) or '–'}"


def _on_one_screen(steps: Sequence[ProcedureStep]) -> Iterator[tuple[int, int]]:
    """First and last number of steps that can be done at once: what fills in a form, and the control behind it."""
    first = None
    for step, after in zip_longest(steps, steps[1:]):
        first = step.number if first is None else first
        stays = after is not None and after.is_own and after.kind not in ("switch", "open")
        if not (step.fills_in and stays):
            if first < step.number:
                yield first, step.number
            first = None


def _shown(step: ProcedureStep, values: Values, *, approved: bool) -> ProcedureStep:
    """A step that says whether its name may be read; an item named by the task is as good as a label."""
    if not step.name:
        told = step.target and (step.row_of or step.item_of or step.missing)
        return step if told or step.kind not in NAMED else replace(step, missing=("which control", *step.missing))
    task = values.new.text
    said = holds(task, step.name)
    # a plain "Save" names nothing itself
    asked_for = not step.ask_first or said or CARRIES_OUT.fullmatch(step.name) is not None
    asked_for = asked_for or not values.said_now.isdisjoint(stems_of(telling_words(step.name, task)))
    is_told = approved or said or step.takes_item
    return replace(step, shown=step.shown if is_told else told_of(step.name, step.role, task), asked_for=asked_for)


def _learned_for(values: Values, *, approved: bool) -> str:
    """What a way was learned for: the sentence that asks, with the kinds of values that the new task does not name."""
    text, new = values.old.text, values.new.text
    found = [(one.start, one.end, one.kind) for one in values.old.values]
    places = ((find_whole(said, text.casefold()), len(said)) for said in {*values.new_of, *values.said})
    found += [(at, at + size, "value") for at, size in places if at >= 0]
    spans: list[tuple[int, int, str]] = []
    for at, end, kind in sorted(found, key=lambda one: (one[0] - one[1], one[2] == "value")):  # the longest first
        if not (holds(new, text[at:end]) or any(start < end and at < stop for start, stop, _ in spans)):
            spans.append((at, end, kind))
    first, last = (0, len(text)) if approved else _asking_sentence(values.old)
    for start, end, kind in sorted(spans, reverse=True):
        if first <= start < last:
            text, last = f"{text[:start]}[{kind}]{text[end:]}", max(last, end) + len(kind) + 2 - (end - start)
    return text[first:last][:_LONGEST_TASK].strip(" .;。\n")


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
    labels = " ".join(step.name for step in steps)
    return _readable_or_empty(replaced(_SENTENCE.split(said)[0].strip(), values.new_of), values.new, labels)


def _readable_or_empty(text: str, new: Request, labels: str = "") -> str:
    """A sentence that may be shown: short, and without a value that neither the task nor a label says."""
    known = all(holds(f"{new.text} {labels}", one.text) for one in Request.parse(text, new.application).values)
    return text if text and known and is_label(text) and not PLACEHOLDER.search(text) else ""
