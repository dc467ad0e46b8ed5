"""Find the threshold for a store: the lowest score at which a stated share of what passes is relevant.

Pairs of a request and a record come from a file of labels, or from the store itself: of each record that was done more
than once, the best run of another session is relevant, and the best other task (of another application, where the
store knows several) is not. Nothing is written until `keep` is called.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from ufo_experience.errors import DataError, UsageError
from ufo_experience.index.base import ExperienceIndex, Row
from ufo_experience.request import Request
from ufo_experience.retrieve.retriever import Found, Query, Retriever
from ufo_experience.store.files import read_lines
from ufo_experience.store.strict_json import parse

PRECISION = 0.95
MIN_PAIRS = 10  # of each kind from a store; with fewer the threshold would be a guess
SAMPLE = 400  # records of a store that are asked for
MAX_LABELS = 1 << 26  # bytes of a file of labels
_KIND = "threshold"


@dataclass(frozen=True)
class LabelledPair:
    """A request, the id of a record, and whether the record helps with the request."""

    query: str
    id: str
    relevant: bool


@dataclass(frozen=True)
class Calibration:
    """A threshold for the vectors of one embedder, with the precision and recall of the pairs at or above it."""

    embedder: str
    threshold: float
    precision: float
    recall: float
    pairs: int


def read_pairs(path: Path, index: ExperienceIndex) -> list[LabelledPair]:
    """Labelled pairs, one JSON object a line: `query`, `relevant`, and `id` (of a record) or `text` (its task).

    Raises:
        DataError: naming file, line and field.
    """
    rows = index.rows()
    by_text = {row.task: row.id for row in rows}
    ids = [row.id for row in rows]
    return [
        _pair(parse(line, file=str(path), line=number), number, path, ids, by_text)
        for number, line in read_lines(path, MAX_LABELS)
    ]


def _pair(row: object, number: int, path: Path, ids: Sequence[str], by_text: dict[str, str]) -> LabelledPair:
    def fault(message: str, field: str) -> DataError:
        return DataError(message, file=str(path), line=number, field=field)

    if not isinstance(row, dict):
        raise DataError("not an object", file=str(path), line=number)
    query, relevant, id, text = (row.get(name) for name in ("query", "relevant", "id", "text"))
    if not isinstance(query, str) or not query.strip():
        raise fault("not a text", "query")
    if not isinstance(relevant, bool):
        raise fault("neither true nor false", "relevant")
    found = by_text.get(text) if isinstance(text, str) else None
    if isinstance(id, str) and id:
        found = next((one for one in ids if one.startswith(id)), None)
    if found is None:
        raise fault("no record has this id or task", "id" if id else "text")
    return LabelledPair(query, found, relevant)


def calibrate(
    retriever: Retriever, pairs: Sequence[LabelledPair] | None = None, *, precision: float = PRECISION
) -> Calibration:
    """The threshold for the records of a retriever, from `pairs` or (without) from the records.

    Raises:
        UsageError: `precision` is not in (0, 1].
        DataError: too few pairs, or no threshold is that precise.
    """
    if not 0.0 < precision <= 1.0:
        raise UsageError(f"precision must lie in (0, 1], not {precision}")
    scored = [*(_from_records(retriever) if pairs is None else _of_pairs(retriever, pairs))]
    kinds = [sum(relevant is kind for _, relevant in scored) for kind in (True, False)]
    cure = '; give --labels FILE with lines such as {"query": "email Bob", "id": "6935f48a…", "relevant": true}'
    least, cure = (MIN_PAIRS, cure) if pairs is None else (1, "")
    if min(kinds) < least:
        raise DataError(f"{kinds[0]} relevant and {kinds[1]} other pairs are too few (at least {least} each){cure}")
    # Labels show what must still pass. Runs of one task are too alike for that: they show what must not.
    found = find_cut(scored, precision, lowest=pairs is None)
    if found is None:
        raise DataError(f"no threshold reaches a precision of {precision} on these {len(scored)} pairs")
    threshold, right, recall = found
    return Calibration(retriever.embedder_name, threshold, round(right, 4), round(recall, 4), len(scored))


def find_cut(
    scored: Sequence[tuple[float, bool]], precision: float, *, lowest: bool = False
) -> tuple[float, float, float] | None:
    """The threshold with the most recall at which at least `precision` of what passes is relevant, with both; None
    without one. Of several the highest, or the `lowest`. It lies half-way to the next lower score.
    """
    levels = sorted({score for score, _ in scored}, reverse=True)
    most = max(sum(relevant for _, relevant in scored), 1)
    best: tuple[float, float, float] | None = None
    for place, level in enumerate(levels):
        passing = [relevant for score, relevant in scored if score >= level]
        right, recall = sum(passing) / len(passing), sum(passing) / most
        better = best is None or recall > best[2] or (lowest and recall == best[2])
        if right >= precision and better:
            below = levels[place + 1] if place + 1 < len(levels) else 0.0
            best = round((level + below) / 2, 4), right, recall
    return best


def keep(index: ExperienceIndex, calibration: Calibration) -> None:
    """Use this threshold from now on."""
    index.keep(_KIND, {calibration.embedder: json.dumps(asdict(calibration)).encode()})


def kept(index: ExperienceIndex, embedder: str) -> Calibration | None:
    """What was kept for this embedder."""
    found = index.kept(_KIND, [embedder]).get(embedder)
    return None if found is None else Calibration(**json.loads(found))


def _of_pairs(retriever: Retriever, pairs: Sequence[LabelledPair]) -> Iterator[tuple[float, bool]]:
    """The score of each pair; 0 where the record is no candidate, or says the opposite."""
    for pair in pairs:
        found, _ = retriever.rank(Request.parse(pair.query), Query(pair.query), trusted=False)
        own = next((one for one in found if one.row.id == pair.id and one.opposite is None), None)
        yield (own.score if own else 0.0), pair.relevant


def _from_records(retriever: Retriever) -> Iterator[tuple[float, bool]]:
    """The best of the same task and the best stranger, of a sample of the records that have both: as many of each,
    lest the threshold depend on how often a store repeats itself."""
    rows = [row for row in retriever.index.rows() if row.followable]
    times = Counter(row.task_key for row in rows)
    repeated = [row for row in rows if times[row.task_key] > 1]
    several = len({row.application for row in rows}) > 1
    for row in Random(0).sample(repeated, min(SAMPLE, len(repeated))):
        query = Query(row.task, exclude_session=row.session or None)
        found = [one for one in retriever.rank(row.request, query, trusted=False)[0] if one.opposite is None]
        same = _best(one for one in found if one.row.task_key == row.task_key and one.row.id != row.id)
        strange = _best(one for one in found if _is_stranger(one.row, row, several))
        if same is not None and strange is not None:
            yield same, True
            yield strange, False


def _is_stranger(row: Row, asked: Row, several: bool) -> bool:
    return row.task_key != asked.task_key and (not several or row.application != asked.application)


def _best(found: Iterator[Found]) -> float | None:
    return max((one.score for one in found), default=None)
