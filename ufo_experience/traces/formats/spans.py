"""Exports of tracing: OpenTelemetry spans (GenAI conventions), LangSmith runs, Langfuse traces and observations.

Only tool calls become steps, in the order of their start. The task is the input of the root span. Scores that a
person or a program gave count as a judgement when they are a clear yes or no.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.actions import arguments_of, calls_in, take_target
from ufo_experience.traces.builder import NO_TASK, Draft, content_key
from ufo_experience.traces.coerce import as_dict, as_list, as_name, as_text, as_time, parse_literal
from ufo_experience.traces.common_keys import TASK, first_of, nothing_in, records_of
from ufo_experience.traces.json_lines import peek
from ufo_experience.traces.reader import ReadReport

_TASKS = (*TASK, "input", "question", "messages", "content", "text")
_YES, _NO = (
    ("correct", "success", "pass", "passed", "yes", "true", "1"),
    ("incorrect", "failure", "fail", "no", "false", "0"),
)


@dataclass
class _Span:
    """One span of any vendor: its trace, its start, and what it did if it was a tool call."""

    trace: str
    start: str
    is_root: bool
    is_tool: bool
    name: str
    given: Any
    back: Any
    error: str | None
    score: bool | None = None


class SpansReader:
    """Reads tracing exports; every trace in a file is a run."""

    name = "spans"

    def recognises(self, path: Path) -> bool:
        """True for OTLP JSON, for runs with a `run_type`, and for observations of Langfuse."""
        values = [as_dict(item) for value in peek(path) for item in as_list(value)[:5]]
        return any(_is_export(value) for value in values)

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield one trajectory a trace. Raises `TraceError` when no tool was called in any."""
        problems: list[Problem] = []
        traces: dict[str, list[_Span]] = {}
        for _, record in records_of(path, problems):
            for span in _spans_of(record):
                traces.setdefault(span.trace, []).append(span)
        number = 0
        for trace, spans in traces.items():
            if any(span.is_tool for span in spans):
                number += 1
                yield _trajectory(path, trace, spans, number, problems)
        report.problems += problems
        if not number:
            raise nothing_in(path, "tool call", problems)


def _trajectory(path: Path, trace: str, spans: list[_Span], number: int, problems: list[Problem]) -> Trajectory:
    others = sorted((span for span in spans if not (span.is_root or span.is_tool)), key=lambda span: span.start)
    asked = [
        *(span for span in spans if span.is_root),
        *others,
    ]  # the root may hold no input: the first model call does
    request = next((task for span in asked if (task := _task_of(span.given))), None)
    if not request:
        message = "the root of the trace does not say what the task was; --task gives it"
        problems.append(Problem(file=str(path), code=NO_TASK, message=message))
    draft = Draft(path, format="spans", session=content_key(path.stem, number, content_hash(trace)), request=request)
    for span in sorted((span for span in spans if span.is_tool), key=lambda span: span.start):
        arguments = arguments_of(span.given)
        for call in calls_in({"name": span.name, "arguments": arguments}):
            control, role = take_target(call.arguments, call.name)
            draft.step(
                call.name.rpartition("__")[2] or call.name, control=control, control_type=role,
                parameters=call.arguments, result=as_text(span.back), error=span.error, timestamp=as_time(span.start),
            )  # fmt: skip
    verdict = next((span.score for span in spans if span.score is not None), None)
    return draft.finish(
        success=verdict, evaluated_by="none" if verdict is None else "evaluator", agent="spans", problems=problems
    )


def _is_export(record: dict[str, Any]) -> bool:
    if "resourceSpans" in record or "resource_spans" in record:
        return True
    if "run_type" in record and ("trace_id" in record or "inputs" in record):
        return True
    if isinstance(record.get("observations"), list) and ("scores" in record or "input" in record):
        return True
    attributes = as_dict(record.get("attributes"))
    return any(key.startswith("gen_ai.") for key in attributes) or ("traceId" in record and "startTime" in record)


def _spans_of(record: dict[str, Any]) -> Iterator[_Span]:
    if "resourceSpans" in record or "resource_spans" in record:
        yield from _of_otlp(record)
    elif "run_type" in record:
        yield _of_langsmith(record)
        for child in as_list(record.get("child_runs")):
            yield from _spans_of(as_dict(child) | {"trace_id": record.get("trace_id") or record.get("id")})
    elif isinstance(record.get("observations"), list):
        scores = [_verdict(as_dict(score)) for score in as_list(record.get("scores"))]
        root = as_name(record.get("id"))
        score = next((score for score in scores if score is not None), None)
        yield _Span(root, "", True, False, "", record.get("input"), None, None, score)
        for one in as_list(record.get("observations")):
            yield _of_langfuse(as_dict(one), root)
    elif "traceId" in record and "startTime" in record:
        yield _of_langfuse(record, as_name(record["traceId"]))
    elif as_dict(record.get("attributes")):
        yield _of_otel(record)


