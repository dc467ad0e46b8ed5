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
    clean = run.redact_record(_brief(experience, observations))
    fitting = clean
    while len(fitting.model_dump_json(exclude_defaults=True)) > MAX_RECORD_BYTES * 3 // 4:  # the rest is for escapes
        steps = fitting.action.steps
        seen = any(step.observation for step in steps)
        shorter = tuple(_short(step, "none", False) for step in steps) if seen else steps[: len(steps) // 2]
        if (len(shorter) == len(steps) and not seen) or not steps:
            break
        fitting = fitting.model_copy(update={"action": fitting.action.model_copy(update={"steps": shorter})})
    if fitting is not clean:
        notes = (
            *fitting.provenance.notes,
            f"{SHORTENED}:{len(fitting.action.steps)} of {len(clean.action.steps)} steps",
        )
        fitting = fitting.model_copy(update={"provenance": fitting.provenance.model_copy(update={"notes": notes})})
    return experience if fitting == experience else fitting


def _brief(experience: Experience, observations: KeepObservations) -> Experience:
    steps = experience.action.steps
    short = tuple(_short(step, observations, step is steps[-1]) for step in steps)
    if all(new is old for new, old in zip(short, steps, strict=True)):
        return experience
    return experience.model_copy(update={"action": experience.action.model_copy(update={"steps": short})})


def _short(step: Step, observations: KeepObservations, last: bool) -> Step:
    seen = {"none": "", "short": one_sentence(step.observation, SENTENCE), "full": step.observation}[observations]
    if step.result == NOT_EXECUTED or last:
        result = one_sentence(step.result, SENTENCE)
    else:
        result = "success" if step.ok else "failed"
    error = step.error and one_sentence(step.error, SENTENCE)
    same = (seen, result, error) == (step.observation, step.result, step.error)
    return step if same else step.model_copy(update={"observation": seen, "result": result, "error": error})
