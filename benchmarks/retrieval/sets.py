"""The sets that retrieval is fitted on and measured with: authors in this repository, public task sets beside it.

author("a")             records, requests, twins and strangers that one author wrote
halves(pairs, …)        a public set of tasks in two wordings: one half is stored; the other half's requests, of the
                        same applications, have no answer
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.retrieval.beir import Entry, TaskSet, read_beir

AUTHORS = "abcdefghij"
UNSEEN = "kmn"  # authors that are in no fit
_AUTHORED = Path(__file__).parents[2] / "tests" / "data" / "retrieval"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def author(name: str, *, worded: bool = False) -> TaskSet:
    """The set of an author; `worded`: the records have the other wordings that a model wrote."""
    folder = _AUTHORED / f"author_{name}"
    wordings = {row["id"]: tuple(row["wordings"]) for row in _lines(folder / "wordings.jsonl")} if worded else {}
    corpus = [
        Entry(row["id"], row["task"], row["application"], row["id"], wordings=wordings.get(row["id"], ()))
        for row in _lines(folder / "procedures.jsonl")
    ]
    asked = [*_lines(folder / "queries.jsonl"), *_lines(folder / "strangers.jsonl")]
    queries = [
        Entry(
            row["id"],
            row["task"],
            row["application"],
            kind=row.get("kind", "stranger"),
            wrong=tuple(row.get("wrong", ())),
        )
        for row in asked
    ]
    relevant = {row["id"]: dict.fromkeys(row["relevant"], 1) for row in asked if row.get("relevant")}
    return TaskSet(name, corpus, queries, relevant)


def filled(whole: TaskSet, others: Sequence[Entry], count: int = 600) -> TaskSet:
    """The set among strangers, so many records in all."""
    drawn = random.Random(7).sample(list(others), max(0, min(len(others), count - len(whole.corpus))))
    return replace(whole, corpus=[*whole.corpus, *(replace(one, id=f"fill-{one.id}") for one in drawn)])


def thinned(whole: TaskSet, kept: Sequence[Entry]) -> TaskSet:
    """The set with these records; requests that lose their answer have none."""
    ids = {one.id for one in kept}
    relevant = {
        query: left for query, known in whole.relevant.items() if (left := {k: v for k, v in known.items() if k in ids})
    }
    queries = [replace(one, wrong=tuple(id for id in one.wrong if id in ids)) for one in whole.queries]
    return replace(whole, corpus=list(kept), queries=queries, relevant=relevant)


def sampled(whole: TaskSet, count: int) -> TaskSet:
    """At most so many requests with an answer, twins, and strangers; all records."""
    rng = random.Random(f"sample {whole.name}")
    twins = [one for one in whole.unrelated if one.wrong]
    strangers = [one for one in whole.unrelated if not one.wrong]
    drawn = [one for some in (whole.related, twins, strangers) for one in rng.sample(some, min(count, len(some)))]
    return replace(whole, queries=drawn)


def small(whole: TaskSet) -> Iterator[TaskSet]:
    """Stores of 2 to 6 procedures, asked what concerns them, their own texts and some strangers."""
    rng = random.Random(f"small {whole.name}")
    left = list(whole.corpus)
    rng.shuffle(left)
    while left:
        count = rng.choice((2, 2, 3, 4, 6))
        group, left = left[:count], left[count:]
        part = thinned(whole, group)
        asked = [one for one in part.queries if one.id in part.relevant or one.wrong or rng.random() < 0.03]
        own = [replace(one, id=f"own-{one.id}", kind="own") for one in group]
        same = {f"own-{one.id}": {one.id: 1} for one in group}
        yield replace(part, queries=[*asked, *own], relevant={**part.relevant, **same})


def with_more_runs(whole: TaskSet) -> TaskSet:
    """Requests that differ in values alone become records of their own: every procedure has several runs."""
    runs: dict[str, list[str]] = {}
    asked = [one for one in whole.queries if one.kind == "same_other_values" and len(whole.relevant[one.id]) == 1]
    for one in asked:
        (first,) = whole.relevant[one.id]
        runs.setdefault(first, []).append(one.id)

    def with_runs(ids: Iterable[str]) -> list[str]:
        return [found for one in ids for found in (one, *runs.get(one, ()))]

    taken = {one.id for one in asked}
    queries = [replace(one, wrong=tuple(with_runs(one.wrong))) for one in whole.queries if one.id not in taken]
    relevant = {
        query: dict.fromkeys(with_runs(known), 1) for query, known in whole.relevant.items() if query not in taken
    }
    records = [replace(one, session=one.id, kind="", wrong=()) for one in asked]
    return replace(whole, corpus=[*whole.corpus, *records], queries=queries, relevant=relevant)


def halves(pairs: Sequence[tuple[Entry, str]], name: str, seed: int) -> TaskSet:
    """Half of the tasks of each application stored (the entry), all asked (the other wording, or its own text where
    that is the same): what is not stored has no answer."""
    rng = random.Random(seed)
    by_application: dict[str | None, list[tuple[Entry, str]]] = {}
    for pair in pairs:
        by_application.setdefault(pair[0].application, []).append(pair)
    stored: list[Entry] = []
    for some in by_application.values():
        shuffled = rng.sample(some, len(some))
        stored += [entry for entry, _ in shuffled[: (len(some) + 1) // 2]]
    ids = {one.id for one in stored}
    queries = [
        Entry(f"q-{one.id}", text, one.application, kind="reworded" if one.id in ids else "stranger")
        for one, text in pairs
        if one.id not in ids or text != one.text
    ]
    relevant = {f"q-{one.id}": {one.id: 1} for one, text in pairs if one.id in ids and text != one.text}
    return TaskSet(f"{name} {seed}", stored, queries, relevant)


def osworld(folder: Path) -> list[tuple[Entry, str]]:
    """The verified tasks of OSWorld, each with its wording of 2024 where that is another one."""
    old = {(row["domain"], row["key"]): row["instruction"] for row in _lines(folder / "osworld" / "tasks_2024.jsonl")}
    by_key = {row["key"]: row["instruction"] for row in _lines(folder / "osworld" / "tasks_2024.jsonl")}
    rows = list(_lines(folder / "osworld" / "tasks_verified.jsonl"))
    return [
        (
            Entry(row["key"], row["instruction"], row["domain"], row["key"]),
            old.get((row["domain"], row["key"])) or by_key.get(row["key"]) or row["instruction"],
        )
        for row in rows
    ]


def reworded(folder: Path, name: str) -> list[tuple[Entry, str]]:
    """Requests of Spider2-V with the goal (or the long instruction) of the same task; the request is asked."""
    found = read_beir(folder / "real_rewordings" / name)
    by_id = {one.id: one for one in found.corpus}
    asked = {one.id: one.text for one in found.queries}
    return [(by_id[entry], asked[query]) for query, known in found.relevant.items() for entry in known]


def webarena(folder: Path, seed: int) -> TaskSet:
    """Half of the templates of each site stored; all others' tasks have no answer, a stored one's have the others of
    its template."""
    rows = [row for row in _lines(folder / "webarena" / "tasks.jsonl")]
    rng = random.Random(seed)
    templates = sorted({row["intent_template_id"] for row in rows})
    kept = set(rng.sample(templates, len(templates) // 2))
    entries = {
        row["task_id"]: Entry(str(row["task_id"]), row["intent"], row["sites"][0], str(row["task_id"])) for row in rows
    }
    stored = [row for row in rows if row["intent_template_id"] in kept]
    relevant: dict[str, dict[str, int]] = {}
    for row in stored:
        same = [one for one in stored if one["intent_template_id"] == row["intent_template_id"] and one is not row]
        if same:
            relevant[str(row["task_id"])] = {str(one["task_id"]): 1 for one in same}
    asked = [row for row in rows if str(row["task_id"]) in relevant or row["intent_template_id"] not in kept]
    queries = [
        replace(entries[row["task_id"]], kind="template" if str(row["task_id"]) in relevant else "stranger")
        for row in asked
    ]
    return TaskSet(
        f"webarena {seed}", [entries[row["task_id"]] for row in stored], queries, relevant, leave_one_out=True
    )


def real_sets(folder: Path) -> Mapping[str, list[TaskSet]]:
    """Public sets by source: three halvings of each."""
    sources = {"osworld": osworld(folder)} | {name: reworded(folder, f"spider2v_{name}") for name in ("goal", "long")}
    found = {name: [halves(pairs, name, seed) for seed in range(3)] for name, pairs in sources.items()}
    return found | {"webarena": [webarena(folder, seed) for seed in range(2)]}
