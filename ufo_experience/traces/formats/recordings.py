"""What people recorded in a browser: Chrome's Recorder, Selenium IDE, and Playwright's trace.

A recording shows how a person did it; nobody in it says whether it worked: `--success` does. Its title is the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.builder import NO_TASK, Draft, content_key
from ufo_experience.traces.coerce import as_dict, as_host, as_list, as_name
from ufo_experience.traces.common_keys import nothing_in
from ufo_experience.traces.json_lines import JsonLines, load_document, peek
from ufo_experience.traces.naming import Named
from ufo_experience.traces.reader import ReadReport

_NO_ACTION = ("setViewport", "emulateNetworkConditions", "keyUp", "waitForElement", "waitForExpression", "customStep")
_CHROME = {"click", "change", "navigate", "doubleClick", "hover", "keyDown", "scroll", "close", *_NO_ACTION}
_BY_ITSELF = re.compile(r"(?i)recording \d|untitled|unnamed|new recording|test ?\d*$")
_ARIA = re.compile(r"(?P<name>.*?)(?:\[role=\"(?P<role>\w+)\"\])?", re.DOTALL)
_SELENIUM_PASSED = re.compile(
    r"(?:store|assert|verify|wait|echo|pause|setWindowSize|//|close|run|debugger)", re.IGNORECASE
)
_BY_WORDS = ("linkText", "partialLinkText", "label", "name", "id", "css", "xpath")
_IN_XPATH = re.compile(r"(?:text\(\)|normalize-space\(\.?\)|\.)\s*[=,]\s*['\"](?P<text>[^'\"]{1,120})['\"]")
_INTERNAL = re.compile(
    r"internal:(?P<by>role|text|label|attr|testid|has-text)=(?P<role>\w+)?(?:\[(?P<key>[\w-]+)=)?[\"'](?P<name>[^\"']{1,200})[\"']"
)
_PLAYWRIGHT = frozenset(
    "click dblclick tap fill type press check uncheck selectOption setChecked hover goto goBack goForward reload "
    "dragAndDrop setInputFiles focus clear pressSequentially".split()
)


class ChromeRecorderReader:
    """Reads the JSON export of the Recorder panel of Chrome."""

    name = "chrome-recorder"

    def recognises(self, path: Path) -> bool:
        """True for an object with a title and steps of the Recorder's types."""
        first = as_dict(next(iter(peek(path)), None))
        steps = [as_dict(step) for step in as_list(first.get("steps"))]
        located = any(step.get("selectors") or step.get("type") in _NO_ACTION for step in steps)
        return "title" in first and located and {step.get("type") for step in steps} <= _CHROME

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the recording. Raises `TraceError` when it has no action."""
        problems: list[Problem] = []
        record = as_dict(load_document(path, problems))
        key = content_key(path.stem, 1, content_hash(record))
        draft = Draft(path, format=self.name, session=key, request=_title(record.get("title")))
        host = None
        for step in map(as_dict, as_list(record.get("steps"))):
            kind = as_name(step.get("type"))
            if kind in _NO_ACTION:
                continue
            host = as_host(step.get("url")) or host
            name, role = _of_selectors(as_list(step.get("selectors")))
            given = {key: step[key] for key in ("url", "value", "key", "x", "y", "button") if step.get(key) is not None}
            parameters = {"text" if key == "value" else key: value for key, value in given.items()}
            draft.step(
                "fill" if kind == "change" else "press" if kind == "keyDown" else kind,
                control=name, control_type=role, parameters=parameters, application=host,
            )  # fmt: skip
        if not draft.steps:
            raise nothing_in(path, "action", problems)
        yield _finished(draft, record.get("title"), self.name, problems, report)


class SeleniumIdeReader:
    """Reads a project of Selenium IDE (`.side`); every test in it is a run."""

    name = "selenium-ide"

    def recognises(self, path: Path) -> bool:
        """True for an object with tests of commands."""
        first = as_dict(next(iter(peek(path)), None))
        return any("commands" in as_dict(test) for test in as_list(first.get("tests")))

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield its tests. Raises `TraceError` when none has a command that acts."""
        problems: list[Problem] = []
        record = as_dict(load_document(path, problems))
        number = 0
        for test in map(as_dict, as_list(record.get("tests"))):
            key = content_key(path.stem, number + 1, content_hash(test))
            draft = Draft(path, format=self.name, session=key, request=_title(test.get("name")))
            for command in map(as_dict, as_list(test.get("commands"))):
                _add_command(draft, command, as_host(record.get("url")))
            if draft.steps:
                number += 1
                yield _finished(draft, test.get("name"), self.name, problems, report)
        if not number:
            raise nothing_in(path, "command that acts", problems)


