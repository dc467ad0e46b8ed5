"""One action as agents write it: a name, Python source, or an object in one of the usual shapes of a tool call.

{"action_type": "click", "x": 1}                   {"click": {"index": 3}}
{"name": "browser_click", "input": {…}}            {"type": "function", "function": {"name": "…", "arguments": "{…}"}}
{"name": "computer", "input": {"action": "left_click", "coordinate": [1, 2]}}
pyautogui.click(1, 2)  # the File menu             click('a51')

Source is taken apart with `ast`, and never run.
"""

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ufo_experience.redact.typed import words_of
from ufo_experience.traces.values import NAMES, Row, as_dict, as_name, parse_literal, short_object

ACTION, ARGUMENTS, TARGETS = NAMES["action"], NAMES["arguments"], NAMES["control"]
_KINDS = ("role", "control_type", "element_type")
_TOOLS = (*ACTION[:-1], "type", "name")
# A comment, or a call, which may stand behind an import or an assignment.
_SOURCE = re.compile(r"\s*(?:#|import |from |await |[A-Za-z_][\w.]*(?: ?=[^(]*)?\()")
_BRACKETS = re.compile(
    r"(?P<name>[A-Za-z_]{2,20})(?P<rest>(?:\s*\[[^\]]*\])+)(?:;\s*(?P<tail>.*?))?"
    r"(?:\s+where\s+\[\w+\]\s+is\s+\[?(?P<role>[\w ]*?)\s*'(?P<where>.{1,200}?)'\]?)?\s*"
)
_NO_CALLS = ("sleep", "import")
_PASTE_KEYS = (["ctrl", "v"], ["command", "v"])
MAX_SOURCE = 20_000  # characters


