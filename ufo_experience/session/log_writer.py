"""The log folder of a session, in the form of UFO v3: read back by `traces`, readable at any moment.

    response.log     one line per step of an agent
    request.log      one line per prompt: controls in view, plan, what memory added
    evaluation.log   one line per judgement
    memory.audit     one line per look into memory: what was found, what was injected, by which engine
    output.md        the same as a report for people, written at the end

Every line is with the operating system when a call returns; a killed session leaves whole lines. Passwords typed into
password fields, and what memory put into a prompt, reach no line. Redaction proper happens when a log is learned from;
here a password may stand in an earlier line when it is first typed, and that line is then cleaned.

The lines are those UFO v3 writes: same keys, same order, same nesting. What UFO lists but never writes (observation,
thought, plan, comment) follows after its keys where there is any; readers of UFO's own lines pass over it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, StorageError
from ufo_experience.prompt.builder import strip_block
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.redact.typed import SECRET, rewrite_parameters, secret_fields
from ufo_experience.redact.values import Values
from ufo_experience.schema import Control, Step
from ufo_experience.session.files import StrPath, append_line, dump, plain, read_json_lines, write_atomic
from ufo_experience.session.protocols import Command, Decision, Outcomes, Result, Target

HOST, APP = "HostAgent", "AppAgent"
REPORT = "output.md"

_MARKUP = re.compile(r"([\\`*_<>\[\]#|])")
RESPONSE, REQUEST, EVALUATION, AUDIT = "response.log", "request.log", "evaluation.log", "memory.audit"

_MAX_NAME = 100
_MAX_SIBLINGS = 10_000
_UNSAFE = re.compile(r"[^\w.\- ]+")
_DEVICES = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")
HIDDEN = "<secret>"

_LOOK_BACK = 32  # steps that tell where the focus is
_LEAST = 4  # shorter secrets are hidden where they are typed only: single keys and PINs occur in any text
_IMAGE = re.compile(r"data:image/[a-z+.-]{1,20};base64,[A-Za-z0-9+/=]+")


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


class Masker:
    """Remembers the secrets of one session and takes them out of what is written."""

    def __init__(self) -> None:
        self._recent: deque[Step] = deque(maxlen=_LOOK_BACK)
        self._values = Values({}, ())
        self.secrets = 0

    def parameters(self, command: Command, observation: str = "") -> dict[str, Any]:
        """The parameters of a command in their JSON form, without what is typed into a password field."""
        step = _as_step(command, observation)
        self._recent.append(step)
        known = command.target is not None and bool(command.target.is_password)
        hidden = rewrite_parameters(step, known or secret_fields(tuple(self._recent))[-1], self._hide)
        return {self.text(key): self.value(item) for key, item in hidden.items()}

    def value(self, value: Any) -> Any:
        """A copy of a JSON value: every text in it without secrets, injected blocks and images."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value

    def text(self, text: str) -> str:
        """A text without secrets, injected blocks and images."""
        return self.without_secrets(_IMAGE.sub("<image>", strip_block(text)))

    def without_secrets(self, text: str) -> str:
        """A text without the secrets known so far, however they are escaped in it."""
        return self._values.without(text, secrets_only=True)

    def _hide(self, text: str, role: str) -> str:
        if role != SECRET or not text or PLACEHOLDER.fullmatch(text):
            return text
        if len(text.strip()) < _LEAST:
            return HIDDEN
        placeholder = self._values.add(text, "password", secret=True)
        self.secrets = len(self._values.slots)
        return placeholder


def _as_step(command: Command, observation: str) -> Step:
    target = command.target
    control = Control.model_construct(name=target.name if target else "", type=target.type if target else None)
    return Step.model_construct(  # not checked: whatever an agent did must be possible to write down
        step_number=1,
        observation=observation,
        action_type=command.tool_name,
        target_control=control,
        parameters=plain(dict(command.parameters)),
    )


class LogFile:
    """One file of a log folder; `write` appends a line."""

    def __init__(self, path: StrPath) -> None:
        self.path = Path(path)

    def write(self, line: str) -> None:
        """Append one line and hand it to the operating system.

        Raises:
            StorageError: the disk refused.
        """
        append_line(self.path, line)


