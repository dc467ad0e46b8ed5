"""What every summarizer shares: the protocol, the id of an experience, and how a summary becomes one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Protocol

from ufo_experience.actions import is_blind
from ufo_experience.costs import Spending
from ufo_experience.ids import content_hash, content_id
from ufo_experience.redact import redact
from ufo_experience.schema import (
    MAX_TAGS,
    MAX_TEXT,
    Action,
    Cut,
    Experience,
    Model,
    Provenance,
    Seen,
    State,
    Step,
    Trajectory,
    Trust,
    clip,
    validate,
)
from ufo_experience.trust.policy import missing

_PATH_STEPS = 10
# Arguments that say where on one screen a control stood; `ref` and its like are the marks of one look at a page.
_PLACES = frozenset("x y coordinate coordinates position point index element_index".split())
_MARKS = frozenset("ref element_ref target bid".split())
_MARK = re.compile(r"[a-z]{0,2}\d{1,6}")


class Summarizer(Protocol):
    """Makes an experience of a trajectory."""

    @property
    def name(self) -> str:
        """The spec that makes this summarizer again: `extractive`, `openai:<model>`."""
        ...

    @property
    def spending(self) -> Spending:
        """Requests, tokens and cost so far; zeros offline."""
        ...

    def summarize(self, trajectory: Trajectory) -> Experience:
        """Summarize one redacted trajectory.

        Raises:
            DataError: `E_EMPTY`, there is nothing to learn from it.
        """
        ...


@dataclass(frozen=True)
class Summary:
    """What a summarizer decides. `steps` are steps of the trajectory, with their own numbers; `detours` are the numbers
    of others, each with why it is none of them."""

    intent: str
    steps: tuple[Step, ...]
    tips: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    avoid_when: tuple[str, ...] = ()
    failure_reason: str | None = None
    meanings: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    wordings: tuple[str, ...] = ()
    detours: Mapping[int, str] = field(default_factory=dict)


def redacted(trajectory: Trajectory) -> Trajectory:
    """The trajectory itself if it was redacted, else a redacted copy: nothing known to be secret goes further."""
    return redact(trajectory) if trajectory.sensitive else trajectory


def experience_id(trajectory: Trajectory) -> str:
    """The id of what is learned from a redacted trajectory: 32 hex digits, made from content.

    The same log read again, or copied elsewhere, gives the same id, whoever summarizes it. A sub-task and the whole
    request differ, and so do two runs that did the same: by their session key.
    """
    steps = [
        [s.action_type, s.target_control.name, s.target_control.type, s.parameters, s.ok] for s in trajectory.steps
    ]
    return content_id([trajectory.session, trajectory.request, trajectory.subtask, steps, trajectory.outcome.success])


def build_experience(trajectory: Trajectory, summary: Summary, summarizer: str) -> Experience:
    """Put a summary of a redacted trajectory into the form that is kept.

    Steps are numbered again from 1; `source` still names their lines. A success that does not say what was asked, what
    was done or to what stays `observed`, whoever judged it.
    """
    steps = _numbered([_portable(step) for step in summary.steps])
    application = _main_application(trajectory, steps)
    action = Action(
        strategy=_path(steps),
        skill=application or trajectory.agent or "",
        steps=steps,
        plan=trajectory.plan,
        tips=_lines(summary.tips),
        cut=_cut(trajectory, summary),
    )
    state = State(
        task=clip(summary.intent),
        request=trajectory.task,
        wordings=summary.wordings,
        application=application,
        env=trajectory.env or _guess_env(trajectory),
        tags=_tags(trajectory),
    )
    reason = summary.failure_reason or trajectory.outcome.failure_reason
    outcome = trajectory.outcome.model_copy(update={"failure_reason": clip(reason) if reason else None})
    slots = _slots(trajectory, summary, (state, action, outcome))
    judged = trajectory.outcome.is_judged and trajectory.complete  # by someone other than the agent, and a whole run
    values = {
        "id": experience_id(trajectory),
        "state": state,
        "action": action,
        "outcome": outcome,
        "salience": _salience(trajectory, judged),
        "episode_id": trajectory.session or None,
        "created_at": _when(trajectory),
        "trust": Trust.VERIFIED if judged else Trust.OBSERVED,
        "provenance": _provenance(trajectory, summary, summarizer),
        "slots": slots,
        "digests": {slot: value for slot, value in trajectory.digests.items() if slot in slots},
        "preconditions": _lines(summary.preconditions),
        "avoid_when": _lines(summary.avoid_when),
    }
    experience = validate(Experience, values, file=source_of(trajectory))
    incomplete = judged and missing(experience)
    return experience.model_copy(update={"trust": Trust.OBSERVED}) if incomplete else experience


def _numbered(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, numbered from 1; what one says of another's number goes along."""
    old = [step.step_number for step in steps]

    def after(seen: Seen | None) -> Seen | None:
        return seen and seen.model_copy(update={"after": sum(number <= seen.after for number in old)})

    numbered = enumerate(steps, start=1)
    return tuple(step.model_copy(update={"step_number": n, "seen": after(step.seen)}) for n, step in numbered)


