"""A page read through the browser's accessibility tree, as a screen reader hears it, and acted on with real events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.steps.browser import Browser, Page
from benchmarks.steps.environment import Command, ControlView

_TYPES = {
    "button": "Button",
    "link": "Hyperlink",
    "textbox": "Edit",
    "searchbox": "Edit",
    "spinbutton": "Edit",
    "combobox": "ComboBox",
    "listbox": "ComboBox",
    "checkbox": "CheckBox",
    "switch": "CheckBox",
    "radio": "RadioButton",
    "tab": "TabItem",
    "menuitem": "MenuItem",
    "treeitem": "TreeItem",
    "DisclosureTriangle": "Button",
    "Date": "Edit",
    "DateTime": "Edit",
}
_GROUPS = ("dialog", "alertdialog", "group", "row", "form", "region", "tabpanel", "navigation")
_TOLD = ("alert", "status")
_NAMELESS = "text field without a name"
_MAX_NAME = 160
_SETTLE_S, _PAUSE_S = 5.0, 0.08

_ASSIGN = """function (text) {
  const option = [...(this.options || [])].find((one) => one.text.trim() === text);
  if (!option) return false;
  option.selected = true;
  for (const type of ['input', 'change']) this.dispatchEvent(new Event(type, { bubbles: true }));
  return true;
}"""
_SELECT_ALL = """function () {
  this.scrollIntoView({ block: 'nearest' });
  this.focus();
  if (this.select) this.select(); else document.getSelection().selectAllChildren(this);
}"""
# The number of nodes; -1 while the page is loading, or was left and the next has not come.
_COUNT = """if (!('isLeft' in window)) {
  window.isLeft = false;
  addEventListener('beforeunload', () => { window.isLeft = true; });
}
return document.readyState === 'complete' && !window.isLeft ? document.getElementsByTagName('*').length : -1;"""
_CLEAR = "function () { this.value = ''; this.dispatchEvent(new Event('input', { bubbles: true })); }"

Node = Mapping[str, Any]


class AccessiblePage:
    """The page open in a browser. Ids of controls hold until the next reading.

    Args:
        browser: shared with other environments; not closed by this one.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._nodes: list[int] = []

    def read(self) -> Page:
        """Wait until the page is at rest, then list what the accessibility tree names."""
        self._settle()
        tree = self._browser.devtools("Accessibility.getFullAXTree")["nodes"]
        nodes = {one["nodeId"]: one for one in tree}
        self._nodes = []
        controls, status = [], []
        for node in _in_reading_order(tree, nodes):
            role = _value(node, "role")
            if node.get("ignored") or "backendDOMNodeId" not in node:
                continue
            if role in _TOLD and (text := _text(node, nodes)):
                status.append(text)
            if role in _TYPES and (control := self._control(node, nodes)) is not None:
                controls.append(control)
        return Page(str(self._browser.run("return document.title")), tuple(controls), tuple(status), None)

    def act(self, command: Command) -> str | None:
        """Carry out a command on the page that was last read. Returns what went wrong, or None."""
        if command.function == "wait":
            return None
        if command.function == "keyboard_input":
            return self._browser.act(command)
        if command.control is None or not 0 < command.control.id <= len(self._nodes):
            return "the control is gone"
        if not command.control.enabled:
            return f"{command.control.name} is disabled"
        action = {"click_input": self._click, "set_edit_text": self._type, "select_item": self._select}
        if command.function not in action:
            return f"unknown function {command.function}"
        return action[command.function](self._nodes[command.control.id - 1], command)

    def _control(self, node: Node, nodes: Mapping[str, Node]) -> ControlView | None:
        states = {one["name"]: one["value"].get("value") for one in node.get("properties", ())}
        kind = _TYPES[_value(node, "role")]
        name = _value(node, "name") or (_NAMELESS if kind == "Edit" else "")
        if not name or (kind == "Edit" and states.get("readonly")):
            return None
        self._nodes.append(node["backendDOMNodeId"])
        within, dialog = _around(node, nodes)
        return ControlView(
            id=len(self._nodes),
            name=name[:_MAX_NAME],
            type=kind,
            value=_value(node, "value"),
            enabled=not states.get("disabled", False),
            checked=_flag(states, "checked"),
            selected=_flag(states, "selected"),
            expanded=_flag(states, "expanded"),
            options=tuple(_options(node, nodes)) if kind == "ComboBox" else (),
            within=within,
            dialog=dialog,
        )

    def _click(self, node: int, command: Command) -> str | None:
        self._browser.devtools("DOM.scrollIntoViewIfNeeded", backendNodeId=node)
        quads = self._browser.devtools("DOM.getContentQuads", backendNodeId=node)["quads"]
        if not quads:
            return "the control cannot be seen"
        corners = quads[0]
        self._browser.click_at(sum(corners[0::2]) / 4, sum(corners[1::2]) / 4)
        return None

    def _type(self, node: int, command: Command) -> str | None:
        self._call(node, _SELECT_ALL)
        text = command.parameters.get("text", "")
        if text:
            self._browser.devtools("Input.insertText", text=text)
        else:
            self._call(node, _CLEAR)
        return None

    def _select(self, node: int, command: Command) -> str | None:
        wanted = command.parameters.get("text", "")
        return None if self._call(node, _ASSIGN, wanted) else f"no option {wanted}"

    def _call(self, node: int, function: str, *arguments: str) -> Any:
        found = self._browser.devtools("DOM.resolveNode", backendNodeId=node)["object"]["objectId"]
        given = [{"value": one} for one in arguments]
        answer = self._browser.devtools(
            "Runtime.callFunctionOn", objectId=found, functionDeclaration=function, arguments=given, returnByValue=True
        )
        return answer["result"].get("value")

    def _settle(self) -> None:
        """Until no page is being left, the document is loaded and has the same number of nodes twice in a row."""
        end, before = time.monotonic() + _SETTLE_S, -1
        while time.monotonic() < end:
            time.sleep(_PAUSE_S)
            count = self._browser.run(_COUNT)
            if count == before and count >= 0:
                return
            before = count


