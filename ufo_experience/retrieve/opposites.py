"""Opposites: two requests that read alike and are not the same task.

"Turn on Bluetooth" and "turn off Bluetooth", "save before closing" and "close without saving" pass any threshold of
likeness. `conflict` says why two requests contradict each other: they touch opposite ends of one axis, one takes back
what the other does (un-, dis-), or one negates what the other says. The words are in `opposites.json`. The rule is
short-sighted on purpose: it looks at the clause that asks, and where both ends of an axis stand in one request, that
axis decides nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ufo_experience.request import Request, on_forgetting, stem

_DATA: dict[str, Any] = json.loads(Path(__file__).with_name("opposites.json").read_text("utf-8"))
_GAP, _LONGEST_GAP = "…", 4  # words
_NEAR = 4  # words from the start within which stands what is removed
_LEAST_REST = 4  # letters behind a prefix
_TOKEN = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|[,.;:!?]")


def _words(name: str) -> frozenset[str]:
    return frozenset(_DATA[name].split())


def _stems(name: str) -> frozenset[str]:
    return frozenset(map(stem, _DATA[name].split()))


_STOPS = frozenset(",.;:!?") | _words("clause_ends")
_NEGATORS, _FILLERS, _ARTICLES = _words("negators"), _words("fillers"), _words("articles")
_SUBJECTS, _AUXILIARIES = _words("subjects"), _words("auxiliaries")
_REMOVE = _stems("remove")
_TAKE_BACK = _REMOVE | _stems("take_back")
_PREFIX = re.compile(f"^({'|'.join(_DATA['prefixes'].split())})(?=\\w{{3}})")
_BY_IN, _NOT_TAKEN_BACK = _stems("taken_back_by_in"), _stems("not_taken_back")
_SWAPPED = {prefix: tuple(others.split()) for prefix, others in _DATA["swapped_prefixes"].items()}
_PARTICLES = _DATA["opposite_particles"] | {other: one for one, other in _DATA["opposite_particles"].items()}
_LEADS: dict[str, str] = _DATA["leads"]
_EITHER_WAY, _TABLE_LINES, _PLACES = _stems("same_either_way"), _stems("lines_of_a_table"), _words("gives_a_place")


class Marks(NamedTuple):
    """What decides whether requests contradict each other: words one says (in order), words it negates, which end (1,
    -1; 0: both) of each axis it touches, its verbs with the particle behind them, the first word where
    it may be a verb, and the words that say from where and where to."""

    said: tuple[str, ...]
    negated: frozenset[str]
    ends: Mapping[int, int]
    particles: frozenset[tuple[str, str]]
    deed: str
    origins: frozenset[str]
    goals: frozenset[str]


def conflict(one: Request, other: Request) -> str | None:
    """Why two requests cannot be the same task, or None when nothing speaks against it."""
    a, b = marks_of(one), marks_of(other)
    return (
        _removal(a, b)
        or _removal(b, a)
        or _negation(a, b)
        or _taking_back(a, b)
        or _taking_back(b, a)
        or _other_particle(a, b)
        or _other_end(a, b)
        or _way_back(a, b)
    )


def _removal(a: Marks, b: Marks) -> str | None:
    """ "Underline the title" against "remove the underline", in either order."""
    if not a.deed or not b.said or b.said[0] not in _REMOVE or a.deed not in b.said[1:_NEAR]:
        return None
    return None if b.said[0] in a.said or _REMOVE & {*a.said} & {*b.said} else f"removed: {a.deed}"


def _negation(a: Marks, b: Marks) -> str | None:
    found = set[str]()
    for one, other in ((a, b), (b, a)):
        if not _takes_back(other, one):
            found |= (one.negated & {*other.said}) - {*one.said} - other.negated
    return f"negated: {min(found)}" if found else None


def _takes_back(a: Marks, b: Marks) -> bool:
    """True where a request takes something back by a word that the other one has not ("withdraw", "bring back")."""
    return not _TAKE_BACK.isdisjoint({*a.said} - {*b.said})


def _taking_back(a: Marks, b: Marks) -> str | None:
    """ "Unpin" against "pin", "inflate" against "deflate"."""
    missing = {*b.said} - {*a.said}
    for word in sorted({*a.said} - {*b.said}):
        prefix = _PREFIX.match(word)
        base = word[prefix.end() :] if prefix else ""
        is_turned = (
            base in missing and word not in _NOT_TAKEN_BACK and (prefix and (prefix[1] != "in" or base in _BY_IN))
        )
        if is_turned and not _takes_back(b, a):
            return f"opposite: {base} / {word}"
        other = next((one for one in _with_other_prefix(word) if one in missing), "")
        if other:
            return f"opposite: {word} / {other}"
    return None


def _with_other_prefix(word: str) -> Iterator[str]:
    """The words this one would be with an opposite prefix."""
    for prefix, others in _SWAPPED.items():
        rest = word.removeprefix(prefix)
        if rest != word and len(rest) >= _LEAST_REST:
            yield from (other + rest for other in others)


def _other_particle(a: Marks, b: Marks) -> str | None:
    """ "Clock in" against "clock out"."""
    for verb, particle in sorted(a.particles):
        other = _PARTICLES[particle]
        if (verb, other) in b.particles - a.particles and (verb, particle) not in b.particles:
            return f"opposite: {verb} {particle} / {other}"
    return None


def _way_back(a: Marks, b: Marks) -> str | None:
    """ "From the stick to the desktop" against "from the desktop to the stick"."""
    there, back = a.origins & b.goals - b.origins, a.goals & b.origins - b.goals
    return f"the way back: {min(there)} / {min(back)}" if there and back else None


def _other_end(a: Marks, b: Marks) -> str | None:
    for axis in sorted(a.ends.keys() & b.ends.keys()):
        if a.ends[axis] * b.ends[axis] == -1:
            return f"opposite: {_DATA['axes'][axis]}"
    return None


@lru_cache(maxsize=512)  # not more: a request of 8,000 characters takes 90 kB
def marks_of(request: Request) -> Marks:
    """What the clause that asks says, negates and touches; values left out."""
    text = _spaced(_without_values(request))
    tokens = _TOKEN.findall(text)
    particles = frozenset(_particles(tokens))
    found = _Reader()
    tokens = _rewritten(tokens)
    for place, token in enumerate(tokens):
        found.take(token, tokens[:place])
    first = tokens[0] if tokens else ""
    is_deed = found.said and stem(first) == found.said[0] and len(first) > 2 and not first.endswith(("s", "ed"))
    deed = found.said[0] if is_deed else ""
    return Marks(tuple(found.said), frozenset(found.negated), found.ends, particles, deed, *_directions(request))


on_forgetting(marks_of.cache_clear)


def _without_values(request: Request) -> str:
    """The clause that asks, in lower case, values and names blanked out."""
    start = request.text.find(request.asks) if request.asks else 0
    text = request.asks or request.text
    for value in reversed(request.values):
        if value.kind != "name" and start <= value.start and value.end <= start + len(text):
            text = f"{text[: value.start - start]} , {text[value.end - start :]}"
    return text.lower().replace("’", "'")


def _directions(request: Request) -> tuple[frozenset[str], frozenset[str]]:
    """The words that say from where, and those that say where to; values and names may be any."""
    found: dict[str, set[str]] = {"from": set(), "to": set()}
    lead = ""
    for word, kind in zip(request.words, request.kinds, strict=True):
        if word in _LEADS:
            lead = _LEADS[word]
        elif lead and not kind and word not in _FILLERS:
            found[lead].add(word)
    return frozenset(found["from"]), frozenset(found["to"])


class _Reader:
    """What is said so far, word by word."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.negated: set[str] = set()
        self.ends: dict[int, int] = {}
        self._negating = False

    def take(self, token: str, before: Sequence[str]) -> None:
        """One more word; `before` are those before it."""
        if token in _STOPS:
            self._negating = self._negating and token == "or"
        elif token in _NEGATORS:
            self._negating = not _describes(before)
        elif token not in _FILLERS:
            self._word(token, before)
            self._negating = False

    def _word(self, token: str, before: Sequence[str]) -> None:
        word = stem(token)
        removing = not _TAKE_BACK.isdisjoint(self.said[-2:])
        if removing and word.startswith("un") and _turned(word):
            word, removing = word.removeprefix("un"), False
        if self._negating:
            self.negated.add(word)
        else:
            self.said.append(word)
        lead = next((one for one in reversed(before) if one not in _ARTICLES), "")
        if word in _TABLE_LINES and lead in _PLACES:  # "sorted by column B" is about rows
            return
        for axis, end in _ends_of(word, self._negating):
            if removing and axis in _turned(word):
                self.ends[axis] = 0 if token.endswith("ed") else -end
            else:
                self.ends[axis] = end if self.ends.get(axis, end) == end else 0


