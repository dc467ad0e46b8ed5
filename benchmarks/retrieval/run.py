"""Measure retrieval with the product's own retriever; only the index is in memory.

task set → records → `Retriever.rank` (the order) and `Retriever.retrieve` (what is served) → figures
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from random import Random
from typing import Any, cast

import numpy as np

from benchmarks.retrieval.beir import Entry, TaskSet
from benchmarks.retrieval.bm25 import PlainBM25
from benchmarks.retrieval.memory_index import MemoryIndex
from benchmarks.retrieval.metrics import ndcg
from ufo_experience.embed.base import Embedder
from ufo_experience.errors import ServiceError
from ufo_experience.ids import content_id
from ufo_experience.index.base import row_of
from ufo_experience.redact import redact_text
from ufo_experience.request import Request
from ufo_experience.retrieve.judge import Judge
from ufo_experience.retrieve.retriever import Query, Retriever
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

DEPTH = 48
_EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)


@dataclass
class Figures:
    """One entry a request: ndcg@10 of the order, of plain BM25 and of the cosine; whether the right one, a twin or,
    for a stranger, anything was served; and the score of the best candidate with whether it is right."""

    order: list[float] = field(default_factory=list)
    bm25: list[float] = field(default_factory=list)
    cosine: list[float] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    first: list[bool] = field(default_factory=list)
    twins: list[bool] = field(default_factory=list)
    strangers: list[bool] = field(default_factory=list)
    best: list[tuple[float, bool]] = field(default_factory=list)
    unjudged: int = 0

    def mean(self, name: str) -> float:
        """The mean of a list; nan without entries."""
        values = getattr(self, name)
        return float(np.mean(values)) if values else float("nan")

    def calibration_error(self) -> float:
        """The mean distance of score and truth over tenths of the score, weighed by how many lie in each."""
        bins: dict[int, list[tuple[float, bool]]] = {}
        for score, right in self.best:
            bins.setdefault(min(int(score * 10), 9), []).append((score, right))
        parts = (abs(sum(s for s, _ in some) - sum(r for _, r in some)) for some in bins.values())
        return sum(parts) / max(len(self.best), 1)


class ErringJudge:
    """Knows which records are relevant, and says the opposite in a share of its verdicts; the same of the same pair."""

    name = "erring"

    def __init__(self, tasks: TaskSet, errors: float) -> None:
        self._errors = errors
        text = {one.id: redact_text(one.text) for one in tasks.corpus}
        self._right = {(redact_text(one.text), text[id]) for one in tasks.related for id in tasks.relevant[one.id]}

    def same(self, task: str, known: Sequence[str]) -> list[bool]:
        """See `Judge`."""
        return [((task, one) in self._right) is not self._errs(f"{task}\n{one}") for one in known]

    def _errs(self, pair: str) -> bool:
        return Random(pair).random() < self._errors


def measure(
    tasks: TaskSet, *, embedder: Embedder | None = None, judge: Judge | None = None, named: bool = False
) -> Figures:
    """Ask every request of a set; `named`: of its application."""
    records = {entry.id: record_of(tasks.name, entry) for entry in tasks.corpus}
    entry_of = {record.id: entry for entry, record in records.items()}
    rows = [row_of(record) for record in records.values()]
    vectors = None
    if embedder is not None:
        matrix = embedder.embed([row.request.safe for row in rows])
        vectors = {row.id: vector for row, vector in zip(rows, matrix, strict=True)}
    index = MemoryIndex(rows, vectors)
    kept = _Records({record.id: record for record in records.values()})
    retriever = Retriever(cast(Any, index), kept.get, embedder=embedder, judge=judge)
    plain = PlainBM25([entry.text for entry in tasks.corpus])
    found = Figures()
    for entry in tasks.queries:
        query = Query(
            entry.text,
            entry.application if named else None,
            exclude_session=entry.session if tasks.leave_one_out else None,
        )
        ranked, _ = retriever.rank(Request.parse(clip(redact_text(entry.text)), query.application), query)
        served = retriever.retrieve(query)
        found.unjudged += "judge" in (served.degraded or "")
        ids = [entry_of[run] for hit in served for run in hit.runs]
        right = tasks.relevant.get(entry.id, {})
        if right:
            own = entry.id if tasks.leave_one_out else ""
            found.order.append(ndcg([entry_of[one.row.id] for one in ranked][:DEPTH], right))
            found.bm25.append(ndcg(_by_bm25(plain, tasks, entry, own), right))
            if embedder is not None:
                near = sorted(ranked, key=lambda one: -(one.cosine or 0.0))
                found.cosine.append(ndcg([entry_of[one.row.id] for one in near], right))
            found.right.append(not right.keys().isdisjoint(ids))
            found.first.append(bool(ids) and ids[0] in right)
        if entry.wrong:
            found.twins.append(not set(entry.wrong).isdisjoint(ids))
        elif not right:
            found.strangers.append(bool(ids))
        best = max(ranked, key=lambda one: one.score, default=None)
        if best is not None:
            found.best.append((best.score, entry_of[best.row.id] in right))
    return found


def _by_bm25(plain: PlainBM25, tasks: TaskSet, entry: Entry, own: str) -> list[str]:
    scores = plain.scores(entry.text)
    order = np.argsort(-scores, kind="stable")
    return [tasks.corpus[place].id for place in order if scores[place] > 0 and tasks.corpus[place].id != own][:DEPTH]


class _Records:
    """Records in memory."""

    def __init__(self, records: Mapping[str, Experience]) -> None:
        self._records = records

    def get(self, id: str) -> Experience:
        """See `Records`."""
        return self._records[id]


def record_of(name: str, entry: Entry) -> Experience:
    """The entry as the record of a verified, successful run."""
    text = clip(redact_text(entry.text))
    return Experience(
        id=content_id(["benchmark", name, entry.id]),
        state=State(
            task=Request.parse(text).masked or text,
            request=text,
            wordings=tuple(clip(redact_text(one), MAX_NAME) for one in entry.wordings),
            application=entry.application and clip(entry.application, MAX_NAME),
        ),
        action=Action(
            steps=(Step(step_number=1, action_type="click", target_control=Control(name="Open", type="Button")),)
        ),
        outcome=Outcome(success=True, judge="program"),
        created_at=_EPOCH,
        trust=Trust.VERIFIED,
        provenance=Provenance(source=entry.id, session=entry.session, origin="api"),
    )


def line(name: str, found: Figures) -> str:
    """The figures of a set as a row of a table."""
    shares = [f"{100 * found.mean(one):.1f}" for one in ("right", "first", "twins", "strangers")]
    gains = [f"{found.mean(one):.3f}" for one in ("order", "bm25", "cosine")]
    counts = f"{len(found.right)} / {len(found.twins)} / {len(found.strangers)}"
    return f"| {' | '.join([name, counts, *gains, *shares, f'{found.calibration_error():.3f}'])} |".replace("nan", "–")


HEADER = (
    "| set | requests / twins / strangers | order | BM25 | cosine | right % | first % | twins % | strangers % | off |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def unanswered(found: Figures) -> ServiceError | None:
    """An error where a judge never answered: there is nothing to tell of it."""
    asked = len(found.best)
    return ServiceError("the judge gave no answer") if found.unjudged and found.unjudged == asked else None
