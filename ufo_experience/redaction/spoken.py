"""The words that name a secret, in forty languages, and sentences that say one without such a word.

"The four digits are …", "user …, word …", "we use … to get in", "the password is “…”": the turn of the sentence says
that a secret follows. Every pattern looks at a window of fixed length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ufo_experience.redaction.checksums import is_stand_in
from ufo_experience.redaction.hints import Searched, hinted
from ufo_experience.text import lazy_re as re


class Found(NamedTuple):
    """A place in a text and the kind of secret that stands there."""

    start: int
    end: int
    kind: str


# Words that name a password. Those of the first group are names of nothing else; after the others the value must look
# chosen beyond doubt.
STRONG = (
    r"pass\W?words?|pass\W?wd|passwd|passphrases?|passcodes?|pass\W?phrase|pa\$\$\w+|pwd?s?|p/w|pass|keepass|"
    r"creds?|credentials?|sudo"
    r"|passwort\w*|kennwort\w*|kennwörter|zugangsdaten|mots? de passe|mdp|contraseñas?|contrasenas?|clave|"
    r"senhas?|palavra-passe|parole?"
    r"|parola|wachtwoord\w*|lösenord\w*|lösen|losenord\w*|passord\w*|adgangskode\w*|kodeord\w*|salasana\w*|hasło|"
    r"hasła|haslo|heslo|hesla|jelszó\w*"
    r"|jelszo\w*|parol[aăeiuy]\w*|lozinka|lozinke|lozinku|geslo|zaporka|parool|slaptažodis|lykilorð|"
    r"contrasenya|pasahitza|şifre\w*|sifre\w*"
    r"|parola\w*|пароль|пароля|пароле|паролем|парола|лозинка|κωδικός(?: πρόσβασης)?|συνθηματικό|mật khẩu|"
    r"kata sandi|katasandi|sandi|kata laluan"
    r"|fjalëkalimi|parolă|גישה|סיסמה|סיסמא|كلمة المرور|كلمة السر|رمز عبور|گذرواژه|پاس ورڈ|पासवर्ड|পাসওয়ার্ড|"
    r"கடவுச்சொல்|รหัสผ่าน"
    r"|密码|密碼|口令|パスワード|暗証番号|비밀번호|비번|암호"
)
WEAK = (
    r"login|log-in|logon|log on|sign-?in|anmeldung|connexion|identifiants?|unlock\w*|opens with|wifi key|"
    r"wi-fi key|network key|wpa key|secret"
    r"|geheimnis|typed|entered|logged in (?:as|with)|replaced by|changed to|reset to|set to|net use|"
    r"saved creds|account"
)
CODES = (
    r"(?:recovery|backup|rescue|emergency|scratch|wiederherstellungs|ersatz)[ -]?codes?|"
    r"codes? de (?:récupération|secours)|setup key|2fa key"
    r"|authenticator key|setup code|secret key|seed key|door code|access code|gate code|alarm code|"
    r"one-time codes?|einmalcode|zugangscode"
    r"|código de (?:acceso|recuperación)|codice di accesso|код доступа|恢复代码|备用代码|リカバリーコード"
)
# What a service sends for one use, as it is called in a sentence, and a part of each of these names.
ONE_TIME = (
    r"(?:one[- ]time|single[- ]use|sign[- ]?in|log[- ]?in|verification|confirmation|security|authentication"
    r"|authenticator|access|2fa|mfa|sms) (?:(?:pass)?code|pin)|one[- ]time password"
    r"|(?:einmal|bestätigungs|sicherheits|freigabe|anmelde|zugangs)[- ]?(?:code|pin)"
    r"|code d(?:e |')(?:vérification|sécurité|confirmation|accès)|código de (?:verificación|seguridad|acceso|um uso)"
    r"|codice di (?:verifica|sicurezza|accesso)|verificatiecode|kod (?:weryfikacyjny|autoryzacyjny|dostępu)"
    r"|код (?:подтверждения|доступа)|digicode|認証(?:番号|コード)|验证码|驗證碼|인증번호"
)
ONE_TIME_HINTS = "code pin password código codice kod код 認証 验证 驗證 인증"
PHRASES = (
    r"(?:seed|recovery|mnemonic|unlock|secret|backup|wallet) (?:phrase|words|seed)|mnemonic|seed|passphrase|"
    r"(?:key|code|magic) ?(?:phrase|sentence)|"
    r"pass phrase|pa\$\$phrase"
    r"|phrase de récupération|frase (?:semilla|de recuperación)|wiederherstellungsphrase"
)
NUMBERS = (
    r"puk\d?|pin\d?|tan|m-?tan|otp|totp|cvv2?|cvc2?|cid|csc|sicherheitscode|prüfziffer|kode|einmalpasswort|code otp"
)
ANSWERS = r"(?:secret|security) (?:question )?(?:question|answer)|maiden name|sicherheitsfrage|question secrète"

# What each of these words holds: a text without any is not searched for them.
STRONG_HINTS = (
    "pass pw pa$$ p/w cred sudo kennw zugangsdaten passe mdp contrase contrasen clave senha parol wachtwoord lösen"
    " losenord adgangskode kodeord salasana hasł haslo hesl jelsz lozink geslo zaporka parool slaptažodis lykilorð"
    " pasahitza şifre sifre парол лозинк κωδικ συνθηματικ mật sandi laluan fjalëkalimi גישה סיסמ كلمة رمز گذرواژه"
    " پاس पासवर्ड পাসওয়ার্ড கடவுச்சொல் รหัสผ่าน 密码 密碼 口令 パスワード 暗証番号 비밀번호 비번 암호"
)
WEAK_HINTS = (
    "log in,login,log-in,logon,log on,sign,anmeldung,connexion,identifiant,unlock,opens with,fi key,network key,"
    "wpa key,secret,geheimnis,typed,entered,logged in,replaced by,changed to,reset to,set to,net use,saved creds,"
    "account"
)
CODE_HINTS = "code key codice código код 代码 リカバリーコード"
PHRASE_HINTS = "phrase words seed mnemonic sentence frase"
NUMBER_HINTS = "puk pin tan otp cvv cvc cid csc sicherheitscode prüfziffer kode einmalpasswort"

IN_WORD = r"(?<![^\W_])"
KNOWN = re.compile(  # what tokens with letters and digits usually are
    r"(?i)v?\d+(?:[.:/-]\d+)+\w{0,6}|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?|ftp|mailto|file):.*|www\..*"
    r"|[\w ()-]*\.(?:docx?|xlsx?|pptx?|csv|txt|pdf|png|jpe?g|gif|svg|zip|tar|gz|py|js|json|ya?ml|html?|xml|md|"
    r"ics|exe|log|sh|ini|cfg|msi|dll)"
    r"|\$?[a-z]{1,3}\$?\d+(?::\$?[a-z]{1,3}\$?\d+)?|#?[0-9a-f]{3,8}|\d[\d.,]*\s?[a-z%°µ]{1,4}\d?|"
    r"(?:[a-z]{1,5}-?)?\d+(?:st|nd|rd|th|er|e|x)?"
    r"|\w{1,4}-\d{1,4}|min\.?|max\.?|(?:utf|iso|sha|md|aes|rsa|wpa|oauth|win|x|h|mp|ipv|base|rs|usb|http|tls|"
    r"ssl)-?\d+\w{0,4}|\(?min\.?|(?-i:[A-Z0-9]{1,10})"
    r"|(?:ctrl|control|strg|alt|shift|cmd|meta|win)(?:\+\w{1,12}){1,4}"
)

# What a sentence says of a secret without naming it a password: "the four digits are …", "user …, word …",
# "we use … to get in", and what stands in quotes behind "the password is".
_IS = (
    r"(?:is|are|was|were|be(?:en)?|becomes|reads|equals|ist|lautet|sind|est|sont|es|son|era|è|é|são|jest|är|er|on|это"
    r"|是|は)"
)
_SPOKEN_DIGITS = re.compile(
    rf"(?i)\b(?:(?:two|three|four|five|six|seven|eight|[2-8])[- ]?(?:digits?|numbers?|figures?)|(?:unlock|swipe|lock) "
    rf"(?:pattern|code|number)|combination)\b[^\d\n]{{0,48}}?\b(?:{_IS}|to|at|code)\b\W{{0,3}}(?:[A-Za-z]-)?"
    r"(?P<v>\d(?:[ -]?\d){2,9})(?!\w|[.,:/]\d)"
)
_LOCKED = re.compile(  # a place that is locked by a number, and the number
    r"(?i)\b(?:lock|padlock|safe|locker|vault|alarm|cash ?(?:machine|point)|atm|key ?pad|suitcase"
    r"|entry phone|intercom)\b"
    rf"[^\d\n]{{0,40}}?(?:\b(?:{_IS}|at|with|to|takes|opens)\b|[:=])\s{{0,3}}"
    r"(?P<v>\d(?:[ -]?\d){3,7})(?=[.,;!?)]?(?:\s|$))"
    r"(?![.,;!?)]?\s(?:kg|g|cm|mm|km|m|euros?|dollars?|pounds?|people|am|pm|o'clock|today|tomorrow)\b)"
)
_QUOTED_VALUE = re.compile(
    rf"(?i){IN_WORD}(?:{STRONG}|{PHRASES}|pin|secret)(?!\w)[^\n\"“”«»]{{0,40}}?\b(?:{_IS})\b"
    r"(?: (?:just|simply|still|now|always|only))?:?\s{0,2}[\"“«](?P<v>[^\"“”«»\n]{4,60})[\"”»]"
)
_PAIRED = re.compile(  # a user and, right behind, what lets it in
    r"(?i)\b(?:user(?:name)?|login|account|benutzer|usuario|utilisateur)\b\W{1,3}[\w.@-]{2,40}\W{1,3}"
    r"(?:and |und |y |et )?(?:(?:the|its) )?(?:word|code|key|secret|phrase)\b\W{1,3}(?P<v>[^\s,;\"'<>]{5,60})"
)
_LETS_IN = re.compile(
    r"(?i)\buse[sd]?\s{1,3}(?P<v>[^\s,;\"'<>]{6,60})\s{1,3}to\s{1,3}(?:get\s{1,3}in(?:to)?|log\s?(?:in|on)|sign\s?in|unlock)\b"
)
_SAID_KEY = re.compile(  # "the archive key, spelled normally, is …", at the end of a sentence
    rf"(?i)\b(?:key|word|code|combination|secret)\b[^.\n\d]{{0,32}}?\b{_IS}:?\s{{1,3}}(?P<v>[^\s,;\"'<>]{{8,60}}?)(?=[.!]?(?:\n|$))"
)
_NETWORK_KEY = re.compile(
    r"(?i)\b(?:wi-?fi|wlan|hotspot)\b[^\n]{0,40}?\b(?:code|key|word)\b\W{1,3}(?P<v>[^\s,;\"'<>]{8,60})"
)
_HEX_KEY = re.compile(
    r"(?i)\b(?:(?:encryption|decryption|secret|private|api|access|master|signing|session|security|aes|hmac|wep|wpa) key"
    r"|token|secret|schlüssel|clé|clave)\b[^\n]{0,40}?(?<![\w-])(?P<v>[0-9a-f]{32,128})(?![\w-])"
)
_HOOK = re.compile(r"(?i)\bhttps?://(?P<v>[^\s\"'<>]{0,200}?hooks?[/.][^\s\"'<>]{0,400})")


_SAYING = (
    (hinted(_SPOKEN_DIGITS, "digit number figure pattern code combination", digit=True), "code"),
    (hinted(_LOCKED, "lock safe vault alarm cash atm key suitcase phone intercom", digit=True), "code"),
    (hinted(_QUOTED_VALUE, f"{STRONG_HINTS} {PHRASE_HINTS} pin secret"), "password"),
    (hinted(_PAIRED, "user login account benutzer usuario utilisateur"), "password"),
    (hinted(_HEX_KEY, "key token secret schlüssel clé clave"), "key"),
)
_SAYING_A_WORD = (
    hinted(_LETS_IN, "use"),
    hinted(_SAID_KEY, "key word code combination secret"),
    hinted(_NETWORK_KEY, "wi-fi wifi wlan hotspot"),
)
_HOOKS = hinted(_HOOK, "hook")
HINTED = (*(one for one, _ in _SAYING), *_SAYING_A_WORD, _HOOKS)


def find_spoken(searched: Searched) -> Iterator[Found]:
    """What a sentence says of a secret without naming it a password."""
    for one, kind in _SAYING:
        for match in searched.matches(one):
            value = match["v"].rstrip(".,;:!?)")
            if not is_stand_in(value) and "{{" not in value:
                yield Found(match.start("v"), match.start("v") + len(value), kind)
    for one in _SAYING_A_WORD:
        for match in searched.matches(one):
            value = match["v"].rstrip(".,;:!?)")
            if _is_made_up(value):
                yield Found(match.start("v"), match.start("v") + len(value), "password")
    for match in searched.matches(_HOOKS):
        parts = re.split(r"[/?&=@]", match["v"])
        if any(len(part) >= 20 and any(map(str.isdigit, part)) for part in parts):
            yield Found(match.start(), match.end(), "webhook")


def _is_made_up(token: str) -> bool:
    """True for words run together by capitals, by a number at the end or by a hyphen between capitals, and no file."""
    if is_stand_in(token) or KNOWN.fullmatch(token) or "{{" in token or any(c in "/\\()<>@=" for c in token):
        return False
    return (
        re.search(r"[a-zà-ÿ]{3}[A-ZÀ-Þ][a-zà-ÿ]{2}|[A-ZÀ-Þ][a-zà-ÿ]{2,}[-_.][A-ZÀ-Þ]|[a-z]{4,}\d{2,}", token)
        is not None
    )
