"""What the pages of all benchmarks share: a Markdown table, a figure, and the files in one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ufo_experience.errors import StorageError, missing_extra


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    return [f"| {' | '.join(row)} |" for row in [headers, ["---"] * len(headers), *rows]]


def new_figure(width: float, height: float) -> Any:
    """An empty figure, in inches. Raises `ServiceError` when matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("matplotlib", "bench") from error
    return Figure(figsize=(width, height), layout="constrained")


def write_files(folder: Path, plots: Mapping[str, Any], texts: Mapping[str, str]) -> list[Path]:
    """Write figures and texts, by file name, into a folder (made if need be); returns the paths of the texts first.

    Raises:
        StorageError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in plots.items():
            figure.savefig(folder / name, dpi=120)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror or error}") from error
    return [folder / name for name in (*texts, *plots)]
