"""A request parsed once: its words, which of them are values, the clause that asks.

    >>> request = Request.parse('Please email "see you" to Jane Doe')
    >>> request.masked
    'email <text> to <name>'
    >>> [(value.kind, value.text) for value in request.values]
    [('text', 'see you'), ('name', 'Jane Doe')]

Parsed on the way in and once on the way out. Every stage takes a Request; no other module looks for values.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ufo_experience.errors import DataError

_DATA: dict[str, Any] = json.loads(Path(__file__).with_name("request_words.json").read_text("utf-8"))
LONGEST = 8_192  # characters of a request that are parsed; what stands behind is kept as text
_LEAST_BEHIND_POLITE = 8  # characters; a text with less behind its politeness stays whole
_LEAST_IN_CLAUSE = 2  # words that say something; "help me with this" says nothing to be found by
_ALL_CAPITALS = 3  # words behind the first; where so many all begin with a capital, capitals tell nothing

# ---- values: one expression, read from left to right; at each place the first kind that fits ----

_MARKS = "“”„‟«»「」『』《》"
_MONTH = "|".join(_DATA["months"].split())
_PLAIN_MONTH = rf"(?!(?:{'|'.join(_DATA['months_that_are_words'].split())})\b)(?:{_MONTH})"
_WEEKDAY = "|".join(_DATA["weekdays"].split())
_ENDING = "|".join(_DATA["file_endings"].split())
_CURRENCY = "|".join(_DATA["currencies"].split())
_NUMBER = r"\d+(?:[.,]\d+)*"
# Not inside a word; Chinese and Japanese have no blanks before a number. `-i`, as the thousands of letters of a range
# are otherwise compiled one by one, at each start of a program.
_BEGIN = r"(?<!(?-i:[^\W\u3040-\u9fff]))"
_END = r"(?!(?-i:[^\W\u3040-\u9fff]))"
_YEAR = r"(?:19|20)\d\d"
_PART = r"[^\s\\/:*?\"<>|]{1,255}"
_KINDS = {
    "slot": r"\{\{(?:secret|input):\d{1,4}\}\}",
    "mark": r"\[(?:text|name|number|date|time|amount|file|path|url|email)(?: \d{1,4})?\]",
    "list": r"\[[^\[\]]{0,400}['\"][^\[\]]{0,400}\]",
    "text": (
        r"\"[^\"\n]{0,4000}\"|“[^“”\n]{0,4000}”|„[^„“”\n]{0,4000}[“”]|`[^`\n]{1,4000}`|«[^«»\n]{0,4000}»"
        r"|「[^「」\n]{0,4000}」|『[^『』\n]{0,4000}』|《[^《》\n]{0,4000}》"
        r"|(?<!\w)['‘](?=\S)[^'‘’\n]{0,4000}(?:['’][a-z][^'‘’\n]{0,4000})?['’](?!\w)"
    ),
    "url": rf"\b(?:https?|ftp)://[^\s\"'<>{_MARKS}]*[\w/]|\bwww\.[^\s\"'<>{_MARKS}]*[\w/]",
    "email": r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,255}(?:\.[\w-]{1,63}){1,8}",
    # Folders of a Windows path may hold up to three blanks; its last part only before words that look like a name.
    "windows": (
        rf"(?<![\w<])(?:[A-Z]:|\\\\[\w.$-]{{1,255}})\\(?:{_PART}(?: {_PART}){{0,3}}\\)*"
        rf"(?:{_PART}(?: (?-i:[^\W_a-z]){_PART}){{1,3}}(?<=\.)(?:{_ENDING})\b|[\w.~-]*[\w~]/?)?"
    ),
    "path": r"(?<![\w</.])(?:~|\.{1,2})?/(?:[\w.~-]+/)*[\w~-]+(?:\.[\w~-]+)*/?",
    "file": rf"(?<![\w-])[\w-]{{1,100}}(?:\.[\w-]{{1,100}}){{0,4}}\.(?:{_ENDING})\b",
    "code": r"(?<![\w.-])(?-i:[A-Z]{1,6})-\d{1,10}(?:-\d{1,10}){0,3}(?![\w-]|[.,]\d)",
    "date": (
        rf"{_BEGIN}\d{{1,4}}(?P<sep>[/-])\d{{1,2}}(?:(?P=sep)\d{{1,4}})?{_END}|{_BEGIN}\d{{1,2}}\.\s?\d{{1,2}}\.(?:{_YEAR})?(?!\d)"
        rf"|{_BEGIN}\d{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?:{_MONTH})\b\.?(?:,?\s+{_YEAR}\b)?"
        rf"|{_BEGIN}(?:{_MONTH})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?!:)(?:,?\s+{_YEAR}\b)?"
        rf"|{_BEGIN}(?:(?:{_MONTH})\s+{_YEAR}|{_PLAIN_MONTH}|{_WEEKDAY})\b"
        rf"|(?:\d{{4}}年)?\d{{1,2}}月(?:\d{{1,2}}[日号號])?|{_BEGIN}{_YEAR}{_END}"
    ),
    "time": (
        rf"{_BEGIN}\d{{1,2}}:\d\d(?::\d\d)?(?:\s?(?:[ap]\.m\.|[ap]m\b|uhr\b))?"
        rf"|{_BEGIN}\d{{1,2}}\s?(?:[ap]\.m\.|[ap]m\b|uhr\b|o['’]clock\b)"
        rf"|(?:上午|下午|早上|晚上|中午|午前|午後)?\d{{1,2}}[点點時时](?:\d{{1,2}}分|半)?"
    ),
    "phone": rf"(?<![\w+])(?:\+\d{{1,3}}|\(?0\d{{1,4}}\)?(?=[ )/-]))(?:[ ()/-]{{1,3}}\d{{2,8}}){{2,5}}{_END}",
    "amount": (
        rf"[$€£¥]\s?{_NUMBER}|{_BEGIN}{_NUMBER}\s?(?:[€£¥$元円]|(?:{_CURRENCY})\b)"
        rf"|{_BEGIN}(?:usd|eur|gbp|chf)\s?{_NUMBER}"
    ),
    "cells": r"(?<![\w$])\$?[A-Z]{1,3}\$?\d{1,7}:\$?[A-Z]{1,3}\$?\d{1,7}\b",
    # not the end of a word: "Rose-17y" is one
    "number": rf"(?:#|(?<!\w)[+-])?(?<![^\W\d_]-){_BEGIN}{_NUMBER}(?:st|nd|rd|th|%|[a-z]{{1,3}}\b)?",
}
_KIND_OF = {"slot": "text", "list": "text", "windows": "path", "cells": "name", "phone": "number", "code": "number"}
_VALUE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()), re.IGNORECASE)
_IN_QUOTES = {
    "url": re.compile(rf"(?:{_KINDS['url']})", re.IGNORECASE),
    "email": re.compile(rf"(?:{_KINDS['email']})"),
    "path": re.compile(r"(?:[A-Z]:|\\\\\w|~|\.)?[\\/][^\n\"<>|]{0,400}", re.IGNORECASE),
    "file": re.compile(rf"[^\\/:*?\"<>|\n]{{1,200}}\.(?:{_ENDING})", re.IGNORECASE),
}
_QUOTES = " \t\"'‘’`" + _MARKS

_BOUNDS = r"\s,;()\[\]{}<>°\"\u3000-\u9fff\uff00-\uffef" + _MARKS
_WORD_BEFORE, _WORD_BEHIND = re.compile(rf"[^{_BOUNDS}]+\Z"), re.compile(f"[^{_BOUNDS}]+")
_AROUND_WORDS = ".:!?'’‘…*`#-"
_LONGEST_WORD = 80  # characters of a word beside a value
_IN_WORDS = frozenset("name number date time amount phone".split())
_COUNTED = re.compile(r"\d+-[a-z]+")  # "a 2-column table"

# ---- names: what begins with a capital behind the first word of a sentence ----

_PIECE = re.compile(r"(?:[^\s,;:!?()\[\]\"“”<>\u3000-\u9fff]|[!?](?=\w))+")
_NAME = re.compile(r"[^\W\d_A-Z]*[A-Z][\w'’&.+!?-]*|[^\W_]*(?:_/?|/)\w[\w./-]*|\w+\.\w[\w.]*")
_GENITIVE = re.compile(r"['’]s$")
_SUBJECT = re.compile(  # "Tom Kent has left" begins with a name, "Open Excel and save" with a verb
    rf"(?!(?i:{_DATA['tells_about']})\b)[^\W\d_a-z][\w'’-]+(?: [^\W\d_a-z][\w'’.-]+)+ (?:{_DATA['predicates']})\b"
)
_DATE_PART = re.compile(rf"\d|(?:{_MONTH}|{_WEEKDAY})\b", re.IGNORECASE)
_LEADS_TO_DAY = re.compile(rf"(?:{_DATA['leads_to_day']})\Z|{_DATE_PART.pattern}", re.IGNORECASE)
_NO_NAMES = frozenset(_DATA["no_names"].split())
_PRODUCTS = frozenset(_DATA["products"].split())

# ---- words ----

_NUMBER_WORDS: dict[str, str] = _DATA["number_words"]
_WORD = re.compile(r"<\w{1,64}>|[^\W_]{1,64}(?:['’][A-Za-z]{1,8})?")
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"  # Thai to Chinese
_PIECES = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_POLITE = re.compile(rf"(?:(?:{_DATA['polite']}|[,.!?;:-])(?:\s+|(?=[,.!?:])))+", re.IGNORECASE)
_ENDINGS = [  # suffix, what stays in its place, how many letters must come before
    *[("sses", "ss", 2), ("ies", "y", 2), ("ied", "y", 2), ("ifications", "ify", 2), ("ification", "ify", 2)],
    *[("ations", "", 4), ("ation", "", 4), ("ctions", "ct", 2), ("ction", "ct", 2), ("ings", "", 3), ("ing", "", 3)],
    *[("edly", "", 3), ("ed", "", 3), ("ally", "al", 3), ("ly", "", 4), ("ements", "", 4), ("ement", "", 4)],
    *[("ments", "", 5), ("ment", "", 5), ("xes", "x", 2), ("ches", "ch", 2), ("shes", "sh", 2)],
    *[("ss", "ss", 1), ("us", "us", 1), ("is", "is", 1), ("s", "", 3)],
]
_KEEPS_E = frozenset("note here done none come care theme paste plane more".split())  # else "not", "her", "them", …

# ---- clauses ----

_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|[。！？；]|\n|:\s*$")
_ASKS = re.compile(rf"(?:.{{0,80}},\s*)?(?:{_DATA['asks']})\b", re.IGNORECASE)
_ASKS_INSIDE = re.compile(rf"(?:^|[\s,])(?:(?:{_DATA['asks']})\s+)+(?:me\s+)?(?:to\s+)?", re.IGNORECASE)
_WISH = re.compile(r"\s*(?:i|we)\b", re.IGNORECASE)
_TELLS_ABOUT = re.compile(rf"(?:{_DATA['tells_about']})\b", re.IGNORECASE)
_FRAME = re.compile(rf"(?:{_DATA['frame']})\b", re.IGNORECASE)
_BEHIND_THE_ASK = re.compile(_DATA["behind_the_ask"], re.IGNORECASE)
_STEPS = re.compile(r"(?:[\n:;.,]|^)[^\S\n]{0,20}(?:1[.)]|[-*•])\s")  # a list begins: it tells how, not what
_EMPTY_WORDS = frozenset(
    "this that it me thes thos do task job work problem with to for in on the a i you pleas can follow step".split()
)

_READABLE = {"text": "text", "url": "address", "email": "email address", "path": "file"}
_LIST = re.compile(r"(<\w{1,40}>)(?:\s{0,4}(?:(?:, and|, or|,|and|or|&)\s{0,4})?\1)+")


class Value(NamedTuple):
    """A value of a request: its kind, the value without quotes, and where it stands (quotes included)."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Request:
    """What somebody asks for, parsed. Make it with `Request.parse`.

    `words` are stems in order, politeness at the start left out; `kinds` says of each what kind of value it is, or "".
    `asked` are the first and last place (exclusive) in `words` of the clause that asks.
    """

    text: str
    application: str | None = None
    words: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()
    asks: str = ""
    asked: tuple[int, int] = (0, 0)

    @classmethod
    def parse(cls, text: str, application: str | None = None) -> Request:
        """Parse a request; answers about the last few short ones are kept (see `forget`)."""
        return _parse(text, application) if len(text) > _KEPT_LENGTH else _parse_kept(text, application)

    def within(self, application: str | None) -> Request:
        """The same text for another application, whose name is no value there: parsed again where it says a word of
        either name."""
        text, names = self.text.lower(), _words_of(self.application) | _words_of(application)
        if any(word in text for word in names):
            return Request.parse(self.text, application)
        return replace(self, application=application)

    @cached_property
    def template(self) -> str:
        """The request with its values as `[kind]`: "Send an email to [name] about [text]"."""
        return _replaced(self.text, self.values, lambda value: f"[{value.kind}]")

    @cached_property
    def masked(self) -> str:
        """In lower case, values as `<kind>`: the same for all runs of a procedure, however long a list."""
        values = () if all(self.kinds) else self.values  # a request of nothing but values is its own procedure
        marked = _replaced(self.text[:LONGEST], values, lambda value: f"<{value.kind}>".replace("path", "file"))
        return _LIST.sub(r"\1", " ".join(without_politeness(marked.lower()).split()).rstrip(" .!?;:。！？"))

    @cached_property
    def masked_words(self) -> tuple[str, ...]:
        """The words with each value as the mark of its kind, a value of several words as one mark."""
        found: list[str] = []
        for word, kind in zip(self.words, self.kinds, strict=True):
            mark = f"<{kind}>" if kind else word
            if not kind or found[-1:] != [mark]:
                found.append(mark)
        return tuple(found)

    @cached_property
    def safe(self) -> str:
        """In lower case, marked values as plain words: "go to slide number". Names stay, for capitals prove nothing."""
        marked = [value for value in self.values if value.kind != "name"]
        told = _replaced(self.text[:LONGEST], marked, lambda value: f" {_READABLE.get(value.kind, value.kind)} ")
        return " ".join(without_politeness(told.lower()).split())

    def to_json(self) -> dict[str, Any]:
        """What an index keeps; `from_json` makes the same request of it without parsing."""
        return {
            "text": self.text,
            "application": self.application,
            "words": " ".join(self.words),
            "kinds": {str(place): kind for place, kind in enumerate(self.kinds) if kind},
            "values": self.values,
            "asks": self.asks,
            "asked": self.asked,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Request:
        """The request that `to_json` was called on.

        Raises:
            DataError: something is missing or of another type.
        """
        try:
            words = tuple(data["words"].split())
            kinds = tuple(data["kinds"].get(str(place), "") for place in range(len(words)))
            values = tuple(Value(*value) for value in data["values"])
            first, last = data["asked"]
            return cls(data["text"], data["application"], words, kinds, values, data["asks"], (first, last))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise DataError(f"not a parsed request: {error!r}", field="request", code="E_REQUEST") from error


_KEPT_LENGTH = 2_048  # characters; a cache of longer ones would not be bounded in bytes


def _parse(text: str, application: str | None) -> Request:
    head = text[:LONGEST]
    values = _values(head, application)
    start = _behind_politeness(head)
    tokens = [token for token in _tokens(head, values) if token[2] >= start]
    first, last = _asking(_replaced(head, values, lambda value: "v" * (value.end - value.start)), head)
    inside = [place for place, (_, _, at) in enumerate(tokens) if first <= at < last]
    asked = (inside[0], inside[-1] + 1) if inside else (0, len(tokens))
    words, kinds = tuple(word for word, _, _ in tokens), tuple(kind for _, kind, _ in tokens)
    return Request(text, application, words, kinds, values, head[first:last].strip(" ,"), asked)


_parse_kept = lru_cache(maxsize=1_024)(_parse)


_forgetting: list[Callable[[], object]] = []


def on_forgetting(clear: Callable[[], object]) -> None:
    """Have `clear` called by `forget`: for a cache of what users wrote that is kept elsewhere."""
    _forgetting.append(clear)


def forget() -> None:
    """Empty the caches of texts: after a purge nothing of a user's words is kept in memory."""
    for clear in (_parse_kept.cache_clear, stem.cache_clear, *_forgetting):
        clear()


# ---- values ----


def _values(text: str, application: str | None) -> tuple[Value, ...]:
    """The values of a text from left to right: what marks itself, and between that the names."""
    found: list[Value] = []
    end = 0
    names = _Names(text, application)
    for match in _VALUE.finditer(text):
        if match.lastgroup == "date" and match[0].isalpha() and match[0].istitle() and names.takes(*match.span()):
            continue
        found += names.between(end, match.start())
        found.append(_value(match))
        end = match.end()
    return tuple(_whole_words(text, [*found, *names.between(end, len(text))]))


def _whole_words(text: str, values: Sequence[Value]) -> list[Value]:
    """The values, none a part of a word: where other letters or digits belong to it ("web%2025", "A4-2"), the word is
    the value. Of "2-column" the number is, and a range has two."""
    found: list[Value] = []
    covered = {at for value in values for at in range(value.start, value.end)}
    for value in values:
        if found and value.start < found[-1].end:
            continue
        if value.kind in _IN_WORDS and (word := _word_around(text, value)) != (value.start, value.end):
            names = sum(word[0] <= one.start and one.end <= word[1] and one.kind == "name" for one in values)
            rest = [at for at in range(*word) if at not in covered and text[at].isalnum()]
            if (rest or names) and not _COUNTED.fullmatch(text[slice(*word)]):
                while found and found[-1].start >= word[0]:
                    found.pop()
                value = Value("name", text[slice(*word)], *word)
        found.append(value)
    return found


def _word_around(text: str, value: Value) -> tuple[int, int]:
    """Where the word begins and ends in which a value stands, without the punctuation around it."""
    before = _WORD_BEFORE.search(text, max(0, value.start - _LONGEST_WORD), value.start)
    after = _WORD_BEHIND.match(text, value.end, value.end + _LONGEST_WORD)
    tail = _GENITIVE.sub("", after[0].rstrip(_AROUND_WORDS)) if after else ""
    head = before[0].lstrip(_AROUND_WORDS) if before else ""
    return value.start - len(head), value.end + len(tail)


def _value(match: re.Match[str]) -> Value:
    kind, whole = match.lastgroup or "text", match.group()
    bare = whole.strip(_QUOTES) if kind == "text" else whole
    if kind == "mark":
        kind = whole[1:-1].split(" ")[0]
    elif kind == "text":
        kind = next((inner for inner, pattern in _IN_QUOTES.items() if pattern.fullmatch(bare)), kind)
    return Value(_KIND_OF.get(kind, kind), bare, match.start(), match.end())


def _words_of(application: str | None) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W_]+", (application or "").lower()))


