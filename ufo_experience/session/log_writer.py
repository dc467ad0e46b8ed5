"""The log folder of a session, in the form of UFO v3: read back by `traces`, readable at any moment.

    response.log     one line per step of an agent
    request.log      one line per prompt: controls in view, plan, what memory added
    evaluation.log   one line per judgement
    output.md        the same as a report for people, written at the end

Every line is with the operating system when a call returns; a killed session leaves whole lines. What is typed into
password fields, pictures, and what memory put into a prompt reach no line. Redaction proper happens when a log is
learned from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufo_experience.errors import DataError
from ufo_experience.prompt.builder import strip_block
from ufo_experience.redact import redact_text
from ufo_experience.session.files import StrPath, append_line, dump, make_folder, plain, read_json_lines, write_atomic
from ufo_experience.session.protocols import Command, ContextNames, Decision, Outcomes, Result, Target
from ufo_experience.store.files import storage_errors

if TYPE_CHECKING:
    from ufo_experience.session.round import BaseRound

HOST, APP = "HostAgent", "AppAgent"
RESPONSE, REQUEST, EVALUATION, REPORT = "response.log", "request.log", "evaluation.log", "output.md"
HIDDEN = "<secret>"

_MAX_NAME = 100
_LEAST = 4  # shorter secrets are hidden where they are typed only: single keys and PINs occur in any text
_UNSAFE = re.compile(r"[^\w.\- ]+")
_DEVICES = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")  # names Windows keeps for itself
_IMAGE = re.compile(r"data:image/[a-z+.-]{1,20};base64,[A-Za-z0-9+/=]+")
_MARKUP = re.compile(r"([\\`*_<>\[\]#|])")


def response_line(
    round: BaseRound, decision: Decision, outcomes: Outcomes, seconds: float, error: str | None
) -> dict[str, Any]:
    """The `response.log` line of a step: keys and nesting are UFO's, what UFO lists but never writes comes last."""
    actions = [_action(decision, command, result) for command, result in outcomes]
    line: dict[str, Any] = {
        "agent_type": round.role,
        "agent_name": round.agent_name,
        "session_step": round.context.get(ContextNames.SESSION_STEP),
        "round_step": round.step,
        "agent_step": round.agent_step,
        "round_num": round.id,
        "status": decision.status.value,
        "request": round.request,
        "action": actions,
        "result": error or decision.result or None,
        "total_time": seconds,
    }
    told = {
        "action_type": [action["result"]["namespace"] for action in actions],
        "action_representation": [action["action_representation"] for action in actions],
        "function_call": [action["action_string"] for action in actions],
    }
    if round.role == HOST:  # a host has one action, an app a list
        line |= {key: value[0] if value else "" for key, value in told.items()}
        line |= {"application": round.application, "cost": decision.cost, "last_error": error}
        line["arguments"] = actions[0]["arguments"] if actions else {}
    else:
        worked = [action for action in actions if action["result"]["status"] == "success"]
        line |= told
        line |= {
            "app_root": round.application,
            "application_process_name": round.context.get(ContextNames.APPLICATION_PROCESS_NAME),
            "subtask": round.subtask,
            "llm_cost": decision.cost,
            "action_success": [{key: action[key] for key in ("result", "action_string")} for action in worked],
            "control_log": [action["target"] or {} for action in actions],
            **({"last_error": error} if error else {}),
        }
    said = {key: getattr(decision, key) for key in ("tokens", "observation", "thought", "plan", "comment")}
    return line | {key: value for key, value in said.items() if value}


def request_line(round: BaseRound, decision: Decision) -> dict[str, Any]:
    """The `request.log` line: what was in view, what was planned before, what memory added, and the prompt."""
    seen = [_target(one) for one in decision.controls]
    line = {
        "step": round.context.get(ContextNames.SESSION_STEP),
        "experience_examples": list(round.injected),
        "plan": list(decision.plan),
        "request": round.request,
        "prompt": decision.prompt,
    }
    if round.role == HOST:
        return line | {"os_info": seen}
    current = round.context.get(ContextNames.APPLICATION_PROCESS_NAME) or round.application
    return line | {"control_info": seen, "subtask": round.subtask, "current_application": current}


def _action(decision: Decision, command: Command, result: Result) -> dict[str, Any]:
    target = command.target
    # With an `id` among them, readers know `id` and `name` for the locator and not for arguments of the tool.
    locator = {"id": target.id, "name": target.name} if target and target.id else {}
    arguments = plain({**locator, **{key: value for key, value in command.parameters.items() if key not in locator}})
    text = f"{command.tool_name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    try:
        came_to = plain(result.result)
    except DataError:  # a result that contains itself
        came_to = str(result.result)
    return {
        "function": command.tool_name,
        "status": decision.status.value,
        "arguments": arguments,
        "target": _target(target) if target else None,
        "result": {
            "status": result.status.value,
            "error": result.error,
            "result": came_to,
            "namespace": result.namespace,
            "call_id": command.call_id,
        },
        "action_string": text,
        "action_representation": f"[Action] {text}\n[Target] {target and target.name}\n[Status] {result.status.value}",
    }


def _target(target: Target) -> dict[str, Any]:
    """A control; what UFO's lines have no word for stands beside, where it is known."""
    more: dict[str, Any] = {"is_password": target.is_password or None, "within": target.within or None}
    more |= {"dialog": target.dialog, "checked": target.checked}
    known = {"kind": target.kind, "name": target.name, "id": target.id, "type": target.type}
    return known | {key: value for key, value in more.items() if value is not None}


