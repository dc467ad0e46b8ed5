"""How much one question does: calls, files, patterns and pairs are counted, so that what costs more is seen at once.

Counts do not depend on the machine. A bound that is crossed is no bug by itself: find what does the work twice, or
raise it and say why.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from tests.builders import memory_of, open_memory
from ufo_experience.benchmark.speed.loop import task_of
from ufo_experience.ids import content_id
from ufo_experience.index import snapshot
from ufo_experience.memory import ExperienceMemory
from ufo_experience.schema import Experience, Trust
from ufo_experience.store.folder import layout
from ufo_experience.text.remembered import forget_texts

SIZE = 120


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, learned_once) -> Iterator[ExperienceMemory]:
    """A store that was left alone for a while and has answered some questions."""
    with open_memory(learned_once) as samples, pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "_SETTLED_NS", 0)
        patch.setattr(snapshot, "MTIME_GRANULARITY_NS", 0)
        made = [one for one in samples.store.scan() if one.outcome.success]
        records = [record(made[number % len(made)], number) for number in range(SIZE)]
        memory = memory_of(tmp_path_factory.mktemp("work") / "db", *records)
        for number in range(4):
            memory.build_prompt(task_of(7 * number))
        yield memory


def record(one: Experience, number: int) -> Experience:
    """A verified run of its own request, in a session of its own."""
    task = task_of(number)
    origin = one.provenance.model_copy(update={"session": f"session-{number}"})
    changes = {"id": content_id([number]), "trust": Trust.VERIFIED, "provenance": origin}
    return one.model_copy(update={**changes, "state": one.state.model_copy(update={"request": task, "task": task})})


def work_of(act: Callable[[], Any]) -> Counter[str]:
    """How often functions were called, by name; `calls` are all written in Python, `patterns` the uses of patterns."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, called: Any) -> None:
        if event == "call":
            found["calls"] += 1
            found[frame.f_code.co_name] += 1
        elif event == "c_call":
            found["patterns" if isinstance(getattr(called, "__self__", None), re.Pattern) else called.__name__] += 1

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return found


def over(work: Counter[str], **bounds: int) -> dict[str, int]:
    """What was done more often than a bound says."""
    return {name: work[name] for name, most in bounds.items() if work[name] > most}


def test_a_question_that_is_asked_first(memory):
    """Two dozen requests are compared in full, as the index keeps them; what is served is read."""
    forget_texts()
    work = work_of(lambda: memory.retrieve(task_of(1_003)))
    assert not over(
        work, calls=11_500, _compare=45, _frame=3, _cut=6, patterns=280, open=14, lstat=40, validate_python=8
    )


def test_a_question_that_comes_again(memory):
    """No text is taken apart anew, and no file is read."""
    memory.retrieve(task_of(1_010))
    work = work_of(lambda: memory.retrieve(task_of(1_010)))
    assert not over(work, calls=5_800, _compare=45, _frame=0, _cut=0, patterns=28, open=0, lstat=24)


def test_a_prompt(memory):
    """What is shown is judged for each task; where two runs are compared, what was read of them is kept."""
    hits = memory.retrieve(task_of(1_017))
    memory.build_prompt(task_of(1_017), hits)
    work = work_of(lambda: memory.build_prompt(task_of(1_017), hits))
    assert not over(work, calls=4_200, _frame=0, _cut=0, patterns=850, open=1, lstat=3)


def test_a_question_after_a_report_looks_into_no_folder(memory):
    """What the process changed itself it knows; of three records a new row is made, and they are read to be served."""
    hits = memory.retrieve(task_of(1_024))
    memory.report(hits, success=True)
    work = work_of(lambda: memory.retrieve(task_of(1_024)))
    assert not over(work, calls=9_500, _frame=3, _cut=6, patterns=270, open=14, lstat=40, scandir=0, term_counts=3)


def test_a_question_after_a_run_was_learned(memory):
    """The process that learned it knows it already."""
    memory.retrieve(task_of(1_031))
    memory.remember("Reconcile the ledger of March", [{"action": "click", "control": "Reconcile"}], True, "Excel")
    work = work_of(lambda: memory.retrieve(task_of(1_031)))
    assert not over(work, calls=8_500, _frame=2, _cut=4, patterns=60, open=0, lstat=24, scandir=0, term_counts=0)
