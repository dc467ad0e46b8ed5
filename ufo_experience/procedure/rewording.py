"""The values of two requests that ask for the same in other words: which value of one stands for which of the other.

By type (an address, a file, a number), then by how they are written (quoted, a name), by the word before each ("sheet
Sales"), and by the preposition that leads to it ("in Sales", "as PDF"); of what is left by the field it is typed in
("port 8080"). Where two values of a kind are left that nothing tells apart, they stay open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from ufo_experience.procedure.procedure import Procedure
from ufo_experience.redact.typed import strings_in
from ufo_experience.redact.slot_types import SLOT_TYPE, value_type
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.text.alike import SMALL_WORDS
from ufo_experience.text.slots import Slot, find_slots, find_whole, mask_slots
from ufo_experience.text.terms import stem

_Tell = Callable[[int, int], str]  # of the side (old, new) and the place of a value: what tells it from others

_WORD = re.compile(r"[^\W\d_]+")
_WRITTEN_FREELY = frozenset(("text", "number"))  # types that may stand for each other: a server by name or by number
_REACH = 3  # words before a value in which its preposition is looked for
_PLACE, _GOAL, _SOURCE = "place", "goal", "source"
_CUES = {
    **dict.fromkeys("in on at inside within under below".split(), _PLACE),
    **dict.fromkeys("to into onto for".split(), _GOAL),
    **dict.fromkeys("from by".split(), _SOURCE),
    **{word: word for word in "as with without until about".split()},
}


def fits(procedure: Procedure, task: str) -> bool:
    """True when `task` names a value for each that the steps take from the request of the way, by type, and none more.

    A capital letter may stand on a word that is no value ("Wi-Fi"), so that names may be left over; what is in quotes
    or of a type of its own may not.
    """
    old, new = (find_slots(PLACEHOLDER.sub("<secret>", text)) for text in (procedure.request, task))
    used = [old[at] for at in _fields(procedure, old)]
    wanted, known, named = (Counter(map(value_type, ones)) for ones in (used, old, new))
    if any(not wanted[type] <= named[type] <= known[type] for type in {*known, *named} - _WRITTEN_FREELY):
        return False
    return len(new) >= len(used) and sum(map(_is_firm, new)) <= max(len(used), sum(map(_is_firm, old)))


def says_the_same(procedure: Procedure, task: str) -> bool:
    """True for a task in the words of the way's own, where its steps hold every value that may be another."""
    same = mask_slots(procedure.request) == mask_slots(task)
    return same and len(fields_of(procedure)) == len(find_slots(task)) > 0


def match_values(
    old: Sequence[Slot], new: Sequence[Slot], old_text: str, new_text: str, fields: Mapping[int, str] | None = None
) -> dict[int, int]:
    """For places of values of the old request, the places of those that stand for them in the new one.

    `fields` are the names of what the way types or chooses the old values in, by their places.
    """
    leads = [_leads(old, old_text), _leads(new, new_text)]
    tells: list[_Tell] = [_nothing, lambda side, at: (old, new)[side][at].kind]
    tells += [partial(_lead, leads, 0), partial(_lead, leads, 1)]
    found: dict[int, int] = {}
    for type in dict.fromkeys(map(value_type, old)):
        before, now = ([at for at, slot in enumerate(ones) if value_type(slot) == type] for ones in (old, new))
        if len(before) != len(now):
            found |= {at: to for at in before for to in now if old[at].value == new[to].value}
            before, now = ([at for at in ones if _is_firm(side[at])] for ones, side in ((before, old), (now, new)))
        for tell in tells if len(before) == len(now) else ():
            told = _pairs(*_left(before, now, found), tell)
            found |= {at: to for at, to in told.items() if tell != tells[-1] or _may_be_led_alike(leads, at, to)}
    return _by_field(old, new, leads, fields or {}, found)


def fields_of(procedure: Procedure) -> dict[int, str]:
    """The values of the request of a way that its steps take, by their places: the name of the field, "" for none."""
    return _fields(procedure, find_slots(PLACEHOLDER.sub("<secret>", procedure.request)))


def is_called_so(label: str, request: str) -> bool:
    """True for a label that a request says with a capital inside a sentence: "as HTML", but not "Share the file"."""
    found = re.search(rf"(?<=[\w,]\s){re.escape(label)}(?!\w)", request, re.IGNORECASE)
    return found is not None and found[0][:1].isupper()


def _fields(procedure: Procedure, old: Sequence[Slot]) -> dict[int, str]:
    found: dict[int, str] = {}
    for step in procedure.steps:
        name = step.target.name if step.target else ""
        texts = [name, step.target.within if step.target else "", *strings_in(dict(step.parameters))]
        text = "\n".join(texts)
        masked = [SLOT_TYPE.fullmatch(procedure.slots.get(mark.strip("{}"), "")) for mark in PLACEHOLDER.findall(text)]
        taken = {int(told["slot"]) - 1 for told in masked if told and told["slot"]}
        taken |= {at for at, slot in enumerate(old) if find_whole(slot.value.casefold(), text.casefold()) >= 0}
        for at in sorted(taken):
            if at < len(old):
                found[at] = name if step.kind in ("type", "select") else found.get(at, "")
    return found


def _is_firm(slot: Slot) -> bool:
    """True for what is a value whatever the words around it: in quotes, or of a type of its own."""
    return slot.kind != "name" or value_type(slot) != "text"


def _left(before: Sequence[int], now: Sequence[int], found: Mapping[int, int]) -> tuple[list[int], list[int]]:
    return [at for at in before if at not in found], [at for at in now if at not in found.values()]


def _by_field(
    old: Sequence[Slot],
    new: Sequence[Slot],
    leads: Sequence[Sequence[tuple[str, str]]],
    fields: Mapping[int, str],
    found: dict[int, int],
) -> dict[int, int]:
    """What is left: the value right behind the name of the field of an old one, then the last on either side."""
    for at, name in fields.items():
        words = {stem(word) for word in _WORD.findall(name.casefold())}
        named = [to for to in _left((), range(len(new)), found)[1] if leads[1][to][0] in words]
        if at not in found and len(named) == 1:
            found[at] = named[0]
    before, now = _left([*fields], [at for at, slot in enumerate(new) if _is_firm(slot)], found)
    if len(before) == len(now) == 1 and value_type(old[before[0]]) == "text":
        found[before[0]] = now[0]
    return found


def _nothing(side: int, at: int) -> str:
    return "the only one"


def _lead(leads: Sequence[Sequence[tuple[str, str]]], which: int, side: int, at: int) -> str:
    """What leads to a value, for telling two apart; two of which nothing does are told apart by their numbers."""
    return leads[side][at][which] or (f"{side} {at}" if which == 0 else "")


def _may_be_led_alike(leads: Sequence[Sequence[tuple[str, str]]], at: int, to: int) -> bool:
    """False where another word stands between each of two values and its preposition: "with subject", "with words"."""
    (own, cue), (other, _) = leads[0][at], leads[1][to]
    return not (cue and own and other)


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
