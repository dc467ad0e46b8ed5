"""What speaks for and against a record: features of the request that is asked and the requests that are stored.

A word counts as held by the other side exactly (1) or by a word related to it in the thesaurus (0.7). Rare words count
more, values and the smallest words less; so does what introduces a value ("to Jane") or is in no thesaurus, where the
other side has it not: that may be a name. Verb and meaning are those of the clause that asks (`Request.asks`): a long
request says much that is no part of the task.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.base import Candidate
from ufo_experience.request import Request, application_key, on_forgetting, stem
from ufo_experience.retrieve.meaning import Said, meanings
from ufo_experience.retrieve.opposites import conflict
from ufo_experience.retrieve.thesaurus import Entries, thesaurus

Floats = NDArray[np.float64]
RELATED = 0.7  # what a related word counts, where the same one counts 1
_COMMON_WEIGHT, _VALUE_WEIGHT, _ARGUMENT_WEIGHT, _UNKNOWN_WEIGHT = 0.3, 0.25, 0.35, 0.5
_UNSAID = 0.5  # what speaks neither for nor against
_ALIKE = 0.7  # of the weight of their words two requests share, to read like runs of one procedure
_BESIDE = 3  # other tasks of an application that tell whether a request is about it
_DATA = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
COMMON = frozenset(map(stem, _DATA["common"].split()))
_LEADS = {stem(word): kind for kind, some in _DATA["leads"].items() for word in some.split()}
_ALWAYS_FILLED = frozenset({"content", "title"})

NAMES: tuple[str, ...] = (
    "masked", "record_coverage", "missing", "surplus", "agreement_related", "verb_held", "same_values", "unexplained",
    "asks_named", "meaning_asked", "meaning_named", "ahead", "best_masked", "log_length", "application_ahead",
)  # fmt: skip


class Word(NamedTuple):
    """A word as it is compared: what it stands for and what is related to that, and what it weighs, its rarity apart.

    `shared` weighs it where the other side has it, `lost` where not; `says` is False for the smallest words. `filler`
    is the kind of place it fills, "" for words of the procedure itself.
    """

    stem: str
    own: Entries
    related: Entries
    is_value: bool
    says: bool
    known: bool
    filler: str
    shared: float
    lost: float


@dataclass(frozen=True)
class Prepared:
    """A request as it is compared; `own` is what its words stand for (values left out), `asks` the clause that asks."""

    words: tuple[Word, ...]
    stems: frozenset[str]
    own: Entries
    fillers: frozenset[str]
    verb: int
    asks: slice
    said: Said


@lru_cache(maxsize=512)
def prepared(request: Request) -> Prepared:
    """A request ready for comparison; the last few hundred are kept, as a long one takes 100 kB."""
    words, verb = _read(request)
    asks = slice(*request.asked)
    said = [
        (one.stem, one.lost / (1.0 if one.says else _COMMON_WEIGHT))
        for one in words[asks]
        if not one.is_value and not one.stem.isdigit()
    ]
    return Prepared(
        words,
        frozenset(request.words),
        frozenset().union(*(one.own for one in words if not one.is_value)),
        frozenset(one.filler for one in words) - {""},
        verb,
        asks,
        meanings().said(said),
    )


on_forgetting(prepared.cache_clear)


def _read(request: Request) -> tuple[tuple[Word, ...], int]:
    """The words of a request, and the place of its verb (-1 without one).

    What stands behind "about" or "named" fills a place, and so do values and what may be one elsewhere: runs of one
    procedure differ there, marked or not ("about the budget", "about the trip").
    """
    known_words = thesaurus()
    says = [word not in COMMON and word not in _LEADS for word in request.words]
    asking = (place for place in range(*request.asked) if says[place] and not request.kinds[place])
    verb = next(asking, -1)
    found: list[Word] = []
    lead = ""
    columns = zip(request.words, request.kinds, known_words.entries(request.words), says, strict=True)
    for place, (word, kind, own, saying) in enumerate(columns):
        known = not kind and (bool(own) or known_words.is_known(word))
        goes_on = lead in _ALWAYS_FILLED and _LEADS.get(word) in ("to", "of")  # "named songs for the evening"
        if word in _LEADS and place > verb and not goes_on:
            lead = _LEADS[word]
        fills = bool(kind) or (saying and bool(lead) and (lead in _ALWAYS_FILLED or not known))
        shared = (1.0 if saying else _COMMON_WEIGHT) * (_VALUE_WEIGHT if kind else 1.0)
        lost = shared * (_ARGUMENT_WEIGHT if lead else 1.0)
        lost *= _UNKNOWN_WEIGHT if saying and not known and place != verb else 1.0
        related = known_words.related(own) if own else own
        found.append(Word(word, own, related, bool(kind), saying, known, (lead or kind) if fills else "", shared, lost))
    return tuple(found), verb


def table_of(asked: Request, candidates: Sequence[Candidate], rarity: Mapping[str, float]) -> Floats:
    """The features of a request and each candidate, columns in the order of `NAMES`. `rarity` is that of all their
    words and, under "", of an unknown one."""
    own, others = prepared(asked), [prepared(one.row.request) for one in candidates]
    masked = np.array([[one.masked] for one in candidates])
    pairs = np.array([_pair(own, other, rarity) for other in others])
    near = meanings().compare(own.said, [other.said for other in others])
    standing = _standing(own, candidates, others, near.mean(axis=1))
    return np.asarray(np.hstack([masked, pairs, near, standing]), np.float64)


# ---- a request and a record ----


def _pair(asked: Prepared, had: Prepared, rarity: Mapping[str, float]) -> list[float]:
    held, named = _shares(asked, had), _shares(had, asked)
    weight, other_weight = _weights(asked, held, rarity), _weights(had, named, rarity)
    pairs = zip(asked.words, held, strict=True)
    related = sum(share * rarity[word.stem] for word, share in pairs if word.says and 0 < share < 1)
    both = asked.fillers & had.fillers
    return [
        _mean(other_weight, named),
        _missing(asked, held, weight),
        _missing(had, named, other_weight),
        related / rarity[""],
        held[asked.verb] if asked.verb >= 0 else _UNSAID,
        _same_values(asked, had, rarity),
        _unexplained(both, [(asked, weight, held), (had, other_weight, named)]),
        _mean(other_weight[had.asks], named[had.asks]),
    ]


def _shares(side: Prepared, other: Prepared) -> list[float]:
    """Of each word of one side how much the other has of it."""
    return [
        1.0 if word.stem in other.stems else 0.0 if word.related.isdisjoint(other.own) else RELATED
        for word in side.words
    ]


def _weights(side: Prepared, shares: Sequence[float], rarity: Mapping[str, float]) -> list[float]:
    pairs = zip(side.words, shares, strict=True)
    return [rarity[word.stem] * (word.shared if share else word.lost) for word, share in pairs]


def _mean(weights: Sequence[float], shares: Sequence[float]) -> float:
    """How much of a side, or a part of it, the other has."""
    total = sum(weights)
    return sum(map(float.__mul__, weights, shares)) / total if total else 0.0


def _missing(side: Prepared, shares: Sequence[float], weights: Sequence[float]) -> float:
    """The share of what a side says that is known, fills no place, and that the other has not."""
    columns = [one for one in zip(side.words, shares, weights, strict=True) if one[0].says]
    missing = sum(weight for word, share, weight in columns if word.known and not share and not word.filler)
    return missing / (sum(weight for _, _, weight in columns) or 1.0)


def _unexplained(both: frozenset[str], sides: Iterable[tuple[Prepared, Sequence[float], Sequence[float]]]) -> float:
    """How much the two differ, apart from what fills the same places of both: there runs of one procedure differ."""
    total = differs = 0.0
    for side, weights, shares in sides:
        for word, weight, share in zip(side.words, weights, shares, strict=True):
            if word.says and word.filler not in both:
                total += weight
                differs += weight * (1 - share)
    return differs / total if total else _UNSAID


def _same_values(asked: Prepared, had: Prepared, rarity: Mapping[str, float]) -> float:
    """The share of the record's values that the request names, too, by the rarity of their words."""
    values = [word.stem for word in had.words if word.is_value]
    total = sum(rarity[word] for word in values)
    return sum(rarity[word] for word in values if word in asked.stems) / total if total else 0.0


