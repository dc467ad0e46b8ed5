"""Drivers of the executor: a page of Playwright, a browser of Selenium, UFO's dispatcher of commands.

    PlaywrightDriver(page)    a page of Chromium (sync API)
    SeleniumDriver(browser)   a Chromium browser
    UfoDriver(dispatcher)     UFO's `execute_commands`; asynchronous, for `memory.arun`

What is in view is the accessibility tree of the browser itself, in reading order: names and states are those that a
screen reader tells. Each control says in which row, group or dialog it stands (`within`).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ufo_experience.actions import WORDS
from ufo_experience.controls import without_icons
from ufo_experience.errors import DataError, ServiceError, UsageError, needs_extra
from ufo_experience.procedure.acts import Act

_SETTLED = 5.0  # seconds a page may take to come to rest
_COVERED = 1.0  # and something else may lie over a control
_PAUSE = 0.05
_MOST = 2_000  # controls of one view
_LONGEST = 60  # characters of the text of a row that stands for a label
# of the accessibility tree → as logs of desktops call them, too
_ROLES = {role: kind for kind, roles in WORDS["browser_roles"].items() for role in roles.split()}
_PLACES = ("row", "dialog", "alertdialog", "group", "form", "navigation", "toolbar", "menu", "menubar", "region")
_HOLDERS = ("cell", "gridcell", "rowheader", "heading", "listitem", "treeitem")  # controls may stand in them
_LAYOUT = ("group", "form", "region")
_DIALOGS = ("dialog", "alertdialog")
_ROWS = ("row", "dialog", "alertdialog")  # named by what stands in them, where nothing else names them
_FIELDS = ("textbox", "searchbox", "combobox", "spinbutton", "listbox")
_UNNAMED = ("textbox", "searchbox", "combobox", "spinbutton", "checkbox")  # told although nothing labels them
_LISTS = ("combobox", "listbox")
_OPTIONS = ("option", "MenuListOption")
_KEYS = {"enter": 13, "tab": 9, "escape": 27, "backspace": 8, "delete": 46, "arrowdown": 40, "arrowup": 38}
_MODIFIERS = {"alt": 1, "ctrl": 2, "control": 2, "meta": 4, "shift": 8}

_PAGE = Path(__file__).with_name("page.js").read_text("ascii")  # functions of an element
# What a page holds, None while it is loading: the same twice is a page at rest.
_EXTENT = """document.readyState === 'complete'
  ? `${location} ${document.getElementsByTagName('*').length} ${document.body.textContent.length}` : null"""

_CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
Send = Callable[[str, dict[str, Any]], Any]


class ChromiumDriver:
    """Reads and acts through the protocol of the browser's developer tools."""

    rest = 0.7  # seconds after the last key: by then a page may have begun to check it, and to draw its form anew

    def __init__(
        self, window: Any, windows: Callable[[], Sequence[Any]], sender: Callable[[Any], Send], fault: type[Exception]
    ) -> None:
        """`window` of `windows` (the newest last) is in view; `sender` gives what sends a command to one of them, and
        `fault` is what its library raises."""
        self._windows, self._sender, self._fault = windows, sender, fault
        self._known: list[Any] = []
        self._look_at(window)

    def _look_at(self, window: Any) -> None:
        with _told_as_ours("the window", self._fault):
            self._window, self._sent, self._known = window, self._sender(window), [*self._windows()]
        for domain in ("Accessibility", "DOM"):
            self._send(f"{domain}.enable", {})

    def _follow(self) -> None:
        """Go on in a window that was opened meanwhile, as by a link, and in the newest one where this is closed."""
        with _told_as_ours("the window", self._fault):
            windows = self._windows()
        if windows and (self._window not in windows or any(one not in self._known for one in windows)):
            self._look_at(windows[-1])

    @property
    def url(self) -> str:
        return str(self._value("location.href"))

    def controls(self) -> list[dict[str, Any]]:
        """The named controls and texts in view, in reading order, once the page is at rest."""
        self._follow()
        _at_rest(lambda: self._value(_EXTENT))
        return controls_of(self._nodes())

    def do(self, act: Act) -> None:
        """Carry out an action with real input events.

        Raises:
            DataError: it names no control in view, or nothing that can be done here.
        """
        kind, node = act.kind, act.target.id if act.target else None
        if kind == "open":
            address = next((str(one) for one in act.parameters.values() if str(one).startswith("http")), "")
            self._send("Page.navigate", {"url": address})
        elif kind == "keys":
            self._press(act.text, node)
        elif node is None:
            raise DataError(f"{act.action} names no control in view", code="E_TARGET")
        elif kind == "type":
            self._type(node, act.text)
        elif kind == "select":
            self._choose(node, act.text)
        elif kind == "click":
            self._click(node, 2 if "double" in act.action else 1)
        else:
            raise DataError(f"this driver cannot do {act.action!r}", code="E_ACTION")

    def _click(self, node: int, count: int = 1) -> None:
        self._call(node, "centre")  # not at the edge, where a bar of the page may lie over it
        # what has just come may be sliding in, or something over it out
        place = _at_rest(lambda: self._place(node, is_hit=True), _COVERED) or self._place(node)
        if not place:
            raise DataError("the control has no place on the page", code="E_TARGET")
        point = dict(zip("xy", place, strict=True))
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = "none" if kind == "mouseMoved" else "left"
            told = {"type": kind, **point, "button": button, "clickCount": count}
            self._send("Input.dispatchMouseEvent", told)

    def _place(self, node: int, *, is_hit: bool = False) -> tuple[float, float] | None:
        """The middle of a control; None where it has no place or, with `is_hit`, a click there would not hit it."""
        corners = self._send("DOM.getContentQuads", {"backendNodeId": node})["quads"]
        place = (sum(corners[0][0::2]) / 4, sum(corners[0][1::2]) / 4) if corners else None
        return place if place and (not is_hit or self._call(node, "isHit", *place)) else None

    def _type(self, node: int, text: str) -> None:
        if self._call(node, "isList"):
            self._choose(node, text)  # recorders tell a list and a field alike: it was changed
            return
        self._send("DOM.focus", {"backendNodeId": node})
        self._call(node, "selectAll")
        if text:
            self._send("Input.insertText", {"text": text})
        else:
            self._press("Delete", None)
        self._call(node, "tellOfChange")

    def _choose(self, node: int, option: str) -> None:
        if self._call(node, "isList"):
            chosen = bool(self._call(node, "choose", option))
        else:  # a list that is made of other elements: open it, and click the one option of that name
            self._click(node)
            self.controls()
            named = [one for one in self._nodes() if _said(one, "name").strip() == option]
            offered = [one["backendDOMNodeId"] for one in named if _said(one, "role") in _OPTIONS]
            chosen = len(offered) == 1
            self._click(offered[0]) if chosen else self._press("Escape", None)
        if not chosen:
            raise DataError(f"the list does not offer {option!r}", code="E_OPTION")

    def _send(self, method: str, given: dict[str, Any]) -> Any:
        with _told_as_ours(method, self._fault):
            return self._sent(method, given)

    def _nodes(self) -> list[dict[str, Any]]:
        return list(self._send("Accessibility.getFullAXTree", {})["nodes"])

    def _press(self, keys: str, node: int | None) -> None:
        if node is not None:
            self._send("DOM.focus", {"backendNodeId": node})
        *modifiers, key = [part for part in keys.strip("{}").replace("+", " ").split() if part] or [""]
        bits = sum(_MODIFIERS.get(one.casefold(), 0) for one in modifiers)
        code = _KEYS.get(key.casefold(), ord(key.upper()) if len(key) == 1 else 0)
        told = {"key": key, "windowsVirtualKeyCode": code, "modifiers": bits}
        self._send("Input.dispatchKeyEvent", {"type": "keyDown", **told, **({"text": "\r"} if code == 13 else {})})
        self._send("Input.dispatchKeyEvent", {"type": "keyUp", **told})

    def _call(self, node: int, function: str, *arguments: str | float) -> Any:
        """What a function of `page.js` gives for an element."""
        found = self._send("DOM.resolveNode", {"backendNodeId": node})["object"]["objectId"]
        given = [{"value": one} for one in arguments]
        called = f"function(...given) {{ return ({_PAGE}).{function}.apply(this, given); }}"
        told = {"objectId": found, "functionDeclaration": called, "arguments": given, "returnByValue": True}
        return self._send("Runtime.callFunctionOn", told)["result"].get("value")

    def _value(self, expression: str) -> Any:
        return self._send("Runtime.evaluate", {"expression": expression, "returnByValue": True})["result"].get("value")


