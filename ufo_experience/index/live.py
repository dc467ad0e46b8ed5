"""The index as a running program sees it: the published generation, and every commit since.

`snapshot` is always caught up with the store. A process that only reads holds one snapshot until something changes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Protocol

from ufo_experience.embed.base import Embedder
from ufo_experience.errors import CorruptError, DataError, ExperienceError, ServiceError, StorageError
from ufo_experience.fileio.atomic import Disk, replace_file
from ufo_experience.fileio.regular import read_regular
from ufo_experience.index.append import append
from ufo_experience.index.build import (
    IndexReport,
    Progress,
    begin,
    check_embedder,
    empty_snapshot,
    is_outdated,
    length_of,
    load_snapshot,
    publish,
    sync_from,
)
from ufo_experience.index.catalog import Entry, entry_of
from ufo_experience.index.document import Described, run_term
from ufo_experience.index.generations import VERIFY_AT_OPEN, Generation, Generations
from ufo_experience.index.manifest import Calibration
from ufo_experience.index.snapshot import NO_EMBEDDER, Snapshot, apply, find_changes, own_changes
from ufo_experience.schema import Experience
from ufo_experience.store.base import ExperienceStore

if TYPE_CHECKING:
    from ufo_experience.index.forecast import IndexPlan

MOST_LEARNED = 16_384  # entries that are kept for the next `sync`, some 4 kB each; the others are read again
FAILURE = "index.failure"  # the code of the error that kept records from being embedded
MAX_CODE = 64
CHECK_AFTER_S = 2.0  # a command asks once and ends: it has no use for what this would find
_log = logging.getLogger(__name__)


class EmbedderChoice(Protocol):
    """Which embedder answers, made when first needed."""

    @property
    def asked_for(self) -> str | None:
        """The name of the embedder somebody chose; None when the index decides."""
        ...

    def get(self) -> Embedder:
        """The embedder in use."""
        ...

    def offline(self) -> Embedder | None:
        """The embedder if it answers without a service, else None."""
        ...


class LiveIndex:
    """The current snapshot of one store, and the jobs that change the index. Safe to use from many threads.

    `failure` is why the last `sync` could not embed, None when it could.
    """

    def __init__(self, store: ExperienceStore, generations: Generations, embedders: EmbedderChoice) -> None:
        self.store, self.generations = store, generations
        self._embedders = embedders
        self._damaged: set[int] = set()
        self._said_outdated = False
        self.failure: ServiceError | None = None
        self._learned: dict[str, Entry] = {}
        self._snapshot: tuple[Snapshot, int] | None = None
        self._lock = threading.RLock()

    @property
    def embedder(self) -> Embedder:
        """The embedder in use, made when first needed."""
        with self._lock:
            return self._embedders.get()

    def sync(self, *, rebuild: bool = False, progress: Progress | None = None) -> IndexReport:
        """Bring the published index in line with the store; see `build.sync`. Why it could not be done is noted beside
        it, for whoever asks before it is.
        """
        self.store.storage.check()
        with self._noting():
            return self._sync(rebuild=rebuild, progress=progress)

    def take_in(self, added: Sequence[Experience]) -> None:
        """Bring into the index what the last commit through the same store added, and whatever else is due; see
        `append.append` and `sync`. Raises as `sync`.
        """
        entries = [entry_of(one) for one in added]
        with self._lock:
            is_new = self._snapshot is None and not self._learned and self.failure is None
        if is_new and not self._failure_path.exists():
            with self._noting():
                if append(self.store, self.generations, self.embedder, entries):
                    return
        with self._lock:
            self._learned |= {one.id: one for one in entries[:MOST_LEARNED]}
        self.sync()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except ServiceError as error:
            self._note_failure(error)
            raise
        self._note_failure(None)

    def expect(self, experience: Experience, described: Described) -> None:
        """Keep for the next `sync` what was worked out of a record that was stored just now through the same store."""
        with self._lock:
            if len(self._learned) < MOST_LEARNED:
                self._learned[experience.id] = entry_of(experience, described)

    def _note_failure(self, error: ServiceError | None) -> None:
        """Keep the code of an error, and nothing of its words, which may hold a text; best effort."""
        self.failure = error
        path = self._failure_path
        with suppress(OSError, StorageError):
            if error is not None:
                replace_file(path, error.code.encode("ascii", "replace"), Disk())
            elif path.is_file():
                path.unlink()

    @property
    def _failure_path(self) -> Path:
        return self.store.cache_folder / FAILURE

    def _why_by_words(self) -> str:
        """Why records have no vectors yet."""
        from ufo_experience.service import in_words

        try:
            code = read_regular(self._failure_path, MAX_CODE).decode("ascii", "replace")
        except DataError:
            code = ""
        why = f": {in_words(code)}" if code else ""
        return f"records not embedded yet{why}; to embed them: ufo-experience index --db {quote(self.store.location)}"

    def _sync(self, *, rebuild: bool, progress: Progress | None) -> IndexReport:
        published = self.generations.stamp()
        start = None if rebuild else self._held(published)
        with self._lock:
            learned, self._learned = self._learned, {}
        report, saved = sync_from(
            start, self.store, self.generations, self.embedder, rebuild=rebuild, progress=progress, learned=learned
        )
        with self._lock:
            self._snapshot = (saved, published) if saved and published == self.generations.stamp() else None
        return report

    def _held(self, published: int) -> Snapshot | None:
        """The snapshot at hand if it is of the published generation and of the embedder in use."""
        with self._lock:
            held = self._snapshot
        manifest = held[0].manifest if held and held[1] == published else None
        if held is None or manifest is None:
            return None
        check_embedder(manifest, self.embedder)
        return held[0]

    def plan(self, *, rebuild: bool = False) -> IndexPlan:
        """How many texts `sync` would embed; nothing is written or sent. See `forecast.plan`."""
        from ufo_experience.index.forecast import plan

        return plan(self.store, self.generations, self.embedder, rebuild=rebuild)

    def publish(self, calibration: Calibration) -> None:
        """Publish the current view once more, with this calibration."""
        publish(self.store, self.generations, self.snapshot(), self.embedder, calibration)
        with self._lock:
            self._snapshot = None

    def forget(self) -> None:
        """Let the view go; the next one is read from the disk."""
        with self._lock:
            self._snapshot = None

    def snapshot(self) -> Snapshot:
        """The current view of the store, caught up with every commit."""
        with self._lock:
            published = self.generations.stamp()
            held = self._snapshot
            snapshot = held[0] if held and held[1] == published else self._load()
            if snapshot.revision != self.store.revision():
                changes = own_changes(self.store, snapshot) or find_changes(self.store, snapshot)
                snapshot = apply(snapshot, changes, self._embedders.offline())
                if snapshot.reason == NO_EMBEDDER:
                    snapshot = replace(snapshot, reason=self._why_by_words())
            self._snapshot = (snapshot, published)
            return snapshot

    def earlier_versions(self) -> Callable[[Experience], Iterator[Experience]]:
        """Finds the records, as stored now, of the same source, session and request; those that cannot be read are
        left to `verify`.
        """
        snapshot: list[Snapshot] = []

        def find(experience: Experience) -> Iterator[Experience]:
            if not snapshot:
                snapshot.append(self.snapshot())
            return self.store.scan(snapshot[0].catalog.ids_with_term(run_term(experience)))

        return find

    def _load(self) -> Snapshot:
        """The published generation; of one that cannot be used the work is done again in memory.

        Nothing is written here: a query may come to a disk that is read-only, or full. `sync` repairs.
        """
        try:
            snapshot = load_snapshot(self.store, self.generations)
        except CorruptError as error:
            _log.warning("answering from the records, the index cannot be used: %s", error)
            snapshot = None
        else:
            if snapshot is None:
                self._say_outdated()
        if snapshot is None or snapshot.manifest is None or snapshot.manifest.generation in self._damaged:
            embedder = self._embedders.offline()
            return self._begin(embedder) if embedder else empty_snapshot(dim=1)
        if self._embedders.asked_for is not None:
            check_embedder(snapshot.manifest, self.embedder)
        self._check_later(self.generations.of(snapshot.manifest))
        return snapshot

    def _begin(self, embedder: Embedder) -> Snapshot:
        """A view of nothing, with its vectors; without them where the model of `embedder` cannot be loaded."""
        try:
            length_of(embedder)
        except ServiceError as error:
            return replace(empty_snapshot(dim=1), reason=str(error))
        return begin(self.store, self.generations.engine, embedder)

    def _say_outdated(self) -> None:
        """Say once what an index of an earlier version costs, and what ends that."""
        manifest = None if self._said_outdated else self.generations.last_manifest()
        if manifest is not None and is_outdated(manifest):
            self._said_outdated = True
            _log.warning(
                "the index was made by an earlier version, and every process reads all %d records instead; to bring it"
                " up to date run: ufo-experience index --db %s",
                manifest.records,
                quote(self.store.location),
            )

    def _check_later(self, generation: Generation) -> None:
        """Hash what was too large to be hashed when it was opened, unless the program ends before it is time."""
        if generation.size > VERIFY_AT_OPEN:
            thread = threading.Timer(CHECK_AFTER_S, self._check, (generation,))
            thread.name, thread.daemon = "ufo-experience-verify", True
            thread.start()

    def _check(self, generation: Generation) -> None:
        try:
            generation.check()
        except ExperienceError as error:
            if generation.folder.is_dir():  # else a newer one took its place meanwhile
                _log.warning("answering from the records, the index is damaged: %s", error)
                with self._lock:
                    self._damaged.add(generation.manifest.generation)
                    self._snapshot = None
