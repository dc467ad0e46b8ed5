"""Secrets of a session in whatever form they are written.

Not the forms are listed: the text is read (see `readings`), and what is encoded in it is decoded, until the secret
stands there in plain letters. What is looked for is the secret folded to letters and digits, whole or at least half of
it, forwards; whole also backwards, shifted in the alphabet, typed on another keyboard, and by its checksum.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from ufo_experience.redact.decodings import ENCODINGS, LETTERS
from ufo_experience.redact.forms import LEAST_DECODED, codes_of
from ufo_experience.redact.readings import (
    Reading,
    as_letters,
    as_written,
    character_of,
    digit_of,
    fold,
    folded,
    only_letters,
    romanised,
    speaks_of_characters,
    spelled,
    uncounted,
    unescaped,
)

LEAST = 6  # letters and digits of what is looked for by its parts
_SHORT = 4  # of a number that is looked for spelled out
_LONGEST_KEY = 128
_MOST = 500  # secrets of a session that are looked for so
_GAP = 8  # characters between two of the secret's own, at most
_PHRASE = 4  # words of a secret that is a phrase
_FEW = 3  # characters of a beginning or an end that is told as one
_SHORT_DIGEST = 8  # hexadecimal digits of a checksum that was cut short
_JOINED = 8  # letters of the words of a secret, run together
_OUTLINE = 4  # characters of an outline by which a secret is known
_PIECE = 4  # letters of a piece into which a plain word is cut
_DEPTH = 3  # encodings within encodings
_LONGEST_RUN = 8_192

_SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~§°"
_KEYBOARDS = tuple(  # where two keyboards differ, seen from a US one
    str.maketrans(here, there)
    for here, there in (
        ("yz", "zy"),
        ("qwazm", "azqw,"),
        ("qwertyuiopasdfghjklzxcvbnm", "йцукенгшщзфывапролдячсмить"),
        ("йцукенгшщзфывапролдячсмить", "qwertyuiopasdfghjklzxcvbnm"),
    )
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ø": "oe", "å": "aa"})
_HASHES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")

_DIGIT_RUN = re.compile(r"(?<!\d)\d(?:[^\w]{0,3}\d){3,11}(?![^\w\n]{0,2}\d)", re.ASCII)
_LEFT_OUT = re.compile(
    r"(?P<first>[^\s*•●…]{0,40})(?:…|\.{3,8}|[*•●]{2,40})\s?(?P<last>[^\s*•●…]{0,40}(?: \d{2,4}){0,3})"
)
_BLACK = re.compile(r"\S{4,64}")
_SIGN = re.compile(r"(?<=\w)[^\w\s](?=\w)")
_HUMPS = re.compile(r"[^\W\d_][^\W\d_A-ZÀ-Þ]+")
_TOLD_PART = re.compile(
    r"(?i)\b(?:begins?|starts?|ends?|beginn\w|endet|finit|commence|termine|empieza|termina|inizia|finisce|eindigt|börjar)"
    r" (?:with|in|on|mit|auf|par|con|en|met|med) [\"'“„«]?$"
    r"|\b(?:beginning|first|last|prefix|suffix|erste\w?|letzte\w?)\b"
    r"[^\n]{0,20}(?:letters?|characters?|digits?|figures?|zeichen|buchstaben|ziffern|[:=])[^\n\w]{0,4}$"
)
_CUT_DIGEST = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{8,31}(?![0-9A-Za-z])|(?<![0-9A-Za-z])[0-9A-F]{8,31}(?![0-9A-Za-z])")
_WORD = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"[\W_]+")


class Disguised(NamedTuple):
    """A place in a text and the secret that stands there."""

    start: int
    end: int
    secret: str


class _Key(NamedTuple):
    """A secret as it is looked for: folded, how many of its characters must stand there, and whether words may be a
    part: those of a phrase.
    """

    text: str
    secret: str
    least: int
    words: bool = False
    joined: str = ""  # the letters of a secret of several words


class Disguises:
    """What a session must not show, and where a text shows it."""

    def __init__(self) -> None:
        self._keys: dict[str, _Key] = {}
        self._grams: dict[str, list[tuple[_Key, int]]] = {}
        self._figures: dict[str, list[tuple[_Key, int]]] = {}
        self._plain: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._whole: dict[str, str] = {}
        self._coded: dict[str, str] = {}
        self._digests: dict[str, str] = {}
        self._phrases: dict[str, list[tuple[_Key, int]]] = {}
        self._outlines: dict[str, str] = {}
        self._rests: dict[str, str] = {}
        self._ends: dict[str, str] = {}

    def learn(self, texts: Iterable[str]) -> None:
        """Look everywhere for the rests of secrets of which one of these texts holds the other part."""
        if self._grams:
            for text in texts:
                self._rests.update((word, secret) for word, secret in self._wanted(text).items() if len(word) >= _SHORT)

    def add(self, secret: str, *, parts: bool = True) -> None:
        """Look for one more secret; one that is short or a plain word is looked for whole only.

        Without `parts` nothing less than all of it is looked for.
        """
        if len(self._plain) >= _MOST or secret.casefold() in self._plain or len(secret) < _SHORT:
            return
        self._plain[secret.casefold()] = secret
        key = folded(secret)[:_LONGEST_KEY]
        if _SHORT <= len(key) <= 12 and key.isdigit():
            self._numbers[key] = secret
            if parts or len(key) >= LEAST:
                self._numbers[key[::-1]] = secret
            if parts:
                self._numbers["".join(c + c for c in key)] = secret
        elif len(key) >= LEAST and not secret.isalpha():
            self._add_keys(secret, key, parts)
        elif len(key) >= _SHORT and parts:
            self._add_whole(secret, key)
        if parts:
            self._add_encoded(secret)

    def find(self, text: str) -> list[Disguised]:
        """The places of every secret in `text`, in order, none overlapping another."""
        if not self._plain or len(text) < _SHORT:
            return []
        return self._places(text, _DEPTH)

    def find_readable(self, text: str) -> list[Disguised]:
        """As `find`, without decoding anything."""
        return self._places(text, 0) if self._plain else []

    def _places(self, text: str, depth: int) -> list[Disguised]:
        return [_with_signs(text, one) for one in _apart(self._found(text, depth))]

    def rests(self, text: str) -> list[Disguised]:
        """Words that are the rest of a secret of which the other part stands in the same text."""
        wanted = self._wanted(text)
        words = _WORD.finditer(text) if wanted else ()
        known = ((match, folded(match[0])) for match in words if len(match[0]) >= _SHORT)
        return [Disguised(match.start(), match.end(), wanted[word]) for match, word in known if word in wanted]

    def _wanted(self, text: str) -> dict[str, str]:
        """What is missing of the secrets of which a text holds a telling part, folded."""
        letters, wanted = folded(text), dict(self._broken(text.casefold()))
        if not wanted and not self._is_there(self._grams, letters):
            return {}
        for place in range(len(letters) - LEAST + 1):
            for key, offset in self._grams.get(letters[place : place + LEAST], ()):
                start, end, _ = _match(letters, place, key, offset)
                part = letters[start:end]
                if len(part) < len(key.text) and _is_telling(part, key):
                    first = key.text.index(part)
                    wanted |= dict.fromkeys((key.text[:first], key.text[first + len(part) :]), key.secret)
        return wanted

    def _broken(self, text: str) -> Iterator[tuple[str, str]]:
        """(rest, secret) where a text holds a secret up to one of its signs and with it: "Mill." of "Mill.rose"."""
        for plain, secret in self._plain.items():
            for match in _SIGN.finditer(plain):
                first, last = plain[: match.end()], plain[match.end() :]
                if len(first) > LEAST and len(last) >= _SHORT and first in text and plain not in text:
                    yield folded(last), secret

    def _add_keys(self, secret: str, key: str, parts: bool) -> None:
        half = max(LEAST, (len(key) + 1) // 2) if parts else len(key)
        letters = only_letters(secret) if len(_HUMPS.findall(secret)) > 1 else ""
        self._index(self._grams, _Key(key, secret, half, joined=letters))
        if len(secret.split()) >= _PHRASE and all(word.isalpha() for word in secret.split()):
            self._index(self._phrases, _Key(key, secret, half, words=True))
        if parts and not secret.isascii() and len(outline(secret)) >= _OUTLINE:
            self._outlines[outline(secret)] = secret
        whole = {
            *map(folded, _rewritten(secret, key)),
            *(folded("".join(c for c in secret if c not in gone)) for gone in ("aeiou", "aeiouAEIOU")),
        }
        for form in sorted(whole - {key}):
            if len(form) >= LEAST and not form.isdigit():
                self._index(self._grams, _Key(form, secret, len(form)))
        for letters in {as_letters(key), as_letters(secret)}:
            self._index(self._figures, _Key(letters, secret, len(letters)))

    def _add_whole(self, secret: str, key: str) -> None:
        """What is short or a plain word is looked for whole only: less of it stands anywhere."""
        self._whole[key] = secret
        if len(key) >= LEAST:
            self._index(self._figures, _Key(as_letters(key), secret, len(key)))
        other = {folded(form) for form in _rewritten(secret, key)}
        self._whole.update((form, secret) for form in sorted(other - {key}) if len(form) >= max(_SHORT, len(key) - 1))

    def _add_encoded(self, secret: str) -> None:
        """Its beginnings and ends, its checksums and, where it is too short to be decoded, its codes."""
        if len(secret) >= LEAST:
            plain = secret.casefold()[:_LONGEST_KEY]
            self._ends.update((end, secret) for n in range(_FEW, len(plain)) for end in (plain[:n], plain[-n:]))
        if len(secret) < LEAST_DECODED or secret.isalpha():
            self._coded.update((form, secret) for form in codes_of(secret))
        self._digests[f"{zlib.crc32(secret.encode('utf-8', 'replace')):08x}"] = secret
        forms = {secret, secret + "\n", secret.casefold(), secret.upper()}
        for name, form in product(_HASHES, forms):
            digest = hashlib.new(name, form.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
            self._digests[digest] = self._digests[digest[:_SHORT_DIGEST]] = secret

    @staticmethod
    def _index(grams: dict[str, list[tuple[_Key, int]]], key: _Key) -> None:
        for place in range(len(key.text) - LEAST + 1):
            grams.setdefault(key.text[place : place + LEAST], []).append((key, place))

    def _found(self, text: str, depth: int) -> Iterator[Disguised]:
        written = as_written(text)
        yield from self._read(written, text)
        yield from self._words(text)
        if depth and self._coded:
            yield from self._in_code(text)
        plain = written
        for _ in range(_DEPTH):
            once = unescaped(plain)
            if once.text == plain.text:
                break
            plain = once
            yield from self._read(plain, text)
        if (without := uncounted(plain)) is not plain:
            yield from self._read(without, text)
        if speaks_of_characters(plain.text):
            for names in (digit_of, character_of):
                yield from self._read(spelled(plain, names), text, aloud=True)
        if depth:
            for reading in [written] if plain is written else [written, plain]:
                for start, end, secret in self._encoded(reading.text, depth):
                    yield Disguised(*reading.place(start, end), secret)

    def _read(self, reading: Reading, text: str, aloud: bool = False) -> Iterator[Disguised]:
        """The secrets that stand in a reading, whatever is between their letters."""
        letters = folded(reading.text)
        if self._is_there(self._grams, letters):
            yield from self._search(fold(reading), self._grams)
        if self._figures and self._is_there(self._figures, as_letters(reading.text)):
            found = fold(reading, as_letters)
            for one in self._search(found, self._figures):
                found_there = text[one.start : one.end]
                if any(not c.isalpha() and (not one.secret.isalpha() or not c.isspace()) for c in found_there):
                    yield one
        if self._phrases and self._is_there(self._phrases, only_letters(reading.text)):
            yield from self._search(fold(reading, only_letters), self._phrases)
        if self._numbers:
            yield from self._search_numbers(reading, aloud)
        for key, secret in self._whole.items():
            if key in letters:
                yield from _standing(fold(reading), key, secret, text)

    def _words(self, text: str) -> Iterator[Disguised]:
        """Rests of secrets, and secrets with a part left out or in another script."""
        if self._rests:
            words = ((match, folded(match[0])) for match in _WORD.finditer(text))
            yield from (Disguised(*match.span(), self._rests[word]) for match, word in words if word in self._rests)
        yield from self._ends_in(text)
        yield from self._by_looks(text)
        for match in _LEFT_OUT.finditer(text):
            first, last = match["first"].casefold(), match["last"].casefold()
            if len(first) + len(last.replace(" ", "")) >= _SHORT:
                for plain, secret in self._plain.items():
                    if len(plain) > len(first) + len(last) and plain.startswith(first) and plain.endswith(last):
                        yield Disguised(*match.span(), secret)
                    elif len(plain) > len(first) > len(plain) // 2 and plain.startswith(first):
                        yield Disguised(*match.span("first"), secret)  # cut off, and another word follows

    def _by_looks(self, text: str) -> Iterator[Disguised]:
        """Checksums that were cut short, and secrets in the letters of another script."""
        for match in _CUT_DIGEST.finditer(text) if self._digests else ():
            secret = self._digests.get(match[0][:_SHORT_DIGEST].lower(), "")
            if secret:
                yield Disguised(*match.span(), secret)
        if self._outlines:
            for match in _BLACK.finditer(text):
                secret = self._outlines.get(outline(match[0]), "")
                if secret:
                    yield Disguised(*match.span(), secret)

    def _ends_in(self, text: str) -> Iterator[Disguised]:
        """Beginnings and ends of secrets that are told as such, or have a sign or a figure in them."""
        for match in _BLACK.finditer(text) if self._ends else ():
            word = match[0].strip("\"'“”„«»,;:()[]")
            secret = self._ends.get(word.casefold()) or self._ends.get(word.rstrip(".!?").casefold(), "")
            if secret and word:
                start = match.start() + match[0].index(word)
                told = _TOLD_PART.search(text, max(0, start - 32), start) is not None
                core = word.rstrip(".!?")
                if told or (len(core) > _FEW and any(map(str.isalpha, core)) and not core.isalpha()):
                    yield Disguised(start, start + len(word), secret)

    @staticmethod
    def _is_there(grams: dict[str, list[tuple[_Key, int]]], letters: str) -> bool:
        known = grams.keys()
        return not known.isdisjoint(letters[place : place + LEAST] for place in range(len(letters) - LEAST + 1))

    def _search(self, reading: Reading, grams: dict[str, list[tuple[_Key, int]]]) -> Iterator[Disguised]:
        text, place = reading.text, 0
        while place <= len(text) - LEAST:
            best = max(
                (_match(text, place, key, offset) for key, offset in grams.get(text[place : place + LEAST], ())),
                key=lambda one: one[1] - one[0],
                default=None,
            )
            if best is not None and best[1] > best[0]:
                start, end, key = best
                start, end = _together(reading, start, end, place)
                if end - start >= key.least and self._counts(reading, start, end, key):
                    yield Disguised(*reading.place(start, end), key.secret)
                    place = end
                    continue
            place += 1

    @staticmethod
    def _counts(reading: Reading, start: int, end: int, key: _Key) -> bool:
        """True for a whole key; for a part, when it is written in one piece and cuts no number short."""
        found = reading.text[start:end]
        if len(found) == len(key.text):
            return True
        following = reading.text[end : end + 1]
        cut = found[-1].isdigit() and following.isdigit() and reading.starts[end] == reading.ends[end - 1]
        near = all(reading.gap(place + 1) <= 2 for place in range(start, end - 1))
        begins = start == 0 or reading.starts[start] > reading.ends[start - 1]
        whole = begins and (end == len(reading.text) or reading.starts[end] > reading.ends[end - 1])
        joined = whole and found.isalpha() and len(found) >= _JOINED and found in key.joined
        return (near or key.words or joined) and not cut and (joined or _is_telling(found, key))

    def _search_numbers(self, reading: Reading, aloud: bool) -> Iterator[Disguised]:
        """Numbers that are written apart or spelled: "9 2 6", "92-64-15", "nine two six"."""
        for start, end, digits in _runs_of_digits(reading, aloud):
            if digits in self._numbers:
                yield Disguised(*reading.place(start, end), self._numbers[digits])

    def _in_code(self, text: str) -> Iterator[Disguised]:
        """Short secrets in an encoding: too little to be decoded, so the forms themselves are looked for."""
        lowered = text.lower() if len(text.lower()) == len(text) else text
        for form, secret in self._coded.items():
            place = lowered.find(form)
            while place >= 0:
                end = place + len(form)
                if not lowered[place - 1 : place].isalnum() and not lowered[end : end + 1].isalnum():
                    yield Disguised(place, end, secret)
                place = lowered.find(form, place + 1)

    def _encoded(self, text: str, depth: int) -> Iterator[Disguised]:
        for pattern, decode in ENCODINGS:
            for match in pattern.finditer(text):
                run = match[0]
                if len(run) <= _LONGEST_RUN:
                    for data in decode(run):
                        secret = self._holds(data, depth - 1)
                        if secret is not None:
                            yield Disguised(match.start(), match.start() + len(run.rstrip()), secret)
                            break

    def _holds(self, data: bytes, depth: int) -> str | None:
        """The secret that decoded data hold or are the checksum of."""
        if data.hex() in self._digests:
            return self._digests[data.hex()]
        text = data.replace(b"\0", b"").decode("utf-8", "replace")
        plain = text.casefold()
        there = next((secret for form, secret in self._plain.items() if form in plain), None)
        if there is not None:
            return there
        return next((one.secret for one in self._found(text, depth)), None) if _is_text(text) else None


def _standing(reading: Reading, key: str, secret: str, text: str) -> Iterator[Disguised]:
    """The places of a secret that is short or a plain word: on its own, and not as any text would say it by chance.

    Letters may be cut into pieces of at most four; in one piece they are a word of a text unless they are long.
    """
    place = reading.text.find(key)
    while place >= 0:
        start, end = reading.place(place, place + len(key))
        pieces = _pieces(reading, place, place + len(key))
        each = len(pieces) >= len(key)
        alone = not text[start - 1 : start].isalnum() and not (text[end - 1 : end + 1].isalnum() and end < len(text))
        split = alone and len(pieces) > 1 and max(pieces) <= (_PIECE if key.isalpha() else len(key))
        whole = alone and len(pieces) <= 1 and (len(key) >= LEAST or not key.isalpha() or not text[start:end].isascii())
        if each or (split and (len(pieces) > 2 or not key.isalpha())) or whole:
            yield Disguised(start, end, secret)
        place = reading.text.find(key, place + 1)


def _pieces(reading: Reading, start: int, end: int) -> list[int]:
    """How long the pieces are in which the characters from `start` to before `end` stand."""
    cuts = [place for place in range(start + 1, end) if reading.gap(place)]
    return [last - first for first, last in zip([start, *cuts], [*cuts, end], strict=True)]


def _rewritten(secret: str, key: str) -> Iterator[str]:
    """A secret as others would write it, letter for letter: backwards, shifted, on another keyboard, romanised."""
    yield from (key[::-1], secret.translate(_UMLAUTS), romanised(secret), *_misread(secret))
    yield from (secret.casefold().translate(board) for board in _KEYBOARDS)
    yield "".join(c + c for c in key)
    yield "".join(reversed(_WORD.findall(secret)))
    if sum(c in LETTERS for c in key) >= (_SHORT if len(key) >= LEAST else 2):
        yield from (_turned(key), *(_shifted(key, by) for by in range(1, 26)))


def _with_signs(text: str, found: Disguised) -> Disguised:
    """A place with the signs around it that the secret begins and ends with."""
    secret = found.secret
    first = secret[: len(secret) - len(secret.lstrip(_SIGNS))]
    last = secret[len(secret.rstrip(_SIGNS)) :]
    start = found.start - len(first) if first and text.endswith(first, 0, found.start) else found.start
    end = found.end + len(last) if last and text.startswith(last, found.end) else found.end
    return Disguised(start, end, secret)


def _apart(found: Iterable[Disguised]) -> list[Disguised]:
    """Places in order, those that overlap made one."""
    apart: list[Disguised] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
        elif one.end > apart[-1].end:
            apart[-1] = apart[-1]._replace(end=one.end)
    return apart


def outline(text: str) -> str:
    """A text with each run of letters written as one: what is left of it in any other script."""
    return re.sub(r"[^\W\d_]+", "L", text)


def _misread(secret: str) -> Iterator[str]:
    """What UTF-8 looks like where it is taken for another encoding."""
    if not secret.isascii():
        for encoding in ("latin-1", "cp1252"):
            yield secret.encode("utf-8", "replace").decode(encoding, "replace")


def _match(text: str, place: int, key: _Key, offset: int) -> tuple[int, int, _Key]:
    """The longest piece of a text around `place` that is a piece of a key."""
    start, end, first, last = place, place + LEAST, offset, offset + LEAST
    while start > 0 and first > 0 and text[start - 1] == key.text[first - 1]:
        start, first = start - 1, first - 1
    while end < len(text) and last < len(key.text) and text[end] == key.text[last]:
        end, last = end + 1, last + 1
    return start, end, key


def _together(reading: Reading, start: int, end: int, place: int) -> tuple[int, int]:
    """The part around `place` of a match whose characters stand near each other."""
    first, last = place, place + 1
    while first > start and reading.gap(first) <= _GAP:
        first -= 1
    while last < end and reading.gap(last) <= _GAP:
        last += 1
    return first, last


def _is_telling(found: str, key: _Key) -> bool:
    """True for a whole key, or a part of it that is no plain word or number."""
    return key.words or len(found) == len(key.text) or not (found.isalpha() or found.isdigit())


def _runs_of_digits(reading: Reading, aloud: bool) -> Iterator[tuple[int, int, str]]:
    """(start, end, digits) of runs of digits with at most three signs between them; of few, no time and no date."""
    text = reading.text
    if not text.isascii():
        text = "".join(c if c.isascii() else str(unicodedata.digit(c, c)) for c in text)
    for match in _DIGIT_RUN.finditer(text):
        signs = re.findall(r"\D+", match[0])
        digits = re.sub(r"\D", "", match[0])
        bare = reading.ends[match.end() - 1] - reading.starts[match.start()] == _SHORT and text is reading.text
        year = bare and not signs and digits[:2] in ("19", "20")
        time = len(signs) == 1 and signs[0] in ":/" and len(digits) < LEAST
        if aloud or not (year or time):
            yield match.start(), match.end(), digits


def _shifted(key: str, by: int) -> str:
    turned = LETTERS[by:] + LETTERS[:by]
    return key.translate(str.maketrans(LETTERS, turned))


def _turned(key: str) -> str:
    return key.translate(str.maketrans(LETTERS, LETTERS[::-1]))


def _is_text(text: str) -> bool:
    """True where most of what was decoded can be read: the rest would be searched for nothing."""
    return len(text) >= _SHORT and 4 * sum(c.isprintable() and c != "�" for c in text) >= 3 * len(text)
