"""Find the threshold for a store: the score at which a stated share of what passes is relevant.

Somebody labelled pairs of a request and a record. Nothing is written until `keep` is called.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ufo_experience.errors import DataError, UsageError
from ufo_experience.index.base import ExperienceIndex
from ufo_experience.request import Request
from ufo_experience.retrieve.retriever import Query, Retriever
from ufo_experience.schema import Model, validate
from ufo_experience.store.files import read_lines
from ufo_experience.store.strict_json import parse

MAX_LABELS = 1 << 26  # bytes of a file of labels
_KIND = "threshold"


class LabelledPair(Model):
    """A request, a record (by its `id`, or by its task as `text`), and whether the record helps with the request."""

    query: Annotated[str, Field(min_length=1)]
    id: str = ""
    text: str = ""
    relevant: Annotated[bool, Field(strict=True)]


@dataclass(frozen=True)
class Calibration:
    """A threshold for the vectors of one embedder, with the precision and recall of the pairs at or above it."""

    embedder: str
    threshold: float
    precision: float
    recall: float
    pairs: int


def read_pairs(path: Path, index: ExperienceIndex) -> list[LabelledPair]:
    """Labelled pairs, one JSON object a line, each with the id of its record. Raises `DataError`: file, line, field."""
    rows = index.rows()
    found = []
    for number, line in read_lines(path, MAX_LABELS):
        pair = validate(LabelledPair, parse(line, file=str(path), line=number), file=str(path), line=number)
        named = (row.id for row in rows if (row.id.startswith(pair.id) if pair.id else row.task == pair.text))
        if (id := next(named, None)) is None:
            field = "id" if pair.id else "text"
            raise DataError("no record has this id or task", file=str(path), line=number, field=field)
        found.append(pair.model_copy(update={"id": id}))
    return found


def calibrate(retriever: Retriever, labels: Path, *, precision: float) -> Calibration:
    """The threshold for the records of a retriever by a file of labels.

    Raises:
        UsageError: `precision` is not in (0, 1].
        DataError: a wrong line, no pair of one kind, or no threshold is that precise.
    """
    if not 0.0 < precision <= 1.0:
        raise UsageError(f"precision must lie in (0, 1], not {precision}")
    pairs = read_pairs(labels, retriever.index)
    right = sum(pair.relevant for pair in pairs)
    if right in (0, len(pairs)):
        raise DataError(f"{right} relevant and {len(pairs) - right} other pairs are too few (at least 1 each)")
    found = find_cut([*_scored(retriever, pairs)], precision)
    if found is None:
        raise DataError(f"no threshold reaches a precision of {precision} on these {len(pairs)} pairs")
    threshold, reached, recall = found
    return Calibration(retriever.embedder_name, threshold, round(reached, 4), round(recall, 4), len(pairs))


def find_cut(scored: Sequence[tuple[float, bool]], precision: float) -> tuple[float, float, float] | None:
    """The threshold with the most recall at which at least `precision` of what passes is relevant, with both; None
    without one. Of several the highest. It lies half-way to the next lower score.
    """
    levels = sorted({score for score, _ in scored}, reverse=True)
    most = max(sum(relevant for _, relevant in scored), 1)
    best: tuple[float, float, float] | None = None
    for level, below in zip(levels, [*levels[1:], 0.0], strict=True):
        passing = [relevant for score, relevant in scored if score >= level]
        right, recall = sum(passing) / len(passing), sum(passing) / most
        if right >= precision and (best is None or recall > best[2]):
            best = round((level + below) / 2, 4), right, recall
    return best


def keep(index: ExperienceIndex, calibration: Calibration) -> None:
    index.keep(_KIND, {calibration.embedder: json.dumps(asdict(calibration)).encode()})


def kept(index: ExperienceIndex, embedder: str) -> Calibration | None:
    found = index.kept(_KIND, [embedder]).get(embedder)
    return None if found is None else Calibration(**json.loads(found))


def _scored(retriever: Retriever, pairs: Sequence[LabelledPair]) -> Iterator[tuple[float, bool]]:
    """The score of each pair; 0 where the record is no candidate, or says the opposite."""
    for pair in pairs:
        found, _ = retriever.rank(Request.parse(pair.query), Query(pair.query), trusted=False)
        own = next((one for one in found if one.row.id == pair.id and one.opposite is None), None)
        yield (own.score if own else 0.0), pair.relevant
