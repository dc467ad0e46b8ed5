"""Requests that fill in what two runs of one procedure leave open.

"Hide Price on sheet Staff" and "Hide Margin on sheet Stock" went the same way: what they share is the task, what they
differ in are its values, whether or not quotes or capitals say so. A request of the same words with other ones there is
that task ("Hide Product on sheet Sales"), one with another word elsewhere is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

LIKELY = 0.9  # the score of a request that fills in what two runs of the same steps leave open
_LEAST_SHARED = 0.5  # of the words of a run, to be a task at all
_LONGEST = 4  # words of a value
_MOST_OPEN = 4  # places that are left open
_SCOPE = frozenset("all everi whole entir both each not without except".split())
Words = Sequence[str]
_Part = tuple[str, ...] | None  # words, or a place left open


def fills_in(asked: Words, one: Words, other: Words) -> bool:
    """True when a request says what two runs both say, and something of its own where these differ from each other."""
    shared = {*asked} & {*one} & {*other}
    if len(shared) < max(2, _LEAST_SHARED * min(len(one), len(other))):
        return False
    parts = _pattern(one, other)
    return parts is not None and _follows(tuple(asked), parts)


def _pattern(one: Words, other: Words) -> tuple[_Part, ...] | None:
    """What two runs share, None for each place in which they differ; None where one says more than the other."""
    parts: list[_Part] = []
    for kind, start, end, start_of_other, end_of_other in SequenceMatcher(None, one, other, False).get_opcodes():
        if kind == "equal":
            parts.append(tuple(one[start:end]))
        elif kind == "replace" and max(end - start, end_of_other - start_of_other) <= _LONGEST:
            parts.append(None)
        else:
            return None
    return tuple(parts) if 0 < parts.count(None) <= _MOST_OPEN else None


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
