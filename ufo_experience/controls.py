"""Names and kinds of controls, compared across systems and releases: "Save As…" is "save as", a textbox an edit.

And what was in view before each step, for runs that tell it. Of the controls in view no name is kept. They say where a
control stood among others (`around`), from which step on it could be reached (`visibility`), and where a text had stood
that was typed though nobody asked for it (`with_seen`): a person's number, the code of a department.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from ufo_experience.actions import WORDS, does, is_typing, typed_leaf
from ufo_experience.request import Request, find_whole
from ufo_experience.schema import Around, Seen, Step, Visibility

LABEL = re.compile(r"[^\W\d_]+(?:[ /&'-]{1,3}[^\W\dA-Z_]+){0,3}[.…]{0,3}")  # "Users", "Installed apps"; not "Tom Kent"
_ENDS = " .…:*\"'\t\n"
_WORD = re.compile(r"[^\W_]+")
# Kinds of one role in the trees of different systems (UI Automation, ARIA, HTML), each under its UI Automation name.
_ROLES: dict[str, str] = {word: role for role, words in WORDS["roles"].items() for word in words.split()}
# What an application is made of, as against what its user keeps in it.
_FIXED = frozenset(
    "button splitbutton checkbox radiobutton combobox edit spinner slider tabitem menuitem menu menubar hyperlink "
    "header headeritem toolbar".split()
)
FIELDS = frozenset(("edit", "combobox", "spinner"))  # their text is their value
# Parts of a page as ARIA and HTML call them; the first lead elsewhere.
LANDMARKS = frozenset("navigation menu menubar toolbar banner".split())
REGIONS = LANDMARKS | set("header footer main form search region complementary contentinfo aside".split())

ITEMS = frozenset(("hyperlink", "listitem", "treeitem", "dataitem"))  # of another name they are another thing
_CHOICES = frozenset(("checkbox", "radiobutton"))
_ITEM_LENGTH = 4  # characters of a name that another name may be said to hold


def without_icons(name: str) -> str:
    """A name without the signs of icon fonts, and triangles and dots, which stand for pictures: "File ▾" is "File"."""
    if name.isascii():
        return name
    return " ".join("".join(" " if _is_picture(sign) else sign for sign in name).split())


def _is_picture(sign: str) -> bool:
    return "\u25a0" <= sign <= "\u25ff" or unicodedata.category(sign) == "Co"


def bare(name: str) -> str:
    """A name without case, icons, surrounding punctuation and repeated blanks: "Save As…" is "save as"."""
    folded = without_icons(name).casefold().strip(_ENDS)
    return " ".join(folded.split()) if "  " in folded or "\n" in folded else folded


@lru_cache(maxsize=1_024)
def role_of(type: str | None) -> str:
    """The kind of a control under one name for all systems; "" when it is not known."""
    found = "".join(_WORD.findall(type.casefold())) if type else ""
    return _ROLES.get(found, found)


def is_fixed(role: str) -> bool:
    """True for what the application put there: a button, a field, a tab; not an item of a list, a row or a text."""
    return role in _FIXED


def is_known_role(type: str) -> bool:
    """True for what is a kind of control, whatever else a word of a log may mean."""
    return role_of(type) in _FIXED | ITEMS


def is_part_of_page(within: str, parts: frozenset[str] = REGIONS) -> bool:
    """True for a place that is a part of every page, as "navigation" is; not for a row, a group or a dialog."""
    return not parts.isdisjoint(_WORD.findall(within.casefold().replace("tool bar", "toolbar")))


def fingerprint(name: str, role: str) -> str:
    """Four hex digits for a control: enough to see whether a screen is the same, too few to tell a name from."""
    return f"{zlib.crc32(f'{role}/{bare(name)}'.encode('utf-8', 'replace')) & 0xFFFF:04x}"


def fingerprints(controls: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """One for each control of a screen, given as names and roles; "" for what the application did not put there.

    What another control names is the user's, and so is that other one: the link "Film night" and "Delete Film night",
    a choice and the cell it stands in.
    """
    named = [(bare(name), role) for name, role in controls]
    items = {said for said, role in named if role in ITEMS and len(said) >= _ITEM_LENGTH}
    holding = {said: {item for item in items if item in said and item != said} for said, _ in named}
    content = {said for said, held in holding.items() if held}.union(*holding.values())
    cells = {said for said, role in named if role == "dataitem"}
    own = (
        said and role in _FIXED and said not in content | (cells if role in _CHOICES else set()) for said, role in named
    )
    return tuple(fingerprint(*one) if is_own else "" for one, is_own in zip(named, own, strict=True))


# ---- what was in view ----

VisibleControls = frozenset[tuple[str, str]]  # name and type of controls

NEAR = 12  # controls kept on either side
MAX_COMPARED = 200  # steps; a longer run is no example for anybody
_SHORTEST = 2  # characters of a text for which it can be told where it came from
BETWEEN = r"[\s:=,;()\[\]/|-]{1,4}"  # a value and what stands beside it
_MENU_ITEM = "MenuItem"
NAME_LENGTH = 200  # to which names of controls in view are cut


@dataclass(frozen=True)
class ListedControl:
    """A control in view as a log lists it; None for what the log does not say."""

    label: str
    name: str
    kind: str
    within: str | None = None
    dialog: bool | None = None
    checked: bool | None = None
    selected: bool | None = None
    expanded: bool | None = None
    value: str | None = None


Screens = Sequence[Sequence[ListedControl]]


def in_view(listed: Sequence[ListedControl]) -> VisibleControls:
    return frozenset((one.name, one.kind) for one in listed if one.name)


def around(view: Sequence[ListedControl], label: str, name: str) -> tuple[str, Around] | None:
    """The place (row, group, dialog) of a control in a view, and what stood around it; None when it is not in view."""
    found = [one for one in view if one.name == name and (one.label == label or not label)]
    if len(found) != 1:
        return None
    (own,) = found
    at = view.index(own)
    role, said = role_of(own.kind), bare(name)
    equals = [one for one in view if bare(one.name) == said and role_of(one.kind) == role]
    prints = fingerprints((one.name, role_of(one.kind)) for one in view)
    return own.within or "", Around(
        before="".join([print for print in prints[:at] if print][-NEAR:]),
        after="".join([print for print in prints[at + 1 :] if print][:NEAR]),
        place=equals.index(own) + 1,
        equals=len(equals),
        dialog=(own.dialog or False) if any(one.dialog is not None for one in view) else None,
        checked=own.checked,
    )


def visibility(steps: Sequence[Step], views: Sequence[VisibleControls], screens: Screens = ()) -> Visibility:
    """Which steps' controls were visible before which steps, after which a menu was open, and which screens were alike.

    `views[k]` is what was visible before `steps[k]`, `screens[k]` with states and values. Controls of two applications
    are two controls.
    """
    opened = tuple(
        step.step_number
        for step, (old, new) in zip(steps, pairwise(views), strict=False)
        if old and any(kind == _MENU_ITEM for _, kind in new - old)
    )
    visible: dict[int, tuple[int, ...]] = {}
    if any(views) and len(steps) <= MAX_COMPARED:
        seen = [(step.step_number, step.application, view) for step, view in zip(steps, views, strict=True)]
        for step in steps:
            if name := step.target_control.name[:NAME_LENGTH]:
                shown = (at for at, where, view in seen if where == step.application and _holds(view, name, step))
                visible[step.step_number] = tuple(shown)
    told = screens if len(steps) <= MAX_COMPARED and any(screens) else ()
    return Visibility(visible_before=visible, menu_opened_after=opened, **_screens(steps, told))


def _screens(steps: Sequence[Step], screens: Screens) -> dict[str, Any]:
    """Which screens were alike, what the control of each step held, and before which steps it stood or showed what."""
    numbers: dict[tuple[Any, ...], int] = {}
    page: dict[int, int] = {}
    screen: dict[int, int] = {}
    held: dict[int, str] = {}
    standing: dict[int, tuple[int, ...]] = {}
    showing: dict[int, tuple[int, ...]] = {}
    opening: list[int] = []
    tells = any(one.value for listed in screens for one in listed)  # what is in the fields; the others are empty
    shown = [(step.step_number, listed) for step, listed in zip(steps, screens, strict=False)]
    for step, (number, listed) in zip(steps, shown, strict=False):
        if any(role_of(one.kind) == "text" for one in listed):  # else it may not tell what changed
            state = tuple((_place(one), one.checked, one.selected, one.value) for one in listed)
            page[number] = numbers.setdefault(tuple(map(_place, listed)), len(numbers))
            screen[number] = numbers.setdefault(state, len(numbers))
        name = step.target_control.name[:NAME_LENGTH]
        namesakes = [(at, one) for at, on in shown for one in on if one.name == name]
        own = [one for at, one in namesakes if at == number and _is_own(one, step)]
        if len(own) == 1:
            there = [at for at, one in namesakes if _is_there(one, own[0])]
            standing[number] = tuple(at for at in there if there.count(at) == 1)
            opening += [number] if own[0].expanded is not None else []
            if tells:
                held[number] = own[0].value or ""
        clicks, said = does(step.action_type, "click"), leaf[1].strip() if (leaf := typed_leaf(step)) else ""
        if clicks or (tells and (is_typing(step.action_type) or does(step.action_type, "select"))):
            own_at = ((at, one) for at, one in namesakes if _is_own(one, step))
            told = (at for at, one in own_at if (one.selected or one.checked if clicks else (one.value or "") == said))
            showing[number] = tuple(told)
    alike: dict[str, Any] = {"page_before": page, "screen_before": screen, "opening": tuple(opening)}
    return alike | {"held_before": held, "standing_before": standing, "showing_before": showing}


def _place(one: ListedControl) -> tuple[str, str, str]:
    return one.name, one.kind, one.within or ""


def _is_there(one: ListedControl, own: ListedControl) -> bool:
    """True for a namesake in the same place; a row that the name begins may tell more on another page."""
    place, within = own.within or "", one.within or ""
    in_row = place.startswith(own.name) and within.startswith(f"{place} ")
    return one.kind == own.kind and (within == place or in_row)


def _is_own(one: ListedControl, step: Step) -> bool:
    target = step.target_control
    named = bool(one.name) and one.name == target.name[:NAME_LENGTH] and one.kind in (target.type or one.kind, "")
    return named and target.within in (one.within or "", "")


def _holds(view: VisibleControls, name: str, step: Step) -> bool:
    if kind := step.target_control.type:
        return (name, kind) in view or (name, "") in view
    return any(known == name for known, _ in view)


def with_seen(
    steps: Sequence[Step], views: Sequence[VisibleControls], request: str, screens: Screens = ()
) -> tuple[Step, ...]:
    """The steps, those that type what was in view before and the request does not name with `seen`, others with the
    value of the request that is called so before them."""
    if not any(views) or len(steps) > MAX_COMPARED:
        return tuple(steps)
    taken = {bare(step.target_control.name) for step in steps}  # by a step of its own
    said = (bare(value.text) for value in Request.parse(request).values)
    values = [None if value in taken else value for value in said]
    told = [_behind_value(step, screen, values) for step, screen in zip(steps, screens, strict=False)]
    steps = [*told, *steps[len(told) :]]
    return tuple(
        step.model_copy(update={"seen": _seen(at, text, steps, views, request)}) if text else step
        for at, (step, text) in enumerate((step, _looked_up(step, request)) for step in steps)
    )


def _behind_value(step: Step, screen: Sequence[ListedControl], values: Sequence[str | None]) -> Step:
    """The step, where no row tells which one it acts on with the number of the value that a control before it is called
    by, and no other of that kind stands between."""
    own = next((at for at, one in enumerate(screen) if _is_own(one, step)), 0)
    heads = [
        one for one in screen[:own] if bare(one.name) in values and not is_part_of_page(one.within or "", LANDMARKS)
    ]
    if not heads or step.around is None or step.target_control.within:
        return step
    between = screen[screen.index(heads[-1]) + 1 : own]
    number = None if any(one.kind == heads[-1].kind for one in between) else values.index(bare(heads[-1].name)) + 1
    return step.model_copy(update={"around": step.around.model_copy(update={"value": number})})


def _looked_up(step: Step, request: str) -> str:
    """What a step types, "" where the request names it."""
    leaf = typed_leaf(step) if is_typing(step.action_type) else None
    text = leaf[1].strip() if leaf is not None else ""
    return "" if len(text) < _SHORTEST or find_whole(text.casefold(), request.casefold()) >= 0 else text


def _seen(at: int, text: str, steps: Sequence[Step], views: Sequence[VisibleControls], request: str) -> Seen | None:
    """Where a text stood last before it was typed: in what shows it, and is no control of the application's own."""
    shown = {
        place: sorted(holding)
        for place, view in enumerate(views[: at + 1])
        if (holding := [one for one in view if not is_fixed(role_of(one[1])) and find_whole(text, one[0]) >= 0])
    }
    if not shown:
        return None
    first = last = max(shown)
    while first - 1 in shown:
        first -= 1
    after = steps[first - 1].step_number if first else 0
    whole = next((kind for name, kind in shown[last] if name == text), None)
    if whole is not None:
        return Seen(after=after, type=whole, whole=True)
    beside = next((found for name, kind in shown[last] for found in _beside(text, name, kind, request)), None)
    return beside.model_copy(update={"after": after}) if beside else Seen(after=after, type=shown[last][0][1])


def _beside(text: str, name: str, kind: str, request: str) -> Iterator[Seen]:
    """The values of the request that stand right before or behind the text."""
    if not any(letter.isspace() for letter in text):
        for number, value in enumerate(Request.parse(request).values, start=1):
            for place, pair in ((number, (value.text, text)), (-number, (text, value.text))):
                if re.search(rf"(?<!\w){re.escape(pair[0])}{BETWEEN}{re.escape(pair[1])}(?!\w)", name):
                    yield Seen(type=kind, beside=place)
