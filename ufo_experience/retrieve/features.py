"""What speaks for and against one record for one query, from the frames of their requests.

    query_coverage    how much of the query's words (by rarity) the record holds
    record_coverage   how much of the record's words the query holds: a long request may contain a short task
    missing           known words of the query that the record has nowhere, as a share; `surplus` the other way round
    clicked           how much of the query stands on controls that the steps clicked
    other_deed        1 where both say what to do, in known words that have nothing to do with each other
    other_object      the same for what it is done to
    other_argument    known words behind prepositions on both sides that the other side has not ("in this sheet")
    inversions        share of pairs of shared words beside the deed that stand in the other order ("from A to B")
    swapped           1 where a known word stands for another one between the same neighbours
    scope             1 where one is about all of them and the other about some
    same_values       how much of the record's values (by rarity) the query names, too
    agreement         the rarity of the words that both have and that are no values, the rarest word counting 1;
                      `agreement_related` of what they have by related words or controls alone, `agreement_values` of
                      values. Unlike a share it tells a long request that holds a task from a short one that nearly does
    shared_words      how many such words both have, a sixth for each
    deed_held         how much of the query's first word the record has
    deed_lost         1 where neither has the first word of the other
    deed_named        the same of the record's first word; `object_held` and `object_named` of what the deed is done to,
                      a half where nothing is named
    same_kinds        how many kinds of values (number, file, quoted text, …) both have, as a share of all; a half
                      where one has none
    is_clause         1 where a clause of the query was compared, or two neighbours, not the whole
    meaning, meaning_query_coverage, meaning_record_coverage, meaning_least  see `meant`

A word counts as held exactly (1), by a related one (0.7), by a word on a clicked control (0.5) or one related to it
(0.3). A known word is one of the thesaurus: of an unknown one nobody can say that it means something else.
Values count little: what a request marks as one, what the steps typed, and what the records mostly use as one. So does
what the other request has not where it stands behind a preposition that introduces values ("to Jane", "with 5
columns"), or is an unknown word behind the deed; unless the steps click on it.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ufo_experience.retrieve.differences import Swap, find_swap, other_deed, scope_clash
from ufo_experience.retrieve.meant import compare_meanings
from ufo_experience.text.frames import TEXT_FOLLOWS, Frame
from ufo_experience.text.meaning import meanings
from ufo_experience.text.terms import COMMON
from ufo_experience.text.terms import stem as stem_of

RELATED, CLICKED, CLICKED_RELATED = 0.7, 0.5, 0.3
COMMON_WEIGHT, VALUE_WEIGHT, RECORD_VALUE_WEIGHT = 0.3, 0.25, 0.15
ARGUMENT_WEIGHT, UNKNOWN_WEIGHT = 0.35, 0.5
MOSTLY_SHARED = 0.6  # of the rest of two requests that differ in a value alone
SAME_STEPS = 0.7  # of the words on the controls that two records clicked are shared when their steps are the same
ARGUMENT_LEFT = 0.5  # what a left-over word of an argument counts, where one of deed or object counts 1
_VALUE_FOLLOWS = TEXT_FOLLOWS | {stem_of(word) for word in "to from for with at until".split()}
_CORE = frozenset({"deed", "object"})
_NONE: frozenset[str] = frozenset()
_TINY = 1e-9
_MOST_SHARED = 6  # words: more say no more
_ADDS = 0.05  # of a clause and a record, from which on the clause may add to its neighbour
_UNSAID = 0.5  # what speaks neither for nor against


class Pair(NamedTuple):
    """The features of one query and one record: shares in [0, 1], and how much there is of what they agree on."""

    query_coverage: float
    record_coverage: float
    missing: float
    surplus: float
    clicked: float
    other_deed: float
    other_object: float
    other_argument: float
    inversions: float
    swapped: float
    scope: float
    same_values: float
    agreement: float
    agreement_related: float
    agreement_values: float
    shared_words: float
    deed_held: float
    deed_lost: float
    deed_named: float
    object_held: float
    object_named: float
    same_kinds: float
    is_clause: float = 0.0
    is_reworded: float = 0.0  # another wording of the record is closer than the user's own
    meaning: float = 0.0
    meaning_query_coverage: float = 0.0
    meaning_record_coverage: float = 0.0
    meaning_least: float = 0.0


NAMES = Pair._fields


@dataclass(frozen=True)
class WordWeights:
    """What words weigh: their inverse document frequency, and the share of records in which each is a value; `rarest`
    is the inverse document frequency of a word that one record holds."""

    idf: MutableMapping[str, float]
    value_share: MutableMapping[str, float]
    rarest: float = 1.0


_Word = tuple[float, float, float, bool, bool, bool, bool, str]


class Weighed:
    """A frame with what its words weigh, worked out once for all that it is compared with.

    `columns` say of each word what it weighs where the other request has it; where not, in what is `said` and in the
    `total`; whether it is said, and where it is missed if it is known: in deed and object, or in an argument (the
    latter once more for what the other one has nothing of); and its role.
    """

    __slots__ = (
        "_value_weight",
        "_varied",
        "all_values",
        "columns",
        "content",
        "frame",
        "said",
        "values",
        "weights",
    )

    def __init__(self, frame: Frame, weights: WordWeights, value_weight: float = VALUE_WEIGHT) -> None:
        """`value_weight` is what marked values of this side weigh."""
        self.frame = frame
        self.weights, self._value_weight = weights, value_weight
        self._varied: tuple[tuple[int, ...], Weighed] | None = None
        self.columns = _columns(frame, weights, value_weight)
        self.said = meanings().said(frame, _meaning_weights(frame, self.columns[2], weights))
        stems, idf, reading = frame.stems, weights.idf, frame.reading
        self.values = tuple([(one, idf[one]) for one, kind in zip(stems, frame.kinds, strict=True) if kind])
        self.all_values = sum([idf for _, idf in self.values])
        self.content = tuple(
            [
                (place, stems[place], idf[stems[place]] / weights.rarest, stems[place] in reading.value_words)
                for place in reading.content
            ]
        )

    def with_values(self, places: tuple[int, ...]) -> Weighed:
        """The same with the words at these places as values; the last one asked for is kept."""
        known = self._varied
        if known is None or known[0] != places:
            known = self._varied = places, Weighed(self.frame.with_values(places), self.weights, self._value_weight)
        return known[1]


def _meaning_weights(frame: Frame, free: Sequence[float], weights: WordWeights) -> list[float]:
    """What is left of the weight of each word where the other request has it not, its rarity apart."""
    return [
        one / weights.idf[stem] / (COMMON_WEIGHT if stem in COMMON else 1.0)
        for stem, one in zip(frame.stems, free, strict=True)
    ]


def _columns(frame: Frame, weights: WordWeights, value_weight: float) -> tuple[tuple[Any, ...], ...]:
    """What `Weighed.columns` says of the words of a frame; by columns, so that the collector need not look at them."""
    words: list[_Word] = []
    idf, value_share, clicked, reading = weights.idf, weights.value_share, frame.clicked, frame.reading
    parts = (frame.stems, frame.kinds, reading.roles, reading.leads, reading.is_known, reading.is_measure)
    for stem, kind, role, lead, known, unit in zip(*parts, strict=True):
        shared = idf[stem] * (COMMON_WEIGHT if stem in COMMON else 1.0)
        if kind:
            shared *= value_weight
        elif value_share[stem] > 0.5:
            shared *= VALUE_WEIGHT
        total = said = shared
        free = stem not in clicked
        if unit and free:
            total = said = said * VALUE_WEIGHT
        if free and lead in _VALUE_FOLLOWS:
            total *= ARGUMENT_WEIGHT
        if not role:
            words.append((shared, said, total, False, False, False, False, role))
            continue
        core = role in _CORE
        if free and not known and not kind and role != "deed":
            total *= UNKNOWN_WEIGHT
        argument = known and not core and role not in TEXT_FOLLOWS
        words.append((shared, said, total, True, known and core, argument, argument and not (unit and free), role))
    return tuple(zip(*words, strict=True)) or ((),) * 8


class _Tally(NamedTuple):
    """Weights of the words of one request, by what the other one has of them.

    `total` and `held` are over all words. The others leave common words out: `said` is all that is left, `core` and
    `argument` what is known and not held, in deed and object or behind a preposition.
    """

    total: float
    held: float
    said: float
    core: float
    argument: float

    @property
    def lost(self) -> float:
        """The share of what is said that is known and not held."""
        return (self.core + ARGUMENT_LEFT * self.argument) / self.said


Key = TypeVar("Key")


def closest(clauses: Sequence[Weighed], wordings: Sequence[Weighed]) -> Weighed:
    """Of the wordings of a record the one a request comes closest to; the first, the user's own, if none is closer."""
    if len(wordings) == 1:
        return wordings[0]
    return max(wordings, key=lambda one: max(_mutual_coverage(clause, one) for clause in clauses))


