"""The offline job: bring an index in line with its store.

    sync      embed what is new, take out what is gone, append that to the tail of the generation; when enough has
              come together, publish a new generation instead; nothing new, nothing written
    rebuild   the same from scratch, but for rows whose records have the same bytes (see `index.sources`); the cache
              answers for every text that was embedded before

Records are read in windows, so that memory holds the index and not the store. Interrupted work resumes: the vectors of
each request are in the cache when its reply has come.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version

from ufo_experience.embed.base import Embedder, Spending
from ufo_experience.errors import CorruptError, IndexMismatchError, StorageError
from ufo_experience.index import open_index, without_password
from ufo_experience.index.base import Content, Space, VectorIndex
from ufo_experience.index.catalog import ARRAYS, Catalog, Entry, entry_of
from ufo_experience.index.document import TEMPLATE_VERSION
from ufo_experience.index.engines.faiss import FaissIndex
from ufo_experience.index.generations import Calibration, Generation, Generations, Manifest, ids_digest, npy
from ufo_experience.index.manifest import FORMAT
from ufo_experience.index.snapshot import (
    NOTHING,
    Snapshot,
    apply,
    digests_of,
    find_changes,
    find_removed,
    insert,
    own_changes,
    settled,
    unsaved_frame,
    with_tail,
    without,
)
from ufo_experience.index.sources import FILE, RULES, Sources, as_digests, read_sources, rules, unchanged
from ufo_experience.index.tail import MOST_UNSEEN
from ufo_experience.store.base import ExperienceStore

WINDOW = 4_096  # new records held at once; their texts make several requests
LOAD_TRIES = APPEND_TRIES = 3
Progress = Callable[[int, int], None]
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class IndexReport:
    """What a sync did: texts embedded now, texts found in the cache, requests made, generation in use, seconds."""

    records: int
    embedded: int
    cached: int
    requests: int
    generation: int
    seconds: float
    cost: float = 0.0


def empty_snapshot(dim: int, manifest: Manifest | None = None) -> Snapshot:
    """A view of nothing, to be caught up with the store."""
    return Snapshot(Catalog.build([]), FaissIndex(dim), manifest=manifest)


def begin(store: ExperienceStore, engine: str, embedder: Embedder) -> Snapshot:
    """A view of nothing whose vectors will be kept by `engine`."""
    index = open_index(engine, Space(store.store_id, embedder.name, TEMPLATE_VERSION, length_of(embedder)), store=store)
    return Snapshot(Catalog.build([]), index, engine=engine)


def load_snapshot(store: ExperienceStore, generations: Generations) -> Snapshot | None:
    """The published generation as a snapshot, not yet caught up with the store.

    None when there is none, or none of this version whose vectors are kept by the engine in use.

    Raises:
        CorruptError: the generation cannot be used; rebuild it.
        IndexMismatchError: it belongs to another store or was made with another text template.
    """
    for _ in range(LOAD_TRIES - 1):
        number = generations.number()
        try:
            return _with_tail(_load(store, generations), generations)
        except CorruptError:
            if generations.number() == number:
                raise  # else it was dropped while it was read: two newer ones have been published meanwhile
    return _with_tail(_load(store, generations), generations)


def _with_tail(snapshot: Snapshot | None, generations: Generations) -> Snapshot | None:
    if snapshot is None or snapshot.manifest is None:
        return snapshot
    return with_tail(snapshot, generations.read_tail(snapshot.manifest.generation))


def _load(store: ExperienceStore, generations: Generations) -> Snapshot | None:
    generation = generations.current()
    if generation is None or generation.manifest.engine != without_password(generations.engine):
        return None
    manifest, engine = generation.manifest, generations.engine
    check_origin(manifest, store)
    if is_outdated(manifest):
        return None
    catalog = Catalog.from_arrays({name: generation.array(name) for name in ARRAYS})
    space = Space(manifest.store_id, manifest.embedder, manifest.template, manifest.dim)
    index = open_index(engine, space, store=store, generation=generation)
    _check_agreement(generation, catalog, index)
    sources = None
    if f"{FILE}.npy" in manifest.files:
        sources = Sources(catalog.column("id"), as_digests(generation.array(FILE), manifest.records))
    return Snapshot(catalog, index, mtimes=manifest.mtimes, manifest=manifest, engine=engine, sources=sources)


def _check_agreement(generation: Generation, catalog: Catalog, index: VectorIndex) -> None:
    """Columns and vectors must be about the records the manifest was made for; a server's vectors may be ahead."""
    manifest, file = generation.manifest, str(generation.folder)
    ids = catalog.column("id")
    if len(ids) != manifest.records or ids_digest(ids) != manifest.ids_digest:
        raise CorruptError("the columns are not about the records in the manifest", file=file)
    if index.dim != manifest.dim:
        raise CorruptError(f"vectors of {index.dim} dimensions, {manifest.dim} in the manifest", file=file)


