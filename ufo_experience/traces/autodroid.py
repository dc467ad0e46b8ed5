"""DroidTask / AutoDroid profiles: `{app: {id: {task, profile: [{label, history, state, state_str}]}}}`.

`label` is `[element id, text or "null"]`; an element id of -1 says that the annotator found the task done, which is
taken as a person's judgement. The element is named by the screen it was chosen on (`<button id=2 text='…'>`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.base import ReadReport
from ufo_experience.traces.draft import Draft, content_key, digest_of
from ufo_experience.traces.jsontext import load_document, peek
from ufo_experience.traces.rows import nothing_in
from ufo_experience.traces.values import as_dict, as_int, as_list, as_name, as_text

_ELEMENT = re.compile(r"<(\w+) id=(\d+)([^>]*)>(.*?)</\1>", re.DOTALL)
_TEXT = re.compile(r"text='([^']*)'")
_TAG = re.compile(r"<[^>]+>")
_VERBS = {"checkbox": "check"}
DONE = -1


class AutoDroidReader:
    """Reads one AutoDroid profile file."""

    name = "autodroid"

    def recognises(self, path: Path) -> bool:
        """True for apps of tasks that have a `profile`."""
        first = as_dict(next(iter(peek(path)), None))
        tasks = [task for app in first.values() for task in as_dict(app).values()]
        return any(isinstance(task, dict) and {"task", "profile"} <= task.keys() for task in tasks)

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield one trajectory per task. Raises `TraceError` when the file has no task with a profile."""
        problems: list[Problem] = []
        document = as_dict(load_document(path, problems))
        report.problems += problems
        number = 0
        for app, tasks in document.items():
            for key, task in as_dict(tasks).items():
                screens = [as_dict(screen) for screen in as_list(as_dict(task).get("profile"))]
                if not screens:
                    message = f"task {key[:16]} of {app[:40]} has no profile"
                    report.problems.append(Problem(file=str(path), code="E_STEP", message=message))
                    continue
                number += 1
                yield self._trajectory(path, app, as_dict(task), screens, number)
        if not number:
            raise nothing_in(path, "task", problems)

    def _trajectory(
        self, path: Path, app: str, task: dict[str, Any], screens: list[dict[str, Any]], number: int
    ) -> Trajectory:
        key = content_key(path.stem, number, digest_of(screens[0]))
        draft = Draft(path, format=self.name, session=key, request=task.get("task"))
        draft.application(app)
        done = False
        for screen in screens:
            chosen, text = _label(screen)
            done = chosen == DONE
            if chosen is not None and not done:
                _add_step(draft, app, screen, chosen, text)
        return draft.finish(
            success=True if done else None,
            evaluated_by="evaluator" if done else "none",
            judge="person" if done else None,
            agent=self.name,
            env="android",
            complete=done,
        )


def _add_step(draft: Draft, app: str, screen: dict[str, Any], chosen: int, text: str) -> None:
    found = _ELEMENT.findall(as_text(screen.get("state")))
    elements = {int(number): (kind, _name(rest, body)) for kind, number, rest, body in found}
    kind, name = elements.get(chosen, ("", ""))
    shown = ", ".join(name for _, name in elements.values() if name)
    draft.step(
        "input_text" if text else _VERBS.get(kind, "tap"),
        control=name or f"element {chosen}",
        control_type=kind,
        parameters={"text": text} if text else {},
        observation=f"On screen: {shown[:1000]}" if shown else None,
        agent=draft.format,
        application=app,
    )


def _name(attributes: str, body: str) -> str:
    found = _TEXT.search(attributes)
    return html.unescape(_TAG.sub(" ", found.group(1) if found else body)).strip()


def _label(screen: dict[str, Any]) -> tuple[int | None, str]:
    label = as_list(screen.get("label"))
    return (as_int(label[0]) if label else None), (as_name(label[1]) if len(label) > 1 else "")
