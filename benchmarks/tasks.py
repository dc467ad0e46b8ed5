"""Varied tasks and runs for the benchmarks, made from the phrase book in `tools/phrases` (7,500 procedures).

Each number gives a task of its own: a procedure of the book, worded one of its ways, with values of its own. Its run
has three to nine steps on controls named after the words of the procedure.
"""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path
from typing import Any

PHRASES = Path(__file__).resolve().parents[1] / "tools" / "phrases"
APPLICATIONS = ("Outlook", "Excel", "Word", "PowerPoint", "Chrome", "Settings", "SAP", "Jira", "Files", "Calendar")
PEOPLE = ("Jane Okafor", "Omar Reyes", "Lin Wei", "Ada Novak", "Ivo Marin", "Mia Svensson", "Noah Levi", "Zoe Kaur")
_ENDINGS = ("for {person}", 'named "{word} {number}"', "dated {day}/11/2026", "in {word}.xlsx", "no. {number}")
_KINDS = ("Button", "MenuItem", "TabItem", "CheckBox", "ListItem", "Hyperlink")


@lru_cache(1)
def procedures() -> tuple[tuple[str, ...], ...]:
    """The wordings of each procedure of the book, in a fixed order."""
    lines = [line for file in sorted(PHRASES.glob("*.txt")) for line in file.read_text(encoding="utf-8").splitlines()]
    found = [tuple(part.strip() for part in line.split("|")) for line in lines if "|" in line]
    random.Random(1).shuffle(found)
    return tuple(found)


def task_of(number: int) -> str:
    """The request of a number: no two are the same."""
    pick = random.Random(number)
    wordings = procedures()[number % len(procedures())]
    values = {"person": pick.choice(PEOPLE), "word": f"plan{number}", "number": 1000 + number, "day": number % 28 + 1}
    return f"{pick.choice(wordings)} {pick.choice(_ENDINGS).format(**values)}"


def application_of(number: int) -> str:
    """The application of a number."""
    return APPLICATIONS[number * 7 % len(APPLICATIONS)]


def steps_of(number: int) -> list[dict[str, Any]]:
    """Steps of a run of `task_of(number)`, as `remember` takes them."""
    pick = random.Random(-1 - number)
    words = [word.capitalize() for word in " ".join(procedures()[number % len(procedures())]).split() if len(word) > 2]
    steps: list[dict[str, Any]] = []
    for _ in range(pick.randint(2, 8)):
        label = " ".join(pick.sample(words, min(2, len(words))))
        steps.append({"action": "click", "control": label, "control_type": pick.choice(_KINDS), "result": "ok"})
    field = {"action": "type", "control": pick.choice(words), "control_type": "Edit"}
    steps.insert(pick.randrange(len(steps)), {**field, "parameters": {"text": f"{1000 + number}"}})
    return steps
