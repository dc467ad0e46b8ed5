"""Screenshots: checked to be images, within a size, as data URLs for a prompt."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ufo_experience.errors import DataError
from ufo_experience.fileio.regular import read_regular
from ufo_experience.session.files import StrPath
from ufo_experience.session.memory import MemoryItem

MAX_IMAGE_BYTES = 20 * 1024 * 1024

_DATA_URL = re.compile(r"data:(image/[a-z]+);base64,([A-Za-z0-9+/]+={0,2})")
_BMP_HEADER_SIZES = {12, 40, 52, 56, 64, 108, 124}


class ImageMemoryItemNames:
    """The fields of an `ImageMemoryItem`."""

    METADATA: Final = "metadata"
    IMAGE_PATH: Final = "image_path"
    IMAGE_STR: Final = "image_str"


class ImageMemoryItem(MemoryItem):
    """A remembered screenshot: where it lies, what was said about it, and itself as a data URL."""


def image_type(data: bytes) -> str | None:
    """Tell the media type of PNG, JPEG, GIF, WebP or BMP from the first bytes; None for anything else."""
    return next((media_type for media_type, matches in _SIGNATURES.items() if matches(data)), None)


def encode_image(path: StrPath, max_bytes: int = MAX_IMAGE_BYTES) -> str:
    """Read an image file and give it as a data URL of the type its bytes show, whatever its name says.

    Raises:
        DataError: no such file, empty, larger than `max_bytes`, or not an image of a known kind.
        StorageError: the disk refused.
    """
    data = read_regular(Path(path), max_bytes)
    media_type = image_type(data)
    if media_type is None:
        raise DataError("not a PNG, JPEG, GIF, WebP or BMP image", file=str(path))
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def check_data_url(url: object, max_bytes: int = MAX_IMAGE_BYTES, *, field: str | None = None) -> str:
    """Give `url` back if it is a data URL of an image; a prompt must not carry any other address.

    Raises:
        DataError: another kind of URL, broken base64, larger than `max_bytes`, or bytes of another type than it says.
    """
    match = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if match is None:
        raise DataError("not a base64 data URL of an image", field=field)
    if len(match[2]) > 4 * (max_bytes // 3 + 1):
        raise DataError(f"image larger than {max_bytes} bytes", field=field)
    try:
        data = base64.b64decode(match[2], validate=True)
    except binascii.Error as error:
        raise DataError(f"broken base64: {error}", field=field) from error
    if len(data) > max_bytes:
        raise DataError(f"image larger than {max_bytes} bytes", field=field)
    if image_type(data) != match[1]:
        raise DataError(f"the bytes are not {match[1]}", field=field)
    return match[0]


def _is_bmp(data: bytes) -> bool:
    # "BM" alone would let through any text that begins so; the header size that follows is one of a few.
    return data[:2] == b"BM" and int.from_bytes(data[14:18], "little") in _BMP_HEADER_SIZES


_SIGNATURES: dict[str, Callable[[bytes], bool]] = {
    "image/png": lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": lambda data: data.startswith(b"\xff\xd8\xff"),
    "image/gif": lambda data: data.startswith((b"GIF87a", b"GIF89a")),
    "image/webp": lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP",
    "image/bmp": _is_bmp,
}


def decode_image(value: Any) -> bytes | None:
    """The bytes of an image given as bytes, base64 or a data URL; None for anything else."""
    data = value
    if isinstance(value, str):
        text = value.partition(";base64,")[2] if value.startswith("data:image/") else value
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return None
    usable = isinstance(data, bytes) and len(data) <= MAX_IMAGE_BYTES and image_type(data) is not None
    return data if usable else None
