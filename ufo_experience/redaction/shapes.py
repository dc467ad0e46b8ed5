"""Secrets nobody has a rule for: tokens that look like one by their characters, or stand where one is named.

Two questions are asked of a token: does it look generated (long, letters and digits in no order of words), and does
it look chosen (letters with digits or signs that no word has) while a word near it speaks of a password, in one of
forty languages. Everything here is linear: a token is looked at once, a named place has a window of fixed length.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import chain, islice, pairwise

from ufo_experience.redaction.checksums import is_generated, is_stand_in
from ufo_experience.redaction.credential_slots import HINTED as _PLACED
from ufo_experience.redaction.credential_slots import find_slots_of_credentials
from ufo_experience.redaction.hints import Searched, hinted, hints_of
from ufo_experience.redaction.spoken import (
    ANSWERS as _ANSWERS,
)
from ufo_experience.redaction.spoken import (
    CODE_HINTS,
    HINTED,
    NUMBER_HINTS,
    PHRASE_HINTS,
    STRONG_HINTS,
    WEAK_HINTS,
    Found,
    find_spoken,
)
from ufo_experience.redaction.spoken import (
    CODES as _CODES,
)
from ufo_experience.redaction.spoken import (
    IN_WORD as _IN_WORD,
)
from ufo_experience.redaction.spoken import (
    KNOWN as _KNOWN,
)
from ufo_experience.redaction.spoken import (
    NUMBERS as _NUMBERS,
)
from ufo_experience.redaction.spoken import (
    PHRASES as _PHRASES,
)
from ufo_experience.redaction.spoken import (
    STRONG as _STRONG,
)
from ufo_experience.redaction.spoken import (
    WEAK as _WEAK,
)
from ufo_experience.text import lazy_re as re

WINDOW = 64  # characters after a word that names a secret, up to the end of its line
_PIECES = 7  # tokens looked at in a window
_LEAST = 6
_LONGEST = 160  # of a key; longer runs are data


_STRONG_NAME = re.compile(
    rf"(?i){_IN_WORD}(?:{_STRONG})(?![^\W\d_])|(?i:парол|лозинк|סיסמ|גישה)\w*|密码|密碼|口令|パスワード|"
    rf"暗証番号|비밀번호|암호|รหัสผ่าน"
)
_GOES_ON = re.compile(  # PASSWORD_MIN_LENGTH=12: the last word of a name says what it is
    r"(?i)(?:[_-][a-z]{1,16}){0,3}[_-](?:length|len|min|max|policy|age|days|count|size|attempts?|expiry|expires|timeout"
    r"|ttl|enabled|required|type|format|field|label|hint|reset|url|path|file)[\"']?\s?[:=]"
)
_WEAK_NAME = re.compile(rf"(?i){_IN_WORD}(?:{_WEAK})(?!\w)")
_CODE_NAME = re.compile(rf"(?i){_IN_WORD}(?:{_CODES})(?!\w)")
_PHRASE_NAME = re.compile(rf"(?i){_IN_WORD}(?:{_PHRASES})(?!\w)[^:=\n]{{0,40}}[:=]\s*")
_NUMBER_NAME = re.compile(rf"(?i){_IN_WORD}(?:{_NUMBERS})(?!\w)[^\d\n]{{0,12}}?(?P<v>\d[\d -]{{1,12}}\d)(?!\w|[.,]\d)")
_ANSWER_NAME = re.compile(rf"(?i){_IN_WORD}(?:{_ANSWERS})(?!\w)[^:=\n]{{0,40}}[:=]\s*(?P<v>[^\s,;.][^\n,;.]{{1,40}})")
_ASSIGNED = re.compile(  # a name that ends in a word for a secret, and what it is set to
    r"(?i)(?<![A-Za-z0-9])[A-Za-z][\w.-]{0,40}?[_.-](?:pass|pw|pwd|passwd|password|secret|token|apikey|api_key|"
    r"key)[\"']?"
    r"\s{0,2}(?:[:=]|\s)\s{0,2}[\"']?(?P<v>[^\s\"'<>]{6,80})"
)
_TAGGED = re.compile(r"(?i)<(?P<n>pass\w{0,12}|pwd|secret|token|apikey)>(?P<v>[^<\n]{3,80})<")
_OPTION = re.compile(
    r"(?i)\b(?:mysql|mariadb|mysqldump|mongo|psql|7z|unzip|pscp|plink|"
    r"sshpass)\b[^\n]{0,120}?\s-[pP](?P<v>[^\s-][^\s]{3,60})"
)
_COOKIE = re.compile(
    r"(?i)(?<![\w-])[\w.-]{0,24}(?:sess\w{0,8}|sid|auth\w{0,8}|token|jwt|"
    r"csrf\w{0,8})\s?=\s?(?P<v>[^\s;,\"']{16,400})"
)
_USED_AS = re.compile(
    rf"(?i)(?:as|for|into|in|to|als|comme|como|come|som|jako|как|w|til|till) (?:the |my |your |its |mein |"
    rf"mon )?(?:\w{{1,16}} ){{0,2}}?"
    rf"(?:{_STRONG})(?!\w)"
)
_NAMES_CODE = re.compile(
    r"(?i)(?<!\w)(?P<v>[A-Z]{1,3}-\d{4,8}|\d{3}[- ]\d{3}|\d{4,8})(?!\w)(?: is|:)? (?:your|is your|as your|"
    r"ist ihr) [\w ]{0,24}code"
)
_SERIAL_KEY = re.compile(r"(?<![\w-])(?:[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}|\d{6}(?:-\d{6}){7})(?![\w-])")
_GROUPS = re.compile(r"(?<![\w-])[A-Za-z0-9]{4}(?:-[A-Za-z0-9]{2,5}){2,6}(?![\w-])")  # vouchers, recovery codes
_PAIR = re.compile(r"(?<![\w./:-])([a-z0-9]{4,6})-([a-z0-9]{4,6})(?![\w-]|[./]\w)")
_FIGURE_INSIDE = re.compile(r"\d[a-z]")
_DIGITS = re.compile(r"(?<![\w.,#-])(?:\d{6}|\d{3}[ -]\d{3})(?!\w|[.,-]\d)")
_ASKED_FOR = re.compile(  # a line that speaks of a code to get in
    r"(?i)\b(?:codes?|digits|sign(?:ing)? in|log(?:ging)? in|pass\w*|text message|sms|lock screen|unlock\w*|"
    r"pin|verif\w*|authenticat\w*)\b"
)
_OTHER_CODE = re.compile(
    r"(?i)\b(?:area|postal|post|zip|country|error|product|colou?r|promo|order|invoice|article|status|bar|"
    r"qr)[ -]?code"
)
_DOCUMENT = re.compile(
    r"(?i)\b(?:passport|id card|identity card|driving licen[cs]e|driver'?s licen[cs]e|national id|tax id|"
    r"ausweis\w*|reisepass\w*|passeport"
    r"|pasaporte|passaporto)\b[^\n]{0,32}?(?<![\w-])(?P<v>(?=[A-Z0-9]{0,10}\d)[A-Z0-9]{7,12})(?!\w)"
)
_TOTP = re.compile(r"(?<![\w-])(?:[A-Za-z2-7]{4}[ -]){3,15}[A-Za-z2-7]{4}(?![\w-])")
_SHORT_WORDS = re.compile(r"(?<!\w)(?:(?:\d{1,2}[.)] ?)?[a-z]{3,8}(?:[ ,]{1,2}|$)){11,24}")
_OF_PROSE = frozenset(  # a dozen words of a text hold one of these, those of a wallet none
    "the and for with from that this are was were been has have had not you your our their its they them can "
    "will into onto"
    " then than when where which who what how all any but out off over under about after before each other more".split()
)
_CODE = re.compile(r"(?<![\w-])(?:[A-Za-z0-9]{4,8}(?:[- ][A-Za-z0-9]{4,8}){1,7}|\d{4,8}#?|[A-Za-z0-9]{8,16})(?![\w-])")
_TOKEN = re.compile(r"[^\s\"'`“”‘’<>«»|,;]{6,400}")
_PART = re.compile(r"[^=:/\\,;()\[\]{}]+")
_LONG = re.compile(r"[A-Za-z0-9_+~%-]{20,400}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_DIGEST = re.compile(
    r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}"
)  # of contents, and ids of ours; too common to be secrets
_CHECKSUM = re.compile(
    r"(?i)sha-?\d|md5|checksum|hash|commit|digest|etag|integrity|revision|fingerprint|prüfsumme|blob|tree|"
    r"object"
)
_IDENTIFIED = re.compile(  # the id of a request, or a document within an address
    r"(?i)(?:request|trace|span|correlation|job|run|build|event|message|device|document|row|object|order)[-_ ]?id"
    r"[\"']?\s?[:=]?\s?[\"']?$|[\w-]\.[a-z]{2,12}/(?:[a-z]{1,16}/){0,2}(?:d|e|document|file|folders?"
    r"|spreadsheets|v|watch|p|id)/$"
)
_NAME_OF_A_THING = re.compile(  # "Nord-Dark-2", "Team_Docs_22", "Plan_Q3", "1Password"
    r"[A-Z][a-z]+(?:-[A-Z][a-z]+)+-\d|\d{1,2}[A-Z][a-z]+"
    r"|[A-Za-z]{2,24}(?:_(?:[A-Za-z]{2,24}|v\d{1,3}|[QqHh]\d|(?:19|20)\d\d|\d{2})){1,5}"
)
_SIGN = frozenset("!#$%^&*~+=?@§|")
_LEAST_WALLET = 11 * len("abc ") - 1  # characters of the shortest run of words of a wallet

_STRONG_NAMES = hinted(_STRONG_NAME, STRONG_HINTS)
_WEAK_NAMES = hinted(_WEAK_NAME, WEAK_HINTS)
_USES = hinted(_USED_AS, STRONG_HINTS)
_CODE_NAMES = hinted(_CODE_NAME, CODE_HINTS)
_PHRASE_NAMES = hinted(_PHRASE_NAME, PHRASE_HINTS)
_FORMS = (
    (hinted(_ASSIGNED, "pass pw secret token key"), "password"),
    (hinted(_TAGGED, "<pass <pwd <secret <token <apikey"), "password"),
    (hinted(_OPTION, "mysql mariadb mongo psql 7z unzip pscp plink sshpass"), "password"),
    (hinted(_COOKIE, "sess sid auth token jwt csrf"), "token"),
    (hinted(_NUMBER_NAME, NUMBER_HINTS, digit=True), "code"),
    (hinted(_ANSWER_NAME, "question answer maiden sicherheitsfrage"), "password"),
    (hinted(_NAMES_CODE, "code", digit=True), "code"),
    (hinted(_DOCUMENT, "passport,id card,identity card,licen,national id,tax id,ausweis,reisepass,passeport,pasaporte,"
            "passaporto", digit=True), "document number"),
)  # fmt: skip
_SERIAL_KEYS = hinted(_SERIAL_KEY, "-")
_GROUPED = hinted(_GROUPS, "-", digit=True)  # groups count that mix letters and digits
_PAIRS = hinted(_PAIR, "-")
_TRIPLES = hinted(re.compile(r"(?<![\w./-])[A-Za-z0-9]{3}(?:-[A-Za-z0-9]{3}){2,5}(?![\w-])"), "-")
_SIX_DIGITS = hinted(_DIGITS, digit=True)
_IN_FOURS = hinted(_TOTP, digit=True)
_RUNS = hinted(_LONG, digit=True)  # what looks generated has digits
_HINTS = hints_of((
    *HINTED, *_PLACED, _PAIRS, _TRIPLES, *(one for one, _ in _FORMS),
    _STRONG_NAMES, _WEAK_NAMES, _USES, _CODE_NAMES, _PHRASE_NAMES, _SERIAL_KEYS,
))  # fmt: skip


def find_shapes(text: str) -> Iterator[Found]:
    """Every place in `text` that holds a secret by shape or by the words around it."""
    plain, places = _visible(text)
    one = Searched(plain, _HINTS)
    for found in chain(
        _generated(one),
        _chosen(plain),
        _named(one),
        _fixed(one),
        _grouped(one),
        _codes(one),
        find_spoken(one),
        find_slots_of_credentials(one),
    ):
        yield Found(places[found.start], places[found.end - 1] + 1, found.kind)


def _visible(text: str) -> tuple[str, list[int] | range]:
    """The text without characters that cannot be seen, and where each of its characters stood."""
    if text.isascii():
        return text, range(len(text))
    places = [place for place, c in enumerate(text) if unicodedata.category(c) != "Cf"]
    return "".join(text[place] for place in places), places


def _generated(searched: Searched) -> Iterator[Found]:
    """Long tokens in no order of words; checksums, GUIDs and names of files are none."""
    for match in searched.matches(_RUNS):
        token = match[0].strip("-_+~%")
        if (
            len(token) > _LONGEST
            or not is_generated(token)
            or _UUID.search(token)
            or _DIGEST.fullmatch(token)
            or not _is_mixed(token)
        ):
            continue
        text, before = searched.text, max(0, match.start() - 40)
        if _CHECKSUM.search(text, before, match.start()) or _IDENTIFIED.search(text, before, match.start()):
            continue
        yield Found(match.start(), match.end(), "token")


def _is_mixed(token: str) -> bool:
    """True where digits stand among letters all along, as in a key, and not in a word or two of a name."""
    words = re.split(r"[-_+~%]", token)
    longest = max(words, key=len)
    digits = sum(c.isdigit() for c in longest)
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(longest))
    return len(longest) >= 16 and digits >= 3 and changes >= 4


def _chosen(text: str) -> Iterator[Found]:
    """Words that only a password is made of: small and capital letters, digits and a sign inside, wherever "
    "they stand."""
    for match in _TOKEN.finditer(text):
        token = match[0].rstrip(".:!?)]}").lstrip("([{")
        if token.isalpha():  # such a word has neither a digit nor a sign
            continue
        start = match.start() + match[0].find(token) if token else match.start()
        if len(token) <= 40 and not is_stand_in(token) and (_is_strong(token) or _is_coined(token)):
            if text[start + len(token) :][:1] == "," and text[start + len(token) + 1 :][:1].isdigit():
                continue  # a model: "MacBookPro18,3"
            yield Found(start, start + len(token), "password")


