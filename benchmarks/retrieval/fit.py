"""Fit the order and the score of retrieval: python -m benchmarks.retrieval.fit [--data FOLDER] [--out FILE]

Rows are the first candidates of each request, columns the features that the product works out, the label says whether
the candidate is relevant. Seen are the sets of all authors (whole, among 600 records, asked of their application, and
cut into stores of 2 to 6) and, with `--data`, halves of public task sets. Three or four authors, or a public project,
are left out in turn and measured with what was fitted on the others; only then all are fitted together. `--without`
leaves features out; `--eliminate` drops one after the other and prints what is lost by coarse fits.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.retrieval import sets
from benchmarks.retrieval.beir import Entry, TaskSet
from benchmarks.retrieval.bm25 import PlainBM25
from benchmarks.retrieval.memory_index import MemoryIndex
from benchmarks.retrieval.metrics import ndcg
from ufo_experience.index.base import Filter, Row
from ufo_experience.request import Request
from ufo_experience.retrieve import features
from ufo_experience.retrieve.features import NAMES
from ufo_experience.retrieve.opposites import conflict
from ufo_experience.retrieve.score import THRESHOLD
from ufo_experience.retrieve.tasks import task_key
from ufo_experience.schema import Trust

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
LEFT_OUT = ("abc", "defg", "hij")  # authors that are left out together
TOP = 8  # candidates of a request that the score is fitted on
FORMS = {
    "whole": 1.0,
    "filled": 0.5,
    "named": 0.5,
    "runs": 0.5,
    "small": 0.5,
}  # of an author's set, and what a row of each weighs
REAL = {"osworld": 4.0, "goal": 4.0, "long": 2.0, "webarena": 3.0}  # what a row of a public set weighs
WRONG, STRANGER = 2.0, 2.0  # what rows of wrong twins and of requests without an answer weigh
ORDER = ("masked", "record_coverage", "meaning_asked", "meaning_named", "same_values")
LESS = frozenset({"missing", "surplus", "unexplained"})
EITHER = frozenset({"best_masked", "log_length"})
BOOSTING = {
    "max_iter": 200, "learning_rate": 0.1, "max_depth": 4, "l2_regularization": 15.0, "min_samples_leaf": 40,
    "max_bins": 63, "early_stopping": False, "random_state": 0,
}  # fmt: skip
COARSE = {"max_iter": 60, "learning_rate": 0.25}  # for the many fits of an elimination, on every second row
SERVED = 0.03  # of the strangers of public sets, at most, at the threshold: so much is taken off the logit
WORTH = 0.5  # points of right ones; what costs less is left out
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
    """A verified success; other wordings have no say in a fit."""
    request = Request.parse(entry.text, entry.application)
    return Row(
        id=entry.id,
        request=request,
        wordings=(),
        application=entry.application,
        env=None,
        session=entry.session,
        success=True,
        trust=Trust.VERIFIED,
        imported=False,
        followable=True,
        created_at=_WHEN,
        steps=5,
        helped=0,
        hurt=0,
        streak=0,
        last_success=None,
        task_key=task_key(request),
    )


def table_of(part: TaskSet, weight: float, *, named: bool = False) -> Table:
    """Ask a set."""
    index = MemoryIndex([row_of(one) for one in part.corpus])
    found: list[NDArray[np.float32]] = []
    label, wrong, query, opposite = [], [], [], []
    for number, one in enumerate(part.queries):
        asked = Request.parse(one.text, one.application if named else None)
        session = one.session if part.leave_one_out else None
        filter = Filter(application=one.application if named else None, exclude_session=session)
        seen = index.candidates(asked, filter=filter)
        if not seen:
            continue
        rarity = index.rarity({"", *asked.words, *(word for c in seen for word in c.row.request.words)})
        found.append(features.table_of(asked, seen, rarity).astype(np.float32))
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


def weights_of(table: Table, rows: Rows) -> Floats:
    """What each row counts."""
    answered = table.has_answer[table.query[rows]]
    weight = np.where(table.wrong[rows], WRONG, np.where(answered, 1.0, STRANGER))
    return np.asarray(table.weight * weight, np.float64)


def ordering(tables: Sequence[Table], names: Sequence[str]) -> dict[str, float]:
    """Weights of the order: the likelihood of the right one among the candidates (conditional logit). A feature that
    would count against what it speaks for is left out, and the others are fitted again."""
    asked = [
        (table.features[some].astype(np.float64), table.label[some], table.weight)
        for table in tables
        for some in _requests(table)
        if table.label[some].any() and not table.label[some].all()
    ]
    data, label = np.vstack([one for one, _, _ in asked]), np.concatenate([one for _, one, _ in asked])
    starts = np.cumsum([0, *(len(one) for _, one, _ in asked[:-1])])
    counts = np.array([one for _, _, one in asked])
    while True:
        weight = _likeliest(data[:, [NAMES.index(name) for name in names]], label, starts, counts)
        if (weight >= 0).all():
            return {name: round(float(one), 4) for name, one in zip(names, weight, strict=True)}
        names = [name for name, one in zip(names, weight, strict=True) if one > 0]


def _requests(table: Table) -> list[slice]:
    """The rows of each request."""
    starts = np.searchsorted(table.query, np.arange(len(table.kinds) + 1)).tolist()
    return [slice(start, end) for start, end in pairwise(starts)]


def _likeliest(data: Floats, label: NDArray[np.bool_], starts: Rows, counts: Floats) -> Floats:
    """The weights under which the right ones are likeliest, by Newton: the rows of each request begin at its start."""
    sizes = np.diff([*starts, len(data)])
    weight = np.zeros(data.shape[1])
    for _ in range(12):
        logit = data @ weight
        likely = np.exp(logit - np.repeat(np.maximum.reduceat(logit, starts), sizes))
        share = likely / np.repeat(np.add.reduceat(likely, starts), sizes)
        wanted = share * label
        wanted /= np.repeat(np.add.reduceat(wanted, starts), sizes)
        mean = np.add.reduceat(data * share[:, None], starts)
        each = np.repeat(counts, sizes)
        pull = -weight + (each * wanted) @ data - counts @ mean
        pace = np.eye(len(weight)) + (data * (each * share)[:, None]).T @ data - (mean * counts[:, None]).T @ mean
        step = np.linalg.solve(pace, pull)
        weight += step
        if np.abs(step).max() < 1e-4:
            break
    return weight


def order_of(weights: Mapping[str, float], table: Table) -> Floats:
    """The order of every row."""
    return table.features[:, [NAMES.index(name) for name in weights]].astype(np.float64) @ np.array([*weights.values()])


def best_rows(weights: Mapping[str, float], table: Table, top: int = TOP) -> Rows:
    """The rows of the first candidates of each request, best first, opposites left out."""
    order = order_of(weights, table)
    place = np.lexsort((-order, table.query))
    place = place[~table.opposite[place]]
    query = table.query[place]
    rank = np.arange(len(place)) - np.searchsorted(query, query)
    return np.asarray(place[rank < top], np.int64)


def boosted(tables: Sequence[Table], rows: Sequence[Rows], names: Sequence[str], **other: float) -> Any:
    """Gradient boosting of scikit-learn, monotone, on these rows of these tables; `other` settings than the usual."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    chosen = list(zip(tables, rows, strict=True))
    data = np.vstack([columns_of(table, some, names) for table, some in chosen])
    label = np.concatenate([table.label[some] for table, some in chosen])
    weight = np.concatenate([weights_of(table, some) for table, some in chosen])
    signs = [0 if name in EITHER else -1 if name in LESS else 1 for name in names]
    return HistGradientBoostingClassifier(monotonic_cst=signs, **{**BOOSTING, **other}).fit(
        data, label, sample_weight=weight
    )


