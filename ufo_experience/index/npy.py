"""`.npy` files as bytes to be written: of an array, or of more rows than should be in memory at once."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def npy(array: NDArray[Any]) -> bytes:
    """The bytes of a `.npy` file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def npy_blocks(dtype: DTypeLike, shape: tuple[int, ...], blocks: Iterable[NDArray[Any]]) -> Iterator[bytes]:
    """The bytes of a `.npy` file of this shape, piece by piece, its rows coming in blocks."""
    header = io.BytesIO()
    kind = np.lib.format.dtype_to_descr(np.dtype(dtype))
    np.lib.format.write_array_header_1_0(header, {"descr": kind, "fortran_order": False, "shape": shape})
    yield header.getvalue()
    for block in blocks:
        yield np.ascontiguousarray(block, dtype=dtype).tobytes()
