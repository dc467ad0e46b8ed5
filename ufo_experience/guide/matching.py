"""Which control on the screen a step means: one beyond doubt, or why none."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from ufo_experience.guide.procedure import ProcedureStep
from ufo_experience.guide.screen import Control, Screen, bare

Reason = Literal[
    "done", "target_missing", "several_targets", "unbound_slot", "needs_consent", "unexpected_screen", "gave_up"
]

_OFF = re.compile(
    r"\b(?:off|disable|deactivate|stop|hide|uncheck|untick|deselect|unselect|no longer|un(?:mute|pin|lock))\b", re.I
)
_ON = re.compile(r"\b(?:on|enable|activate|start|show|check|tick|select|allow|use|mute|pin|lock)\b", re.I)
_PICKED = frozenset(("tabitem", "radiobutton", "treeitem", "listitem"))
_OPENED = frozenset(("combobox", "menuitem", "treeitem", "menubar", "expander", "group"))
_PLAIN_CLICK = frozenset(("left", "", None))


@dataclass(frozen=True)
class Miss:
    """Why a step cannot be carried out on this screen."""

    reason: Reason
    detail: str


def find(step: ProcedureStep, screen: Screen, known: Collection[str] = ()) -> Control | Miss:
    """The control `step` acts on.

    Args:
        known: bare names of what the other steps of the way act on; a dialog the record does not speak of is
            trusted only with one of them in it.
    """
    target = step.target
    if target is None:
        return Miss("target_missing", "the step names no control")
    named = [one for one in screen.named(target.name) if not (step.role and one.role) or one.role == step.role]
    if target.within:
        named = [one for one in named if bare(one.within) == bare(target.within)]
    if not named:
        return Miss("target_missing", f"{_said(step)} is not in view")
    if len(named) > 1:
        return Miss("several_targets", f"{len(named)} controls in view are {_said(step)}")
    (only,) = named
    if not only.usable:
        return Miss("target_missing", f"{_said(step)} is in view, and cannot be used")
    if screen.dialog and not _is_reached(only, step, screen, known):
        where = "in a dialog the record does not know" if only.dialog else "behind a dialog"
        return Miss("unexpected_screen", f"{_said(step)} stands {where}")
    return only


def _is_reached(control: Control, step: ProcedureStep, screen: Screen, known: Collection[str]) -> bool:
    """With a dialog open: the control stands in it, and the dialog is one the way goes through."""
    if not control.dialog:
        return False
    if step.target is not None and step.target.within:
        return True
    others = (one for one in screen.controls if one.dialog and one is not control)
    return any(one.bare in known for one in others)


def effect_is_there(step: ProcedureStep, control: Control, task: str) -> Literal[True] | Miss | None:
    """True when what the step brings about is on the screen already: a text typed, an option chosen, a tab open."""
    if step.kind in ("type", "select"):
        return True if step.text and control.value is not None and str(control.value) == step.text else None
    if step.kind != "click" or not _is_plain_click(step):
        return None
    if control.role == "checkbox" and control.checked is not None:
        return _is_switched(step, control, task)
    if control.role == "radiobutton" and control.checked:
        return True
    picked = control.role in _PICKED and control.selected is True
    return True if picked or (control.role in _OPENED and control.expanded is True) else None


def _is_switched(step: ProcedureStep, control: Control, task: str) -> Literal[True] | Miss | None:
    """A click changes a switch over: is it where the task wants it?"""
    rest = task.casefold().replace(bare(step.target.name), " ") if step.target else task
    off, on = _OFF.search(rest) is not None, _ON.search(rest) is not None
    if off != on:
        return True if control.checked is on else None
    if control.checked:
        return Miss(
            "unexpected_screen", f"{_said(step)} is switched on already, and the task does not say how it should be"
        )
    return None


def _is_plain_click(step: ProcedureStep) -> bool:
    double = step.parameters.get("double") in (True, "true", "True") or "double" in step.action
    return not double and "right" not in step.action and step.parameters.get("button") in _PLAIN_CLICK


def _said(step: ProcedureStep) -> str:
    target = step.target
    if target is None:
        return step.action
    kind = f"{target.type} " if target.type else ""
    place = f' in "{target.within}"' if target.within else ""
    return f'{kind}"{target.name}"{place}'
