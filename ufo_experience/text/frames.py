"""The frame of a request: its words in order, and which of them are values rather than part of the procedure.

Roles come from what a request says (quotes, numbers, dates, addresses, file names) and from what the steps of a record
did: a word that was typed or chosen is a value, a word on a control that was clicked belongs to the procedure. Letter
case decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, zip_longest
from sys import intern
from typing import NamedTuple

from ufo_experience.text.remembered import remembered
from ufo_experience.text.slots import cut_values
from ufo_experience.text.terms import COMMON, stem, without_politeness, words
from ufo_experience.text.thesaurus import SKIPPED, Entries, thesaurus

_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "ninety": "90", "hundred": "100", "dozen": "12"}
_NUMBER = re.compile(r"\b(?:" + "|".join(word for word in _NUMBER_WORDS if word not in ("zero", "one")) + r")\b")


PREPOSITIONS = frozenset(
    stem(word)
    for word in "to about from for with regarding named called titled saying at until in on into onto of by as between"
    " before after under behind over through without via per".split()
)
TEXT_FOLLOWS = frozenset(stem(word) for word in "about regarding named called titled saying".split())
_CLAUSE_BEGINS = frozenset("that which who so when where if because while".split())  # the object ends before them
_TIMES = frozenset(
    stem(word)
    for word in "today tonight tomorrow yesterday morning noon afternoon evening night midnight hour minute day"
    " week weekend month quarter year january february march april june july august september october november december"
    " monday tuesday wednesday thursday friday saturday sunday".split()
)
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = frozenset("0123456789")
VARIED = "varied"  # the kind of a value that only other runs of the procedure show to be one
TYPED = "typed"  # the kind of a value that only the steps show to be one
_UNMARKED = frozenset({"", VARIED, TYPED, "name"})
_NONE: Entries = frozenset()


class Reading(NamedTuple):
    """What the words of a request are for, all found in one pass.

    Of each word: `roles` are `deed` (the first word), `object`, the preposition it stands behind, `clause` behind what
    begins one, or empty; `leads` the preposition it stands behind (its own, where it is one), or empty; `is_known`
    whether it is one of the thesaurus, and no value; `is_measure` whether it is the unit behind a number in an argument
    ("with 5 columns"), or says when. Places: `content` of the words that say something by themselves, `telling` of the
    known or pressed ones that do and are no values, `object_words` of what the deed is done to, values left out.
    `value_words` are the stems that may be others in another run: values, what holds a digit, names that are no known
    words. `slots` are the prepositions behind which nothing but values and unknown words stand ("to Jane"): anything
    may stand there.
    """

    roles: tuple[str, ...]
    leads: tuple[str, ...]
    is_known: tuple[bool, ...]
    is_measure: tuple[bool, ...]
    content: tuple[int, ...]
    telling: tuple[int, ...]
    object_words: tuple[int, ...]
    value_words: frozenset[str]
    slots: frozenset[str]


@dataclass(frozen=True)
class Frame:
    """Stems in order, what kind of value each is (empty: part of the procedure), and its entries in the thesaurus.

    `clicked` are the stems on controls that the steps used, `clicked_entries` what these stand for. Of a record `names`
    are the stems written in capitals (those of a query decide nothing), `marked` the kinds its request alone gives, and
    `pressed` the stems that name features of the application which the steps press.
    """

    stems: tuple[str, ...]
    kinds: tuple[str, ...]
    entries: tuple[Entries, ...]
    clicked: frozenset[str] = frozenset()
    clicked_entries: Entries = frozenset()
    names: frozenset[str] = frozenset()
    marked: tuple[str, ...] = ()
    pressed: frozenset[str] = frozenset()

    def with_values(self, places: Collection[int]) -> Frame:
        """The same with the words at these places as values."""
        kinds = tuple(VARIED if place in places else kind for place, kind in enumerate(self.kinds))
        return replace(self, kinds=kinds)

    @cached_property
    def words(self) -> frozenset[str]:
        """All stems."""
        return frozenset(self.stems)

    @cached_property
    def places(self) -> dict[str, int]:
        """The last place of each stem."""
        return {stem: place for place, stem in enumerate(self.stems)}

    @cached_property
    def beside_deed(self) -> tuple[str, ...]:
        """The different stems beside the deed that say something."""
        places = self.places.items()
        return tuple(stem for stem, place in places if stem not in COMMON and place != self.deed)

    @cached_property
    def reading(self) -> Reading:
        """What the words are for."""
        return _read(self)

    @cached_property
    def open_places(self) -> frozenset[int]:
        """The places of the words of a record that may be others in another run, whether or not its steps click them:
        values, what holds a digit, names, and a word between two of them ("Budget draft Q3")."""
        words = enumerate(zip(self.stems, self.kinds, self.marked, strict=True))
        found = {
            place for place, (one, *kinds) in words if any(kinds) or one in self.names or not _DIGITS.isdisjoint(one)
        }
        return frozenset(found.union(place for place in self.reading.content if {place - 1, place + 1} <= found))

    @cached_property
    def own(self) -> Entries:
        """What the words stand for that are no values."""
        return _NONE.union(*[found for found, kind in zip(self.entries, self.kinds, strict=True) if not kind])

    @cached_property
    def related(self) -> tuple[Entries, ...]:
        """Of each word what is related to what it stands for."""
        related = thesaurus().related
        return tuple([related(found) if found else found for found in self.entries])

    @cached_property
    def known(self) -> Entries:
        """What is related to the words that are no values."""
        return _NONE.union(*[found for found, kind in zip(self.related, self.kinds, strict=True) if not kind])

    @cached_property
    def deed(self) -> int:
        """The place of the word that says what to do; -1 where the first one says little ("make", "where") or names a
        thing ("page to pdf")."""
        first = next((place for place, one in enumerate(self.stems) if one not in SKIPPED), -1)
        if first < 0 or self.kinds[first] or thesaurus().names_thing(self.stems[first]):
            return -1
        said = self.stems[first] not in COMMON or any(" " in one for one in self.entries[first])
        return first if said else -1

    @property
    def object(self) -> int:
        """The place of the last word of what the deed is done to; -1 where there is none."""
        words = self.reading.object_words
        return words[-1] if words else -1

    @cached_property
    def value_kinds(self) -> frozenset[str]:
        """The kinds of the values that a request marks, letter case aside."""
        return frozenset(self.kinds).difference(_UNMARKED)


def _read(frame: Frame) -> Reading:
    roles: list[str] = []
    leads: list[str] = []
    is_known: list[bool] = []
    is_measure: list[bool] = []
    content: list[int] = []
    telling: list[int] = []
    things: list[int] = []
    values: list[str] = []
    fixed: set[str] = set()
    lead, place_of, before = "", "deed", ""
    words = enumerate(zip(frame.stems, frame.kinds, frame.entries, strict=True))
    for place, (one, kind, entries) in words:
        is_preposition, says_little, begins_clause, is_time, has_digit, stands_alone = _traits(one)
        lead = one if is_preposition else lead
        place_of = "clause" if place_of == "object" and begins_clause else lead or place_of
        role = "" if says_little else place_of
        known = not kind and bool(entries or stands_alone)
        measure = is_time or (before == "number" and role in PREPOSITIONS)
        if not says_little:
            content.append(place)
            if (known or one in frame.pressed) and not (kind or measure or lead in TEXT_FOLLOWS):
                telling.append(place)
            if role == "object" and not (kind or measure):
                things.append(place)
        if kind or has_digit or (one in frame.names and not known):
            values.append(one)
        if known or (not kind and one in frame.clicked):
            fixed.add(role)
        roles.append(role)
        leads.append(lead)
        is_known.append(known)
        is_measure.append(measure)
        place_of, before = "object" if role == "deed" else place_of, kind
    return Reading(
        tuple(roles),
        tuple(leads),
        tuple(is_known),
        tuple(is_measure),
        tuple(content),
        tuple(telling),
        tuple(things),
        frozenset(values),
        PREPOSITIONS.intersection(roles) - fixed,
    )


@remembered(8_192)
def _traits(stem: str) -> tuple[bool, ...]:
    """Of a stem whether it is a preposition, says little by itself, begins a clause, says when, holds a digit, and is
    one of the thesaurus."""
    is_preposition = stem in PREPOSITIONS
    return (
        is_preposition,
        is_preposition or stem in COMMON,
        stem in _CLAUSE_BEGINS,
        stem in _TIMES,
        not _DIGITS.isdisjoint(stem),
        thesaurus().is_known(stem),
    )


def digits(text: str) -> str:
    """Lower case, number words as digits: `Two rows` becomes `2 rows`."""
    return _NUMBER.sub(lambda match: _NUMBER_WORDS[match.group()], text.lower())


@remembered(256, 512)
def request_frame(text: str) -> Frame:
    """The frame of a request, politeness at its start left out."""
    return _frame(text)


def _frame(text: str) -> Frame:
    stems: list[str] = []
    kinds: list[str] = []
    for word, kind in cut_values(without_politeness(digits(text))):
        found = words(word)
        stems += found
        kinds += [kind] * len(found)
    return Frame(tuple(stems), tuple(kinds), tuple(thesaurus().entries(stems)))


_CLAUSE_END = re.compile(r"[.!?;:]\s|\n|,\s(?=(?:and|but|so|please|then|because|could|can|would)\b)|\s[-–—]\s")
_LEAST_IN_CLAUSE = 3  # words
_CLAUSES = 12  # of a request that are compared by their words, the first half and the last


@remembered(64, 512)
def request_frames(text: str) -> tuple[Frame, ...]:
    """The frame of a request; where it has several clauses that of each, too, any of which may be the task, and between
    them that of both neighbours, over which it may be spread."""
    clauses = _clauses(text.lower(), _CLAUSES)
    frames = [_frame(clause) for clause in clauses]
    joined = [_joined(one, other) for one, other in pairwise(frames)]
    between = (frame for pair in zip_longest(frames, joined) for frame in pair if frame)
    return (_frame(text), *between) if frames else (request_frame(text),)


def _joined(one: Frame, other: Frame) -> Frame:
    return Frame(one.stems + other.stems, one.kinds + other.kinds, one.entries + other.entries)


def _clauses(text: str, most: int) -> list[str]:
    """The clauses of a text of several, at most so many: from its first half and from its end."""
    pieces = [piece.strip() for piece in _CLAUSE_END.split(text)]
    clauses = list(dict.fromkeys(piece for piece in pieces if len(words(piece)) >= _LEAST_IN_CLAUSE))
    return [*clauses[: most // 2], *clauses[most // 2 :][-(most // 2) :]] if len(pieces) > 1 else []


@remembered(256, 2_048)  # for a record that is learned; retrieval keeps what it reads
def record_frame(text: str, clicked: str = "", typed: str = "", features: frozenset[str] = frozenset()) -> Frame:
    """The frame of a record's request, its roles corrected by what its steps clicked and typed (texts of words), and by
    the stems on what they pressed of the application's own."""
    frame = request_frame(text)
    names, entries = _on_controls(clicked)
    typed_words = _typed_words(typed)
    kinds = tuple(_role(one, kind, names, typed_words) for one, kind in zip(frame.stems, frame.kinds, strict=True))
    pressed = _pressed(frame.stems, features) if features else features
    return Frame(frame.stems, kinds, frame.entries, names, entries, _names(text) & frame.words, frame.kinds, pressed)


