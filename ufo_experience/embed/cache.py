"""An embedder that asks only for new texts, and keeps every finished piece at once: a failed run resumes."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

import numpy as np

from ufo_experience.embed.base import Embedder, EmbedsPieces, Kind, Spending, Vectors

CACHE_FILE = "embeddings.sqlite"  # in the cache folder of a store whose index keeps no vectors
KIND = "vector"  # what the values are called where they are kept
_BATCH = 256  # texts an offline model embeds before they are kept


class Keeps(Protocol):
    """Where small values are kept that cost a request: an index, or anything else."""

    def kept(self, kind: str, keys: Sequence[str]) -> Mapping[str, bytes]:
        """The values that are there."""
        ...

    def keep(self, kind: str, values: Mapping[str, bytes], *, owner: str = "") -> None:
        """Keep values; `owner` names the record they are erased with."""
        ...


class CacheFile:
    """Small values in a file of their own, for a store whose index keeps none; a file that is damaged keeps none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def kept(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """The values that are there."""
        try:
            with closing(self._open()) as database:
                rows = (database.execute("SELECT value FROM kept WHERE key = ?", (f"{kind} {key}",)) for key in keys)
                found = {key: row.fetchone() for key, row in zip(keys, rows, strict=True)}
        except (sqlite3.Error, OSError):
            return {}
        return {key: value[0] for key, value in found.items() if value and isinstance(value[0], bytes)}

    def keep(self, kind: str, values: Mapping[str, bytes], *, owner: str = "") -> None:
        """Keep values; nothing is lost but money where that fails."""
        rows = [(f"{kind} {key}", value) for key, value in values.items()]
        try:
            with closing(self._open()) as database, database:
                database.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError):
            return

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self.path, timeout=2.0)
        database.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value BLOB NOT NULL)")
        return database


class CachedEmbedder:
    """An embedder with a memory; `cached` counts texts that were answered from it, `embedded` those that were not."""

    def __init__(self, embedder: Embedder, cache: Keeps) -> None:
        self.embedder, self.cache = embedder, cache
        self.cached = self.embedded = 0

    @property
    def name(self) -> str:
        """The name of the embedder behind the cache."""
        return self.embedder.name

    @property
    def dim(self) -> int | None:
        """Length of a vector, as far as it is known."""
        return self.embedder.dim

    @property
    def spending(self) -> Spending:
        """What the embedder behind the cache has asked for."""
        return self.embedder.spending

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`: float32, unit rows. The same text is embedded once.

        Raises:
            ServiceError: as the embedder; the pieces before it are kept.
        """
        keys = [self.key(text, kind) for text in texts]
        found = self._read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        self.cached += sum(key in found for key in keys)
        self.embedded += len(missing)
        asked, wanted = list(missing), list(missing.values())
        for piece, vectors in self._pieces(wanted, kind):
            fresh = dict(zip(asked[piece], vectors, strict=True))
            self.cache.keep(KIND, {key: vector.tobytes() for key, vector in fresh.items()})
            found.update(fresh)
        return np.stack([found[key] for key in keys]) if keys else np.empty((0, self.dim or 0), np.float32)

    def missing(self, texts: Sequence[str]) -> list[str]:
        """The documents that are not kept yet, each once. Nothing is sent."""
        keys = {self.key(text, "document"): text for text in texts}
        found = self._read(list(keys))
        return [text for key, text in keys.items() if key not in found]

    def key(self, text: str, kind: Kind) -> str:
        """What the vector of a text is found by. A model that tells queries from documents has two of each."""
        role = kind if getattr(self.embedder, "asymmetric", False) else ""
        joined = "\x1f".join((self.embedder.name, role, text))
        return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()

    def _read(self, keys: Sequence[str]) -> dict[str, Vectors]:
        """What is kept, whole and of the one length: a damaged value is a missing one."""
        kept = {
            key: np.frombuffer(value, "<f4")
            for key, value in self.cache.kept(KIND, keys).items()
            if len(value) % 4 == 0
        }
        dim = self.dim or max((len(vector) for vector in kept.values()), default=0)
        return {key: vector for key, vector in kept.items() if len(vector) == dim and _is_unit(vector)}

    def _pieces(self, texts: list[str], kind: Kind) -> Iterator[tuple[slice, Vectors]]:
        if isinstance(self.embedder, EmbedsPieces):
            yield from self.embedder.pieces(texts, kind)
            return
        for start in range(0, len(texts), _BATCH):
            piece = slice(start, start + _BATCH)
            yield piece, self.embedder.embed(texts[piece], kind)


def _is_unit(vector: Vectors) -> bool:
    return bool(abs(float(np.dot(vector, vector)) - 1.0) < 1e-3)
