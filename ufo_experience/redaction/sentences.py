"""What a sentence says of a secret by speaking of getting in or of keeping quiet.

It speaks of locks and accounts, of numbers that open, of answers to questions, of how a word is spelled.

Every pattern looks at a window of fixed length.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ufo_experience.redaction.hints import Searched, hinted
from ufo_experience.redaction.readings import digit_of, speaks_of_characters
from ufo_experience.redaction.spoken import KNOWN as _KNOWN
from ufo_experience.redaction.spoken import ONE_TIME, ONE_TIME_HINTS, Found
from ufo_experience.redaction.spoken import STRONG as _STRONG
from ufo_experience.redaction.spoken import STRONG_HINTS as _STRONG_HINTS
from ufo_experience.text import lazy_re as re

_LINE = re.compile(r"[^\n]{1,4000}")
_LOCKS = (  # what is locked
    r"(?:pad|bike|door|gate|dead|key)?lock|lock ?box|locker|safe|vault|alarm\w{0,10}|keypad|suitcase"
    r"|voicemail|front door"
    r"|back door|gate"
    r"|garage|door|bank card|debit card|credit card|cash (?:machine|point)|atm|sim|handy|beamer"
    r"|\w{0,12}(?:tresor|schloss|schloß|tür|alarmanlage|koffer)|cadenas|coffre|alarme|digicode|candado|alarma"
    r"|caja fuerte"
    r"|cassaforte|lucchetto|allarme|kluis|\w{0,8}slot|hänglås|kassaskåp|lås|sejf|kłódk\w|zamek|замок|сейф"
    r"|домофон|锁|门禁|금고"
)
_ACCESS = (  # and what lets in, or is let into
    rf"{_LOCKS}|wi-?fi|wlan|hotspot|router|nas|zugang|anmeldung|unlocks?|unlocked|opens|decrypts?|lets? (?:you"
    rf"|me|us|them)"
    r" in|gets? you in|\w{0,4}sperr\w{0,6}|\w{0,16}schlüssel\w{0,4}|meldet sich|se connecte|entra|accedi"
    r"|\w{0,6}(?:inlog"
    r"|anmelde|zugangs)\w{0,10}|account|konto|konta|login|log ?in|logs? (?:in|on)|sign ?in"
    r"|guest network|shared (?:in)?box|panel|portal|lösen|locks you out"
)
_LOCKED = re.compile(rf"(?i)(?<![^\W_])(?:{_LOCKS})(?!\w)")
_LETS_IN = re.compile(rf"(?i)(?<![^\W_])(?:{_ACCESS})(?![^\W\d_])|パス(?=は)|密钥|キー(?=は)")
_QUIET = re.compile(  # what is said of a secret, and of nothing else
    r"(?i)don'?t tell|do not (?:tell|share|pass)|keep (?:it|this|that) (?:to yourself|secret|safe|offline)|between us"
    r"|nicht weiter(?:sagen|geben)|für dich behalten|ne (?:le )?(?:dis|répète) (?:à|rien)|no (?:se )?lo digas"
    r"|non dirlo"
    r"|(?:delete|burn|destroy) (?:this|after)|case[- ]sensitive|all (?:in )?(?:lower|upper)[- ]?case"
    r"|with (?:the )?spaces"
    r"|no spaces|without spaces|mit leerzeichen|ohne leerzeichen|alles klein|kleingeschrieben|all one word"
    r"|as one word"
    r"|in einem wort|capital (?:letter|[A-Z]\b)|attaché|tout en minuscules|todo (?:junto|en minúsculas)|said slowly"
    r"|(?:name|pet|birthday|geburtstag|hint)\b[^\n]{0,40}?(?:,| so | also )"
)
_SAID = (
    r"(?:\b(?:it's|it is|c'est|is|are|was|be|becomes|reads|ist|sind|lautet|est|es|son|era|è|é|är|er|jest|to"
    r"|with|via|using|by"
    r"|type|try|use"
    r"|enter|says?|now|jetzt|steht|mit|durch|avec|par|con|med|przez|so|also|then|dann)|[:=→>»–](?=\s)|は|[。：])"
)
_AFTER_ACCESS = re.compile(rf"{_SAID}[ \t]{{0,2}}[\"'“„«]?(?P<v>[^\s\"'“”„«»,;]{{5,60}})", re.IGNORECASE)
_PHRASE_SAID = re.compile(
    r"(?i)(?:\b(?:is|are|ist|lautet|est|es|è|jest)|[:=])[ \t]{1,2}(?P<v>[^\W\d_]{2,16}(?:[ -][^\W\d_]{2,16}){1,7})"
    r"(?=[ \t]?[,(;–-])"
)
_KEYPAD = re.compile(
    r"(?i)(?<![\w.,-])(?P<v>\d{3,8})[ ,]{1,2}(?:(?:and|then|followed by|plus|und|dann|puis|et|y|luego|e|poi)[ ,])?"
    r"(?:the )?(?:hash|pound|star|#|asterisk|raute|stern|dièse|étoile|almohadilla|cancelletto|(?<=then )press"
    r"|(?<=then the )\w{1,10} button)"
    r"(?: key|taste)?(?!\w)"
)
_NUMBER = re.compile(
    rf"(?i)(?:{_SAID}|\bpunch in\b|\bdial\b|,(?=[ ][\d -]{{4,12}}(?:[.!]|$)))[ \t]{{0,2}}(?P<v>\d{{4,8}}"
    rf"|\d\d(?:[ -]\d\d){{1,3}}|\d(?:[ -]\d){{3,7}})"
    r"(?![\w%°€$£]|[.,:/-]\d|[ ]?(?:kg|g|cm|mm|km|m|euros?|eur|usd|dollars?|pounds?|people|am|pm|o'clock|uhr|min"
    r"|files?"
    r"|items?|pages?|rows?|times|users?|hours?|days?|kb|mb|gb)\b)"
)
_OPENED = re.compile(
    r"(?i)\b(?:opens?|unlocks?|entsperrt?|öffnet|ouvre|abre|apre|otwiera)\b[^\d\n]{0,24}?\b(?:with|mit|avec|con"
    r"|z|by|using)\s"
    r"(?P<v>\d{4,8})(?!\w|[.,:/-]\d| ?(?:kg|mm|cm|euros?|eur|files?|items?)\b)"
)
_CODE_IS = re.compile(
    r"(?i)(?<!area )(?<!postal )(?<!post )(?<!zip )(?<!country )(?<!error )(?<!status )(?<!exit )(?<!product )"
    r"(?<!order )"
    r"(?<!colour )(?<!color )(?<!dialling )(?<!article )\bcode\b(?! (?:postal|article|erreur|promo"
    r"|barre))[^\d\n:=]{0,32}?(?:\b(?:is|ist|est|es|è|är)\b"
    r"|[:=])\s{1,2}"
    r"(?P<v>\d{4,8})(?=[.,;!?)]?(?:\s|$))"
)
_USER_AND = re.compile(  # "login uwe password grillkohle": whatever stands there
    rf"(?i)\b(?:login|user(?:name)?|account|benutzer|usuario|utilisateur|utente|gebruiker|användare|логин)\b\W{{1,3}}"
    rf"[\w.@-]{{2,40}}[ ,;/]{{1,3}}(?:{_STRONG})(?!\w)[ :=]{{1,3}}[\"']?(?P<v>[^\s,;\"'<>]{{4,60}})"
)
_PGPASS = re.compile(r"(?<![\w.:/-])[\w.*-]{1,60}:\d{2,5}:[\w*-]{1,40}:[\w*-]{1,40}:(?P<v>[^\s:]{4,60})")
_SAYS = re.compile(
    rf"(?i)(?<!\w)(?:{_STRONG})(?!\w)[^\n:=]{{0,32}}?(?:\b(?:is|ist|lautet|est|c'est|es|è|é|är|er|jest|on|това е"
    rf"|это)\b|[:=–—])\s{{1,2}}"
    r"(?P<v>[^\s\"'<>,;:/\\()]{2,40}[_&+@*#%.][^\s\"'<>,;:/\\()]{2,40})"
)
_VOUCHER = re.compile(
    r"(?i:\b(?:(?:backup|recovery|rescue|emergency|ersatz|notfall)[ -]?codes?(?: ?\d{1,2})?|voucher"
    r"|gift ?card|gutschein\w{0,6}|licen[cs]e(?: key)?|activation(?: (?:key|code))?"
    r"|(?:invit\w{0,8}|einladungs?|zugangs?|freischalt\w{0,4}|aktivierungs?|join)[ -]?code|redeem"
    r"|coupon|product key))\b"
    r"[^\n\w]{0,4}(?:(?:is|code|no|nr)[^\n\w]{1,3})?(?P<v>(?=[A-Z-]{0,16}\d)[A-Z\d]{2,8}(?:-[A-Z\d]{1,8}){1,6})"
    r"(?![\w-])"
)
_SENT = rf"(?:(?-i:TAN|OTP)|{ONE_TIME})"
_FOR_ONCE = (
    r"(?P<v>(?-i:(?=[A-Z]{0,7}\d)[A-Z\d]{4,8}|(?=[A-Z-]{0,7}\d)[A-Z\d]{3,6}-[A-Z\d]{2,6}))(?![\w%€$£]|[.,:/-]\d)"
)
_SENT_CODE = re.compile(
    rf"(?i)(?<![^\W\d_]){_SENT}(?:[^\w\n]{{1,4}}|[^\n]{{0,64}}?(?:\b(?:is|ist|lautet|est|es|è|är|jest)\b|[:=】])"
    rf"[ \t]{{0,2}}){_FOR_ONCE}"
)
_IS_SENT_CODE = re.compile(
    rf"(?i)(?<![\w.,])(?:[A-Z]-)?(?P<v>\d{{4,8}}) (?:is|ist|est|es|è|är) (?:your|the|ihr|dein|votre|ton|su|tu|il tuo"
    rf"|din)[^\n]{{0,24}}? {_SENT}"
)
_HASHED = re.compile(r"(?<![\w#.,/-])(?P<v>\d{4,8})#(?!\w)")
_COMBINATION = re.compile(
    r"(?i)\b(?:combination|kombination|combinaison|combinación|combinazione|cijferslot)\b[^\d\n]{0,24}"
    r"(?P<v>(?=\d[ \d-]\d)\d{1,8}(?:[ -]\d{1,4}){0,5})(?![\w%]|[.,:/]\d)"
)
_KEY_NAMED = re.compile(
    r"(?i)\b(?:api|access|auth|secret|deploy|service)[ _-]?(?:token|key)\b(?: is| ist|:|=)?\s{1,2}"
    r"(?P<v>(?=(?:[a-z]{0,12}\d){3})[a-z\d_-]{8,120})(?![\w./])"
)
_PHRASE_NAMED = re.compile(
    r"(?i)\b(?:pass ?phrase|recovery (?:words|phrase)|seed (?:words|phrase)|mnemonic|merksatz"
    r"|phrase de passe)\b[^\n:=]{0,40}?"
    r"(?:\b(?:is|are|ist|lautet|est)\b|\)|:)\s{1,2}"
    r"(?P<v>[a-z]{2,16}(?:[ -][a-z]{2,16}){2,11})(?=[.!]?(?:\s*$|\n))"
)
_PROSE = re.compile(
    r"(?i)\b(?:required|needed|wrong|incorrect|missing|to|the|not|must|an?|be|case|too|or|of|was|has|been"
    r"|stored|kept|for"
    r"|never|only|set|changed|shown|long|short|und|der|die|das|nicht)\b"
)
_COLON_PAIR = re.compile(
    r"(?i)\b(?:basic auth|auth|login|creds?|credentials?|zugang\w{0,6}|accès"
    r"|acceso)\b[^\n:/]{0,20}?\s[a-z][\w.@-]{1,30}:"
    r"(?P<v>[^\s,;\"'<>/]{5,60})"
)
_USER_SLASH = re.compile(r"(?<![\w/.@:-])[a-z][\w.-]{1,30}/(?P<v>[^\s/@:]{5,60})@[\w.-]{2,60}")  # user/password@service
_ENTERS_WITH = re.compile(
    r"(?i)(?<!\w)(?:log(?:ged|s)? ?(?:in|on)|sign(?:ed|s)? in|logga in|logg inn|log ind|inloggen|einloggen"
    r"|anmelden|se connecter"
    r"|connecte-toi|iniciar sesión|entrar|entra|accedi|accedere|zaloguj się|wpisz|войти|вход)"
    r"\s(?:with|using|med|mit|con|avec|com|met|z|с|по)?\s?(?P<v>[^\s\"'<>,;:/]{6,60})"
)
_CODE_FOR = re.compile(
    r"(?i)\bcode (?:for|voor|für|pour|para|per|van|to|of|till)\b[^\n:=]{0,32}?(?:\b(?:is|ist|est|es|è|är)\b|[:=])\s"
    r"(?P<v>[^\s\"'<>,;:/]{5,60})"
)
_NETWORK_HAS = re.compile(r"(?i)\b(?:wi-?fi|wlan|hotspot)\s(?:key |code |pw )?(?P<v>[^\s\"'<>,;:/()]{6,60})")
_COUNTED = re.compile(
    r"(?i)\b(?P<count>two|three|four|five|six|seven|eight|drei|vier|fünf|sechs|trois|quatre|tres|cuatro|tre"
    r"|quattro)\b"
    r"[^\d\n]{0,16}\b(?:back|front|card|sticker|key|label|rückseite|dos|dorso"
    r"|retro)\b[^\d\n]{0,24}(?P<v>\d{3,8})(?!\w|[.,]\d)"
)
_COUNTS = dict(
    two=2, three=3, four=4, five=5, six=6, seven=7, eight=8, drei=3, vier=4, fünf=5, sechs=6, trois=3, quatre=4, tres=3,
    cuatro=4, tre=3, quattro=4,
)  # fmt: skip
_ALOUD = re.compile(r"[^\W\d_]{2,10}(?:[ ,-]{1,2}[^\W\d_]{2,10}){3,11}")
_APART = re.compile(r"(?<!\S)[^\W_](?:[ -][^\W_]){5,23}(?![^\s.,;!?])")
_BASE32 = re.compile(
    r"(?i:\b(?:2fa|mfa|otp|totp|authenticator|seed|setup|secret)\b)[^\n]{0,40}?(?<!\w)(?P<v>[A-Z2-7]{16,64})(?!\w)"
)
_CARD = re.compile(  # with the month it runs out: a digit of it may be wrong
    r"(?<![\w.,+#-])(?P<v>[3-6]\d{3}([ -])\d{4}\2\d{4}\2\d{4})(?![\w-]"
    r"|[.,]\d)(?=[^\n]{0,24}?(?<!\d)[01]?\d/\d\d(?!\d))"
)
_HOOK = re.compile(
    r"(?i)\bhttps?://(?:hooks?\.[^\s/\"'<>]{1,80}"
    r"|[^\s/\"'<>]{1,80}/(?:\w{1,12}/){0,2}(?:web)?hooks?)/[^\s\"'<>]{12,300}"
)
_NUMBERED = re.compile(  # a person's or an account's number, behind the word for it
    r"(?i:(?<!\w)(?:rv|sv|ahv|sozialversicherungs|versicherten|steuer|national insurance|ni|nhs|insurance"
    r"|social insurance"
    r"|tax(?:payer)?|passport|reisepass|ausweis|document|driving licen[cs]e|licen[cs]e holder|sort code|routing"
    r"|bsb|a/c"
    r"|(?:account|konto|bank)(?= ?(?:nummer|number|no|nr|is|ist|[:#]))|dni|nif|codice fiscale|personnummer|pesel"
    r"|bsn)[- ]?(?:nummer|number|no\.?|nr\.?|id)?"
    r"(?: (?:is|ist|lautet|est|es))?[:#]?)[ \t]{1,2}(?P<v>(?=[A-Z\d]{0,3}[ -]?\d)[A-Z\d]{1,10}"
    r"(?:[ -][A-Z\d]{1,6}){0,5})(?!\w)"
)
_UNDER_DOCUMENT = re.compile(
    r"(?i:(?:type|enter|write|put)) (?P<v>(?=\w{0,8}\d)[A-Z0-9]{7,12}) (?i:(?:under|in|as"
    r"|into) (?:the )?(?:document|passport|id))"
)
_PET = re.compile(
    r"(?i)\b(?:memorable|first|favou?rite|childhood|security|mother'?s)\s(?:pet|place|name|word|date|teacher"
    r"|school|friend|street"
    r"|car|answer|maiden name)\b[^\n.]{0,24}?\b(?:is|was|=|:)\s(?P<v>[^\n,.;]{3,40})"
)
_ANSWERED = re.compile(
    r"(?i)(?:sicherheitsfrage|security question|question (?:secrète|de sécurité)|pregunta de seguridad"
    r"|domanda di sicurezza)"
    r"[^\n]{0,60}?(?:hab(?:e)?|answered|entered|put|mis|puse|messo|->|=|:)\s(?P<v>[^\s\"“”„«»,;?]{4,40})(?=\s"
    r"|[.,;]|$)"
)
_SLASHED = re.compile(
    r"(?i)(?<!\w)(?:zugang|вход|логин|ログイン|로그인|\w{0,4}log(?:in|geg)\w{0,8}|access|accès|acceso|accesso|creds"
    r"|account|konto|user"
    r"|sign ?in|anmeldung)\b[^\n/]{0,40}?"
    r"[\w.@-]{2,30} ?/ ?(?P<v>[^\s/\[\](){}\"',;]{5,40})"
)
_NETWORK = re.compile(r"(?i)wi-?fi|wlan|hotspot")
_CHORD = re.compile(r"(?i)(?:ctrl|control|alt|shift|cmd|meta|win)\w{0,4}[+-]")
_LOCK_HINTS = (
    "lock safe vault alarm keypad suitcase voicemail door gate garage card cash atm sim handy beamer tresor schlo tür"
    " koffer cadenas coffre digicode candado caja cassaforte lucchetto allarme kluis slot lås kassask sejf kłódk zamek"
    " замок сейф домофон 锁 门禁 금고"
)
_ACCESS_HINTS = (
    f"{_LOCK_HINTS} fi wlan hotspot router nas zugang anmeldung opens decrypt let get sperr schlüssel meldet connecte"
    " entra accedi inlog anmelde account konto konta log sign guest shared panel portal lösen パス 密钥 キー"
)
_LOCKED_NAMES = hinted(_LOCKED, _LOCK_HINTS)
_ENTRIES = hinted(_LETS_IN, _ACCESS_HINTS)
_QUIETS = hinted(
    _QUIET,
    "tell,share,pass,keep,between us,weiter,behalten,dis ,rép,lo digas,dirlo,delete,burn,destroy,case,spaces,leerz"
    ",klein,word,wort,capital,attach,minusc,minúsc,junto,slowly,name,pet,birthday,geburtstag,hint",
)
_BY_PLACE = (
    (hinted(_KEYPAD, digit=True), "code"),
    (hinted(_OPENED, "open unlock sperr ffnet ouvre abre apre otwiera", digit=True), "code"),
    (hinted(_CODE_IS, "code", digit=True), "code"),
    (hinted(_SENT_CODE, f"tan otp {ONE_TIME_HINTS}"), "code"),
    (hinted(_IS_SENT_CODE, f"tan otp {ONE_TIME_HINTS}", digit=True), "code"),
    (hinted(_VOUCHER, "voucher gift gutschein licen activation redeem coupon product code", digit=True), "code"),
    (hinted(_BASE32, "2fa mfa otp authenticator seed setup secret"), "key"),
    (hinted(_HASHED, "#", digit=True), "code"),
    (hinted(_COMBINATION, "combin kombination cijferslot", digit=True), "code"),
    (hinted(_KEY_NAMED, "token key", digit=True), "key"),
    (hinted(_CARD, digit=True), "card"),
    (hinted(_NUMBERED, digit=True), "document number"),
    (hinted(_UNDER_DOCUMENT, "document passport id", digit=True), "document number"),
)
_SAYING = (
    hinted(_PET, "memorable first favo childhood security mother"),
    hinted(_ANSWERED, "sicherheitsfrage question pregunta domanda"),
    hinted(_USER_AND, "login user account benutzer usuario utilisateur utente gebruiker användare логин"),
    hinted(_PGPASS, ":", digit=True),
    hinted(_SAYS, _STRONG_HINTS),
)
_CHOSEN_BEHIND = (
    hinted(_COLON_PAIR, ":"),
    hinted(_USER_SLASH, "@"),
    hinted(
        _ENTERS_WITH,
        "log sign inloggen einloggen anmelden connecte iniciar entra accedi accedere zaloguj wpisz войти вход",
    ),
    hinted(_CODE_FOR, "code"),
    hinted(_NETWORK_HAS, "wi-fi wifi wlan hotspot"),
)
_PHRASES_NAMED = hinted(_PHRASE_NAMED, "phrase recovery seed mnemonic merksatz")
_COUNTINGS = hinted(_COUNTED, digit=True)
_SLASHES = hinted(_SLASHED, "/")
_HOOKS = hinted(_HOOK, "hook")
_SPACED = hinted(_APART)
SAID = (
    _LOCKED_NAMES, _ENTRIES, *(one for one, _ in _BY_PLACE), *_SAYING, *_CHOSEN_BEHIND, _PHRASES_NAMED,
    _COUNTINGS, _SLASHES, _HOOKS, _QUIETS,
)  # fmt: skip
_YEAR = re.compile(r"(?:19|20)\d\d")
_WINDOW = 96


def find_said(searched: Searched) -> Iterator[Found]:
    """Every place of a text where a sentence says a secret."""
    yield from chain(_locked(searched), _quiet(searched), _numbers(searched), _answers(searched))


def found_at(match: re.Match[str], kind: str = "password", group: str = "v") -> Found:
    """The place of a group of a match, without the sign that ends the sentence."""
    value, start = match[group], match.start(group)
    return Found(start, start + len(value if kind == "password" else value.rstrip(".,;:!?")), kind)


def is_chosen(value: str) -> bool:
    """True for letters with figures or signs in no form that names, paths or numbers have."""
    if (
        _KNOWN.fullmatch(value)
        or value[0] in "-$"
        or any(c in "/\\=<>()`'" for c in value)
        or "::" in value
        or not any(c.isalpha() for c in value)
    ):
        return False
    digit = any(c.isdigit() for c in value)
    lower, upper = any(c.islower() for c in value), any(c.isupper() for c in value)
    sign = any(c in "!$%^&*~#§?+@" for c in value[:-1]) or value.endswith(("!", "#", "$", "*"))
    sign = sign or ("_" in value and (upper or digit))
    return (digit and lower) or (sign and lower) or (lower and upper and any(c in "-." for c in value[1:-1]))


def _locked(searched: Searched) -> Iterator[Found]:
    """What is said of something locked, behind "is", a colon or "with": chosen words, and numbers."""
    text = searched.text
    for match in searched.matches(_ENTRIES):
        end = _line_end(text, match.end())
        for said in _AFTER_ACCESS.finditer(text, match.end(), end):
            value = said["v"].rstrip(".:!?)]") if not said["v"].endswith("!") else said["v"]
            network = _NETWORK.fullmatch(match[0]) and len(value) >= 8 and value.islower() and value.isalnum()
            if is_chosen(value) and (network or _reads_odd(value)):
                yield Found(said.start("v"), said.start("v") + len(value), "password")
    for match in searched.matches(_SLASHES):
        if is_chosen(match["v"]):
            yield found_at(match)


def _reads_odd(value: str) -> bool:
    """True for a chosen word that is no name of a machine or file: a sign no name has, or letters around figures."""
    if (
        _KNOWN.fullmatch(value)
        or re.search(r"\.[a-z]{2,4}$", value)
        or re.fullmatch(r"(?i)[a-z]+[-_.]?\d{1,3}|[a-z\d]+(?:[-.][a-z\d]+)*\.[a-z]{2,6}", value)
    ):
        return False
    return len(value) >= 6 and not _is_name_of_a_thing(value) and not _CHORD.match(value)


def _is_name_of_a_thing(value: str) -> bool:
    """True for small letters and figures between hyphens, one part all figures: `text-embedding-3-small`."""
    parts = re.split("[-:]", value)
    return (
        len(parts) > 1
        and any(part.isdigit() for part in parts)
        and all(p.isalnum() and not p.isupper() for p in parts)
        and value.islower()
    )


def _quiet(searched: Searched) -> Iterator[Found]:
    """What stands in a line that asks to keep it, or says how it is spelled."""
    text = searched.text
    for line in _LINE.finditer(text) if next(searched.matches(_QUIETS), None) else ():
        said = _QUIET.search(line[0], 0, 600)
        if not said:
            continue
        for match in _AFTER_ACCESS.finditer(text, line.start(), line.end()):
            value = match["v"].rstrip(".:?)]")
            if is_chosen(value) or (value.count("-") >= 2 and value[0].isalnum()):
                yield Found(match.start("v"), match.start("v") + len(value), "password")
        for match in _PHRASE_SAID.finditer(text, line.start(), line.end()):
            if match.end("v") <= line.start() + said.start() <= match.end("v") + 4:
                yield found_at(match)


def _numbers(searched: Searched) -> Iterator[Found]:
    text = searched.text
    for match in searched.matches(_LOCKED_NAMES) if searched.has_digit else ():
        for said in _NUMBER.finditer(text, match.end(), min(_line_end(text, match.end()), match.end() + _WINDOW)):
            if not _YEAR.fullmatch(said["v"]):
                yield found_at(said, "code")
    for match in searched.matches(_COUNTINGS):
        if _COUNTS[match["count"].casefold()] == len(match["v"]):
            yield found_at(match, "code")
    for match in _ALOUD.finditer(text) if speaks_of_characters(text) else ():
        yield from _aloud(match)
    for match in searched.matches(_SPACED):
        if any(map(str.isdigit, match[0])) and any(map(str.isalpha, match[0])):
            yield Found(*match.span(), "password")
    yield from _by_pattern(searched)


def _by_pattern(searched: Searched) -> Iterator[Found]:
    for pattern, kind in _BY_PLACE:
        for match in searched.matches(pattern):
            if kind != "document number" or sum(map(str.isdigit, match["v"])) >= 5:
                yield found_at(match, kind)
    yield from (Found(*match.span(), "webhook") for match in searched.matches(_HOOKS))


def _aloud(match: re.Match[str]) -> Iterator[Found]:
    """Runs of four digits or more that are written as words."""
    run: list[re.Match[str]] = []
    for word in [*re.finditer(r"[^\W\d_]+", match[0]), None]:
        if word is not None and digit_of(word[0].casefold()):
            run.append(word)
            continue
        if len(run) >= 4:
            yield Found(match.start() + run[0].start(), match.start() + run[-1].end(), "code")
        run = []


def _answers(searched: Searched) -> Iterator[Found]:
    for pattern in _SAYING:
        for match in searched.matches(pattern):
            if not _KNOWN.fullmatch(match["v"]):
                yield found_at(match)
    for pattern in _CHOSEN_BEHIND:
        for match in searched.matches(pattern):
            value = match["v"].rstrip(".:?)")
            if is_chosen(value) and not re.search(r"\.[a-z]{2,4}$", value):
                yield Found(match.start("v"), match.start("v") + len(value), "password")
    for match in searched.matches(_PHRASES_NAMED):
        if not _PROSE.search(match["v"]):
            yield found_at(match)


def _line_end(text: str, start: int) -> int:
    stop = text.find("\n", start, start + _WINDOW)
    return stop if stop >= 0 else min(len(text), start + _WINDOW)
