"""What speaks for and against one record for one query, from the frames of their requests.

    query_coverage    how much of the query's words (by rarity) the record holds
    record_coverage   how much of the record's words the query holds: a long request may contain a short task
    head              whether both begin with the same deed: 1 the same word, 0.6 a synonym, 0.3 named elsewhere
    mismatch          how much of the record are words its steps click on that the query does not name
    inversions        share of pairs of shared words that stand in the other order ("from A to B")

A word counts as held exactly (1), by a synonym (0.7), by a word on a clicked control (0.5) or a synonym of one (0.3).
A word behind a preposition that both have ("to Jane", "about lunch") counts a third when the other has it not: so
requests with other values match, unless the steps click on that word.
Values count little: what a request marks as one, what the steps typed, and what the records mostly use as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ufo_experience.text.frames import Frame
from ufo_experience.text.terms import COMMON
from ufo_experience.text.thesaurus import Concepts

SYNONYM, CLICKED, CLICKED_SYNONYM = 0.7, 0.5, 0.3
COMMON_WEIGHT, VALUE_WEIGHT, RECORD_VALUE_WEIGHT = 0.3, 0.25, 0.15
ARGUMENT_WEIGHT = 0.35
_LEADS_TO_ARGUMENT = frozenset("to about from for with regarding named called titled saying at until".split())
_NO_CONCEPTS: Concepts = frozenset()
Weight = Callable[[str], float]


@dataclass(frozen=True)
class Pair:
    """The features of one query and one record, each in [0, 1]."""

    query_coverage: float
    record_coverage: float
    head: float
    mismatch: float
    inversions: float


NAMES = ("query_coverage", "record_coverage", "head", "mismatch", "inversions")


@dataclass(frozen=True)
class WordWeights:
    """What words weigh: their inverse document frequency, and the share of records in which each is a value."""

    idf: Mapping[str, float]
    value_share: Mapping[str, float]

    def of(self, stem: str, kind: str, value_weight: float = VALUE_WEIGHT) -> float:
        """The weight of a stem that is a value of this kind (empty: an ordinary word)."""
        common = COMMON_WEIGHT if stem in COMMON else 1.0
        value = value_weight if kind or self.value_share[stem] > 0.5 else 1.0
        return self.idf[stem] * common * value


def compare(query: Frame, record: Frame, weights: WordWeights) -> Pair:
    """The features of a query and a record."""
    query_words, query_concepts = frozenset(query.stems), _procedural(query)
    record_words, record_concepts = frozenset(record.stems), _procedural(record)
    total = held = 0.0
    argument = _arguments(query.stems, record_words)
    for place, (stem, kind, concepts) in enumerate(zip(query.stems, query.kinds, query.concepts, strict=True)):
        weight, share = weights.of(stem, kind), _held(stem, concepts, record, record_words, record_concepts)
        weight *= 1.0 if share or not argument[place] else ARGUMENT_WEIGHT
        total += weight
        held += weight * share
    asked = mass = missed = 0.0
    argument = _arguments(record.stems, query_words)
    for place, (stem, kind, concepts) in enumerate(zip(record.stems, record.kinds, record.concepts, strict=True)):
        weight = weights.of(stem, kind, RECORD_VALUE_WEIGHT if kind else VALUE_WEIGHT)
        share = 1.0 if stem in query_words else SYNONYM if concepts & query_concepts else 0.0
        weight *= 1.0 if share or not argument[place] or stem in record.clicked else ARGUMENT_WEIGHT
        mass += weight
        asked += weight * share
        missed += weight * (1 - share) * (stem in record.clicked and stem not in COMMON)
    return Pair(
        query_coverage=held / total if total else 0.0,
        record_coverage=asked / mass if mass else 0.0,
        head=_head(query, record, query_words, query_concepts),
        mismatch=missed / mass if mass else 0.0,
        inversions=_inversions(query.stems, record.stems),
    )


def _arguments(stems: Sequence[str], other: frozenset[str]) -> list[bool]:
    """Which words stand behind a preposition that the other request has too ("to Jane", "about the budget")."""
    inside = False
    found = []
    for stem in stems:
        if stem in _LEADS_TO_ARGUMENT:
            inside = stem in other
        found.append(inside)
    return found


def as_array(pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """One row per pair, columns in the order of `NAMES`."""
    rows = [[getattr(pair, name) for name in NAMES] for pair in pairs]
    return np.array(rows, np.float64).reshape(len(pairs), len(NAMES))


def _held(stem: str, concepts: Concepts, record: Frame, words: frozenset[str], known: Concepts) -> float:
    if stem in words:
        return 1.0
    if concepts & known:
        return SYNONYM
    if stem in record.clicked and stem not in COMMON:
        return CLICKED
    return CLICKED_SYNONYM if concepts & record.clicked_concepts else 0.0


def _head(query: Frame, record: Frame, query_words: frozenset[str], query_concepts: Concepts) -> float:
    deed, deed_concepts = _first(query)
    other, other_concepts = _first(record)
    if deed and deed == other:
        return 1.0
    if deed_concepts & other_concepts:
        return 0.6
    return 0.3 if other in query_words or other_concepts & query_concepts else 0.0


def _first(frame: Frame) -> tuple[str, Concepts]:
    """The first word that is neither common nor a value: nearly always the deed."""
    for stem, kind, concepts in zip(frame.stems, frame.kinds, frame.concepts, strict=True):
        if not kind and stem not in COMMON:
            return stem, concepts
    return "", _NO_CONCEPTS


def _inversions(query: Sequence[str], record: Sequence[str]) -> float:
    places = {stem: place for place, stem in enumerate(record)}
    shared = [places[stem] for stem in dict.fromkeys(query) if stem in places and stem not in COMMON]
    pairs = list(combinations(shared, 2))
    return sum(first > second for first, second in pairs) / len(pairs) if pairs else 0.0


def _procedural(frame: Frame) -> Concepts:
    own = (found for found, kind in zip(frame.concepts, frame.kinds, strict=True) if not kind)
    return _NO_CONCEPTS.union(*own)