def _at_rest(look: Callable[[], Any], within: float = _SETTLED) -> Any:
    """What is seen, once it is the same twice; what is seen in the end where it never is."""
    until, before = time.monotonic() + within, None
    while ((seen := look()) is None or seen != before) and time.monotonic() < until:
        before = seen
        time.sleep(_PAUSE)
    return seen


class PlaywrightDriver(ChromiumDriver):
    """A page of Playwright's sync API, in Chromium."""

    def __init__(self, page: Any) -> None:
        if not hasattr(page, "context"):
            raise UsageError(f"page is a page of Playwright's sync API, not {page!r:.60}")
        with needs_extra("browser"):
            from playwright.sync_api import Error

        opened: list[Any] = []  # by the page itself: others of its context are not ours

        def add(one: Any) -> None:
            opened.append(one)
            one.on("popup", add)

        def windows() -> list[Any]:
            return [one for one in opened if not one.is_closed()]

        add(page)
        super().__init__(page, windows, lambda one: one.context.new_cdp_session(one).send, Error)


class SeleniumDriver(ChromiumDriver):
    """A Chromium browser of Selenium."""

    def __init__(self, browser: Any) -> None:
        from selenium.common.exceptions import WebDriverException

        def sender(window: Any) -> Send:
            browser.switch_to.window(window)
            return browser.execute_cdp_cmd  # type: ignore[no-any-return]

        super().__init__(browser.current_window_handle, lambda: browser.window_handles, sender, WebDriverException)


