"""Exports of tracing: OpenTelemetry spans (GenAI conventions), LangSmith runs, Langfuse traces and observations.

Only tool calls become steps, in the order of their start. The task is the input of the root span. Scores that a
person or a program gave count as a judgement when they are a clear yes or no.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.calls import arguments_of, calls_in
from ufo_experience.traces.draft import Draft, no_task, nothing_in, run_key
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import records_of
from ufo_experience.traces.rows import TASK, steps_of_calls
from ufo_experience.traces.values import (
    as_dict,
    as_dicts,
    as_list,
    as_name,
    as_text,
    as_time,
    first_name,
    first_of,
    parse_literal,
)

_TASKS = (*TASK, "input", "question", "messages", "content", "text")
_YES = ("correct", "success", "pass", "passed", "yes", "true", "1", "1.0")
_NO = ("incorrect", "failure", "fail", "no", "false", "0", "0.0")
_OTLP = ("resourceSpans", "resource_spans")
_GIVEN = ("gen_ai.tool.call.arguments", "tool.parameters", "input.value", "gen_ai.input.messages", "gen_ai.prompt")


@dataclass
class _Span:
    """One span of any vendor: its trace, its start, and what it did if it was a tool call."""

    trace: str
    start: str
    is_root: bool
    is_tool: bool
    name: str
    given: Any
    back: Any = None
    error: str | None = None
    score: bool | None = None


class SpansReader:
    """Reads tracing exports; every trace in a file is a run."""

    name = "spans"

    def recognises(self, found: Found) -> bool:
        """True for OTLP JSON, for runs with a `run_type`, and for observations of Langfuse."""
        return any(_is_export(as_dict(item)) for value in found.values for item in as_list(value)[:5])

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield one trajectory a trace. Raises `TraceError` when no tool was called in any."""
        problems: list[Problem] = []
        traces: dict[str, list[_Span]] = {}
        for _, record in records_of(path, problems):
            for span in _spans_of(record):
                traces.setdefault(span.trace, []).append(span)
        acting = {trace: spans for trace, spans in traces.items() if any(span.is_tool for span in spans)}
        for number, (trace, spans) in enumerate(acting.items(), start=1):
            yield _trajectory(path, trace, sorted(spans, key=lambda span: span.start), number, problems)
        report.problems += problems
        if not acting:
            raise nothing_in(path, "tool call", problems)


def _trajectory(path: Path, trace: str, spans: list[_Span], number: int, problems: list[Problem]) -> Trajectory:
    # The root may hold no input: then the first model call does.
    asked = [*(span for span in spans if span.is_root), *(span for span in spans if not span.is_tool)]
    request = next((task for span in asked if (task := _task_of(span.given))), None)
    if not request:
        problems.append(no_task(path, "the root of the trace"))
    draft = Draft(path, format="spans", session=run_key(path.stem, number, trace), request=request)
    for span in spans:
        calls = calls_in({"name": span.name, "arguments": arguments_of(span.given)}) if span.is_tool else []
        for step in steps_of_calls(calls, ""):
            name = step["action_type"].rpartition("__")[2] or step["action_type"]
            step |= {"action_type": name, "result": as_text(span.back), "error": span.error}
            draft.step(**step, timestamp=as_time(span.start))
    verdict = next((span.score for span in spans if span.score is not None), None)
    judged = "none" if verdict is None else "evaluator"
    return draft.finish(success=verdict, evaluated_by=judged, agent="spans", problems=problems)


def _is_export(record: dict[str, Any]) -> bool:
    if record.keys() & {*_OTLP}:
        return True
    if "run_type" in record and ("trace_id" in record or "inputs" in record):
        return True
    if isinstance(record.get("observations"), list) and ("scores" in record or "input" in record):
        return True
    attributes = as_dict(record.get("attributes"))
    return any(key.startswith("gen_ai.") for key in attributes) or ("traceId" in record and "startTime" in record)


