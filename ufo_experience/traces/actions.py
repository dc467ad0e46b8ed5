"""One action as agents write it: a name, Python source, or an object in one of the usual shapes of a tool call.

{"action_type": "click", "x": 1}                   {"click": {"index": 3}}
{"name": "browser_click", "input": {…}}            {"type": "function", "function": {"name": "…", "arguments": "{…}"}}
{"name": "computer", "input": {"action": "left_click", "coordinate": [1, 2]}}
pyautogui.click(1, 2)  # the File menu             click('a51')
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ufo_experience.redact.names import words_of
from ufo_experience.traces.coerce import as_dict, as_name, short_object
from ufo_experience.traces.python_calls import commented_calls

NAMES = ("action_type", "action", "function", "tool", "skill", "verb", "op", "operation", "tool_name", "type", "name")
ARGUMENTS = ("parameters", "args", "arguments", "params", "inputs", "input", "tool_input", "kwargs", "action_content")

TARGETS = (
    "target_control", "control_text", "control", "target", "element", "control_name", "target_element",
    "element_name", "element_description",
)  # fmt: skip
_LABELS = ("label", "field", "button")  # a control too, but for a number or a button of the mouse
_TITLES = ("name", "title")  # a control for an action on controls, else whatever the tool is about
_ROLES = ("role", "control_type", "element_type")
_MOUSE = frozenset("left right middle primary secondary".split())
_ON_CONTROLS = frozenset(
    "click tap press push type fill enter input set select choose pick check uncheck tick toggle focus hover".split()
)
_NAMED = ("name", "text", "label", "title", "description", "aria-label", "placeholder", "content_description", "id")
_TOOL_CALL = ("tool_use", "tool_call", "function_call", "function", "computer_call", "mcp_call", "tool")
_OF_THE_CALL = ("id", "call_id", "tool_call_id", "status", "pending_safety_checks", "raw_response", "action_space")
_TOOL_WITH_ACTION = re.compile(r"(?i)computer(?:[_-]?(?:use|toolset|tool))?(?:_\d{8})?|browser|mobile_use|desktop")
_SOURCE = re.compile(r"\s*(?:#|import |from |time\.|pyautogui\.|pyperclip\.|page\.|await |[A-Za-z_][\w.]*\()")
_BRACKETS = re.compile(
    r"(?P<name>[A-Za-z_]{2,20})(?P<rest>(?:\s*\[[^\]]*\])+)(?:;\s*(?P<tail>.*?))?"
    r"(?:\s+where\s+\[\w+\]\s+is\s+\[?(?P<role>[\w ]*?)\s*'(?P<where>.{1,200}?)'\]?)?\s*"
)
_SECONDS = ("sleep", "import")


@dataclass
class Call:
    """An action, its arguments, and the words that stand beside it in the source."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    comment: str = ""


def calls_in(action: Any) -> list[Call]:
    """The actions of a value: none for nothing, several for source with several calls or for a list."""
    if isinstance(action, list):
        return [call for item in action for call in calls_in(item)]
    inner = as_dict(action)
    if inner:
        return _of_object(inner)
    text = as_name(action)
    if text and _SOURCE.match(text):
        found = commented_calls(text)
        if found is not None:
            return [Call(name, arguments, comment) for name, arguments, comment in found if name not in _SECONDS]
        return [Call("code", {"source": text})] if "\n" in text or text.startswith(("pyautogui", "import")) else []
    if match := _BRACKETS.fullmatch(text):
        return [_of_brackets(match)]
    return [Call(text)] if text else []


def _of_brackets(match: re.Match[str]) -> Call:
    """`type [164] [shoes] [1] where [164] is searchbox 'Search'` of WebArena, `Click [2]` of WebVoyager."""
    values = re.findall(r"\[([^\]]*)\]", match["rest"])
    if match["tail"]:
        values.append(match["tail"])
    name = match["name"].lower()
    keys = {"goto": ("url",), "scroll": ("direction",), "press": ("key",), "stop": ("answer",)}.get(
        name, ("ref", "text")
    )
    arguments: dict[str, Any] = dict(zip(keys, values, strict=False))
    if match["where"]:
        arguments["target"] = {"name": match["where"], "role": match["role"] or ""}
    return Call(name, arguments)


