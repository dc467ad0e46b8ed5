"""When the control of a step was visible, for logs that tell what the agent saw. No name of one leaves this module."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ufo_experience.schema import Step, Visibility

VisibleControls = frozenset[tuple[str, str]]  # name and type of controls

MAX_COMPARED = 200  # steps; a longer run is no example for anybody
_MENU_ITEM = "MenuItem"
_NAME_LENGTH = 200  # readers cut the names of controls in view to this


def visibility(steps: Sequence[Step], seen: Sequence[VisibleControls]) -> Visibility:
    """What `seen` tells of the controls of `steps`; `seen[k]` is what was visible before `steps[k]`."""
    return Visibility(visible_before=visible_before(steps, seen), menu_opened_after=menu_opened_after(steps, seen))


def visible_before(steps: Sequence[Step], seen: Sequence[VisibleControls]) -> dict[int, tuple[int, ...]]:
    """Maps the number of each step with a control to the numbers of the steps before which that control was visible.

    Controls of two applications are two controls. Empty when `seen` holds nothing, or for more than `MAX_COMPARED`
    steps.
    """
    if not any(seen) or len(steps) > MAX_COMPARED:
        return {}
    views = [(step.step_number, step.application, view) for step, view in zip(steps, seen, strict=True)]
    found: dict[int, tuple[int, ...]] = {}
    for step in steps:
        name, kind = step.target_control.name[:_NAME_LENGTH], step.target_control.type
        if name:
            found[step.step_number] = tuple(
                number for number, where, view in views if where == step.application and _holds(view, name, kind)
            )
    return found


def menu_opened_after(steps: Sequence[Step], seen: Sequence[VisibleControls]) -> tuple[int, ...]:
    """The numbers of the steps after which menu items were visible that had not been there."""
    views = zip(steps, pairwise(seen), strict=False)
    return tuple(
        step.step_number for step, (old, new) in views if old and _MENU_ITEM in {kind for _, kind in new - old}
    )


def _holds(view: VisibleControls, name: str, kind: str | None) -> bool:
    if kind:
        return (name, kind) in view or (name, "") in view
    return any(known == name for known, _ in view)