class LogFile:
    """One file of a log folder; `write` appends a line."""

    def __init__(self, path: StrPath) -> None:
        self.path = Path(path)

    def write(self, line: str) -> None:
        """Append one line and hand it to the operating system. Raises StorageError."""
        append_line(self.path, line)


class SessionLog:
    """Writes the log folder of one session."""

    def __init__(self, root: StrPath, task: str) -> None:
        """Make a folder for `task` below `root`, of its own: if there is one, `task-2` and so on.

        Raises:
            StorageError: the disk refused.
        """
        self.folder = _new_folder(Path(root), task)
        self.evaluation_logger = LogFile(self.folder / EVALUATION)
        self._secrets: set[str] = set()

    def step(
        self, round: BaseRound, decision: Decision, outcomes: Outcomes, seconds: float, error: str | None
    ) -> dict[str, Any]:
        """Write one step to `request.log` and `response.log`; returns the line of the latter."""
        for command, _ in outcomes:
            self._learn_secrets(command)
        self._write(REQUEST, request_line(round, decision))
        return self._write(RESPONSE, response_line(round, decision, outcomes, seconds, error))

    def evaluation(self, result: Mapping[str, Any]) -> None:
        """Write one judgement."""
        self._write(EVALUATION, result)

    def _write(self, name: str, line: Mapping[str, Any]) -> dict[str, Any]:
        clean: dict[str, Any] = self._clean(plain(line))
        append_line(self.folder / name, dump(clean))
        return clean

    def _clean(self, value: Any) -> Any:
        """A copy of a JSON value without secrets, injected blocks and pictures."""
        if isinstance(value, str):
            value = _IMAGE.sub("<image>", strip_block(value))
            for secret in self._secrets:
                value = value.replace(secret, HIDDEN)
            return value
        if isinstance(value, dict):
            typed = value.get("arguments") if (value.get("target") or {}).get("is_password") else None
            hidden = {"arguments": _hidden(typed)} if isinstance(typed, dict) else {}
            return {key: self._clean(item) for key, item in {**value, **hidden}.items()}
        return [self._clean(item) for item in value] if isinstance(value, list) else value

    def _learn_secrets(self, command: Command) -> None:
        """Hide what is typed into a password field from now on, and in the lines that stand already."""
        target = command.target
        texts = [value for value in command.parameters.values() if isinstance(value, str) and len(value) >= _LEAST]
        new = {one for one in texts if target and (target.is_password or _is_secret(target.name, one))} - self._secrets
        self._secrets |= new
        for path in (self.folder / RESPONSE, self.folder / REQUEST) if new else ():
            if path.exists():
                text = path.read_text(encoding="utf-8")
                for secret in new:
                    text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], HIDDEN)
                write_atomic(path, text)


def _new_folder(root: Path, task: str) -> Path:
    name = _UNSAFE.sub("_", task).strip(" .")[:_MAX_NAME].strip(" .")
    name = f"_{name}" if not name or _DEVICES.fullmatch(name) else name
    make_folder(root)
    folder, number = root / name, 1
    while not _made(folder):
        number += 1
        folder = root / f"{name}-{number}"
    return folder


def _made(folder: Path) -> bool:
    """Make a folder; False when it is there already."""
    with storage_errors(folder):
        try:
            folder.mkdir()
        except FileExistsError:
            return False
    return True


def _is_secret(label: str, text: str) -> bool:
    """True where redaction would hide a text behind this label: "Password: …"."""
    return bool(label) and text not in redact_text(f"{label}: {text}")


def _hidden(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value if key in ("id", "name") else HIDDEN for key, value in arguments.items()}


def write_markdown(folder: Path) -> None:
    """Write `output.md` from the logs in `folder`.

    Raises:
        StorageError: the disk refused.
        DataError: a log is larger than is read.
    """
    steps, judgements = (read_json_lines(folder / name) for name in (RESPONSE, EVALUATION))
    cost = sum(step.get("llm_cost", step.get("cost")) or 0.0 for step in steps)
    lines = ["# Trajectory Data", "", "## Summary", ""]
    lines += [f"- **Request**: {text}" for text in dict.fromkeys(_one_line(step.get("request")) for step in steps)]
    lines += [f"- **Total Steps**: {len(steps)}", f"- **Total Cost**: ${cost:.4f}", "", "## Evaluation Results", ""]
    lines += [f"- **Complete**: {_one_line(one.get('complete'))}. {_one_line(one.get('reason'))}" for one in judgements]
    for number, step in enumerate(steps):
        lines += ["", f"## Step {number}: {_one_line(step.get('agent_name'))}", ""]
        said = {key: step.get(key) for key in ("status", "subtask", "observation", "result")}
        lines += [f"- **{key.capitalize()}**: {_one_line(value)}" for key, value in said.items() if value]
        for action in step["action"]:
            parts = (action["action_string"], "→", action["result"]["status"], action["result"]["error"])
            lines.append(f"- **Action**: {_one_line(' '.join(part for part in parts if part))}")
    write_atomic(folder / REPORT, "\n".join(lines) + "\n")


def _one_line(value: Any) -> str:
    """Text on one line that Markdown shows as it is: a log must not become links or images of a report."""
    return _MARKUP.sub(r"\\\1", " ".join(str("" if value is None else value).split()))
