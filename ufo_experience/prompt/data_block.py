"""How text of records is put into a prompt so that it stays data, and how it is found and taken out again.

A block is our fixed preamble, an opening marker, the examples, a closing marker. Both markers carry one fresh 128-bit
nonce. No text of a record can write a marker or begin a line (`cleaning.py`, `notation.py`). This limits damage and is
no guarantee: what may be shown at all is decided by trust, before ranking.
"""

from __future__ import annotations

import functools
import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ufo_experience.errors import UsageError
from ufo_experience.prompt.notation import read_example
from ufo_experience.schema import expect
from ufo_experience.text.templates import load_templates

_NONCE = re.compile(r"[0-9a-f]{32}")
_MARK = re.compile(r"<<<(end-)?past-experiences ([0-9a-f]{32})>>>")
_BREAKS = ("\n\n", "\\n\\n")  # as written, and as it looks inside a JSON string of a log


def new_nonce() -> str:
    """128 random bits as 32 hex digits."""
    return secrets.token_hex(16)


def frame(examples: Sequence[str], nonce: str) -> str:
    """The block around examples as `examples.text_example` writes them, numbered. The nonce stands in it exactly twice.

    Raises:
        UsageError: `nonce` is not 32 hex digits.
    """
    if not _NONCE.fullmatch(nonce):
        raise UsageError("a nonce is 32 lower-case hex digits")
    body = "\n\n".join(f"Example {number} {text}" for number, text in enumerate(examples, start=1))
    while nonce in body:  # only a nonce the caller chose can be there
        body = body.replace(nonce, f"{nonce[:-1]}_{nonce[-1]}")
    return f"{wording('preamble')}\n\n<<<past-experiences {nonce}>>>\n{body}\n<<<end-past-experiences {nonce}>>>"


def parse_block(text: str, nonce: str | None = None) -> list[dict[str, Any]]:
    """The examples of every whole block in `text` (of the one with `nonce`, if given); [] when there is none.

    An example is a dict: task, match, application, outcome, successful_steps (or tried_and_failed,
    steps_of_unknown_outcome), … A step is a dict of its line (`step`) and its parts: number, action, control,
    control_type, parameters, observation, error, confirm.

    Raises:
        SchemaError: what stands between two markers are no examples of ours (`E_BLOCK`).
    """
    expect(str, text, "text")
    found: list[dict[str, Any]] = []
    for opening, closing in _pairs(text):
        if closing is not None and nonce in (None, opening.group(2)):
            body = text[opening.end() : closing.start()].strip("\n")
            found += [read_example(example) for example in body.split("\n\n")]
    return found


def strip_block(text: str) -> str:
    """`text` without any block, its preamble and its closing sentence: for transcripts that are learned from.

    A block without its own end is taken out with all that follows, up to the next block.
    """
    kept, position = [], 0
    for opening, closing in _pairs(text):
        following = (mark for mark in _MARK.finditer(text, opening.end()) if mark.group(1) is None)
        end = closing.end() if closing else next((mark.start() for mark in following), len(text))
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