class _Names:
    """The names of a text: capitals, but not of products, of the application, and of a verb that begins a sentence."""

    def __init__(self, text: str, application: str | None) -> None:
        self._text = text
        self._ordinary = _PRODUCTS | _words_of(application)
        letters = re.findall(r"[^\W\d_]+", text)[1:]
        self._telling = len(letters) <= _ALL_CAPITALS or any(word.islower() for word in letters)
        self._taken: set[int] = set()

    def takes(self, start: int, end: int) -> bool:
        """True for a month or a day of the week that is part of a name: right beside a name, beside no other part of a
        date, and not led to as a day is ("on Friday Tom Kent calls")."""
        head, tail = self._text[max(0, start - _LONGEST_WORD) : start], self._text[end : end + _LONGEST_WORD]
        if _LEADS_TO_DAY.match("".join(head.split()[-1:])) or _DATE_PART.match(tail.lstrip(" -–/")):
            return False
        around = [*self.between(start - len(head), start), *self.between(end, end + len(tail))]
        if any(self._text[one.end : start].isspace() or self._text[end : one.start].isspace() for one in around):
            self._taken.add(start)
        return start in self._taken

    def between(self, start: int, end: int) -> list[Value]:
        """The names in one stretch without other values. Neighbouring words are one name."""
        found: list[Value] = []
        pieces = _PIECE.finditer(self._text, start, end) if self._telling else ()
        for match in pieces:
            core = _GENITIVE.sub("", match.group().rstrip(".'’…"))
            if match.start() not in self._taken and not self._is_name(core, match.start()):
                continue
            first, last = match.start(), match.start() + len(core)
            if found and self._text[found[-1].end : first].isspace():
                first = found.pop().start
            found.append(Value("name", self._text[first:last], first, last))
        return found

    def _is_name(self, core: str, at: int) -> bool:
        if not _NAME.fullmatch(core) or core.lower().replace("’", "'") in _NO_NAMES or core.lower() in self._ordinary:
            return False
        ordinary_word = core.isalpha() and not (core.isupper() and len(core) > 1)  # "Open", but not "GIMP"
        return not ordinary_word or not self._begins_sentence(at) or _SUBJECT.match(self._text, at) is not None

    def _begins_sentence(self, at: int) -> bool:
        gap = at
        while gap and (self._text[gap - 1].isspace() or self._text[gap - 1] in "-•*(\"“‘'"):
            gap -= 1
        return gap == 0 or self._text[gap - 1] in ".!?:;。！？：；" or "\n" in self._text[gap:at]


