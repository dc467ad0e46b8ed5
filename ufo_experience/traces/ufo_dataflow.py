"""UFO dataflow results: an instantiated plan, and what became of it when it was executed.

Before execution `execution_result.result` is null and no step has `Success`: such a plan is read with steps marked
"not executed" and an unknown outcome. The published records miss fields their own schema requires; all are optional.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.errors import TraceError
from ufo_experience.ids import content_hash
from ufo_experience.schema import NOT_EXECUTED, Problem, Trajectory
from ufo_experience.traces.builder import Draft, content_key
from ufo_experience.traces.coerce import as_amount, as_dict, as_lines, as_list, as_name, as_text
from ufo_experience.traces.json_lines import load_document, peek
from ufo_experience.traces.reader import ReadReport
from ufo_experience.traces.ufo.evaluation import evaluation_of

_KEYS = {"instantiation_result", "execution_result"}


class DataflowReader:
    """Reads one dataflow result."""

    name = "ufo-dataflow"

    def recognises(self, path: Path) -> bool:
        """True for a JSON object with an instantiation or execution result and a task id."""
        first = as_dict(next(iter(peek(path)), None))
        return bool(first.keys() & _KEYS) and bool(first.keys() & {"unique_id", "original"})

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the task. Raises `TraceError` when it holds neither a plan nor the task's text."""
        problems: list[Problem] = []
        record = as_dict(load_document(path, problems))
        original = as_dict(record.get("original"))
        prefill = as_dict(as_dict(as_dict(record.get("instantiation_result")).get("prefill")).get("result"))
        execution = as_dict(record.get("execution_result"))
        request = prefill.get("instantiated_request") or original.get("original_task")
        plan = [as_dict(item) for item in as_list(prefill.get("instantiated_plan"))]
        if not request:
            raise TraceError("neither an instantiated request nor the original task", file=str(path), code="E_EMPTY")
        judged = as_dict(execution.get("result"))
        evaluation = evaluation_of(judged) if judged else None
        draft = Draft(path, format=self.name, session=content_key(path.stem, 1, content_hash(record)), request=request)
        draft.application(record.get("app"))
        for item in plan:
            _add_step(draft, item, executed=bool(judged), application=record.get("app"))
        report.problems += problems
        seconds = as_amount(as_dict(record.get("time_cost")).get("execute"))
        failure = as_dict(execution.get("error"))
        yield draft.finish(
            success=evaluation.success if evaluation else None,
            evaluated_by="evaluator" if evaluation else "none",
            judge="llm" if evaluation else None,
            failure_reason=_reason(evaluation.reason if evaluation and evaluation.success is False else "", failure),
            latency_ms=seconds * 1000 if seconds is not None else None,
            plan=as_lines(original.get("original_steps")),
            agent="AppAgent",
            env="windows",
            complete=not failure,
            problems=problems,
        )


def _add_step(draft: Draft, item: dict[str, Any], *, executed: bool, application: Any) -> None:
    function = as_name(item.get("Function"))
    if not function:
        return
    worked = item.get("Success")
    draft.step(
        function,
        control=item.get("MatchedControlText") or item.get("ControlText"),
        parameters=item.get("Args"),
        observation=item.get("Subtask"),
        result=None if executed or isinstance(worked, bool) else NOT_EXECUTED,
        error="the step did not succeed" if worked is False else None,
        agent="AppAgent",
        application=application,
    )


def _reason(evaluated: str, failure: dict[str, Any]) -> str | None:
    return evaluated or as_text(failure.get("message") or failure.get("type")) or None
