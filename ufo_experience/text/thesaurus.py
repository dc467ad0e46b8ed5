"""Words and phrases that name the same thing or deed in user interfaces: `thesaurus.txt`, read once.

An entry is a stem, or a phrase whose words stand in this order with at most two others between them ("turn Bluetooth
on"). Entries of a plain line are related to each other; behind `head:` they are related to the head alone, for what is
put as "create" (draw, record) is not one thing. Behind `=` stand words that are known and related to nothing. `!deeds`
and `!things` say what the lines behind them name; a word of things alone is no deed, whatever place it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from ufo_experience.text.terms import stem, words

_FILE = Path(__file__).with_name("thesaurus.txt")
_DIFFERENT = 8_192  # sets of entries that are kept; they hold words of the thesaurus alone
_GAP = 2  # words that may stand between those of a phrase
SKIPPED = frozenset("the a an my your his her this that all to of in for me it some as is are".split())

Entries = frozenset[str]
_NONE: Entries = frozenset()


class _Read(dict[str, str]):
    """Entries by how they are written, each worked out once."""

    def __init__(self, read: Callable[[str], str]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> str:
        entry = self[text] = self._read(text)
        return entry


class Thesaurus:
    """Which words and phrases are related, and which words are known at all."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Words of a line are parted by blanks, those of a phrase by `_`."""
        self._beside: dict[str, list[Sequence[str]]] = {}  # what stands beside an entry, line by line
        self._phrases: dict[str, list[tuple[str, ...]]] = {}
        self._related_to = lru_cache(_DIFFERENT)(self._find_related)
        self._alone = lru_cache(_DIFFERENT)(self._entries_of)
        self._entry = _Read(self._new_entry)
        self.known: frozenset[str] = frozenset()
        self.things: frozenset[str] = frozenset()
        known: set[str] = set()
        named: dict[str, set[str]] = {}
        kind = ""
        for line in lines:
            if line.startswith("!"):
                kind = line[1:].split()[0]
            elif line.startswith("="):
                known |= {stem(word) for word in line[1:].split()}
            elif line.strip() and not line.startswith("#"):
                named.setdefault(kind, set()).update(self._read(line))
        self.things = frozenset(named.get("things", set()) - named.get("deeds", set()))
        self.known = frozenset(known.union(one for one in self._beside if " " not in one))

    def _read(self, line: str) -> list[str]:
        head, _, others = line.rpartition(":")
        entries = [self._entry[word] for word in others.split()]
        if not head:
            self._relate(entries, entries)
            return entries
        first = [self._entry[head]]
        self._relate(first, entries)
        self._relate(entries, first)
        return entries + first

    def _relate(self, some: Sequence[str], others: Sequence[str]) -> None:
        for one in some:
            if len(others) > 1 or one not in others:
                self._beside.setdefault(one, []).append(others)

    def _new_entry(self, text: str) -> str:
        """A word as its stem, a phrase as its stems without filling words."""
        if text.isalpha():
            return stem(text.lower())
        stems = words(text.replace("_", " "))
        stems = [one for one in stems if one not in SKIPPED] or stems
        if len(stems) > 1 and tuple(stems) not in self._phrases.setdefault(stems[0], []):
            self._phrases[stems[0]].append(tuple(stems))
        return " ".join(stems)

    def entries(self, stems: Sequence[str]) -> list[Entries]:
        """For each stem of a text the entries it stands for: itself, and phrases that it is part of."""
        found = [self._alone(one) for one in stems]
        kept = [place for place, one in enumerate(stems) if one not in SKIPPED]
        said = frozenset(stems)
        for first, place in enumerate(kept):
            for phrase in self._phrases.get(stems[place], ()):
                if said.issuperset(phrase):
                    for part in _match(phrase, stems, kept, first):
                        found[part] = _same(found[part] | {" ".join(phrase)})
        return found

    def _entries_of(self, stem: str) -> Entries:
        """What a stem stands for by itself."""
        return _same(frozenset((stem,))) if stem in self._beside else _NONE

    def related(self, entries: Iterable[str]) -> Entries:
        """These entries, and all that are related to one of them; for the same ones the same object."""
        return self._related_to(entries if isinstance(entries, frozenset) else frozenset(entries))

    def _find_related(self, entries: Entries) -> Entries:
        found = set(entries)
        return frozenset(found.union(*(line for one in found for line in self._beside.get(one, ()))))


@lru_cache(maxsize=_DIFFERENT)
def _same(entries: Entries) -> Entries:
    """The one object that stands for all equal to it: many words of many requests share few of them."""
    return entries


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
