"""Which control on the screen a step means: one beyond doubt, or why none; and what the screen tells of open steps."""

import re
from collections.abc import Collection, Sequence
from typing import Literal

from ufo_experience.controls import BETWEEN, ITEMS, LANDMARKS, bare, fingerprint, is_fixed, is_part_of_page, role_of
from ufo_experience.procedure.acts import Act, Stop, is_item_of, needs_consent, on_screen
from ufo_experience.procedure.render import control_of
from ufo_experience.procedure.screen import Control, Controls, Screen, read_screen
from ufo_experience.procedure.steps import STAYS, ProcedureStep
from ufo_experience.request import Request, holds
from ufo_experience.retrieve.opposites import conflict
from ufo_experience.retrieve.pairing import abbreviates, is_other_deed
from ufo_experience.schema import Around

_OFF = re.compile(
    r"\b(?:off|disable|deactivate|stop|hide|uncheck|untick|deselect|unselect|no longer|un(?:mute|pin|lock))\b", re.I
)
_ON = re.compile(r"\b(?:on|enable|activate|start|show|check|tick|select|allow|use|mute|pin|lock)\b", re.I)
_HEADINGS = ("header", "text")  # may be called as a field is
_ALIKE = 3  # one in so many of the controls beside it, for a screen to be the same
_SIDES = 2  # controls on either side that must be the same, where the name is not
_TOKEN = r"[^\s:=,;()\[\]/|]+"
_LONGEST = 80  # characters of a value that is read
_PICKED = frozenset(("tabitem", "radiobutton", "treeitem", "listitem", "hyperlink"))
_OPENED = frozenset(("combobox", "menuitem", "treeitem", "menubar", "expander", "group"))


def find(step: ProcedureStep, screen: Screen, known: Collection[str] = ()) -> Control | Stop:
    """The control `step` acts on. `known` are bare names of what the other steps of the way act on: a dialog the record
    does not speak of is trusted only with one of them in it."""
    if not (step.name or step.item_of or step.row_of):
        return Stop("target_missing", "the step names no control")
    if step.around is not None and _is_elsewhere(step.around, screen):
        return Stop("unexpected_screen", f"hardly anything that stood beside {control_of(step)} is in view")
    found = _item(step, screen) if step.takes_item else _named(step, screen, known)
    if isinstance(found, Stop):
        return found
    if not found.usable:
        return Stop("target_missing", f"{control_of(step)} is in view, and cannot be used", in_view=True)
    if not _is_reached(found, step, screen, known):
        where = "in a dialog the record does not know" if found.dialog else "behind a dialog"
        return Stop("unexpected_screen", f"{control_of(step)} stands {where}")
    return found


def _named(step: ProcedureStep, screen: Screen, known: Collection[str]) -> Control | Stop:
    """The control of the step's name, in its row and group; where it is gone, the one that stands in its place."""
    named = [one for one in screen.named(step.name) if not (step.role and one.role) or one.role == step.role]
    if step.row_of:
        named = _in_row((step.row_of, *step.beside), named, screen) or _behind(step.row_of, named, screen)
    elif step.target and step.target.within:
        named = [one for one in named if bare(one.within) == bare(step.target.within)]
    if named:
        return _only_one(step, named, screen)
    renamed = None if step.row_of else _renamed(step, screen, known)
    return renamed or Stop("target_missing", f"{control_of(step)} is not in view")


def _item(step: ProcedureStep, screen: Screen) -> Control | Stop:
    """The item of a value of the task: called so, in its row, or of a name that the value abbreviates."""
    value = step.item_of
    items = [one for one in screen.controls if one.name and (not step.role or one.role == step.role)]
    row = _in_row((value, *step.beside), items, screen)
    if step.beside:
        row += [one for one in items if one not in row and all(holds(one.name, it) for it in (value, *step.beside))]
    if step.beside and bare(step.name) != bare(value):  # of a row of several values that which is none of them
        values = {bare(one) for one in (value, *step.beside)}
        items = row = [one for one in row if one.bare not in values] or row
    stages = (
        [one for one in items if step.name and one.bare == bare(step.name)],
        [one for one in items if one.bare == bare(value)],
        [one for one in row if step.shown and one.name.startswith(step.shown.rstrip("…"))],
        [one for one in row if holds(one.name, value)],
        [one for one in row if abbreviates(value, one.name) or abbreviates(one.name, value)] or row,
        [one for one in items if abbreviates(value, one.name)],
        [one for one in items if step.name and holds(one.name, value)],
    )
    found = next((stage for stage in stages if stage), [])
    if len(found) > 1:
        return Stop("several_targets", f"{len(found)} controls in view may be that of {value!r}", in_view=True)
    return found[0] if found else Stop("target_missing", f"nothing in view is that of {value!r}")


