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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, get_args

from ufo_experience.embed import expect_known
from ufo_experience.embed.base import Embedder
from ufo_experience.errors import UsageError, names_arguments, with_store
from ufo_experience.ids import new_id
from ufo_experience.index.base import Filter, Progress
from ufo_experience.memory.parts import Parts
from ufo_experience.memory.upkeep import Closed, Upkeep, id_of
from ufo_experience.redact import readable, redact_json, redact_text
from ufo_experience.request import Request
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.retrieve.retriever import Query
from ufo_experience.retrieve.structured import ActionAdvice, rank, recommend
from ufo_experience.schema import Experience, Hit, Judge, Problem, State, Trust, Verdict, expect, validate
from ufo_experience.settings import Settings, load_settings
from ufo_experience.store import open_store
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.lessons import is_lesson
from ufo_experience.store.selection import resolve, trust_level
from ufo_experience.telemetry import span

# Readers, summarizers, prompts, services: imported by the method that needs them, a question loads none of it.
if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ufo_experience.executor import Driver, Execution, Executor
    from ufo_experience.ingest import IngestReport
    from ufo_experience.procedure.guide import Guide
    from ufo_experience.prompt.builder import Format, PromptBlock
    from ufo_experience.retrieve.calibration import Calibration
    from ufo_experience.traces.plain import JudgedBy, Run, RunDetails, Steps

Hits = list[Hit]  # named here: inside the class `list` is a method
Ids = list[str]
Advice = list[ActionAdvice]

NOT_INDEXED = "E_NOT_INDEXED"  # the problem of records that could not be embedded
QUERIED = 100  # rows near the task of a state, among which are the runs of the same task
MOST_TASKS = 64  # of one application, whose beginnings are compared
_log = logging.getLogger(__name__)


