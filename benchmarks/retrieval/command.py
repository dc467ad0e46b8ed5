"""`python -m benchmarks retrieval`: how well what should be found is found, on a set of tasks or your store."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.retrieval.beir import TaskSet, from_experiences, read_beir
from benchmarks.retrieval.page import report_text, write_page
from benchmarks.retrieval.run import as_data, run
from ufo_experience.errors import UsageError
from ufo_experience.store import open_store


def main(arguments: Sequence[str]) -> None:
    """Measure, and print the table (or JSON)."""
    parser = argparse.ArgumentParser("python -m benchmarks retrieval", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder in BEIR layout: corpus, queries, qrels")
    parser.add_argument("--db", help="a store of yours, with --leave-one-out")
    parser.add_argument("--leave-one-out", action="store_true", help="queries are corpus entries; none answers itself")
    parser.add_argument("--embedder", action="append", help="hashing (default), local:FOLDER, openai:MODEL; repeatable")
    parser.add_argument("--judge", help="a judge behind it: openai:MODEL, or 0.9 for one that is right in 90 %%")
    parser.add_argument("--views", action="store_true", help="compare what of a text could be embedded")
    parser.add_argument("--top-k", "-k", type=int, default=3, help="how many are served at most")
    parser.add_argument("--output", "-o", type=Path, help="folder for a page and a plot")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    tasks = _task_set(given.data, given.db, given.leave_one_out)
    report = run(tasks, given.embedder or ["hashing"], k=given.top_k, judge=given.judge, views=given.views)
    for path in write_page(report, given.output) if given.output else ():
        print(f"wrote {path}", file=sys.stderr)
    print(json.dumps(as_data(report)) if given.json else report_text(report))


def _task_set(data: Path | None, db: str | None, leave_one_out: bool) -> TaskSet:
    if (data is None) == (db is None):
        raise UsageError("give --data FOLDER or --db STORE, one of them")
    if data is not None:
        return read_beir(data, leave_one_out=leave_one_out)
    if not leave_one_out:
        raise UsageError("a store is measured with --leave-one-out")
    store = open_store(str(db), create=False)
    return from_experiences(Path(store.location).name, store.scan())
