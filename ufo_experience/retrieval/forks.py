"""Where runs of the same words went different ways: a house rule, an amount, something no request says.

Two runs part when each ends with a control the other never acts on: one posts a bill, the other parks it. Which of the
two is due nobody can tell from the words, so both are shown, and a way is followed only as far as they agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ufo_experience.redaction.actions import is_press, is_switch, is_typing, plain
from ufo_experience.redaction.text import PLACEHOLDER
from ufo_experience.schema import Experience, Step
from ufo_experience.summarizer.effective_steps import has_effect
from ufo_experience.text.alike import adds_words, reads_alike
from ufo_experience.text.controls import bare, is_fixed, role_of
from ufo_experience.text.slots import find_slots, find_whole


@dataclass(frozen=True)
class Asked:
    """What a run was asked for, where, and how it ended."""

    task: str
    request: str
    application: str | None
    session: str
    success: bool | None


@dataclass(frozen=True)
class Way(Asked):
    """What is kept of a run to tell whether another one leaves its way.

    `end` is the name of the control it ended with, `names` are those (`controls.bare`) it acted on, `steps` what was
    done to which kind of control, with its name where that is the application's own and not said in the request.
    """

    end: str
    names: frozenset[str]
    steps: tuple[tuple[str, str, str], ...]


def asked_of(run: Experience) -> Asked:
    """What a run was asked for."""
    state = run.state
    return Asked(state.task, _request(run), state.application, run.provenance.session, run.outcome.success)


def way_of(run: Experience) -> Way:
    """The way a run went."""
    done, said = _done(run), _Said(run)
    names = frozenset(bare(step.target_control.name) for step in done)
    steps = tuple(_step(step, said) for step in done if not is_switch(step.action_type))
    return Way(**vars(asked_of(run)), end=_end(done, said), names=names, steps=steps)


def last_act(run: Experience) -> str:
    """The name of the control a run ended with, "" where that was no button or the like, or a value of its request."""
    return _end(_done(run), _Said(run))


def _end(done: Sequence[Step], said: _Said) -> str:
    return _named(done[-1], said) if done and is_fixed(role_of(done[-1].target_control.type)) else ""


def parting(one: Experience, other: Experience) -> int | None:
    """The number of the step with which `one` leaves the way of `other`, another run of the same words; None if none.

    Both are runs that worked, of sessions of their own, in the same application.
    """
    if not _are_of_one_task(asked_of(one), asked_of(other)):
        return None
    return leaving(one, way_of(one), way_of(other))


def leaving(run: Experience, own: Way, other: Way) -> int | None:
    """`parting` for a run with its own way, and the way of another."""
    if not (own.end and other.end) or not _are_of_one_task(own, other):
        return None
    if bare(own.end) in other.names or bare(other.end) in own.names:
        return None
    said = _Said(run)
    apart = (step for step in _done(run) if (name := _named(step, said)) and bare(name) not in other.names)
    return next((step.step_number for step in apart), None)


def partings(run: Experience, others: Iterable[Experience]) -> tuple[int, Experience] | None:
    """The first step with which a run leaves the way of one of some others, and that other; None if none."""
    found = [(place, other) for other in others if other.id != run.id and (place := parting(run, other)) is not None]
    return min(found, key=lambda one: one[0], default=None)


def told_apart(one: Experience, other: Experience, task: str) -> str:
    """What a number of the requests says of two runs that part, in words that hold neither: "" where none differs."""
    numbers = [[_amount(slot.value) for slot in find_slots(text)] for text in (_request(one), _request(other), task)]
    for here, there, asked in zip(*numbers, strict=False):
        if here is None or there is None or here == there:
            continue
        said = f"its request names a {'smaller' if here < there else 'larger'} number than theirs"
        if asked is None:
            return said
        if min(here, there) < asked < max(here, there):
            return f"{said}; that of your task lies between them"
        nearer = "its own" if abs(asked - here) < abs(asked - there) else "theirs"
        return f"{said}; that of your task is on the side of {nearer}"
    return ""


def _amount(value: str) -> float | None:
    """A whole or decimal number as it is written with or without commas between thousands."""
    plain = value.replace(",", "")
    return float(plain) if re.fullmatch(r"\d{1,15}(?:\.\d{1,6})?", plain) else None


def _are_of_one_task(one: Asked, other: Asked) -> bool:
    if not (one.success and other.success) or one.application != other.application:
        return False
    if one.session and one.session == other.session:
        return False
    alike = reads_alike(one.request, other.request) and not adds_words(one.request, other.request)
    return one.task == other.task or alike


def _done(run: Experience) -> list[Step]:
    return [step for step in run.action.steps if step.ok and has_effect(step)]


class _Said:
    """The request of a run, in lower case, and the values it names."""

    def __init__(self, run: Experience) -> None:
        self.request = _request(run).casefold()
        self.values = [slot.value.casefold() for slot in find_slots(self.request)]


def _named(step: Step, said: _Said) -> str:
    """The name of what a step acts on, "" for typing and for a name that is, or may be, a value of the request."""
    name = step.target_control.name.strip()
    if is_typing(step.action_type) or is_press(step.action_type) or not name or PLACEHOLDER.search(name):
        return ""
    folded = name.casefold()
    return "" if any(value and find_whole(value, folded) >= 0 for value in said.values) else name


def _step(step: Step, said: _Said) -> tuple[str, str, str]:
    role, name = role_of(step.target_control.type), bare(_named(step, said))
    own = bool(name) and is_fixed(role) and find_whole(name, said.request) < 0
    return plain(step.action_type), role, name if own else ""


def _request(run: Experience) -> str:
    return run.state.request or run.state.task