@dataclass
class Call:
    """An action, its arguments, and the words that stand beside it in the source."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    comment: str = ""

    @property
    def ref(self) -> str:
        """The mark of an element that holds for one screen only, "" without one."""
        return Row(self.arguments).name("ref", "target", "bid", "index")


def calls_in(action: Any) -> list[Call]:
    """The actions of a value: none for nothing, several for source with several calls or for a list."""
    if isinstance(action, Call):
        return [action]
    if isinstance(action, list):
        return [call for item in action for call in calls_in(item)]
    if found := as_dict(action):
        return _of_object(found)
    text = as_name(action)
    if text and _SOURCE.match(text):
        calls = calls_of_source(text)
        calls = [Call("code", {"source": text})] if calls is None else calls
        return _with_pasted([call for call in calls if call.name not in _NO_CALLS])
    if match := _BRACKETS.fullmatch(text):
        return [_of_brackets(match)]
    return [Call(text)] if text else []


def _with_pasted(calls: Sequence[Call]) -> list[Call]:
    """The calls, with typing in place of a text that is copied and pasted right away."""
    found: list[Call] = []
    for call in calls:
        before = found[-1] if found else call
        if before.name == "copy" and call.name == "hotkey" and call.arguments.get("keys") in _PASTE_KEYS:
            found[-1] = Call("type", {"text": before.arguments.get("text", "")}, before.comment)
        else:
            found.append(call)
    return found


def arguments_of(value: Any) -> dict[str, Any]:
    """Arguments given as an object or as JSON text; anything else stands under `value`."""
    found = short_object(value)
    return found if found or value in (None, "", {}, []) else {"value": value}


def is_tool_call(item: Row) -> bool:
    """True for an object whose `type` only says that it is a call of a tool; what the tool is, it says elsewhere."""
    return item.name("type").casefold() in NAMES["tool_call"]


def take_target(arguments: dict[str, Any], action: str = "") -> tuple[str, str]:
    """Take the control out of the arguments of an action; returns its name and role, empty when none names it."""
    key = next((key for key in TARGETS if arguments.get(key)), None)
    if key is None:
        verbs = {*words_of(action)}
        pointed = "click" in action.casefold() or "tap" in verbs
        titles = (*NAMES["title"], "text") if pointed else NAMES["title"] if verbs & {*NAMES["on_controls"]} else ()
        texts = ((key, one) for key in (*NAMES["label"], *titles) if isinstance(one := arguments.get(key), str))
        labels = (key for key, one in texts if any(map(str.isalpha, one)) and one.casefold() not in NAMES["mouse"])
        key = next(labels, None)
    name, role = named_control(arguments.pop(key, None)) if key else ("", "")
    kind = next((one for one in _KINDS if name and isinstance(arguments.get(one), str)), None)
    return name, role or (arguments.pop(kind) if kind is not None else "")


def named_control(value: Any, names: tuple[str, ...] = (*NAMES["element_name"], "id")) -> tuple[str, str]:
    """Name and role of a control given as a text or as an object; of `android.widget.Button` the last part."""
    found = as_dict(value)
    if not found:
        return as_name(value), ""
    attributes = found.row("attributes")
    role = attributes.name("role") or found.name(*NAMES["element_role"])
    element = Row(attributes | {key: own for key, own in found.items() if own})
    return element.name(*names), role.rpartition(".")[2]


def control_of(element: Any) -> tuple[str, str]:
    """Name and role of an element of a page: its label or its text, else its place in the page."""
    return named_control(element, NAMES["html_name"])


def _of_brackets(match: re.Match[str]) -> Call:
    """`type [164] [shoes] [1] where [164] is searchbox 'Search'` of WebArena, `Click [2]` of WebVoyager."""
    values = re.findall(r"\[([^\]]*)\]", match["rest"])
    if match["tail"]:
        values.append(match["tail"])
    name = match["name"].lower()
    arguments: dict[str, Any] = dict(zip(NAMES.get(f"{name}[]", ("ref", "text")), values, strict=False))
    if match["where"]:
        arguments["target"] = {"name": match["where"], "role": match["role"] or ""}
    return Call(name, arguments)


def _of_object(action: Row) -> list[Call]:
    key = action.key(*_TOOLS)
    if key is None:  # {"click": {…}}, {"tool_call": {"name": …, "arguments": …}}
        parts = {name: value for name, value in action.items() if value is not None}
        if len(parts) == 1 and next(iter(parts)) in NAMES["tool_call"]:
            return calls_in(next(iter(parts.values())))
        named = len(parts) == 1 or all(isinstance(value, dict) for value in parts.values())
        return [Call(name, arguments_of(value)) for name, value in parts.items()] if named else []
    named = action[key]
    if isinstance(named, dict):  # {"type": "function", "function": {…}} and {"action": {…}}
        return _of_object(Row(named))
    if key in ("action_type", "type") and as_name(named).casefold() in NAMES["tool_call"]:
        rest = Row({name: value for name, value in action.items() if name != key})
        return _of_object(rest) if rest.has(*_TOOLS) else []
    if key == "action" and isinstance(named, str) and _SOURCE.match(named):
        return calls_in(named)
    given = action.key(*(name for name in ARGUMENTS if name != key))
    dropped = {key, given, *NAMES["of_call"]}
    beside = {name: value for name, value in action.items() if name not in dropped}
    name, arguments = as_name(named), arguments_of(action[given]) if given else beside
    inner = Row(arguments).name("action", "action_type")
    words = words_of(name.rpartition("__")[2])
    if inner and all(word in NAMES["for_all"] or word.isdecimal() for word in words):  # such a tool says what it does
        name, arguments = inner, {key: arguments[key] for key in arguments if key not in ("action", "action_type")}
    return [Call(name, arguments)]


def calls_of_source(source: str) -> list[Call] | None:
    """The calls in a piece of Python, in order, each with the comments above or beside it; None if it is no Python.

    Arguments that are no plain values are kept as source, positional ones without a known name under `arguments`.
    """
    if len(source) > MAX_SOURCE:
        return None
    try:
        nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
        inner = {id(part) for node in nodes for part in ast.walk(node) if part is not node}
        outer = [node for node in nodes if id(node) not in inner]
        outer.sort(key=lambda node: (node.lineno, node.col_offset))
        comments = _comments(source, outer)
        return [Call(_name(one.func), _arguments(one), said) for one, said in zip(outer, comments, strict=True)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _comments(source: str, calls: list[ast.Call]) -> list[str]:
    """For each call the comments since the call before it, and the one at the end of its own line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline) if "#" in source else ()
    comments = [(token.start[0], token.string.lstrip("# ")) for token in tokens if token.type == tokenize.COMMENT]
    ends = [0, *(call.end_lineno or call.lineno for call in calls)]
    return [" ".join(text for line, text in comments if before < line <= end) for before, end in pairwise(ends)]


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)


def _arguments(call: ast.Call) -> dict[str, Any]:
    name = _name(call.func)
    values = [_plain_value(item) for item in call.args]
    names = NAMES.get(f"{name}()", ())  # so that `click(1, 2)` and `click(x=1, y=2)` read the same
    texts = [isinstance(one, ast.Constant) and isinstance(one.value, str) for one in call.args]
    if any(text and name in NAMES["numbers"] for text, name in zip(texts, names, strict=False)):
        # click('a51'), press('a51', 'Enter'): first the mark of an element
        names = ("ref", *(name for name in names if name not in NAMES["numbers"]))
    found: dict[str, Any] = dict(zip(names, values, strict=False))
    if rest := values[len(names) :]:
        found["keys" if name == "hotkey" else "arguments"] = rest
    for keyword in call.keywords:
        found["text" if keyword.arg == "message" else keyword.arg or "more"] = _plain_value(keyword.value)
    return found


def _plain_value(node: ast.expr) -> Any:
    source = ast.unparse(node)
    value = parse_literal(source)
    return source if value is None and source != "None" else value
