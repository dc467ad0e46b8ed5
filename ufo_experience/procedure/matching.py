"""Which control on the screen a step means: one beyond doubt, or why none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from ufo_experience.actions import kind_of
from ufo_experience.controls import ITEMS, bare, fingerprint, is_fixed
from ufo_experience.procedure.acts import Act, Reason, Stop, for_a_person, needs_consent, target_of
from ufo_experience.procedure.pairing import abbreviates, is_other_deed
from ufo_experience.procedure.screen import Control, Screen, read_screen
from ufo_experience.procedure.steps import STAYS, ProcedureStep
from ufo_experience.request import Request, holds
from ufo_experience.retrieve.opposites import conflict
from ufo_experience.schema import Around

_OFF = re.compile(
    r"\b(?:off|disable|deactivate|stop|hide|uncheck|untick|deselect|unselect|no longer|un(?:mute|pin|lock))\b", re.I
)
_ON = re.compile(r"\b(?:on|enable|activate|start|show|check|tick|select|allow|use|mute|pin|lock)\b", re.I)
_ALIKE = 3  # one in so many of the controls beside it, for a screen to be the same
_SIDES = 2  # controls on either side that must be the same, where the name is not
_PICKED = frozenset(("tabitem", "radiobutton", "treeitem", "listitem"))
_OPENED = frozenset(("combobox", "menuitem", "treeitem", "menubar", "expander", "group"))


@dataclass(frozen=True)
class Miss:
    """Why a step cannot be carried out on this screen; `in_view` when its control, or one like it, is there."""

    reason: Reason
    detail: str
    in_view: bool = False


def find(step: ProcedureStep, screen: Screen, known: Collection[str] = ()) -> Control | Miss:
    """The control `step` acts on.

    Args:
        known: bare names of what the other steps of the way act on; a dialog the record does not speak of is
            trusted only with one of them in it.
    """
    target = step.target
    if target is None or not (target.name or step.item_of or step.row_of):
        return Miss("target_missing", "the step names no control")
    if step.around is not None and _is_elsewhere(step.around, screen):
        return Miss("unexpected_screen", f"hardly anything that stood beside {_said(step)} is in view")
    found = _item(step, screen) if step.item_of and step.kind != "select" else _named(step, screen, known)
    if isinstance(found, Miss):
        return found
    if not found.usable:
        return Miss("target_missing", f"{_said(step)} is in view, and cannot be used", True)
    if not _is_reached(found, step, screen, known):
        where = "in a dialog the record does not know" if found.dialog else "behind a dialog"
        return Miss("unexpected_screen", f"{_said(step)} stands {where}")
    return found


def _named(step: ProcedureStep, screen: Screen, known: Collection[str]) -> Control | Miss:
    """The control of the step's name, in its row and group; where it is gone, the one that stands in its place."""
    name, within = (step.target.name, step.target.within) if step.target else ("", "")
    named = [one for one in screen.named(name) if not (step.role and one.role) or one.role == step.role]
    if step.row_of:
        named = _in_row(step.row_of, named, screen)
    elif within:
        named = [one for one in named if bare(one.within) == bare(within)]
    if named:
        return _only_one(step, named, screen)
    gone = Miss("target_missing", f"{_said(step)} is not in view")
    return gone if step.row_of else _renamed(step, screen, known)


def _item(step: ProcedureStep, screen: Screen) -> Control | Miss:
    """The item of a value of the task: called so, in its row, or of a name that the value abbreviates."""
    value = step.item_of
    items = [one for one in screen.controls if one.name and (not step.role or one.role == step.role)]
    row = _in_row(value, items, screen)
    stages = (
        [one for one in items if one.bare == bare(value)],
        [one for one in row if abbreviates(value, one.name)] or row,
        [one for one in items if abbreviates(value, one.name)],
        [one for one in items if step.target and step.target.name and holds(one.name, value)],
    )
    found = next((stage for stage in stages if stage), [])
    if len(found) == 1:
        return found[0]
    if found:
        return Miss("several_targets", f"{len(found)} controls in view may be that of {value!r}", True)
    return Miss("target_missing", f"nothing in view is that of {value!r}")


def _in_row(value: str, controls: list[Control], screen: Screen) -> list[Control]:
    """Those that stand in the row of a value: the row is called so, or something in it is."""
    rows = {
        one.within for one in screen.controls if one.within and (holds(one.within, value) or one.bare == bare(value))
    }
    return [one for one in controls if one.within in rows]


def _is_elsewhere(around: Around, screen: Screen) -> bool:
    """True when too few of the controls that stood beside it are in view for this to be the same screen."""
    beside = {*_split(around.before), *_split(around.after)}
    return len(beside) > 1 and _ALIKE * len(beside.intersection(screen.prints)) < len(beside)


