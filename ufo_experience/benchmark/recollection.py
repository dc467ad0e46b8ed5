"""What the explorer remembers of one episode: what it tried, what lay behind it, what is still promising there."""

from __future__ import annotations

from collections import Counter, defaultdict

from ufo_experience.benchmark.environment import Command, ControlView, Observation

Key = tuple[str, ...]
INPUT_TYPES = ("Edit", "ComboBox", "CheckBox", "RadioButton")
PLACES = ("TabItem", "TreeItem")
_WAY_BACK = 0.1
_MAX_DEPTH = 6


class Recollection:
    """Filled by `saw` with every observation and by `did` with every command."""

    def __init__(self) -> None:
        self.tried: Counter[Key] = Counter()
        self.promise: dict[Key, float] = {}
        self.behind: defaultdict[Key, set[Key]] = defaultdict(set)
        self.selected_values: set[str] = set()
        self.deferred: set[str] = set()
        self._typed: defaultdict[str, set[str]] = defaultdict(set)
        self._touched: set[str] = set()
        self._seen: set[Key] = set()
        self._last: tuple[Observation, Command] | None = None

    def saw(self, observation: Observation) -> None:
        """Learn what the last command brought up and what it hid."""
        if self._last is None:
            return
        before, command = self._last
        old = {key_of(one, before): one for one in before.controls if one.enabled}
        new = {key_of(one, observation): one for one in observation.controls if one.enabled}
        self.behind[_opener(command, before)] |= new.keys() - old.keys()
        for key, control in old.items():
            if control.type in PLACES and control.selected and key in new and not new[key].selected:
                self.behind[key] |= old.keys() - new.keys()
        if observation.window != before.window and any(one.dialog for one in observation.controls):
            self._start_over(observation.window)

    def did(self, command: Command, observation: Observation) -> None:
        """Note a command given on that observation."""
        self._last = (observation, command)
        self._seen.update(key_of(one, observation) for one in observation.controls if one.enabled)
        self.tried[_opener(command, observation)] += 1
        if command.function == "switch_application":
            self.tried[("switch", observation.application)] += 1
        if command.control is not None and command.control.type in INPUT_TYPES:
            self._touched.add(observation.window)
        if command.function == "set_edit_text":
            self._typed[observation.window].add(command.parameters.get("text", ""))

    def selected(self, value: str, observation: Observation) -> None:
        """Note that something the goal names was selected: menus tried before may offer more now."""
        self._touched.add(observation.window)
        if value in self.selected_values:
            return
        self.selected_values.add(value)
        for key in [one for one in self.tried if one[0] == observation.application and "MenuItem" in one]:
            del self.tried[key]

    def committed(self, window: str) -> None:
        """Note that a form was sent off."""
        self._touched.discard(window)

    def is_touched(self, window: str) -> bool:
        """True when something was filled in or picked since the window came up or was last sent off."""
        return window in self._touched

    def is_new(self, key: Key) -> bool:
        """True when the control was not on any earlier screen."""
        return key not in self._seen

    def used(self, window: str) -> set[str]:
        """Values that were typed in this window or selected anywhere."""
        return self._typed[window] | self.selected_values

    def worth_reopening(self, key: Key, depth: int = 0) -> float | None:
        """The best score among untried controls behind that one, less the way there; None when there is nothing."""
        if depth > _MAX_DEPTH:
            return None
        scores = [
            score
            for child in self.behind.get(key, ())
            if (score := self.worth_reopening(child, depth + 1) if self.tried[child] else self.promise.get(child)) is not None
        ]
        return max(scores) - _WAY_BACK if scores else None

    def _start_over(self, window: str) -> None:
        """A dialog that comes up again has forgotten what was filled in."""
        self._touched.discard(window)
        self._typed[window].clear()
        for key in [one for one in self.tried if window in one and (one[2] in INPUT_TYPES or one[2] == "ListItem")]:
            del self.tried[key]


def key_of(control: ControlView, observation: Observation) -> Key:
    """What makes a control the same control on a later screen."""
    return (observation.application, observation.window, control.type, control.name, control.within)


def _opener(command: Command, observation: Observation) -> Key:
    if command.control is None:
        return ("switch", command.parameters.get("text", ""))
    return key_of(command.control, observation)
