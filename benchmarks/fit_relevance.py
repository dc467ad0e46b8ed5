"""Fit the trees behind `score`: python benchmarks/fit_relevance.py SETS words|vectors [--embedder SPEC] [--out FILE]

SETS holds sets as the converters make them: `a` to `g` (authors), `ga` and `gb` (goals), these with other wordings of
their records, `webarena`, `osworld`. Every author's set is seen in six forms: whole, with 20 records, filled up to 600,
without steps, with further runs of its procedures, and cut into stores of 2 to 6; whole and filled up once more with
the other wordings. Every second request of an author is asked of WebArena and OSWorld, too, as one that nothing
there helps with: else a store of many tasks would be known from requests with an answer alone. A row
is one of the first candidates of a query, its columns are the signals and the standing that the product works out; the
label says whether the candidate is relevant. Each author is left out in turn first, with all of this and the goals
where they are of A or B, and measured with what was fitted on the others. What weighs more than it is frequent (wrong
twins, queries without answer) makes scores too low, on every author left out by about the same in the logit: so much is
added (of an author left out what the others say), fitted on the best candidates of whole and filled up sets.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from boosting import Boosting, Floats, Ints, fit
from numpy.typing import NDArray

from benchmarks.retrieval.beir import Entry, TaskSet, read_beir
from benchmarks.retrieval.run import _record
from ufo_experience.embed import open_embedder
from ufo_experience.embed.base import Embedder, Kind, Spending, Vectors
from ufo_experience.memory import ExperienceMemory
from ufo_experience.redact import redact_text
from ufo_experience.retrieve.contradictions import conflict
from ufo_experience.retrieve.fusion import THRESHOLD
from ufo_experience.retrieve.retriever import Query
from ufo_experience.retrieve.standing import STANDING
from ufo_experience.retrieve.trees import from_data
from ufo_experience.schema import clip
from ufo_experience.settings import Settings

AUTHORS = "abcdefg"
OTHERS = {"webarena": 0.6, "osworld": 0.5, "ga": 0.3, "gb": 0.3}  # and what a row of them weighs
FORM, WRONG, STRANGER = 0.5, 2.5, 1.5  # what rows of further forms, of wrong twins and of queries without answer weigh
NAMED = 0.5  # what rows of requests that name their application weigh
ASKED_ELSEWHERE = 0.3  # what rows of an author's requests weigh that another store is asked
WORDED = 0.7  # what rows of the whole set weigh whose records have other wordings
SHOWN = ("whole", "filled", "named", "named filled", "worded", "filled worded", "named worded")
GOALS = ("ga", "gb")
TOP = 8  # candidates of a query
MORE = frozenset(
    "skeleton words query_coverage record_coverage clicked same_values agreement agreement_values shared_words"
    " deed_held deed_named object_held object_named same_kinds near deviations lead ahead words_ahead"
    " near_ahead application_ahead meaning meaning_ahead meaning_query_coverage meaning_record_coverage"
    " meaning_least".split()
)
LESS = frozenset("missing surplus other_deed other_object other_argument inversions swapped scope deed_lost".split())
OF_VECTORS = frozenset({"near", "deviations", "near_ahead"})


@dataclass(frozen=True)
class Table:
    """Rows of features with labels and weights; which query each belongs to, in order, and what is wrong for it."""

    names: tuple[str, ...]
    features: Floats
    labels: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    weights: Floats
    queries: Ints
    entries: tuple[Entry, ...]
    related: NDArray[np.bool_]


class Remembering:
    """An embedder that embeds every text once."""

    def __init__(self, inner: Embedder) -> None:
        self._inner, self._known = inner, dict[str, Any]()
        self.name, self.dim, self.spending = inner.name, inner.dim, Spending()

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """The vectors of texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._inner.embed(new, kind), strict=True))
        return np.stack([self._known[text] for text in texts])


def plain(worded: TaskSet) -> TaskSet:
    """The set without the other wordings of its records."""
    return replace(worded, corpus=[replace(one, wordings=()) for one in worded.corpus])


