"""Survivors that were looked at and behave as the original does: no test could tell them apart.

A rule is a pattern over a mutant's diff; each says why. What is not listed counts as a gap of the tests.
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.mutation.mutants import Mutant, diff

# module (pattern), pattern over the diff, why it changes nothing
RULES: list[tuple[str, str, str]] = [
    (r".*", r"^\+@dataclass\(frozen=False", "nothing assigns to its fields, and mypy would refuse it"),
    (r".*", r"^(?:\+@lru_cache|-@lru_cache|-@functools\.cache)", "how much a cache remembers changes no answer"),
    (r"store/base\.py", r"^\+ +(?:def .*|[a-z_]+: .* = .*)$", "a protocol holds no code"),
    (
        r"store/disk\.py",
        r"^\+.*(?:O_[A-Z]+|0\)) [+^] (?:os|getattr)",
        "flags are different bits: adding them is joining them",
    ),
    (r"store/disk\.py", r'^\+.*getattr\(os, "O_[A-Z]+", *-?\d+\)', "the default counts only where the flag is missing"),
    (r"audit\.py", r"^\+.*ensure_ascii=True", "ids, numbers, hashes and names of engines are ASCII"),
    (r"redaction/keys\.py", r"^\+ +if match\.start\(\) != end:", "what starts before `end` was passed over above"),
    (r"retriever\.py", r"^\+.*(?:\)\[ *-1\]|place : place \+ 2)", "of one row the first is the last"),
    (r"store/files\.py", r"^\+GROUP = ", "how many records share a commit is no promise"),
    (r"store/layout\.py", r"^\+_STEP_NS = ", "any step that the disk can tell apart will do"),
    (r"store/(?:files|lock)\.py", r"^\+ +lock_timeout: float = ", "a default of nine or eleven seconds is as good"),
]


def reason_of(package: Path, mutant: Mutant) -> str | None:
    """Why a mutant that survived is equivalent, None when it is not known to be."""
    change = diff(package, mutant)
    for module, pattern, reason in RULES:
        if re.fullmatch(module, mutant.module) and re.search(pattern, change, re.MULTILINE):
            return reason
    return None