def find_whole(value: str, text: str, start: int = 0) -> int:
    """Where a value stands in a text, not inside a longer word, from `start` on; -1 where it does not, or is empty."""
    at = text.find(value, start) if value else -1
    while at >= 0:
        end = at + len(value)
        if not (at and _joins(text[at - 1], value[0])) and not (end < len(text) and _joins(value[-1], text[end])):
            return at
        at = text.find(value, at + 1)
    return -1


def holds(text: str, value: str) -> bool:
    """True where a value stands in a text, in any case and not inside a longer word."""
    return find_whole(value.casefold(), text.casefold()) >= 0


def _joins(left: str, right: str) -> bool:
    """True for two characters of one word; those of scripts without blanks are words of their own."""
    return all((c.isalnum() or c == "_") and not ("\u3040" <= c <= "\u9fff") for c in (left, right))


def _replaced(text: str, values: Sequence[Value], name: Callable[[Value], str]) -> str:
    pieces: list[str] = []
    end = 0
    for value in values:
        pieces += [text[end : value.start], name(value)]
        end = value.end
    return "".join([*pieces, text[end:]])


# ---- words ----


def words(text: str) -> list[str]:
    """Stems in order; of Chinese, Japanese and Thai each pair of characters.

    >>> words("Sorted the e-mails"), words("打开设置")
    (['sort', 'the', 'e', 'mail'], ['打开', '开设', '设置'])
    """
    return [stem(part) for match in _WORD.finditer(text) for part in _parts(match.group().lower().replace("’", "'"))]