def _in_reading_order(tree: Sequence[Node], nodes: Mapping[str, Node]) -> Iterator[Node]:
    """The nodes from the root down, each before what is below it."""
    left = [one["nodeId"] for one in reversed(tree) if one.get("parentId") not in nodes]
    while left:
        node = nodes[left.pop()]
        yield node
        left += [one for one in reversed(node.get("childIds", ())) if one in nodes]


def _value(node: Node, key: str) -> str:
    return " ".join(str(node.get(key, {}).get("value", "")).replace("\u200b", "").split())


def _flag(states: Mapping[str, Any], name: str) -> bool | None:
    return states[name] in (True, "true") if name in states else None


def _around(node: Node, nodes: Mapping[str, Node]) -> tuple[str, bool]:
    """The name of the nearest group around a control, and whether it is in a dialog."""
    within, dialog = "", False
    outer = nodes.get(node.get("parentId", ""))
    while outer is not None:
        role = _value(outer, "role")
        dialog = dialog or role in ("dialog", "alertdialog")
        if not within and role in _GROUPS:
            within = _value(outer, "name")[:_MAX_NAME]
        outer = nodes.get(outer.get("parentId", ""))
    return within, dialog


def _options(node: Node, nodes: Mapping[str, Node]) -> list[str]:
    """The names of the options below a list, in order."""
    found = []
    for child in node.get("childIds", ()):
        below = nodes.get(child)
        if below is not None:
            found += (
                [_value(below, "name")] if _value(below, "role") in ("option", "menuitem") else _options(below, nodes)
            )
    return [one for one in found if one]


def _text(node: Node, nodes: Mapping[str, Node]) -> str:
    """The text below a node."""
    own = _value(node, "name") if _value(node, "role") == "StaticText" else ""
    below = [_text(nodes[one], nodes) for one in node.get("childIds", ()) if one in nodes]
    return " ".join(one for one in (own, *below) if one)
