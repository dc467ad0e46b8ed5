"""Screenshots: checked to be images, within a size, as data URLs for a prompt."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Final

from ufo_experience.errors import DataError
from ufo_experience.session.files import StrPath
from ufo_experience.session.memory import MemoryItem
from ufo_experience.store.files import read_regular

MAX_IMAGE_BYTES = 20 * 1024 * 1024


class ImageMemoryItemNames:
    """The fields of an `ImageMemoryItem`."""

    METADATA: Final = "metadata"
    IMAGE_PATH: Final = "image_path"
    IMAGE_STR: Final = "image_str"


class ImageMemoryItem(MemoryItem):
    """A remembered screenshot: where it lies, what was said about it, and itself as a data URL."""


def image_type(data: bytes) -> str | None:
    """Tell the media type of PNG, JPEG, GIF, WebP or BMP from the first bytes; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[:2] == b"BM" and data[6:10] == bytes(4):
        return "image/bmp"
    begins = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
    return next((kind for first, kind in begins.items() if data.startswith(first)), None)


def encode_image(path: StrPath) -> str:
    """Read an image file and give it as a data URL of the type its bytes show, whatever its name says.

    Raises:
        DataError: no such file, too large, or not an image of a known kind.
    """
    data = read_regular(Path(path), MAX_IMAGE_BYTES)
    kind = image_type(data)
    if kind is None:
        raise DataError("not a PNG, JPEG, GIF, WebP or BMP image", file=str(path))
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def is_data_url(url: Any) -> bool:
    """True for the data URL of an image, of the type its bytes show."""
    data = decode_image(url)
    return data is not None and str(url).startswith(f"data:{image_type(data)};base64,")


def decode_image(value: Any) -> bytes | None:
    """The bytes of an image given as bytes, base64 or a data URL; None for anything else."""
    if isinstance(value, str):
        try:
            value = base64.b64decode(value.rpartition(";base64,")[2], validate=True)
        except ValueError:
            return None
    usable = isinstance(value, bytes) and len(value) <= MAX_IMAGE_BYTES and image_type(value) is not None
    return value if usable else None