def compare_all(
    clauses: Sequence[Frame], texts: Mapping[Key, Sequence[Weighed]], weights: WordWeights
) -> dict[Key, Pair]:
    """The features of a request and each record, in the wording that the request comes closest to.

    Where records of the same steps differ from each other at the place where the query differs from them, that place
    holds a value ("create a coupons report", "create an orders report"): there they are compared as values.
    """
    asked = [Weighed(clause, weights) for clause in clauses]
    records = {key: closest(asked, wordings) for key, wordings in texts.items()}
    compared = {key: compare_best(asked, record) for key, record in records.items()}
    pairs = {key: pair for key, (pair, _) in compared.items()}
    frames = {key: record.frame for key, record in records.items()}
    swaps = {key: swap for key, (pair, swap) in compared.items() if swap and pair.swapped == 1.0}
    varied = {key: (_swapped(frames[key], swap), frames[key].clicked) for key, swap in swaps.items()}
    for key, swap in swaps.items():
        beside = (varied[one] for one, other in swaps.items() if other.between == swap.between)
        if swap.is_all and any(_vary(*varied[key], *other) for other in beside):
            pair, _ = _compare(asked[0].with_values(swap.places), records[key].with_values(swap.others))
            if min(pair.query_coverage, pair.record_coverage) >= MOSTLY_SHARED:
                pairs[key] = pair
    meant = compare_meanings([one.said for one in asked], {key: [one.said for one in texts[key]] for key in texts})
    return {
        key: pairs[key]._replace(is_reworded=float(record is not texts[key][0]), **meant[key]._asdict())
        for key, record in records.items()
    }


