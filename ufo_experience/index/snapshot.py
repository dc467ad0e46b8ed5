"""One consistent view of a store for answering queries: a published generation plus what came after it.

A snapshot never changes; `apply` makes the next one. What changed in the store is found by the times of its folders
(shards), so opening a large store lists nothing that stayed the same.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from types import MappingProxyType

import numpy as np

from ufo_experience.embed.base import Embedder
from ufo_experience.errors import ServiceError
from ufo_experience.index.base import VectorIndex
from ufo_experience.index.catalog import Catalog, Entry, attributes, entry_of
from ufo_experience.index.generations import Manifest
from ufo_experience.index.sources import Digests, Sources, as_digests
from ufo_experience.index.tail import Frame, TailPosition, changed_since, decode, merge
from ufo_experience.schema import Experience
from ufo_experience.store.base import Batched, ExperienceStore, TellsChanges

MTIME_GRANULARITY_NS = (
    2_000_000_000  # a folder touched this recently may change again within the same tick of its clock
)
ALWAYS_STALE = 0  # an mtime that equals no other; so does a negative one, of a shard that was seen too young
NOTHING: Mapping[str, Entry] = MappingProxyType({})
NO_EMBEDDER = "no embedder is available"  # that answers without a service


@dataclass(frozen=True)
class Snapshot:
    """Columns and vectors of the same records. `reason` says why some have no vector yet.

    `young` are the versions of status files that were read from shards too young to be relied on.
    `sources` tell what the published rows were made of (all rows, in a rebuild).
    `unsaved` are the ids that changed after `tail`, the end of the generation's tail when this was read.

    An index on a server (`engine`) is shared: it may know ids of later commits, which these columns do not have yet.
    """

    catalog: Catalog
    index: VectorIndex
    revision: str = ""
    mtimes: dict[str, int] = field(default_factory=dict)
    manifest: Manifest | None = None
    engine: str = "faiss"
    reason: str | None = None
    young: Mapping[str, str] = field(default_factory=dict)
    tail: TailPosition | None = None
    sources: Sources | None = None
    unsaved: frozenset[str] = frozenset()
    base: Manifest | None = None

    @property
    def count_changed(self) -> int:
        """How many records were added, changed or removed since the generation was published."""
        return len(self.unsaved) + (self.tail.rows if self.tail else 0)


@dataclass(frozen=True)
class Changes:
    """What differs between a snapshot and the store; false when nothing does. More may follow unless `complete`."""

    added: list[Entry]
    updated: list[Experience]
    removed: list[str]
    mtimes: dict[str, int]
    revision: str
    young: dict[str, str] = field(default_factory=dict)
    complete: bool = True

    def __len__(self) -> int:
        return len(self.added) + len(self.updated) + len(self.removed)


def find_changes(
    store: ExperienceStore, snapshot: Snapshot, limit: int | None = None, learned: Mapping[str, Entry] = NOTHING
) -> Changes:
    """Look into the shards whose mtimes differ. The revision is read first: a later commit shows as a new one.

    With `limit` records found new the rest is left for the next call, so that many need not be held at once. Of those
    that are `learned`, as they were stored, none is read unless it has a status by now.
    """
    revision = store.revision()
    mtimes = settled(store.shard_mtimes())
    before = snapshot.mtimes
    differ = {shard for shard, _ in mtimes.items() ^ before.items()}
    changed = sorted(differ.union(shard for shard, mtime in mtimes.items() if mtime <= ALWAYS_STALE))
    catalog = snapshot.catalog
    added: list[Entry] = []
    updated: list[Experience] = []
    removed: list[str] = []
    fresh: set[str] = set()
    young: dict[str, str] = {}

    ahead = _Ahead(store, snapshot, changed if limit is None else ())

    def seen(id: str, version: str) -> bool:
        return version != "" and snapshot.young.get(id) == version

    for number, shard in enumerate(changed):
        if shard in fresh:
            continue
        if limit is not None and len(added) >= limit:
            later = {one: before.get(one) for one in changed[number:] if one not in fresh}
            mtimes = {one: mtime for one, mtime in {**mtimes, **later}.items() if mtime is not None}
            return Changes(added, updated, removed, mtimes, snapshot.revision, complete=False)
        whole = True
        kind, _, prefix = shard.partition("/")
        if kind == "records":
            here = set(ahead.ids_in(shard))
            known = set(catalog.ids_with_prefix(prefix))
            removed += sorted(known - here)
            told = (here - known) & learned.keys()
            told = told.difference(store.ids_in(f"status/{prefix}")) if told else told
            found = [*map(learned.__getitem__, told), *map(entry_of, ahead.scan(here - known - told))]
            added += sorted(found, key=attrgetter("id"))
            whole = len(found) == len(here - known)
            if not known:  # each record was read with its status, which is no older than its mtime
                fresh.add(f"status/{prefix}")
        elif kind == "status":
            since = abs(before.get(shard, 0)) - MTIME_GRANULARITY_NS
            versions = store.versions_in(shard, since=since) or store.versions_in(shard)  # none: the clock was set back
            unseen = [id for id in versions if not seen(id, versions[id])]
            rows = catalog.find(unseen).tolist() if unseen else []
            known = {id for id, row in zip(unseen, rows, strict=True) if row >= 0}
            if mtimes.get(shard, 0) < 0:
                young |= versions
            now = list(store.scan(sorted(known))) if known else []
            updated += [one for one in now if catalog.is_stale(one)]
            whole = len(now) == len(known)
        if not whole:  # what could not be read now may be readable next time
            mtimes[shard] = ALWAYS_STALE
    return Changes(added, updated, removed, mtimes, revision, young)


def own_changes(store: ExperienceStore, snapshot: Snapshot, learned: Mapping[str, Entry] = NOTHING) -> Changes | None:
    """What was changed through this store object since the snapshot, or added and `learned`, if nothing else was: no
    folder is looked into.

    The next look finds their files newer than the snapshot, and the tokens they were seen with.
    """
    if not isinstance(store, TellsChanges) or ALWAYS_STALE in snapshot.mtimes.values():
        return None
    revision = store.revision()
    made = store.own_changes(snapshot.revision, revision)
    if made is None:
        return None
    added = {id for one in made for id in one.added}
    now = {one.changed.id: one.changed for one in made if one.changed}
    if not added <= learned.keys() or added & now.keys():
        return None
    rows = snapshot.catalog.find(list(now)).tolist()
    known = (one for one, row in zip(now.values(), rows, strict=True) if row >= 0)
    updated = [one for one in known if snapshot.catalog.is_stale(one)]
    young = {**snapshot.young, **{one.changed.id: one.version for one in made if one.changed}}
    new = [learned[id] for id in sorted(added)]
    return Changes(new, updated, [], snapshot.mtimes, revision, young)


class _Ahead:
    """What is new in changed shards: in two requests of a store that can answer so, one by one of another."""

    def __init__(self, store: ExperienceStore, snapshot: Snapshot, changed: Sequence[str]) -> None:
        self._store = store
        shards = [shard for shard in changed if shard.startswith("records/")]
        self._listed = store.ids_in_each(shards) if shards and isinstance(store, Batched) else {}
        listed = [id for ids in self._listed.values() for id in ids]
        rows = snapshot.catalog.find(listed).tolist() if listed else []
        self._new = [id for id, row in zip(listed, rows, strict=True) if row < 0]
        self._read = {one.id: one for one in store.scan(self._new)} if self._new else {}

    def ids_in(self, shard: str) -> list[str]:
        """The ids of a shard of records."""
        return self._listed[shard] if shard in self._listed else self._store.ids_in(shard)

    def scan(self, ids: set[str]) -> list[Experience]:
        """The records of these ids, in order, as far as they can be read."""
        if self._listed:
            return [self._read[id] for id in sorted(ids) if id in self._read]
        return list(self._store.scan(sorted(ids)))


def find_removed(store: ExperienceStore, snapshot: Snapshot) -> list[str]:
    """Ids of the snapshot that the store no longer has; reads no record."""
    mtimes, before = settled(store.shard_mtimes()), snapshot.mtimes
    shards = {name.partition("/")[2]: name for name in mtimes.keys() | before.keys() if name.startswith("records/")}
    removed: list[str] = []
    for prefix, shard in sorted(shards.items()):
        if not _same(mtimes.get(shard), before.get(shard)):
            removed += sorted(set(snapshot.catalog.ids_with_prefix(prefix)) - set(store.ids_in(shard)))
    return removed


def without(snapshot: Snapshot, ids: Sequence[str]) -> Snapshot:
    """The snapshot with these ids gone; it is as far behind the store as before."""
    if not ids:
        return snapshot
    index = snapshot.index.copy()
    index.remove(ids)
    return replace(snapshot, index=index, catalog=snapshot.catalog.with_changes([], removed=ids))


def apply(snapshot: Snapshot, changes: Changes, embedder: Embedder | None) -> Snapshot:
    """The snapshot after `changes`. Records that cannot be embedded now are found by their words meanwhile."""
    ahead = replace(snapshot, revision=changes.revision, mtimes=changes.mtimes, young=changes.young)
    if not changes:
        return ahead
    index, reason = snapshot.index.copy(), snapshot.reason
    try:
        index.remove(changes.removed)
        index.update([one.id for one in changes.updated], [attributes(one) for one in changes.updated])
        insert(index, changes.added, embedder)
    except ServiceError as error:
        reason = str(error)
    catalog = snapshot.catalog.with_changes(changes.added, changes.updated, changes.removed)
    ids = [one.id for one in changes.added] + [one.id for one in changes.updated]
    unsaved = snapshot.unsaved.union(changes.removed, ids)
    return replace(ahead, catalog=catalog, index=index, reason=reason, unsaved=unsaved)


def digests_of(snapshot: Snapshot) -> Digests:
    """What the rows of a snapshot were made of, in the order of their ids; zeros for what was added since."""
    catalog = snapshot.catalog
    rows = np.flatnonzero(catalog.live)
    rows = rows[np.argsort(catalog.column("id")[rows], kind="stable")]
    if snapshot.sources is None:
        return as_digests(np.zeros(2 * len(rows), np.uint64), len(rows))
    digests = snapshot.sources.of(catalog.column("id")[rows])
    if snapshot.manifest is not None:
        digests[rows >= catalog.published] = 0
    return digests


def with_tail(snapshot: Snapshot, data: bytes) -> Snapshot:
    """The snapshot of a generation with its tail, as far as that is whole."""
    if snapshot.manifest is None:
        return snapshot
    frames, position = decode(data, snapshot.manifest.generation, snapshot.mtimes)
    if not frames:
        return replace(snapshot, tail=position)
    frame = merge(frames, snapshot.index.dim)
    index = snapshot.index.copy()
    index.remove(frame.removed)
    rows = frame.catalog.rows[frame.vector_rows]
    index.restore(rows["id"], rows, frame.vectors)
    catalog = snapshot.catalog.with_rows(frame.catalog, frame.removed)
    return replace(snapshot, catalog=catalog, index=index, mtimes=dict(position.mtimes), tail=position)


def unsaved_frame(snapshot: Snapshot) -> Frame:
    """What a snapshot knows beyond the tail it was read from."""
    catalog = snapshot.catalog.extract(sorted(snapshot.unsaved))
    there = catalog.ids()
    positions, vectors = snapshot.index.vectors_of(there)
    before = snapshot.tail.mtimes if snapshot.tail else {}
    removed = tuple(sorted(snapshot.unsaved.difference(there)))
    return Frame(catalog, positions, vectors, removed, changed_since(before, snapshot.mtimes))


def insert(index: VectorIndex, entries: Sequence[Entry], embedder: Embedder | None) -> int:
    """Embed and add what has no vector yet; returns how many. Raises `ServiceError` when that cannot be done now.

    What has one was put there by another machine, perhaps before its trust changed.
    """
    absent = set(index.missing([one.id for one in entries]))
    known = [one for one in entries if one.id not in absent]
    index.update([one.id for one in known], [one.attributes for one in known])
    new = [one for one in entries if one.id in absent]
    if new and embedder is None:
        raise ServiceError(NO_EMBEDDER)
    if new and embedder is not None:
        vectors = embedder.embed([one.described.embedded for one in new], "document")
        index.add([one.id for one in new], vectors, [one.attributes for one in new])
    return len(new)


def settled(mtimes: dict[str, int]) -> dict[str, int]:
    """Times too young to be relied on become negative; so do those of a clock that runs ahead."""
    edge = time.time_ns() - MTIME_GRANULARITY_NS
    return {shard: mtime if mtime < edge else -mtime for shard, mtime in mtimes.items()}


def settled_since(mtimes: Mapping[str, int]) -> list[str]:
    """The shards that were seen too young, and would not be any more."""
    edge = time.time_ns() - MTIME_GRANULARITY_NS
    return [shard for shard, mtime in mtimes.items() if -edge < mtime <= ALWAYS_STALE]


def _same(one: int | None, other: int | None) -> bool:
    return one == other and (one is None or one > ALWAYS_STALE)