def _in_row(values: Sequence[str], controls: list[Control], screen: Screen) -> list[Control]:
    """Those that stand in the row of some values: the row is called so, or something in it is."""
    rows = [
        {one.within for one in screen.controls if one.within and (holds(one.within, value) or one.bare == bare(value))}
        for value in values
    ]
    shared = set.intersection(*rows)
    return [one for one in controls if one.within in shared]


def _behind(value: str, named: Sequence[Control], screen: Screen) -> list[Control]:
    """The first of some controls behind the one that is called by a value, with no other of its kind between."""
    heads = [one for one in screen.named(value) if not is_part_of_page(one.within, LANDMARKS)]
    later = [one for one in named if heads and one.place > heads[-1].place and not one.within][:1]
    between = screen.controls[heads[-1].place + 1 : later[0].place] if later else ()
    return [] if len(heads) > 1 or any(one.role == heads[0].role for one in between) else later


def _only_one(step: ProcedureStep, named: Sequence[Control], screen: Screen) -> Control | Stop:
    """The control meant among those of its name: by its row or group, its neighbours, or the field filled before."""
    equals = step.around.equals if step.around else 1
    if len(named) == 1 and (equals == 1 or step.row_of or (step.target and step.target.within)):
        return named[0]
    same = [one for one in named if step.around and _has_neighbours(step.around, one.place, screen, 1, 2)]
    if len(same) == 1:
        return same[0]
    fields = [one for one in screen.named(step.after) if one.role not in _HEADINGS] if step.after else []
    behind = [one for one in named for field in fields if one.place > field.place and one.within == field.within]
    if len(fields) == 1 and behind:
        return behind[0]
    which = f"{control_of(step)} was one of {equals}, and which of them this is, nothing tells"
    said = which if len(named) == 1 else f"{len(named)} controls in view are {control_of(step)}"
    return Stop("several_targets", said, in_view=True)


def _renamed(step: ProcedureStep, screen: Screen, known: Collection[str]) -> Control | None:
    """The one control of its role that nobody knows and that stands just where the missing one stood."""
    around, within = step.around, step.target.within if step.target else ""
    if around is None or step.role in ITEMS or not is_fixed(step.role):
        return None
    standing = [
        one
        for one in screen.controls
        if one.role == step.role
        and one.bare not in known
        and (not within or bare(one.within) == bare(within))
        and screen.prints[one.place] not in _beside(around)
        and _has_neighbours(around, one.place, screen, _SIDES, 3)
    ]
    return standing[0] if len(standing) == 1 and _may_be_called(standing[0], step.name) else None


def _may_be_called(control: Control, before: str) -> bool:
    """False when the new name is that of something riskier than the old one, of its opposite, or of another deed."""
    if not control.name or (needs_consent("click", control.name) and not needs_consent("click", before)):
        return False
    if conflict(Request.parse(before), Request.parse(control.name)) is not None:
        return False
    return control.role != "button" or not is_other_deed(control.name, before)


# ---- the same screen


def _is_elsewhere(around: Around, screen: Screen) -> bool:
    """True when too few of the controls that stood beside it are in view for this to be the same screen."""
    beside = _beside(around)
    return len(beside) > 1 and _ALIKE * len(beside.intersection(screen.prints)) < len(beside)


def _has_neighbours(around: Around, place: int, screen: Screen, sides: int, least: int) -> bool:
    """True when the nearest `sides` controls on either side are those that stood there, and there are `least`."""
    before, after = _split(around.before)[-sides:], _split(around.after)[:sides]
    here = [print for print in screen.prints[:place] if print][-sides:]
    there = [print for print in screen.prints[place + 1 :] if print][:sides]
    return len(before) + len(after) >= least and (here, there) == (before, after)


def _is_reached(control: Control, step: ProcedureStep, screen: Screen, known: Collection[str]) -> bool:
    """False for what a dialog covers, and for what stands in a dialog that the way is not known to go through."""
    stood = step.around.dialog if step.around else None
    if stood is not None and control.dialog is not None and stood != control.dialog:
        return False
    if not screen.dialog or not control.dialog:
        return not screen.dialog
    others = (one for one in screen.controls if one.dialog and one is not control)
    return bool(stood or (step.target and step.target.within)) or any(one.bare in known for one in others)


def stood_beside(step: ProcedureStep, around: Around) -> bool:
    """True when the control of `step` was in view beside another one, as far as the record of that one tells."""
    return fingerprint(step.name, step.role) in _beside(around)


def _beside(around: Around) -> set[str]:
    return {*_split(around.before), *_split(around.after)}


def _split(prints: str) -> list[str]:
    return [prints[at : at + 4] for at in range(0, len(prints), 4)]