def arguments_of(value: Any) -> dict[str, Any]:
    """Arguments given as an object or as JSON text; anything else stands under `value`."""
    found = short_object(value)
    return found if found or value in (None, "", {}, []) else {"value": value}


def _of_object(action: dict[str, Any]) -> list[Call]:
    key = next((key for key in NAMES if action.get(key) not in (None, "", [], {})), None)
    if key is None:
        parts = {name: value for name, value in action.items() if value is not None}
        if len(parts) == 1 and next(iter(parts)) in _TOOL_CALL:  # {"tool_call": {"name": …, "arguments": …}}
            return calls_in(next(iter(parts.values())))
        many = len(parts) > 1 and not all(isinstance(value, dict) for value in parts.values())
        return [] if many else [Call(name, arguments_of(value)) for name, value in parts.items()]
    named = action[key]
    if isinstance(named, dict):  # {"type": "function", "function": {…}} and {"action": {…}}
        return _of_object(named)
    if key in ("action_type", "type") and as_name(named).casefold() in _TOOL_CALL:
        rest = {name: value for name, value in action.items() if name != key}
        return _of_object(rest) if any(rest.get(name) for name in NAMES) else []
    if key == "action" and isinstance(named, str) and _SOURCE.match(named):
        return calls_in(named)
    given = next((name for name in ARGUMENTS if name != key and action.get(name) not in (None, "", [], {})), None)
    dropped = {key, given, *_OF_THE_CALL}
    rest = {name: value for name, value in action.items() if name not in dropped}
    arguments = arguments_of(action[given]) if given else rest
    return [_unwrapped(as_name(named), arguments)]


def is_tool_call(item: dict[str, Any]) -> bool:
    """True for an object whose `type` only says that it is a call of a tool; what the tool is, it says elsewhere."""
    return as_name(item.get("type")).casefold() in _TOOL_CALL


def _unwrapped(name: str, arguments: dict[str, Any]) -> Call:
    """A tool that does many things names what it does in its arguments."""
    inner = as_name(arguments.get("action") or arguments.get("action_type"))
    if inner and _TOOL_WITH_ACTION.fullmatch(name.rpartition("__")[2]):
        return Call(inner, {key: value for key, value in arguments.items() if key not in ("action", "action_type")})
    return Call(name, arguments)


def take_target(arguments: dict[str, Any], action: str = "") -> tuple[str, str]:
    """Take the control out of the arguments of an action; returns its name and role, empty when none names it."""
    key = next((key for key in TARGETS if arguments.get(key)), None)
    if key is not None:
        name, role = named_control(arguments.pop(key))
    else:
        pointed = "click" in action.casefold() or "tap" in words_of(action)
        titles = (*_TITLES, "text") if pointed else _TITLES if _ON_CONTROLS & set(words_of(action)) else ()
        key = next((key for key in (*_LABELS, *titles) if _is_label(arguments.get(key))), None)
        name, role = (str(arguments.pop(key)), "") if key is not None else ("", "")
    kind = next((one for one in _ROLES if name and isinstance(arguments.get(one), str)), None)
    return name, role or (arguments.pop(kind) if kind is not None else "")


def _is_label(value: Any) -> bool:
    """True for words that may name a control; numbers and buttons of the mouse are none."""
    return isinstance(value, str) and any(map(str.isalpha, value)) and value.casefold() not in _MOUSE


def named_control(value: Any) -> tuple[str, str]:
    """Name and role of a control given as a text or as an object."""
    named = as_dict(value)
    if not named:
        return as_name(value), ""
    name = next((text for key in _NAMED if (text := as_name(named.get(key)))), "")
    return name, as_name(named.get("role") or named.get("type") or named.get("tag"))
