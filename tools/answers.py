"""Writes complete answers of retrieval and prompt, to compare two checkouts: `python -m tools.answers OUT`.

Whoever makes a question faster must not change what it is answered with. Stores of the sets in `tests/data` (with runs
of other sessions, failures and records nobody approved beside the procedures) are asked their queries, strangers and
requests; now and then an outcome is reported or a run learned, so that what is kept between questions is compared, too.
Each line is one answer: hits with every signal, what is withheld and why, what came near, the prompt. Run it in both
checkouts and compare the files.
"""

from __future__ import annotations

import argparse
import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from tests.builders import Meaningful, memory_of
from tests.retrieval_sets import record, rows
from ufo_experience.benchmark.speed.loop import records, task_of
from ufo_experience.ids import content_id
from ufo_experience.memory import ExperienceMemory
from ufo_experience.prompt.builder import build_prompt
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.retrieve.retriever import Query
from ufo_experience.schema import Experience, Trust
from ufo_experience.settings import Settings

DATA = Path(__file__).parents[1] / "tests" / "data"
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
NONCE = "0" * 32
AUTHORS = ("author_a", "author_b", "author_c", "author_d", "author_e")
CHANGE_EVERY = 20  # questions
CLOCK = {"experience": {"created_at": True, "usage": {"last_success"}}}  # of a hit, what the clock says


def several_runs(given: Iterable[Experience]) -> Iterator[Experience]:
    """Each record, and beside it runs of other sessions: verified ones, failures, one nobody has looked at."""
    for number, one in enumerate(given):
        yield one if number % 3 else one.model_copy(update={"trust": Trust.VERIFIED})
        for again in range(1, 1 + number % 4):
            failed = again == 3 or number % 11 == 5
            state = one.state.model_copy(update={"request": f"{one.state.request} for case {again}{number}"})
            changes = {
                "id": content_id(["again", one.id, again]),
                "state": state,
                "trust": Trust.QUARANTINED if number % 7 == 6 else Trust.VERIFIED,
                "outcome": one.outcome.model_copy(update={"success": not failed}),
                "provenance": one.provenance.model_copy(update={"session": f"{one.provenance.session}-{again}"}),
            }
            yield one.model_copy(update=changes)


def tasks_in(name: str, field: str) -> list[str]:
    """One field of every row of the files in a folder of the data."""
    files = sorted((DATA / name).glob("*.jsonl"))
    return [json.loads(line)[field] for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def as_records(tasks: Sequence[str], steps_of: Sequence[Experience]) -> Iterator[Experience]:
    """A record for each task, with the steps of others in turn."""
    for number, task in enumerate(dict.fromkeys(tasks)):
        one = steps_of[number % len(steps_of)]
        state = one.state.model_copy(update={"task": task, "request": task})
        origin = one.provenance.model_copy(update={"session": f"task-{number}"})
        yield one.model_copy(update={"id": content_id(["task", task]), "state": state, "provenance": origin})


def sets(folder: Path) -> Iterator[tuple[str, list[Experience], list[str], Any]]:
    """Name, records, questions and embedder of every store that is asked."""
    procedures = {author: [record(row) for row in rows(author, "procedures")] for author in AUTHORS}
    for author in AUTHORS:
        asked = [row["task"] for name in ("queries", "strangers") for row in rows(author, name)]
        yield author, list(several_runs(procedures[author])), asked, None
    asked = [row["task"] for row in rows("author_b", "queries")]
    yield "author_b, vectors", list(several_runs(procedures["author_b"])), asked, Meaningful()
    for name, field in (("webarena", "intent"), ("osworld", "instruction")):
        tasks = tasks_in(name, field)
        yield name, list(several_runs(as_records(tasks, procedures["author_a"]))), tasks[::2], None
    yield "loop", list(records(1_500, folder)), [task_of(7 * number + 3) for number in range(400)], None


def as_data(answer: Retrieval) -> dict[str, Any]:
    """Everything an answer says, as JSON."""

    def hits(found: Iterable[Any]) -> list[Any]:
        return [one.model_dump(mode="json", exclude=CLOCK) for one in found]

    return {
        **{name: hits(getattr(answer, name)) for name in ("hits", "negatives", "near")},
        "withheld": [str(one) for one in answer.withheld],
        "said": [answer.threshold, answer.degraded, answer.reason, list(answer.notes)],
    }


def ask(memory: ExperienceMemory, task: str, application: str | None) -> tuple[Retrieval, dict[str, Any]]:
    """The answer to a question, and all of it with its prompt as data."""
    found = memory.wiring.retriever().retrieve(Query(task, application=application, near=3), now=NOW)
    shown = [*found, *found.negatives]
    block = build_prompt(task, shown, agreement=memory.wiring.finder().agreement, nonce=NONCE, now=NOW)
    told = [block.prompt, block.ids, block.dropped, block.tokens]
    guide = memory.guide(task, hits=found)
    return found, {"task": task, **as_data(found), "prompt": told, "guide": guide and str(guide.procedure)}


def change(memory: ExperienceMemory, number: int, found: Retrieval) -> None:
    """Report on an answer, learn a run, or take a record out of use, in turn."""
    turn = number // CHANGE_EVERY % 4
    if turn in (0, 1) and found:
        for time in range(3 * turn + 1):
            memory.report(found, success=not turn, session=f"report-{number}-{time}")
    elif turn == 2:
        steps = [{"action": "click", "control": "Reconcile"}, {"action": "type", "control": "Note", "text": "Ledger"}]
        memory.remember(f"Reconcile ledger {number} of branch 7", steps, True, "Excel", session=f"learned-{number}")
    elif found:
        memory.quarantine(found[0].id)


def write_answers(out: TextIO, every: int = 1) -> int:
    """Write the answers to every so-manyth question, one a line; returns how many."""
    written = 0
    with TemporaryDirectory() as folder:
        for name, stored, asked, embedder in sets(Path(folder)):
            memory = memory_of(Path(folder) / content_id([name]), *stored, index=embedder is None)
            if embedder is not None:
                memory = ExperienceMemory(memory.store, Settings(db=memory.store.location), embedder)
                memory.index()
            for number, task in enumerate(asked[::every]):
                application = stored[number % len(stored)].state.application if number % 9 == 4 else None
                found, data = ask(memory, task, application)
                out.write(json.dumps({"set": name, **data}, ensure_ascii=True, sort_keys=True, default=str) + "\n")
                written += 1
                if number % CHANGE_EVERY == CHANGE_EVERY - 1:
                    change(memory, number, found)
    return written


def main() -> None:
    """Write the answers of this checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--every", type=int, default=1, help="ask every so-manyth question only")
    arguments = parser.parse_args()
    secrets.token_hex = lambda _=16: NONCE  # type: ignore[assignment]
    with arguments.out.open("w", encoding="utf-8") as out:
        print(f"{write_answers(out, arguments.every)} answers in {arguments.out}")


if __name__ == "__main__":
    main()
