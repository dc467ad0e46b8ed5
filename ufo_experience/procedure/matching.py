"""Which control on the screen a step means: one beyond doubt, or why none."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from ufo_experience.procedure.procedure import ProcedureStep, needs_consent
from ufo_experience.procedure.screen import Control, Screen
from ufo_experience.retrieve.contradictions import conflict
from ufo_experience.schema import Around
from ufo_experience.text.controls import bare, fingerprint, is_fixed

Reason = Literal[
    "done",
    "ways_part",
    "target_missing",
    "several_targets",
    "unbound_slot",
    "needs_consent",
    "unexpected_screen",
    "gave_up",
]

_OFF = re.compile(
    r"\b(?:off|disable|deactivate|stop|hide|uncheck|untick|deselect|unselect|no longer|un(?:mute|pin|lock))\b", re.I
)
_ON = re.compile(r"\b(?:on|enable|activate|start|show|check|tick|select|allow|use|mute|pin|lock)\b", re.I)
_ALIKE = 3  # one in so many of the controls beside it, for a screen to be the same
_SIDES = 2  # controls on either side that must be the same, where the name is not
_PICKED = frozenset(("tabitem", "radiobutton", "treeitem", "listitem"))
_OPENED = frozenset(("combobox", "menuitem", "treeitem", "menubar", "expander", "group"))
_PLAIN_CLICK = frozenset(("left", "", None))


@dataclass(frozen=True)
class Miss:
    """Why a step cannot be carried out on this screen; `in_view` when its control, or one like it, is there."""

    reason: Reason
    detail: str
    in_view: bool = False


def find(
    step: ProcedureStep,
    screen: Screen,
    known: Collection[str] = (),
    beside: tuple[ProcedureStep | None, ProcedureStep | None] = (None, None),
) -> Control | Miss:
    """The control `step` acts on.

    Args:
        known: bare names of what the other steps of the way act on; a dialog the record does not speak of is
            trusted only with one of them in it.
        beside: the steps before and after; where the record tells no neighbours, what they act on may tell the place.
    """
    target = step.target
    if target is None:
        return Miss("target_missing", "the step names no control")
    if step.around is not None and _is_elsewhere(step.around, screen):
        return Miss("unexpected_screen", f"hardly anything that stood beside {_said(step)} is in view")
    named = [one for one in screen.named(target.name) if not (step.role and one.role) or one.role == step.role]
    if target.within:
        named = [one for one in named if bare(one.within) == bare(target.within)]
    named = named or _bearing(step, screen)
    found = _only_one(step, named, screen) if named else _renamed(step, screen, known, beside)
    if isinstance(found, Miss):
        return found
    if not found.usable:
        return Miss("target_missing", f"{_said(step)} is in view, and cannot be used", True)
    if not _is_reached(found, step, screen, known):
        where = "in a dialog the record does not know" if found.dialog else "behind a dialog"
        return Miss("unexpected_screen", f"{_said(step)} stands {where}")
    return found


def _bearing(step: ProcedureStep, screen: Screen) -> list[Control]:
    """Items that bear the task's value, where the rest of their name is their own: "Report, from Jane" for "Report"."""
    if not step.value or is_fixed(step.role) or step.kind != "click":
        return []
    holds = re.compile(rf"(?<!\w){re.escape(step.value)}(?!\w)", re.IGNORECASE)
    return [one for one in screen.controls if one.role == step.role and holds.search(one.name)]


def _is_elsewhere(around: Around, screen: Screen) -> bool:
    """True when too few of the controls that stood beside it are in view for this to be the same screen."""
    beside = {*_split(around.before), *_split(around.after)}
    return len(beside) > 1 and _ALIKE * len(beside.intersection(screen.prints)) < len(beside)


def _only_one(step: ProcedureStep, named: list[Control], screen: Screen) -> Control | Miss:
    """The control meant among those of its name."""
    equals = step.around.equals if step.around else 1
    if len(named) == 1 and (equals == 1 or (step.target and step.target.within)):
        return named[0]
    if step.around is not None:
        same = [one for one in named if _has_neighbours(step.around, one.place, screen, 1, 2)]
        if len(same) == 1:
            return same[0]
    if len(named) == 1:
        return Miss(
            "several_targets", f"{_said(step)} was one of {equals}, and which of them this is, nothing tells", True
        )
    return Miss("several_targets", f"{len(named)} controls in view are {_said(step)}", True)


