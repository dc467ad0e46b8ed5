"""The frame of a request: its words in order, and which of them are values rather than part of the procedure.

Roles come from what a request says (quotes, numbers, dates, addresses, file names) and from what the steps of a record
did: a word that was typed or chosen is a value, a word on a control that was clicked belongs to the procedure. Letter
case decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cached_property
from itertools import pairwise, zip_longest
from sys import intern

from ufo_experience.dataclass import dataclass
from ufo_experience.text import lazy_re as re
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


@dataclass(frozen=True)
class Frame:
    """Stems in order, what kind of value each is (empty: part of the procedure), and its entries in the thesaurus.

    `clicked` are the stems on controls that the steps used, `clicked_entries` what these stand for. Of a record `names`
    are the stems written in capitals (those of a query decide nothing), and `marked` the kinds its request alone gives.
    """

    stems: tuple[str, ...]
    kinds: tuple[str, ...]
    entries: tuple[Entries, ...]
    clicked: frozenset[str] = frozenset()
    clicked_entries: Entries = frozenset()
    names: frozenset[str] = frozenset()
    marked: tuple[str, ...] = ()

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
    def is_known(self) -> tuple[bool, ...]:
        """Of each word whether it is one of the thesaurus, and no value."""
        is_known = thesaurus().is_known
        words = zip(self.stems, self.kinds, self.entries, strict=True)
        return tuple(not kind and bool(found or is_known(one)) for one, kind, found in words)

    @cached_property
    def value_words(self) -> frozenset[str]:
        """The stems that may be others in another run: values, what holds a digit, names that are no known words."""
        names = self.names
        parts = zip(self.stems, self.kinds, self.is_known, strict=True)
        return frozenset(
            one for one, kind, known in parts if kind or (one in names and not known) or not _DIGITS.isdisjoint(one)
        )

    @cached_property
    def open_places(self) -> frozenset[int]:
        """The places of the words of a record that may be others in another run, whether or not its steps click them:
        values, what holds a digit, names, and a word between two of them ("Budget draft Q3")."""
        words = enumerate(zip(self.stems, self.kinds, self.marked, strict=True))
        found = {
            place for place, (one, *kinds) in words if any(kinds) or one in self.names or not _DIGITS.isdisjoint(one)
        }
        return frozenset(found.union(place for place in self.content if {place - 1, place + 1} <= found))

    @cached_property
    def content(self) -> tuple[int, ...]:
        """The places of the words that say something by themselves."""
        return tuple(place for place, one in enumerate(self.stems) if one not in COMMON and one not in PREPOSITIONS)

    @cached_property
    def own(self) -> Entries:
        """What the words stand for that are no values."""
        entries = (found for found, kind in zip(self.entries, self.kinds, strict=True) if not kind)
        return frozenset[str]().union(*entries)

    @cached_property
    def related(self) -> tuple[Entries, ...]:
        """Of each word what is related to what it stands for."""
        return tuple(thesaurus().related(found) if found else found for found in self.entries)

    @cached_property
    def known(self) -> Entries:
        """What is related to the words that are no values."""
        pairs = zip(self.related, self.kinds, strict=True)
        return frozenset[str]().union(*(found for found, kind in pairs if not kind))

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
        return self.object_words[-1] if self.object_words else -1

    @cached_property
    def object_words(self) -> tuple[int, ...]:
        """The places of the words of what the deed is done to, values left out."""
        words = enumerate(zip(self.roles, self.kinds, self.is_measure, strict=True))
        return tuple(place for place, (role, kind, when) in words if role == "object" and not (kind or when))

    @cached_property
    def value_kinds(self) -> frozenset[str]:
        """The kinds of the values that a request marks, letter case aside."""
        return frozenset(kind for kind in self.kinds if kind and kind not in (VARIED, TYPED, "name"))

    @cached_property
    def slots(self) -> frozenset[str]:
        """The prepositions behind which nothing but values and unknown words stand ("to Jane"): anything may stand."""
        fixed = {
            role
            for place, role in enumerate(self.roles)
            if self.is_known[place] or (not self.kinds[place] and self.stems[place] in self.clicked)
        }
        return PREPOSITIONS.intersection(self.roles) - fixed

    @cached_property
    def is_measure(self) -> tuple[bool, ...]:
        """Of each word whether it is the unit behind a number in an argument ("with 5 columns"), or says when."""
        before = ("", *self.kinds)
        words = zip(self.stems, self.roles, before, strict=False)
        return tuple(one in _TIMES or (role in PREPOSITIONS and kind == "number") for one, role, kind in words)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """Of each stem its role: `deed` (the first word), `object`, the preposition it stands behind, `clause` behind
        what begins one, or empty."""
        role, found = "deed", []
        for one, lead in zip(self.stems, self.leads, strict=True):
            role = "clause" if role == "object" and one in _CLAUSE_BEGINS else lead or role
            found.append("" if one in PREPOSITIONS or one in COMMON else role)
            role = "object" if found[-1] == "deed" else role
        return tuple(found)

    @cached_property
    def telling(self) -> tuple[int, ...]:
        """The places of the known words that say something and are no values."""
        words = enumerate(zip(self.roles, self.leads, self.is_known, self.is_measure, strict=True))
        return tuple(
            place for place, (role, lead, known, when) in words if role and known and not (when or lead in TEXT_FOLLOWS)
        )

    @cached_property
    def leads(self) -> tuple[str, ...]:
        """Of each stem the preposition it stands behind (its own, where it is one), or empty."""
        lead, found = "", []
        for one in self.stems:
            lead = one if one in PREPOSITIONS else lead
            found.append(lead)
        return tuple(found)


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
def record_frame(text: str, clicked: str = "", typed: str = "") -> Frame:
    """The frame of a record's request, its roles corrected by what its steps clicked and typed (texts of words)."""
    frame = request_frame(text)
    names, entries = _on_controls(clicked)
    typed_words = _typed_words(typed)
    kinds = tuple(_role(one, kind, names, typed_words) for one, kind in zip(frame.stems, frame.kinds, strict=True))
    return Frame(frame.stems, kinds, frame.entries, names, entries, _names(text) & frame.words, frame.kinds)


def text_of(frame: Frame) -> str:
    """A record's frame as the catalog keeps it, without what its controls and the thesaurus tell."""
    names = " ".join(sorted(frame.names))
    marked = "=" if frame.marked == frame.kinds else ",".join(frame.marked)
    return "\x1f".join((" ".join(frame.stems), ",".join(frame.kinds), marked, names))


def read_frame(text: str, clicked: str) -> Frame:
    """The frame of a text that `text_of` made, and of what the steps clicked."""
    said, kinds, marked, names = text.split("\x1f")
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
