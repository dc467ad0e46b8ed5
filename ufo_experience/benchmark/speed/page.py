"""The results of `bench speed` and `bench engines` for people: a table, a Markdown page, a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ufo_experience.benchmark.page import new_figure, table, write_files
from ufo_experience.benchmark.speed.loop import WORK, LoopReport
from ufo_experience.benchmark.speed.run import Report, Row

_HEADERS = (
    "engine",
    "rows × dimensions",
    "top 10: p50 / p95 ms",
    "recall",
    "5 % filter: p50 / p95 ms",
    "recall",
    "build s",
    "open + 1st answer ms",
    "add 1 ms",
    "memory MB",
)


def report_text(report: Report) -> str:
    """The Markdown page."""
    lines = [f"# Speed of the index\n\n{report.machine}; {report.date}; {report.queries} single queries each.\n"]
    lines += table(_HEADERS, [_figures(row) for row in report.rows])
    if report.growth:
        slopes = "; ".join(f"{name}: {slope}" for name, slope in report.growth.items())
        lines.append(f"\nLatency grows with size to the power of (engine, dimensions): {slopes}.")
    return "\n".join(lines)


def write_page(report: Report, folder: Path) -> list[Path]:
    """Write `speed.md` and `speed.png` into a folder (made if need be); returns both.

    Raises:
        MissingExtraError: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    page = f"{report_text(report)}\n\n![Speed](speed.png)\n"
    return write_files(folder, {"speed.png": _draw(report)}, {"speed.md": page})


def _draw(report: Report) -> Any:
    """Latency against size, and recall against latency."""
    figure = new_figure(11, 4.5)
    growth, trade = figure.subplots(1, 2)
    for name in dict.fromkeys((row.engine, row.dim) for row in report.rows):
        rows = sorted((row for row in report.rows if (row.engine, row.dim) == name), key=lambda row: row.size)
        label = f"{name[0]}, {name[1]}"
        (line,) = growth.plot([row.size for row in rows], [row.p50 for row in rows], marker="o", label=label)
        filtered = [row.filtered_p50 for row in rows]
        growth.plot([row.size for row in rows], filtered, marker=".", linestyle="--", color=line.get_color())
        trade.scatter([row.p50 for row in rows], [row.recall for row in rows], color=line.get_color())
        trade.scatter(filtered, [row.filtered_recall for row in rows], marker="x", color=line.get_color())
    growth.set(xscale="log", yscale="log", xlabel="rows", ylabel="ms (p50)", title="dashed: inside one application")
    trade.set(xscale="log", xlabel="ms (p50)", ylabel="recall at 10", title="crosses: inside one application")
    growth.legend(fontsize=7)
    return figure


def _figures(row: Row) -> list[str]:
    return [
        row.engine,
        f"{row.size:,} × {row.dim}",
        f"{row.p50:.2f} / {row.p95:.2f}",
        f"{row.recall:.3f}",
        f"{row.filtered_p50:.2f} / {row.filtered_p95:.2f}",
        f"{row.filtered_recall:.3f}",
        f"{row.build_s:.2f}",
        "–" if row.open_ms is None else f"{row.open_ms:.1f}",
        f"{row.add_p50:.2f}",
        "–" if row.memory_mb is None else f"{row.memory_mb:.0f}",
    ]


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
    return write_files(folder, {"loop.png": _draw_loop(report)}, {"loop.md": page})


def _draw_loop(report: LoopReport) -> Any:
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