def columns_of(table: Table, rows: Rows, names: Sequence[str]) -> NDArray[np.float32]:
    """These features of these rows."""
    return table.features[rows][:, [NAMES.index(name) for name in names]]


def as_data(model: Any, names: Sequence[str]) -> dict[str, Any]:
    """The trees of a model as `retrieve/score.py` reads them."""
    found: dict[str, list[Any]] = {name: [] for name in ("roots", "feature", "threshold", "left", "right", "value")}
    for (tree,) in model._predictors:
        first = len(found["value"])
        found["roots"].append(first)
        for place, node in enumerate(tree.nodes):
            own = [first + place] * 2 if node["is_leaf"] else [first + int(node["left"]), first + int(node["right"])]
            found["left"].append(own[0])
            found["right"].append(own[1])
            found["feature"].append(0 if node["is_leaf"] else int(node["feature_idx"]))
            found["threshold"].append(0.0 if node["is_leaf"] else round(float(node["num_threshold"]), 5))
            found["value"].append(round(float(node["value"]), 5) if node["is_leaf"] else 0.0)
    base = round(float(model._baseline_prediction.ravel()[0]), 5)
    return {"names": list(names), "base": base, "depth": BOOSTING["max_depth"], **found}


@dataclass
class Best:
    """Of each request the best score of a right one, of a twin, of anything, and the gain of the order."""

    right: list[float]
    twins: list[float]
    strangers: list[float]
    gain: list[float]

    def line(self, threshold: float) -> str:
        """Shares that are served at a threshold, and the order."""
        parts = [("right", self.right), ("twins", self.twins), ("strangers", self.strangers)]
        told = [f"{name} {100 * float(np.mean(np.array(some) >= threshold)):.1f} %" for name, some in parts if some]
        return f"{', '.join(told)}; order {np.mean(self.gain) if self.gain else float('nan'):.3f}"


