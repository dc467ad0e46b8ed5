"""What people recorded in a browser: the JSON of Chrome's Recorder, and projects of Selenium IDE.

A recording shows how a person did it; nobody in it says whether it worked: `--success` does. Its title is the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import ReadReport
from ufo_experience.traces.lines import load_document
from ufo_experience.traces.rows import Row, RowsReader
from ufo_experience.traces.values import as_dict, as_dicts, as_host, as_list, as_name

_BY_ITSELF = re.compile(r"(?i)recording \d|untitled|unnamed|new recording|(?:test|example|recording) ?\d*$")
_NO_ACTION = ("setViewport", "emulateNetworkConditions", "keyUp", "waitForElement", "waitForExpression", "customStep")
_CHROME = {"click", "change", "navigate", "doubleClick", "hover", "keyDown", "scroll", "close", *_NO_ACTION}
_VERBS = {"change": "fill", "keyDown": "press"}
_GIVEN = {"url": "url", "value": "text", "key": "key", "x": "x", "y": "y", "button": "button"}
_ARIA = re.compile(r"(?P<name>.*?)(?:\[role=\"(?P<role>\w+)\"\])?", re.DOTALL)
_PASSED_OVER = re.compile(r"(?:store|assert|verify|wait|echo|pause|setWindowSize|//|close|run|debugger)", re.IGNORECASE)
_BY_WORDS = ("linkText", "partialLinkText", "label", "name", "id", "css", "xpath")
_IN_XPATH = re.compile(r"(?:text\(\)|normalize-space\(\.?\)|\.)\s*[=,]\s*['\"](?P<text>[^'\"]{1,120})['\"]")


def title_of(value: Any) -> str | None:
    """A title that says something; what a recorder puts there by itself does not."""
    title = as_name(value)
    return None if _BY_ITSELF.match(title) else title or None


class _RecordingReader(RowsReader):
    """A recording, whose title is the task."""

    env = "web"
    untold = "the title of the recording"

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        draft.request = title_of(row.get("title") or row.get("name")) or ""
        self.add(draft, row)
        return {}

    def add(self, draft: Draft, row: dict[str, Any]) -> None:
        """Add the steps of a recording."""
        raise NotImplementedError


class ChromeRecorderReader(_RecordingReader):
    """The JSON export of the Recorder panel of Chrome."""

    name = "chrome-recorder"
    needs = ("title", "steps")

    def is_row(self, row: dict[str, Any]) -> bool:
        steps = as_dicts(row.get("steps"))
        located = any(step.get("selectors") or step.get("type") in _NO_ACTION for step in steps)
        return "title" in row and located and {as_name(step.get("type")) for step in steps} <= _CHROME

    def add(self, draft: Draft, row: dict[str, Any]) -> None:
        """Each step that acts; the last part of its selector is the control, those before it are around it."""
        host = None
        for step in as_dicts(row.get("steps")):
            kind = as_name(step.get("type"))
            if kind in _NO_ACTION:
                continue
            host = as_host(step.get("url")) or host
            ways = [[as_name(part) for part in as_list(one)] for one in as_list(step.get("selectors"))]
            name, role = _of_selectors([way[-1] for way in ways if way])
            around = _of_selectors([way[-2] for way in ways if len(way) > 1 and way[-2].startswith("aria/")])[0]
            draft.step(
                _VERBS.get(kind, kind), control=name, control_type=role, within=around or None, application=host,
                parameters={ours: step[key] for key, ours in _GIVEN.items() if step.get(key) is not None},
            )  # fmt: skip


class SeleniumIdeReader(_RecordingReader):
    """A project of Selenium IDE (`.side`); every test in it is a run."""

    name = "selenium-ide"

    def is_row(self, row: dict[str, Any]) -> bool:
        return "commands" in row or any("commands" in test for test in as_dicts(row.get("tests")))

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        """The tests of a project."""
        project = as_dict(load_document(path, report.problems))
        for test in as_dicts(project.get("tests")):
            yield None, {"commands": [], **test, "url": project.get("url")}

    def add(self, draft: Draft, row: dict[str, Any]) -> None:
        """Each command that acts."""
        host = as_host(row.get("url"))
        for command in as_dicts(row.get("commands")):
            name, target, value = (as_name(command.get(key)) for key in ("command", "target", "value"))
            more: dict[str, Any] = {"observation": command.get("comment"), "application": host}
            if not name or _PASSED_OVER.match(name):
                continue
            if name == "open":
                draft.step("navigate", parameters={"url": target}, application=host)
            elif "script" in name.casefold():
                draft.step(name, parameters={"source": target}, **more)
            else:
                ways = [target, *(as_name(as_list(one)[0]) for one in as_list(command.get("targets")) if as_list(one))]
                draft.step(name, control=_of_locators(ways), parameters={"text": value} if value else {}, **more)


def _of_selectors(ways: list[str]) -> tuple[str, str]:
    """The name of a control: its accessible name, else its text, else its selector."""
    for prefix in ("aria/", "text/"):
        for selector in ways:
            match = _ARIA.fullmatch(selector.removeprefix(prefix)) if selector.startswith(prefix) else None
            if match and match["name"].strip():
                return match["name"].strip(), match["role"] or ""
    return next((selector for selector in ways if not selector.startswith(("xpath/", "pierce/"))), ""), ""


def _of_locators(ways: list[str]) -> str:
    """The most telling of several locators of a control."""
    for way in ways:
        if match := _IN_XPATH.search(way):
            return match["text"]
    for kind in _BY_WORDS:
        for way in ways:
            if way.startswith(f"{kind}="):
                return way.partition("=")[2]
    return ways[0] if ways else ""
