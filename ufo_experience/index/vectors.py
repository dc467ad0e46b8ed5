"""Search over vectors with FAISS, in memory and in `.index/vectors.faiss`; `faiss.read_index` opens that file.

Vectors are kept in half precision: a cosine changes by some 1e-5. Up to `EXACT` of them all are compared; above,
FAISS's one-bit quantizer (RaBitQ) puts some hundred forward, and who asks compares these exactly. Filters hold
before the search, as a bitmap of the numbers that may answer: no answer comes short.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
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


class FolderVectors:
    """The vectors of a folder's rows in memory: from `vectors.faiss`, and what is newer from SQLite.

    Not safe for several threads at once. An `epoch` ends when rows go, a `sequence` is the number of the newest row.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog, self._file = catalog, catalog.path.with_name(FILE)
        self._index: VectorIndex | None = None
        self._of, self._up_to = ("", 0), 0  # embedder and epoch, and the newest row

    def of(self, embedder: str, epoch: int, sequence: int) -> VectorIndex | None:
        """The vectors of an embedder; None when there are none."""
        if self._of != (embedder, epoch):
            self._of = embedder, epoch
            self._index, self._up_to = self._read()
        if self._up_to < sequence:
            ask = """SELECT number, vector.data FROM row JOIN vector USING (text_key)
                WHERE embedder = ? AND sequence > ? ORDER BY sequence"""
            new = self._catalog.read(ask, (embedder, self._up_to))
            if new:
                matrix = unpacked([data for _, data in new])
                self._index = self._index or VectorIndex(matrix.shape[1])
                self._index.put(np.array([number for number, _ in new], np.int64), matrix)
            self._up_to = sequence
        return self._index

    def write(self, embedder: str, epoch: int, sequence: int, newer: int) -> None:
        """Write `vectors.faiss` when at least so many rows are newer than it."""
        written = self._written()
        since = written["sequence"] if written.get("of") == [embedder, epoch] else 0
        if self._catalog.read("SELECT count(*) FROM row WHERE sequence > ?", (since,))[0][0] < newer:
            return
        index = self.of(embedder, epoch, sequence)
        if index is None or self._catalog.in_memory:
            return
        self._catalog.unmark("faiss")  # until the new file is there: one that is not marked is not read
        sha256 = index.write(self._file)
        told = json.dumps({"of": self._of, "sequence": self._up_to, "dim": index.dim, "sha256": sha256})
        self._catalog.run(lambda db: db.execute("INSERT OR REPLACE INTO meta VALUES ('faiss', ?)", (told,)), write=True)

    def faults(self) -> list[str]:
        """What is wrong with the file."""
        written = self._written()
        try:
            if written:
                VectorIndex.read(self._file, written["sha256"], written["dim"])
        except DataError as error:
            return [str(error)]
        return []

    def forget(self) -> None:
        """Let go of what is in memory."""
        self._index, self._of, self._up_to = None, ("", 0), 0

    def delete(self) -> None:
        """Delete the file; it is made again from SQLite."""
        self.forget()
        self._catalog.unmark("faiss")
        with storage_errors(self._file):
            self._file.unlink(missing_ok=True)

    def _read(self) -> tuple[VectorIndex | None, int]:
        written = self._written()
        if written.get("of") != list(self._of):
            return None, 0
        try:
            return VectorIndex.read(self._file, written["sha256"], written["dim"]), written["sequence"]
        except DataError:
            return None, 0  # made again from SQLite

    def _written(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._catalog.meta("faiss") or "{}")
        return found


def _exact(dim: int) -> Any:
    import faiss

    return faiss.IndexIDMap2(faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT))
