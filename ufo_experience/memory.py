"""The façade: one object that wires the stages together.

memory = ExperienceMemory.open("experience_db")
memory.ingest("logs/2025-11-12-10-04-28/")
hits = memory.retrieve("Email Jane about tomorrow's call", application="Outlook")
block = memory.build_prompt("Email Jane about tomorrow's call", hits)
memory.report(block, success=True, session="s-17")
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufo_experience.config import Settings, load_settings
from ufo_experience.embedding.base import Embedder
from ufo_experience.errors import LockedError, ServiceError
from ufo_experience.index.build import IndexReport, Progress
from ufo_experience.retrieval.answer import Retrieval
from ufo_experience.retrieval.retriever import Query
from ufo_experience.retrieval.signals import credited
from ufo_experience.schema import Experience, Hit, State, Trust, Usage, validate
from ufo_experience.store import open_store, scheme_of
from ufo_experience.store.base import ExperienceStore
from ufo_experience.wiring import Wiring

# Each stage is imported by the method that needs it: a query loads neither readers nor summarizers.
if TYPE_CHECKING:
    from ufo_experience.guide.binding import Binder
    from ufo_experience.guide.guide import Guide
    from ufo_experience.index.manifest import Calibration
    from ufo_experience.ingest import IngestReport
    from ufo_experience.prompt.builder import Format, PromptBlock
    from ufo_experience.retrieval.structured import ActionAdvice
    from ufo_experience.store.exchange import ImportReport

VIEW_RECORDS = 1_000  # rewriting the YAML view of more is work for a rebuild, not for every ingest


class ExperienceMemory:
    """A store, its index and the stages around them. Safe to use from many threads."""

    def __init__(self, store: ExperienceStore, settings: Settings, embedder: Embedder | None = None) -> None:
        self.store, self.settings = store, settings
        self.wiring = Wiring(store, settings, embedder)
        self.live = self.wiring.live

    @classmethod
    def open(
        cls,
        location: str | Path | None = None,
        *,
        embedder: str | Embedder | None = None,
        create: bool = True,
        settings: Settings | None = None,
    ) -> ExperienceMemory:
        """Open (or create) the store at `location`: a folder or a URL.

        `embedder` is a spec (see `open_embedder`), an object of the `Embedder` protocol, or "auto": the one the index
        was made with; for a new store OpenAI if a key is configured, else hashing.

        Raises:
            StorageError, FormatVersionError, UsageError: as the store.
        """
        spec = embedder if isinstance(embedder, str) else None
        where = None if location is None else str(location)
        base = settings or load_settings(db=where, embedder=spec)
        base = base.model_copy(update={k: v for k, v in {"db": where, "embedder": spec}.items() if v is not None})
        store = open_store(base.db, create=create, lock_timeout=base.lock_timeout, network=base.allow_network_store)
        return cls(store, base, None if isinstance(embedder, str) else embedder)

    # ---------------------------------------------------------------- stages

    def ingest(
        self,
        *paths: str | Path,
        format: str = "auto",
        summarizer: str | None = None,
        include_failures: bool = False,
        trust: Trust | str | None = None,
        force: bool = False,
    ) -> IngestReport:
        """Read, redact, summarize and store logs, then bring the index in line; see `ingest.ingest`."""
        from ufo_experience.ingest import ingest
        from ufo_experience.summarizer import open_summarizer

        level = None if trust is None else Trust(trust)
        engine = open_summarizer(summarizer or self.settings.summarizer, self.wiring.service_settings)
        report = ingest(
            paths,
            self.store,
            engine,
            format=format,
            include_failures=include_failures,
            trust=level,
            force=force,
            same_task=self._same_task,
        )
        if report.added:
            self.index_if_possible()
        return report

    def _same_task(self, experience: Experience) -> list[Experience]:
        """Stored records of the same task; those that cannot be read are left to `verify`."""
        catalog = self.live.snapshot().catalog
        return list(self.store.scan(catalog.ids(catalog.rows_of_task(experience.state.task))))

    def index(self, *, rebuild: bool = False, progress: Progress | None = None) -> IndexReport:
        """Bring the index in line with the store (see `index.build.sync`), and `experience.yaml` in a folder.

        The view is left alone in stores of more than `VIEW_RECORDS` records, unless it is a rebuild.
        """
        before = self.live.generations.last_manifest()
        report = self.live.sync(rebuild=rebuild, progress=progress)
        changed = before is None or before.generation != report.generation
        if changed and not scheme_of(self.store.location) and (rebuild or report.records <= VIEW_RECORDS):
            from ufo_experience.store.exchange import VIEW, write_view

            write_view(self.store, Path(self.store.location) / VIEW)
        return report

    def index_if_possible(self) -> str | None:
        """Index what was stored; records wait (and are found by their words) when the embedder cannot answer now,
        or another process is publishing.
        """
        try:
            self.index()
        except (ServiceError, LockedError) as error:
            return str(error)
        return None

    def retrieve(
        self,
        task: str,
        *,
        application: str | None = None,
        env: str | None = None,
        top_k: int | None = None,
        similarity_threshold: float | None = None,
        exclude_session: str | None = None,
        only: Collection[str] | None = None,
    ) -> Retrieval:
        """The experiences that help with `task`: a sequence of hits, best first; see `Retriever.retrieve`.

        `similarity_threshold` None means the one calibrated for the embedder in use. `only` are ids: no other record
        answers, and they are ranked among themselves.
        """
        threshold = similarity_threshold
        if threshold is None and self.settings.threshold != "auto":
            threshold = self.settings.threshold
        k = self.settings.top_k if top_k is None else top_k
        among = None if only is None else frozenset(only)
        query = Query(task, application, env, k, threshold, exclude_session, among)
        return self.wiring.retriever().retrieve(query)

    def build_prompt(
        self,
        task: str,
        hits: Sequence[Hit] | None = None,
        *,
        max_tokens: int | None = None,
        format: Format = "text",
        allowed_actions: Collection[str] | None = None,
    ) -> PromptBlock:
        """The prompt for `task` with `hits` as few-shot examples (retrieved here when not given).

        Failed runs that came with a `Retrieval` are shown as tried and failed. Steps of actions not among
        `allowed_actions` are left out. What was shown is noted in the audit log.
        """
        from ufo_experience.prompt.builder import build_prompt

        found = self.retrieve(task) if hits is None else hits
        negatives = found.negatives if isinstance(found, Retrieval) else ()
        limit = self.settings.max_tokens if max_tokens is None else max_tokens
        shown = [*found, *negatives]
        block = build_prompt(task, shown, max_tokens=limit, format=format, allowed_actions=allowed_actions)
        if block.ids and self.settings.audit:
            from ufo_experience.prompt.audit import FILE, AuditLog

            AuditLog(self.store.cache_folder / FILE).injection(task, shown, block, found)
        return block

    def guide(
        self,
        task: str,
        *,
        application: str | None = None,
        hits: Sequence[Hit] | None = None,
        binder: Binder | None = None,
        proven_after: int = 0,
    ) -> Guide | None:
        """A guide along the best known way for `task`; None when nothing is known well enough to be followed.

        Args:
            hits: what was retrieved for the task already (retrieved here when not given).
            binder: binds slots the rules cannot, with one call of a model.
            proven_after: how often a way must have helped since it last hurt.
        """
        from ufo_experience.guide.offer import offer

        found = self.retrieve(task, application=application) if hits is None else hits
        return offer(task, found, binder=binder, proven_after=proven_after)

    def report(
        self, what: PromptBlock | Iterable[Hit | str], *, success: bool, session: str | None = None
    ) -> list[str]:
        """Credit (or blame) records with the outcome of the run they were injected into; returns the ids updated.

        Exactly what is passed is credited: a block stands for what it shows, hits for all of them, whether or not a
        prompt had room for each. A `session` that was reported before changes nothing.
        """
        from ufo_experience.prompt.builder import PromptBlock

        ids = list(what.ids) if isinstance(what, PromptBlock) else [_id(one) for one in what]
        now = datetime.now(timezone.utc)
        return [identifier for identifier in dict.fromkeys(ids) if self._credit(identifier, success, now, session)]

    def _credit(self, identifier: str, success: bool, now: datetime, session: str | None) -> bool:
        """Credit one record; False when this session was reported before."""
        counted = False

        def change(usage: Usage) -> Usage:
            nonlocal counted
            after = credited(usage, success, now, session)
            counted = after is not usage
            return after

        self.store.update_usage(identifier, change)
        return counted

    def calibrate(self, labels: str | Path | None = None, *, precision: float = 0.95) -> Calibration:
        """Set the threshold of the embedder in use from labelled pairs, or (without) from the store itself.

        It is kept in the index until another embedder or another calibration replaces it; see `calibration.calibrate`.
        """
        from ufo_experience.retrieval.calibration import calibrate, read_pairs

        self.index()
        pairs = None if labels is None else read_pairs(Path(labels), self.store)
        found = calibrate(self.wiring.retriever().finder, self.live.embedder, pairs, precision=precision)
        self.live.publish(found)
        return found

    # ---------------------------------------------------------------- state → action → outcome

    def add_experience(
        self,
        state: Mapping[str, Any],
        action: Mapping[str, Any],
        outcome: Mapping[str, Any],
        salience: float = 0.5,
        episode_id: str | None = None,
        *,
        trust: Trust | str = Trust.VERIFIED,
    ) -> str:
        """Store one state/action/outcome triple; returns its id. `state.task` and `outcome.success` are required.

        Raises:
            SchemaError: naming the field.
        """
        from ufo_experience.formats.triple import from_triple
        from ufo_experience.redaction import redact_json

        clean_state, clean_action, clean_outcome = (redact_json(part) for part in (state, action, outcome))
        experience = from_triple(clean_state, clean_action, clean_outcome, salience, episode_id, trust=Trust(trust))
        self.store.add([experience])
        return experience.id

    def query(
        self,
        state: Mapping[str, Any],
        k: int = 10,
        min_similarity: float = 0.0,
        filters: Mapping[str, Any] | None = None,
    ) -> list[Hit]:
        """Past records of the same task, ranked by weighted overlap, outcome and recency; see `ranker.rank`."""
        from ufo_experience.retrieval.structured import rank

        catalog = self.live.snapshot().catalog
        ranked = rank(catalog, validate(State, dict(state)), k=k, min_similarity=min_similarity, filters=filters)
        parts = zip(
            catalog.ids(ranked.rows), ranked.score, ranked.similarity, ranked.quality, ranked.recency, strict=True
        )
        return [
            Hit(
                experience=self.store.get(identifier),
                score=float(score),
                ranked_by="structured",
                explanation={"similarity": float(sim), "outcome_quality": float(quality), "recency": float(fresh)},
            )
            for identifier, score, sim, quality, fresh in parts
        ]

    def recommend(self, state: Mapping[str, Any], k_actions: int = 5, k_records: int = 25) -> list[ActionAdvice]:
        """What tends to work in this state, by action; advice, never a decision. See `ranker.recommend`."""
        from ufo_experience.retrieval.structured import recommend

        hits = self.query(state, k=k_records)
        return recommend([hit.experience for hit in hits], k_actions=k_actions)

    def export_json(self) -> str:
        """All records with their trust and usage as JSON text."""
        from ufo_experience.store.exchange import export_json

        return export_json(self.store)

    def import_json(self, json_str: str) -> ImportReport:
        """Take in what `export_json` gave, quarantined until somebody approves it."""
        from ufo_experience.store.exchange import import_json

        return import_json(self.store, json_str)


def _id(one: Hit | str) -> str:
    return one if isinstance(one, str) else one.experience.id
