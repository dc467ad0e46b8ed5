"""Secrets in running text: by their shape, by where they stand, or because a word introduces them.

`secrets.txt` holds every shape and every word; this module holds the rules. A word such as "password" or "code"
introduces what stands near it in its line; the weaker the word, the more must be said ("is", a colon, quotes) and the
more the candidate must look chosen (`tokens.py`). Every pattern is bounded: the time is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, groupby, islice
from pathlib import Path
from typing import NamedTuple

from ufo_experience.redact import tokens
from ufo_experience.request import on_forgetting

WINDOW = 96  # characters around a word that introduces a secret, within its line
_REMEMBERED, _LONGEST_REMEMBERED = 1_024, 1_000  # texts, and their characters: labels and tasks come again and again
_LONGEST_KEY = 160  # longer runs are data

_RUN = re.compile(r"[A-Za-z0-9_+~%-]{20,400}")
_TOKEN = re.compile(r"[^\s\"'`“”‘’<>«»|,;]{8,400}")
_WALLET = 11  # words of the shortest phrase that brings back a wallet
_SHORT_WORDS = re.compile(r"(?<!\w)(?:(?:\d{1,2}[.)] ?)?[a-z]{3,8}(?: {1,2}|$|\b)){11,40}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_DIGEST = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}")  # of contents: too common
_NAMED_ID = re.compile(  # an id, a checksum or a document within an address
    r"(?i)(?:sha-?\d|md5|checksum|hash|commit|digest|etag|revision|fingerprint|prüfsumme"
    r"|[-_ ]id)[\"']?\s?[:=]?\s?[\"']?$"
    r"|[\w-]\.[a-z]{2,12}/(?:[a-z]{1,16}/){0,2}(?:d|e|document|file|folders?|spreadsheets|v|watch|p|id)/$"
)
_OTHER_NUMBER = re.compile(
    r"(?i)\b(?:invoice|order|tracking|ticket|serial|isbn|imei|ean|upc|barcode|sku|part|case|receipt|shipment"
    r"|reference"
    r"|ref|po|timestamp|transaction|batch|article|parcel|rechnung|bestellung)\b(?:[ _-]?(?:number|no|nr|id"
    r"|code))?\W{0,6}$"
)
_AROUND = "\"'“”„‘’«»「」『』`<>.?…()[]{}:"


class Finding(NamedTuple):
    """A secret in a text: its place and what kind it is."""

    start: int
    end: int
    kind: str


class _Rule(NamedTuple):
    """What a word introduces: what stands between, the candidate, and what it must look like."""

    between: re.Pattern[str]
    candidate: re.Pattern[str]
    is_word: bool  # the candidate may be in quotes and brackets
    accepts: Callable[[str], bool]
    kind: str
    most: int  # candidates looked at
    before: bool  # the candidate stands in front of the word


_Checks = dict[str, Callable[[str], bool]]


class _Data(NamedTuple):
    """What `secrets.txt` holds."""

    shapes: tuple[tuple[str, Callable[[str], bool], re.Pattern[str]], ...]
    nouns: tuple[tuple[str, str, bool, bool], ...]  # word, section, may begin and may end inside a word
    rules: dict[str, list[_Rule]]  # by section
    other: frozenset[str]
    prose: frozenset[str]
    said: tuple[str, ...]


@cache
def data() -> _Data:
    """Shapes, words and rules, read when they are first needed."""
    sections: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("secrets.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            lines = sections.setdefault(line.strip("[]"), [])
        elif line.strip() and not line.startswith("#"):
            lines.append(line)
    shapes, parts, rules = (sections.pop(name) for name in ("shapes", "parts", "rules"))
    words = {name: [w.strip() for w in ",".join(lines).split(",") if w.strip()] for name, lines in sections.items()}
    other, prose, said = (words.pop(name) for name in ("other", "prose", "said"))
    nouns = [
        (word.strip("*"), name, word.startswith("*") or _is_spaceless(word), word.endswith("*") or _is_spaceless(word))
        for name, listed in words.items()
        for word in listed
    ]
    checks = tokens.CHECKS | {"lone": _is_lone, "phrase": _is_phrase}
    split = [tuple(part.strip() for part in line.split("|", 2)) for line in shapes]
    return _Data(
        tuple((kind, checks[check], re.compile(pattern)) for kind, check, pattern in split),
        tuple(nouns),
        _rules(parts, rules, checks),
        frozenset(other),
        frozenset(prose),
        tuple(said),
    )


def _rules(parts: Sequence[str], rules: Sequence[str], checks: _Checks) -> dict[str, list[_Rule]]:
    spelled = {name.strip(): pattern.removeprefix(" ") for name, _, pattern in (line.partition("|") for line in parts)}
    compiled = {name: re.compile(pattern.replace("{is}", spelled["is"])) for name, pattern in spelled.items()}
    found: dict[str, list[_Rule]] = {}
    for line in rules:
        sections, between, candidate, check, kind, most, *before = (part.strip() for part in line.split("|"))
        rule = _Rule(
            compiled[between], compiled[candidate], candidate == "word", checks[check], kind, int(most), bool(before)
        )
        for section in sections.split():
            found.setdefault(section, []).append(rule)
    return found


def find_secrets(text: str) -> list[Finding]:
    """Every secret in `text`, in order, none overlapping another."""
    return list(_remembered(text) if len(text) <= _LONGEST_REMEMBERED else _found(text))


def find_shapes(text: str) -> list[Finding]:
    """Secrets of a fixed shape alone: for data of which a record is made, which then passes the gate whole."""
    return _apart(_shapes(text))


def _found(text: str) -> tuple[Finding, ...]:
    plain, places = _visible(text)
    found = _apart(chain(_shapes(plain), _tokens(plain), _introduced(plain)))
    return tuple(Finding(places[one.start], places[one.end - 1] + 1, one.kind) for one in found)


def _apart(found: Iterable[Finding]) -> list[Finding]:
    """Findings in order, those that overlap made one."""
    kept: list[Finding] = []
    for start, end, kind in sorted(found, key=lambda f: (f.start, -f.end)):
        if not kept or start >= kept[-1].end:
            kept.append(Finding(start, end, kind))
        elif end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=end)
    return kept


_remembered = lru_cache(_REMEMBERED)(_found)
on_forgetting(_remembered.cache_clear)


def _visible(text: str) -> tuple[str, list[int] | range]:
    """The text without characters that cannot be seen, and where each of its characters stood."""
    if text.isascii():
        return text, range(len(text))
    places = [place for place, c in enumerate(text) if unicodedata.category(c) != "Cf"]
    return "".join(text[place] for place in places), places


def _shapes(text: str) -> Iterator[Finding]:
    for kind, accepts, pattern in data().shapes:
        for match in pattern.finditer(text):
            group = match.lastgroup or 0
            start, end = match.span(group)
            numbered = kind in ("card", "ssn") and _OTHER_NUMBER.search(text, max(0, start - 40), start)
            if accepts(text[start:end]) and not numbered:
                yield Finding(start, end, kind)


def _tokens(text: str) -> Iterator[Finding]:
    """What looks made by a machine, and words that only a password is made of."""
    for match in _RUN.finditer(text):
        token = match[0].strip("-_+~%")
        known = len(token) > _LONGEST_KEY or _UUID.search(token) or _DIGEST.fullmatch(token)
        if (
            not known
            and tokens.is_generated(token)
            and not _NAMED_ID.search(text, max(0, match.start() - 40), match.start())
        ):
            yield Finding(match.start(), match.end(), "token")
    for match in _TOKEN.finditer(text):
        token = match[0].rstrip(".:!?)]}").lstrip("([{")
        end = match.start() + match[0].find(token) + len(token)
        if not token.isalpha() and tokens.is_strong(token) and not re.match(r",\d", text[end:]):
            yield Finding(end - len(token), end, "password")

    for match in _SHORT_WORDS.finditer(text) if len(text) >= 4 * _WALLET else ():
        words = list(re.finditer(r"[a-z]{3,8}", match[0]))
        for of_prose, run in groupby(words, lambda word: word[0] in data().prose):
            group = list(run)
            if not of_prose and len(group) >= _WALLET and len({word[0] for word in group}) > len(group) - 2:
                yield Finding(match.start() + group[0].start(), match.start() + group[-1].end(), "recovery phrase")


def _is_lone(word: str) -> bool:
    return tokens.is_lone(word, data().said)


def _is_phrase(words: str) -> bool:
    return data().prose.isdisjoint(words.casefold().split())


def _introduced(text: str) -> Iterator[Finding]:
    found = list(_nouns(text))
    followed = {(start, section) for start, _, section in found}
    for start, end, section in found:
        if (end, section) in followed:  # the same kind of word once more: that one introduces what comes
            continue
        weak = section in ("lock", "key") and text[end : end + 1] == "_"  # the first word of a longer name
        if not weak and not _GOES_ON.match(text, end) and not _is_of_something_else(text, start, end, section):
            for rule in data().rules[section]:
                yield from _near(text, start, end, rule)


_GOES_ON = re.compile(
    r"(?i)(?:[_-][a-z]{1,16}){0,3}[_-](?:length|min|max|policy|age|days|count|size|attempts?|expiry|expires"
    r"|timeout|enabled|required|type|format|field|label|hint|reset|url|path|file)[\"']?\s?[:=]"
)
_LETTERS = re.compile(r"[^\W\d_]*")


def _nouns(text: str) -> Iterator[tuple[int, int, str]]:
    """Where a word of a section stands. A hyphen and an underscore are read as blanks."""
    small = text.lower()
    if len(small) != len(text):  # a letter whose small one is two: "İ"
        small = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    small = small.replace("-", " ").replace("_", " ")
    for word, section, inner_start, inner_end in data().nouns:
        place = small.find(word)
        while place >= 0:
            end = place + len(word)
            begins = inner_start or not _goes_on(small[place - 1 : place])
            if begins and (inner_end or not _goes_on(small[end : end + 1])):
                yield place, _LETTERS.match(text, end).end() if inner_end and not _is_spaceless(word) else end, section  # type: ignore[union-attr]
            place = small.find(word, end)


def _goes_on(letter: str) -> bool:
    return letter.isalpha() and not _is_spaceless(letter)


def _is_spaceless(word: str) -> bool:
    """True for scripts in which nothing tells where a word begins."""
    return re.search("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", word) is not None


def _is_of_something_else(text: str, start: int, end: int, section: str) -> bool:
    """True for "error code", "code postal", "primary key"."""
    if section == "phrase" or "pas" in text[start:end].lower():
        return False
    before = re.search(r"([^\W\d_]{1,16})[ _-]?$", text[max(0, start - 17) : start])
    behind = re.match(r"[ _-]?([^\W\d_]{1,16})", text[end : end + 17])
    return any(one is not None and one[1].casefold() in data().other for one in (before, behind))


def _near(text: str, start: int, end: int, rule: _Rule) -> Iterator[Finding]:
    """The candidates in the window of a word that are given, and look as they must."""
    if rule.before:
        left, right = max(text.rfind("\n", 0, start) + 1, start - WINDOW), start
    else:
        stop = text.find("\n", end, end + WINDOW)
        left, right = end, stop if stop >= 0 else min(len(text), end + WINDOW)
    for match in islice(rule.candidate.finditer(text, left, right), rule.most):
        word = match[0].strip(_AROUND) if rule.is_word else match[0]
        if not word or "://" in word or not rule.accepts(word):
            continue
        between = text[match.end() : start] if rule.before else text[end : match.start()]
        if "{{" not in between and rule.between.search(between):
            first = match.start() + match[0].find(word)
            yield Finding(first, first + len(word), rule.kind)
