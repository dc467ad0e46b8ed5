"""UFO's other files: `experience.yaml` and demonstrations, and the results of its dataflow.

UFO keeps in a YAML what a user or a setting told it to keep, so an entry says nothing certain about success; only the
first action of each example is structured. Before a dataflow task is executed `execution_result.result` is null and no
step has `Success`: such a plan is read with steps marked "not executed" and an unknown outcome.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.schema import NOT_EXECUTED
from ufo_experience.store.safe_yaml import load_yaml
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import problem
from ufo_experience.traces.rows import Numbered, RowsReader
from ufo_experience.traces.ufo_session import evaluation_of
from ufo_experience.traces.values import Row, as_amount, as_dict, as_dicts, as_lines, as_list, as_name, as_text

_MARKS = re.compile(r"^[^\S\n]{1,64}example:", re.MULTILINE)


class UfoYamlReader(RowsReader):
    """One `experience.yaml` or demonstration file: `{exampleN: {example: {…}, Tips, request, Sub-task, app_list}}`."""

    name = "ufo-yaml"
    tasks = ("request",)
    agent, env = "AppAgent", "windows"

    def recognises(self, found: Found) -> bool:
        """True for a YAML file with UFO's `example:` entries."""
        return found.suffix in (".yaml", ".yml") and bool(_MARKS.search(found.text))

    def runs(self, path: Path, report: ReadReport) -> Iterator[Numbered]:
        """The entries that are examples."""
        for key, value in load_yaml(path, typed="Args").items():
            entry = as_dict(value)
            if key.startswith("example") and entry.row("example") and entry.name("request", "Sub-task"):
                yield None, entry
            else:
                report.problems.append(problem(path, "E_ENTRY", f"{key[:60]!r} is not an example with a request"))

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        example, applications = as_dict(row.get("example")), [as_name(name) for name in as_list(row.get("app_list"))]
        draft.subtask = as_name(row.get("Sub-task")) or None
        if function := as_name(example.get("Function")):
            draft.step(
                function, control=example.get("ControlText"), parameters=example.get("Args"), agent="AppAgent",
                observation=example.get("Observation") or example.get("Thought"),
                application=next(iter(applications), None),
            )  # fmt: skip
        for name in applications:
            draft.application(name)
        finished = as_name(example.get("Status")).upper() == "FINISH"
        return {
            "evaluated_by": "agent" if finished else "none",
            "plan": as_lines(example.get("Plan")),
            "tips": as_lines(row.get("Tips")),
        }


class DataflowReader(RowsReader):
    """One dataflow result. The published records miss fields their own schema requires; all are optional."""

    name = "ufo-dataflow"
    agent, env = "AppAgent", "windows"

    def is_row(self, row: Row) -> bool:
        results = row.keys() & {"instantiation_result", "execution_result"}
        return bool(results) and bool(row.keys() & {"unique_id", "original"}) and bool(_request_of(row))

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        draft.request, draft.subtask = as_text(_request_of(row)), None
        execution = as_dict(row.get("execution_result"))
        judged, failure = as_dict(execution.get("result")), as_dict(execution.get("error"))
        draft.application(row.get("app"))
        for item in as_dicts(_prefill(row).get("instantiated_plan")):
            worked = item.get("Success")
            if function := as_name(item.get("Function")):
                draft.step(
                    function, control=item.get("MatchedControlText") or item.get("ControlText"),
                    parameters=item.get("Args"), observation=item.get("Subtask"),
                    result=None if judged or isinstance(worked, bool) else NOT_EXECUTED,
                    error="the step did not succeed" if worked is False else None,
                    agent="AppAgent", application=row.get("app"),
                )  # fmt: skip
        verdict = evaluation_of(judged)
        seconds = as_amount(as_dict(row.get("time_cost")).get("execute"))
        outcome = {"success": verdict.success, "evaluated_by": "evaluator", "judge": "model"} if judged else {}
        reason = verdict.reason if verdict.success is False else ""
        return {
            **outcome,
            "failure_reason": reason or as_text(failure.get("message") or failure.get("type")) or None,
            "latency_ms": seconds * 1000 if seconds is not None else None,
            "plan": as_lines(as_dict(row.get("original")).get("original_steps")),
            "complete": not failure,
        }


def _prefill(row: Row) -> dict[str, Any]:
    return as_dict(as_dict(as_dict(row.get("instantiation_result")).get("prefill")).get("result"))


def _request_of(row: Row) -> Any:
    return _prefill(row).get("instantiated_request") or as_dict(row.get("original")).get("original_task")
