"""Checks that tell a real secret from something shaped like one: checksums, prefixes, headers, shapes."""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise

from ufo_experience.redact.names import listed

_CARD_PREFIXES = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d{2}|222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|3(?:0[0-5]|[689]\d)\d{11}"  # Diners Club
    r"|(?:6011|65\d{2}|64[4-9]\d)\d{12,15}"  # Discover
    r"|35(?:2[89]|[3-8]\d)\d{12,15}"  # JCB
    r"|62\d{14,17}"  # UnionPay
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}"  # Maestro
)

_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28,
    "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
    "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22,
    "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20,
    "LU": 20, "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15,
    "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SC": 31, "SE": 24, "SI": 19,
    "SK": 24, "SM": 27, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip

# Words that follow "password" in ordinary prose or in templates, so they are no values.
_NO_VALUES = listed(
    "none null nil true false undefined empty required optional incorrect correct wrong invalid valid missing unknown "
    "hidden protected expired changed saved typed entered shown visible here there yes no password passwd secret token "
    "string value field input text redacted removed masked changeme example"
)
_VARIABLE = re.compile(
    r"(?:%[-#0-9.$]{0,6}l?[a-zA-Z]){1,4}$|\$\{?[A-Za-z_]\w{0,200}\}?$|\$\(|%\w{1,200}%$|<[^>]*>?$|\[[^\]]*\]?$|\{+[^}]*\}*$|\(|[*•●.]{3}|x{3,}$"
    r"|(?:os|env|process|self|config|settings)[.\[]|\w{0,40}get\w{0,40}\(|your[-_ ]"
    r"|(?-i:(?:[a-z_]\w{0,40}\.){1,4}[a-z_]\w{0,40}\([\w.]{0,80}\)?$|[a-z_]\w{0,40}\(\)?$)",
    re.IGNORECASE,
)


def luhn(digits: str) -> bool:
    """True when the last digit is the Luhn check digit of the others."""
    doubled = (int(d) * (2 if place % 2 else 1) for place, d in enumerate(reversed(digits)))
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


def is_card(text: str) -> bool:
    """True for a card number: an issuer's prefix and length, equal separators, and the Luhn digit."""
    separators = set(re.sub(r"\d", "", text))
    digits = re.sub(r"\D", "", text)
    return len(separators) <= 1 and _CARD_PREFIXES.fullmatch(digits) is not None and luhn(digits)


def iban_length(country: str) -> int | None:
    """Characters an IBAN of this country has; None if the country has none."""
    return _IBAN_LENGTHS.get(country)


def is_iban(text: str) -> bool:
    """True when `text` without spaces has remainder 1 modulo 97 (ISO 13616)."""
    compact = text.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1


def is_jwt(text: str) -> bool:
    """True when the first of three base64url parts decodes to a JSON header that names an algorithm."""
    header = text.split(".", 1)[0]
    try:
        decoded = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, RecursionError):  # what is no base64, no UTF-8 or no JSON is a ValueError
        return False
    return isinstance(decoded, dict) and "alg" in decoded


def is_random(text: str) -> bool:
    """True for a token no person would choose as a name: long, letters and digits mixed."""
    digits = sum(c.isdigit() for c in text)
    letters = sum(c.isalpha() for c in text)
    return (
        not is_stand_in(text)
        and len(text) >= 8
        and ((digits >= 1 and letters >= 2) or (digits >= 1 and len(text) >= 20))
    )


def is_generated(text: str) -> bool:
    """True for what a machine made: 16 characters or more, letters and several digits in no order of words."""
    digits = sum(c.isdigit() for c in text)
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(text))
    return len(text) >= 16 and digits >= 2 and changes >= 3 and is_random(text)


def is_password(text: str) -> bool:
    """True for a value that reads like a password rather than like the next word of a sentence."""
    text = text.rstrip(".,;:?…")
    if is_stand_in(text) or len(text) < 6 or not any(c.isascii() and c.isalnum() for c in text):
        return False
    letters = any(c.isalpha() for c in text)
    digits = any(c.isdigit() for c in text)
    symbols = any(not c.isalnum() and c not in "-'’./_" for c in text)
    mixed = text[1:].lower() != text[1:] and text.upper() != text
    return (
        (letters and digits) or (letters and symbols) or (digits and symbols) or (letters and mixed and len(text) >= 8)
    )


def is_stand_in(text: str) -> bool:
    """True for what stands in the place of a value: `null`, `$PASSWORD`, `<password>`, `****`, `os.environ`, a call."""
    return text.casefold().strip(".,;:!?'\"") in _NO_VALUES or _VARIABLE.match(text) is not None


def has_digit_and_letter(text: str) -> bool:
    """True when both occur, as in every generated key."""
    return any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
