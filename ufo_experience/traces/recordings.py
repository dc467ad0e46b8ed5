"""What people recorded: Chrome's Recorder, Selenium IDE, Windows Steps Recorder, Power Automate for desktop.

A recording shows how a person did it; nobody in it says whether it worked: `--success` does. Its title is the task.
Steps Recorder keeps which control was clicked and never what was typed. A flow of Power Automate is read in the text it
has in the clipboard and in files (Robin): every action on a control is a step, in the order of the text.
"""

import email
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import ReadReport
from ufo_experience.traces.lines import load_document, problem, read_bytes
from ufo_experience.traces.rows import RowsReader
from ufo_experience.traces.values import NAMES, Row, as_dict, as_list, as_name

_BY_ITSELF = re.compile(r"(?i)recording \d|untitled|unnamed|new recording|(?:test|example|recording) ?\d*$")
_CHROME_VERBS = {"change": "fill", "keyDown": "press"}
_BY_WORDS = re.compile(r"(?P<by>aria|text)/(?P<name>.*?\S.*?)(?:\[role=\"(?P<role>\w+)\"\])?", re.DOTALL)
_PASSED_OVER = re.compile(r"(?:store|assert|verify|wait|echo|pause|setWindowSize|//|close|run|debugger)", re.IGNORECASE)
_IN_XPATH = re.compile(r"(?:text\(\)|normalize-space\(\.?\)|\.)\s*[=,]\s*['\"](?P<text>[^'\"]{1,120})['\"]")

_ON = re.compile(r' on "(?P<name>.{0,400}?)(?: \((?P<role>[^()"]{0,80})\))?"(?: in |\s|$)', re.DOTALL)
_IN = re.compile(r' in "(?P<window>[^"]*)"')
_KEYS = re.compile(r"\A(?:[^\[]|\[(?!\.\.\.))*\[\.\.\.(?P<keys>.*?)(?:\.\.\.)?\]\s*$", re.DOTALL)
_RECORDED = {
    "keyboard input": "type", "mouse left double click": "double_click", "mouse right click": "right_click",
    "mouse wheel": "scroll", "mouse drag": "drag", "mouse drag end": "drag", "mouse middle click": "middle_click",
}  # fmt: skip

_ROBIN_LINE = r"^[^\S\n]*(?:@@\w+:|(?:UIAutomation|WebAutomation|MouseAndKeyboard)\.\w+)"
_ROBIN = re.compile(rf"(?s){_ROBIN_LINE}.*?{_ROBIN_LINE}", re.MULTILINE)
_CALL = re.compile(r"\s*(?P<room>UIAutomation|WebAutomation|MouseAndKeyboard|System)\.(?P<call>\w+)(?P<rest>.*)")
_MASK = re.compile(r"appmask(?P<parts>(?:\['(?:[^'\\]|\\.)*'\])+)")
_MASKED = re.compile(r"\['((?:[^'\\]|\\.)*)'\]")
_GIVEN = re.compile(
    r"(?<!\w)(?P<key>\w+):\s*(?:\$?'''(?P<long>.*?)'''|\$?'(?P<text>(?:[^'\\]|\\.)*)'|(?P<bare>[^\s']+))"
)
_QUOTED_NAME = re.compile(r"(?P<role>[\w ]+?) '(?P<name>.+)'")


def title_of(value: Any) -> str | None:
    """A title that says something; what a recorder puts there by itself does not."""
    title = as_name(value)
    return None if _BY_ITSELF.match(title) else title or None


def given_in(step: Row, *keys: str) -> dict[str, Any]:
    """What a step is given; the value of a field is called its text."""
    return {"text" if key == "value" else key: step[key] for key in keys if step.get(key) is not None}


class ChromeRecorderReader(RowsReader):
    """Chrome's Recorder: the last part of a selector is the control, those before it are around it."""

    name = "chrome-recorder"
    needs = ("title", "steps")
    env = "web"
    untold = "the title of the recording"

    def is_row(self, row: Row) -> bool:
        steps, known = row.rows("steps"), {*NAMES["chrome_no_action"], *NAMES["chrome_action"]}
        located = any(step.get("selectors") or step.get("type") in NAMES["chrome_no_action"] for step in steps)
        return "title" in row and located and {step.name("type") for step in steps} <= known

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        draft.request = title_of(row.get("title"))
        for step in row.rows("steps"):
            kind = step.name("type")
            if kind in NAMES["chrome_no_action"]:
                continue
            ways = [[as_name(part) for part in as_list(one)] for one in step.listed("selectors")]
            name, role = _of_selectors([way[-1] for way in ways if way])
            around = _of_selectors([way[-2] for way in ways if len(way) > 1 and way[-2].startswith("aria/")])[0]
            draft.step(
                _CHROME_VERBS.get(kind, kind), control=name, control_type=role, within=around or None,
                application=draft.on_site(step.get("url")),
                parameters=given_in(step, "url", "value", "key", "x", "y", "button"),
            )  # fmt: skip
        return {}


