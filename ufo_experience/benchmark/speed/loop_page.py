"""The results of the loop for people: a table, a Markdown page, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ufo_experience.benchmark.page import new_figure, table, write_files
from ufo_experience.benchmark.speed.loop import WORK, LoopReport


def loop_text(report: LoopReport) -> str:
    """The Markdown page. What was disturbed says so first."""
    sizes = sorted(report.times)
    lines = [f"# Speed of the loop: ask, run, learn, ask\n\n{report.machine}; {report.date}; {report.embedder}.\n"]
    if report.disturbed:
        lines.append(f"**Not publishable**: the machine was busy ({'; '.join(report.disturbed)}).\n")
    rows = []
    for name, title in WORK.items():
        cells = [report.times[size][name] for size in sizes]
        rows.append([title, *(f"{cell.p50:,.1f} / {cell.p95:,.1f}" for cell in cells), str(cells[0].n)])
    lines += table(("p50 / p95 ms", *(f"{size:,} records" for size in sizes), "n"), rows)
    return "\n".join(lines)


def write_loop_page(report: LoopReport, folder: Path) -> list[Path]:
    """Write `loop.md` and `loop.png` into a folder (made if need be); returns both.

    Raises:
        MissingExtraError: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    page = f"{loop_text(report)}\n\n![The loop by size of the store](loop.png)\n"
    return write_files(folder, {"loop.png": _draw(report)}, {"loop.md": page})


def _draw(report: LoopReport) -> Any:
    """Median time of each kind of work against the size of the store."""
    figure = new_figure(8, 5)
    plot = figure.subplots()
    sizes = sorted(report.times)
    for name, title in WORK.items():
        plot.plot(sizes, [report.times[size][name].p50 for size in sizes], marker="o", label=title)
    title = "not publishable: the machine was busy" if report.disturbed else report.machine
    plot.set(xscale="log", yscale="log", xlabel="records", ylabel="ms (p50)", title=title)
    plot.legend(fontsize=7)
    return figure
