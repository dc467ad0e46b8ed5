"""Which words of a new request stand for which of an old one.

    Make the user tkent a member of the group [Translators]
    Make the user mlopez a member of the group [Editors]        tkent → mlopez, Translators → Editors

Two requests that read alike are laid side by side, values as one word of their kind, and so is each text that the run
typed, chose or took an item for (`said`). Requests in other words are paired by the kind of their values, where each
has one of it. What is left is said.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from ufo_experience.redact.typed import count_words
from ufo_experience.request import UNSPACED, Request, find_whole, on_forgetting, stem
from ufo_experience.retrieve.meaning import meanings
from ufo_experience.retrieve.tasks import is_odd
from ufo_experience.retrieve.thesaurus import SKIPPED, thesaurus

SMALL = SKIPPED | frozenset("and or on at by from with about is be not no so also then please him them us".split())
AUXILIARIES = frozenset(
    "must has have had having should shall can could may might will would do does did are was were been being never"
    " cannot".split()
)
_ALIKE = 0.5  # of the words of two requests beside their values, before they are laid side by side
_SAME_MEANING = 0.6  # cosine of two words, from which on one says the other
_OTHER_DEED = 0.4  # cosine of the likest two words of two labels, below which they do not do the same
_LOOSE = frozenset(("", "name", "text", "number"))  # kinds that may stand for each other, or be part of a longer text
_BREAK = re.compile(r'["“”]|[.;!?]\s+[a-z]')  # a value ends there
_LONGEST = 4  # words of a value that stands without quotes or capitals
_GOES_ON = frozenset("and then or but also und dann oder".split())  # such words begin another demand
_IN_WORD = re.compile(r"[^\W\d_]-$")
_MARK = re.compile(r"\[\w+\]")
_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:['’.@%&$+=~*#!_:/-]+[^\W_{UNSPACED}]+)*")


class Piece(NamedTuple):
    """A word, a value or a text that was `said` in the run; `key` is what makes two of them the same."""

    text: str
    kind: str
    key: str
    start: int
    end: int
    said: bool = False

    @property
    def length(self) -> int:
        return count_words(self.text)


Pair = tuple[Piece, Piece]  # of the old request and of the new one


@dataclass(frozen=True)
class Pairing:
    """What stands for what. Keys are in lower case.

    `values` are those of the old request with what stands for them. `left` are old values the new request has nothing
    for, `added` new values that stand for none. `words` are words only the new request says, `dropped` words only the
    old one says. `alike`: the two were laid side by side. `sure`: each new value stands for one that marks itself, that
    the run said, or that is no word of requests to computers.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    alike: bool = True
    sure: bool = True

    @property
    def unexplained(self) -> int:
        return len(self.left) + len(self.added) + len(self.words) + len(self.dropped)


@lru_cache(maxsize=256)
def pair(old: Request, new: Request, said: frozenset[str] = frozenset()) -> Pairing:
    """Pair the values and words of two requests; with texts as one word each where that leaves no more unexplained."""
    plain = _paired(old, new, ())
    with_texts = _paired(old, new, said) if said else plain
    return with_texts if with_texts.alike and with_texts.unexplained <= plain.unexplained else plain


def _paired(old: Request, new: Request, said: Iterable[str]) -> Pairing:
    a, b = _pieces(old, said), _pieces(new, said)
    alike = _read_alike(a, b)
    found = _side_by_side(a, b, old.text, new.text) if alike else _by_kind(a, b)
    values = {one.text.casefold(): other.text for one, other in found}
    rest_old, rest_new = _rest(a, b, found)
    return Pairing(
        values=values,
        left=tuple(one.text.casefold() for one in rest_old if one.kind and one.text.casefold() not in values),
        added=tuple(one.text for one in rest_new if one.kind),
        words=_only(rest_new, a),
        dropped=_only(rest_old, b),
        alike=alike,
        sure=all(_is_sure(one, other) for one, other in found),
    )


def is_same_but_for_values(asked: Request, stored: Request, said: frozenset[str]) -> bool:
    """True for requests that differ only in what the stored run `said` (see `said_in`), or in words nobody knows."""
    told = pair(stored, asked, said)
    return told.alike and told.sure and not told.unexplained


def _is_sure(old: Piece, new: Piece) -> bool:
    """True where nothing but a value can stand."""
    odd = all(one.kind == "name" or all(map(is_odd, one.text.split())) for one in (old, new))
    return old.said or old.key == new.key or odd


def _read_alike(a: Sequence[Piece], b: Sequence[Piece]) -> bool:
    """True where they share half of their words, or all but what the run typed: "Search for blue lamps"."""
    old, new = _words(a), _words(b)
    rest = _words(one for one in a if not one.said)
    is_said = bool(rest) and rest != old and rest <= new
    return is_said or len(old & new) >= _ALIKE * max(len(old), len(new), 1)


