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
from ufo_experience.traces.files import ReadReport
from ufo_experience.traces.lines import problem
from ufo_experience.traces.rows import RowsReader
from ufo_experience.traces.ufo_log import evaluation_of
from ufo_experience.traces.values import Row, as_dict, as_name

_MARKS = re.compile(r"^[^\S\n]{1,64}example:", re.MULTILINE)


class UfoYamlReader(RowsReader):
    """One `experience.yaml` or demonstration file: `{exampleN: {example: {…}, Tips, request, Sub-task, app_list}}`."""

    name = "ufo-yaml"
    tasks = ("request",)
    agent, env = "AppAgent", "windows"
    suffixes, sign = (".yaml", ".yml"), _MARKS

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        for key, value in load_yaml(path, typed="Args").items():
            entry = as_dict(value)
            if key.startswith("example") and entry.row("example") and entry.name("request", "Sub-task"):
                yield entry
            else:
                report.problems.append(problem(path, "E_ENTRY", f"{key[:60]!r} is not an example with a request"))

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        example, applications = row.row("example"), [as_name(name) for name in row.listed("app_list")]
        draft.request, draft.subtask = row.name("request"), row.name("Sub-task")
        if function := example.name("Function"):
            draft.step(
                function, control=example.get("ControlText"), parameters=example.get("Args"), agent=self.agent,
                observation=example.first("Observation", "Thought"), application=next(iter(applications), None),
            )  # fmt: skip
        for name in applications:
            draft.application(name)
        finished = example.name("Status").upper() == "FINISH"
        told = {"plan": example.lines("Plan"), "tips": row.lines("Tips")}
        return {"evaluated_by": "agent" if finished else "none", **told}


class DataflowReader(RowsReader):
    """One dataflow result. The published records miss fields their own schema requires; all are optional."""

    name = "ufo-dataflow"
    agent, env = "AppAgent", "windows"

    def is_row(self, row: Row) -> bool:
        results = row.keys() & {"instantiation_result", "execution_result"}
        return bool(results) and bool(row.keys() & {"unique_id", "original"}) and bool(_request_of(row))

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        draft.request = _request_of(row)
        execution = row.row("execution_result")
        judged, failure = execution.row("result"), execution.row("error")
        draft.application(row.get("app"))
        for item in _prefill(row).rows("instantiated_plan"):
            worked = item.get("Success")
            if function := item.name("Function"):
                draft.step(
                    function, control=item.first("MatchedControlText", "ControlText"), parameters=item.get("Args"),
                    observation=item.get("Subtask"), agent=self.agent, application=row.get("app"),
                    result=None if judged or isinstance(worked, bool) else NOT_EXECUTED,
                    error="the step did not succeed" if worked is False else None,
                )  # fmt: skip
        verdict, seconds = evaluation_of(judged), row.row("time_cost").amount("execute")
        outcome = {"success": verdict.success, "evaluated_by": "evaluator", "judge": "model"} if judged else {}
        reason = verdict.reason if verdict.success is False else ""
        return {
            **outcome,
            "failure_reason": reason or failure.text("message", "type") or None,
            "latency_ms": seconds * 1000 if seconds is not None else None,
            "plan": row.row("original").lines("original_steps"),
            "complete": not failure,
        }


def _prefill(row: Row) -> Row:
    return row.row("instantiation_result").row("prefill").row("result")


def _request_of(row: Row) -> str:
    return _prefill(row).text("instantiated_request") or row.row("original").text("original_task")
