"""The results of `bench retrieval` for people: a table, a Markdown page, a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.page import new_figure, table, write_files
from benchmarks.retrieval.metrics import Estimate
from benchmarks.retrieval.run import Report, Row

_HEADERS = ("method", "nDCG@10 [95 % CI]", "hit@1 [95 % CI]", "MRR", "recall@5", "recall@10")
_PLOTTED = ("ndcg@10", "hit@1")


def report_text(report: Report) -> str:
    """The Markdown page."""
    queries = f"{report.related} queries" + (f", {report.unrelated} unrelated ones" if report.unrelated else "")
    lines = [
        f"# Retrieval on {report.set}",
        "",
        f"{report.corpus} records, {queries}{', leave-one-out' if report.leave_one_out else ''}. "
        f"{report.machine}; {report.seconds:.1f} s.",
        "",
        *table(_HEADERS, [_figures(row) for row in report.rows]),
        "",
        "What was served (the threshold applied, opposites left out):",
        "",
        *table(
            ("method", "threshold", "related served right", "unrelated answered", "abstention precision / recall"),
            [_served(row) for row in report.rows if row.served],
        ),
        *(line for row in report.rows if row.served for line in _details(row)),
    ]
    return "\n".join(lines)


def _details(row: Row) -> list[str]:
    """What was served by kind of query, and what scores stood for."""
    failed = f", {row.unjudged} of them without an answer ({row.fault}): there nothing was served" if row.fault else ""
    lines = ["", f"{_name(row)}: {row.requests} requests for vectors, {row.judged} questions to a judge{failed}."]
    if row.kinds:
        cells = [
            [one.kind, str(one.queries), *map(_percent, (one.right, one.wrong, one.answered))] for one in row.kinds
        ]
        lines += ["", *table(("kind", "queries", "served right", "served wrong", "answered without need"), cells)]
    if row.reliability:
        bins = [
            [f"{one.low:.1f}-{one.low + 0.1:.1f}", str(one.count), f"{one.score:.2f}", f"{one.right:.2f}"]
            for one in row.reliability.bins
        ]
        lines += ["", f"Best hit of each query; expected calibration error {row.reliability.error:.3f}:", ""]
        lines += table(("score", "queries", "mean score", "right"), bins)
    return lines


def write_page(report: Report, folder: Path) -> list[Path]:
    """Write `retrieval.md` and `retrieval.png` into a folder (made if need be); returns both.

    Raises:
        MissingExtraError: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    page = f"{report_text(report)}\n\n![{report.set}](retrieval.png)\n"
    return write_files(folder, {"retrieval.png": _draw(report)}, {"retrieval.md": page})


def _draw(report: Report) -> Any:
    """Bars with 95 % intervals, one pair per method."""
    figure = new_figure(2 + 1.6 * len(report.rows), 4)
    axes = figure.subplots()
    for shift, name in zip((-0.2, 0.2), _PLOTTED, strict=True):
        found = [row.figures[name] for row in report.rows]
        errors = [[one.mean - one.low for one in found], [one.high - one.mean for one in found]]
        places = [place + shift for place in range(len(found))]
        axes.bar(places, [one.mean for one in found], 0.38, yerr=errors, capsize=3, label=name)
    lowest = min(row.figures[name].low for row in report.rows for name in _PLOTTED)
    axes.set_ylim(max(0.0, lowest - 0.05), 1.0)
    axes.set_xticks(range(len(report.rows)), [_name(row).replace(", ", "\n") for row in report.rows])
    axes.set_title(f"{report.set}: {report.related} queries, {report.corpus} records")
    axes.legend(loc="lower right")
    return figure


def _name(row: Row) -> str:
    spec = row.embedder or ""
    short = Path(spec.partition(":")[2]).name if spec.startswith("local:") else ""
    return f"{row.method}, {f'local:{short}' if short else spec}" if spec else row.method


def _figures(row: Row) -> list[str]:
    known = row.figures
    exact = [_interval(known[name]) for name in _PLOTTED]
    return [_name(row), *exact, *(f"{known[name].mean:.4f}" for name in ("mrr", "recall@5", "recall@10"))]


def _interval(one: Estimate) -> str:
    return f"{one.mean:.4f} [{one.low:.3f}, {one.high:.3f}]"


def _served(row: Row) -> list[str]:
    served = row.served
    if served is None:
        return [_name(row), *["-"] * 4]
    abstention = f"{_percent(served.abstention_precision)} / {_percent(served.abstention_recall)}"
    right, answered = _percent(served.right), _percent(served.answered)
    return [_name(row), f"{served.threshold:.3f}", right, answered, abstention]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
