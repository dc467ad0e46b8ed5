"""Text of records on its way into a prompt: without what a chat template, a parser or an eye could take for structure.

The stored record is not changed. Ordinary UI text comes out as it went in, and cleaning twice is cleaning once.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

_MAX_EXACT_INT = 2**53

# Unicode's default-ignorable characters, bidi controls, interlinear marks and control characters but for \n and \t.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_HEADER = r"^([ \t>#*_]*)(system|assistant|developer|human)(?=[ \t*_]*[:\uff1a])"
_GAP = r"\s{0,3}"  # bounded, so that a megabyte of spaces costs no quadratic time
_ROLES = "system|assistant|user|developer|human|tool"
_TAGS = f"{_ROLES}|sys|s|bos|eos|user_input|start_of_turn|end_of_turn"
_OPEN, _SHUT, _BAR = "<\uff1c\ufe64", ">\uff1e\ufe65", "|\uff5c\u2223\u2502\u00a6"  # also as wide and small forms
_CALLS = "antml|functions?|invoke|parameters?|tools?|think(?:ing)?|instructions?|documents?|results?"
_PREFIXED = r"[a-z][a-z0-9-]{0,40}[_:\u2581]\w"
_HEADINGS = "instructions?|response|input|user|tools?"
_SUSPECT = re.compile(rf"(?im)[{_OPEN}{_SHUT}\[`]|{_HEADER}|^[ \t>*_]*#")  # a cheap look before going through _TOKENS

# Each replacement holds a character that none of the patterns accepts there, so cleaning twice changes nothing.
_TOKENS = (
    (re.compile(rf"([{_OPEN}])(?=[{_BAR}])"), r"\1 "),
    (re.compile(rf"(?<=[{_BAR}])([{_SHUT}])"), r" \1"),
    (re.compile(rf"(?i)<{{1,3}}{_GAP}(/?{_GAP}(?:{_TAGS})){_GAP}>{{1,3}}"), r"(\1)"),
    (re.compile(rf"(?i)\[\[{_GAP}(/?{_GAP}(?:{_ROLES})){_GAP}\]\]"), r"(\1)"),
    (re.compile(rf"(?i)\[{_GAP}(/?{_GAP}inst){_GAP}\]"), r"(\1)"),
    # a tag with a name of several words or a prefix belongs to a program, and so do the words of calls
    (re.compile(rf"(?i)[{_OPEN}](?={_GAP}/?{_GAP}(?:{_PREFIXED}|(?:{_TAGS}|{_CALLS})\b))"), "\u2039"),
    (re.compile(r"\[(/?[A-Z]{2,30}(?:_[A-Z]{1,30}){1,5})\]"), r"(\1)"),
    (re.compile(rf"(?im)^([ \t>*_]*#{{1,6}}[ \t]*)({_HEADINGS})(?=[ \t*_]*[:\uff1a])"), r"\1(\2)"),
    (re.compile(r"`{3,}"), "'''"),
    (re.compile(rf"(?im){_HEADER}"), r"\1(\2)"),
)


def clean(text: str, limit: int | None = None) -> str:
    """`text` without invisible and bidi characters, role tokens and code fences, cut to `limit` characters."""
    if not (text.isascii() and text.isprintable()):
        text = text.encode("utf-8", "replace").decode("utf-8")
        text = _INVISIBLE.sub("", _LINE_END.sub("\n", text))
    if _SUSPECT.search(text):
        for pattern, replacement in _TOKENS:
            text = pattern.sub(replacement, text)
    return text if limit is None or len(text) <= limit else text[: max(0, limit - 1)] + "…"


_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """`text` for the eye: control and direction characters as JSON writes them; line breaks and tabs stay."""
    return _UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], text)


_TAG = re.compile(r"<(?=[/!?A-Za-z_<])|(?<=>>)>")


def inert(text: str) -> str:
    """`text` in which no tag and no marker of ours can stand: `<` before a letter or another `<` becomes `‹`."""
    return _TAG.sub(lambda match: "‹" if match[0] == "<" else "›", text) if "<" in text or ">>>" in text else text


def clean_json(value: Any, limit: int | None = None, entries: int | None = None) -> Any:
    """A copy of a JSON value, texts and keys cleaned, with at most `entries` items of a list or object."""
    if isinstance(value, str):
        return clean(value, limit)
    if isinstance(value, Mapping):
        items = list(value.items())[:entries]
        return {clean(str(key), limit): clean_json(item, limit, entries) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [clean_json(item, limit, entries) for item in value[:entries]]
    if isinstance(value, int) and abs(value) > _MAX_EXACT_INT:  # JSON readers cannot hold it exactly
        return clean(str(value), limit)
    return value
