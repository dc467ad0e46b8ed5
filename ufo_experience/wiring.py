"""Which parts a store is used with: embedder, index, retriever, ledger and trust policy, as the settings say."""

from __future__ import annotations

import gc
import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from ufo_experience.embed import open_embedder
from ufo_experience.embed.base import Embedder, as_embedder
from ufo_experience.embed.hashing import HashingEmbedder
from ufo_experience.index.build import expect_dim
from ufo_experience.index.generations import Generations, open_generations
from ufo_experience.index.live import LiveIndex
from ufo_experience.retrieve.candidates import CandidateFinder
from ufo_experience.retrieve.fusion import fusion_for
from ufo_experience.retrieve.retriever import Retriever
from ufo_experience.schema import Trust
from ufo_experience.settings import Settings
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.kept import KeptRecords
from ufo_experience.trust.policy import TrustPolicy

# Asking a service is imported where it is done: most questions ask none.
if TYPE_CHECKING:
    from ufo_experience.costs import Ledger
    from ufo_experience.retrieve.judge import Judge
    from ufo_experience.service import Provider, Service

DEFAULT_OPENAI = "openai:text-embedding-3-small"
OFFLINE = ("hashing", "local", "fastembed", "model2vec")
PROVIDERS: dict[str, Provider] = {"openai": "openai", "azure": "azure"}
SPENDING = "spending.sqlite"


class Wiring:
    """The parts of one store, each made when first needed. Safe to use from many threads."""

    def __init__(
        self,
        store: ExperienceStore,
        settings: Settings,
        embedder: Embedder | None = None,
        generations: Generations | None = None,
    ) -> None:
        """Wire up a store; `embedder` and `generations` replace those the settings name."""
        self.store, self.settings = store, settings
        kept = generations or open_generations(store, settings.index, lock_timeout=settings.lock_timeout)
        self._ledger: Ledger | None = None
        self._services: dict[Provider | None, Service] = {}
        self._embedder = None if embedder is None else as_embedder(embedder)
        self._finder: CandidateFinder | None = None
        self._records = KeptRecords(store)
        self._judge: Judge | None = None
        self._lock = threading.RLock()
        self.live = LiveIndex(store, kept, self)

    def service(self, provider: Provider | None = None) -> Service:
        """How to reach a model, as the environment and the settings say; all share one ledger."""
        from ufo_experience.service import Access, Service

        with self._lock:
            if provider not in self._services:
                if self._ledger is None:
                    self._ledger = open_ledger(self.store, self.settings)
                access = Access.from_env(provider, allow_http=self.settings.allow_http_service)
                self._services[provider] = Service(access, ledger=self._ledger)
            return self._services[provider]

    def close(self) -> None:
        """Close connections; they are opened again when they are needed."""
        with self._lock:
            for one in self._services.values():
                one.close()

    def forget(self) -> None:
        """Drop what is kept of records that may be gone: the next question reads anew."""
        with self._lock:
            self._finder = None
            self._records.forget()
        self.live.forget()
        gc.collect()  # its answers hold each other

    def retriever(self) -> Retriever:
        """A retriever over the current snapshot."""
        finder = self.finder()
        manifest, embedder = finder.snapshot.manifest, self.get()
        if manifest is not None:
            expect_dim(manifest, embedder)
        fusion = fusion_for(embedder.name, manifest.calibration if manifest else None)
        return Retriever(finder, self._records, embedder, fusion, self._open_judge())

    def _open_judge(self) -> Judge | None:
        """The judge that the settings name, made when first needed; its answers are kept with it."""
        with self._lock:
            if self._judge is None and self.settings.judge != "none":
                from ufo_experience.retrieve.judge import open_judge

                self._judge = open_judge(self.settings.judge, self.service())
            return self._judge

    def finder(self) -> CandidateFinder:
        """What finds candidates in the current snapshot, and knows what its runs agree on."""
        snapshot = self.live.snapshot()
        with self._lock:
            before = self._finder
            if before is not None and before.snapshot is snapshot:
                return before
            if before is None or not before.is_of(snapshot):
                self._records.forget()  # a purge publishes another generation
            finder = CandidateFinder(snapshot, self.trust_policy(), before=before, records=self._records)
            self._finder = finder
            return finder

    @property
    def asked_for(self) -> str | None:
        """The name of the embedder somebody chose; None when it is up to us."""
        if self._embedder is not None:
            return self._embedder.name
        return None if self.settings.embedder == "auto" else self.settings.embedder

    def get(self) -> Embedder:
        """The embedder in use, made when first needed."""
        with self._lock:
            if self._embedder is None:
                spec = self._embedder_spec()
                provider = PROVIDERS.get(spec.partition(":")[0])
                access = self.service(provider) if provider else None
                self._embedder = open_embedder(spec, service=access)
                if not isinstance(self._embedder, HashingEmbedder):
                    from ufo_experience.embed.cache import CACHE_FILE, CachedEmbedder, CacheFile

                    self._embedder = CachedEmbedder(self._embedder, CacheFile(self.store.cache_folder / CACHE_FILE))
            return self._embedder

    def offline(self) -> Embedder | None:
        """The embedder if it answers without a service: a query must not wait for others' records to be embedded."""
        return self.get() if self._embedder_spec().partition(":")[0] in OFFLINE else None

    def _embedder_spec(self) -> str:
        """The embedder to use: the one asked for, else the index's, else OpenAI with a key, else hashing."""
        asked = self.asked_for
        manifest = None if asked else self.live.generations.last_manifest()
        if manifest is not None:
            return manifest.embedder
        return asked or (DEFAULT_OPENAI if _has_key() else "hashing")

    def trust_policy(self) -> TrustPolicy:
        """What may be injected. In a store others write to, too, a judged run is not enough: somebody must approve."""
        own = self.settings.min_trust or (Trust.APPROVED if self.store.shared else Trust.VERIFIED)
        days = self.settings.stale_after_days
        return TrustPolicy(own, self.settings.min_trust_imported, None if days is None else timedelta(days=days))


def _has_key() -> bool:
    from ufo_experience.service import Access

    return Access.from_env().api_key is not None


def open_ledger(store: ExperienceStore, settings: Settings) -> Ledger:
    """One ledger for all that a store's stages ask of a service, and the books of the day if they have a cap."""
    from ufo_experience.costs import Ledger

    books = store.cache_folder / SPENDING
    return Ledger(settings.max_cost, max_cost_per_day=settings.max_cost_per_day, books=books)
