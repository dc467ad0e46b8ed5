"""Places that hold a credential by their structure: columns of tables, options of commands, settings, lines of a form.

What stands in such a place is a secret whatever it looks like, or needs to look less like one than elsewhere. So it is
with the second of a pair whose first is a user. Every pattern looks at a window of fixed length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain

from ufo_experience.redact.candidates import is_chosen, is_key, is_odd, is_told, is_word
from ufo_experience.redact.checksums import is_stand_in
from ufo_experience.redact.hints import Hinted, Searched, hinted
from ufo_experience.redact.introduced import Found
from ufo_experience.redact.names import is_secret_name, words_of

_CELLS = re.compile(r"[^;,\t|\n]+")
_DELIMITED = re.compile(r"[;,\t|]")
_LINE = re.compile(r"[^\n]{1,4000}")

# A word that ends the name of a setting and says that its value lets in, and one that says so of a made-up value only.
_HEADS = frozenset(
    "pass pw pwd passwd password passphrase phrase psk secret passcode pin credential credentials passwort kennwort"
    " motdepasse contraseña clave senha hasło heslo lösenord wachtwoord geheimnis".split()
)
_KEY_HEADS = frozenset("key token auth apikey appid appkey signature sig signing bearer salt".split())
_SHORT_KEYS = frozenset("sig signature apikey appkey auth bearer".split())
_SETTING = re.compile(
    r"(?<![\w.-])(?P<name>[A-Za-z][\w.-]{1,60})[\"']?\]?[ \t]{0,3}(?:=>|[:=])[ \t]{0,3}"
    r"(?:\"(?P<a>[^\"\n]{3,200})\"|'(?P<b>[^'\n]{3,200})'|(?P<c>[^\s\"'<>,;(){}\[\]][^\s\"'<>,;]{2,200}))"
)
_FIELD = re.compile(
    r"(?m)^[ \t]{0,8}(?P<name>[^\n:=]{2,40}?)[ \t]{0,4}:?[ \t]{0,4}"
    r"\n[ \t]{0,8}[\[>|\"]?[ \t]{0,3}(?P<v>[^\s\[\]\n]{5,60})[ \t]{0,3}[\]|\"]?[ \t]{0,4}$"
)
_HEADED = hinted(
    r"(?i)pass|pw|psk|phrase|secret|pin|credential|kennwort|contrase|clave|senha|has[lł]o|heslo|lösenord|wachtwoord"
    r"|geheim|motde",
    "pass pw psk phrase secret pin credential kennwort contrase clave senha haslo hasło heslo lösenord wachtwoord"
    " geheim motde",
)
_KEYED = hinted(r"(?i)key|token|auth|appid|sig|bearer|salt", "key token auth appid sig bearer salt")
_ATTRIBUTES = hinted(
    r"(?i)\b(?:key|name|id|label)\s?[=:]\s?[\"']?(?P<name>[\w .:-]{2,60})[\"']?,?\s{1,8}[\"']?value[\"']?\s?[=:]\s?"
    r"[\"']?(?P<v>[^\"'\n]{3,200})[\"']?",
    "value",
)
_OPTIONS = hinted(  # -p VALUE, -k VALUE, -U user%VALUE of a command
    r"(?m)(?:^|(?<=[\s|;&($`]))(?P<program>[a-z][\w.-]{1,24})(?P<before>(?: [^\n|;&]{0,160}?)?) "
    r"-(?P<option>[pPW](?=[ =]?)|[aukU](?=[ =]))[ =]?[\"']?(?P<v>[^\s\"'|-][^\s\"'|]{3,80})",
    "-",
)
_COPYING = frozenset("cp mv mkdir ssh scp rsync tar python python3 docker kubectl install ps netstat".split())
_JOINING = frozenset("mysql mariadb mysqldump mysqladmin".split())  # with a space, -p asks
_USER = (
    r"(?:login|log ?in|user(?:name|id)?|account|acct|benutzer(?:name)?|usuario|utilisateur|utente|gebruiker|användare"
    r"|логин|uid|machine|creds?|credentials?|zugang\w{0,6}|accès|acceso|accesso|access|basic auth|auth|konto"
    r"|sign ?in|anmeldung|inloggegevens|wi-?fi|wlan|hotspot|вход|ログイン|로그인)"
)
_USERS = (
    "log user account acct benutzer usuario utilisateur utente gebruiker användare uid machine cred zugang acc auth"
    " konto sign anmeldung fi wlan hotspot логин вход ログイン 로그인"
)
_V = r"(?P<v>[^\s,;\"'<>]{4,60})"


def _any(value: str) -> bool:
    return True


# A place, what must be asked of what stands there, and its kind.
_PLACES: tuple[tuple[Hinted, Callable[[str], bool], str], ...] = (
    (hinted(r"WIFI:(?:[A-OQ-Z]:[^;\n]{0,80};){0,4}P:(?P<v>[^;\n]{3,80})", "wifi:"), _any, "password"),
    (hinted(r"(?i)[?&](?:auth|sig|signature|key|apikey|api_key|token|pass|pwd|secret|access|app_?id(?==[0-9a-f]{24}))"
            r"=(?P<v>[^\s&\"'<>]{6,200})", "auth sig key token pass pwd secret access app"), _any, "token"),
    (hinted(r"(?i)\bX-[\w-]{0,20}(?:Auth|Key|Token|Secret)[\w-]{0,12}:\s{0,2}(?P<v>[^\s\"']{8,200})", "x-"),
     _any, "token"),
    (hinted(r"(?i)<(?P<n>pass\w{0,12}|pwd|secret|token|apikey)(?: [^<>]{0,60})?>(?P<v>[^<\n]{3,80})<",
            "<pass <pwd <secret <token <apikey"), _any, "password"),
    (hinted(r"(?<!\S)--?[a-z][\w-]{0,30}?(?:pass|pwd|passwd|password|secret|key|token)[ =][\"']?"
            r"(?P<v>[^\s\"'<>|-][^\s\"'<>|]{4,80})", "pass pwd secret key token"), is_chosen, "password"),
    (hinted(r"\becho (?:-n )?[\"']?(?P<v>[^\s\"'|][^\"'|\n]{2,60}?)[\"']? ?\| ?(?:sudo|su|openssl|cryptsetup|gpg|passwd"
            r"|chpasswd)\b", "echo"), _any, "password"),
    (hinted(r"(?i)\bnet user [^\s/]{1,40} (?P<v>[^\s/*][^\s]{3,60})", "net user ,net user"), _any, "password"),
    (hinted(r"(?i)(?<![\w-])[\w.-]{0,24}(?:sess\w{0,8}|sid|remember\w{0,8}|auth\w{0,8}|token|jwt|csrf\w{0,8})\s?=\s?"
            r"(?P<v>[^\s;,\"']{16,400})", "sess sid remember auth token jwt csrf"), _any, "token"),
    (hinted(r"(?i)\bhttps?://(?P<v>(?:hooks?\.[^\s/\"'<>]{1,80}|[^\s/\"'<>]{1,80}/(?:\w{1,12}/){0,2}(?:web)?hooks?)"
            r"/[^\s\"'<>]{12,300})", "hook"), _any, "webhook"),
    (hinted(r"\b(?:AUTH|[iI][dD][eE][nN][tT][iI][fF][iI][eE][dD] [bB][yY]|requirepass) "
            r"[\"']?(?P<v>[^\s\"'<>;]{5,80})", "auth,identified by,requirepass"), is_told, "password"),
    # A user, and what lets it in: a line of .pgpass, user/password@service, "login: karim / …", admin:…
    (hinted(r"(?<![\w.:/-])[\w.*-]{1,60}:\d{2,5}:[\w*-]{1,40}:[\w*-]{1,40}:(?P<v>[^\s:]{4,60})", ":", digits=2),
     _any, "password"),
    (hinted(r"(?<![\w/.@-])[a-z][\w.-]{1,30}/(?P<v>[^\s/@:]{5,60})@[\w.-]{2,60}", "@"), is_chosen, "password"),
    (hinted(rf"(?i)(?<!\w){_USER}(?!\w)[^\n/]{{0,40}}?(?<![\w/])[\w.@-]{{2,40}}(?: ?/{{1,2}} ?|:){_V}", _USERS),
     is_word, "password"),
    (hinted(r"(?i)(?<![\w/.@-])(?:admin(?:istrator)?|root|guest|user|pi|sa|test|demo|service|oracle|postgres):"
            r"(?P<v>[^\s,;\"'<>/:]{5,60})", ":"), is_odd, "password"),
    (hinted(rf"(?i)\b{_USER}\b\W{{1,3}}[\w.@-]{{2,40}}[ ,;/]{{1,3}}(?:and |und |y |et )?(?:(?:the|its) )?"
            rf"(?:password|passwort|kennwort|pass|pw|pwd|word|code|key|phrase)\b[ :=]{{1,3}}(?:is )?{_V}",
            _USERS), is_told, "password"),
    (hinted(rf"(?i)\buse[sd]?\s{{1,3}}{_V}\s{{1,3}}to\s{{1,3}}(?:get\s{{1,3}}in(?:to)?(?! touch)|log\s?(?:in|on)"
            r"|sign\s?in|unlock)\b", "use"), is_word, "password"),
)  # fmt: skip
PLACED = (_HEADED, _KEYED, _ATTRIBUTES, _OPTIONS, *(place for place, *_ in _PLACES))


def find_slots_of_credentials(searched: Searched) -> Iterator[Found]:
    """Every place of a text that holds a credential by its structure."""
    for one in chain(_tables(searched), _settings(searched), _commands(searched), _fields(searched), _placed(searched)):
        value = searched.text[one.start : one.end]
        if value and not is_stand_in(value) and "{{" not in value and any(map(str.isalnum, value)):
            yield one


def _placed(searched: Searched) -> Iterator[Found]:
    for place, accepts, kind in _PLACES:
        for match in searched.matches(place):
            value = match["v"].rstrip(".,:;)]")
            if accepts(value):
                yield Found(match.start("v"), match.start("v") + len(value), kind)


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
        elif head and head[0] in _KEY_HEADS and is_key(value) and len(value) >= (10 if head[0] in _SHORT_KEYS else 16):
            yield Found(match.start(group), match.end(group), "key")
    for match in searched.matches(_ATTRIBUTES):
        if _has_head(words_of(match["name"])[-1:], match["name"]):
            yield Found(*match.span("v"), "password")


def _has_head(head: list[str], name: str) -> bool:
    """True when a name ends in a word for what lets in: `SmtpPassword`, `key_phrase`; not `password_length`."""
    return bool(head) and head[0] in _HEADS and (not name.isupper() or "_" in name) and name.lower() != "phrase"


def _is_no_word(value: str) -> bool:
    return not value.isalpha() or (not value.islower() and not value[1:].islower())


def _commands(searched: Searched) -> Iterator[Found]:
    """What follows `-p`, `-u user:`, `-U user%` and the like."""
    for match in searched.matches(_OPTIONS):
        value, option = match["v"], match["option"]
        start = match.start("v")
        apart = searched.text[match.end("option")] in " ="
        joined = "%" if option == "U" else ":" if option in "ua" and ":" in value else ""
        if joined:
            name, _, value = value.partition(joined)
            start += len(name) + 1
        elif option in "uU" or match["program"] in _COPYING or (apart and match["program"] in _JOINING):
            continue
        if len(value) >= 4 and (joined or is_chosen(value)) and not (":" in value and not joined):
            yield Found(start, start + len(value), "password")


def _fields(searched: Searched) -> Iterator[Found]:
    """The line below the label of a password field, where it is one word and no label itself."""
    for match in _FIELD.finditer(searched.text) if "\n" in searched.text else ():
        if is_secret_name(match["name"]) and len(match["name"].split()) <= 4 and _is_no_word(match["v"]):
            yield Found(*match.span("v"), "password")
