"""Texts of a step that belong to the task or to the application, and which value of the task each of them serves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

LABEL = re.compile(r"[^\W\d_]+(?:[ /&'-]{1,3}[^\W\dA-Z_]+){0,3}[.…]{0,3}")  # "Users", "Installed apps"; not "Tom Kent"


@dataclass(frozen=True)
class Agreed:
    """What other runs of the task tell of a step: how many did it, of how many; whether they acted on something else
    there; whether runs of other requests name the same; and what they typed, where that is kept.
    """

    did: int = 1
    runs: int = 1
    varies: bool = False
    confirmed: bool = False
    constant: str = ""


@dataclass(frozen=True)
class Part:
    """A text of a step that belongs to the task or to the application, which is to be found out."""

    place: int
    what: str  # "name", "within" or "option"
    text: str
    value: str = ""  # the old value it serves
    is_item: bool = True  # False where the record does not say what kind of control it is


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


def matched(parts: Sequence[Part], values: Sequence[str]) -> list[Part]:
    """The parts that serve a value: by their name, or as the only one left for the only one left."""
    found: list[Part] = []
    for value in values:
        named = [part for part in parts if abbreviates(value, part.text)]
        if len({part.text for part in named}) == 1:
            found += [replace(part, value=value) for part in named]
    done = {part.text for part in found}
    rest = [value for value in values if value not in {part.value for part in found}]
    left = [part for part in parts if part.text not in done]
    others = [part for part in left if not LABEL.fullmatch(part.text)] or [part for part in left if part.is_item]
    if len(rest) == 1 and len({part.text for part in others}) == 1:
        found += [replace(part, value=rest[0]) for part in others]
    return found