def _only_one(step: ProcedureStep, named: list[Control], screen: Screen) -> Control | Miss:
    """The control meant among those of its name."""
    equals = step.around.equals if step.around else 1
    if len(named) == 1 and (equals == 1 or step.row_of or (step.target and step.target.within)):
        return named[0]
    if step.around is not None:
        same = [one for one in named if _has_neighbours(step.around, one.place, screen, 1, 2)]
        if len(same) == 1:
            return same[0]
    follows = _behind_field(step.after, named, screen)
    if follows is not None:
        return follows
    if len(named) == 1:
        return Miss(
            "several_targets", f"{_said(step)} was one of {equals}, and which of them this is, nothing tells", True
        )
    return Miss("several_targets", f"{len(named)} controls in view are {_said(step)}", True)


def _behind_field(filled: str, named: list[Control], screen: Screen) -> Control | None:
    """The first of equal controls behind the field that was filled right before, in the same dialog or row."""
    fields = screen.named(filled) if filled else ()
    if len(fields) != 1:
        return None
    (field,) = fields
    behind = [one for one in named if one.place > field.place and one.within == field.within]
    return behind[0] if behind else None


def _renamed(step: ProcedureStep, screen: Screen, known: Collection[str]) -> Control | Miss:
    """The one control of its role that nobody knows and that stands just where the missing one stood."""
    miss = Miss("target_missing", f"{_said(step)} is not in view")
    target, around = step.target, step.around
    if target is None or around is None or step.role in ITEMS or not is_fixed(step.role):
        return miss
    met = {*_split(around.before), *_split(around.after)}
    standing = [
        one
        for one in screen.controls
        if one.role == step.role
        and one.bare not in known
        and (not target.within or bare(one.within) == bare(target.within))
        and screen.prints[one.place] not in met
        and _has_neighbours(around, one.place, screen, _SIDES, 3)
    ]
    if len(standing) != 1 or not _may_be_called(standing[0].name, target.name):
        return miss
    if step.role == "button" and is_other_deed(standing[0].name, target.name):
        return miss
    return standing[0]


def _has_neighbours(around: Around, place: int, screen: Screen, sides: int, least: int) -> bool:
    """True when the nearest `sides` controls on either side are those that stood there, and there are `least`."""
    before, after = _split(around.before)[-sides:], _split(around.after)[:sides]
    here = [print for print in screen.prints[:place] if print][-sides:]
    there = [print for print in screen.prints[place + 1 :] if print][:sides]
    return len(before) + len(after) >= least and (here, there) == (before, after)


def _may_be_called(name: str, before: str) -> bool:
    """False when the new name is that of something riskier than the old one, or of its opposite."""
    riskier = needs_consent("click", name) and not needs_consent("click", before)
    return bool(name) and not riskier and conflict(Request.parse(before), Request.parse(name)) is None


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
    if step.kind != "click" or step.verb != "click":
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


def _said(step: ProcedureStep) -> str:
    target = step.target
    if target is None or not target.name:
        return f"that of {step.item_of!r}" if step.item_of else step.action
    kind = f"{target.type} " if target.type else ""
    place = f' in "{target.within}"' if target.within else ""
    return f'{kind}"{target.name}"{place}'


def check_action(
    act: Act, controls: Screen | Iterable[Any], *, application: str | None = None, consent: bool = False
) -> Act | Stop:
    """An action checked against the screen by its target alone; see `Guide.check`."""
    screen = read_screen(controls)
    kind = kind_of(act.action)
    step = ProcedureStep(0, act.action, kind, act.target, act.parameters)
    if kind == "switch" or act.target is None:
        found = find_application(step, screen, application) if kind == "switch" and act.target is not None else None
    else:
        found = find(step, screen, {one.bare for one in screen.controls})
    if found is True or (kind in STAYS and isinstance(found, Control) and effect_is_there(step, found, "") is True):
        return Stop("done", "what it brings about is there already")
    if isinstance(found, Miss):
        return Stop(found.reason, found.detail)
    ready = act if found is None else replace(act, target=target_of(found))
    name, kind_of_control = (act.target.name, act.target.type) if act.target else ("", "")
    risky = needs_consent(act.action, name, kind_of_control, act.parameters)
    return for_a_person(ready) if risky and not consent else ready


def find_application(step: ProcedureStep, screen: Screen, application: str | None) -> Control | Miss | Literal[True]:
    """The application a step brings to the front; True when it is there, or nothing more can be known of it."""
    name = step.target.name if step.target else ""
    if application and bare(application) == bare(name):
        return True
    listed = screen.applications.get(bare(name))
    if listed is not None:
        return listed
    if screen.applications and application is None:
        return True  # those that could be brought to the front are listed, and it is not among them
    return Miss("target_missing", f"no application {name!r} is open")
