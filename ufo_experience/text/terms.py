"""Words as terms: stemmed, without politeness at the start, the common ones known."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from ufo_experience.text.remembered import on_forgetting

_COMMON_WORDS = (
    "the a an of to in on at for from with by and or is are was were be been it its this that these those my me i you"
    " your our we as if so not do does did have has had can could will would should all any some there here what which"
    " who when where how then than into please help want need like make set get show tell give find use using file"
    " about out up also just too very such own am he she they them his her their us may might must but because while"
    " why again each both"
)


_LEAST_BEHIND_POLITE = 8  # characters
_LONGEST_WORD = 64
_WORD = re.compile(r"<\w{1,64}>|[^\W_]{1,64}(?:'[a-z]{1,8})?")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")  # Thai to Chinese
_PIECES = re.compile(f"{_UNSPACED.pattern}+|[^{_UNSPACED.pattern[1:-1]}]+")
_POLITE = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|computer|please|kindly|and|then|also|now|just|so|[,.!?]|(?:could|can|would|will) you"
    r"|you|help me|help|assist me (?:in|with)|assist me|to|with|for me|i would like (?:you )?to|i'd like (?:you )?to"
    r"|i want (?:you )?to|i need (?:you )?to)\s+)+"
)
_ENDINGS = [  # suffix, what stays in its place, how many letters must come before
    *[
        ("sses", "ss", 2),
        ("ies", "y", 2),
        ("ied", "y", 2),
        ("ifications", "ify", 2),
        ("ification", "ify", 2),
        ("ations", "", 4),
        ("ation", "", 4),
        ("ctions", "ct", 2),
    ],
    *[("ction", "ct", 2), ("ings", "", 3), ("ing", "", 3), ("edly", "", 3), ("ed", "", 3), ("ally", "al", 3)],
    *[("ly", "", 4), ("ements", "", 4), ("ement", "", 4), ("ments", "", 5), ("ment", "", 5), ("xes", "x", 2)],
    *[("ches", "ch", 2), ("shes", "sh", 2), ("ss", "ss", 1), ("us", "us", 1), ("is", "is", 1), ("s", "", 3)],
]
_BY_LAST_LETTER = {last: [one for one in _ENDINGS if one[0][-1] == last] for last in {one[0][-1] for one in _ENDINGS}}
_WHOLE = frozenset({"note", "here", "done", "none", "come", "care", "theme", "paste", "plane", "more"})


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """A light stemmer (plural, -ed, -ing, -ly, -ment, -ation); when in doubt it keeps words apart."""
    word = word.removesuffix("'s")
    if word[:1] == "<" or len(word) < 4:
        return word
    word = _strip_ending(word)
    if len(word) > 3 and word.endswith(("e", "y")) and word not in _WHOLE:
        word = word[:-1] + ("i" if word[-1] == "y" else "")
    if len(word) > 5 and word.endswith("ll"):
        word = word[:-1]
    if len(word) > 5 and word.endswith("iz"):  # one spelling for both sides of the sea
        word = word[:-1] + "s"
    elif len(word) > 4 and word.endswith("our"):
        word = word[:-3] + "or"
    return word.removesuffix("at") if len(word) > 6 else word


on_forgetting(stem.cache_clear)


def _strip_ending(word: str) -> str:
    for suffix, kept, least in _BY_LAST_LETTER.get(word[-1], ()):
        if word.endswith(suffix) and len(word) - len(suffix) >= least:
            word = word[: len(word) - len(suffix)] + kept
            doubled = suffix in ("ing", "ings", "ed") and word[-1] == word[-2] and word[-1] not in "aeiousl"
            return word[:-1] if doubled else word
    return word


def without_politeness(text: str) -> str:
    """A text in lower case without the politeness at its start; as it is where little else would be left."""
    bare = _POLITE.sub("", text)
    return bare if len(bare) > _LEAST_BEHIND_POLITE else text


def words(text: str) -> list[str]:
    """Stemmed words and placeholders, in order; of what is written without blanks each pair of characters."""
    if len(text) <= _LONGEST_WORD and text.isascii() and text.isalnum():
        return [stem(text.lower())]
    found = _WORD.findall(text.lower().replace("’", "'"))
    if not text.isascii():
        found = [part for word in found for part in (_parts(word) if _UNSPACED.search(word) else (word,))]
    return [stem(word) for word in found]


def _parts(word: str) -> list[str]:
    """Pairs of neighbours of the characters of scripts without blanks, whole words of others."""
    found: list[str] = []
    for piece in _PIECES.findall(word):
        pairs = pairwise(piece) if len(piece) > 1 and _UNSPACED.match(piece) else ()
        found += ["".join(pair) for pair in pairs] or [piece]
    return found


COMMON = frozenset(stem(word) for word in _COMMON_WORDS.split())
