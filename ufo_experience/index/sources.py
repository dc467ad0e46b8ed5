"""What each row of a generation was made of, so that a rebuild need not make it again.

    index/<n>/sources.npy   of each record, in the order of the columns, 128 bits of the SHA-256 of its bytes and of
                            those of its status; zeros where that is not known: what was added since the last rebuild

A rebuild reads the bytes of every record, but decodes, judges and embeds only those that differ. A row is taken over
only from a generation whose own hashes hold, of the same embedder, made by the same `rules`: the code that decides what
stands in a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufo_experience.store.base import Digested, ExperienceStore

FILE = "sources"
RULES = "rules"  # its name among the versions in a manifest
_ROOMS = ("text", "trust", "redaction", "summarizer", "store", "embedding", "index", "schema.py")
_WORDS = 2  # of 64 bits

Ids = NDArray[np.bytes_]
Digests = NDArray[np.uint64]


@dataclass(frozen=True)
class Sources:
    """Digests (rows of two numbers) by id; the ids are sorted."""

    ids: Ids
    digests: Digests

    def of(self, ids: Ids) -> Digests:
        """The digests of some ids, zeros for those that are not here."""
        found = np.zeros((len(ids), _WORDS), np.uint64)
        if len(self.ids):
            positions = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
            here = self.ids[positions] == ids
            found[here] = self.digests[positions[here]]
        return found


def read_sources(store: ExperienceStore) -> Sources | None:
    """The digests of all records as they are now; None for a store that cannot tell."""
    if not isinstance(store, Digested):
        return None
    shards = sorted(shard for shard in store.shard_mtimes() if shard.startswith("records/"))
    found = {id: digest for shard in shards for id, digest in store.digests_in(shard).items()}
    data = b"".join(found.values())
    return Sources(np.array([id.encode("ascii") for id in found], "S32"), as_digests(data, len(found)))


def as_digests(array: Any, count: int) -> Digests:
    """Digests of `count` records from their bytes end to end, or from the array of a file."""
    if isinstance(array, bytes):
        array = np.frombuffer(array, "<u8")
    return np.asarray(array, np.uint64).reshape(count, _WORDS)


def unchanged(before: Digests, now: Digests) -> NDArray[np.bool_]:
    """Which of the records have the bytes they had; what was not known then has changed."""
    return np.asarray((before == now).all(axis=1) & before.any(axis=1), np.bool_)


@lru_cache(maxsize=1)
def rules() -> str:
    """SHA-256 over the modules that decide what stands in a row."""
    package = Path(__file__).resolve().parents[1]
    digest = sha256()
    for room in _ROOMS:
        place = package / room
        for path in sorted(place.rglob("*.[pt][yx]*")) if place.is_dir() else [place]:
            if path.suffix in (".py", ".txt") and path.is_file():
                digest.update(path.relative_to(package).as_posix().encode("ascii") + b"\0" + path.read_bytes())
    return digest.hexdigest()
