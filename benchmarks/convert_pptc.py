"""PPTC as sessions: python benchmarks/convert_pptc.py sessions.jsonl OUT.jsonl [--tasks TASKS.txt]

PPTC gives instructions for a presentation and the API calls that carry them out, one session a line. Each turn becomes
a task of its own. The calls are the data set's answer, not a log: no step was executed, and success is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sessions import Session, convert, json_lines

from ufo_experience.traces.calls import calls_of_source


def read(path: Path) -> Iterator[Session]:
    """A session per turn that has an instruction and calls that can be read."""
    for number, record in enumerate(json_lines(path), start=1):
        for place, turn in enumerate(record["turns"], start=1):
            calls = calls_of_source(turn.get("api_sequence") or turn.get("Feasible API sequence") or "")
            instruction = (turn.get("instruction") or turn.get("User instruction") or "").partition(" ##")[0].strip()
            if calls and instruction:
                steps = [{"action": c.name, "parameters": c.arguments, "result": "not executed"} for c in calls]
                key = f"pptc-{number}-{place}"
                yield {"session": key, "task": instruction, "application": "PowerPoint", "steps": steps}


if __name__ == "__main__":
    convert(read, __doc__)
