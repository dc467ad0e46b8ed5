"""Stage 6, RETRIEVE: a task to the experiences that help with it, or to none.

    filter (application, env, trust) → vectors and words side by side → one score → threshold → opposites out
    → one per near-duplicate group and per session → top-k, failures apart

The score is `(1 - c)·lexical + c·cosine` with the share `c` of the embedder in use (see `fusion.py`), in [0, 1],
times a factor below 1 for an experience that has hurt before. Without vectors the lexical part answers alone, with a
threshold of its own, and the answer says that it is degraded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ufo_experience.embedding.base import Embedder
from ufo_experience.errors import DataError, ServiceError, UsageError
from ufo_experience.fusion import Fusion
from ufo_experience.index.base import Filter
from ufo_experience.index.catalog import Mask, name_hash
from ufo_experience.index.snapshot import Snapshot
from ufo_experience.lexical import lexical_scores
from ufo_experience.opposites import conflict
from ufo_experience.ranker import outcome_quality, recency
from ufo_experience.redaction import redact_text
from ufo_experience.schema import Hit, Trust
from ufo_experience.store.base import ExperienceStore
from ufo_experience.usage import drag, harmful, usefulness

MAX_K = 50
MAX_QUERY = 8_000  # characters; a longer task is cut, and the answer says so
POOL = 100  # candidates that vectors and words each put forward
EQUAL = 0.05  # near-duplicates within this score are equals: the most useful, then the shortest stands for them
Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Query:
    """What is asked. `threshold` None means the one of the embedder in use."""

    task: str
    application: str | None = None
    env: str | None = None
    k: int = 3
    threshold: float | None = None
    exclude_session: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= MAX_K:
            raise UsageError(f"k must be a whole number from 1 to {MAX_K}, not {self.k!r}")
        if self.threshold is not None and not -1.0 <= self.threshold <= 1.0:
            raise UsageError(f"the threshold must lie in [-1, 1], not {self.threshold!r}")


@dataclass(frozen=True)
class TrustPolicy:
    """The lowest trust that may be injected: of own records, and of imported ones."""

    own: Trust = Trust.VERIFIED
    imported: Trust = Trust.APPROVED


@dataclass(frozen=True)
class Retrieval(Sequence[Hit]):
    """The answer: a sequence of hits, best first, and what a caller must know about them.

    `negatives` are failed runs at the same task; `withheld` are ids that would have answered if they were trusted;
    `reason` says why there are no hits where that is not plain.
    """

    hits: tuple[Hit, ...] = ()
    negatives: tuple[Hit, ...] = ()
    threshold: float = 0.0
    embedder: str = ""
    degraded: str | None = None
    withheld: tuple[str, ...] = ()
    reason: str | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]


@dataclass(frozen=True)
class Ranking:
    """Candidates, best first: row numbers of the catalog and the parts of their score; `held` may not be injected."""

    rows: Rows
    score: Floats
    lexical: Floats
    cosine: Floats
    fusion: Fusion
    degraded: str | None
    held: Rows
    held_score: Floats


class Retriever:
    """Answers queries from one snapshot; safe to use from many threads."""

    def __init__(
        self,
        snapshot: Snapshot,
        store: ExperienceStore,
        embedder: Embedder,
        fusion: Fusion,
        policy: TrustPolicy | None = None,
    ) -> None:
        self._snapshot, self._store, self._embedder, self._fusion = snapshot, store, embedder, fusion
        self._policy = policy or TrustPolicy()

    def retrieve(self, query: Query, *, now: datetime | None = None) -> Retrieval:
        """The top-k experiences at or above the threshold.

        An empty answer is an answer: nothing useful is known. When the embedder fails the lexical part answers and
        `degraded` says why.
        """
        text = redact_text(query.task)[:MAX_QUERY]
        notes = [f"the task was cut to {MAX_QUERY} characters"] if len(query.task) > MAX_QUERY else []
        blank = Retrieval(threshold=query.threshold or 0.0, embedder=self._fusion.embedder, notes=tuple(notes))
        if not any(letter.isalnum() for letter in text):
            return replace(blank, reason="the task holds no words")
        ranking = self.rank(query, text)
        threshold = ranking.fusion.threshold if query.threshold is None else query.threshold
        hits, negatives = (
            self._load(self._choose(text, ranking, threshold, failed), ranking, query.k, notes, now)
            for failed in (False, True)
        )
        return replace(
            blank,
            hits=hits,
            negatives=negatives,
            threshold=threshold,
            degraded=ranking.degraded,
            withheld=self._withheld(text, ranking, threshold),
            reason=None if hits else "no experience reaches the threshold",
            notes=tuple(notes),
        )

    def rank(self, query: Query, text: str) -> Ranking:
        """Score the best candidates inside the filters, without threshold or diversity: what `retrieve` chooses from.

        Statistics (IDF, lengths) come from trusted rows, whatever the filters; rows that may not be injected are
        scored alike and kept apart as `held`.
        """
        catalog = self._snapshot.catalog
        own, imported = self._policy.own.rank, self._policy.imported.rank
        trusted = catalog.mask(Filter(min_trust=own, min_trust_imported=imported))
        inside = catalog.mask(Filter(query.application, query.env))
        if query.exclude_session:
            inside &= catalog.column("session") != name_hash(query.exclude_session)
        harmless = ~harmful(catalog)
        lexical = lexical_scores(catalog, text, trusted)
        vector, degraded = self._vector(text)
        fusion = self._fusion.degraded() if vector is None else self._fusion
        open_rows, held_rows = inside & trusted & harmless, inside & ~(trusted & harmless)
        limits = Filter(query.application, query.env, own, imported)
        best = float(lexical[open_rows].max(initial=0.0))
        scored = self._score(self._pool(lexical, open_rows, vector, limits), lexical, vector, fusion, best)
        held = self._score(_top(lexical, held_rows, POOL), lexical, vector, fusion, best)
        return Ranking(*scored, fusion=fusion, degraded=degraded, held=held[0], held_score=held[1])

    def _vector(self, text: str) -> tuple[Floats | None, str | None]:
        if not len(self._snapshot.index):
            return None, self._snapshot.reason
        try:
            return self._embedder.embed([text], "query")[0], None
        except ServiceError as error:
            return None, f"embeddings unavailable: {error}"

    def _pool(self, lexical: Floats, rows: Mask, vector: Floats | None, filter: Filter) -> Rows:
        """Row numbers that words or vectors put forward."""
        pool = _top(lexical, rows, POOL)
        if vector is None:
            return pool
        near = self._snapshot.index.search(vector[None], POOL, filter)[0]
        found = self._snapshot.catalog.find([identifier for identifier, _ in near])
        found = found[found >= 0]
        return np.union1d(pool, found[rows[found]])

    def _score(
        self, pool: Rows, lexical: Floats, vector: Floats | None, fusion: Fusion, best: float
    ) -> tuple[Rows, Floats, Floats, Floats]:
        """The pool, best first (ties by id), with its scores and their two parts."""
        catalog = self._snapshot.catalog
        cosine = np.full(len(pool), np.nan, np.float32)
        if vector is not None and len(pool):
            cosine = self._snapshot.index.similarity(vector, catalog.ids(pool))
        score = np.round(fusion.combine(lexical[pool], cosine, best) * drag(catalog, pool), 6)
        order = np.lexsort((catalog.column("id")[pool], -score))
        return pool[order], score[order], lexical[pool][order], cosine[order]

    def _choose(self, text: str, ranking: Ranking, threshold: float, failed: bool) -> Iterator[int]:
        """Places in the ranking, best first: at or above the threshold, no opposites, one per group and session."""
        catalog = self._snapshot.catalog
        is_failed = catalog.column("success")[ranking.rows] == 0
        passing = np.flatnonzero((ranking.score >= threshold) & (is_failed == failed))
        sessions: set[int] = set()
        for group in self._groups(ranking, passing):
            place = self._representative(ranking, group)
            session = int(catalog.column("session")[ranking.rows[place]])
            if session in sessions or conflict(text, catalog.text(int(ranking.rows[place]))):
                continue
            sessions |= {session} - {0}
            yield place

    def _groups(self, ranking: Ranking, places: Rows) -> list[list[int]]:
        """Near-duplicates together: the same intent in the same application."""
        catalog = self._snapshot.catalog
        groups: dict[tuple[int, int], list[int]] = {}
        for place in places.tolist():
            row = ranking.rows[place]
            key = (int(catalog.column("task")[row]), int(catalog.column("application")[row]))
            groups.setdefault(key, []).append(place)
        return list(groups.values())

    def _representative(self, ranking: Ranking, group: list[int]) -> int:
        """Of equals (scores within `EQUAL` of the best) the most useful, then the shortest, then the newest."""
        catalog = self._snapshot.catalog
        equals = [place for place in group if ranking.score[place] >= ranking.score[group[0]] - EQUAL]
        rows = ranking.rows[equals]
        useful = usefulness(catalog.column("helped")[rows], catalog.column("hurt")[rows])
        quality = outcome_quality(catalog.column("success")[rows], catalog.column("score")[rows])
        steps, created = catalog.column("steps")[rows], catalog.column("created")[rows]
        return equals[int(np.lexsort((rows, -created, -quality, steps, -useful))[0])]

    def _load(
        self, chosen: Iterator[int], ranking: Ranking, k: int, notes: list[str], now: datetime | None
    ) -> tuple[Hit, ...]:
        """Read the records of the first `k` chosen places; one that cannot be read is named and left out."""
        catalog = self._snapshot.catalog
        hits: list[Hit] = []
        for place in chosen:
            try:
                experience = self._store.get(catalog.ids(ranking.rows[place : place + 1])[0])
            except DataError as error:
                notes.append(f"left out: {error}")
                continue
            explanation = self._explain(ranking, place, now)
            score = float(ranking.score[place])
            hits.append(
                Hit(experience=experience, score=score, ranked_by=ranking.fusion.ranked_by, explanation=explanation)
            )
        return tuple(hits)

    def _explain(self, ranking: Ranking, place: int, now: datetime | None) -> dict[str, float]:
        catalog, row = self._snapshot.catalog, ranking.rows[place : place + 1]
        age = (now or datetime.now(timezone.utc)).timestamp() - catalog.column("created")[row]
        parts = {
            "lexical": ranking.lexical[place],
            "vector": ranking.cosine[place],
            "drag": drag(catalog, row)[0],
            "usefulness": usefulness(catalog.column("helped")[row], catalog.column("hurt")[row])[0],
            "outcome_quality": outcome_quality(catalog.column("success")[row], catalog.column("score")[row])[0],
            "recency": recency(age)[0],
        }
        return {name: round(float(value), 6) for name, value in parts.items() if not np.isnan(value)}

    def _withheld(self, text: str, ranking: Ranking, threshold: float) -> tuple[str, ...]:
        """Ids that would have answered if they were trusted (or had not hurt)."""
        catalog = self._snapshot.catalog
        rows = ranking.held[ranking.held_score >= threshold]
        return tuple(
            catalog.ids(np.array([row for row in rows if not conflict(text, catalog.text(int(row)))], np.int64))
        )


def _top(scores: Floats, rows: Mask, count: int) -> Rows:
    """Row numbers of the `count` best positive scores among `rows`, in row order."""
    candidates = np.flatnonzero(rows & (scores > 0))
    if len(candidates) > count:
        edge = np.partition(scores[candidates], -count)[-count]
        candidates = candidates[scores[candidates] >= edge]
    return candidates