def _swapped(record: Frame, swap: Swap) -> frozenset[str]:
    return frozenset(record.stems[place] for place in swap.others)


def _vary(
    words: frozenset[str], clicked: frozenset[str], others: frozenset[str], clicked_there: frozenset[str]
) -> bool:
    """True for two records of the same steps with other words in the same place."""
    if not words.isdisjoint(others):
        return False
    return len(clicked & clicked_there) >= SAME_STEPS * len(clicked | clicked_there)


def compare_best(clauses: Sequence[Weighed], record: Weighed) -> tuple[Pair, Swap | None]:
    """The features of a request that may say more than its task, and a record: those of the clause that fits best, or
    of two neighbours over which the task is spread. With them the swap of the whole, where they have one. `clauses` are
    as `request_frames` gives them."""
    if len(clauses) == 1:
        return _compare(clauses[0], record)
    fits = {place: _mutual_coverage(clauses[place], record) for place in range(1, len(clauses), 2)}
    best = max(fits, key=lambda place: fits[place])
    for beside in (best - 2, best + 2):  # the neighbours, and between them both together
        if fits.get(beside, 0.0) > _ADDS:
            both = (best + beside) // 2
            fits[both] = _mutual_coverage(clauses[both], record)
    best = max(fits, key=lambda place: fits[place])
    if fits[best] > _mutual_coverage(clauses[0], record):
        pair = _compare(clauses[best], record)[0]._replace(is_clause=1.0)
        return pair, _swap_of(clauses[0].frame, record.frame) if pair.swapped else None
    return _compare(clauses[0], record)


