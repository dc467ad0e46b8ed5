"""What speaks for and against a record: features of the request that is asked and the request that is stored.

A word counts as held by the other side exactly (1) or by a word related to it in the thesaurus (0.7). Rare words count
more, values and the smallest words less; so does what introduces a value ("to Jane") or is in no thesaurus, where the
other side has it not: that may be a name. Verb, object and meaning are those of the clause that asks (`Request.asks`):
a long request says much that is no part of the task.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.base import Candidate
from ufo_experience.request import Request, on_forgetting, stem
from ufo_experience.retrieve.meaning import Said, meanings
from ufo_experience.retrieve.thesaurus import Entries, thesaurus

Floats = NDArray[np.float64]
RELATED = 0.7  # what a related word counts, where the same one counts 1
_COMMON_WEIGHT, _VALUE_WEIGHT, _ARGUMENT_WEIGHT, _UNKNOWN_WEIGHT = 0.3, 0.25, 0.35, 0.5
_MOST_SHARED = 6  # words: more say no more
_UNSAID = 0.5  # what speaks neither for nor against
_WORDS = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
COMMON = frozenset(map(stem, _WORDS["common"].split()))
_PREPOSITIONS = frozenset(map(stem, _WORDS["prepositions"].split()))
_BEFORE_VALUES = frozenset(map(stem, _WORDS["before_values"].split()))
_INTRODUCES = {stem(word): kind for kind, some in _WORDS["introduces"].items() for word in some.split()}
_ENDS_FILLER = _PREPOSITIONS | frozenset(map(stem, _WORDS["ends_filler"].split()))
_ALWAYS_FILLED = frozenset({"content", "title"})
_NONE: Entries = frozenset()

PAIR = (
    "query_coverage", "record_coverage", "missing", "surplus", "agreement", "agreement_related", "agreement_values",
    "shared_words", "verb_held", "verb_named", "object_held", "object_named", "same_kinds", "same_values",
    "unexplained", "asks_held", "asks_named", "sentence_held", "sentence_named",
)  # fmt: skip
MEANT = ("meaning", "meaning_asked", "meaning_named", "meaning_least")
STORE = ("words", "masked", *PAIR, *MEANT)


@dataclass(frozen=True)
class Part:
    """A sentence of a request: where its words stand, and what they stand for."""

    start: int
    end: int
    words: frozenset[str]
    own: Entries


@dataclass(frozen=True)
class Prepared:
    """A request as it is compared: of each word what it stands for and weighs, its rarity apart.

    `shared` weighs a word where the other side has it, `lost` where not; `says` is False for the smallest words.
    """

    stems: tuple[str, ...]
    is_value: tuple[bool, ...]
    entries: tuple[Entries, ...]
    related: tuple[Entries, ...]
    shared: tuple[float, ...]
    lost: tuple[float, ...]
    says: tuple[bool, ...]
    known: tuple[bool, ...]
    place: tuple[str, ...]  # the kind of filler that stands there, "" for words of the procedure itself
    words: frozenset[str]
    own: Entries  # what the words stand for that are no values
    kinds: frozenset[str]
    verb: int
    objects: tuple[int, ...]
    asks: Part
    said: Said


@lru_cache(maxsize=512)
def prepared(request: Request) -> Prepared:
    """A request ready for comparison; the last few hundred are kept, as a long one takes 100 kB."""
    stems, kinds = request.words, request.kinds
    entries = thesaurus().entries(stems)
    related = tuple(thesaurus().related(one) if one else one for one in entries)
    says = tuple(one not in COMMON and one not in _PREPOSITIONS for one in stems)
    known = tuple(
        not kind and (bool(found) or thesaurus().is_known(one))
        for one, kind, found in zip(stems, kinds, entries, strict=True)
    )
    shared = tuple(
        (1.0 if saying else _COMMON_WEIGHT) * (_VALUE_WEIGHT if kind else 1.0)
        for saying, kind in zip(says, kinds, strict=True)
    )
    start, end = request.asked
    asking = [place for place in range(start, end) if says[place] and not kinds[place]]
    verb = asking[0] if asking else -1
    lost = _lost(stems, shared, says, known, verb)
    fillers = _fillers(stems, kinds, known, verb)
    objects = _objects(stems, says, fillers, verb, end)
    weights = [
        (stems[place], lost[place] / (1.0 if says[place] else _COMMON_WEIGHT))
        for place in range(start, end)
        if not kinds[place]
    ]
    whole = _part(stems, entries, kinds, 0, len(stems))
    return Prepared(
        stems,
        tuple(map(bool, kinds)),
        tuple(entries),
        related,
        shared,
        lost,
        says,
        known,
        fillers,
        whole.words,
        whole.own,
        frozenset(kinds) - {"", "name"},
        verb,
        objects,
        whole if (start, end) == (0, len(stems)) else _part(stems, entries, kinds, start, end),
        meanings().said([one for one in weights if not one[0].isdigit()]),
    )


on_forgetting(prepared.cache_clear)


def _part(stems: Sequence[str], entries: Sequence[Entries], kinds: Sequence[str], start: int, end: int) -> Part:
    own = _NONE.union(*[found for found, kind in zip(entries[start:end], kinds[start:end], strict=True) if not kind])
    return Part(start, end, frozenset(stems[start:end]), own)


def _lost(
    stems: Sequence[str], shared: Sequence[float], says: Sequence[bool], known: Sequence[bool], verb: int
) -> tuple[float, ...]:
    """What each word weighs that the other side has not."""
    found: list[float] = []
    lead = ""
    for place, (word, weight) in enumerate(zip(stems, shared, strict=True)):
        lead = word if word in _PREPOSITIONS else lead
        weight *= _ARGUMENT_WEIGHT if lead in _BEFORE_VALUES else 1.0
        weight *= _UNKNOWN_WEIGHT if says[place] and not known[place] and place != verb else 1.0
        found.append(weight)
    return tuple(found)


def _fillers(stems: Sequence[str], kinds: Sequence[str], known: Sequence[bool], verb: int) -> tuple[str, ...]:
    """Of each word which place it fills: everything behind "about" or "named", values and what may be one elsewhere.

    Runs of one procedure differ there, marked or not: "about the budget" and "about the trip".
    """
    found: list[str] = []
    lead = ""
    for place, (word, kind) in enumerate(zip(stems, kinds, strict=True)):
        if word in _ENDS_FILLER and place > verb:
            lead = _INTRODUCES.get(word, "")
            found.append("")
            continue
        fills = bool(kind) or lead in _ALWAYS_FILLED or (bool(lead) and not known[place] and word not in COMMON)
        found.append((lead or kind) if fills else "")
    return tuple(found)


def _objects(
    stems: Sequence[str], says: Sequence[bool], fillers: Sequence[str], verb: int, end: int
) -> tuple[int, ...]:
    """The places of what is acted on: what stands behind the verb, up to a preposition."""
    found: list[int] = []
    for place in range(verb + 1, end) if verb >= 0 else ():
        if stems[place] in _PREPOSITIONS and found:
            break
        if says[place] and not fillers[place]:
            found.append(place)
    return tuple(found)


def pair_features(
    asked: Prepared, sentences: Sequence[Part], had: Prepared, rarity: Mapping[str, float], rarest: float
) -> list[float]:
    """The features of a request and a record, in the order of `PAIR`."""
    held = _shares(asked, had)
    named = _shares(had, asked)
    exact = related = values = 0.0
    count = 0
    for place, share in enumerate(held):
        if not share or not asked.says[place]:
            continue
        word = asked.stems[place]
        weight = rarity[word] / rarest
        if asked.is_value[place]:
            values += weight
        elif share == 1.0:
            exact += weight
            count += 1
        else:
            related += weight * share
    coverage, missing = _coverage(asked, held, rarity)
    record_coverage, surplus = _coverage(had, named, rarity)
    asks_named = _covered(had, named, had.asks, rarity)
    return [
        coverage,
        record_coverage,
        missing,
        surplus,
        exact,
        related,
        values,
        min(count, _MOST_SHARED) / _MOST_SHARED,
        held[asked.verb] if asked.verb >= 0 else _UNSAID,
        named[had.verb] if had.verb >= 0 else _UNSAID,
        _mean(held, asked.objects),
        _mean(named, had.objects),
        _overlap(asked.kinds, had.kinds),
        _same_values(asked, had, rarity),
        _unexplained(asked, held, had, named, rarity),
        _covered(asked, held, asked.asks, rarity),
        asks_named,
        *(_best_sentence(asked, sentences, held, had, rarity) if len(sentences) > 1 else (coverage, asks_named)),
    ]


def _best_sentence(
    asked: Prepared, sentences: Sequence[Part], held: Sequence[float], had: Prepared, rarity: Mapping[str, float]
) -> tuple[float, float]:
    """Of the sentence of the request that fits what the record asks best: how much either has of the other."""
    pairs = [
        (_covered(asked, held, one, rarity), _covered(had, _shares(had, one), had.asks, rarity)) for one in sentences
    ]
    return max(pairs, key=lambda pair: pair[0] * pair[1], default=(0.0, 0.0))


def _covered(side: Prepared, shares: Sequence[float], part: Part, rarity: Mapping[str, float]) -> float:
    """How much of a part of one side the other has."""
    total = held = 0.0
    for place in range(part.start, part.end):
        weight = rarity[side.stems[place]] * (side.shared[place] if shares[place] else side.lost[place])
        total += weight
        held += weight * shares[place]
    return held / total if total else 0.0


def _shares(side: Prepared, other: Prepared | Part) -> list[float]:
    """Of each word of one side how much the other, or a part of it, has of it."""
    words, own = other.words, other.own
    return [
        1.0 if word in words else 0.0 if related.isdisjoint(own) else RELATED
        for word, related in zip(side.stems, side.related, strict=True)
    ]


def _coverage(side: Prepared, shares: Sequence[float], rarity: Mapping[str, float]) -> tuple[float, float]:
    """How much of a side the other one has, and the share of what it says that is known and missing there."""
    total = held = missing = 0.0
    said = 1e-9
    columns = zip(side.stems, shares, side.shared, side.lost, side.says, side.known, strict=True)
    for word, share, shared, lost, says, known in columns:
        weight = rarity[word] * (shared if share else lost)
        total += weight
        held += weight * share
        if says:
            said += weight
            if not share and known:
                missing += weight
    return (held / total if total else 0.0), missing / said


def _unexplained(
    asked: Prepared, held: Sequence[float], had: Prepared, named: Sequence[float], rarity: Mapping[str, float]
) -> float:
    """How much the two differ, apart from what fills the same places of both: there runs of one procedure differ."""
    both = frozenset(asked.place) & frozenset(had.place) - {""}
    total = differs = 0.0
    for side, shares in ((asked, held), (had, named)):
        columns = zip(side.stems, shares, side.shared, side.lost, side.says, side.place, strict=True)
        for word, share, shared, lost, says, place in columns:
            if says and place not in both:
                weight = rarity[word] * (shared if share else lost)
                total += weight
                differs += weight * (1 - share)
    return differs / total if total else _UNSAID


def _mean(shares: Sequence[float], places: Sequence[int]) -> float:
    return sum([shares[place] for place in places]) / len(places) if places else _UNSAID


def _overlap(some: frozenset[str], others: frozenset[str]) -> float:
    return len(some & others) / len(some | others) if some and others else _UNSAID


def _same_values(asked: Prepared, had: Prepared, rarity: Mapping[str, float]) -> float:
    """The share of the record's values that the request names, too, by the rarity of their words."""
    values = [word for word, is_value in zip(had.stems, had.is_value, strict=True) if is_value]
    total = sum([rarity[word] for word in values])
    return sum([rarity[word] for word in values if word in asked.words]) / total if total else 0.0


def table_of(asked: Request, candidates: Sequence[Candidate], rarity: Mapping[str, float], rarest: float) -> Floats:
    """The features of a request and each candidate by itself, columns in the order of `STORE`."""
    own = prepared(asked)
    others = [prepared(one.row.request) for one in candidates]
    sentences = [_part(own.stems, own.entries, asked.kinds, *one) for one in asked.sentences]
    pairs = [pair_features(own, sentences, other, rarity, rarest) for other in others]
    near = meanings().compare(own.said, [other.said for other in others])
    index = [[one.words, one.masked] for one in candidates]
    return np.hstack([np.array(index), np.array(pairs), np.column_stack(near).astype(np.float64)])


def words_of(requests: Sequence[Request]) -> set[str]:
    """All words whose rarity `table_of` asks for."""
    return {word for one in requests for word in one.words}
