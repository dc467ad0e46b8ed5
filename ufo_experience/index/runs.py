"""What of a run others are compared with: what it was asked for, the way it went, what it typed.

The catalog keeps it as text (`text_of`), so that no record is opened to compare runs (see `retrieval.agreement`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from ufo_experience.actions import is_press, is_switch, is_typing, plain
from ufo_experience.redact.parameters import strings_in
from ufo_experience.redact.sealing import tag_for, tag_of
from ufo_experience.redact.slot_types import SLOT_TYPE
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.schema import Experience, Step
from ufo_experience.summarize.detours import has_effect
from ufo_experience.text.controls import bare, is_fixed, role_of
from ufo_experience.text.own_case import feature_words, names_feature
from ufo_experience.text.slots import find_slots, find_whole
from ufo_experience.text.terms import words

Place = tuple[str, str, int]  # action, control, and which of the times the run typed there


@dataclass(frozen=True)
class Asked:
    """What a run was asked for, where, and how it ended."""

    task: str
    request: str
    application: str | None
    session: str
    success: bool | None


@dataclass(frozen=True)
class Ended(Asked):
    """What tells whether another run leaves the way of this one: `end` is the name of the control it ended with,
    `names` are those (`controls.bare`) it acted on (none without an end).
    """

    end: str
    names: frozenset[str]


@dataclass(frozen=True)
class Way(Ended):
    """What is kept of the way of a run: `steps` is a digest of what was done to which kind of control, with its name
    where that is the application's own and not said in the request; "" where nothing was done, or nothing but what the
    request names was pressed.
    """

    steps: str


class Typed(NamedTuple):
    """What one run typed at a place: a seal, or the value where its request names it; the tag tells equal ones."""

    session: str
    request: str
    seal: str = ""
    value: str = ""
    tag: str = ""


TypedRun = tuple[tuple[Place, Typed], ...]  # what one run typed, in order


class Run(NamedTuple):
    """A run as it is compared with others."""

    way: Way
    typed: TypedRun


def text_of(experience: Experience) -> str:
    """A run as the catalog keeps it: one line of JSON, without what stands in other columns of its row."""
    way, typed = way_of(experience), typed_by(experience)
    task = "" if way.task == way.request else way.task
    places = [(*place, one.seal, one.value) for place, one in typed]
    parts = [task, way.application, way.session, way.end, sorted(way.names), way.steps, places]
    return json.dumps(parts, separators=(",", ":"))


def read_run(text: str, id: str, request: str, success: bool | None) -> Run:
    """The run of a text that `text_of` made, with what stands in other columns."""
    task, application, session, end, names, steps, places = json.loads(text)
    way = Way(task or request, request, application, session, success, end, frozenset(names), steps)
    said = session or id, request.strip()
    return Run(way, tuple(((action, control, turn), _typed(*said, *held)) for action, control, turn, *held in places))


def asked_of(run: Experience) -> Asked:
    """What a run was asked for."""
    state = run.state
    return Asked(state.task, _request(run), state.application, run.provenance.session, run.outcome.success)


def ended(run: Experience) -> Ended:
    """Where a run went, and how it ended."""
    done = steps_done(run)
    end = _end(done, Said(run))
    return Ended(
        **vars(asked_of(run)), end=end, names=frozenset(bare(step.target_control.name) for step in done if end)
    )


def way_of(run: Experience) -> Way:
    """The way a run went."""
    done, said = steps_done(run), Said(run)
    acted = [step for step in done if not is_switch(step.action_type)]
    is_asked_for = any(_presses_what_is_said(step, said) for step in acted)
    steps = [_step(step, said, is_asked_for) for step in acted]
    known = steps and not (is_asked_for and not any(name for _, _, name in steps))
    digest = blake2b(json.dumps(steps).encode("ascii"), digest_size=8).hexdigest() if known else ""
    return Way(**vars(ended(run)), steps=digest)


def steps_done(run: Experience) -> list[Step]:
    """The steps that worked and had an effect."""
    return [step for step in run.action.steps if step.ok and has_effect(step)]


class Said:
    """The request of a run, in lower case, and the values it names."""

    def __init__(self, run: Experience) -> None:
        self.request = _request(run).casefold()
        self.words = frozenset(words(self.request))
        self.values = [slot.value.casefold() for slot in find_slots(self.request)]


def name_in(step: Step, said: Said) -> str:
    """The name of what a step acts on, "" for typing and for a name that is, or may be, a value of the request."""
    name = step.target_control.name.strip()
    if is_typing(step.action_type) or is_press(step.action_type) or not name or PLACEHOLDER.search(name):
        return ""
    folded = name.casefold()
    return "" if any(value and find_whole(value, folded) >= 0 for value in said.values) else name


def _end(done: Sequence[Step], said: Said) -> str:
    return name_in(done[-1], said) if done and is_fixed(role_of(done[-1].target_control.type)) else ""


def _presses_what_is_said(step: Step, said: Said) -> bool:
    name = name_in(step, said)
    return bool(name) and names_feature(name, said.words) and bool(feature_words([(name, step.target_control.type)]))


def _step(step: Step, said: Said, is_asked_for: bool) -> tuple[str, str, str]:
    """Where the request names a feature that is pressed, the items on the way to it are the way, too."""
    role, name = role_of(step.target_control.type), bare(name_in(step, said))
    own = bool(name) and (is_asked_for or is_fixed(role)) and find_whole(name, said.request) < 0
    return plain(step.action_type), role, name if own else ""


def _request(run: Experience) -> str:
    return run.state.request or run.state.task


def typed_by(run: Experience) -> TypedRun:
    """What one run typed, and where."""
    session, request = run.provenance.session or run.id, _request(run).strip()
    found: list[tuple[Place, Typed]] = []
    for place, slot in places_typed(run):
        found.append((place, _typed(session, request, run.sealed.get(slot, ""), named_value(run, slot))))
    return tuple(found)


def _typed(session: str, request: str, seal: str, value: str) -> Typed:
    return Typed(session, request, seal, value, tag_of(seal) if seal else tag_for(value) if value else "")


def places_typed(run: Experience) -> Iterator[tuple[Place, str]]:
    """Where a run typed something that is a placeholder now, and which; "" where it typed anything else."""
    times: Counter[tuple[str, str]] = Counter()
    for step in run.action.steps:
        if step.ok and is_typing(step.action_type):
            control = (plain(step.action_type), step.target_control.name.strip().casefold())
            times[control] += 1
            texts = "\n".join(strings_in(step.parameters))
            slots = [match[0].strip("{}") for match in PLACEHOLDER.finditer(texts)]
            yield (*control, times[control]), slots[0] if len(slots) == 1 else ""


def named_value(run: Experience, slot: str) -> str:
    """What a run typed that its own request names: "" where that does not tell which value it was."""
    told = SLOT_TYPE.fullmatch(run.slots.get(slot, ""))
    if told is None or told["where"] != "task" or not told["slot"]:
        return ""
    values, place = find_slots(_request(run)), int(told["slot"])
    return values[place - 1].value if 0 < place <= len(values) else ""
