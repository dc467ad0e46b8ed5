"""What a request and a record mean, by the vectors of their words (`text/meaning.py`), in whatever words they say it.

What introduces a value or mostly is one weighs as little here as where words are compared (`features`).

meaning                  the cosine of the two, of the clause and the wording that are nearest
meaning_query_coverage   how much of what that clause says has a word of like meaning in the wording, each word by
                         the cosine of the nearest one and by how much it says
meaning_record_coverage  the same the other way round
meaning_least            the same of the word of the clause that has least, 1 where all have as much as they say
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ufo_experience.text.meaning import DECIMALS, Floats, Said, meanings

Key = TypeVar("Key")


class Meant(NamedTuple):
    """The features of one query and one record; cosines."""

    meaning: float
    meaning_query_coverage: float
    meaning_record_coverage: float
    meaning_least: float


def compare_meanings(clauses: Sequence[Said], records: Mapping[Key, Sequence[Said]]) -> dict[Key, Meant]:
    """The features of a request, of any of its clauses, and each record, of any of its wordings."""
    if not records:
        return {}
    wordings = [one for some in records.values() for one in some]
    likeness = np.round(meanings().vectors(wordings) @ meanings().vectors(clauses).T, DECIMALS)
    nearest, best = likeness.argmax(axis=1), likeness.max(axis=1)
    ends = np.cumsum([len(some) for some in records.values()]).tolist()
    chosen = [start + int(best[start:end].argmax()) for start, end in zip([0, *ends], ends, strict=False)]
    found: dict[int, list[float]] = {}
    for clause in sorted(set(nearest[chosen].tolist())):
        its_own = [place for place in chosen if nearest[place] == clause]
        covered = _coverages(clauses[clause], [wordings[place] for place in its_own])
        found |= dict(zip(its_own, np.round(covered.astype(np.float64), DECIMALS).tolist(), strict=True))
    return {
        key: Meant(round(float(best[place]), DECIMALS), *found[place])
        for key, place in zip(records, chosen, strict=True)
    }


def _coverages(clause: Said, wordings: Sequence[Said]) -> Floats:
    """For each wording how much of the clause it has, the other way round, and of the word it has least of."""
    units = meanings().units
    own, weight, _ = meanings().joined([clause])
    places, other_weight, starts = meanings().joined(wordings)
    likeness = units[places] @ units[own].T  # words of the wordings by words of the clause
    had = np.maximum.reduceat(likeness, starts, axis=0)
    named = np.add.reduceat(likeness.max(axis=1) * other_weight, starts) / np.add.reduceat(other_weight, starts)
    least = 1 - ((1 - had) * (weight / weight.max())).max(axis=1)
    return np.column_stack([had @ (weight / weight.sum()), named, least])
