"""Fit the order and the score of retrieval: python -m benchmarks.retrieval.fit [--data FOLDER] [--out FILE] [--without NAME …]

Rows are the first candidates of each request, columns the features that the product works out, the label says whether
the candidate is relevant. Seen are the sets of all authors (whole, among 600 records, asked of their application, and
cut into stores of 2 to 6) and, with `--data`, halves of public task sets. Each author and each public set is left out
in turn and measured with what was fitted on the others; only then all are fitted together. `--without` leaves features
out, for eliminating them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.retrieval import sets
from benchmarks.retrieval.beir import Entry, TaskSet
from benchmarks.retrieval.bm25 import PlainBM25
from benchmarks.retrieval.boosting import Boosting, fit
from benchmarks.retrieval.memory_index import MemoryIndex
from benchmarks.retrieval.metrics import ndcg
from ufo_experience.index.base import Filter, Row, task_key
from ufo_experience.request import Request
from ufo_experience.retrieve.features import words_of
from ufo_experience.retrieve.opposites import conflict
from ufo_experience.retrieve.score import FILE, NAMES, THRESHOLD, Trees, features
from ufo_experience.schema import Trust

Floats = NDArray[np.float64]
TOP = 8  # candidates of a request that the score is fitted on
FORMS = {
    "whole": 1.0,
    "filled": 0.5,
    "named": 0.5,
    "runs": 0.5,
    "small": 0.5,
}  # of an author's set, and what a row of each weighs
REAL = {"osworld": 1.0, "goal": 1.0, "long": 0.5, "webarena": 0.8}  # what a row of a public set weighs
WRONG, STRANGER = 2.5, 2.0  # what rows of wrong twins and of requests without an answer weigh
ORDER = (
    "words", "masked", "query_coverage", "record_coverage", "meaning_asked", "meaning_named", "agreement",
    "agreement_values", "same_values",
)  # fmt: skip
LESS = frozenset({"missing", "surplus", "asks_missing", "asks_surplus", "log_size"})
EITHER = frozenset({"best_masked", "log_length", "application_named"})
_WHEN = datetime(2026, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Table:
    """The candidates of the requests of a set: `query` says whose row it is; requests without one are in `queries`."""

    name: str
    features: NDArray[np.float32]
    label: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    query: NDArray[np.int64]
    opposite: NDArray[np.bool_]
    kinds: tuple[str, ...]  # of each request: "" where it has no answer and no twin
    has_answer: NDArray[np.bool_]
    has_wrong: NDArray[np.bool_]
    weight: float
    bm25: float  # the order of plain BM25, as ndcg


def row_of(entry: Entry) -> Row:
    """A verified success."""
    request = Request.parse(entry.text, entry.application)
    return Row(
        entry.id, entry.text, request, tuple(Request.parse(one, entry.application) for one in entry.wordings), entry.application,
        None, entry.session, True, True, Trust.VERIFIED, False, True, _WHEN, 5, 0, 0, 0, None,
        task_key(request, entry.application),
    )  # fmt: skip


def table_of(part: TaskSet, weight: float, *, named: bool = False) -> Table:
    """Ask a set."""
    index = MemoryIndex([row_of(one) for one in part.corpus])
    found: list[Floats] = []
    label, wrong, query, opposite = [], [], [], []
    for number, one in enumerate(part.queries):
        asked = Request.parse(one.text, one.application if named else None)
        session = one.session if part.leave_one_out else None
        filter = Filter(application=one.application if named else None, exclude_session=session)
        seen = index.candidates(asked, filter=filter)
        if not seen:
            continue
        rarity = index.rarity(words_of([asked, *(c.row.request for c in seen)]) | {""})
        found.append(features(asked, seen, rarity, len(part.corpus), named).astype(np.float32))
        known = part.relevant.get(one.id, {})
        label += [c.row.id in known for c in seen]
        wrong += [c.row.id in one.wrong for c in seen]
        query += [number] * len(seen)
        opposite += [conflict(asked, c.row.request) is not None for c in seen]
    answers = np.array([one.id in part.relevant for one in part.queries])
    return Table(
        part.name, np.vstack(found), np.array(label), np.array(wrong), np.array(query), np.array(opposite),
        tuple(one.kind for one in part.queries), answers, np.array([bool(one.wrong) for one in part.queries]), weight,
        _bm25(part),
    )  # fmt: skip


def _bm25(part: TaskSet) -> float:
    index = PlainBM25([one.text for one in part.corpus])
    ids = [one.id for one in part.corpus]
    gains = []
    for one in part.related:
        scores = index.scores(one.text)
        order = [
            ids[place]
            for place in np.argsort(-scores, kind="stable")
            if not (part.leave_one_out and ids[place] == one.id)
        ]
        gains.append(ndcg(order[:48], part.relevant[one.id]))
    return float(np.mean(gains)) if gains else float("nan")


def author_tables(name: str, fill: Sequence[Entry]) -> list[Table]:
    """An author's set in all forms."""
    whole = sets.author(name)
    tables = [
        table_of(whole, FORMS["whole"]),
        table_of(sets.filled(whole, fill), FORMS["filled"]),
        table_of(whole, FORMS["named"], named=True),
    ]
    runs = sets.with_more_runs(whole)
    tables.append(table_of(runs, FORMS["runs"]))
    return tables + [table_of(part, FORMS["small"]) for part in sets.small(runs)]


