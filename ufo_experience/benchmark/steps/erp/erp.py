"""The enterprise application as an environment: codes, fields named on refusal, house rules, final documents.

A goal names nothing of the way. All of it can be found out: the directory lists the transactions in the words of the
trade, a refusal names a field, circulars tell the rules. What is filed cannot be taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar

from ufo_experience.benchmark.steps.desktop import Desktop
from ufo_experience.benchmark.steps.desktop.templates import Template, World, read_templates
from ufo_experience.benchmark.steps.erp.start import POOLS, derived, start_state


class Erp(Desktop):
    """One task family of the enterprise application."""

    kind: ClassVar[str] = "erp"
    applications: ClassVar[tuple[str, ...]] = ("Orbit",)
    page: ClassVar[Path] = Path(__file__).parent / "pages" / "index.html"

    @classmethod
    def families(cls) -> Mapping[str, Template]:
        """The task families by name."""
        return _families()


@cache
def _families() -> Mapping[str, Template]:
    return read_templates(Path(__file__).with_name("tasks.yaml"), World(POOLS, start_state, derived))
