"""`python -m benchmarks procedures`: many runs of few tasks, and how many procedures they are listed as."""

from __future__ import annotations

import tempfile
import time
from itertools import islice, product

from ufo_experience import ExperienceMemory
from ufo_experience.procedure.runs import join
from ufo_experience.settings import Settings

TASKS, RUNS = 100, 10
VERBS = "Open Print Archive Export Rename Share Translate Check Sort Copy".split()
THINGS = "chart letter ledger calendar gallery playlist contract survey invoice roadmap".split()


def main(arguments: list[str]) -> None:
    """Learn every task ten times, each time with another value and a detour in every other run, and join them."""
    with tempfile.TemporaryDirectory() as folder:
        memory = ExperienceMemory.open(settings=Settings(db=folder, embedder="hashing"))
        for verb, thing in islice(product(VERBS, THINGS), TASKS):
            for number in range(RUNS):
                controls = [thing.title(), *(["Help"] if number % 2 else []), verb]
                steps = [{"action": "click", "control": name, "control_type": "Button"} for name in controls]
                task = f'{verb} the {thing} "number {number}"'
                memory.remember(task, steps, number % 5 > 0, "Office", "program", session=f"{task} {number}")
        started = time.process_time()
        known = join(memory.list())
        seconds = time.process_time() - started
        runs = sum(len(one.runs) for one in known)
        print(f"{runs} runs of {TASKS} tasks: {len(known)} procedures, joined in {seconds:.2f} s of processor time")
        memory.close()
