"""Words and phrases that name the same thing or deed in user interfaces: `thesaurus.tsv`, read once.

An entry is a stem, or a phrase whose words stand in this order with at most two others between them ("turn Bluetooth
on"); filling words are left out of a phrase, unless one word would be left ("sign in"). The file is what
`tools/make_thesaurus.py` makes of the lines in `synonyms/`: a line an entry, sorted, with the numbers of the lines it
is related to. It is searched as it is: nothing is parsed before it is asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from ufo_experience.text.remembered import on_forgetting

FILE = Path(__file__).with_name("thesaurus.tsv")
THING = "thing"  # the mark of a word that names things alone
_DIFFERENT = 8_192  # sets of entries that are kept; they hold words of the thesaurus alone
_GAP = 2  # words that may stand between those of a phrase
SKIPPED = frozenset("the a an my your his her this that all to of in for me it some as is are".split())

Entries = frozenset[str]
_NONE: Entries = frozenset()
Phrase = tuple[str, ...]


class Thesaurus:
    """Which words and phrases are related, and which words are known at all."""

    def __init__(self, text: str) -> None:
        """`text` is what the file holds."""
        self._lines = text.split("\n")
        self._line = lru_cache(_DIFFERENT)(self._find_line)
        self._alone = lru_cache(_DIFFERENT)(self._entries_of)
        self._beginning_with = lru_cache(_DIFFERENT)(self._find_phrases)
        self._related_to = lru_cache(_DIFFERENT)(self._find_related)
        for kept in (self._line, self._alone, self._beginning_with):  # by words of texts, whatever they are
            on_forgetting(kept.cache_clear)

    def is_known(self, stem: str) -> bool:
        """True for a word that stands in the thesaurus, related to others or not."""
        return self._line(stem) is not None

    def names_thing(self, stem: str) -> bool:
        """True for a word that names things alone: it is no deed, whatever place it has."""
        line = self._line(stem)
        return line is not None and line[1]

    def entries(self, stems: Sequence[str]) -> list[Entries]:
        """For each stem of a text the entries it stands for: itself, and phrases that it is part of."""
        found = [self._alone(one) for one in stems]
        every = range(len(stems))
        kept = [place for place in every if stems[place] not in SKIPPED]
        said = frozenset(stems)
        for place, one in enumerate(stems):
            for entry, phrase, whole in self._beginning_with(one):
                if said.issuperset(phrase):
                    for part in _match(phrase, stems, every if whole else kept, place):
                        found[part] = _same(found[part] | {entry})
        return found

    def related(self, entries: Iterable[str]) -> Entries:
        """These entries, and all that are related to one of them; for the same ones the same object."""
        return self._related_to(entries if isinstance(entries, frozenset) else frozenset(entries))

    def _find_line(self, entry: str) -> tuple[str, bool] | None:
        """The numbers of what is related to an entry, and whether it names things alone; None for what is not known."""
        at = bisect_left(self._lines, f"{entry}\t")
        if at == len(self._lines) or not self._lines[at].startswith(f"{entry}\t"):
            return None
        _, related, mark = self._lines[at].split("\t")
        return related, mark == THING

    def _entries_of(self, stem: str) -> Entries:
        """What a stem stands for by itself."""
        line = self._line(stem)
        return _same(frozenset((stem,))) if line and line[0] else _NONE

    def _find_phrases(self, stem: str) -> list[tuple[str, Phrase, bool]]:
        """The phrases that begin with a stem, and whether filling words belong to them."""
        lines = self._lines[bisect_left(self._lines, f"{stem} ") : bisect_left(self._lines, f"{stem}!")]
        entries = [line.partition("\t")[0] for line in lines]
        phrases = [(entry, tuple(entry.split(" "))) for entry in entries]
        return [(entry, phrase, not SKIPPED.isdisjoint(phrase)) for entry, phrase in phrases]

    def _find_related(self, entries: Entries) -> Entries:
        numbers = {number for one in entries if (line := self._line(one)) for number in line[0].split()}
        return entries.union(self._lines[int(number)].partition("\t")[0] for number in numbers)


@lru_cache(maxsize=_DIFFERENT)
def _same(entries: Entries) -> Entries:
    """The one object that stands for all equal to it: many words of many requests share few of them."""
    return entries


def _match(phrase: Phrase, stems: Sequence[str], places: Sequence[int], first: int) -> list[int]:
    """Places of the words of a phrase that begins at `first`, with at most `_GAP` of `places` between two of them; none
    when it does not stand there."""
    found, at = [first], bisect_left(places, first) + 1
    for word in phrase[1:]:
        hit = next(
            (number for number in range(at, min(at + _GAP + 1, len(places))) if stems[places[number]] == word), -1
        )
        if hit < 0:
            return []
        found.append(places[hit])
        at = hit + 1
    return found


@lru_cache(maxsize=1)
def thesaurus() -> Thesaurus:
    """The one that comes with the package."""
    return Thesaurus(FILE.read_bytes().decode("utf-8"))  # without a look for the ends of lines: three times as fast