# ---- what is there already


def effect_is_there(step: ProcedureStep, control: Control, task: str) -> Literal[True] | Stop | None:
    """True when what the step brings about is on the screen already: a text typed, an option chosen, a tab open."""
    if step.kind in STAYS:
        return True if step.text and control.value is not None and str(control.value) == step.text else None
    if step.verb != "click":
        return None
    if control.role == "checkbox" and control.checked is not None:
        return _is_switched(step, control, task)
    there = (
        (control.role == "radiobutton" and control.checked)
        or (control.role in _PICKED and control.selected)
        or (control.role in _OPENED and control.expanded)
    )
    return True if there else None


def _is_switched(step: ProcedureStep, control: Control, task: str) -> Literal[True] | Stop | None:
    """A click changes a switch over: is it where the task wants it?"""
    if step.around is not None and step.around.checked is not None:
        return True if control.checked is not step.around.checked else None
    rest = task.casefold().replace(bare(step.name), " ") if step.target else task
    off, on = _OFF.search(rest) is not None, _ON.search(rest) is not None
    if off != on:
        return True if control.checked is on else None
    why = f"{control_of(step)} is switched on already, and the task does not say how it should be"
    return Stop("unexpected_screen", why, in_view=True) if control.checked else None


def check_action(act: Act, controls: Controls, *, application: str | None = None, consent: bool = False) -> Act | Stop:
    """An action checked against the screen by its target alone; see `Guide.check`."""
    screen, step = read_screen(controls), act.alone
    found: Control | Stop | Literal[True] | None = None
    if step.target is not None and step.kind == "switch":
        found = find_application(step, screen, application)
    elif step.target is not None:
        found = find(step, screen, {one.bare for one in screen.controls})
    if step.kind in STAYS and isinstance(found, Control) and effect_is_there(step, found, "") is True:
        found = True
    return on_screen(act, found, consent=consent)


def find_application(step: ProcedureStep, screen: Screen, application: str | None) -> Control | Stop | Literal[True]:
    """The application a step brings to the front; True when it is there, or nothing more can be known of it."""
    if application and bare(application) == bare(step.name):
        return True
    if screen.applications and application is None and bare(step.name) not in screen.applications:
        return True  # those that could be brought to the front are listed, and it is not among them
    missing = Stop("target_missing", f"no application {step.name!r} is open")
    return screen.applications.get(bare(step.name), missing)


# ---- what the words of the task leave open: a value, an item, an option


def read_value(step: ProcedureStep, screen: Screen) -> str:
    """The value in view where the run found what it typed; "" where none, or not just one, stands there."""
    if step.seen is None or not step.can_be_read:
        return ""
    key = rf"(?<!\w){re.escape(step.key)}(?!\w)"
    beside = f"({_TOKEN}){BETWEEN}{key}" if (step.seen.beside or 0) < 0 else f"{key}{BETWEEN}({_TOKEN})"
    role = role_of(step.seen.type)
    texts = [one.name for one in screen.controls if one.role == role and not is_fixed(role)]
    if not step.seen.whole:
        texts = [found.rstrip(".") for text in texts for found in re.findall(beside, text)]
    found = {text.strip() for text in texts} - {""}
    value = found.pop() if len(found) == 1 else ""
    return value if len(value) <= _LONGEST else ""


def where_seen(step: ProcedureStep, steps: Sequence[ProcedureStep]) -> str:
    """In words where the run had found what it typed; "" where that is not known."""
    if step.seen is None:
        return ""
    kind = f"in {step.seen.type}" if step.seen.type else "on the screen"
    beside = f' beside "{step.key}"' if step.key else ""
    if not 0 < step.seen.after <= len(steps):
        return f"{kind}{beside}, before the first step"
    label = steps[step.seen.after - 1].label
    name = f' "{label}"' if label else ""
    return f"{kind}{beside}, after step {step.seen.after}{name}"


def named_in_task(step: ProcedureStep, screen: Screen, task: str, known: Collection[str]) -> Control | None:
    """The one control in view of the kind `step` acts on whose name stands in the task, and is no other step's."""
    alike = [one for one in screen.controls if step.role and one.role == step.role and one.usable]
    found = [one for one in alike if one.bare not in known and holds(task, one.bare)]
    return found[0] if len(found) == 1 else None


def option_meant(options: Sequence[str], task: str, value: str = "") -> str:
    """The only option of a list, or the one that the task names or a value of it abbreviates; "" for several."""
    if len(options) == 1:
        return options[0]  # there is nothing to choose
    found = [one for one in options if holds(task, bare(one)) or (value and is_item_of(value, one))]
    longest = max(found, key=len, default="")
    return longest if all(holds(longest, bare(one)) for one in found) else ""
