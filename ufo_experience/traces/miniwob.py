"""MiniWoB++ demonstrations: an utterance, and the page before and after every event of mouse and keyboard.

A click is a step on the element it hit, what is typed into one element is one step. The page's own reward judges. An
element without text is named by the label around it, else by its id or its class.
"""

from __future__ import annotations

from typing import Any

from ufo_experience.traces.draft import Draft
from ufo_experience.traces.rows import RowsReader, judged_by_program, rewarded
from ufo_experience.traces.values import as_dict, as_dicts, as_int, as_name, first_name

MAX_DEPTH = 60
_BEFORE = 1  # the `timing` of a page as it was before an event
_ENTER, _BACKSPACE = 13, 8
_MOVED = 5  # pixels between button down and up, from which a click is a drag
_TYPES = {"a": "link", "select": "combobox", "input_button": "button", "input_submit": "button"}
_TYPES |= dict.fromkeys(("textarea", "input_text", "input_password", "input_number", "input_date"), "edit")


class MiniWobReader(RowsReader):
    """One demonstration a file, as a rule compressed (`.json.gz`)."""

    name = "miniwob"
    env = "web"

    def is_row(self, row: dict[str, Any]) -> bool:
        return any("dom" in state for state in as_dicts(row.get("states"))[:2])

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        utterance = row.get("utterance")
        draft.request = as_name(as_dict(utterance).get("utterance") if isinstance(utterance, dict) else utterance)
        page = _Page(draft)
        for state in as_dicts(row.get("states")):
            action = as_dict(state.get("action"))
            if action.get("timing") == _BEFORE:
                page.event(action, *_target(state.get("dom")))
        page.flush()
        reward = row.get("rawReward", row.get("reward"))
        return judged_by_program(rewarded(reward), reward, known=reward is not None)


class _Page:
    """Follows the events of a demonstration; `typed` is what is being typed into `field`."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.application = draft.path.name.split(".")[0].split("_")[0]
        self.down: tuple[int, int] | None = None
        self.typed: list[str] = []
        self.field, self.secret = ("", ""), False

    def event(self, action: dict[str, Any], target: dict[str, Any], around: list[dict[str, Any]]) -> None:
        """Take an event on a target: a press, a release elsewhere (a drag), or a key."""
        kind, x, y = action.get("type"), as_int(action.get("x")), as_int(action.get("y"))
        at = (x, y) if x is not None and y is not None else None
        if kind == "mousedown":
            self.flush()
            self.down = at if target else None
            if target:
                self._step("click", _named(target, around))
        elif kind == "mouseup" and self.down and at and self.draft.steps:
            moved = {"dx": at[0] - self.down[0], "dy": at[1] - self.down[1]}
            if max(map(abs, moved.values())) > _MOVED:
                self.draft.steps[-1] = self.draft.steps[-1].model_copy(
                    update={"action_type": "drag", "parameters": moved}
                )
        elif kind in ("keypress", "keydown") and target:
            self._key(kind, action, target, _named(target, around))

    def _key(self, kind: str, action: dict[str, Any], target: dict[str, Any], control: tuple[str, str]) -> None:
        """A character is typed, a backspace takes the last one back, Enter is a step of its own."""
        code = as_int(action.get("charCode")) or as_int(action.get("keyCode")) or 0
        if control != self.field:
            self.flush()
        if kind == "keydown" and code == _ENTER:
            self.flush()
            self._step("press", control, {"key": "Enter"})
        elif kind == "keydown" and code == _BACKSPACE:
            del self.typed[-1:]
        elif kind == "keypress" and 32 <= code < 0x110000:
            self.typed.append(chr(code))
            self.field, self.secret = control, as_name(target.get("tag")).casefold() == "input_password"

    def flush(self) -> None:
        """Write down what was typed."""
        if self.typed:
            self._step("type", self.field, {"text": "".join(self.typed)}, secret=self.secret)
            self.typed = []

    def _step(self, action: str, control: tuple[str, str], given: dict[str, str] | None = None, **more: Any) -> None:
        name, role = control
        self.draft.step(action, control=name, control_type=role, parameters=given, application=self.application, **more)


def _target(node: Any, parents: tuple[Any, ...] = ()) -> tuple[dict[str, Any], list[Any]]:
    """The element an event hit, and the elements around it, the nearest first."""
    found = as_dict(node)
    if found.get("recordingTarget"):
        return found, list(reversed(parents))
    for child in as_dicts(found.get("children")) if len(parents) < MAX_DEPTH else []:
        hit = _target(child, (*parents, found))
        if hit[0]:
            return hit
    return {}, []


def _named(target: dict[str, Any], around: list[dict[str, Any]]) -> tuple[str, str]:
    tag = as_name(target.get("tag")).casefold()
    own = as_name(target.get("value")) if tag in ("input_button", "input_submit") else _text(target)
    label = next((_text(one) for one in around[:2] if as_name(one.get("tag")).casefold() == "label"), "")
    return own or label or first_name(target, "id", "classes"), _TYPES.get(tag, tag.removeprefix("input_"))


def _text(node: dict[str, Any]) -> str:
    """The words inside an element, as its own text and that of its children."""
    parts = [as_name(one.get("text")) for one in (node, *as_dicts(node.get("children")))]
    return " ".join(part for part in parts if part)
