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
from pathlib import Path
from typing import Any

from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import problem, read_bytes, read_text
from ufo_experience.traces.rows import Row, RowsReader
from ufo_experience.traces.values import as_host

_ACTION = re.compile(r"<EachAction\b(?P<attributes>[^>]*)>(?P<body>(?:[^<]|<(?!/?EachAction\b))*)</EachAction>")
_PART = re.compile(r"<(?P<tag>Description|Action)>(?P<text>(?:[^<]|<(?!/?(?:Description|Action)>))*)</(?P=tag)>")
_LEVEL = re.compile(r"<Level\b(?P<attributes>[^>]*)/>")
_ATTRIBUTE = re.compile(r"(?<!\w)(?P<key>\w+)=\"(?P<value>[^\"]*)\"")
_ON = re.compile(r' on "(?P<name>.{0,400}?)(?: \((?P<role>[^()"]{0,80})\))?"(?: in |\s|$)', re.DOTALL)
_IN = re.compile(r' in "(?P<window>[^"]*)"')
_KEYS = re.compile(r"\A(?:[^\[]|\[(?!\.\.\.))*\[\.\.\.(?P<keys>.*?)(?:\.\.\.)?\]\s*$", re.DOTALL)
_RECORDED = {
    "keyboard input": "type", "mouse left double click": "double_click", "mouse right click": "right_click",
    "mouse wheel": "scroll", "mouse drag": "drag", "mouse drag end": "drag", "mouse middle click": "middle_click",
}  # fmt: skip

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


class StepsRecorderReader(RowsReader):
    """A recording of Windows Steps Recorder, one run a file."""

    name = "steps-recorder"
    env = "windows"
    untold = "a recording"

    def recognises(self, found: Found) -> bool:
        """True for a web archive that holds the recorded data."""
        return found.suffix in (".mht", ".mhtml") and "<UserActionData>" in found.text

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        """The one recording of a web archive."""
        data = read_bytes(path)
        parts = (part.get_payload(decode=True) for part in email.message_from_bytes(data).walk())
        page = next((part for part in parts if isinstance(part, bytes) and b"<UserActionData>" in part), data)
        yield None, {"page": page.decode("utf-8", "replace")}

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        for found in _ACTION.finditer(row["page"]):
            _add_recorded(draft, _attributes(found["attributes"]), found["body"])
        blank = sum(step.action_type == "type" for step in draft.steps)
        message = f"what was typed in {blank} steps is not in it: Steps Recorder keeps no text"
        return {"problems": [problem(draft.path, "E_TYPED_TEXT", message)] if blank else []}


class PowerAutomateReader(RowsReader):
    """A desktop flow of Power Automate as text (Robin), one run a file."""

    name = "power-automate"
    env = "windows"
    untold = "a flow"

    def recognises(self, found: Found) -> bool:
        """True for a text of which two lines are actions of a desktop flow."""
        wanted = found.suffix in (".robin", ".pad", ".txt") and found.path.is_file()
        return wanted and len(_ROBIN.findall(found.text)) > 1

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        """The one flow of a file."""
        yield None, {"text": read_text(path)}

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        problems, site = [], None
        for number, line in enumerate(row["text"].splitlines(), start=1):
            if match := _CALL.match(line):
                site = _add_call(draft, match, number, site)
            elif line.strip().startswith(("IF ", "LOOP ", "SWITCH ", "CALL ")):
                message = "a branch, a loop or a call of another flow: what stands in it is read as if done once"
                problems.append(problem(draft.path, "E_BRANCH", message, number))
        return {"problems": problems}


def _add_recorded(draft: Draft, given: dict[str, str], body: str) -> None:
    parts = {found["tag"]: html.unescape(found["text"]).strip() for found in _PART.finditer(body)}
    description, action = parts.get("Description", ""), parts.get("Action", "").casefold()
    window, keys = _IN.search(description), _KEYS.search(description)
    pressed = keys["keys"].replace("...", " ").split() if keys and action == "keyboard input" else []
    if match := _ON.search(description):
        name, role = match["name"], match["role"]
    else:  # the innermost element that has a name
        level = next((_attributes(level["attributes"]) for level in _LEVEL.finditer(body)), {})
        name, role = level.get("Name", ""), level.get("LocalizedControlType", "")
    draft.step(
        _RECORDED.get(action, "click" if "click" in action else action) or "unknown",
        control=name,
        control_type=role,
        within=window["window"] if window else None,
        parameters={"keys": pressed} if pressed else {},
        observation=description,
        application=given.get("FileName") or given.get("FileDescription"),
    )


def _attributes(text: str) -> dict[str, str]:
    return {found["key"]: html.unescape(found["value"]) for found in _ATTRIBUTE.finditer(text)}


def _add_call(draft: Draft, match: re.Match[str], line: int, site: str | None) -> str | None:
    """Add an action of a flow; returns the site the flow is on after it."""
    call = match["call"].split(".")[0]
    given = {found["key"]: found["long"] or found["text"] or found["bare"] for found in _GIVEN.finditer(match["rest"])}
    address = given.get("Url") or given.get("TabUrl")
    site = as_host(address) or site
    if call.startswith(_READ_ONLY) or (not call.startswith(_VERBS) and match["room"] != "MouseAndKeyboard"):
        return site
    window, (name, role) = _masked(match["rest"])
    text = next((given[key] for key in _TEXTS if given.get(key)), None)
    goes = bool(address) and not name
    draft.step(
        "navigate" if goes else call,
        control=name,
        control_type=role,
        within=window,
        parameters={"url": address} if goes else {"text": text.replace("\\'", "'")} if text else {},
        application=site if match["room"] == "WebAutomation" else window,
        line=line,
    )
    return site


def _masked(rest: str) -> tuple[str | None, tuple[str, str]]:
    """Window and control of `appmask['Window'][…]`, whose last part is such as `Button 'Save'`."""
    found = _MASK.search(rest)
    parts = [part.replace("\\'", "'") for part in _MASKED.findall(found["parts"])] if found else []
    if not parts:
        return None, ("", "")
    return _quoted(parts[0])[0] if len(parts) > 1 else None, _quoted(parts[-1])


def _quoted(name: str) -> tuple[str, str]:
    """Name and role in `Window 'Untitled - Notepad'`; other texts are names."""
    match = _QUOTED_NAME.fullmatch(name)
    return (match["name"], match["role"].strip()) if match else (name, "")
