"""What the converters of data sets share: sessions in the product's plain format, and their tasks as lines of text.

Each converter is a command with the same arguments:

    python benchmarks/convert_NAME.py SOURCE OUT.jsonl [--tasks TASKS.txt]

OUT takes one session a line, as `ufo-experience ingest` reads it; TASKS takes each distinct task once, a line each, as
`--unrelated` of the retrieval sets reads it. OUT may be left away as `-`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Session = dict[str, Any]


def convert(read: Callable[[Path], Iterator[Session]], description: str | None) -> None:
    """Read the source that is named on the command line and write what was asked for."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path, help="JSON lines, or - for none")
    parser.add_argument("--tasks", type=Path, help="file for the distinct tasks, one a line")
    arguments = parser.parse_args()
    sessions = list(read(arguments.source))
    tasks = list(dict.fromkeys(" ".join(one["task"].split()) for one in sessions))
    if str(arguments.out) != "-":
        lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in sessions]
        arguments.out.write_text("".join(lines), encoding="utf-8")
    if arguments.tasks:
        arguments.tasks.write_text("".join(f"{task}\n" for task in tasks), encoding="utf-8")
    steps = sum(len(one["steps"]) for one in sessions)
    print(f"{len(sessions)} sessions with {steps} steps, {len(tasks)} distinct tasks")


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)
