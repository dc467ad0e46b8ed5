"""How a text may be read: without signs between its letters, unescaped, spelled out, in look-alike characters.

A reading is a text of its own, and every character of it knows from where in the original it comes. So what is found in
a reading, however it is written, is taken out of the original.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_LOOKS_LIKE = str.maketrans(  # Cyrillic and Greek small letters that look like Latin ones
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u043a\u0442\u043c\u043d\u0432\u0456\u0458\u0455"
    "\u03b1\u03bf\u03c1\u03c5\u03c7\u03ba\u03bd\u03c4\u03b9",
    "aeopcxyktmhbijsaopuxkvti",
)
_SMALL_CAPITALS = str.maketrans("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz")
_WITHOUT_STROKE = str.maketrans(  # letters whose stroke or ligature Unicode does not take apart
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
_FIGURES = str.maketrans("013456789", "oieasgtbg")
_PLAIN_LETTERS: dict[int, int | str] = {**_LOOKS_LIKE, **_WITHOUT_STROKE, **_SMALL_CAPITALS}
_SIGNS_AS_LETTERS = str.maketrans("$@!|(+", "saiict")
_ESCAPE = re.compile(
    r"(?i)\\(?P<css>0[0-9a-f]{5}) ?|(?P<byte>(?:(?:%|\\x|=)[0-9a-f]{2}|\\[0-3][0-7]{2})+)"
    r"|(?:(?:\\u|%u|u\+)(?P<point>[0-9a-f]{4,6})|\\u\{(?P<braced>[0-9a-f]{1,6})\})|(?P<entity>&(?:#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});)"
    r"|(?P<key>\{[^{}]{1,12}\})|(?P<tag></?[a-z][^<>]{0,80}>)|\\(?P<sign>[^\w\s])"
)
_BYTE = re.compile(r"(?i)(?:%|\\x|=)([0-9a-f]{2})|\\([0-3][0-7]{2})")
_NAMED_KEYS = frozenset("space enter tab shift ctrl alt caps capslock end home left right up down".split())
_BACK_KEYS = frozenset("backspace back bs bksp vk_back".split())

_DIGIT_NAMES = """
zero null zéro cero nul noll nolla ноль sıfır oh
one eins ein un une uno um een en ett yksi jeden один bir
two zwei zwo deux dos due dois twee två kaksi dwa два iki
three drei trois tres tre três drie kolme trzy три üç
four vier quatre cuatro quattro quatro fire fyra neljä cztery четыре dört
five fünf cinq cinco cinque vijf fem viisi pięć пять beş
six sechs sei seis zes seks sex kuusi sześć шесть altı
seven sieben sept siete sette sete zeven syv sju seitsemän siedem семь yedi
eight acht huit ocho otto oito åtte otte åtta kahdeksan osiem восемь sekiz
nine neun neuf nueve nove negen ni nio yhdeksän dziewięć девять dokuz
"""
_SPOKEN_DIGITS = {
    word: str(digit) for digit, line in enumerate(_DIGIT_NAMES.strip().splitlines()) for word in line.split()
}
_LETTER_NAMES = (
    "alfa alpha bravo charlie delta echo foxtrot golf hotel india juliett juliet kilo lima mike november oscar papa"
    " quebec romeo sierra tango uniform victor whiskey xray yankee zulu"
).split()
_SPOKEN_LETTERS = {**_SPOKEN_DIGITS, **{word: word[0] for word in _LETTER_NAMES}}
_SPOKEN_SIGNS = frozenset(  # and what is said with them
    "dot point period dash hyphen minus underscore at hash pound plus star asterisk slash colon semicolon comma space"
    " ampersand and percent dollar exclamation question mark sign bang equals quote bracket parenthesis pipe tilde"
    " caret capital uppercase lowercase upper lower case small big letter digit number as in for like then"
    " punkt strich bindestrich unterstrich raute klammeraffe ausrufezeichen tiret punto guion guión".split()
)
_SAID_ANYWHERE = frozenset(  # words that are mostly said for something else
    "and in for as like at to then space sign point case small big letter digit number en un une una uno um dos due sei"
    " se fire set sex on ni fem".split()
)
_NAME = re.compile(r"[^\W\d_]{2,20}")
_SYLLABLE = re.compile(r"(?:HIRAGANA LETTER|KATAKANA LETTER|HANGUL SYLLABLE) (?:SMALL )?([A-Z]+)$")
_CYRILLIC = dict(
    zip(
        "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
        "a b v g d e yo zh z i y k l m n o p r s t u f kh ts ch sh shch  y  e yu ya".split(" "),
        strict=True,
    )
)
_COUNTER = re.compile(r"(?<!\w)(\d{1,3})[.):=][ \t]{0,2}(?=\S)")
_LEAST_COUNTED = 3
_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]+|_+")


_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # "0" goes where a digit follows
_SPOKEN_NUMBERS = {
    **_SPOKEN_DIGITS,
    **{word: str(number) for number, word in enumerate(_TEENS, start=10)},
    **{word: f"{number}0" for number, word in enumerate(_TENS, start=2)},
}
_AGAIN = {"double": 2, "doppel": 2, "doble": 2, "doppio": 2, "triple": 3, "dreifach": 3, "treble": 3}


def _pairs_of(line: str, joint: str) -> dict[str, str]:
    """The numbers from 21 on that some languages say in one word, the last figure first: "siebenundzwanzig"."""
    ones, tens = (part.split() for part in line.split("|"))
    return {
        f"{one}{joint}{ten}": f"{tenth}{number}"
        for number, one in enumerate(ones, start=1)
        for tenth, ten in enumerate(tens, start=2)
    }


_PAIRS = {
    **_pairs_of("ein zwei drei vier fünf sechs sieben acht neun|zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig"
                " neunzig", "und"),
    **_pairs_of("een twee drie vier vijf zes zeven acht negen|twintig dertig veertig vijftig zestig zeventig tachtig"
                " negentig", "en"),
}  # fmt: skip
_TELLING_NAMES = (_SPOKEN_LETTERS.keys() | _SPOKEN_NUMBERS.keys() | _SPOKEN_SIGNS | _PAIRS.keys()) - _SAID_ANYWHERE


@dataclass(frozen=True)
class Reading:
    """A text, and for each of its characters where in the original it begins and ends."""

    text: str
    starts: list[int] | range
    ends: list[int] | range
    places: list[int] | range = range(0)  # of the characters in the reading that this one was made of

    def gap(self, place: int) -> int:
        """How many characters were left out before the one at `place`, in the reading that this one was made of."""
        return self.places[place] - self.places[place - 1] - 1

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where in the original the characters from `start` to before `end` stand."""
        return self.starts[start], self.ends[end - 1]