def _is_strong(token: str) -> bool:
    signs = [place for place, c in enumerate(token) if c in _SIGN]
    if not signs or _KNOWN.fullmatch(token) or any(c in "/\\:()[]{}=<>," for c in token):
        return False
    inner = [place for place in signs if 0 < place < len(token) - 1]
    lower, upper = any(c.islower() for c in token), any(c.isupper() for c in token)
    return bool(inner) and lower and upper and any(c.isdigit() for c in token) and "@" not in token


def _is_coined(token: str) -> bool:
    """True for words put together with a number as no name is: `mintVelvet88`, `Oyster_Bell_5`, `Qu1lt.Stone`."""
    if not 8 <= len(token) <= 32 or _KNOWN.fullmatch(token) or any(c in "/\\:()[]{}=<>,@" for c in token):
        return False
    if re.search(r"\.[a-z]{3,4}$", token) or _NAME_OF_A_THING.fullmatch(token):
        return False
    if any(c in _SIGN for c in token[1:-1]) and re.search(r"[a-zà-ÿ]{2}[A-ZÀ-Þ][a-zà-ÿ]", token):
        return True
    digits = "".join(c if c.isdigit() else " " for c in token).split()
    if len(digits) != 1 or len(digits[0]) > 4 or (len(digits[0]) == 4 and digits[0][:2] in ("19", "20")):
        return False
    if re.fullmatch(r"[A-Za-zÀ-ÿ]?[a-zà-ÿ]{8,}\d{2,4}", token):
        return True
    humps = len(
        re.findall(r"[a-zà-ÿ][A-ZÀ-Þ]|\d[A-ZÀ-Þ][a-zà-ÿ]|[a-zà-ÿ][._&-][A-ZÀ-Þ]|[A-ZÀ-Þ][a-zà-ÿ]\d[a-zà-ÿ]", token)
    )
    return humps > 0 and sum(c.islower() for c in token) >= 5


