"""How text of records is put into a prompt so that it stays data, and how it is found and taken out again.

A block is our fixed preamble, an opening marker, a JSON list, a closing marker. Both markers carry one fresh 128-bit
nonce. Inside, `<`, `>` and `&` are escaped, so that no record can write a marker; text is cleaned of invisible
characters and role tokens on the way out, the stored record is not changed. This limits damage and is no guarantee:
what may be shown at all is decided by trust, before ranking.
"""

from __future__ import annotations

import functools
import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ufo_experience.errors import SchemaError, UsageError
from ufo_experience.text.templates import load_templates

_NONCE = re.compile(r"[0-9a-f]{32}")
_MARK = re.compile(r"<<<(end-)?past-experiences ([0-9a-f]{32})>>>")
_BREAKS = ("\n\n", "\\n\\n")  # as written, and as it looks inside a JSON string of a log
_MAX_EXACT_INT = 2**53
_dumps = json.JSONEncoder(ensure_ascii=False).encode

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
_SUSPECT = re.compile(rf"(?im)[<>\[`]|{_HEADER}")  # a cheap look before going through _TOKENS

# Each replacement holds a character that none of the patterns accepts there, so cleaning twice changes nothing.
_TOKENS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"<(?=[|\uff5c])"), "< "),
    (re.compile(r"(?<=[|\uff5c])>"), " >"),
    (re.compile(rf"(?i)<{{1,3}}{_GAP}(/?{_GAP}(?:{_TAGS})){_GAP}>{{1,3}}"), r"(\1)"),
    (re.compile(rf"(?i)\[\[{_GAP}(/?{_GAP}(?:{_ROLES})){_GAP}\]\]"), r"(\1)"),
    (re.compile(rf"(?i)\[{_GAP}(/?{_GAP}inst){_GAP}\]"), r"(\1)"),
    (re.compile(r"`{3,}"), "'''"),
    (re.compile(rf"(?im){_HEADER}"), r"\1(\2)"),
)


def new_nonce() -> str:
    """128 random bits as 32 hex digits."""
    return secrets.token_hex(16)


def clean(text: str, limit: int | None = None) -> str:
    """`text` without invisible and bidi characters, role tokens and code fences, cut to `limit` characters.

    Ordinary UI text comes out as it went in; `clean(clean(text)) == clean(text)`.
    """
    if not (text.isascii() and text.isprintable()):
        text = text.encode("utf-8", "replace").decode("utf-8")
        text = _INVISIBLE.sub("", _LINE_END.sub("\n", text))
    if _SUSPECT.search(text):
        for pattern, replacement in _TOKENS:
            text = pattern.sub(replacement, text)
    return text if limit is None or len(text) <= limit else text[: max(0, limit - 1)] + "…"


def clean_json(value: Any, limit: int | None = None, entries: int | None = None) -> Any:
    """A cleaned copy of a JSON value: every text and key cleaned, at most `entries` items of a list or object.

    Integers that JSON readers cannot hold exactly become text.
    """
    if isinstance(value, str):
        return clean(value, limit)
    if isinstance(value, Mapping):
        items = list(value.items())[:entries]
        return {clean(str(key), limit): clean_json(item, limit, entries) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [clean_json(item, limit, entries) for item in value[:entries]]
    if isinstance(value, int) and abs(value) > _MAX_EXACT_INT:
        return clean(str(value), limit)
    return value


def encode(record: Mapping[str, Any]) -> str:
    """One record as JSON, a field a line, a list item a line, numbers with two decimals."""
    fields = [f" {_dumps(key)}: {_layout(value)}" for key, value in record.items()]
    text = "{\n" + ",\n".join(fields) + "\n}"
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def frame(records: Sequence[str], nonce: str) -> str:
    """The block around records that `encode` wrote. The nonce stands in it exactly twice.

    Raises:
        UsageError: `nonce` is not 32 hex digits.
    """
    if not _NONCE.fullmatch(nonce):
        raise UsageError("a nonce is 32 lower-case hex digits")
    body = "[\n" + ",\n".join(records) + "\n]"
    while nonce in body:  # only a nonce the caller chose can be there; its last digit is written as an escape
        body = body.replace(nonce, f"{nonce[:-1]}\\u{ord(nonce[-1]):04x}")
    return f"{wording('preamble')}\n\n<<<past-experiences {nonce}>>>\n{body}\n<<<end-past-experiences {nonce}>>>"


def parse_block(text: str, nonce: str | None = None) -> list[dict[str, Any]]:
    """The records of every whole block in `text` (of the one with `nonce`, if given); [] when there is none.

    Raises:
        SchemaError: what stands between two markers is not a JSON list of objects.
    """
    records: list[dict[str, Any]] = []
    for opening, closing in _pairs(text):
        if closing is None or nonce not in (None, opening.group(2)):
            continue
        try:
            found = json.loads(text[opening.end() : closing.start()])
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"the block is not JSON: {error}", code="E_BLOCK") from error
        if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
            raise SchemaError("the block is not a list of objects", code="E_BLOCK")
        records += found
    return records


def strip_block(text: str) -> str:
    """`text` without any block, its preamble and its closing sentence: for transcripts that are learned from.

    A block cut off by the end of the text, or by the next block, is taken out as far as it goes.
    """
    kept, position = [], 0
    for opening, closing in _pairs(text):
        following = _MARK.search(text, opening.end())
        end = closing.end() if closing else following.start() if following else len(text)
        kept.append(text[position : _before(text, opening.start())])
        position = _after(text, end)
    return "".join([*kept, text[position:]])


def has_block(text: str) -> bool:
    """True when `text` holds (a part of) a block; cheap."""
    return _MARK.search(text) is not None


def strip_blocks(value: Any) -> Any:
    """A copy of a JSON value with `strip_block` applied to every text in it."""
    if isinstance(value, str):
        return strip_block(value) if has_block(value) else value
    if isinstance(value, Mapping):
        return {key: strip_blocks(item) for key, item in value.items()}
    return [strip_blocks(item) for item in value] if isinstance(value, list | tuple) else value


@functools.cache
def wording(name: str) -> str:
    """A text of `prompts/few_shot.yaml`: preamble, closing or ufo_tip."""
    required = dict.fromkeys(("preamble", "closing", "ufo_tip"), frozenset[str]())
    return load_templates("few_shot", required)[name].text


def _pairs(text: str) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    """Each opening marker with its closing one: the very next marker, since a block holds no other."""
    opening: re.Match[str] | None = None
    for mark in _MARK.finditer(text):
        if mark.group(1) is None:
            if opening:
                yield opening, None
            opening = mark
        elif opening:
            yield opening, mark if mark.group(2) == opening.group(2) else None
            opening = None
    if opening:
        yield opening, None


def _before(text: str, start: int) -> int:
    """Where the block that opens at `start` begins, counting its preamble and the break before it."""
    for line_break in _BREAKS:
        preamble = wording("preamble") + line_break
        quoted = json.dumps(wording("preamble"))[1:-1] + line_break
        for lead in (preamble, quoted):
            if text.endswith(lead, 0, start):
                start -= len(lead)
                return start - len(line_break) if text.endswith(line_break, 0, start) else start
    return start


def _after(text: str, end: int) -> int:
    """Where the text goes on after a block that ends at `end`, behind its closing sentence."""
    for line_break in _BREAKS:
        closing = line_break + wording("closing")
        if text.startswith(closing, end):
            return end + len(closing)
    return end


def _layout(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(_dumps(item) for item in value) + "\n ]"
    return _dumps(value)