def _pieces(request: Request, said: Iterable[str]) -> list[Piece]:
    """The words and values of a request in order. A number at the end of a word is none: "kestrel-91"."""
    values = [
        Piece(one.text, one.kind, f"<{one.kind}>", one.start, one.end)
        for one in request.values
        if one.kind != "number" or not _IN_WORD.search(request.text, max(0, one.start - 2), one.start)
    ]
    for one in _texts_said(request, said):
        beside = [value for value in values if value.end <= one.start or one.end <= value.start]
        inside = [value for value in values if one.start <= value.start and value.end <= one.end]
        is_known = any((value.start, value.end) == (one.start, one.end) for value in inside)
        if len(beside) + len(inside) == len(values) and not is_known:
            values = [*beside, one]
    words = [
        Piece(match[0], "", stem(match[0].casefold()), *match.span())
        for match in _WORD.finditer(request.text)
        if not any(value.start < match.end() and match.start() < value.end for value in values)
    ]
    return sorted([*values, *words], key=lambda one: one.start)


def _texts_said(request: Request, said: Iterable[str]) -> Iterator[Piece]:
    """The texts of a run that stand in a request as whole words, the longest first."""
    text = request.text.casefold()
    spans = [
        *(match.span() for match in _WORD.finditer(request.text)),
        *((one.start, one.end) for one in request.values),
    ]
    starts, ends = {start for start, _ in spans}, {end for _, end in spans}
    for one in sorted(said, key=len, reverse=True):
        at = find_whole(one, text) if one not in SMALL else -1
        if at in starts and at + len(one) in ends:
            yield Piece(request.text[at : at + len(one)], "", one if " " in one else stem(one), at, at + len(one), True)


def _words(pieces: Iterable[Piece]) -> set[str]:
    return {one.key for one in pieces if not one.kind and one.text.casefold() not in SMALL}


def _rest(a: Sequence[Piece], b: Sequence[Piece], found: Sequence[Pair]) -> tuple[list[Piece], ...]:
    """What of either request was not paired."""
    sides = (a, [old for old, _ in found]), (b, [new for _, new in found])
    return tuple(
        [one for one in own if not any(it.start <= one.start < it.end for it in taken)] for own, taken in sides
    )


def _only(pieces: Iterable[Piece], others: Iterable[Piece]) -> tuple[str, ...]:
    """The words that say something and that the other request does not say."""
    own, known = _words(pieces), {one.key for one in others}
    return tuple(dict.fromkeys(one.text for one in pieces if one.key in own - known))


