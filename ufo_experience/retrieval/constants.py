"""What the runs of one task typed alike, and so is a constant of the procedure; their records hold it sealed.

A place is a control and the turn at which a run typed into it. A value is a constant of its place when runs of
different sessions and requests typed it there and no run of a like request typed anything else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ufo_experience.redaction.actions import is_typing, plain
from ufo_experience.redaction.parameters import strings_in
from ufo_experience.redaction.sealing import opened, tag_for, tag_of
from ufo_experience.redaction.text import PLACEHOLDER
from ufo_experience.redaction.vault import SLOT_TYPE
from ufo_experience.schema import Experience
from ufo_experience.text.remembered import remembered
from ufo_experience.text.slots import find_slots, find_whole

RUNS = 2  # different sessions with different requests that must hold a value for it to be a constant

Place = tuple[str, str, int]  # action, control, and which of the times the run typed there


@dataclass(frozen=True)
class Typed:
    """What one run typed at a place: a seal, or the value where its request names it; the tag tells equal ones."""

    session: str
    request: str
    seal: str = ""
    value: str = ""
    tag: str = ""


Places = Mapping[Place, Sequence[Typed]]


TypedRun = tuple[tuple[Place, Typed], ...]  # what one run typed, in order


def typed_by(run: Experience) -> TypedRun:
    """What one run typed, and where."""
    session, request = run.provenance.session or run.id, (run.state.request or run.state.task).strip()
    found: list[tuple[Place, Typed]] = []
    for place, slot in _places(run):
        seal, value = run.sealed.get(slot, ""), _named_value(run, slot)
        tag = tag_of(seal) if seal else tag_for(value) if value else ""
        found.append((place, Typed(session, request, seal, value, tag)))
    return tuple(found)


def by_place(runs: Iterable[TypedRun]) -> Places:
    """What runs of one task typed, by place."""
    found: defaultdict[Place, list[Typed]] = defaultdict(list)
    for run in runs:
        for place, typed in run:
            found[place].append(typed)
    return found


def _named_value(run: Experience, slot: str) -> str:
    """What a run typed that its own request names: "" where that does not tell which value it was."""
    told = SLOT_TYPE.fullmatch(run.slots.get(slot, ""))
    if told is None or told["where"] != "task" or not told["slot"]:
        return ""
    values, place = find_slots(run.state.request or run.state.task), int(told["slot"])
    return values[place - 1].value if 0 < place <= len(values) else ""


def constants_of(experience: Experience, known: Places, task: str) -> dict[str, str]:
    """The placeholders of a record that stand for a constant, by what the runs of its task typed, for `task`."""
    found: dict[str, str] = {}
    for place, slot in _places(experience):
        value = _constant(known.get(place, ()), task) if slot else None
        if value is not None and found.setdefault(slot, value) != value:
            return {}  # one placeholder, two constants: these runs do not tell
    return found


def _places(experience: Experience) -> Iterator[tuple[Place, str]]:
    """Where a run typed something that is a placeholder now, and which; "" where it typed anything else."""
    times: Counter[tuple[str, str]] = Counter()
    for step in experience.action.steps:
        if step.ok and is_typing(step.action_type):
            control = (plain(step.action_type), step.target_control.name.strip().casefold())
            times[control] += 1
            texts = "\n".join(strings_in(step.parameters))
            slots = [match[0].strip("{}") for match in PLACEHOLDER.finditer(texts)]
            yield (*control, times[control]), slots[0] if len(slots) == 1 else ""


def _constant(typed: Sequence[Typed], task: str) -> str | None:
    """The one value that is typed at a place whenever the task is like this one; None when none is."""
    tags = dict.fromkeys(one.tag for one in typed if one.seal)  # what every request names is no constant
    found = [value for tag in tags if (value := _held(typed, tag, task))]
    return found[0] if len(found) == 1 else None


def _held(typed: Sequence[Typed], tag: str, task: str) -> str | None:
    """The value of a tag, if it is due for the task.

    What the runs of a value have in common in their requests (a department, a name) the value may follow from: then it
    counts only for a task that names that too, and only if no run that named it typed anything else.
    """
    runs = [one for one in typed if one.tag == tag]
    if min(len({one.session for one in runs}), len({one.request.lower() for one in runs})) < RUNS:
        return None
    shared = frozenset.intersection(*(_values_of(one.request) for one in runs))
    if not _names_all(task, shared):
        return None
    if any(_names_all(one.request, shared) for one in typed if one.tag != tag):
        return None
    return next((one.value for one in runs if one.value), None) or opened([one.seal for one in runs])


@remembered(2_048)
def _values_of(request: str) -> frozenset[str]:
    return frozenset(slot.value for slot in find_slots(request))


def _names_all(text: str, values: Iterable[str]) -> bool:
    return all(find_whole(value.lower(), text.lower()) >= 0 for value in values if value)
