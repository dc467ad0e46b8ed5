"""How one experience looks as a few-shot example: as a JSON record of the data block, or as UFO's example dict.

Both show as much as fits under the cap of a record: first with observations, then shorter, at last a few bare steps.
All text is cleaned on the way (`framing.clean`). Tips and other free text are shown only of approved records.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ufo_experience.formats.ufo_example import plan_lines, to_ufo_example
from ufo_experience.prompt.data_block import clean, clean_json, encode, wording
from ufo_experience.schema import Experience, Hit, Provenance, Step, Trust

Fits = Callable[[str], bool]

_STEPS_KEY = {True: "successful_steps", False: "tried_and_failed", None: "steps_of_unknown_outcome"}
_OUTCOME = {True: "success", False: "failure", None: "unknown"}


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
    """A hit whose record holds only what may be shown (`trust.values`), those of its steps that are to be shown, and
    by number of the step why a person is asked before it, and how many of how many runs did it."""

    hit: Hit
    steps: tuple[Step, ...]
    confirm: Mapping[int, str] = field(default_factory=dict)
    optional: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def experience(self) -> Experience:
        return self.hit.experience


def text_example(example: Example, fits: Fits, now: datetime) -> str:
    """The record as JSON text, in the most detail that fits; in the least if none does."""
    for detail in _DETAILS:
        text = encode(_record(example, detail, now))
        if fits(text):
            break
    return text


def _record(example: Example, detail: _Detail, now: datetime) -> dict[str, Any]:
    """What is shown of an experience; empty fields are left out."""
    experience, hit = example.experience, example.hit
    state, action, outcome = experience.state, experience.action, experience.outcome
    approved = experience.trust is Trust.APPROVED
    fields = {
        "task": state.task,
        "similarity": float(hit.score) if math.isfinite(hit.score) else None,
        "ranked_by": hit.ranked_by,
        "application": state.application,
        "env": state.env,
        "preconditions": experience.preconditions,
        "do_not_use_when": experience.avoid_when,
        "strategy": None if example.steps else action.strategy,  # steps say it better
        "skill": None if example.steps else action.skill,
        "parameters": action.parameters,
        _STEPS_KEY[outcome.success]: [_step(step, example, detail) for step in example.steps[: detail.steps]],
        "steps_not_shown": max(0, len(example.steps) - detail.steps) or None,
        "reason": (outcome.failure_reason or "not recorded") if experience.is_negative else None,
        "slots": experience.slots,
        "tips": action.tips if approved else (),
        "outcome": _OUTCOME[outcome.success],
        "age": _age(experience.created_at, now),
    }
    kept = {key: value for key, value in fields.items() if value not in (None, "", (), [], {})}
    steps_key = _STEPS_KEY[outcome.success]
    return {
        key: value if key == steps_key else clean_json(value, detail.text, detail.entries)
        for key, value in kept.items()
    }


def _step(step: Step, example: Example, detail: _Detail) -> dict[str, Any]:
    """A step as the seed writes it, and what a follower needs besides: parameters, kind of control, application."""
    action, target = clean(step.action_type, detail.text), clean(step.target_control.name, detail.text)
    observation = clean(step.observation, detail.observation) if detail.observation else ""
    line = f"{step.step_number}. {action}({target})" + (f" - {observation}" if observation else "")
    did, runs = example.optional.get(step.step_number, (0, 0))
    fields = {
        "parameters": step.parameters,
        "control_type": step.target_control.type if detail.observation else None,
        "application": step.application if step.application != example.experience.state.application else None,
        "error": step.error,
        "confirm": "ask the user before this step" if step.step_number in example.confirm else None,
        "optional": f"{runs - did} of {runs} runs did not do this" if runs else None,
    }
    kept = {key: value for key, value in fields.items() if value not in (None, "", {})}
    return {"step": line, **clean_json(kept, detail.text, detail.entries)}


def _age(created: datetime, now: datetime) -> str:
    days = (now - created).days
    return "today" if days < 1 else "1 day" if days == 1 else f"{days} days"


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
    text = clean_json({"Request": entry["request"], "Sub-task": entry["Sub-task"], "Response": response}, detail.text)
    return {**text, "Tips": "\n".join([wording("ufo_tip"), *tips])}


def _without_free_text(experience: Experience, steps: Sequence[Step]) -> Experience:
    """A copy with only `steps`; tips, plan and foreign notes stay only if a person approved the record."""
    if experience.trust is Trust.APPROVED:
        return experience.model_copy(update={"action": experience.action.model_copy(update={"steps": tuple(steps)})})
    action = experience.action.model_copy(update={"steps": tuple(steps), "tips": (), "plan": ()})
    return experience.model_copy(update={"action": action, "provenance": Provenance()})
