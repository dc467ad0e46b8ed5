"""Free text: images and the tails of URLs go, secrets become `<secret>`. Idempotent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ufo_experience.redact.checksums import has_digit_and_letter
from ufo_experience.redact.names import is_secret_name
from ufo_experience.redact.secrets import MAX_REMEMBERED, MAX_REMEMBERED_CHARS, Finding, find_by_rule, find_secrets
from ufo_experience.schema import expect
from ufo_experience.text.remembered import remembered

IMAGE = "<image>"
SECRET = "<secret>"
PLACEHOLDER = re.compile(r"\{\{(?:secret|input):\d+\}\}|<secret>|<image>|<email>")

_DATA_URL = re.compile(r"data:[\w.+/-]{0,80}(?:;[\w=.-]{1,80}){0,4};base64,[A-Za-z0-9+/=_\\-]*", re.IGNORECASE)
_BASE64_IMAGE = re.compile(r"(?<![A-Za-z0-9+/])(?:iVBORw0KGgo|/9j/[42]|R0lGOD[dl]h|UklGR)[A-Za-z0-9+/=\\]{40,}")
_LEAST_IMAGE = 40  # characters
_BASE64_BLOCK = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{200,}={0,2}")
_SCREENSHOT_HINTS = ("action_", "desktop_", "screenshot")
_SCREENSHOT_NAME = r"([\w-]{0,80}?(?:action_(?:step|round)|desktop_|screenshot)[\w-]{0,80}\.(?:png|jpe?g|webp))"
_SCREENSHOTS = (
    re.compile(r"(?i)\b[a-z]:[\\/](?:[^\n\"'<>|:*?\\/]{1,80}[\\/]){0,20}" + _SCREENSHOT_NAME),
    re.compile(r"(?i)(?<![\w.~\\/-])(?:[\w.~-]{0,80}[\\/]){1,30}" + _SCREENSHOT_NAME),
)
_RUN = re.compile(r"[^\s\"'<>\\]+")  # what a URL may stand in
_URL_START = re.compile(r"(?i)\b(?:[a-z][a-z0-9+.-]{0,20}://|www\.|(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}/)")
_HEADING = r"#[^\W\d_]{2,24}(?:[-_.](?:[^\W\d_]{1,24}|\d{1,3})){0,6}"  # a place on a page; whatever else goes
_SETTING = (  # one that says nothing of a person: `page=2`, `lang=en`, `view=month`, `pageId=184229`
    r"(?!(?:q|s|to|by|who|me)=)(?!\w{0,24}?(?:query|search|find|term|keyword|text|title|filter|sess|sid|token|auth|key|code"
    r"|state|nonce|sig|ticket|hash|user|mail|name|phone|tel|addr|account|acc|card|birth|reset|invite|otp|pin|pass|pw|pwd"
    r"|secret|login|jwt|csrf|cred|redirect|return|next|url|uri|ref|from|contact|message|body|note|comment|answer)\w{0,24}=)"
    r"[a-z][a-z_]{0,24}=(?:[^\W\d_]{1,16}(?:[+_-][^\W\d_]{1,16}){0,2}|-?\d{1,5}[a-z]?|(?<=id=)\d{1,10})"
)
_PLAIN_TAIL = re.compile(rf"(?i)(?:\?{_SETTING}(?:&{_SETTING}){{0,7}})?(?:{_HEADING})?[)\].,;:!?]{{0,3}}")
_CLOSING = ")].,;:!?"  # ends a sentence or a bracket, not the address in it

# Given the secret and its kind, what stands in its place.
Naming = Callable[[str, str], str]
Find = Callable[[str], list[Finding]]


def redact_text(text: str) -> str:
    """Remove secrets, images and URL queries from a free text such as a query. Idempotent."""
    return scrub(expect(str, text, "text"), _anonymous)


def redact_json(value: Any, *, secret: bool = False) -> Any:
    """A copy of a JSON value without secrets of a fixed form; texts under a name such as `password` go whole.

    What has the shape of a secret is left to the gate of the store: it knows where else in the record it stands.
    """
    if isinstance(value, Mapping):
        return {_by_rule(str(key)): redact_json(item, secret=is_secret_name(str(key))) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_json(item, secret=secret) for item in value]
    if isinstance(value, str):
        return "<secret>" if secret and value and not PLACEHOLDER.fullmatch(value) else _by_rule(value)
    return value


def _by_rule(text: str) -> str:
    return scrub(text, _anonymous, find_by_rule)


def scrub(text: str, name: Naming, find: Find = find_secrets) -> str:
    """Remove what `redact_text` removes, asking `name` for what stands in the place of each secret.

    Repeats until nothing is left to find: a removal may bare a shape that its neighbours hid. Placeholders are never
    touched and every round removes other characters, so this ends.
    """
    if len(text) <= MAX_REMEMBERED_CHARS and _is_clean(text):
        return text
    while True:
        changed = _round(text, name, find)
        if changed == text:
            return text
        text = changed


def strip_urls(text: str) -> str:
    """Drop query string and fragment of every URL: they hold sessions, searches and keys.

    What sets the page alone (`?page=2&lang=en`, `#opening-hours`) stays.
    """
    return _RUN.sub(_without_query, text) if "?" in text or "#" in text else text


@remembered(MAX_REMEMBERED, MAX_REMEMBERED_CHARS)
def _is_clean(text: str) -> bool:
    """True when nothing is to be removed."""
    return _round(text, _anonymous, find_secrets) == text


def _round(text: str, name: Naming, find: Find) -> str:
    text = _without_images(strip_urls(text))
    parts, end = [], 0
    for match in PLACEHOLDER.finditer(text):
        parts += [_without_secrets(text[end : match.start()], name, find), match[0]]
        end = match.end()
    parts.append(_without_secrets(text[end:], name, find))
    return "".join(parts)


def _without_secrets(text: str, name: Naming, find: Find) -> str:
    parts, end = [], 0
    for finding in find(text):
        parts += [text[end : finding.start], name(text[finding.start : finding.end], finding.kind)]
        end = finding.end
    return "".join(parts) + text[end:]


def _without_images(text: str) -> str:
    text = _DATA_URL.sub(IMAGE, text) if "64," in text else text
    text = _BASE64_IMAGE.sub(IMAGE, text) if len(text) > _LEAST_IMAGE else text
    if len(text) >= 200:
        text = _BASE64_BLOCK.sub(_block, text)
    return _without_folders(text)


def _without_folders(text: str) -> str:
    """Leave only the base name of a screenshot: its path names the machine."""
    lowered = text.lower()
    if any(hint in lowered for hint in _SCREENSHOT_HINTS):
        for pattern in _SCREENSHOTS:
            text = pattern.sub(r"\1", text)
    return text


def _block(match: re.Match[str]) -> str:
    block = match[0]
    return IMAGE if has_digit_and_letter(block) and block.lower() != block and block.upper() != block else block


def _without_query(match: re.Match[str]) -> str:
    run = match[0]
    begins = _URL_START.search(run) if "?" in run or "#" in run else None
    if begins is None:
        return run
    cut = min((place for place in (run.find(mark, begins.end()) for mark in "?#") if place >= 0), default=len(run))
    if _PLAIN_TAIL.fullmatch(run, cut):
        return run
    return run[:cut] + run[max(cut, len(run.rstrip(_CLOSING))) :]


def _anonymous(value: str, kind: str) -> str:
    return SECRET
