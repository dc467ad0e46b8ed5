"""One vector as bytes that cannot be changed unnoticed."""

from __future__ import annotations

import hashlib

import numpy as np

from ufo_experience.embedding.base import Vectors

SEAL_BYTES = 8


def sealed(key: bytes, text: bytes, vector: Vectors) -> bytes:
    """A vector's bytes and a check sum: SQLite notices few flipped bits, and a turned sign keeps the norm."""
    body = np.asarray(vector, "<f4").tobytes()
    return body + _seal(key, text, body)


def _seal(key: bytes, text: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(key + text + body, digest_size=SEAL_BYTES).digest()


def read_vector(key: bytes, text: bytes, blob: bytes, dim: int | None) -> Vectors | None:
    """A damaged row is a missing row."""
    if not all(isinstance(part, bytes) for part in (key, text, blob)) or len(blob) <= SEAL_BYTES:
        return None
    body, seal = blob[:-SEAL_BYTES], blob[-SEAL_BYTES:]
    if len(body) % 4 or seal != _seal(key, text, body):
        return None
    vector = np.frombuffer(body, "<f4").astype(np.float32)
    return vector if dim in (None, len(vector)) else None
