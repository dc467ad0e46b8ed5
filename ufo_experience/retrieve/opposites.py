"""Opposites: two requests that read alike and are not the same task.

"Turn on Bluetooth" and "turn off Bluetooth", "save before closing" and "close without saving" pass any threshold of
likeness. Every word is an axis of its own: who says it stands at one end, who negates it or turns it around by a prefix
(un-, dis-) at the other. Words of `opposites.json` share axes ("show", "hide"). `conflict` names an axis on which two
requests stand at opposite ends. The rule is short-sighted on purpose: it looks at the clause that asks, and where both
ends of an axis stand in one request, that axis decides nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ufo_experience.request import Request, on_forgetting, stem

_DATA: dict[str, Any] = json.loads(Path(__file__).with_name("opposites.json").read_text("utf-8"))
_LEAST_REST = 3  # letters behind a prefix
_WORD = r"[^\W\d_]+(?:'[a-z]+)?"
_TOKEN = re.compile(rf"{_WORD}|[,.;:!?]")


def _words(name: str) -> frozenset[str]:
    return frozenset(_DATA[name].split())


def _stems(name: str) -> frozenset[str]:
    return frozenset(map(stem, _DATA[name].split()))


_NEGATORS, _FILLERS, _SUBJECTS = _words("negators"), _words("fillers"), _words("subjects")
_STOPS = frozenset(",.;:!?") | _words("clause_ends")
_EITHER_WAY, _REMOVE = _stems("same_either_way"), _stems("remove")
_TAKE_BACK = _REMOVE | _stems("take_back")
_PREFIXES = [(prefix, "", -1) for prefix in _DATA["prefixes"].split()]  # prefix, axis, end
for _one, _other in map(str.split, _DATA["prefix_pairs"]):
    _PREFIXES += [(_one, f"{_one}/{_other} ", 1), (_other, f"{_one}/{_other} ", -1)]
_PARTICLES: dict[str, tuple[str, int]] = {}
for _one, _other in map(str.split, _DATA["particles"]):
    _PARTICLES |= {_one: (f"{_one}/{_other}", 1), _other: (f"{_one}/{_other}", -1)}
_WAYS = {word: end for end, name in ((1, "from"), (-1, "to"), (0, "neither")) for word in _DATA[name].split()}


class Marks(NamedTuple):
    """What decides whether requests contradict each other: at which end (1, -1; 0: both) of each axis one stands, its
    first word where that may be a verb, and the words behind a first word that removes them."""

    ends: Mapping[str, int]
    deed: str
    removed: frozenset[str]


def conflict(one: Request, other: Request) -> str | None:
    """The axis on which two requests cannot be the same task, or None when nothing speaks against it."""
    a, b = marks_of(one), marks_of(other)
    removed = a.removed & {b.deed} or b.removed & {a.deed}  # "underline it" against "remove the underline"
    apart = (axis for axis, end in a.ends.items() if end * b.ends.get(axis, 0) < 0)
    return next(iter(removed), None) or min(apart, default=None)


@lru_cache(maxsize=512)  # not more: a request of 8,000 characters takes 90 kB
def marks_of(request: Request) -> Marks:
    """Where the clause that asks stands; values left out."""
    tokens = _rewritten(_TOKEN.findall(_spaced(_without_values(request))))
    found = _Reader()
    for axis, end in (*_particles(tokens), *_ways(request)):
        found.stand(axis, end)
    for place, token in enumerate(tokens):
        found.take(token, tokens[max(0, place - 2) : place])
    first, (deed, *others) = (tokens or [""])[0], found.said or [""]
    may_be_verb = stem(first) == deed and len(first) > 2 and not first.endswith(("s", "ed"))
    return Marks(found.ends, deed if may_be_verb else "", frozenset(others if deed in _REMOVE else ()))


on_forgetting(marks_of.cache_clear)


def _without_values(request: Request) -> str:
    """The clause that asks, in lower case, values blanked out and names left."""
    start = request.text.find(request.asks) if request.asks else 0
    text = request.asks or request.text
    for value in reversed(request.values):
        if value.kind != "name" and start <= value.start and value.end <= start + len(text):
            text = f"{text[: value.start - start]} , {text[value.end - start :]}"
    return text.lower().replace("’", "'")


class _Reader:
    """What is said so far, word by word."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.ends: dict[str, int] = {}
        self._negating = False

    def take(self, token: str, before: Sequence[str]) -> None:
        """One more word; `before` are the two before it."""
        if token in _STOPS:
            self._negating = False
        elif token in _NEGATORS:
            self._negating = _SUBJECTS.isdisjoint(before)  # "a file I can not find" asks for nothing
        elif token not in _FILLERS:
            taken_back = not _TAKE_BACK.isdisjoint(self.said[-2:])
            self._word(stem(token), -1 if self._negating else 1, taken_back)
            self._negating = False

    def _word(self, word: str, sign: int, taken_back: bool) -> None:
        self.stand(word, 0 if taken_back else sign)
        for prefix, axis, end in _PREFIXES:
            rest = word.removeprefix(prefix)
            if _LEAST_REST <= len(rest) < len(word):
                self.stand(axis + rest, 0 if taken_back else sign * end)
        if sign < 0:
            return
        self.said.append(word)
        for shared, end in _ends_of(word).items():
            self.stand(shared, -end if taken_back and _is_turned(word, shared) else end)

    def stand(self, axis: str, end: int) -> None:
        """Note an end of an axis; both ends are none."""
        self.ends[axis] = end if self.ends.get(axis, end) == end else 0


