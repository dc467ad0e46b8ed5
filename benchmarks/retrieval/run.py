"""Measure retrieval with the product itself: its store, its index, its retriever; no formula is repeated here.

    task set → records in a temporary store → index → `Retriever.rank` (the order) and `Retriever.retrieve` (what is
    served) → figures

Per embedder three rows: plain BM25, the embedder alone, the product. Every entry of a set is a session of its own, so
that leave-one-out is the product's own exclusion of a session.
"""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from ufo_experience.text.frames import readable_intent
from ufo_experience.text.slots import mask_slots

from benchmarks.retrieval.beir import Entry, TaskSet
from benchmarks.retrieval.bm25 import PlainBM25
from benchmarks.retrieval.embedded_text import rank_by_view
from benchmarks.retrieval.metrics import Estimate, measure
from benchmarks.retrieval.reliability import KindServed, Reliability, by_kind, reliability, share
from benchmarks.retrieval.simulated import KINDS, SimulatedEmbedder, SimulatedJudge
from ufo_experience.embed import open_embedder
from ufo_experience.embed.base import Embedder
from ufo_experience.errors import ServiceError, UsageError
from ufo_experience.ids import content_id
from ufo_experience.memory import ExperienceMemory
from ufo_experience.redact import redact_text
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.retrieve.judge import Judge, open_judge
from ufo_experience.retrieve.retriever import Query, Ranking, Retriever
from ufo_experience.schema import (
    MAX_NAME,
    Action,
    Control,
    Experience,
    Outcome,
    Provenance,
    State,
    Step,
    Trust,
    clip,
)
from ufo_experience.service import Access, Service, in_words
from ufo_experience.settings import Settings
from ufo_experience.wiring import PROVIDERS

DEPTH = 100  # answers of a ranking that are looked at
_EPOCH = datetime(2025, 1, 1, tzinfo=timezone.utc)
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Served:
    """What came through the threshold. Shares are None when there are no queries of the kind.

    `right`: related queries that were served a relevant record. `answered`: unrelated ones that were served anything.
    Abstention: of the queries that were served nothing, the share that is unrelated (precision), and of the unrelated
    ones the share that was served nothing (recall).
    """

    threshold: float
    related: int
    unrelated: int
    right: float | None
    answered: float | None
    abstention_precision: float | None
    abstention_recall: float | None


@dataclass(frozen=True)
class Row:
    """One method on one set; of the product also what was served, in all and by kind of query, what its scores stood
    for, how often the embedder and the judge were asked, and how often that gave no answer, and (last) why."""

    method: str
    embedder: str | None
    figures: dict[str, Estimate]
    served: Served | None = None
    kinds: tuple[KindServed, ...] = ()
    reliability: Reliability | None = None
    requests: int = 0
    judged: int = 0
    unjudged: int = 0
    fault: str = ""


@dataclass(frozen=True)
class Report:
    """All rows of one run."""

    set: str
    corpus: int
    related: int
    unrelated: int
    leave_one_out: bool
    rows: tuple[Row, ...]
    seconds: float
    machine: str

    @property
    def product(self) -> Row:
        """The row of the product (with the embedder that was named first)."""
        return next(row for row in self.rows if row.method == "product")


