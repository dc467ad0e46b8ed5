"""Where a candidate stands among the others, and how large the store is: what its own signals do not tell.

    lead          its order minus that of the best other procedure, which counts as much as a stranger at least: in a
                  small store nothing else may come near
    ahead         the same without that bound; `words_ahead` in words, `meaning_ahead` in their meaning, `near_ahead` in
                  vectors
    best_skeleton the best skeleton any record has of the query
    log_size      of the number of runs in the store, up to `LARGE`: what comes near by chance is no more in larger ones
    log_length    of the number of words in the query
    application_named  1 where the query is asked of one application
    application_ahead  how much nearer the best other tasks of its application come than those of others

Runs that click the same controls for requests in like words are runs of one procedure, and so are those whose requests
say the same but for values: one is not ahead of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ufo_experience.retrieve.features import SAME_STEPS
from ufo_experience.retrieve.known_texts import KnownText
from ufo_experience.text.alike import masked_alike

Floats = NDArray[np.float64]
FAR_BEHIND = -0.3  # a lead below this says no more: something else is better, and this may help all the same
LARGE = 600  # runs
BESIDE = 3  # other tasks of an application that tell whether a request is about it
STRANGER = 0.3  # order of the best stranger in a store of some size


@dataclass(frozen=True)
class Standing:
    """One entry a candidate."""

    lead: Floats
    ahead: Floats
    words_ahead: Floats
    meaning_ahead: Floats
    near_ahead: Floats
    best_skeleton: Floats
    log_size: Floats
    log_length: Floats
    application_ahead: Floats
    application_named: Floats

    def table(self) -> Floats:
        """One row a candidate, columns in the order of `STANDING`."""
        return np.column_stack([getattr(self, name) for name in STANDING])


STANDING = tuple(field.name for field in fields(Standing))


def standing(
    ranked: Floats,
    words: Floats,
    meaning: Floats,
    near: Floats,
    same: NDArray[np.bool_],
    best_skeleton: float,
    size: int,
    length: int,
    tasks: NDArray[np.uint64],
    applications: NDArray[np.uint64],
    *,
    is_named: bool = False,
) -> Standing:
    """The standing of candidates with these orders, shares of words, meaning and vectors (NaN without).

    `same` says which are runs of the same procedure as the best one; `is_named`: the query names its application.
    """
    best = int(np.argmax(ranked))
    second = max(float(ranked[~same].max(initial=0.0)), STRANGER)
    lead = ranked - np.where(same, second, ranked[best])
    whole = np.ones(len(ranked))
    return Standing(
        lead=np.maximum(lead, FAR_BEHIND),
        ahead=_ahead(ranked, same, best),
        words_ahead=_ahead(words, same, best),
        meaning_ahead=_ahead(meaning, same, best),
        near_ahead=_ahead(np.where(np.isnan(near), 0.0, near), same, best),
        best_skeleton=whole * best_skeleton,
        log_size=whole * np.log(min(max(size, 1), LARGE)),
        log_length=whole * np.log(max(length, 1)),
        application_ahead=_application_ahead(ranked, tasks.tolist(), applications.tolist()),
        application_named=whole * is_named,
    )


def _ahead(values: Floats, same: NDArray[np.bool_], best: int) -> Floats:
    """Each value minus the highest of the other procedures; of those that are not of the best one minus the best's."""
    others = float(values[~same].max(initial=0.0))
    return np.asarray(values - np.where(same, others, values[best]), np.float64)


def _application_ahead(ranked: Floats, tasks: Sequence[int], applications: Sequence[int]) -> Floats:
    """Of each candidate the mean order of the best other tasks of its application minus that of the best of other
    applications; 0 where all are of one application."""
    known: dict[int, dict[int, float]] = {}
    for value, task, application in zip(ranked.tolist(), tasks, applications, strict=True):
        of_task = known.setdefault(application, {})
        of_task[task] = max(value, of_task.get(task, value))
    if len(known) < 2:
        return np.zeros(len(ranked))
    best = {one: sorted(of_task.values(), reverse=True)[: BESIDE + 1] for one, of_task in known.items()}
    others = {one: _best(value for other in best if other != one for value in best[other]) for one in best}
    pairs = zip(tasks, applications, strict=True)
    return np.array([_best_beside(best[one], known[one][task]) - others[one] for task, one in pairs], np.float64)


def _best(values: Iterable[float]) -> float:
    return sum(sorted(values, reverse=True)[:BESIDE]) / BESIDE


def _best_beside(best: Sequence[float], own: float) -> float:
    """The mean of the best beside one, which may be among them."""
    return (sum(best) - (max(own, best[-1]) if len(best) > BESIDE else own)) / BESIDE


def runs_of(best: int, texts: Sequence[KnownText], tasks: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """For each record whether it is a run of the same procedure as the best one, as far as words and controls tell."""
    first = texts[best]
    said = _says(first)
    known = {first: True}
    for text in texts:
        if text not in known:
            like = _clicks_alike(first, text) and masked_alike(first.masked, text.masked)
            known[text] = like or said == _says(text)
    return np.asarray((tasks == tasks[best]) | np.array([known[text] for text in texts]), np.bool_)


def _clicks_alike(one: KnownText, other: KnownText) -> bool:
    some, others = one.frame.clicked, other.frame.clicked
    return len(some & others) >= SAME_STEPS * len(some | others)


def _says(text: KnownText) -> list[str]:
    """The words of a request that are no values, in order."""
    stems, reading = text.frame.stems, text.frame.reading
    values = reading.value_words
    return [stems[place] for place in reading.content if stems[place] not in values]
