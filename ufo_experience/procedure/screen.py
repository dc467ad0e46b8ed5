"""What is on the screen, as a guide reads it: controls in reading order, found by name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from ufo_experience.actions import WORDS
from ufo_experience.controls import FIELDS, bare, fingerprints, is_fixed, role_of
from ufo_experience.errors import UsageError
from ufo_experience.retrieve.on_screen import OnScreen
from ufo_experience.schema import clip, expect

APPLICATION = "application"
_DIALOGS = frozenset("dialog alertdialog alert modal messagebox".split())
_STATE_WORDS = {
    word: (state.removeprefix("not "), not state.startswith("not "))
    for state, words in WORDS["states"].items()
    for word in words.split()
}
_FLAGS = ("enabled", "visible", "checked", "selected", "expanded", "dialog")
# What UFO calls the parts of a control, beside our own words.
_NAMES = {
    "id": ("id", "label", "control_id"),
    "name": ("name", "control_text", "title"),
    "type": ("type", "control_type", "role", "kind"),
    "value": ("value", "text"),
    "within": ("within", "parent"),
}
_Read = Callable[[str, Any], Any]


@dataclass(eq=False)
class Control:
    """One control in view; `place` counts in reading order from 0.

    `value` is the text or option in it; `dialog` says whether it stands in one, or is one. They and the states are None
    where the caller did not say. `options` are what a list offers, empty where that is not known.
    """

    place: int
    id: Any = None
    name: str = ""
    type: str = ""
    within: str = ""
    value: Any = None
    dialog: bool | None = None
    options: tuple[str, ...] = ()
    checked: bool | None = None
    selected: bool | None = None
    expanded: bool | None = None
    usable: bool = True

    @cached_property
    def bare(self) -> str:
        return bare(self.name)

    @cached_property
    def role(self) -> str:
        return role_of(self.type)


@dataclass(frozen=True)
class Screen:
    """The controls in view. `dialog` is True when one of them is a dialog, or stands in one."""

    controls: tuple[Control, ...]
    applications: Mapping[str, Control]
    dialog: bool

    @cached_property
    def prints(self) -> tuple[str, ...]:
        """A fingerprint for each control, "" for those that are not the application's own."""
        return fingerprints((one.name, one.role) for one in self.controls)

    def named(self, name: str) -> tuple[Control, ...]:
        wanted = bare(name)
        return tuple(one for one in self.controls if one.bare == wanted)


Controls = Screen | Iterable[Any]  # what is in view, in reading order


def read_screen(controls: Controls) -> Screen:
    """Read controls in reading order: mappings or objects with `id`, `name`, `type`, and where known `value`, `within`,
    `enabled`, `checked`, `selected`, `expanded`, `dialog`, `state`. A screen that was read already is given back.

    Raises UsageError: none of the controls can be read as one.
    """
    if isinstance(controls, Screen):
        return controls
    given = tuple(expect(Iterable, controls, "controls"))
    shown = tuple(_control(one, place) for place, one in enumerate(given))
    if shown and all(one.id is None and not one.name and not one.type for one in shown):
        raise UsageError(f"controls: mappings or objects with id, name and type, not {clip(repr(controls), 80)}")
    dialogs = {one.bare for one in shown if one.role in _DIALOGS or (one.role == "window" and one.place)}
    for one in shown:
        if dialogs and one.dialog is None:
            one.dialog = bool(one.within) and bare(one.within) in dialogs
    return Screen(
        shown,
        {one.bare: one for one in shown if one.role == APPLICATION},
        bool(dialogs) or any(one.dialog for one in shown),
    )


def in_view(controls: Iterable[Any], done: Iterable[str] = (), application: str | None = None) -> OnScreen:
    """The same controls as retrieval looks at them, with the names of those acted on so far."""
    return OnScreen.of(((one.name, one.type, one.within) for one in read_screen(controls).controls), done, application)


def _control(given: Any, place: int) -> Control:
    read: _Read = given.get if isinstance(given, Mapping) else partial(getattr, given)
    parts = {part: _first(read, keys) for part, keys in _NAMES.items()}
    kind, states, options = str(parts["type"] or ""), _states_of(read), read("options", None)
    return Control(
        place,
        parts["id"],
        str(parts["name"] or _other_name(read, kind) or ""),
        kind,
        str(parts["within"] or ""),
        parts["value"],
        options=tuple(one for one in options if isinstance(one, str)) if isinstance(options, (list, tuple)) else (),
        usable=all([states.pop("enabled", True), states.pop("visible", True)]),
        **states,
    )


def _other_name(read: _Read, type: str) -> Any:
    """The name of a control that stands under no usual key: a label in words, or the text of what is no field."""
    label = _first(read, ("label",))
    if isinstance(label, str) and not label.isdecimal():
        return label
    return _first(read, ("text",)) if is_fixed(role_of(type)) and role_of(type) not in FIELDS else None


def _first(read: _Read, keys: Iterable[str]) -> Any:
    values = (read(key, None) for key in keys)
    return next((value for value in values if value is not None and not callable(value)), None)


def _states_of(read: _Read) -> dict[str, bool]:
    """What is said of the states of a control: flags of its own, or a `state` (mapping, text or list of words)."""
    found = {flag: said for flag in _FLAGS if isinstance(said := read(flag, None), bool)}
    state = read("state", None) or ()
    if isinstance(state, Mapping):
        found |= {key: said for key, said in state.items() if isinstance(said, bool) and key in _FLAGS}
        state = [key for key, said in state.items() if said is True]
    words = state.replace(",", " ").split() if isinstance(state, str) else state
    return found | dict(_STATE_WORDS[word] for word in (str(one).casefold() for one in words) if word in _STATE_WORDS)
