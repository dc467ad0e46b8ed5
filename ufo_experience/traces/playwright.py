"""What Playwright writes: the code of its codegen, the trace of a run, the session log of its MCP server.

Codegen's code (Python, JavaScript, TypeScript) is read as text and never run. Of each statement the last link is the
action, the one before it the control, and what stands further in front says within what:

    page.get_by_role("row", name="mlopez").get_by_role("button", name="Edit").click()
    await page.getByRole('dialog').getByLabel('Name').fill('Ann');

A recording says how a person did it; nobody in it says whether it worked: `--success` does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from ufo_experience.errors import DataError
from ufo_experience.schema import Around
from ufo_experience.traces.draft import Draft, run_key
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import JsonLines, first_text, parse_json, read_text
from ufo_experience.traces.recordings import title_of
from ufo_experience.traces.rows import Numbered, RowsReader
from ufo_experience.traces.tree import marks_of_text
from ufo_experience.traces.values import Row, as_dict, as_host, as_name

_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"
_START = re.compile(r"(?<![\w.])page\w*(?=\s*\.)")
_LINK = re.compile(r"\s*\.\s*(?P<name>[A-Za-z_]\w*)\s*(?P<open>\()?")
_TOKEN = re.compile(
    rf"(?:(?P<key>\w+)\s*[:=]\s*)?(?:(?P<text>{_STRING})|/(?P<regex>[^/\n]+)/\w*|(?P<bare>[\w.-]+)|(?P<mark>[()\[\]{{}}]))|[^\w]"
)
_COMMENT = re.compile(r"^[ \t]*(?://|#).*$", re.MULTILINE)
_IS_CODE = re.compile(r"\bpage\w*\s*\.\s*(?:goto|get_by_\w+|getBy[A-Z]\w+|locator)\s*\(")
_TEST = re.compile(rf"(?:^|\s)test(?:\.\w+)?\(\s*(?P<title>{_STRING})|def\s+test_(?P<name>\w+)\s*\(")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# What an action is given first, under the name it has in a step.
_GIVEN = {
    "goto": "url", "fill": "text", "type": "text", "press_sequentially": "text", "press": "key",
    "select_option": "option", "set_input_files": "file", "set_checked": "checked",
    **dict.fromkeys("click dblclick tap check uncheck hover drag_to clear focus reload go_back go_forward".split(), ""),
}  # fmt: skip
_NAMED_BY = {"get_by_label", "get_by_text", "get_by_placeholder", "get_by_alt_text", "get_by_title", "get_by_test_id"}
_FRAMES = {"frame_locator", "content_frame"}
_BY_PLACE = {"first": 1, "nth": None}

_INTERNAL = re.compile(
    r"internal:(?P<by>role|text|label|attr|testid|has-text)=(?P<role>\w+)?(?:\[(?P<key>[\w-]+)=)?[\"'](?P<name>[^\"']{1,200})[\"']"
)
_TRACED = frozenset(
    "click dblclick tap fill type press check uncheck selectOption setChecked hover goto goBack goForward reload "
    "dragAndDrop setInputFiles focus clear pressSequentially".split()
)
_CALLED = re.compile(r"^#{2,4} (?:Tool call|User action): (?P<name>\w+)\s*$", re.MULTILINE)
_ARGS = re.compile(r"- Args\s*\n```(?:json)?\n(?P<json>.*?)\n```", re.DOTALL)
_ANSWER = re.compile(r"^- (?P<kind>Result|Error|Code)\s*\n```\w*\n(?P<text>.*?)\n```$", re.DOTALL | re.MULTILINE)
_SNAPSHOT = re.compile(r"- Snapshot: (?P<file>[\w.-]{1,100})")
MAX_LOG = 1 << 24  # bytes


@dataclass
class _Link:
    """One call in a chain: `get_by_role("button", name="Save")`."""

    name: str
    given: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)


class _Located(NamedTuple):
    """The control a chain leads to: its name and role, what it is within, and which of equal ones it is."""

    name: str
    role: str
    within: str
    place: int | None


def chains_in(code: str) -> Iterator[list[_Link]]:
    """The chains of calls on a page in a piece of code, in its order; assertions and comments are left out."""
    text = _COMMENT.sub("", code)
    end = 0
    for start in _START.finditer(text):
        if start.start() < end or text.endswith("expect(", 0, start.start()):
            continue
        links, end = [], start.end()
        while match := _LINK.match(text, end):
            link, end = _Link(_CAMEL.sub("_", match["name"]).lower()), match.end()
            if match["open"]:
                end = _read_arguments(link, text, end)
            links.append(link)
        yield links


def _read_arguments(link: _Link, text: str, at: int) -> int:
    """Read the arguments of a call up to its closing bracket; returns the place behind it."""
    depth, pattern_of = 1, ""
    while depth and (token := _TOKEN.match(text, at)):
        at, key = token.end(), pattern_of or token["key"] or ""
        if mark := token["mark"]:
            depth += 1 if mark in "([{" else -1
            continue
        value = _pattern(token["regex"]) if token["regex"] else token["bare"]
        if token["text"]:
            value = _pattern(_unquoted(token["text"])) if pattern_of else _unquoted(token["text"])
        if value == "re.compile":
            pattern_of = key or "pattern"
        elif value and key and value != "r":
            link.options[_CAMEL.sub("_", key).lower()], pattern_of = value, ""
        elif value and not key and (depth == 1 or token["text"]):
            link.given.append(value)
    return at


def _pattern(regex: str) -> str:
    """The words of a regular expression, as far as it is made of words."""
    return re.sub(r"\\(.)", r"\1", regex.strip("^$"))


def _unquoted(literal: str) -> str:
    if literal[0] == "`" or "\\" not in literal:
        return literal[1:-1]
    try:
        return str(ast.literal_eval(literal))
    except (ValueError, SyntaxError):
        return literal[1:-1]


def located(links: list[_Link]) -> _Located:
    """The control that the locators of a chain lead to, the innermost last."""
    name, role, around, place = "", "", "", None
    for link in links:
        first = next(iter(link.given), "")
        if link.name == "get_by_role" or link.name in _NAMED_BY or link.name == "locator":
            around, place = name or around or role, None
            role = first if link.name == "get_by_role" else ""
            name = link.options.get("name", "") if link.name == "get_by_role" else first
        elif link.name in _FRAMES:
            name = role = around = ""
        elif link.name == "filter":
            around = link.options.get("has_text") or " ".join(link.given[-1:]) or around
            name = "" if links.index(link) + 1 < len(links) else name
        elif link.name in _BY_PLACE:
            place = _BY_PLACE[link.name] or (int(first) + 1 if first.isdecimal() else None)
    return _Located(name, role, around if around != name else "", place)


class PlaywrightCodegenReader(RowsReader):
    """Code as Playwright's codegen writes it; each test of a file is a run, its title the task."""

    name = "playwright-codegen"
    env = "web"
    untold = "the code"

    def recognises(self, found: Found) -> bool:
        """True for Python or JavaScript in which something is done on a page."""
        return found.suffix in (".py", ".js", ".ts", ".mjs") and _IS_CODE.search(found.text) is not None

    def runs(self, path: Path, report: ReadReport) -> Iterator[Numbered]:
        """The tests of a file."""
        code = read_text(path, MAX_LOG)
        heads = list(_TEST.finditer(code))
        ends = [*(head.start() for head in heads[1:]), len(code)]
        begins = [0, *ends[:-1]]
        for head, begin, end in zip_longest(heads, begins, ends):
            title = (_unquoted(head["title"]) if head["title"] else head["name"].replace("_", " ")) if head else None
            yield None, Row(title=title_of(title), code=code[begin:end])

    def start(self, path: Path, row: Row, number: int) -> Draft:
        """The title of a test is the task."""
        return Draft(path, format=self.name, session=run_key(path.stem, number, row["code"]), request=row["title"])

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        _add_chains(draft, row["code"])
        return {}


