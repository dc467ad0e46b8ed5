"""The rows that are compared in full: of those that words or vectors put forward the best, of many tasks and runs.

Where a request says what a great part of a large store says, as many rows tie: of these only the first are looked at,
and those that share a task or a run with them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.catalog import Catalog, Mask
from ufo_experience.retrieve.matches import Matches, Ranked, best_of

POOL = 300  # rows that words put forward, and vectors, before they are thinned out
TASKS = 24  # different tasks of these that are compared in full
PER_TASK = 5  # rows of one task: near-duplicates of which one will answer
PER_RUN = 4  # of these: more of one run only when many runs are in the pool
_MORE = 4  # times as many are looked at where few runs fill the pool
_HEAD = 1_024  # rows that are nearly always of so many tasks
_MIXED = np.uint64(0x9E3779B97F4A7C15)  # an odd number, to mix two hashes
Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]
Scores = NDArray[np.float32]


def pooled(catalog: Catalog, matches: Matches, rows: Mask, count: int = POOL, *, by_length: bool = False) -> Ranked:
    """The best rows; where few runs fill the pool (a flood), no run has more than `PER_RUN` rows in it."""
    best, scores = matches.top(rows, count, by_length)
    sessions = catalog.column("session")
    if len(best) < count:
        return best, scores
    if any(_count_runs(sessions[some]) >= count // PER_RUN for some in (best[:count], best)):
        return best, scores  # nearly always the first rows say it, however many tie
    wanted = count
    while True:  # what lies below the best of these is not among the best of all, few of a run as these may be
        wanted *= _MORE
        best, scores = matches.top(rows, wanted, by_length)
        kept = _first_of_each(scores, sessions[best])
        if np.count_nonzero(kept) >= count or len(best) < wanted:
            return best_of(best[kept], scores[kept], count)


def thinned(catalog: Catalog, rows: Rows, scores: Scores | None = None) -> Rows:
    """Of rows the best `TASKS` different tasks, at most `PER_TASK` rows of each and `PER_RUN` of one session.

    Rows with scores are in order; those without come with the best first.
    """
    if not len(rows):
        return rows
    ordered = rows if scores is None else _best_first(rows, scores)
    if len(ordered) > _HEAD:
        ordered = _of_first_tasks(catalog, ordered)
    ordered = ordered[_few_of_each_run(catalog, ordered)]
    tasks = _tasks_of(catalog, ordered)
    taken: set[int] = set()
    seen = 0
    for task in tasks.tolist():
        taken.add(task)
        seen += 1
        if len(taken) == TASKS:
            break
    known, behind = np.array(sorted(taken), np.uint64), tasks[seen:]
    again = known[np.minimum(known.searchsorted(behind), len(known) - 1)] == behind
    places = np.concatenate([np.arange(seen), seen + np.flatnonzero(again)])
    return np.sort(ordered[places[_fewer_before(tasks[places], PER_TASK)]])


def count_runs_to(most: int, sessions: Hashes, counted: Mask) -> int:
    """How many runs the counted records come from, `most` where there are as many: few of a large store say so."""
    some = _HEAD
    while (count := _count_runs(sessions[:some][counted[:some]])) < most and some < len(counted):
        some *= _MORE
    return min(count, most)


def _count_runs(sessions: Hashes) -> int:
    """How many runs the records come from: those of one session are one, those without a session one each."""
    named = np.sort(sessions[sessions != 0])
    return int(np.count_nonzero(named[1:] != named[:-1])) + min(len(named), 1) + len(sessions) - len(named)


def _best_first(rows: Rows, scores: Scores) -> Rows:
    """Rows, which are in order, by their scores; of many most tie with the last one."""
    if len(rows) <= _HEAD:
        return rows[np.argsort(-scores, kind="stable")]
    ahead = scores > scores.min()
    return np.concatenate([rows[ahead][np.argsort(-scores[ahead], kind="stable")], rows[~ahead]])


def _of_first_tasks(catalog: Catalog, ordered: Rows) -> Rows:
    """Of many rows the first, those of their first `TASKS` tasks, and those of one run with these: what tells which are
    left of them.
    """
    tasks, sessions = (catalog.column(name) for name in ("task", "session"))
    for count in (_HEAD, 16 * _HEAD):
        head, later = np.split(ordered, [count])
        first = [*dict.fromkeys(tasks[head[_few_of_each_run(catalog, head)]].tolist())]
        if len(first) >= TASKS:
            same = _among(tasks[later], np.array(first[:TASKS], np.uint64))
            if same.any():
                runs = sessions[later]
                same |= _among(runs, runs[same & (runs != 0)])
            return np.concatenate([head, later[same]])
    return ordered


def _tasks_of(catalog: Catalog, rows: Rows) -> Hashes:
    """A number for each row, the same for the same task in the same application."""
    tasks, applications = (catalog.column(name)[rows] for name in ("task", "application"))
    mixed: Hashes = tasks + applications * _MIXED  # both are hashes
    return mixed


def _few_of_each_run(catalog: Catalog, ordered: Rows) -> Mask:
    """Which rows are among the first `PER_RUN` of their session; all that have none are."""
    sessions = catalog.column("session")[ordered]
    few: Mask = _fewer_before(sessions, PER_RUN) | (sessions == 0)
    return few


def _among(hashes: Hashes, wanted: Hashes) -> Mask:
    """Which of many hashes are among some."""
    ends = np.zeros(2**16, np.bool_)
    ends[wanted.astype(np.uint16)] = True
    found: Mask = ends[hashes.astype(np.uint16)]
    places = np.flatnonzero(found)
    wanted = np.sort(wanted)
    position = np.minimum(wanted.searchsorted(hashes[places]), len(wanted) - 1)
    found[places] = wanted[position] == hashes[places]
    return found


def _fewer_before(keys: Hashes, most: int) -> Mask:
    """For each key whether fewer than `most` equal ones stand before it."""
    order = np.argsort(keys, kind="stable")
    named = keys[order]
    if len(keys) <= most or not (named[most:] == named[:-most]).any():
        return np.ones(len(keys), np.bool_)
    mask = np.zeros(len(keys), np.bool_)
    mask[order[np.arange(len(keys)) - np.searchsorted(named, named) < most]] = True
    return mask


def _first_of_each(scores: Scores, sessions: Hashes) -> Mask:
    """Which rows are among the `PER_RUN` best of their session; all that have none are."""
    order = np.lexsort((-scores, sessions))
    named = sessions[order]
    first = np.searchsorted(named, named)
    mask = np.zeros(len(scores), np.bool_)
    mask[order[(np.arange(len(order)) - first < PER_RUN) | (named == 0)]] = True
    return mask