class SessionLog:
    """Writes the log folder of one session."""

    def __init__(self, folder: StrPath) -> None:
        self.folder = Path(folder)
        self.masker = Masker()
        self._files = {name: LogFile(self.folder / name) for name in (RESPONSE, REQUEST, EVALUATION, AUDIT)}

    @classmethod
    def create(cls, root: StrPath, task: str) -> SessionLog:
        """Make a folder for `task` below `root`, of its own: if there is one, `task-2` and so on.

        Raises:
            StorageError: the disk refused.
        """
        return cls(claim_folder(Path(root), task))

    @property
    def response_file(self) -> Path:
        """The path of `response.log`."""
        return self._files[RESPONSE].path

    @property
    def evaluation_logger(self) -> LogFile:
        """The file of judgements."""
        return self._files[EVALUATION]

    def step(self, record: StepRecord) -> dict[str, Any]:
        """Write one step to `request.log` and `response.log`; returns the line, as `output.md` shows it.

        Secrets typed into password fields are hidden in it, and in earlier lines should they stand there.
        """
        known = self.masker.secrets
        parameters = tuple(
            self.masker.parameters(command, record.decision.observation) for command, _ in record.outcomes
        )
        record = replace(record, parameters=parameters)
        if self.masker.secrets > known:
            self._clean_earlier()
        line = app_line(record) if record.role != HOST else host_line(record)
        self._write(REQUEST, request_line(record))
        return self._write(RESPONSE, line)

    def evaluation(self, result: Mapping[str, Any]) -> None:
        """Write one judgement."""
        self._write(EVALUATION, result)

    def audit(self, event: Mapping[str, Any]) -> None:
        """Write what memory was asked and answered."""
        self._write(AUDIT, {"at": datetime.now(timezone.utc), **event})

    def _write(self, name: str, line: Mapping[str, Any]) -> dict[str, Any]:
        clean: dict[str, Any] = self.masker.value(plain(line))
        self._files[name].write(dump(clean))
        return clean

    def _clean_earlier(self) -> None:
        """Take a secret that has just become known out of what was written before."""
        for name in (RESPONSE, REQUEST):
            path = self._files[name].path
            if not path.exists():
                continue
            try:
                text = path.read_bytes().decode("utf-8", "replace")
            except OSError as error:
                raise StorageError(f"{path}: cannot be read: {error}") from error
            if (clean := self.masker.without_secrets(text)) != text:
                write_atomic(path, clean)


def claim_folder(root: Path, task: str) -> Path:
    """Make a new folder named after `task`, safe as a file name on every system, that no other session uses."""
    name = folder_name(task)
    for number in range(1, _MAX_SIBLINGS):
        folder = root / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise StorageError(f"{folder}: cannot be made: {error.strerror or error}") from error
        return folder
    raise StorageError(f"{root / name}: there are {_MAX_SIBLINGS} log folders of this name")


def folder_name(task: str) -> str:
    """`task` as the name of a folder: no path, no device name, not too long; never empty."""
    name = _UNSAFE.sub("_", task).strip(" .")[:_MAX_NAME].strip(" .")
    return f"_{name}" if not name or _DEVICES.fullmatch(name) else name


def write_markdown(folder: StrPath) -> Path:
    """Write `output.md` from the logs in `folder`; returns its path.

    Raises:
        StorageError: the disk refused.
        DataError: a log is larger than is read.
    """
    path = Path(folder) / REPORT
    steps = [line for line in read_json_lines(Path(folder) / RESPONSE) if isinstance(line, dict)]
    judgements = [line for line in read_json_lines(Path(folder) / EVALUATION) if isinstance(line, dict)]
    write_atomic(path, to_markdown(steps, judgements))
    return path


def to_markdown(steps: list[dict[str, Any]], judgements: list[dict[str, Any]]) -> str:
    """The report: summary, judgements, then every step."""
    requests = list(dict.fromkeys(_one_line(step.get("request")) for step in steps))
    cost = sum(float(step.get("llm_cost", step.get("cost")) or 0.0) for step in steps)
    parts = ["# Trajectory Data", "", "## Summary", ""]
    parts += [f"- **Request**: {request}" for request in requests]
    parts += [f"- **Total Steps**: {len(steps)}", f"- **Total Cost**: ${cost:.4f}", ""]
    if judgements:
        parts += ["## Evaluation Results", "", *(_judgement(one) for one in judgements), ""]
    parts += ["## Steps", ""]
    for number, step in enumerate(steps):
        parts += _step(number, step)
    return "\n".join(parts) + "\n"


def _judgement(judgement: Mapping[str, Any]) -> str:
    return f"- **Complete**: {_one_line(judgement.get('complete'))}. {_one_line(judgement.get('reason'))}"


def _step(number: int, step: Mapping[str, Any]) -> list[str]:
    actions = [action for action in step.get("action") or [] if isinstance(action, dict)]
    lines = [f"### Step {number}: {_one_line(step.get('agent_name'))}", ""]
    lines.append(f"- **Status**: {_one_line(step.get('status'))}")
    said = [name for name in ("subtask", "observation") if step.get(name)]
    lines += [f"- **{name.capitalize()}**: {_one_line(step[name])}" for name in said]
    for action in actions:
        outcome = action.get("result") or {}
        error = f": {_one_line(outcome.get('error'))}" if outcome.get("error") else ""
        lines.append(
            f"- **Action**: {_one_line(action.get('action_string'))} → {_one_line(outcome.get('status'))}{error}"
        )
    if step.get("result"):
        lines.append(f"- **Result**: {_one_line(step['result'])}")
    return [*lines, ""]


def _one_line(value: Any) -> str:
    """Text on one line that Markdown shows as it is: a log must not become links or images of a report."""
    return _MARKUP.sub(r"\\\1", " ".join(str("" if value is None else value).split()))
