"""The rows that the words of a question put forward: the best of them, and the scores of some.

`Scanned` has the scores of all rows. `Pruned` gives bit for bit the same answers and looks at few rows of many (the
bounds of MaxScore, Turtle and Flood 1995): terms that many rows hold are rare in no row and so worth little. What a row
has of the other terms is the least it is worth; with the most the common terms could add it either reaches what so many
others have for certain, or is passed over. Only for the rows that are left is the score worked out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import isqrt
from typing import Any, Protocol
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.catalog import Mask
from ufo_experience.retrieve.columns import ASKED, MaskColumn, Posting, Saturation, Scores, Steps, Weighted

Rows = NDArray[np.int64]
Ranked = tuple[Rows, Scores]
_SOME = 4  # times as many as are wanted are looked at for a first bound
_LITTLE = 1_024  # rows that are all looked at
_SAMPLE = 16_384  # rows that tell how high the best of all may be
_SPARE, _PROBES = 4, 2  # times as many as are wanted are looked for, and scored at first
_WORTH = 8  # with more than this part of the rows in question all are scored
_STEPS, _COUNTED = 255, 40  # a byte holds; terms that are counted in it
_LIGHT = 4  # times lighter than a step is not counted
_ROUNDED = 1e-5  # what sums of float32 are off at most, as a share


class Published:
    """What bounds need to know of the published rows: what a term is worth in each if it stands there `once`, what to
    multiply by instead of dividing by the root of the length, and room to work in. Worked out when first needed.
    """

    def __init__(self, lengths: NDArray[np.int32], gain: Saturation) -> None:
        """Lengths in words."""
        self._lengths, self._gain, self.count = lengths, gain, len(lengths)
        self.room = Room()

    @cached_property
    def once(self) -> Scores:
        """See the class."""
        return self._gain.once[: self.count]

    @cached_property
    def inverse(self) -> Scores:
        """See the class."""
        return (1 / roots(self._lengths)).astype(np.float32)

    @cached_property
    def most_once(self) -> float:
        """The greatest `once`."""
        return float(self.once.max(initial=0.0))


def roots(lengths: NDArray[np.int32]) -> NDArray[np.float64]:
    """What the scores of rows of these lengths, in words, are divided by: their roots, 1 at least."""
    return np.sqrt(np.maximum(lengths, 1))


class Room:
    """Long arrays that one question after the other works in: memory that is new costs more than what is done in it.
    Safe to use from many threads.
    """

    def __init__(self) -> None:
        self._free: dict[type, list[NDArray[Any]]] = {np.float32: [], np.uint8: []}

    def scores(self, user: object, size: int) -> Scores:
        """An array of this length, as somebody left it, that comes back when `user` is gone."""
        return self._lent(np.float32, user, size)

    def steps(self, user: object, size: int) -> Steps:
        """The same of bytes."""
        return self._lent(np.uint8, user, size)

    def _lent(self, kind: type, user: object, size: int) -> NDArray[Any]:
        free = self._free[kind]
        try:
            array = free.pop()
        except IndexError:
            array = np.empty(0, kind)
        if len(array) < size:
            array = np.empty(size + size // 64, kind)  # the next question may be about some rows more
        finalize(user, free.append, array)
        return array[:size]


class Matches(Protocol):
    """What the words of one question say about the rows of a catalog."""

    def top(self, inside: Mask, count: int, by_length: bool = False) -> Ranked:
        """Rows `inside` with the `count` best positive sums of both scores (more where they tie), in order, and these
        sums; `by_length` divides them by the root of the length of the row.
        """
        ...

    def at(self, rows: Rows) -> tuple[Scores, Scores]:
        """(skeleton, words) of rows, which are in order."""
        ...

    def best_skeleton(self, inside: Mask) -> float:
        """The best skeleton score inside; 0 without any."""
        ...


class Scanned:
    """The scores of all rows."""

    def __init__(self, skeleton: Scores, words: Scores, divisors: NDArray[np.float64]) -> None:
        """One score of each kind for each row, and its `roots`."""
        self._skeleton, self._words, self._divisors = skeleton, words, divisors
        self._sum = skeleton + words

    def top(self, inside: Mask, count: int, by_length: bool = False) -> Ranked:
        """See `Matches.top`."""
        scores = _divided(self._sum, self._divisors) if by_length else self._sum
        least = max(_edge(scores, inside, count), 0.0)
        rows = np.flatnonzero(inside & (scores > least))
        if least and len(rows) < count:  # it is what the last of these has
            rows = np.flatnonzero(inside & (scores >= least))
            return rows, scores[rows]
        return best_of(rows, scores[rows], count)

    def at(self, rows: Rows) -> tuple[Scores, Scores]:
        """See `Matches.at`."""
        return self._skeleton[rows], self._words[rows]

    def best_skeleton(self, inside: Mask) -> float:
        """See `Matches.best_skeleton`."""
        return float((self._skeleton * inside).max(initial=0.0))


class Pruned:
    """The same of a large catalog, looking at few of its rows."""

    def __init__(
        self,
        exact: Weighted,
        loose: Callable[[], Weighted],
        skeleton: Weighted,
        counted: Mask,
        lengths: NDArray[np.int32],
        published: Published,
        scan: Callable[[], Scanned],
    ) -> None:
        """The views of a question: `loose` is added to `exact` as far as no row of `counted` has all of that. `lengths`
        are those of all rows. `scan` works out all scores, for questions that bounds do not help with.
        """
        self._lengths, self._published, self._scan = lengths, published, scan
        self._scanned: Scanned | None = None
        self._exact, self._frame = (_View(one, len(lengths), published) for one in (exact, skeleton))
        self._loose: _View | None = None
        most = self._exact.best(counted)
        if most is None:
            self._scanned = scan()
            return
        self._best = most / exact.most
        if self._best < 1:
            self._loose = _View(loose(), len(lengths), published, float(1 - self._best) / float(exact.most))
        views = [self._exact, self._frame, *([self._loose] if self._loose else [])]
        self._open = sum(view.open for view in views)
        self._upper = published.room.scores(self, published.count)
        self._scaled = published.room.scores(self, published.count)
        self._exact.add_up(self._upper, views[1:], self._scaled)

    def top(self, inside: Mask, count: int, by_length: bool = False) -> Ranked:
        """See `Matches.top`."""
        if self._scanned is not None:
            return self._scanned.top(inside, count, by_length)

        def scores(rows: Rows) -> Scores:
            skeleton, words = self.at(rows)
            return _divided(skeleton + words, roots(self._lengths[rows])) if by_length else skeleton + words

        upper = self._upper
        if by_length:
            upper = np.multiply(upper, self._published.inverse, out=self._scaled)
        rows = _reaching(_Upper(upper), self._open, inside, count, scores)
        return self._all().top(inside, count, by_length) if rows is None else best_of(rows, scores(rows), count)

    def at(self, rows: Rows) -> tuple[Scores, Scores]:
        """See `Matches.at`."""
        if self._scanned is not None:
            return self._scanned.at(rows)
        words = self._exact.at(rows)
        if self._loose is not None:
            other = self._loose.at(rows)
            words += np.multiply(other, np.float32(1 - self._best), out=other)
        words /= self._exact.most
        skeleton = self._frame.at(rows)
        skeleton /= self._frame.most
        return skeleton, np.minimum(words, np.float32(1), out=words)

    def best_skeleton(self, inside: Mask) -> float:
        """See `Matches.best_skeleton`."""
        most = None if self._scanned is not None else self._frame.best(inside)
        return self._all().best_skeleton(inside) if most is None else float(np.float32(most) / self._frame.most)

    def _all(self) -> Scanned:
        if self._scanned is None:
            self._scanned = self._scan()
        return self._scanned


class _View:
    """The terms of a view, what they are worth in rows that were asked for, and in every row at most.

    What a row has is `upper` and `open` at most, times `scale`: weights are counted in steps, rounded up, as many as a
    byte holds; what is too light for that is open.
    """

    def __init__(self, terms: Weighted, size: int, published: Published, scale: float | None = None) -> None:
        """`size` counts all rows; `scale` None makes the most that a row could have 1."""
        self._terms, self.most = terms, terms.most
        self._scale = 1 / float(terms.most) if scale is None else scale
        self._worth, self._known = published.room.scores(self, size), published.room.steps(self, size)
        self._known.fill(0)
        weights: list[tuple[float, Posting | MaskColumn]] = [
            (one * self._scale, term) for one, term in terms.few if term.held[0] < published.count
        ]
        weights += [(float(one) * self._scale, term) for one, term in terms.common if isinstance(term, MaskColumn)]
        weights.sort(key=lambda one: -one[0] * one[1].repeats.most)
        step = sum(weight * term.repeats.most for weight, term in weights[:_COUNTED]) / (_STEPS - 2 * _COUNTED)
        self.open = sum(weight * term.repeats.most for weight, term in weights[_COUNTED:])
        self._published, self._step, self._is_empty = published, step, not weights
        if self._is_empty:
            return
        self._tally, room = (published.room.steps(self, published.count) for _ in range(2))
        self._tally.fill(0)
        everywhere = 0
        for weight, term in weights[:_COUNTED]:
            if weight * term.repeats.most * _LIGHT < step:
                self.open += weight * term.repeats.most
            else:
                everywhere += term.count(self._tally, weight / step, room)
        self._tally += np.uint8(everywhere)

    def add_up(self, total: Scores, others: Sequence[_View], room: Scores) -> None:
        """Put into `total` what a row could have of this view and others."""
        views = [one for one in (self, *others) if not one._is_empty]
        if not views:
            total.fill(0)
            return
        np.multiply(views[0]._tally, np.float32(views[0]._step), out=total)
        for one in views[1:]:
            total += np.multiply(one._tally, np.float32(one._step), out=room)
        total *= self._published.once

    def at(self, rows: Rows) -> Scores:
        """What the terms are worth together in each of these rows, which are in order; what was worked out is kept."""
        new = rows[self._known[rows] == 0]
        if len(new):
            self._known[new] = ASKED
            self._worth[new] = self._terms.at(new.astype(np.int32), self._known)  # as rows are held: no copies
            self._known[new] = 1
        return self._worth[rows]

    def best(self, inside: Mask) -> float | None:
        """The most that the terms are worth in a row inside; None where too many rows are in question."""
        scale, first = np.float32(self._scale), self._published.count
        rows: Rows | None = first + np.flatnonzero(inside[first:])
        if not self._is_empty:
            upper = _Counted(self._tally, self._step, self._published)
            rows = _reaching(upper, self.open, inside, 1, lambda rows: self.at(rows) * scale)
        return None if rows is None else float(self.at(rows).max(initial=0.0))


class _Upper:
    """What every published row, `count` of them, is worth at most."""

    def __init__(self, values: Scores) -> None:
        """One number for each published row."""
        self._values, self.count = values, len(values)

    def at(self, rows: Rows | slice) -> Scores:
        """What some rows are worth at most."""
        return self._values[rows]

    def reaching(self, edge: float, inside: Mask) -> Rows:
        """The rows inside that may reach an edge, in order; those that are worth anything, where that is 0."""
        return np.flatnonzero(inside & (self._values >= np.float32(edge) if edge > 0 else self._values > 0))


class _Counted(_Upper):
    """The same of rows whose terms are counted in steps, of which a long one is worth less."""

    def __init__(self, tally: Steps, step: float, published: Published) -> None:
        """A step is worth `step` where a term that stands once is worth 1."""
        self._tally, self._step, self._published, self.count = tally, step, published, len(tally)

    def at(self, rows: Rows | slice) -> Scores:
        """See `_Upper.at`."""
        found: Scores = self._tally[rows] * np.float32(self._step) * self._published.once[rows]
        return found

    def reaching(self, edge: float, inside: Mask) -> Rows:
        """See `_Upper.reaching`."""
        least = int(edge * (1 - _ROUNDED) / (self._step * self._published.most_once))
        if least >= _STEPS:
            return np.empty(0, np.int64)
        rows = np.flatnonzero(self._tally >= np.uint8(max(least, 1)))
        rows = rows[inside[rows]]
        found: Rows = rows[self.at(rows) >= np.float32(edge)]
        return found


def _reaching(upper: _Upper, room: float, inside: Mask, count: int, scores: Callable[[Rows], Scores]) -> Rows | None:
    """Rows inside, in order, among which are the `count` best and all that tie with the last of these; None where that
    are so many that all might as well be looked at. No score of a published row is above `upper` and `room`; the later
    ones are all among them.
    """
    if np.count_nonzero(inside) <= _LITTLE:
        return np.flatnonzero(inside)
    published, later = inside[: upper.count], upper.count + np.flatnonzero(inside[upper.count :])
    first = upper.at(slice(_SAMPLE))[published[:_SAMPLE]]
    rank, rows, guess = _SPARE * (1 + count * _SAMPLE // max(len(published), _SAMPLE)), np.empty(0, np.int64), 1.0
    while len(rows) < count and guess > 0:
        guess = float(np.partition(first, -rank)[-rank]) if rank <= len(first) else 0.0
        rows = upper.reaching(guess, published)
        rank *= _SPARE
    if len(rows) < count:
        return None if room else np.concatenate([rows, later])
    some, most = rows, upper.at(rows)
    if len(rows) > _PROBES * count:
        some = np.sort(rows[np.argpartition(most, -_PROBES * count)[-_PROBES * count :]])
    edge = float(np.partition(scores(some), -count)[-count]) * (1 - _ROUNDED) - room
    if edge <= 0:
        return None
    rows = rows[most >= np.float32(edge)] if edge >= guess else upper.reaching(edge, published)
    return None if len(rows) * _WORTH > len(inside) else np.concatenate([rows, later])


def _divided(scores: Scores, divisor: NDArray[np.float64]) -> Scores:
    found = np.empty_like(scores)
    np.divide(scores, divisor, out=found, casting="same_kind")
    return found


def _edge(scores: Scores, inside: Mask, count: int) -> float:
    """What the `count` best of some rows inside have at least, and so the best of all; 0 where these are fewer."""
    some = max(_SOME * count, isqrt(count * len(scores)))  # as many as are then left of all
    first = scores[:some][inside[:some]]
    return float(np.partition(first, -count)[-count]) if len(first) >= count else 0.0


def best_of(rows: Rows, scores: Scores, count: int) -> Ranked:
    """Of rows and their scores the `count` best that are positive, and those that tie with the last of them."""
    least = np.partition(scores, -count)[-count] if len(scores) > count else 0.0
    kept = scores >= least if least > 0 else scores > 0
    return rows[kept], scores[kept]
