"""`python -m benchmarks procedures`: many runs of few tasks: how many procedures they are, and what that costs.

What a block adds to a prompt is estimated as the product does (`estimate_tokens`), what a model would be sent for a
summary is counted on the same runs; the offline summarizer asks nobody.
"""

from __future__ import annotations

import tempfile
import time
from itertools import islice, product

from ufo_experience import Experience, ExperienceMemory
from ufo_experience.procedure.runs import join
from ufo_experience.request import estimate_tokens
from ufo_experience.schema import Trajectory
from ufo_experience.settings import Settings
from ufo_experience.summarize.model import INPUT_TOKENS, render_log, wording

TASKS, RUNS = 100, 10
VERBS = "Open Print Archive Export Rename Share Translate Check Sort Copy".split()
THINGS = "chart letter ledger calendar gallery playlist contract survey invoice roadmap".split()


def _sent(memory: ExperienceMemory) -> int:
    """Tokens of the questions about the newest hundred runs, were they put to a model."""
    said = sum(estimate_tokens(text) for text in wording("summarize").values())
    return sum(
        said + estimate_tokens(render_log(_trajectory(one), "0" * 32, INPUT_TOKENS)[0]) for one in memory.list()[:100]
    )


def _trajectory(one: Experience) -> Trajectory:
    state = one.state
    return Trajectory(request=state.request, steps=one.action.steps, outcome=one.outcome, format="benchmark")


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
        blocks = [memory.build_prompt(f'{verb} the {thing} "another"') for verb, thing in product(VERBS, THINGS)]
        shown = [block.tokens for block in blocks if block.ids]
        print(f"100 requests: {len(shown)} shown a way, {sum(shown)} tokens added, 0 calls to a model")
        print(f"100 runs summarized by a model: 100 calls, {_sent(memory)} tokens sent; offline: 0 calls")
        memory.close()
