"""The results of `bench steps` for people: Markdown with a table per group and per task, JSON, a plot."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ufo_experience.benchmark.page import new_figure, table, write_files
from ufo_experience.benchmark.retrieval.metrics import Estimate
from ufo_experience.benchmark.steps.conditions import OFF
from ufo_experience.benchmark.steps.report import Paired, Run, StepReport

_MEANING = {
    "similar": "held-back variants of learned tasks",
    "changed": "the same with a changed UI: one screen in five has its labels renamed or its controls moved",
    "unrelated": "tasks that were never learned",
    "own": "similar tasks, learned from the agent's own explorations instead of demonstrations",
    "failed": "the next attempt after one that ran out of steps at three quarters of its way, all memory knows",
}
_HEADERS = (
    "group",
    "environment",
    "condition",
    "n",
    "steps off → with",
    "fewer steps [95 % CI]",
    "where both succeed",
    "success off → with",
    "prompt tokens off → with",
    "seconds off → with",
    "shown",
)
_CONDITIONS_TEXT = (
    "`off`: no memory. `on`: what retrieval finds. `random`: an experience of another task, on purpose. "
    "`oracle`: an experience of the same task, whatever retrieval says. *Shown*: share of runs in which the agent was "
    "shown anything. Failed runs count with the steps they took (60 at most)."
)


def report_text(report: StepReport) -> str:
    """The Markdown page."""
    lines = [
        "# Steps with and without memory",
        "",
        f"Agent: **{report.agent}**. {report.date}; {report.machine}; {report.seconds:.0f} s in all; "
        f"{len(report.runs)} test sessions, {len(report.families)} tasks learned "
        f"({sum(report.families.values())} experiences).",
        "",
        *_who(report),
        _CONDITIONS_TEXT,
        "",
        *table(_HEADERS, [_figures(one) for one in report.paired()]),
        "",
        *(f"- `{group}`: {meaning}." for group, meaning in _MEANING.items() if _has(report, group)),
        "",
        *_retrieval(report),
        "## Learning curve",
        "",
        "Mean steps of the similar tasks when only so many tasks have been learned:",
        "",
        *table(
            ("tasks learned", "steps", "success"),
            [(str(one.tasks), f"{one.steps:.1f}", _percent(one.success)) for one in report.curve],
        ),
        "",
        *_comparison(report),
        "## Per task",
        "",
        "Steps; a cross marks a run that did not reach the task.",
        "",
        *_per_task(report.runs),
    ]
    return "\n".join(lines)


def write_page(report: StepReport, folder: Path) -> list[Path]:
    """Write `steps.md`, `steps.json` and `steps.png` into a folder (made if need be); returns them.

    Raises:
        MissingExtraError: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    data = json.dumps(_finite(report.as_data()), indent=1, ensure_ascii=False)
    page = f"{report_text(report)}\n\n![steps](steps.png)\n"
    return write_files(folder, {"steps.png": _draw(report)}, {"steps.md": page, "steps.json": data + "\n"})


def _who(report: StepReport) -> list[str]:
    if "rule-based" not in report.agent:
        return []
    return [
        "These are figures of a rule-based agent that knows nothing of the tasks and follows the steps it reads in its "
        "prompt. They show what memory is worth to such an agent; they are not figures of GPT or of any other language "
        "model.",
        "",
    ]


def _retrieval(report: StepReport) -> list[str]:
    share = report.retrieved_right()
    return (
        [] if share is None else [f"Similar tasks shown an experience of the same task first: {_percent(share)}.", ""]
    )


def _comparison(report: StepReport) -> list[str]:
    if report.comparison is None:
        return []
    title = f"One task as `compare_with_without_memory` tells it ({report.comparison.task}):"
    return [title, "", "```text", str(report.comparison), "```", ""]


def _figures(one: Paired) -> list[str]:
    return [
        one.group,
        one.kind,
        one.condition,
        str(one.pairs),
        f"{one.steps_off:.1f} → {one.steps:.1f}",
        _interval(one.reduction),
        _interval(one.solved),
        f"{_percent(one.success_off)} → {_percent(one.success)}",
        f"{one.tokens_off:.0f} → {one.tokens:.0f}",
        f"{one.seconds_off:.2f} → {one.seconds:.2f}",
        _percent(one.answered),
    ]


def _per_task(runs: Sequence[Run]) -> list[str]:
    conditions = list(dict.fromkeys(run.condition for run in runs))
    found = {(run.case, run.condition): run.outcome for run in runs}
    rows = []
    for case in dict.fromkeys(run.case for run in runs):
        outcomes = [found.get((case, one)) for one in conditions]
        steps = ["" if one is None else f"{one.steps}{'' if one.success else ' ✗'}" for one in outcomes]
        rows.append([case.group, case.family, str(case.seed), *steps])
    return table(("group", "task", "variant", *conditions), rows)


def _draw(report: StepReport) -> Any:
    """Saved steps with 95 % intervals, and the learning curve."""
    found = report.paired()
    figure = new_figure(12, 1.5 + 0.35 * len(found))
    bars, curve = figure.subplots(1, 2, width_ratios=(2, 1))
    places = range(len(found))
    means = [100 * one.reduction.mean for one in found]
    errors = [
        [100 * (one.reduction.mean - one.reduction.low) for one in found],
        [100 * (one.reduction.high - one.reduction.mean) for one in found],
    ]
    bars.barh(places, means, xerr=errors, capsize=3)
    bars.set_yticks(places, [f"{one.group}, {one.kind}, {one.condition}" for one in found])
    bars.invert_yaxis()
    bars.axvline(0, color="black", linewidth=0.8)
    bars.set_xlabel("fewer steps than without memory, %")
    curve.plot([one.tasks for one in report.curve], [one.steps for one in report.curve], marker="o")
    curve.set_ylim(bottom=0)
    curve.set_xlabel("tasks learned")
    curve.set_ylabel(f"mean steps of similar tasks ({OFF} at 0)")
    figure.suptitle(report.agent)
    return figure


def _has(report: StepReport, group: str) -> bool:
    return any(run.case.group == group for run in report.runs)


def _interval(one: Estimate) -> str:
    if math.isnan(one.mean):
        return "-"
    return f"{100 * one.mean:.1f} % [{100 * one.low:.1f}, {100 * one.high:.1f}]"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.0f} %"


def _finite(value: Any) -> Any:
    """JSON knows no NaN: null instead."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
