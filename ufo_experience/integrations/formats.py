"""An experience as UFO writes it: a saved session, a follower plan, and a few-shot example of its first action."""

import json
from typing import Any

from ufo_experience.schema import Experience, Step

FINISHED = "<FINISH>"
_USUAL = {"button": "left", "double": False}  # how a click is unless the log says otherwise


def to_saved_session(experience: Experience) -> dict[str, Any]:
    """UFO's saved-experience JSON. `outcome` is "success", "failure" or "unknown"; unknown numbers are None."""
    outcome = experience.outcome
    return {
        "task": experience.state.task,
        "request": experience.state.request or experience.state.task,
        "trajectory": [
            {"round": 0, "observation": step.observation, **_plan_action(step)} for step in experience.action.steps
        ],
        "outcome": outcome.word,
        "evaluation_score": outcome.score,
        "cost": outcome.cost,
        "tokens": outcome.tokens,
    }


def to_plan_file(experience: Experience) -> dict[str, Any]:
    """A follower plan. Placeholders such as {{input:1}} stay: a person fills them before the plan is run."""
    return {
        "request": experience.state.request or experience.state.task,
        "actions": [_plan_action(step) for step in experience.action.steps if step.ok],
    }


def _parameters(step: Step) -> dict[str, Any]:
    plain: dict[str, Any] = step.model_dump(mode="json", include={"parameters"})["parameters"]
    return plain


def _plan_action(step: Step) -> dict[str, Any]:
    """The document names the control in the parameters, as `label`."""
    label = {"label": step.target_control.name} if step.target_control.name else {}
    return {"agent": step.agent or "AppAgent", "action": step.action_type, "parameters": label | _parameters(step)}


def to_ufo_example(experience: Experience) -> dict[str, Any]:
    """An entry of `experience.yaml`: example, Tips, request, Sub-task, app_list; no step gives an empty Function."""
    steps = [step for step in experience.action.steps if step.ok]
    first = steps[0] if steps else Step(step_number=1, result="")
    rest = [f"({number}) {_in_words(step)}" for number, step in enumerate(steps[1:], start=1)]
    plan = rest or list(experience.action.plan)
    seen, said = first.observation, ""
    if experience.provenance.format.startswith("ufo-v3"):  # its logs hold what the agent says of a step after it
        seen, said = "; ".join(experience.preconditions), first.observation
    used = (experience.state.application, *(step.application for step in experience.action.steps))
    return {
        "example": {
            "Observation": seen,
            "Thought": "",
            "ControlLabel": "",
            "ControlText": first.target_control.name,
            "Function": first.action_type,
            "Args": _parameters(first),
            "Status": "CONTINUE" if plan else "FINISH",
            "Plan": "\n".join(plan or [FINISHED]),
            "Comment": said,
        },
        "Tips": "\n".join(experience.action.tips),
        "request": experience.state.request or experience.state.task,
        "Sub-task": experience.state.task,
        "app_list": list(dict.fromkeys(name for name in used if name)),
    }


def _in_words(step: Step) -> str:
    """A step in words: `set_edit_text on 'To' with {"text": "…"}.`"""
    target = f" on '{step.target_control.name}'" if step.target_control.name else ""
    said = {name: value for name, value in step.parameters.items() if _USUAL.get(name) != value}
    arguments = f" with {json.dumps(said, ensure_ascii=False)}" if said else ""
    return f"{step.action_type}{target}{arguments}."
