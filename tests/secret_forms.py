"""Random secrets, the ways to write them that a log may hold, and the places of a run where they may stand.

What is made here follows from nobody's list: secrets are drawn, and every transformation is written down once. Left out
are those that lose what tells a secret from a word: a half of a plain word, a translation.
"""

from __future__ import annotations

import base64
import codecs
import gzip
import hashlib
import html
import json
import quopri
import unicodedata
import zlib
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote, quote_plus

WORDS = """amber birch cedar dune ember fjord glade heron inlet juniper kettle lagoon meadow nettle otter pebble quartz
saffron thistle umber violet willow yarrow zephyr maple copper falcon harbour""".split()
ACCENTED = "Brücke Mühle Käse Vögel crème façade señal niño łąka žába søster мороз καράβι".split()
RADIO = """alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa quebec
romeo sierra tango uniform victor whiskey xray yankee zulu""".split()
DIGITS = "zero one two three four five six seven eight nine".split()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TOKEN = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!#%&*+"
Write = Callable[[str], str]


def draw(kind: str, random: Random) -> str:
    """A secret of a kind."""
    word = lambda: random.choice(WORDS)  # noqa: E731
    digits = lambda count: "".join(random.choice("0123456789") for _ in range(count))  # noqa: E731
    sign = random.choice("!#$%&*+-./:=?@_~")
    return {
        "word and digits": lambda: word() + digits(random.randint(2, 4)),
        "words, sign, digit": lambda: word().title() + sign + word().title() + digits(1),
        "three words": lambda: "-".join(random.sample(WORDS, 3)),
        "random": lambda: "".join(random.choice(TOKEN) for _ in range(9)) + "7#q",
        "four digits": lambda: digits(3) + "7",
        "six digits": lambda: digits(6),
        "short": lambda: random.choice("ABDEFG") + random.choice("!#%?") + random.choice("bdh") + digits(2),
        "accents": lambda: random.choice(ACCENTED) + sign + word() + digits(1),
        "phrase": lambda: " ".join(random.sample(WORDS, 4)),
        "plain word": lambda: "".join(random.sample(WORDS, 2)),
        "hexadecimal": lambda: "".join(random.choice("0123456789abcdef") for _ in range(24)),
    }[kind]()


KINDS = """word and digits|words, sign, digit|three words|random|four digits|six digits|short|accents|phrase|plain word
|hexadecimal""".replace("\n", "").split("|")


def _mapped(plain: str, other: str) -> Write:
    return lambda v: v.translate(str.maketrans(plain, other))


def _bytes(form: str, joint: str, before: str = "") -> Write:
    return lambda v: before + joint.join(form.format(byte) for byte in v.encode())


def _points(form: str, joint: str = "") -> Write:
    return lambda v: joint.join(form.format(ord(c)) for c in v)


def _of(encode: Callable[[bytes], bytes]) -> Write:
    return lambda v: encode(v.encode()).decode()


def _pieces(size: int, joint: str) -> Write:
    return lambda v: joint.join(v[i : i + size] for i in range(0, len(v), size))


