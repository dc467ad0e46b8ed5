"""Change or cut one byte of a small store, at every place, and see whether anybody notices or is misled."""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ufo_experience.index.generations import Generations
from ufo_experience.store.folder.store import FileStore

from tests.disks import UnsyncedDisk
from tools.crash.state import EMBEDDER
from tools.crash.worker import record
from ufo_experience.embed.cache import CachedEmbedder, EmbeddingCache
from ufo_experience.errors import DataError
from ufo_experience.maintenance.inspection import verify
from ufo_experience.retrieve.retriever import Query
from ufo_experience.schema import Trust
from ufo_experience.settings import Settings
from ufo_experience.wiring import Wiring

QUESTION = Query("Send report 3", k=10, threshold=0.0)
UNGUARDED = {"changed", ".lock", ".lock.holder", ".lock.copies", ".lock.copies.holder"}  # hold nothing: a time, a lock
Answer = dict[str, tuple[float, str]]


@dataclass
class Damage:
    """Changes tried, those `verify` named, and faults: a wrong answer, an unexpected error, a repair that failed."""

    tried: int = 0
    detected: int = 0
    harmless: int = 0
    faults: list[str] = field(default_factory=list)


def prepare(folder: Path) -> None:
    """Four records, one status, a tombstone, an index, a cache of their vectors."""
    store = FileStore.open(folder, disk=UnsyncedDisk())
    own = [record(number).model_copy(update={"trust": Trust.VERIFIED}) for number in range(5)]
    store.add(own)
    store.set_status(own[1].id, trust=Trust.APPROVED)
    store.remove([own[4].id])
    wiring = _wire(folder)
    wiring.live.sync()
    cached(wiring).close()


def _wire(folder: Path) -> Wiring:
    store = FileStore.open(folder, disk=UnsyncedDisk(), lock_timeout=0.0)
    embedder = CachedEmbedder(EMBEDDER, EmbeddingCache(folder / "embeddings.sqlite"))
    generations = Generations(folder / "index", UnsyncedDisk(), lock_timeout=0.0)
    return Wiring(store, Settings(lock_timeout=0.0), embedder, generations)


def cached(wiring: Wiring) -> CachedEmbedder:
    """The caching embedder of what was wired up here."""
    embedder = wiring.get()
    if not isinstance(embedder, CachedEmbedder):
        raise TypeError(type(embedder))
    return embedder


def answer(wiring: Wiring) -> Answer:
    """Hits as id → (score, request)."""
    found = wiring.retriever().retrieve(QUESTION)
    return {hit.experience.id: (round(hit.score, 4), hit.experience.state.request) for hit in found}


def changes(folder: Path) -> Iterator[tuple[Path, int, bool]]:
    """Every (file, place, cut) there is: a byte changed there, or the file cut there."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in UNGUARDED:
            for place in range(path.stat().st_size):
                yield path.relative_to(folder), place, False
                yield path.relative_to(folder), place, True


def damage_all(place: Path, *, sample: int | None, seed: int) -> Damage:
    """Try every change, or `sample` of them spread over the files."""
    rng, result = random.Random(seed), Damage()
    whole = place / "whole"
    prepare(whole)
    wiring = _wire(whole)
    right = answer(wiring)
    cached(wiring).close()
    tries = list(changes(whole))
    if sample is not None:
        by_file: dict[Path, list[tuple[Path, int, bool]]] = {}
        for change in tries:
            by_file.setdefault(change[0], []).append(change)
        share = max(1, sample // len(by_file))
        tries = [one for group in by_file.values() for one in rng.sample(group, min(share, len(group)))]
    logging.disable(logging.WARNING)
    try:
        for change in tries:
            folder = place / "damaged"
            shutil.copytree(whole, folder)
            _try(folder, change, right, rng, result)
            shutil.rmtree(folder)
    finally:
        logging.disable(logging.NOTSET)
    return result


def _try(folder: Path, change: tuple[Path, int, bool], right: Answer, rng: random.Random, result: Damage) -> None:
    name, place, cut = change
    path = folder / name
    data = bytearray(path.read_bytes())
    new = data[:place] if cut else data
    if not cut:
        new[place] ^= rng.randint(1, 255)
    path.write_bytes(bytes(new))
    result.tried += 1
    what = f"{name} {'cut' if cut else 'changed'} at {place}"
    try:
        wiring = _wire(folder)
    except DataError as error:
        if path.name == "store.json" and error.file == str(path):
            result.detected += 1
        else:
            result.faults.append(f"{what}: cannot be opened: {error}")
        return
    fault = _judge(wiring, folder, path, right, result)
    result.faults += [f"{what}: {fault}"] if fault else []
    cached(wiring).close()


def _judge(wiring: Wiring, folder: Path, path: Path, right: Answer, result: Damage) -> str:
    store = wiring.store
    assert isinstance(store, FileStore)
    named = [problem.file for problem in verify(store, wiring.live.generations).corrupt]
    detected = str(path) in named
    result.detected += detected
    result.harmless += not detected
    got = answer(wiring)
    for id, (score, request) in got.items():
        if id not in right or request != right[id][1]:
            return f"a wrong hit: {id} {request!r}"
        if not detected and score != right[id][0]:
            return f"unnoticed, and the score of {id} is {score} instead of {right[id][0]}"
    missing = right.keys() - got.keys()
    if missing and not (detected and missing == {path.stem}):
        return f"detected={detected}, hits missing: {missing}"
    store.set_aside_corrupt()
    wiring.live.sync(rebuild=path.name == "embeddings.sqlite")
    again = [problem for problem in verify(store, wiring.live.generations).corrupt if problem.code != "E_VERSION"]
    if again:
        return f"not repaired: {again}"
    return "" if answer(wiring).keys() >= right.keys() - {path.stem} else "hits missing after the repair"
