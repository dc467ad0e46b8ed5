"""The results of `bench speed` for people: a table, a Markdown page, a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ufo_experience.benchmark.page import new_figure, table, write_files
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