def weights_of(table: Table, rows: NDArray[np.int64]) -> Floats:
    """What each row counts."""
    answered = table.has_answer[table.query[rows]]
    weight = np.where(table.wrong[rows], WRONG, np.where(answered, 1.0, STRANGER))
    return np.asarray(table.weight * weight, np.float64)


def ordering(tables: Sequence[Table], names: Sequence[str]) -> dict[str, float]:
    """Weights of the order: the likelihood of the right one among the candidates (conditional logit), by Newton."""
    columns = [NAMES.index(name) for name in names]
    groups: list[tuple[Floats, NDArray[np.bool_], float]] = []
    for table in tables:
        for number in np.flatnonzero(table.has_answer):
            rows = np.flatnonzero(table.query == number)
            if table.label[rows].any() and not table.label[rows].all():
                groups.append(
                    (table.features[np.ix_(rows, columns)].astype(np.float64), table.label[rows], table.weight)
                )
    weight = np.zeros(len(names))
    for _ in range(12):
        pull, pace = -1.0 * weight, np.eye(len(names))
        for data, label, counts in groups:
            logit = data @ weight
            share = np.exp(logit - logit.max())
            share /= share.sum()
            wanted = share * label
            wanted /= wanted.sum()
            mean = share @ data
            pull += counts * (wanted @ data - mean)
            pace += counts * ((data * share[:, None]).T @ data - np.outer(mean, mean))
        weight += np.linalg.solve(pace, pull)
    return {name: round(float(one), 4) for name, one in zip(names, weight, strict=True)}


def order_of(weights: Mapping[str, float], table: Table) -> Floats:
    """The order of every row."""
    return table.features[:, [NAMES.index(name) for name in weights]].astype(np.float64) @ np.array([*weights.values()])


def best_rows(weights: Mapping[str, float], table: Table, top: int = TOP) -> NDArray[np.int64]:
    """The rows of the first candidates of each request, best first, opposites left out."""
    order = order_of(weights, table)
    place = np.lexsort((-order, table.query))
    place = place[~table.opposite[place]]
    query = table.query[place]
    rank = np.arange(len(place)) - np.searchsorted(query, query)
    return np.asarray(place[rank < top], np.int64)


def scoring(tables: Sequence[Table], order: Mapping[str, float], names: Sequence[str], how: Boosting) -> dict[str, Any]:
    """The trees of these tables."""
    rows = [best_rows(order, table) for table in tables]
    columns = [NAMES.index(name) for name in names]
    data = np.vstack([table.features[np.ix_(some, columns)] for table, some in zip(tables, rows, strict=True)]).astype(
        np.float64
    )
    label = np.concatenate([table.label[some] for table, some in zip(tables, rows, strict=True)]).astype(np.float64)
    weight = np.concatenate([weights_of(table, some) for table, some in zip(tables, rows, strict=True)])
    signs = [0 if name in EITHER else -1 if name in LESS else 1 for name in names]
    return {"names": list(names), **fit(data, label, weight, signs, how)}


