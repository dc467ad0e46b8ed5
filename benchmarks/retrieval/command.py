"""`python -m benchmarks retrieval`: how well what should be found is found, on sets of tasks or your store.

python -m benchmarks retrieval                                  the ten authors of this repository
python -m benchmarks retrieval --set author_j --judge errors:0.05
python -m benchmarks retrieval --public FOLDER                  halves of public task sets
python -m benchmarks retrieval --data FOLDER                    a set in BEIR layout
python -m benchmarks retrieval --db STORE                       a store of yours, each run asked of the others
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.retrieval import sets
from benchmarks.retrieval.beir import TaskSet, from_experiences, read_beir
from benchmarks.retrieval.run import HEADER, ErringJudge, line, measure, unanswered
from ufo_experience.embed import open_embedder
from ufo_experience.errors import UsageError
from ufo_experience.retrieve.judge import Judge, open_judge
from ufo_experience.service import Service
from ufo_experience.store import open_store


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks retrieval", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", action="append", default=[], help="author_a to author_j, or of --public; repeatable")
    parser.add_argument("--public", type=Path, help="folder of public task sets: osworld, real_rewordings, webarena")
    parser.add_argument("--data", type=Path, help="folder in BEIR layout: corpus, queries, qrels")
    parser.add_argument("--leave-one-out", action="store_true", help="queries are corpus entries; none answers itself")
    parser.add_argument("--db", help="a store of yours")
    parser.add_argument("--embedder", help="local:FOLDER, fastembed:MODEL, openai:MODEL (default: none)")
    parser.add_argument("--judge", default="off", help="openai:MODEL, or errors:0.05 for one that errs that often")
    parser.add_argument("--named", action="store_true", help="ask each request of its application")
    parser.add_argument("--worded", action="store_true", help="records of authors have other wordings, by a model")
    given = parser.parse_args(arguments)
    embedder = open_embedder(given.embedder) if given.embedder else None
    print(HEADER)
    for name, tasks in _sets(given):
        found = measure(tasks, embedder=embedder, judge=_judge(given.judge, tasks), named=given.named)
        error = unanswered(found)
        if error is not None:
            raise error
        print(line(name, found), flush=True)


def _sets(given: argparse.Namespace) -> Iterator[tuple[str, TaskSet]]:
    if given.data:
        yield given.data.name, read_beir(given.data, leave_one_out=given.leave_one_out)
    elif given.db:
        store = open_store(given.db, create=False)
        yield Path(store.location).name, from_experiences(Path(store.location).name, store.scan())
    elif given.public:
        for name, parts in sets.real_sets(given.public).items():
            if not given.set or name in given.set:
                yield from ((part.name, part) for part in parts)
    else:
        for name in given.set or [f"author_{one}" for one in sets.AUTHORS]:
            if name.removeprefix("author_") not in sets.AUTHORS:
                raise UsageError(f"no such set: {name}; known are author_a to author_j, or give --public, --data, --db")
            yield name, sets.author(name.removeprefix("author_"), worded=given.worded)


def _judge(spec: str, tasks: TaskSet) -> Judge | None:
    if spec.startswith("errors:"):
        return ErringJudge(tasks, float(spec.removeprefix("errors:")))
    return None if spec == "off" else open_judge(spec, Service(), None)
