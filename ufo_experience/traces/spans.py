"""Exports of tracing: OpenTelemetry spans (GenAI conventions), LangSmith runs, Langfuse traces and observations.

All are spans under other keys (`span_…` in names.txt). Only tool calls become steps, in the order of their start. The
task is the input of the root. Scores of a person or a program are a judgement when they are a clear yes or no.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.traces.calls import arguments_of, calls_in
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import ReadReport
from ufo_experience.traces.lines import records_of
from ufo_experience.traces.rows import OUTCOMES, RowsReader, steps_of_calls
from ufo_experience.traces.values import NAMES, Row, as_dict, as_dicts, as_name, as_text, parse_literal

_KEYS = {part: NAMES[f"span_{part}"] for part in "trace start parent kind name given back".split()}
_FAILED = (2, "STATUS_CODE_ERROR", "ERROR")
_TASKS = (*NAMES["task"], *NAMES["span_task"])
_OTLP = ("resourceSpans", "resource_spans")

_Span = dict[str, Any]


class SpansReader(RowsReader):
    """Tracing exports; every trace in which a tool is called is a run."""

    name = "spans"
    untold = "the root of the trace"
    wanted = "tool call"

    def is_row(self, row: Row) -> bool:
        return (
            bool(row.keys() & {*_OTLP})
            or ("run_type" in row and ("trace_id" in row or "inputs" in row))
            or (isinstance(row.get("observations"), list) and ("scores" in row or "input" in row))
            or any(key.startswith("gen_ai.") for key in row.row("attributes"))
            or ("traceId" in row and "startTime" in row)
        )

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        traces: dict[str, list[_Span]] = {}
        for _, record in records_of(path, report.problems):
            for span in map(_span, _spans_of(record)):
                traces.setdefault(span["trace"], []).append(span)
        for trace, spans in traces.items():
            if any(span["is_tool"] for span in spans):
                yield Row(trace=trace, spans=sorted(spans, key=lambda span: span["start"]))

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        spans, draft.starts_with = row["spans"], row["trace"]
        models = [span for span in spans if not (span["parent"] and span["is_tool"])]
        asked = sorted(models, key=lambda span: bool(span["parent"]))  # a root without input: the first model call
        draft.request = next((task for span in asked if (task := _task_of(span["given"]))), None)
        for span in spans:
            called = {"name": span["name"], "arguments": arguments_of(span["given"])} if span["is_tool"] else None
            for step in steps_of_calls(calls_in(called), ""):
                name = step["action_type"].rpartition("__")[2] or step["action_type"]
                told = {"result": as_text(span["back"]), "error": span["error"], "timestamp": span["start"]}
                draft.step(**step | told | {"action_type": name})
        verdict = next((span["score"] for span in spans if span["score"] is not None), None)
        return {"success": verdict, "evaluated_by": "none" if verdict is None else "evaluator"}


def _spans_of(record: Row) -> Iterator[Row]:
    """The spans of an export as the vendors write them, children with the trace of their root."""
    if resources := record.first(*_OTLP):
        scopes = [one for found in as_dicts(resources) for one in found.rows("scopeSpans", "scope_spans")]
        yield from (span for scope in scopes for span in scope.rows("spans"))
        return
    yield record
    trace = record.first(*_KEYS["trace"])
    for child in record.rows("child_runs"):
        yield from _spans_of(Row(child | {"trace_id": trace}))
    for one in record.rows("observations"):
        yield Row(one | {"traceId": trace, "parentObservationId": one.get("parentObservationId") or trace})


def _span(record: Row) -> _Span:
    listed = record.get("attributes")
    if isinstance(listed, list):
        values = {one.name("key"): one.row("value") for one in as_dicts(listed)}
        listed = {key: next(iter(value.values()), None) for key, value in values.items()}
    found = Row({**record, **record.row("context"), **as_dict(listed)})
    span = {name: found.first(*keys) for name, keys in _KEYS.items()}
    is_tool = as_name(span["kind"]).casefold() in ("execute_tool", "tool") or found.has(*_KEYS["name"][:2])
    named = {name: as_name(span[name]) for name in ("trace", "start", "name")}
    status = record.row("status")
    failed = status.get("code") in _FAILED or status.get("status_code") in _FAILED or record.get("level") == "ERROR"
    message = Row({**record, **status}).name("message", "description", "statusMessage", "error")
    error = (message or "failed") if failed else record.name("error") or None
    # A clear yes or no of an evaluator; anything else is no judgement of success.
    means = [as_dict(one).name("avg") for one in record.row("feedback_stats").values()]
    said = [score.name("stringValue", "value").casefold() for score in record.rows("scores")]
    score = next((OUTCOMES[value] for value in [*means, *said] if value in OUTCOMES), None)
    return span | named | {"is_tool": is_tool, "error": error, "score": score}


def _task_of(given: Any) -> str:
    """The words of an input: a text, a field that usually holds it, or the first message of the user."""
    if isinstance(given, str) and given.lstrip().startswith(("[", "{")):
        given = parse_literal(given) or given
    if found := as_dict(given):
        inner = found.first(*_TASKS)
        return inner if isinstance(inner, str) else _task_of(inner) if inner else ""
    if not isinstance(given, list):
        return as_name(given)
    rows = as_dicts(given)
    user = next((row for row in rows if row.get("role") in ("user", "human") or row.get("type") == "human"), None)
    if user:
        return _task_of(user.get("content") or user.get("parts"))
    return _task_of(rows[0].first("text", "content")) if rows else ""
