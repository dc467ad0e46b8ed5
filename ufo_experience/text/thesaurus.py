"""Words and phrases that name the same thing or deed in user interfaces: `thesaurus.txt`, read once.

A concept is the number of a group. A word stands for the concepts of its groups; so does a phrase whose words stand in
this order with at most two others between them ("turn Bluetooth on").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ufo_experience.text.terms import stem, words

_FILE = Path(__file__).with_name("thesaurus.txt")
_GAP = 2  # words that may stand between those of a phrase
SKIPPED = frozenset("the a an my your his her this that all to of in for me it some as is are".split())

Concepts = frozenset[int]
_NONE: Concepts = frozenset()


class Thesaurus:
    """Groups of words and phrases."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Each line is a group: words parted by blanks, words of a phrase by `_`."""
        self.groups = [line.split() for line in lines if line.strip() and not line.startswith("#")]
        self._words: dict[str, set[int]] = {}
        self._phrases: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for number, group in enumerate(self.groups):
            for entry in group:
                self._add(entry, number)

    def _add(self, entry: str, number: int) -> None:
        stems = [stem(word) for word in entry.split("_")] if "_" in entry else words(entry)
        stems = [one for one in stems if one not in SKIPPED] or stems
        if len(stems) == 1:
            self._words.setdefault(stems[0], set()).add(number)
        else:
            self._phrases.setdefault(stems[0], []).append((tuple(stems), number))

    def concepts(self, stems: Sequence[str]) -> list[Concepts]:
        """For each stem of a text the concepts it stands for, alone or as part of a phrase."""
        found: list[set[int]] = [set(self._words.get(one, ())) for one in stems]
        kept = [place for place, one in enumerate(stems) if one not in SKIPPED]
        for first, place in enumerate(kept):
            for phrase, number in self._phrases.get(stems[place], ()):
                for part in _match(phrase, stems, kept, first):
                    found[part].add(number)
        return [frozenset(one) if one else _NONE for one in found]


def _match(phrase: tuple[str, ...], stems: Sequence[str], kept: Sequence[int], first: int) -> list[int]:
    """Places of the words of a phrase that begins at `kept[first]`; none when it does not stand there."""
    places, at = [kept[first]], first + 1
    for word in phrase[1:]:
        near = range(at, min(at + _GAP + 1, len(kept)))
        hit = next((number for number in near if stems[kept[number]] == word), None)
        if hit is None:
            return []
        places.append(kept[hit])
        at = hit + 1
    return places


@lru_cache(maxsize=1)
def thesaurus() -> Thesaurus:
    """The one that comes with the package."""
    return Thesaurus(_FILE.read_text(encoding="utf-8").splitlines())