def measured(order: Mapping[str, float], model: Any, names: Sequence[str], tables: Sequence[Table]) -> Best:
    """The best of each request among the first three, opposites left out; the order with them."""
    found = Best([], [], [], [])
    for table in tables:
        rows = best_rows(order, table, 48)
        score = model.predict_proba(columns_of(table, rows, names))[:, 1] if len(rows) else np.zeros(0)
        add_best(found, table, rows, score)
        ordered = order_of(order, table)
        for own, answered in zip(_requests(table), table.has_answer, strict=True):
            if not answered:
                continue
            found.gain.append(_ndcg(table.label[own][np.argsort(-ordered[own], kind="stable")]))
    return found


def add_best(found: Best, table: Table, rows: Rows, score: Floats) -> None:
    """What each request of a table is served: the best of these rows, which have these scores."""
    starts = np.searchsorted(table.query[rows], np.arange(len(table.kinds) + 1))
    for number in range(len(table.kinds)):
        own = np.arange(starts[number], starts[number + 1])
        first = own[np.argsort(-score[own], kind="stable")][:3]
        right, wrong = (
            max((float(score[one]) for one in first if flags[rows[one]]), default=0.0)
            for flags in (table.label, table.wrong)
        )
        if table.has_answer[number]:
            found.right.append(right)
        if table.has_wrong[number]:
            found.twins.append(wrong)
        elif not table.has_answer[number]:
            found.strangers.append(float(score[first].max(initial=0.0)))


def _ndcg(label: NDArray[np.bool_]) -> float:
    if not label.any():
        return 0.0
    gains = 1 / np.log2(np.arange(2, 12))
    return float((label[:10] * gains[: len(label[:10])]).sum() / gains[: min(int(label.sum()), 10)].sum())


def groups(data: Path | None) -> Iterator[tuple[str, str, list[Table]]]:
    """Every source (some authors, a public project), a name, and its tables."""
    real = sets.real_sets(data) if data else {}
    entries = [one for part in real.get("osworld", []) for one in part.corpus]
    fill = list({one.id: one for one in entries or sets.author("a").corpus}.values())
    for name in sets.AUTHORS:
        yield next(some for some in LEFT_OUT if name in some), name, author_tables(name, fill)
    for name, parts in real.items():
        source = "spider2v" if name in ("goal", "long") else name
        yield source, name, [table_of(part, REAL[name]) for part in parts]
        if name != "webarena":
            yield source, f"{name} named", [table_of(part, REAL[name] / 2, named=True) for part in parts]


