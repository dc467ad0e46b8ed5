"""What `bench speed` measures: our index, and the two simplest ways to do without one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import faiss
import numpy as np

from ufo_experience.benchmark.speed.run import APPLICATIONS, Data, Engine, K
from ufo_experience.index.base import Attributes, Filter, Space, Vectors
from ufo_experience.index.engines.faiss import FaissIndex
from ufo_experience.index.generations import Generations, Manifest
from ufo_experience.store import open_store

_SPACE = ("bench", "bench", "1")


def engines(dim: int) -> Sequence[Engine]:
    """New engines of a dimension."""
    return (Ours(dim), Numpy(), Flat(dim))


class Ours:
    """The index of this package, published and opened as a store's is."""

    name = "ufo-experience"

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._index = FaissIndex(dim)

    def build(self, data: Data) -> None:
        """See `Engine`."""
        self._index = FaissIndex(self._dim)
        self._index.add(data.ids, data.vectors, [Attributes(application=name) for name in data.applications])

    def search(self, query: Vectors, application: str | None) -> list[str]:
        """See `Engine`."""
        filter = Filter(application=application) if application else None
        return [identifier for identifier, _ in self._index.search(query[None], K, filter)[0]]

    def add(self, id: str, vector: Vectors, application: str) -> None:
        """As a running program does: a copy that grows while the index before is searched."""
        grown = self._index.copy()
        grown.add([id], vector[None], [Attributes(application=application)])
        self._index = grown

    def save(self, folder: Path) -> None:
        """See `Engine`."""
        manifest = Manifest(
            store_id=_SPACE[0],
            embedder=_SPACE[1],
            template=_SPACE[2],
            dim=self._dim,
            engine="faiss",
            records=len(self._index),
            ids_digest="",
            created_at="",
            mtimes={},
            versions={},
        )
        with Generations(folder / "index").publisher() as publish:
            publish(self._index.save(), manifest)

    def open(self, folder: Path) -> None:
        """See `Engine`."""
        store = open_store(str(folder / "store"))
        generation = Generations(folder / "index").current()
        self._index = FaissIndex.open("faiss", Space(*_SPACE, self._dim), store=store, generation=generation)


class Numpy:
    """One matrix product, and the best of it."""

    name = "numpy"

    def build(self, data: Data) -> None:
        """See `Engine`."""
        self._vectors, self._ids = data.vectors.copy(), list(data.ids)
        self._applications = np.array(data.applications)

    def search(self, query: Vectors, application: str | None) -> list[str]:
        """See `Engine`."""
        rows = None if application is None else np.flatnonzero(self._applications == application)
        scores = (self._vectors if rows is None else self._vectors[rows]) @ query
        best = np.argpartition(-scores, min(K, len(scores)) - 1)[:K]
        best = best[np.argsort(-scores[best])]
        return [self._ids[row] for row in (best if rows is None else rows[best])]

    def add(self, id: str, vector: Vectors, application: str) -> None:
        """See `Engine`."""
        self._vectors = np.concatenate([self._vectors, vector[None]])
        self._applications = np.append(self._applications, application)
        self._ids.append(id)

    def save(self, folder: Path) -> None:
        """See `Engine`."""
        np.save(folder / "vectors.npy", self._vectors)

    def open(self, folder: Path) -> None:
        """See `Engine`."""
        self._vectors = np.load(folder / "vectors.npy")


class Flat:
    """`IndexFlatIP`, filtered by a bitmap made once for each application."""

    name = "FAISS flat"

    def __init__(self, dim: int) -> None:
        self._index = faiss.IndexFlatIP(dim)

    def build(self, data: Data) -> None:
        """See `Engine`."""
        faiss.omp_set_num_threads(1)
        self._index = faiss.IndexFlatIP(data.vectors.shape[1])
        self._index.add(data.vectors)
        self._ids, names = list(data.ids), np.array(data.applications)
        self._bits = {f"app{n}": np.packbits(names == f"app{n}", bitorder="little") for n in range(APPLICATIONS)}

    def search(self, query: Vectors, application: str | None) -> list[str]:
        """See `Engine`."""
        inside = faiss.IDSelectorBitmap(self._bits[application]) if application else None
        _, rows = self._index.search(query[None], K, params=faiss.SearchParameters(sel=inside) if inside else None)
        return [self._ids[row] for row in rows[0] if row >= 0]

    def add(self, id: str, vector: Vectors, application: str) -> None:
        """See `Engine`; the bitmaps, which would have to grow too, are left out."""
        self._index.add(vector[None])
        self._ids.append(id)

    def save(self, folder: Path) -> None:
        """See `Engine`."""
        (folder / "flat.faiss").write_bytes(faiss.serialize_index(self._index).tobytes())

    def open(self, folder: Path) -> None:
        """See `Engine`."""
        self._index = faiss.deserialize_index(np.fromfile(folder / "flat.faiss", np.uint8))
