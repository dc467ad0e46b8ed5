"""Which text of a step was typed, whatever the control is called, and which of it goes into a secret field.

Options that were chosen and keys that were pressed together (`ctrl+s`, `{ENTER}`, `["ctrl", "s"]`) are not typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from pydantic import JsonValue

from ufo_experience.actions import (
    FIELD_NAMES,
    FIELD_VALUES,
    control_names,
    is_click,
    is_copy,
    is_option,
    is_paste,
    is_press,
    is_typing,
    plain,
    takes_text,
    typed_leaf,
)
from ufo_experience.redact.names import is_login_name, is_secret_name, speaks_of_secrets, words_of
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.schema import Step

SECRET, TYPED, OTHER = "secret", "typed", "other"
Visit = Callable[[str, str], str]  # rewrites one text, given its role

_MODIFIERS = frozenset(
    "ctrl control alt shift win windows lwin rwin cmd command meta super option strg umschalt lcontrol rcontrol lshift "
    "rshift lmenu".split()
)
_KEYS = _MODIFIERS | frozenset(
    "enter return tab esc escape space backspace back bs bksp delete del insert ins home end pageup pagedown pgup pgdn "
    "next prior up down left right arrowup arrowdown arrowleft arrowright capslock numlock printscreen prtsc pause "
    "break apps menu help clear plus minus add subtract multiply divide fn entf einfg".split()
)
_KEY = re.compile(r"(?i)\{(?:VK_)?([A-Z]+\d{0,2})(?: +(?:\d+|down|up))?\}")
_SYMBOL_CHORD = re.compile(r"(?<![\^%+])[\^%+]{1,8}(?:\{[^{}]{1,80}\}|[A-Za-z0-9]|\([^()]{0,80}\))")
_BRACED = re.compile(r"(?i)(?:\{.\}|\{SPACE\}){2,}")
_NAMELESS = frozenset("edit text textbox textfield input field document pane custom window none null textarea".split())
_SINGLE_KEYS = 3  # keys pressed one after the other that are a text; so many digits of a pad and one more, a code
_KEY_ARGUMENTS = frozenset({"keys", "key", "keyboardkey"})


def join_single_keys(steps: Sequence[Step]) -> tuple[Step, ...]:
    """One step for each run of steps that type one character each into the same control, or click digits of a pad.

    No rule would see a password in its single letters. Clicked digits are joined where the run speaks of a code.
    """
    said = any(speaks_of_secrets(f"{step.target_control.within} {step.observation[:200]}") for step in steps)
    joined: list[Step] = []
    for key, run in groupby(steps, key=lambda step: _run_of(step, pads=said)):
        group = list(run)
        least = _SINGLE_KEYS if key and is_press(key[0]) else _SINGLE_KEYS + 1 if key == _PAD else 2
        joined += [_join(group)] if key is not None and len(group) >= least else group
    return tuple(joined)


_PAD = ("", "", None)


def _run_of(step: Step, *, pads: bool) -> tuple[str, str, str | None] | None:
    control = step.target_control
    if pads and is_click(step.action_type) and re.fullmatch(r"\d(?: ?[A-Z]{3,4})?", control.name.strip()):
        return _PAD
    key = _single_key(step)
    return (step.action_type, control.name, control.type) if step.ok and key is not None else None


def _single_key(step: Step) -> str | None:
    """The one character a step types, a backspace as `\\b`; None when it does something else."""
    if not (is_typing(step.action_type) or is_press(step.action_type)):
        return None
    leaf = typed_leaf(step)
    if leaf is None:
        return None
    bare = leaf[1].strip("{}").casefold() if len(leaf[1]) > 1 else leaf[1]
    shifted = re.fullmatch(r"(?i)shift ?\+ ?(.)", leaf[1])
    return {"backspace": "\b", "space": " "}.get(bare) or (
        shifted[1].upper() if shifted else bare if len(bare) == 1 else None
    )


def _join(steps: list[Step]) -> Step:
    typed: list[str] = []
    for step in steps:
        key = _single_key(step) or step.target_control.name.strip()[:1]
        typed = typed[:-1] if key == "\b" else [*typed, key]
    first = steps[0]
    leaf = typed_leaf(first)
    if is_click(first.action_type):
        pad = first.target_control.model_copy(update={"name": "PIN pad", "type": None})
        return first.model_copy(
            update={"action_type": "type", "target_control": pad, "parameters": {"text": "".join(typed)}}
        )
    parameters = {**first.parameters, leaf[0] if leaf else "text": "".join(typed)}
    return first.model_copy(update={"parameters": parameters, "result": "success"})


def secret_fields(steps: Sequence[Step]) -> list[bool]:
    """For every step whether its text goes into a secret field, by the field's name and the way there.

    A step that names no control types into the last one; a tab leads from a login into the password. What is copied
    and then pasted into a secret field is secret where it was copied.
    """
    fields: list[bool] = []
    focus, copied = "", -1
    for place, step in enumerate(steps):
        named = control_names(step)
        name = named if any(word not in _NAMELESS for word in words_of(named)) else ""
        fields.append(is_secret_name(name or focus) or (not name and speaks_of_secrets(step.observation[:200])))
        if is_copy(step.action_type):
            copied = place
        if is_paste(step) and fields[-1] and copied >= 0:
            fields[copied] = True
        focus = _focus_after(step, name or focus if takes_text(step.action_type) else name)
    return fields


def _focus_after(step: Step, name: str) -> str:
    leaf = typed_leaf(step) if takes_text(step.action_type) else None
    tabs = leaf is not None and ("{tab" in leaf[1].casefold() or "\t" in leaf[1] or leaf[1].strip().casefold() == "tab")
    return ("password" if is_login_name(name) and not is_secret_name(name) else "") if tabs else name


def is_chord(value: str, *, bare: bool = True) -> bool:
    """True when `value` presses keys and types no text. `bare`: a key's name alone ("enter") is a key, not a word."""
    text = value.strip()
    if not text or text.casefold() in _KEYS or re.fullmatch(r"(?i)f\d{1,2}", text):
        return bool(text) and bare
    parts = [part.strip().casefold() for part in re.split(r"[+ -]", text)] if len(text) > 1 else []
    if len(parts) > 1 and parts[0] in _MODIFIERS and all(part in _KEYS or len(part) <= 2 for part in parts):
        return True
    return not any(is_text for _, is_text in _split(_SYMBOL_CHORD.sub("", text)))