def _named(searched: Searched) -> Iterator[Found]:
    text = searched.text
    for names, doubt in ((_STRONG_NAMES, False), (_WEAK_NAMES, True)):
        for match in searched.matches(names):
            if not _GOES_ON.match(text, match.end()):
                yield from _after(text, match.end(), doubt)
    for match in searched.matches(_USES):
        yield from _before(text, match.start())
    for match in searched.matches(_CODE_NAMES):
        for code in _CODE.finditer(text, match.end(), _line_end(text, match.end(), 2 * WINDOW)):
            if any(c.isdigit() for c in code[0]) or code[0].isupper():
                yield Found(code.start(), code.end(), "code")
    for match in searched.matches(_PHRASE_NAMES):
        end = _line_end(text, match.end(), 4 * WINDOW)
        if len(text[match.end() : end].split()) >= 2:
            yield Found(match.end(), end, "password")


def _after(text: str, start: int, doubt: bool) -> Iterator[Found]:
    """What looks like a password in the window behind a word that names one."""
    end = _line_end(text, start, WINDOW)
    for token in islice(re.finditer(r"\S+", text[start:end]), _PIECES):
        yield from _parts(text, start + token.start(), start + token.end(), doubt)


def _before(text: str, end: int) -> Iterator[Found]:
    """The last words before "… as my password"."""
    start = max(text.rfind("\n", 0, end) + 1, end - WINDOW)
    for token in list(re.finditer(r"\S+", text[start:end]))[-3:]:
        yield from _parts(text, start + token.start(), start + token.end(), False)