def main() -> None:
    """Measure with each source left out, then fit all and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the public task sets")
    parser.add_argument("--out", type=Path, help="where to write; default: only measure")
    parser.add_argument("--without", nargs="*", default=[], help="features to leave out")
    parser.add_argument("--eliminate", action="store_true", help="print what each feature is worth, and leave out")
    given = parser.parse_args()
    names = [name for name in NAMES if name not in given.without]
    tables = list(groups(given.data))
    if given.eliminate:
        eliminate(tables, names)
    else:
        report(tables, names, given.out)


class Elimination:
    """Coarse fits without a feature, authors H to J and Spider2-V left out in turn. The order stays, and with it which
    rows are compared."""

    def __init__(self, tables: Sequence[tuple[str, str, list[Table]]]) -> None:
        self._parts: list[tuple[list[Table], list[Rows], list[tuple[str, Table, Rows]]]] = []
        for left_out in ("hij", "spider2v"):
            known = [one for source, _, some in tables if source != left_out for one in some]
            order = ordering(known, ORDER)
            asked = [
                (name, one, best_rows(order, one))
                for source, name, some in tables
                if source == left_out
                for one in (some[: len(FORMS) - 1] if name in sets.AUTHORS else some)
            ]
            self._parts.append((known, [best_rows(order, one)[::2] for one in known], asked))

    def right(self, names: Sequence[str]) -> dict[str, float]:
        """The share of right ones of authors and of real requests, in points, the mean of three thresholds: where 2, 3
        and 4 % of the strangers of public sets are answered."""
        found = {"authors": Best([], [], [], []), "real": Best([], [], [], [])}
        for known, rows, asked in self._parts:
            model = boosted(known, rows, names, **COARSE)
            for name, table, own in asked:
                score = model.predict_proba(columns_of(table, own, names))[:, 1]
                add_best(found["authors" if name in sets.AUTHORS else "real"], table, own, score)
        cuts = np.quantile(found["real"].strangers, [0.98, 0.97, 0.96])
        return {
            who: 100 * float(np.mean([np.mean(np.array(one.right) >= cut) for cut in cuts]))
            for who, one in found.items()
        }


def eliminate(tables: Sequence[tuple[str, str, list[Table]]], names: Sequence[str]) -> None:
    """Drop one feature at a time, the one that costs least first, and refit. It stays out where all that are out cost
    less than `WORTH` on authors and on real requests."""
    by = Elimination(tables)
    whole = by.right(names)
    print(f"| {len(names)} features | {whole['authors']:.1f} | {whole['real']:.1f} |")

    def lost(left: Sequence[str]) -> dict[str, float]:
        return {who: whole[who] - right for who, right in by.right(left).items()}

    alone = {name: lost([one for one in names if one != name]) for name in names}
    kept = list(names)
    for name in sorted(names, key=lambda one: max(alone[one].values())):
        together = lost([one for one in kept if one != name]) if max(alone[name].values()) < WORTH else alone[name]
        goes = max(together.values()) < WORTH
        kept = [one for one in kept if not (goes and one == name)]
        shown = [f"{some[who]:+.1f}" for some in (alone[name], together) for who in ("authors", "real")]
        print(f"| {name} | {' | '.join(shown)} | {'out' if goes else 'stays'} |", flush=True)


def report(tables: Sequence[tuple[str, str, list[Table]]], names: Sequence[str], out: Path | None) -> None:
    """What each source left out is served at the threshold at which `SERVED` of real strangers are; that threshold is
    put where the product's lies."""
    best: dict[str, Best] = {}
    for left_out in dict.fromkeys(source for source, _, _ in tables):
        known = [one for source, _, some in tables if source != left_out for one in some]
        order = ordering(known, ORDER)
        model = boosted(known, [best_rows(order, table) for table in known], names)
        for source, name, some in tables:
            if source == left_out:
                forms = zip(FORMS, some[: len(FORMS) - 1], strict=False) if name in sets.AUTHORS else [(name, "")]
                for form, part in forms:
                    key = f"author {name} {form}" if name in sets.AUTHORS else name
                    best[key] = measured(order, model, names, [part] if isinstance(part, Table) else some)
    real = [score for name in ("osworld", "goal") if name in best for score in best[name].strangers]
    cut = float(np.quantile(real, 1 - SERVED)) if real else THRESHOLD
    for form in ("whole", "filled", "named", "runs"):
        some = [one for name, one in best.items() if name.endswith(f" {form}") and name.startswith("author")]
        parts = (
            [value for one in some for value in getattr(one, part)] for part in ("right", "twins", "strangers", "gain")
        )
        best[f"authors {form}"] = Best(*parts)
    for name, one in best.items():
        print(f"{name} left out: {one.line(cut)}")
    if out is not None:
        everything = [one for _, _, some in tables for one in some]
        order = ordering(everything, ORDER)
        rows = [best_rows(order, table) for table in everything]
        model = as_data(boosted(everything, rows, names), names)
        shift = math.log(THRESHOLD / (1 - THRESHOLD)) - math.log(cut / (1 - cut))
        model["base"] = round(model["base"] + shift, 5)
        out.write_text(json.dumps({"order": order, "score": model}, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