class UfoDriver:
    """UFO's command dispatcher: controls and actions of the window that is selected.

    Args:
        dispatcher: what has `execute_commands`.
        command: UFO's `Command` (`aip.messages`), for other versions of it.
    """

    def __init__(self, dispatcher: Any, command: Callable[..., Any] = SimpleNamespace) -> None:
        self._dispatcher, self._command = dispatcher, command

    async def controls(self) -> list[Mapping[str, Any]]:
        asked = {"field_list": ["label", "control_text", "control_type", "control_rect"]}
        found = await self._have("get_app_window_controls_target_info", asked, "data_collection")
        return [one if isinstance(one, Mapping) else vars(one) for one in found or ()]

    async def do(self, act: Act) -> Any:
        """Have an action executed, with the control's id and name as its tool requires them."""
        target = {"id": str(act.target.id), "name": act.target.name} if act.target else {}
        return await self._have(act.action, {**target, **act.parameters}, "action")

    async def _have(self, tool: str, parameters: dict[str, Any], kind: str) -> Any:
        command = self._command(tool_name=tool, parameters=parameters, tool_type=kind, call_id=tool)
        (result,) = await self._dispatcher.execute_commands([command])
        status = getattr(result.status, "value", result.status)
        if str(status).casefold() not in ("success", "ok"):
            raise ServiceError(f"{tool}: {result.error}", code="E_UFO")
        return result.result


