"""Candidates for a query: what words and vectors put forward inside the filters, ordered and scored."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.base import Filter
from ufo_experience.index.catalog import Mask, key_hash
from ufo_experience.index.snapshot import Snapshot
from ufo_experience.retrieval.agreement import CatalogAgreement
from ufo_experience.retrieval.answer import Why
from ufo_experience.retrieval.fusion import Fusion
from ufo_experience.retrieval.lexical import LexicalIndex
from ufo_experience.retrieval.signals import drag, harmful
from ufo_experience.trust.policy import TrustPolicy

POOL = 100  # candidates that words and vectors each put forward
WORDS_ALONE = 3 * POOL  # where vectors put forward none: enough that near-duplicates of one task crowd out no other
PER_RUN = 4  # of these: more of one run only when many runs are in the pool
_ROUNDING = 1e-6
Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Candidates:
    """Row numbers of the catalog by `order`, best first (ties by id), and what they were judged by."""

    rows: Rows
    order: Floats
    score: Floats
    share: Floats
    coverage: Floats
    cosine: Floats


@dataclass(frozen=True)
class Words:
    """What the words of a query say of every row."""

    share: Floats
    coverage: Floats


class CandidateFinder:
    """Finds candidates in one snapshot. Statistics come from trusted rows, whatever the filters of a query.

    `trusted` says which rows may be injected, `agreement` what their runs agree on,
    `size` is the number of runs they come from.
    """

    def __init__(self, snapshot: Snapshot, policy: TrustPolicy, before: CandidateFinder | None = None) -> None:
        """What the finder of an earlier snapshot worked out and still holds is taken from it."""
        self.snapshot, self.policy = snapshot, policy
        self._limits = Filter(min_trust=policy.own.rank, min_trust_imported=policy.imported.rank)
        self.trusted = snapshot.catalog.mask(self._limits)
        self._open = self.trusted & ~harmful(snapshot.catalog)
        self._words: LexicalIndex = LexicalIndex(
            snapshot.catalog,
            self.trusted,
            published=snapshot.catalog.as_published(self._limits),
            before=before._words if before else None,
        )
        self.size = _count_runs(snapshot.catalog.column("session")[self.trusted])
        self.agreement = CatalogAgreement(snapshot.catalog, self.trusted)

    def why_held(self, row: int) -> Why:
        """Why the record of this row may not be injected: unproven (by trust) or harmful (by what became)."""
        if self.trusted[row]:
            return "harmful"
        return "unproven"

    def find(
        self,
        text: str,
        vector: Floats | None,
        fusion: Fusion,
        *,
        application: str | None = None,
        env: str | None = None,
        exclude_session: str | None = None,
        only: Collection[str] | None = None,
        floor: float | None = None,
    ) -> tuple[Candidates, Candidates]:
        """(candidates that may be injected, those that may not), both inside the filters.

        `only` are the ids that may answer at all; None means any. Candidates below `floor` may be left out: where words
        alone make the score, they choose among what reaches it, and vectors say no more than which of these is better.
        """
        inside = self.snapshot.catalog.mask(Filter(application, env, min_trust=-1, min_trust_imported=-1))
        if only is not None:
            inside &= self._among(only)
        if exclude_session:
            inside &= self.snapshot.catalog.column("session") != key_hash(exclude_session)
        words = Words(*self._words.scores(text))
        usable, held = inside & self._open, inside & ~self._open
        best = float(np.max(words.share, where=usable, initial=0.0))
        bar = None if fusion.score_voice else floor
        if bar is not None:
            reach = words.coverage >= bar - _ROUNDING
            usable, held = usable & reach, held & reach
        pool = self._top(words.share, usable, POOL if bar is None else WORDS_ALONE)
        if vector is not None and bar is None:
            limits = replace(self._limits, application=application, env=env)
            near = self._near(vector, usable, limits) if only is None else self._nearest_of(vector, usable)
            pool = np.union1d(pool, near)
        judge = self._judge(words, vector, fusion, best)
        return judge(pool), judge(self._top(words.share, held))

    def _top(self, scores: Floats, rows: Mask, count: int = POOL) -> Rows:
        """The best rows; where few runs fill the pool (a flood), no run has more than `PER_RUN` rows in it."""
        best = _top(scores, rows, count)
        sessions = self.snapshot.catalog.column("session")
        if len(best) < count or _count_runs(sessions[best]) >= count // PER_RUN:
            return best
        return _top(scores, rows & _first_of_each(scores, rows, sessions), count)

    def _near(self, vector: Floats, usable: Mask, filter: Filter) -> Rows:
        """Rows whose vectors are nearest."""
        near = self.snapshot.index.search(vector[None], POOL, filter)[0]
        rows = self.snapshot.catalog.find([identifier for identifier, _ in near])
        rows = rows[rows >= 0]
        return rows[usable[rows]]

    def _nearest_of(self, vector: Floats, usable: Mask) -> Rows:
        """Rows of `usable` whose vectors are nearest, all compared: an index cannot filter by arbitrary ids."""
        rows = np.flatnonzero(usable)
        cosine = self.snapshot.index.similarity(vector, self.snapshot.catalog.ids(rows))
        rows, cosine = rows[~np.isnan(cosine)], cosine[~np.isnan(cosine)]
        return rows[np.argsort(-cosine, kind="stable")[:POOL]]

    def _among(self, ids: Collection[str]) -> Mask:
        rows = self.snapshot.catalog.find(list(ids))
        mask = np.zeros(len(self.snapshot.catalog.rows), np.bool_)
        mask[rows[rows >= 0]] = True
        return mask

    def _judge(self, words: Words, vector: Floats | None, fusion: Fusion, best: float) -> Callable[[Rows], Candidates]:
        catalog, index = self.snapshot.catalog, self.snapshot.index

        def judge(rows: Rows) -> Candidates:
            share, coverage = words.share[rows], words.coverage[rows]
            cosine = np.full(len(rows), np.nan, np.float32)
            if vector is not None and len(rows):
                cosine = index.similarity(vector, catalog.ids(rows))
            factor = drag(catalog, rows)
            order = np.round(fusion.order(share, cosine, best) * factor, 6)
            score = np.round(np.clip(fusion.score(coverage, cosine) * factor, 0.0, 1.0), 6)
            top = np.lexsort((catalog.column("id")[rows], -order))
            return Candidates(rows[top], order[top], score[top], share[top], coverage[top], cosine[top])

        return judge


def _first_of_each(scores: Floats, rows: Mask, sessions: NDArray[np.uint64]) -> Mask:
    """The `PER_RUN` best rows of each session, and all that have none."""
    candidates = np.flatnonzero(rows)
    order = candidates[np.lexsort((-scores[candidates], sessions[candidates]))]
    named = sessions[order]
    first = np.searchsorted(named, named)
    mask = np.zeros(len(rows), np.bool_)
    mask[order[(np.arange(len(order)) - first < PER_RUN) | (named == 0)]] = True
    return mask


def _count_runs(sessions: NDArray[np.uint64]) -> int:
    """How many runs the records come from: those of one session are one, those without a session one each."""
    named = sessions[sessions != 0]
    return len(np.unique(named)) + len(sessions) - len(named)


def _top(scores: Floats, rows: Mask, count: int) -> Rows:
    """Row numbers of the `count` best positive scores among `rows` (more where they tie), in row order."""
    candidates = np.flatnonzero(rows & (scores > 0))
    if len(candidates) > count:
        edge = np.partition(scores[candidates], -count)[-count]
        candidates = candidates[scores[candidates] >= edge]
    return candidates