class SeleniumIdeReader(RowsReader):
    """A project of Selenium IDE (`.side`); every test in it is a run."""

    name = "selenium-ide"
    needs = ("commands|tests/commands",)
    env = "web"
    untold = "the title of the recording"

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        project = as_dict(load_document(path, report.problems))
        yield from (Row({"commands": [], **test, "url": project.get("url")}) for test in project.rows("tests"))

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        draft.request, site = title_of(row.get("name")), row.host("url")
        for command in row.rows("commands"):
            name, target, value = (as_name(command.get(key)) for key in ("command", "target", "value"))
            if not name or _PASSED_OVER.match(name):
                continue
            step: dict[str, Any] = {"parameters": {"text": value} if value else {}}
            if name == "open":
                name, step = "navigate", {"parameters": {"url": target}}
            elif "script" in name.casefold():
                step = {"parameters": {"source": target}}
            else:
                ways = [target, *(as_name(as_list(one)[0]) for one in command.listed("targets") if as_list(one))]
                said = next((match["text"] for way in ways if (match := _IN_XPATH.search(way))), "")
                by = {kind: rest for kind, _, rest in (way.partition("=") for way in reversed(ways))}
                step["control"] = said or next((by[kind] for kind in NAMES["selenium_way"] if kind in by), target)
            draft.step(name, **step, observation=command.get("comment"), application=site)
        return {}


def _of_selectors(ways: list[str]) -> tuple[str, str]:
    """The name of a control: its accessible name, else its text, else its selector."""
    named = sorted(filter(None, map(_BY_WORDS.fullmatch, ways)), key=lambda match: match["by"])
    if named:
        return named[0]["name"].strip(), named[0]["role"] or ""
    return next((selector for selector in ways if not selector.startswith(("xpath/", "pierce/"))), ""), ""


class StepsRecorderReader(RowsReader):
    """A recording of Windows Steps Recorder, one run a file."""

    name = "steps-recorder"
    env = "windows"
    untold = "a recording"
    suffixes, sign = (".mht", ".mhtml"), re.compile("<UserActionData>")

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        data = read_bytes(path)
        parts = (part.get_payload(decode=True) for part in email.message_from_bytes(data).walk())
        page = next((part for part in parts if isinstance(part, bytes) and b"<UserActionData>" in part), data)
        yield Row(page=page.decode("utf-8", "replace"))

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        elements: list[ElementTree.Element] = []
        with suppress(ElementTree.ParseError):  # as far as the text is XML
            page = io.StringIO(row["page"][row["page"].find("<UserActionData>") :])
            elements += (element for _, element in ElementTree.iterparse(page))
        for found in (one for one in elements if one.tag == "EachAction"):
            description, action = found.findtext("Description", "").strip(), found.findtext("Action", "").casefold()
            window, keys, on = _IN.search(description), _KEYS.search(description), _ON.search(description)
            pressed = keys["keys"].replace("...", " ").split() if keys and action == "keyboard input" else []
            inner = next(found.iter("Level"), found)  # the innermost element that has a name
            draft.step(
                _RECORDED.get(action, "click" if "click" in action else action),
                control=on["name"] if on else inner.get("Name"),
                control_type=on["role"] if on else inner.get("LocalizedControlType"),
                within=window["window"] if window else None, parameters={"keys": pressed} if pressed else {},
                observation=description, application=found.get("FileName") or found.get("FileDescription"),
            )  # fmt: skip
        blank = sum(step.action_type == "type" for step in draft.steps)
        message = f"what was typed in {blank} steps is not in it: Steps Recorder keeps no text"
        whole = any(one.tag == "UserActionData" for one in elements)
        return {"complete": whole, "problems": [problem(draft.path, "E_TYPED_TEXT", message)] if blank else []}


class PowerAutomateReader(RowsReader):
    """A desktop flow of Power Automate as text (Robin), one run a file; two lines of it are actions of such a flow."""

    name = "power-automate"
    env = "windows"
    untold = "a flow"
    suffixes, sign = (".robin", ".pad", ".txt"), _ROBIN

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        problems = []
        for number, line in enumerate(row["text"].splitlines(), start=1):
            if match := _CALL.match(line):
                _add_call(draft, match, number)
            elif line.strip().startswith(("IF ", "LOOP ", "SWITCH ", "CALL ")):
                message = "a branch, a loop or a call of another flow: what stands in it is read as if done once"
                problems.append(problem(draft.path, "E_BRANCH", message, number))
        return {"problems": problems}


def _add_call(draft: Draft, match: re.Match[str], line: int) -> None:
    arguments = _GIVEN.finditer(match["rest"])
    given = Row({found["key"]: found["long"] or found["text"] or found["bare"] for found in arguments})
    address = given.first("Url", "TabUrl")
    site = draft.on_site(address)
    if not match["call"].startswith(NAMES["robin_verb"]):
        return
    mask = _MASK.search(match["rest"])  # `appmask['Window'][…]`, whose last part is such as `Button 'Save'`
    parts = [part.replace("\\'", "'") for part in _MASKED.findall(mask["parts"])] if mask else [""]
    (name, role), window = _quoted(parts[-1]), _quoted(parts[0])[0] if len(parts) > 1 else None
    goes, text = bool(address) and not name, given.name(*NAMES["robin_text"])
    draft.step(
        "navigate" if goes else match["call"], control=name, control_type=role, within=window, line=line,
        parameters={"url": address} if goes else {"text": text.replace("\\'", "'")} if text else {},
        application=site if match["room"] == "WebAutomation" else window,
    )  # fmt: skip


def _quoted(name: str) -> tuple[str, str]:
    """Name and role in `Window 'Untitled - Notepad'`; other texts are names."""
    match = _QUOTED_NAME.fullmatch(name)
    return (match["name"], match["role"].strip()) if match else (name, "")