def _add_chains(draft: Draft, code: str) -> None:
    host = None
    for links in chains_in(code):
        action = links[-1] if links else _Link("")
        if action.name not in _GIVEN:
            continue
        control = located(links[:-1])
        key, first = _GIVEN[action.name], next(iter(action.given), "")
        host = as_host(first) or host if key == "url" else host
        draft.step(
            action.name,
            control=control.name,
            control_type=control.role,
            within=control.within,
            around=Around(place=control.place, equals=control.place) if control.place else None,
            parameters={**({key: first} if key and first else {}), **action.options},
            application=host,
        )


class PlaywrightTraceReader(RowsReader):
    """The `trace.trace` of a Playwright trace (a zip is opened by itself)."""

    name = "playwright-trace"
    env = "web"
    untold = "the trace"

    def recognises(self, found: Found) -> bool:
        """True for JSON lines that begin with the options of a browser context."""
        return found.first.get("type") == "context-options"

    def runs(self, path: Path, report: ReadReport) -> Iterator[Numbered]:
        """The one trace of a file."""
        yield None, Row(rows=[row for _, row in JsonLines(path, problems=report.problems)])

    def start(self, path: Path, row: Row, number: int) -> Draft:
        """The title of the context is the task."""
        key = run_key(path.stem, number, [one.get("callId") for one in row["rows"]])
        title = title_of(next((one.get("title") for one in row["rows"] if one.get("title")), None))
        return Draft(path, format=self.name, session=key, request=title)

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        rows, host = row["rows"], None
        errors = {one.name("callId"): one.row("error") for one in rows if one.get("type") == "after"}
        for one in rows:
            method = one.name("method") or one.name("apiName").rpartition(".")[2]
            if one.get("type") in ("before", "action") and method in _TRACED:
                given = one.row("params")
                host = given.host("url") or host
                failure = errors.get(one.name("callId")) or one.row("error")
                message = failure.get("message") or failure.row("error").get("message")
                draft.step(method, **_traced(given), application=host, error=as_name(message) or None)
        return {}


