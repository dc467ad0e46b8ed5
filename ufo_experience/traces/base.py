"""What every trace reader shares: the protocol, and the report of what could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ufo_experience.schema import Problem, Trajectory


@dataclass
class ReadReport:
    """What reading met besides trajectories. Nothing that was found on disk is missing from it."""

    problems: list[Problem] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)


class TraceReader(Protocol):
    """Reads one family of log formats."""

    name: str

    def recognises(self, path: Path) -> bool:
        """True when `path` (a file or a session folder) is of this family; looks at no more than its first lines."""
        ...

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the trajectories of one source, adding what it could not use to `report.problems`.

        Raises `TraceError` when nothing in the source can be used.
        """
        ...