def _pressed(stems: Sequence[str], features: Set[str]) -> frozenset[str]:
    """The stems of a request that name features: not its first word, nor what a thing is called ("the sheet Stock")."""
    pairs = enumerate(pairwise(stems))
    return frozenset(
        one
        for place, (before, one) in pairs
        if one in features and one not in COMMON and (place == 0 or not calls(before)) and one not in PREPOSITIONS
    )


def calls(stem: str) -> bool:
    """True for a word that may stand before a name: that of a thing that has one, as far as the thesaurus tells."""
    return stem not in PREPOSITIONS and thesaurus().is_known(stem)


def text_of(frame: Frame) -> str:
    """A record's frame as the catalog keeps it, without what its controls and the thesaurus tell."""
    names = " ".join(sorted(frame.names))
    marked = "=" if frame.marked == frame.kinds else ",".join(frame.marked)
    return "\x1f".join((" ".join(frame.stems), ",".join(frame.kinds), marked, names, " ".join(sorted(frame.pressed))))


def read_frame(text: str, clicked: str) -> Frame:
    """The frame of a text that `text_of` made, and of what the steps clicked."""
    said, kinds, marked, names, pressed = text.split("\x1f")
    stems = tuple(map(intern, said.split()))  # the same words stand in many requests
    if not stems:
        return record_frame("", clicked)
    on_controls, entries = _on_controls(clicked)
    return Frame(
        stems,
        _kinds(kinds),
        tuple(thesaurus().entries(stems)),
        on_controls,
        entries,
        frozenset(names.split()) if names else frozenset(),
        _kinds(kinds if marked == "=" else marked),
        frozenset(pressed.split()) if pressed else frozenset(),
    )


