"""The values of a new task in place of those of the remembered one.

    same intent        value for value: the second of the old task becomes the second of the new one
    otherwise          by type and order, where both tasks name as many values of a type
    words that differ  "dark" for "light", where the two tasks say the same but for them
    reworded           see `rewording`: what is not beyond doubt stays open

What no rule binds stays unbound and is said so: a guess would be typed into somebody's form. A `Binder` (one call of
a model) may bind what is left; what it answers counts only if it stands in the new task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, Protocol

from ufo_experience.procedure.procedure import LookedUp, Procedure, ProcedureStep
from ufo_experience.procedure.rewording import fields_of, is_called_so, match_values
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.redact.typed import strings_in
from ufo_experience.redact.slot_types import SLOT_TYPE, slot_type
from ufo_experience.text.alike import SMALL_WORDS
from ufo_experience.text.controls import bare, is_fixed
from ufo_experience.text.slots import Slot, find_slots, mask_slots
from ufo_experience.text.terms import stem

_MARK = re.compile(r"\{\{((?:input|secret):\d+)\}\}|<secret>")
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"\"[^\"]*\"|(?:[.:]{0,8}[^\s,;!?().:])+")
_SAME = 0.5  # of the words of two tasks, before what differs in them counts as a value
_LONGEST = 4  # words of a value that stands without quotes


class Binder(Protocol):
    """Finds the values of open slots in a task: one call of a model, or anything else that can read."""

    def __call__(self, task: str, slots: Mapping[str, str]) -> Mapping[str, str]:
        """For the slots it can tell (name → what the remembered run had there), the words of the task."""
        ...


@dataclass(frozen=True)
class Values:
    """What stands for what: `slots` by placeholder name, `words` by the words of the old task.

    `foreign` are values and words of the old task that the new one has nothing for; `by_number` is what stands for the
    first, second, … value of the old one. `wording` are those of `words` that are no values: in other words a label is
    not called otherwise for them.
    """

    slots: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()
    by_number: Mapping[int, str] = field(default_factory=dict)
    wording: frozenset[str] = frozenset()

    def of_labels(self) -> Values:
        """Those that the labels of an application may hold."""
        return replace(self, words={word: now for word, now in self.words.items() if word not in self.wording})


def bind(procedure: Procedure, task: str, binder: Binder | None = None) -> Procedure:
    """The procedure with the values of `task` in it; steps say which slots are still open (`unbound`)."""
    values = find_values(procedure, task)
    bound = tuple(_bound(step, values, procedure, task) for step in procedure.steps)
    open_slots = {name: procedure.slots.get(name, name) for step in bound for name in step.unbound}
    if binder is not None and open_slots:
        answered = _trusted(binder(task, open_slots), open_slots, task)
        said = {name: value for name, value in answered.items() if name in procedure.slots}
        named = {name.casefold(): value for name, value in answered.items() if name not in procedure.slots}
        values = replace(
            values,
            slots={**values.slots, **said},
            words={**values.words, **named},
            foreign=values.foreign - {name.casefold() for name in named},
        )
        bound = tuple(_bound(step, values, procedure, task) for step in procedure.steps)
    return replace(procedure, request=task, steps=bound, unspoken=_unspoken(bound, procedure.request, task))


def _unspoken(steps: Sequence[ProcedureStep], old: str, new: str) -> dict[str, bool]:
    """The values of the new task that no step speaks of, and whether the old task named others."""
    told = "\n".join(
        text
        for step in steps
        for text in (
            *((step.target.name, step.target.within) if step.target else ()),
            *strings_in(dict(step.parameters)),
        )
    )
    values = dict.fromkeys(slot.value for slot in find_slots(new) if slot.value)
    return {value: not _stands_in(value, old) for value in values if not _stands_in(value, told)}


def find_values(procedure: Procedure, task: str) -> Values:
    """What the rules say stands for what."""
    old, new = (find_slots(PLACEHOLDER.sub("<secret>", text)) for text in (procedure.request, task))
    if procedure.reworded:
        places = match_values(old, new, procedure.request, task, fields_of(procedure))
    else:
        places = _places(old, new, same=_intent(procedure.request) == _intent(task))
    words = {old[at].value.casefold(): new[to].value for at, to in places.items()}
    pairs = _different_words(procedure.request, task)
    wording = frozenset(before.casefold() for before in pairs) - set(words)
    words = {**{before.casefold(): now for before, now in pairs.items()}, **words}
    slots = dict(procedure.constants)
    for name, kind in procedure.slots.items():
        value = None if name in slots else _slot_value(name, kind, old, new, places, pairs)
        if value is not None:
            slots[name] = value
    foreign = {slot.value.casefold() for at, slot in enumerate(old) if at not in places} - set(words)
    by_number = {at + 1: new[to].value for at, to in places.items()}
    return Values(slots, words, frozenset(one for one in foreign if not _stands_in(one, task)), by_number, wording)


def _intent(request: str) -> str:
    return mask_slots(PLACEHOLDER.sub("<secret>", request)).strip()


def _places(old: list[Slot], new: list[Slot], *, same: bool) -> dict[int, int]:
    """For places of the old values, the places of the new ones."""
    if same and [slot.kind for slot in old] == [slot.kind for slot in new]:
        return {place: place for place in range(len(old))}
    found: dict[int, int] = {}
    for kind in dict.fromkeys(slot.kind for slot in old):
        before = [place for place, slot in enumerate(old) if slot.kind == kind]
        now = [place for place, slot in enumerate(new) if slot.kind == kind]
        if len(before) == len(now):
            found.update(zip(before, now, strict=True))
        else:
            found.update({at: to for at in before for to in now if old[at].value == new[to].value})
    return found


def _slot_value(
    name: str, kind: str, old: list[Slot], new: list[Slot], places: Mapping[int, int], pairs: Mapping[str, str]
) -> str | None:
    """The value of a placeholder, by the place its value had in the old task; None when nothing tells."""
    told = SLOT_TYPE.fullmatch(kind)
    if name.startswith("secret") or told is None:
        return None
    if told["slot"]:
        place = places.get(int(told["slot"]) - 1)
        return None if place is None or place >= len(new) else new[place].value
    if not told["where"]:
        return None
    # The value stands in the task: it is what is new there, if one thing is, or one of its type that is no other slot.
    named = {slot.value for slot in old}
    fitting = [now for before, now in pairs.items() if before not in named and slot_type(before) == told["type"]]
    differing = list(pairs.values()) if len(pairs) == 1 else fitting
    return differing[0] if len(differing) == 1 else None


def _different_words(old: str, new: str) -> dict[str, str]:
    """Words of the old task → those that stand in their place in the new one; empty for tasks that read unlike."""
    a, b = (_TOKEN.findall(text) for text in (old, new))
    matcher = SequenceMatcher(None, [one.casefold() for one in a], [one.casefold() for one in b], autojunk=False)
    if matcher.ratio() < _SAME:
        return {}
    codes = matcher.get_opcodes()
    if any(kind in ("insert", "delete") for kind, *_ in codes):
        return {}
    spans = [(a[i:j], b[k:m]) for kind, i, j, k, m in codes if kind == "replace"]
    if any(max(len(before), len(now)) > _LONGEST for before, now in spans):
        return {}
    return {" ".join(before).strip('"'): " ".join(now).strip('"') for before, now in spans}


def _bound(step: ProcedureStep, values: Values, procedure: Procedure, task: str) -> ProcedureStep:
    """A step of the procedure as recorded, with values filled in."""
    open_slots: dict[str, None] = {}

    def fill(text: str, *, constant: bool, label: bool = False) -> str:
        filled, missing = _fill(text, values.of_labels() if label else values)
        open_slots.update(dict.fromkeys(missing))
        if constant and filled == text and not missing and _is_of_old_task(text, procedure.request, task):
            open_slots[text] = None
        return filled

    target, value = step.target, ""
    if target is not None:
        own = procedure.reworded and (
            is_fixed(step.role) or step.kind == "switch"
        )  # labels, whatever a task calls them
        name = fill(target.name, constant=not own, label=own)
        within = fill(target.within, constant=not procedure.reworded, label=own)
        chosen = step.varies or is_called_so(bare(name), procedure.request)
        if own and chosen and name == target.name and _is_of_old_task(bare(name), procedure.request, task):
            open_slots[name] = None  # one of several the old task chose from
        target = replace(target, name=name, within=within)
        value = _value_in(target.name, step.target.name if step.target else "", values)
    free = ("text", "value") if step.kind != "switch" or not procedure.reworded else ()
    parameters = {key: _fill_json(value, fill, constant=key in free) for key, value in step.parameters.items()}
    for key in step.hidden:
        if parameters.get(key) == step.parameters.get(key) and not _in_task(parameters.get(key), task):
            open_slots[key] = None
    for key in ("text", "value") if procedure.reworded else ():
        if parameters.get(key) != step.parameters.get(key) and not _in_task(parameters.get(key), task):
            open_slots[key] = None  # a value in the words of the old task
    seen = _where_seen(step.seen, open_slots, values, procedure) if step.seen and open_slots else None
    return replace(step, target=target, parameters=parameters, unbound=tuple(open_slots), value=value, seen=seen)


def _where_seen(seen: LookedUp, open_slots: Iterable[str], values: Values, procedure: Procedure) -> LookedUp:
    """Where the value of an open slot is to be looked up in the new task."""
    told = (SLOT_TYPE.fullmatch(procedure.slots[name]) for name in open_slots if name in procedure.slots)
    kind = next((found["type"] for found in told if found), "text")
    return replace(seen, key=values.by_number.get(abs(seen.beside), "") if seen.beside else "", value_type=kind)


def _in_task(value: Any, task: str) -> bool:
    return isinstance(value, str) and bool(value) and _stands_in(value, task)


def _value_in(name: str, before: str, values: Values) -> str:
    """The longest value of the new task in a name that had another one in its place, or had a slot."""
    if name == before and not any(_stands_in(one, before) for one in values.words):
        return ""
    held = [one for one in (*values.slots.values(), *values.words.values()) if one and _stands_in(one, name)]
    return max(held, key=len, default="")


def _fill_json(value: Any, fill: Any, *, constant: bool = False) -> Any:
    if isinstance(value, str):
        return fill(value, constant=constant)
    if isinstance(value, Mapping):
        return {name: _fill_json(item, fill, constant=name in ("text", "value")) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_fill_json(item, fill) for item in value]
    return value


def _fill(text: str, values: Values) -> tuple[str, list[str]]:
    """The text with placeholders and words of the old task replaced, and the names of what could not be."""
    missing: list[str] = []

    def slot(match: re.Match[str]) -> str:
        name = match[1] or "secret"
        if name not in values.slots:
            missing.append(name)
        return values.slots.get(name, match[0])

    parts = _MARK.split(text)
    if len(parts) > 1:
        return _MARK.sub(slot, text), missing
    missing += [one for one in values.foreign if one and _stands_in(one, text)]
    return _replaced(text, values.words), missing


def _replaced(text: str, words: Mapping[str, str]) -> str:
    """Old words replaced by new ones in any case, the longest first, each place once."""
    known = sorted((one for one in words if one and one in text.casefold()), key=len, reverse=True)
    if not known:
        return text
    pattern = "|".join(rf"(?<!\w){re.escape(one)}(?!\w)" for one in known)
    return re.sub(pattern, lambda match: _cased(match[0], words[match[0].casefold()]), text, flags=re.IGNORECASE)


def _cased(old: str, new: str) -> str:
    """`new`, with a capital where `old` has one and `new` is an ordinary word: a button "Dark" for "light"."""
    return new.capitalize() if old[:1].isupper() and new.isalpha() and new.islower() else new


def _stands_in(words: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE) is not None


def _is_of_old_task(text: str, old: str, new: str) -> bool:
    """True for a name that the old task says and of which the new one says no word: whose is it, then?"""
    if not text or not _stands_in(text, old):
        return False
    own = {stem(word) for word in _WORD.findall(text.casefold()) if word not in SMALL_WORDS}
    return bool(own) and own.isdisjoint(stem(word) for word in _WORD.findall(new.casefold()))


def _trusted(answer: Mapping[str, str], asked: Mapping[str, str], task: str) -> dict[str, str]:
    """Of an answer what was asked for, stands in the task, and is of the type the slot had."""
    found = {}
    for name, value in answer.items():
        if name not in asked or not isinstance(value, str) or not value.strip() or not _stands_in(value, task):
            continue
        told = SLOT_TYPE.fullmatch(asked[name])
        wanted = told["type"] if told else "text"
        if wanted in ("text", name) or slot_type(value) == wanted or wanted not in _CHECKED_TYPES:
            found[name] = value
    return found


_CHECKED_TYPES = frozenset("email url date time number phone formula path file".split())