def filled(whole: TaskSet, fill: TaskSet) -> TaskSet:
    """The set among strangers, 600 records in all."""
    strangers = random.Random(7).sample(fill.corpus, 600 - len(whole.corpus))
    return replace(whole, corpus=[*whole.corpus, *(replace(one, id=f"fill-{one.id}") for one in strangers)])


def forms(whole: TaskSet) -> Iterator[TaskSet]:
    """Further forms of an author's set."""
    yield _thinned(whole, random.Random(7).sample(whole.corpus, 20))
    yield replace(whole, corpus=[replace(one, steps=()) for one in whole.corpus])
    more = _with_more_runs(whole)
    yield more
    yield from _cut(more)


def asked_elsewhere(author: TaskSet, store: TaskSet) -> TaskSet:
    """Requests of an author as queries without an answer in another store."""
    queries = [replace(one, id=f"{author.name}-{one.id}", wrong=()) for one in author.queries[::2]]
    return replace(store, name=f"{author.name} {store.name}", queries=queries, relevant={}, leave_one_out=False)


def _thinned(whole: TaskSet, kept: Sequence[Entry]) -> TaskSet:
    """The set with these records; queries that lose their answer become unrelated."""
    ids = {one.id for one in kept}
    relevant = {
        query: left for query, known in whole.relevant.items() if (left := {k: v for k, v in known.items() if k in ids})
    }
    queries = [replace(one, wrong=tuple(id for id in one.wrong if id in ids)) for one in whole.queries]
    return replace(whole, corpus=list(kept), queries=queries, relevant=relevant)


def _with_more_runs(whole: TaskSet) -> TaskSet:
    """Requests that differ in values alone as records of their own, with the steps of the procedure but its values."""
    known = {one.id: one for one in whole.corpus}
    same = [one for one in whole.queries if one.kind == "same_other_values" and len(whole.relevant[one.id]) == 1]
    runs: dict[str, list[Entry]] = {}
    for query in same:
        (first,) = whole.relevant[query.id]
        steps = tuple({key: value for key, value in step.items() if key != "text"} for step in known[first].steps)
        runs.setdefault(first, []).append(replace(known[first], id=f"run-{query.id}", text=query.text, steps=steps))
    asked = {one.id for one in same}

    def with_runs(ids: Sequence[str]) -> list[str]:
        return [*ids, *(run.id for one in ids for run in runs.get(one, ()))]

    return replace(
        whole,
        corpus=[*whole.corpus, *(run for some in runs.values() for run in some)],
        queries=[replace(one, wrong=tuple(with_runs(one.wrong))) for one in whole.queries if one.id not in asked],
        relevant={
            query: dict.fromkeys(with_runs([*found]), 1)
            for query, found in whole.relevant.items()
            if query not in asked
        },
    )


def _cut(whole: TaskSet) -> Iterator[TaskSet]:
    """Stores of 2 to 6 procedures with all their runs, asked what concerns them, their own texts and some strangers."""
    rng = random.Random(f"small {whole.name}")
    first = [one for one in whole.corpus if not one.id.startswith("run-")]
    rng.shuffle(first)
    while first:
        count = rng.choice((2, 2, 3, 4, 6))
        group, first = first[:count], first[count:]
        ids = {one.id for one in group}
        together = [found for found in whole.relevant.values() if ids & found.keys()]
        ids = ids.union(*(one for found in together for one in found if one.startswith("run-")))
        part = _thinned(whole, [one for one in whole.corpus if one.id in ids])
        asked = [one for one in part.queries if one.id in part.relevant or one.wrong or rng.random() < 0.03]
        own = [replace(one, id=f"own-{one.id}", kind="own", steps=()) for one in part.corpus]
        same = {one.id: {one.id: 1} for one in part.corpus}
        for found in part.relevant.values():
            for one in found:
                same[one].update(found)
        yield replace(
            part, queries=[*asked, *own], relevant={**part.relevant, **{f"own-{k}": v for k, v in same.items()}}
        )


