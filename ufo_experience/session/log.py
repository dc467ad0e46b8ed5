"""The log folder of a session, in the form of UFO v3: read back by `traces`, readable at any moment.

    response.log     one line per step of an agent
    request.log      one line per prompt: controls in view, plan, what memory added
    evaluation.log   one line per judgement
    output.md        the same as a report for people, written at the end

Passwords that were typed, pictures, and what memory put into a prompt reach no line; redaction proper happens later.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.prompt.builder import strip_block
from ufo_experience.redact import redact_text
from ufo_experience.session.commands import Command, Outcomes, Result, Target
from ufo_experience.session.files import StrPath, append_line, dump, plain, read_jsonl, write_atomic
from ufo_experience.session.parts import Decision
from ufo_experience.store.files import is_device, storage_errors

HOST, APP = "HostAgent", "AppAgent"
HIDDEN = "<secret>"

_MAX_NAME = 100
_LEAST = 4  # shorter secrets are hidden where they are typed only: single keys and PINs occur in any text
_UNSAFE = re.compile(r"[^\w.\- ]+")
_IMAGE = re.compile(r"data:image/[a-z+.-]{1,20};base64,[A-Za-z0-9+/=]+")
_MARKUP = re.compile(r"([\\`*_<>\[\]#|])")


def response_line(head: Mapping[str, Any], decision: Decision, outcomes: Outcomes, error: str | None) -> dict[str, Any]:
    """The `response.log` line of a step: keys and nesting are UFO's, what UFO lists but never writes comes last."""
    actions = [_action(decision, *outcome) for outcome in outcomes]
    calls = [action["action_string"] for action in actions]
    line = {**head, "status": decision.status.value, "action": actions}
    line["result"] = error or decision.result or None
    if head["agent_type"] == HOST:  # a host has one action, an app a list
        line |= {"function_call": calls[0] if calls else "", "cost": decision.cost, "last_error": error}
        line["arguments"] = actions[0]["arguments"] if actions else {}
    else:
        line |= {"function_call": calls, "llm_cost": decision.cost, **({"last_error": error} if error else {})}
    said = {key: getattr(decision, key) for key in ("tokens", "observation", "thought", "plan", "comment")}
    return line | {key: value for key, value in said.items() if value}


def request_line(head: Mapping[str, Any], decision: Decision, shown: Sequence[str]) -> dict[str, Any]:
    """The `request.log` line: what was in view, what was planned before, what memory added, and the prompt."""
    line = {
        "step": head["session_step"],
        "experience_examples": list(shown),
        "plan": list(decision.plan),
        "request": head["request"],
        "prompt": decision.prompt,
    }
    seen = [_target(one) for one in decision.controls]
    if head["agent_type"] == HOST:
        return line | {"os_info": seen}
    current = head["application_process_name"] or head["app_root"]
    return line | {"control_info": seen, "subtask": head["subtask"], "current_application": current}


def _action(decision: Decision, command: Command, result: Result) -> dict[str, Any]:
    target = command.target
    # With an `id` among them, readers know `id` and `name` for the locator and not for arguments of the tool.
    locator = {"id": target.id, "name": target.name} if target and target.id else {}
    arguments = plain({**locator, **command.parameters, **locator})
    try:
        came_to = plain(result)
    except DataError:  # a result that contains itself
        came_to = plain(replace(result, result=str(result.result)))
    return {
        "function": command.tool_name,
        "status": decision.status.value,
        "arguments": arguments,
        "target": _target(target) if target else None,
        "result": came_to | {"call_id": command.call_id},
        "action_string": f"{command.tool_name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})",
    }


def _target(target: Target) -> dict[str, Any]:
    """A control; what UFO's lines have no word for stands beside, where it is known."""
    known = {"kind": target.kind, "name": target.name, "id": target.id, "type": target.type}
    more: dict[str, Any] = {"is_password": target.is_password or None, "within": target.within or None}
    more |= {"dialog": target.dialog, "checked": target.checked}
    return known | {key: value for key, value in more.items() if value is not None}


class LogFile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, line: str) -> None:
        append_line(self.path, line)


