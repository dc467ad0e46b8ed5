"""What people recorded on Windows: Steps Recorder (`.mht`, or the zip it saves) and Power Automate for desktop.

Steps Recorder keeps which control was clicked and never what was typed. A flow of Power Automate is read in the text it
has in the clipboard and in files (Robin): every action on a control is a step, in the order of the text. Neither says
whether it worked: `--success` does.
"""

from __future__ import annotations

import email
import html
import re
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.builder import NO_TASK, Draft, content_key
from ufo_experience.traces.coerce import as_host
from ufo_experience.traces.common_keys import nothing_in
from ufo_experience.traces.json_lines import peek_text, read_chunks
from ufo_experience.traces.naming import Named
from ufo_experience.traces.reader import ReadReport

MAX_RECORDING = 1 << 28  # bytes, screenshots among them
TYPED_IS_LOST = "E_TYPED_TEXT"  # the problem of a recording that does not hold what was typed

_ACTION = re.compile(r"<EachAction\b(?P<attributes>[^>]*)>(?P<body>(?:[^<]|<(?!/?EachAction\b))*)</EachAction>")
_PART = re.compile(r"<(?P<tag>Description|Action)>(?P<text>(?:[^<]|<(?!/?(?:Description|Action)>))*)</(?P=tag)>")
_LEVEL = re.compile(r"<Level\b(?P<attributes>[^>]*)/>")
_ATTRIBUTE = re.compile(r"(?<!\w)(?P<key>\w+)=\"(?P<value>[^\"]*)\"")
_ON = re.compile(r' on "(?P<name>.{0,400}?)(?: \((?P<role>[^()"]{0,80})\))?"(?: in |\s|$)', re.DOTALL)
_IN = re.compile(r' in "(?P<window>[^"]*)"')
_KEYS = re.compile(r"\A(?:[^\[]|\[(?!\.\.\.))*\[\.\.\.(?P<keys>.*?)(?:\.\.\.)?\]\s*$", re.DOTALL)
_RECORDED = {"mouse left double click": "double_click", "mouse right click": "right_click", "mouse wheel": "scroll"}
_RECORDED |= {"mouse drag": "drag", "mouse drag end": "drag", "mouse middle click": "middle_click"}

_ROBIN = re.compile(r"^[^\S\n]*(?:@@\w+:|(?:UIAutomation|WebAutomation|MouseAndKeyboard)\.\w+)", re.MULTILINE)
_CALL = re.compile(r"\s*(?P<room>UIAutomation|WebAutomation|MouseAndKeyboard|System)\.(?P<call>[\w.]+)(?P<rest>.*)")
_MASK = re.compile(r"appmask(?P<parts>(?:\['(?:[^'\\]|\\.)*'\])+)")
_MASKED = re.compile(r"\['((?:[^'\\]|\\.)*)'\]")
_GIVEN = re.compile(
    r"(?<!\w)(?P<key>\w+):\s*(?:\$?'''(?P<long>.*?)'''|\$?'(?P<text>(?:[^'\\]|\\.)*)'|(?P<bare>[^\s']+))"
)
_QUOTED_NAME = re.compile(r"(?P<role>[\w ]+?) '(?P<name>.+)'")
_TEXTS = ("TextToType", "TextToSend", "Text", "Value", "OptionText", "Option", "ItemText", "MenuPath")
_VERBS = tuple(
    "Click PressButton PopulateTextField SetText SendKeys SelectMenuItem SetDropDown Drag SetCheckbox SetRadio "
    "SelectTab SelectRadio ExpandCollapse Launch GoTo FocusTextField".split()
)
_READ_ONLY = ("Get", "Extract", "If", "Wait", "TakeScreenshot", "Hover")