def table_of(part: TaskSet, embedder: Embedder, weight: float, *, named: bool = False) -> Table:
    """The first candidates of all queries of a set, as the product sees them; `named`: asked of their application."""
    with tempfile.TemporaryDirectory() as folder:
        memory = ExperienceMemory.open(settings=Settings(db=folder), embedder=embedder)
        records = [_record(part.name, one) for one in part.corpus]
        memory.store.add(records)
        memory.index()
        retriever, catalog = memory.wiring.retriever(), memory.live.snapshot().catalog
        name = {record.id: one for record, one in zip(records, part.corpus, strict=True)}
        session = {one.id: one.session for one in part.corpus} if part.leave_one_out else {}
        found: list[tuple[Floats, bool, bool, int]] = []
        names: tuple[str, ...] = ()
        for number, query in enumerate(part.queries):
            text, known = clip(redact_text(query.text)), part.relevant.get(query.id, {})
            asked = Query(query.text, query.application if named else None, exclude_session=session.get(query.id))
            seen = retriever.rank(text, asked).candidates
            if not len(seen.rows):
                continue
            entries = [name[one] for one in catalog.ids(seen.rows)]
            features = np.nan_to_num(np.hstack([seen.signals.table(), seen.standing]))
            names = (*seen.signals.names, *STANDING)
            places = [place for place, one in enumerate(entries) if conflict(text, one.text) is None][:TOP]
            found += [
                (features[one], entries[one].id in known, entries[one].id in query.wrong, number) for one in places
            ]
    related = np.array([query.id in part.relevant for query in part.queries])
    rows, labels, wrong, queries = (np.array(part) for part in zip(*found, strict=True))
    weights = weight * np.where(wrong, WRONG, np.where(related[queries], 1.0, STRANGER))
    return Table(names, rows, labels, wrong, weights, queries, tuple(part.queries), related)


def author_tables(worded: TaskSet, others: Mapping[str, TaskSet], embedder: Embedder) -> dict[str, Table]:
    """The tables of an author's set by name: those of `SHOWN`, and further ones."""
    fill, whole = others["osworld"], plain(worded)
    tables = {"whole": table_of(whole, embedder, 1.0)}
    for name, part in (("", whole), (" worded", worded)):
        tables[f"filled{name}"] = table_of(filled(part, fill), embedder, FORM)
        tables[f"named{name}"] = table_of(part, embedder, NAMED, named=True)
    tables["worded"] = table_of(worded, embedder, WORDED)
    tables["named filled"] = table_of(filled(whole, fill), embedder, NAMED, named=True)
    strange = (asked_elsewhere(whole, others[name]) for name in ("webarena", "osworld"))
    further = [*(table_of(part, embedder, FORM) for part in forms(whole))]
    further += [table_of(part, embedder, ASKED_ELSEWHERE) for part in strange]
    return {**tables, **{str(number): table for number, table in enumerate(further)}}


def fitted(tables: Sequence[Table], with_vectors: bool) -> dict[str, Any]:
    """The trees for these tables."""
    names = [one for one in tables[0].names if with_vectors or one not in OF_VECTORS]
    columns = [tables[0].names.index(one) for one in names]
    data = np.vstack([one.features[:, columns] for one in tables])
    labels, weights = (np.concatenate([getattr(one, name) for one in tables]) for name in ("labels", "weights"))
    signs = [int(one in MORE) - int(one in LESS) for one in names]
    return {"names": names, **fit(data, labels.astype(np.float64), weights, signs, Boosting())}


def logits(model: Mapping[str, Any], table: Table) -> Floats:
    """The logit of each row."""
    trees = from_data(dict(model))
    return trees.logit(table.features[:, [table.names.index(one) for one in trees.names]])


def best_of(values: Floats, table: Table) -> Floats:
    """The value and the label of the best candidate of each query."""
    first = np.unique(table.queries, return_index=True)[1]
    return np.column_stack([values[first], table.labels[first]])


def shift_of(best: Sequence[Floats]) -> float:
    """What added to these logits makes their mean probability that of the labels."""
    logit, label = np.vstack(best).T
    shift = 0.0
    for _ in range(20):
        right = 1 / (1 + np.exp(-logit - shift))
        shift -= float((right - label).sum() / (right * (1 - right)).sum())
    return shift


def shifted(model: Mapping[str, Any], shift: float) -> dict[str, Any]:
    """The model with so much added to its logits."""
    return {**model, "base": round(model["base"] + shift, 4)}