def check_origin(manifest: Manifest, store: ExperienceStore) -> None:
    """Refuse an index of another store, or of a text template that is not known here."""
    cure = "; run: ufo-experience index --rebuild"
    if manifest.store_id != store.store_id:
        raise IndexMismatchError(f"the index belongs to another store{cure}", file=store.location)
    if manifest.template != TEMPLATE_VERSION and not is_outdated(manifest):
        raise IndexMismatchError(
            f"the index was made with text template {manifest.template}{cure}", file=store.location
        )


def is_outdated(manifest: Manifest) -> bool:
    """True for an index of an earlier version: it is made anew from the records and the cached vectors."""
    older = manifest.template.isdecimal() and int(manifest.template) < int(TEMPLATE_VERSION)
    return older or manifest.format < FORMAT


def sync(
    store: ExperienceStore,
    generations: Generations,
    embedder: Embedder,
    *,
    rebuild: bool = False,
    progress: Progress | None = None,
) -> IndexReport:
    """Bring the index in line with the store; see the module's text. Raises as `sync_from`."""
    return sync_from(None, store, generations, embedder, rebuild=rebuild, progress=progress)[0]


def sync_from(
    start: Snapshot | None,
    store: ExperienceStore,
    generations: Generations,
    embedder: Embedder,
    *,
    rebuild: bool = False,
    progress: Progress | None = None,
    learned: Mapping[str, Entry] = NOTHING,
) -> tuple[IndexReport, Snapshot | None]:
    """`sync` that goes on from a snapshot of the current generation; None reads it. Records whose entries are in
    `learned` are not read (see `find_changes`).

    Returned with the report is the snapshot that is saved now, None when it has to be read anew.

    Raises:
        IndexMismatchError: the index was made by another embedder and `rebuild` was not asked for.
        ServiceError: the embedder cannot answer; what it did answer is kept in its cache.
    """
    meter = _Meter(embedder)
    tries, anew = APPEND_TRIES, rebuild
    while True:
        snapshot = start or _start(store, generations, embedder, rebuild=anew)
        snapshot, texts = _catch_up(store, snapshot, embedder, progress, NOTHING if anew else learned)
        manifest = snapshot.manifest
        if manifest is None or generations.should_publish(snapshot.count_changed, len(snapshot.catalog)):
            if manifest is not None and not _is_whole(generations.of(manifest)):
                start, anew = None, True
                continue
            if snapshot.base is not None and (standing := _standing(store, generations, snapshot, embedder)):
                return meter.report(standing, len(snapshot.catalog), texts), None
            if anew:
                snapshot.index.retain(snapshot.catalog.ids())
            generation = publish(store, generations, snapshot, embedder, rebuild=rebuild)
            return meter.report(generation.manifest, len(snapshot.catalog), texts), None
        saved = _save(generations, snapshot)
        tries -= 1
        if saved is not None or not tries:  # where others write all the time, the records have it all
            return meter.report(manifest, len(snapshot.catalog), texts), saved
        start = None


def _standing(
    store: ExperienceStore, generations: Generations, snapshot: Snapshot, embedder: Embedder
) -> Manifest | None:
    """The current generation, if a rebuild found every byte of it, and would write the same again.

    Raises `LockedError`, `StorageError` as `Generations.publisher`: what a dead writer left is swept here, too.
    """
    base = snapshot.base
    if base is None or snapshot.unsaved:
        return None
    with generations.publisher():
        if generations.number() != base.generation or generations.read_tail(base.generation):
            return None
        now = _manifest(store, snapshot, embedder.name, length_of(embedder), base.calibration)
        own = {"generation": base.generation, "files": base.files, "created_at": base.created_at}
        return base if now.model_copy(update=own) == base else None


def _is_whole(generation: Generation) -> bool:
    """True when every byte of a generation is as it was written: only then may the next one be made of it."""
    try:
        generation.check()
    except CorruptError as error:
        _log.warning("the index is built anew: %s", error)
        return False
    return True