def run(
    task_set: TaskSet,
    embedders: Sequence[str] = ("hashing",),
    *,
    k: int = 3,
    judge: str | None = None,
    views: bool = False,
    allow_http: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Measure a set with every embedder: specs as for `open_embedder`, `simulated:KIND:SPEC` for one seen through one
    of `simulated.KINDS`, `simulated:all:SPEC` for words alone, the embedder itself and all kinds.

    `views` adds a row for each view of the text that could be embedded. `judge` puts one behind the product:
    `openai:MODEL`, or a number from 0 to 1 for one that knows the answers and tells the truth in this share of them.
    `allow_http` as in `Access`.

    Raises:
        UsageError, MissingExtraError, ServiceError: an embedder cannot be made, or cannot answer.
        RefusedError: the address of a service is refused.
    """
    started = time.perf_counter()
    rows = [Row("BM25", None, measure(_bm25(task_set), task_set.relevant))]
    specs = [one for spec in embedders for one in _expanded(spec)]
    done, total = 0, len(task_set.queries) * len(specs)
    for spec in specs:
        with tempfile.TemporaryDirectory(prefix="ufo-experience-bench-") as folder:
            bench = _Bench(task_set, _open(spec, allow_http), Path(folder), judge, allow_http)
            rows += bench.views() if views else []
            rows += bench.rows(k, lambda step, done=done: progress and progress(done + step, total))  # type: ignore[misc]
            done += len(task_set.queries)
    return Report(
        set=task_set.name,
        corpus=len(task_set.corpus),
        related=len(task_set.related),
        unrelated=len(task_set.unrelated),
        leave_one_out=task_set.leave_one_out,
        rows=tuple(rows),
        seconds=round(time.perf_counter() - started, 2),
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
    )


def _expanded(spec: str) -> list[str]:
    if not spec.startswith("simulated:all:"):
        return [spec]
    behind = spec.removeprefix("simulated:all:")
    return ["hashing", behind, *(f"simulated:{kind}:{behind}" for kind in KINDS)]


def _open(spec: str, allow_http: bool) -> Embedder:
    if spec.startswith("simulated:"):
        _, kind, behind = [*spec.split(":", 2), "", ""][:3]
        return SimulatedEmbedder(_open(behind, allow_http), kind)
    provider = PROVIDERS.get(spec.partition(":")[0])
    return open_embedder(spec, service=Service(Access.from_env(provider, allow_http=allow_http)) if provider else None)


def as_data(report: Report) -> dict[str, Any]:
    """The report as one object: the product's figures first, then every row."""
    product = report.product
    rows = [
        {
            "method": row.method,
            "embedder": row.embedder,
            **{name: round(one.mean, 4) for name, one in row.figures.items()},
            "ci95": {name: [round(one.low, 4), round(one.high, 4)] for name, one in row.figures.items()},
            "served": asdict(row.served) if row.served else None,
            "kinds": [asdict(one) for one in row.kinds],
            "reliability": asdict(row.reliability) if row.reliability else None,
            "requests": row.requests,
            "judged": row.judged,
            "unjudged": row.unjudged,
            "fault": row.fault,
        }
        for row in report.rows
    ]
    head = {name: round(one.mean, 4) for name, one in product.figures.items()}
    served = product.served
    abstention = {"precision": served.abstention_precision, "recall": served.abstention_recall} if served else None
    about = {key: value for key, value in asdict(report).items() if key != "rows"}
    return {**about, "embedder": product.embedder, **head, "abstention": abstention, "rows": rows}


class _Bench:
    """A set in a store, indexed with one embedder."""

    def __init__(
        self, task_set: TaskSet, embedder: Embedder, folder: Path, judge: str | None, allow_http: bool = False
    ) -> None:
        self._set, self._embedder = task_set, embedder
        settings = Settings(db=str(folder), allow_http_service=allow_http)
        self._memory = ExperienceMemory.open(settings=settings, embedder=embedder)
        service = self._memory.wiring.service()
        self._judge = None if judge is None else _CountedJudge(_open_judge(judge, task_set, service))
        records = [_record(task_set.name, entry) for entry in task_set.corpus]
        self._entry = {record.id: entry.id for record, entry in zip(records, task_set.corpus, strict=True)}
        self._sessions = {entry.id: entry.session for entry in task_set.corpus} if task_set.leave_one_out else {}
        self._memory.store.add(records)
        self._requests = self._memory.index().requests
        self._snapshot = self._memory.live.snapshot()
        self._catalog = self._snapshot.catalog

    def rows(self, k: int, step: Callable[[int], object]) -> list[Row]:
        """The embedder alone, and the product."""
        before = self._embedder.spending.requests
        wired = self._memory.wiring.retriever()
        product = Retriever(wired.finder, self._memory.store, self._embedder, wired.fusion, self._judge)
        by_vector: dict[str, list[str]] = {}
        by_product: dict[str, list[str]] = {}
        served: dict[str, Retrieval] = {}
        best: dict[str, tuple[str, float]] = {}
        for number, entry in enumerate(self._set.queries, 1):
            text = clip(redact_text(entry.text))
            query = Query(entry.text, k=k, exclude_session=self._sessions.get(entry.id))
            asked = self._embedder.spending.requests
            by_vector[entry.id] = self._nearest(text, self._sessions.get(entry.id))
            before += self._embedder.spending.requests - asked
            ranking = product.rank(text, query)
            by_product[entry.id] = self._names(ranking)
            best[entry.id] = product.best(ranking)
            served[entry.id] = product.serve(text, query, ranking)
            step(number)
        asked, failed, fault = self._judge.counts() if self._judge else (0, 0, "")
        relevant, name = self._set.relevant, self._embedder.name
        answers = {query: [self._entry[hit.experience.id] for hit in found] for query, found in served.items()}
        pairs = [(score, self._entry[one] in relevant.get(query, ())) for query, (one, score) in best.items() if one]
        return [
            Row("embedder alone", name, measure(by_vector, relevant)),
            Row(
                "product",
                name,
                measure(by_product, relevant),
                self._serve(served),
                by_kind(self._set, answers),
                reliability(pairs),
                self._requests + self._embedder.spending.requests - before,
                asked,
                failed,
                fault,
            ),
        ]

    def views(self) -> list[Row]:
        """The embedder alone, on each view of the text."""
        found = rank_by_view(self._set, self._embedder)
        return [
            Row(f"{view} text", self._embedder.name, measure(ranking, self._set.relevant))
            for view, ranking in found.items()
        ]

    def _nearest(self, text: str, session: str | None) -> list[str]:
        """The entries whose vectors are nearest, those of a session left out."""
        vector = self._embedder.embed([readable_intent(text)], "query")[0]
        ids = self._catalog.ids()
        cosine = self._snapshot.index.similarity(vector, ids)
        names = (self._entry[ids[place]] for place in np.argsort(-cosine, kind="stable"))
        return list(islice((name for name in names if session is None or self._sessions.get(name) != session), DEPTH))

    def _names(self, ranking: Ranking) -> list[str]:
        rows = ranking.candidates.rows[:DEPTH]
        return [self._entry[identifier] for identifier in self._catalog.ids(rows)]

    def _serve(self, served: Mapping[str, Retrieval]) -> Served:
        answers = {query: [self._entry[hit.experience.id] for hit in found] for query, found in served.items()}
        relevant = self._set.relevant
        right = [any(one in relevant[query.id] for one in answers[query.id]) for query in self._set.related]
        answered = [bool(answers[query.id]) for query in self._set.unrelated]
        silent = [query for query, ids in answers.items() if not ids]
        return Served(
            threshold=round(float(np.median([found.threshold for found in served.values()])), 4),
            related=len(right),
            unrelated=len(answered),
            right=share(right),
            answered=share(answered),
            abstention_precision=share([query not in relevant for query in silent]) if answered else None,
            abstention_recall=share([not one for one in answered]),
        )


class _CountedJudge:
    """A judge, how often it was asked, and how often it gave no answer."""

    def __init__(self, judge: Judge) -> None:
        self._judge, self._asked, self._failed = judge, 0, 0
        self._fault: ServiceError | None = None

    def same(self, task: str, known: Sequence[str]) -> list[bool]:
        """Of each known task whether it is the same procedure."""
        self._asked += 1
        try:
            return self._judge.same(task, known)
        except ServiceError as error:
            self._failed, self._fault = self._failed + 1, error
            raise

    def counts(self) -> tuple[int, int, str]:
        """How often it was asked, how often that gave no answer, and why (the last time).

        Raises:
            ServiceError: it never gave one: there is nothing to measure.
        """
        if self._fault is not None and self._failed == self._asked:
            raise self._fault
        return self._asked, self._failed, in_words(self._fault.code) if self._fault else ""


def _open_judge(spec: str, task_set: TaskSet, service: Service) -> Judge:
    """The judge of a spec: `openai:MODEL`, or the share in which a simulated one tells the truth."""
    try:
        accuracy = float(spec)
    except ValueError:
        judge = None if spec == "none" else open_judge(spec, service)
    else:
        judge = SimulatedJudge(task_set, accuracy) if 0 <= accuracy <= 1 else None
    if judge is None:
        raise UsageError(f"a judge is openai:MODEL or a number from 0 to 1, not {spec!r}")
    return judge


def _bm25(task_set: TaskSet) -> dict[str, list[str]]:
    index = PlainBM25([entry.text for entry in task_set.corpus])
    ids = [entry.id for entry in task_set.corpus]
    sessions = {entry.id: entry.session for entry in task_set.corpus} if task_set.leave_one_out else {}
    rankings = {}
    for query in task_set.queries:
        scores = index.scores(query.text)
        own = sessions.get(query.id)
        order = [row for row in np.argsort(-scores, kind="stable") if scores[row] > 0]
        rankings[query.id] = [ids[row] for row in order if own is None or task_set.corpus[row].session != own][:DEPTH]
    return rankings


def _record(set_name: str, entry: Entry) -> Experience:
    """The entry as the record of a verified, successful run."""
    text = clip(redact_text(entry.text))
    return Experience(
        id=content_id(["benchmark", set_name, entry.id]),
        state=State(
            task=mask_slots(text) or text,
            request=text,
            wordings=tuple(clip(redact_text(one), MAX_NAME) for one in entry.wordings),
            application=entry.application and clip(entry.application, MAX_NAME),
        ),
        action=Action(steps=tuple(_step(number, step) for number, step in enumerate(entry.steps, 1))),
        outcome=Outcome(success=True, evaluated_by="evaluator"),
        created_at=_EPOCH,
        trust=Trust.VERIFIED,
        provenance=Provenance(source=entry.id, session=entry.session, origin="api"),
    )


def _step(number: int, step: Mapping[str, Any]) -> Step:
    parameters = {name: redact_text(str(step[name])) for name in ("text", "keys") if step.get(name)}
    control = Control(name=clip(redact_text(str(step.get("control") or "")), MAX_NAME), type=step.get("control_type"))
    return Step(
        step_number=number,
        action_type=str(step.get("action") or "click"),
        target_control=control,
        parameters=parameters,
    )
