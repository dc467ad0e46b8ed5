"""Stage 6, RETRIEVE: a task to the experiences that help with it, or to none.

    filter (application, env, trust) → words and vectors side by side → threshold → opposites out
    → one per near-duplicate group and per session → the k best, sorted by score; failures apart

Two numbers decide (see `fusion.py`): the order says which candidates are best, the score in [0, 1] whether one is worth
serving. Without vectors words answer alone on the same scale, and the answer says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ufo_experience.embed.base import Embedder
from ufo_experience.errors import DataError, ServiceError, UsageError
from ufo_experience.redact import redact_text
from ufo_experience.retrieve.answer import Considered, Retrieval, Why, Withheld
from ufo_experience.retrieve.background import REFERENCES, measure_embedder
from ufo_experience.retrieve.candidates import CandidateFinder, Candidates, Embedded
from ufo_experience.retrieve.contradictions import Marks, clash, marks_of
from ufo_experience.retrieve.credit import hurt_factor, usefulness
from ufo_experience.retrieve.fusion import Fusion
from ufo_experience.retrieve.on_screen import OnScreen, among_equals
from ufo_experience.retrieve.standing import STANDING
from ufo_experience.retrieve.structured import outcome_quality, recency
from ufo_experience.schema import Experience, Hit
from ufo_experience.text.frames import readable_intent

if TYPE_CHECKING:  # few questions have a judge, and none waits for what it would load
    from ufo_experience.retrieve.judge import Judge

MAX_K = 50
MAX_QUERY = 8_000  # characters; a longer task is cut, and the answer says so
MAX_EQUALS = 20  # near-duplicates that are read to see which of them goes on from the screen
OPPOSITE_FROM = 0.2  # score from which on the opposite of a task is told of
EQUAL = 0.05  # near-duplicates within this score are equals: the most useful, then the shortest stands for them


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
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= MAX_K:
            raise UsageError(f"k must be a whole number from 1 to {MAX_K}, not {self.k!r}")
        number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if self.threshold is not None and not (number and 0.0 <= self.threshold <= 1.0):
            raise UsageError(f"the threshold must lie in [0, 1], not {self.threshold!r}")
        if isinstance(self.near, bool) or not isinstance(self.near, int) or not 0 <= self.near <= MAX_K:
            raise UsageError(f"near must be a whole number from 0 to {MAX_K}, not {self.near!r}")


@dataclass(frozen=True)
class Ranking:
    """Everything that was considered, best first, before threshold and diversity; `held` may not be injected, `inside`
    counts the records that pass the filters, `marks` tell what the task contradicts.
    """

    candidates: Candidates
    held: Candidates
    fusion: Fusion
    degraded: str | None
    inside: int
    marks: Marks


class Records(Protocol):
    """Where records are read: a store, or what keeps those of one."""

    def get(self, id: str) -> Experience:
        """The live record with this id. Raises `DataError` where it cannot be read."""
        ...


class Retriever:
    """Answers queries from one snapshot; safe to use from many threads."""

    def __init__(
        self,
        finder: CandidateFinder,
        records: Records,
        embedder: Embedder,
        fusion: Fusion,
        judge: Judge | None = None,
    ) -> None:
        self._finder, self._records, self._embedder, self._fusion = finder, records, embedder, fusion
        self._judge = judge
        self._catalog = finder.snapshot.catalog

    @property
    def fusion(self) -> Fusion:
        """How the embedder is used, and from which score on is served."""
        return self._fusion

    def best(self, ranking: Ranking) -> tuple[str, float]:
        """Id and score of the best candidate that does not contradict the task, whatever the threshold; "" and 0."""
        place = next(self._choose(ranking, 0.0, failed=False), None)
        if place is None:
            return "", 0.0
        return self._catalog.ids(ranking.candidates.rows[place : place + 1])[0], float(ranking.candidates.score[place])

    @property
    def finder(self) -> CandidateFinder:
        """What finds and scores candidates."""
        return self._finder

    def retrieve(self, query: Query, *, now: datetime | None = None) -> Retrieval:
        """The top-k experiences at or above the threshold.

        An empty answer is an answer: nothing useful is known. When the embedder fails, words answer and `degraded`
        says why.
        """
        text = redact_text(query.task)[:MAX_QUERY]
        notes = [f"the task was cut to {MAX_QUERY} characters"] if len(query.task) > MAX_QUERY else []
        if not any(letter.isalnum() for letter in text):
            reason = "the task holds no words"
            return Retrieval(embedder=self._fusion.embedder, reason=reason, notes=tuple(notes))
        return self.serve(text, query, self.rank(text, query), notes, now=now)

    def serve(
        self, text: str, query: Query, ranking: Ranking, notes: Sequence[str] = (), *, now: datetime | None = None
    ) -> Retrieval:
        """What of a ranking is served for the (redacted) text of a query: threshold, opposites, diversity."""
        threshold = self._threshold(query, ranking.fusion)
        said = list(notes)
        chosen, turned_away, judged = self._judged(text, query, ranking, threshold, said)
        failed = self._choose(ranking, threshold, True, query.on_screen)
        hits = self._served(chosen, query, judged, said, now)
        negatives = self._served(failed, query, ranking, said, now)
        hits = self._with_parted(hits, query)
        withheld = (*turned_away, *self._not_served(self._withheld(ranking, threshold), hits))
        if not hits and not withheld and query.application is not None:
            withheld = self._elsewhere(text, query, ranking, threshold)
        considered = Considered(
            records=len(self._catalog),
            inside=ranking.inside,
            unfollowable=0 if ranking.inside else self._finder.unfollowable(query.application, query.env),
            best=self._best_below(ranking, threshold),
            threshold=threshold,
            negatives=len(negatives),
            withheld=withheld,
            unreadable=sum(one.startswith("left out") for one in said[len(notes) :]),
            lost=self._lost(ranking.candidates, threshold),
        )
        return Retrieval(
            hits=hits,
            negatives=negatives,
            threshold=threshold,
            embedder=self._fusion.embedder,
            degraded=ranking.degraded,
            withheld=withheld,
            reason=None if hits else considered.explain(),
            notes=tuple(said),
            near=self._load(self._below(ranking, threshold, query.near), ranking, said, now),
        )

    def _not_served(self, held: Sequence[Withheld], hits: Sequence[Hit]) -> list[Withheld]:
        """What is withheld, but for what is served by the word of a judge though the rule takes it for the opposite,
        and for other runs of the same task."""
        served = {hit.id for hit in hits}
        opposite = [one.id for one in held if one.why == "contradicts"]
        if hits and opposite:
            column, catalog = self._catalog.column("task"), self._catalog
            tasks = set(column[catalog.find(sorted(served))].tolist())
            rows = zip(opposite, column[catalog.find(opposite)].tolist(), strict=True)
            served |= {identifier for identifier, task in rows if task in tasks}
        return [one for one in held if one.id not in served]

    def _judged(
        self, text: str, query: Query, ranking: Ranking, threshold: float, notes: list[str]
    ) -> tuple[Iterator[int], tuple[Withheld, ...], Ranking]:
        """Places of what may be served, best first, what the judge keeps back of what reaches the threshold, and the
        ranking with the scores that its "yes" raised.

        It is shown what reaches the threshold with a "yes", too, and what the rule takes for the opposite.
        """
        if self._judge is None:
            return self._choose(ranking, threshold, False, query.on_screen), (), ranking
        from ufo_experience.retrieve.judge import JUDGED, after_yes, judged_from, verdicts

        worth_asking = self._choose(ranking, judged_from(threshold), False, query.on_screen, opposites=True)
        places = list(islice(worth_asking, JUDGED))
        candidates = ranking.candidates
        rows = candidates.rows[places].tolist()
        said = verdicts(self._judge, text, [self._catalog.text(row) for row in rows], notes)
        kept_back = [
            self._entry(row, score, "unjudged" if verdict is None else "rejected")
            for row, score, verdict in zip(rows, candidates.score[places].tolist(), said, strict=True)
            if not verdict and score >= threshold and not self._contradicts(ranking, row)
        ]
        passed = [place for place, verdict in zip(places, said, strict=True) if verdict]
        score = candidates.score.copy()
        score[passed] = after_yes(score[passed])
        raised = replace(candidates, score=score, before_judge=candidates.score)
        return iter(passed), tuple(kept_back), replace(ranking, candidates=raised)

    def _served(
        self, places: Iterator[int], query: Query, ranking: Ranking, notes: list[str], now: datetime | None
    ) -> tuple[Hit, ...]:
        """The k best; where the screen is known, of all that are equal to the last of them."""
        if query.on_screen is None:
            return self._load(islice(places, query.k), ranking, notes, now)
        found = self._load(islice(places, max(query.k, MAX_EQUALS)), ranking, notes, now)
        return among_equals(found, query.on_screen, EQUAL)[: query.k]

    def _with_parted(self, hits: tuple[Hit, ...], query: Query) -> tuple[Hit, ...]:
        """Beside each hit a run of the same words that ended otherwise, where one is known: which is due, the words do
        not tell. It does not count as one of the k.
        """
        found = {hit.id: hit for hit in hits}
        for hit in hits:
            other = self._finder.agreement.parted(hit.experience)
            if other is not None and other.id not in found and self._is_asked_for(other, query):
                found[other.id] = hit.model_copy(update={"experience": other})
        return tuple(sorted(found.values(), key=lambda hit: -hit.score)) if len(found) > len(hits) else hits

    def _is_asked_for(self, run: Experience, query: Query) -> bool:
        inside = query.only is None or run.id in query.only
        foreign = query.exclude_session is not None and run.provenance.session == query.exclude_session
        env = query.env is None or run.state.env == query.env
        return inside and not foreign and env and self._finder.policy.admits(run)

    def rank(self, text: str, query: Query) -> Ranking:
        """Candidates inside the filters, best first, without threshold or diversity: what `retrieve` chooses from."""
        embedded, degraded = self._embedded(text)
        try:
            return self._ranked(text, query, embedded, degraded)
        except ServiceError as error:  # the server that keeps the vectors cannot answer: words do
            return self._ranked(text, query, None, f"index unavailable: {error}")

    def _threshold(self, query: Query, fusion: Fusion) -> float:
        return fusion.default_threshold() if query.threshold is None else query.threshold

    def _ranked(self, text: str, query: Query, embedded: Embedded | None, degraded: str | None) -> Ranking:
        counts = embedded is not None and self._finder.vector_weight(embedded.quality) > 0
        fusion = self._fusion if counts else self._fusion.degraded()
        candidates, held = self._finder.find(
            text,
            embedded if counts else None,
            application=query.application,
            env=query.env,
            exclude_session=query.exclude_session,
            only=query.only,
        )
        inside = self._finder.inside(query.application, query.env)
        return Ranking(candidates, held, fusion, degraded, int(np.count_nonzero(inside)), marks_of(text))

    def _embedded(self, text: str) -> tuple[Embedded | None, str | None]:
        """The query's vector, or why there is none; an index without vectors is worth no request."""
        if not self._fusion.uses_vectors:
            return None, None
        snapshot = self._finder.snapshot
        try:
            if not snapshot.index:
                return None, snapshot.reason
        except ServiceError as error:
            return None, f"index unavailable: {error}"
        asked = readable_intent(text)
        try:
            if self._finder.embedder_quality is None:
                vector, *references = self._embedder.embed([asked, *REFERENCES], "query")
                self._finder.embedder_quality = measure_embedder(np.stack(references))
                return Embedded(vector, self._finder.embedder_quality), None
            return Embedded(self._embedder.embed([asked], "query")[0], self._finder.embedder_quality), None
        except ServiceError as error:
            return None, f"embeddings unavailable: {error}"

    def _choose(
        self,
        ranking: Ranking,
        threshold: float,
        failed: bool,
        on_screen: OnScreen | None = None,
        opposites: bool = False,
    ) -> Iterator[int]:
        """Places in the ranking, best first: at or above the threshold, one per group and session; no opposites, unless
        these are asked for.
        """
        candidates = ranking.candidates
        is_failed = self._catalog.column("success")[candidates.rows] == 0
        passing = np.flatnonzero((candidates.score >= threshold) & (is_failed == failed)).tolist()
        column = self._catalog.column("session")
        sessions: set[int] = set()
        for group in self._groups(candidates, passing):
            place = self._representative(candidates, group, on_screen)
            row = int(candidates.rows[place])
            session = int(column[row])
            if session in sessions or (not opposites and self._contradicts(ranking, row)):
                continue
            sessions |= {session} - {0}
            yield place

    def _contradicts(self, ranking: Ranking, row: int) -> bool:
        return clash(ranking.marks, self._finder.texts[row].marks) is not None

    def _groups(self, candidates: Candidates, places: list[int]) -> list[list[int]]:
        """Near-duplicates together: the same intent in the same application."""
        rows = candidates.rows[places]
        tasks, applications = (self._catalog.column(name)[rows].tolist() for name in ("task", "application"))
        groups: dict[tuple[int, int], list[int]] = {}
        for place, task, application in zip(places, tasks, applications, strict=True):
            groups.setdefault((task, application), []).append(place)
        return list(groups.values())

    def _representative(self, candidates: Candidates, group: list[int], on_screen: OnScreen | None = None) -> int:
        """Of equals (scores within `EQUAL` of the best) the one to go on with from what is on the screen, where that is
        known; then the most useful, then the shortest, then the newest.
        """
        if len(group) == 1:
            return group[0]
        column = self._catalog.column
        equals = [place for place in group if candidates.score[place] >= candidates.score[group[0]] - EQUAL]
        rows = candidates.rows[equals]
        useful = usefulness(column("helped")[rows], column("hurt")[rows])
        quality = outcome_quality(column("success")[rows], column("score")[rows])
        best = np.lexsort((rows, -column("created")[rows], -quality, column("steps")[rows], -useful))
        if on_screen is None:
            return equals[int(best[0])]
        order = [equals[int(place)] for place in best[:MAX_EQUALS]]
        return max(order, key=lambda place: self._fit(int(candidates.rows[place]), on_screen))

    def _fit(self, row: int, on_screen: OnScreen) -> float:
        try:
            return on_screen.fit(self._records.get(self._catalog.ids(np.array([row]))[0]))
        except DataError:  # named when it is to be served
            return 0.0

    def _load(self, places: Iterator[int], ranking: Ranking, notes: list[str], now: datetime | None) -> tuple[Hit, ...]:
        """Read the records at these places, sorted by score; one that cannot be read is named and left out."""
        candidates, ranked_by = ranking.candidates, ranking.fusion.ranked_by
        found: dict[int, Experience] = {}
        for place in places:
            try:
                experience = self._records.get(self._catalog.ids(candidates.rows[place : place + 1])[0])
            except DataError as error:
                notes.append(f"left out: {error}")
                continue
            if not self._finder.policy.admits(experience):
                notes.append(f"left out: {experience.id} is not trusted any more")
                continue
            found[place] = experience
        if not found:
            return ()
        hits = [
            Hit.model_construct(experience=experience, score=score, ranked_by=ranked_by, explanation=explanation)
            for experience, score, explanation in zip(
                found.values(),
                candidates.score[[*found]].tolist(),
                self._explain(candidates, [*found], now),
                strict=True,
            )
        ]
        return tuple(sorted(hits, key=lambda hit: -hit.score))  # equals stay in the order of the candidates

    def _explain(self, candidates: Candidates, places: list[int], now: datetime | None) -> list[dict[str, float]]:
        """The signals behind each score, by name."""
        column, rows = self._catalog.column, candidates.rows[places]
        age = (now or datetime.now(timezone.utc)).timestamp() - column("created")[rows]
        signals = candidates.signals.taken(np.array(places, np.int64))
        parts: dict[str, NDArray[Any]] = {
            "cosine": candidates.cosine[places],
            **({} if candidates.before_judge is None else {"before_judge": candidates.before_judge[places]}),
            "order": candidates.order[places],
            "usage_factor": self._finder.usage_factor(rows),
            "usefulness": usefulness(column("helped")[rows], column("hurt")[rows]),
            "outcome_quality": outcome_quality(column("success")[rows], column("score")[rows]),
            "recency": recency(age),
        }
        names = (*signals.names, *STANDING, *parts)
        table = np.column_stack([signals.table(), candidates.standing[places], *parts.values()]).tolist()
        return [
            {name: round(value, 6) for name, value in zip(names, row, strict=True) if not math.isnan(value)}
            for row in table
        ]

    def _lost(self, candidates: Candidates, threshold: float) -> str:
        """The best of what would reach the threshold, had it not lost rank, and why it has; "" where there is none."""
        factor = self._finder.usage_factor(candidates.rows)
        lost = np.flatnonzero((candidates.score < threshold) & (candidates.score >= threshold * factor))
        if not len(lost):
            return ""
        row = candidates.rows[lost[:1]]
        with suppress(DataError):  # named by `verify`
            one = self._records.get(self._catalog.ids(row)[0])
            return f"{one.id[:8]} {self._finder.policy.look_again(one)}"
        return ""

    def _below(self, ranking: Ranking, threshold: float, count: int) -> Iterator[int]:
        """Places of the best candidates below the threshold that do not contradict the task; one per near-duplicate."""
        if not count:
            return iter(())
        candidates = ranking.candidates
        failed = self._catalog.column("success")[candidates.rows] == 0
        places = np.flatnonzero((candidates.score < threshold) & ~failed)
        best = places[np.argsort(-candidates.score[places], kind="stable")].tolist()
        groups = self._groups(candidates, best)
        fitting = (one[0] for one in groups if not self._contradicts(ranking, int(candidates.rows[one[0]])))
        return islice(fitting, count)

    def _best_below(self, ranking: Ranking, threshold: float) -> float | None:
        """The score of what `_below` names first."""
        place = next(self._below(ranking, threshold, 1), None)
        return None if place is None else float(ranking.candidates.score[place])

    def _withheld(self, ranking: Ranking, threshold: float) -> tuple[Withheld, ...]:
        """What is kept from answering: what reaches the threshold and is not trusted, what reached it before it had
        hurt, and what is the opposite of the task from `OPPOSITE_FROM` on (what makes it the opposite lowers its
        score, too)."""
        held, open_ = ranking.held, ranking.candidates
        found = [
            self._entry(row, score, self._finder.why_held(row))
            for row, score in _reaching(held, threshold)
            if not self._contradicts(ranking, row) and self._finder.why_held(row) != "harmful"
        ]
        found += [
            self._entry(row, score, "harmful")
            for row, score in (*self._hurting(held, threshold), *self._hurting(open_, threshold))
            if not self._contradicts(ranking, row)
        ]
        found += [
            self._entry(row, score, "contradicts")
            for row, score in _reaching(open_, min(threshold, OPPOSITE_FROM))
            if self._contradicts(ranking, row)
        ]
        return tuple(sorted(found, key=lambda one: (-one.score, one.id)))

    def _hurting(self, candidates: Candidates, threshold: float) -> Iterator[tuple[int, float]]:
        """(row, score before it had hurt) of trusted runs that are kept back, or below the threshold, by that alone."""
        column, rows = self._catalog.column, candidates.rows
        factor = hurt_factor(self._catalog, rows)
        before = np.minimum(np.round(candidates.score / factor, 6), 1.0)
        lost = (factor < 1) & (before >= threshold) & (column("success")[rows] != 0)
        for place in np.flatnonzero(lost).tolist():
            row = int(rows[place])
            if self._finder.is_harmful(row) or (self._finder.trusted[row] and candidates.score[place] < threshold):
                yield row, float(before[place])

    def _elsewhere(self, text: str, query: Query, ranking: Ranking, threshold: float) -> tuple[Withheld, ...]:
        """What would be served if the filter asked for no application."""
        embedded = None if ranking.degraded else self._embedded(text)[0]
        other = self._ranked(text, replace(query, application=None), embedded, ranking.degraded)
        rows = [int(other.candidates.rows[place]) for place in self._choose(other, threshold, failed=False)]
        score = dict(zip(other.candidates.rows.tolist(), other.candidates.score.tolist(), strict=True))
        return tuple(self._entry(row, score[row], "other application") for row in rows[: query.k])

    def _entry(self, row: int, score: float, why: Why) -> Withheld:
        identifier = self._catalog.ids(np.array([row]))[0]
        application = None
        if why == "other application":
            try:
                application = self._records.get(identifier).state.application
            except DataError:  # named by `verify`; what it says of itself cannot be shown
                application = None
        release = f"ufo-experience approve {identifier[:8]}" if why in ("unproven", "quarantined") else None
        return Withheld(identifier, self._catalog.text(row), score, why, release, application)


def _reaching(candidates: Candidates, threshold: float) -> Iterator[tuple[int, float]]:
    """(row, score) of what reaches the threshold."""
    for place in np.flatnonzero(candidates.score >= threshold).tolist():
        yield int(candidates.rows[place]), float(candidates.score[place])
