"""`python -m benchmarks retrieval`: how well what should be found is found, on sets of tasks or your store.

python -m benchmarks retrieval                                  the eleven authors of this repository
python -m benchmarks retrieval --set author_j --judge errors:0.05
python -m benchmarks retrieval --public FOLDER                  halves of public task sets
python -m benchmarks retrieval --data FOLDER                    a set in BEIR layout
python -m benchmarks retrieval --db STORE                       a store of yours, each run asked of the others
python -m benchmarks retrieval --public FOLDER --set "goal 0" --sample 50 --judge-questions FILE
python -m benchmarks retrieval --public FOLDER --set "goal 0" --sample 50 --judge-answers FILE
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from benchmarks.retrieval import sets
from benchmarks.retrieval.beir import TaskSet, from_experiences, read_beir
from benchmarks.retrieval.by_file import answering, asking
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
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        help="author_a to _k, author_m, author_n, or of --public (goal, or its first halves: 'goal 0'); repeatable",
    )
    parser.add_argument("--public", type=Path, help="folder of public task sets: osworld, real_rewordings, webarena")
    parser.add_argument("--data", type=Path, help="folder in BEIR layout: corpus, queries, qrels")
    parser.add_argument("--leave-one-out", action="store_true", help="queries are corpus entries; none answers itself")
    parser.add_argument("--db", help="a store of yours")
    parser.add_argument("--embedder", help="local:FOLDER, openai:MODEL (default: none)")
    parser.add_argument("--judge", default="off", help="openai:MODEL, or errors:0.05 for one that errs that often")
    parser.add_argument("--judge-questions", type=Path, metavar="FILE", help="write what a judge would be asked")
    parser.add_argument("--judge-answers", type=Path, metavar="FILE", help="the judge's answers to those questions")
    parser.add_argument("--sample", type=int, help="at most so many requests with an answer, and without, of a set")
    parser.add_argument("--named", action="store_true", help="ask each request of its application")
    parser.add_argument("--worded", action="store_true", help="records of authors have other wordings, by a model")
    given = parser.parse_args(arguments)
    embedder = open_embedder(given.embedder) if given.embedder else None
    with _by_file(given) as judge:
        print(HEADER)
        for name, tasks in _sets(given):
            asked = tasks if given.sample is None else sets.sampled(tasks, given.sample)
            found = measure(asked, embedder=embedder, judge=judge or _judge(given.judge, asked), named=given.named)
            error = unanswered(found)
            if error is not None:
                raise error
            print(line(name, found), flush=True)
            if found.unjudged:
                print(f"{name}: the judge failed in {found.unjudged} of {len(found.best)} questions", file=sys.stderr)


def _by_file(given: argparse.Namespace) -> AbstractContextManager[Judge | None]:
    if given.judge_questions:
        return asking(given.judge_questions)
    return answering(given.judge_answers) if given.judge_answers else nullcontext()


def _sets(given: argparse.Namespace) -> Iterator[tuple[str, TaskSet]]:
    if given.data:
        yield given.data.name, read_beir(given.data, leave_one_out=given.leave_one_out)
    elif given.db:
        store = open_store(given.db, create=False)
        yield Path(store.location).name, from_experiences(Path(store.location).name, store.scan())
    elif given.public:
        for name, parts in sets.real_sets(given.public).items():
            yield from ((one.name, one) for one in parts if not given.set or {name, one.name} & {*given.set})
    else:
        for name in given.set or [f"author_{one}" for one in sets.AUTHORS + sets.UNSEEN]:
            if name.removeprefix("author_") not in sets.AUTHORS + sets.UNSEEN:
                raise UsageError(
                    f"no such set: {name}; known are author_a to author_k, _m, _n, or give --public, --data, --db"
                )
            yield name, sets.author(name.removeprefix("author_"), worded=given.worded)


def _judge(spec: str, tasks: TaskSet) -> Judge | None:
    if spec.startswith("errors:"):
        return ErringJudge(tasks, float(spec.removeprefix("errors:")))
    return None if spec == "off" else open_judge(spec, Service(), None)