def controls_of(nodes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The controls of an accessibility tree, in reading order, each with the row, group or dialog around it.

    A field that nothing labels is called by the text before it in its place, as a reader takes it.
    """
    by_id = {node["nodeId"]: node for node in nodes}
    here = next((_states(node).get("url") for node in nodes if _said(node, "role") == "RootWebArea"), None)
    found: list[dict[str, Any]] = []

    def walk(node: Mapping[str, Any], place: _Place) -> None:
        role, name = _said(node, "role"), without_icons(_said(node, "name")).strip()
        if not node.get("ignored"):
            if role in _PLACES:
                place = _entered(place, role, name or (_text_in(node, by_id) if role in _ROWS else ""))
            elif role == "StaticText":
                place.before[:] = [name]
            if role in _ROLES and len(found) < _MOST and (name or role in _UNNAMED):
                control = _control(node, role, *_label(node, role, name, place), place.dialog, by_id)
                found.append(control | _leading_here(node, here))
                if role not in _HOLDERS:
                    return
        for child in node.get("childIds", ()):
            if child in by_id:
                walk(by_id[child], place)

    for root in [node for node in nodes if node.get("parentId") not in by_id]:
        walk(root, _Place())
    return [one for one in found if not (one["type"] == "Text" and _is_told(one, found))]


def _label(node: Mapping[str, Any], role: str, name: str, place: _Place) -> tuple[str, str]:
    """What a control is called, and where it stands: not in a row that is made of its label."""
    if role not in _FIELDS:
        return name, place.within
    if name in ("", " ".join(_said(node, "value").split())):  # nothing labels it, or what is in it does
        name = " ".join(place.before)[:_LONGEST] or place.within[:_LONGEST]
    return name, place.outer if name in place.within else place.within


@dataclass(frozen=True)
class _Place:
    """Where a control stands: what it is called, and what is around it; a dialog or not; the last text in it so far."""

    within: str = ""
    outer: str = ""
    is_row: bool = False
    dialog: bool = False
    before: list[str] = field(default_factory=list)


def _entered(place: _Place, role: str, name: str) -> _Place:
    """The place inside another; a form or group in a row that nothing names tells less than the row."""
    is_row = role in _ROWS
    within = name or (place.within if is_row or (place.is_row and role in _LAYOUT) else role)
    return _Place(within, place.within, is_row or (place.is_row and not name), place.dialog or role in _DIALOGS)


def _control(
    node: Mapping[str, Any], role: str, name: str, within: str, dialog: bool, by_id: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    states = _states(node)
    control = {"id": node.get("backendDOMNodeId"), "name": name, "type": _ROLES[role], "within": within[:200]}
    control |= {"dialog": dialog} | ({"enabled": False} if states.get("disabled") is True else {})
    control |= {key: states[key] for key in ("selected", "expanded") if isinstance(states.get(key), bool)}
    checked = {states.get("checked"), states.get("pressed")} & {"true", "false"}
    control |= {"checked": "true" in checked} if checked else {}
    offered = [one for one in _below(node, by_id) if _said(one, "role") in _OPTIONS] if role in _LISTS else []
    control |= {"options": [_said(one, "name") for one in offered]} if role in _LISTS else {}
    if role in _FIELDS:
        chosen = (_said(one, "name") for one in offered if _states(one).get("selected") is True)
        control["value"] = _said(node, "value") or ", ".join(chosen)
    return control


def _leading_here(node: Mapping[str, Any], here: str | None) -> dict[str, Any]:
    """A link to the page one is on is selected, as the tab is that is open; what "#" leads to, only the page knows."""
    is_here = here and "#" not in here and _said(node, "role") == "link" and _states(node).get("url") == here
    return {"selected": True} if is_here else {}


def _states(node: Mapping[str, Any]) -> dict[str, Any]:
    return {one["name"]: one["value"].get("value") for one in node.get("properties", ())}


def _below(
    node: Mapping[str, Any], by_id: Mapping[str, Mapping[str, Any]], closed: Sequence[str] = ()
) -> list[Mapping[str, Any]]:
    """All nodes under one, in order; those of a role that is `closed` are passed over."""
    children = [by_id[child] for child in node.get("childIds", ()) if child in by_id]
    shown = [child for child in children if _said(child, "role") not in closed]
    return [one for child in shown for one in (child, *_below(child, by_id, closed))]


def _text_in(node: Mapping[str, Any], by_id: Mapping[str, Mapping[str, Any]]) -> str:
    """The texts under a node, which name a row: "mlopez Maria Lopez"; not what a field holds or a button says."""
    below = _below(node, by_id, (*_FIELDS, "button"))
    texts = (_said(one, "name") for one in below if _said(one, "role") == "StaticText")
    return " ".join(dict.fromkeys(text for one in texts if (text := without_icons(one).strip())))


def _is_told(text: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> bool:
    """True for a text that another control of the same place is called by, as the cell around it."""
    return any(one is not text and one["name"] == text["name"] and one["within"] == text["within"] for one in found)


def _said(node: Mapping[str, Any], part: str) -> str:
    return str((node.get(part) or {}).get("value", "") or "")


@contextmanager
def _told_as_ours(what: str, fault: type[Exception]) -> Iterator[None]:
    """Faults of a browser's library as ours: it refused, or is gone."""
    try:
        yield
    except (fault, OSError) as error:
        raise ServiceError(f"{what}: {next(iter(str(error).splitlines()), '')}", code="E_BROWSER") from error


@contextmanager
def chromium(address: str, *, show: bool = False) -> Iterator[SeleniumDriver]:
    """A Chromium of this machine that has opened a page; it is closed at the end.

    Raises:
        UsageError: the address is not a whole one.
        ServiceError: selenium is not installed, or no browser can be started.
    """
    if ":" not in address:
        raise UsageError(f"the address of the page is a whole one: https://{address}")
    with needs_extra("browser"):
        from selenium import webdriver
        from selenium.common.exceptions import WebDriverException

    options = webdriver.ChromeOptions()
    options.binary_location = next((found for one in _CHROMIUM if (found := shutil.which(one))), "")
    for flag in (*_FLAGS, *(() if show else ("--headless=new",))):
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    try:
        browser = webdriver.Chrome(options=options, service=service)
    except WebDriverException as error:
        raise ServiceError(f"no Chromium could be started: {error.msg}") from error
    with browser:
        why = "nothing answers there"
        try:
            browser.get(address)
            opened = not browser.execute_script("return document.URL").startswith("chrome-error:")
        except WebDriverException as error:
            opened, why = False, (error.msg or "").partition("\n")[0].removeprefix("unknown error: ")
        if not opened:
            raise ServiceError(f"{address} could not be opened: {why}")
        yield SeleniumDriver(browser)
