"""Secrets that are known by their shape: keys, tokens, cards, account numbers, private keys, passwords in text.

Every rule is a regular expression and, where the shape alone is not enough, a check. Rules look for secrets only:
invoice numbers, GUIDs, commit hashes, telephone numbers and the like must pass (see the labelled set in the tests).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ufo_experience.redact import checksums
from ufo_experience.redact.hints import count_digits
from ufo_experience.redact.shapes import find_shapes
from ufo_experience.text.remembered import remembered

Match = re.Match[str]


class Finding(NamedTuple):
    """A secret in a text: its place and what kind it is."""

    start: int
    end: int
    kind: str


class Rule(NamedTuple):
    """A shape. The secret is the group `v` if there is one, else the whole match.

    `hints` (lower case) save time: a text with none of them is not searched.
    """

    kind: str
    pattern: re.Pattern[str]
    check: Callable[[str], bool] | None = None
    hints: frozenset[str] = frozenset()


def _hints(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


def _key(kind: str, pattern: str, hints: str, check: Callable[[str], bool] | None = None) -> Rule:
    """A provider's key: a fixed prefix and a body, standing on its own."""
    return Rule(kind, re.compile(rf"(?<![A-Za-z0-9_-])(?:{pattern})(?![A-Za-z0-9_])"), check, _hints(hints))


_KEYS = (
    _key("api key", r"sk-[A-Za-z0-9_-]{20,}", "sk-", checksums.has_digit_and_letter),  # OpenAI, Anthropic and others
    _key("api key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", "akia asia abia acca"),  # AWS
    _key("api key", r"gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_"),
    _key("api key", r"gl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{20,}", "glpat- glptt- gldt- glrt- glcbt-"),
    _key("api key", r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{20,}", "xox xapp-"),  # Slack
    _key(
        "api key", r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,}", "aiza gocspx ya29."
    ),  # Google
    _key(
        "api key", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}", "k_live k_test whsec_"
    ),  # Stripe
    _key("api key", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}", "q~"),  # Microsoft Entra
    _key("api key", r"hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}", "hf_ npm_ pypi-"),
    _key(
        "api key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}|dop_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}", "sg. dop_v1_ dapi"
    ),
    _key(
        "api key",
        r"hvs\.[A-Za-z0-9_-]{24,}|gsk_[A-Za-z0-9]{40,}|AGE-SECRET-KEY-1[A-Z0-9]{58}",
        "hvs. gsk_ age-secret-key",
    ),
    _key("api key", r"\d{8,10}:AA[A-Za-z0-9_-]{33}", ":aa"),  # Telegram
    Rule(
        "webhook",
        re.compile(r"hooks\.slack\.com/services/(?P<v>[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9]+)"),
        None,
        _hints("hooks."),
    ),
    _key("token", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*", "eyj", checksums.is_jwt),
    Rule(
        "private key",
        re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)", re.DOTALL),
        None,
        _hints("private key"),
    ),
)

_NAME_OF_KEY = r"(?:(?:secret|api|access|account|private|auth|client|signing|encryption)[ _-]?){1,3}key"
_NAME_OF_TOKEN = rf"(?:{_NAME_OF_KEY}|secret|token|credential)"
_NAME_OF_PASSWORD = r"(?:password|passwd|passphrase|passwort|kennwort|contraseña|senha|pwd)\d?"
_TOKEN_HINTS = _hints("secret key token credential")
_PASSWORD_HINTS = _hints("passw passphrase kennwort contraseña senha pwd")
_BARE = r"(?P<v>[^\s\"'<>;,&)\]}]{4,})"

_CONTEXT = (
    Rule(
        "token",
        re.compile(r"(?i)\b(?:bearer|basic)\s+(?P<v>[A-Za-z0-9._~+/=-]{16,})"),
        checksums.is_random,
        _hints("bearer basic"),
    ),
    Rule("password", re.compile(r"://[^\s:/@]{0,200}:(?P<v>[^\s@/]{2,200})@"), None, _hints("://")),
    Rule(
        "password",
        re.compile(r"(?i)\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']+:(?P<v>[^\s\"']+)"),
        None,
        _hints("curl"),
    ),
    Rule(
        "password",
        re.compile(r"(?i)(?<!\w)--?(?:password|passwd|passphrase|pass)[ =][\"']?(?P<v>[^\s\"'-][^\s\"']{3,})"),
        None,
        _hints("-p"),
    ),
    Rule("password", re.compile(r"\bsshpass\s+-p\s*[\"']?(?P<v>[^\s\"']+)"), None, _hints("sshpass")),
    Rule(
        "token",
        re.compile(rf"(?i){_NAME_OF_TOKEN}\\?[\"']?\s*(?:=>|:=|=|:)\s*\\?[\"']?{_BARE}"),
        checksums.is_random,
        _TOKEN_HINTS,
    ),
    Rule(
        "password",
        re.compile(
            rf"(?i){_NAME_OF_PASSWORD}\\?[\"']?\s*(?:=>|:=|=|:)\s*\\?([\"'])(?P<v>(?:(?!\1)[^\n\\]){{3,}})\\?\1"
        ),
        None,
        _PASSWORD_HINTS,
    ),
    Rule("password", re.compile(rf"(?i){_NAME_OF_PASSWORD}\\?[\"']?\s*(?:=>|:=|=)\s*{_BARE}"), None, _PASSWORD_HINTS),
    Rule("password", re.compile(rf"(?i){_NAME_OF_PASSWORD}\s*:\s*{_BARE}"), checksums.is_password, _PASSWORD_HINTS),
)