@names_arguments
class ExperienceMemory(Upkeep):
    """A store, its index and the stages around them. Safe to use from many threads; `with` closes it at the end."""

    def __init__(
        self,
        location: str | Path | ExperienceStore | None = None,
        *,
        embedder: str | Embedder | None = None,
        top_k: int | None = None,
        threshold: float | Literal["auto"] | None = None,
        create: bool = True,
        settings: Settings | None = None,
    ) -> None:
        """Open (or create) the store at `location`: a folder or a URL; or take a store that is open. Raises as
        `open_store`.

        `embedder` is a spec (see `open_embedder`), an object of the `Embedder` protocol, or "auto": the one the index
        was made with; for a new store OpenAI if a key is configured, else hashing. `top_k` and `threshold` are those of
        every `retrieve` that gives none. What is given here stands over `settings`, and those over file and environment
        (see `Settings`).
        """
        spec = embedder if isinstance(embedder, str) else None
        where = str(location) if isinstance(location, (str, Path)) else getattr(location, "location", None)
        base = load_settings(base=settings, db=where, embedder=spec, top_k=top_k, threshold=threshold)
        expect_known(base.embedder)
        if location is None or isinstance(location, (str, Path)):
            location = open_store(base.db, create=create)
        elif where is None:
            raise UsageError(
                f"location is a path, a URL or a store (Settings go into settings=…), not {type(location).__name__}"
            )
        super().__init__(location, base, Parts(location, base, None if isinstance(embedder, str) else embedder))

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
        """The same, in the words of files: `ExperienceMemory.open("my_memory")` is `ExperienceMemory("my_memory")`."""
        return cls(location, embedder=embedder, top_k=top_k, threshold=threshold, create=create, settings=settings)

    def close(self) -> None:
        """Let go of files and connections; what is asked for after it raises `UsageError`. What was stored is safe."""
        if not isinstance(self.store, Closed):
            self.parts.close()
            self.store.close()
            closed: Any = Closed(self.store.location)
            self.store = self.parts = closed

    def __enter__(self) -> ExperienceMemory:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        """How many records are stored."""
        return len(self.store.ids())

    def __iter__(self) -> Iterator[Experience]:
        """The records, the newest first."""
        return iter(self.list())

    def __getitem__(self, id: str) -> Experience:
        return self.get(id)

    def __contains__(self, one: object) -> bool:
        """True when a record, or one whose id begins so, is stored."""
        return any(id.startswith(id_of(one)) for id in self.store.ids())

    def __bool__(self) -> bool:
        return True  # an empty memory is one

    def __repr__(self) -> str:
        held = "closed" if isinstance(self.store, Closed) else f"{len(self)} records"
        return f"<ExperienceMemory {self.store.location!r}: {held}>"

    def ingest(
        self,
        *sources: str | Path | Sequence[str | Path] | Mapping[str, Any] | IO[Any],
        format: str = "auto",
        summarizer: str | None = None,
        include_failures: bool = False,
        trust: Trust | str | None = None,
        force: bool = False,
        wait: float = 0.0,
        progress: Progress | None = None,
        task: str | None = None,
        application: str | None = None,
        success: bool | None = None,
    ) -> IngestReport:
        """Read, redact, summarize and store logs, then bring the index in line; see `ingest.ingest`.

        A source is a file or a folder of them, an open file, or a run as a mapping with `task` and `steps`. For a model
        that words records and does not answer the job waits at most `wait` seconds; then rules word them. `task`,
        `application` and `success` are yours to say for logs that do not.
        """
        from ufo_experience.ingest import ingest
        from ufo_experience.summarize import open_summarizer

        self.parts.expect_embedder()
        level = None if trust is None else trust_level(trust)
        with self.parts.waiting(wait), span("create_memory") as told:
            report = ingest(
                sources,
                self.store,
                open_summarizer(summarizer or self.settings.summarizer, self.parts.service),
                format=format,
                include_failures=include_failures,
                trust=level,
                force=force,
                index=self.parts.index,
                keep_observations=self.settings.keep_observations,
                progress=progress,
                task=task,
                application=application,
                success=success,
            )
            told.set(records=len(report.added))
        if level is not None:  # what was stored before gets the trust and the outcome that are given now
            report.trusted = [one.id for one in self.store.scan(report.known) if one.trust is not level]
            for id in report.trusted:
                self.store.set_status(id, trust=level)
        if success is not None:
            known = [one for one in self.store.scan(report.known) if not one.outcome.is_judged]
            meant = [one for one in known if one.outcome.success in (None, success)]
            report.judged = [self.judge(one.id, success=success).id for one in meant]
        why = self.index_if_possible() if report.added or report.known else None
        if why and why == self.waiting_for_index:
            report.problems.append(Problem(file=self.store.location, code=NOT_INDEXED, message=why))
        if report.failed and not (report.read or report.added or report.known):
            _log.warning("nothing was read; %s: %s", *report.failed[0])
        return report

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
        time, by any of the names that logs use; see `traces.plain`. What is not kept is named in the record's
        notes. Failed runs (`success=False`) are kept as what not to do.

        Args:
            success: None when nobody has judged the run: it is kept and not shown to agents until `judge` or `approve`.
            judge: who says so: "user", "program" (a check, an evaluator; the default), "model", or "agent" (the agent
                itself, which is no judgement).
            trust: your word instead of what the outcome gives (verified when judged, else observed).
            summarizer: who words the record; "openai" asks the service, the default nobody.
            wordings: at most eight other ways to ask for the same, by which it is found as well as by the task.
            details: `session`, `env`, `agent`, `score`, …; see `RunDetails`.

        Raises:
            DataError: a field is wrong; it is named. Or nothing can be learned from the run (`E_EMPTY`).
        """
        from ufo_experience.ingest import unfollowable
        from ufo_experience.traces.plain import judged_run

        run = judged_run(task, steps, success, judge, application=application, **details)
        stored = self._learned(run, summarizer, trust=None if trust is None else trust_level(trust), wordings=wordings)
        if why := unfollowable(stored):
            _log.warning("%s", why)
        return stored

    def _learned(self, run: Run, summarizer: str = "extractive", **options: Any) -> Experience:
        """The record of a run as it is stored; the options are those of `ingest.learn`."""
        from ufo_experience.ingest import Constants, learn
        from ufo_experience.summarize import open_summarizer

        engine = open_summarizer(summarizer, self.parts.service)
        experience = learn(run, engine, key=self.store.key(), constants=Constants(self.parts.index), **options)
        with span("create_memory", records=1):
            self.take_in([experience])
        return self.store.get(experience.id)

    def judge(
        self, id: str, *, success: bool, judge: Judge = "user", score: float | None = None, reason: str | None = None
    ) -> Experience:
        """Say how a run ended that nobody had judged, or that was judged wrongly; returns the record as it is now.

        The record itself is not rewritten: the verdict is kept beside it, like its trust. An observed record becomes
        verified by it; one in quarantine stays there until it is approved. Raises as `get`.
        """
        expect(bool, success, "success")
        if judge not in get_args(Judge):
            raise UsageError(f"judge is one of {', '.join(get_args(Judge))}, not {judge!r}")
        said = {"success": success, "judge": judge, "score": score, "reason": redact_text(reason) if reason else None}
        verdict = validate(Verdict, {**said, "judged_at": datetime.now(timezone.utc)})
        one = self.get(id)
        return self.store.set_status(
            one.id, verdict=verdict, trust=Trust.VERIFIED if one.trust is Trust.OBSERVED else None
        )

    def retrieve(
        self,
        task: str,
        *,
        application: str | None = None,
        env: str | None = None,
        top_k: int | None = None,
        threshold: float | Literal["auto"] | None = None,
        near: int = 0,
        exclude_session: str | None = None,
        only: Collection[str] | None = None,
        controls: Iterable[Any] | None = None,
        done: Iterable[str] = (),
    ) -> Retrieval:
        """The experiences that help with `task`: a sequence of hits, best first; see `Retriever.retrieve`.

        `threshold` None means the setting; "auto" the one calibrated for the embedder in use, else 0.75. `near` asks
        for so many of the best below it, too. `only` are ids: no other record answers. `controls` are those in view (as
        for `Guide.next`), `done` the names of those acted on: among equals the way whose next target is on the screen
        wins.
        """
        for name, given in (("task", task), ("application", application or ""), ("env", env or "")):
            expect(str, given, name)
        least = self.settings.threshold if threshold is None else threshold
        k = self.settings.top_k if top_k is None else top_k
        among = None if only is None else frozenset(resolve(self.store, only))
        screen = None
        if controls is not None:
            from ufo_experience.procedure.screen import in_view

            screen = in_view(controls, done, application)
        query = Query(
            task, application, env, k, None if least == "auto" else least, exclude_session, among, near, screen
        )
        with span("search_memory", top_k=k) as told:
            found = self.parts.retriever.retrieve(query)
            told.set(hits=len(found), degraded=found.degraded is not None)
        return found

    def build_prompt(
        self,
        task: str,
        hits: Sequence[Hit] | None = None,
        *,
        max_tokens: int | None = None,
        format: Format = "text",
        audit: bool = True,
    ) -> PromptBlock:
        """The prompt for `task` with `hits` as few-shot examples (retrieved here when not given).

        Failed runs that came with a `Retrieval` are shown as tried and failed. The audit log notes what was shown,
        unless no agent asked (`audit=False`).
        """
        from ufo_experience.prompt.builder import build_prompt

        found = self.retrieve(task) if hits is None else expect(Iterable, hits, "hits")
        shown = [*found, *(found.negatives if isinstance(found, Retrieval) else ())]
        limit = self.settings.max_tokens if max_tokens is None else max_tokens
        with span("build_prompt", max_tokens=limit) as told:
            block = build_prompt(
                task,
                shown,
                max_tokens=limit,
                format=format,
                runs_of=self._runs_of,
                lessons_of=self.parts.lessons_of,
                beginning=self._beginning(found),
            )
            told.set(procedures=len(block.ids), tokens=block.tokens)
        if audit and self.settings.audit:
            if block.ids:
                self.parts.audit.injection(task, shown, block, found)
            elif isinstance(found, Retrieval) and task.strip():
                self.parts.audit.unanswered(task, found)
        return block

    def _beginning(self, found: Sequence[Hit]) -> str:
        """What several tasks of the application begin with that was asked for, where nothing else is known."""
        if found or not isinstance(found, Retrieval) or found.negatives or not found.application:
            return ""
        from ufo_experience.procedure.offer import beginning_text

        policy = self.parts.policy
        where = Filter(found.application, None, policy.own, policy.imported)
        rows = sorted(self.parts.index.rows(filter=where), key=lambda row: row.created_at)
        newest = {row.task_key: row.id for row in rows if row.success and row.followable}
        runs = [one for one in self.store.scan([*newest.values()][-MOST_TASKS:]) if policy.admits(one)]
        return beginning_text(found.application, runs)

    def guide(
        self, task: str, *, application: str | None = None, hits: Sequence[Hit] | None = None, proven_after: int = 0
    ) -> Guide | None:
        """A guide along the best known way for `task`; None when nothing is known well enough to be followed.

        `hits` is what was retrieved for the task already; `proven_after` how often a way must have helped since it
        last hurt.
        """
        from ufo_experience.procedure.offer import offer, why_none

        found = self.retrieve(task, application=application) if hits is None else hits
        way = offer(task, found, proven_after=proven_after, runs_of=self._runs_of)
        if way is None and not proven_after and (why := why_none(found)):
            _log.warning("%s", with_store(why, self.store.location))
        return way

    def choices(
        self, task: str, *, application: str | None = None, hits: Sequence[Hit] | None = None, limit: int = 3
    ) -> tuple[Guide, ...]:
        """Guides along at most `limit` ways that may be meant, best first, for an agent to choose from.

        For a task for which `guide` finds none: each is possible, not likely, and the task has the values it takes.
        Whoever chooses has to read what it was learned for (`guide.procedure.task`). `hits` is what was retrieved.
        """
        from ufo_experience.procedure.offer import LOOKED_THROUGH, choices

        if hits is None:
            found = self.retrieve(task, application=application, near=LOOKED_THROUGH)
            hits = [*found, *found.near]
        return choices(task, hits, limit=limit, runs_of=self._runs_of) if hits else ()

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
        wait: float = 5.0,
    ) -> Execution:
        """Carry out the known way of a task without a model; see `ufo_experience.executor`.

        Args:
            driver: `PlaywrightDriver`, `SeleniumDriver`, or any object with `controls()` and `do(act)`.
            ask: is asked before a step that sends, pays, deletes or the like; without it the run stops there.
            agent: takes over where the screen disagrees: `agent(controls, stop)` answers with actions.
            check: says whether the task was done: a function of the driver, or a text that must be on the screen or
                in the address of the page. A run that it confirms is credited, and a way that was healed is stored as
                it is now; a way that it refused is not carried out again before it has helped.
            wait: seconds a control, and an effect, may take to be seen.
        """
        options = {"ask": ask, "agent": agent, "check": check, "progress": progress, "wait": wait}
        way, why = self._executor(task, driver, application, options)
        return self._settle_run(way.run()) if way else why

    async def arun(self, task: str, driver: Driver, *, application: str | None = None, **options: Any) -> Execution:
        """`run` on an event loop; the methods of the driver may be coroutines, as those of `UfoDriver`."""
        way, why = await asyncio.to_thread(self._executor, task, driver, application, options)
        return await asyncio.to_thread(self._settle_run, await way.arun()) if way else why

    def _executor(
        self, task: str, driver: Driver, application: str | None, options: Mapping[str, Any]
    ) -> tuple[Executor | None, Execution]:
        """What carries out the known way of a task, None where there is none; and what is told then."""
        from ufo_experience.executor import Execution, Executor

        if not (callable(getattr(driver, "controls", None)) and callable(getattr(driver, "do", None))):
            known = "ufo_experience.executor has SeleniumDriver, PlaywrightDriver and UfoDriver"
            raise UsageError(f"driver is an object with controls() and do(act), not {driver!r:.60}; {known}")
        from ufo_experience.procedure.offer import why_none

        found = self.retrieve(task, application=application)
        guide = self.guide(task, hits=found)
        why = Execution(task, "", (), False, "no_way", found.reason or why_none(found))
        return Executor(guide, driver, **options) if guide else None, why

    def _settle_run(self, done: Execution) -> Execution:
        """Credit a way that a check has judged; one healed is stored anew. The old one goes, or one that hurt twice."""
        from ufo_experience.executor import steps_done
        from ufo_experience.traces.plain import judged_run

        if done.checked is None and not done.heal_failed:
            return done
        self.report([done.procedure], success=bool(done.checked))
        old = self.store.get(done.procedure)
        healed = bool(done.checked and done.healed)
        if healed or (done.heal_failed and old.usage.hurt > 1):
            self.store.set_status(old.id, trust=Trust.QUARANTINED)
        if not healed:
            return done
        run = judged_run(done.task, steps_done(done), True, "program", application=old.state.application)
        return replace(done, learned=self._learned(run, supersedes=old.id).id)

    def report(
        self, what: PromptBlock | Hit | str | Iterable[Hit | str], *, success: bool, session: str | None = None
    ) -> Ids:
        """Credit (or blame) records with the outcome of the run they were injected into; returns the ids updated.

        A block stands for what it shows, hits for all of them. A `session` that was reported before changes nothing.
        """
        from ufo_experience.prompt.builder import PromptBlock

        expect(bool, success, "success")
        if not isinstance(what, (PromptBlock, Iterable)):
            raise UsageError(f"what is reported is a block, hits or ids, not {what!r:.60}")
        if isinstance(what, PromptBlock):
            named = [*what.ids, *what.lessons]
        else:
            named = [id_of(one) for one in ([what] if isinstance(what, (str, Hit)) else what)]
        credited = dict.fromkeys(resolve(self.store, [one for one in named if not is_lesson(one)]))
        done = [one for one in credited if self.store.update_usage(one, success, session=session or "")]
        if done:
            self.parts.lessons.credit({*filter(is_lesson, named)}, success)
        return done

    def calibrate(self, labels: str | Path, *, precision: float = 0.95, apply: bool = False) -> Calibration:
        """Find the threshold for the embedder in use from a file of labelled pairs.

        With `apply` it is kept in the index until another calibration replaces it; see `calibration.calibrate`.
        """
        from ufo_experience.retrieve.calibration import calibrate, keep

        self.index()
        found = calibrate(self.parts.retriever, Path(labels), precision=precision)
        if apply:
            keep(self.parts.index, found)
            del self.parts.retriever
        return found

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
        """Store one state/action/outcome triple; returns its id. `state.task` and `outcome.success` are required, and a
        `DataError` names the field.
        """
        from ufo_experience.traces.plain import schema_steps

        for name, part in (("state", state), ("action", action), ("outcome", outcome)):
            expect(Mapping, part, name)
        if "steps" in action:
            action = {**action, "steps": schema_steps(action["steps"])}
        parts = {"state": state, "action": action, "outcome": outcome}
        record = {name: redact_json(part, readable) for name, part in parts.items()}
        known = {"salience": salience, "episode_id": episode_id, "trust": trust_level(trust)}
        made = {"id": new_id(), "created_at": datetime.now(timezone.utc)}
        experience = validate(Experience, record | known | made)
        self.take_in([experience])
        return experience.id

    def query(
        self,
        state: Mapping[str, Any],
        k: int = 10,
        min_similarity: float = 0.0,
        filters: Mapping[str, Any] | None = None,
    ) -> Hits:
        """Past records of the same task, ranked by weighted overlap, outcome and recency; see `structured.rank`."""
        if isinstance(state, str):
            raise UsageError(f'state is a dict of its fields, {{"task": {state!r:.60}}}')
        expect(Mapping, state, "state")
        expect(Mapping, {} if filters is None else filters, "filters")
        asked = validate(State, dict(state))
        near = self.parts.index.candidates(Request.parse(asked.task, asked.application), limit=QUERIED)
        keys = {one.row.task_key for one in near}
        ids = [row.id for key in sorted(keys) for row in self.parts.index.rows(task_key=key)]
        return rank(self.store.scan(ids), asked, k=k, min_similarity=min_similarity, filters=filters)

    def recommend(self, state: Mapping[str, Any], k_actions: int = 5, k_records: int = 25) -> Advice:
        """What tends to work in this state, by action; advice, never a decision. See `structured.recommend`. Where no
        run of this very task is known, it is drawn from those of the task that `retrieve` finds nearest.
        """
        hits = self.query(state, k=k_records)
        near = [] if hits else self.retrieve(state["task"], application=state.get("application"), top_k=1)
        hits = hits or [one for hit in near for one in self.query({**state, "task": hit.task}, k=k_records)]
        return recommend([hit.experience for hit in hits], k_actions=k_actions)
