"""What a word looks like: made by a machine, chosen by a person, or the name of a thing.

The stricter questions are asked where less around the word says that it is a secret.
"""

import re
from collections.abc import Callable
from itertools import pairwise

LEAST = 6  # characters of a chosen word
_SIGNS = frozenset("!#$%^&*~+=?@§|")
_STAND_IN = re.compile(  # what stands in the place of a value: a variable, a template, stars, a call
    r"(?i)\W*(?:none|null|nil|true|false|undefined|password|passwd|secret|token|string|value|redacted)\W*$"
    r"|\$\{?\w{1,200}\}?$|<[^>]*>?$|[*•●.]{3}|(?:os|env|process|self|config|settings)[.\[]|your[-_ ]"
    r"|[a-z_][\w.]{0,60}\((?:[\w.]{0,80}\))?$"
)
_KNOWN = re.compile(  # what words of letters with digits or signs usually are: hosts, versions, files, numbered things
    r"(?i)[\w.-]+:\d{2,5}|v?\d+(?:[.:/-]\d+)+\w{0,6}|[^\s@]+@[\w-]+(?:\.[\w-]+)+"
    r"|[\w ()~-]*\.(?:docx?|xlsx?|pptx?|csv|txt|pdf|png|jpe?g|svg|zip|gz|py|js|json|ya?ml|html?|xml|md|ics|exe"
    r"|log|sh|ini|msi|dwg)|(?:[a-z]{1,5}-?)?\d+(?:st|nd|rd|th|er|e|x)?"
    r"|[^\W\d_](?:-[^\W\d_]{2,24}){1,3}|(?:ctrl|control|strg|alt|shift|cmd|meta|win)(?:\+\w{1,12}){1,4}"
)
_THING = re.compile(  # the name of a thing: "HP-LaserJet-4250", "Nord-Dark-2", "Team_Docs_22", "2Factor"
    r"[A-Z]{2,4}(?:-[A-Z][A-Za-z]{1,24}){1,3}(?:-\d{1,4})?|[A-Z][a-z]+(?:-[A-Z][a-z]+)+(?:-\d)?|\d{1,2}[A-Z][a-z]+"
    r"|[A-Za-z]{2,24}(?:_(?:[A-Za-z]{2,24}|v\d{1,3}|[QqHh]\d|\d{2,4})){1,5}"
)
_HUMP = re.compile(r"[a-zà-ÿ][._&-]?[A-ZÀ-Þ][a-zà-ÿ]|\d[A-ZÀ-Þ][a-zà-ÿ]|[A-ZÀ-Þ][a-zà-ÿ]\d[a-zà-ÿ]")
_ENDING = re.compile(  # of words that describe
    r"(?i)\w+(?:ed|ing|ly|able|ible|ive|ory|ful|less|lich|ig|bar|isch|[aiu][dt][oa]s?|owe|ane|н[оаы])$"
)
_OUTSIDE = frozenset("/\\:()[]{}=<>,")  # no part of a password that stands in the open


def is_stand_in(text: str) -> bool:
    """True for what stands in the place of a value: `null`, `$PASSWORD`, `<password>`, `****`, a call, a slot."""
    return "{{" in text or _STAND_IN.match(text) is not None


def _is_known(token: str) -> bool:
    return is_stand_in(token) or _KNOWN.fullmatch(token) is not None


def _classes(token: str) -> tuple[bool, bool, bool]:
    """Whether small letters, capital letters and digits occur."""
    return any(map(str.islower, token)), any(map(str.isupper, token)), any(map(str.isdigit, token))


def is_mixed(token: str) -> bool:
    """Letters with digits: enough where a password is spoken of."""
    lower, _, digit = _classes(token)
    return lower and digit and len(token) >= LEAST and not _is_known(token)


def is_told(token: str) -> bool:
    """A mixture that is no path and no call, or words put together: enough where it is said what the password is."""
    if len(token) < LEAST or _is_known(token) or not _OUTSIDE.isdisjoint(token):
        return False
    lower, _, digit = _classes(token)
    signs = any(c in _SIGNS for c in token)
    parts = [part for part in re.split("[-_.&+]", token) if part]
    joined = len(parts) > 2 or (len(parts) == 2 and ("_" in token or any(map(str.isdigit, parts))))
    humped = re.fullmatch(r"[^\W\d_]{3,}-?[A-ZÀ-Þ][a-zà-ÿ]{2,}", token) is not None
    return (lower and (digit or signs)) or joined or humped


def is_strong(token: str) -> bool:
    """What only a password is made of: enough wherever it stands. `Qu1lt!Stone`, `mintVelvet88`."""
    if not 8 <= len(token) <= 40 or not _OUTSIDE.isdisjoint(token) or _is_known(token) or _THING.fullmatch(token):
        return False
    if re.fullmatch(r"[^\W\d_]{2,}[a-zà-ÿ][!$*^~%§@?#][^\W_]{3,}", token):  # not "FRITZ!Box"
        return True
    if any(c in _SIGNS for c in token[1:-1]) and all(_classes(token)):
        return True
    numbers = re.findall(r"\d+", token)
    if len(numbers) != 1:
        return False
    # "Mango7tree"
    one_word = re.fullmatch(r"[A-Za-zÀ-ÿ]?[a-zà-ÿ]{8,}\d{2,4}|(?=.{9})[A-Za-z]{2,}\d{1,2}[a-z]{4,}", token)
    return one_word is not None or (_HUMP.search(token) is not None and sum(map(str.islower, token)) >= 5)


def is_random(text: str) -> bool:
    """Letters with three digits, or with one among sixteen characters: enough as the value of a key's setting."""
    digits, letters = (sum(map(kind, text)) for kind in (str.isdigit, str.isalpha))
    least = 8 if digits > 2 else 16
    return len(text) >= least and digits > 0 and letters > 0 and not is_stand_in(text)


def is_generated(token: str) -> bool:
    """Digits among letters all along, as a machine writes a key: enough wherever it stands."""
    longest = max(re.split(r"[-_+~%]", token), key=len)
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(longest))
    mixed = len(token) >= 20 or all(_classes(token))  # the number of a parcel has capitals alone
    return mixed and len(longest) >= 16 and changes >= 4


def is_grouped(text: str) -> bool:
    """Groups of a code, two or more of which mix letters and digits."""
    return sum(any(map(str.isdigit, one)) and any(map(str.isalpha, one)) for one in re.split("[ -]", text)) >= 2


def is_lone(word: str, said: tuple[str, ...]) -> bool:
    """A plain word that says nothing of a password; `said` are the beginnings of those that do."""
    plain = word.casefold()
    return word.isalpha() and 4 <= len(word) <= 24 and not plain.startswith(said) and not _ENDING.fullmatch(plain)


def is_card(text: str) -> bool:
    """A card number: equal separators, an issuer's first digit, a length, and the check digit of Luhn."""
    digits = re.sub(r"\D", "", text)
    doubled = (int(d) * (2 if place % 2 else 1) for place, d in enumerate(reversed(digits)))
    checks = sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0
    return len(set(re.sub(r"\d", "", text))) <= 1 and digits[0] in "3456" and len(digits) in (14, 15, 16, 19) and checks


def is_iban(text: str) -> bool:
    """An account number: remainder 1 modulo 97 (ISO 13616)."""
    compact = text.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1


CHECKS: dict[str, Callable[[str], bool]] = {
    "-": lambda text: not is_stand_in(text),
    "mixed": is_mixed,
    "told": is_told,
    "grouped": is_grouped,
    "card": is_card,
    "iban": is_iban,
}
