"""Where what was typed had been looked up: the place in view it had stood before, for logs that tell what was in view.

A person's number, the code of a department: nobody names them in a request, and the next one needs another. What stays
the same is where they stand. Of the text itself nothing is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ufo_experience.actions import is_typing, typed_leaf
from ufo_experience.schema import Seen, Step
from ufo_experience.text.controls import is_fixed, role_of
from ufo_experience.text.slots import find_slots, find_whole
from ufo_experience.traces.visibility import MAX_COMPARED, VisibleControls

_SHORTEST = 2  # characters of a text for which it can be told where it came from
_BETWEEN = re.compile(r"[\s:=,;()\[\]/|-]{1,4}")


def with_seen(steps: Sequence[Step], views: Sequence[VisibleControls], request: str) -> tuple[Step, ...]:
    """The steps, those that type what was in view before and the request does not name with `seen`.

    `views[k]` is what was in view before `steps[k]`.
    """
    if not any(views) or len(steps) > MAX_COMPARED:
        return tuple(steps)
    return tuple(
        step.model_copy(update={"seen": _seen(at, text, steps, views, request)})
        if (text := _looked_up(step, request))
        else step
        for at, step in enumerate(steps)
    )


def _looked_up(step: Step, request: str) -> str:
    """What a step types, "" where the request names it."""
    leaf = typed_leaf(step) if is_typing(step.action_type) else None
    text = leaf[1].strip() if leaf is not None else ""
    named = find_whole(text.casefold(), request.casefold()) >= 0
    return "" if len(text) < _SHORTEST or named else text


def _seen(at: int, text: str, steps: Sequence[Step], views: Sequence[VisibleControls], request: str) -> Seen | None:
    """Where a text stood last before it was typed."""
    last = next((place for place in range(at, -1, -1) if _holding(text, views[place])), None)
    if last is None:
        return None
    holding = _holding(text, views[last])
    first = last
    while first and _holding(text, views[first - 1]):
        first -= 1
    after = steps[first - 1].step_number if first else 0
    whole = next((kind for name, kind in holding if name == text), None)
    if whole is not None:
        return Seen(after=after, type=whole, whole=True)
    beside = next((found for one in holding if (found := _beside(text, one, request)) is not None), None)
    return beside.model_copy(update={"after": after}) if beside else Seen(after=after, type=holding[0][1])


def _holding(text: str, view: VisibleControls) -> list[tuple[str, str]]:
    """Name and type of what shows the text, and is no control of the application's own."""
    return sorted((name, kind) for name, kind in view if not is_fixed(role_of(kind)) and find_whole(text, name) >= 0)


def _beside(text: str, control: tuple[str, str], request: str) -> Seen | None:
    """The value of the request that stands right before or behind the text."""
    name, kind = control
    values = [slot.value for slot in find_slots(request)]
    if not text or any(letter.isspace() for letter in text):
        return None
    for number, value in _nearest(values, name):
        for sign, pair in ((1, (value, text)), (-1, (text, value))):
            if re.search(rf"(?<!\w){re.escape(pair[0])}{_BETWEEN.pattern}{re.escape(pair[1])}(?!\w)", name):
                return Seen(type=kind, beside=sign * number)
    return None


def _nearest(values: Sequence[str], name: str) -> Iterable[tuple[int, str]]:
    """The values that stand in a name, with their numbers."""
    return ((number, value) for number, value in enumerate(values, start=1) if find_whole(value, name) >= 0)
