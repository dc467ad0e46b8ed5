"""The log of a run as a model sees it: data between two markers, within a budget of tokens."""

from __future__ import annotations

import json
from typing import Any

from pydantic import JsonValue

from ufo_experience.redact import redact_text
from ufo_experience.request import estimate_tokens
from ufo_experience.schema import Step, Trajectory

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_RESULT_LENGTH = 200


def render_log(trajectory: Trajectory, nonce: str, budget: int) -> tuple[str, str | None]:
    """The log between two markers with `nonce`, and what was left out to keep to `budget` tokens.

    Observations go first, then results and plan, then steps in the middle (the numbers of the others stay). Inside,
    `<`, `>` and `&` are escaped, so that nothing in a log can write a marker.
    """
    whole = [_step(n, step) for n, step in enumerate(trajectory.steps, 1)]
    brief = [{key: value for key, value in step.items() if key != "observation"} for step in whole]
    bare = [{key: value for key, value in step.items() if key != "result"} for step in brief]
    plan = [_clean(line) for line in trajectory.plan]
    for cut, steps, lines in ((None, whole, plan), ("observations", brief, plan), ("results", bare, [])):
        text = _frame(trajectory, steps, lines, nonce)
        if estimate_tokens(text) <= budget:
            return text, cut
    keep = len(bare)
    while keep > 2 and estimate_tokens(text) > budget:
        keep = max(2, keep * 3 // 4)
        text = _frame(trajectory, bare[: keep // 2] + bare[len(bare) - (keep - keep // 2) :], [], nonce)
    return text, "steps"


def _frame(trajectory: Trajectory, steps: list[dict[str, Any]], plan: list[str], nonce: str) -> str:
    outcome = trajectory.outcome
    log = {
        "request": _clean(trajectory.request),
        "sub_task": None if trajectory.subtask is None else _clean(trajectory.subtask),
        "applications": [_clean(name) for name in trajectory.applications],
        "success": outcome.success,
        "failure_reason": None if outcome.failure_reason is None else _clean(outcome.failure_reason),
        "placeholders": trajectory.slots,
        "plan": plan,
        "steps": steps,
    }
    body = json.dumps(log, ensure_ascii=False).translate(_ESCAPES)
    return f"<<<log {nonce}>>>\n{body}\n<<<end-log {nonce}>>>"


def _step(number: int, step: Step) -> dict[str, Any]:
    """One step, without what is empty. Texts pass redaction once more on their way out."""
    control = step.target_control
    shown: dict[str, Any] = {
        "number": number,
        "observation": _clean(step.observation),
        "action": _clean(step.action_type),
        "control": _clean(control.name),
        "control_type": control.type,
        "parameters": _clean_json(step.parameters),
        "result": _clean(step.result[:_RESULT_LENGTH]),
        "error": None if step.error is None else _clean(step.error),
        "application": step.application,
    }
    return {key: value for key, value in shown.items() if value not in (None, "", {})}


def _clean_json(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, dict):
        return {_clean(name): _clean_json(item) for name, item in value.items()}
    return [_clean_json(item) for item in value] if isinstance(value, list) else value


def _clean(text: str) -> str:
    return redact_text(text)
