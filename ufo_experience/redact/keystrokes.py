"""Key syntax: chords are kept, characters typed key by key are joined into the text they make.

`{ENTER}`, `{VK_CONTROL}a`, `^s`, `ctrl+s` are chords. `{P}{a}{s}`, and steps that type one character each into the same
control, are text: no detector would see a password in its single letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from pydantic import JsonValue

from ufo_experience.actions import is_click, is_press, is_typing, typed_leaf
from ufo_experience.redact.names import listed
from ufo_experience.schema import Step

_MODIFIERS = listed(
    "ctrl control alt shift win windows lwin rwin cmd command meta super option menu lcontrol rcontrol lshift "
    "rshift lmenu strg umschalt"
)
_NAMED = listed(
    "enter return tab esc escape space backspace back bs bksp delete del insert ins home end pageup pagedown pgup pgdn "
    "prior next up down left right arrowup arrowdown arrowleft arrowright capslock numlock scrolllock printscreen "
    "prtsc pause break apps help clear plus minus add subtract multiply divide decimal fn entf "
    "suppr supr canc eingabe entrée intro invio einfg"
)
_KEYS = _MODIFIERS | _NAMED | {f"f{n}" for n in range(1, 25)}

_TOKEN = re.compile(r"\{(?:VK_)?([A-Za-z]+\d{0,2})(?: +(?:\d+|down|up))?\}", re.IGNORECASE)
_SYMBOL_CHORD = re.compile(r"(?<![\^%+])[\^%+]{1,8}(?:\{[^{}]{1,80}\}|[A-Za-z0-9]|\([^()]{0,80}\))")
_BRACED_RUN = re.compile(r"(?:\{.\}|\{SPACE\}){2,}", re.IGNORECASE)
_SHIFTED = re.compile(r"(?i)(?:\{VK_SHIFT down\}|\{SHIFT down\}|shift ?\+ ?)(.)(?:\{(?:VK_)?SHIFT up\})?$")
_BACKSPACES = ("backspace", "back", "bs", "bksp")

_PAD = ("", "", None)  # the key of a run of clicks on a pad
_PAD_KEY = re.compile(r"(?i)\d(?: ?[a-z]{3,4})?|⌫|←|del|delete|back|backspace|löschen|zurück")  # "5", "2 ABC"
_MIN_PAD_RUN = 4
_BOX = re.compile(r"(?P<before>\D{0,40})(?P<number>\d{1,2})(?P<behind>(?!\d).{0,40})")  # "Digit 1", "Digit 1 of 6"
_MIN_TYPED_RUN, _MIN_PRESSED_RUN = 2, 3


def is_chord(value: str, *, bare: bool = True) -> bool:
    """True when `value` presses keys and types no text. `bare`: a key's name alone ("enter") is a key, not a word."""
    text = value.strip()
    if not text or text.casefold() in _KEYS:
        return bool(text) and bare
    parts = [part.strip().casefold() for part in re.split(r"[+ -]", text)] if len(text) > 1 else []
    if len(parts) > 1 and parts[0] in _MODIFIERS and all(part in _KEYS or len(part) == 1 for part in parts):
        return True
    return not any(is_text for _, is_text in split_keys(_SYMBOL_CHORD.sub("", text)))


def split_keys(value: str) -> Iterator[tuple[str, bool]]:
    """Cut `value` into (piece, is_text): text to treat as typed, and key tokens such as `{ENTER}` to keep.

    One character after a modifier token belongs to the chord: `{VK_CONTROL}a`.
    """
    end = 0
    for match in _TOKEN.finditer(value) if "{" in value else ():
        key = match[1].casefold()
        if key not in _KEYS or match.start() < end:
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


def join_braces(value: str) -> str:
    """Write `{P}{a}{s}` as `Pas`."""
    if "{" not in value:
        return value
    return _BRACED_RUN.sub(lambda run: re.sub(r"\{(?:(SPACE)|(.))\}", _unbraced, run[0], flags=re.IGNORECASE), value)


