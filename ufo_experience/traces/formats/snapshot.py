"""Page snapshots of Playwright MCP: lines such as `- button "Save" [ref=e12]`, and the session log it writes.

`--save-session` writes a folder with `session.md`: for each tool call a heading, the arguments as JSON, the code that
ran, and the file of the snapshot taken after it. The log does not say what the task was and nobody judges it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.errors import TraceError
from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.builder import NO_TASK, Draft, content_key
from ufo_experience.traces.coerce import as_dict, as_host, as_name
from ufo_experience.traces.common_keys import nothing_in
from ufo_experience.traces.json_lines import parse_json, peek_text, read_chunks
from ufo_experience.traces.naming import Named
from ufo_experience.traces.reader import ReadReport

_REF = re.compile(
    r"^[^\S\n]*- '?(?P<role>[a-z]+)(?: \"(?P<name>(?:[^\"\\]|\\.)*)\")?[^\n]*?\[ref=(?P<ref>\w+)\]", re.MULTILINE
)
_CALL = re.compile(r"^#{2,4} (?:Tool call|User action): (?P<name>\w+)\s*$", re.MULTILINE)
_LOCATOR = re.compile(
    r"getBy(?P<by>Role|Text|Label|Placeholder|AltText|Title)\((?P<q>['\"])(?P<first>.{0,300}?)(?P=q)"
    r"(?:,\s{0,4}\{[^{}]{0,200}?name:\s{0,4}(?P<r>['\"])(?P<name>.{0,300}?)(?P=r))?"
)
_ARGS = re.compile(r"- Args\s*\n```(?:json)?\n(?P<json>.*?)\n```", re.DOTALL)
_RESULT = re.compile(r"^- (?P<kind>Result|Error)\s*\n```\w*\n(?P<text>.*?)\n```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"^- Code\s*\n```\w*\n(?P<text>.*?)\n```$", re.DOTALL | re.MULTILINE)
_SNAPSHOT = re.compile(r"- Snapshot: (?P<file>[\w.-]{1,100})")
MAX_LOG = 1 << 24


def names_by_ref(snapshot: str) -> dict[str, Named]:
    """The name and role of each element of a snapshot, by its reference; empty for any other text."""
    if "[ref=" not in snapshot:
        return {}
    found = ((match["ref"], match["name"], match["role"]) for match in _REF.finditer(snapshot))
    return {ref: (name.replace('\\"', '"'), role) for ref, name, role in found if name}


class PlaywrightMcpReader:
    """Reads the `session.md` of Playwright MCP."""

    name = "playwright-mcp"

    def recognises(self, path: Path) -> bool:
        """True for a Markdown file with tool calls of a browser."""
        return path.suffix == ".md" and path.is_file() and _CALL.search(peek_text(path)) is not None

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the session. Raises `TraceError` when no tool was called in it."""
        text = b"".join(read_chunks(path, images=False, max_bytes=MAX_LOG)).decode("utf-8", "replace")
        heads = list(_CALL.finditer(text))
        if not heads:
            raise nothing_in(path, "tool call", [])
        problem = Problem(file=str(path), code=NO_TASK, message="the log does not hold the task; --task gives it")
        draft = Draft(
            path, format=self.name, session=content_key(path.parent.name, 1, content_hash(text)), request=None
        )
        names: dict[str, Named] = {}
        host = None
        for place, head in enumerate(heads):
            end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
            body = text[head.end() : end]
            arguments = _arguments(body)
            host = as_host(arguments.get("url")) or host
            element = as_name(arguments.pop("element", ""))
            named = names.get(as_name(arguments.get("ref") or arguments.get("target")))
            answer = _RESULT.search(body)
            text_of = answer["text"] if answer else ""
            answered = _object(text_of)
            code = _CODE.search(body)
            named = named_by_code(as_name(answered.get("code")) or (code["text"] if code else "")) or named
            error = as_name(answered.get("error")) or (text_of if answer and answer["kind"] == "Error" else "")
            draft.step(
                head["name"],
                control=named[0] if named else element,
                control_type=named[1] if named else None,
                parameters=arguments,
                result=as_name(answered.get("result")) if answered else text_of,
                error=error or None,
                application=host,
            )
            names = names_by_ref(as_name(answered.get("snapshot"))) or _snapshot(path, body) or names
        report.problems.append(problem)
        yield draft.finish(success=None, agent=self.name, env="web", problems=[problem])


def named_by_code(code: str) -> Named | None:
    """The control of the last locator in a line of Playwright code: `getByRole('button', { name: 'Save' })`."""
    found = list(_LOCATOR.finditer(code))
    if not found:
        return None
    last = found[-1]
    if last["by"] != "Role":
        return last["first"], ""
    return (last["name"], last["first"]) if last["name"] else None


def _arguments(body: str) -> dict[str, Any]:
    match = _ARGS.search(body)
    return _object(match["json"]) if match else {}


def _object(text: str) -> dict[str, Any]:
    try:
        return as_dict(parse_json(text.encode("utf-8", "replace"))) if text.startswith("{") else {}
    except TraceError:
        return {}


def _snapshot(path: Path, body: str) -> dict[str, Named]:
    """The names in the snapshot after a call: written beside the log, or in the log itself."""
    match = _SNAPSHOT.search(body)
    beside = path.with_name(match["file"]) if match else None
    if beside and beside.is_file() and not beside.is_symlink():
        return names_by_ref(peek_text(beside))
    return names_by_ref(body)