def scores(model: Mapping[str, Any], table: Table, rows: NDArray[np.int64], shift: float = 0.0) -> Floats:
    """The score of these rows."""
    trees = Trees.from_data(model)
    logit = trees.logit(table.features[np.ix_(rows, [NAMES.index(name) for name in trees.names])].astype(np.float64))
    return np.asarray(1 / (1 + np.exp(-logit - shift)), np.float64)


@dataclass
class Figures:
    """Of one set: ndcg, the shares of right ones, twins and strangers served, and pairs of score and truth."""

    ndcg: list[float]
    right: list[bool]
    wrong: list[bool]
    strangers: list[bool]
    pairs: list[tuple[float, bool]]

    def __str__(self) -> str:
        parts = (
            f"{name} {np.mean(some):.3f} ({len(some)})"
            for name, some in self.__dict__.items()
            if some and name != "pairs"
        )
        return ", ".join(parts)


def measured(
    order: Mapping[str, float],
    model: Mapping[str, Any],
    tables: Sequence[Table],
    threshold: float = THRESHOLD,
    shift: float = 0.0,
) -> Figures:
    """What is served at the threshold, three at most."""
    found = Figures([], [], [], [], [])
    for table in tables:
        rows = best_rows(order, table, 48)
        score = scores(model, table, rows, shift)
        for number in range(len(table.kinds)):
            own = np.flatnonzero(table.query[rows] == number)
            label, wrong = table.label[rows[own]], table.wrong[rows[own]]
            served = np.flatnonzero(score[own] >= threshold)
            served = served[np.argsort(-score[own][served], kind="stable")][:3]
            if table.has_answer[number]:
                found.ndcg.append(_ndcg(label))
                found.right.append(bool(label[served].any()))
            if table.has_wrong[number]:
                found.wrong.append(bool(wrong[served].any()))
            elif not table.has_answer[number]:
                found.strangers.append(len(served) > 0)
            if len(own):
                first = int(np.argmax(score[own]))
                found.pairs.append((float(score[own][first]), bool(label[first])))
    return found


def _ndcg(label: NDArray[np.bool_]) -> float:
    if not label.any():
        return 0.0
    gains = 1 / np.log2(np.arange(2, 12))
    return float((label[:10] * gains[: len(label[:10])]).sum() / gains[: min(int(label.sum()), 10)].sum())


def groups(data: Path | None) -> Iterator[tuple[str, list[Table]]]:
    """Every author and public set with its tables."""
    real = sets.real_sets(data) if data else {}
    fill = [one for part in real.get("osworld", []) for one in part.corpus] or [
        one for other in "ab" for one in sets.author(other).corpus
    ]
    fill = list({one.id: one for one in fill}.values())
    for name in sets.AUTHORS:
        yield name, author_tables(name, fill)
    for name, parts in real.items():
        yield name, [table_of(part, REAL[name]) for part in parts]
        if name != "webarena":
            yield f"{name} named", [table_of(part, REAL[name] / 2, named=True) for part in parts]


def main() -> None:
    """Measure with each left out, then fit all and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the public task sets")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--without", nargs="*", default=[])
    given = parser.parse_args()
    tables = dict(groups(given.data))
    names = [name for name in NAMES if name not in given.without]
    how = Boosting()
    for left_out in dict.fromkeys(name.split()[0] for name in tables):
        known = [one for name, some in tables.items() if name.split()[0] != left_out for one in some]
        order = ordering(known, [name for name in ORDER if name in names])
        model = scoring(known, order, names, how)
        for name in (one for one in tables if one.split()[0] == left_out):
            shown = tables[name] if left_out not in sets.AUTHORS else tables[name][:3]
            print(
                f"{name} left out: {measured(order, model, shown)}; BM25 {np.mean([one.bm25 for one in shown]):.3f}",
                flush=True,
            )
    everything = [one for some in tables.values() for one in some]
    order = ordering(everything, [name for name in ORDER if name in names])
    given.out.write_text(
        json.dumps({"order": order, "score": scoring(everything, order, names, how)}, separators=(",", ":")) + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
