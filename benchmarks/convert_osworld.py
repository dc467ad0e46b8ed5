"""OSWorld's reworded tasks as a retrieval set:

    python benchmarks/convert_osworld.py OLD VERIFIED OUT [--distractors OTHER_SET]

OLD and VERIFIED are two versions of `evaluation_examples/examples` (folders of <domain>/<id>.json), or JSON lines with
key, domain and instruction. Queries are the old wordings, the corpus holds the verified ones. A pair is joined on
(domain, id); the old set's adapted `Windows/…` tasks, whose domain is not in the other, on the id alone. Pairs of the
same text are left out. `--distractors` adds the corpus of another set in BEIR layout.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.retrieval.beir import write_beir

Task = dict[str, str]


def read_tasks(path: Path) -> list[Task]:
    """The tasks of one version, from the public folder or from JSON lines."""
    if path.is_file():
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    tasks = []
    for file in sorted(path.rglob("*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(data, dict) and "instruction" in data:
            domain = file.parent.relative_to(path).as_posix()
            tasks.append({"key": file.stem, "domain": domain, "instruction": data["instruction"]})
    return tasks


def joined(old: list[Task], verified: list[Task]) -> list[tuple[Task, Task]]:
    """Pairs of the same task in other words."""
    exact = {(task["domain"], task["key"]): task for task in verified}
    by_key = {task["key"]: task for task in verified}
    pairs = []
    for task in old:
        other = exact.get((task["domain"], task["key"]))
        if other is None and task["domain"].startswith("Windows"):
            other = by_key.get(task["key"])
        if other is not None and other["instruction"] != task["instruction"]:
            pairs.append((task, other))
    return pairs


def entry(prefix: str, task: Task) -> dict[str, Any]:
    """One task as an entry."""
    identifier = f"{prefix}-{task['domain']}-{task['key']}"
    return {"_id": identifier, "text": task["instruction"], "metadata": {"application": task["domain"]}}


def main() -> None:
    """Convert."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("verified", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--distractors", type=Path, help="folder of another set")
    parser.add_argument("--unrelated", type=Path, help="file with one text a line")
    arguments = parser.parse_args()
    verified = read_tasks(arguments.verified)
    pairs = joined(read_tasks(arguments.old), verified)
    corpus = [entry("verified", task) for task in verified]
    if arguments.distractors:
        lines = (arguments.distractors / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        corpus += [json.loads(line) for line in lines]
    queries = [entry("old", old) for old, _ in pairs]
    strangers = arguments.unrelated.read_text(encoding="utf-8").splitlines() if arguments.unrelated else []
    queries += [{"_id": f"unrelated-{n}", "text": text, "metadata": {}} for n, text in enumerate(strangers)]
    qrels = [(entry("old", old)["_id"], entry("verified", new)["_id"], 1) for old, new in pairs]
    write_beir(arguments.out, corpus, queries, qrels)
    print(f"{len(corpus)} in the corpus, {len(pairs)} queries, {len(strangers)} unrelated in {arguments.out}")


if __name__ == "__main__":
    main()
