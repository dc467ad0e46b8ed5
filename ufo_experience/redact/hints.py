"""Patterns that know what every match of theirs holds: a text without it is not searched.

A secret is looked for by some sixty patterns, and hardly a text of a log holds any of the words they begin with.
Looking for the words takes a thirtieth of the time of looking for the patterns, and a pattern is compiled when it is
needed first. `tests/test_redaction_hints.py` derives from each pattern that no match can do without its hints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

_DIGIT = re.compile(r"\d")
# Letters that equal another letter when case is ignored, and whose lower case is not that letter.
_OTHER_CASE = re.compile(
    "[\u0130\u0131\u017f\u00b5\u0345\u0370-\u03ff\u1c80-\u1c88\u1e9b\u1fbe-\u1fe3\u212a\ufb05\ufb06]"
)

_GROUP = re.compile(r"\([^()]*\)")
# Letters that stand for themselves, and in capitals for no others.
_BEGINNING = re.compile("(?:[^\\\\()\\[\\]{}?*+.|^$\u0130\u0131\u017f\u212a](?![?*{]))*")

compiled = cache(re.compile)  # a pattern, compiled at its first use; there are as many as the source holds


class Hinted(NamedTuple):
    """A pattern; every match holds one of `hints` (lower case; none: not known) and at least so many digits."""

    source: str
    hints: frozenset[str]
    digits: int = 0

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled."""
        return compiled(self.source)

    def is_in(self, text: str) -> bool:
        """True when the pattern matches somewhere in a text."""
        return any(Searched(text, self.hints).matches(self))


def hinted(source: str, hints: str = "", *, digits: int = 0) -> Hinted:
    """A pattern with its hints, which are separated by commas or, if there are none, by spaces."""
    words = hints.split(",") if "," in hints else hints.split()
    return Hinted(source, frozenset(words), digits)


def begun(words: str, anywhere: str = "", *, whole: bool = False) -> Hinted:
    """A pattern of alternatives that stand where a word begins, or `anywhere`; its hints are what they begin with.

    With `whole` they must be all of the text.
    """
    flat, nested = "", f"{words}|{anywhere}" if anywhere else words
    while flat != nested:
        flat, nested = nested, _GROUP.sub(".", nested)
    beginnings = (_BEGINNING.match(one) for one in flat.split("|"))
    hints = frozenset(found[0].lower() for found in beginnings if found)
    source = rf"(?i)\A(?:{words})\Z" if whole else rf"(?i)(?<![^\W_])(?:{words})"
    return Hinted(f"{source}|(?:{anywhere})" if anywhere else source, hints)


def count_digits(text: str) -> int:
    """How many digits there are in a text, of any script."""
    return len(_DIGIT.findall(text))


def hints_of(patterns: Iterable[Hinted]) -> frozenset[str]:
    """Every hint of some patterns."""
    return frozenset(hint for one in patterns for hint in one.hints)


class Searched:
    """A text, and which of `hints` it holds: found out once for all patterns."""

    def __init__(self, text: str, hints: frozenset[str]) -> None:
        self.text = text
        self.digits = count_digits(text)
        lowered = text.lower()
        self._is_plain = text.isascii() or _OTHER_CASE.search(text) is None
        self._there = {hint for hint in hints if hint in lowered}

    def matches(self, one: Hinted) -> Iterator[re.Match[str]]:
        """The matches of a pattern, in order."""
        if one.digits > self.digits:
            return iter(())
        if self._is_plain and one.hints and one.hints.isdisjoint(self._there):
            return iter(())
        return one.pattern.finditer(self.text)
