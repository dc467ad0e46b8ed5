"""Make `ufo_experience/retrieve/thesaurus.tsv` of what people write in `synonyms/*.txt`: python tools/make_thesaurus.py

Words of a line are parted by blanks, those of a phrase by `_`. Entries of a plain line are related to each other;
behind `head:` they are related to the head alone, for what is put as "create" (draw, record) is not one thing. Behind
`=` stand words that are known and related to nothing. `!deeds` and `!things` say what the lines behind them name; a
word of things alone is no deed, whatever place it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ufo_experience.request import stem, words
from ufo_experience.retrieve.thesaurus import FILE, SKIPPED

THING = "thing"  # the mark of a word that names things alone
FOLDER = Path(__file__).with_name("synonyms")


def written_lines() -> list[str]:
    """The lines of all files, in the order of their names."""
    return [line for path in sorted(FOLDER.glob("*.txt")) for line in path.read_text(encoding="utf-8").splitlines()]


def compiled(lines: Iterable[str]) -> str:
    """The file made of these lines: `entry<TAB>numbers of related lines<TAB>mark`, sorted."""
    beside: dict[str, set[str]] = {}
    named: dict[str, set[str]] = {}
    kind = ""
    for line in lines:
        if line.startswith("!"):
            kind = line[1:].split()[0]
        elif line.startswith("="):
            for word in line[1:].split():
                beside.setdefault(stem(word), set())
        elif line.strip() and not line.startswith("#"):
            named.setdefault(kind, set()).update(_relate(line, beside))
    things = named.get("things", set()) - named.get("deeds", set())
    entries = sorted(beside, key=lambda one: f"{one}\t")
    number = {entry: place for place, entry in enumerate(entries)}
    rows = ((one, sorted(number[other] for other in beside[one])) for one in entries)
    return "\n".join(f"{one}\t{' '.join(map(str, related))}\t{THING if one in things else ''}" for one, related in rows)


def _relate(line: str, beside: dict[str, set[str]]) -> list[str]:
    """Note what a line relates, and give its entries."""
    head, _, others = line.rpartition(":")
    entries = [entry_of(word) for word in others.split()]
    first = [entry_of(head)] if head else entries
    for some, rest in ((first, entries), (entries, first)):
        for one in some:
            beside.setdefault(one, set()).update(other for other in rest if other != one)
    return [*first, *entries]


def entry_of(text: str) -> str:
    """A word as its stem, a phrase as its stems without filling words, unless one word would be left."""
    stems = words(text.replace("_", " "))
    left: Sequence[str] = [one for one in stems if one not in SKIPPED]
    return " ".join(left if len(left) > 1 or len(stems) == 1 else stems)


if __name__ == "__main__":
    FILE.write_text(compiled(written_lines()), encoding="utf-8", newline="\n")
