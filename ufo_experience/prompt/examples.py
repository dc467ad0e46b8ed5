"""How one experience looks as a few-shot example: as lines of the data block, or as UFO's example dict.

Both show as much as fits under the cap of a record: first with observations, then shorter, at last a few bare steps.
All text is cleaned on the way (`cleaning.clean`). Tips and other free text are shown only of approved records.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ufo_experience.integrations.formats.ufo_example import plan_lines, to_ufo_example
from ufo_experience.prompt.cleaning import clean, clean_json, inert
from ufo_experience.prompt.data_block import wording
from ufo_experience.prompt.labels import Labels
from ufo_experience.prompt.notation import PROSE, head_line, prose, step_line
from ufo_experience.schema import Experience, Hit, Provenance, Step, Trust
from ufo_experience.trust.values import asked_first, without_addresses

Fits = Callable[[str], bool]

OLD_MONTHS = 6
_MATCHES = ((0.75, "strong"), (0.5, "good"), (-math.inf, "weak"))
_USUAL: dict[str, Any] = {"button": "left", "clear_current_text": True, "control_focus": True}
_PIXELS = frozenset(
    "x y x1 y1 x2 y2 coordinate coordinates position start_x start_y end_x end_y index element_index".split()
)


@dataclass(frozen=True)
class _Detail:
    """How much of a record is shown: characters of a text and of an observation, steps, entries of a list."""

    text: int
    observation: int
    steps: int
    entries: int


_DETAILS = (
    _Detail(400, 160, 40, 12),
    _Detail(200, 60, 24, 8),
    *(_Detail(100, 0, steps, 4) for steps in (40, 32, 24, 16, 12, 8)),
    _Detail(40, 0, 4, 2),
)


@dataclass(frozen=True)
class Example:
    """A hit whose record holds only what may be shown for `task` (`trust.values`), those of its steps that are to be
    shown, and by number of the step why a person is asked before it and how many of how many runs did it. `differs`
    says where others of the same words went another way."""

    hit: Hit
    steps: tuple[Step, ...]
    task: str = ""
    confirm: Mapping[int, str] = field(default_factory=dict)
    optional: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    differs: str = ""

    @property
    def experience(self) -> Experience:
        return self.hit.experience


def text_example(example: Example, fits: Fits, now: datetime) -> str:
    """The example without its number, in the most detail that fits; in the least if none does."""
    for detail in _DETAILS:
        text = _lines(example, detail, now)
        if fits(text):
            break
    return text


def match_word(score: float) -> str | None:
    """How well the task of an example fits, in a word: a score is the estimated probability that it helps."""
    if not math.isfinite(score):
        return None
    return next(word for least, word in _MATCHES if score >= least)


def _lines(example: Example, detail: _Detail, now: datetime) -> str:
    """What is shown of an experience; empty fields are left out, and so is what another line says already."""
    experience = example.experience
    state, action, outcome = experience.state, experience.action, experience.outcome
    labels = Labels(experience, example.task)
    reason = (outcome.failure_reason or "not recorded") if experience.is_negative else None
    opened = f"{state.application} is open"
    fields: dict[str, Iterable[str | None]] = {
        "task": [labels.task],
        "preconditions": [text for text in experience.preconditions if text != opened][: detail.entries],
        "do_not_use_when": [text for text in experience.avoid_when if text != reason][: detail.entries],
        "strategy": [None if example.steps else action.strategy],  # steps say it better
        "skill": [None if example.steps else action.skill],
    }
    closing: dict[str, Iterable[str | None]] = {
        "differs": [example.differs],
        "reason": [reason],
        "tips": action.tips[: detail.entries] if experience.trust is Trust.APPROVED else (),
    }
    head = head_line(match_word(example.hit.score), state.application, outcome.success, _age(experience, now))
    lines = [head, *_prose_lines(fields, labels, detail)]
    if action.parameters:
        shown = _filled(clean_json(action.parameters, detail.text, detail.entries), labels)
        lines.append(f"Parameters: {inert(json.dumps(shown, ensure_ascii=False))}")
    lines += [_step(step, example, labels, detail) for step in example.steps[: detail.steps]]
    left = len(example.steps) - detail.steps
    if left > 0:
        lines.append(f"({left} more step{'s' if left > 1 else ''})")
    return "\n".join([*lines, *_prose_lines(closing, labels, detail)])


def _prose_lines(fields: Mapping[str, Iterable[str | None]], labels: Labels, detail: _Detail) -> list[str]:
    said = [(name, prose(labels.fill(text), detail.text)) for name, some in fields.items() for text in some if text]
    return [f"{PROSE[name]}: {text}" for name, text in said if text]


def _step(step: Step, example: Example, labels: Labels, detail: _Detail) -> str:
    """A step as one line, without what is always so: default parameters, the application of the whole run."""
    parameters = {key: value for key, value in step.parameters.items() if _says_something(key, value)}
    application = step.application if step.application != example.experience.state.application else None
    return step_line(
        step.step_number,
        clean(step.action_type, detail.text),
        clean(labels.fill(step.target_control.name), detail.text),
        clean(step.target_control.type or "", detail.text) if detail.observation else None,
        _filled(clean_json(parameters, detail.text, detail.entries), labels),
        application=clean(application or "", detail.text),
        optional=example.optional.get(step.step_number),
        confirm=step.step_number in example.confirm,
        error=clean(labels.fill(step.error or ""), detail.text),
        observation=prose(labels.fill(step.observation), detail.observation) if detail.observation else "",
    )


def _says_something(key: str, value: Any) -> bool:
    """False for a parameter that is empty or as it always is, and for where on a screen something stood."""
    if value in (None, "", (), [], {}, False) or _USUAL.get(key) == value:
        return False
    return not (key in _PIXELS and isinstance(value, (int, float, list)))


def _filled(value: Any, labels: Labels) -> Any:
    """A JSON value with the placeholders in its texts replaced."""
    if isinstance(value, str):
        return labels.fill(value)
    if isinstance(value, Mapping):
        return {key: _filled(item, labels) for key, item in value.items()}
    return [_filled(item, labels) for item in value] if isinstance(value, list) else value


def _age(experience: Experience, now: datetime) -> str | None:
    """How old a record is, once that tells something: programs change."""
    months = (now - experience.created_at).days // 30
    return f"{months} months" if months >= OLD_MONTHS else None


def ufo_example(example: Example, fits: Fits, now: datetime) -> dict[str, Any]:
    """A few-shot example as UFO's main branch writes them: snake case, `action` an object."""
    for detail in _DETAILS:
        entry = _ufo_entry(example, detail)
        if fits(json.dumps(entry)):
            break
    return entry


