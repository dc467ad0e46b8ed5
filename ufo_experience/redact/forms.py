"""The ways a secret may be written: in other letter case, spaced out, backwards, escaped, encoded.

What was once typed into a password field is taken out of a session in all of them.
"""

from __future__ import annotations

import base64
import codecs
import html
import json
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

from ufo_experience.redact.readings import folded
from ufo_experience.text.remembered import remembered

_WIDE = 0xFEE0  # from a letter of ASCII to its full-width form
_LONGEST_HALF = 48
LEAST_DECODED = 10  # characters: the codes of fewer are not always decoded
_LEAST_CODED = 5
_JOINTS = (" ", ", ", ",", ":", "-", ";", ".", "/", "")  # between the codes of two characters
LEAST_LOOSE = 6  # characters: shorter ones are matched as written only, or ordinary words would be torn apart
_BETWEEN = 3  # signs that a screen reader, a log of keys or an OCR puts between characters, at most


@remembered(256)
def exact_forms(value: str) -> frozenset[str]:
    """A value as logs write it: plain, escaped for HTML, URLs, JSON and Python, in braces, in base64."""
    forms = {
        value,
        html.escape(value),
        html.escape(value, quote=False),
        html.escape(value).replace("&#x27;", "&#39;"),
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
    }
    return frozenset(form for form in forms if form)


def coded_forms(value: str) -> set[str]:
    """A secret in encodings in which nobody would know it: hex, base64 at any offset, percent signs, entities."""
    data = value.encode("utf-8", "replace")
    digits = [f"{byte:02x}" for byte in data]
    forms = {
        "{" + "}{".join(value) + "}",
        "".join(digits),
        " ".join(digits),
        ":".join(digits),
        "%" + "%".join(digits),
        "\\x" + "\\x".join(digits),
        "".join(f"&#{ord(c)};" for c in value),
        "".join(f"&#x{ord(c):x};" for c in value),
        "".join(f"\\u{ord(c):04x}" for c in value),
        "%25".join(["", *digits]),
        *_base64_at_any_offset(data),
        base64.b85encode(data).decode(),
        base64.a85encode(data).decode(),
    }
    if not value.isascii() and value.isalpha():
        forms.add(folded(value))
    if is_loose(value):
        unmarked = "".join(c for c in unicodedata.normalize("NFD", value) if not unicodedata.combining(c))
        wide = "".join(chr(ord(c) + _WIDE) if "!" <= c <= "~" else c for c in value)
        forms |= {
            value[::-1],
            unmarked,
            unicodedata.normalize("NFD", value),
            wide,
            codecs.encode(value, "rot13"),
            rot47(value),
        }
        forms |= _base64_at_any_offset(value.encode("utf-16-le", "replace")) | set(_halves(value))
    return {form for form in forms if len(form) >= LEAST_LOOSE}


def codes_of(value: str) -> set[str]:
    """A short secret's characters as codes in the usual notations, in small letters; the same of it backwards."""
    found = {rot47(value)}
    for form in (value, value.lower(), value.upper(), value[::-1], value + "\n"):
        data = form.encode("utf-8", "replace")
        points = [str(ord(c)) for c in form]
        digits, octal = [f"{byte:02x}" for byte in data], [f"{byte:03o}" for byte in data]
        wide, bits = [f"{ord(c):04x}" for c in form], [f"{byte:08b}" for byte in data]
        plain = (points, digits, octal, bits, [one[1:] for one in bits], [f"{byte:b}" for byte in data])
        found |= {joint.join(codes) for codes in plain for joint in _JOINTS}
        found |= {"0x" + joint.join(digits) for joint in ("", ", 0x", ",0x", " 0x", " ")}
        for begins, codes, ends in (
            ("&#", points, ";"), ("&#", points, ""), ("&#x", digits, ";"), ("&#x", wide, ";"),
            ("\\", octal, ""), ("\\x", digits, ""), ("=", digits, ""), ("%", digits, ""),
        ):  # fmt: skip
            found.add("".join(begins + code + ends for code in codes))
        once = base64.b64encode(data)
        found |= {once.decode(), base64.b32encode(data).decode(), base64.b64encode(once).decode()}
        found |= {base64.b85encode(data).decode(), base64.a85encode(data).decode()}
        found.add(base64.b64encode(form.encode("utf-16-le", "replace")).decode())
    return {short for form in found for short in (form.lower(), form.lower().rstrip("=")) if len(short) >= _LEAST_CODED}


def rot47(value: str) -> str:
    """A text with every sign of ASCII replaced by the one 47 places on."""
    return "".join(chr(33 + (ord(c) - 33 + 47) % 94) if "!" <= c <= "~" else c for c in value)


def _halves(value: str) -> Iterator[str]:
    """Beginnings and ends of at least half of a secret, that are no plain word."""
    for length in range(max(LEAST_LOOSE, (len(value) + 1) // 2), min(len(value), _LONGEST_HALF)):
        for part in (value[:length], value[-length:]):
            if not part.isalpha() and not part.isdigit():
                yield part


def _base64_at_any_offset(data: bytes) -> set[str]:
    """What of the base64 of any text that holds `data` is sure to stand there."""
    found = set()
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + data).decode()
        first = (0, 2, 3)[offset]
        last = len(text) - (0, 3, 2)[(len(data) + offset) % 3]
        found |= {text[first:last], base64.urlsafe_b64encode(b"\0" * offset + data).decode()[first:last]}
    found.add(base64.b64encode(data).decode())
    return {form for form in found if len(form) >= LEAST_LOOSE}


def is_loose(value: str) -> bool:
    """True for a secret that is looked for in any letter case and spaced out: long, and no plain word."""
    return len(value) >= LEAST_LOOSE and not value.isalpha()


def loose_pattern(value: str) -> str:
    """The value in any letter case, with a character or two between its own.

    What may stand before a character never matches that character, so there is one way to match and no backtracking.
    """
    first, *others = (c for c in value if not c.isspace())
    rest = "".join(rf"(?:(?!{re.escape(c)})[^\w\n]){{0,{_BETWEEN}}}{re.escape(c)}" for c in others)
    return f"(?i:{re.escape(first)}{rest})"


def bare(text: str) -> str:
    """A text without what `loose_pattern` lets pass: for telling which value was met."""
    return "".join(c for c in text.casefold() if c.isalnum() or c == "_")
