"""Which words of a new request stand for which of an old one.

    Make the user tkent a member of the group [Translators]
    Make the user mlopez a member of the group [Editors]        tkent → mlopez, Translators → Editors

Two requests that read alike are laid side by side, values as one word of their kind. Requests in other words are paired
by the kind of their values, where each has one of it. What is left is said.
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
_LONGEST = 4  # words of a value that stands without quotes or capitals
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"  # Thai to Chinese: a sign is a word
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:['’.-][^\W_{_UNSPACED}]+)*")


@dataclass(frozen=True)
class Piece:
    """A word or a value of a request; `key` is what makes two of them the same."""

    text: str
    kind: str
    key: str
    start: int
    end: int


@dataclass(frozen=True)
class Pairing:
    """What stands for what. Keys are in lower case.

    `values` are those of the old request with what stands for them. `left` are old values the new request has nothing
    for, `added` new values that stand for none. `words` are words only the new request says, `dropped` words only the
    old one says. `alike`: the two were laid side by side.
    """

    values: Mapping[str, str] = field(default_factory=dict)
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
    return Pairing(
        values=values,
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


def is_other_deed(name: str, before: str) -> bool:
    """True for labels of known words of which none says the same, as "Print everything" in the place of "Save"."""
    new, old = stems_of(name), stems_of(before)
    if any(all(meanings().place(word) is None for word in words) for words in (new, old)):
        return False
    return not any(_names_same(word, {*old}) or any(_likeness(word, one) >= _OTHER_DEED for one in old) for word in new)


def stems_of(text: str) -> frozenset[str]:
    """The stems of the words that say something."""
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(stem(word) for word in words if word not in SMALL)


def beside_values(request: Request) -> str:
    """The text of a request without its values."""
    text = request.text
    for value in reversed(request.values):
        text = f"{text[: value.start]} {text[value.end :]}"
    return text


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
        found.extend(_piece(match[0], "", *match.span()) for match in _WORD.finditer(request.text, end, until))

    for value in _whole_values(request):
        words(value.start)
        found.append(_piece(value.text, value.kind, value.start, value.end))
        end = value.end
    words(len(request.text))
    return found


def _whole_values(request: Request) -> list[Value]:
    """The values of a request; numbers with nothing but a blank between them are one: "+44 701 222". The end of a word
    is none: "kestrel-91"."""
    found: list[Value] = []
    for value in request.values:
        if value.kind == "number" and re.search(r"[^\W\d_]-$", request.text[: value.start][-2:]):
            continue
        before = found[-1] if found else value
        is_next = request.text[before.end : value.start] == " "
        if is_next and before.kind == value.kind == "number":
            found[-1] = before._replace(text=request.text[before.start : value.end], end=value.end)
        else:
            found.append(value)
    return found


def _piece(text: str, kind: str, start: int, end: int) -> Piece:
    return Piece(text, kind, f"<{kind}>" if kind else stem(text.casefold()), start, end)


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
        elif kind == "replace" and len(marked := _marked(one)) == len(_marked(other)) > 0:
            found += zip(marked, _marked(other), strict=True)
        elif kind == "replace" and max(len(one), len(other)) <= _LONGEST:
            two = _joined(one, texts[0]), _joined(other, texts[1])
            found += [two] if _is_value(*two, first=i == 0) else []
    return found


def _marked(pieces: Sequence[Piece]) -> list[Piece]:
    return [one for one in pieces if one.kind]


def _are_as_many(kind: str, a: Sequence[Piece], b: Sequence[Piece]) -> bool:
    return sum(one.kind == kind for one in a) == sum(one.kind == kind for one in b)


def _is_value(old: Piece, new: Piece, *, first: bool) -> bool:
    """False for another word for the same ("create" and "add"), and for "must not". The first word is a verb, or
    somebody's login."""
    if old.kind or new.kind:
        return True
    if any(SMALL.union(AUXILIARIES).issuperset(one.text.casefold().split()) for one in (old, new)):
        return False
    if first:
        return all(one.text.islower() and is_odd(one.text) for one in (old, new))
    return not _names_same(stem(new.text.casefold()), {old.key}) and old.text.casefold() not in SMALL


def _joined(pieces: Sequence[Piece], text: str) -> Piece:
    first, last = pieces[0], pieces[-1]
    whole = text[first.start : last.end].strip("\"'“”")
    kind = first.kind if len(pieces) == 1 else ""
    return Piece(whole, kind, first.key, first.start, last.end)


def _by_kind(a: Sequence[Piece], b: Sequence[Piece]) -> list[tuple[Piece, Piece]]:
    """The values of two requests in other words: the same, the only ones of a kind, at last the only text left."""
    old, new = ([one for one in side if one.kind or is_odd(one.text)] for side in (a, b))
    found: list[tuple[Piece, Piece]] = []
    tells: tuple[Callable[[Piece], str], ...] = (lambda one: one.text.casefold(), lambda one: one.kind)
    for tell in tells:
        counts = [Counter(map(tell, side)) for side in (old, new)]
        found += [
            (x, y) for x in old for y in new if tell(x) == tell(y) and counts[0][tell(x)] == counts[1][tell(x)] == 1
        ]
        old, new = ([one for one in side if all(one not in two for two in found)] for side in (old, new))
    is_text = len(old) == len(new) == 1 and {old[0].kind, new[0].kind} <= {"", "name", "text"}
    return found + ([(old[0], new[0])] if is_text else [])


on_forgetting(pair.cache_clear)
on_forgetting(_likeness.cache_clear)
