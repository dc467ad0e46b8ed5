"""Search over vectors with FAISS, in memory and in `.index/vectors.faiss`; `faiss.read_index` opens that file.

Vectors are kept in half precision: a cosine changes by some 1e-5. Up to `EXACT` of them all are compared; above,
FAISS's one-bit quantizer (RaBitQ) puts some hundred forward, and who asks compares these exactly. Filters hold
before the search, as a bitmap of the numbers that may answer: no answer comes short.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.errors import DataError
from ufo_experience.store.catalog import Catalog
from ufo_experience.store.files import read_regular, replace_file, storage_errors

if TYPE_CHECKING:
    from ufo_experience.index.base import Vector

EXACT = 20_000  # vectors, which are compared in 1 ms (256 numbers each) to 7 ms (1,536); the quantizer takes 1 to 2
RERANKED = 40  # candidates of the quantizer for each that is wanted: .98 of the 24 nearest are among them; of 20, .93
QUERY_BITS = 8  # of a question, against one bit of what is stored
MAX_FILE = 1 << 40
FILE = "vectors.faiss"
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


class FolderVectors:
    """The vectors of a folder's rows by number: from `vectors.faiss`, and what is newer from SQLite.

    An `epoch` of the catalog ends when rows go, its `sequence` is the number of the newest row. Not safe for several
    threads at once.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog, self._file = catalog, catalog.path.with_name(FILE)
        self._index: Any = None
        self._of, self._up_to = ["", 0], 0  # embedder and epoch, and the newest row that is in

    def follow(self, embedder: str) -> int | None:
        """Take in the newest vectors of an embedder; returns their length, None when there are none."""
        epoch, sequence = (int(self._catalog.meta(name) or 0) for name in ("epoch", "sequence"))
        if self._of != [embedder, epoch]:
            self._of = [embedder, epoch]
            written = self._written()
            self._index = self._read() if written.get("of") == self._of else None
            self._up_to = written["sequence"] if self._index is not None else 0
        if self._up_to < sequence:
            ask = """SELECT number, vector.data FROM row JOIN vector USING (text_key)
                WHERE embedder = ? AND sequence > ? ORDER BY sequence"""
            new = self._catalog.read(ask, (embedder, self._up_to))
            if new:
                self._put(np.array([number for number, _ in new], np.int64), unpacked([data for _, data in new]))
            self._up_to = sequence
        return int(self._index.d) if self._index is not None and self._index.ntotal else None

    def nearest(self, vector: Vector, allowed: NDArray[np.bool_], k: int) -> list[int]:
        """Numbers of the `k` nearest of those where `allowed` is True, nearest first; above `EXACT` more of them, for
        an exact comparison.
        """
        import faiss

        faiss.omp_set_num_threads(1)  # one question: a second thread costs more than it gives
        bits = np.packbits(allowed, bitorder="little")
        selector = faiss.IDSelectorBitmap(bits)  # pyright: ignore[reportCallIssue]
        if self._is_quantized():
            limits = faiss.RaBitQSearchParameters(sel=selector, qb=QUERY_BITS)  # pyright: ignore[reportCallIssue]
            k *= RERANKED
        else:
            limits = faiss.SearchParameters(sel=selector)  # pyright: ignore[reportCallIssue]
        _, found = self._index.search(np.asarray(vector, np.float32)[None], min(k, self._index.ntotal), params=limits)
        numbers: list[int] = found[0][found[0] >= 0].tolist()
        return numbers

    def write(self, embedder: str, newer: int) -> None:
        """Write `vectors.faiss` when at least so many rows are newer than it."""
        written, of = self._written(), [embedder, int(self._catalog.meta("epoch") or 0)]
        since = written["sequence"] if written.get("of") == of else 0
        late = self._catalog.read("SELECT count(*) FROM row WHERE sequence > ?", (since,))[0][0]
        if late < newer or self._catalog.in_memory or self.follow(embedder) is None:
            return
        import faiss

        self._catalog.unmark("faiss")  # until the new file is there: one that is not marked is not read
        data = faiss.serialize_index(self._index).tobytes()
        replace_file(self._file, data)
        told = {"of": self._of, "sequence": self._up_to, "sha256": hashlib.sha256(data).hexdigest()}
        mark = "INSERT OR REPLACE INTO meta VALUES ('faiss', ?)"
        self._catalog.run(lambda db: db.execute(mark, (json.dumps(told),)), write=True)

    def is_whole(self) -> bool:
        """False when there is a file, and it is not the one that was written: FAISS does not notice rot."""
        return not self._written() or self._read() is not None

    def forget(self) -> None:
        """Let go of what is in memory."""
        self._index, self._of, self._up_to = None, ["", 0], 0

    def delete(self) -> None:
        """Delete the file; it is made again from SQLite."""
        self.forget()
        self._catalog.unmark("faiss")
        with storage_errors(self._file):
            self._file.unlink(missing_ok=True)

    def _written(self) -> dict[str, Any]:
        """What was noted of the file when it was written."""
        found: dict[str, Any] = json.loads(self._catalog.meta("faiss") or "{}")
        return found

    def _read(self) -> Any:
        """The index in the file; None when that cannot be read, or is not the one that was written."""
        import faiss

        try:
            data = read_regular(self._file, MAX_FILE, follow=False)
        except DataError:
            return None
        whole = hashlib.sha256(data).hexdigest() == self._written().get("sha256")
        return faiss.deserialize_index(np.frombuffer(data, np.uint8)) if whole else None

    def _is_quantized(self) -> bool:
        import faiss

        return isinstance(faiss.downcast_index(self._index.index), faiss.IndexRaBitQ)

    def _put(self, numbers: NDArray[np.int64], vectors: Matrix) -> None:
        """Insert or replace; where they become too many, the quantizer is trained on what is there."""
        import faiss

        dim, inner = vectors.shape[1], faiss.METRIC_INNER_PRODUCT
        if self._index is None:
            self._index = faiss.IndexIDMap2(faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, inner))
        self._index.remove_ids(faiss.IDSelectorBatch(numbers))
        if not self._is_quantized() and self._index.ntotal + len(numbers) > EXACT:
            flat = faiss.downcast_index(self._index.index)
            there = flat.reconstruct_n(0, flat.ntotal) if flat.ntotal else np.empty((0, dim), np.float32)
            numbers = np.concatenate([faiss.vector_to_array(self._index.id_map), numbers])
            vectors = np.concatenate([there, vectors])
            quantizer = faiss.IndexRaBitQ(dim, inner)
            quantizer.train(vectors[:EXACT])
            self._index = faiss.IndexIDMap2(quantizer)
        self._index.add_with_ids(vectors, numbers)
