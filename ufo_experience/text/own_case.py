"""Capitals of a request that mark no name: those of a feature its steps press, and of a text written in capitals.

"Turn on Night Light" by a switch "Night light" says what to do; "Mute the group Book Club" says to
what, whether a list item or a button is called so. Somebody who writes every word in capitals says nothing by them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Set

from ufo_experience.text.controls import is_pressed, role_of
from ufo_experience.text.frames import calls
from ufo_experience.text.slots import find_slots, find_whole
from ufo_experience.text.terms import words

_NEARLY_ALL = 2 / 3  # of the words of a name in a request, for it to be that of a feature
_LEAST_WORDS = 3  # behind the first, all in capitals, for capitals to say nothing
_LETTERS = re.compile(r"[^\W\d_]+")


def feature_words(controls: Iterable[tuple[str, str | None]]) -> frozenset[str]:
    """The stems on what was pressed of an application's own, of controls that were clicked (name and kind).

    Where the kind is not known, a name of several words that is not all in capitals is a label.
    """
    return frozenset(one for name, kind in controls if _is_feature(name, kind) for one in words(name))


def _is_feature(name: str, kind: str | None) -> bool:
    role = role_of(kind)
    if role:
        return is_pressed(role)
    _, *behind = _LETTERS.findall(name) or [""]
    return any(word.islower() for word in behind)


def in_own_case(request: str, features: Set[str]) -> str:
    """A request with capitals where they may mark names, in lower case where these are words of `features`."""
    letters = _LETTERS.findall(request)
    says_nothing = len(letters) > _LEAST_WORDS or not features.isdisjoint(words(request))
    if says_nothing and not any(word.islower() for word in letters[1:]):
        return request.lower()
    end = 0
    for slot in find_slots(request) if features else ():
        start = find_whole(slot.value, request, end)
        if start < 0:
            continue
        end = start + len(slot.value)
        if slot.kind == "name" and names_feature(slot.value, features) and not _is_called(request[:start]):
            request = f"{request[:start]}{slot.value.lower()}{request[end:]}"
            end = start + len(slot.value.lower())
    return request


def _is_called(before: str) -> bool:
    """True behind the word for a thing that has a name: "the sheet", "the group"."""
    first, *rest = words(before) or [""]
    return bool(rest) and rest[-1] != first and calls(rest[-1])


def names_feature(name: str, features: Collection[str]) -> bool:
    """True for a name nearly all of whose words are words of features."""
    said = words(name)
    return bool(said) and sum(one in features for one in said) >= _NEARLY_ALL * len(said)
