"""browser-use, the real package in a real browser with a scripted model: learned by its judge's word, shown, ahead."""

from __future__ import annotations

import asyncio
import re
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from ufo_experience import ExperienceMemory, read_traces
from ufo_experience.integrations.recorder import Recorder

pytestmark = pytest.mark.adapters

TASK = "Book the room Blue for Ann"
PAGE = """<title>Rooms</title><form onsubmit="document.body.innerHTML='<p>booked</p>';return false">
<input aria-label="Room"><input aria-label="Guest"><button aria-label="Continue">Continue</button></form>"""


@pytest.fixture
def page():
    """The address of a form on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE.encode())

        def log_message(self, *args: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


class ScriptedModel:
    """Goes through the form by what it sees, one action a turn; as the judge it gives `verdict`."""

    model = name = provider = model_name = "scripted"
    _verified_api_keys = True

    def __init__(self, page: str, verdict: bool = True) -> None:
        self.page, self.verdict = page, verdict
        self.prompts: list[str] = []

    async def ainvoke(self, messages: Any, output_format: Any = None, **named: Any) -> Any:
        from browser_use.llm.views import ChatInvokeCompletion

        if "verdict" in output_format.model_fields:
            said = {"reasoning": "looked at it", "verdict": self.verdict, "failure_reason": "wrong room"}
            return ChatInvokeCompletion(completion=output_format(**said), usage=None)
        text = "\n".join(message.text for message in messages)
        self.prompts.append(text)
        seen = text[text.rindex("<browser_state>") :]
        answer = {"evaluation_previous_goal": "", "memory": "", "next_goal": "", "action": [self._action(seen)]}
        return ChatInvokeCompletion(completion=output_format.model_validate(answer), usage=None)

    def _action(self, seen: str) -> dict[str, Any]:
        if self.page not in seen:
            return {"navigate": {"url": self.page}}
        for field, text in (("Room", "Blue"), ("Guest", "Ann")):
            found = re.search(rf"\[(\d+)\]<input[^>]*aria-label={field}([^>]*)>", seen)
            if found and f"value={text}" not in found[0]:
                return {"input": {"index": int(found[1]), "text": text}}
        button = re.search(r"\[(\d+)\]<button", seen)
        return {"click": {"index": int(button[1])}} if button else {"done": {"text": "booked", "success": True}}


@pytest.fixture
def go(tmp_path, page, monkeypatch):
    """Run the agent once: `go(ahead=…, verdict=…)` gives the recorder and the model."""
    pytest.importorskip("browser_use")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs Chromium")
    for name, value in (("ANONYMIZED_TELEMETRY", "false"), ("SKIP_LLM_API_KEY_VERIFICATION", "true")):
        monkeypatch.setenv(name, value)
    recorder = Recorder(ExperienceMemory.open(tmp_path / "db", embedder="hashing"))

    def run(*, ahead: bool = False, verdict: bool = True, save: Path | None = None) -> tuple[Recorder, ScriptedModel]:
        from browser_use import BrowserProfile

        from ufo_experience.integrations.browser_use import run_with_memory

        profile = BrowserProfile(
            executable_path=chromium, headless=True, chromium_sandbox=False, enable_default_extensions=False
        )
        model = ScriptedModel(page, verdict)
        history = asyncio.run(
            run_with_memory(TASK, model, recorder, ahead=ahead, max_steps=8, browser_profile=profile, use_vision=False)
        )
        assert recorder.fault is None
        if save is not None:
            history.save_to_file(save)
        return recorder, model

    return run


def test_the_judges_yes_is_learned_and_the_second_run_is_shown_the_way_and_looks_ahead(go):
    """The form is filled in and left in one turn instead of three."""
    recorder, first = go()
    (record,) = recorder.memory.list()
    named = [step.target_control.name for step in record.action.steps]
    assert (record.trust.value, record.outcome.success, record.outcome.judge) == ("verified", True, "model")
    assert named[-3:] == ["Room", "Guest", "Continue"]
    _, second = go()
    assert not any("past-experience" in text for text in first.prompts)
    assert all("past-experience" in text and "Continue" in text for text in second.prompts)
    _, third = go(ahead=True)
    assert (len(first.prompts), len(second.prompts), len(third.prompts)) == (5, 5, 3)


def test_the_judges_no_is_a_failure_whatever_the_agent_claims_and_the_saved_history_says_the_same(go, tmp_path):
    """With the judge's reason; the file browser-use saves is read with the same steps and outcome."""
    recorder, _ = go(verdict=False, save=tmp_path / "history.json")
    (record,) = recorder.memory.list()
    assert (record.outcome.success, record.outcome.failure_reason) == (False, "wrong room")
    (saved,) = read_traces(tmp_path / "history.json")
    assert (saved.format, saved.outcome.success, saved.outcome.failure_reason) == ("browser-use", False, "wrong room")
    names = [[step.target_control.name for step in one] for one in (saved.steps, record.action.steps)]
    assert names[0] == names[1]