def as_written(text: str) -> Reading:
    """The reading that changes nothing."""
    return Reading(text, range(len(text)), range(1, len(text) + 1))


def folded(text: str) -> str:
    """The letters and digits of a text, of one case, without accents, look-alike letters as the Latin ones."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    text = text.casefold()
    if not text.isascii():
        text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text.translate(_PLAIN_LETTERS))
    return text if text.isalnum() and text.isascii() else "".join(c for c in text if c.isalnum())


def as_letters(text: str) -> str:
    """A text folded, with figures and signs read as the letters they stand for: `C3d@r` as `cedar`."""
    return folded(text.translate(_SIGNS_AS_LETTERS)).translate(_FIGURES)


def only_letters(text: str) -> str:
    """A text folded, without its digits: "1. ribbon 2. canyon" as `ribboncanyon`."""
    return "".join(c for c in folded(text) if not c.isdigit())


def romanised(text: str) -> str:
    """A text with Japanese kana, Korean and Cyrillic letters in Latin ones, by the names Unicode gives them."""
    return text if text.isascii() else "".join(map(_romanised, unicodedata.normalize("NFC", text)))


def _romanised(c: str) -> str:
    if c in _CYRILLIC:
        return _CYRILLIC[c]
    match = None if c.isascii() else _SYLLABLE.match(unicodedata.name(c, ""))
    return match[1].casefold() if match else c


def fold(reading: Reading, letters: Callable[[str], str] = folded) -> Reading:
    """`folded` of a reading, or another way to read its characters one by one."""
    return _assembled(reading, ((letters(c), place, place + 1) for place, c in enumerate(reading.text)))


def unescaped(reading: Reading) -> Reading:
    """A reading with escapes of addresses, pages, programs and mails undone, tags gone and keys pressed."""
    return _assembled(reading, _unescaped_pieces(reading.text)) if _ESCAPE.search(reading.text) else reading


def spelled(reading: Reading, names: Callable[[str], str | None]) -> Reading:
    """A reading in which every word that names a character is that character, and words that name signs are gone."""
    return _assembled(reading, _spelled_pieces(reading.text, names))


def uncounted(reading: Reading) -> Reading:
    """A reading without the numbers of a list in one line: "1. ribbon 2. canyon", "1:c 2:e 3:d"."""
    counted = [
        match for number, match in enumerate(_COUNTER.finditer(reading.text), start=1) if int(match[1]) == number
    ]
    if len(counted) < _LEAST_COUNTED:
        return reading
    gone = {place for match in counted for place in range(*match.span())}
    kept = ((c, place, place + 1) for place, c in enumerate(reading.text) if place not in gone)
    return _assembled(reading, kept)


def digit_of(word: str) -> str | None:
    """The digit a word names, in one of fifteen languages; "" for the name of a sign; None for any other word."""
    return _SPOKEN_NUMBERS.get(word, "" if word in _SPOKEN_SIGNS else None)


def character_of(word: str) -> str | None:
    """As `digit_of`, the letters of the radio alphabet as well."""
    return _SPOKEN_LETTERS.get(word) or digit_of(word)


def speaks_of_characters(text: str) -> bool:
    """True for a text with a word that names a character and is seldom said for anything else."""
    return not _TELLING_NAMES.isdisjoint(_NAME.findall(text.casefold()))


def _assembled(reading: Reading, pieces: Iterator[tuple[str, int, int]]) -> Reading:
    """A reading made of (text, start, end) of another; a text of "\\b" takes the last character back."""
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    places: list[int] = []
    for text, start, end in pieces:
        if text == "\b":
            if chars:
                chars.pop()
                starts.pop()
                ends.pop()
                places.pop()
            continue
        for c in text:
            chars.append(c)
            starts.append(reading.starts[start])
            ends.append(reading.ends[end - 1])
            places.append(start)
    return Reading("".join(chars), starts, ends, places)


def _unescaped_pieces(text: str) -> Iterator[tuple[str, int, int]]:
    end = 0
    for match in _ESCAPE.finditer(text):
        yield from ((text[place], place, place + 1) for place in range(end, match.start()))
        yield from _meaning(match)
        end = match.end()
    yield from ((text[place], place, place + 1) for place in range(end, len(text)))


def _meaning(match: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    """What an escape stands for."""
    start, end = match.span()
    if match["byte"]:
        codes = list(_BYTE.finditer(match["byte"]))
        data = bytes(int(code[1], 16) if code[1] else int(code[2], 8) for code in codes)
        text = data.decode("utf-8", "replace")
        if len(text) == len(codes):
            yield from ((c, start + code.start(), start + code.end()) for c, code in zip(text, codes, strict=True))
        else:
            yield text, start, end
    elif code := match["point"] or match["braced"] or match["css"]:
        point = int(code, 16)
        yield chr(point) if point <= 0x10FFFF else "", start, end
    elif match["entity"]:
        import html  # its table of names is read here, not in every process

        yield html.unescape(match["entity"]), start, end
    elif match["key"]:
        name = match["key"][1:-1].casefold()
        yield "\b" if name in _BACK_KEYS else "" if name in _NAMED_KEYS else match["key"][1:-1], start, end
    elif match["sign"]:
        yield match["sign"], start, end


def _spelled_pieces(text: str, names: Callable[[str], str | None]) -> Iterator[tuple[str, int, int]]:
    """Each word as the characters it names: tens with the digit behind them, digits said to come twice, twice."""
    words = [(match, match[0].casefold()) for match in _WORD.finditer(text)]
    times, begin = 1, -1
    for place, (match, word) in enumerate(words):
        if word in _AGAIN:
            times, begin = _AGAIN[word], match.start()
            continue
        named = _PAIRS.get(word, names(word))
        if named is None:
            yield from ((c, match.start() + at, match.start() + at + 1) for at, c in enumerate(match[0]))
        elif named:
            following = next((after for _, after in words[place + 1 : place + 3] if after.isalpha()), "")
            if word in _TENS and len(names(following) or "") == 1:
                named = named[0]
            yield named * times, match.start() if begin < 0 else begin, match.end()
        times, begin = 1, -1
