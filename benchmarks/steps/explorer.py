"""A rule-based agent that knows nothing of the tasks.

It sees the goal and the controls of the screen. It tries what looks lexically close, fills fields by the form and
the wording of the goal's values, opens menus, tabs and dialogs one after the other, backs out where nothing fits,
comes back to what it left untried, and gives up when nothing is left. It remembers what it tried in this episode and
nothing beyond it. With hints it follows the remembered steps first. It is not a language model, and figures measured
with it are not figures of one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from benchmarks.steps.demonstration import Hints
from benchmarks.steps.environment import Command, ControlView, Observation
from benchmarks.steps.episode_memory import INPUT_TYPES, PLACES, EpisodeMemory, key_of
from benchmarks.steps.goal_parser import RISKY, Goal, bare, words
from benchmarks.steps.replay import Follower
from benchmarks.steps.value_slotting import best_option, value_for

_COMMIT = words(
    "save ok apply send submit search login next finish continue done confirm yes create accept go start restore"
)
_RETREAT = ("cancel", "close", "back", "no")
_MORE = ("more", "menu", "options")


def likely(goal: Goal, applications: tuple[str, ...]) -> set[str]:
    """The applications whose name shares most words with the goal; empty when none shares any."""
    shared = {name: len(words(name) & goal.words) for name in applications}
    most = max(shared.values(), default=0)
    return {name for name, count in shared.items() if count == most} if most else set()


def is_commit(control: ControlView, observation: Observation) -> bool:
    """True for the last button of a dialog, and for a button of a page that is called like one."""
    if control.type not in ("Button", "Text") or control.name.endswith("…") or is_retreat(control):
        return False
    if control.dialog:
        return control.id == max(one.id for one in observation.controls if one.type == "Button")
    return bool(words(control.name) & _COMMIT)


def is_retreat(control: ControlView) -> bool:
    """True for a control that gives something up: Cancel, Close, Back."""
    return bare(control.name).split(" ")[0] in _RETREAT


def opens(control: ControlView) -> bool:
    """True for what shows something and does nothing yet: a menu, a tab, a button with an ellipsis."""
    return control.expanded is not None or control.name.endswith("…") or control.type in PLACES


def shows_more(control: ControlView) -> bool:
    """True for a control that is called like one that opens a menu."""
    return bare(control.name) in _MORE


_FILL, _MARK, _SEND_OFF, _ANSWER, _LEXICAL, _LEAVE = 3.0, 2.5, 2.8, 1.8, 1.0, -0.3
_CURIOSITY = {"TabItem": 0.6, "TreeItem": 0.4, "MenuItem": 0.45, "Button": 0.45, "Hyperlink": 0.3}
_NEW_ON_SCREEN = 0.3
_PEEK = 0.7
_LATER = 0.2
_RETRIES = 1
_SETTLED = 0.6
_CLOSE, _CLOSER = 0.45, 0.6
_GIVE_UP = -1.2
_AVOIDED, _BEGUN = 0.5, 0.5


@dataclass(frozen=True)
class _Idea:
    score: float
    command: Command


class Explorer:
    """The agent of one episode.

    Args:
        seed: settles the order among equally good ideas.
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._memory = EpisodeMemory()
        self._intended = False
        self._follower: Follower | None = None

    def next_command(self, observation: Observation, goal: str, hints: Hints | None = None) -> Command | None:
        """The next command, or None when nothing is left worth trying.

        Hints are followed as long as they fit the screen; between them, and after them, the explorer explores.
        """
        read = Goal(goal)
        self._memory.saw(observation)
        self._notice_selected(observation, read)
        if hints is not None and self._follower is None:
            self._follower = Follower(hints, read)
        ideas = self._ideas(observation, read, hints)
        command = self._follower.next(observation) if self._follower else None
        if self._follower and command and command.control and is_commit(command.control, observation):
            fields = [idea for idea in ideas if idea.score >= _MARK and _is_input(idea.command)]
            if fields:  # the memory had nothing to fill in here, the goal has
                self._follower.postpone()
                command = self._best(fields)
        if command is None:
            command = self._best(ideas)
        if command is not None:
            self._remember(command, observation, read)
        return command

    def _best(self, ideas: list[_Idea]) -> Command | None:
        best = max(
            ideas,
            key=lambda idea: (round(idea.score, 2), idea.score < _LEXICAL and self._random.random()),
            default=None,
        )
        return best.command if best is not None and best.score > _GIVE_UP else None

    def _ideas(self, observation: Observation, goal: Goal, hints: Hints | None) -> list[_Idea]:
        avoided = {step.control for step in hints.avoid} if hints else set()  # by full name: "Add…" is not "Add"
        begun = {step.control for step in hints.unfinished} - avoided if hints else set()
        ideas = [] if any(one.dialog for one in observation.controls) else self._switches(observation, goal)
        for control in observation.controls:
            idea = self._idea(control, observation, goal) if control.enabled else None
            if idea is None:
                self._memory.promise.pop(key_of(control, observation), None)
                continue
            score = idea.score - _AVOIDED if control.name in avoided else idea.score
            if control.name in begun and not self._memory.tried[key_of(control, observation)]:
                score += _BEGUN
            self._memory.promise[key_of(control, observation)] = score
            ideas.append(_Idea(score, idea.command))
        return ideas

    # ---- ideas, by kind of control ----

    def _switches(self, observation: Observation, goal: Goal) -> list[_Idea]:
        right = likely(goal, observation.applications)
        ideas = []
        for name in observation.applications:
            if name == observation.application:
                continue
            times = self._memory.tried[("switch", name)]
            score = (2.0 if name in right else -0.5) if right else _PEEK
            if times:
                left = self._memory.worth_reopening(("switch", name))
                score = (left if left is not None else -1.0) - 0.3 * times
            ideas.append(_Idea(score, Command("switch_application", None, {"text": name})))
        return ideas

    def _idea(self, control: ControlView, observation: Observation, goal: Goal) -> _Idea | None:
        if control.type in INPUT_TYPES:
            return None if self._memory.tried[key_of(control, observation)] else self._input(control, observation, goal)
        return self._click(control, observation, goal)

    def _input(self, control: ControlView, observation: Observation, goal: Goal) -> _Idea | None:
        window = observation.window
        if control.dialog and self._memory.sent[window] > _RETRIES:
            return None
        if control.type == "Edit":
            clickable = {one.name for one in observation.controls if one.type not in INPUT_TYPES}
            filling = value_for(control, goal, self._memory.typed(window) | clickable, self._memory.selected_values)
            if filling is None or filling.text == control.value:
                return None
            fits = filling.sure or window in self._memory.deferred or _is_related(control, observation, goal)
            return _Idea(_FILL if fits else 2 * _LEAVE, Command("set_edit_text", control, {"text": filling.text}))
        if control.type == "ComboBox":
            option = best_option(control, goal)
            if option is None or option == control.value:
                return None
            return _Idea(_FILL, Command("select_item", control, {"text": option}))
        return self._mark(control, goal)

    def _mark(self, control: ControlView, goal: Goal) -> _Idea | None:
        wanted = control.type == "RadioButton" or not goal.is_negative
        close = max(goal.closeness(control.name), 0.9 if words(control.name) & goal.undone else 0.0)
        return (
            None
            if close < _CLOSER or control.checked == wanted
            else _Idea(_MARK + close, Command("click_input", control))
        )

    def _click(self, control: ControlView, observation: Observation, goal: Goal) -> _Idea | None:
        key = key_of(control, observation)
        if control.selected:
            return None
        if self._memory.tried[key] or self._memory.behind.get(key):
            return self._again(control, observation, goal)
        close = goal.closeness(control.name)
        if is_retreat(control) and close < 1:
            return _Idea(_LEAVE, Command("click_input", control)) if control.dialog else None
        if is_commit(control, observation):
            return self._commit(control, observation, goal)
        around = goal.closeness(control.within) if control.within and not control.dialog else 0.0
        needed = _CLOSER if control.type in ("Button", "MenuItem") and not opens(control) else _CLOSE
        if close >= needed or (close > 0 and around >= 1):
            listed = control.type in ("MenuItem", "ListItem") and self._memory.is_new(
                key
            )  # a list that came up while typing
            eager = 1.0 if (control.dialog or listed) and self._memory.is_touched(observation.window) else 0.0
            return _Idea(_LEXICAL + close + around + eager, Command("click_input", control))
        if around >= 1 and shows_more(control):
            return _Idea(_LEXICAL, Command("click_input", control))
        return self._curious(control, observation, goal, close)

    def _again(self, control: ControlView, observation: Observation, goal: Goal) -> _Idea | None:
        """Back to a control tried before: to leave, to send off again, or because something is left behind it."""
        if is_retreat(control):
            return _Idea(_LEAVE, Command("click_input", control)) if control.dialog else None
        if is_commit(control, observation):
            return self._commit(control, observation, goal)
        left = None if control.expanded else self._memory.worth_reopening(key_of(control, observation))
        return None if left is None else _Idea(left, Command("click_input", control))

    def _commit(self, control: ControlView, observation: Observation, goal: Goal) -> _Idea | None:
        window, close = observation.window, goal.closeness(control.name)
        command = Command("click_input", control)
        later = window in self._memory.deferred
        if self._memory.is_touched(window):
            return (
                None
                if control.dialog and not later and self._is_hasty(observation, goal)
                else _Idea(_SEND_OFF + 0.1 * close, command)
            )
        question = control.dialog and not any(one.type in INPUT_TYPES for one in observation.controls)
        if question and (self._intended or later) and (close > 0 or not words(control.name) & RISKY):
            return _Idea(_ANSWER, command)
        untried = not self._memory.tried[key_of(control, observation)]
        return _Idea(close, command) if close >= _CLOSER and untried and not control.dialog else None

    def _is_hasty(self, observation: Observation, goal: Goal) -> bool:
        """True while the goal holds values that are not in the form, or all its fields are empty."""
        edits = [one for one in observation.controls if one.type == "Edit"]
        missing = [one for one in goal.values if not self._memory.is_placed(one.text, observation.window)]
        return bool(missing) or (bool(edits) and not any(one.value for one in edits))

    def _curious(self, control: ControlView, observation: Observation, goal: Goal, close: float) -> _Idea | None:
        worth = _CURIOSITY.get(control.type)
        harmless = opens(control) or control.type == "Hyperlink" or close >= _CLOSE
        if worth is None or not harmless:
            return None
        if control.type in PLACES and not control.dialog and _is_settled(observation, goal):
            close -= _SETTLED
        if control.dialog and self._memory.sent[observation.window]:
            close += _FILL  # sending it off was not enough: look at the rest of it first
        fresh = _NEW_ON_SCREEN if self._memory.is_new(key_of(control, observation)) else 0.0
        return _Idea(worth + fresh + close, Command("click_input", control))

    def _left_undone(self, observation: Observation, goal: Goal) -> list[ControlView]:
        """What a dialog that is being left still offers: fields, or the answer to a question about the goal."""
        controls = [one for one in observation.controls if one.dialog and one.enabled]
        fields = [one for one in controls if one.type in INPUT_TYPES and self._input_of(one, observation, goal)]
        if fields or not any(goal.value_in(text) for text in observation.status):
            return fields
        return [one for one in controls if is_commit(one, observation)]

    def _input_of(self, control: ControlView, observation: Observation, goal: Goal) -> bool:
        return (
            key_of(control, observation) in self._memory.promise or self._input(control, observation, goal) is not None
        )

    def _notice_selected(self, observation: Observation, goal: Goal) -> None:
        for control in observation.controls:
            value = goal.value_in(control.name) if control.selected else None
            if value is not None:
                self._memory.selected_values.add(value.text)

    def _remember(self, command: Command, observation: Observation, goal: Goal) -> None:
        self._memory.did(command, observation)
        control = command.control
        if control is None:
            return
        commits = is_commit(control, observation)
        self._intended = goal.closeness(control.name) >= _CLOSE or (
            commits and self._memory.is_touched(observation.window)
        )
        if is_retreat(control):
            self._memory.defer(observation, self._left_undone(observation, goal), _LATER)
        elif commits:
            self._memory.committed(observation.window)
        for name in (control.name, *([command.parameters["text"]] if command.function == "select_item" else [])):
            value = goal.value_in(name)
            if value is not None and control.type in (*INPUT_TYPES, "Button"):
                self._memory.placed(value.text, observation)
            elif value is not None or goal.closeness(name) > 1:
                self._memory.selected(value.text if value else name, observation)


def _is_settled(observation: Observation, goal: Goal) -> bool:
    """True when something the goal names is selected already: better look at what can be done with it."""
    return any(one.selected and goal.value_in(one.name) for one in observation.controls)


def _is_related(control: ControlView, observation: Observation, goal: Goal) -> bool:
    """False for a field of a dialog that has no word in common with the goal."""
    names = [
        one.name for one in observation.controls if one.type in ("Edit", "ComboBox", "Button") and not is_retreat(one)
    ]
    return not control.dialog or any(
        goal.closeness(name) >= _CLOSE for name in (observation.window.split(" – ")[0], *names)
    )


def _is_input(command: Command) -> bool:
    return command.control is not None and command.control.type in INPUT_TYPES
