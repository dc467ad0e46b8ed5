"""Which experiences are worth their tokens: none that shows the way of a better one again with other values.

Left out, too, is one that retrieval is not sure of and found by its words, where the two requests do not name as many
values of each type: what is done to a sheet is not done to a file, and a task with three values is seldom one with one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ufo_experience.actions import is_switch, plain
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.redact.slot_types import value_types
from ufo_experience.schema import Experience, Hit, Step
from ufo_experience.text.alike import reads_alike
from ufo_experience.text.controls import bare, is_fixed, role_of
from ufo_experience.text.slots import find_slots, find_whole

_COMPARED = "query_coverage"  # of the explanation of a hit: how much of the task its request says
_JUDGED = "before_judge"  # the same, of a hit that a judge took for the task
SURE = 0.8  # from this score on a hit is shown though its request names other values than the task
_CERTAIN = 0.9  # and from this on though it names two more
_VALUE = "*"
Skeleton = tuple[tuple[str, ...], ...]


def fits(task: str, hit: Hit) -> bool:
    """False for a doubtful hit found by its words, whose request names other values than the task (number, types)."""
    request = _request(hit.experience)
    known = hit.score >= _CERTAIN or _JUDGED in hit.explanation or _COMPARED not in hit.explanation
    if known or reads_alike(task, request):
        return True
    old, new = value_types(request), value_types(task)
    return old == new or (hit.score >= SURE and sum(old.values()) < sum(new.values()) + 2)


def is_shown_already(experience: Experience, shown: Iterable[Experience]) -> bool:
    """True when one of `shown` went the same way for the same words, but for its values and where it began."""
    alike = [
        one
        for one in shown
        if one.outcome.success == experience.outcome.success and reads_alike(_request(one), _request(experience))
    ]
    way = _skeleton(experience) if alike else ()
    return bool(way) and any(_skeleton(one) == way for one in alike)


def _skeleton(experience: Experience) -> Skeleton:
    """The steps without values: what is done, in what order, to which controls of the application's own."""
    request = _request(experience)
    values = [slot.value.casefold() for slot in find_slots(request) if slot.value]
    steps = (step for step in experience.action.steps if not is_switch(step.action_type))
    return tuple(_part(step, values, request.casefold()) for step in steps)


def _part(step: Step, values: Sequence[str], request: str) -> tuple[str, ...]:
    control = step.target_control
    role = role_of(control.type)
    name = _masked(bare(control.name), values, request) if is_fixed(role) or not role else _VALUE
    texts = (_masked(value, values, request) for _, value in sorted(step.parameters.items()) if isinstance(value, str))
    return (step.status, plain(step.action_type), role, name, *texts)


def _masked(text: str, values: Sequence[str], request: str) -> str:
    """A text, unless it holds a value or stands in the request itself ("hourly")."""
    lower = text.casefold()
    held = PLACEHOLDER.search(text) or any(find_whole(one, lower) >= 0 for one in values)
    return _VALUE if held or find_whole(lower, request) >= 0 else lower


def _request(experience: Experience) -> str:
    return experience.state.request or experience.state.task