def _catch_up(
    store: ExperienceStore,
    snapshot: Snapshot,
    embedder: Embedder,
    progress: Progress | None,
    learned: Mapping[str, Entry],
) -> tuple[Snapshot, int]:
    """The snapshot with everything that is committed, each record with its vector, and how many texts that took."""
    total = len(store.ids()) - len(snapshot.catalog) if progress else 0
    texts = done = 0
    more = True
    while more:
        few = snapshot.tail is not None and snapshot.tail.unseen + len(learned) <= MOST_UNSEEN
        mine = own_changes(store, snapshot, learned) if learned and few else None
        changes = mine or find_changes(store, snapshot, WINDOW, learned)
        index = snapshot.index.copy()
        texts += insert(index, changes.added, embedder)
        snapshot = apply(replace(snapshot, index=index), changes, embedder)
        more, done = not changes.complete, done + len(changes.added)
        if progress and changes.added:
            progress(done, max(done, total))
    by_words = snapshot.index.missing(sorted(snapshot.unsaved))  # while no embedder could answer
    if by_words:
        texts += insert(snapshot.index, [entry_of(one) for one in store.scan(by_words)], embedder)
    return replace(snapshot, reason=None), texts


def _save(generations: Generations, snapshot: Snapshot) -> Snapshot | None:
    """Put what is new into the tail of the generation; None when another process did so meanwhile."""
    if not snapshot.unsaved or snapshot.tail is None:
        return snapshot
    position = generations.append_tail(unsaved_frame(snapshot), snapshot.tail)
    return None if position is None else replace(snapshot, tail=position, unsaved=frozenset())


def publish(
    store: ExperienceStore,
    generations: Generations,
    snapshot: Snapshot,
    embedder: Embedder,
    calibration: Calibration | None = None,
    *,
    rebuild: bool = False,
) -> Generation:
    """Write a snapshot as the next generation. A calibration of the same embedder is carried over.

    What was removed from the store since the snapshot was taken does not come back with it.

    Raises:
        IndexMismatchError: meanwhile the index was made by another embedder, and this is no `rebuild`.
        LockedError, StorageError: as `Generations.publisher`.
    """
    with generations.publisher() as write:
        previous = generations.last_manifest()
        if previous and not rebuild:
            check_embedder(previous, embedder)
        kept = previous.calibration if previous else None
        kept = kept if kept and kept.embedder == embedder.name else None
        snapshot = without(snapshot, find_removed(store, snapshot))
        manifest = _manifest(store, snapshot, embedder.name, length_of(embedder), calibration or kept)
        return write(_files(snapshot), manifest)


def prune(store: ExperienceStore, generations: Generations) -> None:
    """Take what was removed from the store out of the index on disk, older generations included. Embeds nothing.

    Raises:
        StorageError: the disk refused, or a reader on Windows still holds an old generation open: run it again.
        LockedError: another process is publishing.
        FormatVersionError: a newer version made the index.
    """
    if not generations.exists():
        return
    try:
        snapshot = load_snapshot(store, generations)
        if snapshot is not None and snapshot.manifest is not None:
            generations.of(snapshot.manifest).check()
    except (CorruptError, IndexMismatchError):
        snapshot = None
    if snapshot is None or snapshot.manifest is None:
        generations.delete_all()
        return
    with generations.publisher(keep=1) as write:
        before = snapshot.manifest
        snapshot = without(snapshot, find_removed(store, snapshot))
        write(_files(snapshot), _manifest(store, snapshot, before.embedder, before.dim, before.calibration))
    left = generations.stale_folders()
    if left:
        raise StorageError(f"{left[0]}: still in use; what was removed stays there until this is run again")


def _files(snapshot: Snapshot) -> dict[str, Content]:
    arrays = {**snapshot.catalog.compact().arrays(), FILE: digests_of(snapshot)}
    return {**{f"{name}.npy": npy(array) for name, array in arrays.items()}, **snapshot.index.save()}


def _manifest(
    store: ExperienceStore, snapshot: Snapshot, embedder: str, dim: int, calibration: Calibration | None
) -> Manifest:
    ids = snapshot.catalog.ids()
    return Manifest(
        store_id=store.store_id,
        embedder=embedder,
        dim=dim,
        template=TEMPLATE_VERSION,
        engine=without_password(snapshot.engine),
        records=len(ids),
        ids_digest=ids_digest(ids),
        created_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        mtimes=snapshot.mtimes,
        versions={**{name: version(name) for name in ("faiss-cpu", "numpy")}, RULES: rules()},
        calibration=calibration,
    )


