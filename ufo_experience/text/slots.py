"""The intent of a request: the procedure without its values.

"Email "hi" to Jane Doe" and "Email "see you" to Bob" are one task. `mask_slots` turns values (quoted text, names,
numbers, dates, files, addresses, …) into placeholders, and `find_slots` lists them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ufo_experience.text.remembered import remembered

_MONTH = (
    r"jan(?:uary)?|feb(?:ruary)?|march|mar(?=\.?\s+\d)|apr(?:il)?|may(?=\s+\d)|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_SUFFIX = (
    r"docx?|xlsx?|pptx?|csv|txt|pdf|png|jpe?g|gif|svg|bmp|mp[34]|m4a|wav|avi|mkv|zip|tar|gz|py|js|json|ya?ml|html?"
    r"|xml|md|od[tsp]|ics|exe|log|sh"
)
_FILE_NAME = re.compile(rf"[^\\/:*?\"<>|\n]{{1,200}}\.(?:{_SUFFIX})", re.IGNORECASE)  # between quotes
_DIGITS = "0123456789"
# Folders of a Windows path may hold up to three spaces; its last part only before words that look like part of a name
# ("Quarter 3.docx", "Neue Ablage"): other words behind it are the sentence's.
_PART = r"[^\s\\/:*?\"<>|]{1,255}"
_WINDOWS_PATH = (
    rf"(?<![\w<])(?:[A-Z]:|\\\\[\w.$-]{{1,255}})\\(?:{_PART}(?: {_PART}){{0,3}}\\)*"
    rf"(?:{_PART}(?: (?-i:[^\W_a-z]){_PART}){{1,3}}(?<=\.)(?:{_SUFFIX})\b|[\w.~-]*[\w~]/?)?"
)
# In this order: what an earlier one took, a later one does not see. A match in ASCII holds one of the characters in the
# second column, which is no dot at the end, and one of the words in the third, if there are any: else nobody need look.
_PATTERNS = [
    ("text", "[", "", r"\[[^\[\]]*['\"][^\[\]]*\]"),
    ("url", ":.", ":// www.", r"\b(?:https?|ftp)://\S+|\bwww\.\S+"),
    ("email", "@", "", r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]+\w"),
    (
        "text",
        "\"'`",
        "",
        r"\"[^\"\n]*\"|“[^“”\n]*”|`[^`\n]+`|«[^«»\n]*»|(?<!\w)['‘](?=\S)[^'‘’\n]*(?:['’][a-z][^'‘’\n]*)?['’](?!\w)",
    ),
    ("file", "\\", "", _WINDOWS_PATH),
    ("file", "/\\", "", r"(?<![\w<])(?:[A-Z]:\\|~/|/)[\w.~-]+(?:[\\/][\w.~-]+)*/?"),
    ("file", ".", "", rf"(?<![\w-])[\w-]+\.(?:{_SUFFIX})\b"),
    ("date", _DIGITS, "/ -", r"\b\d{1,4}[/-]\d{1,2}(?:[/-]\d{1,4})?(?:\s*-\s*\d{1,2}/\d{2,4})?\b"),
    (
        "date",
        "jfmasond",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        rf"\b(?:{_MONTH})\b\.?(?:\s+\d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,?\s+(?:19|20)\d\d\b)?",
    ),
    ("date", "12d", "19 20 day", r"\b(?:19|20)\d\d\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"),
    ("time", _DIGITS, ": am pm", r"\b\d{1,2}:\d\d(?::\d\d)?\s*(?:[ap]\.?m\b\.?)?|\b\d{1,2}\s*[ap]m\b"),
    ("number", _DIGITS, "", r"[$€£]\s?\d[\d,.]*|#?[+-]?\b\d[\d,.]*(?:st|nd|rd|th|%|[a-z]{1,3}\b)?"),
]
_SLOTS = [
    (kind, frozenset(signs), tuple(words.split()), re.compile(pattern, re.IGNORECASE))
    for kind, signs, words, pattern in _PATTERNS
]
_FIRST_MARK = 0xE000  # while masking, slot i stands as the private-use character _FIRST_MARK + i
_MARK = re.compile("[\ue000-\uf8ff]")
_MOST_SLOTS = 0xF8FF - _FIRST_MARK
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n+")
_PIECE = re.compile('[\ue000-\uf8ff]|<\\w+>|[^\\s,;:!?()\\[\\]"\ue000-\uf8ff]+|[,;:!?()\\[\\]]')
_NAME = re.compile(r"[^\W\d_A-Z]*[A-Z][\w'’&.+-]*|[^\W_]*(?:_/?|/)\w[\w./-]*|\w+\.\w[\w.]*")
_NOT_NAMES = {"I", "I'm", "I'd", "I've", "I'll", "A"}
_PRODUCTS = frozenset(  # part of the procedure, not a value; 43 of these 45 occur in OSWorld, a development set
    "excel word powerpoint outlook teams onenote onedrive sharepoint access office windows explorer edge notepad paint"
    " calculator cortana settings chrome chromium firefox safari opera bing google gmail youtube maps drive vlc gimp"
    " libreoffice openoffice impress calc writer thunderbird vscode code studio terminal bash powershell ubuntu linux"
    " macos android ios slack zoom skype discord telegram whatsapp spotify photoshop acrobat zotero github gitlab"
    " reddit bluetooth wifi wi-fi vpn pdf csv png jpeg html xml json zip usb".split()
)
_GENITIVE = re.compile(r"['’]s$")
_LIST = re.compile(r"(<\w{1,40}>)(?:\s{0,4}(?:(?:, and|, or|,|and|or|&)\s{0,4})?\1)+")


@dataclass(frozen=True)
class Slot:
    """A value in a request: its kind (text, name, number, date, …) and the value without its quotes."""

    kind: str
    value: str


def mask_slots(text: str) -> str:
    """The procedure without its values, in lower case: `Email "hi" to Jane Doe` becomes `email <text> to <name>`."""
    words, slots = _cut(text)
    if slots:
        words = tuple([f"<{slots[ord(word) - _FIRST_MARK].kind}>" if _is_mark(word) else word for word in words])
    masked = " ".join(words)
    return _LIST.sub(r"\1", masked) if len(slots) > 1 or "<" in text else masked


def find_slots(text: str) -> list[Slot]:
    """The values of a request, left to right. Neighbouring words of one name are one value."""
    words, slots = _cut(text)
    found: list[Slot] = []
    previous = ""
    for word in words if slots else ():
        if _is_mark(word):
            slot = slots[ord(word) - _FIRST_MARK]
            if slot.kind == "name" and previous == "name":
                found[-1] = Slot("name", f"{found[-1].value} {slot.value}")
            else:
                found.append(slot)
            previous = slot.kind
        else:
            previous = ""
    return found


def find_whole(value: str, text: str, start: int = 0) -> int:
    """Where a value stands in a text, not inside a longer word, from `start` on; -1 where it does not, or is empty."""
    at = text.find(value, start) if value else -1
    while at >= 0:
        end = at + len(value)
        if not (at and _in_word(text[at - 1])) and not (end < len(text) and _in_word(text[end])):
            return at
        at = text.find(value, at + 1)
    return -1


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_mark(word: str) -> bool:
    return "\ue000" <= word[:1] <= "\uf8ff"


def cut_values(text: str) -> list[tuple[str, str]]:
    """The pieces of a text in order, each with the kind of value it is (empty for an ordinary word)."""
    words, slots = _cut(text)
    values = {chr(_FIRST_MARK + number): (slot.value, slot.kind) for number, slot in enumerate(slots)}
    return [values.get(word) or (word, "") for word in words]


@remembered(1_024, 2_048)
def _cut(text: str) -> tuple[tuple[str, ...], tuple[Slot, ...]]:
    """The words in lower case, each value replaced by a mark, and the slots the marks stand for."""
    slots: list[Slot] = []

    def keep(kind: str, value: str) -> str:
        if len(slots) >= _MOST_SLOTS:
            return value
        whole = value
        if not value.isascii():
            whole = _MARK.sub(lambda mark: slots[ord(mark.group()) - _FIRST_MARK].value, value)
        bare = whole.strip().strip("\"'“”‘’`«»").strip()
        slots.append(Slot("file" if kind == "text" and _FILE_NAME.fullmatch(bare) else kind, bare))
        return chr(_FIRST_MARK + len(slots) - 1)

    text = text if text.isascii() else _MARK.sub(" ", text)
    plain, lower = text.isascii(), text.lower()
    characters = frozenset(lower.rstrip(" ."))
    for kind, signs, parts, pattern in _SLOTS:
        if plain and (characters.isdisjoint(signs) or (parts and not any(map(lower.__contains__, parts)))):
            continue
        text = pattern.sub(lambda match, kind=kind: f" {keep(kind, match.group())} ", text)  # type: ignore[misc]
    words: list[str] = []
    for sentence in _SENTENCE.split(text):
        for position, piece in enumerate(_PIECE.findall(sentence)):
            if piece.isalpha() and piece.islower():  # no name is written so
                words.append(piece.lower())
            elif _is_mark(piece) or not _is_name(piece, first=position == 0):
                words.append(piece if _is_mark(piece) else piece.lower())
            else:
                words.append(keep("name", _core(piece)))
    return tuple(words), tuple(slots)


def _core(piece: str) -> str:
    return _GENITIVE.sub("", piece.rstrip(".'’"))


@remembered(4_096, 128)
def _is_name(piece: str, *, first: bool) -> bool:
    core = _core(piece)
    if not _NAME.fullmatch(core) or core.replace("’", "'") in _NOT_NAMES or core.lower() in _PRODUCTS:
        return False
    ordinary_start = first and core.isalpha()  # "Open", but not "GIMP"
    return not ordinary_start or (core.isupper() and len(core) > 1)
