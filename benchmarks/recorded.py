"""`python -m benchmarks recorded FOLDER`: recorded runs of somebody else's agents, learned, and asked for again.

FOLDER holds logs of a known format, such as run folders of OSWorld. Every task of which a run succeeded is asked in its
own words. The table says how many are served a way, and how much of that way a reader is left to find out.
`--show N` prints so many of the blocks: what an agent would read.

    python benchmarks/convert_trajectory_texts.py TEXTS OUT      722 runs of two agents that click by coordinates
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ufo_experience import Experience, ExperienceMemory
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.settings import Settings


def tasks_of(memory: ExperienceMemory) -> list[str]:
    """The requests of which a run succeeded, each once."""
    return sorted({one.state.request for one in memory.list() if one.outcome.success})


def ways_of(memory: ExperienceMemory, tasks: Sequence[str]) -> Iterator[tuple[str, Procedure | None, str]]:
    """Each task, the first way it is shown (None for none, or for one that failed), and the block."""
    for task in tasks:
        block = memory.build_prompt(task, memory.retrieve(task))
        way = next((one for one in block.procedures if one.success), None)
        yield task, way, block.text


def _row(ways: Sequence[Procedure]) -> str:
    steps = [step for way in ways for step in way.steps]
    count = Counter("open" if step.missing else "name hidden" if step.hidden else "told in full" for step in steps)
    return f"{len(steps)} steps: " + ", ".join(f"{number} {name}" for name, number in count.most_common())


def main(arguments: list[str]) -> None:
    """Learn the logs of a folder and ask for each task again."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks recorded", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", type=int, default=0, metavar="N")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as store:
        memory = ExperienceMemory.open(settings=Settings(db=store, embedder="hashing"))
        memory.ingest(options.folder, include_failures=True)
        learned: list[Experience] = memory.list()
        worked = sum(one.outcome.success is True for one in learned)
        asked = list(ways_of(memory, tasks_of(memory)))
        ways = [way for _, way, _ in asked if way is not None]
        print(f"{len(learned)} runs, {worked} of them successful")
        print(f"{len(asked)} tasks with a success, asked in their own words: {len(ways)} are shown a way that worked")
        print(_row(ways))
        for task, _, text in random.Random(0).sample(asked, min(options.show, len(asked))):
            print(f"\n{task}\n{text}")
        memory.close()