def _tokens(text: str, values: Sequence[Value]) -> Iterator[tuple[str, str, int]]:
    """Each stem with its kind of value and its place in the text; number words as numbers."""
    end = 0
    for value in values:
        yield from _tokens_between(text, end, value.start, "")
        yield from _tokens_between(text, value.start, value.end, value.kind)
        end = value.end
    yield from _tokens_between(text, end, len(text), "")


def _tokens_between(text: str, start: int, end: int, kind: str) -> Iterator[tuple[str, str, int]]:
    for match in _WORD.finditer(text, start, end):
        word = match.group().lower().replace("’", "'")
        if not kind and word in _NUMBER_WORDS:
            yield _NUMBER_WORDS[word], "number", match.start()
            continue
        for part in _parts(word):
            yield stem(part), kind, match.start()


def _parts(word: str) -> list[str]:
    """Pairs of neighbours of scripts without blanks, whole words of others."""
    if word.isascii():
        return [word]
    found: list[str] = []
    for piece in _PIECES.findall(word):
        unspaced = len(piece) > 1 and re.match(f"[{UNSPACED}]", piece)
        found += ["".join(pair) for pair in pairwise(piece)] if unspaced else [piece]
    return found


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """A light stemmer (plural, -ed, -ing, -ly, -ment, -ation); when in doubt it keeps words apart."""
    word = word.removesuffix("'s")
    if word[:1] == "<" or len(word) < 4:
        return word
    word = _without_ending(word)
    if len(word) > 3 and word.endswith(("e", "y")) and word not in _KEEPS_E:
        word = word[:-1] + ("i" if word[-1] == "y" else "")
    if len(word) > 5 and word.endswith("ll"):
        word = word[:-1]
    if len(word) > 5 and word.endswith("iz"):  # one spelling for both sides of the sea
        word = word[:-1] + "s"
    elif len(word) > 4 and word.endswith("our"):
        word = word[:-3] + "or"
    return word.removesuffix("at") if len(word) > 6 else word


