"""What is on the screen, as a guide reads it: controls in reading order, found by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from ufo_experience.controls import bare, fingerprints, role_of
from ufo_experience.errors import UsageError
from ufo_experience.retrieve.on_screen import OnScreen
from ufo_experience.schema import clip

APPLICATION = "application"

Read = Callable[[str, Any], Any]

_DIALOGS = frozenset("dialog alertdialog alert modal messagebox".split())
_STATE_WORDS: Mapping[str, tuple[str, bool]] = {
    "disabled": ("enabled", False),
    "enabled": ("enabled", True),
    "checked": ("checked", True),
    "on": ("checked", True),
    "unchecked": ("checked", False),
    "off": ("checked", False),
    "selected": ("selected", True),
    "expanded": ("expanded", True),
    "collapsed": ("expanded", False),
    "hidden": ("visible", False),
    "offscreen": ("visible", False),
}
_FLAGS = ("enabled", "visible", "checked", "selected", "expanded")
_UNREAD: dict[str, bool] = {}
# What UFO calls the parts of a control, beside our own words.
_NAMES = {
    "id": ("id", "label", "control_id"),
    "name": ("name", "control_text", "title"),
    "type": ("type", "control_type", "role"),
    "value": ("value", "text"),
    "within": ("within", "parent"),
}


class Control:
    """One control in view. States are None where the caller did not say; `place` counts in reading order from 0.

    What only a control that is acted on must tell (`value` and the states) is read when it is asked for.
    """

    __slots__ = ("_read", "_states", "bare", "dialog", "name", "place", "role", "type", "within")

    def __init__(self, given: Any, place: int) -> None:
        read = given.get if type(given) is dict or isinstance(given, Mapping) else partial(getattr, given)
        self._read, self._states = read, _UNREAD
        self.place = place
        self.name = str(_first(read, "name") or "")
        self.bare = bare(self.name)
        self.type = str(_first(read, "type") or "")
        self.role = role_of(self.type)
        self.within = str(_first(read, "within") or "")
        said = read("dialog", None)
        self.dialog: bool | None = said if isinstance(said, bool) else None

    @property
    def id(self) -> Any:
        """What the caller calls it, None when it has no id."""
        return _first(self._read, "id")

    @property
    def value(self) -> Any:
        """The text or option in it, None when that is not known."""
        return _first(self._read, "value")

    @property
    def options(self) -> tuple[str, ...]:
        """What a list offers to choose from, empty where that is not known."""
        said = self._read("options", None)
        return tuple(one for one in said if isinstance(one, str)) if isinstance(said, (list, tuple)) else ()

    @property
    def checked(self) -> bool | None:
        """Whether a switch is on."""
        return self._state("checked")

    @property
    def selected(self) -> bool | None:
        """Whether a tab or an item of a list is the chosen one."""
        return self._state("selected")

    @property
    def expanded(self) -> bool | None:
        """Whether a menu, tree item or list is open."""
        return self._state("expanded")

    @property
    def usable(self) -> bool:
        """False for what is said to be disabled or out of view."""
        return self._state("enabled") is not False and self._state("visible") is not False

    def _state(self, flag: str) -> bool | None:
        if self._states is _UNREAD:
            self._states = _states_of(self._read)
        return self._states.get(flag)


@dataclass(frozen=True)
class Screen:
    """The controls in view. `dialog` is True when one of them is a dialog, or stands in one."""

    controls: tuple[Control, ...]
    by_name: Mapping[str, tuple[Control, ...]]
    applications: Mapping[str, Control]
    dialog: bool

    @cached_property
    def prints(self) -> tuple[str, ...]:
        """A fingerprint for each control, "" for those that are not the application's own."""
        return fingerprints((one.name, one.role) for one in self.controls)

    def named(self, name: str) -> tuple[Control, ...]:
        """The controls of a name, case and closing punctuation aside."""
        return self.by_name.get(bare(name), ())


def read_screen(controls: Screen | Iterable[Any]) -> Screen:
    """Read controls in reading order: mappings or objects with `id`, `name`, `type`, and where known the rest.

    A screen that was read already is given back: who asks several things of one view reads it once.

    Raises:
        UsageError: none of the controls can be read as one.
    """
    if isinstance(controls, Screen):
        return controls
    given = tuple(controls)
    if given and not any(map(_is_control, given)):
        raise UsageError(f"controls: mappings or objects with id, name and type, not {clip(repr(given[0]), 80)}")
    shown = tuple(Control(one, place) for place, one in enumerate(given))
    dialogs = {one.bare for one in shown if one.role in _DIALOGS or (one.role == "window" and one.place)}
    if dialogs:
        for one in shown:
            if one.dialog is None:
                one.dialog = bool(one.within) and bare(one.within) in dialogs
    found: dict[str, list[Control]] = {}
    for one in shown:
        found.setdefault(one.bare, []).append(one)
    return Screen(
        shown,
        {name: tuple(ones) for name, ones in found.items()},
        {one.bare: one for one in shown if one.role == APPLICATION},
        bool(dialogs) or any(one.dialog for one in shown),
    )


def in_view(controls: Iterable[Any], done: Iterable[str] = (), application: str | None = None) -> OnScreen:
    """The same controls as retrieval looks at them, with the names of those acted on so far."""
    return OnScreen.of(((one.name, one.type, one.within) for one in read_screen(controls).controls), done, application)


def _is_control(given: Any) -> bool:
    """True for a mapping or an object that says at least one of id, name and type."""
    if isinstance(given, (str, bytes, int, float, type(None))):
        return False
    read = given.get if isinstance(given, Mapping) else partial(getattr, given)
    return any(_first(read, part) is not None for part in ("id", "name", "type"))


def _first(read: Read, part: str) -> Any:
    for key in _NAMES[part]:
        value = read(key, None)
        if value is not None:
            return value
    return None


def _states_of(read: Read) -> dict[str, bool]:
    """What is said of the states of a control: flags of its own, or a `state` (mapping, text or list of words)."""
    found = {flag: said for flag in _FLAGS if isinstance(said := read(flag, None), bool)}
    state = read("state", None)
    if isinstance(state, Mapping):
        found |= {str(key): said for key, said in state.items() if isinstance(said, bool) and key in _FLAGS}
        found |= _flagged(str(key) for key, said in state.items() if said is True and key not in _FLAGS)
    elif state:
        words = state.replace(",", " ").split() if isinstance(state, str) else state
        found |= _flagged(str(word) for word in words)
    return found


def _flagged(words: Iterable[str]) -> dict[str, bool]:
    return dict(_STATE_WORDS[word] for word in (one.casefold() for one in words) if word in _STATE_WORDS)
