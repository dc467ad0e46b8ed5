"""What the index job would do, before anything is sent or written: the texts it would embed, and at what price."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ufo_experience.embedding.base import Embedder, EmbedsPieces, Forecast
from ufo_experience.embedding.cache import CachedEmbedder
from ufo_experience.errors import CorruptError, IndexMismatchError
from ufo_experience.index.features import task_text
from ufo_experience.index.generation import Generations
from ufo_experience.index.snapshot import Snapshot
from ufo_experience.indexer import WINDOW, check_embedder, load_snapshot
from ufo_experience.store.base import ExperienceStore

_SAMPLE = 32  # texts embedded to see how long an embedder on this machine takes


@dataclass(frozen=True)
class IndexPlan:
    """What `sync` would do. `texts` would be embedded, `cached` would not; tokens and cost are ceilings.

    `cost` (US dollars) is None when nobody knows the model's price. `seconds` is about embedding alone, and a guess.
    """

    records: int
    texts: int
    cached: int
    requests: int
    tokens: int
    cost: float | None
    seconds: float
    embedder: str


def plan(store: ExperienceStore, generations: Generations, embedder: Embedder, *, rebuild: bool = False) -> IndexPlan:
    """Read what `sync` would read; nothing is written, and nothing is sent to a service.

    Raises:
        IndexMismatchError: as `sync`.
    """
    total, seen = Forecast(), set[bytes]()
    sample: list[str] = []
    for window in texts_to_embed(store, generations, embedder, rebuild=rebuild):
        sample = sample or window[:_SAMPLE]
        total += _forecast(embedder, window, seen)
    behind = embedder.embedder if isinstance(embedder, CachedEmbedder) else embedder
    if total.texts and not isinstance(behind, EmbedsPieces):
        begun = time.perf_counter()
        behind.embed(sample)
        total = replace(total, seconds=(time.perf_counter() - begun) / len(sample) * total.texts)
    return IndexPlan(
        records=len(store.ids()),
        texts=total.texts,
        cached=total.cached,
        requests=total.requests,
        tokens=total.tokens,
        cost=total.cost,
        seconds=round(total.seconds, 1),
        embedder=embedder.name,
    )


def texts_to_embed(
    store: ExperienceStore, generations: Generations, embedder: Embedder, *, rebuild: bool = False
) -> Iterator[list[str]]:
    """The texts of records that have no vector in the index yet, in windows; of all of them for a rebuild."""
    records = store.scan(_ids(store, generations, embedder, rebuild=rebuild))
    while window := [task_text(one) for one in islice(records, WINDOW)]:
        yield window


def _ids(store: ExperienceStore, generations: Generations, embedder: Embedder, *, rebuild: bool) -> Sequence[str]:
    """Ids of the records `sync` would embed. A server keeps this embedder's vectors through a rebuild."""
    ids = store.ids()
    snapshot = _published(store, generations, embedder, rebuild=rebuild)
    if snapshot is None:
        return ids
    if rebuild:
        return snapshot.index.missing(ids)
    rows = snapshot.catalog.find(ids)
    return snapshot.index.missing([id for id, row in zip(ids, rows.tolist(), strict=True) if row < 0])


def _published(
    store: ExperienceStore, generations: Generations, embedder: Embedder, *, rebuild: bool
) -> Snapshot | None:
    """The snapshot that `sync` would begin with, or whose server's vectors a rebuild would find in place."""
    last = generations.last_manifest()
    fits = last is not None and last.embedder == embedder.name and _dim(embedder) in (None, last.dim)
    if rebuild and (not fits or generations.engine == "faiss"):
        return None
    try:
        snapshot = load_snapshot(store, generations)
    except (CorruptError, IndexMismatchError) as error:
        if rebuild or isinstance(error, CorruptError):
            return None
        raise
    if snapshot is not None and snapshot.manifest is not None and not fits:
        check_embedder(snapshot.manifest, embedder)
    return snapshot


def _dim(embedder: Embedder) -> int | None:
    """Length of a vector, without asking a service for it."""
    behind = embedder.embedder if isinstance(embedder, CachedEmbedder) else embedder
    return behind.known_dim if isinstance(behind, EmbedsPieces) else behind.dim


def _forecast(embedder: Embedder, texts: list[str], seen: set[bytes]) -> Forecast:
    """What embedding a window of texts would take; `seen` are keys of texts before it."""
    cached, behind = 0, embedder
    if isinstance(embedder, CachedEmbedder):
        missing = {key: text for key, text in embedder.missing(texts).items() if key not in seen}
        seen.update(missing)
        cached, texts, behind = len(texts) - len(missing), list(missing.values()), embedder.embedder
    found = behind.forecast(texts) if isinstance(behind, EmbedsPieces) else Forecast(len(texts))
    return replace(found, cached=cached)