def _without_ending(word: str) -> str:
    for suffix, kept, least in _ENDINGS:
        if word.endswith(suffix) and len(word) - len(suffix) >= least:
            word = word[: len(word) - len(suffix)] + kept
            doubled = suffix in ("ing", "ings", "ed") and word[-1] == word[-2] and word[-1] not in "aeiousl"
            return word[:-1] if doubled else word
    return word


def without_politeness(text: str) -> str:
    """A text without the politeness at its start ("Could you please"); whole where little else would be left."""
    return text[_behind_politeness(text) :]


def _behind_politeness(text: str) -> int:
    match = _POLITE.match(text)
    return match.end() if match and len(text) - match.end() > _LEAST_BEHIND_POLITE else 0


# ---- the clause that asks ----


def _asking(text: str, whole: str) -> tuple[int, int]:
    """Where the clause stands that says what to do: the first that is worded as a demand, else the first that tells
    what to do and is no frame ("save it as …"), else the whole text. Behind the sentence that leads to a list of steps
    none is looked for. `text` has values blanked out, lest a sentence end in one; `whole` has not."""
    steps = _STEPS.search(whole)
    best, span = -1, (0, len(text))
    ends = [(match.start(), match.end()) for match in _SENTENCE_END.finditer(text)]
    for (_, start), (end, _) in pairwise([(0, 0), *ends, (len(text), len(text))]):
        if steps and start >= steps.start() and best >= 0:
            break
        inner = _core_of(text, start, end)
        if not says_something(text[inner[0] : inner[1]]):
            continue
        rank = _rank(text[start:end].lstrip(), text[inner[0] : inner[1]])
        if rank > best:
            best, span = rank, inner
    return span


