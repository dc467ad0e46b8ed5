"""Whether two tasks say the same but for their values, by the words they are made of.

Nothing on a screen tells a way that fits it and leads elsewhere: whoever acts on a remembered way without anybody
looking, and whoever counts runs as runs of one task, goes by the words.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from ufo_experience.text.remembered import remembered
from ufo_experience.text.slots import mask_slots
from ufo_experience.text.terms import stem

SMALL_WORDS = frozenset(
    "a an the of to in on at by for from with and or as is it my me all into up out off not no".split()
)
_ALIKE = 0.6  # of the words of two tasks, for them to be one
_LONGEST = 4_096  # characters that are compared
_WORD = re.compile(r"[^\W_]+")
_VALUE = re.compile(r"<\w+>")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


def reads_alike(one: str, other: str) -> bool:
    """True for two tasks that but for their values say the same, or nearly the same, in the same words."""
    return masked_alike(_said(one)[0], _said(other)[0])


def masked_alike(one: str, other: str) -> bool:
    """`reads_alike` of two tasks whose values are masked already (`mask_slots`)."""
    if one == other:
        return True
    first, second = _beside_values(one), _beside_values(other)
    return bool(first) and len(first & second) >= _ALIKE * max(len(first), len(second))


def adds_words(one: str, other: str) -> bool:
    """True when one of two tasks says all that the other says, and more: "remove the flag" and "flag it"."""
    (_, first), (_, second) = _said(one), _said(other)
    return first < second or second < first


def words_more(one: str, other: str) -> tuple[str, ...]:
    """What one of two tasks says beside all that the other says; none where each has words of its own."""
    (_, first), (_, second) = _said(one), _said(other)
    more = first ^ second if adds_words(one, other) else ()
    said = (word for text in (one, other) if more for word in words_in(_VALUE.sub(" ", _said(text)[0])))
    return tuple(dict.fromkeys(word for word in said if word not in SMALL_WORDS and stem(word) in more))


def words_beside_values(text: str) -> frozenset[str]:
    """The stems of what a text says beside its values, but for the smallest words."""
    return _said(text)[1]


def words_in(text: str) -> list[str]:
    """The words of a text, lower case; scripts without blanks give pairs of characters."""
    found: list[str] = []
    for word in _WORD.findall(plain_text(text)):
        if word.isascii():
            found.append(word)
            continue
        for piece in _UNSPACED.findall(word):
            found += ["".join(two) for two in pairwise(piece)] or [piece]
        found += _UNSPACED.sub(" ", word).split()
    return found


def plain_text(text: str) -> str:
    """A text for comparing: compatibility forms, no invisible characters, lower case, single spaces."""
    if text.isascii() and text.isprintable():
        return " ".join(text[:_LONGEST].lower().split())
    folded = unicodedata.normalize("NFKC", text[:_LONGEST]).casefold()
    return " ".join("".join(c for c in folded if unicodedata.category(c) not in ("Cf", "Cc") or c.isspace()).split())


@remembered(1_024)
def _said(text: str) -> tuple[str, frozenset[str]]:
    """A task without its values, and what it says beside them: the stems of its words, but for the smallest."""
    masked = mask_slots(text)
    return masked, _beside_values(masked)


@remembered(1_024)
def _beside_values(masked: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words_in(_VALUE.sub(" ", masked)) if word not in SMALL_WORDS)
