"""Stage 7, RETRIEVE: a task to the procedures that help with it, or to none, with the reason.

    candidates (filters first) → score → judge, where there is one → opposites out → one per procedure and session
    → the k best at or above the threshold; failed runs apart

The score in [0, 1] says how probable it is that a record helps. Without vectors the structured ranker answers, with
the score as the overlap of the task; with vectors more candidates are found, and the score ranks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Protocol

from ufo_experience.embed.base import Embedder
from ufo_experience.errors import DataError, ServiceError, UsageError
from ufo_experience.index.base import MISMATCH, Candidate, ExperienceIndex, Filter, Row, Vector
from ufo_experience.redact import redact_text
from ufo_experience.request import Request
from ufo_experience.retrieve.answer import Considered, Retrieval, Why, Withheld
from ufo_experience.retrieve.credit import is_harmful, usage_factor, usefulness
from ufo_experience.retrieve.features import words_of
from ufo_experience.retrieve.judge import JUDGED, Judge, after_yes, verdicts
from ufo_experience.retrieve.on_screen import OnScreen, among_equals
from ufo_experience.retrieve.opposites import conflict
from ufo_experience.retrieve.score import NAMES, THRESHOLD, scored
from ufo_experience.retrieve.structured import FieldWeights, outcome_quality, rank_score, recency, similarity
from ufo_experience.retrieve.tasks import SAME_TASK, is_same_but_for_values, other_words, task_key
from ufo_experience.retrieve.wordings import lifted
from ufo_experience.schema import Experience, Hit, State, Trust
from ufo_experience.trust.policy import HIDE_AFTER, TrustPolicy

MAX_K = 50
MAX_QUERY = 8_000  # characters; a longer task is cut, and the answer says so
OPPOSITE_FROM = 0.2  # score from which on the opposite of a task is told of
EQUAL = 0.05  # procedures within this score are equals: which fits the screen decides
MAX_EQUALS = 20  # runs of a procedure that are read to see which of them goes on from the screen
MAX_RUNS = 50  # ids of runs that a hit names
MOST_READ = 500  # rows; in a store of so many the order puts all of them before a judge
_MANY = 8  # different requests that one record was served to, from which on the answer warns
_REMEMBERED = 1_024  # records whose requests are remembered for that


@dataclass(frozen=True)
class Query:
    """What is asked. `threshold` None means the calibrated one, else 0.75; `only` are the ids that may answer.

    `near` asks for that many of the best below the threshold, too. Among equals the way goes first that can be gone on
    from what is `on_screen`.
    """

    task: str
    application: str | None = None
    env: str | None = None
    k: int = 3
    threshold: float | None = None
    exclude_session: str | None = None
    only: frozenset[str] | None = None
    near: int = 0
    on_screen: OnScreen | None = None

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("near", 0)):
            count = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, int) or not least <= count <= MAX_K:
                raise UsageError(
                    f"{name.replace('k', 'top_k')} must be a whole number from {least} to {MAX_K}, not {count!r}"
                )
        number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if self.threshold is not None and not (number and 0.0 <= self.threshold <= 1.0):
            raise UsageError(f"the threshold must lie in [0, 1], not {self.threshold!r}")


@dataclass(frozen=True)
class Found:
    """A candidate with all that was worked out for it; `raw` is the score before what became of the record counts."""

    asked: Request
    row: Row
    score: float
    raw: float
    order: float
    features: tuple[float, ...]
    cosine: float | None = None

    @cached_property
    def opposite(self) -> str | None:
        """Why it contradicts the request, None where it does not."""
        return conflict(self.asked, self.row.request)


class Records(Protocol):
    """Where records are read: a store, or what keeps those of one."""

    def get(self, id: str) -> Experience:
        """The live record with this id. Raises `DataError` where it cannot be read."""
        ...


class Retriever:
    """Answers queries over one index; safe to use from many threads."""

    def __init__(
        self,
        index: ExperienceIndex,
        records: Records,
        *,
        embedder: Embedder | None = None,
        judge: Judge | None = None,
        policy: TrustPolicy | None = None,
        threshold: float | None = None,
    ) -> None:
        """`embedder` is None where words answer alone (hashed words tell nothing more), `threshold` the calibrated
        one."""
        self.index, self.records, self.embedder, self.judge = index, records, embedder, judge
        self.policy = policy or TrustPolicy()
        self._threshold = threshold
        self._served: dict[str, set[str]] = {}

    def retrieve(self, query: Query, *, now: datetime | None = None) -> Retrieval:
        """The top-k procedures at or above the threshold.

        An empty answer is an answer: nothing useful is known. When embedder or judge fail, words and score answer, and
        `degraded` says why.
        """
        text = redact_text(query.task)[:MAX_QUERY]
        notes = [f"the task was cut to {MAX_QUERY} characters"] if len(query.task) > MAX_QUERY else []
        if not any(letter.isalnum() for letter in text):
            return Retrieval(reason="the task holds no words", notes=tuple(notes), embedder=self.embedder_name)
        request = Request.parse(text, query.application)
        return _Answer(self, request, query, notes, now).retrieval()

    @property
    def embedder_name(self) -> str:
        """What made the vectors."""
        return "hashing" if self.embedder is None else self.embedder.name

    def rank(self, request: Request, query: Query, *, trusted: bool = True) -> tuple[list[Found], str | None]:
        """Everything near a request that the filters admit, best first; and why words alone answered, where that was
        not meant. Trust is one of the filters: a flood of what nobody vouched for hides nothing."""
        vector, degraded = self._embedded(request)
        filter = Filter(query.application, query.env, only=query.only, exclude_session=query.exclude_session)
        if trusted:
            filter = replace(filter, min_trust=self.policy.own, min_trust_imported=self.policy.imported)
        try:
            return self._found(request, vector, filter), degraded
        except DataError as error:
            if vector is None or error.code != MISMATCH:
                raise
            return self._found(request, None, filter), str(error)

    def _embedded(self, request: Request) -> tuple[Vector | None, str | None]:
        if self.embedder is None:
            return None, None
        try:
            return self.embedder.embed([request.safe], "query")[0], None
        except ServiceError as error:
            return None, f"embeddings unavailable: {error}"

    def _found(self, request: Request, vector: Vector | None, filter: Filter) -> list[Found]:
        """The candidates of a filter, best first. A judge hears of tasks that share no word with the request, too."""
        candidates = self.index.candidates(request, vector=vector, filter=filter)
        if self.judge is not None and self.index.count(filter) <= MOST_READ:
            met = {one.row.id for one in candidates}
            candidates += [Candidate(row) for row in self.index.rows(filter=filter) if row.id not in met]
        if not candidates:
            return []
        rarity = self.index.rarity(words_of([request, *(one.row.request for one in candidates)]) | {""})
        ranked = scored(request, candidates, rarity, filter.application is not None)
        rows = zip(ranked.candidates, ranked.score.tolist(), ranked.order.tolist(), ranked.table.tolist(), strict=True)
        return [self._told(request, *one) for one in rows]

    def _told(self, request: Request, one: Candidate, score: float, order: float, features: list[float]) -> Found:
        raw = lifted(request, one.row, score) if one.row.wordings else score
        factor = usage_factor(one.row)
        is_same = task_key(Request.parse(request.text, one.row.application)) == one.row.task_key
        if is_same and conflict(request, one.row.request) is None:
            raw = max(raw, SAME_TASK)
        return Found(request, one.row, raw * factor, raw, order, tuple(features), one.cosine)

    def threshold(self, query: Query) -> float:
        """The least score that is served."""
        own = THRESHOLD if self._threshold is None else self._threshold
        return own if query.threshold is None else query.threshold

    def is_trusted(self, row: Row) -> bool:
        """True for a row that may be shown, as far as the index tells; the record is looked at once more."""
        least = self.policy.imported if row.imported else self.policy.own
        return row.trust.rank >= least.rank

    def note_served(self, id: str, request: Request) -> str | None:
        """A warning about a record that many different requests were answered with."""
        asked = self._served.setdefault(id, set())
        asked.add(request.masked)
        if len(self._served) > _REMEMBERED:
            self._served.pop(next(iter(self._served)))
        told = f"{id[:8]} was served to {len(asked)} different requests: see whether it is the way of all of them"
        return told if len(asked) >= _MANY else None


class _Answer:
    """One question on its way from candidates to what is served."""

    def __init__(
        self, retriever: Retriever, request: Request, query: Query, notes: list[str], now: datetime | None
    ) -> None:
        self._by, self._request, self._query, self._notes, self._now = retriever, request, query, notes, now
        self._threshold = retriever.threshold(query)
        found, self._degraded = retriever.rank(request, query)
        self._withheld: list[Withheld] = []
        self._read: dict[str, Experience] = {}
        self._found = [self._held(self._same_task(one) if place < JUDGED else one) for place, one in enumerate(found)]

    def retrieval(self) -> Retrieval:
        """What is served, what is withheld and why."""
        request, query = self._request, self._query
        open_ = [one for one in self._found if one.row.followable and self._admits(one.row)]
        helpful = [one for one in open_ if one.row.success is not False]
        chosen = self._judged(helpful)
        if chosen is None:
            chosen = [one for one in helpful if one.score >= self._threshold and one.opposite is None]
        failed = [
            one for one in open_ if one.row.success is False and one.score >= self._threshold and one.opposite is None
        ]
        hits = self._hits(chosen)
        negatives = self._hits(failed)
        served = {run for hit in hits for run in hit.runs}
        self._withhold(self._found, served)
        if not hits:
            self._withhold(self._by.rank(request, query, trusted=False)[0], served)
        if not hits and not self._withheld and self._query.application is not None:
            self._withhold_elsewhere()
        below = [] if hits and not query.near else [one for one in helpful if one.score < self._threshold]
        below = [one for one in below if one.opposite is None]
        for hit in hits:
            self._notes += filter(None, [self._by.note_served(hit.id, self._request)])
        return Retrieval(
            hits=hits,
            negatives=negatives,
            threshold=self._threshold,
            embedder=self._by.embedder_name,
            degraded=self._degraded,
            withheld=tuple(self._withheld),
            reason=None if hits else self._reason(below, negatives),
            notes=tuple(self._notes),
            near=self._hits(below, self._query.near) if self._query.near else (),
            application=self._query.application,
        )

    def _same_task(self, one: Found) -> Found:
        """A request that differs from a stored one only in words that its run typed or chose is the same task."""
        if one.raw >= self._threshold or one.opposite is not None:
            return one
        asked, stored = Request.parse(self._request.text, one.row.application), one.row.request
        record = self._record(one) if other_words(asked, stored) else None
        if record is None or not is_same_but_for_values(asked, stored, record):
            return one
        return replace(one, score=SAME_TASK * usage_factor(one.row), raw=SAME_TASK)

    def _held(self, one: Found) -> Found:
        """One report of harm lowers the rank of what is served, and no more: it takes two other sessions to hide it."""
        reported = one.raw >= self._threshold > one.score and 0 < one.row.hurt < HIDE_AFTER
        return replace(one, score=self._threshold) if reported else one

    def _admits(self, row: Row) -> bool:
        return self._by.is_trusted(row) and not is_harmful(row)

    def _judged(self, found: Sequence[Found]) -> list[Found] | None:
        """What the judge says yes to; None where there is no judge, or it cannot be asked."""
        judge = self._by.judge
        asked = _one_each(found, _best_of_equals)[:JUDGED]
        if judge is None or not asked:
            return None
        known = [(one.row.id, redact_text(one.row.task)) for one in asked]
        try:
            same = verdicts(judge, self._by.index, self._request.text, known)
        except ServiceError as error:
            self._degraded = f"the judge could not be asked: {error}"
            return None
        for one, verdict in zip(asked, same, strict=True):
            if not verdict and one.score >= self._threshold:
                self._withhold_one(one.row, one.score, "rejected")
        passed = [one for one, verdict in zip(asked, same, strict=True) if verdict]
        return [replace(one, score=after_yes(one.score, self._threshold)) for one in passed]

    # ---- hits ----

    def _hits(self, found: Iterable[Found], count: int | None = None) -> tuple[Hit, ...]:
        """The k best procedures with their records; what cannot be read or is not trusted any more is left out."""
        count = self._query.k if count is None else count
        wanted = MAX_K if self._query.on_screen else count
        hits: list[Hit] = []
        for one in _one_each(self._ranked(found), self._best_here if self._query.on_screen else _best_of_equals):
            experience = self._record(one) if len(hits) < wanted else None
            if experience is not None:
                hits.append(self._hit(one, experience))
        if self._query.on_screen is not None:
            hits = [*among_equals(hits, self._query.on_screen, EQUAL)]
        return tuple(hits[:count])

    def _best_here(self, group: Sequence[Found]) -> Found:
        """Of runs of one procedure whose score is near the best the one that can be gone on from this screen."""
        screen = self._query.on_screen
        runs = sorted(group, key=lambda one: (one.score < group[0].score - EQUAL, one.row.id))[:MAX_EQUALS]
        best = _best_of_equals(runs)
        fit = {one.row.id: screen.fit(record) if screen and (record := self._record(one)) else 0.0 for one in runs}
        return max(runs, key=lambda one: (fit[one.row.id], one is best))

    def _ranked(self, found: Iterable[Found]) -> list[Found]:
        """Best first: by score with vectors, by the structured ranker without."""
        if self._by.embedder is not None:
            return sorted(found, key=lambda one: (-one.score, -one.order, one.row.id))
        return sorted(found, key=lambda one: (-self._structured(one)["rank_score"], -one.order, one.row.id))

    def _structured(self, one: Found) -> dict[str, float]:
        """The rank by state, outcome and recency."""
        quality = 0.5 if one.row.success is None else float(one.row.success)
        asked, stored = State(task="x", env=self._query.env), State(task="x", env=one.row.env)
        alike = similarity(asked, stored, FieldWeights(), one.score)
        fresh = recency(one.row.created_at, self._now)
        return {
            "similarity": alike,
            "outcome_quality": quality,
            "recency": fresh,
            "rank_score": rank_score(alike, quality, fresh),
        }

    def _record(self, one: Found) -> Experience | None:
        """The record, where it can be read and may be shown."""
        id = one.row.id
        if id not in self._read:
            try:
                self._read[id] = self._by.records.get(id)
            except DataError as error:
                self._notes.append(f"left out: {error}")
                return None
        if self._by.policy.admits(self._read[id]):
            return self._read[id]
        self._withhold_one(one.row, one.score, "unproven")
        return None

    def _hit(self, one: Found, experience: Experience) -> Hit:
        rows = self._by.index.rows(task_key=one.row.task_key)
        same = [row for row in rows if row.success == one.row.success and self._admits(row) and row.followable]
        runs = sorted(same, key=lambda row: (row.id != one.row.id, -row.created_at.timestamp(), row.id))
        more = {"order": one.order, "usefulness": usefulness(one.row), "before_use": one.raw, **self._structured(one)}
        more |= {} if one.cosine is None else {"cosine": one.cosine}
        more["outcome_quality"] = outcome_quality(experience.outcome)
        explained = {**dict(zip(NAMES, one.features, strict=True)), **more}
        return Hit(
            experience=experience,
            score=round(min(one.score, 1.0), 6),
            ranked_by="structured" if self._by.embedder is None else "fused",
            explanation=explained,
            runs=tuple(row.id for row in runs[:MAX_RUNS]),
        )

    # ---- what is not served, and why ----

    def _withhold(self, found: Sequence[Found], served: set[str]) -> None:
        """Note what would be served if it were trusted, did not hurt, or were no opposite."""
        for one in found:
            row = one.row
            if row.id in served or row.success is False or not row.followable:
                continue
            if one.score < min(self._threshold, OPPOSITE_FROM) and one.raw < self._threshold:
                continue
            if one.opposite is not None:
                if one.score >= min(self._threshold, OPPOSITE_FROM):
                    self._withhold_one(row, one.score, "contradicts")
            elif not self._by.is_trusted(row):
                if one.score >= self._threshold:
                    quarantined = row.trust is Trust.QUARANTINED or row.imported
                    self._withhold_one(row, one.score, "quarantined" if quarantined else "unproven")
            elif one.raw >= self._threshold and (is_harmful(row) or one.score < self._threshold):
                self._withhold_one(row, one.raw, "harmful")
        self._withheld.sort(key=lambda one: (-one.score, one.id))

    def _withhold_one(self, row: Row, score: float, why: Why) -> None:
        if row.id in {one.id for one in self._withheld}:
            return
        release = f"ufo-experience approve {row.id[:8]}" if why in ("unproven", "quarantined") else None
        named = row.application if why == "other application" else None
        self._withheld.append(Withheld(row.id, row.task, round(score, 6), why, release, named))

    def _withhold_elsewhere(self) -> None:
        """Note what would be served if no application were asked for."""
        found, _ = self._by.rank(self._request, replace(self._query, application=None))
        fits = [one for one in found if one.row.followable and self._admits(one.row) and one.score >= self._threshold]
        fits = [one for one in fits if one.row.success is not False and one.opposite is None]
        for one in _one_each(fits, _best_of_equals)[: self._query.k]:
            self._withhold_one(one.row, one.score, "other application")

    def _reason(self, below: Sequence[Found], negatives: Sequence[Hit]) -> str:
        index, query = self._by.index, self._query
        inside = [one.row for one in self._found] or index.rows(filter=Filter(query.application, query.env))
        lost = next((one for one in below if one.raw >= self._threshold), None)
        record = self._record(lost) if lost else None
        return Considered(
            records=index.count(),
            inside=sum(row.followable and self._admits(row) for row in inside),
            unfollowable=sum(not row.followable for row in inside),
            best=max((one.score for one in below), default=None),
            threshold=self._threshold,
            negatives=len(negatives),
            withheld=self._withheld,
            unreadable=sum(note.startswith("left out") for note in self._notes),
            lost=f"{record.id[:8]} {self._by.policy.look_again(record)}" if record else "",
        ).explain()


def _one_each(found: Iterable[Found], best: Callable[[Sequence[Found]], Found]) -> list[Found]:
    """One of each procedure (runs of one task and ending) and one of each session, in the order given."""
    groups: dict[tuple[str, bool | None], list[Found]] = {}
    for one in found:
        groups.setdefault((one.row.task_key, one.row.success is False), []).append(one)
    chosen: list[Found] = []
    sessions: set[str] = set()
    for group in groups.values():
        one = best(group)
        if one.row.session not in sessions:
            chosen.append(one)
        sessions |= {one.row.session} - {""}
    return chosen


def _best_of_equals(group: Sequence[Found]) -> Found:
    """Of runs whose score is near the best the most useful, then a success, then the shortest, then the newest."""
    equals = [one for one in group if one.score >= max(other.score for other in group) - EQUAL]

    def key(one: Found) -> tuple[float, float, int, float, str]:
        row = one.row
        return -usefulness(row), -float(row.success or 0), row.steps, -row.created_at.timestamp(), row.id

    return min(equals, key=key)
