"""How a model is asked: wording (`prompts/*.yaml`), the log of a run as data between markers, a strict answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from ufo_experience.redact import redact_text
from ufo_experience.request import estimate_tokens
from ufo_experience.schema import Step, Trajectory

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_RESULT_LENGTH = 200


class Answer(BaseModel):
    """What a model may answer: these fields, of these types, and no others."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)


def wording(name: str) -> dict[str, str]:
    """The texts of `prompts/<name>.yaml`: in a wheel the folder is inside the package, in a checkout beside it."""
    import yaml

    package = Path(__file__).resolve().parents[1]
    files = [folder / "prompts" / f"{name}.yaml" for folder in (package, package.parent)]
    texts: dict[str, str] = yaml.safe_load(next(file for file in files if file.is_file()).read_text("utf-8"))
    return texts


def render_log(trajectory: Trajectory, nonce: str, budget: int) -> tuple[str, str | None]:
    """The log between two markers with `nonce`, and what was left out to keep to `budget` tokens.

    Observations go first, then results and plan, then steps in the middle (the numbers of the others stay). Texts pass
    redaction once more. `<`, `>` and `&` are escaped, so that nothing in a log can write a marker.
    """
    steps = [_step(number, step) for number, step in enumerate(trajectory.steps, 1)]
    plan = list(trajectory.plan)
    text = _frame(trajectory, steps, plan, nonce)
    cut = None
    for part, lines in (("observation", plan), ("result", [])):
        if estimate_tokens(text) > budget:
            steps = [{name: value for name, value in step.items() if name != part} for step in steps]
            text, cut = _frame(trajectory, steps, lines, nonce), f"{part}s"
    while len(steps) > 2 and estimate_tokens(text) > budget:
        keep = max(2, len(steps) * 3 // 4)
        steps = steps[: keep // 2] + steps[len(steps) - (keep - keep // 2) :]
        text, cut = _frame(trajectory, steps, [], nonce), "steps"
    return text, cut


def _frame(trajectory: Trajectory, steps: list[dict[str, Any]], plan: list[str], nonce: str) -> str:
    said = {
        "request": trajectory.request,
        "sub_task": trajectory.subtask,
        "applications": trajectory.applications,
        "success": trajectory.outcome.success,
        "failure_reason": trajectory.outcome.failure_reason,
        "placeholders": trajectory.slots,
        "plan": plan,
    }
    body = json.dumps({**_clean(said), "steps": steps}, ensure_ascii=False).translate(_ESCAPES)
    return f"<<<log {nonce}>>>\n{body}\n<<<end-log {nonce}>>>"


def _step(number: int, step: Step) -> dict[str, Any]:
    """One step, without what is empty."""
    said = {
        "number": number,
        "observation": step.observation,
        "action": step.action_type,
        "control": step.target_control.name,
        "control_type": step.target_control.type,
        "parameters": step.parameters,
        "result": step.result[:_RESULT_LENGTH],
        "error": step.error,
        "application": step.application,
    }
    return {key: _clean(value) for key, value in said.items() if value not in (None, "", {})}


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, (list, tuple)) else value
