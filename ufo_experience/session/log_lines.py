"""One step of an agent as the lines UFO v3 writes: same keys, same order, same nesting.

What UFO lists but never writes (observation, thought, plan, comment) follows after its keys where there is any, so
that nothing the agent said is lost; readers of UFO's own lines pass over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.session.files import plain
from ufo_experience.session.protocols import Command, Decision, Outcomes, Result, Target

HOST, APP = "HostAgent", "AppAgent"


@dataclass(frozen=True)
class StepRecord:
    """What happened in one step. `role` is HOST or APP; `parameters` are those of `outcomes`, fit to be written."""

    role: str
    agent: str
    decision: Decision
    request: str
    subtask: str
    application: str
    process: str
    session_step: int
    round_step: int
    agent_step: int
    round: int
    outcomes: Outcomes = ()
    parameters: tuple[Mapping[str, Any], ...] = ()
    injected: tuple[str, ...] = ()
    seconds: float = 0.0
    error: str | None = None
    screenshots: Mapping[str, str] = field(default_factory=dict)


def app_line(step: StepRecord) -> dict[str, Any]:
    """The `response.log` line of an app agent, or of the only agent of another system."""
    actions = _actions(step)
    return {
        "agent_type": APP,
        "agent_name": step.agent,
        "app_root": step.application,
        "application_process_name": step.process,
        "session_step": step.session_step,
        "round_step": step.round_step,
        "round_num": step.round,
        "status": step.decision.status.value,
        "request": step.request,
        "llm_cost": step.decision.cost,
        "action": actions,
        "action_type": [action["result"]["namespace"] or "" for action in actions],
        "subtask": step.subtask,
        "action_representation": [action["action_representation"] for action in actions],
        "result": step.error or step.decision.result or None,
        "clean_screenshot_path": step.screenshots.get("clean", ""),
        "annotated_screenshot_path": step.screenshots.get("annotated", ""),
        "concat_screenshot_path": step.screenshots.get("concat", ""),
        "selected_control_screenshot_path": step.screenshots.get("selected_control", ""),
        "desktop_screenshot_path": step.screenshots.get("desktop", ""),
        "action_success": [
            {"result": action["result"], "action_string": action["action_string"]}
            for action in actions
            if action["result"]["status"] == "success"
        ],
        "function_call": [action["action_string"] for action in actions],
        "save_screenshot": {},
        "control_log": [action["target"] or {} for action in actions],
        **({"last_error": step.error} if step.error else {}),
        **_said(step.decision),
    }


def host_line(step: StepRecord) -> dict[str, Any]:
    """The `response.log` line of a host agent."""
    actions = _actions(step)
    first = actions[0] if actions else {}
    target = first.get("target") or {}
    return {
        "status": step.decision.status.value,
        "round_step": step.round_step,
        "agent_step": step.agent_step,
        "round_num": step.round,
        "subtask_index": -1,
        "action": actions,
        "function_call": first.get("function", ""),
        "action_representation": first.get("action_representation", ""),
        "arguments": first.get("arguments", {}),
        "action_type": first.get("result", {}).get("namespace") or "",
        "request": step.request,
        "agent_type": HOST,
        "agent_name": HOST,
        "application": step.application,
        "cost": step.decision.cost,
        "results": str(first.get("result", {}).get("result") or ""),
        "result": step.decision.result or None,
        "last_error": step.error,
        "execution_times": {"STEP": round(step.seconds, 6)},
        "total_time": round(step.seconds, 6),
        "control_log": _host_control(target),
        **_said(step.decision),
    }


def request_line(step: StepRecord) -> dict[str, Any]:
    """The `request.log` line: what was in view, what was planned before, what memory added, and the prompt."""
    decision = step.decision
    line: dict[str, Any] = {
        "step": step.session_step,
        "experience_examples": list(step.injected),
        "plan": list(decision.plan),
        "request": step.request,
    }
    if step.role == HOST:
        return line | {"os_info": _controls(decision), "prompt": decision.prompt}
    return line | {
        "control_info": _controls(decision),
        "subtask": step.subtask,
        "current_application": step.process or step.application,
        "prompt": decision.prompt,
    }


def action_string(name: str, arguments: Mapping[str, Any]) -> str:
    """An action as UFO writes it: `click_input(id='18', button='left')`."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _actions(step: StepRecord) -> list[dict[str, Any]]:
    pairs = zip(step.outcomes, step.parameters, strict=True)
    return [_action(step, command, result, parameters) for (command, result), parameters in pairs]


def _action(step: StepRecord, command: Command, result: Result, parameters: Mapping[str, Any]) -> dict[str, Any]:
    target = _target(command)
    # With an `id` among them, readers know `id` and `name` for the locator and not for arguments of the tool.
    locator = {"id": target["id"], "name": target["name"]} if target and target["id"] else {}
    arguments = {**locator, **{key: value for key, value in parameters.items() if key not in locator}}
    text = action_string(command.tool_name, arguments)
    outcome = {
        "status": result.status.value,
        "error": result.error,
        "result": _written(result.result),
        "namespace": result.namespace,
        "call_id": command.call_id,
    }
    shown = f"[Action] {text}\n[Target] {target and target['name']}\n[Status] {result.status.value}"
    return {
        "function": command.tool_name,
        "status": step.decision.status.value,
        "arguments": arguments,
        "target": target,
        "result": outcome,
        "action_string": text,
        "action_representation": shown,
    }


def _written(value: Any) -> Any:
    """A tool's result in its JSON form; one that is nested too deeply, or contains itself, as text."""
    try:
        return plain(value)
    except DataError:
        return str(value)


def _target(command: Command) -> dict[str, Any] | None:
    target = command.target
    if target is None:
        return None
    known = {"kind": target.kind, "name": target.name, "id": target.id, "type": target.type, "rect": None}
    return known | _more(target)


def _host_control(target: Mapping[str, Any]) -> dict[str, Any]:
    if not target:
        return {}
    return {
        "target_id": target["id"],
        "target_name": target["name"],
        "target_kind": target["kind"],
        "control_text": "",
    }


def _controls(decision: Decision) -> list[dict[str, Any]]:
    return [{"id": one.id, "name": one.name, "type": one.type} | _more(one) for one in decision.controls]


def _more(target: Target) -> dict[str, Any]:
    """What UFO's lines have no word for, where it is known."""
    more = {"is_password": target.is_password or None, "within": target.within or None}
    states = {"dialog": target.dialog, "checked": target.checked}
    return {key: value for key, value in (more | states).items() if value is not None}


def _said(decision: Decision) -> dict[str, Any]:
    said = {
        "tokens": decision.tokens,
        "observation": decision.observation,
        "thought": decision.thought,
        "plan": list(decision.plan),
        "comment": decision.comment,
    }
    return {key: value for key, value in said.items() if value}
