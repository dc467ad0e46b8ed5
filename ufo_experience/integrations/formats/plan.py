"""UFO's saved session JSON and follower plan files: task, request, trajectory, outcome, …"""

from __future__ import annotations

from typing import Any

from ufo_experience.schema import Experience, Step

DEFAULT_AGENT = "AppAgent"
_OUTCOME_WORDS = {True: "success", False: "failure", None: "unknown"}


def to_saved_session(experience: Experience) -> dict[str, Any]:
    """UFO's saved-experience JSON. `outcome` is "success", "failure" or "unknown"; unknown numbers are None."""
    outcome = experience.outcome
    return {
        "task": experience.state.task,
        "request": experience.state.request or experience.state.task,
        "trajectory": [_session_step(step) for step in experience.action.steps],
        "outcome": _OUTCOME_WORDS[outcome.success],
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


def _session_step(step: Step) -> dict[str, Any]:
    action = _plan_action(step)
    return {
        "round": 0,
        "agent": action["agent"],
        "observation": step.observation,
        "action": action["action"],
        "parameters": action["parameters"],
    }


def _plan_action(step: Step) -> dict[str, Any]:
    """The seed names the control in the parameters, as `label`."""
    label = {"label": step.target_control.name} if step.target_control.name else {}
    parameters = step.model_dump(mode="json", include={"parameters"})["parameters"]
    return {"agent": step.agent or DEFAULT_AGENT, "action": step.action_type, "parameters": label | parameters}
