"""Which names mean a secret, which a search box, which a login. Names are those of controls, arguments and fields."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ufo_experience.text.remembered import remembered


def listed(words: str) -> frozenset[str]:
    """The words of a text, as a set: for tables of names."""
    return frozenset(words.split())


# Stems: found anywhere in a name ("txtUserPassword", "passwordfield"). Long enough not to be part of other words.
_KEY_STEMS = listed(
    "apikey accesskey secretkey privatekey authtoken accesstoken refreshtoken sessiontoken clientsecret"
)
_PASSWORD_STEMS = listed(
    "password passwd passwort kennwort passphrase passcode motdepasse contraseña contrasena senha wachtwoord "
    "adgangskode lösenord losenord passord salasana jelszó jelszo heslo hasło şifre parola lozinka пароль паролем "
    "κωδικός सांकेतिक पासवर्ड รหัสผ่าน סיסמה סיסמא كلمةالمرور كلمةالسر mậtkhẩu katasandi katalaluan "
    "密码 密碼 口令 パスワード 暗証番号 비밀번호 암호 验证码 驗證碼 認証コード 인증번호"
)

# Whole words of a name after splitting camelCase, underscores and punctuation.
_SECRET_WORDS = listed(
    "pw pwd pass pin otp totp mfa tfa 2fa cvv cvv2 cvc cvc2 csc ssn tan psk secret secrets token "
    "credential credentials passkey mnemonic bearer authorization cookie "
    "geheimnis clave"
)
_SECRET_PHRASES = (
    "api key",
    "access key",
    "account key",
    "secret key",
    "private key",
    "encryption key",
    "license key",
    "shared key",
    "network key",
    "wpa key",
    "wifi key",
    "wi fi key",
    "wlan key",
    "security code",
    "verification code",
    "authentication code",
    "one time code",
    "two factor code",
    "recovery code",
    "recovery phrase",
    "seed phrase",
    "card number",
    "credit card",
    "social security",
    "security answer",
    "mot de passe",
    "mật khẩu",
    "kata sandi",
    "كلمة المرور",
    "كلمة السر",
    "code de sécurité",
    "código de seguridad",
    "prüfziffer",
)

_SEARCH_WORDS = listed(
    "search find filter query lookup omnibox suche suchen suchfeld rechercher recherche buscar búsqueda cerca ricerca "
    "pesquisar procurar zoeken sök søk szukaj hledat поиск найти"
)
_SEARCH_STEMS = ("searchbox", "搜索", "搜尋", "查找", "検索", "검색", "tellme")

_LOGIN_WORDS = listed("user username login logon account email mail userid benutzer benutzername utilisateur usuario")

# What a button is called that lets in who has typed the right thing.
_LETS_IN = re.compile(
    r"(?i)(?:un)?lock|disarm|verify|authenticate|decrypt|sign[ -]?(?:in|on)|log[ -]?(?:in|on)|anmelden|einloggen"
    r"|entsperren|entschlüsseln|freischalten|(?:se )?connecter|connexion|déverrouiller|s'identifier|iniciar sesión"
    r"|acceder|entrar|desbloquear|verificar|accedi|entra|sblocca|verifica|inloggen|ontgrendelen|logga in|lås upp"
    r"|logg inn|lås opp|log ind|kirjaudu|zaloguj(?: się)?|odblokuj|přihlásit|odemknout|bejelentkezés|giriş(?: yap)?"
    r"|kilidi aç|войти|вход|разблокировать|увійти|σύνδεση|登录|登入|解锁|ログイン|サインイン|ロック解除|로그인"
    r"|잠금 해제|تسجيل الدخول|כניסה"
)

_SEPARATORS = re.compile(r"[\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def words_of(name: str) -> list[str]:
    """Split a name into lower-case words: `txtPinCode`, `pin_code` and `PIN code` share `pin` and `code`."""
    return [word.casefold() for word in _SEPARATORS.split(_CAMEL.sub(" ", name)) if word]


@remembered(4_096, 2_048)
def mentions_password(text: str) -> bool:
    """True when a text speaks of a password in one of many languages."""
    return _has_stem("".join(words_of(text)), _PASSWORD_STEMS)


@remembered(4_096)
def is_secret_name(name: str) -> bool:
    """True when what is typed into, or passed as, something of this name is a secret."""
    words = words_of(name)
    if not words:
        return False
    spaced = f" {' '.join(words)} "
    return (
        any(word in _SECRET_WORDS for word in words)
        or any(f" {phrase} " in spaced for phrase in _SECRET_PHRASES)
        or _has_stem("".join(words), _PASSWORD_STEMS | _KEY_STEMS)
    )


@remembered(4_096)
def is_search_name(name: str) -> bool:
    """True when what is typed there only finds something: a search box or a menu filter."""
    words = words_of(name)
    return any(word in _SEARCH_WORDS for word in words) or _has_stem("".join(words), _SEARCH_STEMS)


@remembered(4_096)
def lets_in(name: str) -> bool:
    """True for the name of a button that checks what was typed before it lets anybody in."""
    return _LETS_IN.fullmatch(" ".join(name.split()).rstrip(" .…>»!")) is not None


@remembered(4_096)
def is_login_name(name: str) -> bool:
    """True when the next field is likely the password."""
    return any(word in _LOGIN_WORDS for word in words_of(name))


def _has_stem(joined: str, stems: Iterable[str]) -> bool:
    return any(stem in joined for stem in stems)
