"""Search over vectors with FAISS, in memory and in `.index/vectors.faiss`; `faiss.read_index` opens that file.

Vectors are kept in half precision: a cosine changes by some 1e-5. All are compared: 100,000 of 256 numbers in 4 ms, of
1,536 in 15. Filters hold before the search, as a bitmap of the numbers that may answer: no answer comes short.
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
    """The vectors of a folder's texts by number: from `vectors.faiss`, and what is newer from SQLite.

    An `epoch` ends when vectors go. Not safe for several threads at once.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog, self._file = catalog, catalog.path.with_name(FILE)
        self._index: Any = None
        self._of: list[Any] = []  # embedder and epoch of what is in memory
        self._up_to = 0  # the newest vector that is in

    def state(self) -> tuple[int, int]:
        """The epoch and the number of the newest vector: others, and vectors have changed."""
        ask = "SELECT (SELECT value FROM meta WHERE name = 'epoch'), (SELECT max(number) FROM text_vector)"
        epoch, newest = self._catalog.read(ask)[0]
        return epoch, newest or 0

    def follow(self, embedder: str) -> int | None:
        """Take in the newest vectors of an embedder; returns their length, None when there are none."""
        epoch, newest = self.state()
        of = [embedder, epoch]
        if self._of != of:
            self._of, written = of, self._written()
            self._index = self._read() if written.get("of") == of else None
            self._up_to = written["up to"] if self._index is not None else 0
        if self._up_to < newest:
            ask = "SELECT number, data FROM text_vector WHERE embedder = ? AND number > ?"
            if new := self._catalog.read(ask, (embedder, self._up_to)):
                self._add(np.array([number for number, _ in new], np.int64), unpacked([data for _, data in new]))
            self._up_to = newest
        return int(self._index.d) if self._index is not None and self._index.ntotal else None

    def nearest(self, vector: Vector, allowed: NDArray[np.bool_], k: int) -> list[int]:
        """Numbers of the `k` nearest of those where `allowed` is True, the nearest first."""
        import faiss

        faiss.omp_set_num_threads(1)  # one question: a second thread costs more than it gives
        bits = np.packbits(allowed, bitorder="little")
        selector = faiss.IDSelectorBitmap(bits)  # pyright: ignore[reportCallIssue]
        limits = faiss.SearchParameters(sel=selector)  # pyright: ignore[reportCallIssue]
        _, found = self._index.search(np.asarray(vector, np.float32)[None], min(k, self._index.ntotal), params=limits)
        numbers: list[int] = found[0][found[0] >= 0].tolist()
        return numbers

    def write(self, embedder: str, newer: int) -> None:
        """Write `vectors.faiss` when at least so many vectors are newer than it."""
        written = self._written()
        since = written["up to"] if written.get("of") == [embedder, self.state()[0]] else 0
        late = self._catalog.read("SELECT count(*) FROM text_vector WHERE number > ?", (since,))[0][0]
        if late < newer or self._catalog.in_memory or self.follow(embedder) is None:
            return
        import faiss

        self._catalog.note(faiss=None)  # until the new file is there: one that is not marked is not read
        data = faiss.serialize_index(self._index).tobytes()
        replace_file(self._file, data)
        told = {"of": self._of, "up to": self._up_to, "sha256": hashlib.sha256(data).hexdigest()}
        self._catalog.note(faiss=json.dumps(told))

    def is_whole(self) -> bool:
        """False when there is a file, and it is not the one that was written: FAISS does not notice rot."""
        return not self._written() or self._read() is not None

    def forget(self) -> None:
        """Let go of what is in memory."""
        self._index, self._of, self._up_to = None, [], 0

    def delete(self) -> None:
        """Delete the file; it is made again from SQLite."""
        self.forget()
        self._catalog.note(faiss=None)
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

    def _add(self, numbers: NDArray[np.int64], vectors: Matrix) -> None:
        import faiss

        if self._index is None:
            half, inner = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
            self._index = faiss.IndexIDMap2(faiss.IndexScalarQuantizer(vectors.shape[1], half, inner))
        self._index.add_with_ids(vectors, numbers)
