"""Is the step shown next the one that was taken? With and without the screen, on AutoDroid's recorded runs.

    python benchmarks/screen_recall.py tests/data/autodroid/profile_no_answer.json [--threshold 0.5]

Each state of each run is asked about by itself: the memory holds the other runs of the application, the task and what
was done so far are known, and the first hit shows the step that comes next on its way. Counted are states in which
there is a hit; `told` is how often that step acts on the control the run acted on. Without `--threshold` it is the
product's own; a low one makes many ways equal that are none.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convert_autodroid import _ELEMENT, _chosen, _name, read

from ufo_experience import ExperienceMemory
from ufo_experience.procedure.screen import in_view
from ufo_experience.text.controls import bare

ROUNDS = 2_000


@dataclass(frozen=True)
class Asked:
    """One state: whether the step shown next was the one taken, without the screen and with it."""

    task: str
    without: bool
    with_screen: bool


def states(path: Path) -> Iterator[tuple[str, str, list[dict[str, str]], list[str], str]]:
    """Application, task, controls in view, names acted on so far, and the name acted on next."""
    for app, tasks in json.loads(path.read_text(encoding="utf-8")).items():
        for task in tasks.values():
            done: list[str] = []
            for screen in task.get("profile") or ():
                found = {int(number): (kind, _name(rest, body)) for kind, number, rest, body in _seen(screen)}
                _, taken = found.get(-1 if (number := _chosen(screen)) is None else number, ("", ""))
                if taken:
                    controls = [{"name": name, "type": kind} for kind, name in found.values() if name]
                    yield app, task["task"], controls, list(done), taken
                    done.append(taken)


def _seen(screen: dict[str, Any]) -> list[tuple[str, ...]]:
    return _ELEMENT.findall(screen.get("state") or "")


def ask(memory: ExperienceMemory, path: Path, threshold: float | None) -> list[Asked]:
    """Every state for which something is known."""
    records = memory.list()
    asked = []
    for app, task, controls, done, taken in states(path):
        others = [one.id for one in records if (one.state.request or one.state.task) != task]
        if not others:
            continue
        given = {"application": app, "only": others, "similarity_threshold": threshold, "top_k": 1}
        plain, seen = memory.retrieve(task, **given), memory.retrieve(task, controls=controls, done=done, **given)
        if plain:
            screen = in_view(controls, done, app)
            steps = (screen.next_step(found[0].experience) for found in (plain, seen))
            told = [step is not None and bare(step.target_control.name) == bare(taken) for step in steps]
            asked.append(Asked(f"{app}/{task}", *told))
    return asked


def interval(asked: list[Asked]) -> tuple[float, float]:
    """95 % of the difference, resampled by task."""
    tasks: dict[str, list[Asked]] = {}
    for one in asked:
        tasks.setdefault(one.task, []).append(one)
    chance, groups = random.Random(0), list(tasks.values())
    drawn = []
    for _ in range(ROUNDS):
        sample = [one for group in chance.choices(groups, k=len(groups)) for one in group]
        drawn.append(sum(one.with_screen - one.without for one in sample) / len(sample))
    drawn.sort()
    return drawn[ROUNDS // 40], drawn[-ROUNDS // 40]


def main() -> None:
    """Print the figures of a file."""
    path = Path(sys.argv[1])
    threshold = float(sys.argv[sys.argv.index("--threshold") + 1]) if "--threshold" in sys.argv else None
    with tempfile.TemporaryDirectory() as folder, ExperienceMemory.open(folder, embedder="hashing") as memory:
        for session in read(path):
            if session["steps"]:
                more = {key: session[key] for key in ("application", "session") if key in session}
                memory.remember(session["task"], session["steps"], success=True, judge="person", **more)
        asked = ask(memory, path, threshold)
    if not asked:
        sys.exit("nothing is known for any state")
    without, with_screen = sum(one.without for one in asked), sum(one.with_screen for one in asked)
    low, high = interval(asked)
    print(f"{len(asked)} states of {len({one.task for one in asked})} tasks with a hit")
    print(f"told without the screen {without / len(asked):.3f}, with it {with_screen / len(asked):.3f}", end="; ")
    print(f"difference {(with_screen - without) / len(asked):+.3f}, 95 % {low:+.3f} to {high:+.3f}")


if __name__ == "__main__":
    main()
