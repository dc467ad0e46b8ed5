"""Secrets in running text: by their shape, or because a word introduces them.

A word such as "password" or "code" introduces what stands near it. How near it must stand depends on the word and on
how much the candidate looks chosen: each section of words in `secrets.txt`, which holds every shape and every word,
says what it takes, and how near. Every pattern is bounded: the time is linear in the text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ufo_experience.redact import tokens
from ufo_experience.request import on_forgetting

WINDOW = 96  # characters around a word that introduces a secret, within its line
FAR, LINE, NEXT, SAID = range(4)  # how near a candidate stands
_NEARNESS = {"line": LINE, "next": NEXT, "said": SAID}
_AROUND = "\"'“”„‘’«»「」『』`<>.?…()[]{}:*"

_RUN = re.compile(r"[A-Za-z0-9_+~%-]{16,400}")
_TOKEN = re.compile(r"[^\s\"'`“”‘’<>«»|,;]{8,400}")
_KNOWN_ID = re.compile(  # of a commit, of a thing in a cloud (`ami-…`)
    r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[a-z]{1,8}-[0-9a-f]{17}"
)
_DOCUMENT = re.compile(  # the address of one; the id of a request
    r"(?i)[\w-]\.[a-z]{2,12}/(?:[a-z]{1,16}/){0,2}(?:d|e|document|file|folders?|spreadsheets|v|watch|p|id)/$"
    r"|[-_ ]id[\"']?\s?[:=]\s?[\"']?$"
)
_WORD = re.compile('(?:[,;](?=\\w)|[^\\s,;、。，；：="<>\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]){4,80}')
_ASSIGNED = re.compile(  # the rest of a name, then its value: `_PASSWORD = "…"`, `Token": "…"`, `--auth-key …`
    r"[\w.-]{0,24}\\?[\"'\]]{0,2}(?P<sign>\s{0,3}(?:=(?!=)|:)\s{0,3}|\s)\\?"
    r"(?:\"(?P<a>[^\"\n\\]{3,400})|'(?P<b>[^'\n\\]{3,400})|(?P<c>[^\s\"'<>,;{}\[\]&]{3,400}))"
)
_LOOKS = {"mixed": tokens.is_mixed, "told": tokens.is_told}
_PLAIN = re.compile(r"[^\"“„«「『‘'=<>{}()]{0,40}$")
_ENDS_CLAUSE = re.compile(r"[*\"'”’»)]{0,2}[ \t]{0,2}(?:[.,;!)](?!\w)|$|(?:and|then|und|dann|et|puis|y|e|an|ein)\b)")
_LETTERS = re.compile(r"[^\W\d_]*")
_LETTER = re.compile("[^\\W\\d_\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
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
            if lines[0].startswith("takes:"):  # `takes: mixed line, told next`
                pairs = (one.split() for one in lines.pop(0).removeprefix("takes:").split(","))
                self.takes[name] = {kind: _NEARNESS[near] for kind, near in pairs}
        words = {name: [w.strip() for w in ",".join(lines).split(",") if w.strip()] for name, lines in sections.items()}
        self.other, self.prose = frozenset(words.pop("other")), frozenset(words.pop("prose"))
        self.described = tuple(words.pop("described"))
        is_, as_, for_ = (words.pop(name) for name in ("is", "as", "for"))
        self.nouns: list[tuple[str, str, bool, bool]] = []  # word, section, may begin and may end inside a word
        # Many short words that are no sentence bring back a wallet.
        word = rf"(?:\d{{1,2}}[.)] ?)?(?!(?:{'|'.join(self.prose)})\b)[a-z]{{3,8}}"
        wallet = re.compile(rf"(?<!\w)(?:{word}(?: {{1,2}}|$|\b)){{11,40}}")
        self.shapes.append(("recovery phrase", tokens.CHECKS["-"], wallet))
        for section, listed in words.items():
            for word in listed:
                begins, ends = (is_spaceless(word) or word[at] == "*" for at in (0, -1))
                self.nouns.append((word.strip("*"), section, begins, ends))
        self.spoken = [noun for noun in self.nouns if noun[1] not in ("field", "login")]  # in sentences
        said = [word for word in is_ if word.isascii() and word[0].isalpha()]
        spoken = "|".join(said)
        signs = "|".join([*(word for word in is_ if word not in said), "[:=→»–—]", "[-=]>", "(?<=\\s)-"])
        # What says that now it comes ("is", a colon), what may stand before that ("for the printer"), what asks for it
        # right away ("with the password X"), and what stands behind a secret ("X as the password").
        self.said = re.compile(rf"(?i)(?:\b(?:{spoken})\b|{signs}):?[ \t]{{0,3}}[\"'“„«「『‘\[(<]{{0,2}}$")
        self.only = re.compile(rf"(?i)[\"'”’»]?[ \t]{{0,2}}(?:(?:{'|'.join(for_)}|{spoken}) [^\n.!?:=]{{1,48}})?$")
        self.asked = re.compile(rf"(?i)\b(?:{spoken}|and|und|et|e|y) (?:[^\W\d_]{{1,4}} )?$")
        self.named = re.compile(rf"(?i)^[\"'”’»)\].]{{0,2}} (?:{'|'.join(as_)}|–|-|=|:) (?:[^\s\d]{{1,12}} ){{0,3}}$")


@cache
def data() -> _Data:
    """Read when it is first needed."""
    return _Data()


@lru_cache(1_024)  # labels and tasks come again and again
def find_secrets(text: str) -> tuple[Finding, ...]:
    """Every secret in `text`, in order; those that overlap are one."""
    found = chain(_shapes(text), _generated(text), _strong(text), _introduced(text))
    kept: list[Finding] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
        elif one.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=one.end)
    return tuple(kept)


on_forgetting(find_secrets.cache_clear)


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
        known = _KNOWN_ID.fullmatch(token) or _DOCUMENT.search(text, max(0, match.start() - 40), match.start())
        if not known and tokens.is_generated(token):
            yield Finding(match.start(), match.end(), "token")


def _strong(text: str) -> Iterator[Finding]:
    """Words that only a password is made of, also behind a name: `admin:…`, `admin/…`."""
    for match in _TOKEN.finditer(text):
        token = match[0].rstrip(".:!?)]}").lstrip("([{")
        end = match.start() + match[0].find(token) + len(token)
        token = re.sub(r"^\w{1,24}[:/](?!/)", "", token)
        if tokens.is_strong(token) and not re.match(r",\d", text[end:]):
            yield Finding(end - len(token), end, "password")


def _introduced(text: str) -> Iterator[Finding]:
    nouns = list(_nouns(text))
    candidates = sorted(_candidates(text)) if nouns else []
    for noun in nouns:
        before = re.search(r"([^\W\d_]{1,16})[ _-]?$", text[max(0, noun.start - 17) : noun.start])
        behind = re.match(r"[ _-]?([^\W\d_]{1,16})(?!\w)", text[noun.end : noun.end + 18])
        if any(one[1].casefold() in data().other for one in (before, behind) if one):  # "error code", "primary key"
            continue
        yield from _assigned(text, noun)
        if noun.kind in data().takes:
            yield from _near(text, noun, candidates)


def _nouns(text: str) -> Iterator[Finding]:
    """Where a word of a section stands. A hyphen and an underscore are read as blanks."""
    small = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)  # the small "İ" is two letters
    small = small.replace("-", " ").replace("_", " ")
    for word, section, inner_start, inner_end in [noun for noun in data().spoken if noun[0] in small]:
        place = small.find(word)
        while place >= 0:
            end = place + len(word)
            begins = inner_start or not _LETTER.match(small[place - 1 : place])
            if begins and (inner_end or not _LETTER.match(small[end : end + 1])):
                rest = _LETTERS.match(text, end) if inner_end and not is_spaceless(word) else None
                yield Finding(place, rest.end() if rest else end, section)
            place = small.find(word, end)


def is_spaceless(word: str) -> bool:
    return _SPACELESS.search(word) is not None


def _assigned(text: str, noun: Finding) -> Iterator[Finding]:
    """The value of a setting that is called so: any where it must be a secret, else what looks chosen."""
    match = _ASSIGNED.match(text, noun.end)
    if match is None:
        return
    named, quoted = noun.kind in ("password", "named"), match["c"] is None
    if match["sign"].isspace() and not (named and quoted):
        return
    start, end = match.span(match.lastgroup or 0)
    value = text[start:end].rstrip(".:")
    sure = named and (quoted or "=" in match["sign"])
    chosen = tokens.is_random(value) or (named and tokens.is_told(value))
    if (sure or chosen) and not tokens.is_stand_in(value):
        yield Finding(start, start + len(value), "token" if noun.kind == "setting" else "password")


def _candidates(text: str) -> Iterator[Finding]:
    """All that may be a secret where a word says so."""
    for match in _WORD.finditer(text):
        word = match[0].strip(_AROUND)
        start = match.start() + match[0].find(word)
        for kind, holds in _LOOKS.items():
            if word and holds(word):
                yield Finding(start, start + len(word), kind)
        ends = _ENDS_CLAUSE.match(text, start + len(word))
        if ends and tokens.is_lone(word, data().described) and word.casefold() not in data().prose:
            yield Finding(start, start + len(word), "lone")
    for kind, pattern in data().candidates:
        for match in pattern.finditer(text):
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
        if one.kind != "words" or data().prose.isdisjoint(words):
            yield Finding(one.start, one.end, "code" if one.kind in ("number", "groups", "lettered") else "password")


def _nearness(text: str, noun: Finding, one: Finding) -> int:
    if one.end <= noun.start:  # "GitLens in VS Code" is none
        told = one.kind in ("told", "cited") if noun.kind == "password" else one.kind == "number"
        return SAID if told and data().named.search(text[one.end : noun.start]) else FAR
    between = text[noun.end : one.start]
    said = data().said.search(between)
    if one.start < noun.end or (one.kind == "cited" and not _PLAIN.match(between[:-1])):
        return FAR
    if one.kind in ("lone", "words") and said and not data().only.match(between[: said.start()]):
        return FAR  # "the password policy is strict"
    if "\n" in between or (not said and between.strip(" \t\"'“„«「『‘[(,;")):
        return LINE
    return SAID if said or data().asked.search(text[: noun.start]) else NEXT
