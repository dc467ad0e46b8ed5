"""What the screen tells of a step that the words of the task leave open: a value, an option, an item."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ufo_experience.controls import bare, is_fixed, role_of
from ufo_experience.procedure.pairing import abbreviates
from ufo_experience.procedure.screen import Control, Screen
from ufo_experience.procedure.steps import LookedUp, ProcedureStep
from ufo_experience.request import holds

_TOKEN = r"[^\s:=,;()\[\]/|]+"
_BETWEEN = r"[\s:=,;()\[\]/|-]{1,4}"
_LONGEST = 80  # characters of a value that is read


def read_value(seen: LookedUp, screen: Screen) -> str:
    """The value in view where the run found its own; "" where none, or not just one, stands there.

    It is all of the text of the one control of that kind, or stands right beside the value of the task that the run's
    own stood beside.
    """
    key = rf"(?<!\w){re.escape(seen.key)}(?!\w)"
    beside = re.compile(f"({_TOKEN}){_BETWEEN}{key}" if seen.before else f"{key}{_BETWEEN}({_TOKEN})")
    names = [one.name for one in screen.controls if one.role == role_of(seen.type) and not is_fixed(one.role)]
    texts = names if seen.whole else [found.rstrip(".") for name in names for found in beside.findall(name)]
    found = {text.strip() for text in texts} - {""}
    value = found.pop() if len(found) == 1 else ""
    return value if seen.can_be_read and len(value) <= _LONGEST else ""


def where_seen(seen: LookedUp, steps: Sequence[ProcedureStep]) -> str:
    """In words where the run had found the value."""
    kind = f"in {seen.type}" if seen.type else "on the screen"
    beside = f' beside "{seen.key}"' if seen.key else ""
    if not 0 < seen.place <= len(steps):
        return f"{kind}{beside}, before the first step"
    step = steps[seen.place - 1]
    name = f' "{step.name}"' if step.target is not None and step.readable else ""
    return f"{kind}{beside}, after step {seen.place}{name}"


def named_in_task(step: ProcedureStep, screen: Screen, task: str, known: Collection[str]) -> Control | None:
    """The one control in view of the kind `step` acts on whose name stands in the task, and is no other step's."""
    alike = [one for one in screen.controls if step.role and one.role == step.role and one.usable]
    found = [one for one in alike if one.bare not in known and holds(task, one.bare)]
    return found[0] if len(found) == 1 else None


def option_meant(options: Sequence[str], task: str, value: str = "") -> str:
    """The only option of a list, or the one that the task names or a value of it abbreviates; "" for several."""
    if len(options) == 1:
        return options[0]  # there is nothing to choose
    found = [one for one in options if holds(task, bare(one)) or (value and abbreviates(value, one))]
    longest = max(found, key=len, default="")
    return longest if all(holds(longest, bare(one)) for one in found) else ""
