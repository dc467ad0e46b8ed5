"""Screenshots: known by their bytes, within a size, as data URLs for a prompt."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.session.files import StrPath
from ufo_experience.store.files import read_regular

MAX_IMAGE_BYTES = 20 * 1024 * 1024

_FIRST_BYTES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def image_type(data: bytes) -> str | None:
    """The media type of PNG, JPEG, GIF, WebP or BMP by the first bytes; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[:2] == b"BM" and data[6:10] == bytes(4):
        return "image/bmp"
    return next((kind for first, kind in _FIRST_BYTES.items() if data.startswith(first)), None)


def data_url(data: bytes) -> str:
    """An image as a data URL of the type its bytes show."""
    return f"data:{image_type(data)};base64,{base64.b64encode(data).decode('ascii')}"


def encode_image(path: StrPath) -> str:
    """Read an image file as a data URL. Raises DataError: no such file, too large, or not an image of a known kind."""
    data = read_regular(Path(path), MAX_IMAGE_BYTES)
    if image_type(data) is None:
        raise DataError("not a PNG, JPEG, GIF, WebP or BMP image", file=str(path))
    return data_url(data)


def decode_image(value: Any) -> bytes | None:
    """The bytes of an image given as bytes, base64 or a data URL; None for anything else."""
    if isinstance(value, str):
        try:
            value = base64.b64decode(value.rpartition(";base64,")[2], validate=True)
        except ValueError:
            return None
    usable = isinstance(value, bytes) and len(value) <= MAX_IMAGE_BYTES and image_type(value) is not None
    return value if usable else None
