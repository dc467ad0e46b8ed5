"""What every summarizer shares: the base class, the id of an experience, and how a summary becomes one."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

from ufo_experience import schema
from ufo_experience.actions import is_blind
from ufo_experience.costs import Spending
from ufo_experience.ids import content_hash, content_id
from ufo_experience.redact import redact
from ufo_experience.schema import Experience, Step, Trajectory, Trust, clip, validate
from ufo_experience.trust.policy import missing

_PATH_STEPS = 10
# Arguments that say where on one screen a control stood; `ref` and its like are the marks of one look at a page.
_PLACES = frozenset("x y coordinate coordinates position point index element_index".split())
_MARKS = frozenset("ref element_ref target bid".split())
_ENVIRONMENTS = {".exe": "windows", "linux": "linux", "mobile": "android", "android": "android", "http": "web"}
_MARK = re.compile(r"[a-z]{0,2}\d{1,6}")


@dataclass(frozen=True)
class Summary:
    """What a summarizer decides. `steps` are steps of the trajectory, in its order, with their own numbers; `detours`
    are the numbers of others, each with why it is none of them. `by` is the summarizer whose words these are.
    """

    by: str
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


class Summarizer(ABC):
    """Makes an experience of a trajectory; `name` is the spec that opens it: `extractive`, `openai:<model>`."""

    name: str

    @property
    def spending(self) -> Spending:
        """Requests, tokens and cost so far; zeros offline."""
        return Spending()

    @abstractmethod
    def summary(self, trajectory: Trajectory) -> Summary:
        """What is kept of a redacted trajectory. Raises as `summarize`."""

    def summarize(self, trajectory: Trajectory) -> Experience:
        """Summarize one trajectory; one that was not redacted is redacted first.

        Raises:
            DataError: `E_EMPTY`, nothing in it worked and nobody judged it a failure. Nothing was sent.
        """
        clean = redact(trajectory) if trajectory.sensitive else trajectory
        return build_experience(clean, self.summary(clean))


def experience_id(trajectory: Trajectory) -> str:
    """The id of what is learned from a redacted trajectory: 32 hex digits, made from content.

    The same log read again, or copied elsewhere, gives the same id, whoever summarizes it. A sub-task and the whole
    request differ, and so do two runs that did the same: by their session key.
    """
    steps = [
        [s.action_type, s.target_control.name, s.target_control.type, s.parameters, s.ok] for s in trajectory.steps
    ]
    return content_id([trajectory.session, trajectory.request, trajectory.subtask, steps, trajectory.outcome.success])


def build_experience(trajectory: Trajectory, summary: Summary) -> Experience:
    """Put a summary of a redacted trajectory into the form that is kept.

    Steps are numbered again from 1; `source` still names their lines. What came from the log or a model is checked
    against the schema once more. A success that does not say what was asked, what was done or to what stays
    `observed`, whoever judged it.
    """
    steps = tuple(_portable(summary.steps))
    # where most of the steps happened; the first one among equals
    counts = Counter(step.application for step in steps if step.application) or Counter(trajectory.applications[:1])
    application = counts.most_common(1)[0][0] if counts else None
    way = [f"{step.action_type}({step.target_control.name})" for step in steps[:_PATH_STEPS]]
    action = schema.Action(
        strategy=clip(" > ".join([*way, "…"] if len(steps) > _PATH_STEPS else way)),
        skill=application or trajectory.agent or "", steps=steps,
        plan=trajectory.plan, tips=_lines(summary.tips), cut=tuple(_cut(trajectory, summary)),
    )  # fmt: skip
    names = " ".join([*trajectory.applications, trajectory.agent or ""]).casefold()
    scope = "whole request" if trajectory.subtask is None else "sub-task"
    state = schema.State(
        task=clip(summary.intent), request=trajectory.task, wordings=summary.wordings, application=application,
        env=trajectory.env or next((env for clue, env in _ENVIRONMENTS.items() if clue in names), None),
        tags=tuple(dict.fromkeys([scope, *trajectory.applications]))[: schema.MAX_TAGS],
    )  # fmt: skip
    reason = summary.failure_reason or trajectory.outcome.failure_reason
    outcome = trajectory.outcome.model_copy(update={"failure_reason": clip(reason) if reason else None})
    slots = _slots(trajectory, summary, (state, action, outcome))
    # somebody other than the agent judged a whole run
    trust = Trust.VERIFIED if trajectory.outcome.is_judged and trajectory.complete else Trust.OBSERVED
    stumbled = any(not step.ok for step in trajectory.steps)
    # how much a run has to teach, before anyone used it
    salience = 0.5 + 0.2 * (trust is Trust.VERIFIED) + 0.1 * stumbled - 0.2 * (not trajectory.complete)
    times = [trajectory.started_at, *(step.timestamp for step in trajectory.steps), datetime.now(timezone.utc)]
    values = {
        "id": experience_id(trajectory),
        "state": state,
        "action": action,
        "outcome": outcome,
        "salience": round(salience, 2),
        "episode_id": trajectory.session or None,
        "created_at": next(filter(None, times)),
        "trust": trust,
        "provenance": _provenance(trajectory, summary),
        "slots": slots,
        "digests": {slot: value for slot, value in trajectory.digests.items() if slot in slots},
        "preconditions": _lines(summary.preconditions),
        "avoid_when": _lines(summary.avoid_when),
    }
    experience = validate(Experience, values, file=source_of(trajectory))
    return experience.model_copy(update={"trust": Trust.OBSERVED}) if missing(experience) else experience


def _cut(trajectory: Trajectory, summary: Summary) -> Iterator[schema.Cut]:
    """What was left out and why, each with the number of the step of the way it came after."""
    kept = [step.step_number for step in summary.steps]
    for step in trajectory.steps:
        if step.step_number not in kept:
            after = sum(number < step.step_number for number in kept)
            why = summary.detours.get(step.step_number, "not needed")
            yield schema.Cut(after=after, action=step.action_type, control=step.target_control.name, why=why)


def _provenance(trajectory: Trajectory, summary: Summary) -> schema.Provenance:
    blind = sum(map(is_blind, summary.steps))
    flags = {
        f"targets:unnamed:{blind}": bool(blind),
        "log:incomplete": not trajectory.complete,
        "log:truncated": trajectory.truncated,
        f"log:problems:{len(trajectory.problems)}": bool(trajectory.problems),
    }
    return schema.Provenance(
        source=source_of(trajectory) or "",
        content_hash=content_hash(trajectory.model_dump(mode="json", exclude={"source_files", "problems"})),
        format=trajectory.format, agent=trajectory.agent, origin="log", session=trajectory.session,
        summarizer=summary.by, notes=_lines([*(flag for flag, is_set in flags.items() if is_set), *summary.notes]),
    )  # fmt: skip


def source_of(trajectory: Trajectory) -> str | None:
    return trajectory.source_files[0] if trajectory.source_files else None


def _slots(trajectory: Trajectory, summary: Summary, kept: Sequence[schema.Model]) -> dict[str, str]:
    """The slots that occur in what is kept, with what a model said they mean."""
    meanings = dict(summary.meanings)
    text = " ".join(part.model_dump_json() for part in kept) if trajectory.slots else ""
    return {
        slot: f"{kind} ({meanings[slot]})" if slot in meanings else kind
        for slot, kind in trajectory.slots.items()
        if "{{" + slot + "}}" in text
    }


def _lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(clip(line, schema.MAX_TEXT) for line in dict.fromkeys(lines) if line.strip())[: schema.MAX_TAGS]


def _portable(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, numbered from 1; what one says of another's number goes along.

    One on a named control goes without its place on one screen; an option that is chosen by its number keeps it.
    """
    for number, step in enumerate(steps, start=1):
        seen, kept = step.seen, step.parameters
        if seen:
            seen = seen.model_copy(update={"after": sum(one.step_number <= seen.after for one in steps)})
        if step.target_control.name:
            by_number = step.action_type.startswith(("select", "choose"))
            kept = {name: value for name, value in kept.items() if not _is_fleeting(name, value, by_number)}
        yield step.model_copy(update={"step_number": number, "seen": seen, "parameters": kept})


def _is_fleeting(name: str, value: object, by_number: bool) -> bool:
    """True for a place on one screen, and for a mark of one look at a page."""
    if name in _PLACES and isinstance(value, (int, float, list, tuple)):
        return not (by_number and "index" in name)
    return name in _MARKS and isinstance(value, str) and _MARK.fullmatch(value) is not None
