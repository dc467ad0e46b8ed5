"""Values that the run of a way had looked up on the screen: read off it again, or told where to look."""

from __future__ import annotations

import re

from ufo_experience.procedure.procedure import LookedUp, ProcedureStep
from ufo_experience.procedure.screen import Screen
from ufo_experience.redact.slot_types import slot_type
from ufo_experience.text.controls import is_fixed, role_of

_TOKEN = r"[^\s:=,;()\[\]/|]+"
_BETWEEN = r"[\s:=,;()\[\]/|-]{1,4}"
_LONGEST = 80  # characters of a value that is read


def read_value(seen: LookedUp, screen: Screen) -> str:
    """The value in view where the run found its own; "" where none, or not just one, stands there.

    It is all of the text of the one control of that kind whose text is of the type the value had, or stands right
    beside the value of the task that the run's own stood beside.
    """
    role = role_of(seen.type)
    names = [one.name for one in screen.controls if one.role == role and not is_fixed(one.role)]
    texts = names if seen.whole else [text for name in names for text in _beside(seen, name)]
    found = {text.strip() for text in texts if slot_type(text) == seen.value_type}
    value = found.pop() if len(found) == 1 else ""
    return value if seen.can_be_read and len(value) <= _LONGEST else ""


def where_seen(seen: LookedUp, steps: tuple[ProcedureStep, ...]) -> str:
    """In words where the run had found the value."""
    kind = f"in {seen.type}" if seen.type else "on the screen"
    beside = f' beside "{seen.key}"' if seen.key else ""
    step = steps[seen.place - 1] if 0 < seen.place <= len(steps) else None
    name = f' "{step.target.name}"' if step is not None and step.target is not None and step.told else ""
    return f"{kind}{beside}, " + (f"after step {seen.place}{name}" if step is not None else "before the first step")


def _beside(seen: LookedUp, name: str) -> list[str]:
    key = rf"(?<!\w){re.escape(seen.key)}(?!\w)"
    behind = (seen.beside or 1) > 0
    pattern = f"{key}{_BETWEEN}({_TOKEN})" if behind else f"({_TOKEN}){_BETWEEN}{key}"
    return [found.rstrip(".") for found in re.findall(pattern, name)] if seen.key else []