def _traced(given: Row) -> dict[str, Any]:
    """Control and parameters of a traced call, by its selector `internal:role=button[name="Save"i]`."""
    selector = given.name("selector")
    found = list(_INTERNAL.finditer(selector))
    parameters = {key: given[key] for key in ("url", "value", "text", "key", "options") if given.get(key) is not None}
    if not found and selector:
        parameters["selector"] = selector
    return {
        "control": found[-1]["name"] if found else "",
        "control_type": found[-1]["role"] if found else "",
        "within": found[-2]["name"] if len(found) > 1 else None,
        "parameters": {"text" if key == "value" else key: value for key, value in parameters.items()},
    }


class PlaywrightMcpReader(RowsReader):
    """The `session.md` of Playwright MCP (`--save-session`), in both its layouts.

    For each tool call it has a heading, the arguments as JSON, the code that ran, and the page's snapshot after it.
    """

    name = "playwright-mcp"
    env = "web"
    untold = "the log"

    def recognises(self, found: Found) -> bool:
        """True for a Markdown file with tool calls of a browser."""
        return found.suffix == ".md" and _CALLED.search(found.text) is not None

    def runs(self, path: Path, report: ReadReport) -> Iterator[Numbered]:
        """The one session of a log."""
        text = read_text(path, MAX_LOG)
        heads = list(_CALLED.finditer(text))
        ends = [*(head.start() for head in heads[1:]), len(text)]
        yield None, Row(calls=[(head["name"], text[head.end() : end]) for head, end in zip(heads, ends, strict=False)])

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        names: dict[str, tuple[str, str]] = {}
        host = None
        for name, body in row["calls"]:
            match = _ARGS.search(body)
            arguments = _object(match["json"]) if match else Row()
            host = arguments.host("url") or host
            element = as_name(arguments.pop("element", ""))
            parts = {found["kind"]: found["text"] for found in _ANSWER.finditer(body)}
            text = parts.get("Error") or parts.get("Result") or ""
            answered = _object(text)
            code = answered.name("code") or parts.get("Code", "")
            marked = names.get(arguments.name("ref", "target"), (element, ""))
            control, role = next(((c.name, c.role) for c in map(located, chains_in(code)) if c.name), marked)
            draft.step(
                name,
                control=control,
                control_type=role or None,
                parameters=arguments,
                result=answered.name("result") if answered else text,
                error=answered.name("error") or parts.get("Error") or None,
                application=host,
            )
            names = marks_of_text(answered.name("snapshot")) or _snapshot(draft.path, body) or names
        return {}


def _object(text: str) -> Row:
    try:
        return as_dict(parse_json(text.encode("utf-8", "replace"))) if text.startswith("{") else Row()
    except DataError:
        return Row()


def _snapshot(path: Path, body: str) -> dict[str, tuple[str, str]]:
    """The names in the snapshot after a call: written beside the log, or in the log itself."""
    match = _SNAPSHOT.search(body)
    beside = path.with_name(match["file"]) if match else None
    return marks_of_text(first_text(beside) if beside and beside.is_file() and not beside.is_symlink() else body)
