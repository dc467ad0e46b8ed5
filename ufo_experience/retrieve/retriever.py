"""Stage 7, RETRIEVE: a task to the procedures that help with it, or to none, with the reason.

    candidates (filters first) → score → judge, where there is one → opposites out → one per procedure and session
    → the k best at or above the threshold; failed runs apart

The score in [0, 1] says how probable it is that a record helps. Without vectors the structured ranker answers, with
the score as the overlap of the task; with vectors more candidates are found, and the score ranks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from ufo_experience.embed.base import Embedder
from ufo_experience.errors import DataError, ServiceError, UsageError
from ufo_experience.index.base import MISMATCH, Candidate, ExperienceIndex, Filter, Row, Vector
from ufo_experience.redact import redact_text
from ufo_experience.request import Request
from ufo_experience.retrieve.answer import Retrieval, Why, Withheld, told_apart, told_withheld
from ufo_experience.retrieve.judge import JUDGED, Judge, after_yes, verdicts
from ufo_experience.retrieve.on_screen import OnScreen, among_equals
from ufo_experience.retrieve.opposites import conflict
from ufo_experience.retrieve.pairing import is_same_but_for_values
from ufo_experience.retrieve.score import THRESHOLD, is_harmful, lifted, scored, usage_factor, usefulness
from ufo_experience.retrieve.structured import outcome_quality, rank_score, recency, similarity
from ufo_experience.retrieve.tasks import SAME_TASK, reads_alike, task_key
from ufo_experience.schema import Experience, Hit, State, Trust
from ufo_experience.trust.policy import HIDE_AFTER, TrustPolicy

MAX_K = 50
MAX_QUERY = 8_000  # characters; a longer task is cut, and the answer says so
OPPOSITE_FROM = 0.25  # score from which on the opposite of a task is told of
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
        for name, count, least in (("top_k", self.k, 1), ("near", self.near, 0)):
            if isinstance(count, bool) or not isinstance(count, int) or not least <= count <= MAX_K:
                raise UsageError(f"{name} must be a whole number from {least} to {MAX_K}, not {count!r}")
        number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if self.threshold is not None and not (number and 0.0 <= self.threshold <= 1.0):
            raise UsageError(f"the threshold must lie in [0, 1], not {self.threshold!r}")


@dataclass(frozen=True)
class Found:
    """A candidate with all that was worked out for it; `here` is what is asked in its application, `raw` the score
    before what became of the record counts."""

    asked: Request
    here: Request
    row: Row
    score: float
    raw: float
    order: float
    features: Mapping[str, float]

    @cached_property
    def opposite(self) -> str | None:
        """Why it contradicts the request, None where it does not."""
        return conflict(self.asked, self.row.request)


class Retriever:
    """Answers queries over one index; safe to use from many threads."""

    def __init__(
        self,
        index: ExperienceIndex,
        record_of: Callable[[str], Experience],
        *,
        embedder: Embedder | None = None,
        judge: Judge | None = None,
        policy: TrustPolicy | None = None,
        threshold: float | None = None,
    ) -> None:
        """`embedder` is None where words answer alone (hashed words tell nothing more), `threshold` the calibrated
        one."""
        self.index, self.record_of, self.embedder, self.judge = index, record_of, embedder, judge
        self.policy = policy or TrustPolicy()
        self._threshold = THRESHOLD if threshold is None else threshold
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
        return _Answer(self, Request.parse(text, query.application), query, notes, now).retrieval()

    @property
    def embedder_name(self) -> str:
        return "hashing" if self.embedder is None else self.embedder.name

    def rank(
        self, request: Request, query: Query, *, trusted: bool = True, known: frozenset[str] = frozenset()
    ) -> tuple[list[Found], str | None]:
        """Everything near a request that the filters admit, best first, nothing where that is what is `known`; and why
        words alone answered, where that was not meant. Trust is one of the filters: a flood of what nobody vouched for
        hides nothing."""
        filter = Filter(query.application, query.env, only=query.only, exclude_session=query.exclude_session)
        if trusted:
            filter = replace(filter, min_trust=self.policy.own, min_trust_imported=self.policy.imported)
        vector = None
        try:
            vector = self.embedder.embed([request.safe], "query")[0] if self.embedder else None
            return self._found(request, vector, filter, known), None
        except ServiceError as error:
            degraded = f"embeddings unavailable: {error}"
        except DataError as error:
            if vector is None or error.code != MISMATCH:
                raise
            degraded = str(error)
        return self._found(request, None, filter, known), degraded

    def _found(self, request: Request, vector: Vector | None, filter: Filter, known: frozenset[str]) -> list[Found]:
        """The candidates of a filter, best first. A judge hears of tasks that share no word with the request, too."""
        candidates = self.index.candidates(request, vector=vector, filter=filter)
        if self.judge is not None and self.index.count(filter) <= MOST_READ:
            met = {one.row.id for one in candidates}
            candidates += [Candidate(row) for row in self.index.rows(filter=filter) if row.id not in met]
        if {one.row.id for one in candidates} == known:
            return []
        words = {word for one in (request, *(one.row.request for one in candidates)) for word in one.words}
        rarity = self.index.rarity(words | {""})
        here = {name: request.within(name) for name in {one.row.application for one in candidates}}
        keys = {name: task_key(one) for name, one in here.items()}
        found = scored(request, candidates, rarity)
        return [self._told(request, here, keys, *one) for one in found]

    def _told(
        self,
        request: Request,
        here: Mapping[str | None, Request],
        keys: Mapping[str | None, str],
        one: Candidate,
        order: float,
        score: float,
        features: Mapping[str, float],
    ) -> Found:
        raw = lifted(request, one.row, score) if one.row.wordings else score
        name = one.row.application
        if keys[name] == one.row.request_key and conflict(request, one.row.request) is None:
            raw = max(raw, SAME_TASK)
        if one.cosine is not None:
            features = {**features, "cosine": one.cosine}
        return Found(request, here[name], one.row, raw * usage_factor(one.row), raw, order, features)

    def threshold(self, query: Query) -> float:
        return self._threshold if query.threshold is None else query.threshold

    def is_trusted(self, row: Row) -> bool:
        """True for a row that may be shown, as far as the index tells; the record is looked at once more."""
        least = self.policy.imported if row.imported else self.policy.own
        return row.trust.rank >= least.rank

    def note_served(self, id: str, request: Request) -> str | None:
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
        self._withheld: dict[str, Withheld] = {}
        self._read: dict[str, Experience] = {}
        found, self._degraded = retriever.rank(request, query)
        self._found = [self._held(self._same_task(one) if place < JUDGED else one) for place, one in enumerate(found)]

    def retrieval(self) -> Retrieval:
        query = self._query
        open_ = [one for one in self._found if one.row.followable and self._admits(one.row)]
        helpful = [one for one in open_ if one.row.success is not False]
        judged = self._judged(helpful)
        hits = self._hits(filter(self._fits, helpful) if judged is None else judged)
        negatives = self._hits(one for one in open_ if one.row.success is False and self._fits(one))
        below = [one for one in helpful if one.score < self._threshold]
        served = {run for hit in hits for run in hit.runs}
        self._withhold(self._found, served)
        if query.near or not hits:
            known = frozenset(one.row.id for one in self._found)
            self._withhold(self._by.rank(self._request, query, trusted=False, known=known)[0], served)
        if not hits and not self._withheld and query.application is not None:
            self._withhold_elsewhere()
        self._notes += filter(None, [self._by.note_served(hit.id, self._request) for hit in hits])
        return Retrieval(
            hits=hits,
            negatives=negatives,
            threshold=self._threshold,
            embedder=self._by.embedder_name,
            degraded=self._degraded,
            withheld=tuple(sorted(self._withheld.values(), key=lambda one: (-one.score, one.id))),
            reason=None if hits else self._reason(below, bool(negatives)),
            notes=tuple(self._notes),
            near=self._hits((one for one in below if one.opposite is None), query.near) if query.near else (),
            application=query.application,
        )

    def _fits(self, one: Found) -> bool:
        return one.score >= self._threshold and one.opposite is None

    def _admits(self, row: Row) -> bool:
        return self._by.is_trusted(row) and not is_harmful(row)

    def _same_task(self, one: Found) -> Found:
        """A request that differs from a stored one only in words that its run typed or chose is the same task."""
        asked, stored = one.here, one.row.request
        if one.raw >= self._threshold or not reads_alike(asked, stored) or one.opposite is not None:
            return one
        if not is_same_but_for_values(asked, stored, one.row.said):
            return one
        return replace(one, score=SAME_TASK * usage_factor(one.row), raw=SAME_TASK)

    def _held(self, one: Found) -> Found:
        """One report of harm lowers the rank of what is served, and no more: it takes two other sessions to hide it."""
        reported = one.raw >= self._threshold > one.score and 0 < one.row.hurt < HIDE_AFTER
        return replace(one, score=self._threshold) if reported else one

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
        told = list(zip(asked, same, strict=True))
        for one, is_same in told:
            if not is_same and one.score >= self._threshold:
                self._note(one.row, one.score, "rejected")
        return [replace(one, score=after_yes(one.score, self._threshold)) for one, is_same in told if is_same]

    # ---- hits ----

    def _hits(self, found: Iterable[Found], count: int | None = None) -> tuple[Hit, ...]:
        """The k best procedures with their records; what cannot be read or is not trusted any more is left out."""
        screen, count = self._query.on_screen, self._query.k if count is None else count
        hits: list[Hit] = []
        for one in _one_each(self._ranked(found), self._best_here if screen else _best_of_equals):
            record = self._record(one) if len(hits) < (MAX_K if screen else count) else None
            if record is not None:
                hits.append(self._hit(one, record))
        return tuple((among_equals(hits, screen, EQUAL) if screen else hits)[:count])

    def _best_here(self, group: Sequence[Found]) -> Found:
        """Of runs of one procedure whose score is near the best the one that can be gone on from this screen."""
        screen = self._query.on_screen
        runs = sorted(group, key=lambda one: (one.score < group[0].score - EQUAL, one.row.id))[:MAX_EQUALS]
        best = _best_of_equals(runs)
        fit = {one.row.id: screen.fit(record) if screen and (record := self._record(one)) else 0.0 for one in runs}
        return max(runs, key=lambda one: (fit[one.row.id], one is best))

    def _ranked(self, found: Iterable[Found]) -> list[Found]:
        """Best first: by score with vectors, by the structured ranker without."""
        by_state = self._by.embedder is None

        def best(one: Found) -> float:
            return self._structured(one)["rank_score"] if by_state else one.score

        return sorted(found, key=lambda one: (-best(one), -one.order, one.row.id))

    def _structured(self, one: Found) -> dict[str, float]:
        quality = 0.5 if one.row.success is None else float(one.row.success)
        asked, stored = State(task="x", env=self._query.env), State(task="x", env=one.row.env)
        alike = similarity(asked, stored, one.score)
        fresh = recency(one.row.created_at, self._now)
        rank = rank_score(alike, quality, fresh)
        return {"similarity": alike, "outcome_quality": quality, "recency": fresh, "rank_score": rank}

    def _record(self, one: Found) -> Experience | None:
        """The record, where it can be read and may be shown."""
        id = one.row.id
        if id not in self._read:
            try:
                self._read[id] = self._by.record_of(id)
            except DataError as error:
                self._notes.append(f"left out: {error}")
                return None
        if self._by.policy.admits(self._read[id]):
            return self._read[id]
        self._note(one.row, one.score, "unproven")
        return None

    def _hit(self, one: Found, experience: Experience) -> Hit:
        rows = self._by.index.rows(task_key=one.row.task_key)
        same = [row for row in rows if row.success == one.row.success and self._admits(row) and row.followable]
        runs = sorted(same, key=lambda row: (row.id != one.row.id, -row.created_at.timestamp(), row.id))
        own = {"order": one.order, "usefulness": usefulness(one.row), "before_use": one.raw}
        quality = {"outcome_quality": outcome_quality(experience.outcome)}
        return Hit(
            experience=experience,
            score=round(min(one.score, 1.0), 6),
            ranked_by="structured" if self._by.embedder is None else "fused",
            explanation={**one.features, **own, **self._structured(one), **quality},
            runs=tuple(row.id for row in runs[:MAX_RUNS]),
        )

    # ---- what is not served, and why ----

    def _withhold(self, found: Sequence[Found], served: set[str]) -> None:
        """Note what would be served if it were trusted, did not hurt, or were no opposite."""
        for one in found:
            row, told_from = one.row, min(self._threshold, OPPOSITE_FROM)
            if row.id in served or row.success is False or not row.followable or max(one.score, one.raw) < told_from:
                continue
            if one.opposite is not None:
                if one.score >= told_from:
                    self._note(row, one.score, "contradicts")
            elif not self._by.is_trusted(row):
                if one.score >= self._threshold:
                    quarantined = row.trust is Trust.QUARANTINED or row.imported
                    self._note(row, one.score, "quarantined" if quarantined else "unproven")
            elif one.raw >= self._threshold and (is_harmful(row) or one.score < self._threshold):
                self._note(row, one.raw, "harmful")

    def _withhold_elsewhere(self) -> None:
        """Note what would be served if no application were asked for."""
        found, _ = self._by.rank(self._request, replace(self._query, application=None))
        fits = [one for one in found if one.row.followable and self._admits(one.row) and self._fits(one)]
        for one in _one_each([one for one in fits if one.row.success is not False], _best_of_equals)[: self._query.k]:
            self._note(one.row, one.score, "other application")

    def _note(self, row: Row, score: float, why: Why) -> None:
        verdict = f"judge {row.id[:8]} --success" if row.success is None else f"approve {row.id[:8]}"
        commands = {"unproven": verdict, "quarantined": f"approve {row.id[:8]}"}
        release = f"ufo-experience {commands[why]}" if why in commands else None
        named = row.application if why == "other application" else None
        self._withheld.setdefault(row.id, Withheld(row.id, row.task, round(score, 6), why, release, named))

    def _reason(self, below: Sequence[Found], only_failed: bool) -> str:
        unreadable = sum(note.startswith("left out") for note in self._notes)
        if unreadable:
            return f"what fits cannot be served any more ({unreadable} left out, see the notes)"
        if self._withheld:
            return told_withheld([*self._withheld.values()])
        if not self._found and not self._by.index.count():
            return "the store holds no experience yet"
        rows = [one.row for one in self._found]
        rows = rows or self._by.index.rows(filter=Filter(self._query.application, self._query.env))
        if not any(row.followable and self._admits(row) for row in rows):
            lacking = any(not row.followable for row in rows)
            missing = "nobody could follow what is stored: it lacks a task, steps or the names of controls"
            return missing if lacking else "no experience passes the filters"
        lost = next((one for one in below if one.raw >= self._threshold and one.opposite is None), None)
        record = self._record(lost) if lost else None
        if record is not None:
            told = self._by.policy.look_again(record) or "was reported to hurt"
            again = "look at it again (ufo-experience show), report what it does now"
            return f"{record.id[:8]} {told} and lost rank: {again}"
        if only_failed:
            return "only failed runs of this task are known"
        nearest = next((one for one in sorted(below, key=lambda one: -one.score) if one.opposite is None), None)
        if nearest is None:
            return f"no experience reaches the threshold of {self._threshold:.2f}"
        best, threshold = told_apart(nearest.score, self._threshold)
        return f"the best experience scores {best}, below the threshold of {threshold}"


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
