"""What a power failure may leave of the embedding cache: an SQLite file and its log, sectors of which may be missing.

SQLite writes the log without waiting for the medium (`synchronous=NORMAL`), so after a failure the log may end
anywhere, hold zeros where sectors were not written, or be gone. The cache then answers rightly or not at all.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from ufo_experience.embed.cache import EmbeddingCache, text_hash

SECTOR = 512
DIM = 8
BATCHES = 6
PER_BATCH = 20


@dataclass
class CacheTally:
    """States tried, vectors that were still there (of all asked for), files moved aside, and faults."""

    states: int = 0
    kept: int = 0
    asked: int = 0
    moved_aside: int = 0
    faults: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


def campaign(states: int, seed: int, *, place: Path) -> CacheTally:
    """Try `states` states that a failure at a random moment could leave."""
    rng, tally = random.Random(seed), CacheTally()
    moments = _moments(place / "whole")
    for number in range(states):
        folder = place / str(number)
        folder.mkdir(parents=True)
        _fail(folder, rng.choice(moments), rng)
        fault = _fault(folder / "embeddings.sqlite", tally)
        tally.states += 1
        tally.faults += [f"state {number} of seed {seed}: {fault}"] if fault else []
        shutil.rmtree(folder)
    return tally


def vector(number: int) -> np.ndarray:
    """The vector that belongs to a text."""
    rows = np.random.default_rng(number).standard_normal(DIM).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows), np.float32)


def key(number: int) -> bytes:
    """The key of a text."""
    return text_hash(f"key {number}")


def _moments(folder: Path) -> list[dict[str, bytes]]:
    """The bytes of file and log after each of several commits, some of them after a checkpoint."""
    path = folder / "embeddings.sqlite"
    moments = []
    with EmbeddingCache(path) as cache:
        for batch in range(BATCHES):
            numbers = range(batch * PER_BATCH, (batch + 1) * PER_BATCH)
            cache.put((key(number), text_hash(str(number)), vector(number)) for number in numbers)
            if batch == BATCHES // 2:
                cache.keep_only(str(number) for number in range(BATCHES * PER_BATCH))  # moves the log into the file
            moments.append({one.name: one.read_bytes() for one in folder.iterdir() if not one.name.endswith("-shm")})
    return moments


def _fail(folder: Path, files: dict[str, bytes], rng: random.Random) -> None:
    """Write the files as a failure leaves them: the log cut somewhere, and sectors of it zero."""
    for name, data in files.items():
        if not name.endswith("-wal"):
            (folder / name).write_bytes(data)
            continue
        if rng.random() < 0.1:
            continue
        log = bytearray(data[: rng.randint(0, len(data))])
        for _ in range(rng.choice((0, 0, 1, 3))):
            start = rng.randrange(0, max(1, len(log)), SECTOR)
            log[start : start + SECTOR] = bytes(len(log[start : start + SECTOR]))
        (folder / name).write_bytes(bytes(log))


def _fault(path: Path, tally: CacheTally) -> str:
    """What is wrong with the answers of a cache after a failure; empty when nothing is."""
    numbers = range(BATCHES * PER_BATCH)
    with EmbeddingCache(path) as cache:
        found = cache.get([key(number) for number in numbers], DIM)
        wrong = [
            number for number in numbers if not np.array_equal(found.get(key(number), vector(number)), vector(number))
        ]
        if wrong:
            return f"other vectors for {wrong}"
        cache.put([(key(999), text_hash("999"), vector(999))])
        if key(999) not in cache.get([key(999)], DIM):
            return f"takes nothing in any more: {cache.warning}"
        tally.moved_aside += cache.warning is not None
    tally.kept, tally.asked = tally.kept + len(found), tally.asked + len(numbers)
    return ""
