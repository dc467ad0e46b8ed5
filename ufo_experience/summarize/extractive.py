"""The summarizer without a model: everything it says is copied from the log. Deterministic."""

from collections.abc import Iterator, Sequence

from ufo_experience.errors import DataError
from ufo_experience.request import Request
from ufo_experience.schema import Step, Trajectory, clip
from ufo_experience.summarize.base import Summarizer, Summary, source_of
from ufo_experience.summarize.detours import find_detours, has_effect, is_skipped, tried_steps

_MOST_TIPS = 5
_SHORT = 120  # characters of an error or a name in a sentence
_UNKNOWN_REASON = "the run was judged a failure; the log gives no reason"


class ExtractiveSummarizer(Summarizer):
    """Keeps the steps that worked, masks the intent's values, and tells of errors that were met."""

    name = "extractive"

    def summary(self, trajectory: Trajectory) -> Summary:
        failed = trajectory.outcome.success is False
        found = trajectory.detours
        detours = {} if failed else find_detours(trajectory) if found is None else found
        worked = tuple(step for step in trajectory.steps if step.ok and has_effect(step))
        way = tuple(step for step in worked if step.step_number not in detours) or worked
        steps = tried_steps(trajectory.steps) if failed else way
        if not steps and not failed:
            why = "the log names no executed action that worked" if trajectory.steps else "the log holds no step"
            raise DataError(f"nothing to learn: {why}", file=source_of(trajectory), code="E_EMPTY")
        # the judge's words, else the last error
        errors = [step.error for step in trajectory.steps if step.error and not is_skipped(step)]
        reason = (trajectory.outcome.failure_reason or [_UNKNOWN_REASON, *errors][-1]) if failed else None
        dropped = len(trajectory.steps) - len(steps)
        return Summary(
            by=self.name, intent=Request.parse(trajectory.task).template.strip() or "unnamed task",
            steps=steps, tips=(*trajectory.tips, *_tips(trajectory.steps, reason)),
            preconditions=tuple(_preconditions(trajectory, steps)),
            avoid_when=(reason,) if reason else tuple(_missing_controls(trajectory.steps)),
            failure_reason=reason, notes=(f"steps:dropped:{dropped}",) if dropped else (), detours=detours,
        )  # fmt: skip


def _tips(steps: Sequence[Step], reason: str | None) -> list[str]:
    """Of a failed run what to avoid; of another what worked where something had failed."""
    tried = [step for step in steps if has_effect(step) and not is_skipped(step)]
    tips = [f"Avoid {_described(step)}: {_short(step.error)}" for step in tried if step.error]
    if reason is None:
        tips = list(_recoveries(tried))
    elif not tips:
        tips = [f"Avoid this way: {_short(reason)}"]
    return list(dict.fromkeys(tips))[:_MOST_TIPS]


def _recoveries(steps: Sequence[Step]) -> Iterator[str]:
    for number, step in enumerate(steps):
        after = next((later for later in steps[number + 1 :] if later.ok), None)
        if step.error is None or after is None:
            continue
        same = (after.action_type, after.target_control) == (step.action_type, step.target_control)
        cure = "it worked when tried again" if same else f"{_described(after)} worked then"
        yield f"{_described(step)} failed ({_short(step.error)}); {cure}."


def _preconditions(trajectory: Trajectory, steps: Sequence[Step]) -> Iterator[str]:
    applications = [*(step.application for step in steps if step.application), *trajectory.applications]
    if applications:
        yield f"{applications[0]} is open"
    first = steps[0].target_control if steps else None
    if first and first.name:
        name, kind = _short(first.name), f" ({first.type})" if first.type else ""
        is_window = (first.type or "").casefold() == "window"
        yield f'the window "{name}" is open' if is_window else f'"{name}"{kind} is on the screen'


def _missing_controls(steps: Sequence[Step]) -> Iterator[str]:
    signs = ("not found", "no elements", "not available", "not visible", "does not exist")
    for step in steps:
        if step.error and step.target_control.name and any(sign in step.error.casefold() for sign in signs):
            yield f'"{_short(step.target_control.name)}" is not on the screen'


def _described(step: Step) -> str:
    name = step.target_control.name
    return f'{step.action_type} on "{_short(name)}"' if name else step.action_type


def _short(text: str) -> str:
    return clip(" ".join(text.split()), _SHORT)
