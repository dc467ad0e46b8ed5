"""The results of `bench steps` for people: Markdown with a table per group and per task, JSON, a plot."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.page import new_figure, table, write_files
from benchmarks.retrieval.metrics import Estimate
from benchmarks.steps.conditions import OFF
from benchmarks.steps.episode import MAX_STEPS
from benchmarks.steps.report import Paired, Run, StepReport

_MEANING = {
    "similar": "held-back variants of learned tasks: the same request with other values",
    "reworded-a": "the same tasks in the words of somebody who has not seen the requests that were learned",
    "reworded-b": "the same, by a second author",
    "reworded-c": "the same, by a third author",
    "changed": "similar tasks in a changed UI: one screen in five has its labels renamed or its controls moved",
    "never": "tasks of the same applications that were never learned, sisters of learned ones among them",
    "unrelated": "tasks of another application than all that was learned",
    "shown": "similar tasks, learned from demonstrations instead of the agent's own runs",
    "mended": "similar tasks, learned from the agent's failures that somebody brought to a good end",
    "failed": "the next attempt after one that ran out of steps at three quarters of its way, all memory knows",
}
_HEADERS = (
    "group",
    "environment",
    "condition",
    "n",
    "model calls off → with",
    "fewer calls [95 % CI]",
    "over variants",
    "actions off → with",
    "fewer actions [95 % CI]",
    "fewer to the goal [95 % CI]",
    "prompt tokens off → with",
    "answer tokens off → with",
    "seconds off → with",
    "wrong actions off → with",
    "success off → with",
    "of these tidy",
    "success at equal tokens off → with",
    "shown",
    "followed",
    "errors",
)
_CONDITIONS_TEXT = (
    "`off`: no memory. `advise`: what retrieval finds at the product's own threshold. `labels`: the same with a "
    "threshold calibrated on labels that users do not have. `ahead`: the known way offered as actions to come. "
    "`replay`: the known way carried out without the agent while nothing is in doubt. `random`: an experience of "
    "another task, on purpose. `oracle`: one of the same task, whatever retrieval says. `bm25`, `raw`, `first`: "
    "baselines, the nearest request by BM25 with its summary, its whole log, its first action. *Wrong*: changed what "
    "the goal does not ask for and was not undone. *Tidy*: share of all runs that reached the goal and changed nothing "
    "else. *Shown*: share of runs in which the agent was shown anything, *followed* in which a guide went along a way. "
    f"Failed runs count with what they took; as actions *to the goal* with {MAX_STEPS}, the most a run may take."
)


def report_text(report: StepReport) -> str:
    """The Markdown page."""
    lines = [
        "# Model calls, actions and tokens with and without memory",
        "",
        f"Agent: **{report.agent}**. Embedder: {report.embedder}. {report.date}; {report.machine}; "
        f"{report.seconds:.0f} s in all; "
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
        *_curves(report),
        *_comparison(report),
        "## Per task",
        "",
        "Model calls / actions; a cross marks a run that did not reach the task.",
        "",
        *_per_task(report.runs),
    ]
    return "\n".join(lines)


def write_page(report: StepReport, folder: Path) -> list[Path]:
    """Write `steps.md`, `steps.json` and `steps.png` into a folder (made if need be); returns them.

    Raises:
        ServiceError: matplotlib is not installed.
        StorageError: the folder cannot be written.
    """
    data = json.dumps(_finite(report.as_data()), indent=1, ensure_ascii=False)
    page = f"{report_text(report)}\n\n![steps](steps.png)\n"
    return write_files(folder, {"steps.png": _draw(report)}, {"steps.md": page, "steps.json": data + "\n"})


def _who(report: StepReport) -> list[str]:
    if "rule-based" not in report.agent:
        return []
    return [
        "These are figures of a rule-based agent that follows the steps it reads in its prompt, one action a call. "
        "They are a regression test of the whole loop; they are not figures of GPT or of any other language model.",
        "",
    ]


def _retrieval(report: StepReport) -> list[str]:
    share = report.retrieved_right()
    return (
        [] if share is None else [f"Similar tasks shown an experience of the same task first: {_percent(share)}.", ""]
    )


def _curves(report: StepReport) -> list[str]:
    lines = []
    if report.practice:
        rows = [
            (str(one.run), f"{one.calls:.1f}", f"{one.steps:.1f}", _percent(one.success)) for one in report.practice
        ]
        lines += ["## Practice", "", "Means of the same tasks, run after run, each run saved and credited:", ""]
        lines += [*table(("run", "model calls", "actions", "success"), rows), ""]
    if report.curve:
        stages = [(str(one.tasks), f"{one.steps:.1f}", _percent(one.success)) for one in report.curve]
        lines += ["## Learning curve", "", "Mean actions of the similar tasks when only so many tasks are learned:", ""]
        lines += [*table(("tasks learned", "actions", "success"), stages), ""]
    return lines


def _comparison(report: StepReport) -> list[str]:
    if report.comparison is None:
        return []
    title = f"One task as `compare_with_without_memory` tells it ({report.comparison.task}):"
    return [title, "", "```text", str(report.comparison), "```", ""]


def _figures(one: Paired) -> list[str]:
    off, on = one.off, one.on
    return [
        one.group,
        one.kind,
        one.condition,
        str(one.pairs),
        f"{off.calls:.1f} → {on.calls:.1f}",
        _interval(one.fewer_calls),
        f"{100 * one.spread[0]:.0f} to {100 * one.spread[1]:.0f} %",
        f"{off.steps:.1f} → {on.steps:.1f}",
        _interval(one.fewer_steps),
        _interval(one.fewer_to_goal),
        f"{off.tokens:.0f} → {on.tokens:.0f}",
        f"{off.answer_tokens:.0f} → {on.answer_tokens:.0f}",
        f"{off.seconds:.2f} → {on.seconds:.2f}",
        f"{off.wrong:.2f} → {on.wrong:.2f}",
        f"{_percent(off.success)} → {_percent(on.success)}",
        f"{_percent(off.tidy)} → {_percent(on.tidy)}",
        f"{_percent(off.success)} → {_percent(one.at_equal_tokens)}",
        _percent(one.answered),
        _percent(one.followed),
        str(one.errors),
    ]


def _per_task(runs: Sequence[Run]) -> list[str]:
    conditions = list(dict.fromkeys(run.condition for run in runs))
    found = {(run.case, run.condition): run.outcome for run in runs}
    rows = []
    for case in dict.fromkeys(run.case for run in runs):
        outcomes = [found.get((case, one)) for one in conditions]
        cells = ["" if one is None else f"{one.calls}/{one.steps}{'' if one.success else ' ✗'}" for one in outcomes]
        rows.append([case.group, case.family, str(case.seed), *cells])
    return table(("group", "task", "variant", *conditions), rows)


def _draw(report: StepReport) -> Any:
    """Saved model calls with 95 % intervals, and the learning curve."""
    found = report.paired()
    figure = new_figure(12, 1.5 + 0.35 * len(found))
    bars, curve = figure.subplots(1, 2, width_ratios=(2, 1))
    places = range(len(found))
    saved = [one.fewer_calls for one in found]
    errors = [[100 * (one.mean - one.low) for one in saved], [100 * (one.high - one.mean) for one in saved]]
    bars.barh(places, [100 * one.mean for one in saved], xerr=errors, capsize=3)
    bars.set_yticks(places, [f"{one.group}, {one.kind}, {one.condition}" for one in found])
    bars.invert_yaxis()
    bars.axvline(0, color="black", linewidth=0.8)
    bars.set_xlabel("fewer model calls than without memory, %")
    curve.plot([one.tasks for one in report.curve], [one.steps for one in report.curve], marker="o")
    curve.set_ylim(bottom=0)
    curve.set_xlabel("tasks learned")
    curve.set_ylabel(f"mean actions of similar tasks ({OFF} at 0)")
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
