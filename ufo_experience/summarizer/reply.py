"""What a model may answer, and the checks that keep it to the log."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from ufo_experience.redaction import redact_text
from ufo_experience.schema import Step, Trajectory, clip
from ufo_experience.summarizer.base import Summary
from ufo_experience.summarizer.extractive import extract
from ufo_experience.summarizer.steps import has_effect, is_skipped
from ufo_experience.text.intent import find_slots, mask_slots

_MOST_SENTENCES = 5
_SENTENCE_LENGTH = 300
_MEANING_LENGTH = 60
_LEAST_VALUE = 4
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Sentence(Strict):
    """A sentence, and the controls and windows it names."""

    text: str
    controls: list[str]


class SlotMeaning(Strict):
    """What a placeholder stands for."""

    slot: str
    meaning: str


class Reply(Strict):
    """The answer a model gives, as a strict schema."""

    intent: str
    steps: list[int]
    slots: list[SlotMeaning]
    tips: list[Sentence]
    preconditions: list[Sentence]
    avoid_when: list[Sentence]
    failure_reason: str | None


class UnusableReply(Exception):  # noqa: N818 (never leaves the summarizer)
    """The answer does not keep to the log; `reason` is a word for the record's notes."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def summary_of(reply: Reply, trajectory: Trajectory) -> Summary:
    """Turn an answer into a summary whose steps are those of the log.

    Raises:
        UnusableReply: a step that is not in the log, a control that is not, no steps left, or no intent.
    """
    steps = _kept_steps(reply.steps, trajectory)
    _check_controls(reply, trajectory)
    failed = trajectory.outcome.success is False
    reason = extract(trajectory).failure_reason
    if failed and reply.failure_reason:
        _check_quotes([reply.failure_reason], trajectory)
        reason = _sentence(reply.failure_reason)
    return Summary(
        intent=_intent(reply.intent, trajectory),
        steps=steps,
        tips=_sentences(reply.tips),
        preconditions=_sentences(reply.preconditions),
        avoid_when=_sentences(reply.avoid_when),
        failure_reason=reason,
        meanings=_meanings(reply.slots),
        notes=(f"steps:dropped:{len(trajectory.steps) - len(steps)}",) if len(steps) < len(trajectory.steps) else (),
    )


def _kept_steps(numbers: list[int], trajectory: Trajectory) -> tuple[Step, ...]:
    """The steps with these positions (from 1) in the log; order and repeats are the log's."""
    if not all(1 <= number <= len(trajectory.steps) for number in numbers):
        raise UnusableReply("unknown_step")
    failed = trajectory.outcome.success is False
    chosen = [trajectory.steps[number - 1] for number in sorted(set(numbers))]
    kept = tuple(step for step in chosen if has_effect(step) and not is_skipped(step) and (step.ok or failed))
    if not kept and trajectory.steps:
        raise UnusableReply("no_steps")
    return kept


def _check_controls(reply: Reply, trajectory: Trajectory) -> None:
    """Every control a sentence names must be one of the log, also when it is only quoted."""
    sentences = [*reply.tips, *reply.preconditions, *reply.avoid_when]
    known = {_plain(name) for name in _names(trajectory)}
    if any(_plain(name) not in known for sentence in sentences for name in sentence.controls):
        raise UnusableReply("unknown_control")
    _check_quotes([sentence.text for sentence in sentences], trajectory)


def _check_quotes(texts: list[str], trajectory: Trajectory) -> None:
    logged = _plain(trajectory.model_dump_json(exclude={"problems", "source_files"}).replace('\\"', '"'))
    for text in texts:
        for match in _QUOTED.finditer(text):
            if _plain(next(filter(None, match.groups()))) not in logged:
                raise UnusableReply("unknown_control")


def _names(trajectory: Trajectory) -> Iterable[str]:
    yield from trajectory.applications
    for step in trajectory.steps:
        yield from (step.target_control.name, step.application or "")


def _intent(text: str, trajectory: Trajectory) -> str:
    """The intent, its values masked by us if the model left one in."""
    intent = _sentence(text)
    if not intent:
        raise UnusableReply("no_intent")
    application = {_plain(name) for name in trajectory.applications}
    values = [slot.value for slot in find_slots(trajectory.task) if slot.kind != "name"]
    leaked = [v for v in values if len(v) >= _LEAST_VALUE and _plain(v) not in application and v in intent]
    return mask_slots(intent) if leaked else intent


def _meanings(slots: list[SlotMeaning]) -> tuple[tuple[str, str], ...]:
    cleaned = ((slot.slot.strip("{}"), re.sub(r"[()]", "", _sentence(slot.meaning))) for slot in slots)
    return tuple((slot, meaning) for slot, meaning in cleaned if meaning and len(meaning) <= _MEANING_LENGTH)


def _sentences(sentences: list[Sentence]) -> tuple[str, ...]:
    return tuple(_sentence(sentence.text) for sentence in sentences[:_MOST_SENTENCES] if sentence.text.strip())


def _sentence(text: str) -> str:
    return clip(redact_text(" ".join(text.split())), _SENTENCE_LENGTH)


def _plain(text: str) -> str:
    return " ".join(text.replace("\u200b", "").casefold().split())