def _ufo_entry(example: Example, detail: _Detail) -> dict[str, Any]:
    shown = _without_free_text(example.experience, example.steps[: detail.steps])
    entry = to_ufo_example(shown)
    first = entry["example"]
    control = {"name": first["ControlText"]} if first["ControlText"] else {}
    arguments = clean_json(first["Args"], detail.text, detail.entries)
    response = {
        "observation": first["Observation"],
        "thought": first["Thought"],
        "action": {"function": first["Function"], "arguments": control | arguments, "status": first["Status"]},
        "plan": plan_lines(shown)[: detail.steps],
        "comment": first["Comment"],
    }
    tips = clean_json(shown.action.tips, detail.text, detail.entries)
    asked = {"Request": entry["request"], "Sub-task": entry["Sub-task"]}
    if example.experience.trust is not Trust.APPROVED:
        asked = {key: without_addresses(asked_first(value), example.task) for key, value in asked.items()}
    text = clean_json({**asked, "Response": response}, detail.text)
    return {**text, "Tips": "\n".join([wording("ufo_tip"), *tips])}


def _without_free_text(experience: Experience, steps: Sequence[Step]) -> Experience:
    """A copy with only `steps`; tips, plan and foreign notes stay only if a person approved the record."""
    if experience.trust is Trust.APPROVED:
        return experience.model_copy(update={"action": experience.action.model_copy(update={"steps": tuple(steps)})})
    action = experience.action.model_copy(update={"steps": tuple(steps), "tips": (), "plan": ()})
    return experience.model_copy(update={"action": action, "provenance": Provenance()})