def _spans_of(record: dict[str, Any]) -> Iterator[_Span]:
    if resources := first_of(record, _OTLP):
        scopes = [
            scope for one in as_dicts(resources) for scope in as_dicts(first_of(one, ("scopeSpans", "scope_spans")))
        ]
        yield from (_of_otel(span) for scope in scopes for span in as_dicts(scope.get("spans")))
    elif "run_type" in record:
        yield _of_langsmith(record)
        for child in as_dicts(record.get("child_runs")):
            yield from _spans_of(child | {"trace_id": record.get("trace_id") or record.get("id")})
    elif isinstance(record.get("observations"), list):
        trace = as_name(record.get("id"))
        scores = [_verdict(score) for score in as_dicts(record.get("scores"))]
        score = next((score for score in scores if score is not None), None)
        yield _Span(trace, "", True, False, "", record.get("input"), score=score)
        yield from (_of_langfuse(one, trace) for one in as_dicts(record.get("observations")))
    elif "traceId" in record and "startTime" in record:
        yield _of_langfuse(record, as_name(record["traceId"]))
    elif as_dict(record.get("attributes")):
        yield _of_otel(record)


def _of_otel(span: dict[str, Any]) -> _Span:
    found = span.get("attributes")
    if not isinstance(found, dict):
        values = {as_name(one.get("key")): as_dict(one.get("value")) for one in as_dicts(found)}
        found = {key: next(iter(value.values()), None) for key, value in values.items()}
    context, status = as_dict(span.get("context")), as_dict(span.get("status"))
    failed = status.get("code") in (2, "STATUS_CODE_ERROR", "ERROR") or status.get("status_code") == "ERROR"
    kind = first_name(found, "gen_ai.operation.name", "openinference.span.kind")
    tool = first_name(found, "gen_ai.tool.name", "tool.name")
    return _Span(
        trace=as_name(span.get("traceId") or context.get("trace_id") or span.get("trace_id")),
        start=first_name(span, "startTimeUnixNano", "start_time"),
        is_root=not (span.get("parentSpanId") or span.get("parent_id")),
        is_tool=kind.casefold() in ("execute_tool", "tool") or bool(tool),
        name=tool or as_name(span.get("name")),
        given=first_of(found, _GIVEN),
        back=first_of(found, ("gen_ai.tool.call.result", "output.value")),
        error=(first_name(status, "message", "description") or "failed") if failed else None,
    )


def _of_langsmith(run: dict[str, Any]) -> _Span:
    means = [as_dict(one).get("avg") for one in as_dict(run.get("feedback_stats")).values()]
    return _Span(
        trace=first_name(run, "trace_id", "id"),
        start=as_name(run.get("start_time")),
        is_root=not run.get("parent_run_id"),
        is_tool=run.get("run_type") == "tool",
        name=as_name(run.get("name")),
        given=run.get("inputs"),
        back=run.get("outputs"),
        error=as_name(run.get("error")) or None,
        score=next((mean >= 1 for mean in means if mean in (0, 1)), None),
    )


def _of_langfuse(one: dict[str, Any], trace: str) -> _Span:
    return _Span(
        trace=trace,
        start=as_name(one.get("startTime")),
        is_root=not one.get("parentObservationId"),
        is_tool=as_name(one.get("type")).upper() == "TOOL",
        name=as_name(one.get("name")),
        given=one.get("input"),
        back=one.get("output"),
        error=(as_name(one.get("statusMessage")) or "failed") if one.get("level") == "ERROR" else None,
    )


def _verdict(score: dict[str, Any]) -> bool | None:
    """A clear yes or no of an evaluator; anything else is no judgement of success."""
    value = as_name(score.get("stringValue") or score.get("value")).casefold()
    return True if value in _YES else False if value in _NO else None


def _task_of(given: Any) -> str:
    """The words of a root's input: a text, a field that usually holds it, or the first message of the user."""
    if isinstance(given, str) and given.lstrip().startswith(("[", "{")):
        given = parse_literal(given) or given
    if found := as_dict(given):
        inner = first_of(found, _TASKS)
        return inner if isinstance(inner, str) else _task_of(inner) if inner else ""
    if not isinstance(given, list):
        return as_name(given)
    rows = as_dicts(given)
    user = next((row for row in rows if row.get("role") in ("user", "human") or row.get("type") == "human"), None)
    if user:
        return _task_of(user.get("content") or user.get("parts"))
    first = rows[0] if rows else {}
    return _task_of(first.get("text") or first.get("content"))