def _split(value: str) -> Iterator[tuple[str, bool]]:
    """Cut `value` into (piece, whether it is text); one character after a modifier belongs to it: `{VK_CONTROL}a`."""
    end = 0
    for match in _KEY.finditer(value):
        key = match[1].casefold()
        if (key not in _KEYS and not re.fullmatch(r"f\d{1,2}", key)) or match.start() < end:
            continue
        if match.start() > end:
            yield value[end : match.start()], True
        after = match.end()
        if key in _MODIFIERS and value[after : after + 1] not in ("", "{") and not match[0].casefold().endswith(" up}"):
            after += 1
        yield value[match.start() : after], False
        end = after
    if end < len(value):
        yield value[end:], True


def rewrite_parameters(step: Step, secret: bool, visit: Visit) -> dict[str, JsonValue]:
    """The parameters of a step with every text in them, names included, put through `visit(text, role)`."""

    def rewrite(value: JsonValue, key: str, hidden: bool) -> JsonValue:
        if isinstance(value, dict):
            inside = hidden or any(is_secret_name(str(value[name])) for name in FIELD_NAMES if name in value)
            return {
                visit(name, OTHER): rewrite(
                    item, name, (inside and name.casefold() in FIELD_VALUES) or is_secret_name(name)
                )
                for name, item in value.items()
            }
        if isinstance(value, list):
            if not hidden and _is_chord_list(value, step, key):
                return value
            return [rewrite(item, key, hidden) for item in _whole(value)]
        if isinstance(value, bool) or value is None:
            return value
        role = SECRET if hidden else _role(step, key, secret)
        if isinstance(value, str):
            return visit(value, OTHER) if role == OTHER else _leaf(value, role)
        return (
            visit(str(value), role) if role == SECRET or (role == TYPED and key.casefold() in FIELD_VALUES) else value
        )

    def _leaf(value: str, role: str) -> str:
        bare = is_press(step.action_type) or plain(key_of(step)) in _KEY_ARGUMENTS
        if (
            not value.strip()
            or is_placeholder(value)
            or is_chord(value, bare=bare)
            or (role == TYPED and bare and len(value) == 1)
        ):
            return value
        pieces = _split(_BRACED.sub(_unbraced, value))
        return "".join(
            visit(piece, role) if is_text and piece.strip() and not is_placeholder(piece) else piece
            for piece, is_text in pieces
        )

    return {visit(name, OTHER): rewrite(item, name, is_secret_name(name)) for name, item in step.parameters.items()}


def key_of(step: Step) -> str:
    """The name of the parameter a step types, "" where there is not exactly one."""
    leaf = typed_leaf(step)
    return leaf[0] if leaf else ""


def _role(step: Step, key: str, secret: bool) -> str:
    if not takes_text(step.action_type) or is_option(key):
        return OTHER
    return SECRET if secret else TYPED


def _is_chord_list(items: list[JsonValue], step: Step, key: str) -> bool:
    texts = [item for item in items if isinstance(item, str)]
    typed = len(texts) == len(items) > 0 and takes_text(step.action_type) and not is_option(key)
    return typed and is_chord("+".join(texts))


def _whole(items: list[JsonValue]) -> list[JsonValue]:
    """A list of single characters is a text typed key by key."""
    singles = len(items) > 1 and all(isinstance(item, str) and len(item) == 1 for item in items)
    return ["".join(map(str, items))] if singles else items


def _unbraced(run: re.Match[str]) -> str:
    """`{P}{a}{s}` as `Pas`."""
    return re.sub(r"(?i)\{(?:(SPACE)|(.))\}", lambda one: " " if one[1] else one[2], run[0])


def is_placeholder(value: str) -> bool:
    """True when nothing but placeholders is left of a text."""
    return bool(value.strip()) and not PLACEHOLDER.sub("", value).strip()