class SessionLog:
    """Writes the log folder of one session. Whatever is written raises StorageError when the disk refuses."""

    def __init__(self, root: StrPath, task: str) -> None:
        """Make a folder for `task` below `root`, of its own: `task`, `task-2` and so on."""
        self.folder = _new_folder(Path(root), task)
        files = (LogFile(self.folder / f"{name}.log") for name in ("response", "request", "evaluation"))
        self.responses, self.requests, self.evaluations = files
        self._secrets: set[str] = set()

    def step(
        self, head: Mapping[str, Any], decision: Decision, outcomes: Outcomes, shown: Sequence[str], error: str | None
    ) -> dict[str, Any]:
        """Write one step, done by `head`, to both logs; returns the response line. Memory added what was `shown`."""
        for command, _ in outcomes:
            self._learn_secrets(command)
        self._write(self.requests, request_line(head, decision, shown))
        return self._write(self.responses, response_line(head, decision, outcomes, error))

    def evaluation(self, result: Mapping[str, Any]) -> None:
        self._write(self.evaluations, result)

    def report(self) -> None:
        steps, judgements = read_jsonl(self.responses.path), read_jsonl(self.evaluations.path)
        write_atomic(self.folder / "output.md", "\n".join(_markdown(steps, judgements)) + "\n")

    def _write(self, file: LogFile, line: Mapping[str, Any]) -> dict[str, Any]:
        clean: dict[str, Any] = self._clean(plain(line))
        file.write(dump(clean))
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
            hidden = {key: text if key in ("id", "name") else HIDDEN for key, text in (typed or {}).items()}
            return {key: self._clean(item) for key, item in (value | ({"arguments": hidden} if typed else {})).items()}
        return [self._clean(item) for item in value] if isinstance(value, list) else value

    def _learn_secrets(self, command: Command) -> None:
        """Hide what is typed into a password field from now on, and in the lines that stand already."""
        target = command.target
        texts = {value for value in command.parameters.values() if isinstance(value, str) and len(value) >= _LEAST}
        new = {one for one in texts - self._secrets if target and (target.is_password or _is_secret(target.name, one))}
        self._secrets |= new
        for path in (self.responses.path, self.requests.path) if new else ():
            if path.exists():
                text = path.read_text(encoding="utf-8")
                for secret in new:
                    text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], HIDDEN)
                write_atomic(path, text)


def _new_folder(root: Path, task: str) -> Path:
    """A folder of its own, with a name that is neither a path nor a device."""
    name = _UNSAFE.sub("_", task).strip(" .")[:_MAX_NAME].strip(" .")
    name = f"_{name}" if not name or is_device(name) else name
    folder, number = root / name, 1
    with storage_errors(folder):
        while True:
            with suppress(FileExistsError):
                folder.mkdir(parents=True)
                return folder
            number += 1
            folder = root / f"{name}-{number}"


def _is_secret(label: str, text: str) -> bool:
    """True where redaction would hide a text behind this label: "Password: …"."""
    return bool(label) and text not in redact_text(f"{label}: {text}")


def _markdown(steps: list[Any], judgements: list[Any]) -> list[str]:
    cost = sum(step.get("llm_cost", step.get("cost")) or 0.0 for step in steps)
    lines = ["# Trajectory Data", "", "## Summary", ""]
    lines += dict.fromkeys(_item("request", step.get("request")) for step in steps)
    lines += [_item("total steps", len(steps)), _item("total cost", f"${cost:.4f}"), "", "## Evaluation Results", ""]
    lines += [_item("complete", f"{one.get('complete')}. {one.get('reason') or ''}") for one in judgements]
    for number, step in enumerate(steps):
        lines += ["", f"## Step {number}: {step.get('agent_name')}", ""]
        said = ("status", "subtask", "observation", "result")
        lines += [_item(key, step[key]) for key in said if step.get(key)]
        for action in step["action"]:
            result = action["result"]
            lines.append(_item("action", f"{action['action_string']} → {result['status']} {result['error'] or ''}"))
    return lines


def _item(name: str, value: Any) -> str:
    """Text on one line that Markdown shows as it is: a log must not become links or images of a report."""
    text = _MARKUP.sub(r"\\\1", " ".join(str(value).split()))
    return f"- **{name.title()}**: {text}"