def _renamed(
    step: ProcedureStep,
    screen: Screen,
    known: Collection[str],
    beside: tuple[ProcedureStep | None, ProcedureStep | None],
) -> Control | Miss:
    """The one control of its role that nobody knows and that stands just where the missing one stood."""
    miss = Miss("target_missing", f"{_said(step)} is not in view")
    target = step.target
    if target is None or step.value or not is_fixed(step.role):
        return miss
    strange = [one for one in screen.controls if one.role == step.role and one.bare not in known]
    if target.within:
        strange = [one for one in strange if bare(one.within) == bare(target.within)]
    if step.around is not None:
        around = step.around
        met = {*_split(around.before), *_split(around.after)}
        standing = [
            one
            for one in strange
            if screen.prints[one.place] not in met and _has_neighbours(around, one.place, screen, _SIDES, 3)
        ]
    else:
        standing = strange if len(strange) == 1 and _stands_between(strange[0], screen, beside) else []
    if len(standing) != 1 or not _may_be_called(standing[0].name, target.name):
        return miss
    return standing[0]


def _has_neighbours(around: Around, place: int, screen: Screen, sides: int, least: int) -> bool:
    """True when the nearest `sides` controls on either side are those that stood there, and there are `least`."""
    before, after = _split(around.before)[-sides:], _split(around.after)[:sides]
    here = [print for print in screen.prints[:place] if print][-sides:]
    there = [print for print in screen.prints[place + 1 :] if print][:sides]
    return len(before) + len(after) >= least and (here, there) == (before, after)


def _stands_between(
    control: Control, screen: Screen, beside: tuple[ProcedureStep | None, ProcedureStep | None]
) -> bool:
    """True when the controls just before and after it are those of the steps before and after."""
    shown = [one for one in screen.controls if is_fixed(one.role)]
    at = shown.index(control)
    near = (shown[at - 1] if at else None, shown[at + 1] if at + 1 < len(shown) else None)
    return all(
        one is not None and step is not None and step.target is not None and one.bare == bare(step.target.name)
        for one, step in zip(near, beside, strict=True)
    )


def _may_be_called(name: str, before: str) -> bool:
    """False when the new name is that of something riskier than the old one, or of its opposite."""
    riskier = needs_consent("click", name) and not needs_consent("click", before)
    return bool(name) and not riskier and conflict(before, name) is None


def _is_reached(control: Control, step: ProcedureStep, screen: Screen, known: Collection[str]) -> bool:
    """False for what a dialog covers, and for what stands in a dialog that the way is not known to go through."""
    stood = step.around.dialog if step.around else None
    if stood is not None and control.dialog is not None and stood != control.dialog:
        return False
    if not screen.dialog:
        return True
    if not control.dialog:
        return False
    if stood or (step.target is not None and step.target.within):
        return True
    others = (one for one in screen.controls if one.dialog and one is not control)
    return any(one.bare in known for one in others)


def stood_beside(step: ProcedureStep, around: Around) -> bool:
    """True when the control of `step` was in view beside another one, as far as the record of that one tells."""
    name = step.target.name if step.target else ""
    return fingerprint(name, step.role) in {*_split(around.before), *_split(around.after)}


def _split(prints: str) -> list[str]:
    return [prints[at : at + 4] for at in range(0, len(prints), 4)]


def effect_is_there(step: ProcedureStep, control: Control, task: str) -> Literal[True] | Miss | None:
    """True when what the step brings about is on the screen already: a text typed, an option chosen, a tab open."""
    if step.kind in ("type", "select"):
        return True if step.text and control.value is not None and str(control.value) == step.text else None
    if step.kind != "click" or not is_plain_click(step):
        return None
    if control.role == "checkbox" and control.checked is not None:
        return _is_switched(step, control, task)
    if control.role == "radiobutton" and control.checked:
        return True
    picked = control.role in _PICKED and control.selected is True
    return True if picked or (control.role in _OPENED and control.expanded is True) else None


def _is_switched(step: ProcedureStep, control: Control, task: str) -> Literal[True] | Miss | None:
    """A click changes a switch over: is it where the task wants it?"""
    if step.around is not None and step.around.checked is not None:
        return True if control.checked is not step.around.checked else None
    rest = task.casefold().replace(bare(step.target.name), " ") if step.target else task
    off, on = _OFF.search(rest) is not None, _ON.search(rest) is not None
    if off != on:
        return True if control.checked is on else None
    if control.checked:
        return Miss(
            "unexpected_screen",
            f"{_said(step)} is switched on already, and the task does not say how it should be",
            True,
        )
    return None


def is_plain_click(step: ProcedureStep) -> bool:
    """True for one click with the left button."""
    double = step.parameters.get("double") in (True, "true", "True") or "double" in step.action
    return not double and "right" not in step.action and step.parameters.get("button") in _PLAIN_CLICK


def _said(step: ProcedureStep) -> str:
    target = step.target
    if target is None:
        return step.action
    kind = f"{target.type} " if target.type else ""
    place = f' in "{target.within}"' if target.within else ""
    return f'{kind}"{target.name}"{place}'