_SSN = r"(?!000|666|9\d\d)\d{3}[- ]?(?!00)\d{2}[- ]?(?!0000)\d{4}"
_NUMBERS = (
    Rule("card", re.compile(r"(?<![\w.,+#-])(?P<v>\d(?:[ -]?\d){12,18})(?![\w-]|[.,]\d)"), checksums.is_card),
    Rule("ssn", re.compile(r"(?<![\w.#-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-]|\.\d)")),
    Rule("ssn", re.compile(rf"(?i)\b(?:ssn|social security(?: number| no\.?)?)\W{{0,5}}(?:is\W+)?(?P<v>{_SSN})(?!\w)")),
)
_OTHER_NUMBER = re.compile(
    r"(?i)\b(?:invoice|order|tracking|ticket|serial|isbn|imei|issn|ean|upc|barcode|sku|part|case|receipt|shipment|reference"
    r"|ref|po|timestamp|transaction|batch|article|model|build|parcel|rechnung|bestellung)\b"
    r"(?:[ _-]?(?:number|no|nr|num|id|code))?\W{0,6}(?:is\W+)?$"
)
_FEWEST_DIGITS = 9  # of a number that is looked for
_IBAN = re.compile(r"(?<![A-Za-z0-9])(?P<country>[A-Z]{2})\d{2}(?: ?[A-Z0-9]){11,30}")


_RULES = (*_KEYS, *_CONTEXT)
_HINTS = frozenset(hint for rule in _RULES for hint in rule.hints)
MAX_REMEMBERED, MAX_REMEMBERED_CHARS = 1_024, 2_048  # texts, and the length of one


def find_secrets(text: str) -> list[Finding]:
    """Every secret in `text`, in order, none overlapping another.

    A log says the same things again and again: the last texts are remembered until `forget_texts`.
    """
    return list(_found_in(text))


@remembered(MAX_REMEMBERED, MAX_REMEMBERED_CHARS)
def _found_in(text: str) -> tuple[Finding, ...]:
    return tuple(_find(text))


def find_by_rule(text: str) -> list[Finding]:
    """The secrets of a fixed form alone: for what passes the gate of the store afterwards."""
    return _apart([*_by_rules(text, _RULES), *_numbers(text), *_ibans(text)])


def _find(text: str) -> list[Finding]:
    by_shape = (Finding(*found) for found in find_shapes(text))
    return _apart([*_by_rules(text, _RULES), *_numbers(text), *_ibans(text), *by_shape])


def _apart(found: list[Finding]) -> list[Finding]:
    """Findings in order, those that overlap made one."""
    kept: list[Finding] = []
    for finding in sorted(found, key=lambda f: (f.start, -f.end)):
        if not kept or finding.start >= kept[-1].end:
            kept.append(finding)
        elif finding.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=finding.end)
    return kept


def _by_rules(text: str, rules: tuple[Rule, ...]) -> Iterator[Finding]:
    lowered = text.lower()
    there = {hint for hint in _HINTS if hint in lowered}
    for rule in rules:
        if rule.hints and rule.hints.isdisjoint(there):
            continue
        for match in rule.pattern.finditer(text):
            group = "v" if "v" in rule.pattern.groupindex else 0
            value = match[group]
            if (rule.check or _is_value)(value):
                yield Finding(match.start(group), match.end(group), rule.kind)


def _is_value(text: str) -> bool:
    return not checksums.is_stand_in(text)


def _numbers(text: str) -> Iterator[Finding]:
    if count_digits(text) < _FEWEST_DIGITS:
        return
    for finding in _by_rules(text, _NUMBERS):
        if not _OTHER_NUMBER.search(text, max(0, finding.start - 40), finding.start):
            yield finding


def _ibans(text: str) -> Iterator[Finding]:
    for match in _IBAN.finditer(text):
        length = checksums.iban_length(match["country"])
        end = _end_of(text, match.start(), length) if length else None
        if end is not None and checksums.is_iban(text[match.start() : end]):
            yield Finding(match.start(), end, "iban")


def _end_of(text: str, start: int, length: int) -> int | None:
    """Where `length` letters and digits from `start` end, single spaces allowed; None if a word goes on there."""
    taken = 0
    for place in range(start, len(text)):
        taken += text[place] != " "
        if taken == length:
            return place + 1 if not text[place + 1 : place + 2].isalnum() else None
    return None
