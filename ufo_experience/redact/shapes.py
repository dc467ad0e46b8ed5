"""Every place of a text that holds a secret nobody has a rule for: by its characters, by a noun, or by where it stands.

What looks generated (long, letters and digits in no order of words), what only a password is made of, groups of a code,
words of a wallet, digits said aloud; then what a noun introduces (`introduced.py`) and what stands in the place of a
credential (`credential_slots.py`). Everything here is linear: a token is looked at once, a window has a fixed length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby

from ufo_experience.redact.candidates import is_coined, is_key_anywhere, is_strong
from ufo_experience.redact.credential_slots import PLACED, find_slots_of_credentials
from ufo_experience.redact.hints import Searched, hinted, hints_of
from ufo_experience.redact.introduced import Found, find_introduced
from ufo_experience.redact.readings import digit_of, speaks_of_characters

WINDOW = 64  # characters around a number that may be a code
_LONGEST = 160  # of a key; longer runs are data
_LEAST_WALLET = 11 * len("abc ") - 1  # characters of the shortest run of words of a wallet

_ASKED_FOR = re.compile(  # a line that speaks of a code to get in
    r"(?i)\b(?:codes?|digits|sign(?:ing)? in|log(?:ging)? in|pass\w*|text message|sms|lock screen|unlock\w*|pin"
    r"|verif\w*|authenticat\w*)\b"
)
_OTHER_CODE = re.compile(
    r"(?i)\b(?:area|postal|post|zip|country|error|product|colou?r|promo|order|invoice|article|status|bar|qr"
    r"|source)[ -]?code"
)
_SHORT_WORDS = re.compile(r"(?<!\w)(?:(?:\d{1,2}[.)] ?)?[a-z]{3,8}(?:[ ,]{1,2}|$)){11,24}")
_OF_PROSE = frozenset(  # a dozen words of a text hold one of these, those of a wallet none
    "the and for with from that this are was were been has have had not you your our their its they them can will into"
    " onto then than when where which who what how all any but out off over under about after before each other more"
    .split()
)  # fmt: skip
_TOKEN = re.compile(r"[^\s\"'`“”‘’<>«»|,;]{6,400}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_DIGEST = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}")  # of contents, and ids of ours; too common
_IDENTIFIED = re.compile(  # behind a checksum's name, the id of a request, or a document within an address
    r"(?i)(?:sha-?\d|md5|checksum|hash|commit|digest|etag|integrity|revision|fingerprint|prüfsumme|blob|tree|object)"
    r"|(?:request|trace|span|correlation|job|run|build|event|message|device|document|row|order)[-_ ]?id"
    r"[\"']?\s?[:=]?\s?[\"']?$|[\w-]\.[a-z]{2,12}/(?:[a-z]{1,16}/){0,2}(?:d|e|document|file|folders?"
    r"|spreadsheets|v|watch|p|id)/$"
)
_ALOUD = re.compile(r"[^\W\d_]{2,10}(?:[ ,-]{1,2}[^\W\d_]{2,10}){3,11}")
_FIGURE_INSIDE = re.compile(r"\d[a-z]")

_RUNS = hinted(r"[A-Za-z0-9_+~%-]{20,400}", digits=1)  # what looks generated has digits
_SERIAL_KEYS = hinted(r"(?<![\w-])(?:[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}|\d{6}(?:-\d{6}){7})(?![\w-])", "-")
_GROUPED = hinted(r"(?<![\w-])[A-Za-z0-9]{4}(?:-[A-Za-z0-9]{2,5}){2,6}(?![\w-])", "-", digits=1)
_TRIPLES = hinted(r"(?<![\w./-])[A-Za-z0-9]{3}(?:-[A-Za-z0-9]{3}){2,5}(?![\w-])", "-")
_PAIRS = hinted(r"(?<![\w./:-])([a-z0-9]{4,6})-([a-z0-9]{4,6})(?![\w-]|[./]\w)", "-")
_SIX_DIGITS = hinted(r"(?<![\w.,#-])(?:\d{6}|\d{3}[ -]\d{3})(?!\w|[.,-]\d)", digits=6)
_IN_FOURS = hinted(r"(?<![\w-])(?:[A-Za-z2-7]{4}[ -]){3,15}[A-Za-z2-7]{4}(?![\w-])", digits=1)
_SPACED = hinted(r"(?<!\S)[^\W_](?:[ -][^\W_]){5,23}(?![^\s.,;!?])")
_CARDS = hinted(  # with the month it runs out: a digit of it may be wrong
    r"(?<![\w.,+#-])(?P<v>[3-6]\d{3}([ -])\d{4}\2\d{4}\2\d{4})(?![\w-]|[.,]\d)"
    r"(?=[^\n]{0,24}?(?<!\d)[01]?\d/\d\d(?!\d))",
    digits=16,
)
_KEYPAD = hinted(  # 4810 and hash
    r"(?i)(?<![\w.,*-])(?P<v>\d{3,8})(?:#(?!\w)|[ ,]{1,2}(?:(?:and|then|followed by|plus|und|dann|puis|et|y|luego|e"
    r"|poi)[ ,])?(?:the )?(?:hash|pound|star|#|asterisk|raute|stern|dièse|étoile|almohadilla|cancelletto"
    r"|(?<=then )press|(?<=then the )\w{1,10} button)(?: key|taste)?(?!\w))",
    digits=3,
)
_HINTS = hints_of((*PLACED, _PAIRS, _TRIPLES, _SERIAL_KEYS, _GROUPED))


def find_shapes(text: str) -> Iterator[Found]:
    """Every place in `text` that holds a secret by shape, by the words around it or by its place."""
    plain, places = _visible(text)
    one = Searched(plain, _HINTS)
    found = chain(
        _generated(one), _chosen(plain), _grouped(one), _codes(one), _words(one),
        find_introduced(plain), find_slots_of_credentials(one),
    )  # fmt: skip
    for start, end, kind in found:
        yield Found(places[start], places[end - 1] + 1, kind)


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
        if len(token) > _LONGEST or not is_key_anywhere(token) or _UUID.search(token) or _DIGEST.fullmatch(token):
            continue
        if not _IDENTIFIED.search(searched.text, max(0, match.start() - 40), match.start()):
            yield Found(match.start(), match.end(), "token")


def _chosen(text: str) -> Iterator[Found]:
    """Words that only a password is made of: small and capital letters, digits, a sign inside, wherever they stand."""
    for match in _TOKEN.finditer(text):
        token = match[0].rstrip(".:!?)]}").lstrip("([{")
        if token.isalpha() or len(token) > 40:  # such a word has neither a digit nor a sign
            continue
        if is_strong(token) or is_coined(token):
            start = match.start() + match[0].find(token)
            end = start + len(token)
            if not (text[end : end + 1] == "," and text[end + 1 : end + 2].isdigit()):  # a model: "MacBookPro18,3"
                yield Found(start, end, "password")


def _grouped(searched: Searched) -> Iterator[Found]:
    """Groups of letters and digits in which both are mixed: vouchers, recovery codes, product keys."""
    yield from (Found(*match.span(), "key") for match in searched.matches(_SERIAL_KEYS))
    for match in searched.matches(_GROUPED):
        if _mixed(match[0]) >= 2 and not _UUID.search(match[0]):
            yield Found(*match.span(), "code")
    for match in searched.matches(_TRIPLES):
        if _mixed(match[0]) >= 2 and any(map(str.islower, match[0])) and any(map(str.isupper, match[0])):
            yield Found(*match.span(), "code")
    for match in searched.matches(_PAIRS):
        if all(_FIGURE_INSIDE.search(group) for group in match.groups()):
            yield Found(*match.span(), "code")
    for match in searched.matches(_IN_FOURS):
        if _mixed(match[0]) >= 2:
            yield Found(*match.span(), "code")


def _mixed(groups: str) -> int:
    """How many of some groups mix letters and digits."""
    return sum(any(map(str.isdigit, one)) and any(map(str.isalpha, one)) for one in re.split("[ -]", groups))


def _codes(searched: Searched) -> Iterator[Found]:
    """Numbers that let in by what stands around them: in a line that asks for a code, before a key of a keypad."""
    text = searched.text
    for match in searched.matches(_SIX_DIGITS):
        around = text[max(0, match.start() - WINDOW) : match.end() + WINDOW]
        if re.search(r"[\d+)][ -]?$", text[max(0, match.start() - WINDOW) : match.start()]):
            continue  # the end of a longer number
        if _ASKED_FOR.search(around) and not _OTHER_CODE.search(around):
            yield Found(*match.span(), "code")
    yield from (Found(*match.span("v"), "code") for match in searched.matches(_KEYPAD))
    yield from (Found(*match.span("v"), "card") for match in searched.matches(_CARDS))
    for match in searched.matches(_SPACED):
        if any(map(str.isdigit, match[0])) and any(map(str.isalpha, match[0])):
            yield Found(*match.span(), "password")


def _words(searched: Searched) -> Iterator[Found]:
    """Digits said aloud, four or more; words of a wallet, eleven or more, none of prose and none twice."""
    text = searched.text
    for match in _ALOUD.finditer(text) if speaks_of_characters(text) else ():
        for run in _runs(re.finditer(r"[^\W\d_]+", match[0]), lambda word: bool(digit_of(word.casefold()))):
            if len(run) >= 4:
                yield Found(match.start() + run[0].start(), match.start() + run[-1].end(), "code")
    for match in _SHORT_WORDS.finditer(text) if len(text) >= _LEAST_WALLET else ():
        for run in _runs(re.finditer(r"[a-z]{3,8}", match[0]), lambda word: word not in _OF_PROSE):
            if len(run) >= 11 and len({one[0] for one in run}) > len(run) - 2:
                yield Found(match.start() + run[0].start(), match.start() + run[-1].end(), "recovery phrase")


def _runs(words: Iterable[re.Match[str]], belongs: Callable[[str], bool]) -> Iterator[list[re.Match[str]]]:
    """The runs of words that belong."""
    for is_one, run in groupby(words, lambda word: belongs(word[0])):
        if is_one:
            yield list(run)
