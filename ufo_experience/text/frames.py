"""The frame of a request: its words in order, and which of them are values rather than part of the procedure.

Roles come from what a request says (quotes, numbers, dates, addresses, file names) and from what the steps of a record
did: a word that was typed or chosen is a value, a word on a control that was clicked belongs to the procedure. Letter
case decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ufo_experience.text.remembered import remembered
from ufo_experience.text.slots import cut_values
from ufo_experience.text.terms import without_politeness, words
from ufo_experience.text.thesaurus import Concepts, thesaurus

_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "ninety": "90", "hundred": "100", "dozen": "12"}
_NUMBER = re.compile(r"\b(?:" + "|".join(word for word in _NUMBER_WORDS if word not in ("zero", "one")) + r")\b")


TYPED = "typed"  # the kind of a value that only the steps show to be one


@dataclass(frozen=True)
class Frame:
    """Stems in order, what kind of value each is (empty: part of the procedure), and its concepts.

    `clicked` are the stems on controls that the steps used, `clicked_concepts` what these stand for.
    """

    stems: tuple[str, ...]
    kinds: tuple[str, ...]
    concepts: tuple[Concepts, ...]
    clicked: frozenset[str] = frozenset()
    clicked_concepts: Concepts = frozenset()


def digits(text: str) -> str:
    """Lower case, number words as digits: `Two rows` becomes `2 rows`."""
    return _NUMBER.sub(lambda match: _NUMBER_WORDS[match.group()], text.lower())


@remembered(8_192)
def request_frame(text: str) -> Frame:
    """The frame of a request, politeness at its start left out."""
    stems: list[str] = []
    kinds: list[str] = []
    for word, kind in cut_values(without_politeness(digits(text))):
        found = words(word)
        stems += found
        kinds += [kind] * len(found)
    return Frame(tuple(stems), tuple(kinds), tuple(thesaurus().concepts(stems)))


@remembered(8_192, 2_048)
def record_frame(text: str, clicked: str = "", typed: str = "") -> Frame:
    """The frame of a record's request, its roles corrected by what its steps clicked and typed (texts of words)."""
    frame = request_frame(text)
    on_controls = words(clicked)
    typed_words, names = frozenset(words(digits(typed))), frozenset(on_controls)
    kinds = tuple(_role(one, kind, names, typed_words) for one, kind in zip(frame.stems, frame.kinds, strict=True))
    concepts = frozenset[int]().union(*thesaurus().concepts(on_controls))
    return Frame(frame.stems, kinds, frame.concepts, names, concepts)


def _role(one: str, kind: str, clicked: Iterable[str], typed: Iterable[str]) -> str:
    if one in clicked:
        return ""
    return kind or (TYPED if one in typed else "")


_READABLE = {"text": "text", "url": "address", "email": "email address", "file": "file", "name": "name"}


@remembered(8_192)
def readable_intent(text: str) -> str:
    """A request in lower case with the values it marks as such (quotes, numbers, addresses, …) as plain words.

    `Go to slide 4` becomes `go to slide number`: nothing of a value is left, and requests that differ in values alone
    are one text. A request of nothing but values stays as it is.
    """
    pieces = cut_values(without_politeness(digits(text)))
    named = [_READABLE.get(kind, kind) if kind else word for word, kind in pieces]
    return " ".join(named) if any(not kind and word.isalnum() for word, kind in pieces) else text.lower()