def measured(model: Mapping[str, Any], table: Table) -> dict[str, float]:
    """What the default threshold serves of a set (three at most), and the calibration error of the best candidates."""
    score = 1 / (1 + np.exp(-logits(model, table)))
    right, wrong, strange = [], [], []
    for number, query in enumerate(table.entries):
        rows = np.flatnonzero(table.queries == number)
        served = [row for row in rows if score[row] >= THRESHOLD][:3]
        if table.related[number]:
            right.append(any(table.labels[row] for row in served))
        if query.wrong:
            wrong.append(any(table.wrong[row] for row in served))
        elif not table.related[number]:
            strange.append(bool(served))
    means = {"right": right, "wrong": wrong, "strangers": strange}
    figures = {name: float(np.mean(values)) if values else float("nan") for name, values in means.items()}
    return {**figures, "calibration error": _calibration_error(best_of(score, table))}


def _calibration_error(best: Floats) -> float:
    bins = np.minimum((best[:, 0] * 10).astype(int), 9)
    parts = [best[bins == one] for one in range(10) if (bins == one).any()]
    return float(sum(len(one) * abs(one[:, 0].mean() - one[:, 1].mean()) for one in parts) / len(best))


def measured_all(model: Mapping[str, Any], tables: Mapping[str, Table]) -> str:
    """`measured` of some sets as a line."""
    lines = ((name, measured(model, table)) for name, table in tables.items())
    return "; ".join(f"{name}: " + ", ".join(f"{key} {value:.3f}" for key, value in one.items()) for name, one in lines)


@dataclass(frozen=True)
class Tables:
    """The tables of others, and those of each author, by name."""

    authors: Mapping[str, Mapping[str, Table]]
    others: Mapping[str, Table]

    def without(self, author: str) -> list[Table]:
        """All but those of an author, and all goals where these are the author's; of "" all."""
        known = [table for name, some in self.authors.items() if name != author for table in some.values()]
        left_out = GOALS if f"g{author}" in GOALS else ()
        return known + [table for name, table in self.others.items() if name.split()[0] not in left_out]

    def best(self, author: str, model: Mapping[str, Any]) -> Floats:
        """Logit and label of the best candidates in the tables of `SHOWN`."""
        tables = (self.authors[author][name] for name in SHOWN)
        return np.vstack([best_of(logits(model, table), table) for table in tables])


def fit_all(tables: Tables, with_vectors: bool) -> dict[str, Any]:
    """The model of all tables, shifted by what authors left out say; shows what each of them is served."""
    left_out = {author: fitted(tables.without(author), with_vectors) for author in tables.authors}
    best = {author: tables.best(author, model) for author, model in left_out.items()}
    for author, model in left_out.items():
        shift = shift_of([part for name, part in best.items() if name != author])
        goals = {name: table for name, table in tables.others.items() if name.split()[0] == f"g{author}"}
        shown = {f"{author} {name}": tables.authors[author][name] for name in SHOWN} | goals
        print(f"left out ({shift:.2f}):", measured_all(shifted(model, shift), shown), flush=True)
    return shifted(fitted(tables.without(""), with_vectors), shift_of([*best.values()]))


def main() -> None:
    """Fit all, each author left out first, and write the model where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", type=Path)
    parser.add_argument("model", choices=("words", "vectors"))
    parser.add_argument("--embedder", default="hashing")
    parser.add_argument("--out", type=Path, help="file whose model of this name is replaced")
    arguments = parser.parse_args()
    embedder = Remembering(open_embedder(arguments.embedder))
    sets = {name: read_beir(arguments.sets / name, leave_one_out=name == "webarena") for name in (*AUTHORS, *OTHERS)}
    others = {name: table_of(plain(sets[name]), embedder, weight) for name, weight in OTHERS.items()}
    others |= {f"{name} worded": table_of(sets[name], embedder, OTHERS[name]) for name in GOALS}
    authors = {author: author_tables(sets[author], sets, embedder) for author in AUTHORS}
    model = fit_all(Tables(authors, others), arguments.model == "vectors")
    if arguments.out:
        models = json.loads(arguments.out.read_text(encoding="utf-8")) if arguments.out.exists() else {}
        models[arguments.model] = model
        arguments.out.write_text(json.dumps(models, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
