"""Where runs of the same words went different ways: a house rule, an amount, something no request says.

Two runs part when each ends with a control the other never acts on: one posts a bill, the other parks it. Which of the
two is due nobody can tell from the words, so both are shown, and a way is followed only as far as they agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ufo_experience.index.runs import Asked, Ended, Said, asked_of, ended, name_in, steps_done
from ufo_experience.schema import Experience
from ufo_experience.text.alike import adds_words, reads_alike
from ufo_experience.text.controls import bare
from ufo_experience.text.own_case import names_feature
from ufo_experience.text.slots import find_slots
from ufo_experience.text.terms import words


def parting(one: Experience, other: Experience) -> int | None:
    """The number of the step with which `one` leaves the way of `other`, another run of the same words; None if none.

    Both are runs that worked, of sessions of their own, in the same application.
    """
    if not _are_of_one_task(asked_of(one), asked_of(other)):
        return None
    return leaving(one, ended(one), ended(other))


def leaving(run: Experience, own: Ended, other: Ended) -> int | None:
    """`parting` for a run with its own way, and the way of another."""
    if not (own.end and other.end) or not _are_of_one_task(own, other):
        return None
    if bare(own.end) in other.names or bare(other.end) in own.names:
        return None
    if _is_asked_for(own, other) or _is_asked_for(other, own):
        return None
    said = Said(run)
    apart = (step for step in steps_done(run) if (name := name_in(step, said)) and bare(name) not in other.names)
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


def _is_asked_for(one: Ended, other: Ended) -> bool:
    """True where the request of a run names what it ended with, and that of another one does not: the words tell."""
    said, elsewhere = words(one.request), words(other.request)
    return names_feature(one.end, said) and not names_feature(one.end, elsewhere)


def _are_of_one_task(one: Asked, other: Asked) -> bool:
    if not (one.success and other.success) or one.application != other.application:
        return False
    if one.session and one.session == other.session:
        return False
    if one.task == other.task:
        return True
    return reads_alike(one.request, other.request) and not adds_words(one.request, other.request)


def _request(run: Experience) -> str:
    return run.state.request or run.state.task
