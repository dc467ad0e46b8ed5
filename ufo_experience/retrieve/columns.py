"""What the terms of a question are worth in the rows that hold them.

A term that many published rows hold is a `Column`, kept between questions. `Weighted` are the terms of one view of a
question: common ones as columns, and an entry for each row that holds a rare one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.growing import GrowingColumns

Scores = NDArray[np.float32]
Rows = NDArray[np.int32]
Steps = NDArray[np.uint8]
_BLOCK = 65_536  # rows, as many as the processor keeps
_NEARLY_ALL = 0.9  # of the rows: what so many hold is counted in all, which is a bound as well
ASKED = 2  # marks a row that is asked for


class Saturation:
    """What a term is worth in rows that hold it so many times: saturated, by the length of each row."""

    def __init__(self, k1: float, b: float, mean: float, lengths: Rows, before: Saturation | None = None) -> None:
        """`lengths` are those of all rows in words, `mean` is the usual one, `b` the share of what is longer that
        counts; what was worked out for the first rows is taken from `before`.
        """
        first = len(before.half) if before else 0
        size = (1 - b + b * lengths[first:].astype(np.float32) / mean).astype(np.float32)
        half: Scores = k1 * size  # how often a row would hold a term that is worth half of what it can be
        self._grown: GrowingColumns = before._grown if before else GrowingColumns()
        self.half: Scores = self._grown.grown("half", before.half, half) if before else half
        if before and "once" in vars(before):
            self.once = self._grown.grown("once", before.once, np.asarray(1 / (1 + half), np.float32))

    def __call__(self, rows: Rows, times: Scores) -> Scores:
        """One number, below 1, for each row and how often it holds the term."""
        return np.asarray(times / (times + self.half[rows]), np.float32)

    @cached_property
    def once(self) -> Scores:
        """What a term is worth in every row if it stands there once."""
        return np.asarray(1 / (1 + self.half), np.float32)


@dataclass(frozen=True)
class Repeats:
    """The rows that hold a term more than once and how many `times`, how much `more` it is worth in each than if it
    stood there once, as a share of that, and what it is worth there at `most`, as a multiple.
    """

    rows: Rows
    times: Scores
    more: Scores
    most: float

    @classmethod
    def of(cls, held: Rows, times: Scores, gain: Saturation) -> Repeats:
        """The repeats in some rows."""
        several = np.flatnonzero(times > 1)
        rows, times = held[several], times[several]
        more = gain(rows, times) / gain(rows, np.ones_like(times)) - 1
        return cls(rows, times, more, 1 + float(more.max(initial=0.0)))

    def set_worth(self, rows: Rows, worth: Scores, gain: Saturation) -> None:
        """Put into `worth` what the term is worth in those of some rows, in order, that hold it more than once."""
        if len(self.rows) and len(rows):
            place = np.minimum(self.rows.searchsorted(rows), len(self.rows) - 1)
            here = self.rows[place] == rows
            worth[here] = gain(rows[here], self.times[place[here]])

    def set_between(self, first: int, last: int, times: Scores) -> None:
        """The same of all rows from one to another."""
        begin, end = self.rows.searchsorted([first, last]).tolist() if len(self.rows) else (0, 0)
        times[self.rows[begin:end] - first] = self.times[begin:end]

    def count(self, tally: Steps, steps: float) -> None:
        """Add to the steps of these rows what is more than `steps`, rounded up."""
        if len(self.rows):
            tally[self.rows] += np.ceil(self.more * np.float32(steps)).astype(np.uint8)


@dataclass(frozen=True)
class Posting:
    """The rows that hold a rare term, in order, and how often each does."""

    held: Rows
    times: Scores
    gain: Saturation

    @cached_property
    def repeats(self) -> Repeats:
        """Where it stands several times."""
        return Repeats.of(self.held, self.times, self.gain)

    def count(self, tally: Steps, steps: float, room: Steps) -> int:
        """See `MaskColumn.count`."""
        tally[self.held] += np.uint8(ceil(steps))
        self.repeats.count(tally, steps)
        return 0


class Column:
    """What a common term is worth in each of the published rows.

    Safe to use from many threads: what is worked out twice comes out the same.
    """

    BYTES = 4  # that are kept for each row

    def __init__(self, held: Rows, times: Scores, gain: Saturation, published: int) -> None:
        """`held` are the rows that hold the term, in order, and how often each does; `gain` says what that is worth."""
        self.held, self.published = held, published
        self._times, self._worth_of = times, gain

    @cached_property
    def gain(self) -> Scores:
        """One number for each published row."""
        column = np.zeros(self.published, np.float32)
        column[self.held] = self._worth_of(self.held, self._times)
        return column

    def part(self, first: int, last: int, room: Scores) -> Scores:
        """What the term is worth from one published row to another; `room` may hold it."""
        return self.gain[first:last]


class MaskColumn(Column):
    """The same of a large catalog: a byte for each row, and what is more than once apart."""

    BYTES = 1

    @cached_property
    def mask(self) -> NDArray[np.uint8]:
        """255 for each published row that holds the term, 0 for the others."""
        mask = np.zeros(self.published, np.uint8)
        mask[self.held] = 255
        return mask

    @cached_property
    def repeats(self) -> Repeats:
        """Where it stands several times."""
        return Repeats.of(self.held, self._times, self._worth_of)

    @cached_property
    def is_everywhere(self) -> bool:
        """True when every published row holds the term once."""
        return len(self.held) == self.published and not len(self.repeats.rows)

    def part(self, first: int, last: int, room: Scores) -> Scores:
        """See `Column.part`."""
        times = room[: last - first]
        if not len(self.repeats.rows):
            once = self._worth_of.once[first:last]
            if self.is_everywhere:
                return once
            np.multiply(np.bitwise_and(self.mask[first:last], np.uint8(1)), once, out=times)
            return times
        np.bitwise_and(self.mask[first:last], np.uint8(1), out=times, casting="unsafe")
        self.repeats.set_between(first, last, times)
        times /= times + self._worth_of.half[first:last]
        return times

    def at(self, rows: Rows, once: Scores) -> Scores:
        """What the term is worth in rows, which are in order; 0 where it does not stand. `once` is what it is worth in
        each if it stands there once.
        """
        here = rows[: rows.searchsorted(self.published)]
        found: Scores = np.zeros(len(rows), np.float32)
        if self.is_everywhere:
            found[: len(here)] = once[: len(here)]
        else:
            np.multiply(once[: len(here)], self.mask.take(here) & np.uint8(1), out=found[: len(here)])
            self.repeats.set_worth(here, found[: len(here)], self._worth_of)
        return found

    def count(self, tally: Steps, steps: float, room: Steps) -> int:
        """Add steps, rounded up, in every row that holds the term, as many more as it is worth more where it stands
        several times; `room` is for as many rows. Returns how many are to be added in all rows yet.
        """
        self.repeats.count(tally, steps)
        if len(self.held) >= _NEARLY_ALL * self.published:
            return ceil(steps)
        part = tally[: self.published]
        np.add(part, np.bitwise_and(self.mask, np.uint8(ceil(steps)), out=room[: self.published]), out=part)
        return 0


@dataclass(frozen=True)
class Weighted:
    """The terms of one view of a question: the rare and the common ones with their weights, and the most that a row
    could have.
    """

    few: Sequence[tuple[float, Posting]]
    common: Sequence[tuple[np.float32, Column]]
    most: np.float32
    gain: Saturation

    def in_all(self, size: int) -> Scores:
        """What the terms are worth together in each of `size` rows."""
        rows, worth, times = self._entries
        total: Scores = np.zeros(size, np.float32)
        if len(rows):
            total = np.bincount(rows, weights=worth * self.gain(rows, times), minlength=size).astype(np.float32)
        add_up(self.common, total)
        return total

    def at(self, rows: Rows, marks: Steps) -> Scores:
        """The same of some rows, which are in order, bit for bit; `marks` are `ASKED` in these alone."""
        held, worth, times = self._entries
        here = np.flatnonzero(marks.take(held) == ASKED)
        gain = worth[here] * self.gain(held[here], times[here])
        total: Scores = np.bincount(rows.searchsorted(held[here]), weights=gain, minlength=len(rows)).astype(np.float32)
        once = self.gain.once[rows]
        for weight, column in self.common:
            if isinstance(column, MaskColumn):
                worth_here = column.at(rows, once)
                total += np.multiply(worth_here, weight, out=worth_here)
        return total

    @cached_property
    def _entries(self) -> tuple[Rows, NDArray[np.float64], Scores]:
        """One entry for each row and rare term: the row, the weight of the term, how often it stands there."""
        rows = np.concatenate([np.empty(0, np.int32), *(term.held for _, term in self.few)])
        times = np.concatenate([np.empty(0, np.float32), *(term.times for _, term in self.few)])
        return rows, np.repeat([weight for weight, _ in self.few], [len(term.held) for _, term in self.few]), times


def add_up(columns: Sequence[tuple[np.float32, Column]], total: Scores) -> None:
    """Add columns to `total`, each times its weight, by as many rows as the processor keeps."""
    scaled = np.empty(_BLOCK, np.float32)
    published = columns[0][1].published if columns else 0
    for first in range(0, published, _BLOCK):
        last = min(first + _BLOCK, published)
        for weight, column in columns:
            room = scaled[: last - first]
            total[first:last] += np.multiply(column.part(first, last, room), weight, out=room)
