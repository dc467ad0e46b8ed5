"""Runs of agents that wander: a request, its steps, and which of them were needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "data" / "wandering_runs.txt"
_KEYS = ("name", "type", "within", "value", "checked", "selected", "expanded")
_STEP = re.compile(
    r'(?P<mark>[+-]) (?P<action>\S+)(?: "(?P<control>[^"]*)")?(?: \((?P<type>\w+)(?:, in "(?P<within>[^"]*)")?\))?'
    r"(?: = ?(?P<text>.*?))?(?: -> (?P<result>.*?))?(?: ! (?P<error>.*?))?(?: <> (?P<seen>.*))?"
)


@dataclass
class Wandering:
    """One run: its steps as a program hands them in, and which of them were needed."""

    task: str
    application: str
    steps: list[dict[str, Any]] = field(default_factory=list)
    needed: list[bool] = field(default_factory=list)


def wandering_runs(file: Path = FILE) -> Iterator[Wandering]:
    """The runs of a file."""
    for block in file.read_text("utf-8").split("\n\n"):
        head, *lines = block.strip().splitlines()
        if "|" not in head:
            continue
        task, application = head.removeprefix("# ").split(" | ")
        run = Wandering(task, application)
        for line in lines:
            match = _STEP.fullmatch(line)
            assert match, line
            run.steps.append(_step(match))
            run.needed.append(match["mark"] == "+")
        yield run


def played_runs(number: int = 2) -> Iterator[Wandering]:
    """The runs of a file that were played in real applications, each step with the controls in view before it."""
    told = json.loads(FILE.with_name(f"wandering_screens_{number}.json").read_text("utf-8"))
    controls = [dict(zip(_KEYS, one, strict=False)) for one in told["controls"]]  # the first do not tell the last key
    played = wandering_runs(FILE.with_name(f"wandering_runs_{number}.txt"))
    for run, screens in zip(played, told["runs"], strict=True):
        for step, screen in zip(run.steps, screens, strict=True):
            step["controls"] = [controls[at] for at in told["screens"][screen]]
        yield run


def _step(match: re.Match[str]) -> dict[str, Any]:
    control = {"name": match["control"] or "", "type": match["type"], "within": match["within"] or ""}
    step: dict[str, Any] = {"action_type": match["action"], "target_control": control}
    if match["text"] is not None:
        step["parameters"] = {"keys" if match["action"].startswith("press") else "text": match["text"]}
    given = {"result": match["result"], "error": match["error"], "observation": match["seen"]}
    return step | {name: value for name, value in given.items() if value}
