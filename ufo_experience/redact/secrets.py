"""Secrets in running text: by their shape, by where they stand, or because a word introduces them.

`secrets.txt` holds every shape and every word; this module holds the rules. A word such as "password" or "code"
introduces what stands near it in its line; the weaker the word, the more must be said ("is", a colon, quotes) and the
more the candidate must look chosen (`tokens.py`). Every pattern is bounded: the time is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
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
_IS = (
    r"(?:\b(?:is|are|was|be|becomes|reads|it's|its|ist|lautet|lauten|sind|est|sont|c'est|es|son|era|è|é|são"
    r"|jest|to|är|er|на|это|este|היא|הוא|هي|هو|है"
    r"|auf|with|mit|avec|con|com|med|z|at|on|wants|needs|expects|hat die|steht|entsperrt|unlocks|opens at|using"
    r"|via|by|takes|says|enter|type|try|use|dial|press|now|jetzt|so|then|dann|zu|en|a)\b"
    r"(?: (?:just|simply|still|now|always|only))?:?|(?:[:=→»–—-]|(?<!\w)>)(?=\s|$)|=|は|が|为|是|改成|[。：])"
)
_OPEN = r"[\"'“„«「『‘\[(<]"


class Finding(NamedTuple):
    """A secret in a text: its place and what kind it is."""

    start: int
    end: int
    kind: str


class _Rule(NamedTuple):
    """What a word of a section introduces: what stands between, the candidate, and what it must look like."""

    sections: str
    between: re.Pattern[str]
    candidate: re.Pattern[str]
    accepts: Callable[[str], bool]
    kind: str
    most: int = 1  # candidates looked at
    before: bool = False  # the candidate stands in front of the word


class _Data(NamedTuple):
    shapes: tuple[tuple[str, Callable[[str], bool], re.Pattern[str]], ...]
    nouns: tuple[tuple[str, str, bool, bool], ...]  # word, section, may begin and may end inside a word
    other: frozenset[str]
    prose: frozenset[str]
    said: tuple[str, ...]


@cache
def data() -> _Data:
    """What `secrets.txt` holds."""
    sections: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("secrets.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            lines = sections.setdefault(line.strip("[]"), [])
        elif line.strip() and not line.startswith("#"):
            lines.append(line)
    shapes = (tuple(part.strip() for part in line.split("|", 2)) for line in sections.pop("shapes"))
    words = {name: [w.strip() for w in ",".join(lines).split(",") if w.strip()] for name, lines in sections.items()}
    other, prose, said = frozenset(words.pop("other")), frozenset(words.pop("prose")), tuple(words.pop("said"))
    nouns = [
        (word.strip("*"), name, word.startswith("*") or _is_spaceless(word), word.endswith("*") or _is_spaceless(word))
        for name, listed in words.items()
        for word in listed
    ]
    return _Data(
        tuple(
            (kind, {**tokens.CHECKS, "lone": _is_lone}[check], re.compile(pattern)) for kind, check, pattern in shapes
        ),
        tuple(nouns),
        other,
        prose,
        said,
    )


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


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _is_no_year(text: str) -> bool:
    return not (len(text) == 4 and text[:2] in ("19", "20"))


def _is_value(text: str) -> bool:
    return not tokens.is_stand_in(text) and "{{" not in text


def _is_lone(word: str) -> bool:
    return tokens.is_lone(word, data().said)


def _is_given(word: str) -> bool:
    """A word with a number: enough where it is said to be a password."""
    return re.fullmatch(r"[^\W\d_]{3,24}\d{1,6}", word) is not None and not tokens.is_stand_in(word)


def _is_spoken(word: str) -> bool:
    """Words put together or a mixture, but no name with a number: "Microsoft365"."""
    return tokens.is_told(word) and re.fullmatch(r"(?:_\w+|[A-Za-z]+(?:\d{1,3}|[\d.]+))", word) is None


def _is_phrase(words: str) -> bool:
    return data().prose.isdisjoint(words.casefold().split())


def _is_paper(text: str) -> bool:
    digits = sum(map(str.isdigit, text))
    return digits >= 5 or (digits >= 3 and len(text) >= 8)


_of = re.compile
_ANY, _NEXT = _of(""), _of(r"^[ \t:=：]{0,3}$")
_GIVEN = _of(rf"(?i)(?:^\W{{0,4}}|{_IS}[ \t]{{0,3}}{_OPEN}{{0,2}})$")
_SAID = _of(rf"(?i){_IS}[ \t]{{0,3}}$")
_QUOTED = _of(r"^[^\n\"“„«「『‘'=<>{}]{0,40}[\"“„«「『‘']$")
_SENTENCE = _of(r"^[^\d\n.!?。]{0,64}$|\b(?:to|now|auf|jetzt|en|a)\s$")
_IS_ONLY = _of(
    r"(?i)^(?: (?:for|of|to|on|at|für|vom|von|der|des|zum|zur|im|am|pour|de|du|del|da|do|di|per|para|van|voor"
    r"|för|till|для|от|к)"
    r" [^\n.!?:=]{1,32}?| [а-яёіїє]{3,16})?[ \t]{0,2}(?:(?:\b(?:is|ist|lautet|est|c'est|es|è|é|jest|to|är|er"
    r"|это|היא|هي|là|adalah)|[-–—])"
    r"(?: (?:just|simply|still|now|always|einfach|toujours|siempre))?:?[ \t]|[:=：]|は|是)[ \t]{0,3}$"
)
_AS = _of(
    r"(?i)^[\"'”’»)\].]{0,2} (?:(?:as|for|into|in|to|als|comme|como|come|som|jako|is|ist|est|es|è|é|är|er|–|-|="
    r"|:)[ ])"
    r"(?:(?:the|my|your|its|mein|mon|ihr|dein|votre|su|tu|das|die|der|le|la|el|il|new|old"
    r"|a) ){0,3}(?:[^\s\d]{1,16} ){0,2}$"
)
_LABELLED = _of(r"(?i)^[^\n\w]{0,4}(?:(?:is|code|no|nr|number|\d{1,2})[^\n\w]{1,3}){0,2}$")
_WORD = _of(r"[^\s,;、。，；=\"<>]{4,80}")
_LONE = _of(
    r"(?<![\w'-])[^\W\d_]{4,24}(?=[\"'”’»)]{0,2}[ \t]{0,2}(?:[.,;!)](?![^\W_])|$|\b(?:and|then|und|dann|et|puis"
    r"|y|e)\b))"
)
_CITED = _of(r"(?:(?<=[“„«「『])|(?<=[\s(:][\"'‘]))(?![ ,;.:])[^\n\"“”„«»「」『』’']{1,60}(?=[”“»」』]|[\"'’](?!\w))")
_NUMBER = _of(
    r"(?<![A-Za-z\d_.,+#-])(?<!host:)(?:[A-Z]-(?=\d{4}))?(?!\d{4}-\d\d-\d\d|(?:19"
    r"|20)\d\d(?!\d))(?:\d(?:[ -]\d){3,7}|\d{1,5}(?:[ -]\d{1,5}){1,3}(?!-\d)|\d{3,9})"
    r"[*#]?(?![A-Za-z\d_%°€$£]|[.,:/-]\d|[ ]?(?:kg|g|cm|mm|km|m|euros?|eur|usd|dollars?|pounds?|people|uhr"
    r"|min\w*|sec\w*|s|ms|x|files?|items?"
    r"|pages?|rows?|times|users?|hours?|days?|kb|mb|gb|char\w*|zeichen|digits?)(?!\w))"
)
_GROUPS = _of(
    r"(?<![\w-])(?:(?=[A-Za-z]{0,7}\d)[A-Za-z0-9]{3,8}(?: (?=[A-Za-z]{0,7}\d)[A-Za-z0-9]{2,8}){1,7}"
    r"|[A-Za-z0-9]{2,8}(?:-[A-Za-z0-9]{1,8}){1,7}|(?=[A-Z]{0,9}\d|\d{0,9}[A-Z]"
    r"|[a-z]{0,12}\d)[A-Za-z\d]{5,24})(?![\w-]|\.\d)"
)
_WORDS = _of(
    r"(?:(?<=[:=–—?>]\s)|(?<=\bis\s)|(?<=\bist\s)|(?<=\best\s)|(?<=\bes\s)|(?<=\bè\s)|(?<=\bare\s)"
    r"|(?<=\bas\s))[^\W\d_]{2,16}(?:[ -][^\W_]{1,16}){2,23}(?=[ \t]{0,2}(?:[.,;!(–—-]|$))"
)
_LETTERED = _of(r"(?=[A-Z]{0,3}\d)(?=\d{0,6}[A-Z])[A-Z\d]{5,8}(?![\w-])")
_FURTHER = _of(r"^[:=]? {0,2}(?:[A-Za-z\d-]{4,24}(?:[,;/]| and) ?){1,9}$")  # of a list
_PAPER = _of(r"[A-Z\d]{1,10}(?:[ -][A-Z\d]{1,6}){0,5}(?!\w)")
_AROUND = "\"'“”„‘’«»「」『』`<>.?…()[]{}:"

_RULES = (
    _Rule("password", _ANY, _WORD, tokens.is_mixed, "password", 7),
    _Rule("password", _AS, _WORD, tokens.is_told, "password", 99, before=True),
    _Rule("password", _AS, _CITED, _is_value, "password", 99, before=True),
    _Rule("password code", _QUOTED, _CITED, _is_value, "password"),
    _Rule("phrase", _QUOTED, _CITED, _is_phrase, "password"),
    _Rule("password", _GIVEN, _NUMBER, _is_no_year, "code"),
    _Rule("password phrase", _SAID, _WORD, _is_given, "password", 7),
    _Rule("password", _NEXT, _WORD, _is_given, "password"),
    _Rule("password", _IS_ONLY, _LONE, _is_lone, "password", 9),
    _Rule("password phrase", _SAID, _WORD, tokens.is_told, "password", 12),
    _Rule("lock key", _SAID, _WORD, _is_spoken, "password", 12),
    _Rule("lock key", _GIVEN, _WORD, tokens.is_odd, "password", 7),
    _Rule("phrase password", _SAID, _WORDS, _is_phrase, "password", 2),
    _Rule("code", _SENTENCE, _NUMBER, _is_no_year, "code", 2),
    _Rule("code", _SENTENCE, _GROUPS, _has_digit, "code", 2),
    _Rule("code lock", _AS, _NUMBER, _is_no_year, "code", 99, before=True),
    _Rule("lock", _GIVEN, _NUMBER, _is_no_year, "code", 2),
    _Rule("lock", _SAID, _LETTERED, _has_digit, "code"),
    _Rule("code key", _FURTHER, _GROUPS, _has_digit, "code", 10),
    _Rule("key", _LABELLED, _GROUPS, _has_digit, "key"),
    _Rule("key", _GIVEN, _WORD, tokens.is_key, "key", 12),
    _Rule("paper", _of(r"^[^\d\n]{0,32}$"), _PAPER, _is_paper, "document number", 2),
)

_RULES_OF = {
    name: [rule for rule in _RULES if name in rule.sections.split()]
    for name in ("password", "code", "lock", "key", "phrase", "paper")
}


def _introduced(text: str) -> Iterator[Finding]:
    found = list(_nouns(text))
    followed = {(start, section) for start, _, section in found}
    for start, end, section in found:
        if (end, section) in followed:  # the same kind of word once more: that one introduces what comes
            continue
        weak = section in ("lock", "key") and text[end : end + 1] == "_"  # the first word of a longer name
        if not weak and not _GOES_ON.match(text, end) and not _is_of_something_else(text, start, end, section):
            for rule in _RULES_OF[section]:
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
        word = match[0].strip(_AROUND) if rule.candidate is _WORD else match[0]
        if not word or "://" in word or not rule.accepts(word):
            continue
        between = text[match.end() : start] if rule.before else text[end : match.start()]
        if "{{" not in between and rule.between.search(between):
            first = match.start() + match[0].find(word)
            yield Finding(first, first + len(word), rule.kind)