# ---- a record among others ----


def _standing(asked: Prepared, candidates: Sequence[Candidate], requests: Sequence[Prepared], near: Floats) -> Floats:
    """How far each is ahead of the best other procedure, and what tells how hard the request is."""
    together = near + np.array([one.words + one.masked for one in candidates])
    best = int(together.argmax())
    pairs = zip(candidates, requests, strict=True)
    same = np.array([_is_run_of(candidates[best], requests[best], *pair) for pair in pairs], np.bool_)
    others = float(together[~same].max(initial=0.0))
    length = math.log(max(sum(word.stem not in COMMON for word in asked.words), 1))
    return np.column_stack(
        [
            together - np.where(same, others, together[best]),
            np.full(len(candidates), max(one.masked for one in candidates)),
            np.full(len(candidates), length),
            _application_ahead(together, candidates),
        ]
    )


def _is_run_of(best: Candidate, one: Prepared, other: Candidate, two: Prepared) -> bool:
    """True for what reads like another run of the best one's procedure: that is not ahead of it, nor behind."""
    if best.row.task_key == other.row.task_key:
        return True
    weight = {word.stem: word.lost for side in (two, one) for word in side.words}
    shared = math.fsum(weight[word] for word in one.stems & two.stems)
    alike = shared >= _ALIKE * math.fsum(weight.values())
    return alike and conflict(best.row.request, other.row.request) is None


def _application_ahead(values: Floats, candidates: Sequence[Candidate]) -> Floats:
    """How much nearer the best other tasks of its application come than those of other applications."""
    keys = [application_key(one.row.application) for one in candidates]
    tasks = [one.row.task_key for one in candidates]
    best: dict[str, dict[str, float]] = {}
    for key, task, value in zip(keys, tasks, values.tolist(), strict=True):
        known = best.setdefault(key, {})
        known[task] = max(value, known.get(task, 0.0))
    if len(best) < 2:
        return np.zeros(len(candidates))
    others = {key: _best(value for other in best if other != key for value in best[other].values()) for key in best}
    own = (
        _best(value for other, value in best[key].items() if other != task) - others[key]
        for key, task in zip(keys, tasks, strict=True)
    )
    return np.fromiter(own, np.float64)


def _best(values: Iterable[float]) -> float:
    return sum(sorted(values, reverse=True)[:_BESIDE]) / _BESIDE
