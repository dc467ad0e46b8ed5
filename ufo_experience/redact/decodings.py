"""Encodings in which a secret may stand: base64, base32, hex, decimal codes, bits, Morse; what is encoded, decoded."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Iterator

_PACKED = re.compile(r"H4sI|eA[E-H]|eF[4-7]|eJ[w-z]|eN[o-r]")  # how gzip and zlib begin
_MOST_PACKED, _MOST_UNPACKED = 4, 8_192
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_BASE32 = re.compile(r"[A-Z2-7]{10,}|[a-z2-7]{10,}")
_DIGEST = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{32,128}(?![0-9A-Fa-f])")
_HEX = re.compile(r"(?:(?:0[xX]|\\x|[%=])?[0-9A-Fa-f]{2}[\s,:;.-]{0,2}){6,}")
_DECIMAL = re.compile(r"\d{2,3}(?:[\s,;:.&#-]{1,4}\d{2,3}){4,}")
_MORSE = re.compile(r"[.-]{1,6}(?:[ /|]{1,3}[.-]{1,6}){3,}")
_BITS = re.compile(r"[01]{8}(?:[\s,]{0,2}[01]{8}){3,}|[01]{7}(?:[\s,]{1,2}[01]{7}){4,}")
_MORSE_SIGNS = dict(
    zip(
        ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.."
        " ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----.".split(),
        f"{LETTERS}0123456789",
        strict=True,
    )
)


def _from_base64(run: str) -> Iterator[bytes]:
    if len(run) < 12 and run.isalpha() and run[1:].islower():
        return
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    packed = [match.start() for match in _PACKED.finditer(bare)][:_MOST_PACKED]  # behind a "/" of an address
    for offset in (*range(4), *packed):
        rest = bare[offset:]
        rest = rest[: len(rest) - (len(rest) % 4 == 1)]
        try:
            data = base64.b64decode(rest + "=" * (-len(rest) % 4))
        except binascii.Error:
            continue
        yield _unpacked(data)


def _unpacked(data: bytes) -> bytes:
    """What gzip or zlib packed, up to 8 kB of it; other data as they are."""
    if data[:2] not in (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"):
        return data
    try:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(data, _MOST_UNPACKED)
    except zlib.error:
        return data


def _from_base32(run: str) -> Iterator[bytes]:
    bare = run.upper()
    bare = bare[: len(bare) - {1: 1, 3: 1, 6: 1}.get(len(bare) % 8, 0)]
    try:
        yield base64.b32decode(bare + "=" * (-len(bare) % 8))
    except binascii.Error:
        return


def _from_hex(run: str) -> Iterator[bytes]:
    digits = re.sub(r"0[xX]|\\x|[^0-9A-Fa-f]", "", run)
    for offset in range(2):
        rest = digits[offset:]
        yield bytes.fromhex(rest[: len(rest) - len(rest) % 2])


def _from_numbers(run: str) -> Iterator[bytes]:
    codes = [int(code) for code in re.findall(r"\d+", run)]
    yield bytes(code for code in codes if code < 256)
    if any(code > 127 for code in codes):  # characters, not bytes
        yield "".join(chr(code) for code in codes if code < 0xD800).encode()


def _from_morse(run: str) -> Iterator[bytes]:
    yield "".join(_MORSE_SIGNS.get(sign, "") for sign in re.findall(r"[.-]+", run)).encode()


def _from_bits(run: str) -> Iterator[bytes]:
    bits = re.sub(r"[^01]", "", run)
    size = len(re.findall(r"[01]+", run)[0])
    size = size if size == 7 else 8
    yield bytes(int(bits[place : place + size], 2) for place in range(0, len(bits) - size + 1, size))


ENCODINGS: tuple[tuple[re.Pattern[str], Callable[[str], Iterator[bytes]]], ...] = (
    (_BASE64, _from_base64),
    (_BASE32, _from_base32),
    (_DIGEST, _from_hex),
    (_HEX, _from_hex),
    (_DECIMAL, _from_numbers),
    (_BITS, _from_bits),
    (_MORSE, _from_morse),
)
