"""Places that hold a credential by their structure: columns of tables, options of commands, settings, lines of a form.

What stands in such a place is a secret whatever it looks like, or needs to look less like one than elsewhere. Every
pattern looks at a window of fixed length.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ufo_experience.redaction.checksums import is_stand_in
from ufo_experience.redaction.hints import Searched, hinted
from ufo_experience.redaction.names import is_secret_name, words_of
from ufo_experience.redaction.sentences import SAID, find_said, found_at, is_chosen
from ufo_experience.redaction.spoken import KNOWN as _KNOWN
from ufo_experience.redaction.spoken import Found
from ufo_experience.text import lazy_re as re

_CELLS = re.compile(r"[^;,\t|\n]+")
_DELIMITED = re.compile(r"[;,\t|]")
_LINE = re.compile(r"[^\n]{1,4000}")

# A word that ends the name of a setting and says that its value lets in, and one that says so of a made-up value only.
_HEADS = frozenset(
    "pass pw pwd passwd password passphrase phrase psk secret passcode pin credential credentials passwort kennwort"
    " motdepasse contraseña senha hasło heslo lösenord wachtwoord geheimnis".split()
)
_KEY_HEADS = frozenset("key token auth apikey appid appkey signature sig signing bearer salt".split())
_SHORT_KEYS = frozenset("sig signature apikey appkey auth bearer".split())
_SETTING = re.compile(
    r"(?<![\w.-])(?P<name>[A-Za-z][\w.-]{1,60})[\"']?\]?[ \t]{0,3}(?:=>|[:=])[ \t]{0,3}"
    r"(?:\"(?P<a>[^\"\n]{3,200})\"|'(?P<b>[^'\n]{3,200})'|(?P<c>[^\s\"'<>,;(){}\[\]][^\s\"'<>,;]{2,200}))"
)
_ATTRIBUTE = re.compile(
    r"(?i)\b(?:key|name|id|label)\s?[=:]\s?[\"'](?P<name>[\w .:-]{2,60})[\"'],?\s{1,4}[\"']?value[\"']?\s?[=:]\s?"
    r"[\"'](?P<v>[^\"'\n]{3,200})[\"']"
)
_WIFI = re.compile(r"WIFI:(?:[A-OQ-Z]:[^;\n]{0,80};){0,4}P:(?P<v>[^;\n]{3,80})")
_QUERY = re.compile(
    r"(?i)[?&](?:auth|sig|signature|key|apikey|api_key|token|pass|pwd|secret|access"
    r"|app_?id(?==[0-9a-f]{24}))=(?P<v>[^\s&\"'<>]{6,200})"
)
_HEADER = re.compile(r"(?i)\bX-[\w-]{0,20}(?:Auth|Key|Token|Secret)[\w-]{0,12}:\s{0,2}(?P<v>[^\s\"']{8,200})")
_OPTION = re.compile(  # -p VALUE, -k VALUE, -U user%VALUE of a command
    r"(?:^|(?<=[\s|;&($`]))(?P<program>[a-z][\w.-]{1,24})(?P<before>(?: [^\n|;&]{0,160}?)?) "
    r"-(?P<option>[pPW](?=[ =]?)|[akU](?=[ =]))[ =]?[\"']?(?P<v>[^\s\"'|-][^\s\"'|]{3,80})",
    re.MULTILINE,
)
_LONG_OPTION = re.compile(
    r"(?<!\S)--?[a-z][\w-]{0,30}?(?:pass|pwd|passwd|secret)[ =][\"']?(?P<v>[^\s\"'<>|-][^\s\"'<>|]{4,80})"
)
_PIPED = re.compile(
    r"\becho (?:-n )?[\"']?(?P<v>[^\s\"'|][^\"'|\n]{2,60}?)[\"']? ?\| ?(?:sudo|su|openssl|cryptsetup|gpg|passwd"
    r"|chpasswd)\b"
)
_NET_USER = re.compile(r"(?i)\bnet user [^\s/]{1,40} (?P<v>[^\s/*][^\s]{3,60})")
_FIELD = re.compile(
    r"(?m)^[ \t]{0,8}(?P<name>[^\n:=]{2,40}?)[ \t]{0,4}:?[ \t]{0,4}"
    r"\n[ \t]{0,8}[\[>|\"]?[ \t]{0,3}(?P<v>[^\s\[\]\n]{5,60})[ \t]{0,3}[\]|\"]?[ \t]{0,4}$"
)
_HEADED = hinted(
    re.compile(
        r"(?i)pass|pw|psk|phrase|secret|pin|credential|kennwort|contrase|senha|has[lł]o|heslo|lösenord|wachtwoord"
        r"|geheim|motde"
    ),
    "pass pw psk phrase secret pin credential kennwort contrase senha haslo hasło heslo lösenord wachtwoord geheim"
    " motde",
)
_KEYED = hinted(re.compile(r"(?i)key|token|auth|appid|sig|bearer|salt"), "key token auth appid sig bearer salt")
_PARTS = (
    hinted(_WIFI, "wifi:"),
    hinted(_QUERY, "auth sig key token pass pwd secret access app"),
    hinted(_HEADER, "x-"),
)
_ATTRIBUTES = hinted(_ATTRIBUTE, "value")
_OPTIONS = hinted(_OPTION, "-")
_LONG_OPTIONS = hinted(_LONG_OPTION, "pass pwd secret")
_PIPES = hinted(_PIPED, "echo")
_NET_USERS = hinted(_NET_USER, "net user ,net user")
HINTED = (*SAID, _HEADED, _KEYED, *_PARTS, _ATTRIBUTES, _OPTIONS, _LONG_OPTIONS, _PIPES, _NET_USERS)


def find_slots_of_credentials(searched: Searched) -> Iterator[Found]:
    """Every place of a text that holds a credential by its structure."""
    text = searched.text
    found = chain(_tables(searched), _settings(searched), _commands(searched), _fields(searched), find_said(searched))
    for one in found:
        value = text[one.start : one.end]
        if one.end > one.start and not is_stand_in(value) and "{{" not in value and any(map(str.isalnum, value)):
            yield one


def _tables(searched: Searched) -> Iterator[Found]:
    """The cells below a heading that names a password."""
    if next(searched.matches(_HEADED), None) is None:
        return
    text = searched.text
    columns: dict[int, str] = {}
    delimiter, width = "", 0
    for line in _LINE.finditer(text):
        cells = list(_split(line))
        if columns and len(cells) == width and delimiter in line[0]:
            for number in columns:
                value = text[slice(*cells[number])]
                if len(value) >= 4 and not set(value) <= set("-=: ") and not _is_words(value):
                    yield Found(*cells[number], "password")
            continue
        named = {n: text[slice(*cell)] for n, cell in enumerate(cells) if _is_heading(text[slice(*cell)])}
        columns, width = (named, len(cells)) if len(cells) >= 2 else ({}, 0)
        sign = _DELIMITED.search(line[0])
        delimiter = sign[0] if sign else ""


def _split(line: re.Match[str]) -> Iterator[tuple[int, int]]:
    for cell in _CELLS.finditer(line[0]):
        bare = cell[0].strip()
        if bare:
            start = line.start() + cell.start() + cell[0].index(bare[0])
            yield start, start + len(bare)


def _is_heading(cell: str) -> bool:
    words = words_of(cell)
    return 0 < len(words) <= 2 and words[-1] in _HEADS and cell.replace(" ", "").isalpha()


def _is_words(value: str) -> bool:
    """True for a word or two of prose, such as "unchanged" or "not set"."""
    return value.replace(" ", "").isalpha() and value[1:].islower() and len(value) < 10


def _settings(searched: Searched) -> Iterator[Found]:
    text = searched.text
    named = any(next(searched.matches(one), None) for one in (_HEADED, _KEYED))
    for match in _SETTING.finditer(text) if named else ():
        group = next(name for name in "abc" if match[name] is not None)
        head = words_of(match["name"])[-1:]
        value = match[group]
        if _has_head(head, match["name"]) and (group != "c" or _is_no_word(value) or "\n" in text):
            yield Found(match.start(group), match.end(group), "password")
        elif head and head[0] in _KEY_HEADS and _looks_made(value, 10 if head[0] in _SHORT_KEYS else 16):
            yield Found(match.start(group), match.end(group), "key")
    for match in searched.matches(_ATTRIBUTES):
        if _has_head(words_of(match["name"])[-1:], match["name"]):
            yield found_at(match)
    for pattern in _PARTS:
        yield from (found_at(match) for match in searched.matches(pattern))


def _has_head(head: list[str], name: str) -> bool:
    """True when a name ends in a word for what lets in: `SmtpPassword`, `key_phrase`; not `password_length`."""
    return bool(head) and head[0] in _HEADS and (not name.isupper() or "_" in name)


def _is_no_word(value: str) -> bool:
    return not value.isalpha() or (not value.islower() and not value[1:].islower())


def _looks_made(value: str, least: int) -> bool:
    """True for a key: so many characters or more, letters and figures, no file, address or name of a thing."""
    digits = sum(c.isdigit() for c in value)
    return (
        len(value) >= least
        and digits >= 3
        and digits < len(value)
        and not _KNOWN.fullmatch(value)
        and not any(c in "/\\()<>{}@ " for c in value)
    )


def _commands(searched: Searched) -> Iterator[Found]:
    for match in searched.matches(_OPTIONS):
        value, option = match["v"], match["option"]
        start = match.start("v")
        if option == "U":
            name, sign, value = value.partition("%")
            start += len(name) + 1
            if not sign:
                continue
        if len(value) >= 4 and (option == "U" or is_chosen(value)) and ":" not in value:
            yield Found(start, start + len(value), "password")
    for match in searched.matches(_LONG_OPTIONS):
        if is_chosen(match["v"]):
            yield found_at(match)
    for pattern in (_PIPES, _NET_USERS):
        yield from (found_at(match) for match in searched.matches(pattern))


def _fields(searched: Searched) -> Iterator[Found]:
    """The line below the label of a password field, where it is one word and no label itself."""
    for match in _FIELD.finditer(searched.text) if "\n" in searched.text else ():
        if is_secret_name(match["name"]) and len(match["name"].split()) <= 4 and _is_no_word(match["v"]):
            yield found_at(match)
