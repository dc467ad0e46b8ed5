"""Which names of controls, arguments and fields mean a secret, and which a login."""

from __future__ import annotations

import re
from functools import lru_cache

from ufo_experience.redact.secrets import data
from ufo_experience.request import on_forgetting

# Besides the words of `secrets.txt` that introduce a password, a code or a key in running text.
_SECRET = frozenset("pass pw psk ssn cookie authorization credential credentials passkey".split())
_PHRASES = ("card number", "credit card", "social security", "security answer", "recovery phrase", "seed phrase")
_LOGIN = frozenset(
    "user username login logon account email mail userid benutzer benutzername utilisateur usuario".split()
)
_SEPARATORS = re.compile(r"[\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def words_of(name: str) -> list[str]:
    """Split a name into lower-case words: `txtPinCode`, `pin_code` and `PIN code` share `pin` and `code`."""
    return [word.casefold() for word in _SEPARATORS.split(_CAMEL.sub(" ", name)) if word]


@lru_cache(4_096)
def is_secret_name(name: str) -> bool:
    """True when what is typed into, or passed as, something of this name is a secret.

    >>> is_secret_name("txtUserPassword"), is_secret_name("PIN"), is_secret_name("Search")
    (True, True, False)
    """
    words = words_of(name)
    if not _SECRET.isdisjoint(words) or any(phrase in " ".join(words) for phrase in _PHRASES):
        return True
    return _names_one_of(words, "password", "code", "key")


@lru_cache(4_096)
def is_login_name(name: str) -> bool:
    """True when the next field is likely the password."""
    return not _LOGIN.isdisjoint(words_of(name))


def speaks_of_secrets(text: str) -> bool:
    """True when a text speaks of a password or of a code that lets in."""
    return _names_one_of(words_of(text), "password", "code")


def _names_one_of(words: list[str], *sections: str) -> bool:
    """True when a word of these sections of `secrets.txt` is among some words, or within them put together."""
    spaced, joined = f" {' '.join(words)} ", "".join(words)
    return any(
        word in joined if inside else f" {word} " in spaced
        for word, section, inside, _ in data().nouns
        if section in sections
    )


on_forgetting(is_secret_name.cache_clear)
on_forgetting(is_login_name.cache_clear)
