"""Python source that agents wrote as actions, taken apart with `ast`. It is data: nothing of it is ever run."""

from __future__ import annotations

import ast
import io
import tokenize
from itertools import pairwise
from typing import Any

MAX_SOURCE = 20_000

# Names of positional arguments, so that `click(1, 2)` and `click(x=1, y=2)` read the same.
_POSITIONS = {
    "click": ("x", "y", "clicks", "interval", "button"),
    "doubleClick": ("x", "y", "interval", "button"),
    "tripleClick": ("x", "y", "interval", "button"),
    "rightClick": ("x", "y"),
    "middleClick": ("x", "y"),
    "moveTo": ("x", "y", "duration"),
    "moveRel": ("x", "y", "duration"),
    "dragTo": ("x", "y", "duration"),
    "dragRel": ("x", "y", "duration"),
    "mouseDown": ("x", "y", "button"),
    "mouseUp": ("x", "y", "button"),
    "scroll": ("clicks", "x", "y"),
    "hscroll": ("clicks", "x", "y"),
    "write": ("text", "interval"),
    "typewrite": ("text", "interval"),
    "press": ("keys", "presses", "interval"),
    "keyDown": ("key",),
    "keyUp": ("key",),
    "copy": ("text",),
    "sleep": ("seconds",),
    "insert_text": ("text",),
    "fill": ("target", "text"),
    "select_option": ("target", "options"),
    "goto": ("url",),
    "keyboard_press": ("key",),
    "mouse_click": ("x", "y", "button"),
    "send_msg_to_user": ("text",),
    "report_infeasible": ("text",),
}
_RENAMED = {"message": "text"}


Commented = tuple[str, dict[str, Any], str]


def calls_of(source: str) -> list[tuple[str, dict[str, Any]]] | None:
    """Return the calls in a piece of Python, in order, as (function name, arguments); None if it cannot be parsed.

    Arguments that are not plain values are kept as their source text. `hotkey("ctrl", "c")` has `keys`, other
    positional arguments without a known name stand in a list under `arguments`.
    """
    found = commented_calls(source)
    return None if found is None else [(name, arguments) for name, arguments, _ in found]


def commented_calls(source: str) -> list[Commented] | None:
    """As `calls_of`, each call with the comments that stand above it or beside it."""
    if len(source) > MAX_SOURCE:
        return None
    try:
        tree = ast.parse(source)
        nodes = sorted(
            (node for node in ast.walk(tree) if isinstance(node, ast.Call)),
            key=lambda node: (node.lineno, node.col_offset),
        )
        inner = {id(part) for node in nodes for part in ast.walk(node) if part is not node}
        outer = [node for node in nodes if id(node) not in inner]
        return [
            (_name(node.func), _arguments(node), comment)
            for node, comment in zip(outer, _comments(source, outer), strict=True)
        ]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _comments(source: str, calls: list[ast.Call]) -> list[str]:
    """For each call the comments since the call before it, and the one at the end of its own line."""
    if "#" not in source:
        return [""] * len(calls)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [(token.start[0], token.string.lstrip("# ")) for token in tokens if token.type == tokenize.COMMENT]
    ends = [0, *(call.end_lineno or call.lineno for call in calls)]
    return [" ".join(text for line, text in comments if before < line <= end) for before, end in pairwise(ends)]


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)


def _arguments(call: ast.Call) -> dict[str, Any]:
    name = _name(call.func)
    values = [_value(item) for item in call.args]
    found: dict[str, Any] = {}
    if name == "hotkey":
        found["keys"] = values
    else:
        names = _POSITIONS.get(name, ())
        if names[:1] == ("x",) and values and isinstance(values[0], str):
            names = ("ref", "button")  # click('a51'): the mark of an element
        found.update(zip(names, values, strict=False))
        if left := values[len(names) :]:
            found["arguments"] = left
    for keyword in call.keywords:
        key = keyword.arg or "more"
        found[_RENAMED.get(key, key)] = _value(keyword.value)
    return found


def _value(node: ast.expr) -> Any:
    """A plain JSON value, or the source text of anything else."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ast.unparse(node)
    if isinstance(value, tuple):
        value = list(value)
    plain = value is None or isinstance(value, str | int | float | bool)
    if isinstance(value, list) and all(isinstance(item, str | int | float | bool) for item in value):
        plain = True
    return value if plain and value not in (float("inf"), float("-inf")) else ast.unparse(node)