def _portable(step: Step) -> Step:
    """A step on a named control without its place on one screen; an option that is chosen by its number keeps it."""
    by_number = step.action_type.startswith(("select", "choose"))

    def is_place(name: str, value: object) -> bool:
        if name in _MARKS:
            return isinstance(value, str) and _MARK.fullmatch(value) is not None
        is_number = name in _PLACES and isinstance(value, (int, float, list, tuple))
        return is_number and not (by_number and "index" in name)

    gone = [name for name, value in step.parameters.items() if step.target_control.name and is_place(name, value)]
    kept = {name: value for name, value in step.parameters.items() if name not in gone}
    return step.model_copy(update={"parameters": kept}) if gone else step


def _cut(trajectory: Trajectory, summary: Summary) -> tuple[Cut, ...]:
    """What was left out and why, each with the number of the step of the way it came after."""
    kept = [step.step_number for step in summary.steps]
    return tuple(
        Cut(
            after=sum(number < step.step_number for number in kept),
            action=step.action_type,
            control=step.target_control.name,
            why=summary.detours.get(step.step_number, "not needed"),
        )
        for step in trajectory.steps
        if step.step_number not in kept
    )


def _salience(trajectory: Trajectory, judged: bool) -> float:
    """How much a run has to teach, before anyone used it: more if it was judged, or erred; less if the log is short."""
    stumbled = any(not step.ok for step in trajectory.steps)
    return round(0.5 + 0.2 * judged + 0.1 * stumbled - 0.2 * (not trajectory.complete), 2)


def _main_application(trajectory: Trajectory, steps: tuple[Step, ...]) -> str | None:
    """Where most of the steps happened; the first one among equals."""
    counts = Counter(step.application for step in steps if step.application)
    if counts:
        return counts.most_common(1)[0][0]
    return trajectory.applications[0] if trajectory.applications else None


def _path(steps: tuple[Step, ...]) -> str:
    """The way taken, short enough to compare: `click_input(File) > set_edit_text(Name)`."""
    shown = [f"{s.action_type}({s.target_control.name})" for s in steps[:_PATH_STEPS]]
    return clip(" > ".join([*shown, "…"] if len(steps) > _PATH_STEPS else shown))


def _guess_env(trajectory: Trajectory) -> str | None:
    names = " ".join([*trajectory.applications, trajectory.agent or ""]).casefold()
    clues = {".exe": "windows", "linux": "linux", "mobile": "android", "android": "android", "http": "web"}
    return next((env for clue, env in clues.items() if clue in names), None)


def _tags(trajectory: Trajectory) -> tuple[str, ...]:
    scope = "whole request" if trajectory.subtask is None else "sub-task"
    return tuple(dict.fromkeys([scope, *trajectory.applications]))[:MAX_TAGS]


def _when(trajectory: Trajectory) -> datetime:
    """When the run took place, as far as the log says; else now."""
    times = [step.timestamp for step in trajectory.steps if step.timestamp]
    return trajectory.started_at or (times[0] if times else datetime.now(timezone.utc))


def _provenance(trajectory: Trajectory, summary: Summary, summarizer: str) -> Provenance:
    blind = sum(map(is_blind, summary.steps))
    flags = {
        f"targets:unnamed:{blind}": bool(blind),
        "log:incomplete": not trajectory.complete,
        "log:truncated": trajectory.truncated,
        f"log:problems:{len(trajectory.problems)}": bool(trajectory.problems),
    }
    return Provenance(
        source=source_of(trajectory) or "",
        content_hash=content_hash(trajectory.model_dump(mode="json", exclude={"source_files", "problems"})),
        format=trajectory.format,
        agent=trajectory.agent,
        origin="log",
        session=trajectory.session,
        summarizer=summarizer,
        notes=_lines([*(flag for flag, is_set in flags.items() if is_set), *summary.notes]),
    )


def source_of(trajectory: Trajectory) -> str | None:
    """The file a run was read from."""
    return trajectory.source_files[0] if trajectory.source_files else None


def _slots(trajectory: Trajectory, summary: Summary, kept: Sequence[Model]) -> dict[str, str]:
    """The slots that occur in what is kept, with what a model said they mean."""
    meanings = dict(summary.meanings)
    text = " ".join(part.model_dump_json() for part in kept) if trajectory.slots else ""
    return {
        slot: f"{kind} ({meanings[slot]})" if slot in meanings else kind
        for slot, kind in trajectory.slots.items()
        if "{{" + slot + "}}" in text
    }


def _lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(clip(line, MAX_TEXT) for line in dict.fromkeys(lines) if line.strip())[:MAX_TAGS]
