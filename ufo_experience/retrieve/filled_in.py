"""Requests that fill in what one procedure leaves open: a run tells by its values, two by what they differ in.

"Decline the meeting Friday drinks" and "Decline the meeting Paint selection" are one task: all that differs stands
where the run has values (typed, quoted, with digits, in capitals).

"Hide Price on sheet Staff" and "Hide Margin on sheet Stock" went the same way: what they share is the task, what they
differ in are its values, whether or not quotes or capitals say so. A request of the same words with other ones there is
that task ("Hide Product on sheet Sales"), one with another word elsewhere is not.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from ufo_experience.text.frames import PREPOSITIONS
from ufo_experience.text.terms import COMMON

LIKELY = 0.9  # the score of a request that fills in what two runs of the same steps leave open
SAME_WORDS = (
    0.97  # that of one in the very words of a run, values and all: ahead of LIKELY by more than what makes equals
)
_LEAST_SHARED = 0.5  # of the words of a run, to be a task at all
_LONGEST = 4  # words of a value
_LEAST_SAID = 2  # words that a request and a run share, beside common ones
_MOST_OPEN = 4  # places that are left open
_SCOPE = frozenset("all everi whole entir both each not without except".split())
_NEGATES = frozenset("not never only don't".split())
_ARTICLES = frozenset("the a an my your his her our their this that".split())
Words = Sequence[str]
_Part = tuple[str, ...] | None  # words, or a place left open


def fills_in(asked: Words, one: Words, other: Words) -> bool:
    """True when a request says what two runs both say, and something of its own where these differ from each other."""
    shared = {*asked} & {*one} & {*other}
    if len(shared) < max(2, _LEAST_SHARED * min(len(one), len(other))):
        return False
    parts = _pattern(one, other)
    return parts is not None and _follows(tuple(asked), parts)


def has_other_values(asked: Words, run: Words, values: Set[int]) -> bool:
    """True when a request says what a run says, with other words in the place of its values (`values` are the places of
    their words) and nowhere else. The first word is the same, no preposition is exchanged, nothing is all or not.
    """
    if not asked or not run or asked[0] != run[0]:
        return False
    words = {*asked}
    if any(one not in words and place not in values and one not in _ARTICLES for place, one in enumerate(run)):
        return False  # one word that is missing and no value is enough, wherever it stands
    shared = 0
    for kind, start, end, start_asked, end_asked in _differences(run, asked):
        if kind == "equal":
            shared += sum(word not in COMMON and word not in PREPOSITIONS for word in run[start:end])
            continue
        changed = {*run[start:end], *asked[start_asked:end_asked]}
        told = all(place in values or run[place] in _ARTICLES for place in range(start, end))
        short = max(end - start, end_asked - start_asked) <= _LONGEST
        if kind != "replace" or not (told and short) or changed & (_SCOPE | _NEGATES | PREPOSITIONS):
            return False
    return shared >= _LEAST_SAID


def _pattern(one: Words, other: Words) -> tuple[_Part, ...] | None:
    """What two runs share, None for each place in which they differ; None where one says more than the other."""
    parts: list[_Part] = []
    for kind, start, end, start_of_other, end_of_other in _differences(one, other):
        if kind == "equal":
            parts.append(tuple(one[start:end]))
        elif kind == "replace" and max(end - start, end_of_other - start_of_other) <= _LONGEST:
            parts.append(None)
        else:
            return None
    return tuple(parts) if 0 < parts.count(None) <= _MOST_OPEN else None


def _differences(one: Words, other: Words) -> Sequence[tuple[str, int, int, int, int]]:
    """What makes the second of the first; see `difflib.SequenceMatcher.get_opcodes`."""
    from difflib import SequenceMatcher  # few questions come this far

    return SequenceMatcher(None, one, other, False).get_opcodes()


def _follows(asked: tuple[str, ...], parts: tuple[_Part, ...]) -> bool:
    if not parts:
        return not asked
    first, *rest = parts
    if first is not None:
        return asked[: len(first)] == first and _follows(asked[len(first) :], (*rest,))
    longest = min(_LONGEST, len(asked))
    return any(
        _SCOPE.isdisjoint(asked[:length]) and _follows(asked[length:], (*rest,)) for length in range(1, longest + 1)
    )