@remembered(512)
def _kinds(text: str) -> tuple[str, ...]:
    return tuple(map(intern, text.split(",")))


def _names(text: str) -> frozenset[str]:
    """The stems of what stands in capitals behind the first word of a sentence."""
    if not in_sentence_case(text):
        return frozenset()
    return frozenset(one for piece, kind in cut_values(text) if kind == "name" for one in words(piece))


def in_sentence_case(text: str) -> bool:
    """True when capitals may mark names: some ordinary word behind the first is written in lower case."""
    behind = _LETTERS.findall(text)[1:]
    return len(behind) < 2 or any(word.islower() and stem(word) not in COMMON for word in behind)


@remembered(1_024, 512)  # runs of one task use the same controls
def _on_controls(clicked: str) -> tuple[frozenset[str], Entries]:
    """The stems on controls, and what they stand for."""
    stems = words(clicked)
    return frozenset(stems), frozenset[str]().union(*thesaurus().entries(stems))


@remembered(1_024, 512)
def _typed_words(typed: str) -> frozenset[str]:
    return frozenset(words(digits(typed)))


def _role(one: str, kind: str, clicked: Iterable[str], typed: Iterable[str]) -> str:
    if one in clicked:
        return ""
    return kind or (TYPED if one in typed else "")


_READABLE = {"text": "text", "url": "address", "email": "email address", "file": "file", "name": "name"}


@remembered(2_048, 512)
def readable_intent(text: str) -> str:
    """A request in lower case with the values it marks as such (quotes, numbers, addresses, …) as plain words.

    `Go to slide 4` becomes `go to slide number`: nothing of a value is left, and requests that differ in values alone
    are one text. A request of nothing but values stays as it is.
    """
    pieces = cut_values(without_politeness(digits(text)))
    named = [_READABLE.get(kind, kind) if kind else word for word, kind in pieces]
    return " ".join(named) if any(not kind and word.isalnum() for word, kind in pieces) else text.lower()
