"""The verbs of actions: which ones type, choose, press keys, click, go elsewhere; and which parameters hold text.

Every room that looks at a step asks here; a verb is compared without its module, its case and its punctuation.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from ufo_experience.schema import Step

Kind = Literal["click", "type", "select", "keys", "switch", "open", "other"]


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_TYPING = _names(
    "setedittext typekeys keyboardinput typetext inputtext type fill fillform write typewrite sendkeys settext "
    "inserttext entertext setvalue input pastetext typein typeinto presssequentially keyboardaction "
    "inputkeys typestring pyautoguitypewrite pyautoguiwrite keyboardtype typing browsertype browserfillform"
)
_PRESS = _names("press presskey presskeys presshotkey keypress key keydown keyboardpress pressakey hotkey pressenter")
_COPY = _names("copy clipboardcopy setclipboard setclipboardtext writeclipboard copytext")
_PASTE = _names("paste clipboardpaste pastefromclipboard")
_PASTE_CHORD = re.compile(
    r"(?i)(?:\{(?:VK_)?(?:CONTROL|CTRL)(?: down)?\}|\^|(?:ctrl|control|cmd|command|meta) ?[+-] ?)v\b"
)

# Parameters of a typing action that steer it. Every other one is what was typed.
_OPTIONS = _names(
    "id name label control controlname controltext controllabel controltype controlid selector xpath css element "
    "elementid target ref role type kind button method mode application app process window windowtitle title index x y "
    "direction coordinate coordinates position interval delay duration timeout clear clearcurrenttext controlfocus "
    "submit enter pressenter double presses slowly device deviceid frame tab tabid placeholder field units action"
)
_LOCATORS = _names(
    "name label control controlname controltext controllabel selector xpath element target field placeholder"
)

# Whether a step says which control it acts on.
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_POINTS = _names(
    "click tap press drag touch doubleclick rightclick leftclick middleclick tripleclick dragto "
    "longpress mousedown mouseup clickinput doubletap dragrel"
)
_MOVES = _names("scroll hscroll vscroll swipe wait sleep zoom")  # a place on the screen does for these
_POSITIONS = _names("x y coordinate coordinates position point startbox endbox startcoordinate bbox box")
_MOMENTARY = _names("index ref bid elementid nodeid mark")  # valid for one screenshot only
_LASTING = _names("selector selectors xpath css name locator url appname packagename accessibilityid resourceid title")
_SAYS_WHICH = _LASTING | {"text", "value", "key", "keys", "command"}  # for a click: which text, which key

# The word a field carries its own name under, and the one it carries its value under, in a form-like mapping.
FIELD_NAMES = ("name", "label", "field", "control", "element", "selector", "placeholder", "id", "type")
FIELD_VALUES = frozenset({"value", "text", "content", "val", "keys", "input"})
_TAKES_TEXT = _TYPING | _PRESS | _COPY
_SWITCHES = _names(
    "switchapplication selectapplicationwindow selectapplication switchapp openapp openapplication launchapp"
)
_OPENS = _names("goto navigate openurl opentab gotourl visit browsernavigate")
_SELECTS = _names("selectitem selectoption select choose choosefromlist setcombobox")
_CLICKS = _names(
    "click clickinput doubleclick doubleclickinput leftclick rightclick rightclickinput tap touch clickelement toggle "
    "check uncheck activate invoke pressbutton"
)
_KINDS: tuple[tuple[Kind, frozenset[str]], ...] = (
    ("switch", _SWITCHES),
    ("open", _OPENS),
    ("select", _SELECTS),
    ("type", _TYPING),
    ("click", _CLICKS),
)


def is_typing(action: str) -> bool:
    """True for actions that type text (`set_edit_text`, `type_keys`, `fill`, …)."""
    return plain(action) in _TYPING


def is_press(action: str) -> bool:
    """True for actions that press keys (`press`, `hotkey`, …)."""
    return plain(action) in _PRESS


def kind_of(action: str) -> Kind:
    """What an action does to a control, whatever its tool calls it."""
    name = plain(action)
    if name in _PRESS or name == "keyboardinput":
        return "keys"
    for kind, names in _KINDS:
        if name in names:
            return kind
    return "other"


def is_click(action: str) -> bool:
    """True for actions that press a button (`click`, `tap`, …)."""
    return plain(action) in _CLICKS or plain(action) == "press"


def is_copy(action: str) -> bool:
    """True for actions that put a given text on the clipboard."""
    return plain(action) in _COPY


def is_paste(step: Step) -> bool:
    """True when a step pastes, by name or by chord."""
    leaf = typed_leaf(step)
    return plain(step.action_type) in _PASTE or (leaf is not None and _PASTE_CHORD.search(leaf[1]) is not None)


def takes_text(action: str) -> bool:
    """True when the parameters of an action are what a person would type."""
    return plain(action) in _TAKES_TEXT


def is_option(name: str) -> bool:
    """True for a parameter that steers a typing action and holds no text."""
    return plain(name) in _OPTIONS


def typed_leaf(step: Step) -> tuple[str, str] | None:
    """The parameter (name, text) a step types, when it is exactly one; a list of keys counts as their chord."""
    leaves = []
    for key, value in step.parameters.items():
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            value = "+".join(map(str, value))
        if isinstance(value, str) and not is_option(key):
            leaves.append((key, value))
    return leaves[0] if len(leaves) == 1 else None


def control_names(step: Step) -> str:
    """All a step says about the control it aims at, as one text; empty when it says nothing."""
    control = step.target_control
    names = [value for key, value in step.parameters.items() if isinstance(value, str) and plain(key) in _LOCATORS]
    return " ".join(part for part in (control.name, control.type or "", *names) if part)


def is_blind(step: Step) -> bool:
    """True for a step on a control that the record does not name: a place on the screen, a number of the moment.

    Nobody can follow it on another screen. Keys, commands, addresses and scrolling need no control.
    """
    if step.target_control.name:
        return False
    words = {word.casefold() for word in _WORD.findall(step.action_type)} | {plain(step.action_type)}
    given = {plain(key) for key, value in step.parameters.items() if value not in (None, "", [], {})}
    if words & _MOVES:
        return False
    if given & _POSITIONS:
        return True
    return bool((given & _MOMENTARY and not given & _LASTING) or (words & _POINTS and not given & _SAYS_WHICH))


@lru_cache(4_096)
def plain(name: str) -> str:
    """A name without module, case and punctuation: `pyautogui.typeWrite` is `typewrite`."""
    last = name.rsplit(".", 1)[-1]
    return "".join(c for c in last.casefold() if c.isalnum())