def _describes(before: Sequence[str]) -> bool:
    """True for a "not" that describes ("a file I can not find") and asks for nothing."""
    last, *earlier = [*reversed(before[-3:])] or [""]
    return last in _SUBJECTS or (last in _AUXILIARIES and bool(earlier) and earlier[0] in _SUBJECTS)


def _particles(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Verbs at the start of a clause with the particle behind them."""
    for place in range(len(tokens) - 1):
        begins = place == 0 or tokens[place - 1] in _STOPS or tokens[place - 1] in ("to", "please", "you")
        verb = stem(tokens[place])
        if begins and tokens[place + 1] in _PARTICLES and verb not in _EITHER_WAY:
            yield verb, tokens[place + 1]


# ---- phrases: rewritten before words are looked at ----


def _rewritten(tokens: list[str]) -> list[str]:
    """The words with each phrase of the data replaced, the longest first, from left to right."""
    found: list[str] = []
    place = 0
    while place < len(tokens):
        for pattern, replacement in _PHRASES.get(stem(tokens[place]), ()):
            matched = _match(pattern, tokens, place)
            if matched is not None:
                end, gap, ing = matched
                told = [
                    part
                    for word in replacement
                    for part in (gap if word == _GAP else [ing] if word == "*ing" else [word])
                ]
                tokens = [*tokens[:place], *told, *tokens[end:]]
                found += told[:1]
                place += 1 if told else 0
                break
        else:
            found.append(tokens[place])
            place += 1
    return found


def _match(pattern: Sequence[str], tokens: Sequence[str], start: int) -> tuple[int, list[str], str] | None:
    """Where a phrase that begins at `start` ends, the words in its gap and that for `*ing`; None where it is not."""
    at, gap, ing = start, list[str](), ""
    for number, word in enumerate(pattern):
        if word == _GAP:
            behind = pattern[number + 1]
            ends = (one for one in range(at, min(at + _LONGEST_GAP + 1, len(tokens))) if _is(behind, tokens[one]))
            end = next(ends, -1)
            if end < 0 or not _STOPS.isdisjoint(tokens[at:end]):
                return None
            gap, at = [*tokens[at:end]], end
            continue
        if at >= len(tokens) or not (_is(word, tokens[at]) if len(pattern) > 1 else word == tokens[at]):
            return None
        ing = tokens[at] if word == "*ing" else ing
        at += 1
    return at, gap, ing


def _is(word: str, token: str) -> bool:
    if word[0] == "*":
        return len(token) > len(word) and token.endswith(word[1:])
    return token == word or stem(token) == stem(word)


def _read_phrases() -> dict[str, list[tuple[list[str], list[str]]]]:
    found: dict[str, list[tuple[list[str], list[str]]]] = {}
    for phrase, replacement in sorted(_DATA["phrases"].items(), key=lambda one: -len(one[0].split())):
        words = phrase.split()
        found.setdefault(stem(words[0]), []).append((words, replacement.split()))
    return found


# ---- axes ----


def _read_ends() -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for axis, line in enumerate(_DATA["axes"]):
        for end, words in zip((1, -1), line.split("|"), strict=True):
            for word in words.split():
                found.setdefault(stem(word), []).append((axis, end))
    for english, words in _DATA["foreign"].items():
        for word in words.split():
            found.setdefault(stem(word), []).extend(found[stem(english)])
    return found


def _ends_of(word: str, negating: bool) -> list[tuple[int, int]]:
    """The ends of axes that a word touches, or the others where it is negated."""
    again = word if word in _ENDS else word.removeprefix("re")  # to reopen is to open
    found = _ENDS.get(again, [])
    return [(axis, -end) for axis, end in found if axis < _DATA["negated_axes"]] if negating else found


def _turned(word: str) -> set[int]:
    """The axes on which a word goes to the other end when it is taken back: "remove the lock" is "unlock"."""
    modes = {"lightmod", "darkmod"} - {word} if word.endswith("mod") else set[str]()
    back = {(axis, -end) for axis, end in _ENDS.get(word, ())}
    turned = (f"un{word}", word.removeprefix("un"), *modes)
    return {axis for one in turned for axis, end in _ENDS.get(one, ()) if (axis, end) in back}


def _spaced(text: str) -> str:
    """Words of scripts without blanks set apart, where the data knows them."""
    return text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)


_PHRASES, _ENDS = _read_phrases(), _read_ends()
_UNSPACED = re.compile(
    "|".join(
        sorted(
            {one for words in _DATA["foreign"].values() for one in words.split() if one[0] >= "\u0e00"},
            key=len,
            reverse=True,
        )
    )
)
