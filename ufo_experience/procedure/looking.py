"""What the screen tells of a step that the words of the task leave open: a value, an option, an item."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from ufo_experience.controls import bare, is_fixed, role_of
from ufo_experience.procedure.pairing import abbreviates
from ufo_experience.procedure.screen import Control, Screen
from ufo_experience.procedure.steps import LookedUp, ProcedureStep, Target
from ufo_experience.request import holds

_TOKEN = r"[^\s:=,;()\[\]/|]+"
_BETWEEN = r"[\s:=,;()\[\]/|-]{1,4}"
_LONGEST = 80  # characters of a value that is read


def read_value(seen: LookedUp, screen: Screen) -> str:
    """The value in view where the run found its own; "" where none, or not just one, stands there.

    It is all of the text of the one control of that kind, or stands right beside the value of the task that the run's
    own stood beside.
    """
    role = role_of(seen.type)
    names = [one.name for one in screen.controls if one.role == role and not is_fixed(one.role)]
    texts = names if seen.whole else [text for name in names for text in _beside(seen, name)]
    found = {text.strip() for text in texts} - {""}
    value = found.pop() if len(found) == 1 else ""
    return value if seen.can_be_read and len(value) <= _LONGEST else ""


def where_seen(seen: LookedUp, steps: Sequence[ProcedureStep]) -> str:
    """In words where the run had found the value."""
    kind = f"in {seen.type}" if seen.type else "on the screen"
    beside = f' beside "{seen.key}"' if seen.key else ""
    step = steps[seen.place - 1] if 0 < seen.place <= len(steps) else None
    name = f' "{step.target.name}"' if step is not None and step.target is not None and step.readable else ""
    return f"{kind}{beside}, " + (f"after step {seen.place}{name}" if step is not None else "before the first step")


def named_in_task(step: ProcedureStep, screen: Screen, task: str, known: Collection[str]) -> Control | None:
    """The one control in view of the kind `step` acts on whose name stands in the task, and is no other step's."""
    found = [
        one
        for one in screen.controls
        if step.role and one.role == step.role and one.bare not in known and one.usable and holds(task, one.bare)
    ]
    return found[0] if len(found) == 1 else None


def option_meant(options: Sequence[str], task: str, value: str = "") -> str:
    """The only option of a list, or the one that the task names or a value of it abbreviates; "" for several."""
    if len(options) == 1:
        return options[0]  # there is nothing to choose
    found = [one for one in options if holds(task, bare(one)) or (value and abbreviates(value, one))]
    longest = max(found, key=len, default="")
    return longest if all(holds(longest, bare(one)) for one in found) else ""


def called(step: ProcedureStep, control: Control) -> ProcedureStep:
    """The step with the item that the screen has told."""
    target = step.target or Target("")
    return replace(step, target=replace(target, name=control.name), missing=(), readable=True)


def _beside(seen: LookedUp, name: str) -> list[str]:
    key = rf"(?<!\w){re.escape(seen.key)}(?!\w)"
    pattern = f"({_TOKEN}){_BETWEEN}{key}" if seen.before else f"{key}{_BETWEEN}({_TOKEN})"
    return [found.rstrip(".") for found in re.findall(pattern, name)] if seen.key else []