class PlaywrightTraceReader:
    """Reads the `trace.trace` of a Playwright trace (a zip is opened by itself)."""

    name = "playwright-trace"

    def recognises(self, path: Path) -> bool:
        """True for JSON lines that begin with the options of a browser context."""
        first = as_dict(next(iter(peek(path)), None))
        return first.get("type") == "context-options"

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the trace. Raises `TraceError` when nothing was done in it."""
        lines = JsonLines(path, images=False)
        rows = [row for _, row in lines]
        errors = {row.get("callId"): as_dict(row.get("error")) for row in rows if row.get("type") == "after"}
        title = next((row.get("title") for row in rows if row.get("title")), None)
        key = content_key(path.stem, 1, content_hash([row.get("callId") for row in rows]))
        draft = Draft(path, format=self.name, session=key, request=_title(title))
        host = None
        for row in rows:
            method = as_name(row.get("method")) or as_name(row.get("apiName")).rpartition(".")[2]
            if row.get("type") not in ("before", "action") or method not in _PLAYWRIGHT:
                continue
            given = as_dict(row.get("params"))
            host = as_host(given.get("url")) or host
            selector = as_name(given.get("selector"))
            name, role = _of_playwright(selector)
            parameters = {
                key: given[key] for key in ("url", "value", "text", "key", "options") if given.get(key) is not None
            }
            parameters |= {} if name or not selector else {"selector": selector}
            failure = errors.get(row.get("callId")) or as_dict(row.get("error"))
            message = as_name(failure.get("message") or as_dict(failure.get("error")).get("message"))
            draft.step(
                method, control=name, control_type=role, application=host,
                parameters={"text" if key == "value" else key: value for key, value in parameters.items()},
                error=message or None,
            )  # fmt: skip
        if not draft.steps:
            raise nothing_in(path, "action", lines.problems)
        yield _finished(draft, title, self.name, lines.problems, report)


def _title(value: Any) -> str | None:
    """A title that says something; what the recorder puts there by itself does not."""
    title = as_name(value)
    return None if _BY_ITSELF.match(title) else title or None


def _finished(draft: Draft, title: Any, agent: str, problems: list[Problem], report: ReadReport) -> Trajectory:
    if not _title(title):
        message = "the recording has no title that says what the task was; --task gives it"
        problems.append(Problem(file=str(draft.path), code=NO_TASK, message=message))
    report.problems += problems
    return draft.finish(success=None, agent=agent, env="web", problems=problems)


def _of_selectors(selectors: list[Any]) -> Named:
    """The name of a control: its accessible name, else its text, else its selector."""
    flat = ["".join(map(as_name, as_list(one)[-1:])) for one in selectors]
    for prefix in ("aria/", "text/"):
        for selector in flat:
            if selector.startswith(prefix):
                match = _ARIA.fullmatch(selector.removeprefix(prefix))
                if match and match["name"].strip():
                    return match["name"].strip(), match["role"] or ""
    return next((selector for selector in flat if not selector.startswith(("xpath/", "pierce/"))), ""), ""


def _add_command(draft: Draft, command: dict[str, Any], host: str | None) -> None:
    name = as_name(command.get("command"))
    if not name or _SELENIUM_PASSED.match(name):
        return
    target, value = as_name(command.get("target")), as_name(command.get("value"))
    if name == "open":
        draft.step("navigate", parameters={"url": target}, application=host)
        return
    if "script" in name.casefold():
        draft.step(name, parameters={"source": target}, observation=command.get("comment"), application=host)
        return
    ways = [target, *(as_name(as_list(one)[0]) for one in as_list(command.get("targets")) if as_list(one))]
    text = {"text": value} if value else {}
    draft.step(name, control=_of_locators(ways), parameters=text, observation=command.get("comment"), application=host)


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


def _of_playwright(selector: str) -> Named:
    found = list(_INTERNAL.finditer(selector))
    return (found[-1]["name"], found[-1]["role"] or "") if found else ("", "")
