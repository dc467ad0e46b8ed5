"""Words and phrases that name the same thing or deed in user interfaces: `thesaurus.tsv`, read once.

An entry is a stem, or a phrase whose words stand in this order with at most two others between them ("turn Bluetooth
on"); filling words are left out of a phrase, unless one word would be left ("sign in"). The file is what
`tools/make_thesaurus.py` makes of the lines in `synonyms/`: a line an entry, sorted, with the numbers of the lines it
is related to. It is searched as it is: nothing is parsed before it is asked for.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from ufo_experience.request import on_forgetting

FILE = Path(__file__).with_name("thesaurus.tsv")
_DIFFERENT = 8_192  # sets of entries that are kept; they hold words of the thesaurus alone
_GAP = 2  # words that may stand between those of a phrase
SKIPPED = frozenset("the a an my your his her this that all to of in for me it some as is are".split())

Entries = frozenset[str]
_NONE: Entries = frozenset()


class Thesaurus:
    """Which words and phrases are related, and which words are known at all."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._begun = lru_cache(_DIFFERENT)(self._begun_by)
        self._related_to = lru_cache(_DIFFERENT)(self._find_related)
        on_forgetting(self._begun.cache_clear)  # by words of texts, whatever they are

    def is_known(self, stem: str) -> bool:
        """True for a word that stands in the thesaurus, related to others or not."""
        return stem in self._begun(stem)

    def entries(self, stems: Sequence[str]) -> list[Entries]:
        """For each stem of a text the entries it stands for: itself, and phrases that it is part of."""
        begun = [self._begun(one) for one in stems]
        found = [_same(frozenset((one,))) if own.get(one) else _NONE for one, own in zip(stems, begun, strict=True)]
        said, every = frozenset(stems), range(len(stems))
        kept = [place for place in every if stems[place] not in SKIPPED]
        for place, own in enumerate(begun):
            for entry in own:
                phrase = entry.split(" ")
                if len(phrase) > 1 and said.issuperset(phrase):
                    for part in _match(phrase, stems, kept if SKIPPED.isdisjoint(phrase) else every, place):
                        found[part] = _same(found[part] | {entry})
        return found

    def related(self, entries: Iterable[str]) -> Entries:
        """These entries, and all that are related to one of them; for the same ones the same object."""
        return self._related_to(entries if isinstance(entries, frozenset) else frozenset(entries))

    def _begun_by(self, stem: str) -> dict[str, str]:
        """The entries that begin with a stem, itself among them where it is known, each with the numbers of the lines
        it is related to. They stand in a row: a tab sorts before a blank, and both before anything else.
        """
        begun = self._lines[bisect_left(self._lines, f"{stem}\t") : bisect_left(self._lines, f"{stem}!")]
        return {entry: related for entry, related, _ in (line.split("\t") for line in begun)}

    def _find_related(self, entries: Entries) -> Entries:
        numbers = {number for one in entries for number in self._begun(one.partition(" ")[0]).get(one, "").split()}
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
