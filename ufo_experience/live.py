"""The index as a running program sees it: an embedder, the published generation, and every commit since.

`snapshot` is always caught up with the store. A process that only reads holds one snapshot until something changes.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from ufo_experience.config import Settings
from ufo_experience.embedding import open_embedder
from ufo_experience.embedding.base import Embedder, Repairable
from ufo_experience.errors import CorruptError, ExperienceError
from ufo_experience.index.build import (
    IndexReport,
    Progress,
    begin,
    check_embedder,
    empty_snapshot,
    load_snapshot,
    publish,
    sync,
)
from ufo_experience.index.generations import VERIFY_AT_OPEN, Generation, open_generations
from ufo_experience.index.manifest import Calibration
from ufo_experience.index.snapshot import Snapshot, apply, find_changes
from ufo_experience.openai_api.ledger import Ledger
from ufo_experience.openai_api.settings import OpenAISettings, Provider
from ufo_experience.retrieval.candidates import CandidateFinder
from ufo_experience.retrieval.fusion import fusion_for
from ufo_experience.retrieval.retriever import Retriever
from ufo_experience.schema import Trust
from ufo_experience.store.base import ExperienceStore
from ufo_experience.trust.policy import TrustPolicy

if TYPE_CHECKING:
    from ufo_experience.index.forecast import IndexPlan

DEFAULT_OPENAI = "openai:text-embedding-3-small"
OFFLINE = ("hashing", "local")
PROVIDERS: dict[str, Provider] = {"openai": "openai", "azure": "azure"}
SPENDING = "spending.sqlite"
_log = logging.getLogger(__name__)


class LiveIndex:
    """Snapshot, embedder and retriever of one store. Safe to use from many threads."""

    def __init__(self, store: ExperienceStore, settings: Settings, embedder: Embedder | None = None) -> None:
        self.store, self.settings = store, settings
        self.generations = open_generations(store, settings.index, lock_timeout=settings.lock_timeout)
        self._ledger = _ledger(store, settings)
        self._damaged: set[int] = set()
        self._embedder = embedder
        self._snapshot: tuple[Snapshot, int] | None = None
        self._finder: CandidateFinder | None = None
        self._lock = threading.RLock()

    def sync(self, *, rebuild: bool = False, progress: Progress | None = None) -> IndexReport:
        """Bring the published index in line with the store; see `indexer.sync`."""
        self.store.place.check()
        if rebuild and isinstance(self.embedder, Repairable):
            self.embedder.repair()
        report = sync(self.store, self.generations, self.embedder, rebuild=rebuild, progress=progress)
        with self._lock:
            self._snapshot = None
        return report

    def plan(self, *, rebuild: bool = False) -> IndexPlan:
        """How many texts `sync` would embed; nothing is written or sent. See `index_plan.plan`."""
        from ufo_experience.index.forecast import plan

        return plan(self.store, self.generations, self.embedder, rebuild=rebuild)

    def service_settings(self, provider: Provider | None = None) -> OpenAISettings:
        """How to reach the OpenAI service, as the environment and the settings say; all share one ledger."""
        chosen = self.settings
        return OpenAISettings.from_env(
            provider,
            ledger=self._ledger,
            concurrency=chosen.concurrency,
            requests_per_minute=chosen.requests_per_minute,
            tokens_per_minute=chosen.tokens_per_minute,
        )

    def publish(self, calibration: Calibration) -> None:
        """Publish the current view once more, with this calibration."""
        publish(self.store, self.generations, self.snapshot(), self.embedder, calibration)
        with self._lock:
            self._snapshot = None

    @property
    def embedder(self) -> Embedder:
        """The embedder in use, made when first needed."""
        with self._lock:
            if self._embedder is None:
                cache = self.store.cache_folder / "embeddings.sqlite"
                spec = self._embedder_spec()
                provider = PROVIDERS.get(spec.partition(":")[0])
                access = self.service_settings(provider) if provider else None
                self._embedder = open_embedder(spec, settings=access, cache=cache)
            return self._embedder

    def retriever(self) -> Retriever:
        """A retriever over the current snapshot."""
        snapshot = self.snapshot()
        with self._lock:
            if self._finder is None or self._finder.snapshot is not snapshot:
                self._finder = CandidateFinder(snapshot, self._trust_policy(), before=self._finder)
            finder = self._finder
        fusion = fusion_for(self.embedder.name, snapshot.manifest.calibration if snapshot.manifest else None)
        return Retriever(finder, self.store, self.embedder, fusion)

    def snapshot(self) -> Snapshot:
        """The current view of the store, caught up with every commit."""
        with self._lock:
            published = self.generations.stamp()
            held = self._snapshot
            snapshot = held[0] if held and held[1] == published else self._load()
            if snapshot.revision != self.store.revision():
                snapshot = apply(snapshot, find_changes(self.store, snapshot), self._embedder_at_hand())
            self._snapshot = (snapshot, published)
            return snapshot

    def _load(self) -> Snapshot:
        """The published generation; of one that cannot be used the work is done again in memory.

        Nothing is written here: a query may come to a disk that is read-only, or full. `sync` repairs.
        """
        try:
            snapshot = load_snapshot(self.store, self.generations)
        except CorruptError as error:
            _log.warning("answering from the records, the index cannot be used: %s", error)
            snapshot = None
        if snapshot is None or snapshot.manifest is None or snapshot.manifest.generation in self._damaged:
            embedder = self._embedder_at_hand()
            return begin(self.store, self.generations.engine, embedder) if embedder else empty_snapshot(dim=1)
        if self._asked_for() is not None:
            check_embedder(snapshot.manifest, self.embedder)
        self._check_later(self.generations.of(snapshot.manifest))
        return snapshot

    def _check_later(self, generation: Generation) -> None:
        """Hash a generation that was too large to be hashed when it was opened."""
        if generation.size > VERIFY_AT_OPEN:
            threading.Thread(target=self._check, args=(generation,), name="ufo-experience-verify", daemon=True).start()

    def _check(self, generation: Generation) -> None:
        try:
            generation.check()
        except ExperienceError as error:
            if generation.folder.is_dir():  # else a newer one took its place meanwhile
                _log.warning("answering from the records, the index is damaged: %s", error)
                with self._lock:
                    self._damaged.add(generation.manifest.generation)
                    self._snapshot = None

    def _asked_for(self) -> str | None:
        """The embedder somebody chose; None when it is up to us."""
        if self._embedder is not None:
            return self._embedder.name
        return None if self.settings.embedder == "auto" else self.settings.embedder

    def _embedder_spec(self) -> str:
        """The embedder to use: the one asked for, else the index's, else OpenAI with a key, else hashing."""
        asked = self._asked_for()
        manifest = None if asked else self.generations.last_manifest()
        if manifest is not None:
            return manifest.embedder
        return asked or (DEFAULT_OPENAI if OpenAISettings.from_env().has_key() else "hashing")

    def _embedder_at_hand(self) -> Embedder | None:
        """The embedder if it answers without a service: a query must not wait for others' records to be embedded."""
        return self.embedder if self._embedder_spec().partition(":")[0] in OFFLINE else None

    def _trust_policy(self) -> TrustPolicy:
        """What may be injected. In a store others write to, too, a judged run is not enough: somebody must approve."""
        own = self.settings.min_trust or (Trust.APPROVED if self.store.shared else Trust.VERIFIED)
        return TrustPolicy(own, self.settings.min_trust_imported)


def _ledger(store: ExperienceStore, settings: Settings) -> Ledger:
    """One ledger for all that a store's stages ask of a service, and the books of the day if they have a cap."""
    if settings.max_cost_per_day is None:
        return Ledger(settings.max_cost)
    from ufo_experience.openai_api.daily_ledger import DailySpending

    return Ledger(settings.max_cost, daily=DailySpending(store.cache_folder / SPENDING, settings.max_cost_per_day))