def _particles(tokens: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Of verbs at the start of a clause the end that the particle behind them says: "clock in", "clock out"."""
    for place, (verb, particle) in enumerate(pairwise(tokens)):
        begins = not place or tokens[place - 1] in _STOPS or tokens[place - 1] in ("to", "please", "you")
        if begins and particle in _PARTICLES and stem(verb) not in _EITHER_WAY:
            axis, end = _PARTICLES[particle]
            yield f"{stem(verb)} {axis}", end


def _ways(request: Request) -> Iterator[tuple[str, int]]:
    """The words that say from where (1) and where to (-1); values and names may be any."""
    way = 0
    for word, kind in [*zip(request.words, request.kinds, strict=True)][slice(*request.asked)]:
        if word in _WAYS:
            way = _WAYS[word]
        elif way and not kind and word not in _FILLERS:
            yield f"from/to {word}", way


# ---- axes that words share ----


def _ends_of(word: str) -> Mapping[str, int]:
    return _ENDS.get(word) or _ENDS.get(word.removeprefix("re"), {})  # to reopen is to open


def _is_turned(word: str, axis: str) -> bool:
    """True where a word goes to the other end when it is taken back: "remove the lock" is "unlock"."""
    other = word.removeprefix("un") if word.startswith("un") else f"un{word}"
    return _ENDS.get(other, {}).get(axis) == -_ENDS.get(word, {}).get(axis, 0)


def _read_ends() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for axis in _DATA["axes"]:
        for end, words in zip((1, -1), axis.split("|"), strict=True):
            for word in words.split():
                found.setdefault(stem(word), {})[axis] = end
    for english, words in _DATA["foreign"].items():
        for word in words.split():
            found.setdefault(stem(word), {}).update(found[stem(english)])
    return found


def _spaced(text: str) -> str:
    """Words of scripts without blanks set apart, where the data knows them."""
    return text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)


# ---- phrases: rewritten before words are looked at ----


def _rewritten(tokens: Sequence[str]) -> list[str]:
    """The words with each phrase of the data replaced, the longest first."""
    text, stems = " ".join(tokens), {*map(stem, tokens)}
    for firsts, pattern, replacement in _PHRASES:
        if not stems.isdisjoint(firsts):
            text = " ".join(pattern.sub(replacement, text).split())
    return text.split()


def _read_phrase(phrase: str, replacement: str) -> tuple[frozenset[str], re.Pattern[str], str]:
    """The stems of which one must stand in a text, the pattern of a phrase, and what is put in its place."""
    ends = "|".join(_words("clause_ends"))
    shapes = {
        "…": rf"(?P<gap>(?: (?!(?:{ends})\b){_WORD}){{0,4}}?)",
        "*": f" {_WORD}",
        "*ing": r" (?P<ing>[^\W\d_]+ing)",
    }
    parts = [shapes.get(word) or rf" (?:{word})(?:e?s|e?d|ing)?" for word in phrase.split()]
    told = replacement.replace("*ing", r"\g<ing>").replace("…", r"\g<gap>")
    pattern = re.compile(rf"(?:^|(?<= )){''.join(parts)[1:]}(?![^ ])")
    return frozenset(map(stem, phrase.split()[0].split("|"))), pattern, told


_ENDS = _read_ends()
_PHRASES = [_read_phrase(*one) for one in sorted(_DATA["phrases"].items(), key=lambda one: -len(one[0].split()))]
_UNSPACED = re.compile(
    "|".join(sorted((one for one in " ".join(_DATA["foreign"].values()).split() if one[0] >= "\u0e00"), reverse=True))
)
