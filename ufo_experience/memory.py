"""The façade: one object that wires the stages together.

with ExperienceMemory.open("experience_db") as memory:
    memory.ingest("logs/2025-11-12-10-04-28/")
    hits = memory.retrieve("Email Jane about tomorrow's call", application="Outlook")
    block = memory.build_prompt("Email Jane about tomorrow's call", hits)
    memory.report(block, success=True, session="s-17")
    memory.remember("Email Jane about tomorrow's call", steps, success=True, application="Outlook")

What takes ids takes the beginnings of ids, too (at least 4 digits). Whatever is stored is found by the next `retrieve`.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import cached_property
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal

from ufo_experience.embed import open_embedder
from ufo_experience.embed.base import Embedder, as_embedder
from ufo_experience.errors import DataError, LockedError, NotFoundError, ServiceError, StorageError, UsageError
from ufo_experience.index import open_index
from ufo_experience.index.base import ExperienceIndex, IndexReport, Progress, row_of
from ufo_experience.prompt.audit import FILE as AUDIT
from ufo_experience.prompt.audit import AuditLog
from ufo_experience.redact import redact_json, redact_record, redact_text
from ufo_experience.request import Request, forget
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.retrieve.retriever import Query, Retriever
from ufo_experience.retrieve.structured import ActionAdvice, rank, recommend
from ufo_experience.schema import Experience, Hit, Judge, Problem, State, Trust, Verdict, expect, validate
from ufo_experience.settings import Settings, load_settings
from ufo_experience.store import FolderStore, open_store
from ufo_experience.store.base import Added, ExperienceStore
from ufo_experience.store.exchange import (
    ExportReport,
    ImportReport,
    export,
    export_json,
    import_entries,
    import_json,
    read_export,
)
from ufo_experience.store.inspection import (
    SourceInfo,
    StoreStats,
    Verification,
    known_sources,
    sources,
    stats,
)
from ufo_experience.store.selection import (
    ChangeReport,
    RecordFilter,
    chosen,
    resolve,
    resolve_among,
    select,
    set_trust,
    trust_level,
)
from ufo_experience.store.view import View
from ufo_experience.trust.policy import TrustPolicy

# Readers, summarizers, prompts, services: imported by the method that needs them, a question loads none of it.
if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ufo_experience.executor import Driver, Execution
    from ufo_experience.ingest import IngestReport
    from ufo_experience.procedure.guide import Guide
    from ufo_experience.prompt.builder import Format, PromptBlock
    from ufo_experience.retrieve.calibration import Calibration
    from ufo_experience.retrieve.on_screen import OnScreen
    from ufo_experience.service import Provider, Service
    from ufo_experience.traces.draft import LogGaps
    from ufo_experience.traces.in_memory import JudgedBy, RunDetails, Steps

Hits = list[Hit]  # named here: inside the class `list` is a method
Ids = list[str]
Records = list[Experience]
Advice = list[ActionAdvice]
Sources = list[SourceInfo]

DEFAULT_OPENAI = "openai:text-embedding-3-small"
NOT_INDEXED = "E_NOT_INDEXED"  # the problem of records that could not be embedded
QUERIED = 100  # rows near the task of a state, among which are the runs of the same task
MOST_RUNS = 16  # of one task, that are compared for its procedure
_SPENDING = "spending.sqlite"
_log = logging.getLogger(__name__)


class Parts:
    """What a store is used with, as the settings say: service, embedder, index, judge, policy; made when needed."""

    def __init__(self, store: ExperienceStore, settings: Settings, embedder: Embedder | None = None) -> None:
        self.store, self.settings = store, settings
        self._embedder = None if embedder is None else as_embedder(embedder)
        self._services: dict[Provider | None, Service] = {}
        self._lock = threading.RLock()

    def service(self, provider: Provider | None = None) -> Service:
        """How to reach a model, as the environment and the settings say; all share one ledger."""
        from ufo_experience.costs import Ledger
        from ufo_experience.service import Access, Service

        with self._lock:
            if provider not in self._services:
                known = next(iter(self._services.values()), None)
                most, books = self.settings.max_cost_per_day, self.store.cache_folder / _SPENDING
                ledger = known.ledger if known else Ledger(self.settings.max_cost, max_cost_per_day=most, books=books)
                access = Access.from_env(provider, allow_http=self.settings.allow_http_service)
                self._services[provider] = Service(access, ledger=ledger)
            return self._services[provider]

    @contextmanager
    def waiting(self, seconds: float) -> Iterator[None]:
        """Let a job outlast an outage of its service."""
        with ExitStack() as stack:
            if seconds > 0:
                stack.enter_context(self.service().waiting(seconds))
            yield

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
            return self._embedder

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
            self.store,
            embedder=None if isinstance(embedder, HashingEmbedder) else embedder,
            judge=self._judge(),
            policy=self.policy,
            threshold=self.threshold(embedder.name),
        )

    @property
    def policy(self) -> TrustPolicy:
        """What may be shown. In a store others write to, too, a judged run is not enough: somebody must approve."""
        own = self.settings.min_trust or (Trust.APPROVED if self.store.shared else Trust.VERIFIED)
        days = self.settings.stale_after_days
        return TrustPolicy(own, self.settings.min_trust_imported, None if days is None else timedelta(days=days))

    def close(self) -> None:
        """Close connections; they are opened again when they are needed."""
        with self._lock:
            for one in self._services.values():
                one.close()
            if "index" in vars(self):
                self.index.close()

    def _judge(self) -> Any:
        if self.settings.judge in ("off", "none"):
            return None
        from ufo_experience.retrieve.judge import open_judge
        from ufo_experience.service import DEFAULT_CHAT

        model = DEFAULT_CHAT if self.settings.judge == "auto" and _has_key() else None
        return (
            open_judge(self.settings.judge, self.service(), model) if model or self.settings.judge != "auto" else None
        )

    def threshold(self, embedder: str) -> float | None:
        """The threshold that was calibrated for an embedder; None for the one that is fitted."""
        from ufo_experience.retrieve.calibration import kept

        found = kept(self.index, embedder)
        return None if found is None else found.threshold


def _has_key() -> bool:
    from ufo_experience.service import Access

    return Access.from_env().is_usable


class ExperienceMemory:
    """A store, its index and the stages around them. Safe to use from many threads; `with` closes it at the end."""

    def __init__(self, store: ExperienceStore, settings: Settings, embedder: Embedder | None = None) -> None:
        self.store, self.settings = store, settings
        self.parts = Parts(store, settings, embedder)
        self._view = View(store) if isinstance(store, FolderStore) else None
        self._failure: ServiceError | None = None

    @classmethod
    def open(
        cls,
        location: str | Path | None = None,
        *,
        embedder: str | Embedder | None = None,
        top_k: int | None = None,
        threshold: float | Literal["auto"] | None = None,
        create: bool = True,
        settings: Settings | None = None,
    ) -> ExperienceMemory:
        """Open (or create) the store at `location`: a folder or a URL.

        `embedder` is a spec (see `open_embedder`), an object of the `Embedder` protocol, or "auto": the one the index
        was made with; for a new store OpenAI if a key is configured, else hashing. `top_k` and `threshold` are those of
        every `retrieve` that gives none. What is given here stands over `settings`, and those over file and environment
        (see `Settings`).

        Raises:
            NotFoundError: there is no store and `create` is False.
            StorageError, FormatVersionError, UsageError: as the store.
        """
        expect((str, Path), "." if location is None else location, "location")
        spec = embedder if isinstance(embedder, str) else None
        where = None if location is None else str(location)
        base = load_settings(base=settings, db=where, embedder=spec, top_k=top_k, threshold=threshold)
        store = open_store(
            base.db,
            create=create,
            network=base.allow_network_store,
            max_per_author=base.max_records_per_author,
        )
        return cls(store, base, None if isinstance(embedder, str) else embedder)

    def close(self) -> None:
        """Let go of files and connections. What was stored is safe without it."""
        self.parts.close()
        self.store.close()

    def __enter__(self) -> ExperienceMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """How many records are stored."""
        return len(self.store.ids())

    def __bool__(self) -> bool:
        return True  # an empty memory is one

    def __repr__(self) -> str:
        return f"<ExperienceMemory {self.store.location!r}: {len(self)} records>"

    # ---------------------------------------------------------------- stages

    def ingest(
        self,
        *sources: str | Path | Mapping[str, Any] | IO[Any],
        format: str = "auto",
        summarizer: str | None = None,
        include_failures: bool = False,
        trust: Trust | str | None = None,
        force: bool = False,
        wait: float = 0.0,
        progress: Progress | None = None,
        **lacking: Unpack[LogGaps],
    ) -> IngestReport:
        """Read, redact, summarize and store logs, then bring the index in line; see `ingest.ingest`.

        A source is a file or a folder of them, an open file, or a run as a mapping with `task` and `steps`. While a
        model that words records does not answer, the job waits for it for at most `wait` seconds; without, records are
        worded by rules.
        """
        from ufo_experience.ingest import ingest
        from ufo_experience.summarize import open_summarizer

        level = None if trust is None else trust_level(trust)
        engine = open_summarizer(summarizer or self.settings.summarizer, self.parts.service)
        with self.parts.waiting(wait):
            report = ingest(
                sources,
                self.store,
                engine,
                format=format,
                include_failures=include_failures,
                trust=level,
                force=force,
                index=self.parts.index,
                keep_observations=self.settings.keep_observations,
                earlier_versions=self._earlier_versions,
                progress=progress,
                **lacking,
            )
        if level is not None:
            report.trusted = self._trust_known(report.known, level)
        if (success := lacking.get("success")) is not None:
            report.judged = self._judge_known(report.known, success)
        why = self.index_if_possible() if report.added or report.known else None
        if why and self._failure:
            report.problems.append(Problem(file=self.store.location, code=NOT_INDEXED, message=why))
        if report.failed and not (report.read or report.added or report.known):
            _log.warning("nothing was read; %s: %s", *report.failed[0])
        return report

    def _earlier_versions(self, one: Experience) -> Records:
        """The stored runs of the same task, among which may be an earlier reading of the same log."""
        return self._runs_of(one, every=True)

    def _judge_known(self, known: Ids, success: bool) -> Ids:
        """Judge what was stored before and nobody judged, unless the log says the contrary; returns the ids."""
        outcomes = {one.id: one.outcome for one in self.store.scan(known)}
        meant = [id for id, one in outcomes.items() if not one.is_judged and one.success in (None, success)]
        return [self.judge(id, success=success).id for id in meant]

    def _trust_known(self, known: Ids, level: Trust) -> Ids:
        """Give what was stored before the trust it is given now; returns the ids that had another."""
        changed = [one.id for one in self.store.scan(known) if one.trust is not level]
        for identifier in changed:
            self.store.set_status(identifier, trust=level)
        return changed

    def remember(
        self,
        task: str,
        steps: Steps,
        success: bool | None = None,
        application: str | None = None,
        judge: JudgedBy | None = None,
        *,
        trust: Trust | str | None = None,
        summarizer: str = "extractive",
        wordings: Sequence[str] = (),
        **details: Unpack[RunDetails],
    ) -> Experience:
        """Store a run your program has just finished; returns the record as it is stored, without secrets.

        A step is a mapping with an action, and what is known of control, parameters, observation, result, error and
        time, by any of the names that logs use; see `traces.in_memory`. What is not kept is named in the record's
        notes. Failed runs (`success=False`) are kept as what not to do.

        Args:
            success: None when nobody has judged the run: it is kept and not shown to agents until `judge` or `approve`.
            judge: who says so: "person" (a user), "program" (a check, an evaluator), "llm", or "agent" (the agent
                itself, which is no judgement). Default: the program that calls this.
            trust: your word instead of what the outcome gives (verified when judged, else observed).
            summarizer: who words the record; "openai" asks the service, the default nobody.
            wordings: other ways to ask for the same, by which it is found as well as by the task; eight at most. A
                language model that has just done the task can word them.
            details: `session`, `env`, `agent`, `score`, `failure_reason`, `cost`, `tokens`, `latency_ms`, `plan`,
                `started_at`; see `RunDetails`.

        Raises:
            SchemaError: a field is wrong; it is named.
            DataError: nothing can be learned from it (`E_EMPTY`).
        """
        from ufo_experience.ingest import Constants, learn
        from ufo_experience.summarize import open_summarizer
        from ufo_experience.traces.in_memory import judged_run

        run = judged_run(task, steps, success, judge, application=application, **details)
        level = None if trust is None else trust_level(trust)
        engine = open_summarizer(summarizer, self.parts.service)
        constants = Constants(self.parts.index)
        experience = learn(run, engine, key=self.store.key(), constants=constants, trust=level, wordings=wordings)
        self.take_in([experience])
        return self.store.get(experience.id)

    def judge(
        self,
        id: str,
        *,
        success: bool,
        by: Judge = "person",
        score: float | None = None,
        reason: str | None = None,
    ) -> Experience:
        """Say how a run ended that nobody had judged, or that was judged wrongly; returns the record as it is now.

        The record itself is not rewritten: the verdict is kept beside it, like its trust. An observed record becomes
        verified by it; one in quarantine stays there until it is approved.

        Raises:
            NotFoundError, UsageError: no record, or several, have an id that begins so.
        """
        expect(bool, success, "success")
        said = {"success": success, "judge": by, "score": score, "reason": redact_text(reason) if reason else None}
        verdict = validate(Verdict, {**said, "judged_at": datetime.now(timezone.utc)})
        (full,) = resolve(self.store, [id])
        observed = self.store.get(full).trust is Trust.OBSERVED
        self.store.set_status(full, verdict=verdict, trust=Trust.VERIFIED if observed else None)
        return self.store.get(full)

    def retrieve(
        self,
        task: str,
        *,
        application: str | None = None,
        env: str | None = None,
        top_k: int | None = None,
        similarity_threshold: float | None = None,
        near: int = 0,
        exclude_session: str | None = None,
        only: Collection[str] | None = None,
        controls: Iterable[Any] | None = None,
        done: Iterable[str] = (),
    ) -> Retrieval:
        """The experiences that help with `task`: a sequence of hits, best first; see `Retriever.retrieve`.

        `similarity_threshold` None means the setting `threshold`, else the one calibrated for the embedder in use, else
        0.75. `near` asks for so many of the
        best below it, too. `only` are ids: no other record answers, and they are ranked among themselves. `controls`
        are those in view (as for `Guide.next`), `done` the names of those acted on so far: among equals the way comes
        first whose next target is on the screen.
        """
        expect(str, task, "task")
        for name, given in (("application", application), ("env", env)):
            expect(str, given or "", name)
        own = None if self.settings.threshold == "auto" else self.settings.threshold
        threshold = own if similarity_threshold is None else similarity_threshold
        k = self.settings.top_k if top_k is None else top_k
        among = None if only is None else frozenset(only)
        screen = None if controls is None else _on_screen(controls, done, application)
        query = Query(task, application, env, k, threshold, exclude_session, among, near, screen)
        return self.parts.retriever.retrieve(query)

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
        block = build_prompt(
            task,
            shown,
            max_tokens=limit,
            format=format,
            allowed_actions=allowed_actions,
            runs_of=self._runs_of,
        )
        if self.settings.audit:
            self._audit(task, shown, block, found)
        return block

    def _audit(self, task: str, shown: Hits, block: PromptBlock, found: Sequence[Hit]) -> None:
        log = AuditLog(self.store.cache_folder / AUDIT)
        if block.ids:
            log.injection(task, shown, block, found)
        elif isinstance(found, Retrieval) and task.strip():
            log.unanswered(task, found)

    def guide(
        self,
        task: str,
        *,
        application: str | None = None,
        hits: Sequence[Hit] | None = None,
        proven_after: int = 0,
    ) -> Guide | None:
        """A guide along the best known way for `task`; None when nothing is known well enough to be followed.

        Args:
            hits: what was retrieved for the task already (retrieved here when not given).
            proven_after: how often a way must have helped since it last hurt.
        """
        from ufo_experience.procedure.offer import offer

        found = self.retrieve(task, application=application) if hits is None else hits
        if not found:
            return None
        return offer(task, found, proven_after=proven_after, runs_of=self._runs_of)

    def choices(
        self, task: str, *, application: str | None = None, hits: Sequence[Hit] | None = None, limit: int = 3
    ) -> tuple[Guide, ...]:
        """Guides along at most `limit` ways that may be meant, best first, for an agent to choose from.

        For a task for which `guide` finds none: retrieval thinks each of them possible, not likely, and the task has
        the values it takes. Whoever chooses has to read what it was learned for (`guide.procedure.task`).

        Args:
            hits: what was retrieved for the task already, with what came near (retrieved here when not given).
        """
        from ufo_experience.procedure.offer import LOOKED_THROUGH, choices

        if hits is None:
            found = self.retrieve(task, application=application, near=LOOKED_THROUGH)
            hits = [*found, *found.near]
        return choices(task, hits, limit=limit, runs_of=self._runs_of) if hits else ()

    def _runs_of(self, run: Experience, *, every: bool = False) -> Records:
        """The newest other runs of the same task that may be shown, or that failed: the evidence of its procedure."""
        own = self.parts.index.rows([run.id])
        key = own[0].task_key if own else row_of(run).task_key
        rows = sorted(self.parts.index.rows(task_key=key), key=lambda row: row.created_at)[-MOST_RUNS:]
        runs = self.store.scan([row.id for row in rows])
        return [one for one in runs if every or self.parts.policy.admits(one) or one.is_negative]

    def run(
        self,
        task: str,
        driver: Driver,
        *,
        ask: Callable[..., Any] | None = None,
        agent: Callable[..., Any] | None = None,
        check: Callable[..., Any] | str | None = None,
        application: str | None = None,
        progress: Callable[..., None] | None = None,
    ) -> Execution:
        """Carry out the known way of a task without a model; see `ufo_experience.executor`.

        Args:
            driver: `PlaywrightDriver`, `SeleniumDriver`, or any object with `controls()` and `do(act)`.
            ask: is asked before a step that sends, pays, deletes or the like; without it the run stops there.
            agent: takes over where the screen disagrees: `agent(controls, stop)` answers with actions.
            check: says whether the task was done: a function of the driver, or a text that must be on the screen. A
                run that it confirms is credited, and a way that was healed is stored as it is now.
        """
        from ufo_experience.executor import Executor, nothing_known

        guide = self.guide(task, application=application)
        if guide is None:
            return nothing_known(task, self.retrieve(task, application=application).reason or "no way can be followed")
        done = Executor(guide, driver, ask=ask, agent=agent, check=check, progress=progress).run()
        return self._settle_run(done)

    async def arun(self, task: str, driver: Driver, *, application: str | None = None, **options: Any) -> Execution:
        """`run` on an event loop; the methods of the driver may be coroutines, as those of `UfoDriver`."""
        from ufo_experience.executor import Executor, nothing_known

        guide = await asyncio.to_thread(self.guide, task, application=application)
        if guide is None:
            return nothing_known(task, "no way of this task can be followed")
        done = await Executor(guide, driver, **options).arun()
        return await asyncio.to_thread(self._settle_run, done)

    def _settle_run(self, done: Execution) -> Execution:
        """Credit a way that a check has judged; one that was healed is stored anew, and the old one is put aside."""
        from ufo_experience.executor import steps_done, with_record

        if done.checked is None:
            return done
        self.report([done.procedure], success=done.checked)
        if not (done.checked and done.healed):
            return done
        old = self.store.get(done.procedure)
        new = self.remember(done.task, steps_done(done), True, old.state.application, "program")
        self.store.set_status(old.id, trust=Trust.QUARANTINED)
        return with_record(done, new.id)

    def report(
        self, what: PromptBlock | Hit | str | Iterable[Hit | str], *, success: bool, session: str | None = None
    ) -> Ids:
        """Credit (or blame) records with the outcome of the run they were injected into; returns the ids updated.

        Exactly what is passed is credited: a block stands for what it shows, hits for all of them, whether or not a
        prompt had room for each. A `session` that was reported before changes nothing.
        """
        from ufo_experience.prompt.builder import PromptBlock

        expect(bool, success, "success")
        if not isinstance(what, (PromptBlock, Iterable)):
            raise UsageError(f"what is reported is a block, hits or ids, not {what!r:.60}")
        if isinstance(what, PromptBlock):
            ids = list(what.ids)
        else:
            ids = resolve(self.store, [_id(one) for one in ([what] if isinstance(what, (str, Hit)) else what)])
        credited = dict.fromkeys(ids)
        return [one for one in credited if self.store.update_usage(one, success, session=session or "")]

    def calibrate(
        self, labels: str | Path | None = None, *, precision: float = 0.95, apply: bool = False
    ) -> Calibration:
        """Find the threshold for the embedder in use from labelled pairs, or (without) from the store itself.

        With `apply` it is kept in the index until another calibration replaces it; see `calibration.calibrate`.
        """
        from ufo_experience.retrieve.calibration import calibrate, keep, read_pairs

        self.index()
        pairs = None if labels is None else read_pairs(Path(labels), self.parts.index)
        found = calibrate(self.parts.retriever, pairs, precision=precision)
        if apply:
            keep(self.parts.index, found)
            del self.parts.retriever
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
        from ufo_experience.integrations.formats.triple import from_triple
        from ufo_experience.traces.in_memory import schema_steps

        for name, part in (("state", state), ("action", action), ("outcome", outcome)):
            expect(Mapping, part, name)
        if "steps" in action:
            action = {**action, "steps": schema_steps(action["steps"])}
        first, second, third = (redact_json(part) for part in (state, action, outcome))
        experience = from_triple(first, second, third, salience, episode_id, trust=trust_level(trust))
        self.take_in([experience])
        return experience.id

    def query(
        self,
        state: Mapping[str, Any],
        k: int = 10,
        min_similarity: float = 0.0,
        filters: Mapping[str, Any] | None = None,
    ) -> Hits:
        """Past records of the same task, ranked by weighted overlap, outcome and recency; see `ranker.rank`."""
        expect(Mapping, state, "state")
        expect(Mapping, {} if filters is None else filters, "filters")
        asked = validate(State, dict(state))
        near = self.parts.index.candidates(Request.parse(asked.task, asked.application), limit=QUERIED)
        keys = {one.row.task_key for one in near}
        ids = [row.id for key in sorted(keys) for row in self.parts.index.rows(task_key=key)]
        ranked = rank(self.store.scan(ids), asked, k=k, min_similarity=min_similarity, filters=filters)
        return [
            Hit(
                experience=one.experience,
                score=one.rank_score,
                ranked_by="structured",
                explanation={"similarity": one.similarity, "outcome_quality": one.quality, "recency": one.recency},
            )
            for one in ranked
        ]

    def recommend(self, state: Mapping[str, Any], k_actions: int = 5, k_records: int = 25) -> Advice:
        """What tends to work in this state, by action; advice, never a decision. See `ranker.recommend`."""
        hits = self.query(state, k=k_records)
        return recommend([hit.experience for hit in hits], k_actions=k_actions)

    # ---------------------------------------------------------------- looking after the store

    def index(self, *, rebuild: bool = False, progress: Progress | None = None) -> IndexReport:
        """Bring index and `experience.yaml` in line with the records, whoever changed them; with `rebuild` both are
        made again from nothing else (vectors of unchanged texts are kept).
        """
        index = self.parts.index
        report = index.rebuild(progress) if rebuild else index.sync(progress, thorough=True)
        self._failure = None
        if self._view is not None:
            self._view.follow()
        return report

    def take_in(self, records: Iterable[Experience]) -> Added:
        """Store records, redacted, and index them as far as can be done now. Raises as the store's `add`."""
        done = self.store.add(redact_record(one, self.settings.keep_observations) for one in records)
        self.index_if_possible()
        return done

    def index_if_possible(self) -> str | None:
        """Index what was stored; it waits (and is found by its words) when the embedder cannot answer now, or another
        process is writing. Returns why; a fault of the embedder is logged when it is another than before.
        """
        before = self._failure
        try:
            self.parts.index.sync()
            self._failure = None
            self._follow()
        except LockedError as error:
            return str(error)
        except ServiceError as error:
            self._failure = error
            if before is None or before.code != error.code:
                _log.warning("%s", self.waiting_for_index)
        return self.waiting_for_index

    @property
    def waiting_for_index(self) -> str | None:
        """Why what was stored last has no vector, and the command for when that is mended; None when it has."""
        if self._failure is None:
            return None
        command = f"ufo-experience index --db {quote(self.store.location)}"
        return f"stored and found by words, but not embedded: {self._failure}; when that is mended: {command}"

    def get(self, id: str) -> Experience:
        """The record with this id. Raises `NotFoundError`; `UsageError` when several begin so."""
        return self.store.get(resolve(self.store, [id])[0])

    def list(self, *ids: str, where: RecordFilter | None = None, limit: int | None = None) -> Records:
        """The records that are meant (default: all), the newest first; at most `limit`."""
        if limit is not None and expect(int, limit, "limit") < 1:
            raise UsageError(f"limit must be at least 1, not {limit}")
        found = select(self.store, _meant(ids, where) or RecordFilter(all=True))
        return sorted(found, key=lambda one: (one.created_at, one.id), reverse=True)[:limit]

    def approve(self, *ids: str, where: RecordFilter | None = None, dry_run: bool = False) -> ChangeReport:
        """Sign records off: they may be shown to agents everywhere. See `selection.set_trust`.

        Named by a filter, records with a risky step are left out (and listed) unless the filter says `risk`.
        """
        return self._set_trust(ids, where, Trust.APPROVED, dry_run)

    def quarantine(self, *ids: str, where: RecordFilter | None = None, dry_run: bool = False) -> ChangeReport:
        """Take records out of use without deleting them. See `selection.set_trust`."""
        return self._set_trust(ids, where, Trust.QUARANTINED, dry_run)

    def _set_trust(
        self, ids: Sequence[str], where: RecordFilter | None, trust: Trust, dry_run: bool = False
    ) -> ChangeReport:
        done = set_trust(self.store, _meant(ids, where) or RecordFilter(), trust, dry_run=dry_run)
        self._follow()
        return done

    def remove(self, *ids: str, where: RecordFilter | None = None, dry_run: bool = False) -> ChangeReport:
        """Take records out; the same log read again does not bring them back, `undo_remove` does. See `purge`."""
        gone = chosen(self.store, _meant(ids, where) or RecordFilter())
        if not dry_run:
            self.store.remove([one.id for one in gone], reason="removed by request")
            self._forget(gone)
        return ChangeReport(tuple(gone), dry_run=dry_run)

    def undo_remove(self, *ids: str) -> Records:
        """Bring back what `remove` took out, until it is purged. Raises `NotFoundError` when it is not there."""
        back = self.store.restore(resolve_among(self.store.removed(), ids, "no removed record"))
        self.index_if_possible()
        return back

    def purge(
        self, source: str | Path | None = None, *, where: RecordFilter | None = None, dry_run: bool = False
    ) -> ChangeReport:
        """Erase what came from a source (a file, a folder above it, a session), or what a filter says, everywhere:
        records, removed ones too, index, vectors, verdicts, the audit log, and copies that were set aside.

        Raises:
            NotFoundError: no record comes from this source; the nearest known ones are named.
        """
        meant = RecordFilter(source=str(source)) if source is not None else where or RecordFilter()
        if source is not None and where is not None:
            raise UsageError("give a source or a filter, not both (a filter has a source, too)")
        if meant.is_empty:
            raise UsageError("which records? give a source, ids, a filter (application, session, …), or all")
        known = {*self.store.ids(), *self.store.removed()}
        named = resolve_among(sorted(known), meant.ids) if meant.ids else None
        gone = [one for one in self._stored_and_removed(named) if replace(meant, ids=()).admits(one)]
        if not dry_run:
            self.store.purge([one.id for one in gone])
            self._forget(gone)
        if not gone and meant.source:
            near = ", ".join(known_sources(self.store, meant.source))
            raise NotFoundError(f"no record comes from {meant.source!r}" + (f"; nearest: {near}" if near else ""))
        if not gone and not meant.all:
            raise NotFoundError("no record fits", file=self.store.location)
        return ChangeReport(tuple(gone), dry_run=dry_run)

    def _stored_and_removed(self, ids: Ids | None) -> Records:
        return [*self.store.scan(ids), *self.store.scan_removed(ids)]

    def _forget(self, gone: Sequence[Experience]) -> None:
        """Take what is gone out of everything that was made of it."""
        asked = (text for one in gone for text in (one.state.request, one.state.task))
        AuditLog(self.store.cache_folder / AUDIT).forget(asked)
        self.index_if_possible()
        forget()

    def _follow(self) -> None:
        """Bring `experience.yaml` up to date; where the disk takes nothing, the next writer does."""
        try:
            if self._view is not None:
                self._view.follow()
        except StorageError as error:
            _log.warning("%s", error)

    def verify(self, *, repair: bool = False) -> Verification:
        """Read every byte of records, events and index. `repair` first sets aside what cannot be used (into
        `corrupt/`) and makes the index again.
        """
        found = self.store.verify(repair=repair)
        wrong = self.parts.index.check()
        if wrong and repair:
            self.index(rebuild=True)
            wrong = self.parts.index.check()
        problems = [Problem(file="index", code="E_CORRUPT", message=one) for one in wrong]
        state = "damaged" if wrong else "ok"
        return Verification(found.records, [*found.corrupt, *problems], state, found.repaired)

    def export(self, format: str = "json", output: str | Path | None = None) -> ExportReport:
        """Write all records to one file, or into the report's `text`. See `exchange.export`."""
        expect((str, Path), "" if output is None else output, "output")
        return export(self.store, format, output)

    def import_(self, file: str | Path, *, approve: bool = False, restore: bool = False) -> ImportReport:
        """Take in an export of this package, a store folder of its first edition, UFO's `experience.yaml`, or logs;
        quarantined until approved.

        `approve` is your word that all of it may be shown to agents, also what was imported before. `restore` is for
        your own backup: trust and use are taken as written.

        Raises:
            DataError: the file as a whole cannot be read.
        """
        expect((str, Path), file, "file")
        path = Path(file)
        entries = read_export(path)
        if entries is None and restore:
            raise DataError("no export of this package: only that can be restored", file=str(file))
        report = self._read_logs(path) if entries is None else import_entries(self.store, entries, restore=restore)
        if approve:
            report.approved = [one.id for one in self._approve_import(path, report)]
        self.index_if_possible()
        return report

    def _read_logs(self, file: Path) -> ImportReport:
        from ufo_experience.ingest import ingest
        from ufo_experience.summarize import open_summarizer

        engine = open_summarizer("extractive")
        read = ingest([file], self.store, engine, include_failures=True, trust=Trust.QUARANTINED)
        failed = [*read.failed, *((problem.file, problem.message) for problem in read.problems)]
        return ImportReport(added=read.added, skipped=read.skipped, failed=failed, known=read.known)

    def _approve_import(self, file: Path, report: ImportReport) -> Records:
        """Approve what came in now and what came from the same file before."""
        known = {*report.added, *report.known}
        known |= {one.id for one in self.store.scan() if _same_file(one.provenance.source, file)}
        return [*set_trust(self.store, RecordFilter(ids=tuple(sorted(known))), Trust.APPROVED)] if known else []

    def stats(self) -> StoreStats:
        """What is in the store: counts by trust, outcome and application, embedder, threshold, size."""
        told = stats(self.store, self.parts.policy)
        name = self.parts.index.embedder_name()
        indexed = self.parts.index.count() - len(self.parts.index.missing()) if name else 0
        return replace(told, embedder=name, indexed=indexed, threshold=self.parts.threshold(name) if name else None)

    def sources(self) -> Sources:
        """Where the records came from, the newest first."""
        return sources(self.store)

    def export_json(self) -> str:
        """All records with their trust and usage as JSON text."""
        return export_json(self.store)

    def import_json(self, json_str: str, *, restore: bool = False) -> ImportReport:
        """Take in what `export_json` gave, quarantined until somebody approves it; `restore` as in `import_`."""
        expect(str, json_str, "json_str")
        report = import_json(self.store, json_str, restore=restore)
        self.index_if_possible()
        return report


def _meant(ids: Sequence[str], where: RecordFilter | None) -> RecordFilter | None:
    """The filter with these ids; None when neither is given."""
    if where is not None:
        expect(RecordFilter, where, "where")
    for one in ids:
        expect(str, one, "id")
    return replace(where or RecordFilter(), ids=(*ids, *(where.ids if where else ()))) if ids else where


def _same_file(source: str, file: Path) -> bool:
    return Path(source).name == file.name and Path(source).resolve() == file.resolve()


def _on_screen(controls: Iterable[Any], done: Iterable[str], application: str | None) -> OnScreen:
    from ufo_experience.procedure.screen import in_view

    return in_view(controls, done, application)


def _id(one: Hit | Experience | str) -> str:
    if isinstance(one, Hit):
        return one.experience.id
    if isinstance(one, Experience):
        return one.id
    return str(expect(str, one, "id"))
