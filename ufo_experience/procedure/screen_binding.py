"""What a task means, told by what is on the screen: which option, which of several items, which of two names.

A control in view whose name stands in the task says more than the order of words: of "format Product in Sales" the tab
that is there is the sheet.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ufo_experience.procedure.procedure import ProcedureStep, Target
from ufo_experience.procedure.rewording import is_called_so
from ufo_experience.procedure.screen import Control, Screen
from ufo_experience.text.controls import bare


def named_in_task(step: ProcedureStep, screen: Screen, task: str, known: Collection[str]) -> Control | None:
    """The one control in view of the kind `step` acts on whose name stands in the task, and is no other step's."""
    role = step.role
    found = [
        one
        for one in screen.controls
        if role and one.role == role and one.bare not in known and one.usable and _stands_in(one.bare, task)
    ]
    if len(found) > 1:
        found = [one for one in found if is_called_so(one.bare, task)]
    return found[0] if len(found) == 1 else None


def option_in_task(options: Sequence[str], task: str) -> str:
    """The one of the options of a list that stands in the task; "" where none does, or several do."""
    found = [one for one in options if _stands_in(bare(one), task)]
    longest = max(found, key=len, default="")
    return longest if all(_stands_in(bare(one), longest) for one in found) else ""


def renamed(steps: Sequence[ProcedureStep], place: int, name: str) -> tuple[ProcedureStep, ...]:
    """The way with another target at `place`; where a later step has that name as its value, the two are exchanged,
    and where one stands in a place called after the old, it is called after the new ("Export as HTML").
    """
    step = steps[place]
    before = step.target.name if step.target else ""
    words = {bare(name): before, bare(before): name} if step.value else {}
    target = replace(step.target, name=name) if step.target else Target(name)
    own = replace(step, target=target, unbound=(), value=name if step.value else step.value)
    later = (_exchanged(one, words) for one in steps[place + 1 :])
    return (*steps[:place], own, *(_placed(one, bare(before), name.rstrip(" .…")) for one in later))


def _placed(step: ProcedureStep, before: str, name: str) -> ProcedureStep:
    target = step.target
    if target is None or not before or not _stands_in(before, target.within):
        return step
    within = re.sub(rf"(?<!\w){re.escape(before)}(?!\w)", lambda _: name, target.within, flags=re.IGNORECASE)
    return replace(step, target=replace(target, within=within))


def _exchanged(step: ProcedureStep, words: Mapping[str, str]) -> ProcedureStep:
    target = step.target
    if target is not None and step.value and bare(target.name) in words:
        other = words[bare(target.name)]
        return replace(step, target=replace(target, name=other), value=other)
    given: dict[str, Any] = {
        key: words.get(bare(value), value) if isinstance(value, str) and key in ("text", "value") else value
        for key, value in step.parameters.items()
    }
    return replace(step, parameters=given)


def _stands_in(words: str, text: str) -> bool:
    return bool(words) and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE) is not None
