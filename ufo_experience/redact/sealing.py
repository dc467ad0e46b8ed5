"""What a run typed and its task does not name, sealed until a second run of another session has typed the same.

A code, an account, an approver: constants of a procedure are typed in every run of it, and stand in no task. No clear
text of them is kept. A seal is one point on a line that the value itself determines; the value is encrypted under the
place where that line meets zero. Two seals of one value from different runs give the line, and so the value; one gives
nothing, short of guessing the value and trying. (Threshold sharing as in Shamir, 1979, with the polynomial derived from
what is shared, so that runs need not know of each other.)

Passwords, and whatever looks like one, are never sealed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from hashlib import blake2b, shake_256
from itertools import combinations
from typing import NamedTuple

from ufo_experience.actions import is_typing
from ufo_experience.redact.fields import Field
from ufo_experience.redact.names import is_login_name
from ufo_experience.redact.secrets import find_secrets
from ufo_experience.schema import Step

_LONGEST = 48  # bytes of a value; a longer one is a text, not a constant
_MOST_WORDS = 5
_PRIME = 2**127 - 1  # the field of the line
_SIGNS = frozenset("!#$%^&*~+=?§|")
_NUMBER = 16  # bytes of a number of the field
_TAG = _RUN = 8  # bytes
_SIZE = _TAG + _RUN + _NUMBER + _LONGEST


class _Seal(NamedTuple):
    tag: bytes
    x: int
    y: int
    hidden: bytes


class _Line(NamedTuple):
    """What a value determines: the tag by which equal values are known, and y = start + slope · x."""

    tag: bytes
    start: int
    slope: int


def seal(value: str, run: str) -> str:
    """A value of `run` (its session and request), sealed; "" for one that is no constant to be kept."""
    bare = value.strip()
    if not _may_be_constant(bare):
        return ""
    line = _line(bare)
    x = 1 + int.from_bytes(blake2b(run.encode("utf-8", "replace"), digest_size=_RUN).digest(), "big") % (2**64 - 1)
    y = (line.start + line.slope * x) % _PRIME
    hidden = _masked(bare.encode().ljust(_LONGEST, b"\0"), line.start)
    parts = line.tag + x.to_bytes(_RUN, "big") + y.to_bytes(_NUMBER, "big") + hidden
    return base64.urlsafe_b64encode(parts).decode("ascii")


def opened(seals: Sequence[str]) -> str | None:
    """The value that two of these seals, of different runs, agree on; None when no two do."""
    read = [one for one in map(_read, dict.fromkeys(seals)) if one is not None]
    for one, other in combinations(read, 2):
        if one.tag == other.tag and one.x != other.x:
            slope = (one.y - other.y) * pow(one.x - other.x, -1, _PRIME) % _PRIME
            value = _text(_masked(one.hidden, (one.y - slope * one.x) % _PRIME))
            if value and _line(value) == (one.tag, (one.y - slope * one.x) % _PRIME, slope):
                return value
    return None


def tag_of(seal: str) -> str:
    """What seals of the same value have in common; "" for what is no seal."""
    read = _read(seal)
    return read.tag.hex() if read else ""


def tag_for(value: str) -> str:
    """The tag that a seal of this value would have."""
    return _line(value.strip()).tag.hex()


def constants_typed(steps: Sequence[Step], fields: Sequence[Field]) -> Iterator[int]:
    """The places of steps whose text may be sealed: not what goes into a password's field, nor what follows a login."""
    after_login = False
    for place, (step, field) in enumerate(zip(steps, fields, strict=True)):
        if not (field.secret or after_login):
            yield place
        if is_typing(step.action_type):
            after_login = is_login_name(step.target_control.name)


def _may_be_constant(value: str) -> bool:
    """True for a few printable words that do not look like a password somebody chose or a machine made."""
    if not value or not value.isprintable() or len(value.encode("utf-8", "replace")) > _LONGEST:
        return False
    words = value.split()
    return len(words) <= _MOST_WORDS and not any(map(_looks_chosen, words)) and not find_secrets(value)


def _looks_chosen(word: str) -> bool:
    mixed = any(c.islower() for c in word) and any(c.isdigit() for c in word)
    return len(word) >= 6 and (mixed or not _SIGNS.isdisjoint(word))


def _line(value: str) -> _Line:
    digest = blake2b(value.encode("utf-8", "replace"), digest_size=_TAG + 2 * _NUMBER, person=b"constant").digest()
    start, slope = (int.from_bytes(digest[at : at + _NUMBER], "big") % _PRIME for at in (_TAG, _TAG + _NUMBER))
    return _Line(digest[:_TAG], start, slope)


def _masked(data: bytes, key: int) -> bytes:
    stream = shake_256(key.to_bytes(_NUMBER, "big")).digest(len(data))
    return bytes(a ^ b for a, b in zip(data, stream, strict=True))


def _text(data: bytes) -> str:
    try:
        return data.rstrip(b"\0").decode("utf-8")
    except UnicodeDecodeError:  # seals of different values, or forged ones
        return ""


def _read(seal: str) -> _Seal | None:
    try:
        data = base64.urlsafe_b64decode(seal.encode("ascii", "replace"))
    except (binascii.Error, ValueError):
        return None
    if len(data) != _SIZE:
        return None
    x, y = int.from_bytes(data[_TAG : _TAG + _RUN], "big"), data[_TAG + _RUN : _TAG + _RUN + _NUMBER]
    return _Seal(data[:_TAG], x, int.from_bytes(y, "big"), data[-_LONGEST:])