def _side_by_side(a: Sequence[Piece], b: Sequence[Piece], old: str, new: str) -> list[Pair]:
    """The values that stand at the same place of two requests that read alike."""
    found: list[Pair] = []
    unled: list[Pair] = []  # nothing said alike stands right before them
    matcher = SequenceMatcher(None, [one.key for one in a], [one.key for one in b], autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        both = list(zip(a[i:j], b[k:m], strict=False))
        marked = [[one for one in side if one.kind] for side in (a[i:j], b[k:m])]
        if kind == "equal":
            unled += both[:1]
            found += [two for two in both if two[0].kind or two[0].said or is_odd(two[0].text)]
        elif kind == "replace" and len(marked[0]) == len(marked[1]) > 0:
            found += [two for two in zip(*marked, strict=True) if _are_of_a_kind(*two) or two == (a[i], b[k])]
        elif kind == "replace" and j - i <= _LONGEST and m - k <= max(_LONGEST, *(2 * one.length for one in a[i:j])):
            two = _joined(a[i:j], old), _joined(b[k:m], new)
            is_loose = _LOOSE.issuperset(one.kind for one in b[k:m]) or j - i == m - k == 1 or two[0].said
            found += [two] if is_loose and _is_value(*two, first=i == 0) else []
    return [two for two in found if two not in unled or two[0].kind not in _unclear(a, b, found, unled)]


def _are_of_a_kind(one: Piece, other: Piece) -> bool:
    """False for an address and a name: one stands for the other only right behind the same words."""
    return one.kind == other.kind or _LOOSE.issuperset((one.kind, other.kind))


def _unclear(a: Sequence[Piece], b: Sequence[Piece], found: Sequence[Pair], unled: Sequence[Pair]) -> set[str]:
    """The kinds of which a place alone tells no value: of "from 10:00 to 11:00" 14:00 may be either, and of "Coco, the
    pet of Tom" either may be the pet. One is left over, or the word that led to one leads elsewhere now."""
    kinds = {one.kind for side in _rest(a, b, found) for one in side if one.kind}
    for one, other in (two for two in unled if two[0].kind):
        several = any(sum(piece.kind == one.kind for piece in side) > 1 for side in (a, b))
        right_before = [*a[: a.index(one)][-1:], *b[: b.index(other)][-1:]]
        if several and _words(right_before) & _words(a) & _words(b):
            kinds.add(one.kind)
    return kinds


def _joined(pieces: Sequence[Piece], text: str) -> Piece:
    first, last = pieces[0], pieces[-1]
    whole = text[first.start : last.end].strip("\"'“”")
    alone = len(pieces) == 1
    return Piece(whole, first.kind if alone else "", first.key, first.start, last.end, alone and first.said)


def _is_value(old: Piece, new: Piece, *, first: bool) -> bool:
    """False for another word for the same ("create" and "add"), and for "must not". The first word is a verb, or
    somebody's name or login."""
    says_little = any((SMALL | AUXILIARIES).issuperset(one.text.casefold().split()) for one in (old, new))
    if says_little or _BREAK.search(new.text):
        return False
    if old.said:
        barred = _GOES_ON if " " in old.text else SKIPPED | _GOES_ON
        return barred.isdisjoint(new.text.casefold().split())
    if first and not (old.kind or new.kind):
        return all(" " not in one.text and is_odd(one.text) for one in (old, new))
    return bool(old.kind or new.kind) or not _names_same(stem(new.text.casefold()), {old.key})


def _by_kind(a: Sequence[Piece], b: Sequence[Piece]) -> list[Pair]:
    """The values of two requests in other words: the same, the only ones of a kind, at last the only text left."""
    old, new = ([one for one in side if one.kind or is_odd(one.text)] for side in (a, b))
    found: list[Pair] = []
    tells: tuple[Callable[[Piece], str], ...] = (lambda one: one.text.casefold(), lambda one: one.kind)
    for tell in tells:
        counts = [Counter(map(tell, side)) for side in (old, new)]
        alone = [key for key in counts[0] if counts[0][key] == counts[1][key] == 1]
        found += [(x, y) for key in alone for x in old for y in new if tell(x) == tell(y) == key]
        old, new = ([one for one in side if tell(one) not in alone] for side in (old, new))
    is_text = len(old) == len(new) == 1 and {old[0].kind, new[0].kind} <= {"", "name", "text"}
    return [*found, (old[0], new[0])] if is_text else found


def stems_of(text: str) -> frozenset[str]:
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(stem(word) for word in words if word not in SMALL and not "\u3041" <= word <= "\u309f")


def beside_values(request: Request) -> str:
    return _MARK.sub(" ", request.template)


def says(word: str, said: Iterable[str]) -> bool:
    """True when one of the stems `said` is this word, or names the same thing or deed."""
    own, known = stem(word.casefold()), set(said)
    return _names_same(own, known) or any(_likeness(own, one) >= _SAME_MEANING for one in known)


def is_other_deed(name: str, before: str) -> bool:
    """True for labels of known words of which none says the same, as "Print everything" in the place of "Save"."""
    new, old = stems_of(name), stems_of(before)
    if any(all(meanings().place(word) is None for word in words) for words in (new, old)):
        return False
    return not any(_names_same(word, {*old}) or any(_likeness(word, one) >= _OTHER_DEED for one in old) for word in new)


def _names_same(own: str, known: set[str]) -> bool:
    return own in known or not known.isdisjoint(thesaurus().related(frozenset((own,))))


@lru_cache(maxsize=8_192)
def _likeness(one: str, other: str) -> float:
    """The cosine of two known words; 0 where one is not known."""
    known = meanings()
    at = [known.place(word) for word in (one, other)]
    return float(known.units[at[0]] @ known.units[at[1]]) if None not in at else 0.0


def abbreviates(value: str, name: str) -> bool:
    """True for a login made of beginnings of a name, in its order: "tkent" and "Tom Kent", "m.lopez" and "Maria Lopez".

    >>> abbreviates("tkent", "Tom Kent"), abbreviates("user", "Users of Kent")
    (True, False)
    """
    letters = "".join(sign for sign in value.casefold() if sign.isalnum())
    words = re.findall(r"\w+", name.casefold())
    return len(words) > 1 and len(letters) > 1 and _is_made_of(letters, words)


def _is_made_of(letters: str, words: Sequence[str]) -> bool:
    if not words:
        return not letters
    shared = [n for n in range(1, len(words[0]) + 1) if letters.startswith(words[0][:n])]
    return any(_is_made_of(letters[n:], words[1:]) for n in shared)


on_forgetting(pair.cache_clear)
on_forgetting(_likeness.cache_clear)