def _swap_of(query: Frame, record: Frame) -> Swap | None:
    return find_swap(query, record, *_shares(query, record))


def _mutual_coverage(asked_for: Weighed, known: Weighed) -> float:
    """How much of both sides the other one has: what of `_compare` tells which clause fits best."""
    query, record = asked_for.frame, known.frame
    had = _coverage(known, _named(query, record))
    return _coverage(asked_for, _asked(query, record)) * had if had else 0.0


def _coverage(weighed: Weighed, shares: Sequence[float]) -> float:
    """The share of a request, by weight, that the other one has; the sums are those of `_tally`."""
    total = held = 0.0
    shared, _, free, *_ = weighed.columns
    for share, one, lost in zip(shares, shared, free, strict=True):
        if share:
            total += one
            held += one * share
        else:
            total += lost
    return held / total if total else 0.0


def compare(query: Frame, record: Frame, weights: WordWeights) -> Pair:
    """The features of a query and a record."""
    return _compare(Weighed(query, weights), Weighed(record, weights, RECORD_VALUE_WEIGHT))[0]


def _compare(asked_for: Weighed, known: Weighed) -> tuple[Pair, Swap | None]:
    """The features of a query and a record, and what stands for each other in them."""
    query, record = asked_for.frame, known.frame
    shares, named = _shares(query, record)
    asked = _tally(asked_for, shares, record.reading.slots)
    had = _tally(known, named, _NONE)
    swap = find_swap(query, record, shares, named)
    pair = Pair(
        query_coverage=asked.held / asked.total if asked.total else 0.0,
        record_coverage=had.held / had.total if had.total else 0.0,
        missing=asked.lost,
        surplus=had.lost,
        clicked=_clicked(asked_for, record) / asked.said,
        other_deed=other_deed(query, record),
        other_object=_differ(query, query.object, record, record.object),
        other_argument=min(asked.argument, had.argument) / min(asked.said, had.said),
        inversions=_inversions(query, record),
        swapped=swap.share if swap else 0.0,
        scope=scope_clash(query, record),
        same_values=_same_values(query, known),
        **_agreement(asked_for, known, shares, named),
    )
    return pair, swap


def _clicked(query: Weighed, record: Frame) -> float:
    """What the words of a query weigh that stand on the controls of a record."""
    if record.clicked.isdisjoint(query.frame.words):
        return 0.0
    words = zip(query.frame.stems, query.frame.kinds, query.columns[0], strict=True)
    weights = [weight for one, kind, weight in words if one in record.clicked and not kind and one not in COMMON]
    return float(sum(weights))


def _agreement(query: Weighed, record: Weighed, shares: Sequence[float], named: Sequence[float]) -> dict[str, float]:
    """What both have, in units of the rarest word; values apart."""
    exact = related = values = 0.0
    shared, values_of = 0, record.frame.reading.value_words
    for place, stem, rarity, is_value in query.content:
        share = shares[place]
        if is_value or stem in values_of:
            values += rarity if share == 1.0 else 0.0
        elif share == 1.0:
            exact += rarity
            shared += 1
        else:
            related += rarity * share
    first, its_first = (side.content[0][0] if side.content else -1 for side in (query, record))
    return {
        "agreement": exact,
        "agreement_related": related,
        "agreement_values": values,
        "shared_words": min(shared, _MOST_SHARED) / _MOST_SHARED,
        "deed_held": shares[first] if first >= 0 and not query.frame.kinds[first] else 0.0,
        "deed_lost": float(min(first, its_first) >= 0 and not shares[first] and not named[its_first]),
        "deed_named": named[its_first] if its_first >= 0 and not record.frame.kinds[its_first] else 0.0,
        "object_held": _of_object(query.frame, shares),
        "object_named": _of_object(record.frame, named),
        "same_kinds": _same_kinds(query.frame.value_kinds, record.frame.value_kinds),
    }


