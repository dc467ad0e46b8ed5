"""Execution traces as UFO's memory article defines them, and its `TaskExperience` record.

trace            [{"step", "thought", "action_type", "control_text", "parameters", "result", "application",
                   "timestamp"}]
with its task    {"task": "…", "execution_trace": [...]}
TaskExperience   {"task_id", "task_description", "application", "steps": [{step_number, observation, action_type,
                  target_control, parameters, result}], "total_steps", "duration_seconds", "success", "metadata"}
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.builder import Draft, content_key
from ufo_experience.traces.coerce import as_amount, as_dict, as_list
from ufo_experience.traces.common_keys import add_row, first_of, is_step, nothing_in, stated_outcome
from ufo_experience.traces.json_lines import load_document, peek
from ufo_experience.traces.reader import ReadReport

_TASK = ("task", "task_description", "request", "goal")
_STEPS = ("execution_trace", "steps")


class ExecutionTraceReader:
    """Reads one execution trace or one `TaskExperience`."""

    name = "execution-trace"

    def recognises(self, path: Path) -> bool:
        """True for a list of steps with `action_type`, and for an object that holds one under the article's names."""
        first = next(iter(peek(path)), None)
        if isinstance(first, list):
            return any(isinstance(row, dict) and "action_type" in row for row in first)
        record = as_dict(first)
        return "execution_trace" in record or ("task_description" in record and "steps" in record)

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the run. Raises `TraceError` when no row of it is a step."""
        problems: list[Problem] = []
        document = load_document(path, problems)
        record = {"steps": document} if isinstance(document, list) else as_dict(document)
        rows = as_list(first_of(record, _STEPS))
        steps = [row for row in rows if is_step(row)]
        for place, row in enumerate(rows):
            if not is_step(row):
                message = f"step {place + 1} names no action"
                problems.append(Problem(file=str(path), code="E_STEP", message=message))
        if not steps:
            raise nothing_in(path, "step", problems)
        request = first_of(record, _TASK) or first_of(steps[0], _TASK)
        if not request:
            message = "a bare list of steps does not say what the task was"
            problems.append(Problem(file=str(path), code="E_NO_TASK", message=message))
        report.problems += problems
        key = content_key(path.stem, 1, content_hash(steps[0]))
        draft = Draft(path, format=self.name, session=key, request=request)
        for row in steps:
            add_row(draft, row, application=record.get("application"))
        seconds = as_amount(record.get("duration_seconds"))
        yield draft.finish(
            **stated_outcome(record),
            cost=_cost(record, draft),
            latency_ms=seconds * 1000 if seconds else None,
            agent=steps[0].get("agent"),
            started_at=record.get("start_time") or steps[0].get("timestamp"),
            problems=problems,
        )


def _cost(record: dict[str, Any], draft: Draft) -> float | None:
    costs = [step.cost for step in draft.steps if step.cost is not None]
    known = as_amount(record.get("cost"))
    return known if known is not None else sum(costs) if costs else None
