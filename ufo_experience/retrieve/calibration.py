"""Find the threshold of the embedder in use: the lowest score at which a stated share of what passes is relevant.

Pairs of a request and a record come from a file of labels, or from the store itself: of each record asked for, the
best other record of its intent is relevant, and the best stranger (another intent, in another application where the
store knows several) is not. A pair is scored as the retriever scores it, by words and vectors together and by words
alone: two scores, two thresholds. Opposites never pass, whatever the threshold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ufo_experience.embed.base import Embedder
from ufo_experience.errors import DataError, UsageError
from ufo_experience.store.files import read_lines
from ufo_experience.store.strict_json import parse
from ufo_experience.ids import content_id
from ufo_experience.index.catalog import Catalog, Mask, entry_of
from ufo_experience.index.document import task_text
from ufo_experience.index.manifest import Calibration
from ufo_experience.index.snapshot import insert
from ufo_experience.redact import redact_text
from ufo_experience.retrieve.background import REFERENCES, measure_embedder
from ufo_experience.retrieve.candidates import CandidateFinder, Candidates, Embedded
from ufo_experience.retrieve.contradictions import conflict
from ufo_experience.retrieve.fusion import fusion_for
from ufo_experience.schema import MAX_TEXT, Experience, Outcome, State, Trust
from ufo_experience.store.base import ExperienceStore
from ufo_experience.text.frames import readable_intent
from ufo_experience.text.slots import mask_slots

PRECISION = 0.95
MIN_PAIRS = 10  # of each kind from a store; with fewer the threshold would be a guess
SAMPLE = 400  # records of a store that are asked for
_NEVER = -1.0  # score of a pair that no threshold lets pass


MAX_LABELS = 1 << 26  # bytes of a file of labels


@dataclass(frozen=True)
class LabelledPair:
    """A request, the text of a record, and whether the record helps with the request."""

    query: str
    text: str
    relevant: bool


@dataclass(frozen=True)
class Scored:
    """A pair's scores by words and vectors (`fused`) and by words alone."""

    relevant: bool
    fused: float
    words: float


@dataclass(frozen=True)
class Cut:
    """A threshold, and the precision and recall of the pairs at or above it."""

    threshold: float
    precision: float
    recall: float


def read_pairs(path: Path, store: ExperienceStore) -> list[LabelledPair]:
    """Labelled pairs, one JSON object a line: `query`, `relevant`, and `id` (of a record) or `text`.

    Raises:
        DataError: naming file, line and field.
    """
    return [_pair(line, number, path, store) for number, line in read_lines(path, MAX_LABELS)]


def calibrate(
    finder: CandidateFinder,
    embedder: Embedder,
    pairs: Sequence[LabelledPair] | None = None,
    *,
    precision: float = PRECISION,
) -> Calibration:
    """The thresholds of `embedder` for the records of `finder`, from `pairs` or (without) from the records.

    Raises:
        UsageError: `precision` is not in (0, 1].
        DataError: too few pairs, or no threshold is that precise.
        ServiceError: the embedder cannot answer.
    """
    if not 0.0 < precision <= 1.0:
        raise UsageError(f"precision must lie in (0, 1], not {precision}")
    if pairs is None:
        scored, least, cure = list(_from_records(finder, embedder)), MIN_PAIRS, "; give --labels FILE"
    else:
        scored, least, cure = _score(finder, embedder, pairs), 1, ""
    kinds = [sum(one.relevant is kind for one in scored) for kind in (True, False)]
    if min(kinds) < least:
        raise DataError(f"{kinds[0]} relevant and {kinds[1]} other pairs are too few (at least {least} each){cure}")
    relevant = np.array([one.relevant for one in scored])
    # Labels show what must still pass. Records of one intent are too alike for that: they show what must not.
    fused, words = (
        find_cut(np.array(scores), relevant, precision, lowest=pairs is None)
        for scores in ([one.fused for one in scored], [one.words for one in scored])
    )
    if fused is None:
        raise DataError(f"no threshold reaches a precision of {precision} on these {len(scored)} pairs")
    return Calibration(
        embedder=embedder.name,
        threshold=fused.threshold,
        precision=round(fused.precision, 4),
        recall=round(fused.recall, 4),
        pairs=len(scored),
        lexical_threshold=words.threshold if words else None,
    )


def find_cut(
    scores: NDArray[np.float64], relevant: NDArray[np.bool_], precision: float, *, lowest: bool = False
) -> Cut | None:
    """The threshold with the most recall at which at least `precision` of what passes is relevant; None without one.

    Of several the highest, or the `lowest`. It lies half-way to the next lower score, so that what is like the last
    that passed passes, too.
    """
    levels = np.unique(scores[scores > _NEVER])[::-1]
    best = Cut(threshold=1.0, precision=0.0, recall=0.0)
    for place, level in enumerate(levels):
        passing = scores >= level
        right, recall = float(relevant[passing].mean()), float(relevant[passing].sum() / max(relevant.sum(), 1))
        if right >= precision and (recall > best.recall or (lowest and recall == best.recall)):
            below = levels[place + 1] if place + 1 < len(levels) else level
            best = Cut(round(float(level + below) / 2, 6), right, recall)
    return best if best.recall else None