class StepsRecorderReader:
    """Reads a recording of Windows Steps Recorder, one run a file."""

    name = "steps-recorder"

    def recognises(self, path: Path) -> bool:
        """True for a web archive that holds the recorded data."""
        return path.suffix.casefold() in (".mht", ".mhtml") and "<UserActionData>" in peek_text(path)

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the recording. Raises `TraceError` when it has no action."""
        page = _page(b"".join(read_chunks(path, images=False, max_bytes=MAX_RECORDING)))
        draft = Draft(path, format=self.name, session=content_key(path.stem, 1, content_hash(page)), request=None)
        problems = [Problem(file=str(path), code=NO_TASK, message="a recording does not say its task; --task gives it")]
        for found in _ACTION.finditer(page):
            _add_recorded(draft, _attributes(found["attributes"]), found["body"])
        if not draft.steps:
            raise nothing_in(path, "action", [])
        if blank := sum(step.action_type == "type" for step in draft.steps):
            message = f"what was typed in {blank} steps is not in it: Steps Recorder keeps no text"
            problems.append(Problem(file=str(path), code=TYPED_IS_LOST, message=message))
        report.problems += problems
        yield draft.finish(success=None, agent=self.name, env="windows", problems=problems)


class PowerAutomateReader:
    """Reads a desktop flow of Power Automate as text (Robin), one run a file."""

    name = "power-automate"

    def recognises(self, path: Path) -> bool:
        """True for a text of which two lines are actions of a desktop flow."""
        wanted = path.suffix.casefold() in (".robin", ".pad", ".txt") and path.is_file()
        return wanted and len(_ROBIN.findall(peek_text(path))) > 1

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the flow. Raises `TraceError` when it acts on nothing."""
        text = b"".join(read_chunks(path, images=False, max_bytes=MAX_RECORDING)).decode("utf-8", "replace")
        draft = Draft(path, format=self.name, session=content_key(path.stem, 1, content_hash(text)), request=None)
        problems = [Problem(file=str(path), code=NO_TASK, message="a flow does not say its task; --task gives it")]
        site: str | None = None
        for number, line in enumerate(text.splitlines(), start=1):
            match = _CALL.match(line)
            if match:
                site = _add_call(draft, match, number, site)
            elif line.strip().startswith(("IF ", "LOOP ", "SWITCH ", "CALL ")):
                message = (
                    "a branch, a loop or a call of another flow: what stands in it is read as if it were done once"
                )
                problems.append(Problem(file=str(path), line=number, code="E_BRANCH", message=message))
        if not draft.steps:
            raise nothing_in(path, "action on a control", problems)
        report.problems += problems
        yield draft.finish(success=None, agent=self.name, env="windows", problems=problems)


def _page(data: bytes) -> str:
    """The page of a web archive, with the recorded data in it."""
    archive: Message = email.message_from_bytes(data)
    for part in archive.walk():
        content = part.get_payload(decode=True)
        if isinstance(content, bytes) and b"<UserActionData>" in content:
            return content.decode("utf-8", "replace")
    return data.decode("utf-8", "replace")


def _add_recorded(draft: Draft, given: dict[str, str], body: str) -> None:
    parts = {found["tag"]: html.unescape(found["text"]).strip() for found in _PART.finditer(body)}
    description, action = parts.get("Description", ""), parts.get("Action", "").casefold()
    name, role = _recorded_control(body, description)
    window = _IN.search(description)
    parameters: dict[str, Any] = {}
    keys = _KEYS.search(description)
    if action == "keyboard input":
        pressed = keys["keys"].replace("...", " ").split() if keys else []
        parameters = {"keys": pressed} if pressed else {}
    verb = "type" if action == "keyboard input" else _RECORDED.get(action, "click" if "click" in action else action)
    draft.step(
        verb or "unknown", control=name, control_type=role, within=window["window"] if window else None,
        parameters=parameters, observation=description,
        application=given.get("FileName") or given.get("FileDescription"),
    )  # fmt: skip


def _recorded_control(body: str, description: str) -> Named:
    """The control an action was on: as its description names it, else the innermost element that has a name."""
    if match := _ON.search(description):
        return match["name"], match["role"] or ""
    levels = [_attributes(level["attributes"]) for level in _LEVEL.finditer(body)]
    level = levels[0] if levels else {}
    return level.get("Name", ""), level.get("LocalizedControlType", "")


def _attributes(text: str) -> dict[str, str]:
    return {found["key"]: html.unescape(found["value"]) for found in _ATTRIBUTE.finditer(text)}


def _add_call(draft: Draft, match: re.Match[str], line: int, site: str | None) -> str | None:
    """Add an action of a flow; returns the site the flow is on after it."""
    call = match["call"].split(".")[0]
    given = {found["key"]: found["long"] or found["text"] or found["bare"] for found in _GIVEN.finditer(match["rest"])}
    site = as_host(given.get("Url") or given.get("TabUrl")) or site
    if call.startswith(_READ_ONLY) or (not call.startswith(_VERBS) and match["room"] != "MouseAndKeyboard"):
        return site
    window, named = _masked(match["rest"])
    text = next((given[key] for key in _TEXTS if given.get(key)), None)
    parameters = {"text": text.replace("\\'", "'")} if text else {}
    address = given.get("Url") or given.get("TabUrl")
    draft.step(
        "navigate" if address and not named[0] else call, control=named[0], control_type=named[1], within=window,
        parameters={"url": address} if address and not named[0] else parameters,
        application=site if match["room"] == "WebAutomation" else window, line=line,
    )  # fmt: skip
    return site


def _masked(rest: str) -> tuple[str | None, Named]:
    """Window and control of `appmask['Window'][…]`, whose last part is such as `Button 'Save'`."""
    found = _MASK.search(rest)
    parts = [part.replace("\\'", "'") for part in _MASKED.findall(found["parts"])] if found else []
    if not parts:
        return None, ("", "")
    match = _QUOTED_NAME.fullmatch(parts[-1])
    named = (match["name"], match["role"].strip()) if match else (parts[-1], "")
    return _plain(parts[0]) if len(parts) > 1 else None, named


def _plain(name: str) -> str:
    """`Window 'Untitled - Notepad'` is "Untitled - Notepad"."""
    match = _QUOTED_NAME.fullmatch(name)
    return match["name"] if match else name
