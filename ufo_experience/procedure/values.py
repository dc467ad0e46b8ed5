"""The values of a new request in the texts of an old run: what was said of the old one is said of the new one.

values.fill("Mail to Tom Kent")     ("Mail to Maria Lopez", [])      the list tells the kind of what is open
values.unserved                     the old values that no text has held so far
"""

import re
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

from ufo_experience.procedure.runs import request_of
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.redact.typed import FIXED, MARKS, SLOT_TYPE, slot_type, words_between
from ufo_experience.request import Request, find_whole, holds
from ufo_experience.retrieve.pairing import beside_values, pair, stems_of
from ufo_experience.retrieve.tasks import said_in
from ufo_experience.retrieve.thesaurus import thesaurus
from ufo_experience.schema import Experience, Trust

_NUMBERS = re.compile(r"\d+")
_BESIDE = ",.;:!?()\"'“”‘’"  # stands beside a value and is none of it


class Values:
    """What stands for what between the request of a run and a new one; `served` are old values that some text held,
    `constants` what independent runs typed alike, by its digest."""

    def __init__(self, run: Experience, new: Request, constants: Mapping[str, str] | None = None) -> None:
        self.run, self.old, self.new = run, request_of(run), new
        self.said = said_in(run)
        self.pairing = pair(self.old, new, self.said)
        self.new_of = self.pairing.values
        self.all = (*self.new_of, *self.pairing.left)  # the values of the old request, in lower case
        self.served: set[str] = set()
        self._parsed = [value.text.casefold() for value in self.old.values]
        self._constants = constants or {}

    @cached_property
    def said_now(self) -> frozenset[str]:
        """The stems of the new request."""
        return stems_of(self.new.text)

    @cached_property
    def application(self) -> frozenset[str]:
        """The stems of the application's name, where the new request says it."""
        name = self.run.state.application or ""
        return stems_of(name) if holds(self.new.text, name) else frozenset()

    @property
    def unserved(self) -> list[str]:
        return [value for value in self.all if value not in self.served]

    @cached_property
    def all_stay(self) -> bool:
        """True where the new request asks for the very same: it has each value of the old one, and says no more."""
        pairing = self.pairing
        return pairing.alike and not (pairing.added or pairing.words) and all(map(self.is_unchanged, self.all))

    def is_unchanged(self, value: str) -> bool:
        """True for an old value that the new request says, too, in the same place."""
        return self.new_of.get(value, "").casefold() == value

    @cached_property
    def template(self) -> frozenset[str]:
        """The stems of what both requests say beside their values, and of the application's name; of a request in other
        words only what names a thing of interfaces: any other word may be somebody's name."""
        said = stems_of(f"{beside_values(self.old)} {beside_values(self.new)} {self.run.state.application or ''}")
        own = stems_of(" ".join((*self.all, *self.new_of.values())))
        dropped = frozenset() if self.pairing.alike else stems_of(" ".join(self.pairing.dropped))
        return said - own - frozenset(word for word in dropped if not thesaurus().is_known(word))

    def fill(self, text: str, keep: Collection[str] = ()) -> tuple[str, list[str]]:
        """A text with new values in place of slots and of old ones (but some to `keep`), and the kinds of those that
        nothing stands for: what they were is not told."""
        missing: list[str] = []
        parts, at = [], 0
        for slot in PLACEHOLDER.finditer(text):
            value = self._of_slot(slot[0])
            if value is None:
                missing.append(self._meaning_of(slot[0]))
            parts += [self._fill_words(text[at : slot.start()], keep, missing), slot[0] if value is None else value]
            at = slot.end()
        return "".join((*parts, self._fill_words(text[at:], keep, missing))), missing

    def nth(self, number: int) -> str:
        return "".join(self._parsed[number - 1 : number]) if number else ""

    def number(self, value: float) -> tuple[Any, list[str]]:
        """A number that is part of a value of the request, as the hour of a time and the day of a date are."""
        for old in self.all:
            parts = [int(part) for part in _NUMBERS.findall(old)]
            if value in parts:
                now = _NUMBERS.findall(self.new_of.get(old, ""))
                if len(now) != len(parts):
                    return value, [slot_type(old)]
                self.served.add(old)
                return type(value)(now[parts.index(int(value))]), []
        return value, []

    def in_row(self, text: str) -> tuple[str, ...]:
        """What stands now for the values of a row: a row begins with what it is of. Of the others those that may be a
        name: a date or an amount may be another one today."""
        found = [(slot.start(), self._of_slot(slot[0]) or "") for slot in PLACEHOLDER.finditer(text)]
        found += [(find_whole(old, text.casefold()), new) for old, new in self.new_of.items() if holds(text, old)]
        first, *rest = [new for _, _, new in sorted((at, -len(new), new) for at, new in found if new)] or [""]
        others = [new for new in rest if slot_type(new) == "text" and not holds(first, new)]
        return (first, *dict.fromkeys(others)) if first else ()

    def _fill_words(self, text: str, keep: Collection[str], missing: list[str]) -> str:
        held = [value for value in self.all if value not in keep and holds(text, value)]
        self.served |= set(held)
        missing += [slot_type(value) for value in held if value not in self.new_of]
        return replaced(text, {value: self.new_of[value] for value in held if value in self.new_of})

    def _of_slot(self, slot: str) -> str | None:
        """What stands for a placeholder; None where nothing does."""
        name = slot.strip("{}<>")
        kind = self.run.slots.get(name, "")
        if self.run.trust is Trust.APPROVED and kind.startswith(FIXED):
            return kind[len(FIXED) :].strip()  # a person says so
        if (agreed := self._constants.get(self.run.digests.get(name, ""))) is not None:
            return agreed
        told = SLOT_TYPE.fullmatch(kind)
        now = self._now(slot if slot in self.all else self._was(told))
        return f"{now}{self._mark_behind(now)}" if now and told and told["mark"] else now

    def _mark_behind(self, value: str) -> str:
        """The mark that ends a sentence of the new request behind a value; "" for none."""
        text = self.new.text
        end = find_whole(value.casefold(), text.casefold()) + len(value)
        return text[end : end + 1] if text[end : end + 1] in MARKS else ""

    def _was(self, told: re.Match[str] | None) -> str:
        """What the old request says in the place of a placeholder; "" where that is not known."""
        if told and told["slot"]:
            return self.nth(int(told["slot"]))
        if told and told["first"]:
            words = words_between(self.old.text, int(told["first"]), int(told["last"] or told["first"]))
            return words.strip(_BESIDE)
        return ""

    def _now(self, said: str) -> str | None:
        """What stands for words of the old request: they are values, or so many words of a value of as many."""
        held = {old: new for old, new in self.new_of.items() if holds(said, old)}
        self.served |= {said.casefold()}.intersection(self.all)
        if held and not replaced(said, dict.fromkeys(held, "")).strip():
            self.served |= held.keys()
            return replaced(said, held)
        for old, new in self.new_of.items():
            parts, now, at = old.split(), new.split(), find_whole(said.casefold(), old)
            if at >= 0 and len(parts) == len(now):
                self.served.add(old)
                start = len(old[:at].split())
                return " ".join(now[start : start + len(said.split())])
        return None

    def _meaning_of(self, slot: str) -> str:
        told = SLOT_TYPE.fullmatch(self.run.slots.get(slot.strip("{}<>"), ""))
        return told["meaning"] or told["type"] if told else "text"


def replaced(text: str, words: Mapping[str, str]) -> str:
    """Old words replaced by new ones in any case, the longest first, each place once."""
    for old in sorted(words, key=len, reverse=True):
        at = find_whole(old, text.casefold())
        if at >= 0:
            before, after = text[:at], text[at + len(old) :]
            rest = {word: new for word, new in words.items() if word != old}
            return f"{replaced(before, rest)}{_cased(text[at : at + len(old)], words[old])}{replaced(after, words)}"
    return text


def _cased(old: str, new: str) -> str:
    """`new`, with a capital where `old` has one and `new` is an ordinary word: a button "Dark" for "light"."""
    return new.capitalize() if old[:1].isupper() and new.isalpha() and new.islower() else new
