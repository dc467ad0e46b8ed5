"""Words of a goal and of controls: how close they are, which values a goal holds, how two goals line up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

_STOP = frozenset(
    "a an the of to in on at by for from with and or as is are it its this that my me i am all any into "
    "please button click press select choose find use use using enter then text field fields both icon".split()
)
_TOKEN = re.compile(r'"[^"]*"|<[^<>]+>|\{\{[^{}]+\}\}|[\w@#](?:[.@:/#-]{0,8}\w)+|\w')
_WORD = re.compile(r"[a-z0-9]+")
_QUOTED = re.compile(r'"([^"]*)"')
_PLAIN_VALUE = re.compile(r"@\w+|\d{1,4}[/:.-]\d[\d/:.-]*|\b[A-Z][\w-]*(?: [A-Z0-9][\w-]*)*|\b\w*\d\w*\b")
_SENTENCE_START = re.compile(r"(^|[.!?]\s+)[A-Z][\w-]*")
_DATE = re.compile(r"(\d{2})/(\d{2})/(\d{4})")
_PATTERN = re.compile(r'(starts|ends) with "([^"]*)"')
_NEGATIVE = re.compile(r"\b(off|disable|stop|no longer|un(?!til|der|it|ion|iq)\w{3,})\b", re.IGNORECASE)
_SIMILAR_ENOUGH = 0.4


def words(text: str) -> frozenset[str]:
    """The telling words of a text, lower-cased and cut to their stems."""
    return frozenset(_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP)


def field_words(text: str) -> frozenset[str]:
    """The words of a field's name: here "to" and "from" tell something too."""
    return frozenset(_stem(word) for word in _WORD.findall(text.lower()) if word not in ("the", "a", "and", "of"))


def bare(text: str) -> str:
    """A name without case, ellipsis and punctuation at its ends."""
    return text.casefold().strip(" .…:*\"'\n")


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


# What had better not be clicked without being asked for.
RISKY = words("delete remove block forget clear discard erase reset stop unprotect")


@dataclass(frozen=True)
class Value:
    """Something a goal names: its text, the words just before it, whether it stood in quotes."""

    text: str
    before: frozenset[str]
    quoted: bool


@dataclass(frozen=True)
class Goal:
    """A goal as the explorer reads it."""

    text: str

    @cached_property
    def words(self) -> frozenset[str]:
        """Its telling words, those of quoted values left out."""
        return words(_QUOTED.sub(" ", self.text))

    @cached_property
    def undone(self) -> frozenset[str]:
        """What is to be undone: "mute" for a goal that says "unmute"."""
        return frozenset(word[2:] for word in self.words if word.startswith("un") and len(word) > 4)

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """Quoted texts, then names, dates and numbers that stand without quotes, each in order."""
        quoted = [(found.start(), found.group(1), True) for found in _QUOTED.finditer(self.text)]
        rest = _QUOTED.sub(lambda found: " " * len(found.group()), self.text)
        rest = _SENTENCE_START.sub(lambda found: " " * len(found.group()), rest)
        plain = [(found.start(), found.group(), False) for found in _PLAIN_VALUE.finditer(rest) if found.group() != "I"]
        return tuple(Value(text, self._words_before(at), mark) for at, text, mark in (*quoted, *plain) if text.strip())

    @cached_property
    def is_negative(self) -> bool:
        """True when something is to be turned off."""
        return bool(_NEGATIVE.search(_QUOTED.sub(" ", self.text)))

    @cached_property
    def patterns(self) -> tuple[tuple[str, str], ...]:
        """("starts" or "ends", text) pairs an item has to fit."""
        return tuple(_PATTERN.findall(self.text))

    def names(self, name: str) -> bool:
        """True when the goal holds the whole name, as whole words."""
        plain = bare(name)
        return bool(plain) and re.search(rf"(?<![\w.]){re.escape(plain)}(?!\w)", self.text.casefold()) is not None

    def value_in(self, name: str) -> Value | None:
        """The value of the goal that a name holds, the longest first."""
        plain = bare(name)
        held = [
            one
            for one in self.values
            if len(bare(one.text)) > 1 and re.search(rf"(?<!\w){re.escape(bare(one.text))}(?!\w)", plain)
        ]
        return max(held, key=lambda one: (one.quoted, len(one.text)), default=None)

    def is_value(self, name: str) -> bool:
        """True when one of the goal's values is just this name."""
        return any(bare(one.text) == bare(name) for one in self.values)

    def closeness(self, name: str) -> float:
        """0 (no word in common) to 1.5 (the name is one of the goal's values)."""
        if self.patterns and self._fits(name):
            return 1.4
        value = self.value_in(name)
        if value is not None:
            return 1.5 if bare(value.text) == bare(name) else 1.2
        if self.names(name):
            return 1.0
        own = words(name)
        return 0.9 * len(own & self.words) / max(len(own), len(_WORD.findall(name.lower()))) if own else 0.0

    def _fits(self, name: str) -> bool:
        return all(name.startswith(text) if kind == "starts" else name.endswith(text) for kind, text in self.patterns)

    def _words_before(self, at: int) -> frozenset[str]:
        telling = [word for word in _QUOTED.sub(" ", self.text[:at]).split() if field_words(word)]
        return field_words(" ".join(telling[-2:]))


def iso_date(text: str) -> str:
    """A date written month/day/year as year-month-day; any other text as it is."""
    return _DATE.sub(r"\3-\1-\2", text)


def align(past: str, present: str) -> dict[str, str]:
    """Values of a past task → values of the present one, where the two wordings differ; empty if they are unlike."""
    old, new = (_TOKEN.findall(text) for text in (past, present))
    matcher = SequenceMatcher(None, [one.casefold() for one in old], [one.casefold() for one in new], autojunk=False)
    if matcher.ratio() < _SIMILAR_ENOUGH:
        return {}
    pairs: dict[str, str] = {}
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "replace":
            continue
        whole = [(" ".join(old[a:b]), " ".join(new[c:d]))]
        pairs.update(
            {x.strip('"'): y.strip('"') for x, y in (zip(old[a:b], new[c:d], strict=True) if b - a == d - c else whole)}
        )
        pairs.update({x.strip('"'): y.strip('"') for x, y in whole})
    return pairs


def substitute(text: str, pairs: dict[str, str]) -> str:
    """Replace past values by present ones in any case, the longest first and each place once."""
    if not pairs:
        return text
    plain = {key.casefold(): value for key, value in pairs.items() if key}
    known = "|".join(rf"(?<!\w){re.escape(key)}(?!\w)" for key in sorted(plain, key=len, reverse=True))
    return re.sub(known, lambda match: plain[match.group().casefold()], text, flags=re.IGNORECASE)
