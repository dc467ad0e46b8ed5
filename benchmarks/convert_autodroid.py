"""AutoDroid's profiles as sessions: python benchmarks/convert_autodroid.py PROFILE.json OUT.jsonl [--tasks TASKS.txt]

A profile is `{app: {id: {task, profile: [{label, state}]}}}`. `label` is `[element id, text or "null"]`; an element id
of -1 says that the annotator found the task done, which is taken as a person's judgement. The element is named by the
screen it was chosen on (`<button id=2 text='…'>`).
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sessions import Session, convert

_ELEMENT = re.compile(r"<(\w+) id=(\d+)([^>]*)>(.*?)</\1>", re.DOTALL)
_TEXT = re.compile(r"text='([^']*)'")
_TAG = re.compile(r"<[^>]+>")
_VERBS = {"checkbox": "check"}
DONE = -1


def read(path: Path) -> Iterator[Session]:
    """A session per task that has a profile."""
    for app, tasks in json.loads(path.read_text(encoding="utf-8")).items():
        for key, task in tasks.items():
            if screens := task.get("profile"):
                done = _chosen(screens[-1]) == DONE
                outcome = {"success": True, "evaluated_by": "user"} if done else {}
                steps = [_step(screen) for screen in screens if _chosen(screen) not in (None, DONE)]
                session = {"session": f"autodroid-{app}-{key}", "task": task["task"], "application": app}
                yield {**session, "agent": "autodroid", "env": "android", **outcome, "steps": steps}


def _step(screen: dict[str, Any]) -> dict[str, Any]:
    found = _ELEMENT.findall(screen.get("state") or "")
    elements = {int(number): (kind, _name(rest, body)) for kind, number, rest, body in found}
    chosen, text = _chosen(screen), screen["label"][1] if len(screen["label"]) > 1 else ""
    text = "" if text == "null" else text
    kind, name = elements.get(chosen or 0, ("", ""))
    shown = ", ".join(name for _, name in elements.values() if name)
    return {
        "action": "input_text" if text else _VERBS.get(kind, "tap"),
        "control": {"name": name or f"element {chosen}", "type": kind},
        "parameters": {"text": text} if text else {},
        "observation": f"On screen: {shown[:1000]}" if shown else None,
    }


def _chosen(screen: dict[str, Any]) -> int | None:
    label = screen.get("label")
    return int(label[0]) if label else None


def _name(attributes: str, body: str) -> str:
    found = _TEXT.search(attributes)
    return html.unescape(_TAG.sub(" ", found.group(1) if found else body)).strip()


if __name__ == "__main__":
    convert(read, __doc__)
