"""MiniWoB++ demonstrations: an utterance, and the page before and after every event of mouse and keyboard.

A click is a step on the element it hit, what is typed into one element is one step. The page's own reward judges:
`rawReward` 1 is success, 0 or less failure. An element without text is named by the label around it, else by its id or
its class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ufo_experience.traces.builder import Draft
from ufo_experience.traces.coerce import as_amount, as_dict, as_int, as_list, as_name
from ufo_experience.traces.formats.demonstrations import RowsReader
from ufo_experience.traces.naming import Named

MAX_DEPTH = 60
_BEFORE = 1  # the `timing` of a page as it was before an event
_ENTER, _BACKSPACE = 13, 8
_MOVED = 5  # pixels between button down and up, from which a click is a drag
_TYPES = {"a": "link", "select": "combobox", "textarea": "edit", "input_text": "edit", "input_password": "edit"}
_TYPES |= {"input_button": "button", "input_submit": "button", "input_number": "edit", "input_date": "edit"}

_Place = tuple[int, int] | None


@dataclass
class _Typed:
    """What is being typed into one element."""

    control: Named
    secret: bool
    text: list[str] = field(default_factory=list)


class MiniWobReader(RowsReader):
    """One demonstration a file, as a rule compressed (`.json.gz`)."""

    name = "miniwob"

    def is_row(self, row: dict[str, Any]) -> bool:
        return any("dom" in as_dict(state) for state in as_list(row.get("states"))[:2])

    def task_of(self, row: dict[str, Any]) -> Any:
        utterance = row.get("utterance")
        return as_dict(utterance).get("utterance") if isinstance(utterance, dict) else utterance

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        application = draft.path.name.split(".")[0].split("_")[0]
        typed: _Typed | None = None
        down: _Place = None
        for state, action in _events(row):
            target, parents = _target(state.get("dom"))
            kind = action.get("type")
            if kind == "mousedown" or (kind == "keydown" and action.get("keyCode") == _ENTER):
                _flush(draft, typed, application)
                typed = None
            if kind == "mousedown":
                down = _at(action) if target else None
                if target:
                    name, role = _name(target, parents)
                    draft.step("click", control=name, control_type=role, application=application)
            elif kind == "mouseup" and down is not None:
                _dragged(draft, down, _at(action))
            elif kind in ("keypress", "keydown") and target:
                typed = _key(draft, typed, kind, action, (target, parents), application)
        _flush(draft, typed, application)
        return {"env": "web", **_outcome(row)}


def _events(row: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each event with the page before it."""
    for state in map(as_dict, as_list(row.get("states"))):
        action = as_dict(state.get("action"))
        if action.get("timing") == _BEFORE:
            yield state, action


def _key(
    draft: Draft, typed: _Typed | None, kind: str, action: dict[str, Any], hit: tuple[Any, list[Any]], application: str
) -> _Typed | None:
    """Take a key: a character is typed, a backspace takes the last one back, Enter is a step of its own."""
    target, parents = hit
    code = as_int(action.get("charCode")) or as_int(action.get("keyCode")) or 0
    control = _name(target, parents)
    if typed is not None and typed.control != control:
        _flush(draft, typed, application)
        typed = None
    if kind == "keydown" and code == _ENTER:
        draft.step("press", control=control[0], control_type=control[1], parameters={"key": "Enter"},
                   application=application)  # fmt: skip
    elif kind == "keydown" and code == _BACKSPACE and typed is not None:
        del typed.text[-1:]
    elif kind == "keypress" and 32 <= code < 0x110000:
        typed = typed or _Typed(control, as_name(target.get("tag")).casefold() == "input_password")
        typed.text.append(chr(code))
    return typed


def _flush(draft: Draft, typed: _Typed | None, application: str) -> None:
    """Write down what was typed."""
    if typed is not None and typed.text:
        text = "".join(typed.text)
        name, role = typed.control
        draft.step("type", control=name, control_type=role, parameters={"text": text}, application=application,
                   secret=typed.secret)  # fmt: skip


def _dragged(draft: Draft, begun: tuple[int, int], ended: _Place) -> None:
    """Make the last click a drag where the button was let go elsewhere."""
    if draft.steps and ended and max(abs(begun[0] - ended[0]), abs(begun[1] - ended[1])) > _MOVED:
        moved = {"dx": ended[0] - begun[0], "dy": ended[1] - begun[1]}
        draft.steps[-1] = draft.steps[-1].model_copy(update={"action_type": "drag", "parameters": moved})


def _at(action: dict[str, Any]) -> _Place:
    x, y = as_int(action.get("x")), as_int(action.get("y"))
    return None if x is None or y is None else (x, y)


def _target(node: Any, parents: tuple[Any, ...] = ()) -> tuple[dict[str, Any], list[Any]]:
    """The element an event hit, and the elements around it, the nearest first."""
    found = as_dict(node)
    if found.get("recordingTarget"):
        return found, list(reversed(parents))
    for child in as_list(found.get("children")) if len(parents) < MAX_DEPTH else []:
        hit = _target(child, (*parents, found))
        if hit[0]:
            return hit
    return {}, []


def _name(target: dict[str, Any], parents: list[Any]) -> Named:
    tag = as_name(target.get("tag")).casefold()
    own = as_name(target.get("value")) if tag in ("input_button", "input_submit") else _text(target)
    around = next((_text(one) for one in parents[:2] if as_name(one.get("tag")).casefold() == "label"), "")
    name = own or around or as_name(target.get("id")) or as_name(target.get("classes"))
    return name, _TYPES.get(tag, tag.removeprefix("input_"))


def _text(node: dict[str, Any]) -> str:
    """The words inside an element, as its own text and that of its children."""
    parts = [as_name(one.get("text")) for one in (node, *map(as_dict, as_list(node.get("children"))))]
    return " ".join(part for part in parts if part)


def _outcome(row: dict[str, Any]) -> dict[str, Any]:
    reward = row.get("rawReward", row.get("reward"))
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        return {}
    success = True if reward >= 1 else False if reward <= 0 else None
    return {"success": success, "evaluated_by": "evaluator", "judge": "program", "score": as_amount(reward)}
