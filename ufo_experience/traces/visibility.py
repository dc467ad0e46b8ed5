"""When the control of a step was in view: for logs that tell what the agent saw. No name leaves this module."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ufo_experience.schema import Step

InView = frozenset[tuple[str, str]]  # name and type of controls

MAX_COMPARED = 200  # steps; a longer run is no example for anybody
_MENU_ITEM = "MenuItem"
_NAME_LENGTH = 200  # readers cut the names of controls in view to this


def when_in_view(steps: Sequence[Step], seen: Sequence[InView]) -> dict[int, tuple[int, ...]]:
    """For the number of each step with a control, the numbers of the steps before which that control was in view.

    `seen[k]` is what was in view before `steps[k]`. Controls of two applications are two controls. Empty when the log
    tells of no view, or for more than `MAX_COMPARED` steps.
    """
    if not any(seen) or len(steps) > MAX_COMPARED:
        return {}
    return {
        step.step_number: tuple(
            other.step_number
            for other, view in zip(steps, seen, strict=True)
            if other.application == step.application and _holds(view, step)
        )
        for step in steps
        if step.target_control.name
    }


def opened(steps: Sequence[Step], seen: Sequence[InView]) -> tuple[int, ...]:
    """The numbers of the steps after which there were menu items in view that had not been there."""
    views = zip(steps, pairwise(seen), strict=False)
    return tuple(
        step.step_number for step, (old, new) in views if old and _MENU_ITEM in {kind for _, kind in new - old}
    )


def _holds(view: InView, step: Step) -> bool:
    name, kind = step.target_control.name[:_NAME_LENGTH], step.target_control.type
    return any((name, one) in view for one in ((kind, "") if kind else _kinds(view, name)))


def _kinds(view: InView, name: str) -> set[str]:
    return {kind for known, kind in view if known == name}