def join_steps(steps: Sequence[Step], *, lets_in: bool = False) -> tuple[Step, ...]:
    """Make one step of each run of steps that type a single character into the same control.

    Where the run `lets_in`, clicks on the keys of a pad are joined, too: together their names spell the code. So are
    the digits typed into boxes that are numbered one after the other. The
    joined step keeps the first one's number, words and place; what was said in between goes, it may spell the text.
    """
    joined: list[Step] = []
    for key, run in groupby(_join_boxes(steps) if lets_in else steps, key=partial(_run_key, lets_in=lets_in)):
        group = list(run)
        if key == _PAD:
            joined += [_join_pad(group)] if len(group) >= _MIN_PAD_RUN else group
            continue
        least = _MIN_PRESSED_RUN if is_press(group[0].action_type) else _MIN_TYPED_RUN
        joined += [_join(group)] if key is not None and len(group) >= least else group
    return tuple(joined)


def has_pad(steps: Sequence[Step]) -> bool:
    """True when as many keys of a pad are clicked as make a code."""
    return sum(map(_is_of_pad, steps)) >= _MIN_PAD_RUN


def boxes_of(steps: Sequence[Step]) -> frozenset[int]:
    """The step numbers at which a code begins that is typed digit by digit into numbered boxes."""
    return frozenset(run[0].step_number for is_code, run in _boxed(steps) if is_code)


def _join_boxes(steps: Sequence[Step]) -> Iterator[Step]:
    for is_code, run in _boxed(steps):
        yield from [_join(run)] if is_code else run


def _boxed(steps: Sequence[Step]) -> Iterator[tuple[bool, list[Step]]]:
    """The runs of steps, and whether each types one digit into box 1, 2, 3, …"""
    for key, run in groupby(enumerate(steps), key=lambda numbered: _box_key(*numbered)):
        group = [step for _, step in run]
        yield key is not None and len(group) >= _MIN_PAD_RUN, group


def _box_key(place: int, step: Step) -> tuple[str, str, int] | None:
    """What is the same for all boxes of a code: their name without the number, and where box 0 would be."""
    box = _BOX.fullmatch(step.target_control.name.strip())
    if box is None or not step.ok or not is_typing(step.action_type) or not (_single_key(step) or "").isdigit():
        return None
    return box["before"], box["behind"], int(box["number"]) - place


def _is_of_pad(step: Step) -> bool:
    return is_click(step.action_type) and _PAD_KEY.fullmatch(step.target_control.name.strip()) is not None


def _run_key(step: Step, *, lets_in: bool) -> tuple[str, str, str | None] | None:
    control = step.target_control
    if lets_in and _is_of_pad(step):
        return _PAD
    return (step.action_type, control.name, control.type) if step.ok and _single_key(step) is not None else None


def _single_key(step: Step) -> str | None:
    """The one character a step types, a backspace as `\\b`; None when it does something else."""
    leaf = typed_leaf(step) if is_typing(step.action_type) or is_press(step.action_type) else None
    if leaf is None:
        return None
    value = leaf[1]
    bare = value.strip("{}").casefold() if len(value) > 2 else value
    if bare in _BACKSPACES:
        return "\b"
    if bare == "space":
        return " "
    shifted = _SHIFTED.fullmatch(value)
    if shifted:
        return shifted[1].upper()
    if len(value) == 3 and value[0] == "{" and value[2] == "}":
        return value[1]
    return value if len(value) == 1 else None


def _join(steps: list[Step]) -> Step:
    typed: list[str] = []
    for step in steps:
        key = _single_key(step)
        if key == "\b":
            typed = typed[:-1]
        else:
            typed.append(key or "")
    first = steps[0]
    leaf = typed_leaf(first)
    costs = [step.cost for step in steps if step.cost is not None]
    parameters: dict[str, JsonValue] = {**first.parameters, leaf[0] if leaf else "text": "".join(typed)}
    return first.model_copy(
        update={"parameters": parameters, "result": "success", "cost": sum(costs) if costs else None}
    )


def _join_pad(steps: list[Step]) -> Step:
    """Clicks on the keys of a pad, as one step that types the code into it."""
    typed: list[str] = []
    for step in steps:
        name = step.target_control.name.strip()
        typed = [*typed, name[0]] if name[0].isdigit() else typed[:-1]
    pad = steps[0].target_control.model_copy(update={"name": "PIN pad", "type": None})
    return steps[0].model_copy(
        update={"action_type": "type", "target_control": pad, "parameters": {"text": "".join(typed)}}
    )


def _unbraced(match: re.Match[str]) -> str:
    return " " if match[1] else match[2]
