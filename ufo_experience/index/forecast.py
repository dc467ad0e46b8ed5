"""What the index job would embed, counted before anything is sent or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from ufo_experience.embed.base import Embedder, EmbedsPieces
from ufo_experience.embed.cache import CachedEmbedder
from ufo_experience.errors import CorruptError, IndexMismatchError
from ufo_experience.index.build import WINDOW, check_embedder, expect_dim, load_snapshot
from ufo_experience.index.document import embedded_text
from ufo_experience.index.generations import Generations
from ufo_experience.index.snapshot import Snapshot
from ufo_experience.store.base import ExperienceStore


@dataclass(frozen=True)
class IndexPlan:
    """Counts of a dry run: `texts` would be embedded in `requests` to a service; `cached` are in the cache, `repeated`
    the same as others of these. A service that alone knows the length of its vectors is asked for it first, too.
    """

    records: int
    texts: int
    cached: int
    repeated: int
    requests: int
    embedder: str


def plan(store: ExperienceStore, generations: Generations, embedder: Embedder, *, rebuild: bool = False) -> IndexPlan:
    """Read what `sync` would read; nothing is written, and nothing is sent to a service.

    Raises:
        IndexMismatchError: as `sync`.
    """
    last = generations.last_manifest()
    is_ours = last is not None and last.embedder == embedder.name
    requests = int(_dim(embedder) is None and (rebuild or not is_ours))  # for the length
    if last is not None:
        expect_dim(last, embedder)
    texts = cached = repeated = 0
    seen: set[bytes] = set()
    records = store.scan(_ids(store, generations, embedder, rebuild=rebuild))
    while window := [embedded_text(one) for one in islice(records, WINDOW)]:
        missing, again = _missing(embedder, window, seen)
        texts, repeated, cached = texts + len(missing), repeated + again, cached + len(window) - len(missing) - again
        requests += _count_requests(embedder, missing)
    return IndexPlan(len(store.ids()), texts, cached, repeated, requests, embedder.name)


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
    return behind.dim


def _missing(embedder: Embedder, texts: list[str], seen: set[bytes]) -> tuple[list[str], int]:
    """The texts that are not in the cache, each once, and how many are the same as one of them or of those before;
    `seen` are the keys of these, and is added to.
    """
    if not isinstance(embedder, CachedEmbedder):
        return texts, 0
    missing = {embedder.key(text, "document").encode(): text for text in embedder.missing(texts)}
    absent = set(missing.values())
    new = [text for key, text in missing.items() if key not in seen]
    seen.update(missing)
    return new, sum(text in absent for text in texts) - len(new)


def _count_requests(embedder: Embedder, texts: Sequence[str]) -> int:
    behind = embedder.embedder if isinstance(embedder, CachedEmbedder) else embedder
    return len(behind.batches(texts)) if isinstance(behind, EmbedsPieces) else 0
