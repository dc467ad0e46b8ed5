"""Screenshots: checked to be images, within a size, as data URLs for a prompt."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

from ufo_experience.errors import DataError
from ufo_experience.session.files import StrPath, read_bytes
from ufo_experience.session.memory import MemoryItem

MAX_IMAGE_BYTES = 20 * 1024 * 1024

# How each kind of image begins.
_SIGNATURES = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
    "image/bmp": re.compile(rb"BM....\x00\x00\x00\x00", re.DOTALL),
}
_DATA_URL = re.compile(r"data:(image/[a-z]+);base64,([A-Za-z0-9+/]+={0,2})")


class ImageMemoryItemNames:
    """The fields of an `ImageMemoryItem`."""

    METADATA: Final = "metadata"
    IMAGE_PATH: Final = "image_path"
    IMAGE_STR: Final = "image_str"


class ImageMemoryItem(MemoryItem):
    """A remembered screenshot: where it lies, what was said about it, and itself as a data URL."""


def image_type(data: bytes) -> str | None:
    """Tell the media type of PNG, JPEG, GIF, WebP or BMP from the first bytes; None for anything else."""
    return next((kind for kind, signature in _SIGNATURES.items() if signature.match(data)), None)


def encode_image(path: StrPath, max_bytes: int = MAX_IMAGE_BYTES) -> str:
    """Read an image file and give it as a data URL of the type its bytes show, whatever its name says.

    Raises:
        DataError: no such file, larger than `max_bytes`, or not an image of a known kind.
    """
    data = read_bytes(path, max_bytes)
    kind = image_type(data)
    if kind is None:
        raise DataError("not a PNG, JPEG, GIF, WebP or BMP image", file=str(path))
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def check_data_url(url: Any, max_bytes: int = MAX_IMAGE_BYTES, *, field: str | None = None) -> str:
    """Give `url` back if it is a data URL of an image; a prompt must not carry any other address.

    Raises:
        DataError: another kind of URL, larger than `max_bytes`, or bytes of another type than it says.
    """
    match = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    data = decode_image(match[2], max_bytes) if match else None
    if match is None or data is None or image_type(data) != match[1]:
        raise DataError(f"not the data URL of an image of at most {max_bytes} bytes", field=field)
    return match[0]


def decode_image(value: Any, max_bytes: int = MAX_IMAGE_BYTES) -> bytes | None:
    """The bytes of an image given as bytes, base64 or a data URL; None for anything else."""
    data = value
    if isinstance(value, str):
        text = value.partition(";base64,")[2] if value.startswith("data:image/") else value
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return None
    usable = isinstance(data, bytes) and len(data) <= max_bytes and image_type(data) is not None
    return data if usable else None
