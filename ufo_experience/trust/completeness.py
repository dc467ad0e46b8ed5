"""Whether a record says enough to be followed: what was asked, the steps, and the controls they acted on.

A successful run without these teaches an agent nothing, however well it was judged: it is kept, counted at ingest and
never put into a prompt.
"""

from __future__ import annotations

import re

from ufo_experience.schema import UNKNOWN_TASK, Experience, Step

NO_TASK, NO_STEP, NO_TARGET = "no task", "no step", "no named target"

_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_POINTS = frozenset(
    "click tap press drag touch doubleclick rightclick leftclick middleclick tripleclick dragto".split()
)
_POINTS |= frozenset("longpress mousedown mouseup clickinput doubletap dragrel".split())
_MOVES = frozenset("scroll hscroll vscroll swipe wait sleep zoom".split())  # a place on the screen does for these
_POSITIONS = frozenset("x y coordinate coordinates position point startbox endbox startcoordinate bbox box".split())
_MOMENTARY = frozenset("index ref bid elementid nodeid mark".split())  # valid for one screenshot only
_LOCATORS = frozenset(
    "selector selectors xpath css name locator url appname packagename accessibilityid resourceid title".split()
)
_SAYS_WHICH = _LOCATORS | {"text", "value", "key", "keys", "command"}  # for a click: which text, which key


def missing(experience: Experience) -> str | None:
    """What a record lacks to be shown as a success (`NO_TASK`, `NO_STEP` or `NO_TARGET`); None when it is whole.

    A failed run is a warning and lacks nothing. What a program hands in (`origin` "api") may tell of a strategy or a
    skill instead of steps.
    """
    action, state = experience.action, experience.state
    if experience.is_negative:
        return None
    if UNKNOWN_TASK in (state.task, state.request):
        return NO_TASK
    if experience.provenance.origin == "api":
        return None
    if not action.steps:
        return None if action.plan or experience.provenance.origin == "import" else NO_STEP
    named = sum(bool(step.target_control.name) for step in action.steps)
    return NO_TARGET if sum(map(is_blind, action.steps)) > named else None


def is_blind(step: Step) -> bool:
    """True for a step on a control that the record does not name: a place on the screen, a number of the moment.

    Nobody can follow it on another screen. Keys, commands, addresses and scrolling need no control.
    """
    if step.target_control.name:
        return False
    words = {word.casefold() for word in _WORD.findall(step.action_type)} | {_plain(step.action_type)}
    given = {_plain(key) for key, value in step.parameters.items() if value not in (None, "", [], {})}
    if words & _MOVES:
        return False
    if given & _POSITIONS:
        return True
    return bool((given & _MOMENTARY and not given & _LOCATORS) or (words & _POINTS and not given & _SAYS_WHICH))


def _plain(name: str) -> str:
    return "".join(c for c in name.rsplit(".", 1)[-1].casefold() if c.isalnum())
