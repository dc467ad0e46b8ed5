"""The sets of tests/data/retrieval for `bench retrieval`: python benchmarks/convert_rewordings.py AUTHOR_FOLDER OUT

With `--goals` the goals of the step bench and how the author reworded them, with values filled in. Else
records with their steps, requests with their kind and what would be wrong, strangers. `--records N` keeps N records
(by a fixed seed; requests that lose their answer become unrelated), or fills up with tasks of `--fill SET` to N.
`--worded` gives the records the other wordings that a language model wrote for each of them (`wordings.jsonl`).
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.retrieval.beir import read_beir, write_beir

VALUES = {
    "app": ("Mail", "Calendar"),
    "feature": ("Bluetooth", "Night light"),
    "file": ("report.pdf", "notes.txt"),
    "name": ("Anna", "Ben"),
}
OTHER = ("Alpha", "Bravo")
_SLOT = re.compile(r"\{(\w+)\}")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """A file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def read_goals(path: Path, values: int) -> list[list[str]]:
    """Name and wordings of each goal, its slots filled with the first or the second of two values."""
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        [name, *(_SLOT.sub(lambda slot: VALUES.get(slot[1], OTHER)[values], one) for one in rest)]
        for name, *rest in lines
    ]


def read_wordings(path: Path) -> dict[str, list[str]]:
    """The other wordings of each record."""
    return {row["id"]: row["wordings"] for row in read_rows(path)}


def convert_goals(author: Path, out: Path, wordings: Mapping[str, list[str]]) -> None:
    """Goals as records without steps, their rewordings with other values as requests."""
    goals = read_goals(author.parent / "goals.tsv", 0)
    corpus = [{"_id": name, "text": text, "metadata": {"wordings": wordings.get(name, [])}} for name, text in goals]
    reworded = read_goals(author / "goals.tsv", 1)
    queries = [
        {"_id": f"{name}-{number}", "text": text, "metadata": {"kind": "goal"}}
        for name, *texts in reworded
        for number, text in enumerate(texts)
    ]
    write_beir(out, corpus, queries, [(one["_id"], one["_id"].rpartition("-")[0], 1) for one in queries])
    print(f"{len(corpus)} goals, {len(queries)} rewordings in {out}")


def main() -> None:
    """Convert."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("author", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--records", type=int)
    parser.add_argument("--fill", type=Path, action="append", help="folder of a set in BEIR layout; more than once")
    parser.add_argument("--goals", action="store_true")
    parser.add_argument("--worded", action="store_true")
    arguments = parser.parse_args()
    if arguments.goals:
        known = read_wordings(arguments.author.parent / "goals_wordings.jsonl") if arguments.worded else {}
        convert_goals(arguments.author, arguments.out, known)
        return
    wordings = read_wordings(arguments.author / "wordings.jsonl") if arguments.worded else {}
    procedures = read_rows(arguments.author / "procedures.jsonl")
    drawn = random.Random(1)
    if arguments.records and arguments.records < len(procedures):
        procedures = drawn.sample(procedures, arguments.records)
    corpus = [
        {
            "_id": one["id"],
            "text": one["task"],
            "metadata": {
                "application": one["application"],
                "steps": one["steps"],
                "wordings": wordings.get(one["id"], []),
            },
        }
        for one in procedures
    ]
    if arguments.fill and arguments.records and arguments.records > len(corpus):
        others = [one for folder in arguments.fill for one in read_beir(folder).corpus]
        others = drawn.sample(others, arguments.records - len(corpus))
        corpus += [{"_id": one.id, "text": one.text, "metadata": {"application": one.application}} for one in others]
    known = {one["_id"] for one in corpus}
    rows = read_rows(arguments.author / "queries.jsonl")
    strangers = read_rows(arguments.author / "strangers.jsonl")
    queries = [
        {
            "_id": one["id"],
            "text": one["task"],
            "metadata": {
                "application": one["application"],
                "kind": one["kind"],
                "wrong": sorted(known & {*one["wrong"]}),
            },
        }
        for one in rows
    ]
    queries += [
        {"_id": one["id"], "text": one["task"], "metadata": {"application": one["application"], "kind": "stranger"}}
        for one in strangers
    ]
    qrels = [(one["id"], entry, 1) for one in rows for entry in one["relevant"] if entry in known]
    write_beir(arguments.out, corpus, queries, qrels)
    print(f"{len(corpus)} records, {len(rows)} requests, {len(strangers)} strangers in {arguments.out}")


if __name__ == "__main__":
    main()
