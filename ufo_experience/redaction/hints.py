"""Patterns that know what every match of theirs holds: a text without it is not searched.

A secret is looked for by some sixty patterns, and hardly a text of a log holds any of the words they begin with.
Looking for the words takes a thirtieth of the time of looking for the patterns, and a pattern is compiled when it is
needed first. `tests/test_redaction_hints.py` derives from each pattern that no match can do without its hints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from ufo_experience.text import lazy_re as re

_DIGIT = re.compile(r"\d")
# Letters that equal another letter when case is ignored, and whose lower case is not that letter.
_OTHER_CASE = re.compile(
    "[\u0130\u0131\u017f\u00b5\u0345\u0370-\u03ff\u1c80-\u1c88\u1e9b\u1fbe-\u1fe3\u212a\ufb05\ufb06]"
)

compiled = cache(re.compile)  # a pattern, compiled at its first use; there are as many as the source holds


class Hinted(NamedTuple):
    """A pattern; every match holds one of `hints` (lower case; none: not known) and, if so said, a digit."""

    source: str
    hints: frozenset[str]
    digit: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled."""
        return compiled(self.source)


def hinted(source: str, hints: str = "", *, digit: bool = False) -> Hinted:
    """A pattern with its hints, which are separated by commas or, if there are none, by spaces."""
    words = hints.split(",") if "," in hints else hints.split()
    return Hinted(source, frozenset(words), digit)


def hints_of(patterns: Iterable[Hinted]) -> frozenset[str]:
    """Every hint of some patterns."""
    return frozenset(hint for one in patterns for hint in one.hints)


class Searched:
    """A text, and which of `hints` it holds: found out once for all patterns."""

    def __init__(self, text: str, hints: frozenset[str]) -> None:
        self.text = text
        self.has_digit = _DIGIT.search(text) is not None
        lowered = text.lower()
        self._is_plain = text.isascii() or _OTHER_CASE.search(text) is None
        self._there = {hint for hint in hints if hint in lowered}

    def matches(self, one: Hinted) -> Iterator[re.Match[str]]:
        """The matches of a pattern, in order."""
        if one.digit and not self.has_digit:
            return iter(())
        if self._is_plain and one.hints and one.hints.isdisjoint(self._there):
            return iter(())
        return one.pattern.finditer(self.text)