def _accentless(v: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", v) if not unicodedata.combining(c))


def _long(cut: Write) -> Write:
    """A part of a secret that is long and no word; of others the whole."""
    return lambda v: cut(v) if len(v) >= 12 and not v.replace("-", " ").replace(" ", "").isalpha() else v


FORMS: dict[str, Write] = {
    "as typed": str, "upper": str.upper, "lower": str.lower, "swapped case": str.swapcase,
    **{f"joined by {joint!r}": joint.join for joint in (" ", ".", "-", ", ", "|", "\n", "\u200b", "\u00ad", "\u00a0")},
    "letters and digits": lambda v: "".join(filter(str.isalnum, v)),
    "as a file name": lambda v: "".join(c if c.isalnum() else "_" for c in v),
    "threes": _pieces(3, "-"), "fours": _pieces(4, " "),
    "backwards": lambda v: v[::-1], "backwards and apart": lambda v: " ".join(v[::-1]),
    "percent": lambda v: quote(v, safe=""), "all percent": _bytes("%{:02X}", ""), "plus": quote_plus,
    "percent twice": lambda v: quote(quote(v + " ", safe=""), safe=""),
    "entities": html.escape, "decimal entities": _points("&#{};"), "hexadecimal entities": _points("&#x{:04X};"),
    "JSON": lambda v: json.dumps(json.dumps(v)), "\\u": _points("\\u{:04x}"), "\\u{}": _points("\\u{{{:x}}}"),
    "\\x": _bytes("\\x{:02x}", ""), "octal": _bytes("\\{:03o}", ""), "CSS": _points("\\{:06x}"),
    "U+": _points("U+{:04X}", " "),
    "base64": _of(base64.b64encode), "base64url": _of(base64.urlsafe_b64encode), "base32": _of(base64.b32encode),
    "base64 unpadded": lambda v: base64.b64encode(v.encode()).decode().rstrip("="),
    "base64 of user and password": lambda v: base64.b64encode(f"kay:{v}".encode()).decode(),
    "base64 of JSON": lambda v: base64.b64encode(json.dumps({"p": v}).encode()).decode(),
    "base64 twice": lambda v: base64.b64encode(base64.b64encode(v.encode())).decode(),
    "base64 of UTF-16": lambda v: base64.b64encode(v.encode("utf-16-le")).decode(),
    "base64 backwards": lambda v: base64.b64encode(v[::-1].encode()).decode(),
    "base64 of a line": lambda v: base64.b64encode(f"{v}\n".encode()).decode(),
    "base85": _of(base64.b85encode), "ascii85": _of(base64.a85encode),
    "gzip": lambda v: base64.b64encode(gzip.compress(v.encode(), mtime=0)).decode(),
    "zlib": lambda v: base64.b64encode(zlib.compress(v.encode())).decode(),
    "hexadecimal": _bytes("{:02x}", ""), "capital hexadecimal": _bytes("{:02X}", ":"), "0x": _bytes("0x{:02x}", ", "),
    "hexadecimal number": _bytes("{:02x}", "", "0x"), "hexadecimal of UTF-16": lambda v: v.encode("utf-16-le").hex(),
    "decimal codes": _points("{}", ", "), "bits": _bytes("{:08b}", " "), "bits in one": _bytes("{:08b}", ""),
    "quoted-printable": _bytes("={:02X}", ""),
    "quoted-printable signs": lambda v: quopri.encodestring(v.encode()).decode(),
    "rot13": lambda v: codecs.encode(v, "rot13"), "leet": _mapped("aeios", "43105"),
    "full width": lambda v: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in v),
    "bold": lambda v: "".join(chr(0x1D41A + ord(c) - 97) if c in LETTERS else c for c in v),
    "circled": lambda v: "".join(chr(0x24D0 + ord(c) - 97) if c in LETTERS else c for c in v),
    "small capitals": _mapped("abcdeghijklmnoprtuvwz", "ᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡᴢ"),
    "Cyrillic": _mapped("aeopcx", "аеорсх"), "struck out": lambda v: "".join(f"{c}\u0336" for c in v),
    "raised digits": _mapped("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"), "Arabic digits": _mapped("0123456789", "٠١٢٣٤٥٦٧٨٩"),
    "decomposed": lambda v: unicodedata.normalize("NFD", v), "without accents": _accentless,
    "taken for Latin-1": lambda v: v.encode().decode("latin-1"),
    "first half": _long(lambda v: v[: len(v) // 2 + 2]), "last half": _long(lambda v: v[-len(v) // 2 - 2 :]),
    "quoted one by one": lambda v: " ".join(f"'{c}'" for c in v), "keys": lambda v: "".join(f"{{{c}}}" for c in v),
    "one taken back": lambda v: f"{v[:3]}q{{BACKSPACE}}{v[3:]}", "tags": lambda v: "".join(f"<b>{c}</b>" for c in v),
    "bold beginning": lambda v: f"**{v[:3]}**{v[3:]}",
    "counted": lambda v: " ".join(f"{n}:{c}" for n, c in enumerate(v, 1)),
    "radio alphabet": lambda v: " ".join(RADIO[LETTERS.index(c)] if c in LETTERS else c for c in v.lower()),
    "digits said": lambda v: " ".join(DIGITS[int(c)] if c in "0123456789" else c for c in v),
    "MD5": lambda v: hashlib.md5(v.encode()).hexdigest(), "SHA-256": lambda v: hashlib.sha256(v.encode()).hexdigest(),
    "German keyboard": _mapped("yzYZ", "zyZY"), "twice": lambda v: v + v, "longer": lambda v: f"my{v}2024",
}  # fmt: skip

PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "control": lambda form: {"control": form},
    "label": lambda form: {"control": f"Hint: {form} (check)"},
    "title": lambda form: {"control": "Save", "window_title": f"{form} - Notepad"},
    "observation": lambda form: {"control": "Save", "observation": f"The page shows {form} in the corner."},
    "address": lambda form: {"control": "Save", "observation": f"Opened https://intranet.test/in/{form} now"},
    "file": lambda form: {"control": f"{form}.txt"},
    "parameter": lambda form: {"control": "Save", "params": {"data": {"note": f"x {form} y"}}},
}


def run_with(secret: str, form: str, place: str) -> dict[str, Any]:
    """A run that types a secret into a password field and shows it in some form at one place; or in its task."""
    steps = [
        {"action": "type", "control": "User", "control_type": "Edit", "text": "kay"},
        {"action": "type", "control": "Password", "control_type": "Edit", "text": secret},
    ]
    if place in PLACES:
        steps.append({"action": "click", "control_type": "Text", **PLACES[place](form)})
    task = "Open the report" if place in PLACES else f"Open the report, note {form}"
    return {"task": task, "application": "Intranet", "steps": steps}
