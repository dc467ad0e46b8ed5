"""Opposites: two requests that read alike and are not the same task.

"Turn on bluetooth" and "turn off bluetooth", "save before closing" and "close without saving" pass any similarity
threshold. `conflict` says why two requests contradict each other: they touch opposite ends of one axis, one takes back
what the other does (un-, dis-), or one negates what the other says. A rule of words, deliberately short-sighted: when
both ends of an axis stand in one request, that axis decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import Any

from ufo_experience.retrieve.antonyms import AXES, FOREIGN, NEGATED_AXES
from ufo_experience.text.remembered import remembered
from ufo_experience.text.terms import stem

# Phrases whose meaning hangs on a particle, in the order they are rewritten. Each begins with words of which a match
# holds at least one: without them nobody need look.
_PHRASES = [
    ("longer", r"\bno longer\b", "not"),
    ("disturb", r"\bdo not disturb\b", "quiet"),
    ("show slideshow", r"\bslide ?show\b", "presentation"),
    ("no", r"\byes(?:,? (?:or|and))? no\b", "choice"),
    ("back", r"\b(?:bring|get)(?:s|ing)?\b((?: [\w'-]+){0,4}?) back\b(?! to)", r"recover\1"),
    ("schalte schalt mach mache", r"\b(?:schalte?|mache?)\b((?: [\w'-]+){0,4}?) (?:an|ein)(?! \w)", r"enable\1"),
    ("schalte schalt mach mache", r"\b(?:schalte?|mache?)\b((?: [\w'-]+){0,4}?) aus\b", r"disable\1"),
    ("on", r"\b(?:turn|switch|power|toggle|put)(?:s|ed|ing)?\b((?: [\w'-]+){0,4}?) on\b", r"enable\1"),
    ("mode", r"\b(?:(?:switch|change|go) (?:in)?to|enter)(?= .*\bmode\b)", "enable"),
    ("mode", r"\b(?:leave|exit|quit|get out of)(?= .*\bmode\b)", "disable"),
    (
        "stop stopped stopping quit quitped quitping cease ceaseped ceaseping",
        r"\b(?:stop|quit|cease)(?:ped|ping)?\b((?: the| my| this)?(?: \w+)?) (\w{2,}ing)\b",
        r"stop\1 not \2",
    ),
    ("front", r"\bin front of\b", "front"),
    ("only", r"\b(?:visible )?only (?:to|for) (?:me|myself)\b", "private"),
    ("black", r"\bblack and white\b", "grayscale"),
    ("read", r"\bread[- ]only\b", "readonly"),
    # Which access somebody is given is a value of the request, as its name is: the way is the same.
    (
        "read write edit view reading writing editing viewing",
        r"\b(?:(?:read|edit|view)(?:ing)?|writ(?:e|ing))(?=(?: and \w+)? (?:access|permissions?|rights?)\b)",
        "some",
    ),
    ("sides sided", r"\b(?:both sides|double[- ]sided|two[- ]sided)\b", "twosided"),
    ("side sided", r"\b(?:one side|single[- ]sided|one[- ]sided)\b", "onesided"),
    ("last first", r"\b(?:last minute|first aid|first class)\b", "item"),
    ("off", r"\b(?:turn|switch|power|toggle|take)(?:s|ed|ing)?\b((?: [\w'-]+){0,4}?) off\b", r"disable\1"),
    ("up down", r"\b(?:turn|crank)(?:s|ed|ing)?\b((?: [\w'-]+){0,4}?) (up|down)\b", r"\2\1"),
    ("in on into", r"\b(?:log|sign)(?:s|ged|ging|ed|ing)? (?:me )?(?:in|on|into)\b", "login"),
    ("out off", r"\b(?:log|sign)(?:s|ged|ging|ed|ing)? (?:me )?(?:out|off)\b", "logout"),
    ("in out", r"\blog(?:s|ged|ging)?(?: the| my| this)(?: \w+)? (in|out)\b", r"log\1"),
    ("from", r"\b(?:stop|prevent|keep|block)((?: \w+){1,3}?) from (\w+ing)\b", r"\1 not \2"),
    ("in into", r"\bzoom(?:s|ed|ing)? in(?:to)?\b", "increase zoom"),
    ("out", r"\bzoom(?:s|ed|ing)? out\b", "decrease zoom"),
    ("in", r"\bopt(?:ed|ing)? in\b", "enable"),
    ("out", r"\bopt(?:ed|ing)? out\b", "disable"),
    ("up", r"\bback(?:s|ed|ing)? up\b", "backup"),
    ("z toz atoz", r"\b(?:a ?(?:to|-|–) ?z)\b", "ascending"),
    ("z zto ztoa", r"\b(?:z ?(?:to|-|–) ?a)\b", "descending"),
    ("to", r"\b(?:low|small|old|cheap)(?:est)? (?:to|first to) (?:high|large|new|big|expensive)\w*", "ascending"),
    (
        "to",
        r"\b(?:high|large|new|big)(?:g?est|st)? (?:to|first to) (?:low|small|old|cheap)\w*",
        "descending",
    ),
    ("rid take", r"\b(?:get rid of|take (?:out|away|off))\b|\btake\b(?=(?: [\w']+){0,4} away\b)", "remove"),
    ("out", r"\b(?:kick|throw|leave|cross)\b((?: [\w']+){0,4}?) out\b", r"remove\1"),
    ("check", r"\bcheck in\b", "checkin"),
    ("called named titled", r"\b(?:called|named|titled) [\w-]+", ""),
    ("recent", r"\bmost recent\b", "latest"),
    ("right", r"\bright (?:click|next|now|away|after|before)\w*", "then"),
    ("down", r"\bshut(?:s|ting)? down\b", "shut"),
    (
        "up down dropup dropdown pullup pulldown breakup breakdown countup countdown writeup writedown noteup notedown"
        " scrollup scrolldown markup markdown",
        r"\b(?:drop|pull|break|count|write|note|scroll|mark)\s?-?(?:down|up)\b(?= (?:list|menu|the|my|this))",
        "drop-list",
    ),
    (
        "zip archive box boxes checkbox checkboxes combobox comboboxes textbox textboxes",
        r"\b(?:zip|archive)(?= (?:file|folder|archive))|\b(?:check|combo|text) ?box(?:es)?\b",
        "item",
    ),
    ("check checking", r"\bcheck(?:ing)? (?:out|whether|if|that)\b", "item"),
    ("attachment attachments", r"\battachments?\b", "enclosure"),
    (
        "down dropdown up popup",
        r"\b(?:drop[- ]?down|pop[- ]?up|set(?:ting)? up|set-up|look up|pick up|follow up|sign up|fill up)\b",
        "setup",
    ),
    (
        "light lighter dark darker",
        r"\b(light|dark)(?:er)? (?=mode|theme|appearance|scheme|version|background|colou?rs?\b)",
        r"\1mode ",
    ),
    ("of", r"\b(?:end|start|beginning|front|back) of\b", "of"),
    ("of", r"\b(top|bottom) of\b", r"\1side of"),  # of a page, not of an order
    ("instead rather", r"\b(?:instead of|rather than)\b", "without"),
    (
        "not don dont never avoid shouldn mustn",
        r"\b(?:do not|don't|dont|never|avoid|must not|should not|shouldn't|mustn't)\b",
        "not",
    ),
]
_REWRITES = [(frozenset(words.split()), re.compile(pattern), replacement) for words, pattern, replacement in _PHRASES]
_LETTERS = re.compile("[a-z]+")
_VALUES = re.compile(
    r"(?:\breading )?\"[^\"\n]*\"|“[^“”\n]*”|`[^`\n]+`|«[^«»\n]*»"
    r"|(?<!\w)['‘](?=\S)[^'‘’\n]*(?:['’][a-z][^'‘’\n]*)?['’](?!\w)|<\w+>"
    r"|(?<![\w.-])[\w-]+\.[a-z]\w{1,3}\b(?!\.)",
    re.IGNORECASE,
)
_IN_VALUES = frozenset("\"“`«'‘<.")  # every match of `_VALUES` holds one of them
_IN_DESCRIPTIONS = ("not", "n't", "so ")  # and every one of `_DESCRIPTIVE` one of these
_DESCRIPTIVE = re.compile(  # "a file I can not find" describes, it does not ask
    r"\b(?:i|we|they|it|he|she|that|which|if \w+|\w+ is|\w+ are|\w+ does)"
    r" (?:(?:do|does|did|am|are|is|was|were|have|has|can|could) ?(?:not|n't)|don't|can't|cannot|doesn't|didn't|isn't)\b"
    r"|\bso (?:that )?(?:i|we|you|he|she|they|it|nobody|the|that)\b[^.!?;]*"  # what it is good for
)
_TOKEN = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|[,.;:!?]")
_STOPS = frozenset(",.;:!?") | {"and", "but", "or", "then"}
_NEGATORS = frozenset({"not", "without", "no"})
_FILLERS = frozenset(
    "the a an any to be being it its this that me my your our of for in on at with some all please ever directly"
    " automatically have has having use using used do doing make making want need get getting let from as".split()
)
_TAKES_BACK = re.compile(r"^(un|dis|de|in|counter|anti|non)(?=\w{3})")
_TAKEN_BACK = frozenset("activ complet correct valid visibl".split())  # what in- turns round; the others do with any
_NOT_TAKEN_BACK = frozenset(  # words that only look as if
    stem(word)
    for word in "display discount dispatch discard discuss design detail default depart depend delight deliver demand"
    " detach debug detect decline describe".split()
)
_SWAPS = {  # prefixes of two words that are opposites when the rest is the same
    "en": ("de", "dis"), "in": ("de", "ex", "out", "e"), "im": ("ex",), "con": ("de",), "as": ("dis",), "up": ("down",),
    "over": ("under",), "pre": ("post",), "max": ("min",),
}  # fmt: skip
_PARTICLE = re.compile(r"(?:^|[,.;:!] ?|\b(?:and|then|to|please|you) )([a-z]{3,}) (in|out|on|off|up|down|over|under)\b")
_LEAST_REST = 4
_LEAST_IN_DEED = 3  # letters
_NEAR_BY = 2  # words before, within which stands what takes a word back
_ARTICLES = frozenset("the a an my your his her our their this that".split())
_GIVES_A_PLACE = frozenset("by in of from per each every which what".split())  # "sorted by column B" is about rows
_NEAR = 4  # words from the start within which stands what is removed
_OPPOSITE_PARTICLE = {"in": "out", "on": "off", "up": "down", "over": "under"}
_SAME_EITHER_WAY = frozenset({"fill", "slow"})  # a form is filled in or out


class Marks:
    """What decides whether requests contradict each other: words one says (in order), words it negates, which end (1,
    -1; 0: both) of each axis it touches, verbs with the particle behind them, and the words that a word of it takes
    back or would be with an opposite prefix. `deed` is the first word, where it may be one."""

    __slots__ = ("deed", "ends", "negated", "opposites", "particles", "said", "words")

    def __init__(
        self,
        said: Sequence[str],
        negated: Set[str],
        ends: dict[int, int],
        particles: Set[tuple[str, str]],
        deed: str = "",
    ) -> None:
        self.said, self.ends, self.deed = tuple(said), ends, deed
        self.negated, self.particles = frozenset(negated) or _NONE, frozenset(particles) or _NONE
        self.words = frozenset(said)
        self.opposites = _NONE.union(*[_opposites(word) for word in self.words])


_NONE: frozenset[Any] = frozenset()


def conflict(one: str, other: str) -> str | None:
    """Why two requests cannot be the same task, or None when nothing speaks against it."""
    return clash(marks_of(one), marks_of(other))


def clash(a: Marks, b: Marks) -> str | None:
    """`conflict` of two requests by their marks."""
    return (
        _removal(a, b)
        or _removal(b, a)
        or (_negation(a, b) if a.negated or b.negated else None)
        or _taking_back(a, b)
        or _taking_back(b, a)
        or (_opposite_particles(a.particles, b.particles) if a.particles and b.particles else None)
        or (_opposite_particles(b.particles, a.particles) if a.particles and b.particles else None)
        or _opposite_ends(a.ends, b.ends)
    )


def _removal(a: Marks, b: Marks) -> str | None:
    """ "Underline the title" against "remove the underline", "flag the mail" against "clear the follow-up flag"."""
    if not a.deed or not b.said or b.said[0] not in _REMOVE or a.deed not in b.said[1:_NEAR]:
        return None
    return f"removed: {a.deed}" if b.said[0] not in a.words and not _REMOVE & a.words & b.words else None


def _negation(a: Marks, b: Marks) -> str | None:
    clash = frozenset() if _takes_back(b, a) else (a.negated & b.words) - a.words - b.negated
    clash |= frozenset() if _takes_back(a, b) else (b.negated & a.words) - b.words - a.negated
    return f"negated: {min(clash)}" if clash else None


def _takes_back(a: Marks, b: Marks) -> bool:
    """True where a request takes something back by a word that the other one has not ("withdraw", "bring back")."""
    return not _TAKING_BACK.isdisjoint(a.words - b.words)


def _taking_back(a: Marks, b: Marks) -> str | None:
    """ "Unpin" against "pin", "deregister" against "register", "inflate" against "deflate"."""
    if a.opposites.isdisjoint(b.words):
        return None
    is_same = _takes_back(b, a)  # "unblock" and "remove from the blocked ones"
    missing = b.words - a.words
    for word in sorted(a.words - b.words):
        prefix = _TAKES_BACK.match(word)
        base = word[prefix.end() :] if prefix else word
        fits = prefix and base in missing and word not in _NOT_TAKEN_BACK
        if fits and prefix and not is_same and (prefix[1] != "in" or base in _TAKEN_BACK):
            return f"opposite: {base} / {word}"
        swapped = next((other for other in _swapped(word) if other in missing), None)
        if swapped:
            return f"opposite: {word} / {swapped}"
    return None


@remembered(4_096)
def _opposites(word: str) -> frozenset[str]:
    """What a word takes back, and the words it would be with an opposite prefix."""
    prefix = _TAKES_BACK.match(word)
    return frozenset((*_swapped(word), *([word[prefix.end() :]] if prefix else ())))


@remembered(4_096)
def _swapped(word: str) -> tuple[str, ...]:
    """The words this one would be with an opposite prefix."""
    rests = ((word.removeprefix(prefix), others) for prefix, others in _SWAPS.items())
    return tuple(o + rest for rest, others in rests if rest != word and len(rest) >= _LEAST_REST for o in others)


def _opposite_particles(a: Set[tuple[str, str]], b: Set[tuple[str, str]]) -> str | None:
    """ "Clock in" against "clock out"."""
    for verb, particle in sorted(a):
        other = _OPPOSITE_PARTICLE.get(particle)
        if other and (verb, other) in b - a and (verb, particle) not in b:
            return f"opposite: {verb} {particle} / {other}"
    return None


def _opposite_ends(a: dict[int, int], b: dict[int, int]) -> str | None:
    for axis in sorted(a.keys() & b.keys()):
        if a[axis] * b[axis] == -1:
            return f"opposite: {_LINES[axis]}"
    return None


@remembered(64)
def marks_of(text: str) -> Marks:
    """What a request says, negates and touches."""
    text = text if _IN_VALUES.isdisjoint(text) else _VALUES.sub(" ", text)
    text = text.lower().replace("’", "'")
    text = _DESCRIPTIVE.sub("i", text) if any(word in text for word in _IN_DESCRIPTIONS) else text
    particles = {(stem(verb), particle) for verb, particle in _PARTICLE.findall(text)}
    text = _rewritten(text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text))
    said: list[str] = []
    negated: set[str] = set()
    ends: dict[int, int] = {}
    negating = False
    before = ""
    tokens = _TOKEN.findall(text)
    for token in tokens:
        if token in _STOPS:
            negating = negating and token == "or"
        elif token in _NEGATORS:
            negating = True
        elif token not in _FILLERS:
            word = stem(token)
            removing = not _TAKING_BACK.isdisjoint(said[-_NEAR_BY:])
            if removing and word.startswith("un") and _turned(word):
                word = word.removeprefix("un")
                removing = False
            if negating:
                negated.add(word)
            else:
                said.append(word)
            for axis, end in () if word in _LINES_OF_A_TABLE and before in _GIVES_A_PLACE else _ends_of(word, negating):
                if removing and axis in _turned(word):
                    ends[axis] = 0 if token.endswith("ed") else -end
                else:
                    ends[axis] = end if ends.get(axis, end) == end else 0
            negating = False
        before = before if token in _ARTICLES else token
    deed = said[0] if said and tokens[0] not in _ARTICLES and stem(tokens[0]) == said[0] else ""
    is_noun = len(deed) < _LEAST_IN_DEED or tokens[0].endswith(("s", "ed"))
    return Marks(
        said, negated, ends, {pair for pair in particles if pair[0] not in _SAME_EITHER_WAY}, "" if is_noun else deed
    )


def _rewritten(text: str) -> str:
    words = set(_LETTERS.findall(text))
    for needed, pattern, replacement in _REWRITES:
        if not words.isdisjoint(needed):
            text, changes = pattern.subn(replacement, text)
            words = set(_LETTERS.findall(text)) if changes else words
    return text


def _ends_of(word: str, negating: bool) -> list[tuple[int, int]]:
    """The ends of axes that a word touches, or the others where it is negated."""
    again = word if word in _ENDS else word.removeprefix("re")  # to reopen is to open
    found = _ENDS.get(again, [])
    return [(axis, -end) for axis, end in found if axis < NEGATED_AXES] if negating else found


def _read_axes() -> tuple[list[str], dict[str, list[tuple[int, int]]]]:
    lines = AXES.strip().replace("\n  ", " ").splitlines()
    ends: dict[str, list[tuple[int, int]]] = {}
    for axis, line in enumerate(lines):
        for end, words in zip((1, -1), line.split("|"), strict=True):
            for word in words.split():
                ends.setdefault(stem(word), []).append((axis, end))
    for word, english in _read_foreign().items():
        for one in english:
            ends.setdefault(stem(word), []).extend(ends[stem(one)])
    return lines, ends


def _read_foreign() -> dict[str, list[str]]:
    """Words of other languages, and the English ones they stand for."""
    found: dict[str, list[str]] = {}
    for line in FOREIGN.strip().replace("\n  ", " ").splitlines():
        english, _, words = line.partition(":")
        for word in words.split():
            found.setdefault(word, []).append(english)
    return found


@remembered(4_096)
def _turned(word: str) -> frozenset[int]:
    """The axes on which a word goes to the other end when it is taken back: "remove the lock" is "unlock"."""
    back = {(axis, -end) for axis, end in _ENDS.get(word, ())}
    return frozenset(axis for one in _taken_back(word) for axis, end in _ENDS.get(one, ()) if (axis, end) in back)


def _taken_back(word: str) -> tuple[str, ...]:
    """A word with and without a prefix that takes it back; dark mode and light mode are the ends of one axis."""
    return (f"un{word}", word.removeprefix("un"), *({"lightmod", "darkmod"} - {word} if word.endswith("mod") else ()))


_LINES, _ENDS = _read_axes()
_UNSPACED = re.compile("|".join(sorted((one for one in _read_foreign() if one[0] >= "\u0e00"), key=len, reverse=True)))
_REMOVE = {stem(word) for word in ("remove", "delete", "clear", "cancel", "erase", "drop", "reset", "undo")}
_TAKING_BACK = _REMOVE | {
    stem(word) for word in "disable deactivate stop end lift withdraw revoke recover restore retrieve reverse".split()
}
_LINES_OF_A_TABLE = {stem(word) for word in ("row", "rows", "column", "columns")}
