"""What the runs of one task typed alike, and so is a constant of the procedure; their records hold its digest.

A place is a control and the turn at which a run typed into it. A value is a constant of its place when runs of
different sessions and requests typed it there and no run of a like request typed anything else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ufo_experience.index.runs import Place, Typed, TypedRun, places_typed
from ufo_experience.schema import Experience
from ufo_experience.text.remembered import remembered
from ufo_experience.text.slots import find_slots, find_whole

RUNS = 2  # different sessions with different requests that must hold a value for it to be a constant

Places = Mapping[Place, Sequence[Typed]]


def by_place(runs: Iterable[TypedRun]) -> Places:
    """What runs of one task typed, by place."""
    found: defaultdict[Place, list[Typed]] = defaultdict(list)
    for run in runs:
        for place, typed in run:
            found[place].append(typed)
    return found


def constants_of(experience: Experience, known: Places, task: str) -> dict[str, str]:
    """The placeholders of a record that stand for a constant, by what the runs of its task typed, for `task`."""
    found: dict[str, str] = {}
    for place, slot in places_typed(experience):
        value = _constant(known.get(place, ()), task) if slot else None
        if value is not None and found.setdefault(slot, value) != value:
            return {}  # one placeholder, two constants: these runs do not tell
    return found


def _constant(typed: Sequence[Typed], task: str) -> str | None:
    """The one value that is typed at a place whenever the task is like this one; None when none is."""
    tags = dict.fromkeys(one.tag for one in typed if one.digest)  # what every request names is no constant
    found = [value for tag in tags if (value := _held(typed, tag, task))]
    return found[0] if len(found) == 1 else None


def _held(typed: Sequence[Typed], tag: str, task: str) -> str | None:
    """The value of a tag, if it is due for the task.

    What the runs of a value have in common in their requests (a department, a name) the value may follow from: then it
    counts only for a task that names that too, and only if no run that named it typed anything else.
    """
    values = {one.value for one in typed if one.tag == tag and one.value}
    runs = [one for one in typed if one.tag == tag or one.value in values]
    if min(len({one.session for one in runs}), len({one.request.lower() for one in runs})) < RUNS:
        return None
    shared = _values_shared(one.request for one in runs)
    if not _names_all(task, shared):
        return None
    if any(_names_all(one.request, shared) for one in typed if one not in runs):
        return None
    return next((one.value for one in runs if one.value), None)


def _values_shared(requests: Iterable[str]) -> frozenset[str]:
    """The values that stand in each of some requests."""
    first, *others = dict.fromkeys(requests)
    shared = _values_of(first)
    for request in others:
        if not shared:
            break
        shared &= _values_of(request)
    return shared


@remembered(2_048)
def _values_of(request: str) -> frozenset[str]:
    return frozenset(slot.value for slot in find_slots(request))


def _names_all(text: str, values: Iterable[str]) -> bool:
    return all(find_whole(value.lower(), text.lower()) >= 0 for value in values if value)
