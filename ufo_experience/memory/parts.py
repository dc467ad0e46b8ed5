"""What a memory is made of, as the settings say: service, embedder, index, retriever, policy."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ufo_experience.embed import open_embedder
from ufo_experience.embed.base import Embedder, as_embedder
from ufo_experience.errors import DataError, ServiceError
from ufo_experience.index import open_index
from ufo_experience.index.base import MISMATCH, ExperienceIndex
from ufo_experience.prompt.audit import FILE, AuditLog
from ufo_experience.retrieve.retriever import Retriever
from ufo_experience.schema import Trust
from ufo_experience.settings import Settings
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.lessons import Lesson, Lessons
from ufo_experience.trust.policy import TrustPolicy

if TYPE_CHECKING:
    from ufo_experience.service import Provider, Service

DEFAULT_OPENAI = "openai:text-embedding-3-small"
_log = logging.getLogger(__name__)


class Parts:
    """What a store is used with; each part is made when it is needed first."""

    def __init__(self, store: ExperienceStore, settings: Settings, embedder: Embedder | None = None) -> None:
        self.store: ExperienceStore = store
        self.settings: Settings = settings
        self.lessons: Lessons = Lessons(store)
        self.audit: AuditLog = AuditLog(store.cache_folder / FILE)
        self._embedder = None if embedder is None else as_embedder(embedder)
        self._is_checked = False  # that the index was made with this embedder
        self._services: dict[Provider | None, Service] = {}
        self._lock = threading.RLock()

    def service(self, provider: Provider | None = None) -> Service:
        """How to reach a model, as the environment and the settings say; all share one ledger."""
        from ufo_experience.costs import Ledger
        from ufo_experience.service import Access, Service

        with self._lock:
            if provider not in self._services:
                known = next(iter(self._services.values()), None)
                ledger = known.ledger if known else Ledger(self.settings.max_cost)
                access = Access.from_env(provider, allow_http=self.settings.allow_http_service)
                self._services[provider] = Service(access, ledger=ledger)
            return self._services[provider]

    def waiting(self, seconds: float) -> AbstractContextManager[Any]:
        """Let a job outlast an outage of its service."""
        return self.service().waiting(seconds) if seconds > 0 else nullcontext()

    def embedder(self) -> Embedder:
        """The embedder in use: the one asked for, else the index's, else OpenAI's with a key, else hashing."""
        with self._lock:
            if self._embedder is None:
                spec = self.settings.embedder
                if spec == "auto":
                    spec = self.index.embedder_name() or (DEFAULT_OPENAI if _has_key() else "hashing")
                provider = spec.partition(":")[0]
                hosted = self.service(provider) if provider in ("openai", "azure") else None  # type: ignore[arg-type]
                self._embedder = open_embedder(spec, service=hosted)
            if not self._is_checked:
                name, made_with = self._embedder.name, self.index.embedder_name()
                if made_with not in (None, name):
                    cure = f"use that, or run: ufo-experience index --rebuild --embedder {name}"
                    raise DataError(f"the index was made with {made_with}, not {name}; {cure}", code=MISMATCH)
                self._is_checked = made_with is not None
            return self._embedder

    @contextmanager
    def rebuilding(self) -> Iterator[None]:
        """Where the index takes on another embedder; one that cannot answer is found out first."""
        before, self._is_checked = self._is_checked, True
        try:
            if self.index.embedder_name() not in (None, self.embedder().name):
                self.embedder().embed(["ready"])
            yield
        except BaseException:
            self._is_checked = before
            raise

    def expect_embedder(self) -> None:
        """Raise before anything is stored where the index was made with another embedder than is asked for."""
        with suppress(ServiceError):  # that it cannot be used now is told when it is
            self.embedder()

    @cached_property
    def index(self) -> ExperienceIndex:
        """The index of the store."""
        return open_index(self.store, self.embedder)

    @cached_property
    def retriever(self) -> Retriever:
        """What answers questions; hashed words tell nothing that words do not, so they are not compared."""
        from ufo_experience.embed.hashing import HashingEmbedder

        embedder = self.embedder()
        return Retriever(
            self.index,
            self.store.get,
            embedder=None if isinstance(embedder, HashingEmbedder) else embedder,
            judge=self._judge(),
            policy=self.policy,
            threshold=self.threshold(embedder.name),
        )

    def _judge(self) -> Any:
        asked = self.settings.judge
        if asked == "off" or (asked == "auto" and not _has_key()):
            return None
        from ufo_experience.retrieve.judge import open_judge
        from ufo_experience.service import DEFAULT_CHAT

        return open_judge(asked, self.service(), DEFAULT_CHAT)

    def threshold(self, embedder: str) -> float | None:
        """The threshold that was calibrated for an embedder; None for the one that is fitted."""
        from ufo_experience.retrieve.calibration import kept

        found = kept(self.index, embedder)
        return None if found is None else found.threshold

    def lessons_of(self, application: str | None) -> list[Lesson]:
        """The lessons that are shown in an application; a file that cannot be read costs no prompt."""
        try:
            return self.lessons.of(application, self.policy)
        except DataError as error:
            _log.warning("no lessons are shown: %s", error)
            return []

    @property
    def policy(self) -> TrustPolicy:
        """What may be shown. In a store others write to, too, a judged run is not enough: somebody must approve."""
        return TrustPolicy(self.settings.min_trust or (Trust.APPROVED if self.store.shared else Trust.VERIFIED))

    def close(self) -> None:
        """Close connections; they are opened again when they are needed."""
        with self._lock:
            for one in self._services.values():
                one.close()
            if "index" in vars(self):
                self.index.close()


def _has_key() -> bool:
    from ufo_experience.service import Access

    return Access.from_env().is_usable
