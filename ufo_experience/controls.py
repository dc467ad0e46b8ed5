"""Names and kinds of controls, compared across systems and releases: "Save As…" is "save as", a textbox an edit."""

from __future__ import annotations

import re
import unicodedata
import zlib
from functools import lru_cache

_ENDS = " .…:*\"'\t\n"
_WORD = re.compile(r"[^\W_]+")
# Kinds of one role in the trees of different systems (UI Automation, ARIA, HTML), each under its UI Automation name.
_ROLES = {
    "textbox": "edit",
    "searchbox": "edit",
    "textfield": "edit",
    "textarea": "edit",
    "input": "edit",
    "document": "edit",
    "link": "hyperlink",
    "tab": "tabitem",
    "option": "listitem",
    "select": "combobox",
    "radio": "radiobutton",
    "switch": "checkbox",
    "togglebutton": "checkbox",
    "toggle": "checkbox",
    "menuitemcheckbox": "menuitem",
    "row": "dataitem",
    "app": "application",
}
# What an application is made of, as against what its user keeps in it.
_FIXED = frozenset(
    "button splitbutton checkbox radiobutton combobox edit spinner slider tabitem menuitem menu menubar hyperlink "
    "header headeritem toolbar".split()
)


def without_icons(name: str) -> str:
    """A name without the signs of icon fonts, and triangles and dots, which stand for pictures: "File ▾" is "File"."""
    if name.isascii():
        return name
    return " ".join("".join(" " if _is_picture(sign) else sign for sign in name).split())


def _is_picture(sign: str) -> bool:
    return "\u25a0" <= sign <= "\u25ff" or unicodedata.category(sign) == "Co"


def bare(name: str) -> str:
    """A name without case, icons, surrounding punctuation and repeated blanks: "Save As…" is "save as"."""
    folded = without_icons(name).casefold().strip(_ENDS)
    return " ".join(folded.split()) if "  " in folded or "\n" in folded else folded


@lru_cache(maxsize=1_024)
def role_of(type: str | None) -> str:
    """The kind of a control under one name for all systems; "" when it is not known."""
    found = "".join(_WORD.findall(type.casefold())) if type else ""
    return _ROLES.get(found, found)


def is_fixed(role: str) -> bool:
    """True for what the application put there: a button, a field, a tab; not an item of a list, a row or a text."""
    return role in _FIXED


def fingerprint(name: str, role: str) -> str:
    """Four hex digits for a control: enough to see whether a screen is the same, too few to tell a name from."""
    return f"{zlib.crc32(f'{role}/{bare(name)}'.encode('utf-8', 'replace')) & 0xFFFF:04x}"