def _of_object(frame: Frame, shares: Sequence[float]) -> float:
    """How much the other request has of what the deed is done to, in the mean of its words; a half without any."""
    found = [shares[place] for place in frame.reading.object_words]
    return sum(found) / len(found) if found else _UNSAID


def _same_kinds(some: frozenset[str], others: frozenset[str]) -> float:
    return len(some & others) / len(some | others) if some and others else _UNSAID


def _same_values(query: Frame, record: Weighed) -> float:
    """The share of the record's values that stand in the query, by the rarity of their words."""
    if not record.all_values:
        return 0.0
    return sum(idf for stem, idf in record.values if stem in query.words) / record.all_values


def _shares(query: Frame, record: Frame) -> tuple[list[float], list[float]]:
    """Of each word of the query how much the record has of it, and the other way round."""
    return _asked(query, record), _named(query, record)


def _asked(query: Frame, record: Frame) -> list[float]:
    """Beside words that both have, and related ones, what stands on the controls that the steps of a record clicked."""
    words, own, clicked, on_controls = record.words, record.own, record.clicked, record.clicked_entries
    return [
        1.0
        if stem in words
        else RELATED
        if not related.isdisjoint(own)
        else CLICKED
        if stem in clicked and stem not in COMMON
        else 0.0
        if related.isdisjoint(on_controls)
        else CLICKED_RELATED
        for stem, related in zip(query.stems, query.related, strict=True)
    ]


def _named(query: Frame, record: Frame) -> list[float]:
    others, known = query.words, query.known
    return [
        1.0 if stem in others else 0.0 if entries.isdisjoint(known) else RELATED
        for stem, entries in zip(record.stems, record.entries, strict=True)
    ]


def as_array(pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """One row per pair, columns in the order of `NAMES`."""
    return np.fromiter(chain.from_iterable(pairs), np.float64).reshape(len(pairs), len(NAMES))


def _tally(weighed: Weighed, shares: Sequence[float], slots: frozenset[str]) -> _Tally:
    """The tally of a request, of whose words the other one has these shares; `slots` are those of the other one."""
    total, held, said, core, argument = 0.0, 0.0, _TINY, 0.0, 0.0
    for share, shared, free, lost, is_said, is_core, may_miss, may_miss_free, role in zip(
        shares, *weighed.columns, strict=True
    ):
        if share:
            total += shared
            held += shared * share
            weight, is_argument = shared, may_miss
        else:
            total += lost
            weight, is_argument = free, may_miss_free
        if is_said:
            said += weight
            if share < RELATED:
                left = weight * CLICKED if share else weight
                if is_core:
                    core += left
                elif is_argument and role not in slots:
                    argument += left
    return _Tally(total, held, said, core, argument)


def _differ(query: Frame, asked: int, record: Frame, had: int) -> float:
    """1.0 when the words at these places (-1: none) are known, and neither request has anything related to them."""
    if asked < 0 or had < 0 or not (query.reading.is_known[asked] and record.reading.is_known[had]):
        return 0.0
    one, other = query.stems[asked], record.stems[had]
    named = other in query.words or one in record.words or one in record.clicked
    related = query.related[asked] & (record.own | record.clicked_entries) or record.related[had] & query.own
    return float(not named and not related)


def _inversions(query: Frame, record: Frame) -> float:
    places = record.places
    shared = [places[stem] for stem in query.beside_deed if stem in places]
    if len(shared) < 2 or shared == sorted(shared):
        return 0.0
    pairs = list(combinations(shared, 2))
    return sum(first > second for first, second in pairs) / len(pairs)