def _parts(text: str, start: int, end: int, doubt: bool) -> Iterator[Found]:
    """The parts of a token between separators that look like a password."""
    if _KNOWN.fullmatch(text[start:end].strip(".,;:!?\"'()")):
        return
    whole = text[start:end].strip("\"'“”‘’`<>,;.?!").removesuffix(")")
    if _looks_chosen(whole, doubt) and not any(c in ":=/\\" for c in whole):
        place = text.find(whole, start)
        yield Found(place, place + len(whole), "password")
        return
    for part in _PART.finditer(text, start, end):
        token = part[0].strip("\"'“”‘’`<>.?!…")
        if _looks_chosen(token, doubt):
            place = text.find(token, part.start())
            yield Found(place, place + len(token), "password")


def _looks_chosen(token: str, doubt: bool) -> bool:
    """True for letters with digits or with a sign that no word has."""
    if len(token) < _LEAST or is_stand_in(token) or _KNOWN.fullmatch(token) or token.endswith("()") or "{{" in token:
        return False
    if _STRONG_NAME.search(token) and not any(c.isdigit() for c in token):
        return False
    lower, upper, digit = (any(map(test, token)) for test in (str.islower, str.isupper, str.isdigit))
    signs = sum(c in _SIGN for c in token[1:])
    inner_upper = any(c.isupper() for c in token[1:]) and lower
    if doubt:
        if _NAME_OF_A_THING.fullmatch(token):
            return False
        return (lower and digit and (upper or signs > 0 or len(token) >= 9)) or (lower and upper and signs > 0)
    if token[0].isupper() and lower and "_" in token[1:-1]:
        return True
    return (lower and digit) or ((lower or upper) and signs > 0) or (inner_upper and any(c in "._-" for c in token))


