"""The values of two requests that ask for the same in other words: which value of one stands for which of the other.

By type (an address, a file, a number), then by how they are written (quoted, a name), by the word before each ("sheet
Sales"), and by the preposition that leads to it ("in Sales", "as PDF"). Where two values of a kind are left that
nothing tells apart, they stay open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ufo_experience.redaction.vault import value_type, value_types
from ufo_experience.text.alike import SMALL_WORDS
from ufo_experience.text.slots import Slot, find_whole
from ufo_experience.text.terms import stem

_Tell = Callable[[int, int], str]  # of the side (old, new) and the place of a value: what tells it from others

_WORD = re.compile(r"[^\W\d_]+")
_REACH = 3  # words before a value in which its preposition is looked for
_PLACE, _GOAL, _SOURCE = "place", "goal", "source"
_CUES = {
    **dict.fromkeys("in on at inside within under below".split(), _PLACE),
    **dict.fromkeys("to into onto for".split(), _GOAL),
    **dict.fromkeys("from by".split(), _SOURCE),
    **{word: word for word in "as with without until about".split()},
}


def has_same_values(one: str, other: str) -> bool:
    """True when two requests hold as many values of each type."""
    return value_types(one) == value_types(other)


def match_values(old: Sequence[Slot], new: Sequence[Slot], old_text: str, new_text: str) -> dict[int, int]:
    """For places of values of the old request, the places of those that stand for them in the new one."""
    leads = [_leads(old, old_text), _leads(new, new_text)]
    tells: list[_Tell] = [_nothing, lambda side, at: (old, new)[side][at].kind]
    tells += [partial(_lead, leads, 0), partial(_lead, leads, 1)]
    found: dict[int, int] = {}
    for type in dict.fromkeys(map(value_type, old)):
        before, now = ([at for at, slot in enumerate(ones) if value_type(slot) == type] for ones in (old, new))
        if len(before) != len(now):
            found |= {at: to for at in before for to in now if old[at].value == new[to].value}
            continue
        for tell in tells:
            left = [at for at in before if at not in found], [at for at in now if at not in found.values()]
            found |= _pairs(*left, tell)
    return found


def _nothing(side: int, at: int) -> str:
    return "the only one"


def _lead(leads: Sequence[Sequence[tuple[str, str]]], which: int, side: int, at: int) -> str:
    """What leads to a value, for telling two apart; two of which nothing does are told apart by their numbers."""
    return leads[side][at][which] or (f"{side} {at}" if which == 0 else "")


def _pairs(before: Iterable[int], now: Iterable[int], tell: _Tell) -> dict[int, int]:
    """Those of both sides of which the same can be told, and of no other on either side."""
    told = [[(tell(side, at), at) for at in places] for side, places in enumerate((before, now))]
    counts = [Counter(said for said, _ in one) for one in told]
    at_new = dict(told[1])
    return {at: at_new[said] for said, at in told[0] if counts[0][said] == counts[1][said] == 1}


def _leads(slots: Sequence[Slot], text: str) -> list[tuple[str, str]]:
    """Of each value the word right before it, where that is no small one, and what its preposition leads to."""
    found, begun = [], 0
    for slot in slots:
        at = find_whole(slot.value, text, begun)
        words = _WORD.findall(text[begun : max(at, begun)].casefold())[-_REACH:]
        own = stem(words[-1]) if words and words[-1] not in SMALL_WORDS and words[-1] not in _CUES else ""
        found.append((own, next((_CUES[word] for word in reversed(words) if word in _CUES), "")))
        begun = at + len(slot.value) if at >= 0 else begun
    return found
