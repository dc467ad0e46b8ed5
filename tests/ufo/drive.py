"""Run UFO's own sessions on Linux and print what happened: `python drive.py UFO_FOLDER`.

HostAgent, AppAgent, evaluation, experience saver and the next session's prompt are UFO's. A fake device stands behind
UFO's dispatcher and scripted answers in place of the model: a mail, the same with another recipient, one that
fails, and one along a plan.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(sys.argv[1]).resolve()
os.chdir(ROOT)
sys.path.insert(0, str(ROOT))

import ufo.llm.llm_call as llm_call  # noqa: E402  after the folder was entered
import ufo.module.dispatcher as dispatcher  # noqa: E402
from aip.messages import Result, ResultStatus  # noqa: E402
from PIL import Image  # noqa: E402

Answer = dict[str, Any]

WINDOW, PROCESS = "Inbox - Outlook", "OUTLOOK.EXE"
CONTROLS = (("New Email", "Button"), ("To", "Edit"), ("Subject", "Edit"), ("Send", "Button"))
TOOLS = ("click_input", "set_edit_text", "texts", "keyboard_input", "select_application_window")
NAMESPACE = "AppUIExecutor"


def picture() -> str:
    """A grey screenshot as UFO's device sends it."""
    stream = io.BytesIO()
    Image.new("RGB", (400, 300), (200, 200, 200)).save(stream, "PNG")
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


class Device:
    """One window with four controls. Clicking what is in `broken` fails; `calls` are the actions that were sent."""

    def __init__(self, broken: Sequence[str] = ()) -> None:
        self.broken, self.calls, self.picture = set(broken), [], picture()
        rectangle = [10, 10, 30, 30]
        tools = [
            {"tool_key": f"action.{name}", "tool_name": name, "namespace": NAMESPACE, "tool_type": "action"}
            | {"description": name, "input_schema": {"properties": {}}, "output_schema": {}}
            for name in TOOLS
        ]
        controls = [
            {"kind": "control", "id": str(number), "name": name, "type": kind, "rect": rectangle}
            for number, (name, kind) in enumerate(CONTROLS, start=1)
        ]
        self.looks: dict[str, Any] = {
            "get_desktop_app_target_info": [{"kind": "window", "id": "1", "name": WINDOW, "type": PROCESS}],
            "list_tools": tools,
            "get_app_window_info": {"control_text": WINDOW, "control_type": "Window", "control_rect": rectangle},
            "get_app_window_controls_target_info": controls,
            "get_ui_tree": {"id": "0"},
        }

    def do(self, command: Any) -> Any:
        """What UFO's dispatcher is told of one command."""
        name, given = command.tool_name, command.parameters or {}
        known = {"namespace": NAMESPACE, "call_id": command.call_id}
        if "screenshot" in name:
            return Result(status=ResultStatus.SUCCESS, result=self.picture, **known)
        if name in self.looks:
            return Result(status=ResultStatus.SUCCESS, result=self.looks[name], **known)
        self.calls.append([name, dict(given)])
        if given.get("name") in self.broken:
            return Result(status=ResultStatus.FAILURE, error="Control not found", result=None, **known)
        window = {"root_name": PROCESS, "window_info": {"rect": [0, 0, 400, 300]}, "process_name": PROCESS}
        result = window if name == "select_application_window" else "done"
        return Result(status=ResultStatus.SUCCESS, result=result, **known)


def host(subtask: str, status: str = "ASSIGN", function: str = "select_application_window") -> Answer:
    """An answer of the HostAgent."""
    arguments = {"id": "1", "name": WINDOW} if function else {}
    said = {"observation": "The desktop.", "thought": "pick the application", "comment": "c", "questions": []}
    acted = {"function": function, "arguments": arguments, "status": status, "result": ""}
    return {**said, **acted, "current_subtask": subtask, "message": [], "plan": []}


def app(name: str, text: str | None = None, status: str = "CONTINUE") -> Answer:
    """An answer of the AppAgent: one action on a control."""
    number = [one for one, _ in CONTROLS].index(name) + 1
    arguments: Answer = {"id": str(number), "name": name}
    arguments |= {"button": "left", "double": False} if text is None else {"text": text}
    action = {"function": "click_input" if text is None else "set_edit_text", "arguments": arguments, "status": status}
    said = {"observation": f"{name} is there.", "thought": f"use {name}", "plan": ["go on"], "comment": "working"}
    return {**said, "action": action, "save_screenshot": {"save": False, "reason": ""}, "result": ""}


def judgement(complete: str) -> Answer:
    """An answer of the EvaluationAgent."""
    return {"reason": "the log says so", "sub_scores": [{"name": "sent", "evaluation": complete}], "complete": complete}


def play(session: Any, device: Device, script: dict[str, list[Answer]]) -> Answer:
    """Run a session of UFO's against a device and scripted answers; what was done, and the AppAgent's first prompt."""
    prompts: list[list[Answer]] = []

    async def execute(self: Any, commands: Sequence[Any], timeout: float = 6000) -> list[Any]:
        return [device.do(command) for command in commands]

    def completions(messages: list[Answer], agent: str = "APP", *args: Any, **named: Any) -> tuple[list[str], float]:
        kind = next((one for one in ("HOST", "EVA") if one in agent.upper()), "APP")
        if kind == "APP":
            prompts.append(messages)
        answers = script[kind]
        return [json.dumps(answers.pop(0) if len(answers) > 1 else answers[0])], 0.01

    dispatcher.LocalCommandDispatcher.execute_commands = execute
    llm_call.get_completions = completions
    asyncio.run(session.run())
    system = "\n".join(one["content"] for one in prompts[0] if isinstance(one["content"], str)) if prompts else ""
    return {"calls": device.calls, "system_prompt": system, "log": str(ROOT / session.log_path)}


def mail(task: str, request: str, to: str, *, broken: Sequence[str] = (), complete: str = "yes") -> Answer:
    """UFO's `Session` writes a mail: the HostAgent's sub-task is the request itself."""
    from ufo.module.sessions.session import Session

    script = {
        "HOST": [host(request), host("", "FINISH", "")],
        "APP": [app("New Email"), app("To", to), app("Subject", "Lunch"), app("Send", status="FINISH")],
        "EVA": [judgement(complete)],
    }
    return play(Session(task=task, should_evaluate=True, id=0, request=request, mode="normal"), Device(broken), script)


def follow(task: str, request: str, to: str) -> Answer:
    """UFO's `FollowerSession` takes the same way along a plan, one step a round."""
    import ufo.module.basic
    from ufo.module.sessions.session import FollowerSession

    ufo.module.basic.ufo_config.system.max_round = 9  # a step of the plan is a round; the setting of a session is one
    plan = ROOT / "plan.json"
    steps = ["Click the New Email button", f"Type {to} into To", "Click Send"]
    plan.write_text(json.dumps({"task": request, "steps": steps, "object": "outlook"}), "utf-8")
    script = {
        "HOST": [host("", "FINISH")],
        "APP": [app("New Email", status="FINISH"), app("To", to, "FINISH"), app("Send", status="FINISH")],
        "EVA": [judgement("yes")],
    }
    return play(FollowerSession(task, str(plan), True, 0), Device(), script)


if __name__ == "__main__":
    done = [
        mail("mail", "Email Jane about lunch", "Jane"),
        mail("mail again", "Email Bob about lunch", "Bob"),
        mail("mail fails", "Email Carol about lunch", "Carol", broken=["Send"], complete="no"),
        follow("follow", "Email Dan about lunch", "Dan"),
    ]
    print("DRIVEN " + json.dumps(done))
