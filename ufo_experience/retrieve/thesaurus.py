"""Words and phrases that name the same thing or deed in user interfaces: `thesaurus.tsv`, read once.

An entry is a stem, or a phrase whose words stand in this order with at most two others between them ("turn Bluetooth
on"); filling words are left out of a phrase, unless one word would be left ("sign in"). The file is what
`tools/make_thesaurus.py` makes of the lines in `synonyms/`: a line an entry, sorted, with the numbers of the lines it
is related to. It is searched as it is: nothing is parsed before it is asked for.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ufo_experience.request import on_forgetting

FILE = Path(__file__).with_name("thesaurus.tsv")
_DIFFERENT = 8_192  # sets of entries that are kept; they hold words of the thesaurus alone
_GAP = 2  # words that may stand between those of a phrase
SKIPPED = frozenset("the a an my your his her this that all to of in for me it some as is are".split())

Entries = frozenset[str]
_NONE: Entries = frozenset()


class _Begun(NamedTuple):
    """The entries that begin with a stem: each with the numbers of the lines it is related to, and the phrases among
    them by their second word."""

    related: Mapping[str, str]
    phrases: Mapping[str, Sequence[str]]


class Thesaurus:
    """Which words and phrases are related, and which words are known at all."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._begun = lru_cache(_DIFFERENT)(self._begun_by)
        self._related_to = lru_cache(_DIFFERENT)(self._find_related)
        on_forgetting(self._begun.cache_clear)  # by words of texts, whatever they are

    def is_known(self, stem: str) -> bool:
        """True for a word that stands in the thesaurus, related to others or not."""
        return stem in self._begun(stem).related

    def entries(self, stems: Sequence[str]) -> list[Entries]:
        """For each stem of a text the entries it stands for: itself, and phrases that it is part of."""
        begun = [self._begun(one) for one in stems]
        own = zip(stems, begun, strict=True)
        found = [_same(frozenset((one,))) if entries.related.get(one) else _NONE for one, entries in own]
        said, every = frozenset(stems), range(len(stems))
        kept = [place for place in every if stems[place] not in SKIPPED]
        for place, entries in enumerate(begun):
            for entry in [entry for second in said & entries.phrases.keys() for entry in entries.phrases[second]]:
                phrase = entry.split(" ")
                for part in _match(phrase, stems, kept if SKIPPED.isdisjoint(phrase) else every, place):
                    found[part] = _same(found[part] | {entry})
        return found

    def related(self, entries: Iterable[str]) -> Entries:
        """These entries, and all that are related to one of them; for the same ones the same object."""
        return self._related_to(entries if isinstance(entries, frozenset) else frozenset(entries))

    def _begun_by(self, stem: str) -> _Begun:
        """The entries that begin with a stem, itself among them where it is known. They stand in a row: a tab sorts
        before a blank, and both before anything else.
        """
        begun = self._lines[bisect_left(self._lines, f"{stem}\t") : bisect_left(self._lines, f"{stem}!")]
        related = {entry: numbers for entry, numbers, _ in (line.split("\t") for line in begun)}
        phrases: dict[str, list[str]] = defaultdict(list)
        for entry in related:
            if " " in entry:
                phrases[entry.split(" ", 2)[1]].append(entry)
        return _Begun(related, phrases)

    def _find_related(self, entries: Entries) -> Entries:
        own = {one: self._begun(one.partition(" ")[0]).related.get(one, "") for one in entries}
        numbers = {number for told in own.values() for number in told.split()}
        return entries.union(self._lines[int(number)].partition("\t")[0] for number in numbers)


@lru_cache(maxsize=_DIFFERENT)
def _same(entries: Entries) -> Entries:
    """The one object that stands for all equal to it: many words of many requests share few of them."""
    return entries


def _match(phrase: Sequence[str], stems: Sequence[str], places: Sequence[int], first: int) -> list[int]:
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
    return Thesaurus(FILE.read_bytes().decode("utf-8"))  # without a look for the ends of lines: three times as fast
