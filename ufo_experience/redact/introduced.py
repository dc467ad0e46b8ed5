"""Secrets in sentences: a word introduces one, and near it stands something that is given, not talked about.

One rule for all of them: a noun (`nouns.py`), a window of its line, and in it a candidate. The candidate counts when it
looks as what the noun introduces looks (`candidates.py`) and, the weaker the noun, when it is *given*: it stands behind
"is", a colon, a dash or an arrow, in quotes or brackets, or right beside the noun.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from ufo_experience.redact.candidates import (
    is_given,
    is_key,
    is_lone,
    is_mixed,
    is_odd,
    is_phrase,
    is_put_together,
    is_word,
)
from ufo_experience.redact.checksums import is_stand_in
from ufo_experience.redact.hints import compiled
from ufo_experience.redact.nouns import Noun, find_nouns


class Found(NamedTuple):
    """A place in a text and the kind of secret that stands there."""

    start: int
    end: int
    kind: str


class Rule(NamedTuple):
    """Nouns, what may stand between it and a candidate, the candidate and what it must look like."""

    nouns: str  # lists of `nouns.py`
    between: str
    candidate: str
    accepts: Callable[[str], bool]
    kind: str
    most: int = 1  # candidates looked at
    before: bool = False  # the candidate stands in front of the noun
    led_by: str = ""  # what stands in front of the noun


_GOES_ON = (  # PASSWORD_MIN_LENGTH=12: the last word of a name says what it is
    r"(?i)(?:[_-][a-z]{1,16}){0,3}[_-](?:length|len|min|max|policy|age|days|count|size|attempts?|expiry|expires|timeout"
    r"|ttl|enabled|required|type|format|field|label|hint|reset|url|path|file)[\"']?\s?[:=]| chiave\b"
)
WINDOW = 96  # characters around a noun, within its line
_IS = (
    r"(?:\b(?:is|are|was|were|be|been|becomes|reads|equals|it's|its|ist|lautet|lauten|sind|bleibt|est|sont|c'est|reste|es|son|era|è"
    r"|é|são|continua|jest|to|är|er|van|ni|da|este|це|это|είναι|هي|هو|היא|הוא|है|sono|auf|with|mit|avec|par|con|med|z|przez"
    r"|using|via|by|opens at|takes|wants|needs|expects|accepts|says|enter|type|try|use|dial|punch in|press|steht"
    r"|hat die|has|tiene|now|jetzt|so|also|then|dann)\b"
    r"(?: (?:just|simply|still|now|always|only|called))?:?|(?:[:=→»–—-]|(?<!\w)>)(?=\s|$)|=|は|が|为|是|改成|[。：՝])"
)
_ANY = r""
_GIVEN = rf"(?i)(?:^\W{{0,4}}|{_IS}[ \t]{{0,3}}[\"'“„«「『‘\[(<]{{0,2}})$"
_SAID = rf"(?i){_IS}[ \t]{{0,3}}$"
_QUOTED = rf"(?i)(?:^[ \t:=]{{0,4}}|{_IS}[ \t]{{0,3}})[\"“„«「『‘]$"
# A value in quotes right behind the noun is what the noun introduces, however short it is, and nothing behind it is.
_FIRST_QUOTED = (
    rf"(?i)[ \t]{{0,2}}(?:{_IS}[ \t]{{0,3}})?(?:(?:(?<=[\s:=])\"|[“„«「『‘])[^\n\"“”„«»「」『』’]{{1,60}}[\"”“»」』’]"
    r"|(?<=\s)'[^'\n]{1,60}')"
)
_WITHIN = r"^[^\d\n.!?。]{0,64}$|\b(?:to|now|auf|jetzt|en|a)\s$"  # of one sentence, without a number
_LABELLED = r"(?i)^[^\n\w]{0,4}(?:(?:is|code|no|nr|\d{1,2})[^\n\w]{1,3}){0,2}$"
_BESIDE = r"^[\"'”’)]{0,2}[ \t]{0,2}[,;(–—-]{0,1}[ \t]{0,2}(?:(?:all|bitte|mit|the) ){0,2}$"
_WORD_BEFORE = r"([^\W\d_]{1,16})[ _-]?$"
_WORD_BEHIND = r"[ _-]?([^\W\d_]{1,16})"
_LAST = r",[ \t]$"
_AT = (
    r"(?i)^[#*]? (?:on|at|into|på|bij|in bij|an|am|ins|sur|en|al|alla|na) (?:the |de |der |la |le |el |die |das |het )?"
    r"(?:\w{1,16} )?$"
)
_UNDER = r"^ (?:under|in|as|into|als|unter) (?:the |your )?$"
_NEAR = r"^[^\d\n]{0,32}$"
_AS = (
    r"(?i)^[\"'”’»)\].]{0,2} (?:as|for|into|in|to|als|comme|como|come|som|jako|как|w|til|till)"
    r" (?:the |my |your |its |mein |mon )?(?:\w{1,16} ){0,2}$"
)
_NAMED_AS = (
    r"(?i)^[\"'”’»)\]]{0,2} ?(?:(?:is|as|ist|est|es|è|é|är|er|jest|als|–|-|=|:|to) )"
    r"(?:(?:your|the|my|ihr|dein|votre|ton|su|tu|din|il tuo|as|is) ){0,2}(?:[^\s\d]{1,16} ){0,2}$"
)
_ASKED = (  # ... when it asks for the
    r"(?i)^(?: ein)?,? (?:when|if|once|as soon as|wenn|sobald|quand|lorsqu|si|cuando|quando|als|när|når|kun|gdy)"
    r"[^\w\n][^\d\n.!?]{0,24}?\b(?:ask|prompt|request|want|nach|naar|sends?|sent|arriv\w*|schickt|kommt|envoie|envía|manda|fragt|verlangt|demand|pide|pregunt|chied|pede|vraag"
    r"|frågar|spør|kysy|pyta|prosi)[^\d\n.!?]{0,40}$"
)
_WORD = r"[^\s,;、。，；]{4,80}"
_UNIT = (
    r"(?![A-Za-z\d_%°€$£]|[.,:/-]\d|[ ]?(?:kg|g|cm|mm|km|m|euros?|eur|usd|dollars?|pounds?|people|pm|o'clock|uhr"
    r"|(?-i:am(?! [A-ZÄÖÜ]))"  # "1234 am Terminal" is no time
    r"|min\w*|sec\w*|s|ms|x|sek\w*|files?|items?|pages?|rows?|times|users?|hours?|days?|kb|mb|gb|char\w*"
    r"|zeichen|digits?)(?!\w))"
)
_NUMBER = (  # no date, year or port
    r"(?<![A-Za-z\d_.,+#-])(?<!host:)(?:[A-Z]-(?=\d{4}))?(?!\d{4}-\d\d-\d\d|(?:19|20)\d\d(?!\d))"
    rf"(?:\d(?:[ -]\d){{3,7}}|\d{{2,4}}(?:[ -]\d{{2,4}}){{1,3}}(?!-\d)|\d{{1,3}}(?:-\d{{1,3}}){{2,3}}|\d{{3,9}}){_UNIT}"
)
_ENTERED = (  # what one is told to press
    r"(?i:(?<=\benter )|(?<=\btype )|(?<=\btype in )|(?<=\bkey in )|(?<=\bpunch in )|(?<=\bput in )|(?<=\bpress )"
    r"|(?<=\buse )|(?<=\bgive )|(?<=\bgib )|(?<=\btippe )|(?<=\btape )|(?<=\btapez )|(?<=\bsaisis )|(?<=\bentre )"
    r"|(?<=\bentrez )|(?<=\bmarca )|(?<=\bpulsa )|(?<=\bescribe )|(?<=\bdigita )|(?<=\bdigite )|(?<=\btoets )"
    r"|(?<=\bslå )|(?<=\btast )|(?<=\bnäppäile )|(?<=\bwpisz ))" + _NUMBER
)
_ON_KEYPAD = r"(?<![\w.,#*-])\d{3,8}[*#](?![\w*])"
_GROUPED = (
    r"(?<![\w-])(?:(?=[A-Za-z]{0,7}\d)[A-Za-z0-9]{3,8}(?: (?=[A-Za-z]{0,7}\d)[A-Za-z0-9]{2,8}){1,7}"
    r"|[A-Z0-9]{2,8}(?:-[A-Z0-9]{1,8}){1,6}|[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{2,8}){1,7})(?![\w-])"
)
_BASE32 = r"(?<![\w-])[A-Z2-7]{16,64}(?![\w-])"
_LETTERED = r"(?-i:(?=[A-Z]{0,3}\d)(?=\d{0,6}[A-Z])[A-Z\d]{5,8})(?![\w-])"
_CITED = r"(?<=[\"“„«「])[^\n\"“”„«»「」]{4,60}(?=[\"”»」])"
_ENDING = _NUMBER + r"(?=[.!]?\s*$)"
_MADE = r"(?<![\w-])(?=[A-Z]{0,9}\d|\d{0,9}[A-Z]|(?=\w{8})[a-z]{0,12}\d)[A-Za-z\d]{5,24}(?![\w-])"
_PLAIN = r"(?! )[^\n\"“”„«»「」『』]{3,60}[^\n\"“”„«»「」『』 =](?=[\"”»」』'’])"
_OPENED_BY = rf"(?i)^[ \t]{{0,2}}(?:{_IS}[ \t]{{0,3}})?[\"“„«「『‘']$"
_IN_QUOTES = r"(?<=[\s\"“„«「『‘'])(?![ ,;.:])[^\n\"“”„«»「」『』’']{1,60}(?=[\"”“»」』'’](?!\w))"
_BEHIND = r"(?:(?<=[:=–—?]\s)|(?<=\W>\s)|(?<=\bis\s)|(?<=\bist\s)|(?<=\best\s)|(?<=\bes\s)|(?<=\bè\s)|(?<=\bare\s))"
_WORDS = rf"{_BEHIND}[^\W\d_]{{2,16}}(?:[ -][^\W_]{{1,16}}){{2,23}}(?=[ \t]{{0,2}}(?:[.,;!(–—-]|$))"
_CLAUSE = rf"{_BEHIND}[^\s:][^\n,.;?!:\"'“”„«»]{{2,40}}"
_PAPER = r"(?-i:[A-Z\d]{1,10}(?:[ -][A-Z\d]{1,6}){0,5})(?!\w)"
_LONE = (
    r"(?<![\w'-])[^\W\d_]{4,24}"
    r"(?=[\"'”’»)]{0,2}[ \t]{0,2}(?:[.,;!)](?![^\W_])|$|\b(?:and|then|und|dann|et|puis|y|luego|e|an|ein)\b))"
)
_IS_ONLY = (  # "is" right behind the noun, or behind what the password is for
    r"(?i)^(?: (?:for|of|to|on|at|für|fürs|vom|von|der|des|zum|zur|im|am|pour|de|du|del|da|do|di|per|para|van|voor|för"
    r"|till|til|do|na|к|от|для) [^\n.!?:=]{1,32}?| [а-яёіїє]{3,16})?[ \t]{0,2}"
    r"(?:(?:\b(?:is|ist|lautet|est|c'est|es|è|é|jest|to|är|er|je|este|это|היא|הוא|هي|هو|là|adalah)|[-–—])"
    r"(?: (?:just|simply|still|now|always|einfach|toujours|siempre))?:?[ \t]|[:=：]|は|是)[ \t]{0,3}$"
)
_USED = (  # "with the", "user ann and the"
    r"(?i)\b(?:(?:with|using|use|enter|type|as|mit|gib|nimm|avec|utilise|saisis|con|usa|escribe|introduce|inserisci|com"
    r"|digite|met|med|använd|brug|bruk|z|s|с) (?:the|my|our|dem|das|dein|als|le|la|el|il|het|o|a)|als"
    r"|machine [\w.-]{2,60} login [\w.@-]{2,40}|(?:user(?:name)?|log ?in|account|benutzer(?:name)?|identifiant"
    r"|utilisateur|usuario|utente|gebruiker|användare|bruker|użytkownik|логин|логином) [\w.@-]{2,40}"
    r"(?:,| (?:and|und|et|y|e|en|og|och|i|и|with|mit|avec|con|com|met|med))"
    r"(?: (?:the|das|dem|le|la|el|il|het|o|a))?)\s$"
)
_FURTHER = r"^[:=]? {0,2}(?:[A-Za-z\d-]{4,24}(?:[,;/]| and) ?){1,9}$"  # of a list
_WITH = r"(?i)^[^\n.!?]{0,40}\b(?:with|as|mit|avec|con|com|met|med) $"
_NAME = r"(?-i:[A-ZÀ-Þ][a-zà-ÿ]{2,24})(?=[.,;!)]?\s*$|[.,;!)] )"
_AROUND = "\"'“”„‘’«»「」『』`<>.?…()[]{}:"
_PART = r"[^=:/\\,;()\[\]{}]+"


def _is_value(value: str) -> bool:
    return not is_stand_in(value) and "{{" not in value


def _is_no_year(value: str) -> bool:
    return not (len(value) == 4 and value[:2] in ("19", "20"))


def _has_a_digit(value: str) -> bool:
    return any(map(str.isdigit, value))


def _is_paper(value: str) -> bool:
    digits = sum(map(str.isdigit, value))
    return digits >= 5 or (digits >= 3 and len(value) >= 8 and value.isalnum())


def _is_answer(value: str) -> bool:
    return value[0].isupper() or is_phrase(value)


RULES = (
    Rule("PASSWORD", _ANY, _WORD, is_mixed, "password", 7),
    Rule("PASSWORD", _AS, _WORD, is_mixed, "password", 99, before=True),
    Rule("PASSWORD PHRASE", _AS, _CITED, _is_value, "password", 99, before=True),
    Rule("PASSWORD", _GIVEN, _NUMBER, _is_no_year, "code"),
    Rule("ENTRY", _ANY, _WORD, is_odd, "password", 7),
    Rule("LOCK OPENED KEY SOME_CODE", _GIVEN, _WORD, is_odd, "password", 12),
    Rule("PASSWORD PHRASE CODE", _QUOTED, _PLAIN, _is_value, "password", 3),
    Rule("PASSWORD PHRASE", _SAID, _WORD, is_given, "password", 7),
    Rule("PASSWORD", r"^[ \t:=：]{0,3}$", _WORD, is_given, "password"),
    Rule("PASSWORD", _IS_ONLY, _LONE, is_lone, "password", 9),
    Rule("PASSWORD", r"^ (?:please |bitte )?$", _LONE, is_lone, "password", led_by=_USED),
    Rule("PASSWORD", _OPENED_BY, _IN_QUOTES, _is_value, "password"),
    Rule("CODE", _WITHIN, _NUMBER, _is_no_year, "code", 2),
    Rule("CODE", _NAMED_AS, _NUMBER, _is_value, "code", 99, before=True),
    Rule("CODE SOME_CODE", _ASKED, _ENTERED, _is_no_year, "code", 99, before=True),
    Rule("CODE", _WITHIN, _ON_KEYPAD, _is_value, "code", 2),
    Rule("LOCK SOME_CODE", _GIVEN, _ON_KEYPAD, _is_value, "code", 2),
    Rule("CODE", _WITHIN, _GROUPED, _has_a_digit, "code", 2),
    Rule("CODE", _GIVEN, _MADE, _has_a_digit, "code", 2),
    Rule("LOCK SOME_CODE", _GIVEN, _NUMBER, _is_no_year, "code", 2),
    Rule("LOCK SOME_CODE", _SAID, _LETTERED, _has_a_digit, "code"),
    Rule("LOCK SOME_CODE", _LAST, _ENDING, _is_no_year, "code"),
    Rule("LOCK", _AT, _NUMBER, _is_no_year, "code", 99, before=True),
    Rule("LOCK SOME_CODE", _NAMED_AS, _NUMBER, _is_no_year, "code", 99, before=True),
    Rule("PASSWORD ENTRY LOCK OPENED KEY SOME_CODE PHRASE", _SAID, _WORD, is_put_together, "password", 12),
    Rule("UNLOCKS", _BESIDE, _WORD, is_odd, "password", 99, before=True),
    Rule("SPELLED", _BESIDE, _WORD, is_word, "password", 99, before=True),
    Rule("SPELLED", _BESIDE, _WORDS, is_phrase, "password", 99, before=True),
    Rule("CODE", _WITHIN, _BASE32, _has_a_digit, "key"),
    Rule("VOUCHER", _LABELLED, _GROUPED, _has_a_digit, "code", 2),
    Rule("VOUCHER", _FURTHER, _GROUPED, _has_a_digit, "code", 10),
    Rule("OPENED_WITH", r"^ $", _WORD, is_given, "password"),
    Rule("KEY", _GIVEN, _WORD, is_key, "key", 12),
    Rule("PHRASE LOOSE_PHRASE PASSWORD", _SAID, _WORDS, is_phrase, "password", 2),
    Rule("ANSWER", _SAID, _CLAUSE, _is_answer, "password", 2),
    Rule("ANSWER", _WITH, _NAME, _is_value, "password", 2),
    Rule("DOCUMENT", _NEAR, _PAPER, _is_paper, "document number", 2),
    Rule("DOCUMENT", _UNDER, _PAPER, _is_paper, "document number", 99, before=True),
)
_RULES_OF = {
    name: [rule for rule in RULES if name in rule.nouns.split()] for rule in RULES for name in rule.nouns.split()
}


def find_introduced(text: str) -> Iterator[Found]:
    """Every candidate of a text that a noun introduces as a secret."""
    for noun in find_nouns(text):
        if not compiled(_GOES_ON).match(text, noun.end) and not _is_of_no_secret(text, noun):
            for name in noun.lists:
                for rule in _RULES_OF.get(name, ()):
                    yield from _near(text, noun, rule)


def _is_of_no_secret(text: str, noun: Noun) -> bool:
    """True for a code or key of something else, by the word before it or behind it: "error code", "code postal"."""
    if "SOME_CODE" not in noun.lists and text[noun.start : noun.end].lower() not in ("key", "clave", "clé"):
        return False
    before = compiled(_WORD_BEFORE).search(text, max(0, noun.start - 16), noun.start)
    if before is not None and before[0].isascii() and before.end(1) == noun.start and len(before[1]) <= 2:  # opcode
        return True
    beside = (before, compiled(_WORD_BEHIND).match(text, noun.end))
    return any(one is not None and any("OTHER_CODE" in other.lists for other in find_nouns(one[1])) for one in beside)


def _near(text: str, noun: Noun, rule: Rule) -> Iterator[Found]:
    """The candidates in the window of a noun that are given, and look as they must."""
    if rule.led_by and not compiled(rule.led_by).search(text, max(0, noun.start - WINDOW), noun.start):
        return
    start, end = _window(text, noun, rule.before)
    for match in islice(compiled(rule.candidate).finditer(text, start, end), rule.most):
        between = text[match.end() : noun.start] if rule.before else text[noun.end : match.start()]
        if "{{" not in between and compiled(rule.between).search(between):
            yield from (
                Found(*place, rule.kind)
                for place in _pieces(text, match, rule)
                if rule.accepts(text[slice(*place)]) and not _names_one(text[slice(*place)])
            )


def _window(text: str, noun: Noun, before: bool) -> tuple[int, int]:
    """Where the candidates of a noun stand, within its line."""
    if before:
        start = max(0, noun.start - WINDOW)
        return max(start, text.rfind("\n", start, noun.start) + 1), noun.start
    stop = text.find("\n", noun.end, noun.end + WINDOW)
    stop = stop if stop >= 0 else min(len(text), noun.end + WINDOW)
    quoted = compiled(_FIRST_QUOTED).match(text, noun.end, stop) if "PASSWORD" in noun.lists else None
    return noun.end, quoted.end() if quoted else stop


def _pieces(text: str, match: re.Match[str], rule: Rule) -> Iterator[tuple[int, int]]:
    """A candidate without the signs around it; one of several parts as these."""
    if rule.candidate is not _WORD:
        yield match.span()
        return
    if (is_stand_in(match[0]) and not _is_bracketed(match[0])) or "{{" in match[0] or "://" in match[0]:
        return
    quoted = match[0][0] in "\"'" and match[0].endswith(match[0][0])
    joined = not quoted and any(c in ":=/\\" for c in match[0].strip(_AROUND).rstrip("="))
    for part in compiled(_PART).finditer(text, *match.span()) if joined else (match,):
        if word := part[0].strip(_AROUND + "*" if part[0][0] == "*" else _AROUND):
            start = text.index(word, part.start())
            yield start, start + len(word)


def _is_bracketed(word: str) -> bool:
    """True for a word in brackets with a sign and a capital inside: "(hunter2-Tea)", no remark like "(required)"."""
    inner = word[1:-1]
    return word[0] + word[-1] == "()" and not is_stand_in(inner) and not inner.isalnum() and not inner[1:].islower()


def _names_one(word: str) -> bool:
    """True for a name that speaks of a secret and is none: `new-password`, `DB_PASSWORD`."""
    return not _has_a_digit(word) and any("PASSWORD" in noun.lists for noun in find_nouns(word))
