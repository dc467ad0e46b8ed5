"""The shortest path through what a run saw: menus, tabs and dialogs it opened in vain are no part of it.

A step that only leads somewhere (to a menu, a tab, a control that ends in "…") is left out when what came later was in
view without it. What types, marks, selects or sends off stays, and so does the last tab or folder that was chosen
before it. What was in view stands in the log (`Trajectory.visibility`); where it does not, only ways that lead back to
where they began are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from ufo_experience.actions import plain
from ufo_experience.redact.names import listed, words_of
from ufo_experience.schema import Step

VisibleBefore = Mapping[int, Sequence[int]]

MOST_STEPS = 200  # every step is compared with every other; a longer run is no example for anybody
_CLICKS = listed("click clickinput leftclick tap clickelement")
_MENUS = listed("menuitem")
_LOCATIONS = listed("tabitem treeitem")
_SWITCHES = listed("switchapplication selectapplicationwindow setfocusedwindow")


def shortest_path(
    steps: Sequence[Step],
    logged: Sequence[Step],
    visible: VisibleBefore,
    task: str = "",
    opened: Collection[int] = (),
) -> tuple[Step, ...]:
    """The steps that were needed, in order; the last always is. Of more than `MOST_STEPS` steps all are kept.

    Args:
        steps: what worked, from `logged`, the steps of the whole run.
        visible: for the number of a step, those of the steps before which its control was in view.
        task: what it names is chosen on purpose.
        opened: the numbers of the steps that opened a menu; any other click on a menu item did something.
    """
    if len(steps) < 2 or len(logged) > MOST_STEPS:
        return tuple(steps)
    graph = _StepGraph(steps, logged, visible, task, frozenset(opened))
    return tuple(steps[node] for node in graph.shortest())


class _StepGraph:
    """The steps as nodes of a graph: from one to each whose control was in view after it."""

    def __init__(
        self,
        steps: Sequence[Step],
        logged: Sequence[Step],
        visible: VisibleBefore,
        task: str,
        opened: frozenset[int],
    ) -> None:
        self._steps, self._opened = steps, opened
        numbers = [None, *(step.step_number for step in logged)]  # None is the start
        self._after = dict(pairwise(numbers))  # the next number: what is in view before that one is in view after this
        self._views = [_views(step, logged, visible) for step in steps]
        self._task = frozenset(words_of(task))
        last = len(steps) - 1
        self._needed = [node == last or self._is_needed(node) for node in range(len(steps))]

    def shortest(self) -> list[int]:
        """Numbers of the fewest steps that visit all needed ones."""
        best: list[tuple[int, int]] = []  # for each node: length of the path to it, and the node before
        for node in range(len(self._steps)):
            best.append(min(self._paths_to(node, best)))
        way: list[int] = []
        at = len(self._steps) - 1
        while at >= 0:
            way.append(at)
            at = best[at][1]
        return way[::-1]

    def _paths_to(self, node: int, best: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Length and last node of the paths to `node`; -1 is the start."""
        found = []
        for before in range(node - 1, -2, -1):
            if before == node - 1 or self._leads(before, node):
                found.append((1 + (best[before][0] if before >= 0 else 0), before))
            if before >= 0 and self._needed[before]:
                break
        return found

    def _leads(self, before: int, node: int) -> bool:
        """True when the control of `node` was in view right after `before`, and for a button ever since."""
        step, views = self._steps[node], self._views[node]
        if _is_switch(step):
            return True
        if self._after.get(self._steps[before].step_number if before >= 0 else None) not in views:
            return False
        between = (one.step_number for one in self._steps[before + 1 : node])
        return _is_global(step) or views.issuperset(between)

    def _is_needed(self, node: int) -> bool:
        step = self._steps[node]
        if _is_switch(step) or _is_location(step):
            return self._is_named(step) or not self._is_superseded(node)
        return not self._leads_somewhere(step)

    def _leads_somewhere(self, step: Step) -> bool:
        """True for a click that only leads somewhere."""
        opens_menu = _kind(step) in _MENUS and step.step_number in self._opened
        leads = opens_menu or _kind(step) in _LOCATIONS or step.target_control.name.rstrip().endswith(("…", "..."))
        return _is_click(step) and leads

    def _is_named(self, step: Step) -> bool:
        name = step.target_control.name
        return "{{" in name or (bool(words_of(name)) and self._task.issuperset(words_of(name)))

    def _is_superseded(self, node: int) -> bool:
        """True when another location was chosen instead before anything was done in this one."""
        for later in range(node + 1, len(self._steps)):
            other = self._steps[later]
            if _is_switch(other):
                return True
            if not self._leads_somewhere(other):
                return False
            if _is_location(other) and not _is_switch(self._steps[node]) and self._replaces(later, node):
                return True
        return False

    def _replaces(self, later: int, node: int) -> bool:
        """True for the neighbour of a tab or folder, for itself, and for one that made it go out of view."""
        one, other = self._steps[node], self._steps[later]
        if _same_control(one, other):
            return True
        seen = other.step_number in self._views[node]
        neighbours = seen and one.step_number in self._views[later] and _kind(one) == _kind(other)
        after = self._after.get(other.step_number)
        gone = seen and after is not None and after not in self._views[node]
        return neighbours or gone


def _views(step: Step, logged: Sequence[Step], visible: VisibleBefore) -> frozenset[int]:
    """Before which steps the control was in view: what was acted on was."""
    acted = {other.step_number for other in logged if step.target_control.name and _same_control(step, other)}
    return frozenset({*visible.get(step.step_number, ()), *acted, step.step_number})


def _same_control(one: Step, other: Step) -> bool:
    return _target(one) == _target(other)


def _target(step: Step) -> tuple[str, str | None, str, str | None]:
    control = step.target_control
    return control.name, control.type, control.within, step.application


def _is_location(step: Step) -> bool:
    return _is_click(step) and _kind(step) in _LOCATIONS


def _is_global(step: Step) -> bool:
    """True for menus and locations: one of that name is the same wherever in the application it is seen."""
    return _kind(step) in _MENUS | _LOCATIONS


def _is_switch(step: Step) -> bool:
    return plain(step.action_type) in _SWITCHES


def _is_click(step: Step) -> bool:
    return plain(step.action_type) in _CLICKS


def _kind(step: Step) -> str:
    return plain(step.target_control.type or "")