def _of_otlp(record: dict[str, Any]) -> Iterator[_Span]:
    for resource in as_list(record.get("resourceSpans") or record.get("resource_spans")):
        for scope in as_list(as_dict(resource).get("scopeSpans") or as_dict(resource).get("scope_spans")):
            for span in as_list(as_dict(scope).get("spans")):
                yield _of_otel(as_dict(span))


def _of_otel(span: dict[str, Any]) -> _Span:
    listed = span.get("attributes")
    found = (
        as_dict(listed)
        if isinstance(listed, dict)
        else {as_name(as_dict(one).get("key")): _value(as_dict(as_dict(one).get("value"))) for one in as_list(listed)}
    )
    context = as_dict(span.get("context"))
    status = as_dict(span.get("status"))
    failed = status.get("code") in (2, "STATUS_CODE_ERROR", "ERROR") or status.get("status_code") == "ERROR"
    kind = found.get("gen_ai.operation.name") or found.get("openinference.span.kind") or ""
    tool = as_name(found.get("gen_ai.tool.name") or found.get("tool.name"))
    given = ("gen_ai.tool.call.arguments", "tool.parameters", "input.value", "gen_ai.input.messages", "gen_ai.prompt")
    return _Span(
        as_name(span.get("traceId") or context.get("trace_id") or span.get("trace_id")),
        as_name(span.get("startTimeUnixNano") or span.get("start_time")),
        not (span.get("parentSpanId") or span.get("parent_id")),
        as_name(kind).casefold() in ("execute_tool", "tool") or bool(tool),
        tool or as_name(span.get("name")),
        next((found[key] for key in given if found.get(key)), None),
        found.get("gen_ai.tool.call.result") or found.get("output.value"),
        (as_name(status.get("message") or status.get("description")) or "failed") if failed else None,
    )


def _of_langsmith(run: dict[str, Any]) -> _Span:
    feedback = as_dict(run.get("feedback_stats"))
    means = [as_dict(one).get("avg") for one in feedback.values()]
    return _Span(
        as_name(run.get("trace_id") or run.get("id")),
        as_name(run.get("start_time")),
        not run.get("parent_run_id"),
        run.get("run_type") == "tool",
        as_name(run.get("name")),
        run.get("inputs"),
        run.get("outputs"),
        as_name(run.get("error")) or None,
        next((mean >= 1 for mean in means if mean in (0, 1, 0.0, 1.0)), None),
    )


def _of_langfuse(one: dict[str, Any], trace: str) -> _Span:
    return _Span(
        trace,
        as_name(one.get("startTime")),
        not one.get("parentObservationId"),
        as_name(one.get("type")).upper() == "TOOL",
        as_name(one.get("name")),
        one.get("input"),
        one.get("output"),
        (as_name(one.get("statusMessage")) or "failed") if one.get("level") == "ERROR" else None,
    )


def _verdict(score: dict[str, Any]) -> bool | None:
    """A clear yes or no of an evaluator; anything else is no judgement of success."""
    value = as_name(score.get("stringValue") or score.get("value")).casefold()
    if score.get("dataType") == "NUMERIC" and value not in ("0", "1", "0.0", "1.0"):
        return None
    return True if value in (*_YES, "1.0") else False if value in (*_NO, "0.0") else None


def _value(value: dict[str, Any]) -> Any:
    return next(iter(value.values()), None)


def _task_of(given: Any) -> str:
    """The words of a root's input: a text, a field that usually holds it, or the first message of the user."""
    if isinstance(given, str) and given.lstrip().startswith(("[", "{")):
        given = parse_literal(given) or given
    found = as_dict(given)
    if not found:
        rows = [as_dict(one) for one in as_list(given if isinstance(given, list) else None)]
        user = next((row for row in rows if row.get("role") in ("user", "human") or row.get("type") == "human"), None)
        if user:
            return _task_of(user.get("content") or user.get("parts"))
        first = rows[0] if rows else {}
        return _task_of(first.get("text") or first.get("content")) if first else as_name(given)
    inner = first_of(found, _TASKS)
    return inner if isinstance(inner, str) else _task_of(inner) if inner else ""
