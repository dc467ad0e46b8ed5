"""Secrets in running text: by their shape, or because a word introduces them.

A word such as "password" or "code" introduces what stands near it. How near it must stand depends on the word and on
how much the candidate looks chosen: each section of words in `secrets.txt` says what it takes, and how near.

    the login is mintVelvet88     said, and words put together
    PIN for the door: 4471        a number in the sentence of a PIN
    password has 8 characters     nothing looks chosen

`secrets.txt` holds every shape and every word. Every pattern is bounded: the time is linear in the text.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, groupby
from pathlib import Path
from typing import NamedTuple

from ufo_experience.redact import tokens
from ufo_experience.request import on_forgetting

WINDOW = 96  # characters around a word that introduces a secret, within its line
FAR, SAME_LINE, SAME_SENTENCE, NEXT, SAID = range(5)  # how near a candidate stands
_NEARNESS = {"line": SAME_LINE, "sentence": SAME_SENTENCE, "next": NEXT, "said": SAID}
_REMEMBERED, _LONGEST_REMEMBERED = 1_024, 1_000  # texts, and their characters: labels and tasks come again and again
_LONGEST_KEY = 160  # longer runs are data
_LEAST_WORDS = 3  # of a password that is made of words
_WALLET = 11  # words of the shortest phrase that brings back a wallet
_AROUND = "\"'“”„‘’«»「」『』`<>.?…()[]{}:"

_RUN = re.compile(r"[A-Za-z0-9_+~%-]{16,400}")
_TOKEN = re.compile(r"[^\s\"'`“”‘’<>«»|,;]{8,400}")
_SHORT_WORDS = re.compile(r"(?<!\w)(?:(?:\d{1,2}[.)] ?)?[a-z]{3,8}(?: {1,2}|$|\b)){11,40}")
_KNOWN_ID = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}")
_NAMED_ID = re.compile(  # an id, a checksum or a document within an address
    r"(?i)(?:sha-?\d|md5|checksum|hash|commit|digest|etag|revision|fingerprint|prüfsumme"
    r"|[-_ ]id)[\"']?\s?[:=]?\s?[\"']?$"
    r"|[\w-]\.[a-z]{2,12}/(?:[a-z]{1,16}/){0,2}(?:d|e|document|file|folders?|spreadsheets|v|watch|p|id)/$"
)
_WORD = re.compile('[^\\s,;、。，；：="<>\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{4,80}')
_ASSIGNED = re.compile(  # the rest of a name, then its value: `_PASSWORD = "…"`, `Token": "…"`, `--auth-key …`
    r"[\w.-]{0,24}\\?[\"'\]]{0,2}(?P<sign>\s{0,3}(?:=>|:=|=(?!=)|:|>(?=[^<\n]{3,80}</))\s{0,3}|\s)\\?"
    r"(?:\"(?P<a>[^\"\n\\]{3,400})|'(?P<b>[^'\n\\]{3,400})|(?P<c>[^\s\"'<>,;{}\[\]&]{3,400}))"
)
_GOES_ON = re.compile(
    r"(?i)(?:[_-][a-z]{1,16}){0,3}[_-](?:length|min|max|policy|age|days|count|size|attempts?|expiry|expires"
    r"|timeout|enabled|required|type|format|field|label|hint|reset|url|path|file)[\"']?\s?[:=]"
)
_PLAIN = re.compile(r"[^\"“„«「『‘'=<>{}()]{0,40}$")
_OPTION = re.compile(r"(?<!\S)[-/][\w-]{0,38}$")
_DIGIT = re.compile(r"\d")
_SENTENCE_ENDS = re.compile(r"[.!?]\s|[。！？\n]")
_ENDS_CLAUSE = re.compile(r"[\"'”’»)]{0,2}[ \t]{0,2}(?:[.,;!)](?!\w)|$|(?:and|then|und|dann|et|puis|y|e|an|ein)\b)")
_LETTERS = re.compile(r"[^\W\d_]*")
_SPACELESS = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # nothing tells where a word begins


class Finding(NamedTuple):
    """A place in a text: a secret of a kind, a word of a section, or a candidate that looks chosen in some way."""

    start: int
    end: int
    kind: str


class _Data:
    """The shapes and words of `secrets.txt`."""

    def __init__(self) -> None:
        sections: dict[str, list[str]] = {}
        for line in Path(__file__).with_name("secrets.txt").read_text("utf-8").splitlines():
            if line.startswith("["):
                lines = sections.setdefault(line.strip("[]"), [])
            elif line.startswith(" "):  # goes on
                lines[-1] += line.strip(" ")
            elif line and not line.startswith("#"):
                lines.append(line)
        shapes = [[part.strip() for part in line.split("|", 2)] for line in sections.pop("shapes")]
        self.shapes = [(kind, tokens.CHECKS[check], re.compile(pattern)) for kind, check, pattern in shapes]
        candidates = [[part.strip() for part in line.split("|", 1)] for line in sections.pop("candidates")]
        self.candidates = [(kind, re.compile(pattern)) for kind, pattern in candidates]
        self.takes: dict[str, dict[str, int]] = {}  # section → kind of candidate → how near it must stand
        for name, lines in sections.items():
            if lines[0].startswith("takes:"):  # `takes: mixed line, cited sentence`
                pairs = (one.split() for one in lines.pop(0).removeprefix("takes:").split(","))
                self.takes[name] = {kind: _NEARNESS[near] for kind, near in pairs}
        words = {name: [w.strip() for w in ",".join(lines).split(",") if w.strip()] for name, lines in sections.items()}
        self.other, self.prose = frozenset(words.pop("other")), frozenset(words.pop("prose"))
        self.described = tuple(words.pop("described"))
        is_, as_, for_, numbers = ([*words.pop(name)] for name in ("is", "as", "for", "digits"))
        self.nouns: list[tuple[str, str, bool, bool]] = []  # word, section, may begin and may end inside a word
        for section, listed in words.items():
            for word in listed:
                begins, ends = (is_spaceless(word) or word[at] == "*" for at in (0, -1))
                self.nouns.append((word.strip("*"), section, begins, ends))
        spoken = "|".join(map(re.escape, filter(str.isascii, is_)))
        signs = "|".join([*(word for word in is_ if not word.isascii()), "[:=→»–—]", "[-=]>", "(?<=\\s)-"])
        # What says that now it comes ("is", a colon), what may stand before that ("for the printer"), what asks for it
        # right away ("with the password X"), what stands behind a secret ("X as the password"), and spelled digits.
        self.said = re.compile(rf"(?i)(?:\b(?:{spoken})\b|{signs}):?[ \t]{{0,3}}[\"'“„«「『‘\[(<]{{0,2}}$")
        self.only = re.compile(rf"(?i)[\"'”’»]?[ \t]{{0,2}}(?:(?:{'|'.join(for_)}|{spoken}) [^\n.!?:=]{{1,48}})?$")
        self.asked = re.compile(rf"(?i)\b(?:{spoken}|and|und|et|e|y) (?:[^\W\d_]{{1,4}} )?$")
        self.named = re.compile(rf"(?i)^[\"'”’»)\].]{{0,2}} (?:{'|'.join(as_)}|–|-|=|:) (?:[^\s\d]{{1,12}} ){{0,3}}$")
        digit = "|".join(numbers)
        self.digits = re.compile(rf"(?i)\b(?:(?:{digit})[ ,-]{{1,2}}){{2,9}}(?:{digit})\b")


@cache
def data() -> _Data:
    """Read when it is first needed."""
    return _Data()


def find_secrets(text: str) -> list[Finding]:
    """Every secret in `text`, in order, none overlapping another."""
    return list(_remembered(text) if len(text) <= _LONGEST_REMEMBERED else _found(text))


def find_shapes(text: str) -> list[Finding]:
    """Secrets of a fixed shape alone: for data of which a record is made, which then passes the gate whole."""
    return _apart(_shapes(text))


def _found(text: str) -> tuple[Finding, ...]:
    plain, places = text, list(range(len(text)))
    if not text.isascii():  # without characters that cannot be seen
        places = [place for place in places if unicodedata.category(text[place]) != "Cf"]
        plain = "".join(text[place] for place in places)
    found = _apart(chain(_shapes(plain), _generated(plain), _strong(plain), _wallets(plain), _introduced(plain)))
    return tuple(Finding(places[start], places[end - 1] + 1, kind) for start, end, kind in found)


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


# ---- by themselves ----


def _shapes(text: str) -> Iterator[Finding]:
    for kind, accepts, pattern in data().shapes:
        for match in pattern.finditer(text):
            start, end = match.span(match.lastgroup or 0)
            if accepts(text[start:end]):
                yield Finding(start, end, kind)


def _generated(text: str) -> Iterator[Finding]:
    """What looks made by a machine."""
    for match in _RUN.finditer(text):
        token = match[0].strip("-_+~%")
        known = len(token) > _LONGEST_KEY or _KNOWN_ID.fullmatch(token)
        named = _NAMED_ID.search(text, max(0, match.start() - 40), match.start())
        if not known and not named and tokens.is_generated(token):
            yield Finding(match.start(), match.end(), "token")


def _strong(text: str) -> Iterator[Finding]:
    """Words that only a password is made of, also behind a name: `admin:…`, `admin/…`."""
    for match in _TOKEN.finditer(text):
        token = match[0].rstrip(".:!?)]}").lstrip("([{")
        end = match.start() + match[0].find(token) + len(token)
        token = re.sub(r"^\w{1,24}[:/](?!/)", "", token)
        if not token.isalpha() and tokens.is_strong(token) and not re.match(r",\d", text[end:]):
            yield Finding(end - len(token), end, "password")


def _wallets(text: str) -> Iterator[Finding]:
    """Many short words that are no sentence bring back a wallet."""
    for match in _SHORT_WORDS.finditer(text) if len(text) >= 4 * _WALLET else ():
        words = list(re.finditer(r"[a-z]{3,8}", match[0]))
        for of_prose, run in groupby(words, lambda word: word[0] in data().prose):
            group = list(run)
            if not of_prose and len(group) >= _WALLET and len({word[0] for word in group}) > len(group) - 2:
                yield Finding(match.start() + group[0].start(), match.start() + group[-1].end(), "recovery phrase")


# ---- introduced by a word ----


def _introduced(text: str) -> Iterator[Finding]:
    nouns = list(_nouns(text))
    candidates = sorted(_candidates(text)) if nouns else []
    for noun in nouns:
        before = re.search(r"([^\W\d_]{1,16})[ _-]?$", text[max(0, noun.start - 17) : noun.start])
        behind = re.match(r"[ _-]?([^\W\d_]{1,16})(?!\w)", text[noun.end : noun.end + 18])
        other = any(one[1].casefold() in data().other for one in (before, behind) if one)  # "error code", "primary key"
        if other or _GOES_ON.match(text, noun.end):
            continue
        yield from _assigned(text, noun)
        if noun.kind in data().takes:
            yield from _near(text, noun, candidates)
    yield from _columns(text, nouns)


def _nouns(text: str) -> Iterator[Finding]:
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
                rest = _LETTERS.match(text, end) if inner_end and not is_spaceless(word) else None
                yield Finding(place, rest.end() if rest else end, section)
            place = small.find(word, end)


def _goes_on(letter: str) -> bool:
    return letter.isalpha() and not is_spaceless(letter)


def is_spaceless(word: str) -> bool:
    return _SPACELESS.search(word) is not None


def _assigned(text: str, noun: Finding) -> Iterator[Finding]:
    """The value of a setting or an option that is called so: any where it must be a secret, else what looks chosen."""
    match = _ASSIGNED.match(text, noun.end)
    if match is None:
        return
    named, quoted = noun.kind in ("password", "named"), match["c"] is None
    is_option = _OPTION.search(text, max(0, noun.start - 40), noun.start) is not None
    if match["sign"].isspace() and not (named and quoted) and not is_option:
        return
    start, end = match.span(match.lastgroup or 0)
    value = text[start:end].rstrip(".:")
    sure = named and (quoted or "=" in match["sign"] or ">" in match["sign"])
    chosen = tokens.is_random(value) or (named and tokens.is_told(value))
    if (sure or chosen) and not tokens.is_stand_in(value) and "{{" not in value:
        yield Finding(start, start + len(value), "token" if noun.kind == "setting" else "password")


def _candidates(text: str) -> Iterator[Finding]:
    """All that may be a secret where a word says so."""
    for match in _WORD.finditer(text):
        word = match[0].strip(_AROUND)
        bare = word.rstrip("*") if word[:-1].isalpha() else word  # without the star of a field that must be filled in
        start = match.start() + match[0].find(word)
        if not word or "://" in word:
            continue
        for kind, holds in (("mixed", tokens.is_mixed), ("told", tokens.is_told), ("numbered", tokens.is_given)):
            if holds(bare):
                yield Finding(start, start + len(word), kind)
        if tokens.is_lone(bare, data().described) and _ENDS_CLAUSE.match(text, start + len(word)):
            yield Finding(start, start + len(word), "lone")
    for kind, pattern in (*data().candidates, ("number", data().digits)):
        for match in pattern.finditer(text):
            if kind != "groups" or _DIGIT.search(match[0]):
                yield Finding(match.start(), match.end(), kind)


def _near(text: str, noun: Finding, candidates: Sequence[Finding]) -> Iterator[Finding]:
    """The candidates that stand as near to a word as they must."""
    first = bisect_left(candidates, noun.start - WINDOW, key=lambda one: one.start)
    for one in candidates[first:]:
        if one.start > noun.end + WINDOW:
            break
        least = data().takes[noun.kind].get(one.kind)
        if least is None or _nearness(text, noun, one) < least:
            continue
        words = text[one.start : one.end].casefold().split()
        if one.kind == "words" and noun.kind != "phrase" and len(words) < _LEAST_WORDS:
            continue
        many = one.kind == "words" or (one.kind == "cited" and noun.kind == "phrase")
        if not many or data().prose.isdisjoint(words):
            yield Finding(one.start, one.end, "code" if one.kind in ("number", "groups", "lettered") else "password")


def _nearness(text: str, noun: Finding, one: Finding) -> int:
    if one.end <= noun.start:
        told = one.kind in ("told", "cited") if noun.kind == "password" else one.kind == "number"
        return SAID if told and data().named.search(text[one.end : noun.start]) else FAR
    between = text[noun.end : one.start]
    if one.start < noun.end or "{{" in between or between.count("\n") > 1:
        return FAR
    if "\n" in between:
        return FAR if between.strip(" \t\n:[") else SAME_LINE  # a name, and its value below
    if one.kind == "cited" and not _PLAIN.match(between[:-1]):
        return SAME_LINE
    said = data().said.search(between)
    if one.kind in ("lone", "words") and said and not data().only.match(between[: said.start()]):
        return SAME_LINE  # "the password policy is strict"
    if said:
        return SAID
    if not between.strip(" \t\"'“„«「『‘[(" + (",;" if one.kind == "number" else "")):
        return SAID if data().asked.search(text[: noun.start]) else NEXT
    return SAME_LINE if _SENTENCE_ENDS.search(between) else SAME_SENTENCE


def _columns(text: str, nouns: Sequence[Finding]) -> Iterator[Finding]:
    """What stands in a table under the name of a password or a code."""
    head, _, rest = text.partition("\n")
    mark = next((one for one in ("\t", ";", "|", ",") if one in head), "")
    heads = {head.count(mark, 0, one.start) for one in nouns if one.end <= len(head) and one.kind != "lock"}
    start = len(head) + 1
    for line in rest.split("\n") if mark and heads else ():
        cells = line.split(mark)
        for column, cell in enumerate(cells if len(cells) == head.count(mark) + 1 else ()):
            if column in heads and len(value := cell.strip()) >= 4 and not tokens.is_stand_in(value):
                place = start + len(mark.join(cells[:column])) + (column > 0) + cell.find(value)
                yield Finding(place, place + len(value), "password")
        start += len(line) + 1
