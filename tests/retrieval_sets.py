"""The sets of `tests/data/retrieval`, and what the product makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.retrieval.metrics import hit, ndcg
from tests.builders import WHEN
from ufo_experience.ids import content_id
from ufo_experience.memory import ExperienceMemory
from ufo_experience.retrieve.retriever import Query
from ufo_experience.schema import Control, Experience, Outcome, Provenance, State, Step, Trust

FOLDER = Path(__file__).parent / "data" / "retrieval"
Row = dict[str, Any]


@dataclass(frozen=True)
class Figures:
    """Means over the related queries, and shares of what was served at the default threshold."""

    ndcg: float
    hit: float
    right: float
    wrong: float
    strangers: float


def rows(author: str, name: str) -> list[Row]:
    """One file of an author's set; of `<author> worded` procedures with their other wordings."""
    author, _, worded = author.partition(" ")
    lines = (FOLDER / author / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    if not worded or name != "procedures":
        return found
    wordings = {row["id"]: row["wordings"] for row in rows(author, "wordings")}
    return [{**row, "wordings": wordings[row["id"]]} for row in found]


def record(row: Row) -> Experience:
    """A procedure as the approved record of a run."""
    steps = tuple(
        Step(
            step_number=number,
            action_type=step["action"],
            target_control=Control(name=step.get("control") or "", type=step.get("control_type")),
            parameters={key: step[key] for key in ("text", "keys") if step.get(key)},
        )
        for number, step in enumerate(row["steps"], 1)
    )
    return Experience(
        id=content_id(["procedure", row["id"]]),
        state=State(
            task=row["task"], request=row["task"], application=row["application"], wordings=row.get("wordings", ())
        ),
        action={"steps": steps},
        outcome=Outcome(success=True, evaluated_by="evaluator"),
        created_at=WHEN,
        trust=Trust.APPROVED,
        provenance=Provenance(source=row["id"], session=row["id"], origin="log"),
    )


def served(memory: ExperienceMemory, task: str) -> list[str]:
    """The ids of the procedures that are served for a task."""
    return [one.experience.provenance.source for one in memory.retrieve(task)]


def figures(memory: ExperienceMemory, queries: Sequence[Row], strangers: Iterable[Row]) -> Figures:
    """What a memory of procedures makes of queries and strangers."""
    retriever, catalog = memory.wiring.retriever(), memory.live.snapshot().catalog
    name = {content_id(["procedure", f"p{number:03d}"]): f"p{number:03d}" for number in range(1000)}
    gains, firsts, right, wrong = [], [], [], []
    for query in queries:
        ranking = retriever.rank(query["task"], Query(query["task"]))
        hits = retriever.serve(query["task"], Query(query["task"]), ranking).hits
        found = [one.experience.provenance.source for one in hits]
        if query["relevant"]:
            ids = [name[one] for one in catalog.ids(ranking.candidates.rows)]
            grades = dict.fromkeys(query["relevant"], 1)
            gains.append(ndcg(ids, grades))
            firsts.append(hit(ids, grades))
            right.append(not set(found).isdisjoint(query["relevant"]))
        if query["wrong"]:
            wrong.append(not set(found).isdisjoint(query["wrong"]))
    unknown = [bool(served(memory, query["task"])) for query in strangers]
    return Figures(*(float(np.mean(values)) for values in (gains, firsts, right, wrong, unknown)))
