"""What the explorer remembers of one episode: what it tried, what lay behind it, what is still promising there."""

from __future__ import annotations

from collections import Counter, defaultdict

from benchmarks.steps.environment import Command, ControlView, Observation

Key = tuple[str, ...]
INPUT_TYPES = ("Edit", "ComboBox", "CheckBox", "RadioButton")
PLACES = ("TabItem", "TreeItem")
_WAY_BACK = 0.1
_MAX_DEPTH = 6


class EpisodeMemory:
    """Filled by `saw` with every observation and by `did` with every command."""

    def __init__(self) -> None:
        self.tried: Counter[Key] = Counter()
        self.promise: dict[Key, float] = {}
        self.behind: defaultdict[Key, set[Key]] = defaultdict(set)
        self.selected_values: set[str] = set()
        self._placed: defaultdict[str, set[str]] = defaultdict(set)
        self.deferred: set[str] = set()
        self.sent: Counter[str] = Counter()
        self._typed: defaultdict[str, set[str]] = defaultdict(set)
        self._touched: set[str] = set()
        self._seen: set[Key] = set()
        self._open: list[str] = []
        self._sent = False
        self._last: tuple[Observation, Command] | None = None

    def saw(self, observation: Observation) -> None:
        """Learn what the last command brought up and what it hid."""
        if self._last is None:
            self._follow_dialogs(observation)
            return
        before, command = self._last
        old = {key_of(one, before): one for one in before.controls if one.enabled}
        new = {key_of(one, observation): one for one in observation.controls if one.enabled}
        opener = _opener(command, before)
        self.behind[opener] = (self.behind[opener] & (new.keys() | old.keys())) | (new.keys() - old.keys())
        for key, control in old.items():
            if control.type in PLACES and control.selected and key in new and not new[key].selected:
                self.behind[key] |= old.keys() - new.keys()
        self._follow_dialogs(observation)

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
            self.behind.pop(key, None)

    def placed(self, value: str, observation: Observation) -> None:
        """Note that a value was picked in this window."""
        self._placed[observation.window].add(value)

    def committed(self, window: str) -> None:
        """Note that a form was sent off: what it has to offer has been had."""
        self._touched.discard(window)
        self._sent = True
        self.sent[window] += 1
        for key in [one for one in self.promise if window in one and one[2] in INPUT_TYPES]:
            del self.promise[key]

    def is_touched(self, window: str) -> bool:
        """True when something was filled in or picked since the window came up or was last sent off."""
        return window in self._touched

    def is_new(self, key: Key) -> bool:
        """True when the control was not on any earlier screen."""
        return key not in self._seen

    def typed(self, window: str) -> set[str]:
        """Values that were typed in this window."""
        return self._typed[window]

    def is_placed(self, value: str, window: str) -> bool:
        """True when a value was selected, or typed or picked in this window, or stands in its title."""
        return value in self._typed[window] | self.selected_values | self._placed[window] or value in window

    def defer(self, observation: Observation, controls: list[ControlView], worth: float) -> None:
        """Note a dialog that was left: next time those controls are used, and that is worth so much."""
        if observation.window in self.deferred:
            controls = []
        self.deferred.add(observation.window)
        for one in controls:
            self.promise[key_of(one, observation)] = worth
            del self.tried[key_of(one, observation)]

    def worth_reopening(self, key: Key, depth: int = 0) -> float | None:
        """The best score among untried controls behind that one, less the way there; None when there is nothing."""
        if depth > _MAX_DEPTH:
            return None
        scores = [
            score
            for child in self.behind.get(key, ())
            if (score := self.worth_reopening(child, depth + 1) if self.tried[child] else self.promise.get(child))
            is not None
        ]
        return max(scores) - _WAY_BACK if scores else None

    def _follow_dialogs(self, observation: Observation) -> None:
        """Tell a dialog that comes up from one that comes back when a dialog above it has closed."""
        window = observation.window
        if not any(one.dialog for one in observation.controls):
            self._open.clear()
        elif window not in self._open:
            self._open.append(window)
            self._start_over(window)
        elif self._open[-1] != window:
            if self._sent:
                self._touched.add(window)
                self._placed[window] |= self._typed[self._open[-1]] | self._placed[self._open[-1]]
            del self._open[self._open.index(window) + 1 :]
        self._sent = False

    def _start_over(self, window: str) -> None:
        """A dialog that comes up again has forgotten what was filled in."""
        self._touched.discard(window)
        self._typed[window].clear()
        self._placed[window].clear()
        for key in [one for one in self.tried if window in one and (one[2] in INPUT_TYPES or one[2] == "ListItem")]:
            del self.tried[key]


def key_of(control: ControlView, observation: Observation) -> Key:
    """What makes a control the same control on a later screen."""
    return (observation.application, observation.window, control.type, control.name, control.within)


def _opener(command: Command, observation: Observation) -> Key:
    if command.control is None:
        return ("switch", command.parameters.get("text", ""))
    return key_of(command.control, observation)
