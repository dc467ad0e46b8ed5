"""Which way is offered, or is among the choices, for requests in other words: sets of records, requests and strangers.

    python benchmarks/reworded_requests.py tests/data/retrieval/author_c tests/data/retrieval/author_d

The sets are those of `tests/data/retrieval`; every request is asked with its application. Of requests that no record
helps with (strangers) it counts how many are offered a way or told any to choose from.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.memory import ExperienceMemory
from ufo_experience.schema import Experience, validate


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file, one a line."""
    for line in file.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def record(number: int, given: dict[str, Any]) -> Experience:
    """A verified run of its own session."""
    steps = [
        {
            "step_number": place,
            "action_type": one["action"],
            "target_control": {"name": one["control"], "type": one.get("control_type")},
            "parameters": {"text": one["text"]} if "text" in one else {},
        }
        for place, one in enumerate(given["steps"], start=1)
    ]
    made = {
        "id": f"{number:032x}",
        "state": {"task": given["task"], "request": given["task"], "application": given["application"]},
        "action": {"steps": steps},
        "outcome": {"success": True},
        "created_at": "2026-01-01T00:00:00Z",
        "trust": "verified",
        "provenance": {"session": given["id"]},
    }
    return validate(Experience, made)


def told(memory: ExperienceMemory, asked: dict[str, Any]) -> tuple[str, list[str]]:
    """How ways are told for a request, and their ids."""
    guide = memory.guide(asked["task"], application=asked["application"])
    if guide is not None:
        return "offered", [guide.procedure.id]
    return "a choice", [one.procedure.id for one in memory.choices(asked["task"], application=asked["application"])]


def measure(folder: Path) -> Counter[str]:
    """One set."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        memory = ExperienceMemory.open(place, embedder="hashing")
        given = list(lines(folder / "procedures.jsonl"))
        ids = {one["id"]: f"{number:032x}" for number, one in enumerate(given)}
        memory.store.add([record(number, one) for number, one in enumerate(given)])
        memory.index()
        for asked in lines(folder / "queries.jsonl"):
            how, ways = told(memory, asked)
            kind = "twins" if asked["kind"] == "twin" else "requests"
            right = bool({ids[one] for one in asked["relevant"]} & {*ways})
            found += Counter({kind: 1, f"{kind}: {how}, right": int(right)})
            found += Counter({f"{kind}: {how}, wrong": int(bool(ways) and not right), f"{kind}: ways told": len(ways)})
        for asked in lines(folder / "strangers.jsonl"):
            how, ways = told(memory, asked)
            found += Counter({"strangers": 1, f"strangers: {how}": int(bool(ways)), "strangers: ways told": len(ways)})
    return found


def main() -> None:
    """Print a line for each set."""
    for name in sys.argv[1:]:
        told_of = ", ".join(f"{what} {count}" for what, count in sorted(measure(Path(name)).items()))
        sys.stdout.write(f"{Path(name).name}: {told_of}\n")


if __name__ == "__main__":
    main()
