"""What Playwright writes: the code of its codegen, the trace of a run, the session log of its MCP server.

Codegen's code (Python, JavaScript, TypeScript) is read as text and never run. Of each statement the last link is the
action, the one before it the control, and what stands further in front says within what:

    page.get_by_role("row", name="mlopez").get_by_role("button", name="Edit").click()
    await page.getByRole('dialog').getByLabel('Name').fill('Ann');

A recording says how a person did it; nobody in it says whether it worked: `--success` does.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ufo_experience.schema import Around
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import ReadReport
from ufo_experience.traces.lines import JsonLines, first_text, read_text
from ufo_experience.traces.recordings import given_in, title_of
from ufo_experience.traces.rows import MAX_TEXT_FILE, RowsReader
from ufo_experience.traces.tree import Marks, marks_of_text
from ufo_experience.traces.values import NAMES, Row, as_dict

_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"
_START = re.compile(r"(?<![\w.])page\w*(?=\s*\.)")
_LINK = re.compile(r"\s*\.\s*(?P<name>[A-Za-z_]\w*)\s*(?P<open>\()?")
_TOKEN = re.compile(
    rf"(?:(?P<key>\w+)\s*[:=]\s*)?(?:(?:re\.compile\(\s*r?(?P<pattern>{_STRING})[^()\n]*\))|r?(?P<text>{_STRING})"
    r"|/(?P<regex>(?:[^/\\\n]|\\.)+)/\w*|(?P<bare>[\w.-]+)|(?P<mark>[()\[\]{}]))|[^\w]"
)
_COMMENT = re.compile(r"^[ \t]*(?://|#).*$", re.MULTILINE)
_TEST = re.compile(rf"(?:^|\s)test(?:\.\w+)?\(\s*(?P<title>{_STRING})|def\s+test_(?P<name>\w+)\s*\(")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# What an action is given first, under the name it has in a step.
_GIVEN = {
    "goto": "url", "fill": "text", "type": "text", "press_sequentially": "text", "press": "key",
    "select_option": "option", "set_input_files": "file", "set_checked": "checked",
    **dict.fromkeys(NAMES["playwright_click"], ""),
}  # fmt: skip
_INTERNAL = re.compile(
    r"internal:(?P<by>role|text|label|attr|testid|has-text)=(?P<role>\w+)?(?:\[(?P<key>[\w-]+)=)?[\"'](?P<name>[^\"']{1,200})[\"']"
)
_CALLED = re.compile(r"^#{2,4} (?:Tool call|User action): (?P<name>\w+)\s*$", re.MULTILINE)
_PART = re.compile(r"^- (?P<kind>Args|Result|Error|Code)\s*\n```\w*\n(?P<text>.*?)\n```$", re.DOTALL | re.MULTILINE)
_SNAPSHOT = re.compile(r"- Snapshot: (?P<file>[\w.-]{1,100})")


@dataclass
class _Link:
    """One call in a chain: `get_by_role("button", name="Save")`."""

    name: str
    given: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    @property
    def first(self) -> str:
        return next(iter(self.given), "")


def _chains_in(code: str) -> Iterator[list[_Link]]:
    """The chains of calls on a page in a piece of code, in its order; comments are left out."""
    text = _COMMENT.sub("", code)
    for start in _START.finditer(text):
        links, end = [], start.end()
        while match := _LINK.match(text, end):
            links.append(_Link(_snake(match["name"])))
            end = _read_arguments(links[-1], text, match.end()) if match["open"] else match.end()
        if links:
            yield links


def _read_arguments(link: _Link, text: str, at: int) -> int:
    """Read the arguments of a call up to its closing bracket; returns the place behind it."""
    depth = 1
    while depth and (token := _TOKEN.match(text, at)):
        at = token.end()
        if mark := token["mark"]:
            depth += 1 if mark in "([{" else -1
        value = _unquoted(token["text"]) if token["text"] else token["bare"]
        if pattern := token["regex"] or (token["pattern"] and _unquoted(token["pattern"])):
            value = re.sub(r"\\(.)", r"\1", pattern.strip("^$"))  # its words, as far as it is made of them
        if value and token["key"]:
            link.options[_snake(token["key"])] = value
        elif value and (depth == 1 or not token["bare"]):
            link.given.append(value)
    return at


def _snake(name: str) -> str:
    return _CAMEL.sub("_", name).lower()


def _unquoted(literal: str) -> str:
    if literal[0] != "`" and "\\" in literal:
        with suppress(ValueError, SyntaxError):
            return str(ast.literal_eval(literal))
    return literal[1:-1]


def _located(links: list[_Link]) -> dict[str, Any]:
    """The control a chain leads to, what it is within, and which of equal ones it is, as `Draft.step` takes them."""
    name, role, around, place = "", "", "", None
    for number, link in enumerate(links, start=1):
        by_role = link.name == "get_by_role"
        if by_role or link.name in NAMES["playwright_by"]:
            around, place = name or around or role, None
            role, name = (link.first, link.options.get("name", "")) if by_role else ("", link.first)
        elif link.name in ("frame_locator", "content_frame"):
            name = role = around = ""
        elif link.name == "filter":
            around = link.options.get("has_text") or " ".join(link.given[-1:]) or around
            name = "" if number < len(links) else name
        elif link.name in ("first", "nth"):
            place = 1 if link.name == "first" else int(link.first) + 1 if link.first.isdecimal() else None
    within, equal = around if around != name else "", Around(place=place, equals=place) if place else None
    return {"control": name, "control_type": role, "within": within, "around": equal}


class PlaywrightCodegenReader(RowsReader):
    """Code as Playwright's codegen writes it; each test of a file is a run, its title the task."""

    name = "playwright-codegen"
    tasks = ("title",)
    env = "web"
    untold = "the code"
    suffixes = (".py", ".js", ".ts", ".mjs")
    sign = re.compile(r"\bpage\w*\s*\.\s*(?:goto|get_by_\w+|getBy[A-Z]\w+|locator)\s*\(")

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        code = read_text(path, MAX_TEXT_FILE)
        heads = list(_TEST.finditer(code))
        cuts = [head.start() for head in heads[1:]]
        for head, begin, end in zip_longest(heads, [0, *cuts], [*cuts, len(code)]):
            title = (_unquoted(head["title"]) if head["title"] else head["name"].replace("_", " ")) if head else None
            yield Row(title=title_of(title), code=code[begin:end])

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        for *before, action in _chains_in(row["code"]):
            if action.name not in _GIVEN:
                continue
            key = _GIVEN[action.name]
            given = ({key: action.first} if key and action.first else {}) | action.options
            draft.step(action.name, **_located(before), parameters=given, application=draft.on_site(given.get("url")))
        return {}


