"""The gate before every store: a record without typed text and secrets, and with little free text."""

from __future__ import annotations

from typing import Literal

from ufo_experience.redact import run
from ufo_experience.redact.text import one_sentence
from ufo_experience.schema import MAX_RECORD_BYTES, NOT_EXECUTED, Experience, Step

KeepObservations = Literal["none", "short", "full"]
SENTENCE = 120  # characters of what is kept of an observation, a result and an error
SHORTENED = "run:shortened"


def redact_record(experience: Experience, observations: KeepObservations = "short") -> Experience:
    """A record as a store may keep it, whoever made it and however it came. Idempotent.

    Of each step one sentence of what was seen is kept (`observations`: "none", "short" or "full"), of its result only
    how the last one ended. A record that is too large loses what was seen, then its last steps; a note says so.
    """
    clean = run.redact_record(_with_steps(experience, _brief(experience.action.steps, observations)))
    fitting, steps = clean, clean.action.steps
    while steps and len(fitting.model_dump_json(exclude_defaults=True)) > MAX_RECORD_BYTES * 3 // 4:  # rest: escapes
        seen = any(step.observation for step in steps)
        steps = _brief(steps, "none") if seen else steps[: len(steps) // 2]
        fitting = _with_steps(clean, steps)
    if fitting is not clean:
        note = f"{SHORTENED}:{len(steps)} of {len(clean.action.steps)} steps"
        provenance = fitting.provenance.model_copy(update={"notes": (*fitting.provenance.notes, note)})
        fitting = fitting.model_copy(update={"provenance": provenance})
    return experience if fitting == experience else fitting


def _with_steps(experience: Experience, steps: tuple[Step, ...]) -> Experience:
    return experience.model_copy(update={"action": experience.action.model_copy(update={"steps": steps})})


def _brief(steps: tuple[Step, ...], observations: KeepObservations) -> tuple[Step, ...]:
    return tuple(_short(step, observations, step is steps[-1]) for step in steps)


def _short(step: Step, observations: KeepObservations, last: bool) -> Step:
    seen = {"none": "", "short": one_sentence(step.observation, SENTENCE), "full": step.observation}[observations]
    result = "success" if step.ok else "failed"
    if step.result == NOT_EXECUTED or last:
        result = one_sentence(step.result, SENTENCE)
    error = step.error and one_sentence(step.error, SENTENCE)
    return step.model_copy(update={"observation": seen, "result": result, "error": error})
