"""Survivors that were looked at and behave as the original does: no test could tell them apart.

A rule is a pattern over a mutant's diff; each says why. What is not listed counts as a gap of the tests.
"""

from __future__ import annotations

import re
from pathlib import Path

from mutation.mutants import Mutant, diff

# module (pattern), pattern over the diff, why it changes nothing
RULES: list[tuple[str, str, str]] = []


def reason_of(package: Path, mutant: Mutant) -> str | None:
    """Why a mutant that survived is equivalent, None when it is not known to be."""
    change = diff(package, mutant)
    for module, pattern, reason in RULES:
        if re.fullmatch(module, mutant.module) and re.search(pattern, change):
            return reason
    return None