class PlaywrightTraceReader(RowsReader):
    """The `trace.trace` of a Playwright trace (a zip is opened by itself)."""

    name = "playwright-trace"
    env = "web"
    untold = "the trace"

    def is_row(self, row: Row) -> bool:
        return row.get("type") == "context-options"

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        yield Row(rows=[row for _, row in JsonLines(path, problems=report.problems)])

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        rows = row["rows"]
        draft.request = title_of(next((one["title"] for one in rows if one.has("title")), None))
        errors = {one.name("callId"): one.row("error") for one in rows if one.get("type") == "after"}
        for one in rows:
            method = one.name("method") or one.name("apiName").rpartition(".")[2]
            if one.get("type") in ("before", "action") and _snake(method) in _GIVEN:
                given = one.row("params")
                failure = errors.get(one.name("callId")) or one.row("error")
                message = failure.name("message") or failure.row("error").name("message")
                # `internal:role=row[name="Ann"i] >> internal:role=button[name="Save"i]`
                located = [Row(found.groupdict()) for found in _INTERNAL.finditer(given.name("selector"))]
                within, control = [Row(), Row(), *located][-2:]
                keys = ("url", "value", "text", "key", "options", *(() if located else ("selector",)))
                draft.step(
                    method, control=control.get("name"), control_type=control.get("role"), within=within.get("name"),
                    parameters=given_in(given, *keys), error=message or None,
                    application=draft.on_site(given.get("url")),
                )  # fmt: skip
        return {}


class PlaywrightMcpReader(RowsReader):
    """The `session.md` of Playwright MCP (`--save-session`): calls, their code, and the page's snapshot after each."""

    name = "playwright-mcp"
    env = "web"
    untold = "the log"
    suffixes, sign = (".md",), _CALLED

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        names: Marks = {}
        _, *parts = _CALLED.split(row["text"])
        draft.starts_with = {"calls": list(zip(parts[::2], parts[1::2], strict=True))}
        for name, body in draft.starts_with["calls"]:
            told = Row({found["kind"]: found["text"] for found in _PART.finditer(body)})
            arguments, text = told.row("Args"), told.first("Error", "Result")
            answered = as_dict(text)
            control, role = names.get(arguments.name("ref", "target"), (arguments.get("element"), ""))
            arguments.pop("element", None)
            chains = _chains_in(answered.name("code") or told.name("Code"))
            in_code = next((one for one in map(_located, chains) if one["control"]), {})
            draft.step(
                name, control=in_code.get("control", control), control_type=in_code.get("control_type", role),
                parameters=arguments, result=answered.name("result") if answered else text,
                error=answered.name("error") or told.get("Error") or None,
                application=draft.on_site(arguments.get("url")),
            )  # fmt: skip
            # The names in the snapshot after a call, beside the log or in it.
            match = _SNAPSHOT.search(body)
            beside = draft.path.with_name(match["file"]) if match else None
            page = first_text(beside) if beside and beside.is_file() and not beside.is_symlink() else body
            names = marks_of_text(answered.name("snapshot")) or marks_of_text(page) or names
        return {}
