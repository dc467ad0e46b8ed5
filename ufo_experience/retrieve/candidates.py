"""Candidates for a query: what words and vectors put forward inside the filters, ordered and scored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.base import Filter
from ufo_experience.index.catalog import Catalog, Mask, key_hash
from ufo_experience.index.snapshot import Snapshot
from ufo_experience.retrieve.agreement import CatalogAgreement, Records
from ufo_experience.retrieve.answer import Why
from ufo_experience.retrieve.background import SAMPLE, EmbedderQuality, Scale, heard_in_store, measure_scale
from ufo_experience.retrieve.credit import harmful, usage_factor
from ufo_experience.retrieve.differences import is_way_back
from ufo_experience.retrieve.features import WordWeights, as_array, compare_all
from ufo_experience.retrieve.filled_in import LIKELY, SAME_WORDS, fills_in, has_other_values
from ufo_experience.retrieve.fusion import Floats, Signals, order, relevance
from ufo_experience.retrieve.known_texts import KnownText, KnownTexts
from ufo_experience.retrieve.lexical import LexicalIndex
from ufo_experience.retrieve.matches import Matches
from ufo_experience.retrieve.pool import POOL, count_runs_to, pooled, thinned
from ufo_experience.retrieve.standing import LARGE, STANDING, runs_of, standing
from ufo_experience.schema import Trust
from ufo_experience.text.frames import Frame, request_frames
from ufo_experience.trust.policy import INCOMPLETE, TrustPolicy

LOOKED_AT = 8  # of the best, for a request that fills in what they leave open
WAY_BACK = 0.5  # the most that a way scores of which a request asks for the way back
MAX_FILTERS = 8  # whose rows are kept, a byte each
MAX_STEMS = 8_192  # whose weights are kept: some 3 MB
Vector = NDArray[np.float32]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Candidates:
    """Row numbers of the catalog by `order`, best first (ties by id), their scores, and the signals behind them;
    `before_judge` are the scores before a judge was heard.
    """

    rows: Rows
    order: Floats
    score: Floats
    signals: Signals
    cosine: Floats
    standing: Floats
    before_judge: Floats | None = None


_NONE = np.empty(0, np.float64)
_NOBODY = Candidates(
    np.empty(0, np.int64),
    _NONE,
    _NONE,
    Signals(_NONE, _NONE, as_array([]), _NONE, _NONE),
    _NONE,
    np.empty((0, len(STANDING))),
)


@dataclass(frozen=True)
class Embedded:
    """The vector of a query, and the quality of the embedder that made it."""

    vector: Vector
    quality: EmbedderQuality


class CandidateFinder:
    """Finds candidates in one snapshot. Statistics come from trusted rows, whatever the filters of a query.

    `trusted` says which rows may be injected, `agreement` what their runs agree on,
    `size` is the number of runs they come from, as far as it is heard (`LARGE`).
    """

    def __init__(
        self,
        snapshot: Snapshot,
        policy: TrustPolicy,
        before: CandidateFinder | None = None,
        counted: Mask | None = None,
        records: Records | None = None,
    ) -> None:
        """What the finder of an earlier snapshot worked out and still holds is taken from it.

        `counted` are the rows that statistics come from, where these are not the trusted ones. `records` are
        opened for the constants their runs agree on.
        """
        self.snapshot, self.policy = snapshot, policy
        self._limits = Filter(min_trust=policy.own.rank, min_trust_imported=policy.imported.rank)
        self.trusted = snapshot.catalog.mask(self._limits)
        self._servable = self.trusted & ~harmful(snapshot.catalog)
        told = self.trusted if counted is None else counted
        self._words: LexicalIndex = LexicalIndex(
            snapshot.catalog,
            told,
            published=snapshot.catalog.as_published(self._limits) if counted is None else None,
            before=before._words if before else None,
        )
        self._inside: dict[tuple[str | None, str | None], Mask] = {}
        self.texts: KnownTexts = KnownTexts(snapshot.catalog, before.texts if before else None)
        unchanged = before is not None and self._words.counts_as(before._words)
        self._weights: WordWeights = before._weights if before and unchanged else self._no_weights()
        self.size = count_runs_to(LARGE, snapshot.catalog.column("session"), told)
        self.embedder_quality: EmbedderQuality | None = before.embedder_quality if before else None
        self._sample = _distinct_tasks(snapshot.catalog, told)
        same = before is not None and before.is_of(snapshot) and np.array_equal(before._sample, self._sample)
        self._heard: float | None = before._heard if before and same else None
        known: CatalogAgreement | None = before.agreement if before else None
        self.agreement: CatalogAgreement = CatalogAgreement(snapshot.catalog, self.trusted, records, known)

    def is_of(self, snapshot: Snapshot) -> bool:
        """True for a snapshot of the same generation."""
        return self.snapshot.catalog.terms[0] is snapshot.catalog.terms[0]

    def is_harmful(self, row: int) -> bool:
        """True where the record of this row is trusted, and has hurt so often that it is not injected any more."""
        return bool(self.trusted[row] and not self._servable[row])

    def why_held(self, row: int) -> Why:
        """Why the record of this row may not be injected: by its trust, or harmful (by what became)."""
        if self.is_harmful(row):
            return "harmful"
        trust = int(self.snapshot.catalog.column("trust")[row])
        return "quarantined" if trust == Trust.QUARANTINED.rank else "unproven"

    def vector_weight(self, quality: EmbedderQuality) -> float:
        """The weight of an embedder's vectors in this store, from 0 to 1: by the references, and by the store's tasks.

        An index on a server keeps its vectors: there the references alone decide.
        """
        if self._heard is None and quality.weight > 0:
            catalog = self.snapshot.catalog
            places, vectors = self.snapshot.index.vectors_of(catalog.ids(self._sample))
            self._heard = heard_in_store(vectors, [catalog.text(row) for row in self._sample[places].tolist()])
        return quality.weight * (self._heard or 0.0)

    def usage_factor(self, rows: Rows) -> NDArray[np.float32]:
        """Factor on the score of each row by what became of it, and how long ago."""
        return usage_factor(self.snapshot.catalog, rows, self.policy.stale_before())

    def inside(self, application: str | None, env: str | None) -> Mask:
        """The live rows of an application and environment (None: of any), whatever their trust; not to be changed."""
        found = self._inside.get((application, env))
        if found is None:
            found = self.snapshot.catalog.mask(Filter(application, env, min_trust=-1, min_trust_imported=-1))
            if len(self._inside) >= MAX_FILTERS:
                self._inside.clear()
            self._inside[application, env] = found
        return found

    def unfollowable(self, application: str | None, env: str | None) -> int:
        """How many live records of an application and environment nobody could follow; none of them is inside."""
        everything = Filter(application, env, min_trust=INCOMPLETE, min_trust_imported=INCOMPLETE)
        alive = self.snapshot.catalog.mask(everything) & ~self.inside(application, env)
        return int(np.count_nonzero(alive))

    def find(
        self,
        text: str,
        query: Embedded | None,
        *,
        application: str | None = None,
        env: str | None = None,
        exclude_session: str | None = None,
        only: Collection[str] | None = None,
        without: Rows | None = None,
    ) -> tuple[Candidates, Candidates]:
        """(candidates that may be injected, those that may not), both inside the filters.

        `only` are the ids that may answer at all (None means any), `without` rows that may not.
        """
        inside = self.inside(application, env)
        if only is not None or without is not None or exclude_session:
            inside = inside.copy()
        if only is not None:
            inside &= self._among(only)
        if without is not None:
            inside[without] = False
        if exclude_session:
            inside &= self.snapshot.catalog.column("session") != key_hash(exclude_session)
        matches, catalog = self._words.matches(text), self.snapshot.catalog
        servable, blocked = inside & self._servable, inside & ~self._servable
        pool = thinned(catalog, *pooled(catalog, matches, servable))
        short = thinned(catalog, *pooled(catalog, matches, servable, by_length=True))
        pool = _either(pool, short)  # all about it, with little beside
        if query is not None:
            limits = replace(self._limits, application=application, env=env)
            vector = query.vector
            near = self._near(vector, servable, limits) if only is None else self._nearest_of(vector, servable)
            pool = _either(pool, thinned(catalog, near))
        held = thinned(catalog, *pooled(catalog, matches, blocked))
        scale = self._scale(query) if query else None
        seen = _Seen(request_frames(text), matches, query, scale, application is not None)
        best = matches.best_skeleton(servable)
        return self._judged(seen, pool, best), self._judged(seen, held, best)

    def _scale(self, query: Embedded) -> Scale:
        own = self.snapshot.index.similarity(query.vector, self.snapshot.catalog.ids(self._sample))
        background = np.concatenate([own, query.quality.references @ query.vector]).astype(np.float64)
        return measure_scale(background, query.quality.reworded)

    def _near(self, vector: Vector, usable: Mask, filter: Filter) -> Rows:
        """Rows whose vectors are nearest."""
        near = self.snapshot.index.search(vector[None], POOL, filter)[0]
        rows = self.snapshot.catalog.find([identifier for identifier, _ in near])
        rows = rows[rows >= 0]
        return rows[usable[rows]]

    def _nearest_of(self, vector: Vector, usable: Mask) -> Rows:
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

    def _judged(self, seen: _Seen, rows: Rows, best: float) -> Candidates:
        if not len(rows):
            return _NOBODY
        catalog = self.snapshot.catalog
        skeleton, words = seen.matches.at(rows)
        cosine, near, deviations = self._distances(seen, rows)
        texts = [self.texts[row] for row in rows.tolist()]
        signals = Signals(
            skeleton=skeleton.astype(np.float64),
            words=words.astype(np.float64),
            pair=self._compared(seen.clauses, texts),
            near=near,
            deviations=deviations,
            vector_weight=self.vector_weight(seen.query.quality) if seen.query else 0.0,
        )
        ranked = np.round(order(signals, best), 6)
        same = runs_of(int(np.argmax(ranked)), texts, catalog.column("task")[rows])
        length, is_named = len(seen.clauses[0].stems), seen.application_named
        tasks, applications = (catalog.column(name)[rows] for name in ("task", "application"))
        among = standing(
            ranked,
            signals.words,
            signals.meaning,
            near,
            same,
            best,
            self.size,
            length,
            tasks,
            applications,
            is_named=is_named,
        )
        factor = self.usage_factor(rows)
        said = [one.frame.stems for one in texts]
        likely = self._filled_in(seen.clauses[0].stems, said, rows, ranked, relevance(signals, among))
        turned = [is_way_back(seen.clauses[0], one.frame) for one in texts]
        likely = np.where(turned, np.minimum(likely, WAY_BACK), likely)
        score, ranked = np.round(likely * factor, 6), np.round(ranked * factor, 6)
        top = np.lexsort((catalog.column("id")[rows], -ranked))
        return Candidates(rows[top], ranked[top], score[top], signals.taken(top), cosine[top], among.table()[top])

    def _filled_in(
        self, asked: Sequence[str], said: Sequence[tuple[str, ...]], rows: Rows, ranked: Floats, score: Floats
    ) -> Floats:
        """The scores, raised where the request is in the words of one of the best candidates, which say this, or, where
        it is not, fills in what one or two of them leave open. Other runs of the task that is asked for in the very
        words are likely, and no equals."""
        words = frozenset(asked)
        near = [place for place, one in enumerate(said) if one and 2 * len(words.intersection(one)) >= len(one)]
        raised: Floats = score.copy()
        is_known = (*asked,) in said
        if is_known:
            tasks = self.snapshot.catalog.column("task")[rows]
            others = (tasks == tasks[said.index((*asked,))]) & [one != (*asked,) for one in said]
            raised[others] = np.minimum(raised[others], LIKELY)
        for place in sorted(near, key=lambda one: -ranked[one])[:LOOKED_AT]:
            if (*asked,) == said[place]:
                raised[place] = max(score[place], SAME_WORDS)
            elif not is_known and score[place] < LIKELY and self._is_filled_in(asked, place, near, said, rows):
                raised[place] = LIKELY
        return raised

    def _is_filled_in(
        self, asked: Sequence[str], place: int, near: Sequence[int], said: Sequence[tuple[str, ...]], rows: Rows
    ) -> bool:
        """True where the request fills in what this candidate leaves open, or it and another one of the same steps."""
        open_places = self.texts[int(rows[place])].frame.open_places
        if has_other_values(asked, said[place], open_places):
            return True
        same = self.agreement.same_steps(int(rows[place]), rows[near])
        others = (said[other] for other, is_same in zip(near, same, strict=True) if is_same)
        return any(other != said[place] and fills_in(asked, said[place], other) for other in others)

    def _distances(self, seen: _Seen, rows: Rows) -> tuple[Floats, Floats, Floats]:
        """The cosine of the query with each row, `near` and deviations; NaN without."""
        if seen.query is None or seen.scale is None or not len(rows):
            hidden = np.full(len(rows), np.nan)
            return hidden, hidden, hidden
        ids = self.snapshot.catalog.ids(rows)
        cosine = self.snapshot.index.similarity(seen.query.vector, ids).astype(np.float64)
        return cosine, seen.scale.near(cosine), seen.scale.deviations(cosine)

    def _compared(self, clauses: Sequence[Frame], texts: Sequence[KnownText]) -> Floats:
        """The features of the clause that fits best and each text; of those that read alike once."""
        different = dict.fromkeys(texts)
        weights = self._weights
        new = (frame for one in different if not one.is_weighed(weights) for frame in one.frames)
        weights = self._with_weights(weights, {stem for frame in (*clauses, *new) for stem in frame.stems})
        pairs = compare_all(clauses, {one: one.weighed(weights) for one in different}, weights)
        return as_array([pairs[one] for one in texts])

    def _no_weights(self) -> WordWeights:
        return WordWeights({}, {}, self._words.rarest)

    def _with_weights(self, weights: WordWeights, stems: set[str]) -> WordWeights:
        """Weights that know these stems, too."""
        unknown = [stem for stem in stems if stem not in weights.idf]
        if unknown:
            shares, rarities = self._words.weights_of(unknown)
            weights.value_share.update(zip(unknown, shares, strict=True))
            weights.idf.update(zip(unknown, rarities, strict=True))
        if len(weights.idf) > MAX_STEMS:
            self._weights = self._no_weights()
        return weights


@dataclass(frozen=True)
class _Seen:
    """What is known of a query before its candidates are compared."""

    clauses: Sequence[Frame]
    matches: Matches
    query: Embedded | None
    scale: Scale | None
    application_named: bool


def _distinct_tasks(catalog: Catalog, trusted: Mask) -> Rows:
    """Rows of different tasks among the trusted ones, `SAMPLE` at most; ids are hashes, so any will do."""
    rows = np.flatnonzero(trusted[: 40 * SAMPLE])[: 20 * SAMPLE]
    if len(rows) < 20 * SAMPLE:
        rows = np.flatnonzero(trusted)[: 20 * SAMPLE]
    tasks = catalog.column("task")[rows]
    order = np.argsort(tasks, kind="stable")
    named = tasks[order]
    first = order[np.append(True, named[1:] != named[:-1])[: len(named)]]
    return np.sort(rows[first])[:SAMPLE]


def _either(some: Rows, others: Rows) -> Rows:
    """The rows of both, in order, each once (`union1d` would load what a first question need not wait for)."""
    return np.array(sorted({*some.tolist(), *others.tolist()}), np.int64)
