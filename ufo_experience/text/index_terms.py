"""The terms a request is indexed and searched by, in two views; each carries a prefix that tells its class.

    words      stems, pairs of neighbours, the first word, values (`=`), phrases of the thesaurus (`~`), and the words
               and phrases on the controls that the steps clicked (`@`, `@~`), words of its other wordings (`%`); a
               query asks for related words, too
    skeleton   stems, pairs and first word with every value as one placeholder, and the values behind them (`s=`)

The skeleton of a *record* takes capital letters inside a sentence for a name, unless its steps clicked on that word.
The skeleton of a *query* does not look at letter case: a word is a value when the records use it mostly as one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise

from ufo_experience.text.frames import TYPED, Frame, digits, in_sentence_case, record_frame
from ufo_experience.text.meaning import meanings
from ufo_experience.text.remembered import on_forgetting
from ufo_experience.text.slots import mask_slots
from ufo_experience.text.terms import COMMON, stem, without_politeness, words
from ufo_experience.text.thesaurus import Entries

VALUE = "<value>"
PAIR, HEAD, VALUE_WEIGHT, LOOSE_VALUE = 0.5, 1.5, 0.6, 0.3
SKELETON_VALUE = 0.15
STEP, RELATED, STEP_RELATED, WORDED = 0.4, 0.5, 0.15, 0.7
MEANT = 3.0  # what words of like meaning weigh, times their cosine with the whole
MEANT_WORDS, LEAST_MEANT = 48, 0.25  # how many do, and from which cosine on
FEW_MEANT_WORDS = 12  # in a store where most rows are passed over: the more words, the fewer are
_LETTERS = re.compile(r"[^\W\d_]+")
Weights = dict[str, float]


@lru_cache(maxsize=16_384)
def term_hash(term: str) -> int:
    """64-bit hash of a term, the same on every platform."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


on_forgetting(term_hash.cache_clear)


def record_terms(
    text: str, clicked: str = "", typed: str = "", wordings: Sequence[str] = ()
) -> tuple[Mapping[str, float], int]:
    """How often each term stands in a record of both views, and its length in words; `wordings` are other requests for
    the same."""
    frame = record_frame(text, clicked, typed)
    counts: Counter[str] = Counter()
    for one, kind in zip(frame.stems, frame.kinds, strict=True):
        counts[f"={one}" if kind else one] += 1
    counts.update(_sequence(_marked(frame), ""))
    counts.update(f"~{one}" for one in _phrases(frame.own))
    counts.update(f"@{one}" for one in frame.clicked.difference(frame.stems) - COMMON)
    counts.update(f"@~{one}" for one in _phrases(frame.clicked_entries - frame.own))
    counts.update(f"%{one}" for one in _worded(wordings, clicked, typed) - frame.words - COMMON)
    values = (one for one, kind in zip(frame.stems, frame.kinds, strict=True) if kind == TYPED)
    shown, hidden = _record_skeleton(text, frame.clicked, frozenset(values))
    counts.update(f"s {one}" for one in shown)
    counts.update(_sequence(shown, "s "))
    counts.update(f"s={one}" for one in hidden)
    return {name: float(times) for name, times in counts.items()}, len(frame.stems)


def _worded(wordings: Iterable[str], clicked: str, typed: str) -> frozenset[str]:
    """The words of other wordings that are no values."""
    frames = (record_frame(one, clicked, typed) for one in wordings)
    return frozenset(one for frame in frames for one, kind in zip(frame.stems, frame.kinds, strict=True) if not kind)


def word_terms(frame: Frame, meant_words: int = MEANT_WORDS) -> tuple[Weights, Weights]:
    """The words of a query with their weights: what matches as it stands, and what helps where that does not;
    `meant_words` are as many words of like meaning."""
    exact: Weights = {}
    for one, kind in zip(frame.stems, frame.kinds, strict=True):
        exact[f"={one}" if kind else one] = VALUE_WEIGHT if kind else 1.0
    exact |= {name: HEAD if name[0] == "^" else PAIR for name in _sequence(_marked(frame), "")}
    plain = [one for one, kind in zip(frame.stems, frame.kinds, strict=True) if one not in COMMON]
    loose: Weights = {f"@{one}": STEP for one in plain}
    loose |= {f"%{one}": WORDED for one in plain}
    loose |= {f"={one}": LOOSE_VALUE for one in plain if f"={one}" not in exact}
    for one in sorted(frame.known.difference(frame.stems)):  # sums come out the same in every process
        mark = "~" if " " in one else ""
        loose |= {f"{mark}{one}": RELATED, f"@{mark}{one}": STEP_RELATED}
    for one, cosine in meanings().nearest(meanings().said(frame), meant_words):
        if one not in COMMON and one not in exact and cosine > LEAST_MEANT:
            loose[one] = max(loose.get(one, 0.0), MEANT * cosine)
    return exact, loose


def skeleton_terms(text: str, is_value: Callable[[Sequence[str]], Sequence[bool]]) -> Weights:
    """The skeleton of a query with its weights; `is_value` tells of stems whether the records use them as values."""
    low = digits(text)
    stems = words(_unified(without_politeness(mask_slots(low))))
    flags = is_value([one for one in stems if one[0] != "<"])
    verdicts = iter(flags)
    shown = _collapsed(VALUE if one[0] != "<" and next(verdicts) else one for one in stems)
    weights: Weights = {f"s {one}": 1.0 for one in shown}
    weights |= {name: HEAD if name.startswith("s ^") else PAIR for name in _sequence(shown, "s ")}
    weights |= {f"s={one}": SKELETON_VALUE for one in Counter(words(low)) - Counter(shown)}
    return weights


def _record_skeleton(text: str, clicked: frozenset[str], typed: frozenset[str]) -> tuple[list[str], Counter[str]]:
    low = digits(text)
    cased = text if in_sentence_case(text) else low
    cased = _LETTERS.sub(lambda word: word[0].lower() if stem(word[0].lower()) in clicked else word[0], cased)
    stems = words(_unified(without_politeness(digits(mask_slots(cased)))))
    shown = _collapsed(VALUE if one in typed else one for one in stems)
    return shown, Counter(words(low)) - Counter(shown)


def _unified(masked: str) -> str:
    return masked.replace("<text>", VALUE).replace("<name>", VALUE)


def _collapsed(stems: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for one in stems:
        if one != VALUE or kept[-1:] != [VALUE]:
            kept.append(one)
    return kept


def _marked(frame: Frame) -> list[str]:
    """The stems with each run of values as one placeholder of its kind."""
    marked: list[str] = []
    for one, kind in zip(frame.stems, frame.kinds, strict=True):
        mark = f"<{kind}>" if kind else one
        if not kind or marked[-1:] != [mark]:
            marked.append(mark)
    return marked


def _sequence(stems: Sequence[str], prefix: str) -> list[str]:
    """Pairs of neighbours (the end is one), and the first word."""
    pairs = [f"{prefix}{left} {right}" for left, right in pairwise([*stems, "$"])]
    return [*pairs, f"{prefix}^ {stems[0]}"] if stems else []


def _phrases(entries: Entries) -> list[str]:
    return [one for one in entries if " " in one]
