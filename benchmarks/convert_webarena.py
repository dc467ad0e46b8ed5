"""WebArena's tasks as a retrieval set: python benchmarks/convert_webarena.py test.raw.json|tasks.jsonl OUT

Query and corpus are the same tasks (measure with --leave-one-out); relevant is what has the same template. Tasks whose
template has one member are searched but not asked for. `--unrelated FILE` adds a text a line as queries without answer.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.retrieval.beir import write_beir


def read_tasks(path: Path) -> list[dict[str, Any]]:
    """The tasks, from the public JSON array or from JSON lines."""
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if text.lstrip().startswith("[") else [json.loads(line) for line in text.splitlines()]


def entry(task: dict[str, Any]) -> dict[str, Any]:
    """One task as an entry of the corpus."""
    application = ",".join(task["sites"])
    return {"_id": f"webarena-{task['task_id']}", "text": task["intent"], "metadata": {"application": application}}


def main() -> None:
    """Convert."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--unrelated", type=Path, help="file with one text a line")
    arguments = parser.parse_args()
    tasks = read_tasks(arguments.tasks)
    templates: dict[int, list[str]] = defaultdict(list)
    for task in tasks:
        templates[task["intent_template_id"]].append(entry(task)["_id"])
    asked = [task for task in tasks if len(templates[task["intent_template_id"]]) > 1]
    qrels = [
        (entry(task)["_id"], other, 1)
        for task in asked
        for other in templates[task["intent_template_id"]]
        if other != entry(task)["_id"]
    ]
    strangers = arguments.unrelated.read_text(encoding="utf-8").splitlines() if arguments.unrelated else []
    queries = [entry(task) for task in asked]
    queries += [{"_id": f"unrelated-{n}", "text": text, "metadata": {}} for n, text in enumerate(strangers)]
    write_beir(arguments.out, map(entry, tasks), queries, qrels)
    print(f"{len(tasks)} tasks, {len(asked)} queries, {len(strangers)} unrelated in {arguments.out}")


if __name__ == "__main__":
    main()
