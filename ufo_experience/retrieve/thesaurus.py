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
from typing import NamedTuple

from ufo_experience.request import on_forgetting

FILE = Path(__file__).with_name("thesaurus.tsv")
THING = "thing"  # the mark of a word that names things alone
_DIFFERENT = 8_192  # sets of entries that are kept; they hold words of the thesaurus alone
_GAP = 2  # words that may stand between those of a phrase
SKIPPED = frozenset("the a an my your his her this that all to of in for me it some as is are".split())

Entries = frozenset[str]
_NONE: Entries = frozenset()
Phrase = tuple[str, ...]


class _Word(NamedTuple):
    """What the file says of a stem: the numbers of what is related to it and whether it names things alone (None where
    it is not known), what it stands for by itself, and of the phrases that begin with it the second words, and each
    with its words and whether filling words belong to it.
    """

    line: tuple[str, bool] | None = None
    alone: Entries = _NONE
    seconds: frozenset[str] = _NONE
    phrases: tuple[tuple[str, Phrase, bool], ...] = ()


_UNKNOWN = _Word()


class Thesaurus:
    """Which words and phrases are related, and which words are known at all."""

    def __init__(self, text: str) -> None:
        """`text` is what the file holds."""
        self._lines = text.split("\n")
        self._line = lru_cache(_DIFFERENT)(self._find_line)
        self._word = lru_cache(_DIFFERENT)(self._find_word)
        self._related_to = lru_cache(_DIFFERENT)(self._find_related)
        for kept in (self._line, self._word):  # by words of texts, whatever they are
            on_forgetting(kept.cache_clear)

    def is_known(self, stem: str) -> bool:
        """True for a word that stands in the thesaurus, related to others or not."""
        return self._word(stem).line is not None

    def entries(self, stems: Sequence[str]) -> list[Entries]:
        """For each stem of a text the entries it stands for: itself, and phrases that it is part of."""
        words, said = [self._word(one) for one in stems], frozenset(stems)
        found = [one.alone for one in words]
        likely = [(place, one.phrases) for place, one in enumerate(words) if not one.seconds.isdisjoint(said)]
        every = range(len(stems))
        kept = [place for place in every if stems[place] not in SKIPPED] if likely else []
        for place, phrases in likely:
            for entry, phrase, whole in phrases:
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

    def _find_word(self, stem: str) -> _Word:
        """One look tells of most words that they are not in the file, names and numbers."""
        lines = self._lines
        first = bisect_left(lines, stem)
        if first == len(lines) or not lines[first].startswith((f"{stem}\t", f"{stem} ")):
            return _UNKNOWN
        line = self._line(stem)
        begun = lines[bisect_left(lines, f"{stem} ", first) : bisect_left(lines, f"{stem}!", first)]
        entries = [one.partition("\t")[0] for one in begun]
        phrases = [(entry, tuple(entry.split(" "))) for entry in entries]
        return _Word(
            line,
            _same(frozenset((stem,))) if line and line[0] else _NONE,
            frozenset(phrase[1] for _, phrase in phrases),
            tuple((entry, phrase, not SKIPPED.isdisjoint(phrase)) for entry, phrase in phrases),
        )

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
