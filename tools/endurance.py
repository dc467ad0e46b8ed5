"""A process that answers for a long time: memory, descriptors and threads must stay where they were.

    python -m tools.endurance --questions 10000

Every question is new; of ten, one is as long as a record may hold. All are answered with a prompt, every hundredth
also with a new record.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from random import Random

from tests.builders import a_record_of, memory_of
from ufo_experience.memory import ExperienceMemory

VERBS = ("Email", "Rename", "Export", "Print", "Share", "Filter", "Move", "Archive")
THINGS = ("the invoice", "a chart", "the budget", "my report", "the third slide", "a folder", "the contact", "a note")
GROWTH_MB = 12.0  # from a tenth of the way to the end, 90 new records in a process of 10,000 questions among it


def question(chance: Random, number: int, longest: int) -> str:
    """A request nobody made before."""
    words = "".join(chance.choice("abcdefghijklmnopqrstuvwxyz ") for _ in range(longest if number % 10 == 0 else 40))
    return f"{chance.choice(VERBS)} {chance.choice(THINGS)} number {number} {words}"[: max(longest, 80)]


def memory_mb() -> float:
    """Memory of this process alone (MB), once what was let go of went back to the system."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # glibc keeps what was freed
            trim(0)
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) / 1024, 1)


def state() -> dict[str, float]:
    """Memory (MB), open descriptors and threads of this process."""
    return {
        "mb": memory_mb(),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
    }


def run(memory: ExperienceMemory, questions: int, longest: int, seed: int) -> list[dict[str, float]]:
    """Ask so many questions; the state after each tenth of them."""
    chance = Random(seed)
    seen = []
    for number in range(1, questions + 1):
        task = question(chance, number, longest)
        memory.build_prompt(task)
        if number % 100 == 0:
            memory.remember(task[:200], [{"action": "click", "control": "Save"}], success=True)
        if number % max(1, questions // 10) == 0:
            seen.append({"questions": number, **state()})
    return seen


def grown(seen: list[dict[str, float]]) -> list[str]:
    """What is more at the end than after a tenth of the way."""
    first, last = seen[0], seen[-1]
    found = [
        f"{name}: {first[name]} -> {last[name]}" for name in ("descriptors", "threads") if last[name] > first[name]
    ]
    if last["mb"] - first["mb"] > GROWTH_MB:
        found.append(f"memory: {first['mb']} -> {last['mb']} MB")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; 1 when something grew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--longest", type=int, default=8_000, help="characters of one question in ten")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    chance = Random(asked.seed)
    with tempfile.TemporaryDirectory() as folder:
        records = [
            a_record_of(question(chance, number + 1, 60), session=str(number)) for number in range(asked.records)
        ]
        with memory_of(Path(folder) / "db", *records) as memory:
            seen = run(memory, asked.questions, asked.longest, asked.seed)
    worse = grown(seen)
    if asked.json:
        print(json.dumps({"seen": seen, "grown": worse}))
    else:
        print("\n".join([*(str(one) for one in seen), *(worse or ["nothing grew"])]))
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
