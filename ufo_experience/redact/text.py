"""The gate for text: what every file can hold, without images, the tails of URLs, and secrets. Idempotent."""

import re
import unicodedata
from collections.abc import Callable, Iterable

from ufo_experience.redact.secrets import find_secrets
from ufo_experience.schema import MAX_TEXT, clip, expect

IMAGE, HIDDEN = "<image>", "<secret>"
PLACEHOLDER = re.compile(r"\{\{(?:secret|input):\d+\}\}|<secret>|<image>|<email>")

_KEPT_INVISIBLE = "\n\t\u200c\u200d"  # line ends, and what joins letters of Persian and parts of an emoji
_DATA_URL = re.compile(r"(?i)data:[\w.+/-]{0,80}(?:;[\w=.-]{1,80}){0,4};base64,[A-Za-z0-9+/=_\\-]*")
_BASE64_BLOCK = re.compile(r"(?<![A-Za-z0-9+/])(?=[A-Za-z+/]{0,99}\d)[A-Za-z0-9+/]{200,}={0,2}")
_SCREENSHOT = re.compile(  # its folder names the machine
    r"(?i)(?:\b[a-z]:[\\/]|(?<![\w.~\\/-]))(?:[^\n\"'<>|:*?\\/]{1,80}[\\/]){1,30}"
    r"([\w-]{0,80}?(?:action_(?:step|round)|desktop_|screenshot)[\w-]{0,80}\.(?:png|jpe?g|webp))"
)
_RUN = re.compile(r"[^\s\"'<>\\]+")  # what a URL may stand in
_URL_START = re.compile(r"(?i)\b(?:[a-z][a-z0-9+.-]{0,20}://|www\.|(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}/)")
_ANCHOR = re.compile(r"(?:[^\W\d_]{2,24}(?:[-_.](?:[^\W\d_]{1,24}|\d{1,3})){0,6})?")  # `#opening-hours`
_SETTING = re.compile(
    r"(?i)([a-z_]{1,24})=(?:[^\W\d_]{1,16}(?:[+_-][^\W\d_]{1,16}){0,2}\d{0,3}|-?\d{1,5}[a-z]?|(?<=id=)[0-9a-f]{1,12})"
)
_PERSONAL = re.compile(  # names of what somebody searches, is or may do; other short settings set the page alone
    r"(?i)query|search|find|term|key|text|title|filter|sess|sid|token|auth|code|state|nonce|sig|user|mail|name|phone|tel"
    r"|addr|acc|card|birth|reset|invite|otp|pin|pass|pw|secret|login|cred|redirect|return|next|ur[li]|ref|from|message|body"
    r"|note|comment|^(?:q|s|to|by|who|me)$"
)
_CLOSING = ")].,;:!?"  # ends a sentence or a bracket, not the address in it

_PLACEHOLDERS = re.compile(f"({PLACEHOLDER.pattern})")

Naming = Callable[[str, str], str]  # a secret and its kind → what stands in its place


def redact_text(text: str) -> str:
    """Remove secrets, images, URL queries and what no file can hold from a free text such as a query. Idempotent.

    >>> redact_text("log in with the password hunter2-Tea")
    'log in with the password <secret>'
    """
    return scrub(expect(str, text, "text"), lambda value, kind: HIDDEN)


def readable(text: str) -> str:
    """A text as a file can hold it and a person sees it: valid UTF-8, NFC, no control and no bidi characters."""
    if text.isascii() and text.isprintable():
        return text
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    composed = unicodedata.normalize("NFC", valid)
    return "".join(c for c in composed if c in _KEPT_INVISIBLE or unicodedata.category(c) not in ("Cc", "Cf"))


def one_sentence(text: str, limit: int) -> str:
    """The first sentence of a text, cut to `limit` characters."""
    first = re.split(r"(?<=[.!?。！？])\s|\n", text.strip(), maxsplit=1)[0]
    return clip(first.strip(), limit)


def scrub(text: str, name: Naming, limit: int | None = MAX_TEXT) -> str:
    """Remove what `redact_text` removes, asking `name` for what stands in the place of each secret.

    It is cut to `limit` before it is searched, and searched again until nothing is found: a removal may bare a shape
    that its neighbours hid. Placeholders are never touched, and every round removes other characters, so this ends.
    """
    text = readable(text if limit is None else text[: 2 * limit])
    while (changed := _round(text, name)) != text:
        text = changed
    return text if limit is None else clip(text, limit)


def _round(text: str, name: Naming) -> str:
    text = _RUN.sub(_without_query, text) if "?" in text or "#" in text else text
    text = _SCREENSHOT.sub(r"\1", _BASE64_BLOCK.sub(IMAGE, _DATA_URL.sub(IMAGE, text)))
    return beside_placeholders(
        text, lambda part: replaced(part, ((at, end, name(part[at:end], kind)) for at, end, kind in find_secrets(part)))
    )


def beside_placeholders(text: str, change: Callable[[str], str]) -> str:
    """A text with what stands beside its placeholders changed."""
    parts = _PLACEHOLDERS.split(text)  # every other one is a placeholder
    return "".join(part if place % 2 else change(part) for place, part in enumerate(parts))


def replaced(text: str, found: Iterable[tuple[int, int, str]]) -> str:
    """A text with other words in some places: where each begins and ends, in order, and what stands there now."""
    parts, end = [], 0
    for start, stop, new in found:
        parts += [text[end:start], new]
        end = stop
    return "".join([*parts, text[end:]])


def _without_query(match: re.Match[str]) -> str:
    run = match[0]
    begins = _URL_START.search(run) if "?" in run or "#" in run else None
    if begins is None:
        return run
    cut = min((place for place in (run.find(mark, begins.end()) for mark in "?#") if place >= 0), default=len(run))
    end = max(cut, len(run.rstrip(_CLOSING)))
    query, _, anchor = run[cut:end].partition("#")
    settings = [_SETTING.fullmatch(one) for one in query[1:].split("&")] if query[1:] else []
    # What sets the page alone stays: `?page=2&lang=en`, `#opening-hours`.
    stays = _ANCHOR.fullmatch(anchor) and all(one and not _PERSONAL.search(one[1]) for one in settings)
    return run if stays else run[:cut] + run[end:]