def _start(store: ExperienceStore, generations: Generations, embedder: Embedder, *, rebuild: bool) -> Snapshot:
    if rebuild:
        return _start_anew(store, generations, embedder)
    try:
        snapshot = load_snapshot(store, generations)
    except CorruptError as error:  # a new generation takes its place; the damaged one stays beside it for a while
        _log.warning("the index is built anew: %s", error)
        snapshot = None
    if snapshot is None:
        before = generations.last_manifest()
        if before is not None:
            expect_dim(before, embedder)
        return begin(store, generations.engine, embedder)
    if snapshot.manifest is not None:
        check_embedder(snapshot.manifest, embedder)
    return snapshot


def _start_anew(store: ExperienceStore, generations: Generations, embedder: Embedder) -> Snapshot:
    """A view of nothing but what can be taken over from the current generation: rows of the same bytes, same rules."""
    mtimes = settled(store.shard_mtimes())
    sources = read_sources(store)  # before anything is decoded: what changes meanwhile has another digest then
    fresh = replace(begin(store, generations.engine, embedder), sources=sources)
    old = None if sources is None else _trusted_base(store, generations, embedder)
    if old is None or old.sources is None or sources is None:
        return fresh
    kept = unchanged(old.sources.digests, sources.of(old.sources.ids))
    gone = [one.decode("ascii") for one in old.sources.ids[~kept].tolist()]
    statuses = {name: time for name, time in mtimes.items() if name.startswith("status/")}
    base = None if gone else old.manifest
    return replace(without(old, gone), manifest=None, mtimes=statuses, sources=sources, base=base)


def _trusted_base(store: ExperienceStore, generations: Generations, embedder: Embedder) -> Snapshot | None:
    """The current generation, if it is whole and made by this embedder and these rules, its vectors on this machine."""
    try:
        old = _load(store, generations)
        manifest = None if old is None else old.manifest
        if (
            old is None
            or manifest is None
            or not isinstance(old.index, FaissIndex)
            or len(old.index) != len(old.catalog)
        ):
            return None
        if manifest.versions.get(RULES) != rules() or (manifest.embedder, manifest.dim) != (
            embedder.name,
            length_of(embedder),
        ):
            return None
        generations.of(manifest).check()
    except (CorruptError, IndexMismatchError) as error:
        _log.info("nothing is taken over from the index before: %s", error)
        return None
    return old


def check_embedder(manifest: Manifest, embedder: Embedder) -> None:
    """Refuse to mix vectors of two embedders; one that does not know the length of its own is told that of the index,
    so that no service is asked for it."""
    expect_dim(manifest, embedder)
    if manifest.embedder != embedder.name:
        made, asked = manifest.embedder, embedder.name
    elif manifest.dim != length_of(embedder):
        made, asked = f"{manifest.embedder} ({manifest.dim} dimensions)", f"{embedder.name} ({embedder.dim})"
    else:
        return
    raise IndexMismatchError(
        f"the index was made by {made}, not by {asked}; run: ufo-experience index --rebuild --embedder {embedder.name}",
        code="E_EMBEDDER",
    )


def expect_dim(manifest: Manifest, embedder: Embedder) -> None:
    """Tell an embedder the length of its vectors in the index it made; another one is told nothing."""
    if manifest.embedder == embedder.name and embedder.dim is None:
        embedder.embed(["length"], "query")


def length_of(embedder: Embedder) -> int:
    """The length of an embedder's vectors; asks for one where nobody knows."""
    return embedder.dim or int(embedder.embed(["length"], "query").shape[1])


class _Meter:
    """What one run of the job has used."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._started = time.monotonic()
        self._spent: Spending = replace(embedder.spending)
        self._cached = self._count_cached()

    def _count_cached(self) -> int:
        return getattr(self._embedder, "cached", 0)

    def report(self, manifest: Manifest, records: int, texts: int) -> IndexReport:
        """What was used since the meter was made, to embed `texts` texts."""
        cached = self._count_cached() - self._cached
        return IndexReport(
            records=records,
            embedded=texts - cached,
            cached=cached,
            requests=self._embedder.spending.requests - self._spent.requests,
            generation=manifest.generation,
            seconds=round(time.monotonic() - self._started, 3),
            cost=self._embedder.spending.cost - self._spent.cost,
        )
