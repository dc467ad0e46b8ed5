"""Search over vectors with FAISS, in memory and in `.index/vectors.faiss`; `faiss.read_index` opens that file.

Vectors are kept in half precision: a cosine changes by some 1e-5. Up to `EXACT` of them all are compared; above,
FAISS's one-bit quantizer (RaBitQ) puts some hundred forward, and who asks compares these exactly. Filters hold
before the search, as a bitmap of the numbers that may answer: no answer comes short.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.errors import DataError
from ufo_experience.store.files import read_regular, replace_file

if TYPE_CHECKING:
    from ufo_experience.index.base import Vector

EXACT = 20_000  # vectors: all of them are compared in 3 ms; above, the quantizer is ten times as fast
RERANKED = 20  # candidates of the quantizer for each that is wanted: .99 of the right ones are among them
QUERY_BITS = 8  # of a question, against one bit of what is stored
MAX_FILE = 1 << 40
Numbers = NDArray[np.int64]
Matrix = NDArray[np.float32]


def packed(vector: Vector) -> bytes:
    """A vector as SQLite keeps it. Raises `DataError` for NaN, infinity or a norm that is not 1."""
    norm = float(np.linalg.norm(vector))
    if not np.isfinite(norm) or abs(norm - 1.0) > 0.01:
        raise DataError(f"a vector of norm {norm}, not 1", code="E_NORM")
    return np.asarray(vector, np.float16).tobytes()


def unpacked(rows: list[bytes]) -> Matrix:
    """The vectors that were packed, a row each."""
    return np.frombuffer(b"".join(rows), np.float16).reshape(len(rows), -1).astype(np.float32)


class VectorIndex:
    """Vectors of one length by number. Not safe for several threads at once: its owner holds a lock."""

    def __init__(self, dim: int, faiss_index: Any = None) -> None:
        self.dim = dim
        self._index = faiss_index if faiss_index is not None else _exact(dim)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @classmethod
    def read(cls, path: Path, sha256: str, dim: int) -> VectorIndex:
        """The index in a file, if the file is the one that was written: FAISS does not notice rot.

        Raises:
            DataError: it is another one, or cannot be read.
        """
        import faiss

        data = read_regular(path, MAX_FILE, follow=False)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise DataError("not the file that was written", file=str(path))
        return cls(dim, faiss.deserialize_index(np.frombuffer(data, np.uint8)))

    def write(self, path: Path) -> str:
        """Write the file; returns its digest. Raises `StorageError`."""
        import faiss

        data = faiss.serialize_index(self._index).tobytes()
        replace_file(path, data)
        return hashlib.sha256(data).hexdigest()

    def put(self, numbers: Numbers, vectors: Matrix) -> None:
        """Insert or replace."""
        import faiss

        self._index.remove_ids(faiss.IDSelectorBatch(numbers))
        quantized = isinstance(faiss.downcast_index(self._index.index), faiss.IndexRaBitQ)
        if not quantized and len(self) + len(numbers) > EXACT:
            self._quantize(vectors)
        self._index.add_with_ids(vectors, numbers)

    def _quantize(self, vectors: Matrix) -> None:
        """Go over to the quantizer, which is trained on what is there."""
        import faiss

        old = self._index
        flat = faiss.downcast_index(old.index)
        there = flat.reconstruct_n(0, flat.ntotal) if flat.ntotal else np.empty((0, self.dim), np.float32)
        index = faiss.IndexRaBitQ(self.dim, faiss.METRIC_INNER_PRODUCT)
        index.train(np.concatenate([there, vectors])[:EXACT])
        self._index = faiss.IndexIDMap2(index)
        if len(there):
            self._index.add_with_ids(there, faiss.vector_to_array(old.id_map))

    def nearest(self, vector: Vector, allowed: NDArray[np.bool_], k: int) -> Numbers:
        """Numbers of the `k` nearest of those where `allowed` is True, nearest first; above `EXACT` more of them, for
        an exact comparison."""
        import faiss

        faiss.omp_set_num_threads(1)  # one question: a second thread costs more than it gives
        bits = np.packbits(allowed, bitorder="little")
        selector = faiss.IDSelectorBitmap(bits)  # pyright: ignore[reportCallIssue]
        if isinstance(faiss.downcast_index(self._index.index), faiss.IndexRaBitQ):
            limits = faiss.RaBitQSearchParameters(sel=selector, qb=QUERY_BITS)  # pyright: ignore[reportCallIssue]
            k *= RERANKED
        else:
            limits = faiss.SearchParameters(sel=selector)  # pyright: ignore[reportCallIssue]
        _, found = self._index.search(np.asarray(vector, np.float32)[None], min(k, max(len(self), 1)), params=limits)
        numbers: Numbers = found[0][found[0] >= 0]
        return numbers


def _exact(dim: int) -> Any:
    import faiss

    return faiss.IndexIDMap2(faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT))
