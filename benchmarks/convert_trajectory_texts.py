"""Trajectories written out as text, as run folders of OSWorld:

    python benchmarks/convert_trajectory_texts.py TEXTS OUT

TEXTS is the folder `outputs/trajectory_texts` of izaias-saturnino/PLN-Multimodal-LLM-OSWorld-Trail-Summary: a file for
each run, with its task, its result, and thought and code of each step. No file of it is kept here: it has no licence.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

_HEAD = re.compile(r"(?m)^(Trajectory ID|Source Model|Domain|Success Raw): (.*)$")
_TASK = re.compile(r"Task:\n(.*?)\n\nSuccess Binary", re.DOTALL)
_STEP = re.compile(r"={50}\nSTEP (\d+)\n={50}\n")
_THOUGHT = re.compile(r"Thought:\n(.*?)\n\nAction:\n", re.DOTALL)
_ACTION = re.compile(r"Action:\n(.*)", re.DOTALL)


def convert(text: str, out: Path) -> None:
    """Write one run folder: its lines, its result and its task."""
    head = dict(_HEAD.findall(text))
    task = _TASK.search(text)
    if task is None or head["Success Raw"].strip() == "None":
        return
    rows = []
    parts = _STEP.split(text)[1:]
    for number, body in zip(parts[::2], parts[1::2], strict=True):
        thought, action = _THOUGHT.search(body), _ACTION.search(body)
        said = thought[1].strip() if thought else ""
        rows.append({"step_num": int(number), "response": said, "action": action[1].strip() if action else ""})
    run = out / head["Source Model"].strip() / head["Domain"].strip() / head["Trajectory ID"].strip()
    run.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (run / "traj.jsonl").write_text("".join(lines), encoding="utf-8")
    (run / "result.txt").write_text(head["Success Raw"].strip(), encoding="utf-8")
    told = {"instruction": task[1].strip(), "snapshot": head["Domain"].strip()}
    (run / "task.json").write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")


def main() -> None:
    """Convert every text of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    for file in sorted(options.texts.glob("*.txt")):
        convert(file.read_text(encoding="utf-8"), options.out)


if __name__ == "__main__":
    main()