def says_something(text: str) -> bool:
    """True for a text with at least two words beyond "please help me to do this task"."""
    return len([word for word in words(text) if word not in _EMPTY_WORDS]) >= _LEAST_IN_CLAUSE


def _rank(sentence: str, core: str) -> int:
    """How much a sentence looks like the one that asks."""
    if _FRAME.match(core):
        return 1
    if _ASKS.match(sentence) or _ask_inside(sentence, 0, len(sentence)):
        return 3
    return 0 if _TELLS_ABOUT.match(sentence) else 2


def _ask_inside(text: str, start: int, end: int) -> re.Match[str] | None:
    """The demand in a sentence. What somebody is to be told is none: "Reply to Jonas saying we need another week"."""
    for match in _ASKS_INSIDE.finditer(text, start, end):
        before = text[start : match.start()].strip()
        if not before or match[0][0] == "," or not _WISH.match(match[0]) or _TELLS_ABOUT.match(before):
            return match
    return None


def _core_of(text: str, start: int, end: int) -> tuple[int, int]:
    """A sentence without what stands before its demand, its politeness and the frame behind it; where the demand is
    empty ("to close the books, please follow these steps"), what stands before it."""
    asked = _ask_inside(text, start, end)
    if asked and says_something(text[asked.end() : end]):
        start = asked.end()
    elif asked and says_something(text[start : asked.start()]):
        end = asked.start()
    while start < end and text[start].isspace():
        start += 1
    polite = _POLITE.match(text, start, end)
    if polite and end - polite.end() > _LEAST_BEHIND_POLITE:
        start = polite.end()
    behind = _BEHIND_THE_ASK.search(text, start + _LEAST_BEHIND_POLITE, end)
    return start, behind.start() if behind and says_something(text[start : behind.start()]) else end


# ---- applications and tokens ----


@lru_cache(maxsize=1_024)
def application_key(name: str | None) -> str:
    """The form in which names of applications are compared; empty when there is none.

    >>> application_key("OUTLOOK.EXE") == application_key("Microsoft Outlook") == application_key("olk.exe")
    True
    """
    key = unicodedata.normalize("NFC", name or "").strip().casefold()
    key = key.removesuffix(".exe").removeprefix("microsoft ")
    return str(_DATA["process_names"].get(key, key))


def process_names(name: str | None) -> list[str]:
    """The names of processes that are the same application, without their ending."""
    return [process for process, key in _DATA["process_names"].items() if key == application_key(name)]


def estimate_tokens(text: str) -> int:
    """Tokens of `text` without a tokenizer, estimated high: a third of its UTF-8 bytes, digits and escapes dearer.

    On blocks of English and Chinese records this is 1.07 to 1.4 times what OpenAI's cl100k and o200k encodings
    count. Texts of nothing but emoji, numbers or single letters may be under-estimated: pass a real counter then.
    """
    weight = len(text.encode("utf-8", "surrogatepass")) + sum(map(text.count, "0123456789")) + 2 * text.count("\\")
    return math.ceil(weight / 3)