def _pair(line: str, number: int, path: Path, store: ExperienceStore) -> LabelledPair:
    def wrong(message: str, field: str | None = None) -> DataError:
        return DataError(message, file=str(path), line=number, field=field)

    row = parse(line, file=str(path), line=number)
    if not isinstance(row, dict):
        raise wrong("not an object")
    if not isinstance(row.get("query"), str) or not row["query"].strip():
        raise wrong("not a text", "query")
    if not isinstance(row.get("relevant"), bool):
        raise wrong("not true or false", "relevant")
    target = row.get("text") if "text" in row else row.get("id")
    if not isinstance(target, str) or not target.strip():
        raise wrong("a pair needs the id of a record, or a text", "text" if "text" in row else "id")
    text = target if "text" in row else task_text(store.get(target))
    return LabelledPair(redact_text(row["query"])[:MAX_TEXT], redact_text(text)[:MAX_TEXT], row["relevant"])


def _score(finder: CandidateFinder, embedder: Embedder, pairs: Sequence[LabelledPair]) -> list[Scored]:
    """Score pairs as if their texts were records of the store that change none of its statistics."""
    catalog = finder.snapshot.catalog
    records = {text: entry_of(one) for text, one in _records(dict.fromkeys(pair.text for pair in pairs)).items()}
    index = finder.snapshot.index.copy()
    embedded = _ask(embedder, [pair.query for pair in pairs])
    if embedded:
        insert(index, list(records.values()), embedder)
    snapshot = replace(finder.snapshot, catalog=catalog.with_changes(list(records.values())), index=index)
    counted = np.append(finder.trusted, np.zeros(len(records), np.bool_))
    asked = CandidateFinder(snapshot, finder.policy, counted=counted)
    rows = dict(zip(records, snapshot.catalog.find([one.id for one in records.values()]).tolist(), strict=True))
    scored = []
    for pair in pairs:
        passes = conflict(pair.query, pair.text) is None
        fused, words = (
            _score_of(asked.find(pair.query, query)[0], rows[pair.text]) if passes else _NEVER
            for query in (embedded.get(pair.query), None)
        )
        scored.append(Scored(pair.relevant, fused, words))
    return scored


def _score_of(found: Candidates, row: int) -> float:
    """The score of a row; 0 when it is not even a candidate."""
    return float(found.score[found.rows == row].max(initial=0.0))


def _ask(embedder: Embedder, texts: Sequence[str]) -> dict[str, Embedded]:
    """The vectors of queries; none of an embedder whose vectors do not count."""
    if not fusion_for(embedder.name, None).uses_vectors:
        return {}
    quality = measure_embedder(embedder.embed(list(REFERENCES), "query"))
    if not quality.weight:
        return {}
    vectors = embedder.embed([readable_intent(text) for text in texts], "query")
    return {text: Embedded(vector, quality) for text, vector in zip(texts, vectors, strict=True)}


def _records(texts: Iterable[str]) -> dict[str, Experience]:
    now, outcome = datetime.now(timezone.utc), Outcome(success=True)
    return {
        text: Experience(
            id=content_id(["pair", text]),
            state=State(task=mask_slots(text) or text, request=text),
            outcome=outcome,
            created_at=now,
            trust=Trust.APPROVED,
        )
        for text in texts
    }


def _from_records(finder: CandidateFinder, embedder: Embedder) -> Iterator[Scored]:
    """The best of the same intent and the best stranger, of a sample of the records that have both: as many of each,
    lest the threshold depend on how often a store repeats itself."""
    catalog = finder.snapshot.catalog
    rows = np.random.default_rng(0).permutation(np.flatnonzero(finder.trusted & _repeated(catalog)))[:SAMPLE]
    embedded = _ask(embedder, [catalog.text(int(row)) for row in rows])
    for row in rows.tolist():
        text = catalog.text(row)
        best = [_best_of_kinds(catalog, row, text, finder.find(text, query, without=_own(catalog, row))[0])
                for query in (embedded.get(text), None)]  # fmt: skip
        if all(None not in one for one in best):
            for relevant, place in ((True, 0), (False, 1)):
                yield Scored(relevant, float(best[0][place] or 0.0), float(best[1][place] or 0.0))


def _own(catalog: Catalog, row: int) -> NDArray[np.int64]:
    """The row itself, and the other rows of its session."""
    session = catalog.column("session")
    return np.flatnonzero(session == session[row]) if session[row] else np.array([row])


def _best_of_kinds(catalog: Catalog, row: int, text: str, found: Candidates) -> tuple[float | None, float | None]:
    """The best score of the same intent, and of a stranger; None where there is none."""
    passing = np.array([conflict(text, catalog.text(int(other))) is None for other in found.rows], np.bool_)
    same, strange = (kind & passing for kind in _kinds(catalog, row, found))
    return tuple(float(found.score[kind].max()) if kind.any() else None for kind in (same, strange))  # type: ignore[return-value]


def _repeated(catalog: Catalog) -> Mask:
    """Rows whose task more than one row has."""
    _, place, times = np.unique(catalog.column("task"), return_inverse=True, return_counts=True)
    repeated: Mask = times[place] > 1
    return repeated


def _kinds(catalog: Catalog, row: int, found: Candidates) -> tuple[Mask, Mask]:
    """Which candidates of another session have the intent of this record, and which are strangers to it."""
    column = catalog.column
    same = column("task")[found.rows] == column("task")[row]
    strange = ~same
    if len(np.unique(column("application")[catalog.live])) > 1:
        strange &= column("application")[found.rows] != column("application")[row]
    return same, strange
