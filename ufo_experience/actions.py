"""The verbs of actions: which ones type, choose, press keys, click, go elsewhere; and which parameters hold text.

Every room that looks at a step asks here; a verb is compared without its module, its case and its punctuation.
"""

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from ufo_experience.schema import Step

Kind = Literal["click", "type", "select", "keys", "switch", "open", "other"]
Verb = Literal["switch", "open", "select", "type", "click", "press", "copy"]


WORDS: dict[str, Any] = json.loads(Path(__file__).with_name("interface_words.json").read_text("utf-8"))
_VERBS: dict[Verb, frozenset[str]] = {verb: frozenset(names.split()) for verb, names in WORDS["verbs"].items()}
# Parameters that name a control, and all that steer a typing action; every other one is what was typed.
_LOCATORS = frozenset(WORDS["locators"].split())
_OPTIONS = _LOCATORS | frozenset(WORDS["options"].split())

# Whether a step says which control it acts on.
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_POINTS = frozenset(WORDS["points"].split())
_MOVES = frozenset(WORDS["moves"].split())  # a place on the screen does for these
_POSITIONS = frozenset(WORDS["positions"].split())
_MOMENTARY = frozenset(WORDS["momentary"].split())  # valid for one screenshot only
_LASTING = frozenset(WORDS["lasting"].split())
_SAYS_WHICH = _LASTING | {"text", "value", "key", "keys", "command"}  # for a click: which text, which key

# The word a field carries its own name under, and the one it carries its value under, in a form-like mapping.
FIELD_NAMES = ("name", "label", "field", "control", "element", "selector", "placeholder", "id", "type")
FIELD_VALUES = frozenset({"value", "text", "content", "val", "keys", "input"})


def does(action: str, *verbs: Verb) -> bool:
    """True for an action that does one of these, whatever its tool calls it."""
    name = plain(action)
    return any(name in _VERBS[verb] for verb in verbs)


def is_typing(action: str) -> bool:
    """True for actions that type text (`set_edit_text`, `type_keys`, `fill`, …)."""
    return does(action, "type")


def is_press(action: str) -> bool:
    """True for actions that press keys (`press`, `hotkey`, …)."""
    return does(action, "press")


def takes_text(action: str) -> bool:
    """True when the parameters of an action are what a person would type."""
    return does(action, "type", "press", "copy")


def kind_of(action: str) -> Kind:
    """What an action does to a control, whatever its tool calls it."""
    if is_press(action) or plain(action) == "keyboardinput":
        return "keys"
    for kind in ("switch", "open", "select", "type", "click"):
        if does(action, kind):
            return kind
    return "other"


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
    words = {word.casefold() for word in _WORD.findall(step.action_type)} | {plain(step.action_type)}
    given = {plain(key) for key, value in step.parameters.items() if value not in (None, "", [], {})}
    if step.target_control.name or words & _MOVES:
        return False
    if given & _POSITIONS:
        return True
    return bool((given & _MOMENTARY and not given & _LASTING) or (words & _POINTS and not given & _SAYS_WHICH))


@lru_cache(4_096)
def plain(name: str) -> str:
    """A name without module, case and punctuation: `pyautogui.typeWrite` is `typewrite`."""
    return "".join(c for c in name.rsplit(".", 1)[-1].casefold() if c.isalnum())
