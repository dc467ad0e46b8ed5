"""Which words of a new request stand for which of an old one.

    Make the user tkent a member of the group [Translators]
    Make the user mlopez a member of the group [Editors]        tkent → mlopez, Translators → Editors

Two requests that read alike are laid side by side, values as one word of their kind. Requests in other words are paired
by the kind of their values, where each has one of it, or by the word that stands before. What is left is said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache

from ufo_experience.request import Request, Value, on_forgetting, stem
from ufo_experience.retrieve.meaning import meanings
from ufo_experience.retrieve.thesaurus import SKIPPED, thesaurus

SMALL = SKIPPED | frozenset("and or on at by from with about is be not no so also then please".split())
_ALIKE = 0.5  # of the words of two requests beside their values, before they are laid side by side
_SAME_MEANING = 0.5  # cosine of two words, from which on one says the other
_LONGEST = 4  # words of a value that stands without quotes or capitals
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"  # Thai to Chinese: a sign is a word
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:['’.-][^\W_{_UNSPACED}]+)*")
_SAME_KIND = {"amount": "number", "path": "file"}  # kinds a person writes for one another


@dataclass(frozen=True)
class Piece:
    """A word or a value of a request; `key` is what makes two of them the same, `lead` the word before."""

    text: str
    kind: str
    key: str
    lead: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class Pairing:
    """What stands for what. Keys are in lower case.

    `values` are those of the old request with what stands for them, `by_number` the same by the place of a parsed one
    (from 1). `left` are old values the new request has nothing for, `added` new values that stand for none. `words` are
    words only the new request says, `dropped` words only the old one says. `alike`: the two were laid side by side.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    by_number: Mapping[int, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    alike: bool = True


@lru_cache(maxsize=256)
def pair(old: Request, new: Request) -> Pairing:
    """Pair the values and words of two requests."""
    a, b = _with_first_names(_pieces(old), old.text, _pieces(new), new.text)
    matcher = SequenceMatcher(None, [one.key for one in a], [one.key for one in b], autojunk=False)
    alike = _read_alike(a, b)
    found = _beside(a, b, matcher, (old.text, new.text)) if alike else _by_kind(a, b)
    values = {old_piece.text.casefold(): new_piece.text for old_piece, new_piece in found}
    rest_old, rest_new = _untaken(a, [one for one, _ in found]), _untaken(b, [one for _, one in found])
    keys_old, keys_new = {one.key for one in a}, {one.key for one in b}
    numbered = {n: value.text.casefold() for n, value in enumerate(old.values, start=1)}
    return Pairing(
        values=values,
        by_number={n: values[text] for n, text in numbered.items() if text in values},
        left=tuple(one.text.casefold() for one in rest_old if one.kind and one.text.casefold() not in values),
        added=tuple(one.text for one in rest_new if one.kind),
        words=_said(one for one in rest_new if not one.kind and one.key not in keys_old),
        dropped=_said(one for one in rest_old if not one.kind and one.key not in keys_new),
        alike=alike,
    )


def says(word: str, said: Iterable[str]) -> bool:
    """True when one of the stems `said` is this word, or names the same thing or deed."""
    own, known = stem(word.casefold()), set(said)
    return _names_same(own, known) or any(_likeness(own, one) >= _SAME_MEANING for one in known)


def stems_of(text: str) -> frozenset[str]:
    """The stems of the words that say something."""
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(stem(word) for word in words if word not in SMALL)


def _names_same(own: str, known: set[str]) -> bool:
    return own in known or not known.isdisjoint(thesaurus().related(frozenset((own,))))


@lru_cache(maxsize=8_192)
def _likeness(one: str, other: str) -> float:
    """The cosine of two known words; 0 where one is not known."""
    known = meanings()
    at = [known.place(word) for word in (one, other)]
    return float(known.units[at[0]] @ known.units[at[1]]) if None not in at else 0.0


def is_odd(word: str) -> bool:
    """True for what is no word of requests to computers: a login, a code, a name in lower case."""
    own = stem(word.casefold())
    return len(own) > 2 and not thesaurus().is_known(own) and meanings().place(own) is None


def abbreviates(value: str, name: str) -> bool:
    """True for a login made of beginnings of a name, in its order: "tkent" and "Tom Kent", "m.lopez" and "Maria Lopez".

    >>> abbreviates("tkent", "Tom Kent"), abbreviates("user", "Users of Kent")
    (True, False)
    """
    letters = "".join(c for c in value.casefold() if c.isalnum())
    words = [word for word in re.findall(r"\w+", name.casefold()) if word]
    return len(words) > 1 and len(letters) > 1 and _is_made_of(letters, words)


def _is_made_of(letters: str, words: Sequence[str]) -> bool:
    if not words:
        return not letters
    first = words[0]
    shared = next((n for n in range(min(len(first), len(letters)), 0, -1) if letters.startswith(first[:n])), 0)
    return any(_is_made_of(letters[n:], words[1:]) for n in range(shared, 0, -1))


def _untaken(pieces: Sequence[Piece], taken: Sequence[Piece]) -> list[Piece]:
    return [one for one in pieces if not any(other.start <= one.start < other.end for other in taken)]


def _said(pieces: Iterable[Piece]) -> tuple[str, ...]:
    """Their words, the small ones left out."""
    return tuple(dict.fromkeys(one.text for one in pieces if one.text.casefold() not in SMALL))


def _pieces(request: Request) -> list[Piece]:
    found: list[Piece] = []
    end = 0

    def words(until: int) -> None:
        for match in _WORD.finditer(request.text, end, until):
            found.append(_piece(match[0], "", found, match.span()))

    for value in _whole_values(request):
        words(value.start)
        found.append(_piece(value.text, _SAME_KIND.get(value.kind, value.kind), found, (value.start, value.end)))
        end = value.end
    words(len(request.text))
    return found


def _whole_values(request: Request) -> list[Value]:
    """The values of a request; numbers with nothing but a blank between them are one: "+44 701 222"."""
    found: list[Value] = []
    for value in request.values:
        before = found[-1] if found else value
        is_next = request.text[before.end : value.start] == " "
        if is_next and before.kind == value.kind == "number":
            found[-1] = before._replace(text=request.text[before.start : value.end], end=value.end)
        else:
            found.append(value)
    return found


def _piece(text: str, kind: str, before: Sequence[Piece], span: tuple[int, int]) -> Piece:
    lead = next((one.key for one in reversed(before) if one.text.casefold() not in SMALL), "")
    return Piece(text, kind, f"<{kind}>" if kind else stem(text.casefold()), lead, *span)


def _with_first_names(a: list[Piece], old: str, b: list[Piece], new: str) -> tuple[list[Piece], list[Piece]]:
    """Where both begin with another word that requests do not know, right before a name, it is part of the name."""
    heads = [side[:2] for side in (a, b)]
    if not all(map(_is_first_name, heads)) or a[0].key == b[0].key:
        return a, b
    whole = [
        replace(_joined(head, text), kind="name", key="<name>") for head, text in zip(heads, (old, new), strict=True)
    ]
    return [whole[0], *a[2:]], [whole[1], *b[2:]]


def _is_first_name(head: Sequence[Piece]) -> bool:
    if [one.kind for one in head] != ["", "name"] or head[1].start != head[0].end + 1:
        return False
    return head[0].text.istitle() and not thesaurus().is_known(head[0].key)


def _read_alike(a: Sequence[Piece], b: Sequence[Piece]) -> bool:
    """True for requests that say the same in the same words, but for their values."""
    one, other = ({x.key for x in side if not x.kind and x.text.casefold() not in SMALL} for side in (a, b))
    return len(one & other) >= _ALIKE * max(len(one), len(other), 1)


def _beside(
    a: Sequence[Piece], b: Sequence[Piece], matcher: SequenceMatcher[str], texts: tuple[str, str]
) -> list[tuple[Piece, Piece]]:
    """The values that stand at the same place of two requests that read alike."""
    found: list[tuple[Piece, Piece]] = []
    for kind, i, j, k, m in matcher.get_opcodes():
        one, other = a[i:j], b[k:m]
        if kind == "equal":
            both = list(zip(one, other, strict=True))
            led = [at > 0 or _are_as_many(x.kind, a, b) for at, (x, _) in enumerate(both)]
            found += [
                two for two, is_led in zip(both, led, strict=True) if (two[0].kind or is_odd(two[0].text)) and is_led
            ]
        elif kind == "replace" and len(one) == len(other) and all(x.kind for x in (*one, *other)):
            found += zip(one, other, strict=True)
        elif kind == "replace" and max(len(one), len(other)) <= _LONGEST:
            two = _joined(one, texts[0]), _joined(other, texts[1])
            found += [two] if _is_value(*two, first=i == 0) else []
    return found


def _are_as_many(kind: str, a: Sequence[Piece], b: Sequence[Piece]) -> bool:
    return sum(one.kind == kind for one in a) == sum(one.kind == kind for one in b)


def _is_value(old: Piece, new: Piece, *, first: bool) -> bool:
    """False for another word for the same: "create" and "add". The first word is a verb, or somebody's login."""
    if old.kind or new.kind:
        return True
    if first:
        return all(one.text.islower() and is_odd(one.text) for one in (old, new))
    return not _names_same(stem(new.text.casefold()), {old.key}) and old.text.casefold() not in SMALL


def _joined(pieces: Sequence[Piece], text: str) -> Piece:
    first, last = pieces[0], pieces[-1]
    whole = text[first.start : last.end].strip("\"'“”")
    kind = first.kind if len(pieces) == 1 else ""
    return Piece(whole, kind, first.key, first.lead, first.start, last.end)


def _by_kind(a: Sequence[Piece], b: Sequence[Piece]) -> list[tuple[Piece, Piece]]:
    """The values of two requests in other words: the same, the only ones of a kind, those behind the same word."""
    old, new = ([one for one in side if one.kind or is_odd(one.text)] for side in (a, b))
    found: list[tuple[Piece, Piece]] = []
    kinds = [Counter(one.kind for one in side) for side in (old, new)]
    tells: tuple[Callable[[Piece], object], ...] = (
        lambda one: one.text.casefold(),
        lambda one: one.kind,
        lambda one: (one.kind, one.lead, kinds[0][one.kind] == kinds[1][one.kind]),
    )
    for tell in tells:
        counts = [Counter(map(tell, side)) for side in (old, new)]
        once = {told for told, count in counts[0].items() if count == counts[1][told] == 1}
        pairs = [(x, y) for x in old for y in new if tell(x) == tell(y) in once and _is_told(tell(x))]
        found += pairs
        old, new = ([one for one in side if all(one not in two for two in pairs)] for side in (old, new))
    return found + ([(old[0], new[0])] if len(old) == len(new) == 1 and _may_stand_for(old[0], new[0]) else [])


def _is_told(told: object) -> bool:
    """False for values of a kind of which the two requests do not name as many: the word before tells nothing."""
    return not isinstance(told, tuple) or told[-1] is True


def _may_stand_for(old: Piece, new: Piece) -> bool:
    """True for the last value on either side where both are texts: a name, a quote, a word nobody knows."""
    return {old.kind, new.kind} <= {"", "name", "text"}


on_forgetting(pair.cache_clear)
on_forgetting(_likeness.cache_clear)