def _fixed(searched: Searched) -> Iterator[Found]:
    """Places of a fixed form: options of programs, cookies, answers, numbers of a card's kind, product keys."""
    for form, kind in _FORMS:
        for match in searched.matches(form):
            value = match["v"]
            if not is_stand_in(value) and any(c.isalnum() for c in value) and "{{" not in value:
                yield Found(match.start("v"), match.end("v"), kind)
    for match in searched.matches(_SERIAL_KEYS):
        yield Found(match.start(), match.end(), "key")


def _grouped(searched: Searched) -> Iterator[Found]:
    """Groups of letters and digits in which both are mixed: vouchers, recovery codes."""
    for match in searched.matches(_GROUPED):
        groups = match[0].split("-")
        mixed = sum(any(map(str.isdigit, one)) and any(map(str.isalpha, one)) for one in groups)
        if mixed >= 2 and not _UUID.search(match[0]):
            yield Found(match.start(), match.end(), "code")
    for match in searched.matches(_TRIPLES):
        mixed = sum(any(map(str.isdigit, one)) and any(map(str.isalpha, one)) for one in match[0].split("-"))
        if mixed >= 2 and any(map(str.islower, match[0])) and any(map(str.isupper, match[0])):
            yield Found(match.start(), match.end(), "code")
    for match in searched.matches(_PAIRS):
        if all(_FIGURE_INSIDE.search(group) for group in match.groups()):
            yield Found(match.start(), match.end(), "code")


def _codes(searched: Searched) -> Iterator[Found]:
    """One-time codes where a line asks for one, and the words of a wallet."""
    text = searched.text
    for match in searched.matches(_SIX_DIGITS):
        start, end = max(0, match.start() - WINDOW), min(len(text), match.end() + WINDOW)
        around = text[start:end]
        if re.search(r"[\d+)][ -]?$", text[start : match.start()]):
            continue  # the end of a longer number
        if _ASKED_FOR.search(around) and not _OTHER_CODE.search(around):
            yield Found(match.start(), match.end(), "code")
    for match in searched.matches(_IN_FOURS):
        groups = re.findall(r"\w{4}", match[0])
        if sum(any(map(str.isdigit, one)) and any(map(str.isalpha, one)) for one in groups) >= 2:
            yield Found(match.start(), match.end(), "code")
    for match in _SHORT_WORDS.finditer(text) if len(text) >= _LEAST_WALLET else ():
        yield from _wallet(list(re.finditer(r"[a-z]{3,8}", match[0])), match.start())


def _wallet(words: list[re.Match[str]], start: int) -> Iterator[Found]:
    """Runs of eleven words or more among which none is of prose and none comes again."""
    run: list[re.Match[str]] = []
    for word in [*words, None]:
        if word is not None and word[0] not in _OF_PROSE:
            run.append(word)
            continue
        if len(run) >= 11 and len({one[0] for one in run}) > len(run) - 2:
            yield Found(start + run[0].start(), start + run[-1].end(), "recovery phrase")
        run = []


def _line_end(text: str, start: int, limit: int) -> int:
    """The offset of the end of the line, at most `limit` characters on."""
    stop = text.find("\n", start, start + limit)
    return stop if stop >= 0 else min(len(text), start + limit)
